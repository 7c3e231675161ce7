"""The end of a build: texts, masks, time stamps, and the record under its final name."""

from __future__ import annotations

import datetime as dt
import os
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from earthrecord import _core
from earthrecord.archive import search
from earthrecord.errors import (
    BuiltWithOtherRules,
    EarthRecordError,
    EmptySource,
    SceneFailed,
    UnwritableRaster,
)
from earthrecord.grid import Grid
from earthrecord.products.model import Product
from earthrecord.record import ledger, readme
from earthrecord.record.build import Builder
from earthrecord.record.choice import Choice
from earthrecord.record.journal import Journal, digest_of
from earthrecord.record.look import Place
from earthrecord.record.model import (
    FORMAT,
    Certificate,
    Places,
    Rules,
    read_certificate,
    root_hash,
    write_json,
    write_whole,
)
from earthrecord.record.store import Stored, region_masks
from earthrecord.sites.model import site_json

MANIFEST = pl.Schema(
    {
        "path": pl.String,  # below the record (or below work/<site>/withheld)
        "bytes": pl.Int64,
        "sha256": pl.String,
        "product": pl.String,  # null: a text or a mask
        "scene": pl.String,
        "band": pl.String,
        "withheld": pl.Boolean,
    }
)


LEAST_MISSING = 1e-6
"""Share of the site that may miss a tile by rounding."""


@dataclass(frozen=True)
class Outcome:
    """What a build came to."""

    certificate: Certificate
    ledger: pl.DataFrame
    again: bool
    """True where the record was there already, built from the same inputs by the same rules."""

    @property
    def spoiled(self) -> pl.DataFrame:
        """Ledger rows of scenes that a bad file took out."""
        return self.ledger.filter(pl.col("rule") == "unreadable")


def build(builder: Builder, scenes: pl.DataFrame, *, replace: bool = False) -> Outcome:
    """Build and seal a record, or say that it is there. One build of a site runs at a time.

    Raises `EmptySource` where nothing of the site was found, `BuiltWithOtherRules` where a record of other inputs
    stands there, `UnwritableRaster` where work or records can not be written.
    """
    with alone(builder.places) as journal:
        return make(builder, scenes, journal, replace=replace)


@contextmanager
def alone(places: Places) -> Iterator[Journal]:
    """The journal of a site, which one build has at a time, after what an earlier one left to be done is done."""
    try:
        with Journal(places.journal) as journal:
            finish(places)
            yield journal
    except EarthRecordError:
        raise
    except (OSError, pl.exceptions.ComputeError) as error:  # the second: polars on a full disk
        where, why = (
            getattr(error, "filename", None) or places.work,
            getattr(error, "strerror", None) or error,
        )
        raise UnwritableRaster(
            f"{where}: can not be written ({why}); make room or mend the permission, "
            "or choose other folders with --work and --records"
        ) from error


def make(builder: Builder, scenes: pl.DataFrame, journal: Journal, *, replace: bool) -> Outcome:
    """`build` by one who has the journal."""
    places = builder.places
    inputs = _inputs(builder, scenes)
    if places.certificate.exists() and places.record.is_dir() and not replace:
        known = read_certificate(places.certificate)
        found = ledger.read(places.ledger, ledger.LEDGER)
        spoiled = found.filter(pl.col("rule") == "unreadable").height > 0
        _same_or_refuse(known, inputs, places.certificate, mended=spoiled)
        if not spoiled:
            return Outcome(known, found, again=True)
    search.write(scenes, places.scenes)
    choices = builder.decide(scenes, journal)
    kept = [choice for choice in choices if choice.decision.open]
    _refuse_empty(builder, choices, kept)
    open_, withheld = _by_withheld(builder, kept)
    builder.write(open_, places.building, places.record, journal, "writing scenes")
    builder.write(withheld, places.withheld_building, places.withheld, journal, "writing withheld products")
    _refuse_empty(builder, choices, [choice for choice in kept if choice.decision.open])
    return _seal(builder, choices, inputs)


def _inputs(builder: Builder, scenes: pl.DataFrame) -> dict[str, Any]:
    return {
        "site": builder.site.id,
        "snapshot": builder.rules.snapshot,
        "rules": builder.rules,
        "site_digest": builder.site.digest,
        "products_digest": builder.products.digest,
        "scenes_digest": digest_of(scenes.sort("order")),
        "core": _core.__version__,
    }


_INPUTS = {
    "site": "of another site",
    "snapshot": "with another snapshot date",
    "rules": "by other rules",
    "site_digest": "with another geometry of the site (digest)",
    "products_digest": "with another product table (digest)",
    "scenes_digest": "from another search result (digest)",
    "core": "by another version of the core",
}


