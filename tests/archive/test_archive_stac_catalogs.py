"""The tables of catalogues, tested as data."""

from pathlib import Path

import pytest

from earthrecord.archive import catalog, stac
from earthrecord.archive.catalog import Item
from earthrecord.archive.hrefs import Base
from earthrecord.errors import BadSource
from earthrecord.products import registry

CATALOGUES = catalog.load()
SHIPPED = sorted(path.stem for path in catalog.SHIPPED.glob("*.toml"))
MINIMAL = 'format = 1\nid = "mine"\ntitle = "Mine"\nsigning = "none"\n[sources]\nme = { title = "me" }\n'


def write(folder: Path, text: str, name: str = "mine.toml") -> Path:
    (folder / name).write_text(text)
    return folder


def test_all_catalogues_speak_of_products_and_layers_that_exist() -> None:
    catalog.check(CATALOGUES, registry.load())


def test_the_archives_of_the_plan_are_there() -> None:
    assert {"planetary-computer", "earth-search-v0", "earth-search-v1", "copernicus-data-space"} <= set(
        SHIPPED
    )
    assert {"usgs-landsatlook", "dea", "cmr", "stactools", "stac"} <= set(SHIPPED)


@pytest.mark.parametrize("name", SHIPPED)
def test_every_fact_has_a_source_that_is_told(name: str) -> None:
    catalogue = CATALOGUES[name]
    known = set(catalogue.sources)
    for base in (catalogue.like,) if catalogue.like else ():
        known |= set(CATALOGUES[base].sources)
    assert all(entry.source for entry in catalogue.collections)
    assert {key for entry in catalogue.collections for key in entry.source.split()} <= known


@pytest.mark.parametrize("name", SHIPPED)
def test_every_catalogue_ends_with_the_neutral_one(name: str) -> None:
    for column, readings in CATALOGUES["stac"].columns.items():
        assert CATALOGUES[name].columns[column][-len(readings) :] == readings


def test_no_asset_key_means_two_layers_of_one_product() -> None:
    meanings: dict[tuple[str, str], set[str]] = {}
    for catalogue in CATALOGUES.values():
        for entry in catalogue.collections:
            for key, band in entry.assets.items():
                meanings.setdefault((entry.product, key), set()).add(band)
    assert [key for key, bands in meanings.items() if len(bands) > 1] == []


@pytest.mark.parametrize(
    ("members", "name"),
    [
        (
            {"links": [{"rel": "root", "href": "https://earth-search.aws.element84.com/v1"}]},
            "earth-search-v1",
        ),
        (
            {"links": [{"rel": "root", "href": "https://earth-search.aws.element84.com/v0"}]},
            "earth-search-v0",
        ),
        ({"links": [{"rel": "via", "href": "https://earth-search.aws.element84.com/v0"}]}, "stac"),
        ({"collection": "sentinel-s2-l2a-cogs"}, "earth-search-v0"),
        ({"collection": "sentinel-2-l2a"}, "stac"),
        ({"collection": "landsat-c2l2-sr"}, "usgs-landsatlook"),
        ({"properties": {"eopf:datastrip_id": "S2A"}}, "copernicus-data-space"),
        ({"properties": {"odc:product": "ga_ls8c_ard_3"}}, "dea"),
        ({"properties": {"odc:product": "ls8_sr"}}, "stac"),
        (
            {"assets": {"a": {"href": "https://sentinel2l2a01.blob.core.windows.net/x.tif"}}},
            "planetary-computer",
        ),
        ({"assets": {"a": {"href": "s3://usgs-landsat/x.TIF"}}, "collection": "any"}, "usgs-landsatlook"),
        ({"links": [{"rel": "self", "href": "https://cmr.earthdata.nasa.gov/stac/LPCLOUD/x"}]}, "cmr"),
        ({}, "stac"),
    ],
)
def test_catalogues_are_recognised_by_the_best_evidence(members: dict[str, object], name: str) -> None:
    assert CATALOGUES.recognise(Item(members)).id == name


