"""Landsat's scene metadata (MTL), which comes as text, JSON and XML with the same content.

The text form is a small part of ODL (groups of KEY = VALUE lines). It is read by hand: an archive holds tens of
thousands of them, and general ODL parsers take a second each.

Format: LSDS-1619, Landsat 8-9 Collection 2 Level 2 Science Product Guide, and LSDS-1618 for Landsat 4-7.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias
from xml.etree import ElementTree

import msgspec

from earthrecord.archive import signature
from earthrecord.archive.footprint import footprint
from earthrecord.errors import BadMetadata

Groups: TypeAlias = Mapping[str, Mapping[str, str]]
_REMEDY = "get the file again from the provider"
# Collection 2 first; Collection 1 and before kept the same facts in other groups.
_PRODUCT = ("PRODUCT_CONTENTS", "METADATA_FILE_INFO", "PRODUCT_METADATA")
_IMAGE = ("IMAGE_ATTRIBUTES", "PRODUCT_METADATA")
_GRID = ("PROJECTION_ATTRIBUTES", "PRODUCT_METADATA", "PROJECTION_PARAMETERS", "LEVEL1_PROJECTION_PARAMETERS")
_PROCESS = ("LEVEL2_PROCESSING_RECORD", "LEVEL1_PROCESSING_RECORD", "METADATA_FILE_INFO")
_CORNERS = ("UL", "UR", "LR", "LL")
_SENSORS = {"OLI": "oli", "OLI_TIRS": "oli", "ETM": "etm", "TM": "tm", "MSS": "mss", "TIRS": "tirs"}


@dataclass(frozen=True, slots=True)
class Mtl:
    """The facts of one scene. What the file does not say is None or empty.

    `transform` leads from column and row to the outer corner of a pixel of the reflective bands, in metres of
    `crs`; `shape` is (rows, columns). The MTL's own corners are centres of pixels.
    """

    scene: str
    level: str | None
    collection: str | None
    """"01", "02"; None before there were collections."""
    tier: str | None
    platform: str | None
    """landsat-8 ..."""
    sensor: str | None
    """tm etm oli mss"""
    path: int | None
    row: int | None
    date: dt.date
    start: dt.datetime
    """Scene centre; midnight where the file has no time."""
    processed: dt.datetime | None
    software: str | None
    crs: str | None
    transform: tuple[float, ...] | None
    shape: tuple[int, int] | None
    footprint: str | None
    """WKT in longitude and latitude; None for polar projections, where four corners make no sound polygon."""
    files: Mapping[str, str]
    """File name by layer as the MTL calls it: BAND_4, QUALITY_L1_PIXEL ..."""
    rescaling: Mapping[str, tuple[float, float]]
    """Multiplier and addend of Level-2 reflectance by band: BAND_4 -> (2.75e-05, -0.2)."""


def read(path: Path) -> Mtl:
    """The facts of an MTL file in any of its three forms, of any level and collection.

    Raises `BadMetadata`, naming the file and (in text) the line, for a file that is damaged, or no MTL.
    """
    try:
        return _facts(parse(path))
    except BadMetadata:
        raise
    except KeyError as error:
        raise BadMetadata(f"{path} has no {error.args[0]}; {_REMEDY}") from None
    except ValueError as error:
        raise BadMetadata(f"{path}: {error}; {_REMEDY}") from None


def parse(path: Path) -> Groups:
    """The groups of an MTL file, all values as text without quotes; groups stand side by side, none in another."""
    try:
        content = path.read_bytes().removeprefix(b"\xef\xbb\xbf").strip(b"\0 \t\r\n")
    except OSError as error:
        raise BadMetadata(f"{path} can not be read: {error.strerror}") from None
    kind = signature.kind_of(content[: signature.HEAD])
    if kind in ("html", "empty", "pointer"):
        raise BadMetadata(f"{path} is {signature.words(kind)}, no MTL; {_REMEDY}")
    if content[:1] == b"{":
        return _json(path, content)
    if content[:1] == b"<":
        return _xml(path, content)
    return _text(path, content)


def _text(path: Path, content: bytes) -> Groups:
    groups: dict[str, dict[str, str]] = {}
    within: list[str] = []
    number = 0
    for number, raw in enumerate(content.decode("utf-8", "replace").splitlines(), start=1):
        line = raw.strip()
        key, equals, value = (part.strip() for part in line.partition("="))
        if line == "END":
            break
        if key == "GROUP":
            within.append(value)
            groups.setdefault(value, {})
        elif key == "END_GROUP":
            if not within or within.pop() != value:
                raise BadMetadata(f"{path}, line {number}: END_GROUP = {value} closes no group; {_REMEDY}")
        elif equals and within:
            groups[within[-1]].setdefault(key, value.strip('"'))
        elif line:
            raise BadMetadata(
                f"{path}, line {number}: {line[:40]!r} is no line of an MTL (KEY = VALUE); {_REMEDY}"
            )
    if within or not groups:
        open_group = f"within {within[-1]}" if within else "before any group"
        raise BadMetadata(f"{path} ends at line {number}, {open_group}: it is cut off; {_REMEDY}")
    return groups


def _json(path: Path, content: bytes) -> Groups:
    try:
        root = msgspec.json.decode(content, type=dict[str, dict[str, dict[str, Any]]])
    except msgspec.MsgspecError as error:
        raise BadMetadata(f"{path}: no MTL as JSON ({error}); {_REMEDY}") from None
    groups = next(iter(root.values()), {})
    return {name: {key: str(value) for key, value in group.items()} for name, group in groups.items()}


def _xml(path: Path, content: bytes) -> Groups:
    try:
        root = ElementTree.fromstring(content)  # noqa: S314 (expat bounds entity expansion)
    except (ElementTree.ParseError, LookupError) as error:
        line = getattr(error, "position", (1, 0))[0]
        raise BadMetadata(f"{path}, line {line}: no MTL as XML ({error}); {_REMEDY}") from None
    return {group.tag: {entry.tag: (entry.text or "").strip() for entry in group} for group in root}


def _first(groups: Groups, places: tuple[str, ...], *keys: str) -> str | None:
    return next(
        (groups[place][key] for key in keys for place in places if key in groups.get(place, ())), None
    )


def _must(groups: Groups, places: tuple[str, ...], *keys: str) -> str:
    value = _first(groups, places, *keys)
    if value is None:
        raise KeyError(keys[0])
    return value


def _facts(groups: Groups) -> Mtl:
    date = dt.date.fromisoformat(_must(groups, _IMAGE, "DATE_ACQUIRED", "ACQUISITION_DATE"))
    spacecraft = _first(groups, _IMAGE, "SPACECRAFT_ID")
    processed = _first(groups, _PROCESS, "DATE_PRODUCT_GENERATED", "FILE_DATE", "PRODUCT_CREATION_TIME")
    sensor = _first(groups, _IMAGE, "SENSOR_ID")
    transform, shape = _grid(groups)
    return Mtl(
        scene=_must(groups, _PRODUCT, "LANDSAT_PRODUCT_ID", "LANDSAT_SCENE_ID"),
        level=_first(groups, _PRODUCT, "PROCESSING_LEVEL", "DATA_TYPE", "PRODUCT_TYPE"),
        collection=_first(groups, _PRODUCT, "COLLECTION_NUMBER"),
        tier=_first(groups, _PRODUCT, "COLLECTION_CATEGORY"),
        platform=spacecraft and _platform(spacecraft),
        sensor=sensor and _SENSORS.get(sensor.upper().rstrip("+"), sensor.lower()),
        path=_whole(_first(groups, _IMAGE, "WRS_PATH")),
        row=_whole(_first(groups, _IMAGE, "WRS_ROW", "STARTING_ROW")),
        date=date,
        start=_centre(date, _first(groups, _IMAGE, "SCENE_CENTER_TIME", "SCENE_CENTER_SCAN_TIME")),
        processed=None if processed is None else _moment(processed),
        software=_first(groups, _PROCESS, "PROCESSING_SOFTWARE_VERSION"),
        crs=_crs(groups),
        transform=transform,
        shape=shape,
        footprint=_footprint(groups),
        files={
            k[10:]: v for k, v in groups.get("PRODUCT_CONTENTS", {}).items() if k.startswith("FILE_NAME_")
        },
        rescaling=_rescaling(groups.get("LEVEL2_SURFACE_REFLECTANCE_PARAMETERS", {})),
    )


def _platform(spacecraft: str) -> str:
    """LANDSAT_8, Landsat8 -> landsat-8."""
    return re.sub(r"(?i)^landsat[_-]?", "landsat-", spacecraft)


def _whole(value: str | None) -> int | None:
    return None if value is None else int(value)


def _centre(date: dt.date, time: str | None) -> dt.datetime:
    """The scene centre; seconds come with up to seven digits behind the point, with and without Z."""
    if time is None:
        return dt.datetime.combine(date, dt.time(), dt.UTC)
    return _moment(f"{date}T{time}")


def _moment(text: str) -> dt.datetime:
    clean = re.sub(r"(\.\d{6})\d+", r"\1", text.strip().rstrip("Zz"))
    return dt.datetime.fromisoformat(clean).replace(tzinfo=dt.UTC)


def _crs(groups: Groups) -> str | None:
    """UTM zones are north ones, on the southern hemisphere too (northings are negative there); a negative zone is a south one."""
    kind = _first(groups, _GRID, "MAP_PROJECTION")
    if kind == "UTM":
        zone = int(_must(groups, _GRID, "UTM_ZONE"))
        return f"EPSG:{32600 + zone if zone > 0 else 32700 - zone}"
    if kind != "PS":
        return None
    names = ("TRUE_SCALE_LAT", "VERTICAL_LON_FROM_POLE", "FALSE_EASTING", "FALSE_NORTHING")
    lat, lon, east, north = (float(_must(groups, _GRID, name)) for name in names)
    if (lat, lon, east, north) == (-71, 0, 0, 0):
        return "EPSG:3031"
    pole = 90 if lat > 0 else -90
    return f"+proj=stere +lat_0={pole} +lat_ts={lat:g} +lon_0={lon:g} +x_0={east:g} +y_0={north:g} +datum=WGS84 +units=m +no_defs"


def _grid(groups: Groups) -> tuple[tuple[float, ...] | None, tuple[int, int] | None]:
    keys = (
        "GRID_CELL_SIZE_REFLECTIVE",
        "CORNER_UL_PROJECTION_X_PRODUCT",
        "CORNER_UL_PROJECTION_Y_PRODUCT",
        "REFLECTIVE_LINES",
        "REFLECTIVE_SAMPLES",
    )
    found = [_first(groups, _GRID, key) for key in keys]
    cell, x, y, lines, samples = (None if value is None else float(value) for value in found)
    shape = None if lines is None or samples is None else (int(lines), int(samples))
    if cell is None or x is None or y is None:
        return None, shape
    return (cell, 0.0, x - cell / 2, 0.0, -cell, y + cell / 2), shape


def _footprint(groups: Groups) -> str | None:
    if _first(groups, _GRID, "MAP_PROJECTION") != "UTM":
        return None
    corners = [
        [_first(groups, _GRID, f"CORNER_{c}_{axis}_PRODUCT") for axis in ("LON", "LAT")] for c in _CORNERS
    ]
    if any(value is None for corner in corners for value in corner):
        return None
    return footprint({"type": "Polygon", "coordinates": [[*corners, corners[0]]]})


def _rescaling(group: Mapping[str, str]) -> dict[str, tuple[float, float]]:
    prefix = "REFLECTANCE_MULT_"
    return {
        key.removeprefix(prefix): (float(value), float(group[key.replace("_MULT_", "_ADD_")]))
        for key, value in group.items()
        if key.startswith(prefix)
    }
