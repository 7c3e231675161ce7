"""The end of a build: texts, masks, hashes, time stamps, and the record under its final name."""

from __future__ import annotations

import datetime as dt
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from earthrecord import _core
from earthrecord.errors import BadRecord, BuiltWithOtherRules, EmptySource
from earthrecord.products.model import Product
from earthrecord.record import ledger, readme
from earthrecord.record.build import Builder, Choice
from earthrecord.record.journal import Journal, digest
from earthrecord.record.look import Place
from earthrecord.record.model import (
    FORMAT,
    Certificate,
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
    """Build and seal a record, or say that it is there. Raises `EmptySource` where nothing of the site was found."""
    places = builder.places
    inputs = _inputs(builder, scenes)
    if places.certificate.exists() and places.record.is_dir() and not replace:
        known = read_certificate(places.certificate)
        found = ledger.read(places.ledger)
        spoiled = found.filter(pl.col("rule") == "unreadable").height > 0
        _same_or_refuse(known, inputs, places.certificate, mended=spoiled)
        if not spoiled:
            return Outcome(known, found, again=True)
    with Journal(places.journal) as journal:
        choices = builder.decide(scenes, journal)
        kept = [choice for choice in choices if choice.decision.open]
        _refuse_empty(builder, choices, kept)
        open_, withheld = _by_withheld(builder, kept)
        builder.write(open_, places.building, journal, "writing scenes")
        builder.write(withheld, places.withheld, journal, "writing withheld products")
    return _seal(builder, choices, inputs)


def _inputs(builder: Builder, scenes: pl.DataFrame) -> dict[str, Any]:
    return {
        "site": builder.site.id,
        "snapshot": builder.rules.snapshot,
        "rules": builder.rules,
        "site_digest": builder.site.digest,
        "products_digest": builder.products.digest,
        "scenes_digest": digest(scenes.sort("order").rows()),
        "core": _core.__version__,
    }


def _same_or_refuse(known: Certificate, inputs: Mapping[str, Any], path: Path, *, mended: bool) -> None:
    """Refuse other inputs; after a build with spoiled scenes, files that were mended since are no other inputs."""
    for field, value in inputs.items():
        if getattr(known, field) != value and not (mended and field == "scenes_digest"):
            raise BuiltWithOtherRules(
                f"{path}: this record was built with another {field.replace('_', ' ')}: {getattr(known, field)} then, {value} now; "
                "append what is new with er update, or build it anew with --replace"
            )


def _refuse_empty(builder: Builder, choices: Sequence[Choice], kept: Sequence[Choice]) -> None:
    if kept:
        return
    rules: dict[str, int] = {}
    for choice in choices:
        rules[choice.decision.rule or ""] = rules.get(choice.decision.rule or "", 0) + 1
    told = ", ".join(f"{count} {rule}" for rule, count in sorted(rules.items(), key=lambda entry: -entry[1]))
    ledger.write(ledger.table(choices, builder.products), builder.places.ledger)
    raise EmptySource(
        f"none of {len(choices)} candidates belongs in a record of {builder.site.id} ({told or 'the search found none'}); "
        f"see er explain, or {builder.places.ledger}"
    )


def _by_withheld(builder: Builder, kept: Sequence[Choice]) -> tuple[list[Choice], list[Choice]]:
    hidden = {product.id for product in builder.products.values() if product.withheld}
    open_ = [choice for choice in kept if choice.row["product"] not in hidden]
    return open_, [choice for choice in kept if choice.row["product"] in hidden]


def _seal(builder: Builder, choices: Sequence[Choice], inputs: Mapping[str, Any]) -> Outcome:
    places = builder.places
    stored = [choice for choice in choices if choice.decision.open and choice.stored]
    open_, withheld = _by_withheld(builder, stored)
    extras = _texts(builder, open_) + _region(builder, open_)
    rows = [_manifest_row(file, choice, False) for choice in open_ for file in choice.stored.files]  # type: ignore[union-attr]
    rows += [{**_manifest_row(file, None, False)} for file in extras]
    hidden = [_manifest_row(file, choice, True) for choice in withheld for file in choice.stored.files]  # type: ignore[union-attr]
    _sweep(places.building, {row["path"] for row in rows})
    _sweep(places.withheld, {row["path"] for row in hidden})
    _check(places.building, rows)
    _check(places.withheld, hidden)
    _stamp(places.building, builder.rules.snapshot)
    manifest = pl.DataFrame(rows + hidden, schema=MANIFEST).sort("withheld", "path")
    book = ledger.table(choices, builder.products, _missing_tiles(builder, choices))
    certificate = Certificate(
        format=FORMAT,
        files=len(rows),
        bytes=sum(row["bytes"] for row in rows),
        root_hash=root_hash({row["path"]: row["sha256"] for row in rows}),
        withheld_hash=root_hash({row["path"]: row["sha256"] for row in hidden}),
        **inputs,
    )
    ledger.write(book, places.ledger)
    ledger.write(manifest, places.manifest)
    _swap(places.building, places.record)
    write_json(places.certificate, certificate)
    return Outcome(certificate, book, again=False)


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
    if builder.site.kind != "region":
        return []
    grids: dict[tuple[str, str | None], Place] = {}
    for choice in open_:
        key = (choice.row["product"], choice.row["tile"])
        if key not in grids and choice.row["files"][0]["container"] not in ("netcdf", "vector"):
            grids[key] = builder.place_of(choice)
    return region_masks(grids, builder.places.building)


def _missing_tiles(builder: Builder, choices: Sequence[Choice]) -> list[dict[str, Any]]:
    """Ledger notes on static tiles that no provider has (sea in the DEM): the part of the site they would cover."""
    import shapely

    notes = []
    for product in builder.products.values():
        tiles = [choice for choice in choices if choice.row["product"] == product.id and choice.decision.open]
        if not tiles or not (product.static or product.fixed) or product.grid.kind != "geographic":
            continue
        covered = shapely.union_all([_extent(builder.place_of(choice)) for choice in tiles])
        missing = builder.site.geometry.difference(covered).area / builder.site.geometry.area
        if missing > 1e-6:
            notes.append(_note(product, missing))
    return notes


def _extent(place: Place) -> Any:
    import shapely

    a, _, x, _, e, y = place.grid.transform
    xs, ys = sorted((x, x + a * place.grid.width)), sorted((y, y + e * place.grid.height))
    return shapely.box(xs[0], ys[0], xs[1], ys[1])


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
    if not root.is_dir():
        return
    for folder, _, names in os.walk(root, topdown=False):
        for name in names:
            path = Path(folder, name)
            if path.relative_to(root).as_posix() not in wanted:
                path.unlink()
        if Path(folder) != root and not os.listdir(folder):
            Path(folder).rmdir()


def _check(root: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Every file as it lies there is the one that was written."""
    hashes = _core.sha256_files([root / row["path"] for row in rows])
    for row, found in zip(rows, hashes, strict=True):
        if found != row["sha256"]:
            raise BadRecord(
                f"{root / row['path']} is not as it was written ({found} instead of {row['sha256']}): something else changed it; build again"
            )


def _stamp(root: Path, snapshot: dt.date) -> None:
    moment = dt.datetime.combine(snapshot, dt.time(), dt.UTC).timestamp()
    for folder, _, names in os.walk(root, topdown=False):
        for name in names:
            os.utime(Path(folder, name), (moment, moment))
        os.utime(folder, (moment, moment))


def _swap(new: Path, place: Path) -> None:
    """Make everything durable, then give it its name; an old record goes only once the new one is in its place."""
    os.sync()
    old = place.with_name(f".{place.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if place.exists():
        place.rename(old)
    new.rename(place)
    shutil.rmtree(old, ignore_errors=True)
