"""Reads sites from TOML, GeoJSON, GeoPackage or any vector file."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import shapely

from earthrecord.errors import BadSite
from earthrecord.sites.features import (
    ATTRIBUTES,
    Feature,
    check_unique,
    feature_id,
    read_geojson,
    read_vector,
    sites_of,
)
from earthrecord.sites.model import Site, check_id
from earthrecord.sites.outline import from_box, from_geometry, told_of

_KEYS = ("id", "bbox", "polygon", *ATTRIBUTES)


def read_sites(path: Path | str, id_field: str | None = None, layer: str | None = None) -> dict[str, Site]:
    """All sites of a file by id, in its order.

    `id_field` names the property that holds the ids of a vector file, `layer` the layer of one that has
    several. Raises `BadSite` naming file, site, value and remedy; a file without any site is an error.
    """
    path = Path(path)
    if not path.is_file():
        raise BadSite(f"{path} does not exist or is no file; a sites file is TOML, GeoJSON or GeoPackage")
    if path.suffix.lower() == ".toml":
        return _by_toml(path, _load(path))
    return sites_of(path, _features(path, layer), id_field)


def parse_sites(text: str, path: Path) -> dict[str, Site]:
    """Sites of TOML text that stands, or is to stand, in the file `path`."""
    try:
        return _by_toml(path, tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise BadSite(f"{path} is no TOML: {error}") from None


def _load(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise BadSite(f"{path} is no TOML: {error}") from None


def _features(path: Path, layer: str | None = None) -> list[Feature]:
    if path.suffix.lower() in (".geojson", ".json") and layer is None:
        return read_geojson(path)
    return read_vector(path, layer)


def _by_toml(path: Path, content: Mapping[str, Any]) -> dict[str, Site]:
    _check_keys(str(path), content, ("sites",))
    tables = content.get("sites")
    if not isinstance(tables, list) or not tables or not all(isinstance(table, dict) for table in tables):
        raise BadSite(f"{path} has no [[sites]] table; er sites new ID --bbox W,S,E,N writes one")
    sites = [_by_table(path, number, table) for number, table in enumerate(tables, 1)]
    check_unique(str(path), (site.id for site in sites))
    return {site.id: site for site in sites}


def _by_table(path: Path, number: int, table: Mapping[str, Any]) -> Site:
    where, site = f"{path}: site {number}", table.get("id")
    if not isinstance(site, str):
        raise BadSite(f'{where} has the id {site!r}; write id = "a01"')
    with told_of(where):
        check_id(site)
    where = f"{path}: site {site!r}"
    _check_keys(where, table, _KEYS)
    attributes = {key: table[key] for key in ATTRIBUTES if key in table}
    for key, value in attributes.items():
        if not isinstance(value, str):
            raise BadSite(f"{where}: {key} is {value!r}; write it in quotes")
    with told_of(where):
        return Site(site, _outline(path, site, table), **attributes)


def _check_keys(where: str, table: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for key in table:
        if key not in known:
            near = get_close_matches(key, known, n=1)
            meant = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
            raise BadSite(f"{where} has the unknown key {key!r}; {meant}")


def _outline(path: Path, site: str, table: Mapping[str, Any]) -> Any:
    box, polygon = table.get("bbox"), table.get("polygon")
    if (box is None) == (polygon is None):
        raise BadSite(
            'write either bbox = [west, south, east, north] or polygon = "file.geojson", and one only'
        )
    if isinstance(polygon, str):
        return from_geometry(_geometry_in(path.parent / polygon, site))
    if polygon is not None:
        return from_geometry(_inline(polygon))
    if not isinstance(box, list) or not all(type(edge) in (int, float) for edge in box):
        raise BadSite(f"bbox is {box!r}; write [west, south, east, north] in degrees")
    return from_box(box)


def _geometry_in(path: Path, site: str) -> Any:
    """The geometry of the only feature of a file, or of the one that has the site's id."""
    if not path.is_file():
        raise BadSite(
            f"its polygon file {path} does not exist; the path counts from the folder of the sites file"
        )
    features = _features(path)
    if len(features) == 1:
        return features[0].geometry
    found = [feature for feature in features if feature_id(path, feature, None, alone=False) == site]
    if len(found) != 1:
        raise BadSite(
            f"its polygon file {path} has {len(features)} features, {len(found)} of them with this id"
        )
    return found[0].geometry


def _inline(polygon: Any) -> Any:
    """Coordinates as in GeoJSON: a Polygon or MultiPolygon, or a single ring; rings may be left open."""
    depth, inner = 0, polygon
    while isinstance(inner, list) and inner:
        depth, inner = depth + 1, inner[0]
    polygons = {2: [[polygon]], 3: [polygon], 4: polygon}.get(depth)
    try:
        if polygons is None:
            raise ValueError(f"nested {depth} deep")
        parts = [shapely.Polygon(shell, holes) for shell, *holes in polygons]
    except (TypeError, ValueError, shapely.errors.ShapelyError) as error:
        raise BadSite(
            f"polygon is no list of [longitude, latitude] pairs ({error}); write [[w, s], [e, s], [e, n]] or a file name"
        ) from None
    return parts[0] if len(parts) == 1 else shapely.MultiPolygon(parts)
