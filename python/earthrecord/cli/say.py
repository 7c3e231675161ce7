"""Talking to the person at the terminal: progress, tables, sizes. Quiet where there is no terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table


class Bars:
    """A progress callback (stage, done, total) that draws a bar a stage on a terminal's standard error."""

    def __init__(self) -> None:
        self._console = Console(stderr=True)
        self._bars: Progress | None = None
        self._tasks: dict[str, TaskID] = {}

    def __call__(self, stage: str, done: int, total: int) -> None:
        if not self._console.is_terminal or total == 0:
            return
        if self._bars is None:
            columns = (
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
            )
            self._bars = Progress(*columns, console=self._console, transient=True)
            self._bars.start()
        if stage not in self._tasks:
            self._tasks[stage] = self._bars.add_task(stage, total=total)
        self._bars.update(self._tasks[stage], completed=done, total=total)

    def close(self) -> None:
        if self._bars is not None:
            self._bars.stop()
            self._bars = None
            self._tasks = {}


def show_table(
    title: str, head: Sequence[str], rows: Iterable[Sequence[Any]], right: Sequence[int] = ()
) -> None:
    """Print a table; columns numbered in `right` are aligned to the right."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for number, name in enumerate(head):
        table.add_column(name, justify="right" if number in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*("" if cell is None else str(cell) for cell in row))
    Console(width=None if sys.stdout.isatty() else 100).print(table)


def show_json(value: Any) -> None:
    typer.echo(json.dumps(value, indent=2, default=str))


def warn(text: str) -> None:
    typer.echo(text, err=True)


def size(count: float) -> str:
    """Bytes for people: 12 B, 3.4 kB, 5.6 MB ..."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"
