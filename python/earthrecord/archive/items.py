"""STAC items on disk, in whatever form they were saved.

Read are: an Item, a FeatureCollection or a list of items as JSON; one item a line (NDJSON); GeoParquet;
a Catalog or Collection whose links lead to files; and a folder, of which every file of these forms is read and
other JSON is passed over.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from earthrecord.archive.hrefs import Base, resolve, scheme
from earthrecord.errors import BadSource

PARQUET = frozenset({".parquet", ".geoparquet", ".pq"})
LINES = frozenset({".ndjson", ".jsonl", ".geojsonl", ".geojsons", ".ndgeojson"})
JSON = frozenset({".json", ".geojson"})
_BATCH = 256  # rows of a GeoParquet file that are Python objects at one time
_MEMBERS = (
    "id",
    "type",
    "stac_version",
    "stac_extensions",
    "collection",
    "bbox",
    "geometry",
    "links",
    "assets",
)


class Found(NamedTuple):
    """One line of a catalogue, with what its links are relative to."""

    item: Any
    """The item as JSON has it (dict), or whatever stood in its place."""
    file: Path
    problem: str = ""
    """Why no item could be read here; "" where one was."""

    @property
    def base(self) -> Base:
        return Base(self.file, _address(self.item))


def find(path: Path) -> Iterator[Found]:
    """All items of a file or folder, in the order of the file; of a folder, its own files by name, then its folders.

    A broken line among sound ones is one `Found` with a problem. Raises `BadSource`, naming file and line, for a file
    that can not be read as a whole. In a folder, and behind the links of a catalogue, such a file is one `Found`
    with a problem instead.
    """
    path = path.absolute()
    if path.is_dir():
        yield from _folder(path)
    elif path.is_file():
        yield from _file(path)
    else:
        raise BadSource(f"{path} does not exist; give a file or folder of STAC items")


def _folder(folder: Path) -> Iterator[Found]:
    for top, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            file = Path(top, name)
            if file.suffix.lower() in PARQUET | LINES | JSON:
                yield from _lenient(file)


def _lenient(file: Path) -> Iterator[Found]:
    """The items of one file among many; what is no STAC is passed over, what is broken is told."""
    try:
        if file.suffix.lower() in JSON:
            value = _json(file)
            if _kind(value) in ("item", "items"):
                yield from (Found(item, file) for item in _members(value))
        else:
            yield from _file(file)
    except BadSource as error:
        yield Found(None, file, str(error))


def _file(file: Path) -> Iterator[Found]:
    ending = file.suffix.lower()
    if ending in PARQUET:
        yield from (Found(item, file) for item in _parquet(file))
    elif ending in LINES:
        yield from _lines(file)
    else:
        yield from _json_file(file)


def _json_file(file: Path) -> Iterator[Found]:
    value = _json(file)
    kind = _kind(value)
    if kind == "catalogue":
        yield from _catalogue(file, value, set())
    elif kind:
        yield from (Found(item, file) for item in _members(value))
    else:
        raise BadSource(
            f"{file} holds no STAC item, item collection or catalogue; for files without STAC give their folder"
        )


def _json(file: Path) -> Any:
    content = _read(file)
    try:
        return msgspec.json.decode(content)
    except msgspec.DecodeError:
        return _json_by_hand(file, content)


def _json_by_hand(file: Path, content: bytes) -> Any:
    """JSON that is not quite JSON: NaN, or several items in one file; tells the line of what is neither."""
    try:
        return json.loads(content)
    except UnicodeDecodeError as error:
        raise BadSource(f"{file} is no text in UTF-8 (byte {error.start}); save it again") from None
    except json.JSONDecodeError as error:
        if error.msg == "Extra data" and error.lineno > 1 and _is_json(content.lstrip().partition(b"\n")[0]):
            return [_sound(found) for found in _lines(file)]
        raise BadSource(
            f"{file}, line {error.lineno}: no JSON ({error.msg}, column {error.colno}); {_remedy(content)}"
        ) from None


def _sound(found: Found) -> Any:
    if found.problem:
        raise BadSource(found.problem)
    return found.item


def _is_json(text: bytes) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _remedy(content: bytes) -> str:
    head = content[:200].lstrip().lower()
    if not head:
        return "the file is empty: save it again"
    if head.startswith((b"<!doctype", b"<html", b"<?xml")):
        return "it is a web page, perhaps for a login: save the items again"
    return "mend the line, or save the file again"


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes().removeprefix(b"\xef\xbb\xbf")
    except OSError as error:
        raise BadSource(f"{file} can not be read: {error.strerror}") from None


def _lines(file: Path) -> Iterator[Found]:
    """One item a line. A broken line is told, and the others are read; where the first is none, all are not."""
    sound = False
    try:
        with file.open("rb") as stream:
            for number, line in enumerate(stream, start=1):
                text = line.removeprefix(b"\xef\xbb\xbf").strip(b" \t\r\n\x1e")
                if not text:
                    continue
                found = _line(file, number, text)
                if found.problem and not sound:
                    raise BadSource(found.problem)
                sound = True
                yield found
    except OSError as error:
        raise BadSource(f"{file} can not be read: {error.strerror}") from None


def _line(file: Path, number: int, text: bytes) -> Found:
    try:
        return Found(json.loads(text) if b"NaN" in text else msgspec.json.decode(text), file)
    except (msgspec.DecodeError, ValueError) as error:
        return Found(None, file, f"{file}, line {number}: no JSON ({error}); {_remedy(text)}")


def _kind(value: Any) -> str:
    """What a JSON value is: item, items, catalogue, or "" for none of them."""
    if isinstance(value, list):
        return "items" if any(_kind(member) == "item" for member in value) else ""
    if not isinstance(value, dict):
        return ""
    if isinstance(value.get("features"), list):
        return "items" if not value["features"] or _kind(value["features"]) else ""
    if value.get("type") in ("Catalog", "Collection") or (
        "links" in value and "geometry" not in value and "assets" not in value
    ):
        return "catalogue" if isinstance(value.get("links"), list) else ""
    return "item" if "assets" in value or ("stac_version" in value and value.get("type") == "Feature") else ""


def _members(value: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    features = value.get("features")
    return features if isinstance(features, list) else [value]


def _catalogue(file: Path, catalogue: dict[str, Any], seen: set[Path]) -> Iterator[Found]:
    """Items behind the links of a Catalog or Collection, each file once."""
    seen.add(file.resolve())
    for link in catalogue["links"]:
        if not isinstance(link, dict) or link.get("rel") not in ("item", "items", "child"):
            continue
        href = str(link.get("href", ""))
        target, reachable = resolve(_local(href, file, catalogue), Base(file))
        if scheme(target):
            yield Found(None, file, f"{target} lies on the network: save the items to disk first")
        elif not reachable:
            yield Found(None, file, f"{file} names {href}, which is not there")
        elif Path(target).resolve() not in seen:
            seen.add(Path(target).resolve())
            yield from _linked(Path(target), seen)


def _linked(file: Path, seen: set[Path]) -> Iterator[Found]:
    try:
        value = _json(file) if file.suffix.lower() in JSON else None
        if value is not None and _kind(value) == "catalogue":
            yield from _catalogue(file, value, seen)
        else:
            yield from _file(file)
    except BadSource as error:
        yield Found(None, file, str(error))


def _local(href: str, file: Path, catalogue: dict[str, Any]) -> str:
    """An absolute link of a catalogue that was saved with its items, as seen from its file."""
    root = _address(catalogue).rpartition("/")[0]
    if root and href.startswith(f"{root}/") and (file.parent / href[len(root) + 1 :]).is_file():
        return href[len(root) + 1 :]
    return href


def _address(item: Any) -> str:
    """The item's own address, "" where it has none on the network."""
    links = item.get("links") if isinstance(item, dict) else None
    for link in links if isinstance(links, list) else ():
        if isinstance(link, dict) and link.get("rel") == "self" and isinstance(link.get("href"), str):
            return link["href"] if scheme(link["href"]) not in ("", "file") else ""
    return ""


