"""er sites, er sites new, er sites show."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import shapely
import typer
from typer.testing import CliRunner

from earthrecord.cli import sites as command
from earthrecord.errors import BadSite
from earthrecord.sites.koppen import koppen_group
from earthrecord.sites.readers import read_sites

APP = typer.Typer()
APP.add_typer(command.app, name="sites")
RUNNER = CliRunner()
CHACO = "-63.3,-24.1,-63.1,-23.9"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def er(*words: str) -> str:
    """What a command says; its error is raised."""
    done = RUNNER.invoke(APP, ["sites", *words], catch_exceptions=False, env={"COLUMNS": "120"})
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.parametrize(
    "words", [("--bbox", CHACO), (f"--bbox={CHACO}",), ("--bbox", CHACO.replace(",", " "))]
)
def test_a_box_south_and_west_is_added_and_listed(words: tuple[str, ...]) -> None:
    said = er("new", "chaco", *words, "--theme", "forest", "--name", 'Dry "Chaco"')
    assert "Added chaco to sites.toml: core, 20.4 x 22.2 km, EPSG:32720, Köppen group B" in said
    site = read_sites("sites.toml")["chaco"]
    assert site.bbox == (-63.3, -24.1, -63.1, -23.9)
    assert (site.theme, site.name, site.koppen, site.continent) == ("forest", 'Dry "Chaco"', "B", None)
    listed = er()
    for told in (
        "1 site in sites.toml",
        "chaco",
        "forest",
        "-63.3, -24.1, -63.1, -23.9",
        "20.4 x 22.2",
        "EPSG:32720",
    ):
        assert told in listed


def test_lists_are_made_for_scripts_too() -> None:
    er("new", "a", f"--bbox={CHACO}", "--koppen", "C", "--continent", "South America")
    er("new", "b", "--bbox=179.8,-17,-179.7,-16.6", "--kind", "region")
    for words in (("--json",), ("sites.toml", "--json"), ("--json", "sites.toml")):
        a, b = json.loads(er(*words))
        assert (a["id"], a["koppen"], a["continent"]) == ("a", "C", "South America")
        assert (b["kind"], b["bbox"], b["crs"]) == (
            "region",
            pytest.approx([179.8, -17, 180.3, -16.6]),
            "EPSG:32701",
        )


def test_a_site_is_shown() -> None:
    er("new", "chaco", f"--bbox={CHACO}", "--role", "obscure")
    said = er("show", "chaco")
    assert "role:          obscure\n" in said
    assert "bbox:          -63.3, -24.1, -63.1, -23.9\n" in said
    facts = json.loads(er("show", "chaco", "--json"))
    assert facts["area_km2"] == pytest.approx(20.35 * 22.15, rel=1e-3)
    assert facts["digest"] == read_sites("sites.toml")["chaco"].digest


def test_a_vector_file_is_listed_by_a_property(tmp_path: Path) -> None:
    box = json.loads(shapely.to_geojson(shapely.box(6, 0, 6.1, 0.1)))
    plots = [{"type": "Feature", "geometry": box, "properties": {"no": number}} for number in (3, 4)]
    (tmp_path / "plots.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": plots}))
    assert [site["id"] for site in json.loads(er("plots.geojson", "--id-field", "no", "--json"))] == [
        "3",
        "4",
    ]
    assert json.loads(er("show", "4", "--sites", "plots.geojson", "--id-field", "no", "--json"))["id"] == "4"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), r"sites.toml does not exist: make it with er sites new ID --bbox W,S,E,N"),
        (("plots.gpkg",), r"plots.gpkg does not exist"),
        (("show", "a"), r"sites.toml does not exist"),
        (("new", "a b", "--bbox=1,2,3,4"), r"'a b' is no site id"),
        (("new", "a", "--bbox=1,2,1,4"), r"--bbox 1,2,1,4: .*no width"),
        (("new", "a", "--bbox=1,2,3,4", "--theme", "trees"), r"theme is 'trees'"),
        (("new", "a", "--bbox=1,2,3,4", "--out", "gone/sites.toml"), r"can not be written"),
    ],
)
def test_mistakes_say_what_to_do(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    with pytest.raises(BadSite, match=said):
        er(*words)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("box", ["1,2,3", "a,b,c,d", "", "1,2,3,4,5"])
def test_a_box_that_is_none_is_wrong_usage(box: str) -> None:
    done = RUNNER.invoke(APP, ["sites", "new", "a", f"--bbox={box}"], env={"COLUMNS": "200"})
    assert done.exit_code == 2
    assert "west,south,east,north" in done.output


def test_a_name_near_the_one_meant_is_told() -> None:
    er("new", "chaco", f"--bbox={CHACO}")
    with pytest.raises(BadSite, match="did you mean 'chaco'"):
        er("show", "chako")
    with pytest.raises(BadSite, match="has a site 'chaco' already"):
        er("new", "chaco", f"--bbox={CHACO}")


@pytest.mark.parametrize("words", [("--help",), ("-h",), ("new", "--help"), ("show", "--help")])
def test_help_ends_with_a_worked_example(words: tuple[str, ...]) -> None:
    text = " ".join(er(*words).split())
    assert f"Example: er sites {words[0] if len(words) > 1 else ''}".rstrip() in text


@pytest.mark.parametrize(
    ("box", "group"),
    [
        ((31.4, 29.9, 31.6, 30.1), "B"),  # Cairo
        ((-60.2, -3.2, -60.0, -3.0), "A"),  # Manaus
        ((-2.1, 51.4, -1.9, 51.6), "C"),  # Wiltshire
        ((37.5, 55.6, 37.7, 55.8), "D"),  # Moscow
        ((-40.1, 72.0, -39.9, 72.1), "E"),  # Greenland
        ((-140.1, 0.0, -139.9, 0.2), None),  # the Pacific
        ((179.5, 66.5, 180.5, 67.5), "E"),  # Chukotka, over the antimeridian
        ((179.8, -17.0, 180.3, -16.6), None),  # Fiji, whose islands the map does not have
    ],
)
def test_koppen_groups(box: tuple[float, float, float, float], group: str | None) -> None:
    assert koppen_group(box) == group
