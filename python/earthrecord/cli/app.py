"""The `er` command. One file a command; whatever is heavy is loaded inside the command that needs it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated, Any

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
    rich_markup_mode=None,  # rich takes longer to load than all the rest
    context_settings={"help_option_names": ["-h", "--help"]},
    help="EarthRecord: raw satellite archives into a frozen record of a place, with a reason for every scene.",
    epilog="""\b
Exit codes:
  0 done                      3 nothing found
  1 an error, explained       4 the record is not as it was built
  2 wrong usage               5 built, but a bad file took a scene out

\b
Example: a record of a place, checked, and the story of one of its scenes
  er sites new home --bbox 6.55,0.10,6.60,0.15
  er build-record home --from my-archive
  er verify-record home
  er explain LC08_L2SP_185059_20200105""",
)

app.add_typer(sites.app, name="sites", short_help="List, add and show places.")
COMMANDS: dict[Callable[..., None], str] = {
    search.search: "Find the scenes of a site and freeze the list.",
    plan.plan: "Tell what a build would read and write.",
    build_record.build_record: "Build the record of a site.",
    verify_record.verify_record: "Check a record, byte by byte.",
    explain.explain: "Tell why a scene is in or out.",
    update.update: "Append what is new to a record.",
    diff_records.diff_records: "Compare two records.",
}
for command, short in COMMANDS.items():
    app.command(command.__name__.replace("_", "-"), short_help=short)(command)
app.add_typer(products.app, name="products", short_help="What is known of each data product.")


def examples_last(command: Any) -> Any:
    """Let help end with a worked example: it moves from the end of each command's text behind the options."""
    text, found, example = (command.help or "").partition("Example: ")
    if found:
        command.help, command.epilog = text.rstrip("\b\n "), f"\b\nExample: {example}"
    for below in getattr(command, "commands", {}).values():
        examples_last(below)
    return command


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
        examples_last(typer.main.get_command(app))()
    except EarthRecordError as error:
        print(f"er: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.exit(0)
