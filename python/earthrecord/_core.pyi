"""Pixel work in Rust: TIFF headers, decoding, quality counts, the writer of format 1.

Paths are `str` or `os.PathLike`. Windows are (col, row, width, height), 0-based, in pixels. All functions
release the GIL. Errors: `UnreadableRaster` (missing, empty, truncated, damaged, no TIFF),
`UnsupportedRaster` (a sound TIFF in a form the core does not read, or more pixels than memory holds),
`UnwritableRaster`; each message names the file, what was found and what to do. Arrays and windows that do not
fit each other are a `ValueError`, arrays of another type a `TypeError`. Arrays may have any memory order.
"""

import os
from collections.abc import Sequence
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "DEBUG",
    "Header",
    "__version__",
    "count_classes",
    "count_quality",
    "crop",
    "geokeys_of_epsg",
    "read_window",
    "scan_header",
    "scan_headers",
    "sha256_files",
    "write_raster",
]

__version__: str
"""Version of the core, equal to the package's."""

DEBUG: bool
"""True for an unoptimised build; never quote a speed measured with one."""

_Path: TypeAlias = str | os.PathLike[str]
_Window: TypeAlias = tuple[int, int, int, int]

@final
class Header:
    """What the first image directory of a TIFF file says. Immutable."""

    path: str
    file_bytes: int
    width: int
    height: int
    bands: int
    dtype: str
    """numpy name: uint8 int8 uint16 int16 uint32 int32 uint64 int64 float32 float64; "" where numpy has none."""
    compression: str
    """none, deflate, lzw, zstd, or the TIFF code in digits where the core does not decode it."""
    predictor: int
    """1 none, 2 horizontal difference, 3 floating point."""
    planar: int
    """1 pixel interleaved, 2 band sequential."""
    tile: tuple[int, int] | None
    """Tile width and height; None for strips."""
    rows_per_strip: int
    big_endian: bool
    bigtiff: bool
    transform: tuple[float, float, float, float, float, float] | None
    """Affine (a, b, c, d, e, f) to the outer corner of the first pixel (PixelIsPoint is shifted as GDAL does); None without georeference."""
    geokeys: bytes
    """GeoKeyDirectory, GeoDoubleParams and GeoAsciiParams as stored, joined in one little-endian blob; b"" without. Equal blobs mean equal CRS."""
    epsg: int | None
    """EPSG code of a projected or geographic CRS that the geokeys name by code alone; None for user-defined ones."""
    nodata: str | None
    """GDAL_NODATA as stored (trailing NUL and blanks cut), None without the tag."""
    gdal_metadata: str | None
    """GDAL_METADATA XML as stored, None without the tag."""
    overviews: int
    """Number of further image directories."""
    readable: bool
    """True where `read_window` decodes this file."""
    why_not: str
    """Why `readable` is False, in words; "" otherwise."""

def scan_header(path: _Path) -> Header:
    """Read one header without decoding a pixel. Raises `UnreadableRaster` for anything that is no TIFF."""

def scan_headers(paths: Sequence[_Path]) -> list[Header | Exception]:
    """Read many headers in parallel; a file that fails gives its exception in its place."""

def read_window(path: _Path, window: _Window | None = None, band: int = 1) -> NDArray[Any]:
    """Decode a window of one band as an array of (height, width) in the file's dtype, native byte order.

    `band` counts from 1. The window must lie inside the raster. Nothing is scaled or masked. Sparse tiles
    (offset and size 0) give the nodata value, brought into the dtype's range, or 0 where none is tagged, as
    GDAL does. A window of more than 4 GiB is refused.
    """

def count_quality(
    path: _Path,
    classes: NDArray[np.uint8],
    window: _Window,
    site: NDArray[np.bool_],
    band: int = 1,
) -> tuple[int, int, int, int, int, int]:
    """Count the site's pixels by quality class: (outside, fill, cloud, shadow, snow, clear). They add up to `site.sum()`.

    `window` may reach beyond the raster; site pixels there are "outside". `site` is (height, width) of the
    window. `classes` gives the class 1 fill, 2 cloud, 3 shadow, 4 snow, 5 clear of every value:
    256 entries for 8-bit layers, 65,536 for 16-bit ones; signed values index by their bit pattern. A table of
    another size is `UnsupportedRaster`, another class a `ValueError`.
    """

def count_classes(
    values: NDArray[Any],
    classes: NDArray[np.uint8],
    window: _Window,
    site: NDArray[np.bool_],
    size: tuple[int, int],
) -> tuple[int, int, int, int, int, int]:
    """`count_quality` over an array that was decoded elsewhere: `values` is the part of `window` that lies on a raster of `size` (width, height)."""

def crop(
    source: _Path,
    target: _Path,
    window: _Window,
    band: int = 1,
    site: NDArray[np.bool_] | None = None,
    mask_value: float | None = None,
    level: int = 6,
) -> tuple[int, str]:
    """Copy a window of one band into a new file of format 1; returns its size in bytes and its SHA-256 (hex).

    Georeference, geokeys, nodata tag and GDAL metadata are carried over as stored, the tie point moved to
    the window; overviews, and GDAL metadata of other bands, are not. Where `site` (height, width of the
    window) is False, pixels become `mask_value`, which the dtype must hold; give both or none. The window
    must lie inside the raster, `level` from 1 to 12. The file is written beside its place under a temporary
    name and renamed when whole.
    """

def write_raster(
    target: _Path,
    values: NDArray[Any],
    transform: tuple[float, float, float, float, float, float],
    geokeys: bytes | None = None,
    nodata: str | None = None,
    gdal_metadata: str | None = None,
    level: int = 6,
) -> tuple[int, str]:
    """Write an array of (height, width) as format 1; returns size in bytes and SHA-256 (hex). Atomic like `crop`.

    Format 1: classic little-endian GeoTIFF, one band, deflate at `level`, predictor 2 for integers (none
    for floats), tiles of 256 pixels, or one strip where width and height are at most 256; no overviews, no
    time stamp. The same input gives the same bytes everywhere. `transform` must be invertible, the array
    hold at least one pixel.
    """

def geokeys_of_epsg(code: int, geographic: bool) -> bytes:
    """A minimal geokeys blob that names an EPSG code, for `write_raster`."""

def sha256_files(paths: Sequence[_Path]) -> list[str | Exception]:
    """SHA-256 (hex) of many files in parallel, streaming; a file that fails gives its exception in its place."""
