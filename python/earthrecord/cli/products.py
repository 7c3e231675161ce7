"""`er products`: what is known of each data product, and where it was taken from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from earthrecord.products.model import Product
    from earthrecord.products.registry import Products

app = typer.Typer(rich_markup_mode=None, context_settings={"help_option_names": ["-h", "--help"]})

_Folders = Annotated[
    list[Path] | None,
    typer.Option("--products", help="A folder of product tables of your own. May be given more than once."),
]
_Json = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]
_WIDTH = 100


@app.callback(invoke_without_command=True)
def products(ctx: typer.Context, folders: _Folders = None, as_json: _Json = False) -> None:
    """List the data products that EarthRecord knows.

    A product is all that is known of one data product as distributed: its layers, scales, fills, quality
    bits and file names, each with its source. Your own are added with a table in TOML
    (docs/add-a-product.md).

    \b
    Example: the products, and all facts of one of them
      er products
      er products show landsat-c2-l2
    """
    ctx.obj = folders or []
    if ctx.invoked_subcommand is None:
        _list(_load(ctx.obj), as_json)


@app.command()
def show(
    ctx: typer.Context,
    product: Annotated[str, typer.Argument(help="Id of the product, as `er products` lists it.")],
    folders: _Folders = None,
    as_json: _Json = False,
) -> None:
    """Show all facts of one product: layers, scales, fills, quality bits, file names, sources.

    \b
    Example: the bits of Landsat's quality layer, and a product of your own
      er products show landsat-c2-l2
      er products show my-landsat --products my-products
    """
    from earthrecord.errors import BadProduct

    known = _load([*(ctx.obj or []), *(folders or [])])
    if product not in known:
        raise BadProduct(
            f"no product is called {product!r};{_nearest(product, list(known))} `er products` lists them"
        )
    if as_json:
        _print_json(known[product])
    else:
        _show(known[product])


def _load(folders: list[Path]) -> Products:
    from earthrecord.products.registry import load

    return load(folders)


def _nearest(name: str, known: list[str]) -> str:
    from difflib import get_close_matches

    found = get_close_matches(name, known, n=1)
    return f" did you mean {found[0]!r}?" if found else ""


def _print_json(value: object) -> None:
    import msgspec

    typer.echo(msgspec.json.format(msgspec.json.encode(value)).decode())


def _list(known: Products, as_json: bool) -> None:
    from earthrecord.products.describe import SUMMARY, summary

    rows = [summary(product) for product in known.values()]
    if as_json:
        _print_json([dict(zip(SUMMARY, row, strict=True)) for row in rows])
    elif _console().is_terminal:
        _table(SUMMARY, rows)
    else:
        for row in (SUMMARY, *rows):
            typer.echo("\t".join(row))


def _show(product: Product) -> None:
    from earthrecord.products import describe

    typer.echo(f"{product.id}: {product.title}\n")
    for name, value in describe.facts(product):
        _wrapped(f"{name + ':':<13}", value)
    typer.echo(f"\nLayers ({describe.TAKEN} is taken, {describe.UNCHECKED} no source confirms yet)")
    _table(describe.COLUMNS, list(describe.band_rows(product)))
    typer.echo("\nValues")
    for band in product.bands:
        for line in describe.band_lines(band):
            _wrapped("  ", line)
    typer.echo("\nQuality")
    for line in describe.quality_lines(product):
        _wrapped("  ", line)
    _names(product)
    for title, lines in (("Notes", product.notes), ("Not confirmed by any source yet", product.unchecked)):
        if lines:
            typer.echo(f"\n{title}")
        for line in lines:
            _wrapped("  - ", line)
    typer.echo("\nSources")
    for key, source in product.sources.items():
        _wrapped(f"  {key + ':':<12}", source.title + (f" ({source.accessed})" if source.accessed else ""))


def _names(product: Product) -> None:
    typer.echo("\nFile names")
    for names in product.names:
        for example in names.examples or (names.pattern,):
            typer.echo(f"  {names.container}: {example}")
    if product.refuse:
        typer.echo("\nRefused")
    for refuse in product.refuse:
        _wrapped("  - ", f"{refuse.reason} ({refuse.examples[0] if refuse.examples else refuse.pattern})")


def _wrapped(lead: str, text: str) -> None:
    import textwrap

    indent = " " * (len(lead) + len(text) - len(text.lstrip()))
    width = _console().width
    wrap = textwrap.TextWrapper(width, lead, indent, break_long_words=False, break_on_hyphens=False)
    typer.echo(wrap.fill(text))


def _table(columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    from rich.table import Table

    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="bold")
    for number, column in enumerate(columns):
        table.add_column(column, overflow="fold", no_wrap=number == 0)
    for row in rows:
        table.add_row(*row)
    _console().print(table, markup=False, highlight=False)


def _console() -> Console:
    from rich.console import Console

    console = Console()
    return Console(width=min(console.width, _WIDTH) if console.is_terminal else _WIDTH)
