"""Which pixels of a raster are a site's: the window of a scene and the mask of the site's pixels in it.

Definitions, "window of a scene" and "pixels of the site". Landsat scenes by the thousand share one lattice of
pixels and differ only in where on it they begin, so all is computed once a lattice.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from typing import NamedTuple

import numpy as np

from earthrecord.errors import BadSite, UnsupportedRaster
from earthrecord.grid import Grid, Window
from earthrecord.sites.crossing import (
    DECIMALS,
    Block,
    Edges,
    Mask,
    cells_touched,
    centres_inside,
    edges_of,
    extent,
)
from earthrecord.sites.ground import metres_per_degree
from earthrecord.sites.model import Site
from earthrecord.sites.projection import central_meridian, metres_per_unit, projected

EMPTY = Window(0, 0, 0, 0)

_COARSE = 0.1
_LARGEST = 2**33  # pixels of one mask, a byte each
_CACHE = 256 * 2**20  # bytes of masks kept
_LATTICES = 256  # outlines kept


class Lattice(NamedTuple):
    """The pixels of a CRS without beginning or end: cell steps, and where corners lie, as a share of a cell."""

    crs: str
    a: float
    e: float
    col: float
    row: float


class _Part(NamedTuple):
    """An outline on a lattice: its edges in cells, and the smallest block that holds it."""

    edges: Edges
    block: Block


class SitePixels:
    """The pixels of one site in any raster. May be shared by threads."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self._parts: OrderedDict[tuple[Lattice, float], tuple[_Part, ...]] = OrderedDict()
        self._masks: OrderedDict[tuple[object, ...], Mask] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def window(self, grid: Grid, ring: int = 0, margin: float = 0.0) -> Window:
        """The smallest block of the raster's pixels that holds the site, `ring` cells and `margin` metres around it.

        It is not clipped: it reaches beyond the raster where the site does. It is `EMPTY` where no part of
        the site lies on the raster. Where a site crosses the seam of a map of the whole globe, both ends of
        the map hold a part, and the block reaches from the one to the other.
        """
        with self._lock:
            _, _, parts = self._on(grid)
        if not parts:
            return EMPTY
        _, col, row = _lattice(grid)
        west, north, width, height = _around([part.block for part in parts])
        across, down = (ring + _cells(margin, cell) for cell in self._metres(grid))
        return Window(west - col - across, north - row - down, width + 2 * across, height + 2 * down)

    def mask(self, grid: Grid, window: Window) -> Mask:
        """Which pixels of a window (of this raster, on it or beyond) are the site's: (height, width), read-only.

        A pixel is the site's where its centre lies inside. Cells that are longer than a tenth of the site's
        shorter side are the site's where they share any area with it.
        """
        if window.width * window.height > _LARGEST:
            raise BadSite(
                f"site {self.site.id} takes {window.width} x {window.height} pixels of this raster, more than one mask "
                "can hold; cut it into smaller sites"
            )
        with self._lock:
            lattice, chosen, parts = self._on(grid)
            _, col, row = _lattice(grid)
            block = window.col + col, window.row + row, max(window.width, 0), max(window.height, 0)
            coarse = self.is_coarse(grid)
            key = (lattice, chosen, coarse, block)
            if key in self._masks:
                self._masks.move_to_end(key)
                return self._masks[key]
            mask = _drawn(parts, block, coarse)
            mask.flags.writeable = False
            self._keep(key, mask)
            return mask

    def is_coarse(self, grid: Grid) -> bool:
        """Whether a cell's longer side is more than a tenth of the site's shorter side."""
        return max(self._metres(grid)) > _COARSE * self.site.shorter_side

    def _metres(self, grid: Grid) -> tuple[float, float]:
        """Width and height of a cell: on the ground at the site's latitude, or as a projected CRS counts them."""
        width, height = grid.cell
        if central_meridian(grid.crs) is not None:
            unit = metres_per_unit(grid.crs)
            return width * unit, height * unit
        _, south, _, north = self.site.bbox
        per_east, per_north = metres_per_degree((south + north) / 2)
        return width * per_east, height * per_north

    def _on(self, grid: Grid) -> tuple[Lattice, tuple[object, ...], list[_Part]]:
        """The lattice of a grid, and the parts of the site that meet the raster, with a key that tells them apart."""
        lattice, col, row = _lattice(grid)
        middle = self._middle(grid)
        if (lattice, middle) not in self._parts:
            shapes = projected(self.site.geometry, grid.crs, middle)
            self._parts[lattice, middle] = tuple(_part(edges_of(shape), lattice) for shape in shapes)
            if len(self._parts) > _LATTICES:
                self._parts.popitem(last=False)
        parts = self._parts[lattice, middle]
        meets = [
            number
            for number, (_, (west, north, width, height)) in enumerate(parts)
            if not Window(west - col, north - row, width, height).within(grid.width, grid.height).empty
        ]
        return lattice, (middle, *meets), [parts[number] for number in meets]

    def _middle(self, grid: Grid) -> float:
        """The meridian around which longitudes are told, half a turn from where the map ends.

        Of a geographic raster that is its own middle, unless the whole site lies on it without being cut there
        (a raster may be more than one turn long). All meridians that leave the site whole are told as one.
        """
        meridian = central_meridian(grid.crs)
        if meridian is not None:
            return meridian
        west, _, east, _ = self.site.bbox
        low, high = _longitudes(grid)
        middle = (low + high) / 2
        for lowest, highest in ((low, high), (middle - 180, middle + 180)):
            for turn in (0, 360, -360):
                if lowest <= west + turn and east + turn <= highest:
                    return (west + east) / 2 + turn
        return middle

    def _keep(self, key: tuple[object, ...], mask: Mask) -> None:
        if mask.nbytes > _CACHE:
            return
        self._masks[key] = mask
        self._bytes += mask.nbytes
        while self._bytes > _CACHE:
            _, oldest = self._masks.popitem(last=False)
            self._bytes -= oldest.nbytes


