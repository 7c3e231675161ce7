"""Searching sources of every kind, and the frozen scene table."""

from __future__ import annotations

import datetime as dt
import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from earthrecord.archive import scenes
from earthrecord.archive.search import read, search, search_all, write
from earthrecord.errors import BadSource, EmptySource
from earthrecord.products.registry import load

PRODUCTS = load()
OLI = "LC08_L2SP_230077_20190712_20200827_02_T1"
TILE = "ESA_WorldCover_10m_2020_v100_N00E006"
LAYERS = {"red": "SR_B4", "nir08": "SR_B5", "qa_pixel": "QA_PIXEL"}


def landsat(root: Path, scene: str = OLI) -> list[Path]:
    """Files of a scene, in a folder of its name."""
    paths = [root / scene / f"{scene}_{layer}.TIF" for layer in LAYERS.values()]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"raster")
    return paths


def item(href: str, scene: str = OLI) -> dict[str, Any]:
    """A STAC item; `href` has a place for the layer's name."""
    return {
        "type": "Feature",
        "stac_version": "1.0.0",
        "id": scene,
        "collection": "landsat-c2-l2",
        "geometry": {"type": "Polygon", "coordinates": [[[-64, -25], [-62, -25], [-62, -23], [-64, -25]]]},
        "properties": {"datetime": "2019-07-12T14:08:01Z", "platform": "landsat-8", "instruments": ["oli", "tirs"]},
        "assets": {key: {"href": href.format(layer), "type": "image/tiff; application=geotiff"} for key, layer in LAYERS.items()},
        "links": [],
    }  # fmt: skip


