"""Sentinel-2 product metadata: MTD_MSIL2A.xml with MTD_TL.xml and MTD_DS.xml beside it, and tileInfo.json.

The offset of the reflectance is read and never concluded from baseline or date: a product without a list of
offsets says nothing about it.

Format: Sentinel-2 Products Specification Document (S2-PDGS-TAS-DI-PSD), Level-2A.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec

from earthrecord.archive.footprint import footprint
from earthrecord.errors import BadMetadata

_REMEDY = "get the file again from the provider"
_DATASTRIP = re.compile(
    r"_DS_\w{4}_(?P<processed>\d{8}T\d{6})_S(?P<sensing>\d{8}T\d{6})(?:_N(?P<baseline>\d\d\.\d\d))?"
)
_PRODUCT = re.compile(
    r"(?P<satellite>S2[A-D])_MSI(?P<level>L\w\w)_(?P<datatake>\d{8}T\d{6})_(?:N(?P<baseline>\d{4})_)?\w+?_T(?P<tile>\w{5})(?:_(?P<processed>\d{8}T\d{6}))?"
)
_STAMP = "%Y%m%dT%H%M%S"


@dataclass(frozen=True, slots=True)
class Safe:
    """The facts of one product. What the file does not say is None."""

    scene: str | None
    """Product id, without .SAFE."""
    platform: str | None = None
    """sentinel-2a ..."""
    tile: str | None = None
    baseline: str | None = None
    generated: dt.datetime | None = None
    datatake: dt.datetime | None = None
    sensing: dt.datetime | None = None
    """Start of the datastrip."""
    processed: dt.datetime | None = None
    """Processing time in the product's id, else that of the datastrip."""
    start: dt.datetime | None = None
    """When the tile was seen; the product's start where only that is told."""
    offset: int | None = None
    """BOA_ADD_OFFSET in DN, the same for all bands."""
    quantification: float | None = None
    """DN of reflectance 1."""
    crs: str | None = None
    transform: tuple[float, ...] | None = None
    """Of the 10 m bands."""
    shape: tuple[int, int] | None = None
    footprint: str | None = None


def read(path: Path) -> Safe:
    """The facts of MTD_MSIL2A.xml (with its companions of the same product folder) or of tileInfo.json.

    Raises `BadMetadata` for a file that is damaged or another thing, and where the offsets of the bands differ.
    """
    try:
        return _tile_info(path) if path.suffix.lower() == ".json" else _product(path)
    except BadMetadata:
        raise
    except ValueError as error:
        raise BadMetadata(f"{path}: {error}; {_REMEDY}") from None


def _product(path: Path) -> Safe:
    root = _xml(path)
    uri = _text(root, "PRODUCT_URI") or _text(root, "PRODUCT_URI_2A")
    if uri is None:
        raise BadMetadata(f"{path} has no PRODUCT_URI: it is no metadata of a Sentinel-2 product; {_REMEDY}")
    strip = _DATASTRIP.search(_attribute(root, "datastripIdentifier") or "")
    tile, datastrip = _companion(path, "MTD_TL.xml"), _companion(path, "MTD_DS.xml")
    sensing = datastrip is not None and _text(datastrip, "DATASTRIP_SENSING_START")
    told = _PRODUCT.match(uri)
    return Safe(
        scene=uri.removesuffix(".SAFE"),
        platform=(name := _text(root, "SPACECRAFT_NAME")) and name.lower(),
        tile=told and told["tile"],
        baseline=_text(root, "PROCESSING_BASELINE"),
        generated=_moment(_text(root, "GENERATION_TIME")),
        datatake=_moment(_text(root, "DATATAKE_SENSING_START")),
        sensing=_moment(sensing) if sensing else _stamp(strip, "sensing"),
        processed=_stamp(told, "processed") or _stamp(strip, "processed"),
        start=_moment(
            (tile is not None and _text(tile, "SENSING_TIME")) or _text(root, "PRODUCT_START_TIME")
        ),
        offset=_offset(path, root),
        quantification=_number(
            _text(root, "BOA_QUANTIFICATION_VALUE") or _text(root, "L2A_BOA_QUANTIFICATION_VALUE")
        ),
        footprint=_positions(_text(root, "EXT_POS_LIST")),
        **({} if tile is None else _grid(tile)),
    )


def _xml(path: Path) -> ElementTree.Element:
    try:
        return ElementTree.parse(path).getroot()  # noqa: S314 (expat bounds entity expansion)
    except OSError as error:
        raise BadMetadata(f"{path} can not be read: {error.strerror}") from None
    except (ElementTree.ParseError, LookupError) as error:
        line = getattr(error, "position", (1, 0))[0]
        raise BadMetadata(
            f"{path}, line {line}: the XML is damaged or cut off ({error}); {_REMEDY}"
        ) from None


def _companion(path: Path, name: str) -> ElementTree.Element | None:
    """The metadata of the only granule or datastrip of the product; None where there is none or are several."""
    found = sorted(
        [
            *path.parent.glob(f"GRANULE/*/{name}"),
            *path.parent.glob(f"DATASTRIP/*/{name}"),
            *path.parent.glob(name),
        ]
    )
    return _xml(found[0]) if len(found) == 1 else None


