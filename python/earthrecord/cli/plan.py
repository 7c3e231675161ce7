"""er plan"""

from __future__ import annotations

from collections import Counter

from earthrecord.cli import options as opt


def plan(
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
    as_json: opt.AsJson = False,
) -> None:
    """Tell what er build-record would read and write, by product and sensor, before anything is.

    Opens headers only. Without --from it uses the frozen search of er search.

    Example: er plan a01 --from /data/landsat
    """
    from earthrecord.cli.say import show_json, show_table, size
    from earthrecord.record.plan import plan as make_plan

    table = opt.load_products(products)
    opt.known_products(table, only)
    rules = opt.make_rules(snapshot, obscured, all_sentinel2, margin, only)
    places = opt.make_places(site, work, records)
    builder = opt.make_builder(opt.load_site(site, sites, id_field, layer), table, rules, places, None, True)
    frame, choices = make_plan(builder, opt.scenes(source, places, table))
    drops = Counter(choice.decision.rule for choice in choices if choice.decision.rule)
    if as_json:
        show_json({"plan": frame.to_dicts(), "dropped": dict(drops)})
        return
    rows = [
        (
            r["product"],
            r["sensor"],
            r["candidates"],
            r["dropped"],
            r["scenes"],
            r["files"],
            size(r["read"]) if r["read"] or not r["remote"] else "not said",
            size(r["write"]),
            r["remote"],
        )
        for r in frame.to_dicts()
    ]
    head = (
        "product",
        "sensor",
        "candidates",
        "dropped",
        "scenes",
        "files",
        "to read",
        "to write",
        "to fetch",
    )
    show_table(f"Plan of {site}", head, rows, right=range(2, 9))
    total = frame.select("scenes", "files", "read", "write").sum().row(0)
    print(
        f"At most {total[0]} scenes, {total[1]} files: {size(total[2])} to read, {size(total[3])} to write before compression."
    )
    for rule, count in drops.most_common():
        print(f"{count} dropped: {rule}")
    print("Quality layers decide about more scenes when the record is built.")
