"""`er products` and `er products show`."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from earthrecord.cli.products import app
from earthrecord.errors import BadProduct
from earthrecord.products.model import Product
from earthrecord.products.registry import load

PRODUCTS = load()


def run(*args: str | Path) -> str:
    result = CliRunner().invoke(app, [str(arg) for arg in args], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_list_away_from_a_terminal_is_one_line_a_product() -> None:
    head, *rows = run().splitlines()
    assert head.split("\t")[0] == "id"
    assert [row.split("\t")[0] for row in rows] == list(PRODUCTS)
    assert {row.split("\t")[3] for row in rows} == {"record", "withheld"}


def test_the_list_as_json() -> None:
    rows = json.loads(run("--json"))
    assert [row["id"] for row in rows] == list(PRODUCTS)
    assert next(row for row in rows if row["id"] == "landsat-c2-l2")["available from"] == "1982-08-22"


@pytest.mark.parametrize("product", PRODUCTS)
def test_all_facts_are_shown_within_100_columns(product: str) -> None:
    text = run("show", product)
    known = PRODUCTS[product]
    for fact in (*(band.name for band in known.bands), known.doi, *known.sources):
        assert fact in text
    words = " ".join(text.split())
    for fact in (known.licence, known.attribution, *known.notes, *(rule.reason for rule in known.refuse)):
        assert " ".join(fact.split()) in words
    for line in text.splitlines():
        assert len(line.rstrip()) <= 100 or "/" in line, line


def test_quality_rules_are_told_in_words() -> None:
    text = run("show", "landsat-c2-l2")
    assert "cloud: bit 1 (dilated cloud) or bit 3 (cloud)" in text
    assert "cloud: bit 2 (cirrus) (OLI)" in text
    assert "bits 0-1 = 2" in run("show", "mod11a2-061")


def test_unchecked_facts_carry_the_sign_of_the_legend() -> None:
    row = next(line for line in run("show", "ghs-built-s-r2023a").splitlines() if line.startswith("built*"))
    assert "65535 ?" in row
    assert "? no source confirms yet" in run("show", "ghs-built-s-r2023a")


def test_show_as_json_gives_the_product_back() -> None:
    assert msgspec.json.decode(run("show", "mod13q1-061", "--json"), type=Product) == PRODUCTS["mod13q1-061"]


def test_products_of_ones_own(tmp_path: Path, write: Callable[..., Path]) -> None:
    folder = write(tmp_path)
    assert "mine\tMine" in run("--products", folder)
    assert run("show", "mine", "--products", folder) == run("--products", folder, "show", "mine")


def test_an_unknown_product_is_told_with_the_nearest() -> None:
    with pytest.raises(BadProduct, match="did you mean 'landsat-c2-l2'"):
        CliRunner().invoke(app, ["show", "landsat-c2l2"], catch_exceptions=False)


@pytest.mark.parametrize("args", [("--help",), ("show", "--help")])
def test_help_ends_with_a_worked_example(args: tuple[str, ...]) -> None:
    text = run(*args)
    words = re.split(r"^(?:Arguments|Options):", text, maxsplit=1, flags=re.MULTILINE)[0].rstrip()
    assert words.splitlines()[-1].startswith("    er products")
    assert "  Example: " in words.split("\n\n")[-1]


def test_importing_the_room_loads_nothing_heavy() -> None:
    code = (
        "import sys; import earthrecord.products.registry, earthrecord.products.patterns, earthrecord.cli.products;"
        "sys.exit(' '.join({'numpy', 'polars', 'rasterio', 'pyproj', 'shapely', 'rich.table'} & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
