"""From a scene table to a sealed record: decide, measure, write, seal. A killed build goes on where it stopped.

What is decided when: rules that need only the row; whether the site lies in the scene (headers); duplicates;
counts from the quality layers; the rules on counts; one Sentinel-2 acquisition a month. Only then are the
other layers of the scenes that stay read.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TypeVar

import polars as pl

from earthrecord.errors import BadMetadata, FetchFailed, UnreadableRaster, UnsupportedRaster, UnwritableRaster
from earthrecord.grid import Grid
from earthrecord.products.model import Product
from earthrecord.products.registry import Products
from earthrecord.record import months, select
from earthrecord.record.choice import Choice
from earthrecord.record.journal import Journal
from earthrecord.record.look import Counts, File, Looker, Place, Row, deciding, is_remote
from earthrecord.record.model import Places, Rules
from earthrecord.record.recall import Recall
from earthrecord.record.store import Store, StoredScene, folder_of, record_files
from earthrecord.sites.model import Site

Progress = Callable[[str, int, int], None]
T = TypeVar("T")
R = TypeVar("R")

SPOILING = (UnreadableRaster, UnsupportedRaster, BadMetadata, FetchFailed)
"""What a bad file raises. Anything else is not the scene's fault and ends the build."""


def silent(_stage: str, _done: int, _total: int) -> None:
    """Progress that nobody watches."""


