"""Polygons with properties, from GeoJSON or any vector file, as sites."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import shapely
from pyproj import CRS, Transformer
from pyproj.exceptions import CRSError

from earthrecord.errors import BadSite
from earthrecord.sites.model import Site, check_id
from earthrecord.sites.outline import from_geometry, told_of

ID_PROPERTIES = ("id", "site", "name")
"""Where an id is looked for, after the feature's own, when nothing says where it stands."""

ATTRIBUTES = ("kind", "crs", "name", "theme", "role", "koppen", "continent")
"""Properties that a site takes over where they have a value."""

_WGS84 = "OGC:CRS84"
_CHORD = 1000.0  # metres: an edge in a projected CRS is a curve in longitude and latitude


@dataclass(frozen=True)
class Feature:
    """One polygon of a file: its place in it (from 1), its own id, its properties, a shapely geometry or None."""

    number: int
    id: Any
    properties: Mapping[str, Any]
    geometry: Any


def read_geojson(path: Path) -> list[Feature]:
    """Features of a FeatureCollection, a Feature or a bare geometry, in WGS84 (a `crs` member is honoured)."""
    try:
        content = json.loads(path.read_text("utf-8-sig"))
    except (OSError, ValueError) as error:
        raise BadSite(f"{path} is no GeoJSON: {error}") from None
    if not isinstance(content, dict):
        raise BadSite(f"{path} is no GeoJSON: it holds a {type(content).__name__}, not an object")
    crs = _named_crs(path, content.get("crs"))
    return [
        _feature(f"{path}: feature {number}", number, feature, crs)
        for number, feature in enumerate(_listed(path, content), 1)
    ]


def read_vector(path: Path, layer: str | None = None) -> list[Feature]:
    """Features of one layer of a GeoPackage, shapefile or whatever else GDAL reads, in WGS84."""
    from pyogrio import read_info
    from pyogrio.errors import DataLayerError, DataSourceError
    from pyogrio.raw import read

    try:
        layer = _only_layer(path, layer)
        key = read_info(path, layer=layer)["fid_column"]
        meta, fids, shapes, columns = read(path, layer=layer, return_fids=True)
    except (DataLayerError, DataSourceError) as error:
        raise BadSite(f"{path} can not be read: {error}; give TOML, GeoJSON or GeoPackage") from None
    if meta["crs"] is None:
        raise BadSite(f"{path} states no CRS; set it with ogr2ogr -a_srs EPSG:... before it is read")
    geometries = _to_wgs84(path, shapely.from_wkb(shapes), meta["crs"])
    names, columns = [str(name) for name in meta["fields"]], list(columns)
    if key:  # the primary key of a GeoPackage, a column like any other
        names, columns = [*names, key], [*columns, fids]
    rows = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)] or [{}] * len(shapes)
    return [
        Feature(number, None, row, geometry)
        for number, (row, geometry) in enumerate(zip(rows, geometries, strict=True), 1)
    ]


def sites_of(path: Path, features: Sequence[Feature], id_field: str | None = None) -> dict[str, Site]:
    """Sites by id. Raises `BadSite` naming file, feature and remedy; two features of one id are an error."""
    if not features:
        raise BadSite(f"{path} holds no feature; it needs one polygon a site")
    ids = [feature_id(path, feature, id_field, alone=len(features) == 1) for feature in features]
    check_unique(str(path), ids)
    return {site: _site(path, site, feature) for site, feature in zip(ids, features, strict=True)}


def feature_id(path: Path, feature: Feature, id_field: str | None, alone: bool) -> str:
    """The id of a feature: the property `id_field`, or its own id, or the first of `ID_PROPERTIES`.

    The one feature of a file that has none of them is called as the file is.
    """
    where = f"{path}: feature {feature.number}"
    if id_field is not None and id_field not in feature.properties:
        has = ", ".join(feature.properties) or "none"
        raise BadSite(f"{where} has no property {id_field!r} to take its id from; its properties are {has}")
    if id_field is not None:
        found = _value(feature.properties[id_field])
    else:
        lower = {key.lower(): value for key, value in reversed(list(feature.properties.items()))}
        candidates = (feature.id, *(lower.get(name) for name in ID_PROPERTIES))
        found = next((value for value in map(_value, candidates) if value is not None), None)
    if found is None and alone and id_field is None:
        found = path.stem
    if found is None:
        raise BadSite(
            f"{where} has no id; give it a property id, or say which property holds it (--id-field)"
        )
    with told_of(where):
        check_id(str(found))
    return str(found)


