"""The facts of the shipped tables hold together, and are those of the definitions and of real values."""

import math

import pytest

from earthrecord.products.bands import bands_of, file_of, record_bands
from earthrecord.products.check import code_range, fits, sensors_of, width
from earthrecord.products.model import Band, Column, Product
from earthrecord.products.registry import load

PRODUCTS = load()
BANDS = [pytest.param(p, b, id=f"{p.id}-{b.name}") for p in PRODUCTS.values() for b in p.bands]

VI = {"ndvi", "evi", "vi_quality", "reliability", "composite_day", "red", "nir"}
LST = {"lst_day", "lst_night", "qc_day", "qc_night", "view_time_day", "view_time_night"}
SNOW = {"ndsi_snow_cover", "ndsi", "basic_qa", "algorithm_flags"}
# definitions, "The record", layers; the products without a row of layers there have one layer that is the product.
LAYERS = {
    "landsat-c2-l2": {"blue", "green", "red", "nir", "swir1", "swir2", "qa_pixel", "qa_radsat", "qa_aerosol", "atmos_opacity"},
    "sentinel-2-l2a": {"blue", "green", "red", "nir", "nir08", "swir1", "swir2", "scl"},
    **dict.fromkeys(("mod13q1-061", "myd13q1-061", "mod13a1-061", "myd13a1-061", "vnp13a1-002"), VI),
    **dict.fromkeys(("mod11a2-061", "myd11a2-061", "vnp21a2-002"), LST),
    **dict.fromkeys(("mod10a1-061", "myd10a1-061"), SNOW),
    "mod10a2-061": {"max_snow_extent"},
    "era5-land-monthly": {"t2m", "tp", "snow_cover", "swvl1", "swvl2", "skt"},
    "mcd12q1-061": {"lc_type1"},
    "worldcover-2020-v100": {"map"},
    "worldcover-2021-v200": {"map"},
    "cop-dem-glo-30": {"dem"},
    "geoboundaries": {"boundary"},
}  # fmt: skip
WITHHELD = {
    "hansen-gfc-v1-13", "jrc-gsw-v1-4", "jrc-gsw-yearly-v1-4", "jrc-gsw-monthly-v1-4", "ghs-built-s-r2023a", "mcd64a1-061",
}  # fmt: skip


def test_the_record_holds_exactly_the_layers_of_the_definitions() -> None:
    found = {p.id: {b.name for b in p.bands if b.record} for p in PRODUCTS.values() if p.record}
    assert found == LAYERS


def test_withheld_products_are_no_part_of_a_record() -> None:
    """Definitions, "withheld products": `withheld = true`, never under records."""
    assert {p.id for p in PRODUCTS.values() if p.withheld} == WITHHELD
    assert all(not PRODUCTS[name].record for name in WITHHELD)
    assert all(record_bands(PRODUCTS[name], None) for name in WITHHELD)


def test_region_sites_have_no_landsat_and_no_sentinel_2() -> None:
    """Architecture, "site"; a boundary is of regions alone."""
    only_core = {p.id for p in PRODUCTS.values() if p.kinds == ("core",)}
    assert only_core == {"landsat-c2-l2", "sentinel-2-l2a"}
    assert PRODUCTS["geoboundaries"].kinds == ("region",)


def test_rules_of_selection_are_those_of_the_definitions() -> None:
    obscured = {p.id for p in PRODUCTS.values() if p.obscured_rule}
    assert obscured == {"landsat-c2-l2", "sentinel-2-l2a"}
    assert {p.id for p in PRODUCTS.values() if p.one_a_month} == {"sentinel-2-l2a"}
    assert {p.id for p in PRODUCTS.values() if p.ring} == {"era5-land-monthly"}
    assert str(PRODUCTS["sentinel-2-l2a"].start) == "2019-01-01"
    landsat, sentinel = PRODUCTS["landsat-c2-l2"].duplicates, PRODUCTS["sentinel-2-l2a"].duplicates
    assert landsat.key == ("platform", "path", "row", "date")
    assert (landsat.prefer, landsat.levels) == (("processed", "level"), ("L2SP", "L2SR"))
    assert (sentinel.key, sentinel.near, sentinel.seconds) == (("platform", "tile"), "sensing", 10)
    assert sentinel.prefer == ("baseline", "generated", "processed")
    for product in PRODUCTS.values():
        if sensors_of(product) & {"modis", "viirs"}:
            assert (product.duplicates.key, product.duplicates.prefer) == (("tile", "date"), ("processed",))


