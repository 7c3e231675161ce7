"""Real catalogue items of five archives, read from metadata alone."""

import datetime as dt
import re
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from earthrecord.archive import catalog, items, stac
from earthrecord.archive.scenes import table
from earthrecord.products import registry

pytestmark = pytest.mark.real
PRODUCTS = registry.load()
Row = dict[str, Any]


def read(path: Path) -> list[Row]:
    """The rows, after they went through the scene table: every column has its type."""
    return table(stac.read_items(path, PRODUCTS)).to_dicts()


def utc(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)


def only(rows: list[Row], **wanted: Any) -> Row:
    (found,) = [row for row in rows if all(row[name] == value for name, value in wanted.items())]
    return found


@pytest.fixture(scope="module")
def duplicates(real: Path) -> list[Row]:
    return read(real / "stac-s2-duplicates-xcube")


def test_every_item_of_the_duplicates_is_a_whole_candidate(duplicates: list[Row]) -> None:
    assert len(duplicates) == 23
    assert {row["product"] for row in duplicates} == {"sentinel-2-l2a"}
    assert {row["refused"] for row in duplicates} == {None}
    assert {tuple(row["flags"]) for row in duplicates} == {()}
    assert {len(row["files"]) for row in duplicates} == {15}
    assert [row["order"] for row in duplicates] == list(range(23))


def test_one_scene_under_three_id_schemes(duplicates: list[Row]) -> None:
    catalogues = Counter(row["catalogue"] for row in duplicates)
    assert catalogues == {"earth-search-v1": 16, "copernicus-data-space": 6, "planetary-computer": 1}
    ours = only(duplicates, item="S2A_32TMT_20200302_1_L2A")
    assert ours["scene"] == "S2A_MSIL2A_20200302T102021_N0500_R065_T32TMT_20230618T173704"
    assert (ours["platform"], ours["sensor"], ours["tile"]) == ("sentinel-2a", "msi", "32TMT")
    assert (ours["baseline"], ours["sensing"]) == ("05.00", utc("2020-03-02T10:25:54"))
    assert (ours["datatake"], ours["generated"]) == (utc("2020-03-02T10:20:21"), utc("2023-06-18T17:37:04"))
    assert ours["start"] == utc("2020-03-02T10:27:44.564")
    assert (ours["crs"], ours["shape"]) == ("EPSG:32632", [10980, 10980])
    assert ours["transform"] == [10, 0, 399960, 0, -10, 5300040]
    planetary = only(duplicates, catalogue="planetary-computer")
    assert planetary["scene"] == "S2B_MSIL2A_20200705T101559_N0212_R065_T32TMT_20200825T083452"
    assert (planetary["platform"], planetary["baseline"]) == ("sentinel-2b", "02.12")
    copernicus = only(duplicates, item="S2B_MSIL2A_20200705T101559_N0500_R065_T32TMT_20230530T175912")
    assert (copernicus["scene"], copernicus["baseline"]) == (copernicus["item"], "05.00")
    assert copernicus["generated"] == utc("2023-05-30T17:59:12")
    assert copernicus["sensing"] == planetary["sensing"] == utc("2020-07-05T10:19:17")


def test_nine_pairs_and_no_more_are_one_acquisition(duplicates: list[Row]) -> None:
    """definitions, "duplicate, Sentinel-2": satellite, tile, datastrip sensing start within 10 s."""
    pairs = [
        (one, other)
        for one, other in combinations(duplicates, 2)
        if (one["platform"], one["tile"]) == (other["platform"], other["tile"])
        and abs(one["sensing"] - other["sensing"]) <= dt.timedelta(seconds=10)
    ]
    baselines = Counter(tuple(sorted((one["baseline"], other["baseline"]))) for one, other in pairs)
    assert baselines == {("02.14", "05.00"): 8, ("02.12", "05.00"): 1}
    assert len({row["item"] for pair in pairs for row in pair}) == 18


def test_offsets_stand_as_each_catalogue_tells_them(duplicates: list[Row]) -> None:
    """definitions, "Sentinel-2 offset": metadata and the catalogue's "applied" flag are kept apart."""
    told = Counter(
        (row["catalogue"], row["baseline"], row["offset"], row["offset_applied"]) for row in duplicates
    )
    assert told == {
        ("earth-search-v1", "02.14", 0, False): 8,
        ("earth-search-v1", "05.00", -1000, True): 8,
        ("copernicus-data-space", "05.00", -1000, None): 5,
        ("copernicus-data-space", "05.11", -1000, None): 1,
        ("planetary-computer", "02.12", None, None): 1,
    }


