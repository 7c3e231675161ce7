"""A site: a place on the ground with an id, and what the builder knows of it."""

from __future__ import annotations

import datetime as dt
import hashlib
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import shapely

from earthrecord.errors import BadSite
from earthrecord.sites.ground import check_projected, metres_per_degree, projected_crs

Box = tuple[float, float, float, float]
"""West, south, east, north in degrees."""

KINDS = ("core", "region")
THEMES = ("forest", "greening", "agriculture", "water", "urban", "fire", "snow", "coast")
ROLES = ("famous", "stable", "obscure")
KOPPEN = ("A", "B", "C", "D", "E")

_ALLOWED = {"kind": KINDS, "theme": THEMES, "role": ROLES, "koppen": KOPPEN}
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


@dataclass(frozen=True)
class Site:
    """An area of interest. Raises `BadSite` for an id, kind, theme, role, Köppen group or CRS that can not be.

    `geometry` is a shapely Polygon or MultiPolygon in WGS84 longitude and latitude, as `outline` makes it:
    valid, narrower than 180 degrees, its longitudes continuous from a western edge in -180 to 180, so that a
    site over the antimeridian ends east of 180. `kind` is core (a box of 10 to 30 km or a plot) or region
    (an administrative boundary). `crs` is projected, chosen by place (`projected_crs`) where none is given.
    `name`, `theme`, `role`, `koppen` (A to E) and `continent` stay on the builder's side.
    """

    id: str
    geometry: Any
    kind: str = "core"
    crs: str = ""
    name: str | None = None
    theme: str | None = None
    role: str | None = None
    koppen: str | None = None
    continent: str | None = None

    def __post_init__(self) -> None:
        check_id(self.id)
        for key, allowed in _ALLOWED.items():
            value = getattr(self, key)
            if value not in allowed and (value is not None or key == "kind"):
                raise BadSite(f"{key} is {value!r}; write one of {', '.join(allowed)}")
        if self.crs:
            check_projected(self.crs)
        else:
            west, south, east, north = self.bbox
            object.__setattr__(self, "crs", projected_crs((west + east) / 2, (south + north) / 2))

    @cached_property
    def bbox(self) -> Box:
        """West, south, east, north in degrees; over the antimeridian, east is more than 180."""
        west, south, east, north = (float(edge) for edge in self.geometry.bounds)
        return west, south, east, north

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of the bounding box in metres, along the parallel and the meridian of its middle."""
        west, south, east, north = self.bbox
        per_east, per_north = metres_per_degree((south + north) / 2)
        return (east - west) * per_east, (north - south) * per_north

    @property
    def shorter_side(self) -> float:
        """The shorter side of the bounding box in metres."""
        return min(self.size)

    @cached_property
    def digest(self) -> str:
        """SHA-256 (hex) of the geometry's vertices, rounded to a billionth of a degree (0.1 mm)."""
        rings = (
            ring for part in shapely.get_parts(self.geometry) for ring in (part.exterior, *part.interiors)
        )
        told = ";".join(
            ",".join(f"{round(x, 9) + 0.0:.9f} {round(y, 9) + 0.0:.9f}" for x, y in ring.coords)
            for ring in rings
        )
        return hashlib.sha256(told.encode()).hexdigest()


def check_id(site: str) -> None:
    """Raise `BadSite` for an id that can not name a folder everywhere."""
    if not _ID.fullmatch(site):
        raise BadSite(
            f"{site!r} is no site id: write up to 64 letters, digits, - and _, the first a letter or a digit"
        )


def site_json(site: Site, snapshot: dt.date) -> dict[str, Any]:
    """What a record tells of its site (definitions, "site.json"): nothing that gives an answer away."""
    return {
        "id": site.id,
        "kind": site.kind,
        "bbox": list(site.bbox),
        "crs": site.crs,
        "snapshot": snapshot.isoformat(),
    }
