"""File names: every form parses, belongs to one product alone, and what is not the product is refused."""

import datetime as dt
import string
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from earthrecord.products.bands import band_by_file
from earthrecord.products.check import TIMES, pattern_problems
from earthrecord.products.model import Names, Product
from earthrecord.products.patterns import match, refusal
from earthrecord.products.registry import load

PRODUCTS = load()
EXAMPLES = [(p, names, path) for p in PRODUCTS.values() for names in p.names for path in names.examples]
IDS = [path.rsplit("/", 1)[-1] for _, _, path in EXAMPLES]
REFUSED = [(p, path) for p in PRODUCTS.values() for rule in p.refuse for path in rule.examples]


def groups(names: Names, path: str) -> dict[str, str]:
    found = match(names, path)
    assert found is not None, path
    return {key: value for key, value in found.groupdict().items() if value}


def owners(path: str) -> list[str]:
    return [p.id for p in PRODUCTS.values() if any(match(names, path) for names in p.names)]


def test_patterns_are_sound() -> None:
    assert [problem for product in PRODUCTS.values() for problem in pattern_problems(product)] == []
    assert all(names.examples for product in PRODUCTS.values() for names in product.names)
    assert all(rule.examples for product in PRODUCTS.values() for rule in product.refuse)


@pytest.mark.parametrize(("product", "names", "path"), EXAMPLES, ids=IDS)
def test_an_example_parses_into_known_facts(product: Product, names: Names, path: str) -> None:
    found = groups(names, path)
    assert found["scene"] in path
    for key in TIMES & set(found):
        assert 1972 <= dt.datetime.strptime(found[key], names.dates[key]).year <= 2031  # noqa: DTZ007
    sensor = product.satellites[found["satellite"]].sensor if "satellite" in found else None
    if "layer" in found:
        assert band_by_file(product, sensor, found["layer"]) is not None, found["layer"]


@pytest.mark.parametrize(("product", "names", "path"), EXAMPLES, ids=IDS)
def test_an_example_is_of_its_product_alone_whatever_its_case(
    product: Product, names: Names, path: str
) -> None:
    assert owners(path) == [product.id]
    assert owners(path.upper()) == owners(path.lower()) == [product.id]
    assert owners("some/where/" + path) == [product.id]
    assert owners("x" + path) in ([], ["era5-land-monthly"], [product.id] if "/" in path else [])


@pytest.mark.parametrize(("product", "names", "path"), EXAMPLES, ids=IDS)
def test_a_good_name_is_refused_by_no_product(product: Product, names: Names, path: str) -> None:
    assert [other.id for other in PRODUCTS.values() if refusal(other, path)] == []


@pytest.mark.parametrize(("product", "path"), REFUSED)
def test_what_is_not_the_product_is_refused_with_a_reason(product: Product, path: str) -> None:
    assert refusal(product, path)
    assert owners(path) == []


@pytest.mark.parametrize(
    ("path", "word"),
    [
        ("LC08_L1TP_014032_20180615_20180703_01_T1/LC08_L1TP_014032_20180615_B4.TIF", "Level-1"),
        ("LC08_L1TP_090084_20160121_20170405_01_T1_MTL.txt", "Level-1"),
        ("LM04_L1GS_001001_19830527_20210902_02_T2_MTL.xml", "MSS"),
        ("LC08_L1TP_013032_20180131_20180207_01_T1_pixel_qa.tif", "Collection 1"),
        ("LE07_L2SP_021030_20220109_20220109_02_RT_SR_B4.TIF", "real-time"),
        ("S2A_MSIL1C_20151208T100412_N0204_R122_T33TVM_20151208T100406.SAFE", "top of the atmosphere"),
        ("MYD13A1.A2020153.h30v10.006.2020170024036_NDVI_B01.TIF", "collection"),
        ("MCD12Q1.A2001001.h00v08.006.2018142182903.hdf", "collection"),
        ("VNP21A2.A2021153.h11v05.001.2021237090524.h5", "version"),
        ("Hansen_GFC-2023-v1.11_treecover2000_20N_080W.tif", "edition"),
        ("LT50350321984108XXX01_stack.tif", "pre-collection"),
    ],
)
def test_reasons_are_told_in_words(path: str, word: str) -> None:
    assert any(word in (refusal(product, path) or "") for product in PRODUCTS.values())


