"""A verified record is as it was built; whatever is altered is found and told with a remedy."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

from earthrecord.errors import BadRecord
from earthrecord.record import ledger
from earthrecord.record.model import Places
from earthrecord.record.verify import Report, verify

if TYPE_CHECKING:
    from made import Made


@pytest.fixture
def places(made: Made, tmp_path: Path) -> Places:
    """A copy of the built record, to be damaged."""
    shutil.copytree(made.folder / "calm", tmp_path / "copy")
    return Places(made.site.id, tmp_path / "copy" / "work", tmp_path / "copy" / "records")


def check(made: Made, places: Places) -> Report:
    return verify(places, made.products, made.site)


def one(report: Report) -> str:
    (finding,) = report.findings
    assert finding.remedy
    return str(finding)


def test_a_sound_record_has_no_findings_and_its_counts_are_made_again(made: Made, places: Places) -> None:
    report = check(made, places)
    assert report.findings == ()
    assert (
        report.recounted
        == ledger.read(places.ledger).filter(pl.col("kept") & pl.col("clear").is_not_null()).height
    )
    assert report.files == sum(len(files) for _, _, files in os.walk(places.record))


def test_one_flipped_bit_is_found(made: Made, places: Places) -> None:
    path = next(places.record.rglob("*_SR_B4.TIF"))
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    assert path.name in str(check(made, places).findings[0])


def test_a_missing_file_is_found(made: Made, places: Places) -> None:
    path = next(places.record.rglob("*_SR_B4.TIF"))
    path.unlink()
    assert "missing" in one(check(made, places))


def test_a_file_too_many_is_found(made: Made, places: Places) -> None:
    (places.record / "landsat-c2-l2" / "notes.txt").write_text("mine")
    assert "no part of the record" in one(check(made, places))


@pytest.mark.parametrize(
    "name", ["landsat-c2-l2/Hansen_GFC-2025-v1.13_lossyear_20S_070W.tif", "landsat-c2-l2/innocent.tif"]
)
def test_a_withheld_product_under_records_fails_under_any_name(made: Made, places: Places, name: str) -> None:
    """Definitions, "withheld products"."""
    source = next(places.withheld.rglob("*.tif"))
    shutil.copy(source, places.record / name)
    assert any("withheld" in finding.what for finding in check(made, places).findings)


def test_an_altered_count_is_found_twice(made: Made, places: Places) -> None:
    book = ledger.read(places.ledger)
    changed = book.with_columns(
        pl.when(pl.col("kept") & (pl.col("sensor") == "tm"))
        .then(pl.col("clear") - 5)
        .otherwise(pl.col("clear"))
        .alias("clear")
    )
    ledger.write(changed, places.ledger)
    assert any("the record gives" in finding.what for finding in check(made, places).findings)


def test_a_row_turned_from_dropped_to_kept_is_found(made: Made, places: Places) -> None:
    book = ledger.read(places.ledger)
    dropped = pl.col("rule") == "obscured"
    changed = book.with_columns(pl.when(dropped).then(pl.lit(True)).otherwise(pl.col("kept")).alias("kept"))
    ledger.write(changed, places.ledger)
    assert check(made, places).findings


def test_without_a_certificate_nothing_can_be_said(made: Made, places: Places) -> None:
    places.certificate.unlink()
    with pytest.raises(BadRecord, match=r"record\.json is missing"):
        check(made, places)


def test_a_damaged_ledger_is_told(made: Made, places: Places) -> None:
    places.ledger.write_bytes(places.ledger.read_bytes()[:100])
    with pytest.raises(BadRecord, match="damaged"):
        check(made, places)


def test_another_site_of_the_same_name_is_told(made: Made, places: Places, tmp_path: Path) -> None:
    from earthrecord.sites.readers import read_sites

    (tmp_path / "s.toml").write_text(
        f'[[sites]]\nid = "{made.site.id}"\nkind = "core"\nbbox = [-63.21, -24.06, -63.19, -24.04]\n'
    )
    other = read_sites(tmp_path / "s.toml")[made.site.id]
    assert any("not the one" in finding.what for finding in verify(places, made.products, other).findings)
