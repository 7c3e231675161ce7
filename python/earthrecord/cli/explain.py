"""er explain"""

from __future__ import annotations

from typing import Annotated

import typer

from earthrecord.cli import options as opt


def explain(
    scene: Annotated[str, typer.Argument(metavar="SCENE", help="Id of a scene, or its beginning.")],
    site: Annotated[str | None, typer.Option("--site", help="Look in the ledger of this site only.")] = None,
    products: opt.ProductDirs = None,
    work: opt.Work = opt.WORK,
    as_json: opt.AsJson = False,
) -> None:
    """Tell the story of one scene in plain words: what it is, what was counted, why it is in or out.

    Example: er explain LC08_L2SP_008059_20191201
    """
    from earthrecord.cli.say import show_json
    from earthrecord.record.explain import find, story

    found = find(scene, work, site)
    if as_json:
        show_json([{"site": name, **row} for name, row, _ in found])
        return
    table = opt.load_products(products)
    for number, (name, row, book) in enumerate(found):
        if number:
            print()
        for sentence in story(name, row, book, table):
            print(sentence)
