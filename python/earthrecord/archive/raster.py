"""One door to every raster: TIFF, JPEG 2000, HDF4, HDF5 or netCDF, told by content and not by name.

TIFFs are read by the core. What it does not read (LERC, JPEG, WebP, 12-bit ...) and JPEG 2000 go through
rasterio, here and nowhere else in the package.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from earthrecord import _core
from earthrecord.archive import crs, signature
from earthrecord.archive.layer import Counts, Layer, corner
from earthrecord.errors import UnreadableRaster, UnsupportedRaster
from earthrecord.grid import Grid, Window
from earthrecord.products.model import Product

__all__ = ["Layer", "open_layer", "write"]

Transform = tuple[float, float, float, float, float, float]
_HDF = ("hdf4", "hdf5")
_NOWHERE = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)
"""What software writes for a raster whose place it does not know."""


@dataclass(frozen=True, kw_only=True)
class TiffLayer(Layer):
    """A band of a TIFF that the core reads."""

    index: int

    def read(self, window: Window) -> NDArray[Any]:
        return _core.read_window(self.path, corner(window), self.index)

    def crop(
        self,
        target: Path,
        window: Window,
        site_mask: NDArray[np.bool_] | None = None,
        mask_value: float | None = None,
    ) -> tuple[int, str]:
        return _core.crop(self.path, target, corner(window), self.index, site_mask, mask_value)

    def count(self, classes: NDArray[np.uint8], window: Window, site_mask: NDArray[np.bool_]) -> Counts:
        return _core.count_quality(self.path, classes, corner(window), site_mask, self.index)


@dataclass(frozen=True, kw_only=True)
class GdalLayer(Layer):
    """A band of a file that only GDAL reads."""

    index: int

    def read(self, window: Window) -> NDArray[Any]:
        from rasterio.windows import Window as GdalWindow

        self._check(window)
        with _gdal(self.path) as dataset:
            values: NDArray[Any] = dataset.read(self.index, window=GdalWindow(*corner(window)))
        return values


def open_layer(
    path: Path,
    container: str,
    member: str | None,
    index: int,
    product: Product | None = None,
    tile: str | None = None,
) -> Layer:
    """Open one layer of a file: its header is read, no pixel.

    `container` and `member` (layer inside HDF or netCDF) and `index` (band of a TIFF or JPEG 2000, from 1) are
    what the scene table says; the bytes decide what the file is. `product` gives other spellings of a member
    and what a netCDF must be like; `tile` (hHHvVV) places a granule. Raises `UnreadableRaster` (missing, empty,
    damaged, a web page, no such layer), `UnsupportedRaster` (no north-up grid) and `BadMetadata` (a file that
    speaks of another place or product).
    """
    kind = _kind(path)
    if kind in ("netcdf3", "zip") or (kind == "hdf5" and container == "netcdf"):
        from earthrecord.archive import netcdf

        return netcdf.open_layer(path, _names(path, kind, member, product), product)
    if kind in _HDF:
        from earthrecord.archive import hdf

        return hdf.open_layer(path, _names(path, kind, member, product), tile)
    if member is not None:
        raise UnreadableRaster(
            f"{path}: layer {member!r} is wanted, but it is {signature.words(kind)} without named layers; get it again"
        )
    return _open_jp2(path, index) if kind == "jp2" else _open_tiff(path, index)


def write(target: Path, values: NDArray[Any], grid: Grid, nodata: str | None = None) -> tuple[int, str]:
    """Write an array (height, width) on a grid as format 1; returns size in bytes and SHA-256 (hex)."""
    return _core.write_raster(target, values, grid.transform, crs.geokeys(grid.crs), nodata)


def _kind(path: Path) -> signature.Kind:
    try:
        kind = signature.kind_of_file(path)
    except OSError as error:
        raise UnreadableRaster(f"{path}: {error.strerror}; get it, or search again if it moved") from None
    if kind not in signature.RASTERS or kind == "unknown":
        raise UnreadableRaster(f"{path}: is {signature.words(kind)}, not a raster; get it again")
    return kind


def _names(path: Path, kind: signature.Kind, member: str | None, product: Product | None) -> list[str]:
    """What a layer may be called: as the scene table says, then as the product's band is also spelt."""
    if member is None:
        raise UnreadableRaster(
            f"{path}: is {signature.words(kind)}, and no layer in it is named; search again"
        )
    bands = product.bands if product else ()
    return [
        member,
        *(
            alias
            for band in bands
            if member in (band.member, *band.aliases)
            for alias in (band.member, *band.aliases)
            if alias
        ),
    ]


