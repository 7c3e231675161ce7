"""What becomes of single items: products, refusals, contradictions, flags, and any JSON at all."""

import datetime as dt
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from earthrecord.archive import catalog, stac
from earthrecord.archive.footprint import footprint
from earthrecord.archive.hrefs import Base
from earthrecord.archive.scenes import table
from earthrecord.products import registry

PRODUCTS = registry.load()
READER = stac.Reader(PRODUCTS, catalog.load())
NOWHERE = Base(Path("/nowhere/items.json"))
SCENE = "LC08_L2SP_047027_20201204_20210313_02_T1"
FILES = {
    "blue": "SR_B2", "green": "SR_B3", "red": "SR_B4", "nir08": "SR_B5", "swir16": "SR_B6", "swir22": "SR_B7",
    "qa_pixel": "QA_PIXEL", "qa_radsat": "QA_RADSAT", "qa_aerosol": "SR_QA_AEROSOL",
}  # fmt: skip


def landsat(**properties: Any) -> dict[str, Any]:
    """An item of Landsat Collection 2 Level-2 as Planetary Computer lists it."""
    told = {
        "datetime": "2020-12-04T19:02:11.194486Z", "platform": "landsat-8", "instruments": ["oli", "tirs"],
        "landsat:wrs_path": "047", "landsat:wrs_row": "027", "landsat:collection_number": "02",
        "landsat:collection_category": "T1", "landsat:correction": "L2SP", "proj:epsg": 32610,
        "proj:shape": [7971, 7861], "proj:transform": [30, 0, 353685, 0, -30, 5374215, 0, 0, 1],
    }  # fmt: skip
    assets = {
        key: {
            "href": f"https://landsateuwest.blob.core.windows.net/{SCENE}/{SCENE}_{file}.TIF",
            "type": "image/tiff",
        }
        for key, file in FILES.items()
    }
    ring = [[-124.3, 48.5], [-121.8, 48.1], [-122.4, 46.4], [-124.9, 46.8], [-124.3, 48.5]]
    return {
        "type": "Feature", "stac_version": "1.0.0", "id": "LC08_L2SP_047027_20201204_02_T1",
        "collection": "landsat-c2-l2", "geometry": {"type": "Polygon", "coordinates": [ring]},
        "properties": told | properties, "assets": assets, "links": [],
    }  # fmt: skip


def sentinel(product: str = "S2A_MSIL2A_20200302T102021_N0500_R065_T32TMT_20230618T173704") -> dict[str, Any]:
    """An item of Sentinel-2 Level-2A as Earth Search lists it."""
    layers = {"blue": 2, "green": 3, "red": 4, "nir": 8, "swir16": 11, "swir22": 12}
    hrefs = {key: f"B{number:02}" for key, number in layers.items()} | {"nir08": "B8A", "scl": "SCL"}
    offset = [{"scale": 0.0001, "offset": -0.1}]
    return {
        "type": "Feature", "stac_version": "1.0.0", "id": "S2A_32TMT_20200302_1_L2A", "collection": "sentinel-2-l2a",
        "geometry": None,
        "properties": {
            "datetime": "2020-03-02T10:27:44.564Z", "platform": "sentinel-2a", "s2:product_uri": f"{product}.SAFE",
            "s2:datastrip_id": "S2A_OPER_MSI_L2A_DS_S2RP_20230618T173704_S20200302T102554_N05.00",
        },
        "assets": {
            key: {"href": f"https://x.org/S2A_32TMT_20200302_1_L2A/{name}.tif"}
            | ({} if key == "scl" else {"raster:bands": offset})
            for key, name in hrefs.items()
        },
        "links": [{"rel": "root", "href": "https://earth-search.aws.element84.com/v1"}],
    }  # fmt: skip


def row(item: dict[str, Any], base: Base = NOWHERE) -> dict[str, Any]:
    return table([READER.row(item, base)]).row(0, named=True)


def refused(item: dict[str, Any]) -> str:
    reason = row(item)["refused"]
    assert isinstance(reason, str)
    return reason


def test_a_sound_item_is_a_whole_row() -> None:
    found = row(landsat())
    assert (found["refused"], found["flags"], found["catalogue"]) == (None, [], "planetary-computer")
    assert (found["scene"], found["item"]) == (SCENE, "LC08_L2SP_047027_20201204_02_T1")
    assert (found["path"], found["row"], found["level"], found["tier"]) == (47, 27, "L2SP", "T1")
    assert found["processed"] == dt.datetime(2021, 3, 13, tzinfo=dt.UTC)
    assert found["transform"] == [30, 0, 353685, 0, -30, 5374215]
    assert found["footprint"].startswith("POLYGON ((-124.3 48.5, ")


