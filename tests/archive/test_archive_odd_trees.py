"""Archives as they are really met: look-alikes, renamed, packed and mislaid files. Each is right, or told with a reason."""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from earthrecord.archive import hrefs, search
from earthrecord.archive.folder import read_folder
from earthrecord.products.patterns import EXTENSIONS
from earthrecord.products.registry import load

PRODUCTS = load()
OLI = "LC08_L2SP_230077_20190712_20200827_02_T1"
S2 = "S2B_MSIL2A_20220413T150759_N0400_R025_T33XWJ_20220414T082126"
S2_IMAGE = (
    f"{S2}.SAFE/GRANULE/L2A_T33XWJ_A026652_20220413T150756/IMG_DATA/R10m/T33XWJ_20220413T150759_B04_10m.jp2"
)
MOD = "MOD13Q1.A2022017.h12v11.061.2022034232400"
SNOW = "MOD10A2.A2022033.h09v05.061.2022042050729"
VNP = "VNP13A1.A2022097.h11v05.002.2023113080900"


def put(root: Path, *rels: str, content: bytes = b"raster") -> None:
    for rel in rels:
        (root / rel).parent.mkdir(parents=True, exist_ok=True)
        (root / rel).write_bytes(content)


def rows(root: Path) -> list[dict[str, Any]]:
    return read_folder(root, PRODUCTS)


def refusals(root: Path) -> dict[str, str]:
    return {row["scene"]: row["refused"] for row in rows(root) if row["refused"]}


def mtl(scene: str) -> bytes:
    date = f"{scene[17:21]}-{scene[21:23]}-{scene[23:25]}"
    return f"""GROUP = A
  GROUP = PRODUCT_CONTENTS
    LANDSAT_PRODUCT_ID = "{scene}"
  END_GROUP = PRODUCT_CONTENTS
  GROUP = IMAGE_ATTRIBUTES
    DATE_ACQUIRED = {date}
  END_GROUP = IMAGE_ATTRIBUTES
END_GROUP = A
END
""".encode()


# --- look-alikes ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "scene", "reason"),
    [
        (f"{OLI.replace('L2SP', 'L3XX')}_B4.TIF", OLI.replace("L2SP", "L3XX"), "none of Collection 2"),
        (f"{OLI.replace('LC08', 'LC10')}_SR_B4.TIF", OLI.replace("LC08", "LC10"), "none of Collection 2"),
        (f"{OLI.replace('_02_', '_03_')}_SR_B4.TIF", OLI.replace("_02_", "_03_"), "none of Collection 2"),
        (f"{OLI[:-2]}T3_SR_B4.TIF", f"{OLI[:-2]}T3", "none of Collection 2"),
        (f"{OLI[:-2]}A1_SR_B4.TIF", f"{OLI[:-2]}A1", "none of Collection 2"),
        ("LC08_230077_20190712.SR_B4.tif", "LC08_230077_20190712", "Earth Engine"),
        ("20200603T140051_20200603T140059_T20KLV.B04.tif", "20200603T140051_20200603T140059_T20KLV", "Earth Engine"),
        ("2020-06-03-00:00_2020-06-03-23:59_Sentinel-2_L2A_B04_(Raw).tiff", None, "of a browser"),
        (f"{S2.replace('S2B', 'S2E')}.SAFE/a_B04_10m.jp2", S2.replace("S2B", "S2E"), "does not know"),
        ("S2A_USER_PRD_MSIL2A_PDMC_20160603T140051.SAFE/x/y_B04_10m.jp2", "S2A_USER_PRD_MSIL2A_PDMC_20160603T140051", "before December 2016"),
        ("SENTINEL2A_20200603-140051-000_L2A_T20KLV_C_V2-2_FRE_B4.tif", "SENTINEL2A_20200603-140051-000_L2A_T20KLV", "Theia"),
        ("tiles/20/K/LV/2020/6/8/0/R10m/B04.jp2", "tiles/20/K/LV/2020/6/8/0/R10m", "outside its product folder"),
        (f"{MOD}.NRT.hdf", MOD, "near-real-time"),
        ("MOD13Q1.A2022017.h12v11.061.hdf", "MOD13Q1.A2022017.h12v11.061", "near-real-time"),
        ("MOD13Q1.061__250m_16_days_NDVI_doy2022017_aid0001.tif", None, "cut-out"),
        (f"{VNP}.NRT.h5", VNP, "near-real-time"),
        ("Hansen_GFC2015_loss_20S_070W.tif", "Hansen_GFC2015", "another edition"),
        ("occurrence_70W_20S.tif", "occurrence_70W_20S", "another version"),
        (f"{MOD}.tif", MOD, f"{MOD}.tif ends in .tif, as a file of mod13q1-061 it ends in .hdf"),
        (f"{VNP}.hdf", VNP, "as a file of vnp13a1-002 it ends in .h5"),
        (f"{MOD}_250m_16_days_NDVI.hdf", MOD, "it ends in .tif"),
        (f"{OLI}_SR_B4.jp2", OLI, "it ends in .tif"),
    ],
)  # fmt: skip
def test_a_look_alike_is_refused_with_the_reason(
    tmp_path: Path, path: str, scene: str | None, reason: str
) -> None:
    put(tmp_path, path)
    ((told, why),) = refusals(tmp_path).items()
    assert reason in why
    assert scene is None or told == scene