def _parquet(file: Path) -> Iterator[dict[str, Any]]:
    import polars as pl

    try:
        table = pl.read_parquet(file)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise BadSource(f"{file} is no Parquet file ({_first_line(error)}); save it again") from None
    if not {"id", "assets"} <= set(table.columns):
        raise BadSource(f"{file} is no table of STAC items: it has no columns id and assets")
    for start in range(0, table.height, _BATCH):
        yield from map(_from_columns, table[start : start + _BATCH].to_dicts())


def _from_columns(row: dict[str, Any]) -> dict[str, Any]:
    """An item from a row of stac-geoparquet: properties are columns, members that an item lacks are null."""
    item = {name: row.pop(name, None) for name in _MEMBERS}
    inner = row.pop("properties", None)
    item["properties"] = _present(row) | _present(inner if isinstance(inner, dict) else {})
    if isinstance(item["assets"], dict):
        item["assets"] = {key: _present(asset) for key, asset in _present(item["assets"]).items()}
    if isinstance(item["geometry"], bytes):
        item["geometry"] = _geometry(item["geometry"])
    return item


def _present(members: Any) -> dict[str, Any]:
    """Members without the nulls by which a table pads what one item lacks."""
    return {name: value for name, value in members.items() if value is not None}


def _geometry(wkb: bytes) -> Any:
    import shapely

    try:
        return shapely.geometry.mapping(shapely.from_wkb(wkb))
    except shapely.errors.GEOSException:
        return None


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)