@pytest.mark.parametrize(
    ("spelling", "platform"),
    [("LANDSAT_8", "landsat-8"), ("Landsat 8", "landsat-8"), ("landsat-8", "landsat-8"), (None, "landsat-8")],
)
def test_platforms_are_spelled_in_many_ways(spelling: str | None, platform: str) -> None:
    found = row(landsat(platform=spelling))
    assert (found["platform"], found["sensor"]) == (platform, "oli")


@pytest.mark.parametrize("spelling", ["Sentinel-2A", "SENTINEL 2A", "Sentinel 2", "S2A", None])
def test_a_vague_platform_is_told_by_the_scene(spelling: str | None) -> None:
    item = sentinel()
    item["properties"]["platform"] = spelling
    assert row(item)["platform"] == "sentinel-2a"


@pytest.mark.parametrize(
    ("property_", "value", "reason"),
    [
        ("landsat:collection_number", "01", "Collection 1"),
        ("landsat:collection_number", 1, "Collection 1"),
        ("landsat:correction", "L1TP", "Level-1"),
        ("landsat:collection_category", "RT", "real-time tier"),
        ("instruments", ["mss"], "MSS"),
        ("platform", "landsat-9", "several satellites: landsat-8, landsat-9"),
        ("landsat:wrs_row", "028", "the item tells of row 28, its files of 27"),
        ("landsat:collection_category", "T2", "the item tells of tier T2, its files of T1"),
        ("datetime", "2020-12-20T19:02:11Z", "the item is of 2020-12-20, its files are of 2020-12-04"),
    ],
)
def test_what_is_not_the_scene_is_refused_with_the_reason(property_: str, value: Any, reason: str) -> None:
    assert reason in refused(landsat(**{property_: value}))


def test_files_of_two_scenes_are_no_scene() -> None:
    item = landsat()
    item["assets"]["red"]["href"] = item["assets"]["red"]["href"].replace("047027", "047028")
    assert "several scenes" in refused(item)


def test_a_key_and_a_file_that_disagree_are_refused() -> None:
    item = landsat()
    item["assets"]["red"]["href"] = item["assets"]["nir08"]["href"]
    assert refused(item).startswith("asset 'red' is red, but its file")


@pytest.mark.parametrize(
    ("member", "value"), [("assets", {}), ("assets", None), ("assets", "x"), ("properties", None)]
)
def test_an_item_without_its_members_is_refused(member: str, value: Any) -> None:
    assert refused(landsat() | {member: value}) == f"the item has no {member}"


@pytest.mark.parametrize("value", [None, "", "soon", 20])
def test_an_item_without_a_date_is_refused(value: Any) -> None:
    item = sentinel()
    item["properties"] |= {"datetime": value, "s2:product_uri": None}
    item["assets"] = {key: {"href": f"https://x.org/{key}.tif"} for key in item["assets"]}
    assert "the item has no date" in refused(item)


def test_an_unknown_collection_is_refused_and_tells_how_to_add_it() -> None:
    item = landsat() | {"collection": "naip", "assets": {"image": {"href": "https://x.org/m_4.tif"}}}
    assert refused(item) == "no product of the table has collection naip; add one: docs/add-a-product.md"


def test_a_level_1c_item_is_refused() -> None:
    item = sentinel()
    item["properties"]["s2:product_type"] = "S2MSI1C"
    assert "Level-1C" in refused(item)


@pytest.mark.parametrize(
    ("spelling", "baseline", "flags"),
    [
        ("05.00", "05.00", []),
        ("0500", "05.00", []),
        ("5.00", "05.00", []),
        ("07.77", "07.77", ["unknown-baseline"]),
    ],
)
def test_processing_baselines(spelling: str, baseline: str, flags: list[str]) -> None:
    item = sentinel()
    item["properties"]["s2:processing_baseline"] = spelling
    found = row(item)
    assert (found["baseline"], found["flags"]) == (baseline, flags)


def test_a_product_id_of_another_satellite_is_refused() -> None:
    other = sentinel("S2B_MSIL2A_20200302T102021_N0500_R065_T32TMT_20230618T173704")
    assert refused(other).endswith("several satellites: sentinel-2a, sentinel-2b")


def test_the_product_id_tells_what_the_properties_do_not() -> None:
    found = row(sentinel())
    assert found["datatake"] == dt.datetime(2020, 3, 2, 10, 20, 21, tzinfo=dt.UTC)
    assert found["processed"] == dt.datetime(2023, 6, 18, 17, 37, 4, tzinfo=dt.UTC)
    assert (found["baseline"], found["tile"]) == ("05.00", "32TMT")


