"""Options that several commands share, and how they become what the rooms take."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from earthrecord.errors import BadSite, BadSource

if TYPE_CHECKING:
    import polars as pl

    from earthrecord.products.registry import Products
    from earthrecord.record.build import Builder
    from earthrecord.record.model import Places, Rules
    from earthrecord.sites.model import Site

SiteId = Annotated[str, typer.Argument(metavar="SITE", help="Id of a site in the sites file.")]
Sites = Annotated[Path, typer.Option("--sites", help="Sites: TOML, GeoJSON or GeoPackage.")]
IdField = Annotated[
    str | None, typer.Option("--id-field", help="Property of a vector sites file that holds the ids.")
]
SitesLayer = Annotated[
    str | None, typer.Option("--layer", help="Layer of a vector sites file that has several.")
]
From = Annotated[
    list[Path] | None,
    typer.Option(
        "--from",
        help="Archive: a folder of provider files, or STAC items (JSON, NDJSON, GeoParquet). Repeatable.",
    ),
]
ProductDirs = Annotated[
    list[Path] | None, typer.Option("--products", help="Folder with product TOMLs of your own. Repeatable.")
]
Work = Annotated[Path, typer.Option("--work", help="The builder's side: searches, ledgers, manifests.")]
Records = Annotated[Path, typer.Option("--records", help="Where records lie.")]
Snapshot = Annotated[
    dt.datetime | None,
    typer.Option("--snapshot", formats=["%Y-%m-%d"], help="Last day of the record. [default: 2026-09-30]"),
]
Obscured = Annotated[
    str,
    typer.Option(
        "--obscured", help="Drop scenes with at least this share of cloud and shadow; 'off' keeps all."
    ),
]
AllSentinel2 = Annotated[
    bool, typer.Option("--all-sentinel2", help="Keep every Sentinel-2 acquisition, not one a month.")
]
Margin = Annotated[float, typer.Option("--margin", help="Metres of context around the site.")]
Only = Annotated[list[str] | None, typer.Option("--only", help="Take this product only. Repeatable.")]
AsJson = Annotated[bool, typer.Option("--json", help="Machine-readable output.")]
Workers = Annotated[int | None, typer.Option("--workers", min=1, help="Threads. [default: one a core]")]
Offline = Annotated[
    bool, typer.Option("--offline", help="Never fetch: a remote file is an error of its scene.")
]

SITES = Path("sites.toml")
WORK = Path("work")
RECORDS = Path("records")


def load_site(site: str, sites: Path, id_field: str | None, layer: str | None) -> Site:
    """One site of a sites file."""
    from earthrecord.sites.readers import read_sites

    if not sites.exists():
        raise BadSite(
            f"{sites} does not exist: make it with er sites new {site} --bbox W,S,E,N, or name another with --sites"
        )
    found = read_sites(sites, id_field, layer)
    if site not in found:
        raise BadSite(f"{sites} has no site {site!r}; it has {', '.join(list(found)[:20]) or 'none'}")
    return found[site]


def load_products(folders: list[Path] | None) -> Products:
    """The shipped product table and the user's own."""
    from earthrecord.products.registry import load

    return load(tuple(folders or ()))


def make_rules(
    snapshot: dt.datetime | None, obscured: str, all_sentinel2: bool, margin: float, only: list[str] | None
) -> Rules:
    """The rules of a build from what the user typed."""
    from earthrecord.record.model import SNAPSHOT, Rules

    return Rules(
        snapshot=snapshot.date() if snapshot else SNAPSHOT,
        obscured=None if obscured == "off" else _share(obscured),
        all_sentinel2=all_sentinel2,
        margin=margin,
        products=tuple(sorted(only or ())),
    )


def _share(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is neither a share such as 0.9 nor off", param_hint="--obscured"
        ) from None


def make_places(site: str, work: Path, records: Path) -> Places:
    from earthrecord.record.model import Places

    return Places(site=site, work_root=work, records_root=records)


def known_products(products: Products, only: list[str] | None) -> None:
    """A product asked for that does not exist is an error, not an empty record."""
    for wanted in only or ():
        if products.get(wanted) is None:
            raise BadSource(f"--only {wanted}: no such product; er products lists them")


def make_builder(
    site: Site, products: Products, rules: Rules, places: Places, workers: int | None, offline: bool
) -> Builder:
    from earthrecord.cli.say import Bars
    from earthrecord.record.build import Builder

    more = {"workers": workers} if workers else {}
    return Builder(site, products, rules, places, progress=Bars(), network=not offline, **more)


@contextmanager
def watched(builder: Builder) -> Iterator[None]:
    """Progress bars end with the work, also when it fails."""
    try:
        yield
    finally:
        close = getattr(builder.progress, "close", None)
        if close is not None:
            close()


def sources(source: list[Path] | None) -> list[Path]:
    if not source:
        raise typer.BadParameter("name at least one archive", param_hint="--from")
    return source


def scenes(source: list[Path] | None, places: Places, products: Products) -> pl.DataFrame:
    """What the sources hold, or the search that was frozen before."""
    from earthrecord.archive import search

    if source:
        return search.search_all(source, products)
    if not places.scenes.exists():
        raise BadSource(
            f"{places.scenes} does not exist: name an archive with --from, or search first with er search"
        )
    return search.read(places.scenes)
