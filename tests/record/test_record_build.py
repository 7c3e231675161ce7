"""Records of the made-up archive: every decision, every pixel, the same bytes again."""

from __future__ import annotations

import datetime as dt
import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest
import rasterio
from rasterio.windows import from_bounds

import provider_archive
from earthrecord.errors import BuiltWithOtherRules, EmptySource
from earthrecord.record import ledger
from earthrecord.record.model import COUNTS, Rules, read_certificate
from earthrecord.record.seal import build
from earthrecord.record.verify import verify

if TYPE_CHECKING:
    from made import Made

DROPPED = {
    "LC08_L2SP_230077_20190712_20190718_02_T1": "duplicate",
    "LC09_L2SP_230077_20220109_20220112_02_T1": "obscured",
    "LC08_L2SP_230077_20220101_20220106_02_T1": "no observation",
    "LC08_L1TP_230077_20190712_20200827_02_T1": "not the product",
    "LC08_L2SP_230078_20190712_20200827_02_T1": "outside",
    "LC08_L2SP_230077_20261012_20261018_02_T1": "time window",
    "S2A_MSIL2A_20200603T140051_N0214_R067_T20KLV_20200603T180000": "duplicate",
    "S2B_MSIL2A_20200618T140049_N0500_R067_T20KLV_20230506T101010": "one a month",
    "S2B_MSIL2A_20180708T140049_N0208_R067_T20KLV_20180708T190000": "time window",
    "MOD13Q1.A2020017.h12v11.061.2020040120000": "duplicate",
}


def book_of(made: Made, name: str = "calm") -> pl.DataFrame:
    return ledger.read(made.places(name).ledger)


def rules_of(book: pl.DataFrame) -> dict[str, str]:
    dropped = book.filter(~pl.col("kept"))
    return {scene.removesuffix(".SAFE"): rule for scene, rule in dropped.select("scene", "rule").rows()}


def test_every_candidate_has_a_row_and_the_rule_that_decided(made: Made) -> None:
    book = book_of(made)
    assert book.height == made.scenes().height
    assert rules_of(book) == DROPPED


def test_look_alikes_and_other_sensors_are_kept(made: Made) -> None:
    kept = set(book_of(made).filter("kept")["scene"])
    for scene in (
        "LC08_L2SP_230077_20190712_20200827_02_T1",
        "LC08_L2SP_230076_20190712_20200827_02_T1",
        "LC08_L2SR_230077_20190829_20200826_02_T2",
        "LE07_L2SP_230077_20050713_20200914_02_T1",
        "LT05_L2SP_230077_19950710_20200912_02_T1",
    ):
        assert scene in kept


def test_the_six_counts_add_up_to_the_sites_pixels(made: Made) -> None:
    counted = book_of(made).filter(pl.col("outside").is_not_null() & (pl.col("product") == "landsat-c2-l2"))
    totals = counted.select(pl.sum_horizontal(COUNTS)).to_series()
    assert counted.height == 7
    assert totals.n_unique() == 1
    assert totals[0] > 10_000


def test_kept_pixels_equal_the_source_window_read_by_rasterio(made: Made) -> None:
    """Architecture, rule 1: pixels are never changed on the way into a record."""
    record, compared = made.places("calm").record, 0
    for path in sorted(record.rglob("*.[tT][iI][fF]")):
        (source,) = (found for found in made.archive.rglob(path.name) if path.parent.name in str(found))
        with rasterio.open(path) as ours, rasterio.open(source) as theirs:
            window = from_bounds(*ours.bounds, theirs.transform).round_offsets().round_lengths()
            expected = theirs.read(1, window=window)
            assert ours.dtypes == theirs.dtypes
            assert ours.crs == theirs.crs
            assert (ours.nodata, ours.tags()) == (theirs.nodata, theirs.tags())
            np.testing.assert_array_equal(ours.read(1), expected)
            np.testing.assert_allclose(
                ours.bounds, rasterio.windows.bounds(window, theirs.transform), atol=1e-6
            )
            compared += 1
    assert compared > 60


def test_time_stamps_are_the_snapshots(made: Made) -> None:
    """Definitions, "format 1"."""
    moment = dt.datetime(2026, 9, 30, tzinfo=dt.UTC).timestamp()
    assert {path.stat().st_mtime for path in made.places("calm").record.rglob("*")} == {moment}