def saved(path: Path, *items: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = path.suffix == ".ndjson"
    text = "\n".join(map(json.dumps, items)) if lines else json.dumps(items[0])
    path.write_text(text, "utf-8")
    return path


def test_a_folder_of_rasters(tmp_path: Path) -> None:
    landsat(tmp_path)
    found = search(tmp_path, PRODUCTS)
    assert found.schema == scenes.SCENES
    assert found.select("order", "scene", "date").row(0) == (0, OLI, dt.date(2019, 7, 12))


def test_a_path_may_be_text_with_a_tilde_or_a_slash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    landsat(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    frames = [
        search(source, PRODUCTS) for source in (str(tmp_path), f"{tmp_path}/", "~", ".", f"{tmp_path}/x/..")
    ]
    for frame in frames:
        assert frame.equals(frames[0]), "hrefs are absolute whatever way the source was named"


@pytest.mark.parametrize("name", ["items.json", "items.ndjson"])
def test_a_file_of_items(tmp_path: Path, name: str) -> None:
    path = saved(tmp_path / name, item(f"https://example.org/{OLI}/{OLI}_{{}}.TIF"))
    row = search(path, PRODUCTS).to_dicts()[0]
    assert (row["scene"], row["refused"]) == (OLI, None)
    assert {file["href"].rpartition("_")[2] for file in row["files"]} == {"B4.TIF", "B5.TIF", "PIXEL.TIF"}


def test_items_beside_their_rasters_list_nothing_twice(tmp_path: Path) -> None:
    paths = landsat(tmp_path)
    saved(tmp_path / "catalogue" / f"{OLI}.json", item(f"../{OLI}/{OLI}_{{}}.TIF"))
    (row,) = search(tmp_path, PRODUCTS).to_dicts()
    assert sorted(file["href"] for file in row["files"]) == sorted(map(str, paths))
    assert row["metadata"] == str(tmp_path / "catalogue" / f"{OLI}.json")
    assert (row["start"].hour, row["flags"]) == (14, [])


def test_items_that_point_to_renamed_rasters_win(tmp_path: Path) -> None:
    for layer in LAYERS.values():
        (tmp_path / f"{layer}.tif").write_bytes(b"raster")
    saved(tmp_path / "a.json", item("{}.tif"))
    (row,) = search(tmp_path, PRODUCTS).to_dicts()
    assert {file["band"] for file in row["files"]} == {"red", "nir", "qa_pixel"}
    assert all(Path(file["href"]).is_file() for file in row["files"])


def test_downloaded_rasters_beside_an_item_with_remote_links_are_read_here(tmp_path: Path) -> None:
    paths = landsat(tmp_path)
    saved(tmp_path / OLI / f"{OLI}_SR_stac.json", item(f"https://landsatlook.usgs.gov/{OLI}/{OLI}_{{}}.TIF"))
    (row,) = search(tmp_path, PRODUCTS).to_dicts()
    assert sorted(file["href"] for file in row["files"]) == sorted(map(str, paths))
    assert row["flags"] == []


def test_an_mtl_in_json_is_no_item(tmp_path: Path) -> None:
    landsat(tmp_path)
    groups = {
        "PRODUCT_CONTENTS": {"LANDSAT_PRODUCT_ID": OLI},
        "IMAGE_ATTRIBUTES": {"DATE_ACQUIRED": "2019-07-12"},
    }
    (tmp_path / OLI / f"{OLI}_MTL.json").write_text(json.dumps({"LANDSAT_METADATA_FILE": groups}))
    (row,) = search(tmp_path, PRODUCTS).to_dicts()
    assert (row["metadata"], row["refused"]) == (str(tmp_path / OLI / f"{OLI}_MTL.json"), None)


@pytest.mark.parametrize("name", [f"{OLI}_MTL.json", f"._{OLI}_SR_stac.json"])
def test_a_broken_file_that_is_no_item_is_told_once_or_not_at_all(tmp_path: Path, name: str) -> None:
    landsat(tmp_path)
    (tmp_path / OLI / name).write_text('{"cut')
    (row,) = search(tmp_path, PRODUCTS).to_dicts()
    assert (row["refused"] is None) == name.startswith(".")


def test_tables_and_json_of_other_things_are_passed_over(tmp_path: Path) -> None:
    landsat(tmp_path)
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "ledger.parquet")
    (tmp_path / "settings.json").write_text('{"a": 1}')
    (tmp_path / "log.ndjson").write_text('{"a": 1}\n{"b": 2}\n')
    point = {"type": "Feature", "properties": {}, "geometry": {"type": "Point", "coordinates": [0, 0]}}
    (tmp_path / "roads.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": [point]}))
    assert search(tmp_path, PRODUCTS)["scene"].to_list() == [OLI]


def test_a_broken_item_among_rasters_is_told(tmp_path: Path) -> None:
    landsat(tmp_path)
    (tmp_path / "item.json").write_text('{"type": "Feature", "stac_ver')
    found = search(tmp_path, PRODUCTS)
    assert found.height == 2
    assert str(tmp_path / "item.json") in found["refused"][1]


def test_several_sources_are_one_table(tmp_path: Path) -> None:
    landsat(tmp_path / "one")
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / f"{TILE}_Map.tif").write_bytes(b"raster")
    found = search_all([tmp_path / "two", tmp_path / "one"], PRODUCTS)
    assert found.select("order", "scene").rows() == [(0, TILE), (1, OLI)]


def test_a_source_named_twice_is_told_in_repeated(tmp_path: Path) -> None:
    """Definitions, "order of rules": a catalogue line that comes twice is one candidate."""
    landsat(tmp_path)
    (tmp_path / "LC08_L1TP_014031_20180106_20180119_01_T1.tar").write_bytes(b"x")
    found = search_all([tmp_path, str(tmp_path), f"{tmp_path}/."], PRODUCTS)
    assert found.select("scene", "repeated").rows() == [
        ("LC08_L1TP_014031_20180106_20180119_01_T1", 2),
        (OLI, 2),
    ]


def test_lines_that_come_twice_are_one_candidate(tmp_path: Path) -> None:
    line = item(f"https://example.org/{OLI}/{OLI}_{{}}.TIF")
    found = search(saved(tmp_path / "items.ndjson", line, line, line), PRODUCTS)
    assert found.select("scene", "repeated").rows() == [(OLI, 2)]


