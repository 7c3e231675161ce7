"""A verified record is as it was built; whatever is altered is found and told with a remedy."""

from __future__ import annotations

import json
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


def findings(made: Made, places: Places) -> str:
    return "\n".join(map(str, check(made, places).findings))


def test_two_files_that_changed_places_are_found(made: Made, places: Places) -> None:
    one, other = sorted(places.record.rglob("LT05*_SR_B[34].TIF"))
    aside = places.record.parent / "aside"
    one.rename(aside)
    other.rename(one)
    aside.rename(other)
    found = findings(made, places)
    assert one.name in found
    assert other.name in found


def test_an_edited_readme_is_found(made: Made, places: Places) -> None:
    path = places.record / "README.md"
    path.write_text(path.read_text().replace("Landsat", "landsat", 1))
    assert "README.md: bytes differ" in one(check(made, places))


def test_an_empty_folder_is_found(made: Made, places: Places) -> None:
    (places.record / "landsat-c2-l2" / "2031" / "LC09").mkdir(parents=True)
    assert "2031/LC09: it is no part of the record" in one(check(made, places))


def test_links_are_found_even_to_the_same_bytes(made: Made, places: Places, tmp_path: Path) -> None:
    """A record is complete in itself; a linked folder could hold anything."""
    path = next(places.record.rglob("*_SR_B4.TIF"))
    path.rename(tmp_path / "elsewhere.tif")
    path.symlink_to(tmp_path / "elsewhere.tif")
    (places.record / "withheld").symlink_to(places.withheld)
    found = findings(made, places)
    assert f"{path}: it is missing or unreadable" in found
    assert "withheld: it is no part of the record" in found


def test_a_file_and_its_manifest_row_edited_together_are_found(made: Made, places: Places) -> None:
    import hashlib

    from earthrecord.record.seal import MANIFEST

    path = places.record / "CITATION"
    path.write_text("Cite me.")
    sha = hashlib.sha256(path.read_bytes()).hexdigest()
    manifest = ledger.read(places.manifest, MANIFEST)
    here = pl.col("path") == "CITATION"
    edited = manifest.with_columns(
        sha256=pl.when(here).then(pl.lit(sha)).otherwise("sha256"),
        bytes=pl.when(here).then(pl.lit(8, pl.Int64)).otherwise("bytes"),
    )
    ledger.write(edited, places.manifest)
    found = findings(made, places)
    assert "root_hash" in found
    assert "its bytes is" in found


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("site", "other"),
        ("snapshot", "2026-09-29"),
        ("files", 73),
        ("bytes", 1),
        ("root_hash", "0" * 64),
        ("withheld_hash", "0" * 64),
        ("ledger_digest", "0" * 64),
        ("site_digest", "0" * 64),
    ],
)
def test_an_edited_certificate_is_found(made: Made, places: Places, field: str, value: object) -> None:
    content = json.loads(places.certificate.read_text())
    places.certificate.write_text(json.dumps(content | {field: value}))
    assert check(made, places).findings


@pytest.mark.parametrize("limit", [0.3, None])
def test_edited_rules_contradict_the_ledger(made: Made, places: Places, limit: float | None) -> None:
    """LC08 of 2019-07-12 is a third hidden and kept, LC09 is hidden and dropped."""
    content = json.loads(places.certificate.read_text())
    content["rules"]["obscured"] = limit
    places.certificate.write_text(json.dumps(content))
    assert "ledger row of LC0" in findings(made, places)


def test_an_edited_reason_is_found(made: Made, places: Places) -> None:
    book = ledger.read(places.ledger).with_columns(pl.col("reason").str.replace("newer", "nicer"))
    ledger.write(book, places.ledger)
    assert "ledger_digest" in one(check(made, places))


def test_a_ledger_without_a_column_is_told(made: Made, places: Places) -> None:
    ledger.write(ledger.read(places.ledger).drop("clear"), places.ledger)
    with pytest.raises(BadRecord, match="other columns"):
        check(made, places)


def test_a_ledger_reads_back_as_it_was_written(made: Made, tmp_path: Path) -> None:
    book = ledger.read(made.places("calm").ledger)
    ledger.write(book, tmp_path / "l.parquet")
    assert ledger.read(tmp_path / "l.parquet").equals(book)
    assert book.schema == ledger.LEDGER


def test_a_damaged_netcdf_is_found_in_its_header_too(made: Made, places: Places) -> None:
    path = next(places.record.rglob("*.nc"))
    path.write_bytes(path.read_bytes()[:1000])
    assert "cut short" in findings(made, places)


def test_time_stamps_may_change_when_a_record_is_handed_on(made: Made, places: Places) -> None:
    for path in places.record.rglob("*"):
        os.utime(path, (1, 1))
    assert check(made, places).findings == ()


def test_another_site_of_the_same_name_is_told(made: Made, places: Places, tmp_path: Path) -> None:
    from earthrecord.sites.readers import read_sites

    (tmp_path / "s.toml").write_text(
        f'[[sites]]\nid = "{made.site.id}"\nkind = "core"\nbbox = [-63.21, -24.06, -63.19, -24.04]\n'
    )
    other = read_sites(tmp_path / "s.toml")[made.site.id]
    assert any("not the one" in finding.what for finding in verify(places, made.products, other).findings)
