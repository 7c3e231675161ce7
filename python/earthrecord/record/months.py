"""Sentinel-2: granules become acquisitions, and of a month's acquisitions one is kept (paper, section 2.1).

An acquisition is what one satellite saw of the site in one datatake: the granules that each add site pixels.
Granules are laid over each other on the grid of the one that sees most; a granule in another UTM zone is
looked up by pixel centres.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from earthrecord.record.look import Counts, Place, Row, cells_of

FILL = 1
CLASSES = 6


@dataclass(frozen=True)
class Granule:
    """One granule's class map over the site's window of its own grid (0 outside, 1 fill, 2 cloud ... 5 clear)."""

    row: Row
    place: Place
    classes: NDArray[np.uint8]

    @property
    def observed(self) -> int:
        return int(((self.classes > FILL) & self.place.mask).sum())


class Union(NamedTuple):
    """Granules of one datatake laid over each other, by their positions."""

    used: tuple[int, ...]
    """Those that each add site pixels, the one that sees most first."""
    idle: tuple[int, ...]
    """Those that add none."""
    counts: Counts
    """Over the site's pixels of the first."""


class Acquisition(NamedTuple):
    """What decides between the acquisitions of a month."""

    month: tuple[int, int]
    clear: float
    """Clear and snow share of all site pixels."""
    rank: tuple[Any, ...]
    """Greater is better: clear, covered share, earlier day, tile id."""


def datatakes(rows: Sequence[Row]) -> list[list[int]]:
    """Group positions by satellite and datatake start (to the second); a granule without one stands for itself."""
    groups: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for position, row in enumerate(rows):
        start = row["datatake"]
        key = ("alone", position) if start is None else (row["platform"], start.replace(microsecond=0))
        groups[row["product"], *key].append(position)
    return list(groups.values())


def union(granules: Sequence[Granule]) -> Union:
    """Lay the granules of one datatake over each other, the one that sees most first."""
    order = sorted(range(len(granules)), key=lambda i: _precedence(granules[i]))
    base = granules[order[0]]
    merged = base.classes.copy()
    used, idle = [order[0]], list[int]()
    for position in order[1:]:
        view = _seen_from(base.place, granules[position])
        adds = (merged <= FILL) & (view > FILL) & base.place.mask
        (used if adds.any() else idle).append(position)
        take = adds | ((merged == 0) & (view == FILL))
        merged[take] = view[take]
    tallies = np.bincount(merged[base.place.mask], minlength=CLASSES)
    counts: Counts = tuple(int(n) for n in tallies[:CLASSES])  # type: ignore[assignment]
    return Union(tuple(used), tuple(idle), counts)


def _precedence(granule: Granule) -> tuple[Any, ...]:
    return -granule.observed, granule.row["tile"] or "", granule.row["order"]


def _seen_from(base: Place, granule: Granule) -> NDArray[np.uint8]:
    """The granule's classes at the pixel centres of the base window; 0 where it has none."""
    cols, rows = cells_of(base.grid.crop(base.window), granule.place.grid.crop(granule.place.window))
    inside = (cols >= 0) & (cols < granule.classes.shape[1]) & (rows >= 0) & (rows < granule.classes.shape[0])
    view = np.zeros(inside.shape, np.uint8)
    view[inside] = granule.classes[rows[inside], cols[inside]]
    return view


def acquisition(row: Row, counts: Counts) -> Acquisition:
    """An acquisition by the granule that sees most and the counts of the union."""
    outside, fill, *_, snow, clear = counts
    total = sum(counts) or 1
    day = _day(row)
    share = (clear + snow) / total
    rank = share, (total - outside - fill) / total, -day.toordinal(), _Reversed(row["tile"] or "")
    return Acquisition((day.year, day.month), share, rank)


def _day(row: Row) -> dt.date:
    """The day of the datatake start, UTC; where nobody tells one, the day of acquisition."""
    day: dt.date = row["datatake"].date() if row["datatake"] else row["date"]
    return day


class _Reversed(str):
    """A string that counts as greater where it comes earlier in the alphabet."""

    __slots__ = ()

    def __lt__(self, other: str) -> bool:
        return str.__gt__(self, other)

    def __gt__(self, other: str) -> bool:
        return str.__lt__(self, other)


def best_of_months(acquisitions: Sequence[Acquisition]) -> dict[int, int]:
    """For each acquisition that is not its month's best, by index: the index of the best."""
    best: dict[tuple[int, int], int] = {}
    for index, one in enumerate(acquisitions):
        if one.month not in best or one.rank > acquisitions[best[one.month]].rank:
            best[one.month] = index
    return {index: best[one.month] for index, one in enumerate(acquisitions) if best[one.month] != index}
