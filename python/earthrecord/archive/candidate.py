"""One candidate: the files of a scene, what names and metadata tell of it, and the row that comes of both."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from earthrecord.archive import copies, names, sidecar
from earthrecord.archive.names import Named
from earthrecord.archive.scenes import SCENES
from earthrecord.archive.sidecar import Sidecar
from earthrecord.archive.walk import Entry
from earthrecord.products.model import Product

Row = dict[str, Any]
_OF_THE_ROW = frozenset(
    {"order", "product", "scene", "item", "files", "metadata", "catalogue", "repeated", "flags", "refused"}
)
FACTS = tuple(column for column in SCENES if column not in _OF_THE_ROW)
"""Columns that names or metadata tell: the first that speaks fills one."""


@dataclass
class Candidate:
    """A scene on its way to a row."""

    product: Product
    scene: str
    """Id as the first of the files spells it."""
    files: list[tuple[Entry, Named]] = field(default_factory=list)
    sidecars: list[Sidecar] = field(default_factory=list)
    items: list[Row] = field(default_factory=list)
    """Rows of STAC items of the scene."""
    extra: list[dict[str, Any]] = field(default_factory=list)
    """Layers that an item alone tells, because the names of their files do not."""
    packed: int = 0
    """Archives in which the scene lies once more."""
    foreign: tuple[str, str] | None = None
    """Metadata file among the scene's files, and the absent scene that it is of."""

    @property
    def place(self) -> str:
        """Where the candidate stands in the order of the folder."""
        return min(entry.rel for entry, _ in self.files)

    def is_other(self, scene: str) -> bool:
        """Whether an id is that of another scene: it follows the same scheme and differs."""
        return scene.casefold() != self.scene.casefold() and _scheme(scene) == _scheme(self.scene)

    def row(self) -> Row:
        """The row for `scenes.table`, without order and catalogue; where it is refused, by the names of the files alone."""
        named: Row = {}
        for _, one in sorted(self.files, key=lambda pair: pair[0].rel):
            named = {**one.columns, **named}
        sound = [side for side in self.sidecars if side.problem is None]
        refused = self._refusal(named, sound)
        tellers: list[Mapping[str, Any]] = [*(side.columns for side in sound), *self.items, named]
        ids = [side.scene for side in sound if side.scene]
        if refused:
            tellers, ids = [named], []
        row: Row = {column: _first(tellers, column) for column in FACTS}
        choice = copies.choose(self.product, self.files)
        return row | {
            "product": self.product.id,
            "scene": next(iter(ids), self.scene),
            "item": _first(self.items, "item") or self.scene,
            "files": [*choice.files, *self.extra],
            "metadata": next((str(side.path) for side in sound), None) or _first(self.items, "metadata"),
            "repeated": choice.repeated + self.packed + max(len(self.items) - 1, 0),
            "flags": self._flags(row["baseline"], choice, told=bool(sound or self.items)),
            "refused": refused,
        }

    def _flags(self, baseline: str | None, choice: copies.Choice, *, told: bool) -> list[str]:
        flags = ["copies-differ"] if choice.differ else []
        due = names.is_acquisition(self.product)
        if due and not told and any(file["container"] not in copies.MANY_LAYERS for file in choice.files):
            flags.append("no-metadata")
        if self.product.baselines and baseline not in self.product.baselines:
            flags.append("unknown-baseline")
        return flags

    def _refusal(self, named: Row, sound: Sequence[Sidecar]) -> str | None:
        """Why the scene can not be used for what its metadata say."""
        items = [Sidecar(Path(item.get("metadata") or item["item"]), None, item) for item in self.items]
        for side in (*sound, *items):
            scene = self.scene if side.scene and self.is_other(side.scene) else None
            reason = sidecar.contradiction(side, named, scene) or sidecar.other_scale(side, self.product)
            if reason:
                return reason
        if torn := next((side.problem for side in self.sidecars if side.contradicts), None):
            return torn
        if sound or self.items:
            return None
        if self.foreign is not None:
            return sidecar.foreign(*self.foreign, self.scene)
        return next((side.problem for side in self.sidecars), None)


def _first(tellers: Iterable[Mapping[str, Any]], column: str) -> Any:
    return next((teller[column] for teller in tellers if teller.get(column) is not None), None)


def _scheme(scene: str) -> str:
    """How an id is built: digits and letters at which places. Catalogues name one scene by several schemes."""
    return re.sub(r"[a-z]", "a", re.sub(r"\d", "0", scene.lower()))