def test_refused_scenes_are_told_one_by_one(tmp_path: Path) -> None:
    """Two tiles of one day are two, as are two tiers; a folder and what is in it is one."""
    for tile in ("h09v05", "h10v05"):
        put(tmp_path, f"MOD13Q1.A2001001.{tile}.006.2018142182903.hdf")
    put(tmp_path, f"{OLI[:-2]}A1_SR_B4.TIF", f"{OLI[:-2]}A2_SR_B4.TIF")
    level1 = "S2A_MSIL1C_20200603T140051_N0500_R067_T20KLV_20230505T101010"
    put(
        tmp_path,
        f"{level1}.SAFE/GRANULE/a/IMG_DATA/T20KLV_20200603T140051_B04.jp2",
        f"{level1}.SAFE/MTD_MSIL1C.xml",
    )
    assert set(refusals(tmp_path)) == {
        "MOD13Q1.A2001001.h09v05.006.2018142182903",
        "MOD13Q1.A2001001.h10v05.006.2018142182903",
        f"{OLI[:-2]}A1",
        f"{OLI[:-2]}A2",
        level1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("layer", "others"),
    [
        (f"LC08_230077_20190712/{OLI}_SR_B4.TIF", [f"LC08_230077_20190712/{OLI}_ANG.txt", "LC08_230077_20190712/x.tif"]),
        (f"{OLI}/{OLI}_SR_B4.TIF", [f"{OLI}/{OLI}_NDVI.tif", f"{OLI}/{OLI}_SR_stac.json", f"{OLI}/{OLI}_GCP.txt"]),
        (f"Sentinel-2_L2A_2022/{S2_IMAGE}", [f"Sentinel-2_L2A_2022/{S2}.SAFE/GRANULE/a/QI_DATA/MSK_CLDPRB_20m.jp2"]),
        (f"{MOD}.hdf", ["MOD13Q1.A2022017.h12v11.061.json", f"{MOD}.hdf.xml", f"BROWSE.{MOD}.1.jpg"]),
    ],
)  # fmt: skip
def test_what_lies_beside_a_scene_is_no_look_alike(tmp_path: Path, layer: str, others: list[str]) -> None:
    put(tmp_path, layer, *others)
    (row,) = rows(tmp_path)
    assert row["refused"] is None
    assert {Path(file["href"]) for file in row["files"]} == {tmp_path / layer}


# --- spellings -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        f"{SNOW}.hdf",
        f"{SNOW}.h4",
        f"{SNOW.lower()}.HDF",
        f"{SNOW.replace('h09v05', 'H09V05')}.hdf",
        f"{SNOW.replace('.061.', '.61.')}.hdf",
        f"{SNOW}.hdf.1",
        f"{SNOW}_Maximum_Snow_Extent.tif",
        f"{SNOW}.Maximum_Snow_Extent.tiff",
        f"{SNOW}_Maximum Snow Extent.tif",
    ],
)
def test_spellings_of_one_granule(tmp_path: Path, name: str) -> None:
    put(tmp_path, name)
    (row,) = rows(tmp_path)
    assert (row["tile"], str(row["date"]), row["refused"]) == ("h09v05", "2022-02-02", None)
    assert "max_snow_extent" in {file["band"] for file in row["files"]}


@pytest.mark.parametrize("form", ["(1).txt", " (2).txt", " - Copy.txt"])
def test_a_second_copy_of_the_metadata_is_metadata(tmp_path: Path, form: str) -> None:
    put(tmp_path, f"{OLI}_SR_B4 (1).TIF")
    put(tmp_path, f"{OLI}_MTL{form}", content=mtl(OLI))
    (row,) = rows(tmp_path)
    assert (row["flags"], Path(row["metadata"]).name) == ([], f"{OLI}_MTL{form}")


def test_links_and_files_end_alike() -> None:
    for kind, endings in EXTENSIONS.items():
        for ending in endings.split("|"):
            expected = None if ending == "json" else kind
            assert hrefs.container(f"https://host/x.{ending.upper()}?sig=1", None) == expected


# --- what is in a file ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "is an empty file, not netCDF; get it again"),
        (b"<html>log in</html>", "is a web page (often a login or error page), not netCDF"),
        (b'{"message": "no"}', "is a JSON document (often an error message), not netCDF"),
        (b"GRIB\0\0\0\1", "is a GRIB file, not netCDF; ask for NetCDF"),
        (b"\x1f\x8b\x08", "is a gzip archive, not netCDF"),
    ],
)
def test_a_file_that_only_ends_like_netcdf_is_told_by_its_content(
    tmp_path: Path, content: bytes, what: str
) -> None:
    put(tmp_path, "x.nc", content=content)
    (row,) = rows(tmp_path)
    assert row["refused"].startswith(f"{tmp_path}/x.nc: {what}")


