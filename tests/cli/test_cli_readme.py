"""The README is true: its worked example is run, and what is printed is what it shows."""

from __future__ import annotations

import re
from pathlib import Path

import provider_archive
import readme_example

ROOT = Path(__file__).parents[2]


def test_the_worked_example_prints_what_it_shows(tmp_path: Path) -> None:
    provider_archive.write(tmp_path)
    text = readme_example.README.read_text()
    assert len(readme_example.BLOCK.findall(text)) >= 4
    assert readme_example.rewritten(text, tmp_path) == text, "run python tests/readme_example.py"


def test_every_file_that_the_docs_name_exists() -> None:
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for name in re.findall(r"\b((?:docs|scripts|python|tests|rust)/[\w./-]+\w)", page.read_text()):
            assert (ROOT / name).exists(), f"{page.name} names {name}"