def test_a_refused_item_in_two_sources_is_one_row(tmp_path: Path) -> None:
    other = item("https://example.org/{}.TIF", "some-other-thing") | {"collection": "unheard-of"}
    path = saved(tmp_path / "items.ndjson", other, item(f"https://example.org/{OLI}/{OLI}_{{}}.TIF"))
    found = search_all([path, path], PRODUCTS)
    assert found.select("item", "repeated").rows() == [("some-other-thing", 1), (OLI, 1)]


def test_one_scene_in_two_archives_is_two_candidates(tmp_path: Path) -> None:
    landsat(tmp_path / "one")
    landsat(tmp_path / "two")
    found = search_all([tmp_path / "one", tmp_path / "two"], PRODUCTS)
    assert found.select("scene", "repeated").rows() == [(OLI, 0), (OLI, 0)]


def test_one_raster_is_a_source(tmp_path: Path) -> None:
    path = landsat(tmp_path)[0]
    (row,) = search(path, PRODUCTS).to_dicts()
    assert [file["href"] for file in row["files"]] == [str(path)]


def test_one_archive_file_is_told_to_be_unpacked(tmp_path: Path) -> None:
    path = tmp_path / f"{OLI}.tar"
    path.write_bytes(b"x")
    (row,) = search(path, PRODUCTS).to_dicts()
    assert "unpack it first" in row["refused"]


@pytest.mark.parametrize("source", ["https://example.org/stac", "s3://bucket/key"])
def test_a_source_on_the_network_is_told_to_be_saved(source: str) -> None:
    with pytest.raises(BadSource, match="lies on the network: save its items to disk first"):
        search(source, PRODUCTS)


def test_a_source_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(BadSource, match=rf"{tmp_path}/none does not exist"):
        search(tmp_path / "none", PRODUCTS)


