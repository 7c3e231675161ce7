"""Sentinel-2 from files to the record: acquisitions, months, offsets (definitions, "Sentinel-2 a month" and "offset")."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rasterio

import tiny

CLEAR, CLOUD, SNOW, NOTHING = 4, 9, 11, 0


def scl(left: int, right: int | None = None) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """240 x 240 pixels of 20 m, the site in their middle."""
    values = np.full((240, 240), left, np.uint8)
    values[:, 120:] = left if right is None else right
    return values


@pytest.fixture
def made(tmp_path: Path) -> tiny.Tiny:
    return tiny.Tiny(tmp_path)


def rules(made: tiny.Tiny, **options: Any) -> dict[str, str | None]:
    made.build(**options)
    return {scene: row["rule"] for scene, row in made.book().items()}


def test_one_acquisition_a_month_the_one_with_the_most_clear_pixels(made: tiny.Tiny) -> None:
    """Paper, section 2.1. Snow counts as clear; months do not compete."""
    hazy = tiny.sentinel2(made.archive, scl(CLEAR, CLOUD), datatake="20200603T140051")
    snowy = tiny.sentinel2(made.archive, scl(CLEAR, SNOW), datatake="20200613T140051")
    july = tiny.sentinel2(made.archive, scl(CLOUD, CLEAR), datatake="20200703T140051")
    assert rules(made) == {hazy: "one a month", snowy: None, july: None}
    assert made.book()[snowy]["acquisition_clear"] == 1.0


def test_all_of_them_where_asked(made: tiny.Tiny) -> None:
    for day in (3, 13, 23):
        tiny.sentinel2(made.archive, scl(CLEAR), datatake=f"202006{day:02}T140051")
    assert list(rules(made, all_sentinel2=True).values()) == [None] * 3


def test_ties_go_to_the_earlier_day(made: tiny.Tiny) -> None:
    late = tiny.sentinel2(made.archive, scl(CLEAR), datatake="20200613T140051", satellite="S2A")
    early = tiny.sentinel2(made.archive, scl(CLEAR), datatake="20200608T140051", satellite="S2B")
    assert rules(made) == {late: "one a month", early: None}


def test_a_tile_that_holds_the_whole_site_is_enough(made: tiny.Tiny) -> None:
    part = tiny.sentinel2(made.archive, scl(CLEAR), tile="20KMV", east=2000.0)
    whole = tiny.sentinel2(made.archive, scl(CLEAR), tile="20KLV")
    assert rules(made) == {part: "one a month", whole: None}
    assert "nothing of the site" in made.book()[part]["reason"]


def test_both_halves_of_a_split_tile_are_one_acquisition(made: tiny.Tiny) -> None:
    """Definitions, "duplicate, Sentinel-2": another datastrip start is the other half, both kept."""
    west = tiny.sentinel2(made.archive, scl(CLEAR, NOTHING), generated="20230505T101010")
    east = tiny.sentinel2(
        made.archive, scl(NOTHING, CLEAR), generated="20230505T101212", sensing="20200603T140659"
    )
    other = tiny.sentinel2(made.archive, scl(CLEAR, CLOUD), datatake="20200613T140051")
    assert rules(made) == {west: None, east: None, other: "one a month"}
    book = made.book()
    assert book[west]["acquisition"] == book[east]["acquisition"]
    assert book[west]["acquisition_clear"] == 1.0


def test_two_tiles_of_two_zones_see_the_site_together(made: tiny.Tiny) -> None:
    """A site over the border of two zones: each tile adds what the other does not show."""
    first = tiny.sentinel2(made.archive, scl(CLEAR, NOTHING), tile="20KLV")
    second = tiny.sentinel2(made.archive, scl(NOTHING, CLEAR), tile="19KHR", crs="EPSG:32619")
    assert rules(made) == {first: None, second: None}
    crs = {rasterio.open(path).crs.to_epsg() for path in made.root().rglob("*_SCL_20m.tif")}
    assert crs == {32620, 32619}


def test_an_acquisition_is_obscured_as_a_whole_idle_granules_too(made: tiny.Tiny) -> None:
    """Definitions, "obscured": of acquisitions. Its granule that adds nothing goes by the same rule, also where all are kept."""
    whole = tiny.sentinel2(made.archive, scl(CLOUD), tile="20KLV")
    part = tiny.sentinel2(made.archive, scl(CLOUD), tile="20KMV", east=2000.0)
    good = tiny.sentinel2(made.archive, scl(CLEAR), datatake="20200703T140051")
    expected = {whole: "obscured", part: "obscured", good: None}
    assert rules(made, all_sentinel2=True) == expected


def test_a_cloudy_half_of_a_clear_acquisition_stays(made: tiny.Tiny) -> None:
    cloudy = tiny.sentinel2(made.archive, scl(CLOUD, NOTHING))
    clear = tiny.sentinel2(
        made.archive, scl(NOTHING, CLEAR), generated="20230505T101212", sensing="20200603T140659"
    )
    assert rules(made) == {cloudy: None, clear: None}


def test_a_granule_that_shows_nothing_is_no_observation(made: tiny.Tiny) -> None:
    empty = tiny.sentinel2(made.archive, scl(NOTHING), tile="20KMV")
    full = tiny.sentinel2(made.archive, scl(CLEAR), tile="20KLV")
    assert rules(made) == {empty: "no observation", full: None}


def test_one_baseline_of_an_acquisition_is_kept_whatever_the_pixels(made: tiny.Tiny) -> None:
    """Definitions, "duplicate, Sentinel-2": newest baseline; sensing starts within 10 s are the same."""
    old = tiny.sentinel2(made.archive, scl(CLEAR), baseline="N0214", generated="20200603T180000")
    new = tiny.sentinel2(made.archive, scl(CLOUD, CLEAR), sensing="20200603T140108")
    assert rules(made) == {old: "duplicate", new: None}
    assert made.book()[old]["duplicate_of"] == new


def test_eleven_seconds_apart_are_two_halves(made: tiny.Tiny) -> None:
    tiny.sentinel2(made.archive, scl(CLEAR, NOTHING), baseline="N0214", generated="20200603T180000")
    tiny.sentinel2(made.archive, scl(NOTHING, CLEAR), sensing="20200603T140110")
    assert set(rules(made).values()) == {None}


def test_sentinel_2_enters_in_2019(made: tiny.Tiny) -> None:
    """Paper, section 2.1."""
    before = tiny.sentinel2(made.archive, scl(CLEAR), datatake="20181231T140051")
    after = tiny.sentinel2(made.archive, scl(CLEAR), datatake="20190101T140051")
    assert rules(made) == {before: "time window", after: None}


@pytest.mark.parametrize(
    ("baseline", "value", "told"),
    [
        ("N0500", 1400, ("present", "present")),
        ("N0214", 400, ("absent", "absent")),
        ("N0500", 400, ("present", "absent")),
        ("N0214", 1400, ("absent", "present")),
    ],
)
def test_the_offset_is_told_twice_and_a_disagreement_is_marked(
    made: tiny.Tiny, baseline: str, value: int, told: tuple[str, str]
) -> None:
    scene = tiny.sentinel2(made.archive, scl(CLEAR), baseline=baseline, reflectance=value)
    made.build()
    row = made.book()[scene]
    assert (row["offset_metadata"], row["offset_pixels"]) == told
    assert ("offset-disagrees" in row["flags"]) == (told[0] != told[1])
    readme = (made.root() / "README.md").read_text()
    (line,) = re.findall(rf"^\| {scene} \|.*$", readme, re.MULTILINE)
    assert f"| {told[0]} | {told[1]}" in line
    assert ("disagree" in line) == (told[0] != told[1])


def test_the_median_is_that_of_b02_to_b04_under_dark_pixels_of_the_site(made: tiny.Tiny) -> None:
    """The pixels decide by SCL 2, 3, 4, 6 alone; computed here with numpy."""
    dice = np.random.default_rng(3)
    classes = dice.choice(np.array([4, 5, 9], np.uint8), (240, 240))
    values = dice.integers(200, 600, (480, 480)).astype(np.uint16)
    values[np.kron(classes, np.ones((2, 2))) != 4] = 5000  # bright: bare soil and cloud
    scene = tiny.sentinel2(made.archive, classes, baseline="N0214", reflectance=values)
    made.build()
    assert made.book()[scene]["offset_pixels"] == "absent"


def test_wrapped_negatives_are_counted_and_left(made: tiny.Tiny) -> None:
    values = np.full((480, 480), 1400, np.uint16)
    values[235:240, 238:242] = 65500
    scene = tiny.sentinel2(made.archive, scl(CLEAR), reflectance=values)
    made.build()
    assert made.book()[scene]["wrapped"] == 4 * 20  # four bands of 10 m
    with rasterio.open(next(made.root().rglob("*_B04_10m.tif"))) as file:
        assert (file.read(1) == 65500).sum() == 20


def test_granules_known_by_day_and_tile_alone_are_compared_by_their_day(made: tiny.Tiny) -> None:
    """Some catalogues name neither datatake nor time; a record can be built from their file names."""
    source = made.folder / "source"
    for day, values in (("20200603", scl(CLEAR)), ("20200613", scl(CLOUD, CLEAR))):
        tiny.sentinel2(source, values, datatake=f"{day}T140051")
        folder = made.archive / f"S2A_20KLV_{day}_0_L2A"
        folder.mkdir()
        for path in source.rglob(f"*{day}T140051_*.tif"):
            path.rename(folder / f"{path.stem.split('_')[2]}.tif")
    assert rules(made) == {"S2A_20KLV_20200603_0_L2A": None, "S2A_20KLV_20200613_0_L2A": "one a month"}


def test_a_spoiled_scene_classification_takes_its_granule_out_not_the_other_half(made: tiny.Tiny) -> None:
    bad = tiny.sentinel2(made.archive, scl(CLEAR, NOTHING))
    good = tiny.sentinel2(
        made.archive, scl(NOTHING, CLEAR), generated="20230505T101212", sensing="20200603T140659"
    )
    (path,) = (made.archive / f"{bad}.SAFE").rglob("*_SCL_20m.tif")
    path.write_bytes(path.read_bytes()[:300])
    assert rules(made) == {bad: "unreadable", good: None}
