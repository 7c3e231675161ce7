"""Scene metadata: Landsat's MTL in its three forms, Sentinel-2's product metadata."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import pytest
import shapely

from earthrecord.archive import mtl, safe
from earthrecord.archive.sidecar import scene_in_name
from earthrecord.errors import BadMetadata

SCENE = "LC08_L2SP_230077_20190712_20200827_02_T1"
GROUPS = {
    "PRODUCT_CONTENTS": {
        "ORIGIN": "Image courtesy of the U.S. Geological Survey",
        "LANDSAT_PRODUCT_ID": SCENE,
        "PROCESSING_LEVEL": "L2SP",
        "COLLECTION_NUMBER": "02",
        "COLLECTION_CATEGORY": "T1",
        "FILE_NAME_BAND_4": f"{SCENE}_SR_B4.TIF",
    },
    "IMAGE_ATTRIBUTES": {
        "SPACECRAFT_ID": "LANDSAT_8",
        "SENSOR_ID": "OLI_TIRS",
        "WRS_PATH": "230",
        "WRS_ROW": "077",
        "DATE_ACQUIRED": "2019-07-12",
        "SCENE_CENTER_TIME": "14:08:01.1234567Z",
    },
    "PROJECTION_ATTRIBUTES": {
        "MAP_PROJECTION": "UTM",
        "UTM_ZONE": "20",
        "GRID_CELL_SIZE_REFLECTIVE": "30.00",
        "REFLECTIVE_LINES": "7741",
        "REFLECTIVE_SAMPLES": "7591",
        **{f"CORNER_{c}_{a}_PRODUCT": v for c, lon, lat in (("UL", "-64.1", "-23.0"), ("UR", "-61.9", "-23.0"), ("LL", "-64.1", "-25.1"), ("LR", "-61.9", "-25.1")) for a, v in (("LON", lon), ("LAT", lat))},
        "CORNER_UL_PROJECTION_X_PRODUCT": "378300.000",
        "CORNER_UL_PROJECTION_Y_PRODUCT": "-2541300.000",
    },
    "LEVEL2_PROCESSING_RECORD": {"DATE_PRODUCT_GENERATED": "2020-08-27T01:02:03Z", "PROCESSING_SOFTWARE_VERSION": "LPGS_15.3.1c"},
    "LEVEL2_SURFACE_REFLECTANCE_PARAMETERS": {"REFLECTANCE_MULT_BAND_4": "2.75e-05", "REFLECTANCE_ADD_BAND_4": "-0.2"},
}  # fmt: skip


def as_text(groups: dict[str, dict[str, str]] = GROUPS) -> str:
    quoted = ("ORIGIN", "LANDSAT_PRODUCT_ID", "SPACECRAFT_ID", "SCENE_CENTER_TIME", "MAP_PROJECTION")
    lines = ["GROUP = LANDSAT_METADATA_FILE"]
    for name, group in groups.items():
        lines.append(f"  GROUP = {name}")
        lines += [
            f'    {key} = "{value}"' if key in quoted else f"    {key} = {value}"
            for key, value in group.items()
        ]
        lines.append(f"  END_GROUP = {name}")
    return "\n".join([*lines, "END_GROUP = LANDSAT_METADATA_FILE", "END", ""])


def as_xml(groups: dict[str, dict[str, str]] = GROUPS) -> str:
    inside = "".join(
        f"<{name}>{''.join(f'<{k}>{v}</{k}>' for k, v in group.items())}</{name}>"
        for name, group in groups.items()
    )
    return f'<?xml version="1.0" encoding="UTF-8"?><LANDSAT_METADATA_FILE>{inside}</LANDSAT_METADATA_FILE>'


def written(folder: Path, content: str | bytes, name: str = "X_MTL.txt") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_all_facts_of_an_mtl(tmp_path: Path) -> None:
    facts = mtl.read(written(tmp_path, as_text()))
    assert (facts.scene, facts.level, facts.collection, facts.tier) == (SCENE, "L2SP", "02", "T1")
    assert (facts.platform, facts.sensor, facts.path, facts.row) == ("landsat-8", "oli", 230, 77)
    assert facts.date == dt.date(2019, 7, 12)
    assert facts.start == dt.datetime(2019, 7, 12, 14, 8, 1, 123456, dt.UTC)
    assert facts.processed == dt.datetime(2020, 8, 27, 1, 2, 3, tzinfo=dt.UTC)
    assert facts.software == "LPGS_15.3.1c"
    assert facts.crs == "EPSG:32620", "north zones on the southern hemisphere too"
    assert facts.transform == (30, 0, 378285, 0, -30, -2541285), (
        "the MTL gives the centre of the corner pixel"
    )
    assert facts.shape == (7741, 7591)
    assert shapely.from_wkt(facts.footprint).bounds == (-64.1, -25.1, -61.9, -23.0)
    assert facts.files == {"BAND_4": f"{SCENE}_SR_B4.TIF"}
    assert facts.rescaling == {"BAND_4": (2.75e-05, -0.2)}


def test_three_forms_say_the_same(tmp_path: Path) -> None:
    text = mtl.read(written(tmp_path, as_text()))
    assert mtl.read(written(tmp_path, json.dumps({"LANDSAT_METADATA_FILE": GROUPS}))) == text
    assert mtl.read(written(tmp_path, as_xml())) == text


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\ufeff" + text,
        lambda text: text + "\0" * 512,
        lambda text: text.replace("    ", "\t"),
        lambda text: text.removesuffix("END\n"),
        lambda text: "\n" + text.replace(" = ", "="),
    ],
    ids=["crlf", "byte order mark", "padded with zeros", "tabs", "no END", "no blanks"],
)
def test_spellings_of_the_text_do_not_matter(tmp_path: Path, change: object) -> None:
    expected = mtl.read(written(tmp_path, as_text()))
    assert mtl.read(written(tmp_path, change(as_text()))) == expected  # type: ignore[operator]


@pytest.mark.parametrize(
    "time", ["14:08:01", "14:08:01Z", "14:08:01.5", "14:08:01.500000Z", "14:08:01.5000000Z"]
)
def test_seconds_come_with_any_number_of_digits(tmp_path: Path, time: str) -> None:
    groups = GROUPS | {"IMAGE_ATTRIBUTES": GROUPS["IMAGE_ATTRIBUTES"] | {"SCENE_CENTER_TIME": time}}
    start = mtl.read(written(tmp_path, as_text(groups))).start
    assert start == dt.datetime(2019, 7, 12, 14, 8, 1, 500_000 * ("." in time), dt.UTC)


@pytest.mark.parametrize(
    ("told", "crs"),
    [
        ({"UTM_ZONE": "-20"}, "EPSG:32720"),
        ({"MAP_PROJECTION": "PS", "TRUE_SCALE_LAT": "-71.00000", "VERTICAL_LON_FROM_POLE": "0.0", "FALSE_EASTING": "0", "FALSE_NORTHING": "0"}, "EPSG:3031"),
        ({"MAP_PROJECTION": "PS", "TRUE_SCALE_LAT": "70", "VERTICAL_LON_FROM_POLE": "-45", "FALSE_EASTING": "0", "FALSE_NORTHING": "0"}, "+proj=stere +lat_0=90 +lat_ts=70 +lon_0=-45 +x_0=0 +y_0=0 +datum=WGS84 +units=m +no_defs"),
        ({"MAP_PROJECTION": "AEA"}, None),
    ],
)  # fmt: skip
def test_projections(tmp_path: Path, told: dict[str, str], crs: str | None) -> None:
    groups = GROUPS | {"PROJECTION_ATTRIBUTES": GROUPS["PROJECTION_ATTRIBUTES"] | told}
    assert mtl.read(written(tmp_path, as_text(groups))).crs == crs


def test_a_footprint_over_the_antimeridian_is_continuous(tmp_path: Path) -> None:
    corners = {
        f"CORNER_{c}_LON_PRODUCT": v
        for c, v in (("UL", "179.0"), ("UR", "-178.0"), ("LL", "179.0"), ("LR", "-178.0"))
    }
    groups = GROUPS | {"PROJECTION_ATTRIBUTES": GROUPS["PROJECTION_ATTRIBUTES"] | corners}
    west, _, east, _ = shapely.from_wkt(mtl.read(written(tmp_path, as_text(groups))).footprint).bounds
    assert east - west == pytest.approx(3)


@pytest.mark.parametrize("share", [0.1, 0.35, 0.6, 0.9])
def test_a_cut_off_text_names_file_and_line(tmp_path: Path, share: float) -> None:
    text = as_text()
    path = written(tmp_path, text[: int(len(text) * share)])
    with pytest.raises(BadMetadata, match=rf"{path}.* line \d+.*get the file again"):
        mtl.read(path)


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "is an empty file"),
        (b"\0" * 100, "is an empty file"),
        (b"<html><body>Please log in</body>", "is a web page"),
        (b'{"LANDSAT_METADATA_FILE": {"PRODUCT_CON', "no MTL as JSON"),
        (b'{"LANDSAT_METADATA_FILE": 7}', "no MTL as JSON"),
        (b"{}", "has no DATE_ACQUIRED"),
        (b'<?xml version="1.0" encoding="utf-32"?><a/>', "get the file again"),
        (b'<?xml version="1.0" encoding="klingon"?><a/>', "get the file again"),
        (b"<LANDSAT_METADATA_FILE/>", "has no DATE_ACQUIRED"),
        (b"Sorry, the file was not found", "line 1: 'Sorry, the file was not found'"),
        (b"GROUP = A\nEND_GROUP = B\nEND", "line 2: END_GROUP = B closes no group"),
        (as_text().replace("2019-07-12", "2019-27-12").encode(), "month must be in"),
        (as_text().replace("LANDSAT_PRODUCT_ID", "PRODUCT").encode(), "has no LANDSAT_PRODUCT_ID"),
    ],
)  # fmt: skip
def test_what_is_no_mtl_says_so(tmp_path: Path, content: bytes, what: str) -> None:
    path = written(tmp_path, content)
    with pytest.raises(BadMetadata) as caught:
        mtl.read(path)
    assert str(path) in str(caught.value)
    assert what in str(caught.value)


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(BadMetadata, match="can not be read: No such file"):
        mtl.read(tmp_path / "none_MTL.txt")


def test_collection_1_and_what_was_before_are_told_by_their_ids(tmp_path: Path) -> None:
    older = {
        "METADATA_FILE_INFO": {"LANDSAT_SCENE_ID": "LC80900842016021LGN02", "FILE_DATE": "2017-04-05T11:17:36Z"},
        "PRODUCT_METADATA": {"DATA_TYPE": "L1T", "SPACECRAFT_ID": "LANDSAT_8", "SENSOR_ID": "OLI_TIRS", "DATE_ACQUIRED": "2016-01-21"},
    }  # fmt: skip
    facts = mtl.read(written(tmp_path, as_text(older)))
    assert (facts.scene, facts.collection, facts.level) == ("LC80900842016021LGN02", None, "L1T")
    assert facts.start == dt.datetime(2016, 1, 21, tzinfo=dt.UTC), "midnight where the file has no time"


@pytest.mark.parametrize(
    ("name", "scene"),
    [
        (f"{SCENE}_MTL.txt", SCENE),
        (f"{SCENE}_MTL.json", SCENE),
        (f"{SCENE.lower()}_mtl.XML", SCENE.lower()),
        ("MTL.txt", ""),
        ("MTD_MSIL2A.xml", ""),
        ("tileInfo.json", ""),
        ("tileinfo_metadata.json", ""),
        ("product_metadata.xml", ""),
        (f"{SCENE}_SR_stac.json", None),
        ("MTD_TL.xml", None),
        (f"{SCENE}_MTL.pdf", None),
    ],
)
def test_which_files_are_metadata(name: str, scene: str | None) -> None:
    assert scene_in_name(name) == scene


PRODUCT = "S2B_MSIL2A_20220413T150759_N0400_R025_T33XWJ_20220414T082126"
MTD = f"""<?xml version="1.0"?>
<n1:Level-2A_User_Product xmlns:n1="https://psd-14.sentinel2.eo.esa.int/PSD/User_Product_Level-2A.xsd"><n1:General_Info><Product_Info>
<PRODUCT_START_TIME>2022-04-13T15:07:59.024Z</PRODUCT_START_TIME><PRODUCT_URI>{PRODUCT}.SAFE</PRODUCT_URI>
<PROCESSING_BASELINE>04.00</PROCESSING_BASELINE><GENERATION_TIME>2022-04-14T08:21:26.580338Z</GENERATION_TIME>
<Datatake datatakeIdentifier="GS2B_20220413T150759_026644_N04.00"><SPACECRAFT_NAME>Sentinel-2B</SPACECRAFT_NAME>
<DATATAKE_SENSING_START>2022-04-13T15:07:59.024Z</DATATAKE_SENSING_START></Datatake>
<Granule datastripIdentifier="S2B_OPER_MSI_L2A_DS_VGS2_20220414T082127_S20220413T150756_N04.00"/></Product_Info>
<BOA_QUANTIFICATION_VALUE unit="none">10000</BOA_QUANTIFICATION_VALUE>
<BOA_ADD_OFFSET_VALUES_LIST><BOA_ADD_OFFSET band_id="0">-1000</BOA_ADD_OFFSET><BOA_ADD_OFFSET band_id="1">-1000</BOA_ADD_OFFSET></BOA_ADD_OFFSET_VALUES_LIST>
<EXT_POS_LIST>80.1 17.7 80.1 15.0 79.5 15.0 80.1 17.7</EXT_POS_LIST></n1:General_Info></n1:Level-2A_User_Product>"""
TILE = """<n1:Level-2A_Tile_ID xmlns:n1="x"><n1:General_Info><SENSING_TIME>2022-04-13T15:07:58.123Z</SENSING_TIME></n1:General_Info>
<n1:Geometric_Info><Tile_Geocoding><HORIZONTAL_CS_CODE>EPSG:32633</HORIZONTAL_CS_CODE>
<Size resolution="10"><NROWS>10980</NROWS><NCOLS>10980</NCOLS></Size><Size resolution="20"><NROWS>5490</NROWS><NCOLS>5490</NCOLS></Size>
<Geoposition resolution="10"><ULX>499980</ULX><ULY>9000000</ULY><XDIM>10</XDIM><YDIM>-10</YDIM></Geoposition></Tile_Geocoding></n1:Geometric_Info></n1:Level-2A_Tile_ID>"""


def test_all_facts_of_a_sentinel_2_product(tmp_path: Path) -> None:
    (tmp_path / "GRANULE/L2A_T33XWJ").mkdir(parents=True)
    (tmp_path / "DATASTRIP/DS").mkdir(parents=True)
    written(tmp_path / "GRANULE/L2A_T33XWJ", TILE, "MTD_TL.xml")
    written(
        tmp_path / "DATASTRIP/DS",
        "<a><DATASTRIP_SENSING_START>2022-04-13T15:07:56.500Z</DATASTRIP_SENSING_START></a>",
        "MTD_DS.xml",
    )
    facts = safe.read(written(tmp_path, MTD, "MTD_MSIL2A.xml"))
    utc = dt.datetime(2022, 4, 13, 15, 7, 59, 24_000, dt.UTC)
    assert (facts.scene, facts.platform, facts.tile, facts.baseline) == (
        PRODUCT,
        "sentinel-2b",
        "33XWJ",
        "04.00",
    )
    assert facts.datatake == utc
    assert facts.sensing == utc.replace(second=56, microsecond=500_000)
    assert facts.start == utc.replace(second=58, microsecond=123_000)
    assert facts.generated == dt.datetime(2022, 4, 14, 8, 21, 26, 580_338, dt.UTC)
    assert facts.processed == dt.datetime(2022, 4, 14, 8, 21, 26, tzinfo=dt.UTC)
    assert (facts.offset, facts.quantification) == (-1000, 10000)
    assert (facts.crs, facts.transform, facts.shape) == (
        "EPSG:32633",
        (10, 0, 499980, 0, -10, 9000000),
        (10980, 10980),
    )
    assert shapely.from_wkt(facts.footprint).bounds == (15.0, 79.5, 17.7, 80.1)


def test_a_product_alone_still_tells_its_datastrip(tmp_path: Path) -> None:
    facts = safe.read(written(tmp_path, MTD, "MTD_MSIL2A.xml"))
    assert facts.sensing == dt.datetime(2022, 4, 13, 15, 7, 56, tzinfo=dt.UTC)
    assert facts.start == facts.datatake
    assert facts.crs is None


def test_an_offset_that_is_not_told_is_not_concluded(tmp_path: Path) -> None:
    """Definitions, "Sentinel-2 offset": two states, neither guessed from the baseline here."""
    without = MTD[: MTD.index("<BOA_ADD")] + MTD[MTD.index("<EXT_POS") :]
    facts = safe.read(written(tmp_path, without, "MTD_MSIL2A.xml"))
    assert (facts.baseline, facts.offset) == ("04.00", None)


def test_offsets_that_differ_between_bands_are_an_error(tmp_path: Path) -> None:
    path = written(tmp_path, MTD.replace('band_id="1">-1000', 'band_id="1">0'), "MTD_MSIL2A.xml")
    with pytest.raises(BadMetadata, match="BOA_ADD_OFFSET is -1000, 0 in different bands"):
        safe.read(path)


@pytest.mark.parametrize(
    ("content", "name", "what"),
    [
        (MTD[:900], "MTD_MSIL2A.xml", "line 9: the XML is damaged or cut off"),
        ("<a/>", "MTD_MSIL2A.xml", "has no PRODUCT_URI"),
        (MTD.replace(">-1000<", ">minus<"), "MTD_MSIL2A.xml", "invalid literal"),
        (MTD.replace("2022-04-14T08", "2022-44-14T08"), "MTD_MSIL2A.xml", "month must be in"),
        ("[1]", "tileInfo.json", "no JSON object"),
        ("", "tileInfo.json", "no JSON object"),
    ],
)
def test_damaged_sentinel_2_metadata_name_the_file(
    tmp_path: Path, content: str, name: str, what: str
) -> None:
    path = written(tmp_path, content, name)
    with pytest.raises(BadMetadata) as caught:
        safe.read(path)
    assert str(path) in str(caught.value)
    assert what in str(caught.value)


def test_tile_info(tmp_path: Path) -> None:
    info = {
        "timestamp": "2023-01-05T16:38:26.276Z",
        "utmZone": 1,
        "latitudeBand": "C",
        "gridSquare": "DL",
        "datastrip": {"id": "S2A_OPER_MSI_L2A_DS_2APS_20230105T201055_S20230105T163809_N05.09"},
        "tileGeometry": {
            "crs": {"properties": {"name": "urn:ogc:def:crs:EPSG:8.8.1:32701"}},
            "coordinates": [[[399960.0, 1100020.0], [509760.0, 1100020.0], [509760.0, 990220.0], [399960.0, 990220.0], [399960.0, 1100020.0]]],
        },
        "productName": "S2A_MSIL2A_20230105T163811_N0509_R054_T01CDL_20230105T201055",
    }  # fmt: skip
    facts = safe.read(written(tmp_path, json.dumps(info), "tileInfo.json"))
    assert (facts.scene, facts.tile, facts.baseline, facts.platform) == (
        info["productName"],
        "01CDL",
        "05.09",
        "sentinel-2a",
    )
    assert facts.sensing == dt.datetime(2023, 1, 5, 16, 38, 9, tzinfo=dt.UTC)
    assert facts.start == dt.datetime(2023, 1, 5, 16, 38, 26, 276_000, dt.UTC)
    assert (facts.crs, facts.shape) == ("EPSG:32701", (10980, 10980))
    assert facts.transform == (10, 0, 399960, 0, -10, 1100020)
    assert safe.read(written(tmp_path, "{}", "tileInfo.json")) == safe.Safe(None)


@pytest.mark.real
def test_every_real_mtl_is_of_the_scene_in_its_name(real: Path) -> None:
    files = [path for path in real.rglob("*_MTL.*") if scene_in_name(path.name)]
    assert len(files) >= 34
    by_scene: dict[str, list[mtl.Mtl]] = {}
    for path in files:
        facts = mtl.read(path)
        assert facts.scene == scene_in_name(path.name)
        assert f"_{facts.path:03}{facts.row:03}_{facts.date:%Y%m%d}_" in facts.scene
        by_scene.setdefault(facts.scene, []).append(facts)
    assert sum(len(forms) > 1 for forms in by_scene.values()) >= 9
    for forms in by_scene.values():
        assert all(facts == forms[0] for facts in forms), "text, JSON and XML say the same"


@pytest.mark.real
def test_the_real_antarctic_scene(real: Path) -> None:
    scene = "LC08_L2SR_099120_20191129_20201016_02_T2"
    facts = mtl.read(real / "landsat-c2l2-stactools" / scene / f"{scene}_MTL.txt")
    assert (facts.crs, facts.footprint, facts.level, facts.tier) == ("EPSG:3031", None, "L2SR", "T2")
    assert facts.transform == (30, 0, 733785, 0, -30, 494415)
    assert facts.shape == (9011, 9031)


@pytest.mark.real
@pytest.mark.parametrize(
    ("product", "baseline", "offset"),
    [
        ("S2A_MSIL2A_20190212T192651_N0212_R013_T07HFE_20201007T160857", "02.12", None),
        (PRODUCT, "04.00", -1000),
        ("S2A_MSIL2A_20230625T234621_N0509_R073_T01WCP_20230626T022157", "05.09", -1000),
        ("S2A_MSIL2A_20230625T234621_N0509_R073_T01WCP_20230626T022158", "05.09", -1000),
    ],
)
def test_real_sentinel_2_products_say_their_offset(
    real: Path, product: str, baseline: str, offset: int | None
) -> None:
    facts = safe.read(real / "sentinel2-stactools" / f"{product}.SAFE" / "MTD_MSIL2A.xml")
    assert (facts.scene, facts.baseline, facts.offset, facts.quantification) == (
        product,
        baseline,
        offset,
        10000,
    )
    assert product.endswith(f"{facts.processed:%Y%m%dT%H%M%S}")
    assert facts.footprint is not None
    assert shapely.from_wkt(facts.footprint).is_valid


@pytest.mark.real
def test_every_real_tile_info_tells_product_and_grid(real: Path) -> None:
    files = list((real / "sentinel2-stactools").rglob("tileInfo.json"))
    assert len(files) == 10
    for path in files:
        facts = safe.read(path)
        assert facts.scene is not None
        assert facts.crs is not None
        assert (facts.shape, facts.offset) == ((10980, 10980), None)
