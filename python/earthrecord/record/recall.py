"""Results about the files of a scene: made once, and recalled from the journal as long as nothing changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec

from earthrecord import _core
from earthrecord.products.registry import Products
from earthrecord.record.choice import Choice
from earthrecord.record.journal import Journal, digest
from earthrecord.record.look import File
from earthrecord.record.model import Rules
from earthrecord.sites.model import Site

T = TypeVar("T")


class Recall:
    """Makes results, or finds them in a journal. Without a journal (a plan) all are made.

    A result depends on the site, the margin, the product's table, the core, the scene's row and its files. A
    file that is gone, as archives lose files, leaves its results standing.
    """

    def __init__(self, journal: Journal | None, site: Site, products: Products, rules: Rules) -> None:
        self.journal = journal
        self._around = (site.digest, site.kind, rules.margin, _core.__version__)
        self._tables = {
            id_: digest(msgspec.to_builtins(product, str_keys=True)) for id_, product in products.items()
        }

    def __call__(
        self,
        what: str,
        choice: Choice,
        files: Sequence[File],
        kind: Any,
        make: Callable[[], T],
        holds: Callable[[T], bool] = lambda _: True,
        *more: Any,
    ) -> T:
        """The result `what`, of a type `kind` that msgspec reads; one that was kept counts where it `holds`. `more` goes into its key."""
        if self.journal is None:
            return make()
        key, stamps = self._key(what, choice, files, more), choice.stamps(files)
        known: T | None = self.journal.get(key, stamps, kind)
        if known is not None and holds(known):
            return known
        made = make()
        choice.stamps(files)
        self.journal.put(key, stamps, msgspec.to_builtins(made))
        return made

    def _key(self, what: str, choice: Choice, files: Sequence[File], more: Sequence[Any]) -> str:
        row = choice.row
        told = [row[column] for column in ("product", "scene", "sensor", "tile", "crs", "transform", "shape")]
        layers = [(file["href"], file["member"], file["index"], file["band"]) for file in files]
        return digest(what, told, layers, more, self._tables[row["product"]], self._around)
