"""From archives on disk to a scene table, and that table as a file (`scenes.parquet`)."""

from __future__ import annotations

import json
import os
from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from earthrecord.archive import scenes
from earthrecord.archive.folder import Scan, scan
from earthrecord.archive.names import Named, identify
from earthrecord.archive.sidecar import scene_in_name
from earthrecord.archive.walk import Entry, Walk, walk
from earthrecord.errors import BadSource, EmptySource
from earthrecord.products.model import Product

Row = dict[str, Any]
_ITEMS = frozenset({".json", ".geojson", ".ndjson", ".jsonl", ".geojsonl", ".parquet", ".geoparquet", ".pq"})
_PARQUET = frozenset({".parquet", ".geoparquet", ".pq"})
_FORMAT_KEY = "earthrecord.scenes"
_SHOWN = 5


def search(source: str | Path, products: Mapping[str, Product]) -> pl.DataFrame:
    """All scenes of one source as a scene table (`scenes.SCENES`), refused ones too, in a lasting order.

    A source is a folder of files as providers deliver them, a folder or file of STAC items (JSON, NDJSON,
    GeoParquet), a folder of both, or a single raster. Raises `BadSource` for one that does not exist or can not be read,
    `EmptySource` where nothing in it is, or looks like, a scene of a product.
    """
    return search_all([source], products)


def search_all(
    sources: Sequence[str | Path], products: Mapping[str, Product], passed_over: list[str] | None = None
) -> pl.DataFrame:
    """The scenes of several sources, one after the other; a candidate found twice is one row, counted in `repeated`.

    `passed_over` is given a sentence for each folder that holds files of no known product.
    """
    passed_over = [] if passed_over is None else passed_over
    rows = [row for source in sources for row in _rows(_on_disk(source), products, passed_over)]
    merged = list(_merged(rows))
    for order, row in enumerate(merged):
        row["order"] = order
    return scenes.table(merged)


def write(frame: pl.DataFrame, path: Path) -> None:
    """Freeze a scene table. The file appears under its name when it is whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        frame.select(scenes.SCENES.names()).write_parquet(partial, metadata={_FORMAT_KEY: str(scenes.FORMAT)})
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def read(path: Path) -> pl.DataFrame:
    """A frozen scene table. Raises `BadSource` for a file that is missing, damaged, or of another format version."""
    try:
        version = pl.read_parquet_metadata(path).get(_FORMAT_KEY)
        frame = pl.read_parquet(path)
    except FileNotFoundError:
        raise BadSource(f"{path} does not exist: search first, with er search") from None
    except (OSError, pl.exceptions.PolarsError) as error:
        what = str(error).partition("\n")[0]
        raise BadSource(
            f"{path} is no scene table, or damaged ({what}); search again, with er search"
        ) from None
    if version != str(scenes.FORMAT) or frame.schema != scenes.SCENES:
        found = f"format {version}" if version else "no scene table of EarthRecord"
        raise BadSource(
            f"{path} is {found}; this version reads format {scenes.FORMAT}: search again, with er search"
        )
    return frame


def _on_disk(source: str | Path) -> Path:
    if isinstance(source, str) and "://" in source:
        raise BadSource(
            f"{source} lies on the network: save its items to disk first, and give the file or folder"
        )
    path = Path(os.path.abspath(os.path.expanduser(source)))
    if not path.exists():
        raise BadSource(f"{source} does not exist; give a folder of files, or a file or folder of STAC items")
    return path


def _rows(path: Path, products: Mapping[str, Product], passed_over: list[str]) -> list[Row]:
    """The rows of one source, all of which name it."""
    if (
        path.is_file()
        and path.suffix.lower() in _ITEMS
        and not isinstance(identify(path.name, products), Named)
    ):
        from earthrecord.archive.stac import read_items

        rows = read_items(path, products)
        if not rows:
            raise EmptySource(f"{path} holds no STAC item; save the result of a search there")
        return rows
    if path.is_file():
        entry = Entry(path.name, str(path), path.stat().st_size)
        found = scan(path.parent, products, found=Walk([entry]))
    else:
        found = _folder(path, products)
    if not found.rows:
        raise EmptySource(_nothing(path, found))
    if found.ignored:
        number = sum(found.ignored.values())
        passed_over.append(
            f"{path}: {number} other file{'s' if number > 1 else ''} ({_kinds(found)}), of no known product"
        )
    return found.rows


def _folder(root: Path, products: Mapping[str, Product]) -> Scan:
    found = walk(root)
    items: list[Row] = []
    if any(_may_hold_items(entry) for entry in found.entries):
        from earthrecord.archive.stac import read_items

        others = {entry.name for entry in found.entries if _is_other_table(entry)}
        items = [row for row in read_items(root, products) if not _is_no_item(row, others)]
    return scan(root, products, items, found)


def _may_hold_items(entry: Entry) -> bool:
    return os.path.splitext(entry.name)[1].lower() in _ITEMS and scene_in_name(entry.name) is None


def _is_other_table(entry: Entry) -> bool:
    """Whether a file is a sound table of something else than STAC items."""
    if os.path.splitext(entry.name)[1].lower() not in _PARQUET:
        return False
    try:
        return not {"id", "assets"} <= pl.read_parquet_schema(entry.path).keys()
    except (OSError, pl.exceptions.PolarsError):
        return False


def _is_no_item(row: Row, others: Container[str]) -> bool:
    """A refusal that says nothing here: of a hidden file, of another table, of lines that are no items.

    Broken metadata of other kinds are told by the scan itself.
    """
    name = row.get("item")
    if not row.get("refused"):
        return False
    return name is None or name.startswith(".") or name in others or scene_in_name(name) is not None


def _merged(rows: Iterable[Row]) -> Iterable[Row]:
    """Each candidate once: what has product, scene and files in common was told twice."""
    first: dict[str, Row] = {}
    for number, row in enumerate(rows):
        files = sorted((file["href"], file["band"]) for file in row.get("files") or ())
        identity = row.get("scene") or row.get("item") or number
        key = json.dumps([row.get("product"), identity, row.get("refused"), files])
        if key in first:
            first[key]["repeated"] = (first[key].get("repeated") or 0) + 1 + (row.get("repeated") or 0)
        else:
            first[key] = row
    return first.values()


def _nothing(path: Path, found: Scan) -> str:
    """What a source without scenes holds, and what may be meant."""
    if not found.files and not found.ignored and not found.partial:
        return f"{path} holds no file; give the folder into which the provider's files were unpacked"
    kinds = _kinds(found)
    if found.partial:
        kinds += f"; {len(found.partial)} unfinished download{'s' if len(found.partial) > 1 else ''}"
    return (
        f"{path}: none of {sum(found.ignored.values())} files ({kinds}) is of a known product. Files must keep the "
        "provider's names (er products show PRODUCT); describe other products in a table of your own (--products)"
    )


def _kinds(found: Scan) -> str:
    """Files of no known product, by ending."""
    most = found.ignored.most_common(_SHOWN)
    return ", ".join(f"{count} {ending or 'without ending'}" for ending, count in most)
