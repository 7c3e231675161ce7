"""Scenes out of folders: any layout, copies, metadata that fit or do not, and what is refused."""

from __future__ import annotations

import datetime as dt
import json
import os
import random
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from earthrecord.archive import scenes
from earthrecord.archive.folder import read_folder, scan
from earthrecord.archive.walk import walk
from earthrecord.products.registry import load

PRODUCTS = load()
OLI = "LC08_L2SP_230077_20190712_20200827_02_T1"
OTHER = "LC08_L2SP_230078_20190712_20200827_02_T1"
TM = "LT05_L2SP_230077_19950710_20200912_02_T1"
LAYERS = ("SR_B2", "SR_B3", "SR_B4", "SR_B5", "SR_B6", "SR_B7", "QA_PIXEL", "QA_RADSAT", "SR_QA_AEROSOL")
S2 = "S2B_MSIL2A_20220413T150759_N0400_R025_T33XWJ_20220414T082126"
S2_LAYERS = ("R10m/{}_B02_10m", "R10m/{}_B08_10m", "R20m/{}_B02_20m", "R20m/{}_SCL_20m", "R60m/{}_SCL_60m")
GRANULE = "MOD13Q1.A2022017.h12v11.061.2022034232400"


def put(root: Path, *rels: str, content: bytes = b"raster") -> None:
    for rel in rels:
        assert not rel.startswith("/"), "an absolute path would leave the test's own folder"
        (root / rel).parent.mkdir(parents=True, exist_ok=True)
        (root / rel).write_bytes(content)


def landsat(
    root: Path, scene: str = OLI, folder: str | None = None, layers: tuple[str, ...] = LAYERS
) -> None:
    folder = scene if folder is None else folder
    put(root / folder, *(f"{scene}_{layer}.TIF" for layer in layers))


def mtl_text(
    scene: str, date: str = "2019-07-12", spacecraft: str = "LANDSAT_8", sensor: str = "OLI_TIRS"
) -> bytes:
    """An MTL with the facts that a row takes."""
    path, row = scene[10:13], scene[13:16]
    return f"""GROUP = LANDSAT_METADATA_FILE
  GROUP = PRODUCT_CONTENTS
    LANDSAT_PRODUCT_ID = "{scene}"
    PROCESSING_LEVEL = "{scene[5:9]}"
    COLLECTION_CATEGORY = "{scene[-2:]}"
  END_GROUP = PRODUCT_CONTENTS
  GROUP = IMAGE_ATTRIBUTES
    SPACECRAFT_ID = "{spacecraft}"
    SENSOR_ID = "{sensor}"
    WRS_PATH = {path}
    WRS_ROW = {row}
    DATE_ACQUIRED = {date}
    SCENE_CENTER_TIME = "14:08:01.1234567Z"
  END_GROUP = IMAGE_ATTRIBUTES
  GROUP = PROJECTION_ATTRIBUTES
    MAP_PROJECTION = "UTM"
    UTM_ZONE = 20
    GRID_CELL_SIZE_REFLECTIVE = 30.00
    REFLECTIVE_LINES = 7741
    REFLECTIVE_SAMPLES = 7591
    CORNER_UL_PROJECTION_X_PRODUCT = 378300.000
    CORNER_UL_PROJECTION_Y_PRODUCT = -2541300.000
  END_GROUP = PROJECTION_ATTRIBUTES
END_GROUP = LANDSAT_METADATA_FILE
END
""".encode()


def mtd_xml(scene: str, scale: int = 10000, baseline: str = "04.00", offset: int = -1000) -> bytes:
    stamp = f"{scene[11:15]}-{scene[15:17]}-{scene[17:19]}T{scene[20:22]}:{scene[22:24]}:{scene[24:26]}.024Z"
    return f"""<a><PRODUCT_URI>{scene}.SAFE</PRODUCT_URI><PROCESSING_BASELINE>{baseline}</PROCESSING_BASELINE>
<SPACECRAFT_NAME>Sentinel-{scene[1:3]}</SPACECRAFT_NAME><DATATAKE_SENSING_START>{stamp}</DATATAKE_SENSING_START>
<PRODUCT_START_TIME>{stamp}</PRODUCT_START_TIME><BOA_QUANTIFICATION_VALUE>{scale}</BOA_QUANTIFICATION_VALUE>
<BOA_ADD_OFFSET>{offset}</BOA_ADD_OFFSET></a>""".encode()


def safe(root: Path, scene: str = S2, folder: str | None = None) -> str:
    folder = f"{scene}.SAFE" if folder is None else folder
    tile = f"{scene[38:44]}_{scene[11:26]}"
    put(root / folder, *(f"GRANULE/L2A_X/IMG_DATA/{layer.format(tile)}.jp2" for layer in S2_LAYERS))
    return folder


def rows(root: Path) -> list[dict[str, Any]]:
    """The rows, which always make a table of scenes."""
    found = read_folder(root, PRODUCTS)
    table = scenes.table(found)
    assert table["order"].to_list() == list(range(table.height))
    return table.to_dicts()


def only(root: Path) -> dict[str, Any]:
    found = rows(root)
    assert len(found) == 1, [row["scene"] for row in found]
    return found[0]


def bands(row: Mapping[str, Any]) -> set[str]:
    return {file["band"] for file in row["files"]}


RECORD = {"blue", "green", "red", "nir", "swir1", "swir2", "qa_pixel", "qa_radsat", "qa_aerosol"}


