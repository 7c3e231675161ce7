"""Coordinate reference systems: their name, whether two mean the same, and the geokeys that say one in a TIFF."""

from __future__ import annotations

import functools
import struct
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from earthrecord import _core

if TYPE_CHECKING:
    from pyproj import CRS

SINUSOIDAL = "+proj=sinu +lon_0=0 +x_0=0 +y_0=0 +R=6371007.181 +units=m +no_defs"
"""The sphere and projection of all MODIS and VIIRS tiles; no authority has a code for it."""

_BY_GEOKEYS: dict[bytes, str] = {}


def of_header(header: _core.Header) -> str | None:
    """The CRS of a TIFF in a form that pyproj reads; None where the file names none.

    A code stays a code, the sinusoidal grid is `SINUSOIDAL`, all else is WKT. User-defined keys are understood by
    rasterio, once for each distinct blob.
    """
    if header.epsg is not None and (coded := _coded(header.epsg)):
        return coded
    if not header.geokeys:
        return None
    if header.geokeys not in _BY_GEOKEYS:
        found = _by_rasterio(header.path)
        if found is None:
            return None
        _BY_GEOKEYS[header.geokeys] = found
    return _BY_GEOKEYS[header.geokeys]


@functools.lru_cache(maxsize=256)
def _coded(code: int) -> str | None:
    """The authority that knows a code: some providers write ESRI codes where an EPSG one belongs (Mollweide's 54009)."""
    from pyproj.exceptions import CRSError

    for name in (f"EPSG:{code}", f"ESRI:{code}"):
        try:
            _parsed(name)
        except CRSError:
            continue
        return name
    return None


def named(crs: str) -> str:
    """A CRS under its shortest name: `SINUSOIDAL`, a code that it names itself, or as it is."""
    if same(crs, SINUSOIDAL):
        return SINUSOIDAL
    code = _parsed(crs).to_epsg(min_confidence=100)
    return crs if code is None else f"EPSG:{code}"


@functools.lru_cache(maxsize=1024)
def same(one: str, other: str) -> bool:
    """Whether two CRS descriptions mean the same coordinates: one ellipsoid, projection, parameters and units.

    Names, datum labels and the order of axes do not count. False where one can not be understood.
    """
    if one == other:
        return True
    from pyproj.exceptions import CRSError

    try:
        return _essence(one) == _essence(other)
    except CRSError:
        return False


@functools.lru_cache(maxsize=256)
def geokeys(crs: str) -> bytes:
    """The geokeys blob (see `_core.Header.geokeys`) that says a CRS in a TIFF, for rasters that came without one."""
    if same(crs, SINUSOIDAL):
        return _SINUSOIDAL_GEOKEYS
    parsed = _parsed(crs)
    code = parsed.to_epsg(min_confidence=100)
    if code is not None:
        return _core.geokeys_of_epsg(code, parsed.is_geographic)
    return _written_by_rasterio(crs)


def _by_rasterio(path: str) -> str | None:
    import rasterio

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rasterio.errors.NotGeoreferencedWarning)
        with rasterio.open(path) as dataset:
            return named(dataset.crs.to_wkt()) if dataset.crs else None


def _written_by_rasterio(crs: str) -> bytes:
    """Geokeys as GDAL writes them, read back from a file of one pixel."""
    import numpy as np
    import rasterio

    profile: dict[str, Any] = {"driver": "GTiff", "width": 1, "height": 1, "count": 1, "dtype": "uint8"}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "pixel.tif")
        transform = rasterio.Affine(2.0, 0.0, 0.0, 0.0, -2.0, 0.0)
        with rasterio.open(path, "w", crs=_parsed(crs).to_wkt(), transform=transform, **profile) as dataset:
            dataset.write(np.zeros((1, 1, 1), np.uint8))
        return _core.scan_header(path).geokeys


@functools.lru_cache(maxsize=256)
def _parsed(crs: str) -> CRS:
    """The horizontal CRS that a description means, without its vertical part and its shift to WGS84."""
    from pyproj import CRS

    parsed = CRS.from_user_input(crs)
    if parsed.is_compound:
        parsed = parsed.sub_crs_list[0]
    return parsed.source_crs if parsed.is_bound and parsed.source_crs else parsed


def _essence(crs: str) -> tuple[object, ...]:
    """What decides where coordinates lie on the ground, as far as a raster needs it."""
    parsed = _parsed(crs)
    ellipsoid, operation = parsed.ellipsoid, parsed.coordinate_operation
    shape = (round(ellipsoid.semi_major_metre, 3), round(ellipsoid.semi_minor_metre, 3)) if ellipsoid else ()
    units = tuple(round(axis.unit_conversion_factor, 12) for axis in parsed.axis_info[:2])
    if operation is None:
        return (parsed.is_geographic, shape, units)
    parameters = {
        parameter.name: round(float(parameter.value) * parameter.unit_conversion_factor, 9)
        for parameter in operation.params
    }
    return (operation.method_name, shape, units, tuple(sorted(parameters.items())))


def _blob(directory: tuple[int, ...], doubles: tuple[float, ...], text: bytes) -> bytes:
    """GeoKeyDirectory, GeoDoubleParams and GeoAsciiParams joined as `_core.Header.geokeys` has them."""
    form = f"<II{len(directory)}H{len(doubles)}d"
    return struct.pack(form, len(directory), len(doubles), *directory, *doubles) + text


# fmt: off
_SINUSOIDAL_KEYS = (
    1, 1, 0, 18,
    1024, 0, 1, 1,      # projected
    1025, 0, 1, 1,      # pixel is area
    1026, 34737, 8, 0,
    2048, 0, 1, 32767,
    2049, 34737, 75, 8,
    2050, 0, 1, 32767,
    2054, 0, 1, 9102,   # degree
    2056, 0, 1, 32767,
    2057, 34736, 1, 3,  # semi-major axis
    2058, 34736, 1, 4,  # semi-minor axis
    2061, 34736, 1, 5,  # Greenwich
    3072, 0, 1, 32767,
    3074, 0, 1, 32767,
    3075, 0, 1, 24,     # sinusoidal
    3076, 0, 1, 9001,   # metre
    3082, 34736, 1, 1,  # false easting
    3083, 34736, 1, 2,  # false northing
    3088, 34736, 1, 0,  # central meridian
)
# fmt: on
_SINUSOIDAL_GEOKEYS = _blob(
    _SINUSOIDAL_KEYS,
    (0.0, 0.0, 0.0, 6371007.181, 6371007.181, 0.0),
    b"unknown|GCS Name = unknown|Datum = unknown|Ellipsoid = unknown|Primem = Greenwich||\0",
)
"""As GDAL 3.10 writes `SINUSOIDAL`; kept here so that a record's bytes do not depend on the GDAL at hand."""