def test_columns_of_duplicate_rules_are_columns_of_the_scene_table() -> None:
    from typing import get_args

    from earthrecord.archive.scenes import SCENES

    assert set(get_args(Column)) <= set(SCENES)


@pytest.mark.parametrize(("product", "band"), BANDS)
def test_values_fit_the_type(product: Product, band: Band) -> None:
    values = [*band.fill, *(band.valid or ()), *([] if band.mask_value is None else [band.mask_value])]
    assert all(fits(value, band.dtype) for value in values)
    for code in band.codes:
        low, high = code_range(code) or (1, 0)
        assert low <= high
        assert fits(low, band.dtype)
        assert fits(high, band.dtype)


@pytest.mark.parametrize(("product", "band"), BANDS)
def test_fill_is_no_valid_value_and_no_other_meaning(product: Product, band: Band) -> None:
    for value in band.fill:
        assert band.valid is None or not band.valid[0] <= value <= band.valid[1]
        if band.codes and band.dtype != "float64":
            told = band.codes.get(str(int(value)), "no data")
            assert any(word in told for word in ("no data", "fill", "not mapped", "unusable")), told


@pytest.mark.parametrize(("product", "band"), BANDS)
def test_bits_neither_overlap_nor_leave_the_type(product: Product, band: Band) -> None:
    for sensor in sensors_of(product) or {"none"}:
        used = [
            bit
            for bits in band.bits
            if not bits.sensors or sensor in bits.sensors
            for bit in range(bits.start, bits.start + bits.width)
        ]
        assert len(used) == len(set(used))
        assert all(bit < width(band.dtype) for bit in used)


@pytest.mark.parametrize(("product", "band"), BANDS)
def test_every_fact_has_a_declared_source(product: Product, band: Band) -> None:
    assert band.source.split()
    assert set(band.source.split()) <= set(product.sources)
    assert set(band.unchecked) <= set(Band.__struct_fields__)


def test_every_declared_source_is_used() -> None:
    for product in PRODUCTS.values():
        used = {key for band in product.bands for key in band.source.split()}
        said = " ".join((*product.notes, *product.unchecked))
        unused = set(product.sources) - used
        assert not unused or product.id in {"sentinel-2-l2a", "mod10a2-061"}, (product.id, unused, said)


def test_each_product_can_be_cited_and_shared() -> None:
    for product in PRODUCTS.values():
        assert product.licence
        assert product.citation
        assert product.attribution
        assert product.doi.startswith("10.")
    assert "Copernicus Sentinel" in PRODUCTS["sentinel-2-l2a"].attribution
    assert "U.S. Geological Survey" in PRODUCTS["landsat-c2-l2"].attribution
    assert PRODUCTS["worldcover-2021-v200"].licence == "CC BY 4.0"
    assert "2021" in PRODUCTS["worldcover-2021-v200"].attribution
    assert "2020" not in PRODUCTS["worldcover-2021-v200"].attribution


PHYSICS = ("dtype", "other_dtypes", "fill", "scale", "offset", "valid", "unit", "record", "bits", "codes")
SIBLINGS = [
    ("mod13q1-061", "myd13q1-061"),
    ("mod13q1-061", "mod13a1-061"),
    ("mod13a1-061", "myd13a1-061"),
    ("mod11a2-061", "myd11a2-061"),
    ("mod10a1-061", "myd10a1-061"),
    ("worldcover-2020-v100", "worldcover-2021-v200"),
]


@pytest.mark.parametrize(("one", "other"), SIBLINGS)
def test_siblings_share_what_their_values_mean(one: str, other: str) -> None:
    first, second = PRODUCTS[one], PRODUCTS[other]
    assert [b.name for b in first.bands] == [b.name for b in second.bands]
    for a, b in zip(first.bands, second.bands, strict=True):
        assert all(getattr(a, key) == getattr(b, key) for key in PHYSICS), a.name
    assert first.quality == second.quality
    assert first.title != second.title
    assert first.names != second.names
    assert first.doi != second.doi