# --- layouts -----------------------------------------------------------------------------------------------


def test_a_scene_with_its_mtl(tmp_path: Path) -> None:
    landsat(tmp_path)
    put(tmp_path, f"{OLI}/{OLI}_MTL.txt", content=mtl_text(OLI))
    row = only(tmp_path)
    assert bands(row) == RECORD
    assert (row["product"], row["scene"], row["item"], row["platform"]) == (
        "landsat-c2-l2",
        OLI,
        OLI,
        "landsat-8",
    )
    assert (row["sensor"], row["level"], row["tier"], row["path"], row["row"]) == (
        "oli",
        "L2SP",
        "T1",
        230,
        77,
    )
    assert row["start"] == dt.datetime(2019, 7, 12, 14, 8, 1, 123456, dt.UTC)
    assert (row["date"], row["end"]) == (dt.date(2019, 7, 12), None)
    assert (row["crs"], row["shape"]) == ("EPSG:32620", [7741, 7591])
    assert row["transform"] == [30, 0, 378285, 0, -30, -2541285]
    assert row["metadata"] == str(tmp_path / OLI / f"{OLI}_MTL.txt")
    assert (row["repeated"], row["flags"], row["refused"], row["catalogue"]) == (0, [], None, str(tmp_path))
    red = next(file for file in row["files"] if file["band"] == "red")
    path = tmp_path / OLI / f"{OLI}_SR_B4.TIF"
    assert red == {
        "band": "red",
        "href": str(path),
        "container": "tiff",
        "member": None,
        "index": 1,
        "bytes": 6,
    }


def test_nothing_but_file_names(tmp_path: Path) -> None:
    landsat(tmp_path, TM, layers=("SR_B3", "QA_PIXEL", "SR_ATMOS_OPACITY"))
    row = only(tmp_path)
    assert bands(row) == {"red", "qa_pixel", "atmos_opacity"}
    assert row["start"] == dt.datetime(1995, 7, 10, tzinfo=dt.UTC), "no time is made up"
    assert (row["flags"], row["metadata"], row["crs"]) == (["no-metadata"], None, None)


@pytest.mark.parametrize(
    "layout",
    [
        "",
        "{scene}/",
        "{scene}/{scene}/",
        "1995/230/077/",
        "a/b/c/d/e/f/g/h/i/j/",
        "Ünïcode & blanks (2)/日本/",
        "LC08_L2SP/",
        "x.SAFE/",
    ],
)
def test_any_layout_gives_the_same_scenes(tmp_path: Path, layout: str) -> None:
    for scene in (OLI, OTHER, TM):
        landsat(tmp_path, scene, layout.format(scene=scene).rstrip("/"))
        put(
            tmp_path,
            f"{layout.format(scene=scene)}{scene}_ANG.txt",
            f"{layout.format(scene=scene)}{scene}_VAA.TIF",
        )
    found = rows(tmp_path)
    assert sorted(row["scene"] for row in found) == sorted((OLI, OTHER, TM))
    assert all(row["refused"] is None and row["repeated"] == 0 for row in found)


def test_layers_sorted_into_folders_by_kind_are_one_scene(tmp_path: Path) -> None:
    for layer in LAYERS:
        put(tmp_path, f"{layer}/{OLI}_{layer}.TIF")
    put(tmp_path, f"mtl/{OLI}_MTL.txt", content=mtl_text(OLI))
    row = only(tmp_path)
    assert (bands(row), row["repeated"], row["flags"]) == (RECORD, 0, [])
    assert row["metadata"].endswith(f"mtl/{OLI}_MTL.txt")


def test_names_in_lower_case_are_the_same_scene(tmp_path: Path) -> None:
    put(tmp_path, *(f"{OLI}_{layer}.TIF" for layer in LAYERS[:4]))
    put(tmp_path, *(f"{OLI}_{layer}.tif".lower() for layer in LAYERS[4:]))
    put(tmp_path, f"{OLI}_mtl.TXT".lower(), content=mtl_text(OLI))
    row = only(tmp_path)
    assert (bands(row), row["scene"], row["repeated"], row["flags"]) == (RECORD, OLI, 0, [])


def test_the_order_of_the_file_system_does_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for scene in (TM, OTHER, OLI):
        landsat(tmp_path, scene, "flat")
    safe(tmp_path)
    expected, listing = rows(tmp_path), os.scandir

    class Shuffled:
        def __init__(self, path: str) -> None:
            self._entries = list(listing(path))
            random.Random(7).shuffle(self._entries)

        def __enter__(self) -> Any:
            return iter(self._entries)

        def __exit__(self, *_: object) -> None:
            """Nothing is open."""

    monkeypatch.setattr(os, "scandir", Shuffled)
    assert rows(tmp_path) == expected
    assert [row["scene"] for row in expected] == [S2, OLI, OTHER, TM]


def test_a_sentinel_2_product_folder(tmp_path: Path) -> None:
    folder = safe(tmp_path)
    put(tmp_path, f"{folder}/MTD_MSIL2A.xml", content=mtd_xml(S2))
    row = only(tmp_path)
    assert bands(row) == {"blue", "nir", "scl"}
    assert all("_10m" in file["href"] or "SCL_20m" in file["href"] for file in row["files"])
    assert (row["offset"], row["baseline"], row["tile"], row["sensor"]) == (-1000, "04.00", "33XWJ", "msi")
    assert row["datatake"] == dt.datetime(2022, 4, 13, 15, 7, 59, 24000, dt.UTC)
    assert (row["flags"], row["refused"]) == ([], None)
    assert row["metadata"].endswith("MTD_MSIL2A.xml")


