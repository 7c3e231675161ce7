"""The forms in which items are saved: the same rows from each, and a clear word about what can not be read."""

import datetime as dt
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import rustac

from earthrecord.archive import stac
from earthrecord.archive.scenes import table
from earthrecord.errors import BadSource
from earthrecord.products import registry

PRODUCTS = registry.load()
Item = dict[str, Any]


def modis(day: int) -> Item:
    """A period whose date is null, as STAC wants it where start and end are told."""
    scene = f"MOD13Q1.A2022{day:03}.h12v11.061.2022034232400"
    first = dt.date(2022, 1, 1) + dt.timedelta(days=day - 1)
    ring = [[-69.2, -30], [-63.8, -20], [-53.2, -20], [-57.7, -30], [-69.2, -30]]
    return {
        "type": "Feature", "stac_version": "1.0.0", "stac_extensions": [], "id": scene[:27],
        "collection": "modis-13Q1-061", "bbox": [-69.2, -30, -53.2, -20],
        "geometry": {"type": "Polygon", "coordinates": [ring]},
        "properties": {
            "datetime": None, "start_datetime": f"{first}T00:00:00Z", "platform": "terra",
            "end_datetime": f"{first + dt.timedelta(days=15)}T23:59:59Z", "proj:epsg": None, "proj:shape": [4800, 4800],
        },
        "assets": {
            key: {"href": f"https://x.org/{scene}_{key}.tif", "type": "image/tiff", "file:size": 1000 + day}
            for key in ("250m_16_days_NDVI", "250m_16_days_pixel_reliability")
        },
        "links": [],
    }  # fmt: skip


def landsat(day: int) -> Item:
    scene = f"LE07_L2SP_021030_201001{day:02}_20200911_02_T1"
    return {
        "type": "Feature", "stac_version": "1.0.0", "stac_extensions": [], "id": scene, "collection": "landsat-c2l2-sr",
        "bbox": [-86.2, 42.2, -83.3, 44.1], "geometry": {
            "type": "Polygon", "coordinates": [[[-86.2, 42.2], [-83.3, 42.2], [-83.3, 44.1], [-86.2, 42.2]]],
        },
        "properties": {"datetime": f"2010-01-{day:02}T16:13:46.040Z", "platform": "LANDSAT_7", "proj:epsg": 32616},
        "assets": {
            "red": {"href": f"./{scene}/{scene}_SR_B3.TIF", "alternate": {"s3": {"href": f"s3://usgs-landsat/{scene}_SR_B3.TIF"}}},
            "qa_pixel": {"href": f"https://landsatlook.usgs.gov/data/{scene}_QA_PIXEL.TIF"},
        },
        "links": [{"rel": "self", "href": f"https://landsatlook.usgs.gov/stac-server/items/{scene}"}],
    }  # fmt: skip


ITEMS = [modis(1), landsat(9), modis(17), landsat(25)]


def rows(path: Path) -> list[dict[str, Any]]:
    return table(stac.read_items(path, PRODUCTS)).to_dicts()


