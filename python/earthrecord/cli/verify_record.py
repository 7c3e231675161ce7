"""er verify-record"""

from __future__ import annotations

from earthrecord.cli import options as opt


def verify_record(
    site: opt.SiteId,
    sites: opt.Sites = opt.SITES,
    id_field: opt.IdField = None,
    layer: opt.SitesLayer = None,
    products: opt.ProductDirs = None,
    work: opt.Work = opt.WORK,
    records: opt.Records = opt.RECORDS,
    as_json: opt.AsJson = False,
) -> None:
    """Check every byte, every header and every ledger row of a record; status 4 where something is wrong.

    Where the sites file is at hand, the counts of every kept scene are made again from the record itself.

    Example: er verify-record a01
    """
    from dataclasses import asdict

    from earthrecord.cli.say import show_json, size
    from earthrecord.errors import BadRecord
    from earthrecord.record.verify import verify

    known = opt.load_site(site, sites, id_field, layer) if sites.exists() else None
    report = verify(opt.make_places(site, work, records), opt.load_products(products), known)
    if as_json:
        show_json({**asdict(report), "sound": not report.findings})
    else:
        for finding in report.findings:
            print(finding)
        recount = (
            f", {report.recounted} scenes counted again" if known else ", not counted again (no sites file)"
        )
        print(f"{report.files} files, {size(report.bytes)}, {report.rows} ledger rows{recount}")
        print(f"Root hash {report.root_hash}")
    if report.findings:
        raise BadRecord(f"the record of {site} is not as it was built: {len(report.findings)} findings")
    if not as_json:
        print("Sound.")
