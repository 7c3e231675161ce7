"""What the ground asks of a site: lengths of a degree, and the projected CRS of a place."""

from __future__ import annotations

import math

from earthrecord.errors import BadSite

_A, _E2 = 6378137.0, 0.0066943799901413165  # WGS84: semi-major axis in metres, first eccentricity squared


def metres_per_degree(latitude: float) -> tuple[float, float]:
    """Metres that a degree of longitude and a degree of latitude measure at a latitude, on the WGS84 ellipsoid."""
    phi = math.radians(latitude)
    w = 1 - _E2 * math.sin(phi) ** 2
    east = _A / math.sqrt(w) * math.cos(phi)
    north = _A * (1 - _E2) / w**1.5
    return math.radians(east), math.radians(north)


def projected_crs(longitude: float, latitude: float) -> str:
    """The CRS that a place gets when none is given: its UTM zone, polar stereographic beyond 84 N and 80 S.

    The zones of Norway and Svalbard are those of the international grid, which Sentinel-2 tiles follow. In
    the south it is EPSG:3031, in which Landsat delivers Antarctica, and in the north its counterpart EPSG:3413.
    """
    longitude = (longitude + 180) % 360 - 180
    if latitude > 84:
        return "EPSG:3413"
    if latitude < -80:
        return "EPSG:3031"
    return f"EPSG:{(32600 if latitude >= 0 else 32700) + _zone(longitude, latitude)}"


def _zone(longitude: float, latitude: float) -> int:
    if 56 <= latitude < 64 and 3 <= longitude < 12:
        return 32
    if latitude >= 72 and 0 <= longitude < 42:
        return 31 + 2 * math.floor((longitude + 3) / 12)
    return math.floor((longitude + 180) / 6) + 1


def check_projected(crs: str) -> None:
    """Raise `BadSite` where a CRS is not understood or not projected."""
    from pyproj import CRS
    from pyproj.exceptions import CRSError

    try:
        projected = CRS.from_user_input(crs).is_projected
    except CRSError:
        raise BadSite(f"crs {crs!r} is not understood; write a code such as EPSG:32720") from None
    if not projected:
        raise BadSite(
            f"crs {crs!r} is not projected; write one in metres such as EPSG:32720, or leave it out"
        )