def _text(root: ElementTree.Element, name: str) -> str | None:
    found = root.find(f".//{{*}}{name}")
    return None if found is None or not (found.text or "").strip() else (found.text or "").strip()


def _attribute(root: ElementTree.Element, name: str) -> str | None:
    return next((element.attrib[name] for element in root.iter() if name in element.attrib), None)


def _number(text: str | None) -> float | None:
    return None if text is None else float(text)


def _moment(text: str | None) -> dt.datetime | None:
    if text is None:
        return None
    time = dt.datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", text))
    return time.replace(tzinfo=dt.UTC) if time.tzinfo is None else time.astimezone(dt.UTC)


def _stamp(found: re.Match[str] | None, group: str) -> dt.datetime | None:
    text = found and found[group]
    return dt.datetime.strptime(text, _STAMP).replace(tzinfo=dt.UTC) if text else None


def _offset(path: Path, root: ElementTree.Element) -> int | None:
    values = {
        int(element.text or "")
        for element in root.iter()
        if element.tag.rpartition("}")[2] == "BOA_ADD_OFFSET"
    }
    if len(values) > 1:
        raise BadMetadata(
            f"{path}: BOA_ADD_OFFSET is {', '.join(map(str, sorted(values)))} in different bands; a scene has one offset"
        )
    return values.pop() if values else None


def _positions(text: str | None) -> str | None:
    """EXT_POS_LIST: latitude, longitude (and in old products height) in turn, closed."""
    if text is None:
        return None
    numbers = [float(number) for number in text.split()]
    step = 3 if len(numbers) % 3 == 0 and numbers[2] == 0 and numbers[:2] != numbers[2:4] else 2
    ring = [[lon, lat] for lat, lon in zip(numbers[::step], numbers[1::step], strict=True)]
    return footprint({"type": "Polygon", "coordinates": [ring]})


def _grid(tile: ElementTree.Element) -> dict[str, Any]:
    size = next((element for element in tile.iter("Size") if element.get("resolution") == "10"), None)
    place = next((element for element in tile.iter("Geoposition") if element.get("resolution") == "10"), None)
    told: dict[str, Any] = {"crs": _text(tile, "HORIZONTAL_CS_CODE")}
    if size is not None and place is not None:
        x, y, dx, dy = (float(_text(place, name) or "") for name in ("ULX", "ULY", "XDIM", "YDIM"))
        told["transform"] = (dx, 0.0, x, 0.0, dy, y)
        told["shape"] = (int(_text(size, "NROWS") or ""), int(_text(size, "NCOLS") or ""))
    return told


def _tile_info(path: Path) -> Safe:
    info = _json(path)
    strip = _DATASTRIP.search(str(_in(info, "datastrip", "id")))
    scene = info.get("productName")
    told = _PRODUCT.match(scene) if isinstance(scene, str) else None
    parts = [info.get(key) for key in ("utmZone", "latitudeBand", "gridSquare")]
    return Safe(
        scene=scene if isinstance(scene, str) else None,
        platform=told and f"sentinel-{told['satellite'][1:].lower()}",
        tile=None if None in parts else "{:0>2}{}{}".format(*parts),
        baseline=_baseline(told, strip),
        datatake=_stamp(told, "datatake"),
        sensing=_stamp(strip, "sensing"),
        processed=_stamp(told, "processed") or _stamp(strip, "processed"),
        start=_moment(info.get("timestamp")),
        **_ground(info),
    )


def _json(path: Path) -> dict[str, Any]:
    try:
        return msgspec.json.decode(path.read_bytes().removeprefix(b"\xef\xbb\xbf"), type=dict[str, Any])
    except OSError as error:
        raise BadMetadata(f"{path} can not be read: {error.strerror}") from None
    except msgspec.MsgspecError as error:
        raise BadMetadata(f"{path}: no JSON object ({error}); {_REMEDY}") from None


def _in(info: Mapping[str, Any], *keys: str) -> Any:
    value: Any = info
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _baseline(told: re.Match[str] | None, strip: re.Match[str] | None) -> str | None:
    if strip is not None and strip["baseline"]:
        return strip["baseline"]
    digits = told and told["baseline"]
    return f"{digits[:2]}.{digits[2:]}" if digits else None


def _ground(info: Mapping[str, Any]) -> dict[str, Any]:
    """CRS and grid of the 10 m bands from the outline of the tile."""
    code = re.search(r"(\d+)$", str(_in(info, "tileGeometry", "crs", "properties", "name")))
    rings = _in(info, "tileGeometry", "coordinates")
    if code is None or not isinstance(rings, list) or not rings:
        return {}
    xs, ys = ([float(point[axis]) for point in rings[0]] for axis in (0, 1))
    size = round((max(ys) - min(ys)) / 10), round((max(xs) - min(xs)) / 10)
    return {"crs": f"EPSG:{code[1]}", "transform": (10.0, 0.0, min(xs), 0.0, -10.0, max(ys)), "shape": size}
