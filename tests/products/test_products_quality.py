"""The classes of quality values: definitions, "counts", value by value, and on real layers."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from earthrecord.errors import BadProduct
from earthrecord.products.quality import CLASSES, class_table
from earthrecord.products.registry import load

PRODUCTS = load()
NAMES = {number: name for name, number in CLASSES.items()}


def told(product: str, sensor: str | None, dtype: str, value: int) -> str:
    table = class_table(PRODUCTS[product], sensor, dtype)
    return NAMES[int(table[value % len(table)])]


@pytest.mark.parametrize(
    ("sensor", "value", "expected"),
    [
        ("oli", 1, "fill"), ("oli", 21824, "clear"), ("oli", 21952, "clear"), ("oli", 21826, "cloud"), ("oli", 21762, "cloud"),
        ("oli", 22018, "cloud"), ("oli", 22080, "clear"), ("oli", 22280, "cloud"), ("oli", 55052, "cloud"),
        ("oli", 54596, "cloud"), ("oli", 23888, "shadow"), ("oli", 30048, "snow"),
        ("tm", 1, "fill"), ("tm", 5440, "clear"), ("tm", 5504, "clear"), ("tm", 5442, "cloud"), ("tm", 5696, "clear"),
        ("tm", 5896, "cloud"), ("tm", 7440, "shadow"), ("tm", 13600, "snow"), ("tm", 13664, "snow"),
        ("etm", 5440, "clear"), ("etm", 7440, "shadow"), ("etm", 1, "fill"),
        ("oli", 0b000100, "cloud"), ("tm", 0b000100, "clear"), ("etm", 0b000100, "clear"),
        ("oli", 0b111111, "fill"), ("oli", 0b111110, "cloud"), ("oli", 0b110000, "shadow"),
    ],
)  # fmt: skip
def test_landsat(sensor: str, value: int, expected: str) -> None:
    """QA_PIXEL: fill bit 0; cloud bits 1, 2 (OLI), 3; shadow 4; snow 5; else clear; the order decides."""
    assert told("landsat-c2-l2", sensor, "uint16", value) == expected


def test_sentinel_2() -> None:
    """SCL: 0, 1 fill; 8, 9, 10 cloud; 3 shadow; 11 snow; 2, 4, 5, 6, 7 clear."""
    expected = [
        "fill",
        "fill",
        "clear",
        "shadow",
        "clear",
        "clear",
        "clear",
        "clear",
        "cloud",
        "cloud",
        "cloud",
        "snow",
    ]
    assert [told("sentinel-2-l2a", "msi", "uint8", value) for value in range(12)] == expected
    assert told("sentinel-2-l2a", "msi", "uint8", 12) == "fill"


@pytest.mark.parametrize("product", ["mod13q1-061", "myd13q1-061", "mod13a1-061", "myd13a1-061"])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_modis_reliability(product: str, dtype: str) -> None:
    """-1 fill; 3 cloud; 2 snow; 0, 1 clear; as uint8 the fill stands as 255."""
    classes = [told(product, "modis", dtype, value) for value in (-1, 0, 1, 2, 3)]
    assert classes == ["fill", "clear", "clear", "snow", "cloud"]


@pytest.mark.parametrize("dtype", ["int8", "int16", "uint8"])
def test_viirs_reliability(dtype: str) -> None:
    """VNP13A1: fills, 10, 11 fill; 9 cloud; 7 shadow; 8 snow; 0-6 clear."""
    classes = [told("vnp13a1-002", "viirs", dtype, value) for value in (-4, -1, 10, 11, 9, 7, 8)]
    assert classes == ["fill", "fill", "fill", "fill", "cloud", "shadow", "snow"]
    assert {told("vnp13a1-002", "viirs", dtype, value) for value in range(7)} == {"clear"}


@pytest.mark.parametrize("product", ["mod11a2-061", "myd11a2-061", "vnp21a2-002"])
def test_land_surface_temperature(product: str) -> None:
    """Mandatory bits: 3 fill; 2 cloud; 0, 1 clear, whatever the other bits."""
    expected = ["clear", "clear", "cloud", "fill"] * 64
    assert [told(product, None, "uint8", value) for value in range(256)] == expected


@pytest.mark.parametrize("product", ["mod10a1-061", "myd10a1-061"])
def test_ndsi_snow(product: str) -> None:
    """200, 201, 211, 254, 255 fill; 250 cloud; 40-100 snow; 0-39, 237, 239 clear."""
    expected = dict.fromkeys(range(40), "clear") | dict.fromkeys(range(40, 101), "snow")
    expected |= {237: "clear", 239: "clear", 250: "cloud"}
    for value in range(256):
        assert told(product, "modis", "uint8", value) == expected.get(value, "fill"), value


def test_maximum_snow_extent() -> None:
    """MOD10A2: 0, 1, 11, 254, 255 fill; 50 cloud; 100, 200 snow; 25, 37, 39 clear."""
    expected = {50: "cloud", 100: "snow", 200: "snow", 25: "clear", 37: "clear", 39: "clear"}
    for value in range(256):
        assert told("mod10a2-061", "modis", "uint8", value) == expected.get(value, "fill"), value


def test_products_without_a_quality_layer() -> None:
    """MCD12Q1, WorldCover, DEM, ERA5-Land, boundaries: no counts."""
    without = {p.id for p in PRODUCTS.values() if p.quality is None and not p.withheld}
    assert without == {
        "mcd12q1-061", "worldcover-2020-v100", "worldcover-2021-v200", "cop-dem-glo-30", "era5-land-monthly", "geoboundaries",
    }  # fmt: skip
    with pytest.raises(BadProduct, match=r"no \[quality\] table"):
        class_table(PRODUCTS["cop-dem-glo-30"], None, "uint8")


def test_a_layer_in_another_kind_of_type_is_an_error() -> None:
    with pytest.raises(BadProduct, match="float32"):
        class_table(PRODUCTS["landsat-c2-l2"], "oli", "float32")


def test_tables_have_one_class_for_every_pattern() -> None:
    for product in PRODUCTS.values():
        if product.quality is not None:
            band = next(b for b in product.bands if b.name == product.quality.band)
            for dtype in (band.dtype, *band.other_dtypes):
                table = class_table(product, "oli", dtype)
                assert table.dtype == np.uint8
                assert table.shape == (2 ** (np.dtype(dtype).itemsize * 8),)
                assert set(np.unique(table)) <= set(NAMES)


@given(st.integers(0, 65535), st.sampled_from(["tm", "etm", "oli"]))
def test_landsat_rules_bit_by_bit(value: int, sensor: str) -> None:
    """The same rules, written a second time as plain conditions."""
    cloud = value & 0b1010 or (sensor == "oli" and value & 0b100)
    naive = (
        "fill" if value & 1 else "cloud" if cloud else "shadow" if value & 16 else "snow" if value & 32 else "clear"
    )  # fmt: skip
    assert told("landsat-c2-l2", sensor, "uint16", value) == naive


@pytest.mark.real
@pytest.mark.parametrize(
    ("path", "sensor"),
    [
        ("landsat-c2l2-eodatasets/LC08_L2SP_098084_20210503_20210508_02_T1", "oli"),
        ("landsat-c2l2-eodatasets/LE07_L2SP_090084_20210331_20210426_02_T1", "etm"),
        ("landsat-c2l2-eodatasets/LT05_L2SP_090084_19980308_20200909_02_T1", "tm"),
        ("landsat-c2l2-stactools/LC08_L2SP_005009_20150710_20200908_02_T2", "oli"),
    ],
)
def test_real_qa_pixel(real: Path, path: str, sensor: str) -> None:
    """Every value met is described, and its class is what the confidence fields beside the flags say."""
    import rasterio

    with rasterio.open(real / path / f"{Path(path).name}_QA_PIXEL.TIF") as raster:
        values = np.unique(raster.read(1))
    table = class_table(PRODUCTS["landsat-c2-l2"], sensor, "uint16")
    for value in values.tolist():
        name = NAMES[int(table[value])]
        assert (value == 1) == (name == "fill"), value
        if name == "clear":
            assert value >> 8 & 3 != 3, value
        if name == "snow":
            assert value >> 12 & 3 == 3, value
        if name == "shadow":
            assert value >> 10 & 3 == 3, value


@pytest.mark.real
def test_real_scene_classification_and_snow_extent(real: Path) -> None:
    import rasterio

    with rasterio.open(real / "sentinel2-l2a-riotilerpds/SCL.tif") as raster:
        assert raster.read(1).max() <= 11
    with rasterio.open(
        real / "modis-stactools/MOD10A2.A2022033.h09v05.061.2022042050729_Maximum_Snow_Extent.tif"
    ) as raster:
        values, counts = np.unique(raster.read(1), return_counts=True)
    table = class_table(PRODUCTS["mod10a2-061"], "modis", "uint8")
    seen = dict(zip(values.tolist(), counts.tolist(), strict=True))
    assert set(seen) <= {
        int(code) for code in next(b for b in PRODUCTS["mod10a2-061"].bands if b.record).codes
    }
    assert sum(n for value, n in seen.items() if NAMES[int(table[value])] == "snow") == seen[100] + seen[200]


@pytest.mark.real
def test_real_reliability_as_uint8(real: Path) -> None:
    """A catalogue's copy in uint8 holds the fill -1 as 255, tagged so."""
    import rasterio

    path = real / "modis-myd13a1-riotilerpds/MYD13A1.A2020153.h30v10.006.2020170024036_PR_B12.TIF"
    with rasterio.open(path) as raster:
        values = np.unique(raster.read(1))
        assert raster.nodata == 255
    table = class_table(PRODUCTS["myd13a1-061"], "modis", "uint8")
    assert {int(v): NAMES[int(table[v])] for v in values}.items() >= {(255, "fill"), (0, "clear")}
