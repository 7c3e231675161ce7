"""er search"""

from __future__ import annotations

from typing import TYPE_CHECKING

from earthrecord.cli import options as opt

if TYPE_CHECKING:
    import polars as pl


def search(
    site: opt.SiteId,
    source: opt.From = None,
    sites: opt.Sites = opt.SITES,
    id_field: opt.IdField = None,
    layer: opt.SitesLayer = None,
    products: opt.ProductDirs = None,
    work: opt.Work = opt.WORK,
    as_json: opt.AsJson = False,
) -> None:
    """Find every scene of a site in archives on disk and freeze the result in work/SITE/scenes.parquet.

    What is not the product (Level-1, Collection 1, top of atmosphere ...) is listed with the reason.

    Example: er search a01 --from /data/landsat --from items.ndjson
    """
    from earthrecord.archive import search as archive
    from earthrecord.cli.say import show_json

    opt.load_site(site, sites, id_field, layer)
    passed_over: list[str] = []
    found = archive.search_all(opt.sources(source), opt.load_products(products), passed_over)
    places = opt.make_places(site, work, opt.RECORDS)
    archive.write(found, places.scenes)
    if as_json:
        show_json(summary(found))
    else:
        show(found)
        for told in passed_over:
            print(f"Passed over in {told}.")
        print(f"Frozen in {places.scenes}: {found.height} candidates.")


def summary(found: pl.DataFrame) -> list[dict[str, object]]:
    """Candidates by product and sensor, with the reasons of refusals."""
    import polars as pl

    groups = found.group_by("product", "sensor", "refused").agg(
        pl.len().alias("candidates"), pl.col("date").min().alias("first"), pl.col("date").max().alias("last")
    )
    return groups.sort("product", "sensor", "refused", nulls_last=True).to_dicts()


def show(found: pl.DataFrame) -> None:
    from earthrecord.cli.say import show_table

    rows = [
        (row["product"] or "-", row["sensor"], row["candidates"], row["first"], row["last"], row["refused"])
        for row in summary(found)
    ]
    show_table("", ("product", "sensor", "candidates", "first", "last", "refused because"), rows, right=(2,))