def without_place(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows without what differs by the file they were read from."""
    return [{name: value for name, value in row.items() if name != "metadata"} for row in found]


def write_list(path: Path) -> None:
    path.write_text(json.dumps(ITEMS))


def write_collection(path: Path) -> None:
    path.write_text("\ufeff" + json.dumps({"type": "FeatureCollection", "features": ITEMS}, indent=2))


def write_lines(path: Path) -> None:
    path.write_text("\n\n".join(map(json.dumps, ITEMS)) + "\n")


def write_table(path: Path) -> None:
    rustac.write_sync(str(path), ITEMS)


FORMS: dict[str, Callable[[Path], None]] = {
    "items.json": write_list,
    "items.geojson": write_collection,
    "items.ndjson": write_lines,
    "items.jsonl": write_lines,
    "lines.json": write_lines,
    "items.parquet": write_table,
}


@pytest.mark.parametrize("name", FORMS)
def test_every_form_gives_the_same_rows(name: str, tmp_path: Path) -> None:
    write_list(tmp_path / "expected.json")
    FORMS[name](tmp_path / name)
    found = without_place(rows(tmp_path / name))
    assert found == without_place(rows(tmp_path / "expected.json"))
    assert [row["refused"] for row in found] == [None] * 4
    assert [row["product"] for row in found] == ["mod13q1-061", "landsat-c2-l2"] * 2


def test_a_folder_is_read_in_the_order_of_its_paths(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    for name, item in zip(("b/1.json", "a.json", "c.JSON", "b/0.geojson"), ITEMS, strict=True):
        (tmp_path / name).write_text(json.dumps(item))
    found = rows(tmp_path)
    assert [row["item"] for row in found] == [ITEMS[n]["id"] for n in (1, 2, 3, 0)]
    assert found[3]["metadata"] == str(tmp_path / "b/1.json")


def test_other_json_in_a_folder_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "MTL.json").write_text('{"LANDSAT_METADATA_FILE": {}}')
    (tmp_path / "plots.geojson").write_text(
        '{"type": "FeatureCollection", "features": [{"type": "Feature", "geometry": null, "properties": {}}]}'
    )
    (tmp_path / "collection.json").write_text('{"type": "Collection", "id": "x", "links": []}')
    (tmp_path / "numbers.json").write_text("[1, 2]")
    (tmp_path / "item.json").write_text(json.dumps(ITEMS[0]))
    assert [row["item"] for row in rows(tmp_path)] == [ITEMS[0]["id"]]


def test_a_broken_file_in_a_folder_is_a_refused_row(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(ITEMS[0])[:-40])
    (tmp_path / "b.json").write_text(json.dumps(ITEMS[1]))
    (tmp_path / "c.parquet").write_bytes(b"")
    broken, sound, empty = rows(tmp_path)
    assert "a.json, line 1: no JSON" in broken["refused"]
    assert sound["refused"] is None
    assert "c.parquet is no Parquet file" in empty["refused"]


def catalogue(folder: Path) -> Path:
    """A catalogue of catalogues that lead back to their parents."""
    (folder / "sub/items").mkdir(parents=True)
    for number, item in enumerate(ITEMS[:3]):
        (folder / f"sub/items/{number}.json").write_text(json.dumps(item))
    links = [{"rel": "item", "href": f"./items/{n}.json"} for n in (0, 1, 0)]
    links += [
        {"rel": "root", "href": "../catalog.json"},
        {"rel": "child", "href": "../catalog.json"},
        {"rel": "item", "href": "https://x.org/items/9.json"},
        {"rel": "item", "href": "items/8.json"},
        {"rel": "item", "href": (folder / "sub/items/2.json").as_uri()},
    ]
    sub = {"type": "Collection", "id": "sub", "stac_version": "1.0.0", "links": links}
    (folder / "sub/collection.json").write_text(json.dumps(sub))
    top = {"type": "Catalog", "id": "top", "links": [{"rel": "child", "href": "./sub/collection.json"}]}
    (folder / "catalog.json").write_text(json.dumps(top))
    return folder / "catalog.json"


def test_links_of_a_catalogue_are_followed_once(tmp_path: Path) -> None:
    found = rows(catalogue(tmp_path))
    assert [row["item"] for row in found if row["refused"] is None] == [item["id"] for item in ITEMS[:3]]
    reasons = [row["refused"] for row in found if row["refused"]]
    assert len(reasons) == 2
    assert "https://x.org/items/9.json lies on the network" in reasons[0]
    assert "items/8.json, which is not there" in reasons[1]


def test_a_catalogue_saved_with_its_network_addresses(tmp_path: Path) -> None:
    (tmp_path / "items").mkdir()
    (tmp_path / "items/0.json").write_text(json.dumps(ITEMS[0]))
    links = [{"rel": "self", "href": "https://x.org/c/catalog.json"}]
    links += [{"rel": "item", "href": "https://x.org/c/items/0.json"}]
    (tmp_path / "catalog.json").write_text(json.dumps({"type": "Catalog", "links": links}))
    assert [row["item"] for row in rows(tmp_path / "catalog.json")] == [ITEMS[0]["id"]]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.json", b'{"type": "Feature",\n"id": }', "line 2: no JSON"),
        ("a.json", b"", "the file is empty"),
        ("a.json", b"<!DOCTYPE html><html>login</html>", "a web page, perhaps for a login"),
        ("a.json", b"\xff\xfe\xff", "no text in UTF-8"),
        ("a.json", b'{"rings": []}', "holds no STAC item"),
        ("a.json", b"7", "holds no STAC item"),
        ("a.ndjson", b'\n{"id": \n{"id": 1}', "line 2: no JSON"),
        ("a.json", b'{"assets": {}}\n{"id": ', "line 2: no JSON"),
        ("a.parquet", b"PAR1nothing", "no Parquet file"),
        ("b.json", None, "does not exist"),
    ],
)
def test_what_can_not_be_read_is_told_with_file_and_line(
    name: str, content: bytes | None, words: str, tmp_path: Path
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(BadSource, match=words) as told:
        stac.read_items(tmp_path / name, PRODUCTS)
    assert str(tmp_path / name) in str(told.value)


def test_a_broken_line_is_told_and_the_others_are_read(tmp_path: Path) -> None:
    lines = [json.dumps(ITEMS[0]), "{broken", json.dumps(ITEMS[1]), json.dumps(ITEMS[2])[:-9]]
    (tmp_path / "a.ndjson").write_text("\n".join(lines))
    for source in (tmp_path, tmp_path / "a.ndjson"):
        first, broken, second, cut = rows(source)
        assert [row["item"] for row in (first, second)] == [ITEMS[0]["id"], ITEMS[1]["id"]]
        assert "a.ndjson, line 2: no JSON" in broken["refused"]
        assert "a.ndjson, line 4: no JSON" in cut["refused"]


def test_a_table_of_something_else_is_told(tmp_path: Path) -> None:
    import polars as pl

    pl.DataFrame({"id": ["a"], "geometry": [b""]}).write_parquet(tmp_path / "plots.parquet")
    with pytest.raises(BadSource, match="no columns id and assets"):
        stac.read_items(tmp_path / "plots.parquet", PRODUCTS)


def test_a_single_bad_item_does_not_stop_the_others(tmp_path: Path) -> None:
    (tmp_path / "items.json").write_text(json.dumps([ITEMS[0], 5, {"id": "x"}, None, ITEMS[1]]))
    found = rows(tmp_path / "items.json")
    assert [row["order"] for row in found] == [0, 1, 2, 3, 4]
    assert [row["refused"] is None for row in found] == [True, False, False, False, True]
    assert found[2]["refused"] == "the item has no assets"


def test_not_a_number_is_read_as_other_programs_write_it(tmp_path: Path) -> None:
    item = modis(1)
    item["assets"]["250m_16_days_NDVI"]["raster:bands"] = [{"nodata": float("nan")}]
    (tmp_path / "a.json").write_text(json.dumps(item))
    (tmp_path / "a.ndjson").write_text(json.dumps(item))
    assert "NaN" in (tmp_path / "a.json").read_text()
    assert [row["refused"] for row in rows(tmp_path / "a.json") + rows(tmp_path / "a.ndjson")] == [None, None]


def test_an_item_twice_is_one_candidate_and_a_further_one_adds_its_layers(tmp_path: Path) -> None:
    surface, temperature = landsat(9), landsat(9)
    temperature |= {"id": f"{surface['id']}_ST", "collection": "landsat-c2l2-st"}
    thermal = f"https://landsatlook.usgs.gov/data/{surface['id']}_ST_B6.TIF"
    temperature["assets"] = {"lwir": {"href": thermal}}
    (tmp_path / "items.json").write_text(json.dumps([temperature, surface, surface, landsat(25)]))
    first, other = rows(tmp_path / "items.json")
    assert (first["repeated"], other["repeated"]) == (2, 0)
    assert [file["band"] for file in first["files"]] == ["red", "qa_pixel", "thermal"]
    assert first["scene"] == surface["id"]


def test_an_empty_collection_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "items.json").write_text('{"type": "FeatureCollection", "features": []}')
    assert stac.read_items(tmp_path / "items.json", PRODUCTS) == []