def test_an_empty_folder_says_so(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    with pytest.raises(EmptySource, match="holds no file; give the folder"):
        search(tmp_path, PRODUCTS)


def test_a_folder_of_other_things_says_what_it_saw(tmp_path: Path) -> None:
    for name in ("a.tif", "b.tif", "c.csv", "d.TIF.part"):
        (tmp_path / name).write_bytes(b"x")
    with pytest.raises(EmptySource) as caught:
        search(tmp_path, PRODUCTS)
    told = str(caught.value)
    assert "none of 3 files (2 .tif, 1 .csv; 1 unfinished download)" in told
    assert "--products" in told
    assert caught.value.exit_code == 3


def test_a_folder_of_look_alikes_is_not_empty(tmp_path: Path) -> None:
    landsat(tmp_path, "LC08_L1TP_230077_20190712_20200827_02_T1")
    assert search(tmp_path, PRODUCTS)["refused"].null_count() == 0


def test_a_file_of_no_items_says_so(tmp_path: Path) -> None:
    path = saved(tmp_path / "items.json", {"type": "FeatureCollection", "features": []})
    with pytest.raises(EmptySource, match="holds no STAC item"):
        search(path, PRODUCTS)
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(EmptySource, match=r"none of 1 files \(1 .txt\)"):
        search(tmp_path / "notes.txt", PRODUCTS)


# --- the frozen table --------------------------------------------------------------------------------------


def test_what_is_written_is_read(tmp_path: Path) -> None:
    landsat(tmp_path / "archive")
    found = search(tmp_path / "archive", PRODUCTS)
    path = tmp_path / "work/site/scenes.parquet"
    write(found, path)
    assert read(path).equals(found)
    assert [file.name for file in path.parent.iterdir()] == ["scenes.parquet"]


def test_the_same_search_is_the_same_file(tmp_path: Path) -> None:
    landsat(tmp_path / "archive")
    for name in ("a", "b"):
        write(search(tmp_path / "archive", PRODUCTS), tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    landsat(tmp_path / "archive")
    found = search(tmp_path / "archive", PRODUCTS)
    write(found, tmp_path / "scenes.parquet")
    before = (tmp_path / "scenes.parquet").read_bytes()

    def full(self: pl.DataFrame, file: Path, **_: object) -> None:
        Path(file).write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pl.DataFrame, "write_parquet", full)
    with pytest.raises(OSError, match="No space left"):
        write(found, tmp_path / "scenes.parquet")
    assert (tmp_path / "scenes.parquet").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["archive", "scenes.parquet"]


def test_a_table_of_another_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "scenes.parquet"
    scenes.table([]).write_parquet(path, metadata={"earthrecord.scenes": "99"})
    with pytest.raises(BadSource, match=r"is format 99; this version reads format 1: search again"):
        read(path)


def test_other_files_are_no_scene_tables(tmp_path: Path) -> None:
    path = tmp_path / "scenes.parquet"
    with pytest.raises(BadSource, match="does not exist: search first"):
        read(path)
    path.write_bytes(b"PAR1 and then nothing")
    with pytest.raises(BadSource, match="is no scene table, or damaged"):
        read(path)
    pl.DataFrame({"a": [1]}).write_parquet(path)
    with pytest.raises(BadSource, match="is no scene table of EarthRecord"):
        read(path)


# --- real archives -----------------------------------------------------------------------------------------


def by_scene(frame: pl.DataFrame) -> dict[str, dict[str, Any]]:
    return {row["scene"]: row for row in frame.to_dicts()}


LOCAL = {
    "LC08_L2SP_005009_20150710_20200908_02_T2": ("EPSG:32624", [8821, 8791], 7),
    "LC08_L2SP_008059_20191201_20200825_02_T1": ("EPSG:32618", [7741, 7591], 7),
    "LC08_L2SP_017036_20130419_20200913_02_T2": ("EPSG:32617", [7441, 7921], 7),
    "LC08_L2SR_099120_20191129_20201016_02_T2": ("EPSG:3031", [9011, 9031], 5),
}


def raster_bands(row: dict[str, Any]) -> int:
    return sum(
        file["band"] in ("blue", "green", "red", "nir", "swir1", "swir2", "qa_pixel") for file in row["files"]
    )


@pytest.mark.real
def test_real_landsat_with_mtl(real: Path) -> None:
    found = search(real / "landsat-c2l2-stactools", PRODUCTS)
    here = by_scene(
        found.filter(pl.col("metadata").str.starts_with(str(real)), pl.col("flags").list.len() == 0)
    )
    assert set(here) == set(LOCAL)
    for scene, (crs, shape, _) in LOCAL.items():
        row = here[scene]
        assert (row["crs"], row["shape"], row["flags"], row["repeated"], row["refused"]) == (
            crs,
            shape,
            [],
            0,
            None,
        )
        assert all(Path(file["href"]).stat().st_size == file["bytes"] for file in row["files"])
        assert raster_bands(row) == 6, "blue is not there"
    mss = found.filter(pl.col("scene").str.starts_with("LM"))
    assert mss.height == 7
    assert mss["refused"].str.contains("MSS").all()


@pytest.mark.real
@pytest.mark.parametrize("drop", [("txt",), ("json",), ("txt", "json"), ("stac",), ("txt", "json", "stac")])
def test_real_landsat_whatever_metadata_are_left(real: Path, tmp_path: Path, drop: tuple[str, ...]) -> None:
    def left_out(folder: str, names: list[str]) -> set[str]:
        gone = {name for name in names if name.endswith(tuple(f"_MTL.{form}" for form in drop))}
        return gone | {name for name in names if "stac" in drop and name.endswith("_stac.json")}

    whole = by_scene(search(real / "landsat-c2l2-stactools" / next(iter(LOCAL)), PRODUCTS))
    for scene in LOCAL:
        shutil.copytree(real / "landsat-c2l2-stactools" / scene, tmp_path / scene, ignore=left_out)
    found = by_scene(search(tmp_path, PRODUCTS))
    assert set(found) == set(LOCAL)
    nothing = len(drop) == 3
    for row in found.values():
        assert (row["flags"], row["refused"]) == (["no-metadata"] if nothing else [], None)
        assert raster_bands(row) == 6
    scene, row = next(iter(whole.items()))
    same = ("scene", "platform", "sensor", "level", "tier", "path", "row", "date")
    assert [found[scene][column] for column in same] == [row[column] for column in same]


@pytest.mark.real
def test_real_landsat_of_three_sensors_and_level_1(real: Path) -> None:
    found = search(real / "landsat-c2l2-eodatasets", PRODUCTS)
    kept, refused = (
        by_scene(found.filter(pl.col("refused").is_null())),
        by_scene(found.filter(pl.col("refused").is_not_null())),
    )
    assert {row["sensor"] for row in kept.values()} == {"oli", "etm", "tm"}
    assert [raster_bands(row) for row in kept.values()] == [7, 7, 7]
    assert all(row["flags"] == [] for row in kept.values())
    assert set(refused) == {
        "LC08_L1TP_090084_20160121_20170405_01_T1",
        "LC08_L1TP_090084_20160121_20200907_02_T1",
    }


@pytest.mark.real
def test_real_flat_landsat_folder(real: Path) -> None:
    (row,) = search(real / "landsat-c2l2-riotilerpds", PRODUCTS).to_dicts()
    assert (row["tier"], row["flags"], row["refused"], raster_bands(row)) == ("T2", [], None, 7)
    assert row["processed"].date() == dt.date(2020, 11, 6)
    assert all(file["href"].startswith(str(real)) for file in row["files"])


@pytest.mark.real
def test_real_level_1_collection_1_is_refused_scene_by_scene(real: Path) -> None:
    found = search(real / "landsat-c1l1-gdalcubes", PRODUCTS)
    assert found.height == 19
    assert found["refused"].str.contains("Level-1").all()
    assert found["scene"].to_list() == sorted(
        path.name for path in (real / "landsat-c1l1-gdalcubes").iterdir()
    )


@pytest.mark.real
def test_real_stack_by_a_table_of_ones_own(real: Path, tmp_path: Path) -> None:
    guide = (Path(__file__).parents[2] / "docs/add-a-product.md").read_text("utf-8")
    table = next(
        part for part in guide.split("```toml\n")[1:] if 'id = "landsat-leda-stack"' in part
    ).partition("```")[0]
    (tmp_path / "landsat-leda-stack.toml").write_text(table, "utf-8")
    products = load([tmp_path])
    found = search(real / "landsat-stack-yatsm", products)
    assert (found.height, found["refused"].null_count()) == (447, 447)
    assert found["files"].list.len().unique().to_list() == [8]
    indices = {file["band"]: file["index"] for file in found["files"][0]}
    assert (indices["blue"], indices["fmask"]) == (1, 8)
    assert (str(found["date"].min()), str(found["date"].max())) == ("1984-04-17", "2013-05-27")
    assert search(real / "landsat-stack-yatsm", PRODUCTS)["refused"].str.contains("pre-collection").all()


@pytest.mark.real
def test_real_modis_in_two_containers(real: Path) -> None:
    found = by_scene(search(real / "modis-stactools", PRODUCTS))
    row = found["MOD10A2.A2022033.h09v05.061.2022042050729"]
    kinds = {file["band"]: (file["container"], file["member"]) for file in row["files"]}
    assert kinds == {"max_snow_extent": ("tiff", None), "snow_days": ("hdf4", "Eight_Day_Snow_Cover")}
    assert (row["repeated"], row["flags"], row["date"], row["tile"]) == (1, [], dt.date(2022, 2, 2), "h09v05")
    assert "061" in found["MOD13A1.A2022081.h09v05.006.2022101145817"]["refused"]


@pytest.mark.real
def test_real_collection_6_is_refused(real: Path) -> None:
    (row,) = search(real / "modis-myd13a1-riotilerpds", PRODUCTS).to_dicts()
    assert row["scene"] == "MYD13A1.A2020153.h30v10.006.2020170024036"
    assert "take collection 061" in row["refused"]


@pytest.mark.real
def test_real_maps_of_sao_tome(real: Path) -> None:
    found = by_scene(search(real / "products-n00e006", PRODUCTS))
    assert {row["product"] for row in found.values()} == {
        "worldcover-2020-v100",
        "worldcover-2021-v200",
        "cop-dem-glo-30",
    }
    assert all(row["refused"] is None for row in found.values())
    assert found["ESA_WorldCover_10m_2021_v200_N00E006"]["date"] == dt.date(2021, 1, 1)


@pytest.mark.real
def test_real_sentinel_2_items_with_their_metadata(real: Path) -> None:
    found = by_scene(search(real / "sentinel2-stactools", PRODUCTS).filter(pl.col("refused").is_null()))
    offsets: dict[str, tuple[str, set[int | None]]] = {
        "S2A_MSIL2A_20190212T192651_N0212_R013_T07HFE_20201007T160857": ("02.12", {None, 0}),
        "S2B_MSIL2A_20220413T150759_N0400_R025_T33XWJ_20220414T082126": ("04.00", {-1000}),
        "S2A_MSIL2A_20230625T234621_N0509_R073_T01WCP_20230626T022157": ("05.09", {-1000}),
        "S2A_MSIL2A_20220401T083601_N0400_R064_T34LBQ_20220401T110010": ("04.00", {-7000}),
    }
    for scene, (baseline, offset) in offsets.items():
        assert (found[scene]["baseline"], found[scene]["offset"] in offset) == (baseline, True), found[scene][
            "offset"
        ]
    pair = [row for scene, row in found.items() if "_T01WCP_" in scene]
    assert pair[0]["sensing"] == pair[1]["sensing"]
    assert pair[0]["processed"] != pair[1]["processed"]


@pytest.mark.real
def test_real_viirs_of_the_old_version_is_refused(real: Path) -> None:
    assert search(real / "viirs-stactools", PRODUCTS)["refused"].null_count() == 0


@pytest.mark.real
def test_real_daily_climate_is_not_the_monthly_product(real: Path, tmp_path: Path) -> None:
    (row,) = search(real / "era5land-krigr", PRODUCTS).to_dicts()
    assert "monthly means have one step" in row["refused"]
    guide = (Path(__file__).parents[2] / "docs/add-a-product.md").read_text("utf-8")
    table = next(part for part in guide.split("```toml\n")[1:] if 'id = "era5-land-daily"' in part).partition(
        "```"
    )[0]
    (tmp_path / "era5-land-daily.toml").write_text(table, "utf-8")
    (row,) = search(real / "era5land-krigr", load([tmp_path])).to_dicts()
    assert (row["product"], row["refused"], row["item"]) == ("era5-land-daily", None, "CentralNorway")
    assert row["start"] == dt.datetime(1994, 12, 31, 23, tzinfo=dt.UTC), "steps stay as they are told"
    (file,) = row["files"]
    assert (file["member"], file["container"]) == ("2m_temperature", "netcdf")


@pytest.mark.real
def test_all_real_data_at_once(real: Path) -> None:
    found = search(real, PRODUCTS)
    assert found.height > 700
    assert found["order"].to_list() == list(range(found.height))
    assert found.filter(pl.col("refused").is_null())["files"].list.len().min() == 1


def test_files_of_no_product_are_passed_over_but_told(tmp_path: Path) -> None:
    scene = "LC08_L2SP_230077_20190712_20200827_02_T1"
    for name in (f"{scene}_QA_PIXEL.TIF", "photo.tif", "notes.txt"):
        (tmp_path / name).write_bytes(b"x")
    told: list[str] = []
    found = search_all([tmp_path], load(), told)
    assert found.height == 1
    assert len(told) == 1
    assert "photo" not in found["scene"][0]
    assert str(tmp_path) in told[0]
    assert ".tif" in told[0]
