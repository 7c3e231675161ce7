"""What file names say, by the shipped product tables and by a user's own."""

from __future__ import annotations

import datetime as dt
import re
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from earthrecord.archive.names import Named, NotTheProduct, candidates, identify, names_scene, period, refused
from earthrecord.products.model import Names, Product
from earthrecord.products.registry import load

PRODUCTS = load()
OLI = "LC08_L2SP_098084_20210503_20210508_02_T1"
S2 = "S2B_MSIL2A_20191228T210519_N0212_R071_T01CCV_20201003T104658"
FORMS = [(product, form) for product in PRODUCTS.values() for form in product.names if form.examples]


def named(path: str) -> Named:
    found = identify(path, PRODUCTS)
    assert isinstance(found, Named), found
    return found


def utc(*numbers: int) -> dt.datetime:
    return dt.datetime(*numbers, tzinfo=dt.UTC)  # type: ignore[arg-type,misc]


@pytest.mark.parametrize(
    ("product", "form"),
    FORMS,
    ids=[f"{product.id}-{form.container}-{i}" for i, (product, form) in enumerate(FORMS)],
)
def test_every_example_of_a_table_names_its_product(product: Product, form: Names) -> None:
    for example in form.examples:
        found = identify(f"deep/er/{example}", PRODUCTS)
        assert isinstance(found, Named), example
        assert (found.product, found.container) == (product.id, form.container)


@pytest.mark.parametrize(
    "product", [product for product in PRODUCTS.values() if product.refuse], ids=lambda p: p.id
)
def test_every_refused_example_is_refused_with_its_reason(product: Product) -> None:
    for rule in product.refuse:
        for example in rule.examples:
            found = identify(f"deep/er/{example}", PRODUCTS)
            assert isinstance(found, NotTheProduct), example
            assert found.reason in {other.reason for any_one in PRODUCTS.values() for other in any_one.refuse}


def test_a_landsat_name_tells_all_columns() -> None:
    found = named(f"2021/098/084/{OLI}/{OLI}_SR_B4.TIF")
    assert (found.product, found.scene, found.band, found.container) == ("landsat-c2-l2", OLI, "red", "tiff")
    assert found.columns == {
        "platform": "landsat-8",
        "sensor": "oli",
        "level": "L2SP",
        "path": 98,
        "row": 84,
        "start": utc(2021, 5, 3),
        "date": dt.date(2021, 5, 3),
        "processed": utc(2021, 5, 8),
        "tier": "T1",
    }
    assert (found.home, found.variant) == (f"2021/098/084/{OLI}", 0)


def test_one_band_number_is_another_band_on_another_sensor() -> None:
    bands = {
        sensor: named(f"{sensor}_L2SP_090084_20210331_20210426_02_T1_SR_B4.TIF").band
        for sensor in ("LC08", "LE07", "LT05", "LC09")
    }
    assert bands == {"LC08": "red", "LE07": "nir", "LT05": "nir", "LC09": "red"}
    assert identify("LT05_L2SP_090084_19980308_20200909_02_T1_SR_QA_AEROSOL.TIF", PRODUCTS) is None


@pytest.mark.parametrize(
    ("path", "band", "baseline", "home"),
    [
        (
            f"a/{S2}.SAFE/GRANULE/L2A_T01CCV_A014680_20191228T210521/IMG_DATA/R10m/T01CCV_20191228T210519_B04_10m.jp2",
            "red",
            "02.12",
            "a",
        ),
        (f"{S2}.SAFE/T01CCV_20191228T210519_SCL_20m.jp2", "scl", "02.12", ""),
        (f"{S2}/R10m/B02.jp2", "blue", "02.12", ""),
        ("x/S2B_MSIL2A_20190629T212529_R043_T06VVN_20201006T080531/B8A.tif", "nir08", None, "x"),
    ],
)
def test_a_sentinel_2_product_folder_names_its_layers(
    path: str, band: str, baseline: str | None, home: str
) -> None:
    found = named(path)
    assert (found.band, found.columns.get("baseline"), found.home) == (band, baseline, home)
    assert found.columns["sensor"] == "msi"
    assert found.columns["start"] == found.columns["datatake"]


