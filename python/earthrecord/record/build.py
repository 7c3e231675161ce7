"""From a scene table to a sealed record: decide, measure, write, seal. A killed build goes on where it stopped.

What is decided when: rules that need only the row; whether the site lies in the scene (headers); duplicates;
counts from the quality layers; the rules on counts; one Sentinel-2 acquisition a month. Only then are the
other layers of the scenes that stay read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

import msgspec
import polars as pl

from earthrecord import _core
from earthrecord.archive import raster
from earthrecord.errors import BadSource, EarthRecordError
from earthrecord.products.model import Band, Product
from earthrecord.products.registry import Products
from earthrecord.record import months, offsets, select
from earthrecord.record.journal import Journal, digest
from earthrecord.record.look import Counts, File, Looker, Place, Row, deciding, footprint_misses
from earthrecord.record.model import Places, Rules
from earthrecord.record.select import Decision
from earthrecord.record.store import Store, StoredScene, folder_of
from earthrecord.sites.model import Site

Progress = Callable[[str, int, int], None]
T = TypeVar("T")


def silent(_stage: str, _done: int, _total: int) -> None:
    """Progress that nobody watches."""


@dataclass
class Choice:
    """One candidate on its way through the rules."""

    row: Row
    decision: Decision
    place: Place | None = None
    acquisition: str | None = None
    """Sentinel-2: id of the acquisition that the granule belongs to."""
    acquisition_clear: float | None = None
    stored: StoredScene | None = None
    folder: PurePosixPath | None = None
    months: tuple[str, ...] = ()
    """netCDF: the months that this file gives."""
    key: str = ""

    @property
    def flags(self) -> list[str]:
        """All that is odd about it, by metadata and by what was read."""
        return sorted({*self.decision.flags, *(self.stored.flags if self.stored else ())})

    @property
    def scene(self) -> str:
        return str(self.row["scene"])


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

    def decide(self, scenes: pl.DataFrame, journal: Journal | None = None) -> list[Choice]:
        """Every rule but those on counts where `journal` is None (a plan reads no pixels); all of them with one."""
        choices = [self._first(row) for row in scenes.sort("order").iter_rows(named=True)]
        self._each("finding the site", self._locate, [choice for choice in choices if choice.decision.open])
        rows, decisions = [choice.row for choice in choices], [choice.decision for choice in choices]
        select.duplicates(rows, decisions, self.products)
        for position, months_given in select.share_months(rows, decisions, self.products, self.rules).items():
            choices[position].months = tuple(sorted(months_given))
        if journal is not None:
            self._measure(choices, journal)
        return choices

    def _first(self, row: Row) -> Choice:
        product = self.products.get(row["product"]) if row["product"] else None
        return Choice(row, select.by_kind(row, product, self.rules, self.site.kind))

    def _each(self, stage: str, work: Callable[[T], None], items: Sequence[T]) -> None:
        with ThreadPoolExecutor(self.workers) as pool:
            self.progress(stage, 0, len(items))
            for done, _ in enumerate(pool.map(work, items), 1):
                self.progress(stage, done, len(items))

    def _locate(self, choice: Choice) -> None:
        """Whether any site pixel lies in the scene: by footprint where it proves a miss, else by the raster's grid."""
        row, product = choice.row, self.products[choice.row["product"]]
        try:
            found = deciding(row, product)
            if found is None or "://" in found[1]["href"]:
                if footprint_misses(row, self.site):
                    choice.decision.drop("outside", "by its footprint, the scene does not reach the site")
                return
            layer = self.looker.layer(row, found[1])
            choice.place = self.looker.place(layer.grid, product)
        except EarthRecordError as error:
            choice.decision.flags.append("spoiled")
            choice.decision.reason = str(error)
            return
        if choice.place.covered == 0:
            choice.decision.drop("outside", "none of the site's pixels lies in the raster")

    def _measure(self, choices: list[Choice], journal: Journal) -> None:
        open_ = [choice for choice in choices if choice.decision.open]
        for choice in open_:
            if "spoiled" in choice.decision.flags:
                choice.decision.drop("unreadable", choice.decision.reason)
        counted = [choice for choice in open_ if choice.decision.open and self._product(choice).quality]
        self._each("counting clear pixels", lambda choice: self._count(choice, journal), counted)
        monthly = [c for c in counted if c.decision.open and self._product(c).one_a_month]
        for choice in counted:
            if choice.decision.open and choice.decision.counts and not self._product(choice).one_a_month:
                select.by_counts([choice.decision], choice.decision.counts, self._product(choice), self.rules)
        self._months(monthly)

    def place_of(self, choice: Choice) -> Place:
        """Where the layer that decides lies on the site; opened only where that is not known yet."""
        if choice.place is None:
            layer, product = self._deciding_layer(choice), self._product(choice)
            choice.place = self.looker.place(layer.grid, product)
        return choice.place

    def _deciding_layer(self, choice: Choice) -> raster.Layer:
        found = deciding(choice.row, self._product(choice))
        if found is None:
            raise BadSource(
                f"{choice.scene} brings none of the layers of {choice.row['product']}; search again"
            )
        return self.looker.layer(choice.row, found[1])

    def _product(self, choice: Choice) -> Product:
        return self.products[choice.row["product"]]

    def _count(self, choice: Choice, journal: Journal) -> None:
        product = self._product(choice)
        found = deciding(choice.row, product)
        if found is None:
            missing = product.quality.band if product.quality else "a layer"
            choice.decision.drop(
                "no quality layer", f"it comes without {missing}, from which the counts are made"
            )
            return
        key = "count " + self._key(choice, [found[1]])
        try:
            counts = journal.get(key) or self._counts(choice, *found)
        except EarthRecordError as error:
            choice.decision.drop("unreadable", str(error))
            return
        journal.put(key, list(counts))
        choice.decision.counts = tuple(counts)
        if sum(counts[1:]) == 0:
            choice.decision.drop("outside", "none of the site's pixels lies in the raster")

    def _counts(self, choice: Choice, band: Band, file: File) -> Counts:
        layer = self.looker.layer(choice.row, file)
        self.looker.check(layer, band, file["href"])
        choice.place = self.looker.place(layer.grid, self._product(choice))
        return self.looker.counts(choice.row, layer, choice.place)

    def _key(self, choice: Choice, files: Iterable[Any]) -> str:
        """A digest of what a result about one scene depends on: its files as they are now, the site, the table, the core."""
        row = choice.row
        stamps = [
            (file["href"], file["member"], file["index"], file["band"], _stamp(file["href"]))
            for file in files
        ]
        product = msgspec.to_builtins(self._product(choice), str_keys=True)
        told = [row[column] for column in ("scene", "sensor", "tile", "crs", "transform", "shape")]
        return digest(
            stamps, told, product, self.site.digest, self.site.kind, self.rules.margin, _core.__version__
        )

    def _months(self, monthly: list[Choice]) -> None:
        """Obscured, idle granules and one a month, by acquisition; class maps are dropped as soon as they are counted."""
        groups = months.datatakes([(position, choice.row) for position, choice in enumerate(monthly)])
        seen: list[months.Acquisition] = []
        for done, group in enumerate(groups, 1):
            acquisition = self._acquisition(monthly, group)
            if acquisition is not None:
                seen.append(acquisition)
            self.progress("comparing Sentinel-2 acquisitions", done, len(groups))
        if not self.rules.all_sentinel2:
            for index, better in months.best_of_months(seen).items():
                _outdone(monthly, seen[index], seen[better])

    def _acquisition(self, monthly: list[Choice], group: list[int]) -> months.Acquisition | None:
        for position in group:
            choice = monthly[position]
            if choice.decision.counts and sum(choice.decision.counts[2:]) == 0:
                select.by_counts([choice.decision], choice.decision.counts, self._product(choice), self.rules)
        granules = [
            self._granule(position, monthly[position])
            for position in group
            if monthly[position].decision.open
        ]
        if not granules:
            return None
        acquisition = months.union(granules)
        label = monthly[acquisition.used[0]].scene
        for granule in granules:
            monthly[granule.position].acquisition = label
            monthly[granule.position].acquisition_clear = acquisition.rank[0]
        self._drop_idle(monthly, acquisition)
        members = [monthly[position].decision for position in acquisition.used]
        product = self._product(monthly[acquisition.used[0]])
        select.by_counts(members, acquisition.counts, product, self.rules)
        return acquisition if members[0].open else None

    def _granule(self, position: int, choice: Choice) -> months.Granule:
        layer = self._deciding_layer(choice)
        place = self.looker.place(layer.grid, self._product(choice))
        return months.Granule(position, choice.row, place, self.looker.classes(choice.row, layer, place))

    def _drop_idle(self, monthly: list[Choice], acquisition: months.Acquisition) -> None:
        if self.rules.all_sentinel2:
            return
        best = monthly[acquisition.used[0]].scene
        for position in acquisition.idle:
            monthly[position].decision.drop(
                "one a month",
                f"it shows nothing of the site that {best} of the same acquisition does not show",
            )

    def write(self, choices: Sequence[Choice], root: Path, journal: Journal, stage: str) -> None:
        """Write the layers of the choices given below `root`; a scene that fails becomes `unreadable`."""
        store = Store(self.looker, root)
        taken: set[PurePosixPath] = set()
        for choice in choices:
            choice.folder = _free(folder_of(choice.row), taken)
            choice.key = (
                "store "
                + self._key(choice, choice.row["files"])
                + str(choice.folder)
                + ",".join(choice.months)
            )
        self._each(stage, lambda choice: self._write(choice, store, root, journal), choices)

    def _write(self, choice: Choice, store: Store, root: Path, journal: Journal) -> None:
        assert choice.folder is not None  # noqa: S101 - set by write
        known = journal.get(choice.key)
        if known is not None:
            stored = msgspec.convert(known, StoredScene)
            if self._there(stored, root):
                choice.stored = stored
                return
        try:
            choice.stored = store.write(choice.row, choice.folder, choice.months)
        except EarthRecordError as error:
            choice.decision.drop("unreadable", str(error))
            return
        journal.put(choice.key, msgspec.to_builtins(choice.stored))

    def _there(self, stored: StoredScene, root: Path) -> bool:
        """Whether the files of an earlier run lie there whole; a sealed record that is being updated lends its own."""
        for file in stored.files:
            path, sealed = root / file.path, self.places.record / file.path
            if _size(path) != file.bytes and _size(sealed) == file.bytes:
                path.parent.mkdir(parents=True, exist_ok=True)
                part = path.with_name(f".{path.name}.part")
                part.write_bytes(sealed.read_bytes())
                part.replace(path)
            if _size(path) != file.bytes:
                return False
        return True


