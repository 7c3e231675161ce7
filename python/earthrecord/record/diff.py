"""How two records of a site differ: what is new, what is gone, what a provider processed again."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from earthrecord import _core
from earthrecord.archive import names
from earthrecord.errors import BadRecord
from earthrecord.products.registry import Products

TEXTS = ("README.md", "CITATION", "site.json")


@dataclass(frozen=True)
class Difference:
    """Scenes and files, by folder below the record."""

    new: tuple[str, ...]
    gone: tuple[str, ...]
    reprocessed: tuple[tuple[str, str], ...]
    """(scene folder in A, scene folder in B) of one acquisition in two processings."""
    changed: tuple[str, ...]
    """Files of one name whose bytes differ, texts left out."""
    texts: tuple[str, ...]

    @property
    def same(self) -> bool:
        return not (self.new or self.gone or self.reprocessed or self.changed or self.texts)


def diff(a: Path, b: Path, products: Products) -> Difference:
    """Compare two record folders byte by byte."""
    return compare(hashes(a), hashes(b), products)


def hashes(root: Path) -> dict[str, str]:
    """SHA-256 by path below a record folder."""
    if not (root / "site.json").is_file():
        raise BadRecord(
            f"{root} is no record: it has no site.json; give the folder of a record, such as records/a01"
        )
    paths = sorted(
        Path(folder, name).relative_to(root).as_posix()
        for folder, _, files in os.walk(root)
        for name in files
    )
    found = dict(zip(paths, _core.sha256_files([root / path for path in paths]), strict=True))
    return {path: _or_raise(sha) for path, sha in found.items()}


def _or_raise(sha: str | Exception) -> str:
    if isinstance(sha, Exception):
        raise sha
    return sha


def compare(a: Mapping[str, str], b: Mapping[str, str], products: Products) -> Difference:
    """Compare two records given as SHA-256 by path."""
    ours, theirs = _scenes(a), _scenes(b)
    new, gone = theirs.keys() - ours.keys(), ours.keys() - theirs.keys()
    again = _pairs(gone, new, ours, theirs, products)
    changed = [path for path in sorted(a.keys() & b.keys()) if a[path] != b[path]]
    return Difference(
        new=tuple(sorted(new - {there for _, there in again})),
        gone=tuple(sorted(gone - {here for here, _ in again})),
        reprocessed=tuple(again),
        changed=tuple(path for path in changed if path not in TEXTS),
        texts=tuple(path for path in changed if path in TEXTS),
    )


def _scenes(files: Mapping[str, str]) -> dict[str, str]:
    """Scene folders, each with one of its files."""
    return {path.rpartition("/")[0]: path for path in files if path.count("/") >= 2}


def _pairs(
    gone: set[str], new: set[str], ours: Mapping[str, str], theirs: Mapping[str, str], products: Products
) -> list[tuple[str, str]]:
    keys = {key: folder for folder in new if (key := _key(theirs[folder], products))}
    return [(folder, keys[key]) for folder in sorted(gone) if (key := _key(ours[folder], products)) in keys]


def _key(path: str, products: Products) -> tuple[object, ...] | None:
    """What a product's duplicate rule says of a scene, from the name of one of its files."""
    found = names.identify(path, products)
    if not isinstance(found, names.Named):
        return None
    rule = products[found.product].duplicates
    columns = (*rule.key, *((rule.near,) if rule.near else ()))
    values = tuple(found.columns.get(column) for column in columns)
    return (found.product, *values) if any(value is not None for value in values) else None
