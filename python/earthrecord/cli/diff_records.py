"""er diff-records"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from earthrecord.cli import options as opt

if TYPE_CHECKING:
    from earthrecord.record.diff import Difference


def diff_records(
    a: Annotated[Path, typer.Argument(metavar="A", help="Folder of a record.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="Folder of another record of the same site.")],
    products: opt.ProductDirs = None,
    as_json: opt.AsJson = False,
) -> None:
    """Compare two records: scenes that are new, gone, or processed again by their provider, and files that changed.

    Status 0 where they are the same, 1 where they differ.

    Example: er diff-records old/records/a01 records/a01
    """
    from dataclasses import asdict

    from earthrecord.cli.say import show_json
    from earthrecord.record.diff import diff

    found = diff(a, b, opt.load_products(products))
    if as_json:
        show_json({**asdict(found), "same": found.same})
    else:
        show(found)
    raise typer.Exit(0 if found.same else 1)


def show(found: Difference) -> None:
    """Print a difference, a line each."""
    for old, new in found.reprocessed:
        print(f"processed again: {old} -> {new}")
    for word, folders in (
        ("new", found.new),
        ("gone", found.gone),
        ("changed", found.changed),
        ("text", found.texts),
    ):
        for folder in folders:
            print(f"{word}: {folder}")
    if found.same:
        print("The records are the same, byte by byte.")