def _longitudes(grid: Grid) -> tuple[float, float]:
    a, _, c, _, _, _ = grid.transform
    hair = abs(a) * 10.0**-DECIMALS
    west, east = sorted((c, c + a * grid.width))
    return west - hair, east + hair


def _lattice(grid: Grid) -> tuple[Lattice, int, int]:
    """A grid's lattice, and the column and row of its first pixel there."""
    a, b, c, d, e, f = grid.transform
    if b or d or not (a and e):
        raise UnsupportedRaster(
            f"the raster's transform {grid.transform} is not north up; turn it with gdalwarp before it comes in"
        )
    col, row = (round((edge / step) % 1.0, DECIMALS) % 1.0 for edge, step in ((c, a), (f, e)))
    return Lattice(grid.crs, a, e, col, row), round(c / a - col), round(f / e - row)


def _part(edges: Edges, lattice: Lattice) -> _Part:
    steps = np.array([lattice.a, lattice.e, lattice.a, lattice.e])
    shares = np.array([lattice.col, lattice.row, lattice.col, lattice.row])
    cells = (edges / steps - shares).round(DECIMALS)
    return _Part(cells, extent(cells))


def _around(blocks: list[Block]) -> Block:
    corners = np.array([(col, row, col + width, row + height) for col, row, width, height in blocks])
    (col, row), (right, bottom) = corners[:, :2].min(axis=0).tolist(), corners[:, 2:].max(axis=0).tolist()
    return col, row, right - col, bottom - row


def _drawn(parts: list[_Part], block: Block, coarse: bool) -> Mask:
    """The mask of a block; each part is drawn where it lies in it."""
    col, row, width, height = block
    mask = np.zeros((height, width), np.bool_)
    draw = cells_touched if coarse else centres_inside
    for edges, (west, north, across, down) in parts:
        part = Window(west - col, north - row, across, down).within(width, height)
        if not part.empty:
            there = slice(part.row, part.row + part.height), slice(part.col, part.col + part.width)
            mask[there] |= draw(edges, (part.col + col, part.row + row, part.width, part.height))
    return mask


def _cells(margin: float, cell: float) -> int:
    """Cells that a margin in metres takes, rounded up."""
    return math.ceil(round(margin / cell, DECIMALS))