def test_an_unrelated_netcdf_is_told_once_whatever_products_there_are(tmp_path: Path) -> None:
    import netCDF4

    table = '\nid = "my-climate"\nlike = "era5-land-monthly"\ntitle = "Mine"\n'
    put(tmp_path, "tables/my-climate.toml", content=table.encode())
    with netCDF4.Dataset(tmp_path / "cube.nc", "w") as cube:
        cube.createDimension("x", 3)
        cube.createVariable("B3", "i2", ("x",))[:] = 1
    (row,) = read_folder(tmp_path, load([tmp_path / "tables"]))
    assert row["refused"] == "not my-climate, era5-land-monthly: no variable on latitudes and longitudes"


# --- packed --------------------------------------------------------------------------------------------------


def test_a_packed_scene_is_told_whatever_the_archive_is_called(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "7a3b9.zip", "w") as archive:
        archive.writestr(f"{S2}.SAFE/manifest.safe", "x")
        archive.writestr("data_stream-moda.nc", "x")
    with tarfile.open(tmp_path / "bulk order.tar.gz", "w:gz") as archive:
        archive.addfile(tarfile.TarInfo(f"./{OLI}_SR_B4.TIF"), io.BytesIO())
    reasons = refusals(tmp_path)
    assert set(reasons) == {S2, OLI, "data_stream-moda"}
    assert reasons[OLI] == "packed in bulk order.tar.gz: unpack it first, then search again"


@pytest.mark.parametrize(
    "content", [b"", b"PK\3\4 cut off", b"\x1f\x8b\x08\0\0", b"\xfd7zXZ\0\0\0", b"BZh91AY"]
)
@pytest.mark.parametrize("name", ["a.zip", "a.tar", "a.tgz", "a.tar.xz", "a.tar.bz2", "a.7z"])
def test_an_archive_that_tells_nothing_is_passed_over(tmp_path: Path, name: str, content: bytes) -> None:
    put(tmp_path, name, content=content)
    assert rows(tmp_path) == []


def test_an_archive_of_other_things_is_passed_over(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "photos.zip", "w") as archive:
        archive.writestr("me.jpg", "x")
        archive.writestr("table.csv", "x")
    assert rows(tmp_path) == []


def test_an_archive_beside_what_it_holds_is_counted(tmp_path: Path) -> None:
    put(tmp_path, f"{OLI}_SR_B4.TIF")
    with zipfile.ZipFile(tmp_path / "order.zip", "w") as archive:
        archive.writestr(f"{OLI}/{OLI}_SR_B4.TIF", "x")
    (row,) = rows(tmp_path)
    assert (row["refused"], row["repeated"]) == (None, 1)


# --- metadata that disagree ----------------------------------------------------------------------------------


def item(**properties: object) -> dict[str, Any]:
    told = {"datetime": "2019-07-12T14:08:00Z", "platform": "landsat-8", "landsat:wrs_row": "077"}
    return {
        "type": "Feature",
        "stac_version": "1.0.0",
        "id": OLI,
        "collection": "landsat-c2l2-sr",
        "properties": told | properties,
        "links": [],
        "assets": {"red": {"href": f"./{OLI}_SR_B4.TIF", "type": "image/tiff"}},
    }


@pytest.mark.parametrize(
    ("properties", "reason"),
    [
        ({"landsat:wrs_row": "078"}, "the item tells of row 78, its files of 77"),
        ({"datetime": "2018-07-12T14:08:00Z"}, "the item is of 2018-07-12, its files are of 2019-07-12"),
        ({"platform": "landsat-9"}, "tell of several satellites: landsat-8, landsat-9"),
    ],
)
def test_an_item_that_tells_of_two_scenes_is_an_error_beside_a_sound_mtl_too(
    tmp_path: Path, properties: dict[str, object], reason: str
) -> None:
    """definitions, The record: another scene id, sensor or date in the metadata is an error."""
    put(tmp_path, f"{OLI}_SR_B4.TIF")
    put(tmp_path, f"{OLI}_MTL.txt", content=mtl(OLI))
    put(tmp_path, "item.json", content=json.dumps(item(**properties)).encode())
    (row,) = search.search(tmp_path, PRODUCTS).to_dicts()
    assert reason in row["refused"]


def test_an_item_that_only_says_too_little_is_no_error_beside_a_sound_mtl(tmp_path: Path) -> None:
    put(tmp_path, f"{OLI}_SR_B4.TIF")
    put(tmp_path, f"{OLI}_MTL.txt", content=mtl(OLI))
    put(tmp_path, "item.json", content=json.dumps(item() | {"assets": {}}).encode())
    (row,) = search.search(tmp_path, PRODUCTS).to_dicts()
    assert row["refused"] is None