@pytest.mark.parametrize("folder", ["R20m", "R60m"])
def test_a_band_on_a_coarser_grid_than_its_own_is_no_layer(folder: str) -> None:
    """One band lies in up to three folders of a product; the record takes its own grid (definitions, "layers")."""
    assert identify(f"{S2}/{folder}/B02.jp2", PRODUCTS) is None
    assert (
        identify(
            f"{S2}.SAFE/GRANULE/X/IMG_DATA/{folder}/T01CCV_20191228T210519_B02_{folder[1:]}.jp2", PRODUCTS
        )
        is None
    )


def test_a_composite_has_a_first_and_a_last_day() -> None:
    found = named("MOD13Q1.A2022017.h12v11.061.2022034232400_250m_16_days_NDVI.tif")
    assert (found.columns["start"], found.columns["end"]) == (utc(2022, 1, 17), utc(2022, 2, 1))
    assert found.columns["processed"] == utc(2022, 2, 3, 23, 24)
    edition = named("ESA_WorldCover_10m_2020_v100_N00E006_Map.tif")
    assert (edition.columns["date"], edition.columns["end"]) == (dt.date(2020, 1, 1), utc(2020, 12, 31))


def test_a_granule_holds_every_band() -> None:
    found = named("MOD13Q1.A2022017.h12v11.061.2022034232400.hdf")
    assert (found.band, found.container) == (None, "hdf4")


@pytest.mark.parametrize(
    ("months", "start", "last"),
    [
        (1, utc(2024, 2, 1), utc(2024, 2, 29)),
        (1, utc(2023, 12, 1), utc(2023, 12, 31)),
        (12, utc(2023, 1, 1), utc(2023, 12, 31)),
    ],
)
def test_periods_of_months_end_with_the_calendar(months: int, start: dt.datetime, last: dt.datetime) -> None:
    product = next(p for p in PRODUCTS.values() if p.period_months == 1)
    from msgspec.structs import replace

    assert period(replace(product, period_months=months), start) == (start, last)


@pytest.mark.parametrize(
    ("name", "variant"),
    [
        (f"{OLI}_SR_B4.TIF", 0),
        (f"{OLI}_SR_B4.tiff", 0),
        (f"{OLI}_SR_B4_crop.tif", 1),
        (f"{OLI}_SR_B4 (1).TIF", 2),
        (f"{OLI}_SR_B4(2).TIF", 2),
        (f"{OLI}_SR_B4 - Copy.TIF", 2),
        (f"{OLI}_SR_B4 - Copy (3).TIF", 2),
        (f"{OLI}_SR_B4 copy.TIF", 2),
        (f"{OLI}_SR_B4.TIF.1", 2),
    ],
)
def test_copies_and_crops_are_known_for_what_they_are(name: str, variant: int) -> None:
    found = named(name)
    assert (found.scene, found.band, found.variant) == (OLI, "red", variant)


@pytest.mark.parametrize(
    "name",
    [
        f"{OLI}_VAA.TIF",
        f"{OLI}_SR_B4.png",
        f"{OLI}_SR_B4",
        f"x{OLI}_SR_B4.TIF",
        "readme.txt",
        "",
        "/",
        "a.tif",
        ".tif",
        "é/ü.nc2",
    ],
)
def test_what_is_no_layer_of_a_product_is_nothing(name: str) -> None:
    assert identify(name, PRODUCTS) is None


def test_an_impossible_date_is_no_file_of_the_product() -> None:
    found = identify("LC08_L2SP_098084_20211503_20210508_02_T1_SR_B4.TIF", PRODUCTS)
    assert isinstance(found, NotTheProduct)
    assert "'20211503'" in found.reason


