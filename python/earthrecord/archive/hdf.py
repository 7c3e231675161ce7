"""Layers of MODIS (HDF4) and VIIRS (HDF5) granules, on the sinusoidal grid that their tile names.

The HDF4 and HDF5 libraries are not safe to use from two threads, so one file is open at a time.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from earthrecord.archive import crs, signature
from earthrecord.archive.layer import Layer
from earthrecord.errors import BadMetadata, UnreadableRaster, UnsupportedRaster
from earthrecord.grid import Grid, Window

QUARTER = 10007554.677
"""Metres from the equator to the pole as the granules' own metadata give them, which cut pi/2 * 6371007.181 m
after the millimetre. A tile is a ninth of it on a side; the provider's GeoTIFFs lie on this grid."""
TILE = QUARTER / 9

_HDF4_TYPES = {
    3: "uint8",
    4: "int8",
    5: "float32",
    6: "float64",
    20: "int8",
    21: "uint8",
    22: "int16",
    23: "uint16",
    24: "int32",
    25: "uint32",
}
_LOCK = threading.RLock()


@dataclass(frozen=True)
class Facts:
    """A layer as its granule describes it: rows and columns, numpy dtype, `_FillValue` (one or several values)."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    fill: tuple[float | int, ...]


@dataclass(frozen=True, kw_only=True)
class HdfLayer(Layer):
    """One layer of a granule; a window is read without the rest of the layer."""

    member: str

    def read(self, window: Window) -> NDArray[Any]:
        self._check(window)
        with _open(self.path) as granule:
            return granule.read(self.member, window)


def members(path: Path) -> list[str]:
    """The names of all layers of a granule, as `open_layer` takes them."""
    with _open(path) as granule:
        return granule.names()


def open_layer(path: Path, names: Sequence[str], tile: str | None = None) -> HdfLayer:
    """The layer of a granule that answers to one of `names`; blanks, underscores and case do not count.

    `tile` is hHHvVV; without it the file name or the granule's own metadata tell it. Raises
    `UnreadableRaster` (damaged, no such layer), `UnsupportedRaster` (no tile of the sinusoidal grid) and
    `BadMetadata` (the granule says that it lies elsewhere).
    """
    with _open(path) as granule:
        facts = granule.facts(_find(path, granule.names(), names))
        structure = granule.structure()
        bands = len(granule.names())
    if len(facts.shape) != 2:
        raise UnsupportedRaster(
            f"{path}: {facts.name!r} has {len(facts.shape)} dimensions; only images of two are read"
        )
    return HdfLayer(
        path=path,
        grid=_grid(path, facts, structure, tile),
        dtype=facts.dtype,
        nodata=_tag(facts.fill),
        geokeys=crs.geokeys(crs.SINUSOIDAL),
        bands=bands,
        member=facts.name,
    )


def tile_grid(tile: str, pixels: int) -> Grid:
    """The grid of a sinusoidal tile (hHHvVV) of `pixels` by `pixels`."""
    h, v = int(tile[1:3]), int(tile[4:6])
    cell = TILE / pixels
    transform = (cell, 0.0, (h - 18) * TILE, 0.0, -cell, (9 - v) * TILE)
    return Grid(crs.SINUSOIDAL, transform, pixels, pixels)


class _Granule(Protocol):
    def names(self) -> list[str]: ...
    def facts(self, name: str) -> Facts: ...
    def read(self, name: str, window: Window) -> NDArray[Any]: ...
    def structure(self) -> str: ...
    def close(self) -> None: ...


class _Hdf4:
    def __init__(self, path: Path) -> None:
        from pyhdf.SD import SD, SDC

        self._file = SD(str(path), SDC.READ)

    def names(self) -> list[str]:
        return list(self._file.datasets())

    def facts(self, name: str) -> Facts:
        with self._selected(name) as layer:
            _, rank, shape, code, _ = layer.info()
            fill = layer.attributes().get("_FillValue")
        sizes = (shape,) if rank == 1 else tuple(shape)
        return Facts(name, sizes, _HDF4_TYPES.get(code, f"HDF4 type {code}"), _several(fill))

    def read(self, name: str, window: Window) -> NDArray[Any]:
        dtype = self.facts(name).dtype
        with self._selected(name) as layer:
            values = layer.get(start=(window.row, window.col), count=(window.height, window.width))
        return np.asarray(values, dtype).reshape(window.height, window.width)

    def structure(self) -> str:
        attributes = self._file.attributes()
        parts = sorted(name for name in attributes if re.fullmatch(r"StructMetadata\.\d+", name))
        return "".join(str(attributes[name]) for name in parts)

    def close(self) -> None:
        self._file.end()

    @contextmanager
    def _selected(self, name: str) -> Iterator[Any]:
        layer = self._file.select(name)
        try:
            yield layer
        finally:
            layer.endaccess()


class _Hdf5:
    def __init__(self, path: Path) -> None:
        import h5py

        self._file = h5py.File(path, "r")

    def names(self) -> list[str]:
        import h5py

        found: list[str] = []

        def visit(name: str, node: object) -> None:
            if isinstance(node, h5py.Dataset) and node.ndim >= 2:
                found.append(name)

        self._file.visititems(visit)
        return found

    def facts(self, name: str) -> Facts:
        layer = self._file[name]
        return Facts(
            name, layer.shape, layer.dtype.newbyteorder("=").name, _several(layer.attrs.get("_FillValue"))
        )

    def read(self, name: str, window: Window) -> NDArray[Any]:
        rows = slice(window.row, window.row + window.height)
        values = self._file[name][rows, window.col : window.col + window.width]
        return np.asarray(values, values.dtype.newbyteorder("="))

    def structure(self) -> str:
        folder = self._file.get("HDFEOS INFORMATION", {})
        parts = sorted(name for name in folder if re.fullmatch(r"StructMetadata\.\d+", name))
        return "".join(bytes(folder[name][()]).decode(errors="replace") for name in parts)

    def close(self) -> None:
        self._file.close()


@contextmanager
def _open(path: Path) -> Iterator[_Granule]:
    """The granule in a file, whatever its ending says; every failure inside names the file."""
    from pyhdf.error import HDF4Error

    with _LOCK:
        try:
            granule = _reader(path)
            try:
                yield granule
            finally:
                granule.close()
        except (HDF4Error, OSError, KeyError, RuntimeError) as error:
            if isinstance(error, UnreadableRaster):
                raise
            raise UnreadableRaster(f"{path}: damaged or cut short ({error}); get it again") from error


def _reader(path: Path) -> _Granule:
    kind = signature.kind_of_file(path)
    if kind == "hdf4":
        return _Hdf4(path)
    if kind == "hdf5":
        return _Hdf5(path)
    raise UnreadableRaster(f"{path}: is {signature.words(kind)}, not HDF; get it again")


def _find(path: Path, names: Sequence[str], wanted: Sequence[str]) -> str:
    """The one layer whose name, or last part of its path, is one of those wanted."""
    for want in wanted:
        plain = _plain(want)
        found = [name for name in names if _plain(name) == plain or _plain(name).endswith(f"/{plain}")]
        if len(found) == 1:
            return found[0]
        if found:
            raise UnreadableRaster(
                f"{path}: {want!r} may be any of {', '.join(found)}; name the layer with its path"
            )
    raise UnreadableRaster(f"{path}: has no layer {wanted[0]!r}; it holds {', '.join(names) or 'none'}")


def _plain(name: str) -> str:
    return re.sub(r"[\s_]", "", name).lower()


def _several(fill: Any) -> tuple[float | int, ...]:
    return () if fill is None else tuple(np.atleast_1d(np.asarray(fill)).tolist())


def _tag(fill: tuple[float | int, ...]) -> str | None:
    """The nodata tag that says a fill value; a layer with two fills has none."""
    if len(fill) != 1:
        return None
    return str(fill[0]) if isinstance(fill[0], int) else f"{fill[0]:.17g}"


def _grid(path: Path, facts: Facts, structure: str, tile: str | None) -> Grid:
    rows, cols = facts.shape
    described = _described(structure, facts.name)
    named = tile or _tile_in(path.name) or (described.tile if described else None)
    if described:
        described.check(path)
    if named is None or not re.fullmatch(r"h\d\dv\d\d", named):
        raise UnsupportedRaster(
            f"{path}: no tile hHHvVV in its name or metadata, so its place is not known; rename it as the provider does"
        )
    if rows != cols:
        raise UnsupportedRaster(
            f"{path}: {facts.name!r} has {cols} x {rows} pixels, a tile is square; use the granule as the provider delivers it"
        )
    grid = tile_grid(named, rows)
    if described and not described.matches(grid):
        raise BadMetadata(
            f"{path}: named as tile {named} with {cols} x {rows} pixels, but its own metadata put it at "
            f"{described.left}, {described.top} to {described.right}, {described.bottom}; get it again"
        )
    return grid


def _tile_in(name: str) -> str | None:
    found = re.search(r"(?i)(?<![a-z0-9])(h\d\dv\d\d)(?![0-9])", name)
    return found[1].lower() if found else None


@dataclass(frozen=True)
class _Described:
    """The grid of a layer as HDF-EOS structural metadata give it: corners in metres, pixels, projection."""

    left: float
    top: float
    right: float
    bottom: float
    width: int
    height: int
    projection: str
    radius: float

    @property
    def tile(self) -> str:
        return f"h{round(self.left / TILE) + 18:02d}v{9 - round(self.top / TILE):02d}"

    def check(self, path: Path) -> None:
        if not self.projection.endswith("SNSOID") or abs(self.radius - 6371007.181) > 0.001:
            raise UnsupportedRaster(
                f"{path}: lies in {self.projection} on a radius of {self.radius} m; only tiles of the MODIS sinusoidal grid are read"
            )

    def matches(self, grid: Grid) -> bool:
        cell, _, left, _, _, top = grid.transform
        edges = (left, top, left + cell * grid.width, top - cell * grid.height)
        near = all(
            abs(a - b) < 1.0
            for a, b in zip(edges, (self.left, self.top, self.right, self.bottom), strict=True)
        )
        return near and (self.width, self.height) == (grid.width, grid.height)


def _described(structure: str, layer: str) -> _Described | None:
    """What the structural metadata say of the grid that holds a layer (or of the only grid)."""
    grids = re.findall(r"GROUP=GRID_\d+\s(.*?)END_GROUP=GRID_\d+\s", structure, re.DOTALL)
    last = _plain(layer.rpartition("/")[2])
    holding = [grid for grid in grids if last in map(_plain, re.findall(r'DataFieldName="([^"]*)"', grid))]
    if len(holding) > 1:
        holding = [
            grid for grid in holding if f"/{_value(grid, 'GridName')}/".replace('"', "") in f"/{layer}"
        ]
    if len(holding) != 1:
        return None
    return _parse_grid(holding[0])


def _parse_grid(text: str) -> _Described | None:
    corners = [_numbers(_value(text, key)) for key in ("UpperLeftPointMtrs", "LowerRightMtrs")]
    sizes = _numbers(_value(text, "XDim")) + _numbers(_value(text, "YDim"))
    if [len(corner) for corner in corners] != [2, 2] or len(sizes) != 2:
        return None
    radius = (_numbers(_value(text, "ProjParams")) or [0.0])[0]
    (left, top), (right, bottom) = corners
    return _Described(
        left, top, right, bottom, int(sizes[0]), int(sizes[1]), _value(text, "Projection"), radius
    )


def _value(text: str, key: str) -> str:
    found = re.search(rf"^\s*{key}=(.*?)\s*$", text, re.MULTILINE)
    return found[1] if found else ""


def _numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?", text)]