def test_a_catalogue_of_ones_own(tmp_path: Path) -> None:
    own = MINIMAL.replace(
        "[sources]",
        'like = "stactools"\nrecognise = { links = ["https://stac.mine.org/"] }\n'
        "columns = { baseline = [{ from = \"properties.my:version\", pattern = '^v(.+)$' }] }\n[sources]",
    )
    known = catalog.load([write(tmp_path, own)])
    item = Item(
        {
            "links": [{"rel": "self", "href": "https://stac.mine.org/a"}],
            "properties": {"my:version": "v05.11"},
        }
    )
    mine = known.recognise(item)
    assert (mine.id, mine.told("baseline", item)) == ("mine", "05.11")
    assert mine.collection(Item({"collection": "landsat-c2-l2", "id": "a"})) is not None


def test_the_example_of_the_guide_works(tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "docs/add-a-catalog.md").read_text("utf-8")
    example = text.partition("```toml\n")[2].partition("```")[0]
    known = catalog.load([write(tmp_path, example)])
    catalog.check(known, registry.load())
    keys = ("r490", "r560", "r665", "r842", "r865", "r1610", "r2190", "classes")
    item = {
        "id": "S2A_7", "collection": "s2-my",
        "properties": {"datetime": "2020-03-02T10:27:44Z", "my:version": "PB0500", "grid:code": "MGRS-32TMT"},
        "assets": {key: {"href": f"https://data.example.org/DS_20200302T102554/{key}.tif"} for key in keys},
    }  # fmt: skip
    row = stac.Reader(registry.load(), known).row(item, Base(tmp_path / "items.json"))
    assert (row["catalogue"], row["product"], row["flags"]) == ("mine", "sentinel-2-l2a", [])
    assert (row["baseline"], row["sensing"].isoformat()) == ("05.00", "2020-03-02T10:25:54+00:00")
    item["properties"] |= {"my:kind": "composite"}  # type: ignore[operator]
    row = stac.Reader(registry.load(), known).row(item, Base(tmp_path / "items.json"))
    assert row["refused"] == "a composite of several days; take the single scenes"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("format = 1", "format = 2"), "format"),
        (('title = "Mine"', 'titel = "Mine"'), "titel"),
        (('id = "mine"', 'id = "other"'), "is the name of its file"),
        (('signing = "none"', 'signing = "magic"'), "magic"),
        (('signing = "none"', 'signing = "none"\nlike = "nobody"'), "leads to no catalogue"),
        (("[sources]", 'columns = { bassline = [{ from = "id" }] }\n[sources]'), "no such column"),
        (("[sources]", 'columns = { tile = [{ from = "property.x" }] }\n[sources]'), "from = 'property.x'"),
        (
            ("[sources]", 'columns = { tile = [{ from = "id", pattern = "(" }] }\n[sources]'),
            "no regular expression",
        ),
        (("[sources]", "[sources"), "is no TOML"),
    ],
)
def test_a_wrong_table_is_told_with_its_file(change: tuple[str, str], words: str, tmp_path: Path) -> None:
    folder = write(tmp_path, MINIMAL.replace(*change))
    with pytest.raises(BadSource, match=words) as told:
        catalog.load([folder / "mine.toml"])
    assert "mine" in str(told.value)


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ('[[collections]]\nid = "a"\nproduct = "mod99"\n', "no product 'mod99'"),
        ('[[collections]]\nid = "a"\nproduct = "landsat-c2-l2"\nassets = { r = "rad" }\n', "no layer 'rad'"),
    ],
)
def test_a_catalogue_of_unknown_products_or_layers_is_told(entry: str, words: str, tmp_path: Path) -> None:
    known = catalog.load([write(tmp_path, MINIMAL + entry)])
    with pytest.raises(BadSource, match=words):
        catalog.check(known, registry.load())


def test_a_folder_without_tables_is_told(tmp_path: Path) -> None:
    with pytest.raises(BadSource, match=r"no \.toml file"):
        catalog.load([tmp_path])
