"""The made-up archive with its site and products, and builds of it."""

from __future__ import annotations

from pathlib import Path

import polars as pl

import provider_archive
from earthrecord.archive import search
from earthrecord.products.registry import Products, load
from earthrecord.record.build import Builder
from earthrecord.record.model import Places, Rules
from earthrecord.record.seal import Outcome, build
from earthrecord.sites.model import Site
from earthrecord.sites.readers import read_sites


class Made:
    """The archive, its site and products, and builds of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.archive = provider_archive.write(folder)
        self.site: Site = read_sites(folder / "sites.toml")[provider_archive.SITE]
        self.products: Products = load()

    def places(self, name: str) -> Places:
        return Places(self.site.id, self.folder / name / "work", self.folder / name / "records")

    def builder(self, name: str, rules: Rules = Rules()) -> Builder:  # noqa: B008 - immutable
        return Builder(self.site, self.products, rules, self.places(name))

    def scenes(self) -> pl.DataFrame:
        return search.search_all([self.archive], self.products)

    def build(self, name: str, rules: Rules = Rules()) -> Outcome:  # noqa: B008 - immutable
        builder, scenes = self.builder(name, rules), self.scenes()
        search.write(scenes, builder.places.scenes)
        return build(builder, scenes)