def test_the_root_hash_can_be_checked_without_this_program(made: Made) -> None:
    command = (
        "find . -type f -printf '%P\\n' | LC_ALL=C sort | tr '\\n' '\\0' | xargs -0 sha256sum | sha256sum"
    )
    done = subprocess.run(
        command, shell=True, cwd=made.places("calm").record, capture_output=True, text=True, check=True
    )
    assert done.stdout.split()[0] == read_certificate(made.places("calm").certificate).root_hash


def test_the_same_inputs_give_the_same_root_hash_from_another_folder(made: Made, tmp_path: Path) -> None:
    other = type(made)(tmp_path / "elsewhere" / "deep")
    assert (
        other.build("x").certificate.root_hash == read_certificate(made.places("calm").certificate).root_hash
    )


def test_nothing_in_the_record_tells_what_was_dropped_or_what_the_site_is(made: Made) -> None:
    record = made.places("calm").record
    texts = "\n".join((record / name).read_text() for name in ("README.md", "CITATION", "site.json"))
    for scene in DROPPED:
        assert scene not in texts
    assert set(json.loads((record / "site.json").read_text())) == {"id", "kind", "bbox", "crs", "snapshot"}
    assert "hansen" not in texts.lower()


def test_withheld_products_lie_beside_the_record(made: Made) -> None:
    places = made.places("calm")
    assert [path.name for path in places.withheld.rglob("*.tif")] == [
        "Hansen_GFC-2025-v1.13_lossyear_20S_070W.tif"
    ]
    assert not list(places.record.rglob("*ansen*"))


def test_a_second_run_does_nothing_and_says_so(made: Made) -> None:
    before = {path: path.stat().st_ctime_ns for path in made.places("calm").record.rglob("*")}
    outcome = build(made.builder("calm"), made.scenes())
    assert outcome.again
    assert before == {path: path.stat().st_ctime_ns for path in made.places("calm").record.rglob("*")}


def test_other_rules_over_a_record_are_refused_naming_the_field(made: Made) -> None:
    with pytest.raises(BuiltWithOtherRules, match=r"other rules: obscured 0\.9 then, 0\.5 now"):
        build(made.builder("calm", Rules(obscured=0.5)), made.scenes())


def test_rules_by_option_are_in_the_certificate(made: Made) -> None:
    """Obscured off keeps the cloudy scene, all Sentinel-2 keeps the hazy one, a margin widens the window."""
    made.build("options", Rules(obscured=None, all_sentinel2=True, margin=300.0))
    dropped = rules_of(book_of(made, "options"))
    assert "LC09_L2SP_230077_20220109_20220112_02_T1" not in dropped
    assert "one a month" not in dropped.values()
    rules = read_certificate(made.places("options").certificate).rules
    assert (rules.obscured, rules.all_sentinel2, rules.margin) == (None, True, 300.0)
    name = "LT05_L2SP_230077_19950710_20200912_02_T1_SR_B3.TIF"
    sizes = []
    for build_name in ("calm", "options"):
        (path,) = made.places(build_name).record.rglob(name)
        with rasterio.open(path) as file:
            sizes.append((file.width, file.height))
    assert sizes[1] == (sizes[0][0] + 20, sizes[0][1] + 20)


def test_bands_of_dropped_scenes_are_not_read(fresh: Made) -> None:
    for scene in ("LC09_L2SP_230077_20220109_20220112_02_T1", "LC08_L2SP_230077_20190712_20190718_02_T1"):
        for path in fresh.archive.rglob(f"{scene}_SR_B*"):
            path.write_bytes(b"no raster")
    outcome = fresh.build("x")
    assert outcome.spoiled.height == 0
    assert rules_of(book_of(fresh, "x")) == DROPPED


