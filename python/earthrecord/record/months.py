"""Sentinel-2: granules become acquisitions, and of a month's acquisitions one is kept (paper, section 2.1).

An acquisition is what one satellite saw of the site in one datatake: the granules that each add site pixels.
Granules are laid over each other on the grid of the one that sees most; a granule in another UTM zone is
looked up by pixel centres.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from earthrecord.record.look import Counts, Place, Row, cells_of

FILL = 1
CLASSES = 6


@dataclass(frozen=True)
class Granule:
    """One granule's class map over the site's window of its own grid (0 outside, 1 fill, 2 cloud ... 5 clear)."""

    position: int
    row: Row
    place: Place
    classes: NDArray[np.uint8]

    @property
    def observed(self) -> int:
        return int(((self.classes > FILL) & self.place.mask).sum())


@dataclass(frozen=True)
class Acquisition:
    """The granules of one datatake over the site, together."""

    month: tuple[int, int]
    used: tuple[int, ...]
    """Positions of the granules that each add site pixels."""
    idle: tuple[int, ...]
    """Positions of those that add none."""
    counts: Counts
    """Of the union, over the site's pixels of the granule that sees most."""
    rank: tuple[Any, ...]
    """Greater is better: clear (snow as clear), covered share, earlier day, tile id."""


def datatakes(rows: Sequence[tuple[int, Row]]) -> list[list[int]]:
    """Group positions by satellite and datatake start; a granule without one stands for itself."""
    groups: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for position, row in rows:
        start = row["datatake"]
        key = (row["product"], row["platform"], start) if start is not None else ("alone", position)
        groups[key].append(position)
    return list(groups.values())


def union(granules: Sequence[Granule]) -> Acquisition:
    """Lay the granules of one datatake over each other, the one that sees most first."""
    ordered = sorted(
        granules, key=lambda granule: (-granule.observed, granule.row["tile"] or "", granule.row["order"])
    )
    base = ordered[0]
    merged = base.classes.copy()
    used, idle = [base.position], list[int]()
    for granule in ordered[1:]:
        view = _seen_from(base.place, granule)
        adds = (merged <= FILL) & (view > FILL) & base.place.mask
        (used if adds.any() else idle).append(granule.position)
        take = adds | ((merged == 0) & (view == FILL))
        merged[take] = view[take]
    tallies = np.bincount(merged[base.place.mask], minlength=CLASSES)
    counts: Counts = tuple(int(n) for n in tallies[:CLASSES])  # type: ignore[assignment]
    return Acquisition(_month(base.row), tuple(used), tuple(idle), counts, _rank(base.row, counts))


def _month(row: Row) -> tuple[int, int]:
    moment = row["datatake"] or row["start"]
    return moment.year, moment.month


def _rank(row: Row, counts: Counts) -> tuple[Any, ...]:
    outside, fill, *_, snow, clear = counts
    total = sum(counts) or 1
    moment = row["datatake"] or row["start"]
    covered = (total - outside - fill) / total
    return (clear + snow) / total, covered, -moment.toordinal(), _Reversed(row["tile"] or "")


class _Reversed(str):
    """A string that counts as greater where it comes earlier in the alphabet."""

    __slots__ = ()

    def __lt__(self, other: str) -> bool:
        return str.__gt__(self, other)

    def __gt__(self, other: str) -> bool:
        return str.__lt__(self, other)


def _seen_from(base: Place, granule: Granule) -> NDArray[np.uint8]:
    """The granule's classes at the pixel centres of the base window; 0 where it has none."""
    cols, rows = cells_of(base.grid.crop(base.window), granule.place.grid.crop(granule.place.window))
    inside = (cols >= 0) & (cols < granule.classes.shape[1]) & (rows >= 0) & (rows < granule.classes.shape[0])
    view = np.zeros(inside.shape, np.uint8)
    view[inside] = granule.classes[rows[inside], cols[inside]]
    return view


def best_of_months(acquisitions: Sequence[Acquisition]) -> dict[int, int]:
    """For each acquisition that is not its month's best, by index: the index of the best."""
    best: dict[tuple[int, int], int] = {}
    for index, acquisition in enumerate(acquisitions):
        month = acquisition.month
        if month not in best or acquisition.rank > acquisitions[best[month]].rank:
            best[month] = index
    return {index: best[a.month] for index, a in enumerate(acquisitions) if best[a.month] != index}
