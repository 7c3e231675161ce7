"""er update"""

from __future__ import annotations

from earthrecord.cli import options as opt


def update(
    site: opt.SiteId,
    source: opt.From = None,
    sites: opt.Sites = opt.SITES,
    id_field: opt.IdField = None,
    layer: opt.SitesLayer = None,
    products: opt.ProductDirs = None,
    work: opt.Work = opt.WORK,
    records: opt.Records = opt.RECORDS,
    snapshot: opt.Snapshot = None,
    workers: opt.Workers = None,
    offline: opt.Offline = False,
    as_json: opt.AsJson = False,
) -> None:
    """Append what is new since a record was built, and say what providers processed again.

    Keeps the rules of the record; --snapshot moves its last day. Scenes that did not change are taken over.

    Example: er update a01 --from /data/landsat --snapshot 2026-12-31
    """
    from msgspec.structs import replace

    from earthrecord.archive.search import search_all
    from earthrecord.cli import build_record, diff_records
    from earthrecord.record.model import read_certificate
    from earthrecord.record.update import update as run

    table = opt.load_products(products)
    places = opt.make_places(site, work, records)
    rules = read_certificate(places.certificate).rules
    if snapshot is not None:
        rules = replace(rules, snapshot=snapshot.date())
    builder = opt.make_builder(
        opt.load_site(site, sites, id_field, layer), table, rules, places, workers, offline
    )
    with opt.watched(builder):
        done = run(builder, search_all(opt.sources(source), table))
    if not as_json:
        diff_records.show(done.difference)
        print(f"{done.found} catalogue lines were new.")
    build_record.report(done.outcome, str(places.record), as_json)