def test_layers_come_in_their_native_cell_size_and_in_one_form(duplicates: list[Row]) -> None:
    copernicus = only(duplicates, item="S2A_MSIL2A_20200703T103031_N0500_R108_T32TMT_20230613T212700")
    names = {
        file["band"]: file["href"].rpartition("_T32TMT_")[0] and file["href"][-11:-4]
        for file in copernicus["files"]
    }
    assert names["red"] == "B04_10m"
    assert names["scl"] == "SCL_20m"
    assert names["coastal"] == "B01_60m"
    red = copernicus["files"][2]
    assert (red["band"], red["container"], red["bytes"]) == ("red", "jp2", 110294059)
    assert red["href"].startswith("s3://eodata/")
    assert [file["band"] for file in copernicus["files"]][:8] == [
        "blue", "green", "red", "nir", "nir08", "swir1", "swir2", "scl",
    ]  # fmt: skip
    earth_search = [row for row in duplicates if row["catalogue"] == "earth-search-v1"]
    assert {file["container"] for row in earth_search for file in row["files"]} == {"tiff"}


def test_the_granule_folder_tells_the_same_sensing_start_as_the_datastrip(real: Path) -> None:
    """The reading that serves where an item names no datastrip, held to all items that name both."""
    seen = 0
    for folder in (
        "stac-s2-duplicates-xcube",
        "stac-items-rustac",
        "stac-items-odcstac",
        "sentinel2-stactools",
    ):
        for found in items.find(real / folder):
            properties = found.item["properties"]
            strip = properties.get("s2:datastrip_id") or properties.get("eopf:datastrip_id") or ""
            hrefs = "\n".join(catalog.Item(found.item).asset_hrefs)
            granule = re.search(r"/GRANULE/L2A_T\w{5}_A\d{6}_(\d{8}T\d{6})/", hrefs)
            if strip and granule:
                seen += 1
                assert f"_S{granule[1]}_" in strip
    assert seen > 100


@pytest.fixture(scope="module")
def landsat(real: Path) -> list[Row]:
    return read(real / "stac-items-rustac/100-landsat-items.parquet")


def test_a_hundred_landsat_scenes_of_three_satellites_and_two_tiers(landsat: list[Row]) -> None:
    assert Counter(row["tier"] for row in landsat) == {"T1": 97, "T2": 3}
    assert Counter(row["platform"] for row in landsat) == Counter(
        {"LC08": "landsat-8", "LC09": "landsat-9", "LE07": "landsat-7"}[row["item"][:4]] for row in landsat
    )
    assert Counter(row["sensor"] for row in landsat) == {"oli": 99, "etm": 1}
    assert {(row["path"], row["row"]) for row in landsat} == {(33, 32), (34, 32)}
    assert {row["refused"] for row in landsat} == {None}
    assert {tuple(row["flags"]) for row in landsat} == {()}


def test_processing_dates_come_from_the_files_where_ids_lack_them(landsat: list[Row]) -> None:
    for row in landsat:
        day = row["processed"].strftime("%Y%m%d")
        assert day not in row["item"].split("_")[3:4]
        assert row["scene"] == re.sub(r"_02_", f"_{day}_02_", row["item"])
        assert all(f"/{row['scene']}_" in file["href"] for file in row["files"])
        assert row["metadata"].endswith(f"{row['scene']}_MTL.json")


def test_layers_of_each_sensor_by_their_common_names(landsat: list[Row]) -> None:
    etm = only(landsat, sensor="etm")
    nir = next(file for file in etm["files"] if file["band"] == "nir")
    assert nir["href"].endswith("_SR_B4.TIF")
    assert {file["band"] for file in etm["files"]} >= {"atmos_opacity", "qa_pixel", "thermal"}
    oli = next(row for row in landsat if row["sensor"] == "oli" and row["level"] == "L2SP")
    nir = next(file for file in oli["files"] if file["band"] == "nir")
    assert nir["href"].endswith("_SR_B5.TIF")