@pytest.mark.parametrize(
    ("path", "scene"),
    [
        (
            "LC08_L1TP_014031_20180106_20180119_01_T1/LC08_L1TP_014031_20180106_B3.TIF",
            "LC08_L1TP_014031_20180106_20180119_01_T1",
        ),
        (
            "LC08_L1TP_2018/LC08_L1TP_014031_20180106_20180119_01_T1_B3.TIF",
            "LC08_L1TP_014031_20180106_20180119_01_T1",
        ),
        (
            "MYD13A1.A2020153.h30v10.006.2020170024036_EVI_B02.TIF",
            "MYD13A1.A2020153.h30v10.006.2020170024036",
        ),
        ("T31TCJ_20200101T105441_B04_10m.jp2", "T31TCJ_20200101T105441"),
        ("x/LE70350322001098EDC00_stack.tif", "LE70350322001098EDC00"),
    ],
)
def test_all_files_of_a_refused_scene_have_one_id(path: str, scene: str) -> None:
    found = identify(path, PRODUCTS)
    assert isinstance(found, NotTheProduct)
    assert found.scene == scene


def test_a_bare_id_names_its_scene() -> None:
    for scene in (
        OLI,
        S2,
        "MOD10A2.A2022033.h09v05.061.2022042050729",
        "ESA_WorldCover_10m_2020_v100_N00E006",
    ):
        found = names_scene(scene, PRODUCTS)
        assert found is not None
        assert found.scene == scene
    assert names_scene("LC08_L1TP_014031_20180106_20180119_01_T1", PRODUCTS) is None
    assert names_scene("anything", PRODUCTS) is None
    assert refused("LM01_L1GS_001010_19720908_20200909_02_T2", PRODUCTS) is not None


def test_a_pattern_that_takes_any_name_comes_after_all_others(tmp_path: Path) -> None:
    table = tmp_path / "zz-daily.toml"
    shipped = (Path(load.__code__.co_filename).parent / "era5-land-monthly.toml").read_text("utf-8")
    own = shipped.replace('id = "era5-land-monthly"', 'id = "zz-daily"').replace(
        "(?P<scene>[^/]+?)", "(?P<scene>Central\\w+)"
    )
    table.write_text(
        re.sub(r"examples = \[\"era5-land-monthly/t2m.*", 'examples = ["CentralNorway.nc"]', own), "utf-8"
    )
    products = load([table])
    found = [one.product for one in candidates("CentralNorway.nc", products)]
    assert found == ["zz-daily", "era5-land-monthly"]
    assert [one.product for one in candidates("other.nc", products)] == ["era5-land-monthly"]


CASES = st.sampled_from([str.upper, str.lower, str.title, lambda text: text])


@given(st.sampled_from(FORMS), CASES, CASES, st.text("abc 0/é", max_size=12))
@settings(max_examples=120, deadline=None)
def test_case_and_folders_never_change_what_is_found(
    form: tuple[Product, Names], stem_case: Any, end_case: Any, folder: str
) -> None:
    example = form[1].examples[0]
    stem, _, ending = example.rpartition(".")
    one, two = named(example), named(f"{folder.strip('/')}/{stem_case(stem)}.{end_case(ending)}")
    assert (two.product, two.band, two.scene.casefold()) == (one.product, one.band, one.scene.casefold())
    assert two.columns == one.columns


@given(st.text(max_size=60))
@settings(max_examples=200, deadline=None)
def test_no_text_breaks_it(text: str) -> None:
    found = identify(text, PRODUCTS)
    assert found is None or isinstance(found, Named | NotTheProduct)


def test_a_hundred_thousand_names_take_seconds() -> None:
    paths = [
        f"{i % 30}/LC08_L2SP_{i % 233:03}084_{2000 + i % 20}0503_20210508_02_T1_SR_B{i % 7 + 1}.TIF"
        for i in range(20_000)
    ]
    begun = time.process_time()
    assert sum(isinstance(identify(path, PRODUCTS), Named) for path in paths) == 20_000
    assert time.process_time() - begun < 6, "a fifth of a hundred thousand, with room for a slow machine"
