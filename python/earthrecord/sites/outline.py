"""From a box or a polygon as people write it to the outline of a site; what can not be right is refused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import shapely
from numpy.typing import ArrayLike, NDArray
from shapely import MultiPolygon, Polygon
from shapely.affinity import translate

from earthrecord.errors import BadSite
from earthrecord.sites.ground import metres_per_degree

_SMALLEST = 1.0  # metres


@contextmanager
def told_of(where: str) -> Iterator[None]:
    """Put file and site in front of what is said about a place."""
    try:
        yield
    except BadSite as error:
        raise BadSite(f"{where}: {error}") from None


def from_box(box: Sequence[float]) -> Polygon:
    """The outline of west, south, east, north in degrees; west > east crosses the antimeridian."""
    if len(box) != 4:
        raise BadSite(f"bbox has {len(box)} numbers; write west, south, east, north in degrees")
    west, south, east, north = (float(edge) for edge in box)
    _check_range([west, east], [south, north])
    if south >= north:
        raise BadSite(f"bbox goes from south {south:g} to north {north:g}; write west, south, east, north")
    if west == east:
        raise BadSite(f"west and east of the bbox are both {west:g}: it has no width")
    if west > east:
        east += 360
        if east - west >= 180:
            raise BadSite(
                f"west {west:g} of the bbox is east of its east {east - 360:g}; swap them, or name edges less than "
                "180 degrees apart where it crosses the antimeridian"
            )
    _check_width(west, east)
    return _finished(shapely.box(west, south, east, north))


def from_geometry(geometry: Any) -> Polygon | MultiPolygon:
    """The outline of a shapely Polygon or MultiPolygon in WGS84 longitude and latitude.

    Rings that jump over the antimeridian, and parts that were cut at it (RFC 7946, 3.1.9), become continuous.
    """
    if geometry is None or geometry.is_empty:
        raise BadSite("the geometry is empty; a site needs a polygon")
    if geometry.geom_type not in ("Polygon", "MultiPolygon"):
        raise BadSite(
            f"the geometry is a {geometry.geom_type}; a site is a Polygon or MultiPolygon: buffer points and lines first"
        )
    parts = [_continuous(part) for part in shapely.get_parts(shapely.force_2d(geometry))]
    return _finished(_joined(parts))


def _continuous(polygon: Polygon) -> Polygon:
    """A polygon whose rings never jump by more than half the globe, its holes beside its shell."""
    shell = _ring(polygon.exterior)
    middle = (shell[:, 0].min() + shell[:, 0].max()) / 2
    holes = []
    for hole in map(_ring, polygon.interiors):
        turns = np.round((middle - (hole[:, 0].min() + hole[:, 0].max()) / 2) / 360)
        holes.append(hole + np.array([360 * turns, 0]))
    return Polygon(shell, holes)


def _ring(ring: Any) -> NDArray[np.float64]:
    points = shapely.get_coordinates(ring)
    x, y = points[:, 0], points[:, 1]
    _check_range(x, y)
    straight = np.unwrap(x, period=360.0) if (np.abs(np.diff(x)) > 180).any() else x
    if (np.abs(np.diff(x)) >= 360).any() or abs(straight[0] - straight[-1]) > 180:
        raise BadSite(
            "the polygon goes around the globe or a pole; cut it into sites narrower than 180 degrees"
        )
    return np.column_stack([straight, y])


def _joined(parts: list[Polygon]) -> Polygon | MultiPolygon:
    """Parts of a site side by side: as they are, or with those west of Greenwich moved beyond 180 east."""
    whole = parts[0] if len(parts) == 1 else MultiPolygon(parts)
    _check_valid(whole)
    west, _, east, _ = whole.bounds
    if east - west < 180:
        return whole
    moved = [translate(part, 360) if part.bounds[0] < 0 else part for part in parts]
    west, _, east, _ = shapely.total_bounds(moved)
    _check_width(west, east)
    return shapely.union_all(moved)


def _finished(outline: Polygon | MultiPolygon) -> Polygon | MultiPolygon:
    """The outline with its western edge in -180 to 180, if it has any size."""
    west, south, east, north = outline.bounds
    per_east, per_north = metres_per_degree((south + north) / 2)
    width, height = (east - west) * per_east, (north - south) * per_north
    if outline.area == 0 or min(width, height) < _SMALLEST:
        raise BadSite(
            f"the site measures {width:.3g} by {height:.3g} m; a site has an area and is at least {_SMALLEST:g} m wide"
        )
    turns = np.floor((west + 180) / 360)
    return outline if turns == 0 else translate(outline, -360 * turns)


def _check_range(longitudes: ArrayLike, latitudes: ArrayLike) -> None:
    x, y = np.asarray(longitudes, np.float64), np.asarray(latitudes, np.float64)
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise BadSite(
            "a coordinate is not a finite number; look for NaN, or for a CRS that is not that of the numbers"
        )
    if (beyond := x[np.abs(x) > 540]).size:
        raise BadSite(
            f"longitude {beyond[0]:.10g} is beyond the globe; write degrees, or state the CRS that the numbers are in"
        )
    if (beyond := y[np.abs(y) > 90]).size:
        swapped = " (are longitude and latitude swapped?)" if (np.abs(x) <= 90).all() else ""
        raise BadSite(f"latitude {beyond[0]:.10g} is beyond 90; longitude comes first{swapped}")


def _check_width(west: float, east: float) -> None:
    if east - west >= 180:
        raise BadSite(
            f"the site spans {east - west:.6g} degrees of longitude; cut it into sites narrower than 180"
        )


def _check_valid(geometry: Polygon | MultiPolygon) -> None:
    if geometry.is_valid:
        return
    reason = shapely.is_valid_reason(geometry)
    raise BadSite(
        f"the polygon is not simple: {reason}; mend it where it was drawn (shapely.make_valid or a buffer of 0 would "
        "change its area unseen)"
    )