@pytest.mark.parametrize("folder", ["my scene", "a/b", ""])
def test_a_renamed_product_folder_is_known_by_its_metadata(tmp_path: Path, folder: str) -> None:
    safe(tmp_path, folder=folder)
    put(tmp_path / folder, "MTD_MSIL2A.xml", content=mtd_xml(S2))
    row = only(tmp_path)
    assert (row["scene"], bands(row), row["refused"]) == (S2, {"blue", "nir", "scl"}, None)


def test_without_metadata_a_renamed_product_folder_is_refused(tmp_path: Path) -> None:
    safe(tmp_path, folder="my scene")
    row = only(tmp_path)
    assert "outside its product folder" in row["refused"]


@pytest.mark.parametrize("inside", ["", "GRANULE", "GRANULE/L2A_X/IMG_DATA"])
def test_a_scenes_own_folder_may_be_the_source(tmp_path: Path, inside: str) -> None:
    folder = safe(tmp_path, folder=f"x/{S2}.SAFE")
    row = only(tmp_path / folder / inside)
    assert (row["scene"], bands(row), row["refused"]) == (S2, {"blue", "nir", "scl"}, None)


def test_a_product_folder_within_its_like_is_one_scene(tmp_path: Path) -> None:
    folder = safe(tmp_path, folder=f"{S2}/{S2}.SAFE")
    put(tmp_path / folder, "MTD_MSIL2A.xml", content=mtd_xml(S2))
    row = only(tmp_path)
    assert (row["scene"], row["repeated"], row["flags"]) == (S2, 0, [])


def test_a_damaged_product_file_in_the_source_itself_is_told(tmp_path: Path) -> None:
    folder = safe(tmp_path)
    put(tmp_path / folder, "MTD_MSIL2A.xml", content=b"<a")
    assert "damaged or cut off" in only(tmp_path / folder)["refused"]


def test_tiles_of_the_open_archive_are_known_by_their_tile_info(tmp_path: Path) -> None:
    home = "tiles/33/X/WJ/2022/4/13/0"
    put(
        tmp_path,
        f"{home}/R10m/B02.jp2",
        f"{home}/R20m/B02.jp2",
        f"{home}/R60m/B02.jp2",
        f"{home}/R20m/SCL.jp2",
    )
    put(
        tmp_path,
        f"{home}/tileInfo.json",
        content=json.dumps({"productName": S2, "timestamp": "2022-04-13T15:07:58Z"}).encode(),
    )
    row = only(tmp_path)
    assert {(file["band"], Path(file["href"]).parent.name) for file in row["files"]} == {
        ("blue", "R10m"),
        ("scl", "R20m"),
    }
    assert (row["scene"], row["refused"]) == (S2, None)


def test_short_names_beside_an_mtl_are_that_scenes(tmp_path: Path) -> None:
    put(tmp_path, "scene one/SR_B4.TIF", "scene one/QA_PIXEL.TIF", "scene one/preview.tif")
    put(tmp_path, "scene one/MTL.txt", content=mtl_text(OLI))
    row = only(tmp_path)
    assert (row["scene"], bands(row), row["flags"]) == (OLI, {"red", "qa_pixel"}, [])


def test_short_names_beside_metadata_of_two_scenes_are_nobodys(tmp_path: Path) -> None:
    put(tmp_path, "flat/SR_B4.TIF")
    for scene in (OLI, OTHER):
        put(tmp_path, f"flat/{scene}_MTL.txt", content=mtl_text(scene))
    told = {row["scene"]: row["refused"] for row in rows(tmp_path) if row["files"] is None}
    assert set(told) == {OLI, OTHER, "flat/SR_B4.TIF"}
    assert told["flat/SR_B4.TIF"].startswith("flat/SR_B4.TIF does not tell its scene")
    assert all(told[scene].startswith("only metadata of it lie here") for scene in (OLI, OTHER))


def test_a_granule_gives_one_entry_for_each_member(tmp_path: Path) -> None:
    put(tmp_path, f"{GRANULE}.hdf")
    row = only(tmp_path)
    members = {file["band"]: file["member"] for file in row["files"]}
    assert members["ndvi"] == "250m 16 days NDVI"
    assert {file["container"] for file in row["files"]} == {"hdf4"}
    assert {file["href"] for file in row["files"]} == {str(tmp_path / f"{GRANULE}.hdf")}
    assert (row["start"], row["end"]) == (
        dt.datetime(2022, 1, 17, tzinfo=dt.UTC),
        dt.datetime(2022, 2, 1, tzinfo=dt.UTC),
    )
    assert row["flags"] == [], "a granule carries its metadata inside"