@pytest.mark.parametrize(
    ("layer", "offset"),
    [
        ({"raster:bands": [{"scale": 0.0001, "offset": -0.1}]}, -1000),
        ({"raster:scale": 0.0001, "raster:offset": -0.1}, -1000),
        ({"bands": [{"name": "B04", "raster:scale": 0.0001, "raster:offset": -0.7}]}, -7000),
        ({"raster:bands": [{"scale": 0.0001, "offset": 0}]}, 0),
        ({"raster:bands": [{"offset": -0.1}]}, -1000),
        ({"raster:bands": [{"nodata": 0}]}, None),
        ({"raster:bands": [{"scale": 0.0001, "offset": float("nan")}]}, None),
        ({}, None),
    ],
)
def test_offsets_in_all_spellings(layer: dict[str, Any], offset: int | None) -> None:
    item = sentinel()
    item["assets"] = {key: {"href": asset["href"]} | layer for key, asset in item["assets"].items()}
    assert row(item)["offset"] == offset


def test_offsets_that_differ_between_layers_are_flagged() -> None:
    item = sentinel()
    item["assets"]["red"]["raster:bands"] = [{"scale": 0.0001, "offset": 0}]
    found = row(item)
    assert (found["offset"], found["flags"]) == (None, ["offset-differs"])


