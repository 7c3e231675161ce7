"""Appending what is new since: the frozen search result grows, and the record is built from all of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from earthrecord.archive import search
from earthrecord.record import ledger
from earthrecord.record.build import Builder
from earthrecord.record.diff import Difference, compare
from earthrecord.record.model import Places
from earthrecord.record.seal import MANIFEST, Outcome, alone, make


@dataclass(frozen=True)
class Update:
    """What an update came to."""

    outcome: Outcome
    found: int
    """Catalogue lines that were not known before."""
    difference: Difference


def merge(frozen: pl.DataFrame, found: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """The frozen scene table with what another search found, and how many of its rows are new.

    A row is known where product, scene and files are. What is frozen stays, even if the archive lost it; a
    known row whose files changed size is replaced in its place.
    """
    rows = {_identity(row): row for row in frozen.iter_rows(named=True)}
    before, last = len(rows), max((row["order"] for row in rows.values()), default=-1)
    for row in found.sort("order").iter_rows(named=True):
        known = rows.get(_identity(row))
        row["order"] = known["order"] if known else (last := last + 1)
        rows[_identity(row)] = row
    return pl.DataFrame(list(rows.values()), schema=frozen.schema), len(rows) - before


def _identity(row: Mapping[str, Any]) -> tuple[Any, ...]:
    files = tuple((file["band"], file["href"], file["member"]) for file in row["files"] or ())
    return row["product"], row["scene"], files


def update(builder: Builder, found: pl.DataFrame) -> Update:
    """Merge a new search into the frozen one, build the record anew, and tell what changed.

    Scenes that did not change are taken over from the old record. The result is the record that a build from
    the merged table would give.
    """
    places = builder.places
    with alone(places) as journal:
        before = _hashes(places)
        merged, fresh = merge(search.read(places.scenes), found)
        outcome = make(builder, merged, journal, replace=True)
    return Update(outcome, fresh, compare(before, _hashes(places), builder.products))


def _hashes(places: Places) -> dict[str, str]:
    manifest = ledger.read(places.manifest, MANIFEST)
    return dict(manifest.filter(~pl.col("withheld")).select("path", "sha256").iter_rows())