def test_a_table_of_ones_own_for_many_bands_in_one_raster(tmp_path: Path) -> None:
    own = tmp_path / "tables" / "my-stack.toml"
    put(own.parent, own.name, content=b"""format = 1
id = "my-stack"
title = "Stack"
provider = "me"
group = "mine"
licence = "none"
citation = "me"
attribution = "me"
cadence = "daily"
grid = { kind = "any", cell = 30 }
duplicates = { key = ["date"] }
bands = [
  { name = "red", title = "red", file = "stack", index = 3, record = true, dtype = "int16", source = "me" },
  { like = "red", name = "fmask", title = "fmask", index = 8 },
]
[[names]]
pattern = '(?P<scene>LT5\\d{6}(?P<date>\\d{7})[A-Z]{3}\\d{2})_stack'
dates = { date = "%Y%j" }
examples = ["LT50350321984108XXX01_stack.tif"]
[sources]
me = { title = "me" }
""")  # fmt: skip
    put(tmp_path, "data/LT50350321984108XXX01_stack.tif")
    (row,) = scenes.table(read_folder(tmp_path / "data", load([own]))).to_dicts()
    assert (row["product"], row["date"], row["refused"]) == ("my-stack", dt.date(1984, 4, 17), None)
    assert {(file["band"], file["index"], Path(file["href"]).name) for file in row["files"]} == {
        ("red", 3, "LT50350321984108XXX01_stack.tif"),
        ("fmask", 8, "LT50350321984108XXX01_stack.tif"),
    }
    (refused,) = read_folder(tmp_path / "data", PRODUCTS)
    assert "pre-collection" in refused["refused"], "without the table it looks like Landsat and is refused"


def climate(
    path: Path, months: list[tuple[int, int]], names: tuple[str, ...], versions: list[str] | None = None
) -> None:
    """A netCDF file as the Climate Data Store makes it: variables on a 0.1 degree grid, one step a month."""
    import netCDF4
    import numpy as np

    path.parent.mkdir(parents=True, exist_ok=True)
    with netCDF4.Dataset(path, "w") as file:
        for name, values in (("latitude", [1.0, 0.9, 0.8]), ("longitude", [6.0, 6.1])):
            file.createDimension(name, len(values))
            axis = file.createVariable(name, "f8", (name,))
            axis.units = "degrees_north" if name == "latitude" else "degrees_east"
            axis.standard_name, axis[:] = name, values
        file.createDimension("valid_time", len(months))
        time = file.createVariable("valid_time", "i8", ("valid_time",))
        time.units, time.calendar, time.standard_name = "days since 1970-01-01", "proleptic_gregorian", "time"
        time[:] = [(dt.date(year, month, 1) - dt.date(1970, 1, 1)).days for year, month in months]
        if versions is not None:
            expver = file.createVariable("expver", str, ("valid_time",))
            expver[:] = np.array(versions, object)
        for name in names:
            file.createVariable(name, "f4", ("valid_time", "latitude", "longitude"))[:] = 280


def test_climate_is_one_scene_a_variable_and_file(tmp_path: Path) -> None:
    """Definitions, "ERA5-Land": the key is variable and month, so each variable of a file stands for itself."""
    climate(tmp_path / "4f1c.nc", [(1999, 11), (1999, 12), (2000, 1), (2000, 2)], ("t2m", "tp", "unknown"))
    one, two = rows(tmp_path)
    assert [(row["scene"], row["item"]) for row in (one, two)] == [
        ("t2m_199911_200002", "4f1c"),
        ("tp_199911_200002", "4f1c"),
    ]
    assert (one["product"], one["date"], one["level"]) == ("era5-land-monthly", dt.date(1999, 11, 1), None)
    assert (one["start"], one["end"]) == (
        dt.datetime(1999, 11, 1, tzinfo=dt.UTC),
        dt.datetime(2000, 2, 29, tzinfo=dt.UTC),
    )
    assert one["files"] == [
        {
            "band": "t2m",
            "href": str(tmp_path / "4f1c.nc"),
            "container": "netcdf",
            "member": "t2m",
            "index": 1,
            "bytes": (tmp_path / "4f1c.nc").stat().st_size,
        }
    ]
    assert (one["flags"], one["refused"], one["repeated"]) == ([], None, 0)


def test_final_and_preliminary_months_have_one_key(tmp_path: Path) -> None:
    climate(tmp_path / "old/data.nc", [(2026, 6)], ("t2m",), ["0005"])
    climate(tmp_path / "new/data.nc", [(2026, 6)], ("t2m",), ["0001"])
    new, old = rows(tmp_path)
    key = PRODUCTS["era5-land-monthly"].duplicates.key
    assert [new[column] for column in key] == [old[column] for column in key]
    assert (new["level"], old["level"]) == ("final", "preliminary")


def test_what_is_no_climate_file_is_refused_with_its_content(tmp_path: Path) -> None:
    climate(tmp_path / "other.nc", [(1999, 11)], ("rain",))
    put(tmp_path, "cut.nc")
    cut, other = rows(tmp_path)
    assert "not era5-land-monthly: no variable of it, only rain" in other["refused"]
    assert str(tmp_path / "cut.nc") in cut["refused"]


# --- copies ------------------------------------------------------------------------------------------------


def test_a_scene_in_two_folders_is_one_candidate(tmp_path: Path) -> None:
    """Definitions, "order of rules": what comes twice is one candidate, told in `repeated`."""
    landsat(tmp_path, folder="a")
    landsat(tmp_path, folder="b/c")
    row = only(tmp_path)
    assert (row["repeated"], row["flags"], bands(row)) == (1, ["no-metadata"], RECORD)
    assert {Path(file["href"]).parent.name for file in row["files"]} == {"a"}


