"""The README's worked example: `python tests/readme_example.py` runs its commands and writes down what they print."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import provider_archive

README = Path(__file__).parents[1] / "README.md"
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def steps(block: str) -> Iterator[tuple[str, str]]:
    """(command, output shown) of each `$ ...` line of a console block."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        yield command, shown.strip()


def output(command: str, folder: Path) -> str:
    """What an `er` command prints, without blanks at line ends."""
    code = "from earthrecord.cli.app import main; main()"
    words = [sys.executable, "-c", code, *shlex.split(command)[1:]]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True)
    return "\n".join(line.rstrip() for line in done.stdout.strip().splitlines())


def rewritten(text: str, folder: Path) -> str:
    """The README with every console block as its commands print it now, run in order."""

    def block(match: re.Match[str]) -> str:
        parts = [f"$ {command}\n{output(command, folder)}\n" for command, _ in steps(match[1])]
        return "```console\n" + "\n".join(parts) + "```"

    return BLOCK.sub(block, text)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        provider_archive.write(Path(made))
        README.write_text(rewritten(README.read_text(), Path(made)))
