"""The `er` command. One file a command; whatever is heavy is loaded inside the command that needs it."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from earthrecord.cli import (
    build_record,
    diff_records,
    explain,
    plan,
    products,
    search,
    sites,
    update,
    verify_record,
)
from earthrecord.errors import EarthRecordError

app = typer.Typer(
    name="er",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="EarthRecord: raw satellite archives into a frozen record of a place, with a reason for every scene.",
    epilog="Start here: er sites new home --bbox 6.5,0.0,6.6,0.1, then er build-record home --from my-archive. "
    "Exit codes: 0 done; 1 an error that the message explains; 2 wrong usage; 3 nothing found; 4 the record is not as built; "
    "5 built, but a bad file took at least one scene out.",
)

MAKE, LOOK = "Make a record", "Look at what is there"
app.add_typer(sites.app, name="sites", rich_help_panel=MAKE)
app.command("search", rich_help_panel=MAKE)(search.search)
app.command("plan", rich_help_panel=MAKE)(plan.plan)
app.command("build-record", rich_help_panel=MAKE)(build_record.build_record)
app.command("update", rich_help_panel=MAKE)(update.update)
app.command("verify-record", rich_help_panel=LOOK)(verify_record.verify_record)
app.command("explain", rich_help_panel=LOOK)(explain.explain)
app.command("diff-records", rich_help_panel=LOOK)(diff_records.diff_records)
app.add_typer(products.app, name="products", rich_help_panel=LOOK)


def _version(asked: bool) -> None:
    if asked:
        from earthrecord import _core

        typer.echo(f"earthrecord {_core.__version__}{' (debug build of the core)' if _core.DEBUG else ''}")
        raise typer.Exit


@app.callback()
def _root(
    _: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run `er`; a user's mistake becomes one message and an exit code, never a traceback."""
    try:
        app()
    except EarthRecordError as error:
        print(f"er: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.exit(0)