def check_unique(where: str, ids: Iterable[str]) -> None:
    """Raise `BadSite` for ids that name one folder, also where letter case does not count."""
    folders = Counter(site.casefold() for site in ids)
    twice = [site for site, count in folders.items() if count > 1]
    if twice:
        told = ", ".join(twice[:10]) + (f" and {len(twice) - 10} more" if len(twice) > 10 else "")
        raise BadSite(
            f"{where} has more than one site with the id {told}; ids are unique, whatever their letter case"
        )


def _site(path: Path, site: str, feature: Feature) -> Site:
    known = {name: _value(feature.properties.get(name)) for name in ATTRIBUTES}
    taken = {name: str(value) for name, value in known.items() if value is not None}
    with told_of(f"{path}: site {site!r} (feature {feature.number})"):
        return Site(site, from_geometry(feature.geometry), **taken)


def _value(value: Any) -> Any:
    """A property in plain Python; None for what stands for nothing (null, NaN, empty text)."""
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float):
        if math.isnan(value):
            return None
        return int(value) if value.is_integer() else value
    return None if value == "" else value


def _listed(path: Path, content: Mapping[str, Any]) -> list[Any]:
    if content.get("type") == "FeatureCollection":
        features = content.get("features")
        if not isinstance(features, list):
            raise BadSite(f"{path} is a FeatureCollection without a list of features")
        return features
    if content.get("type") == "Feature":
        return [content]
    return [{"type": "Feature", "geometry": content}]


def _feature(where: str, number: int, feature: Any, crs: str | None) -> Feature:
    try:
        text = json.dumps(feature["geometry"]) if feature["geometry"] else None
        geometry = shapely.from_geojson(text) if text else None
        properties = dict(feature.get("properties") or {})
    except (TypeError, KeyError, AttributeError, ValueError, shapely.errors.ShapelyError) as error:
        raise BadSite(f"{where} is no GeoJSON feature with a geometry: {error!s:.200}") from None
    if geometry is not None and crs is not None:
        (geometry,) = _to_wgs84(where, [geometry], crs)
    return Feature(number, feature.get("id"), properties, geometry)


def _named_crs(path: Path, member: Any) -> str | None:
    """The CRS of a GeoJSON `crs` member (of before RFC 7946); None where it has none."""
    if member is None:
        return None
    try:
        return str(member["properties"]["name"])
    except (TypeError, KeyError):
        raise BadSite(
            f"{path}: its crs member {member!r} names no CRS; take it out where it is WGS84"
        ) from None


def _only_layer(path: Path, layer: str | None) -> str:
    from pyogrio import list_layers

    layers = [str(name) for name, kind in list_layers(path) if kind is not None]
    if layer is None and len(layers) == 1:
        return layers[0]
    if layer not in layers:
        asked = f"has no layer {layer!r}" if layer is not None else f"has {len(layers)} layers of polygons"
        raise BadSite(
            f"{path} {asked}; choose one with --layer: {', '.join(layers) or 'none has a geometry'}"
        )
    return layer


def _to_wgs84(where: object, geometries: Iterable[Any], crs: str) -> list[Any]:
    """Geometries in longitude and latitude; edges of a projected CRS stay where they were to centimetres."""
    try:
        known = CRS.from_user_input(crs)
        transform = Transformer.from_crs(known, _WGS84, always_xy=True).transform
    except CRSError:
        raise BadSite(f"{where}: its CRS {crs!r} is not understood; reproject it to EPSG:4326") from None
    if known.equals(_WGS84, ignore_axis_order=True):
        return list(geometries)
    if known.is_projected:
        step = _CHORD / known.axis_info[0].unit_conversion_factor
        geometries = [shapely.segmentize(geometry, step) for geometry in geometries]
    return [_moved(geometry, transform) for geometry in geometries]


def _moved(geometry: Any, transform: Any) -> Any:
    if geometry is None:
        return None
    return shapely.transform(shapely.force_2d(geometry), transform, interleaved=False)
