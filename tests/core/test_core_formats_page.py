"""docs/formats.md says what the files hold: all of it, and nothing else."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import msgspec
import pytest

from earthrecord import _core
from earthrecord.archive.scenes import FILE, SCENES
from earthrecord.record.ledger import LEDGER
from earthrecord.record.model import Certificate, Rules, root_hash
from earthrecord.record.seal import MANIFEST

PAGE = (Path(__file__).parents[2] / "docs" / "formats.md").read_text()


def section(title: str) -> str:
    return PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]


def first_cells(title: str) -> list[str]:
    cells = re.findall(r"^\| (`.*?) \|", section(title), re.MULTILINE)
    return [name for cell in cells for name in re.findall(r"`(\w+)`", cell)]


@pytest.mark.parametrize(
    ("title", "names"),
    [
        ("scenes.parquet", SCENES.names()),
        ("ledger.parquet", LEDGER.names()),
        ("manifest.parquet", MANIFEST.names()),
        ("record.json", [field.name for field in msgspec.structs.fields(Certificate)]),
    ],
)
def test_every_column_is_told_once(title: str, names: list[str]) -> None:
    assert sorted(first_cells(title)) == sorted(names)


def test_every_part_of_a_file_and_of_the_rules_is_told() -> None:
    assert all(f"`{field.name}`" in section("scenes.parquet") for field in FILE.fields)
    assert all(f"`{field.name}`" in section("record.json") for field in msgspec.structs.fields(Rules))


def test_the_root_hash_needs_no_program_of_ours(tmp_path: Path) -> None:
    files = [
        "README.md",
        "landsat-c2-l2/LC08/a b.TIF",
        "landsat-c2-l2/LC08/Z.TIF",
        "landsat-c2-l2.txt",
        "é/ü.tif",
    ]
    for number, name in enumerate(files):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(str(number))
    hashes = [sha for sha in _core.sha256_files([tmp_path / name for name in files]) if isinstance(sha, str)]
    (command,) = re.findall(r"```sh\n(find .*)\n```", section("The root hash"))
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.split()[0] == root_hash(dict(zip(files, hashes, strict=True)))


def test_the_root_hash_of_nothing() -> None:
    assert root_hash({}).startswith("e3b0c442")
    assert "`e3b0c442…`" in section("The root hash")


def test_a_file_of_format_1_has_the_tags_of_the_page_in_their_order(tmp_path: Path) -> None:
    import numpy as np

    import naive

    told = section("Format 1").split("The tags, in this order")[1].split("Values of more")[0]
    order = [int(tag) for tag in re.findall(r"\b(\d{3}|\d{5})\b", told)]
    metadata, keys = "<GDALMetadata>\n</GDALMetadata>\n", _core.geokeys_of_epsg(32633, False)
    for side in (5, 300):
        path = tmp_path / f"{side}.tif"
        _core.write_raster(
            path, np.zeros((side, side), np.int16), (1.0, 0.0, 0.0, 0.0, -1.0, 0.0), keys, "0", metadata
        )
        tags = list(naive.entries(path))
        assert tags == [tag for tag in order if tag in tags]
        assert len(tags) >= 14
