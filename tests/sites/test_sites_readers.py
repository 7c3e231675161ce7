"""Sites from TOML, GeoJSON and GeoPackage; what is wrong is told with file, site and remedy."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely
from pyproj import Geod, Transformer

from earthrecord.errors import BadSite
from earthrecord.sites.append import append_site
from earthrecord.sites.model import site_json
from earthrecord.sites.readers import read_sites

DOCS = Path(__file__).parents[2] / "docs" / "sites.md"


def toml(folder: Path, text: str) -> Path:
    path = folder / "sites.toml"
    path.write_text(text)
    return path


def geojson(folder: Path, content: object, name: str = "plots.geojson") -> Path:
    path = folder / name
    path.write_text(json.dumps(content))
    return path


def feature(geometry: Any, properties: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    shape = json.loads(shapely.to_geojson(geometry))
    return {"type": "Feature", "geometry": shape, "properties": properties, **more}


def collection(*features: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "FeatureCollection", "features": list(features), **more}


def geopackage(path: Path, geometries: list[Any], columns: dict[str, list[Any]], **more: Any) -> Path:
    from pyogrio.raw import write

    options: dict[str, Any] = {"crs": "EPSG:4326", "geometry_type": "Polygon", "layer": "plots", **more}
    shapes = np.array(shapely.to_wkb(geometries), dtype=object)
    write(path, shapes, [np.array(column) for column in columns.values()], list(columns), **options)
    return path


BOX = shapely.box(6.0, 0.0, 6.2, 0.3)


def test_the_example_of_the_docs_parses(tmp_path: Path) -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", DOCS.read_text(), re.DOTALL)
    geojson(tmp_path, feature(BOX), "shell_beach.geojson")
    sites = read_sites(toml(tmp_path, text))
    assert list(sites) == ["chaco", "taveuni", "orchard", "shell-beach"]
    chaco = sites["chaco"]
    assert (chaco.kind, chaco.theme, chaco.role, chaco.koppen) == ("core", "forest", "obscure", "B")
    assert (chaco.name, chaco.continent, chaco.crs) == ("Dry Chaco", "South America", "EPSG:32720")
    assert chaco.bbox == (-63.3, -24.1, -63.1, -23.9)
    assert sites["taveuni"].bbox == pytest.approx((179.8, -17, 180.3, -16.6))
    assert sites["orchard"].geometry.area == pytest.approx(0.0003)
    assert (sites["shell-beach"].kind, sites["shell-beach"].geometry.equals(BOX)) == ("region", True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sites = [", "no TOML"),
        ("", r"no \[\[sites\]\] table"),
        ("site = 1", "unknown key 'site'; did you mean sites"),
        ('[[sites]]\nbbox = [1, 2, 3, 4]', "site 1 has the id None"),
        ('[[sites]]\nid = 7\nbbox = [1, 2, 3, 4]', "the id 7"),
        ('[[sites]]\nid = "a/b"\nbbox = [1, 2, 3, 4]', "'a/b' is no site id"),
        ('[[sites]]\nid = "a"\nbox = [1, 2, 3, 4]', "site 'a' has the unknown key 'box'; did you mean bbox"),
        ('[[sites]]\nid = "a"', "either bbox"),
        ('[[sites]]\nid = "a"\nbbox = [1, 2, 3, 4]\npolygon = "x.geojson"', "either bbox"),
        ('[[sites]]\nid = "a"\nbbox = [1, 2, 3, "4"]', "site 'a': bbox is"),
        ('[[sites]]\nid = "a"\nbbox = [1, 2, 3, true]', "site 'a': bbox is"),
        ('[[sites]]\nid = "a"\nbbox = [1, 2, 1, 4]', "site 'a': .*no width"),
        ('[[sites]]\nid = "a"\nbbox = [1, 2, 3, 4]\ncrs = 32631', "crs is 32631; write it in quotes"),
        ('[[sites]]\nid = "a"\nbbox = [1, 2, 3, 4]\ntheme = "tree"', "theme is 'tree'"),
        ('[[sites]]\nid = "a"\npolygon = "gone.geojson"', "gone.geojson does not exist"),
        ('[[sites]]\nid = "a"\npolygon = [1, 2]', "nested 1 deep"),
        ('[[sites]]\nid = "a"\npolygon = [[1, 2], [3, 4]]', "site 'a': polygon is no list"),
        ('[[sites]]\nid = "a"\npolygon = [[0, 0], [1, 1], [1, 0], [0, 1]]', "site 'a': .*Self-intersection"),
        ('[[sites]]\nid = "a"\nbbox = [1, 2, 3, 4]\n[[sites]]\nid = "A"\nbbox = [1, 2, 3, 4]', "more than one site with the id a;"),
    ],
)  # fmt: skip
def test_toml_that_can_not_be(tmp_path: Path, text: str, said: str) -> None:
    path = toml(tmp_path, text)
    with pytest.raises(BadSite, match=said) as error:
        read_sites(path)
    assert str(path) in str(error.value)


def test_a_file_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(BadSite, match="does not exist"):
        read_sites(tmp_path / "sites.toml")


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_byte_order_mark_does_no_harm(tmp_path: Path, mark: str) -> None:
    assert list(read_sites(toml(tmp_path, mark + '[[sites]]\nid = "a"\nbbox = [1, 2, 3, 4]\n'))) == ["a"]


def test_an_inline_polygon_may_have_holes_and_parts(tmp_path: Path) -> None:
    hole = "[[0, 0], [3, 0], [3, 3], [0, 3]], [[1, 1], [2, 1], [2, 2], [1, 2]]"
    text = f'[[sites]]\nid = "a"\npolygon = [[{hole}], [[[4, 0], [5, 0], [5, 1]]]]\n'
    assert read_sites(toml(tmp_path, text))["a"].geometry.area == pytest.approx(8.5)


def test_a_polygon_file_of_many_gives_the_one_with_the_sites_id(tmp_path: Path) -> None:
    geojson(tmp_path, collection(feature(BOX, id="a"), feature(shapely.box(1, 1, 2, 2), id="b")))
    text = '[[sites]]\nid = "{}"\npolygon = "plots.geojson"\n'
    assert read_sites(toml(tmp_path, text.format("b")))["b"].bbox == (1, 1, 2, 2)
    with pytest.raises(BadSite, match=r"site 'c': .*2 features, 0 of them with this id"):
        read_sites(toml(tmp_path, text.format("c")))


@pytest.mark.parametrize(
    ("made", "found"),
    [
        (feature(BOX, {"id": "b", "site": "c"}, id="a"), "a"),
        (feature(BOX, {"site": "c", "name": "d", "ID": "b"}), "b"),
        (feature(BOX, {"id": None, "site": "", "name": "d"}), "d"),
        (feature(BOX, {"id": 7.0}), "7"),
        (feature(BOX, id=0), "0"),
        (feature(BOX), "plots"),
        (collection(feature(BOX)), "plots"),
        (json.loads(shapely.to_geojson(BOX)), "plots"),
    ],
)
def test_where_a_geojson_feature_has_its_id(tmp_path: Path, made: dict[str, Any], found: str) -> None:
    assert list(read_sites(geojson(tmp_path, made))) == [found]


def test_properties_of_a_sites_own_names_are_taken(tmp_path: Path) -> None:
    told = {"kind": "region", "theme": "snow", "koppen": "E", "name": "Härjedalen", "role": None, "area": 3}
    (site,) = read_sites(geojson(tmp_path, feature(BOX, told, id="a"))).values()
    assert (site.kind, site.theme, site.koppen, site.name, site.role) == (
        "region", "snow", "E", "Härjedalen", None,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ([], "no GeoJSON"),
        (collection(), "no feature"),
        ({"type": "FeatureCollection"}, "without a list"),
        (collection(feature(BOX), feature(BOX)), "feature 1 has no id.*--id-field"),
        (collection(feature(BOX, id="a"), feature(BOX, id="a")), "more than one site with the id a;"),
        (feature(BOX, {"id": "plot 1/2"}), "feature 1: 'plot 1/2' is no site id"),
        ({"type": "Feature", "geometry": None, "properties": {"id": "a"}}, r"site 'a' \(feature 1\): .*empty"),
        ({"type": "Feature", "properties": {}}, "feature 1 is no GeoJSON feature"),
        ({"type": "Polygon", "coordinates": [[[0, 0], [1, 1]]]}, "feature 1 is no GeoJSON feature"),
        (feature(shapely.Point(1, 2), id="a"), "Point"),
        (feature(BOX, {"kind": "meadow"}, id="a"), "kind is 'meadow'"),
        (feature(BOX, id="a", crs={"type": "name"}), "names no CRS"),
        (feature(BOX, id="a", crs={"type": "name", "properties": {"name": "x:y"}}), "'x:y' is not understood"),
    ],
)  # fmt: skip
def test_geojson_that_can_not_be(tmp_path: Path, content: Any, said: str) -> None:
    path = geojson(tmp_path, content)
    with pytest.raises(BadSite, match=said) as error:
        read_sites(path)
    assert str(path) in str(error.value)


@pytest.mark.parametrize("text", ["", "<html>", '{"type": "Feature"'])
def test_files_that_are_no_geojson(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.geojson").write_text(text)
    with pytest.raises(BadSite, match="no GeoJSON"):
        read_sites(tmp_path / "a.geojson")


def test_an_id_field_that_does_not_exist_tells_those_that_do(tmp_path: Path) -> None:
    path = geojson(tmp_path, feature(BOX, {"plot_no": 3, "crop": "rye"}))
    assert list(read_sites(path, id_field="plot_no")) == ["3"]
    with pytest.raises(BadSite, match=r"no property 'plot'.*plot_no, crop"):
        read_sites(path, id_field="plot")


def test_the_crs_member_is_honoured(tmp_path: Path) -> None:
    utm = {"type": "name", "properties": {"name": "urn:ogc:def:crs:EPSG::32633"}}
    square = shapely.box(465000, 5079000, 467000, 5081000)
    (site,) = read_sites(geojson(tmp_path, collection(feature(square, id="a"), crs=utm))).values()
    area, _ = Geod(ellps="WGS84").geometry_area_perimeter(site.geometry)
    assert abs(area) == pytest.approx(4e6, rel=1e-3)
    assert site.bbox == pytest.approx((14.548, 45.863, 14.574, 45.881), abs=1e-3)


def test_long_edges_of_a_projected_crs_stay_where_they_were(tmp_path: Path) -> None:
    albers = {"type": "name", "properties": {"name": "EPSG:5070"}}
    square = shapely.box(-500_000, 1_500_000, 500_000, 2_500_000)
    (site,) = read_sites(geojson(tmp_path, collection(feature(square, id="a"), crs=albers))).values()
    back = Transformer.from_crs("OGC:CRS84", "EPSG:5070", always_xy=True)
    ring = shapely.get_coordinates(shapely.segmentize(site.geometry, 0.001))
    x, y = back.transform(ring[:, 0], ring[:, 1])
    assert shapely.hausdorff_distance(square.exterior, shapely.LineString(np.column_stack([x, y]))) < 0.5


def test_a_geopackage_of_500_plots_in_utm(tmp_path: Path) -> None:
    corners = [(400_000 + 150 * (n % 25), 5_000_000 + 150 * (n // 25)) for n in range(500)]
    plots = [shapely.box(x, y, x + 100, y + 100) for x, y in corners]
    path = geopackage(
        tmp_path / "plots.gpkg",
        plots,
        {"plot_no": list(range(1, 501)), "crop": ["rye"] * 500},
        crs="EPSG:32633",
    )
    sites = read_sites(path, id_field="plot_no")
    assert list(sites) == [str(n) for n in range(1, 501)]
    assert {site.kind for site in sites.values()} == {"core"}
    there = Transformer.from_crs("EPSG:32633", "OGC:CRS84", always_xy=True)
    for number in (0, 321, 499):
        (x, y), site = corners[number], sites[str(number + 1)]
        assert site.geometry.centroid.coords[0] == pytest.approx(there.transform(x + 50, y + 50), abs=1e-8)
        assert site.shorter_side == pytest.approx(100, rel=0.03)  # the zone's grid is turned by 0.9 degrees
    assert list(read_sites(path, id_field="fid"))[:2] == ["1", "2"]
    with pytest.raises(BadSite, match=r"no id.*--id-field"):
        read_sites(path)
    with pytest.raises(BadSite, match="more than one site with the id rye;"):
        read_sites(path, id_field="crop")


def test_duplicate_ids_are_all_named(tmp_path: Path) -> None:
    path = geopackage(tmp_path / "p.gpkg", [BOX] * 5, {"name": ["a", "b", "a", "c", "b"]})
    with pytest.raises(BadSite, match="id a, b;"):
        read_sites(path)


def test_layers_are_chosen(tmp_path: Path) -> None:
    path = geopackage(tmp_path / "two.gpkg", [BOX], {"id": ["a"]})
    geopackage(path, [shapely.box(1, 1, 2, 2)], {"id": ["b"]}, layer="fields", append=True)
    assert list(read_sites(path, layer="fields")) == ["b"]
    with pytest.raises(BadSite, match=r"has 2 layers.*--layer: plots, fields"):
        read_sites(path)
    with pytest.raises(BadSite, match="no layer 'x'"):
        read_sites(path, layer="x")


def test_a_vector_file_without_a_crs_is_refused(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="crs"):
        path = geopackage(tmp_path / "a.shp", [BOX], {"id": ["a"]}, crs=None)
    with pytest.raises(BadSite, match="states no CRS"):
        read_sites(path)


def test_what_is_no_vector_file_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.gpkg").write_bytes(b"")
    with pytest.raises(BadSite, match="can not be read"):
        read_sites(tmp_path / "a.gpkg")


def test_site_json_tells_nothing_that_gives_an_answer_away(tmp_path: Path) -> None:
    """Definitions, "site.json": id, kind, bounding box, CRS, snapshot date."""
    import datetime as dt

    text = (
        '[[sites]]\nid = "a"\nbbox = [1, 2, 3, 4]\nname = "N"\ntheme = "fire"\nrole = "famous"\nkoppen = "C"\n'
        'continent = "X"\n'
    )
    told = site_json(read_sites(toml(tmp_path, text))["a"], dt.date(2026, 9, 30))
    assert told == {
        "id": "a", "kind": "core", "bbox": [1.0, 2.0, 3.0, 4.0], "crs": "EPSG:32631", "snapshot": "2026-09-30",
    }  # fmt: skip
    json.dumps(told)


def test_a_site_is_added_after_what_stands(tmp_path: Path) -> None:
    before = '# my places\n[[sites]]\nid = "a" # the first\nbbox = [1, 2, 3, 4]'
    path = toml(tmp_path, before)
    added = append_site(path, "b", (5, 6, 7, 8), name='a "quoted" \\ näme', theme=None)
    assert path.read_text().startswith(before)
    assert read_sites(path)["b"] == added
    assert (added.name, added.theme, added.bbox) == ('a "quoted" \\ näme', None, (5, 6, 7, 8))


@pytest.mark.parametrize("taken", ["a", "A"])
def test_an_id_that_is_taken_changes_nothing(tmp_path: Path, taken: str) -> None:
    path = toml(tmp_path, '[[sites]]\nid = "a"\nbbox = [1, 2, 3, 4]\n')
    before = path.read_bytes()
    with pytest.raises(BadSite, match="has a site"):
        append_site(path, taken, (5, 6, 7, 8))
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("text", "added", "said"),
    [
        ('sites = [{id = "a", bbox = [1, 2, 3, 4]}]\n', {}, "no TOML"),
        ("", {"theme": "trees"}, "theme is 'trees'"),
        ("", {"crs": "EPSG:4326"}, "not projected"),
    ],
)
def test_what_would_not_be_a_sites_file_is_not_written(
    tmp_path: Path, text: str, added: dict[str, str], said: str
) -> None:
    path = toml(tmp_path, text)
    with pytest.raises(BadSite, match=said):
        append_site(path, "b", (5, 6, 7, 8), **added)
    assert path.read_text() == text
    assert list(tmp_path.iterdir()) == [path]


def test_a_sites_file_that_is_a_link_stays_one(tmp_path: Path) -> None:
    target = tmp_path / "real.toml"
    target.write_text("")
    (tmp_path / "link.toml").symlink_to(target)
    append_site(tmp_path / "link.toml", "b", (5, 6, 7, 8))
    assert (tmp_path / "link.toml").is_symlink()
    assert list(read_sites(target)) == ["b"]