def test_a_split_granule_is_two_rows_with_their_own_sensing_start(real: Path) -> None:
    rows = read(real / "stac-items-rustac/100-sentinel-2-items.parquet")
    assert len(rows) == 100
    halves = [row for row in rows if row["date"] == dt.date(2024, 5, 30) and row["tile"] == "13TDE"]
    assert sorted(row["sensing"] for row in halves) == [
        utc("2024-05-30T17:50:11"),
        utc("2024-05-30T18:02:49"),
    ]
    assert len({row["datatake"] for row in halves}) == 1
    assert {row["baseline"] for row in halves} == {"05.10"}
    assert {row["offset"] for row in rows} == {None}


def test_collection_1_items_of_earth_search(real: Path) -> None:
    rows = read(real / "stac-items-rustac/sentinel-2-c1-l2a-10-items.json")
    assert len(rows) == 10
    assert {(row["catalogue"], row["offset"], row["offset_applied"]) for row in rows} == {
        ("earth-search-v1", -1000, None)
    }
    first = only(rows, item="S2A_T13TDE_20240422T174753_L2A")
    assert first["sensing"] == utc("2024-04-22T17:47:53")
    assert {row["tile"] for row in rows} == {"13TDE"}
    assert first["scene"] == "S2A_MSIL2A_20240422T173911_N0510_R098_T13TDE_20240423T004950"


def test_a_line_that_comes_in_two_files_is_one_candidate(real: Path) -> None:
    rows = read(real / "stac-items-rustac")
    assert len(rows) == 210
    assert Counter(row["repeated"] for row in rows) == {0: 208, 1: 2}


def test_a_reprocessing_one_second_apart_has_one_sensing_start(real: Path) -> None:
    rows = read(real / "sentinel2-stactools")
    pair = [row for row in rows if row["tile"] == "01WCP"]
    assert [row["sensing"] for row in pair] == [utc("2023-06-25T23:46:24")] * 2
    assert [row["generated"] for row in pair] == [utc("2023-06-26T02:21:57")] * 2
    assert [row["processed"] for row in pair] == [utc("2023-06-26T02:21:57"), utc("2023-06-26T02:21:58")]
    assert len({row["scene"] for row in pair}) == 2


def test_offsets_of_single_products_are_read_not_assumed(real: Path) -> None:
    rows = read(real / "sentinel2-stactools")
    odd = only(rows, tile="34LBQ")
    assert odd["offset"] == -7000
    others = {(row["baseline"], row["offset"]) for row in rows if row is not odd}
    assert others == {
        ("02.11", 0), ("02.12", 0), ("02.14", 0),
        ("04.00", -1000), ("05.00", -1000), ("05.09", -1000), ("05.10", -1000),
    }  # fmt: skip


def test_relative_links_that_lead_nowhere_are_kept_and_flagged(real: Path) -> None:
    rows = read(real / "sentinel2-stactools")
    assert {tuple(row["flags"]) for row in rows} == {("broken-href",)}
    assert all(Path(file["href"]).is_absolute() for row in rows for file in row["files"])


def test_footprints_at_the_antimeridian(real: Path) -> None:
    rows = read(real / "sentinel2-stactools")
    assert only(rows, tile="01WCS")["footprint"].startswith("MULTIPOLYGON (((180.0 ")
    crossing = only(read(real / "landsat-c2l2-stactools/metadata"), path=84, row=24)
    longitudes = [float(x) for x in re.findall(r"[(,] ?\(*(-?[\d.]+) ", crossing["footprint"])]
    assert max(longitudes) - min(longitudes) < 3


def test_broken_link_of_one_layer_leaves_the_others(real: Path) -> None:
    """data/real README: an asset with a temporary path of the provider's machine."""
    row = only(read(real / "stac-items-odcstac"), item="LC08_L2SR_081119_20200101_20200823_02_T2")
    assert row["flags"] == ["broken-href"]
    assert "blue" not in {file["band"] for file in row["files"]}
    assert all(file["href"].startswith("https://landsatlook.usgs.gov/") for file in row["files"])


def test_another_countrys_reflectance_is_refused_with_the_reason(real: Path) -> None:
    row = only(read(real / "stac-items-odcstac"), catalogue="dea")
    assert row["product"] is None
    assert "not Landsat Collection 2 Level-2" in row["refused"]