def test_of_two_copies_the_whole_one_is_taken(tmp_path: Path) -> None:
    landsat(tmp_path, folder="a", layers=LAYERS[:3])
    landsat(tmp_path, folder="b")
    row = only(tmp_path)
    assert (row["repeated"], bands(row)) == (1, RECORD)
    assert {Path(file["href"]).parent.name for file in row["files"]} == {"b"}


def test_copies_that_differ_are_flagged_and_the_longer_one_taken(tmp_path: Path) -> None:
    landsat(tmp_path, folder="a")
    landsat(tmp_path, folder="b")
    put(tmp_path, f"a/{OLI}_SR_B4.TIF", content=b"cut")
    row = only(tmp_path)
    assert (row["repeated"], row["flags"]) == (1, ["copies-differ", "no-metadata"])
    assert {Path(file["href"]).parent.name for file in row["files"]} == {"b"}


def test_an_empty_file_gives_way_to_a_copy(tmp_path: Path) -> None:
    landsat(tmp_path, folder="a")
    put(tmp_path, f"a/{OLI}_SR_B4.TIF", content=b"")
    put(tmp_path, f"b/{OLI}_SR_B4.TIF")
    row = only(tmp_path)
    red = next(file for file in row["files"] if file["band"] == "red")
    assert (Path(red["href"]).parent.name, red["bytes"]) == ("b", 6)
    assert "copies-differ" in row["flags"]


def test_copies_of_a_browser_are_second_choice(tmp_path: Path) -> None:
    landsat(tmp_path, folder="x")
    put(tmp_path, f"x/{OLI}_SR_B4 (1).TIF", f"x/{OLI}_SR_B5 - Copy.TIF")
    row = only(tmp_path)
    assert (row["repeated"], len(row["files"])) == (1, 9)
    assert not any("(1)" in file["href"] or "Copy" in file["href"] for file in row["files"])


def test_a_browsers_copy_that_is_the_only_one_is_taken(tmp_path: Path) -> None:
    landsat(tmp_path, folder="x", layers=LAYERS[1:])
    put(tmp_path, f"x/{OLI}_SR_B2 (1).TIF")
    row = only(tmp_path)
    assert (row["repeated"], bands(row)) == (0, RECORD)


def test_a_crop_gives_way_to_the_whole_file(tmp_path: Path) -> None:
    tile = "ESA_WorldCover_10m_2020_v100_N00E006"
    put(tmp_path, f"{tile}_Map.tif", f"{tile}_Map_crop.tif")
    row = only(tmp_path)
    assert [Path(file["href"]).name for file in row["files"]] == [f"{tile}_Map.tif"]
    assert row["repeated"] == 1


def test_single_rasters_before_the_granule(tmp_path: Path) -> None:
    """Definitions, "real but odd": one granule in two containers is one candidate."""
    put(
        tmp_path,
        f"hdf/{GRANULE}.hdf",
        f"cog/{GRANULE}_250m_16_days_NDVI.tif",
        f"cog/{GRANULE}_250m_16_days_EVI.tif",
    )
    row = only(tmp_path)
    kinds = {file["band"]: file["container"] for file in row["files"]}
    assert (kinds["ndvi"], kinds["evi"], kinds["reliability"]) == ("tiff", "tiff", "hdf4")
    assert (row["repeated"], len(kinds), len(row["files"])) == (1, len(kinds), len(kinds))


def test_reprocessings_are_two_candidates(tmp_path: Path) -> None:
    """Which of them stays is decided by the duplicate rule later, with its reason in the ledger."""
    landsat(tmp_path)
    landsat(tmp_path, "LC08_L2SP_230077_20190712_20190718_02_T1")
    assert [row["repeated"] for row in rows(tmp_path)] == [0, 0]


# --- metadata that fit or do not ---------------------------------------------------------------------------


def item(scene: str, **properties: Any) -> dict[str, Any]:
    """A row as a STAC item of the scene gives it."""
    return {"product": "landsat-c2-l2", "scene": scene, "item": f"{scene}_SR", "catalogue": "usgs", "files": [], "metadata": f"/x/{scene}.json", "flags": [], "repeated": 0, **properties}  # fmt: skip


@pytest.mark.parametrize("name", [f"{OLI}_MTL.txt", "MTL.txt"])
def test_an_mtl_of_another_scene_spoils_the_scene(tmp_path: Path, name: str) -> None:
    """Definitions, "real but odd": another scene id, sensor or date in the metadata is an error."""
    landsat(tmp_path)
    put(tmp_path, f"{OLI}/{name}", content=mtl_text(OTHER))
    row = only(tmp_path)
    assert row["refused"].startswith("metadata of another scene")
    assert all(part in row["refused"] for part in (name, OTHER, OLI))
    assert (row["scene"], row["row"]) == (OLI, 77), "a refused row is told by the names of its files"


@pytest.mark.parametrize(
    ("told", "found"),
    [
        ({"date": "2019-07-28"}, "date 2019-07-28, the names of the files say 2019-07-12"),
        ({"spacecraft": "LANDSAT_9"}, "platform landsat-9, the names of the files say landsat-8"),
        ({"sensor": "TM"}, "sensor tm, the names of the files say oli"),
    ],
)
def test_an_mtl_that_contradicts_itself_spoils_the_scene(
    tmp_path: Path, told: dict[str, str], found: str
) -> None:
    landsat(tmp_path)
    put(tmp_path, f"{OLI}/{OLI}_MTL.txt", content=mtl_text(OLI, **told))
    assert found in only(tmp_path)["refused"]


