"""Looking at candidates: where a scene lies on the site, and what its quality layer says of the site's pixels.

Only the layer that decides is opened here (the quality layer, or the first layer of a product without one);
the other layers of a scene that is dropped are never touched.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from earthrecord.archive import fetch, raster
from earthrecord.errors import BadMetadata, BadSite, EarthRecordError, UnreadableRaster
from earthrecord.grid import Grid, Window
from earthrecord.products.model import Band, Product
from earthrecord.products.quality import class_table
from earthrecord.products.registry import Products
from earthrecord.record.model import Rules
from earthrecord.sites.model import Site
from earthrecord.sites.pixels import SitePixels

Row = Mapping[str, Any]
File = Mapping[str, Any]
Counts = tuple[int, int, int, int, int, int]

FOOTPRINT_MARGIN = 0.1
"""Degrees: catalogues draw footprints by hand; near the edge the pixels decide."""


def deciding(row: Row, product: Product) -> tuple[Band, File] | None:
    """The layer that decides about a scene, and its file: the quality layer, else the first record layer that it brings."""
    wanted = (
        [product.quality.band] if product.quality else [band.name for band in product.bands if band.record]
    )
    bands = {band.name: band for band in product.bands}
    files = {file["band"]: file for file in row["files"]}
    return next(((bands[name], files[name]) for name in wanted if name in files), None)


def is_remote(file: File) -> bool:
    return "://" in file["href"]


@dataclass(frozen=True)
class Place:
    """Where a layer lies on the site. `window` may reach beyond the raster, `inside` is the part on it."""

    grid: Grid
    window: Window
    mask: NDArray[np.bool_]
    """(height, width) of `window`: the site's pixels."""

    @cached_property
    def inside(self) -> Window:
        return self.window.within(self.grid.width, self.grid.height)

    @cached_property
    def mask_inside(self) -> NDArray[np.bool_]:
        """(height, width) of `inside`."""
        row, col = self.inside.row - self.window.row, self.inside.col - self.window.col
        return self.mask[row : row + self.inside.height, col : col + self.inside.width]

    @cached_property
    def pixels(self) -> int:
        """The site's pixels, on the raster or beyond."""
        return int(self.mask.sum())

    @cached_property
    def covered(self) -> int:
        """Those that lie on the raster."""
        return 0 if self.inside.empty else int(self.mask_inside.sum())


