"""Footprints of catalogue items, from GeoJSON to the WKT of the scene table."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

Ring = list[tuple[float, float]]


def footprint(geometry: Any) -> str | None:
    """WKT of a GeoJSON Polygon or MultiPolygon in longitude and latitude; None for anything else.

    A ring that jumps over the antimeridian is made continuous: its longitudes pass 180 (or -180) degrees. A
    MultiPolygon that is cut there (RFC 7946) stays as it is.
    """
    try:
        kind, coordinates = geometry["type"], geometry["coordinates"]
        if kind == "Polygon":
            return f"POLYGON {_polygon(coordinates)}"
        if kind == "MultiPolygon" and coordinates:
            return f"MULTIPOLYGON ({', '.join(map(_polygon, coordinates))})"
    except (TypeError, KeyError, IndexError, ValueError, OverflowError):
        pass
    return None


def _polygon(rings: Sequence[Any]) -> str:
    if not rings:
        raise ValueError("a polygon without rings")
    return f"({', '.join(_ring(ring) for ring in rings)})"


def _ring(points: Sequence[Any]) -> str:
    ring = _continuous([(float(point[0]), float(point[1])) for point in points])
    if len(ring) < 4 or ring[0] != ring[-1] or not all(map(math.isfinite, itertools.chain(*ring))):
        raise ValueError("a ring is closed and has four points at least, all finite")
    return f"({', '.join(f'{x!r} {y!r}' for x, y in ring)})"


def _continuous(ring: Ring) -> Ring:
    """The ring without jumps of over half the globe; as it is where it has none, or winds around a pole.

    A step of 360 degrees is the edge of a map of the whole globe, not a jump.
    """
    if not any(180 < abs(b[0] - a[0]) < 360 for a, b in itertools.pairwise(ring)):
        return ring
    straight = ring[:1]
    for x, y in ring[1:]:
        turns = round((straight[-1][0] - x) / 360)
        straight.append((x + 360 * turns, y))
    return straight if straight[0] == straight[-1] else ring