def test_an_mtl_of_an_absent_scene_alone_among_the_files_spoils_the_scene(tmp_path: Path) -> None:
    landsat(tmp_path)
    put(tmp_path, f"{OLI}/{OTHER}_MTL.txt", content=mtl_text(OTHER))
    one, two = rows(tmp_path)
    assert (one["scene"], two["scene"]) == (OLI, OTHER)
    assert one["refused"].startswith("metadata of another scene")
    assert two["refused"].startswith("only metadata of it lie here")


def test_a_left_over_mtl_beside_the_right_one_spoils_nothing(tmp_path: Path) -> None:
    landsat(tmp_path)
    for scene in (OLI, OTHER):
        put(tmp_path, f"{OLI}/{scene}_MTL.txt", content=mtl_text(scene))
    one, two = rows(tmp_path)
    assert (one["refused"], one["flags"]) == (None, [])
    assert two["scene"] == OTHER


def test_every_scene_of_a_flat_folder_finds_its_own_metadata(tmp_path: Path) -> None:
    for scene in (OLI, OTHER):
        landsat(tmp_path, scene, "flat")
        put(tmp_path, f"flat/{scene}_MTL.txt", content=mtl_text(scene))
    assert [(row["flags"], row["refused"], row["row"]) for row in rows(tmp_path)] == [
        ([], None, 77),
        ([], None, 78),
    ]


def test_a_damaged_mtl_refuses_the_scene_naming_file_and_line(tmp_path: Path) -> None:
    landsat(tmp_path)
    put(tmp_path, f"{OLI}/{OLI}_MTL.txt", content=mtl_text(OLI)[:300])
    reason = only(tmp_path)["refused"]
    assert f"{OLI}_MTL.txt ends at line" in reason
    assert "get the file again" in reason


@pytest.mark.parametrize("good", ["json", "txt", "xml"])
def test_one_sound_form_of_the_mtl_is_enough(tmp_path: Path, good: str) -> None:
    landsat(tmp_path)
    groups = {"A": {"LANDSAT_PRODUCT_ID": OLI, "DATE_ACQUIRED": "2019-07-12"}}
    groups = {"PRODUCT_CONTENTS": groups["A"], "IMAGE_ATTRIBUTES": groups["A"]}
    inside = "".join(
        f"<{g}>{''.join(f'<{k}>{v}</{k}>' for k, v in kv.items())}</{g}>" for g, kv in groups.items()
    )
    sound = {
        "json": json.dumps({"M": groups}).encode(),
        "xml": f"<M>{inside}</M>".encode(),
        "txt": mtl_text(OLI),
    }
    for form in ("json", "txt", "xml"):
        put(tmp_path, f"{OLI}/{OLI}_MTL.{form}", content=sound[form] if form == good else b"<cut")
    row = only(tmp_path)
    assert (row["refused"], row["metadata"]) == (None, str(tmp_path / OLI / f"{OLI}_MTL.{good}"))


def test_metadata_alone_are_told(tmp_path: Path) -> None:
    put(tmp_path, f"{OLI}_MTL.txt", content=mtl_text(OLI))
    put(tmp_path, f"{OTHER}_MTL.txt", content=b"cut")
    one, two = rows(tmp_path)
    assert (one["product"], one["scene"]) == ("landsat-c2-l2", OLI)
    assert "only metadata of it lie here" in one["refused"]
    assert "no line of an MTL" in two["refused"]


def test_an_mtl_of_level_1_is_refused_by_its_content_too(tmp_path: Path) -> None:
    scene = "LC08_L1TP_230077_20190712_20200827_02_T1"
    put(tmp_path, "x/MTL.txt", content=mtl_text(scene))
    row = only(tmp_path)
    assert (row["scene"], "Level-1" in row["refused"]) == (scene, True)


def test_products_of_one_second_apart_keep_their_own_metadata(tmp_path: Path) -> None:
    pair = [f"S2A_MSIL2A_20230625T234621_N0509_R073_T01WCP_20230626T02215{second}" for second in (7, 8)]
    for scene in pair:
        put(tmp_path, f"{safe(tmp_path, scene)}/MTD_MSIL2A.xml", content=mtd_xml(scene, baseline="05.09"))
    found = rows(tmp_path)
    assert [row["scene"] for row in found] == pair
    assert [row["processed"].second for row in found] == [57, 58]
    assert all(row["refused"] is None for row in found)


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (mtd_xml(S2.replace("T33XWJ", "T33XWK")), "T33XWK"),
        (mtd_xml(S2, baseline="05.00"), "baseline 05.00, the names of the files say 04.00"),
        (mtd_xml(S2, scale=1000), "one DN is 0.001 of reflectance, sentinel-2-l2a has 0.0001"),
        (mtd_xml(S2)[:200], "the XML is damaged or cut off"),
    ],
)
def test_sentinel_2_metadata_that_do_not_fit(tmp_path: Path, content: bytes, found: str) -> None:
    put(tmp_path, f"{safe(tmp_path)}/MTD_MSIL2A.xml", content=content)
    assert found in only(tmp_path)["refused"]


def test_the_offset_is_what_the_metadata_say(tmp_path: Path) -> None:
    put(tmp_path, f"{safe(tmp_path)}/MTD_MSIL2A.xml", content=mtd_xml(S2, offset=-7000))
    assert only(tmp_path)["offset"] == -7000