@dataclass
class Builder:
    """Builds one site. `workers` threads share the scenes; their order never changes a result."""

    site: Site
    products: Products
    rules: Rules
    places: Places
    progress: Progress = silent
    workers: int = field(default_factory=lambda: os.cpu_count() or 1)
    network: bool = True

    def __post_init__(self) -> None:
        self.looker = Looker(self.site, self.products, self.rules, self.places.cache, network=self.network)
        self._shared: frozenset[str] = frozenset()

    def decide(self, scenes: pl.DataFrame, journal: Journal | None = None) -> list[Choice]:
        """Every rule but those on counts where `journal` is None (a plan reads no pixels); all of them with one."""
        recall = self._recall(journal)
        choices = [self._first(row) for row in scenes.sort("order").iter_rows(named=True)]
        self._shared = _shared(choices)
        open_ = [choice for choice in choices if choice.decision.open]
        self._each("finding the site", lambda choice: self._locate(choice, recall), open_)
        rows, decisions = [choice.row for choice in choices], [choice.decision for choice in choices]
        select.duplicates(rows, decisions, self.products)
        for position, given in select.share_months(rows, decisions, self.products, self.rules).items():
            choices[position].months = tuple(sorted(given))
        if journal is not None:
            self._measure(open_, recall)
        return choices

    def write(
        self, choices: Sequence[Choice], root: Path, sealed: Path, journal: Journal, stage: str
    ) -> None:
        """Write the layers of the choices below `root`, taking over what `sealed` has; a scene that fails becomes `unreadable`."""
        store, recall = Store(self.looker, root, sealed), self._recall(journal)
        root.mkdir(parents=True, exist_ok=True)
        taken: set[PurePosixPath] = set()
        for choice in choices:
            choice.folder = _free(folder_of(choice.row), taken)
        self._each(stage, lambda choice: self._write(choice, store, recall), choices)

    def place_of(self, choice: Choice) -> Place:
        """Where the layer that decides lies on the site."""
        assert choice.grid is not None  # noqa: S101 - rasters that were located
        return self.looker.place(choice.grid, self._product(choice))

    def _recall(self, journal: Journal | None) -> Recall:
        return Recall(journal, self.site, self.products, self.rules)

    def _product(self, choice: Choice) -> Product:
        return self.products[choice.row["product"]]

    def _first(self, row: Row) -> Choice:
        product = self.products.get(row["product"]) if row["product"] else None
        return Choice(row, select.by_kind(row, product, self.rules, self.site.kind))

    def _each(self, stage: str, work: Callable[[T], R], items: Sequence[T]) -> list[R]:
        results = list[R]()
        with ThreadPoolExecutor(self.workers) as pool:
            self.progress(stage, 0, len(items))
            for result in pool.map(work, items):
                results.append(result)
                self.progress(stage, len(results), len(items))
        return results

    @contextmanager
    def _using_files_of(self, choice: Choice) -> Iterator[None]:
        """What a bad file raises becomes the choice's trouble; a full disk ends the build."""
        try:
            yield
        except SPOILING as error:
            if isinstance(error, FetchFailed) and isinstance(error.__cause__, OSError):
                raise UnwritableRaster(str(error)) from error
            choice.trouble = str(error)

    def _locate(self, choice: Choice, recall: Recall) -> None:
        """Whether any site pixel lies in the scene. A plan fetches nothing, so of remote scenes it knows the metadata alone."""
        found = deciding(choice.row, self._product(choice))
        with self._using_files_of(choice):
            if (found is None or is_remote(found[1])) and self.looker.misses(choice.row):
                choice.decision.drop("outside", "by its footprint, the scene does not reach the site")
            elif found is not None and not (recall.journal is None and is_remote(found[1])):
                self._open(choice, found[1], recall)

    def _open(self, choice: Choice, file: File, recall: Recall) -> None:
        if file["container"] == "vector":
            if not recall("encloses", choice, [file], bool, lambda: self.looker.encloses(file)):
                choice.decision.drop("outside", "none of its polygons meets the site")
            return
        choice.grid = recall("grid", choice, [file], Grid, lambda: self.looker.layer(choice.row, file).grid)
        if self.place_of(choice).covered == 0:
            choice.decision.drop("outside", "none of the site's pixels lies in the raster")
            self._forget(choice)

    def _measure(self, choices: Sequence[Choice], recall: Recall) -> None:
        """The rules on counts, for all choices that are still open."""
        self._drop_spoiled(choices)
        counted = [c for c in choices if c.decision.open and self._product(c).quality]
        self._each("counting clear pixels", lambda choice: self._count(choice, recall), counted)
        self._drop_spoiled(counted)
        monthly = [c for c in counted if c.decision.open and self._product(c).one_a_month]
        for choice in counted:
            if choice.decision.counts and not self._product(choice).one_a_month:
                select.by_counts([choice.decision], choice.decision.counts, self._product(choice), self.rules)
        self._months(monthly, recall)
        for choice in choices:
            if not choice.decision.open:
                self._forget(choice)

    def _drop_spoiled(self, choices: Sequence[Choice]) -> None:
        for choice in choices:
            if choice.decision.open and choice.trouble is not None:
                choice.decision.drop("unreadable", choice.trouble)
                self._forget(choice)

    def _count(self, choice: Choice, recall: Recall) -> None:
        product = self._product(choice)
        found = deciding(choice.row, product)
        if found is None:
            missing = product.quality.band if product.quality else "a layer"
            why = f"it comes without {missing}, from which the counts are made"
            choice.decision.drop("no quality layer", why)
            return
        band, file = found
        place = self.place_of(choice)
        with self._using_files_of(choice):
            choice.decision.counts = recall(
                "counts",
                choice,
                [file],
                Counts,
                lambda: self.looker.counts(choice.row, band, file, place),
                lambda counts: sum(counts) == place.pixels,
            )

    def _months(self, monthly: Sequence[Choice], recall: Recall) -> None:
        """Obscured, idle granules and one a month, by acquisition; class maps live no longer than theirs is laid together."""
        groups = [[monthly[i] for i in group] for group in months.datatakes([c.row for c in monthly])]
        stage = "comparing Sentinel-2 acquisitions"
        unions = self._each(stage, lambda group: self._acquisition(group, recall), groups)
        open_ = [(used, one) for used, one in filter(None, unions) if used[0].decision.open]
        if self.rules.all_sentinel2:
            return
        for index, best in months.best_of_months([one for _, one in open_]).items():
            _outdone(*open_[index], *open_[best])

    def _acquisition(
        self, group: Sequence[Choice], recall: Recall
    ) -> tuple[list[Choice], months.Acquisition] | None:
        """What one datatake shows of the site: the granules that add to it, and how good it is."""
        seeing, laid = self._laid(group, recall)
        if laid is None:
            return None
        used = [seeing[i] for i in laid.used]
        one = months.acquisition(used[0].row, laid.counts)
        for choice in seeing:
            choice.acquisition, choice.acquisition_clear = used[0].scene, one.clear
        decisions = [choice.decision for choice in seeing]
        select.by_counts(decisions, laid.counts, self._product(used[0]), self.rules)
        if not self.rules.all_sentinel2:
            _drop_idle([seeing[i] for i in laid.idle], used[0].scene)
        return used, one

    def _laid(self, group: Sequence[Choice], recall: Recall) -> tuple[Sequence[Choice], months.Union | None]:
        """The granules that show anything of the site, laid over each other; one that is spoiled is left out."""
        seeing = [choice for choice in group if self._sees(choice)]
        while seeing:
            try:
                return seeing, self._union(seeing, recall)
            except SPOILING as error:
                for choice in [c for c in seeing if c.trouble] or seeing:
                    choice.trouble = choice.trouble or str(error)
                self._drop_spoiled(seeing)
                seeing = [choice for choice in seeing if choice.decision.open]
        return seeing, None

    def _sees(self, choice: Choice) -> bool:
        counts = choice.decision.counts
        if counts is not None and select.obscured_share(counts) is None:
            select.by_counts([choice.decision], counts, self._product(choice), self.rules)
        return choice.decision.open

    def _union(self, seeing: Sequence[Choice], recall: Recall) -> months.Union:
        if len(seeing) == 1 and seeing[0].decision.counts is not None:
            return months.Union((0,), (), seeing[0].decision.counts)
        files = [found[1] for c in seeing if (found := deciding(c.row, self._product(c))) is not None]
        pairs = list(zip(seeing, files, strict=True))
        return recall(
            "union",
            seeing[0],
            files,
            months.Union,
            lambda: months.union([self._granule(choice, file) for choice, file in pairs]),
        )

    def _granule(self, choice: Choice, file: File) -> months.Granule:
        with self._using_files_of(choice):
            place = self.place_of(choice)
            return months.Granule(choice.row, place, self.looker.classes(choice.row, file, place))
        raise UnreadableRaster(choice.trouble)

    def _write(self, choice: Choice, store: Store, recall: Recall) -> None:
        folder, row = choice.folder, choice.row
        assert folder is not None  # noqa: S101 - set by write
        files = [file for _, file in record_files(row, self._product(choice))]
        with self._using_files_of(choice):
            choice.stored = recall(
                "stored",
                choice,
                files,
                StoredScene,
                lambda: store.write(row, folder, choice.months),
                store.has,
                str(folder),
                choice.months,
            )
        self._drop_spoiled([choice])
        self._forget(choice)
        choice.seen.clear()

    def _forget(self, choice: Choice) -> None:
        """Let go of what was fetched for one scene alone: it is written, or not wanted."""
        for file in choice.row["files"] or ():
            if file["href"] not in self._shared:
                self.looker.forget(file)