def offset_flags(choice: Choice, product: Product) -> tuple[offsets.State | None, offsets.State | None]:
    """The Sentinel-2 offset of a scene by metadata and by pixels; (None, None) for other products."""
    if not any(band.offset_by_scene for band in product.bands):
        return None, None
    return offsets.by_metadata(choice.row, product), choice.stored.offset_pixels if choice.stored else None


def _outdone(monthly: list[Choice], less: months.Acquisition, better: months.Acquisition) -> None:
    best = monthly[better.used[0]]
    for position in less.used:
        share, more = less.rank[0], better.rank[0]
        why = (
            f"{more:.1%} against {share:.1%} clear"
            if more != share
            else "as clear, but preferred by coverage, day or tile"
        )
        monthly[position].decision.drop(
            "one a month", f"{best.scene} shows the site better that month ({why})"
        )


def _free(folder: PurePosixPath, taken: set[PurePosixPath]) -> PurePosixPath:
    """The folder, or the folder with a number where two scenes of one name are both kept."""
    free, number = folder, 2
    while free in taken:
        free, number = folder.with_name(f"{folder.name}-{number}"), number + 1
    taken.add(free)
    return free


def _stamp(href: str) -> tuple[int, int] | None:
    if "://" in href:
        return None
    try:
        stat = os.stat(href)
    except OSError:
        return None
    return stat.st_size, stat.st_mtime_ns


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1
