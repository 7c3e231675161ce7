"""The README is true: its worked example is run, and what is printed is what it shows."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import provider_archive

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def steps() -> list[tuple[str, str]]:
    """(command, output shown) of every `$ er ...` line in the README's console blocks."""
    found = []
    for block in BLOCK.findall((ROOT / "README.md").read_text()):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            found.append((command, shown))
    return [(command, shown) for command, shown in found if command.startswith("er ")]


def plain(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def test_the_worked_example_prints_what_it_shows(tmp_path: Path) -> None:
    provider_archive.write(tmp_path)
    assert len(steps()) >= 4
    code = "from earthrecord.cli.app import main; main()"
    for command, shown in steps():
        words = shlex.split(command)[1:]
        done = subprocess.run(
            [sys.executable, "-c", code, *words], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert plain(done.stdout) == plain(shown), f"{command}\n{done.stdout}{done.stderr}"


def test_every_file_and_command_that_the_docs_name_exists() -> None:
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for name in re.findall(r"\b((?:docs|scripts|python|tests|rust)/[\w./-]+\w)", page.read_text()):
            assert (ROOT / name).exists(), f"{page.name} names {name}"