def test_nothing_of_terra_is_left_in_aqua() -> None:
    for name in ("myd13q1-061", "myd13a1-061", "myd11a2-061", "myd10a1-061"):
        product = PRODUCTS[name]
        text = repr(product.names) + repr(product.refuse) + product.title + product.citation + product.doi
        assert "Terra" not in text
        assert "MOD1" not in text
        assert {s.platform for s in product.satellites.values()} == {"aqua"}
        start = next(iter(product.satellites))
        assert all(f"<satellite>{start})" in names.pattern for names in product.names)


def test_sensors_of_landsat_differ_in_nothing_but_the_file() -> None:
    """TM, ETM+ and OLI go through one table of common names."""
    product = PRODUCTS["landsat-c2-l2"]
    shared = {"blue", "green", "red", "nir", "swir1", "swir2"}
    assert {b.scale for b in product.bands if b.name in shared} == {2.75e-05}
    files = {s: [file_of(b, s) for b in product.bands if b.name in shared] for s in ("tm", "etm", "oli")}
    assert files["tm"] == files["etm"] == [f"SR_B{n}" for n in (1, 2, 3, 4, 5, 7)]
    assert files["oli"] == [f"SR_B{n}" for n in (2, 3, 4, 5, 6, 7)]
    for sensor in ("tm", "etm", "oli"):
        named = [file_of(band, sensor) for band in bands_of(product, sensor)]
        assert len(named) == len(set(named))
    assert {b.name for b in record_bands(product, "oli")} == LAYERS["landsat-c2-l2"] - {"atmos_opacity"}
    assert {b.name for b in record_bands(product, "tm")} == LAYERS["landsat-c2-l2"] - {"qa_aerosol"}


@pytest.mark.parametrize(
    ("product", "band", "dn", "value"),
    [
        ("landsat-c2-l2", "red", 18639, 0.31257),
        ("landsat-c2-l2", "red", 7273, 0.0),
        ("landsat-c2-l2", "red", 43636, 1.0),
        ("landsat-c2-l2", "thermal", 44947, 302.63),
        ("mod11a2-061", "lst_day", 15000, 300.0),
        ("mod11a2-061", "view_angle_day", 65, 0.0),
        ("vnp21a2-002", "emis_14", 255, 1.0),
        ("mod13q1-061", "ndvi", 10000, 1.0),
        ("sentinel-2-l2a", "red", 10000, 1.0),
        ("jrc-gsw-v1-4", "change", 0, -100),
    ],
)
def test_known_values(product: str, band: str, dn: int, value: float) -> None:
    row = next(b for b in PRODUCTS[product].bands if b.name == band)
    assert row.scale is not None
    assert row.offset is not None
    assert math.isclose(row.scale * dn + row.offset, value, abs_tol=row.scale / 2)


def test_sinusoidal_tiles_fit_the_sphere() -> None:
    """A tile is 10 degrees of a sphere of radius 6371007.181 m."""
    tile = 6371007.181 * math.pi / 18
    for product in PRODUCTS.values():
        if product.grid.kind == "sinusoidal":
            assert product.grid.pixels is not None
            assert math.isclose(product.grid.cell * product.grid.pixels, tile, abs_tol=1e-3)


def test_sentinel_2_offset_begins_with_baseline_4() -> None:
    for baseline, offset in PRODUCTS["sentinel-2-l2a"].baselines.items():
        assert offset == (0 if baseline < "04.00" else -1000)


def test_two_fills_of_viirs_indices() -> None:
    assert set(next(b for b in PRODUCTS["vnp13a1-002"].bands if b.name == "ndvi").fill) == {-15000, -13000}


def test_a_layer_with_a_valid_zero_has_no_fill_of_zero() -> None:
    """Definitions, "region mask": QC_Day and flags get a mask value of their own, or none."""
    for name in ("mod11a2-061", "myd11a2-061", "vnp21a2-002"):
        for band in PRODUCTS[name].bands:
            if band.name.startswith("qc_"):
                assert band.fill == ()
                assert band.mask_value == 3