def test_an_unknown_baseline_is_flagged(tmp_path: Path) -> None:
    safe(tmp_path, S2.replace("N0400", "N9999"))
    row = only(tmp_path)
    assert (row["baseline"], row["flags"]) == ("99.99", ["no-metadata", "unknown-baseline"])


def test_an_item_of_a_scene_that_lies_here_is_its_metadata(tmp_path: Path) -> None:
    """The MTL speaks first, then the item, then the names; no file is listed twice."""
    landsat(tmp_path)
    told = item(OLI, footprint="POINT (0 0)", crs="EPSG:1", start=dt.datetime(2019, 7, 12, 1, tzinfo=dt.UTC))
    told["files"] = [{"band": "red", "href": "https://example.org/B4.TIF", "container": "tiff", "member": None, "index": 1, "bytes": None}]  # fmt: skip
    (row,) = scan(tmp_path, PRODUCTS, [told]).rows
    assert (row["crs"], row["item"], row["metadata"], row["flags"]) == (
        "EPSG:1",
        f"{OLI}_SR",
        f"/x/{OLI}.json",
        [],
    )
    assert all(file["href"].startswith(str(tmp_path)) for file in row["files"])
    put(tmp_path, f"{OLI}/{OLI}_MTL.txt", content=mtl_text(OLI))
    (row,) = scan(tmp_path, PRODUCTS, [told]).rows
    assert (row["crs"], row["footprint"]) == ("EPSG:32620", "POINT (0 0)")
    assert row["start"].hour == 14


def test_an_item_of_another_date_spoils_the_scene(tmp_path: Path) -> None:
    landsat(tmp_path)
    told = item(OLI, date=dt.date(2020, 1, 1))
    (row,) = scan(tmp_path, PRODUCTS, [told]).rows
    assert "date 2020-01-01, the names of the files say 2019-07-12" in row["refused"]


def test_an_item_of_a_scene_elsewhere_is_a_row_of_its_own(tmp_path: Path) -> None:
    landsat(tmp_path)
    found = scan(tmp_path, PRODUCTS, [item(OTHER)]).rows
    assert [(row["scene"], row["catalogue"]) for row in found] == [(OLI, str(tmp_path)), (OTHER, "usgs")]


def test_an_item_brings_files_whose_names_tell_nothing(tmp_path: Path) -> None:
    landsat(tmp_path, layers=LAYERS[1:])
    put(tmp_path, f"{OLI}/first.tif")
    told = item(OLI)
    told["files"] = [{"band": "blue", "href": str(tmp_path / OLI / "first.tif"), "container": "tiff", "member": None, "index": 1, "bytes": 6}]  # fmt: skip
    (row,) = scan(tmp_path, PRODUCTS, [told]).rows
    assert bands(row) == RECORD


# --- refused, ignored, unreadable --------------------------------------------------------------------------


def test_look_alikes_are_one_refused_row_a_scene(tmp_path: Path) -> None:
    scene = "LC08_L1TP_014031_20180106_20180119_01_T1"
    put(tmp_path, *(f"{scene}/LC08_L1TP_014031_20180106_{layer}.TIF" for layer in ("B3", "B4", "BQA")))
    put(tmp_path, f"{scene}/{scene}_MTL.txt")
    row = only(tmp_path)
    assert (row["scene"], row["product"], row["files"]) == (scene, "landsat-c2-l2", None)
    assert "Level-1" in row["refused"]


def test_a_folder_of_level_1_does_not_taint_what_else_lies_in_it(tmp_path: Path) -> None:
    folder = "LC08_L1TP_and_more"
    landsat(tmp_path, folder=f"{folder}/x")
    put(tmp_path, f"{folder}/x/{OLI}_MTL.txt", content=mtl_text(OLI))
    put(tmp_path, f"{folder}/readme.txt")
    row = only(tmp_path)
    assert (row["scene"], row["flags"], row["refused"]) == (OLI, [], None)


@pytest.mark.parametrize("ending", ["tar", "tar.gz", "tgz", "zip", "TAR.BZ2", "7z"])
@pytest.mark.parametrize("scene", [OLI, S2, f"{S2}.SAFE"])
def test_a_packed_scene_is_refused_with_advice(tmp_path: Path, scene: str, ending: str) -> None:
    put(tmp_path, f"downloads/{scene}.{ending}")
    row = only(tmp_path)
    assert row["scene"] == scene.removesuffix(".SAFE")
    assert row["refused"] == f"packed in downloads/{scene}.{ending}: unpack it first, then search again"


def test_a_layer_that_is_packed_alone_is_refused_with_advice(tmp_path: Path) -> None:
    put(tmp_path, f"{OLI}_SR_B4.TIF.gz", f"{OLI}_QA_PIXEL.TIF.gz")
    row = only(tmp_path)
    assert (row["scene"], "unpack it first" in row["refused"]) == (OLI, True)


def test_an_archive_beside_what_came_out_of_it_is_a_copy(tmp_path: Path) -> None:
    landsat(tmp_path)
    put(tmp_path, f"{OLI}.tar")
    row = only(tmp_path)
    assert (row["repeated"], row["refused"]) == (1, None)


def test_a_packed_level_1_scene_is_refused_as_level_1(tmp_path: Path) -> None:
    put(tmp_path, "LC08_L1TP_014031_20180106_20180119_01_T1.tar.gz", "thesis.zip", "photos.tar")
    row = only(tmp_path)
    assert "Level-1" in row["refused"]


