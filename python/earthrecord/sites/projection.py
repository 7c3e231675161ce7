"""A site's outline in the coordinates of a raster's CRS, in one part or, over the seam of a map, in two."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray
from pyproj import CRS, Transformer
from pyproj.exceptions import CRSError, ProjError
from shapely.affinity import translate

from earthrecord.errors import UnsupportedRaster

Floats = NDArray[np.float64]

_SEGMENT = 0.01
"""Longest edge in degrees. The chord of a parallel then lies within 2 cm of it in every projection in use."""

_SEGMENTS = 16
"""Least number of segments of an edge of a box."""

_SHORTEST = 1e-5
"""Degrees below which an edge is not cut for the sake of `_SEGMENTS` (1 m)."""

_HAIR = 1e-11
"""Degrees that outlines stay away from the seam of a map (a micrometre), where a longitude has two places."""


@functools.lru_cache(maxsize=256)
def understood(crs: str) -> CRS:
    """The CRS of a raster. Raises `UnsupportedRaster` where it is not understood."""
    try:
        return CRS.from_user_input(crs)
    except CRSError:
        raise UnsupportedRaster(
            f"the raster's CRS {crs[:200]!r} is not understood; set it, for example with gdal_edit.py -a_srs"
        ) from None


@functools.lru_cache(maxsize=256)
def metres_per_unit(crs: str) -> float:
    """Metres in a unit of a projected CRS."""
    return float(understood(crs).axis_info[0].unit_conversion_factor)


@functools.lru_cache(maxsize=256)
def central_meridian(crs: str) -> float | None:
    """Longitude in the middle of a projected CRS, half a turn from its seam; None for a geographic CRS."""
    known = understood(crs)
    if known.is_geographic:
        return None
    greenwich = known.prime_meridian.longitude if known.prime_meridian else 0.0
    parameters = known.coordinate_operation.params if known.coordinate_operation else []
    origins = (p.value for p in parameters if p.name.lower().startswith("longitude of"))
    return float(next(origins, 0.0)) + float(greenwich)


def projected(outline: Any, crs: str, middle: float) -> tuple[Any, ...]:
    """The parts of an outline (WGS84) in a CRS, their longitudes told within half a turn of `middle`.

    Edges are densified first. A part that has a point where the projection has none (the far side of the
    globe, the other pole) is left out. Results are for reading coordinates: they may be invalid as polygons.
    """
    transform = functools.partial(_transformed, crs)
    parts = (
        shapely.transform(densified(part), transform, interleaved=False)
        for part in within_turn(outline, middle)
    )
    return tuple(part for part in parts if np.isfinite(shapely.get_coordinates(part)).all())


def densified(outline: Any) -> Any:
    """The outline with edges of at most 0.01 degrees, those of a box in 16 segments or more."""
    west, south, east, north = outline.bounds
    shorter = min(east - west, north - south)
    return shapely.segmentize(outline, min(_SEGMENT, max(shorter / _SEGMENTS, _SHORTEST)))


def within_turn(outline: Any, middle: float) -> tuple[Any, ...]:
    """The outline moved by whole turns to within 180 degrees of a meridian; cut in two where it crosses the far side."""
    low, high = middle - 180, middle + 180
    turns = math.ceil((low - outline.bounds[0]) / 360 - _HAIR)
    moved = translate(outline, 360 * turns) if turns else outline
    if moved.bounds[2] <= high + _HAIR:
        return (moved,)
    before, beyond = shapely.box(low, -90, high, 90), shapely.box(high, -90, high + 360, 90)
    parts = shapely.intersection(moved, before), translate(shapely.intersection(moved, beyond), -360)
    return tuple(part for part in parts if part.area > 0)


def _transformed(crs: str, x: Floats, y: Floats) -> tuple[Floats, Floats]:
    middle = central_meridian(crs)
    if middle is not None:
        to_x, to_y = _transformer(crs).transform(np.clip(x, middle - 180 + _HAIR, middle + 180 - _HAIR), y)
    else:
        to_x, to_y = _transformer(crs).transform(x, y)
        to_x = x + (to_x - x + 180) % 360 - 180  # on the turn that it came from
    return to_x, to_y


@functools.lru_cache(maxsize=256)
def _transformer(crs: str) -> Transformer:
    try:
        return Transformer.from_crs("OGC:CRS84", understood(crs), always_xy=True)
    except ProjError:
        raise UnsupportedRaster(
            f"the raster's CRS {crs[:200]!r} can not be reached from longitude and latitude; "
            "a raster needs a geographic or projected CRS"
        ) from None
