"""Reading the product tables: order, digest, a user's own, and every kind of mistake."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from earthrecord.errors import BadProduct
from earthrecord.products.registry import SHIPPED, load

Write = Callable[..., Path]


def test_order_is_record_then_withheld_then_by_id_and_a_users_own_first(tmp_path: Path, write: Write) -> None:
    known = load([write(tmp_path)])
    ranks = [(p.withheld, not p.record) for p in known.values()]
    assert ranks == sorted(ranks)
    assert next(iter(known)) == "mine"
    shipped = [name for name in load() if not load()[name].withheld]
    assert shipped == sorted(shipped)


def test_products_are_a_mapping_that_cannot_be_changed() -> None:
    known = load()
    assert known.get("no such product") is None
    assert len(known) == len(list(known)) == len(list(SHIPPED.glob("*.toml")))
    with pytest.raises(TypeError):
        known["mine"] = known["landsat-c2-l2"]  # type: ignore[index]
    with pytest.raises(AttributeError):
        known["landsat-c2-l2"].title = "other"  # type: ignore[misc]


def test_digest_follows_content_not_spelling(tmp_path: Path, minimal: str, write: Write) -> None:
    plain, spaced, changed = (tmp_path / name for name in ("plain", "spaced", "changed"))
    for folder in (plain, spaced, changed):
        folder.mkdir()
    write(plain)
    write(spaced, "# a comment\n" + minimal.replace(" = ", "   =   "))
    write(changed, minimal.replace("0.0001", "0.0002"))
    digests = [load(extra).digest for extra in ([], [plain], [spaced], [changed])]
    assert digests[1] == digests[2]
    assert len(set(digests)) == 3
    assert all(len(digest) == 64 for digest in digests)


def test_like_takes_over_all_that_is_not_replaced(tmp_path: Path, write: Write) -> None:
    text = 'format = 1\nid = "mine"\nlike = "mod13q1-061"\nsubstitute = { "Terra" = "Luna" }\ncadence = "never"\n'
    known = load([write(tmp_path, text)])
    mine, base = known["mine"], known["mod13q1-061"]
    assert mine.cadence == "never"
    assert mine.title == base.title.replace("Terra", "Luna")
    assert mine.bands == base.bands


def test_a_shipped_product_is_replaced_only_when_the_table_says_so(tmp_path: Path, write: Write) -> None:
    text = 'format = 1\nid = "worldcover-2021-v200"\nlike = "worldcover-2021-v200"\ncadence = "mine"\n'
    write(tmp_path, text, "worldcover-2021-v200")
    with pytest.raises(BadProduct, match="replaces = true"):
        load([tmp_path])
    write(tmp_path, text + "replaces = true\n", "worldcover-2021-v200")
    replaced, shipped = load([tmp_path])["worldcover-2021-v200"], load()["worldcover-2021-v200"]
    assert replaced.cadence == "mine"
    assert replaced.bands == shipped.bands
    assert replaced.doi == shipped.doi


def test_the_same_id_twice_in_a_users_folders_is_an_error(tmp_path: Path, write: Write) -> None:
    with pytest.raises(BadProduct, match=r"again/mine\.toml.*that of .*mine\.toml"):
        load([write(tmp_path), write(tmp_path / "again")])


MISTAKES = {
    "misspelt key": ("cadense = 'daily'\n", None, r"cadense"),
    "missing key": ('licence = "CC0"\n', "", "licence"),
    "wrong type": ("cell = 30", "cell = 'x'", "grid.cell.*'x'"),
    "unknown dtype": ('"int16"', '"int12"', r"bands\[1\].dtype.*in 'red'.*'int12'"),
    "future format": ("format = 1", "format = 2", "format = 2.*reads format 1"),
    "no TOML": ("format = 1", "format == 1", "no TOML.*line"),
    "id of another file": ('id = "mine"', 'id = "yours"', "'yours'.*name of its file"),
    "fill outside the type": ("[-9999]", "[-99999]", r"bands.red.fill = -99999 does not fit int16"),
    "fill that is valid": ("[-9999]", "[5]", r"fill = 5 lies inside valid"),
    "scale alone": ("scale = 0.0001, offset = 0,", "scale = 0.0001,", "scale and offset"),
    "valid upside down": ("valid = [0, 10000]", "valid = [10000, 0]", "upside down"),
    "no such source": (
        'source = "me", bits',
        'source = "you", bits',
        r"bands.qa.source = 'you'.*\[sources\]",
    ),
    "no such quality band": ('band = "qa"', 'band = "qb"', "quality.band = 'qb'.*qa, red"),
    "no such bit": ("bits = [0] }]", "bits = [3] }]", r"rules\[0\]: bit 3"),
    "bit beyond the type": ("start = 0, name", "start = 8, name", "beyond the uint8"),
    "rule of another sensor": ("bits = [0] }]", 'bits = [0], sensors = ["tm"] }]', "'tm' is no sensor"),
    "broken pattern": ("(?P<scene>", "(?P<scene", r"names\[0\].pattern.*regular expression"),
    "unknown group": ("?P<date>", "?P<when>", "'when' is none of"),
    "date without a format": ('dates = { date = "%Y%m%d" }', "", "dates: 'date'"),
    "broken refusal": ("'M0'", "'M(0'", r"refuse\[0\].pattern"),
    "no such column": ('key = ["date"]', 'key = ["day"]', r"duplicates.key\[0\].*'day'"),
    "withheld in the record": ('group = "My own"', 'group = "My own"\nwithheld = true', "record = false"),
    "band named twice": ('name = "red"', 'name = "qa"', "two bands are called 'qa'"),
    "band like a later one": ('{ name = "qa"', '{ like = "red", name = "qa"', "bands.qa.like = 'red'"),
    "like nothing": ("format = 1", 'format = 1\nlike = "nothing"', "like = 'nothing'.*no such product"),
    "like itself": ("format = 1", 'format = 1\nlike = "mine"', "circle"),
    "nothing to take": ("record = true, ", "", "none has record = true"),
    "key of nothing": ('key = ["date"]', "key = []", "duplicates.key is empty"),
    "near a place": ('key = ["date"]', 'key = ["date"], near = "tile"', "near = 'tile' is no time"),
    "cell of nothing": ("cell = 30", "cell = 0", "grid.cell = 0.0"),
    "period of nothing": ("format = 1", "format = 1\nperiod_days = 0", "period_days = 0 is too small"),
    "ring inwards": ("format = 1", "format = 1\nring = -1", "ring = -1 is too small"),
    "fixed backwards": (
        "format = 1",
        "format = 1\nfixed = [2020-02-01, 2020-01-01]",
        "fixed = .*upside down",
    ),
    "scale zero": ("scale = 0.0001", "scale = 0", "bands.red.scale = 0"),
    "scale no number": ("scale = 0.0001", "scale = nan", "bands.red.scale = nan"),
    "band zero": ('file = "red"', 'file = "red", index = 0', "bands.red.index = 0"),
    "bit before the first": ("start = 0, name", "start = -1, name", "'cloud' has start = -1"),
    "field without a bit": ("start = 0, name", "start = 0, width = 0, name", "width = 0"),
    "range backwards": ("bits = [0] }]", "ranges = [[5, 1]] }]", r"\[5, 1\] is upside down"),
    "no format of a date": ('"%Y%m%d"', '"%Q"', "dates.date = '%Q'"),
    "example of another form": ("[[refuse]]", 'examples = ["M2.tif"]\n[[refuse]]', "examples: 'M2.tif'"),
    "two layers of one name": (
        'file = "red"',
        'file = "QA"',
        "layer 'qa' in a file's name means 'qa' and 'red'",
    ),
    "bands as text": ("bands = [", 'attribution2 = "x"\nbands = "x"\nother = [', "bands = 'x' is no list"),
    "bands as words": ("bands = [", 'bands = ["x"]\nother = [', r"bands = \['x'\] is no list"),
    "band without a text": ('name = "qa"', "name = 5", "name or like = 5"),
    "like a number": ("format = 1", "format = 1\nlike = 5", "like = 5 is no id"),
    "substitute as text": ("format = 1", 'format = 1\nsubstitute = "x"', "substitute = 'x'"),
    "substitute a number": ("format = 1", "format = 1\nsubstitute = { a = 5 }", "substitute = {'a': 5}"),
    "replaces in words": ("format = 1", 'format = 1\nreplaces = "yes"', "replaces = 'yes'; it is true"),
    "replaces nothing": ("format = 1", "format = 1\nreplaces = true", "no shipped product"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told_with_file_key_and_remedy(
    tmp_path: Path, minimal: str, write: Write, mistake: str
) -> None:
    old, new, told = MISTAKES[mistake]
    text = old + minimal if new is None else minimal.replace(old, new, 1)
    assert text != minimal
    with pytest.raises(BadProduct, match=told) as error:
        load([write(tmp_path, text)])
    assert str(tmp_path / "mine.toml") in str(error.value)
    assert "\n" not in str(error.value)


def test_a_product_without_names_of_files_is_a_mistake(tmp_path: Path, minimal: str, write: Write) -> None:
    head, tail = minimal.split("[[names]]")[0], minimal[minimal.index("[[refuse]]") :]
    with pytest.raises(BadProduct, match="names is empty"):
        load([write(tmp_path, head.replace("format = 1", "format = 1\nnames = []") + tail)])


def test_an_id_names_folders(tmp_path: Path, minimal: str, write: Write) -> None:
    with pytest.raises(BadProduct, match="id = 'my own'; use letters"):
        load([write(tmp_path, minimal.replace('id = "mine"', 'id = "my own"'), "my own")])


def test_a_mark_of_the_byte_order_is_passed_over(tmp_path: Path, minimal: str, write: Write) -> None:
    assert load([write(tmp_path / "a", f"\ufeff{minimal}")]).digest == load([write(tmp_path / "b")]).digest


def test_folders_that_are_none(tmp_path: Path, write: Write) -> None:
    with pytest.raises(BadProduct, match="no such folder"):
        load([tmp_path / "absent"])
    with pytest.raises(BadProduct, match=r"holds no \.toml"):
        load([tmp_path])
    assert "mine" in load([write(tmp_path) / "mine.toml"])


def test_a_copy_of_a_shipped_table_under_another_id_loads(tmp_path: Path) -> None:
    for file in SHIPPED.glob("*.toml"):
        shutil.copy(file, tmp_path / f"my-{file.name}")
        copy = tmp_path / f"my-{file.name}"
        copy.write_text(copy.read_text().replace(f'id = "{file.stem}"', f'id = "my-{file.stem}"'))
    known = load([tmp_path])
    assert len(known) == 2 * len(load())
    assert known["my-landsat-c2-l2"].bands == known["landsat-c2-l2"].bands
