"""er build-record"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from earthrecord.cli import options as opt

if TYPE_CHECKING:
    from earthrecord.record.seal import Outcome


def build_record(
    site: opt.SiteId,
    source: opt.From = None,
    sites: opt.Sites = opt.SITES,
    id_field: opt.IdField = None,
    layer: opt.SitesLayer = None,
    products: opt.ProductDirs = None,
    work: opt.Work = opt.WORK,
    records: opt.Records = opt.RECORDS,
    snapshot: opt.Snapshot = None,
    obscured: opt.Obscured = "0.9",
    all_sentinel2: opt.AllSentinel2 = False,
    margin: opt.Margin = 0.0,
    only: opt.Only = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Build anew over a record made by other rules.")
    ] = False,
    workers: opt.Workers = None,
    offline: opt.Offline = False,
    as_json: opt.AsJson = False,
) -> None:
    """Build the frozen record of a site, and say for every scene why it is in or out.

    With --from it searches first and freezes what it found; without, it builds from the frozen search, asking
    nobody. A build that was stopped goes on where it was. One bad file takes out its scene, not the site: the
    command then ends with status 5 and names it.

    Example: er build-record a01 --from /data/landsat --from /data/modis
    """
    from earthrecord.record.seal import build

    table = opt.load_products(products)
    opt.known_products(table, only)
    rules = opt.make_rules(snapshot, obscured, all_sentinel2, margin, only)
    places = opt.make_places(site, work, records)
    builder = opt.make_builder(
        opt.load_site(site, sites, id_field, layer), table, rules, places, workers, offline
    )
    found = opt.scenes(source, places, table)
    with opt.watched(builder):
        outcome = build(builder, found, replace=replace)
    report(outcome, str(places.record), as_json)


def report(outcome: Outcome, record: str, as_json: bool) -> None:
    """What was built; leaves with status 5 where a bad file took a scene out."""
    from earthrecord.cli.say import show_json, show_table, size, warn
    from earthrecord.errors import SceneFailed

    book, certificate = outcome.ledger, outcome.certificate
    counts = (
        book.group_by("product", "sensor", "rule").len().sort("product", "sensor", "rule", nulls_last=True)
    )
    if as_json:
        spoiled = outcome.spoiled.select("product", "scene", "reason").to_dicts()
        told = {
            "record": record,
            "root_hash": certificate.root_hash,
            "files": certificate.files,
            "bytes": certificate.bytes,
        }
        show_json({**told, "again": outcome.again, "decisions": counts.to_dicts(), "spoiled": spoiled})
    else:
        show_table(
            "",
            ("product", "sensor", "decision", "scenes"),
            [(p, s, r or "kept", n) for p, s, r, n in counts.rows()],
            right=(3,),
        )
        print(
            f"{'Already built' if outcome.again else 'Built'}: {record}, {certificate.files} files, {size(certificate.bytes)}"
        )
        print(f"Root hash {certificate.root_hash}")
    if outcome.spoiled.height:
        for scene, reason in outcome.spoiled.select("scene", "reason").rows():
            warn(f"spoiled: {scene}: {reason}")
        number = outcome.spoiled.height
        raise SceneFailed(
            f"bad files took out {number} scene{'s' if number > 1 else ''} (see above); mend them and run the same command again"
        )