def _shared(choices: Sequence[Choice]) -> frozenset[str]:
    """Addresses of files that several scenes lie in."""
    uses = Counter(
        href for choice in choices for href in {file["href"] for file in choice.row["files"] or ()}
    )
    return frozenset(href for href, count in uses.items() if count > 1)


def _drop_idle(idle: Sequence[Choice], best: str) -> None:
    why = f"it shows nothing of the site that {best} of the same acquisition does not show"
    for choice in idle:
        if choice.decision.open:
            choice.decision.drop("one a month", why)


def _outdone(
    used: Sequence[Choice], less: months.Acquisition, better: Sequence[Choice], more: months.Acquisition
) -> None:
    why = (
        f"{more.clear:.1%} against {less.clear:.1%} clear"
        if more.clear != less.clear
        else "as clear, but preferred by coverage, day or tile"
    )
    for choice in used:
        best = f"{better[0].scene} shows the site better that month ({why})"
        choice.decision.drop("one a month", best)


def _free(folder: PurePosixPath, taken: set[PurePosixPath]) -> PurePosixPath:
    """The folder, or the folder with a number where two scenes of one name are both kept."""
    free, number = folder, 2
    while free in taken:
        free, number = folder.with_name(f"{folder.name}-{number}"), number + 1
    taken.add(free)
    return free