def test_groups_of_the_forms_of_sentinel_2() -> None:
    product = PRODUCTS["sentinel-2-l2a"]
    deep, *_ = product.names[0].examples
    assert groups(product.names[0], deep) == {
        "scene": "S2B_MSIL2A_20191228T210519_N0212_R071_T01CCV_20201003T104658",
        "satellite": "S2B",
        "datatake": "20191228T210519",
        "baseline": "0212",
        "tile": "01CCV",
        "processed": "20201003T104658",
        "sensing": "20191228T210521",
        "layer": "B04_10m",
    }
    cog = groups(product.names[3], "29/R/KH/2020/2/S2A_29RKH_20200219_0_L2A/B04.tif")
    assert (cog["scene"], cog["tile"], cog["layer"]) == ("S2A_29RKH_20200219_0_L2A", "29RKH", "B04")


def test_only_the_native_cells_of_sentinel_2_are_taken() -> None:
    product = PRODUCTS["sentinel-2-l2a"]
    assert band_by_file(product, "msi", "B04_10m") is not None
    assert band_by_file(product, "msi", "B04_20m") is None
    assert band_by_file(product, "msi", "TCI_10m") is None


def test_the_number_of_a_landsat_band_depends_on_the_sensor() -> None:
    product = PRODUCTS["landsat-c2-l2"]
    named = {sensor: band_by_file(product, sensor, "sr_b4") for sensor in ("tm", "etm", "oli")}
    assert {s: b.name if b else None for s, b in named.items()} == {"tm": "nir", "etm": "nir", "oli": "red"}
    assert band_by_file(product, "tm", "ST_B10") is None
    assert band_by_file(product, None, "SR_B4") is None


@pytest.mark.parametrize(
    "suffix", ["_crop.tif", "_CROPPED.TIF", ".clip.tiff", "_subset.tif", "-clipped.TIFF"]
)
def test_a_cropping_marker_before_the_extension_is_allowed(suffix: str) -> None:
    name = "LC08_L2SP_098084_20210503_20210508_02_T1_SR_B4"
    assert groups(PRODUCTS["landsat-c2-l2"].names[0], name + suffix)["layer"] == "SR_B4"


@pytest.mark.parametrize("extension", ["png", "txt", "tif.aux.xml", "tif.ovr", "jp2", "hdf"])
def test_only_the_containers_extension_is_taken(extension: str) -> None:
    assert owners(f"LC08_L2SP_098084_20210503_20210508_02_T1_SR_B4.{extension}") == []


@given(st.text(string.ascii_letters + string.digits + "_-./ ", max_size=80))
def test_other_names_are_of_no_product(path: str) -> None:
    assert owners(path + ".tif") == []


def rasters(folder: Path) -> Iterator[str]:
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() in {".tif", ".jp2", ".hdf", ".h5"}:
            yield path.relative_to(folder).as_posix()


REAL = {
    "landsat-c2l2-eodatasets": "landsat-c2-l2",
    "landsat-c2l2-riotilerpds": "landsat-c2-l2",
    "landsat-c2l2-stactools": "landsat-c2-l2",
}


@pytest.mark.real
@pytest.mark.parametrize("folder", REAL)
def test_every_real_raster_of_a_product_is_known(real: Path, folder: str) -> None:
    product = PRODUCTS[REAL[folder]]
    paths = list(rasters(real / folder))
    assert paths
    for path in paths:
        assert owners(path) == [product.id], path
        found = groups(product.names[0], path)
        sensor = product.satellites[found["satellite"]].sensor
        assert band_by_file(product, sensor, found["layer"]) is not None, path


@pytest.mark.real
def test_other_real_rasters_are_known_or_refused(real: Path) -> None:
    expected = {
        "modis-stactools/MOD10A2.A2022033.h09v05.061.2022042050729.hdf": ["mod10a2-061"],
        "modis-stactools/MOD10A2.A2022033.h09v05.061.2022042050729_Maximum_Snow_Extent.tif": ["mod10a2-061"],
        "products-n00e006/ESA_WorldCover_10m_2020_v100_N00E006_Map_crop.tif": ["worldcover-2020-v100"],
        "products-n00e006/ESA_WorldCover_10m_2021_v200_N00E006_InputQuality_crop.tif": [
            "worldcover-2021-v200"
        ],
        "products-n00e006/Copernicus_DSM_COG_10_N00_00_E006_00_DEM_crop.tif": ["cop-dem-glo-30"],
    }
    for path, owner in expected.items():
        assert (real / path).is_file()
        assert owners(path) == owner
    for folder in ("landsat-c1l1-gdalcubes", "modis-myd13a1-riotilerpds"):
        for path in rasters(real / folder):
            assert owners(path) == [], path
            assert any(refusal(product, path) for product in PRODUCTS.values()), path
    assert all(
        owners(f"products-mapme/{path}") == ["mcd64a1-061"]
        for path in rasters(real / "products-mapme")
        if "Burn" in path
    )