def test_what_is_no_product_is_passed_over_and_counted(tmp_path: Path) -> None:
    landsat(tmp_path, layers=("QA_PIXEL",))
    junk = [
        "notes.txt",
        "a/b.tif",
        "a/c.tif",
        f"{OLI}/{OLI}_QA_PIXEL.TIF.aux.xml",
        f"{OLI}/{OLI}_QA_PIXEL.TIF.ovr",
    ]
    junk += [
        f"{OLI}/{OLI}_MD5.txt",
        f"{OLI}/{OLI}_thumb_small.jpeg",
        f"{OLI}/.hidden.tif",
        f"{OLI}/._{OLI}_SR_B4.TIF",
    ]
    hidden = [f"__MACOSX/{OLI}/{OLI}_SR_B4.TIF", f".cache/{OLI}_SR_B4.TIF", "@eaDir/x.tif"]
    partial = [
        f"{OLI}/{OLI}_SR_B4.TIF.part",
        f"{OLI}/{OLI}_SR_B5.TIF.crdownload",
        f"{OLI}/{OLI}_SR_B6.tmp.TIF",
    ]
    put(tmp_path, *junk, *hidden, *partial)
    found = scan(tmp_path, PRODUCTS)
    assert [(row["scene"], len(row["files"])) for row in found.rows] == [(OLI, 1)]
    assert found.partial == sorted(partial)
    assert found.ignored == {".tif": 4, ".txt": 2, ".xml": 1, ".ovr": 1, ".jpeg": 1}


def test_an_empty_folder_has_no_rows(tmp_path: Path) -> None:
    (tmp_path / "a/b/c").mkdir(parents=True)
    assert scan(tmp_path, PRODUCTS) == ([], 0, {}, [])


def test_links_are_followed_and_loops_are_not(tmp_path: Path) -> None:
    landsat(tmp_path / "archive")
    (tmp_path / "root").mkdir()
    (tmp_path / "root/to archive").symlink_to(tmp_path / "archive")
    (tmp_path / "archive/loop").symlink_to(tmp_path / "root")
    (tmp_path / "archive/self").symlink_to(tmp_path / "archive")
    row = only(tmp_path / "root")
    assert (bands(row), row["repeated"]) == (RECORD, 0)
    assert all("to archive" in file["href"] for file in row["files"])


def test_a_folder_keeps_its_own_path_before_that_of_a_link(tmp_path: Path) -> None:
    landsat(tmp_path, folder="z/real")
    (tmp_path / "a link").symlink_to(tmp_path / "z")
    row = only(tmp_path)
    assert all("/z/real/" in file["href"] for file in row["files"])


def test_a_link_that_leads_nowhere_stays_a_file_of_unknown_size(tmp_path: Path) -> None:
    landsat(tmp_path)
    (tmp_path / OLI / f"{OLI}_SR_B4.TIF").unlink()
    (tmp_path / OLI / f"{OLI}_SR_B4.TIF").symlink_to("/nowhere.TIF")
    red = next(file for file in only(tmp_path)["files"] if file["band"] == "red")
    assert red["bytes"] is None, (
        "the builder says that it is missing, the scene does not lose a layer in silence"
    )


def test_pipes_and_folders_with_the_name_of_a_layer_are_no_layers(tmp_path: Path) -> None:
    landsat(tmp_path, layers=("QA_PIXEL",))
    os.mkfifo(tmp_path / OLI / f"{OLI}_SR_B4.TIF")
    (tmp_path / OLI / f"{OLI}_SR_B5.TIF").mkdir()
    put(tmp_path, f"{OLI}/{OLI}_SR_B5.TIF/dblbnd.adf")
    assert bands(only(tmp_path)) == {"qa_pixel"}


def test_a_folder_that_can_not_be_listed_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    landsat(tmp_path, folder="open")
    (tmp_path / "closed").mkdir()
    listing = os.scandir

    def refuse(path: str) -> Any:
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied")
        return listing(path)

    monkeypatch.setattr(os, "scandir", refuse)
    one, two = rows(tmp_path)
    assert one["item"] == "closed"
    assert "closed can not be listed (Permission denied)" in one["refused"]
    assert (two["scene"], two["refused"]) == (OLI, None)


def test_a_name_that_is_no_text_is_told(tmp_path: Path) -> None:
    try:
        (tmp_path / os.fsdecode(OLI.encode() + b"_\xff_SR_B4.TIF")).write_bytes(b"x")
    except OSError:
        pytest.skip("this file system takes no such name")
    row = only(tmp_path)
    assert "is no text in UTF-8; rename" in row["refused"]


def test_files_vanish_while_they_are_walked(tmp_path: Path) -> None:
    landsat(tmp_path)
    found = walk(tmp_path)
    shutil.rmtree(tmp_path / OLI)
    assert len(scan(tmp_path, PRODUCTS, found=found).rows[0]["files"]) == 9


def test_three_thousand_files_take_a_second(tmp_path: Path) -> None:
    for day in range(1, 21):
        for row_number in range(18):
            scene = f"LC08_L2SP_230{row_number:03}_201901{day:02}_20200827_02_T1"
            landsat(tmp_path, scene, f"{row_number}/{scene}")
    begun = time.process_time()
    assert sum(len(row["files"]) for row in read_folder(tmp_path, PRODUCTS)) == 20 * 18 * 9
    assert time.process_time() - begun < 3