def _open_tiff(path: Path, index: int) -> Layer:
    header = _core.scan_header(path)
    _check_index(path, index, header.bands)
    reference = crs.of_header(header)
    if header.transform is None or header.transform == _NOWHERE:
        raise UnreadableRaster(f"{path}: says not where it lies (no position); get the georeferenced file")
    if reference is None:
        raise UnreadableRaster(f"{path}: says not where it lies (no CRS); get the georeferenced file")
    grid = _north_up(path, reference, header.transform, header.width, header.height)
    facts: dict[str, Any] = {
        "path": path,
        "grid": grid,
        "nodata": header.nodata,
        "geokeys": header.geokeys,
        "bands": header.bands,
        "index": index,
    }
    if header.readable:
        return TiffLayer(dtype=header.dtype, gdal_metadata=header.gdal_metadata, **facts)
    with _gdal(path) as dataset:
        dtype = dataset.dtypes[index - 1]
    return GdalLayer(
        dtype=dtype, gdal_metadata=_metadata_of(header.gdal_metadata, index, header.bands), **facts
    )


def _open_jp2(path: Path, index: int) -> Layer:
    with _gdal(path) as dataset:
        _check_index(path, index, dataset.count)
        if dataset.crs is None or dataset.transform.is_identity:
            raise UnreadableRaster(f"{path}: says not where it lies; get the file with its georeference")
        grid = _north_up(
            path, crs.named(dataset.crs.to_wkt()), tuple(dataset.transform)[:6], dataset.width, dataset.height
        )
        nodata, dtype, bands = dataset.nodata, dataset.dtypes[index - 1], dataset.count
    return GdalLayer(
        path=path,
        grid=grid,
        dtype=dtype,
        nodata=None if nodata is None else f"{nodata:.17g}",
        geokeys=crs.geokeys(grid.crs),
        bands=bands,
        index=index,
    )


def _check_index(path: Path, index: int, bands: int) -> None:
    if not 1 <= index <= bands:
        raise UnreadableRaster(f"{path}: band {index} is wanted, it has {bands}; check the product's `index`")


def _north_up(path: Path, reference: str, transform: Transform, width: int, height: int) -> Grid:
    a, b, _, d, e, _ = transform
    if b != 0 or d != 0 or a <= 0 or e >= 0:
        raise UnsupportedRaster(
            f"{path}: its grid is rotated or flipped {transform}; only north-up grids are read, warp it first"
        )
    return Grid(reference, transform, width, height)


def _metadata_of(gdal_metadata: str | None, index: int, bands: int) -> str | None:
    """GDAL metadata of the file and of one of its bands, as those of a file of its own (as `_core.crop` does it)."""
    if gdal_metadata is None or bands == 1:
        return gdal_metadata
    items = re.findall(r"<Item\b.*?(?:/>|</Item>)", gdal_metadata, re.DOTALL)
    kept = [item for item in items if re.search(rf'sample="{index - 1}"', item) or "sample=" not in item]
    lines = [re.sub(r'sample="\d+"', 'sample="0"', item) for item in kept]
    return (
        "<GDALMetadata>\n" + "".join(f"  {line}\n" for line in lines) + "</GDALMetadata>\n" if lines else None
    )


@contextmanager
def _gdal(path: Path) -> Iterator[Any]:
    """A file opened by rasterio alone: no side file may say what its bytes do not."""
    import rasterio
    from rasterio.errors import NotGeoreferencedWarning, RasterioError

    with (
        warnings.catch_warnings(),
        rasterio.Env(GDAL_DISABLE_READDIR_ON_OPEN="EMPTY_DIR", GDAL_PAM_ENABLED="NO"),
    ):
        warnings.simplefilter("ignore", NotGeoreferencedWarning)
        try:
            with rasterio.open(path) as dataset:
                yield dataset
        except RasterioError as error:
            raise UnreadableRaster(
                f"{path}: damaged, cut short, or in a form that GDAL lacks too ({error}); get it again"
            ) from error