def test_a_bad_file_spoils_its_scene_not_the_site_and_mending_it_mends_the_record(
    fresh: Made, made: Made
) -> None:
    (band,) = fresh.archive.rglob("LE07_L2SP_230077_20050713_20200914_02_T1_SR_B3.TIF")
    good = band.read_bytes()
    band.write_bytes(good[: len(good) // 2])
    outcome = fresh.build("x")
    assert outcome.spoiled["scene"].to_list() == ["LE07_L2SP_230077_20050713_20200914_02_T1"]
    assert str(band) in outcome.spoiled["reason"][0]
    assert not list(fresh.places("x").record.rglob("LE07*"))
    assert verify(fresh.places("x"), fresh.products, fresh.site).findings == ()
    band.write_bytes(good)
    mended = fresh.build("x")
    assert mended.certificate.root_hash == read_certificate(made.places("calm").certificate).root_hash


@pytest.mark.parametrize(
    "content", [b"", b"<!DOCTYPE html><html><body>Please log in</body></html>", b"II*\0\x08\0\0\0"]
)
def test_an_unreadable_quality_layer_is_a_ledger_row(fresh: Made, content: bytes) -> None:
    (quality,) = fresh.archive.rglob("LT05*_QA_PIXEL.TIF")
    quality.write_bytes(content)
    outcome = fresh.build("x")
    assert outcome.spoiled["scene"].to_list() == ["LT05_L2SP_230077_19950710_20200912_02_T1"]
    assert "QA_PIXEL" in outcome.spoiled["reason"][0]


def test_a_missing_quality_layer_drops_the_scene_a_missing_band_makes_it_partial(fresh: Made) -> None:
    """Definitions, "real but odd"."""
    next(fresh.archive.rglob("LT05*_QA_PIXEL.TIF")).unlink()
    next(fresh.archive.rglob("LE07*_SR_B1.TIF")).unlink()
    next(fresh.archive.rglob("LC08_L2SR*_SR_QA_AEROSOL.TIF")).unlink()
    fresh.build("x")
    book = book_of(fresh, "x")
    assert rules_of(book)["LT05_L2SP_230077_19950710_20200912_02_T1"] == "no quality layer"
    partial = set(book.filter(pl.col("flags").list.contains("partial"))["scene"])
    assert partial == {"LE07_L2SP_230077_20050713_20200914_02_T1", "LC08_L2SR_230077_20190829_20200826_02_T2"}


def test_a_layer_of_another_type_is_an_error_of_its_scene(fresh: Made) -> None:
    (band,) = fresh.archive.rglob("LT05*_SR_B3.TIF")
    with rasterio.open(band) as file:
        values, crs, transform = file.read(1), file.crs, file.transform
    band.unlink()
    provider_archive.tiff(band, values.astype(np.float32), crs, transform)
    outcome = fresh.build("x")
    assert "float32" in outcome.spoiled["reason"][0]
    assert "uint16" in outcome.spoiled["reason"][0]


def test_a_resampled_raster_is_kept_and_flagged(fresh: Made) -> None:
    """Definitions, "real but odd": a raster whose grid differs from its MTL."""
    for path in fresh.archive.rglob("LT05*.TIF"):
        with rasterio.open(path) as file:
            values, crs, transform, nodata = file.read(1)[::2, ::2], file.crs, file.transform, file.nodata
        path.unlink()
        provider_archive.tiff(path, values, crs, transform * transform.scale(2), nodata)
    fresh.build("x")
    row = book_of(fresh, "x").filter(pl.col("scene").str.starts_with("LT05")).to_dicts()[0]
    assert (row["kept"], row["flags"]) == (True, ["resampled"])


def test_a_site_outside_all_scenes_says_so(made: Made) -> None:
    from earthrecord.record.build import Builder
    from earthrecord.sites.readers import read_sites

    path = made.folder / "far.toml"
    path.write_text('[[sites]]\nid = "far"\nkind = "core"\nbbox = [10.0, 50.0, 10.05, 50.05]\n')
    far = read_sites(path)["far"]
    places = made.places("far")
    with pytest.raises(EmptySource, match="outside"):
        build(
            Builder(far, made.products, Rules(), type(places)(far.id, places.work_root, places.records_root)),
            made.scenes(),
        )


def test_memory_of_the_frozen_search_is_enough_to_build_again(made: Made) -> None:
    """Architecture, data contracts: a record can be rebuilt without asking an archive again."""
    from earthrecord.archive import search

    builder = made.builder("again")
    outcome = build(builder, search.read(made.places("calm").scenes))
    assert outcome.certificate.root_hash == read_certificate(made.places("calm").certificate).root_hash


def test_workers_do_not_change_the_result(made: Made) -> None:
    builder = made.builder("one-worker")
    builder.workers = 1
    outcome = build(builder, made.scenes())
    assert outcome.certificate.root_hash == read_certificate(made.places("calm").certificate).root_hash


def test_no_file_is_left_half_written(made: Made) -> None:
    names = [name for _, _, files in os.walk(made.places("calm").records_root) for name in files]
    assert not [name for name in names if name.startswith(".") or name.endswith(".part")]
