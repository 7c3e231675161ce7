"""A small product table of a user's own, sound in itself, for tests to spoil."""

from collections.abc import Callable
from pathlib import Path

import pytest

Write = Callable[..., Path]

MINIMAL = """
format = 1
id = "mine"
title = "Mine"
provider = "me"
group = "My own"
licence = "CC0"
citation = "me"
attribution = "me"
grid = { kind = "utm", cell = 30 }
duplicates = { key = ["date"] }
bands = [
  { name = "qa", title = "Quality", file = "qa", dtype = "uint8", source = "me", bits = [{ start = 0, name = "cloud" }] },
  { name = "red", title = "Red", file = "red", record = true, dtype = "int16", fill = [-9999], scale = 0.0001, offset = 0, valid = [0, 10000], source = "me" },
]
[quality]
band = "qa"
rules = [{ to = "cloud", bits = [0] }]
[satellites]
M1 = { platform = "mine-1", sensor = "camera" }
[[names]]
pattern = '(?P<scene>(?P<satellite>M1)_(?P<date>\\d{8}))_(?P<layer>\\w+?)'
dates = { date = "%Y%m%d" }
[[refuse]]
pattern = 'M0'
reason = "too old"
[sources]
me = { title = "me" }
"""


@pytest.fixture
def minimal() -> str:
    return MINIMAL


@pytest.fixture
def write() -> Write:
    """Write a table into a folder, which is returned."""

    def write(folder: Path, text: str = MINIMAL, name: str = "mine") -> Path:
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.toml").write_text(text)
        return folder

    return write
