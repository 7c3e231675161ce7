"""What a build would read and write, before anything is: scenes, files, bytes, by product and sensor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from earthrecord.products.model import Product
from earthrecord.record.build import Builder
from earthrecord.record.choice import Choice
from earthrecord.record.look import Place, deciding
from earthrecord.record.store import record_files

PLAN = pl.Schema(
    {
        "product": pl.String,
        "sensor": pl.String,
        "candidates": pl.Int64,
        "dropped": pl.Int64,  # by the rules that need no pixels
        "scenes": pl.Int64,  # left to be counted; the rules on counts may drop more
        "files": pl.Int64,  # to be written at most
        "read": pl.Int64,  # bytes of the source files; null: not said
        "write": pl.Int64,  # bytes at most, before compression
        "remote": pl.Int64,  # files to be fetched
    }
)


def plan(builder: Builder, scenes: pl.DataFrame) -> tuple[pl.DataFrame, list[Choice]]:
    """The plan of a build, a row per product and sensor, and the decisions so far; opens headers only."""
    choices = builder.decide(scenes)
    rows: dict[tuple[str, str | None], dict[str, Any]] = {}
    for choice in choices:
        row = choice.row
        entry = rows.setdefault((row["product"] or "-", row["sensor"]), _empty(row))
        entry["candidates"] += 1
        product = builder.products.get(row["product"] or "")
        if choice.decision.open and product is not None:
            place = builder.place_of(choice) if choice.grid else builder.looker.told_place(choice.row)
            _add(entry, choice, product, place)
        else:
            entry["dropped"] += 1
    return pl.DataFrame(list(rows.values()), schema=PLAN).sort("product", "sensor"), choices


def _empty(row: Mapping[str, Any]) -> dict[str, Any]:
    numbers = dict.fromkeys(("candidates", "dropped", "scenes", "files", "read", "write", "remote"), 0)
    return {"product": row["product"] or "-", "sensor": row["sensor"], **numbers}


def _add(entry: dict[str, Any], choice: Choice, product: Product, place: Place | None) -> None:
    entry["scenes"] += 1
    sources: dict[str, int | None] = {}
    for band, file in record_files(choice.row, product):
        entry["files"] += 1
        sources[file["href"]] = file["bytes"]
        if file["container"] == "vector":
            entry["write"] += file["bytes"] or 0
        elif place is not None:
            entry["write"] += _pixels(choice, product, place, band.cell) * _itemsize(band.dtype)
    entry["remote"] += sum("://" in href for href in sources)
    known = [size for size in sources.values() if size is not None]
    entry["read"] += sum(known)


def _pixels(choice: Choice, product: Product, place: Place, cell: float | None) -> int:
    """Pixels of the scene's window, scaled to a layer with another cell size.

    The window is that of the layer that decides, or, where only metadata told of it, of the finest.
    """
    found = deciding(choice.row, product) if choice.grid else None
    ratio = ((found[0].cell if found else None) or product.grid.cell) / (cell or product.grid.cell)
    return int(place.inside.width * place.inside.height * ratio * ratio)


def _itemsize(dtype: str) -> int:
    return int("".join(filter(str.isdigit, dtype))) // 8
