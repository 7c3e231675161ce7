"""The ledger: one row per candidate, kept or dropped, with the rule that decided and what was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from earthrecord.errors import BadRecord
from earthrecord.products.registry import Products
from earthrecord.record import offsets
from earthrecord.record.choice import Choice, offset_states
from earthrecord.record.model import COUNTS, FORMAT, whole
from earthrecord.record.select import obscured_share

LEDGER = pl.Schema(
    {
        "product": pl.String(),
        "scene": pl.String(),
        "item": pl.String(),  # the id under which the catalogue listed it
        "platform": pl.String(),
        "sensor": pl.String(),
        "level": pl.String(),
        "tier": pl.String(),
        "start": pl.Datetime("us", "UTC"),
        "date": pl.Date(),
        "path": pl.Int16(),
        "row": pl.Int16(),
        "tile": pl.String(),
        "processed": pl.Datetime("us", "UTC"),
        "baseline": pl.String(),
        "kept": pl.Boolean(),
        "rule": pl.String(),  # why it was dropped (model.DROPS); null: kept
        "reason": pl.String(),  # the same in words, with the values
        "duplicate_of": pl.String(),  # the scene that is kept in its stead
        "outside": pl.Int64(),  # the six counts over the site's pixels; null: not counted
        "fill": pl.Int64(),
        "cloud": pl.Int64(),
        "shadow": pl.Int64(),
        "snow": pl.Int64(),
        "clear": pl.Int64(),
        "obscured": pl.Float64(),  # (cloud + shadow) / (cloud + shadow + snow + clear)
        "acquisition": pl.String(),  # Sentinel-2: the scene that leads the acquisition
        "acquisition_clear": pl.Float64(),  # Sentinel-2: clear and snow share of the union, of all site pixels
        "offset_metadata": pl.String(),  # Sentinel-2: present, absent, unclear
        "offset_pixels": pl.String(),
        "wrapped": pl.Int64(),  # Sentinel-2: reflectances over 60,000
        "repeated": pl.UInt16(),  # further catalogue lines of the same candidate
        "flags": pl.List(pl.String()),
        "folder": pl.String(),  # where it lies in the record; null: dropped
        "withheld": pl.Boolean(),
        "catalogue": pl.String(),
        "metadata": pl.String(),
        "source": pl.String(),  # href of the layer that decides
    }
)

FROM_SCENE = (
    *(
        "product",
        "scene",
        "item",
        "platform",
        "sensor",
        "level",
        "tier",
        "start",
        "date",
        "path",
        "row",
        "tile",
    ),
    *("processed", "baseline", "repeated", "catalogue", "metadata"),
)


def table(
    choices: Sequence[Choice], products: Products, notes: Sequence[Mapping[str, Any]] = ()
) -> pl.DataFrame:
    """The ledger of decided choices, in catalogue order, then the notes (rows about what no archive has)."""
    rows = [_row(choice, products) for choice in choices]
    rows += [{name: note.get(name) for name in LEDGER} for note in notes]
    return pl.DataFrame(rows, schema=LEDGER)


def _row(choice: Choice, products: Products) -> dict[str, Any]:
    decision, product = choice.decision, products.get(choice.row["product"] or "")
    metadata, pixels = (None, None) if product is None else offset_states(choice, product)
    flags = set(choice.flags)
    if offsets.disagree(metadata, pixels):
        flags.add("offset-disagrees")
    counts = decision.counts
    return {
        **{name: choice.row[name] for name in FROM_SCENE},
        "kept": decision.open,
        "rule": decision.rule,
        "reason": decision.reason or None,
        "duplicate_of": decision.duplicate_of,
        **dict(zip(COUNTS, counts or (None,) * 6, strict=True)),
        "obscured": obscured_share(counts) if counts else None,
        "acquisition": choice.acquisition,
        "acquisition_clear": choice.acquisition_clear,
        "offset_metadata": metadata,
        "offset_pixels": pixels,
        "wrapped": choice.stored.wrapped if choice.stored else None,
        "flags": sorted(flags),
        "folder": str(choice.folder) if decision.open and choice.folder else None,
        "withheld": product.withheld if product else False,
        "source": choice.row["files"][0]["href"] if choice.row["files"] else None,
    }


def write(frame: pl.DataFrame, path: Path) -> None:
    """Write a ledger or manifest, with the format that `read` asks for, whole or not at all."""
    with whole(path) as part:
        frame.write_parquet(part, metadata={"earthrecord.format": str(FORMAT)})


def read(path: Path, schema: pl.Schema = LEDGER) -> pl.DataFrame:
    """A ledger (or, by its schema, a manifest) that `write` wrote; `BadRecord` where it is missing, damaged or of another format."""
    if not path.is_file():
        raise BadRecord(f"{path} is missing: build the record first, with er build-record")
    try:
        found = pl.read_parquet_metadata(path).get("earthrecord.format")
        frame = pl.read_parquet(path)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise BadRecord(f"{path} is damaged ({error}): build the record again") from None
    if found != str(FORMAT):
        raise BadRecord(
            f"{path} has format {found}, this program reads format {FORMAT}: build the record again"
        )
    if frame.schema != schema:
        raise BadRecord(f"{path} has other columns than it was written with: build the record again")
    return frame