def _same_or_refuse(known: Certificate, inputs: Mapping[str, Any], path: Path, *, mended: bool) -> None:
    """Refuse other inputs; after a build with spoiled scenes, files that were mended since are no other inputs."""
    for field, value in inputs.items():
        if getattr(known, field) != value and not (mended and field == "scenes_digest"):
            differs = _difference(getattr(known, field), value)
            raise BuiltWithOtherRules(
                f"{path}: this record was built {_INPUTS[field]}: {differs}; "
                "append what is new with er update, or build it anew with --replace"
            )


def _difference(then: Any, now: Any) -> str:
    if not isinstance(then, Rules):
        return f"{then} then, {now} now"
    pairs = ((name, getattr(then, name), getattr(now, name)) for name in then.__struct_fields__)
    return ", ".join(f"{name} {before} then, {after} now" for name, before, after in pairs if before != after)


def _refuse_empty(builder: Builder, choices: Sequence[Choice], kept: Sequence[Choice]) -> None:
    """Nothing to seal. The ledger is left to be read, unless it would replace that of a record that stands."""
    if kept:
        return
    places, rules = builder.places, Counter(choice.decision.rule or "" for choice in choices)
    told = ", ".join(f"{count} {rule}" for rule, count in rules.most_common())
    see = "the record that is there stays as it is"
    if not places.certificate.exists():
        ledger.write(ledger.table(choices, builder.products), places.ledger)
        see = f"see er explain, or {places.ledger}"
    spoiled = next((choice for choice in choices if choice.decision.rule == "unreadable"), None)
    if spoiled is not None:
        raise SceneFailed(
            f"no record of {builder.site.id}: bad files took out {rules['unreadable']} of {len(choices)} candidates, and no other is left "
            f"({told}), as {spoiled.scene}: {spoiled.decision.reason}; {see}"
        )
    raise EmptySource(
        f"none of {len(choices)} candidates belongs in a record of {builder.site.id} ({told or 'the search found none'}); {see}"
    )


def _by_withheld(builder: Builder, kept: Sequence[Choice]) -> tuple[list[Choice], list[Choice]]:
    hidden = {product.id for product in builder.products.values() if product.withheld}
    open_ = [choice for choice in kept if choice.row["product"] not in hidden]
    return open_, [choice for choice in kept if choice.row["product"] in hidden]


def _seal(builder: Builder, choices: Sequence[Choice], inputs: Mapping[str, Any]) -> Outcome:
    places = builder.places
    stored = [choice for choice in choices if choice.decision.open and choice.stored]
    _refuse_empty(builder, choices, stored)
    open_, withheld = _by_withheld(builder, stored)
    extras = _texts(builder, open_) + _region(builder, open_)
    rows = [_manifest_row(file, choice, False) for choice in open_ for file in choice.stored.files]  # type: ignore[union-attr]
    rows += [_manifest_row(file, None, False) for file in extras]
    hidden = [_manifest_row(file, choice, True) for choice in withheld for file in choice.stored.files]  # type: ignore[union-attr]
    for root, wanted in ((places.building, rows), (places.withheld_building, hidden)):
        _sweep(root, {row["path"] for row in wanted})
        _stamp(root, builder.rules.snapshot)
    manifest = pl.DataFrame(rows + hidden, schema=MANIFEST).sort("withheld", "path")
    book = ledger.table(choices, builder.products, _missing_tiles(builder, choices))
    certificate = Certificate(
        format=FORMAT,
        files=len(rows),
        bytes=sum(row["bytes"] for row in rows),
        root_hash=root_hash({row["path"]: row["sha256"] for row in rows}),
        withheld_hash=root_hash({row["path"]: row["sha256"] for row in hidden}),
        ledger_digest=digest_of(book),
        **inputs,
    )
    _commit(places, book, manifest, certificate)
    return Outcome(certificate, book, again=False)


def _commit(places: Places, book: pl.DataFrame, manifest: pl.DataFrame, certificate: Certificate) -> None:
    """One rename makes a build the record: before it, what was there stands; after it, `finish` does the rest."""
    part = places.sealing.with_name(".sealing.part")
    shutil.rmtree(part, ignore_errors=True)
    ledger.write(book, part / places.ledger.name)
    ledger.write(manifest, part / places.manifest.name)
    write_json(part / places.certificate.name, certificate)
    os.sync()
    part.rename(places.sealing)
    finish(places)


def finish(places: Places) -> None:
    """Give a committed build its names. Stopped at any point, it goes on there when called again."""
    if not places.sealing.is_dir():
        return
    for new, place in ((places.building, places.record), (places.withheld_building, places.withheld)):
        _swap(new, place)
    for path in (places.ledger, places.manifest, places.certificate):
        waiting = places.sealing / path.name
        if waiting.exists():
            waiting.replace(path)
    shutil.rmtree(places.cache, ignore_errors=True)
    places.sealing.rmdir()


