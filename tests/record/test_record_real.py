"""Records from real provider files: decisions, flags, and every kept pixel against rasterio."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import rasterio
from rasterio.warp import transform_bounds
from rasterio.windows import from_bounds

from earthrecord.archive import search
from earthrecord.products.registry import load
from earthrecord.record import ledger, offsets, select
from earthrecord.record.build import Builder
from earthrecord.record.model import Places, Rules
from earthrecord.record.seal import Outcome, build
from earthrecord.record.verify import verify
from earthrecord.sites.readers import read_sites

pytestmark = pytest.mark.real


def whole_of(path: Path, shrink: float = 0.25) -> tuple[float, float, float, float]:
    """A box in the middle of a raster."""
    with rasterio.open(path) as file:
        west, south, east, north = transform_bounds(file.crs, "EPSG:4326", *file.bounds)
    dx, dy = (east - west) * shrink, (north - south) * shrink
    return west + dx, south + dy, east - dx, north - dy


def make(
    folder: Path,
    bbox: Sequence[float],
    sources: Sequence[Path],
    rules: Rules = Rules(),  # noqa: B008 - immutable
    kind: str = "core",
    products: Sequence[Path] = (),
) -> tuple[Outcome, Places]:
    """Build and verify one record."""
    (folder / "sites.toml").write_text(f'[[sites]]\nid = "real"\nkind = "{kind}"\nbbox = {list(bbox)}\n')
    site, table = read_sites(folder / "sites.toml")["real"], load(products)
    places = Places("real", folder / "work", folder / "records")
    scenes = search.search_all(list(sources), table)
    search.write(scenes, places.scenes)
    outcome = build(Builder(site, table, rules, places), scenes)
    report = verify(places, table, site)
    assert report.findings == ()
    return outcome, places


def assert_pixels_equal(record: Path, source: Path, least: int) -> None:
    """Every raster of a record equals the source window, pixel for pixel, read by rasterio."""
    compared = 0
    for path in sorted(record.rglob("*.[tT][iI][fF]")):
        (original,) = set(source.rglob(path.name))
        with rasterio.open(path) as ours, rasterio.open(original) as theirs:
            window = from_bounds(*ours.bounds, theirs.transform).round_offsets().round_lengths()
            np.testing.assert_array_equal(ours.read(1), theirs.read(1, window=window))
            assert (ours.dtypes[0], ours.crs, ours.nodata) == (theirs.dtypes[0], theirs.crs, theirs.nodata)
            np.testing.assert_allclose(ours.bounds, rasterio.windows.bounds(window, theirs.transform))
            compared += 1
    assert compared >= least


# The eight Landsat scenes lie far apart, so each has a site of its own in its middle.
SCENES = {
    "LC08_L2SP_005009_20150710_20200908_02_T2": ("landsat-c2l2-stactools", {"partial", "resampled"}, False),
    "LC08_L2SP_008059_20191201_20200825_02_T1": ("landsat-c2l2-stactools", {"partial", "resampled"}, False),
    "LC08_L2SP_017036_20130419_20200913_02_T2": ("landsat-c2l2-stactools", {"partial", "resampled"}, True),
    "LC08_L2SR_099120_20191129_20201016_02_T2": ("landsat-c2l2-stactools", {"partial", "resampled"}, True),
    "LC08_L2SP_098084_20210503_20210508_02_T1": ("landsat-c2l2-eodatasets", {"resampled"}, False),
    "LE07_L2SP_090084_20210331_20210426_02_T1": ("landsat-c2l2-eodatasets", {"resampled"}, False),
    "LT05_L2SP_090084_19980308_20200909_02_T1": ("landsat-c2l2-eodatasets", {"resampled"}, False),
    "LC08_L2SP_001062_20201031_20201106_02_T2": ("landsat-c2l2-riotilerpds", {"partial", "resampled"}, True),
}


@pytest.mark.parametrize("scene", SCENES)
def test_each_landsat_scene_with_the_obscured_rule_off(real: Path, tmp_path: Path, scene: str) -> None:
    folder, flags, _ = SCENES[scene]
    (quality,) = (real / folder).rglob(f"{scene}_QA_PIXEL.TIF")
    _, places = make(tmp_path, whole_of(quality), [real / folder], Rules(obscured=None))
    row = ledger.read(places.ledger).filter(pl.col("scene") == scene).to_dicts()[0]
    assert (row["kept"], set(row["flags"])) == (True, flags)
    assert_pixels_equal(places.record, real / folder, 7)


@pytest.mark.parametrize("scene", SCENES)
def test_three_landsat_scenes_show_nothing_and_are_dropped_by_default(
    real: Path, tmp_path: Path, scene: str
) -> None:
    folder, _, hidden = SCENES[scene]
    (quality,) = (real / folder).rglob(f"{scene}_QA_PIXEL.TIF")
    if hidden:
        with pytest.raises(Exception, match="1 obscured"):
            make(tmp_path, whole_of(quality), [real / folder])
        book = ledger.read(tmp_path / "work" / "real" / "ledger.parquet")
    else:
        _, places = make(tmp_path, whole_of(quality), [real / folder])
        book = ledger.read(places.ledger)
    assert book.filter(pl.col("scene") == scene)["rule"].to_list() == (["obscured"] if hidden else [None])


def test_level_1_of_both_collections_is_refused_with_reasons(real: Path) -> None:
    found = search.search_all([real / "landsat-c2l2-eodatasets"], load())
    refused = dict(found.filter(pl.col("refused").is_not_null()).select("scene", "refused").iter_rows())
    assert set(refused) == {
        "LC08_L1TP_090084_20160121_20170405_01_T1",
        "LC08_L1TP_090084_20160121_20200907_02_T1",
    }
    assert all("Level-1" in reason or "Collection 1" in reason for reason in refused.values())


def test_the_hdf4_granule_alone_equals_the_providers_cog(real: Path, tmp_path: Path) -> None:
    stem = "MOD10A2.A2022033.h09v05.061.2022042050729"
    (tmp_path / "granule").mkdir()
    (tmp_path / "granule" / f"{stem}.hdf").symlink_to(real / "modis-stactools" / f"{stem}.hdf")
    cog = real / "modis-stactools" / f"{stem}_Maximum_Snow_Extent.tif"
    bbox = (-106.6, 38.2, -105.4, 39.1)
    _, places = make(tmp_path, bbox, [tmp_path / "granule"])
    path = next(places.record.rglob(f"{stem}_Maximum_Snow_Extent.tif"))
    with rasterio.open(path) as ours, rasterio.open(cog) as theirs:
        window = from_bounds(*ours.bounds, theirs.transform).round_offsets().round_lengths()
        np.testing.assert_array_equal(ours.read(1), theirs.read(1, window=window))
        np.testing.assert_allclose(ours.bounds, rasterio.windows.bounds(window, theirs.transform), atol=1e-3)
        assert ours.crs.to_dict() == theirs.crs.to_dict()


def test_one_granule_in_two_containers_is_one_candidate(real: Path, tmp_path: Path) -> None:
    """Definitions, "real but odd": the single-band raster is read, the other is `repeated`."""
    _, places = make(tmp_path, (-106.6, 38.2, -105.4, 39.1), [real / "modis-stactools"])
    book = ledger.read(places.ledger).filter(pl.col("product") == "mod10a2-061", pl.col("kept"))
    assert book["repeated"].to_list() == [1]
    assert book["source"][0].endswith("_Maximum_Snow_Extent.tif")


def test_land_cover_and_terrain_of_sao_tome(real: Path, tmp_path: Path) -> None:
    outcome, places = make(tmp_path, (6.55, 0.1, 6.6, 0.15), [real / "products-n00e006"])
    kept = set(outcome.ledger.filter("kept")["product"])
    assert kept == {"worldcover-2020-v100", "worldcover-2021-v200", "cop-dem-glo-30"}
    assert outcome.ledger.filter("kept")["clear"].null_count() == outcome.ledger.filter("kept").height
    assert_pixels_equal(places.record, real / "products-n00e006", 3)


def test_nine_sentinel2_duplicates_from_metadata_alone(real: Path) -> None:
    table = load()
    found = search.search_all([real / "stac-s2-duplicates-xcube" / "sentinel-2-l2a-items.json"], table)
    rows: list[Any] = found.sort("order").to_dicts()
    decisions = [select.Decision() for _ in rows]
    select.duplicates(rows, decisions, table)
    dropped = {row["baseline"]: 0 for row in rows}
    by_scene = {row["scene"]: row for row in rows}
    for row, decision in zip(rows, decisions, strict=True):
        if not decision.open:
            dropped[row["baseline"]] += 1
            assert by_scene[str(decision.duplicate_of)]["baseline"] == "05.00"
    assert dropped == {"02.14": 8, "05.00": 0, "02.12": 1, "05.11": 0}
    states = [
        (row["catalogue"], row["baseline"], offsets.by_metadata(row, table[row["product"]])) for row in rows
    ]
    for catalogue, baseline, state in states:
        removed = baseline < "04.00" or "earth" in catalogue.lower()
        assert state == ("absent" if removed else "present"), (catalogue, baseline)


def test_the_split_granule_is_two_halves_and_tier_2_is_seen(real: Path) -> None:
    table = load()
    found = search.search_all([real / "stac-items-rustac"], table)
    rows: list[Any] = found.filter(pl.col("refused").is_null()).sort("order").to_dicts()
    decisions = [select.Decision() for _ in rows]
    select.duplicates(rows, decisions, table)
    halves = [
        (row, decision)
        for row, decision in zip(rows, decisions, strict=True)
        if row["product"] == "sentinel-2-l2a" and str(row["date"]) == "2024-05-30"
    ]
    assert [decision.open for _, decision in halves] == [True, True]
    assert len({row["datatake"] for row, _ in halves}) == 1
    assert len({row["sensing"] for row, _ in halves}) == 2
    assert found.filter(pl.col("tier") == "T2").height == 3


def test_a_pair_one_second_apart_is_a_reprocessing(real: Path) -> None:
    table = load()
    items = sorted((real / "sentinel2-stactools").glob("*T01WCP*/expected_output.json"))
    found = search.search_all(items, table)
    rows: list[Any] = found.sort("order").to_dicts()
    decisions = [select.Decision() for _ in rows]
    select.duplicates(rows, decisions, table)
    kept = [row["scene"] for row, decision in zip(rows, decisions, strict=True) if decision.open]
    assert len(rows) == 2
    assert len(kept) == 1
    assert "022158" in kept[0]
    assert "processing" in next(decision.reason for decision in decisions if not decision.open)


def test_daily_era5_land_is_refused_as_monthly(real: Path) -> None:
    found = search.search_all([real / "era5land-krigr"], load())
    (reason,) = found["refused"].to_list()
    assert "month" in reason