def test_items_of_the_first_earth_search(real: Path) -> None:
    rows = [*read(real / "sentinel2-l2a-riotilerpds"), *read(real / "stac-items-odcstac")]
    rows = [row for row in rows if row["catalogue"] == "earth-search-v0"]
    assert {(row["tile"], row["baseline"]) for row in rows} == {
        ("29RKH", "02.14"), ("31NBJ", "02.12"), ("28QCH", "02.14"),
    }  # fmt: skip
    assert only(rows, tile="28QCH")["datatake"] == utc("2020-07-14T11:52:21")
    assert only(rows, tile="31NBJ")["sensing"] is None
    # Files that lie beside items of two scenes and carry the name of neither are nobody's.
    assert all(file["href"].startswith("https://") for row in rows for file in row["files"])


def test_reflectance_and_temperature_items_of_one_scene_are_one_candidate(real: Path) -> None:
    rows = read(real / "landsat-c2l2-stactools/metadata")
    both = only(rows, scene="LT05_L2SP_010067_19860424_20200918_02_T2")
    assert (both["item"], both["repeated"]) == ("LT05_L2SP_010067_19860424_20200918_02_T2_SR", 1)
    assert {"red", "thermal", "st_qa"} <= {file["band"] for file in both["files"]}
    assert both["files"][0]["band"] == "blue"
    alone = only(rows, scene="LT05_L2SR_087017_20090621_20200827_02_T2")
    assert (alone["level"], alone["repeated"], alone["flags"]) == ("L2SR", 0, [])


def test_items_of_stac_0_7_with_a_day_and_no_time(real: Path) -> None:
    row = only(read(real / "landsat-c2l2-riotilerpds"), product="landsat-c2-l2")
    assert (row["start"], row["date"]) == (utc("2020-10-31"), dt.date(2020, 10, 31))
    assert (row["platform"], row["path"], row["row"], row["tier"]) == ("landsat-8", 1, 62, "T2")
    red = next(file for file in row["files"] if file["band"] == "red")
    assert Path(red["href"]).is_file()  # the file of that name beside the item, not the remote one
    coastal = next(file for file in row["files"] if file["band"] == "coastal")
    assert coastal["href"].startswith("https://")


def test_level_1_and_mss_are_refused(real: Path) -> None:
    rows = [row for row in read(real / "landsat-c2l2-stactools") if row["item"].startswith("LM")]
    assert len(rows) == 6
    assert all("Level-1" in row["refused"] for row in rows)


def test_modis_periods_and_production_times(real: Path) -> None:
    rows = read(real / "modis-stactools")
    vegetation = only(rows, product="mod13q1-061")
    assert (vegetation["platform"], vegetation["sensor"], vegetation["tile"]) == ("terra", "modis", "h12v11")
    assert (vegetation["date"], vegetation["end"]) == (dt.date(2022, 1, 17), utc("2022-02-01"))
    assert vegetation["processed"] == utc("2022-02-03T23:24:00")
    assert vegetation["scene"] == "MOD13Q1.A2022017.h12v11.061.2022034232400"
    assert vegetation["crs"].startswith("PROJCRS")
    assert vegetation["shape"] == [4800, 4800]
    assert {file["container"] for file in vegetation["files"]} == {"tiff"}
    assert only(rows, product="myd11a2-061")["platform"] == "aqua"
    assert only(rows, product="mcd64a1-061")["platform"] is None


def test_modis_and_viirs_of_other_versions_are_refused(real: Path) -> None:
    rows = [*read(real / "modis-stactools"), *read(real / "viirs-stactools")]
    reasons = {row["item"].split(".")[0]: row["refused"] for row in rows if row["refused"]}
    assert set(reasons) == {"MCD12Q1", "MOD21A2", "MYD21A2", "MYD10A2", "VNP10A1", "VNP13A1", "VNP21A2"}
    assert "another MODIS collection than 061" in reasons["MCD12Q1"]
    assert "version 001" in reasons["VNP13A1"]
    assert reasons["MOD21A2"] == (
        "no product of the table has collection modis-21A2-061; add one: docs/add-a-product.md"
    )


def test_a_collection_whose_items_are_not_there_tells_so(real: Path) -> None:
    rows = read(real / "landsat-c2l2-stactools/stac-items/collection.json")
    assert len(rows) == 5
    assert all("which is not there" in row["refused"] for row in rows)