def _swap(new: Path, place: Path) -> None:
    """An old folder goes only once the new one is in its place."""
    old = place.with_name(f".{place.name}.old")
    if new.is_dir():
        shutil.rmtree(old, ignore_errors=True)
        if place.exists():
            place.rename(old)
        new.rename(place)
    shutil.rmtree(old, ignore_errors=True)


def _manifest_row(file: Stored, choice: Choice | None, withheld: bool) -> dict[str, Any]:
    product, scene = (choice.row["product"], choice.scene) if choice else (None, None)
    return {
        "path": file.path,
        "bytes": file.bytes,
        "sha256": file.sha256,
        "product": product,
        "scene": scene,
        "band": file.band,
        "withheld": withheld,
    }


def _texts(builder: Builder, open_: Sequence[Choice]) -> list[Stored]:
    site, snapshot, root = builder.site, builder.rules.snapshot, builder.places.building
    by_product: list[tuple[Product, list[Choice]]] = []
    for product in builder.products.values():
        mine = [choice for choice in open_ if choice.row["product"] == product.id]
        if mine:
            by_product.append(
                (product, sorted(mine, key=lambda choice: (str(choice.row["start"]), choice.scene)))
            )
    write_whole(root / "README.md", readme.readme(site, snapshot, by_product).encode())
    write_whole(root / "CITATION", readme.citation([product for product, _ in by_product], snapshot).encode())
    write_json(root / "site.json", site_json(site, snapshot))
    return [_stored(root, name) for name in ("README.md", "CITATION", "site.json")]


def _stored(root: Path, name: str) -> Stored:
    (sha,) = _core.sha256_files([root / name])
    if isinstance(sha, Exception):
        raise sha
    return Stored(name, (root / name).stat().st_size, sha, "")


def _region(builder: Builder, open_: Sequence[Choice]) -> list[Stored]:
    """The masks of a region: of each product and tile, one for each window that its scenes have."""
    if builder.site.kind != "region":
        return []
    found: dict[tuple[str, str | None], dict[Grid, Place]] = {}
    for choice in open_:
        if choice.grid is not None:
            place = builder.place_of(choice)
            windows = found.setdefault((choice.row["product"], choice.row["tile"]), {})
            windows[place.grid.crop(place.inside)] = place
    by_place = {
        key: [windows[grid] for grid in sorted(windows, key=lambda grid: grid.transform)]
        for key, windows in sorted(found.items(), key=lambda entry: (entry[0][0], entry[0][1] or ""))
    }
    return region_masks(by_place, builder.places.building)


def _missing_tiles(builder: Builder, choices: Sequence[Choice]) -> list[dict[str, Any]]:
    """Ledger notes on static tiles that no provider has (sea in the DEM): the part of the site they would cover."""
    tiles: dict[str, list[Choice]] = {}
    for choice in choices:
        if choice.decision.rule in (None, "outside", "unreadable"):
            tiles.setdefault(choice.row["product"], []).append(choice)
    notes = []
    for product in builder.products.values():
        mine = tiles.get(product.id, [])
        if mine and (product.static or product.fixed) and product.grid.kind != "vector":
            missing = 1 - sum(_covered(builder, choice) for choice in mine)
            if missing > LEAST_MISSING:
                notes.append(_note(product, missing))
    return notes


def _covered(builder: Builder, choice: Choice) -> float:
    """Share of the site's pixels that lie on a tile. Of a tile that can not be read, none is known to be missing."""
    if choice.decision.rule == "outside":
        return 0.0
    if choice.grid is None:
        return 1.0
    place = builder.place_of(choice)
    return place.covered / place.pixels


def _note(product: Product, missing: float) -> dict[str, Any]:
    return {
        "product": product.id,
        "kept": False,
        "rule": "no tile",
        "reason": f"no tile of {product.title} covers {missing:.1%} of the site; providers leave out tiles that are all sea",
        "flags": [],
        "withheld": product.withheld,
    }


def _sweep(root: Path, wanted: set[str]) -> None:
    """Take away what an earlier run with other rules left, and folders that are empty then."""
    for folder, folders, names in os.walk(root, topdown=False):
        below = os.path.relpath(folder, root)
        for name in names:
            if os.path.normpath(f"{below}/{name}") not in wanted:
                os.unlink(f"{folder}/{name}")
        for name in folders:
            if not os.listdir(f"{folder}/{name}"):
                os.rmdir(f"{folder}/{name}")


def _stamp(root: Path, snapshot: dt.date) -> None:
    moment = dt.datetime.combine(snapshot, dt.time(), dt.UTC).timestamp()
    for folder, _, names in os.walk(root, topdown=False):
        for name in names:
            os.utime(Path(folder, name), (moment, moment))
        os.utime(folder, (moment, moment))
