"""The story of one scene in plain words, from the ledger."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from earthrecord.errors import BadRecord
from earthrecord.products.registry import Products
from earthrecord.record import ledger
from earthrecord.record.model import COUNTS, DROPS, FLAGS


def find(
    scene: str, work_root: Path, site: str | None = None
) -> Sequence[tuple[str, Mapping[str, Any], pl.DataFrame]]:
    """Ledger rows (site, row, ledger) of a scene by its id, its catalogue id, or the beginning of either."""
    books = [work_root / site / "ledger.parquet"] if site else sorted(work_root.glob("*/ledger.parquet"))
    if not books:
        raise BadRecord(f"no ledger below {work_root}: build a record first, with er build-record")
    found = []
    for path in books:
        book = ledger.read(path)
        same = book.filter((pl.col("scene") == scene) | (pl.col("item") == scene))
        near = book.filter(pl.col("scene").str.starts_with(scene) | pl.col("item").str.starts_with(scene))
        found += [
            (path.parent.name, row, book) for row in (same if same.height else near).iter_rows(named=True)
        ]
    if not found:
        raise BadRecord(
            f"no scene {scene!r} in {', '.join(map(str, books))}: the ledger lists every candidate by id"
        )
    return found


def story(site: str, row: Mapping[str, Any], book: pl.DataFrame, products: Products) -> list[str]:
    """Sentences about one candidate: what it is, what was found, what was decided."""
    return [
        _what(site, row, products),
        *_counted(row),
        _decided(row),
        *_rivals(row, book),
        *_offset(row),
        *(FLAGS[flag] for flag in row["flags"] or () if flag in FLAGS),
    ]


def _what(site: str, row: Mapping[str, Any], products: Products) -> str:
    product = products.get(row["product"] or "")
    parts = [product.title if product else row["product"] or "an unknown product"]
    if row["platform"]:
        parts.append(f"by {row['platform']}")
    if row["path"] is not None:
        parts.append(f"path {row['path']} row {row['row']}")
    elif row["tile"]:
        parts.append(f"tile {row['tile']}")
    if row["date"] is not None:
        parts.append(f"of {row['date']}")
    extra = [
        f"tier {row['tier']}" if row["tier"] else "",
        row["level"] or "",
        f"processed {row['processed']:%Y-%m-%d}" if row["processed"] else "",
    ]
    told = ", ".join(filter(None, extra))
    again = f" The catalogue lists it {row['repeated'] + 1} times." if row["repeated"] else ""
    return f"{row['scene']} (site {site}): {' '.join(parts)}{', ' + told if told else ''}.{again}"


def _counted(row: Mapping[str, Any]) -> Iterator[str]:
    if row["outside"] is None:
        return
    total = sum(row[name] for name in COUNTS)
    shares = ", ".join(f"{name} {row[name]} ({row[name] / total:.1%})" for name in COUNTS if row[name])
    yield f"Of the site's {total} pixels on its grid: {shares}."
    if row["obscured"] is not None:
        yield f"Cloud and shadow hide {row['obscured']:.1%} of what it sees."


def _decided(row: Mapping[str, Any]) -> str:
    if row["kept"]:
        where = "beside the record, withheld" if row["withheld"] else "in the record"
        return f"Kept: it lies {where} under {row['folder']}."
    words = DROPS.get(row["rule"], row["rule"])
    return f"Dropped by the rule '{row['rule']}' ({words}): {row['reason']}."


def _rivals(row: Mapping[str, Any], book: pl.DataFrame) -> Iterator[str]:
    others = book.filter(pl.col("duplicate_of") == row["scene"])
    if others.height:
        yield f"Other processings of the same acquisition were dropped for it: {', '.join(others['scene'])}."
    if row["acquisition"] is not None:
        granules = book.filter(
            (pl.col("acquisition") == row["acquisition"]) & (pl.col("scene") != row["scene"])
        )
        together = f", together with {', '.join(granules['scene'])}" if granules.height else ""
        yield f"It belongs to one acquisition{together}, which shows {row['acquisition_clear']:.1%} of the site clear or under snow."


def _offset(row: Mapping[str, Any]) -> Iterator[str]:
    if row["offset_metadata"] is None:
        return
    pixels = row["offset_pixels"] or "not looked at (not kept)"
    yield f"Reflectance offset: {row['offset_metadata']} by metadata, {pixels} by pixels."
    if row["wrapped"]:
        yield f"{row['wrapped']} reflectances over 60000 are negatives that wrapped; they are left as they are."