class Looker:
    """Opens the layers of scenes over one site. May be shared by threads."""

    def __init__(
        self, site: Site, products: Products, rules: Rules, fetched: Path, *, network: bool = True
    ) -> None:
        self.site, self.products, self.rules = site, products, rules
        self._fetched, self._network = fetched, network
        self._pixels = SitePixels(site)
        self._near = site.geometry.buffer(FOOTPRINT_MARGIN)
        self._table = cache(
            lambda product, sensor, dtype: class_table(products[product], sensor, dtype)
        )  # 65,536 entries, the same for thousands of scenes

    def path(self, file: File) -> Path:
        """Where a file lies, brought here first where it is remote."""
        return fetch.local(file["href"], self._fetched, file["bytes"], allow_network=self._network)

    def forget(self, file: File) -> None:
        """Let go of a file that was brought here."""
        if is_remote(file):
            (self._fetched / fetch.cache_name(file["href"])).unlink(missing_ok=True)

    def layer(self, row: Row, file: File) -> raster.Layer:
        """Open one layer of a scene."""
        product = self.products[row["product"]]
        return raster.open_layer(
            self.path(file), file["container"], file["member"], file["index"], product, row["tile"]
        )

    def place(self, grid: Grid, product: Product) -> Place:
        window = self._pixels.window(grid, ring=product.ring, margin=self.rules.margin)
        return Place(grid, window, self._pixels.mask(grid, window))

    def told_place(self, row: Row) -> Place | None:
        """Where the metadata put a scene; None where they do not tell, or not what can be."""
        if row["crs"] is None or row["transform"] is None or row["shape"] is None:
            return None
        from pyproj.exceptions import ProjError

        height, width = row["shape"]
        try:
            grid = Grid(row["crs"], tuple(row["transform"][:6]), width, height)
            return self.place(grid, self.products[row["product"]])
        except (EarthRecordError, ProjError, ValueError):
            return None

    def misses(self, row: Row) -> bool:
        """Whether metadata prove that a scene has nothing of the site: its footprint, and its grid where they tell one."""
        if row["footprint"] is None:
            return False
        import shapely
        from shapely.affinity import translate

        try:
            footprint = shapely.make_valid(shapely.from_wkt(row["footprint"]))
        except shapely.errors.GEOSException as error:
            raise BadMetadata(
                f"{row['item']}: the footprint {row['footprint'][:60]!r} is no WKT geometry ({error})"
            ) from None
        if any(self._near.intersects(translate(footprint, shift)) for shift in (-360.0, 0.0, 360.0)):
            return False
        place = self.told_place(row)
        return place is None or place.covered == 0

    def encloses(self, file: File) -> bool:
        """Whether a polygon of a vector file shares ground with the site."""
        from earthrecord.sites.features import read_geojson, read_vector

        path = self.path(file)
        read = read_geojson if path.suffix.lower() in (".geojson", ".json") else read_vector
        try:
            features = read(path)
        except BadSite as error:
            raise UnreadableRaster(str(error)) from None
        return any(
            one.geometry is not None and one.geometry.intersects(self.site.geometry) for one in features
        )

    def check(self, layer: raster.Layer, band: Band, href: str) -> None:
        """A layer in another type than the product's is not what it says it is."""
        if layer.dtype not in (band.dtype, *band.other_dtypes):
            allowed = " or ".join((band.dtype, *band.other_dtypes))
            raise UnreadableRaster(
                f"{href} holds {layer.dtype}, {band.name} is {allowed}: the file is not that layer as distributed; get it again"
            )

    def counts(self, row: Row, band: Band, file: File, place: Place) -> Counts:
        """The six counts of one scene (definitions, "counts")."""
        layer = self.layer(row, file)
        self.check(layer, band, file["href"])
        table = self._table(row["product"], row["sensor"], layer.dtype)
        return layer.count(table, place.window, place.mask)

    def classes(self, row: Row, file: File, place: Place) -> NDArray[np.uint8]:
        """The class of every pixel of `place.window` (0 outside the raster), to lay granules over each other."""
        layer = self.layer(row, file)
        out = np.zeros((place.window.height, place.window.width), np.uint8)
        if not place.inside.empty:
            values = layer.read(place.inside)
            unsigned = values.view(f"u{values.dtype.itemsize}")
            row0, col0 = place.inside.row - place.window.row, place.inside.col - place.window.col
            table = self._table(row["product"], row["sensor"], layer.dtype)
            out[row0 : row0 + values.shape[0], col0 : col0 + values.shape[1]] = table[unsigned]
        return out


def metadata_flags(row: Row, grid: Grid) -> list[str]:
    """How a raster differs from what its metadata says: `resampled` (cells), `metadata-crs` (CRS)."""
    flags = []
    if row["crs"] is not None and not same_crs(row["crs"], grid.crs):
        flags.append("metadata-crs")
    if row["shape"] is not None and row["transform"] is not None:
        cells = (abs(row["transform"][0]), abs(row["transform"][4]))
        if any(abs(ours / theirs - 1) > 1e-3 for ours, theirs in zip(grid.cell, cells, strict=True)):
            flags.append("resampled")
    return flags


def same_crs(one: str, other: str) -> bool:
    """Whether two CRS descriptions mean the same projection."""
    from earthrecord.archive.crs import same

    return same(one, other)


def cells_of(base: Grid, other: Grid) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Columns and rows of the other grid's cells under each pixel centre of `base`, as (height, width); may lie off it."""
    a, _, x0, _, e, y0 = base.transform
    xs, ys = np.meshgrid(x0 + a * (np.arange(base.width) + 0.5), y0 + e * (np.arange(base.height) + 0.5))
    if base.crs != other.crs:
        from pyproj import Transformer

        xs, ys = Transformer.from_crs(base.crs, other.crs, always_xy=True).transform(xs, ys)
    a, _, x0, _, e, y0 = other.transform
    return np.floor((xs - x0) / a).astype(np.int64), np.floor((ys - y0) / e).astype(np.int64)