def test_the_finest_record_layer_tells_the_grid() -> None:
    item = sentinel()
    for key, cell in {"scl": 20, "red": 10}.items():
        item["assets"][key] |= {
            "proj:code": "EPSG:32632", "proj:shape": [109800 // cell] * 2, "proj:transform": [cell, 0, 3, 0, -cell, 5],
        }  # fmt: skip
    found = row(item)
    assert (found["crs"], found["shape"]) == ("EPSG:32632", [10980, 10980])
    assert found["transform"] == [10, 0, 3, 0, -10, 5]


def test_an_unknown_provider_with_the_providers_file_names() -> None:
    """Assets named as the layers of the product, in a catalogue that nobody knows."""
    item = landsat() | {"collection": "my-landsat"}
    item["assets"] = {
        FILES[key]: {"href": f"s3://bucket/{SCENE}/{SCENE}_{FILES[key]}.TIF"} for key in item["assets"]
    }
    found = row(item)
    assert (found["refused"], found["catalogue"], found["product"]) == (None, "stac", "landsat-c2-l2")
    assert [file["band"] for file in found["files"]][:4] == ["blue", "green", "red", "nir"]


@pytest.mark.parametrize(
    "spelling", ["blue green red nir nir08 swir1 swir2 scl", "B02 B03 B04 B08 B8A B11 B12 SCL"]
)
def test_an_unknown_provider_with_common_names_as_keys(spelling: str) -> None:
    item = sentinel() | {"links": []}
    item["assets"] = {key: {"href": f"https://x.org/{n}.tif"} for n, key in enumerate(spelling.split())}
    found = row(item)
    assert (found["catalogue"], found["flags"]) == ("stac", [])
    names = [file["band"] for file in found["files"]]
    assert names == ["blue", "green", "red", "nir", "nir08", "swir1", "swir2", "scl"]
    assert [file["href"][-5] for file in found["files"]] == [str(n) for n in range(8)]


def test_of_several_cell_sizes_the_native_one_is_taken() -> None:
    item = sentinel() | {"links": [], "collection": "sentinel-2-l2a"}
    item["assets"] |= {
        "B04": {"href": "https://x.org/fine.tif", "gsd": 10},
        "red": {"href": "https://x.org/coarse.tif", "gsd": 60},
    }
    red = next(file for file in row(item)["files"] if file["band"] == "red")
    assert red["href"] == "https://x.org/fine.tif"


def granule(**assets: str) -> dict[str, Any]:
    return {
        "type": "Feature", "id": "MOD13Q1.A2022353.h12v11.061.2023006120000", "collection": "MOD13Q1_061",
        "geometry": None,
        "properties": {
            "datetime": "2022-12-19T00:00:00.000Z", "start_datetime": "2022-12-19T00:00:00.000Z",
            "end_datetime": "2023-01-03T23:59:59.000Z",
        },
        "assets": {key: {"href": href} for key, href in assets.items()},
        "links": [{"rel": "root", "href": "https://cmr.earthdata.nasa.gov/stac"}],
    }  # fmt: skip


HDF = "https://data.lpdaac.earthdatacloud.nasa.gov/MOD13Q1.A2022353.h12v11.061.2023006120000.hdf"


def test_a_granule_that_holds_all_layers() -> None:
    found = row(
        granule(**{"061/MOD13Q1": HDF, "metadata": f"{HDF}.xml", "browse": "https://x.org/BROWSE.1.jpg"})
    )
    assert (found["refused"], found["catalogue"], found["product"]) == (None, "cmr", "mod13q1-061")
    assert (found["flags"], found["date"]) == ([], dt.date(2022, 12, 19))
    assert found["end"] == dt.datetime(2023, 1, 3, tzinfo=dt.UTC)
    ndvi = found["files"][0]
    assert (ndvi["band"], ndvi["member"], ndvi["container"]) == ("ndvi", "250m 16 days NDVI", "hdf4")
    assert {file["href"] for file in found["files"]} == {HDF}


def test_a_raster_of_its_own_goes_before_the_granule() -> None:
    raster = HDF.replace(".hdf", "_250m_16_days_NDVI.tif")
    found = row(granule(hdf=HDF, ndvi=raster))
    ndvi, evi = found["files"][:2]
    assert (ndvi["href"], ndvi["container"], ndvi["member"]) == (raster, "tiff", None)
    assert (evi["href"], evi["container"]) == (HDF, "hdf4")


def test_an_item_of_a_products_own_table(tmp_path: Path) -> None:
    """A user's product needs no catalogue: its id is the collection, its names or layers the keys."""
    (tmp_path / "mine.toml").write_text(
        """
format = 1
id = "mine"
title = "My maps"
provider = "me"
group = "Mine"
licence = "none"
citation = "me"
attribution = "me"
grid = { kind = "any", cell = 10 }
duplicates = { key = ["tile", "date"] }
names = [{ pattern = '(?P<scene>map_(?P<date>\\d{8}))_(?P<layer>\\w+)', dates = { date = "%Y%m%d" } }]
bands = [{ name = "height", title = "Height", file = "hgt", record = true, dtype = "float32", source = "me" }]
[sources]
me = { title = "me" }
"""
    )
    reader = stac.Reader(registry.load([tmp_path]), catalog.load())
    item = {
        "id": "a",
        "collection": "mine",
        "properties": {"datetime": "2020-01-01"},
        "assets": {"height": {"href": "h.tif"}},
    }
    found = reader.row(item, Base(tmp_path / "items.json"))
    assert (found.get("refused"), found["product"], found["files"][0]["band"]) == (None, "mine", "height")
    item = {
        "id": "a",
        "properties": {"datetime": "2020-01-01"},
        "assets": {"x": {"href": "map_20200101_hgt.tif"}},
    }
    found = reader.row(item, Base(tmp_path / "items.json"))
    assert (found["product"], found["scene"], found["files"][0]["band"]) == ("mine", "map_20200101", "height")


json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
PLACES: list[tuple[str, ...]] = [
    *((member,) for member in ("id", "collection", "geometry", "links", "assets", "properties")),
    *(("properties", key) for key in landsat()["properties"]),
    *(
        ("assets", "red", key)
        for key in ("href", "type", "alternate", "proj:transform", "file:size", "raster:bands")
    ),
    ("assets", "red"),
]


@settings(max_examples=300, deadline=None)
@given(place=st.sampled_from(PLACES), value=json, make=st.sampled_from(["landsat", "sentinel"]))
def test_no_value_at_any_place_is_more_than_a_refused_row(
    place: tuple[str, ...], value: Any, make: str
) -> None:
    item = landsat() if make == "landsat" else sentinel()
    inner = item
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = value
    found = row(item)
    assert found["refused"] or found["files"]


longitudes, latitudes = st.floats(-180, 180), st.floats(-80, 80)


@given(longitudes, latitudes, st.floats(0.1, 5), st.floats(0.1, 5))
def test_a_footprint_is_as_wide_as_the_scene_wherever_it_lies(x: float, y: float, w: float, h: float) -> None:
    import shapely

    corners = [(x, y), (x + w, y), (x + w, y + h), (x, y + h), (x, y)]
    told = [[lon - 360 if lon > 180 else lon, lat] for lon, lat in corners]
    shape = shapely.from_wkt(footprint({"type": "Polygon", "coordinates": [told]}))
    west, _, east, _ = shape.bounds
    assert east - west == pytest.approx(w, abs=1e-9)
    assert shape.area == pytest.approx(w * h, rel=1e-6)


@pytest.mark.parametrize(
    "geometry",
    [
        None, {}, {"type": "Point", "coordinates": [1, 2]}, {"type": "Polygon", "coordinates": []},
        {"type": "Polygon", "coordinates": [[[0, 0], [1, 1], [0, 0]]]}, {"type": "MultiPolygon", "coordinates": []},
        {"type": "Polygon", "coordinates": [[[0, 0], [1, 1], [float("nan"), 0], [0, 0]]]},
    ],
)  # fmt: skip
def test_what_is_no_polygon_is_no_footprint(geometry: Any) -> None:
    assert footprint(geometry) is None


def test_the_map_of_the_whole_globe_stays_as_it_is() -> None:
    globe = [[-180, -90], [180, -90], [180, 90], [-180, 90], [-180, -90]]
    told = footprint({"type": "Polygon", "coordinates": [globe]})
    assert told == "POLYGON ((-180.0 -90.0, 180.0 -90.0, 180.0 90.0, -180.0 90.0, -180.0 -90.0))"
