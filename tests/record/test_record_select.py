"""Rules that need no pixels (definitions, "The record": order of rules, duplicates; paper, section 2.1)."""

import datetime as dt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from earthrecord.archive.scenes import SCENES
from earthrecord.errors import BadRecord
from earthrecord.products.registry import load
from earthrecord.record import select
from earthrecord.record.model import Rules, root_hash
from earthrecord.record.select import Decision

PRODUCTS = load()
UTC = dt.UTC


def scene(**columns: Any) -> dict[str, Any]:
    return (
        dict.fromkeys(SCENES)
        | {"order": 0, "flags": [], "files": [{"band": "red", "container": "tiff"}], "repeated": 0}
        | columns
    )


def landsat(name: str, order: int = 0, **columns: Any) -> dict[str, Any]:
    satellite, level, place, day, processed, _, tier = name.split("_")
    return (
        scene(
            order=order,
            product="landsat-c2-l2",
            scene=name,
            platform=f"landsat-{int(satellite[2:])}",
            sensor={"LC": "oli", "LE": "etm", "LT": "tm"}[satellite[:2]],
            level=level,
            tier=tier,
            path=int(place[:3]),
            row=int(place[3:]),
            date=dt.datetime.strptime(day, "%Y%m%d").date(),  # noqa: DTZ007
            processed=dt.datetime.strptime(processed, "%Y%m%d").replace(tzinfo=UTC),
        )
        | columns
    )


def granule(name: str, sensing: str, order: int = 0, **columns: Any) -> dict[str, Any]:
    return (
        scene(
            order=order,
            product="sentinel-2-l2a",
            scene=name,
            platform="sentinel-2a",
            sensor="msi",
            tile="32TMT",
            sensing=dt.datetime.fromisoformat(sensing).replace(tzinfo=UTC),
            date=dt.date.fromisoformat(sensing[:10]),
            datatake=dt.datetime.fromisoformat(sensing).replace(tzinfo=UTC),
        )
        | columns
    )


def kept(rows: list[dict[str, Any]]) -> list[str]:
    decisions = [Decision() for _ in rows]
    select.duplicates(rows, decisions, PRODUCTS)
    return [row["scene"] for row, decision in zip(rows, decisions, strict=True) if decision.open]


def test_the_newest_processing_is_kept() -> None:
    old, new = "LC08_L2SP_230077_20190712_20190718_02_T1", "LC08_L2SP_230077_20190712_20200827_02_T1"
    assert kept([landsat(old, 0), landsat(new, 1)]) == [new]


def test_tier_is_not_in_the_key_because_reprocessing_moves_scenes_between_tiers() -> None:
    old, new = "LC08_L2SP_230077_20190712_20190718_02_T1", "LC08_L2SP_230077_20190712_20200827_02_T2"
    assert kept([landsat(old, 0), landsat(new, 1)]) == [new]


def test_l2sp_is_preferred_to_l2sr_of_the_same_processing_day() -> None:
    both, surface = "LC08_L2SP_230077_20190712_20200827_02_T1", "LC08_L2SR_230077_20190712_20200827_02_T1"
    assert kept([landsat(surface, 0), landsat(both, 1)]) == [both]


def test_the_newest_processing_date_is_a_day() -> None:
    """Definitions, "duplicate, Landsat": newest processing date, then L2SP before L2SR, then catalogue order."""
    both, surface = "LC08_L2SP_230077_20190712_20200827_02_T1", "LC08_L2SR_230077_20190712_20200827_02_T1"
    by_metadata = dt.datetime(2020, 8, 27, 10, 30, tzinfo=UTC)  # the other is told by its name, at midnight
    assert kept([landsat(surface, 0, processed=by_metadata), landsat(both, 1)]) == [both]


def test_catalogue_order_is_the_last_tie_break() -> None:
    name = "LC08_L2SP_230077_20190712_20200827_02_T1"
    first, second = landsat(name, 4), landsat(name, 9) | {"scene": "second"}
    assert kept([second, first]) == [name]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("LC08_L2SP_230077_20190712_20200827_02_T1", "LC08_L2SP_230076_20190712_20200827_02_T1"),
        ("LC08_L2SP_230077_20211109_20211117_02_T1", "LC09_L2SP_230077_20211109_20220119_02_T1"),
        ("LE07_L2SP_230077_20130329_20200907_02_T1", "LC08_L2SP_230077_20130329_20200912_02_T1"),
    ],
    ids=[
        "neighbouring rows of one day",
        "Landsat 8 and 9 on one path, row and day",
        "Landsat 7 and 8 likewise",
    ],
)
def test_look_alikes_are_two_scenes(one: str, other: str) -> None:
    assert kept([landsat(one, 0), landsat(other, 1)]) == [one, other]


def test_sentinel2_baselines_one_millisecond_apart_are_one_acquisition() -> None:
    old = granule("old", "2020-03-02T10:25:54.563", 0, baseline="02.14")
    new = granule("new", "2020-03-02T10:25:54.564", 1, baseline="05.00")
    assert kept([old, new]) == ["new"]


def test_another_datastrip_start_is_the_other_half() -> None:
    rows = [
        granule("a", "2024-05-30T17:50:11", 0, baseline="05.10"),
        granule("b", "2024-05-30T18:02:49", 1, baseline="05.10"),
    ]
    assert kept(rows) == ["a", "b"]


def test_a_reprocessing_one_second_later_is_told_by_its_processing_time() -> None:
    times = [dt.datetime(2023, 6, 26, 2, 21, second, tzinfo=UTC) for second in (57, 58)]
    rows = [
        granule(f"at {time.second}", "2023-06-25T23:46:20", i, baseline="05.09", processed=time)
        for i, time in enumerate(times)
    ]
    decisions = [Decision(), Decision()]
    select.duplicates(rows, decisions, PRODUCTS)
    assert (decisions[0].rule, decisions[0].duplicate_of) == ("duplicate", "at 58")
    assert "newer processing" in decisions[0].reason


def test_a_dropped_scene_takes_no_part_in_duplicates() -> None:
    old, new = "LC08_L2SP_230077_20190712_20190718_02_T1", "LC08_L2SP_230077_20190712_20200827_02_T1"
    decisions = [Decision(), Decision(rule="outside")]
    select.duplicates([landsat(old), landsat(new, 1)], decisions, PRODUCTS)
    assert decisions[0].open


@given(st.permutations(range(4)))
def test_the_choice_does_not_depend_on_the_order_of_rows(order: list[int]) -> None:
    days = ("20190718", "20200827", "20200901", "20190701")
    rows = [landsat(f"LC08_L2SP_230077_20190712_{day}_02_T1", i) for i, day in enumerate(days)]
    assert kept([rows[i] for i in order]) == ["LC08_L2SP_230077_20190712_20200901_02_T1"]


def decide(row: dict[str, Any], kind: str = "core", **rules: Any) -> Decision:
    return select.by_kind(row, PRODUCTS.get(row["product"]), Rules(**rules), kind)


def test_the_window_runs_from_1984_to_the_snapshot() -> None:
    """Paper, section 2.1; definitions, "window"."""
    assert decide(landsat("LT04_L2SP_230077_19831231_20200912_02_T1")).rule == "time window"
    assert decide(landsat("LT05_L2SP_230077_19840401_20200912_02_T1")).open
    assert decide(landsat("LC08_L2SP_230077_20260930_20261004_02_T1")).open
    assert decide(landsat("LC08_L2SP_230077_20261001_20261004_02_T1")).rule == "time window"


def test_sentinel2_begins_in_2019_by_the_datatake() -> None:
    """Paper, section 2.1: Sentinel-2 enters in 2019; definitions: the limit is that of the datatake start."""
    assert decide(granule("a", "2018-12-31T23:59:59")).rule == "time window"
    late = granule("b", "2019-01-01T00:00:10", datatake=dt.datetime(2018, 12, 31, 23, 59, 50, tzinfo=UTC))
    assert decide(late).rule == "time window"
    assert decide(granule("c", "2019-01-01T00:00:00")).open


def test_regions_have_no_landsat_and_no_sentinel2() -> None:
    """Paper, section 2.1."""
    assert decide(landsat("LC08_L2SP_230077_20200930_20201004_02_T1"), "region").rule == "not asked for"
    assert decide(granule("a", "2020-01-01T00:00:00"), "region").rule == "not asked for"


def test_what_is_refused_is_not_the_product_and_keeps_its_reason() -> None:
    decision = decide(scene(product="landsat-c2-l2", refused="Level-1 digital numbers"))
    assert (decision.rule, decision.reason) == ("not the product", "Level-1 digital numbers")


def test_obscured_counts_cloud_and_shadow_of_what_was_seen() -> None:
    """Definitions, "obscured": outside and fill do not count, snow is never obscured."""
    assert select.obscured_share((1000, 500, 80, 10, 5, 5)) == 0.9
    assert select.obscured_share((10, 90, 0, 0, 0, 0)) is None
    assert select.obscured_share((0, 0, 0, 0, 100, 0)) == 0.0


@pytest.mark.parametrize(
    ("counts", "limit", "rule"),
    [
        ((0, 0, 90, 0, 0, 10), 0.9, "obscured"),
        ((0, 0, 899, 0, 0, 101), 0.9, None),
        ((0, 0, 100, 0, 0, 0), None, None),
        ((0, 100, 0, 0, 0, 0), 0.9, "no observation"),
        ((0, 100, 0, 0, 0, 0), None, "no observation"),
        ((0, 0, 70, 0, 30, 0), 0.7, "obscured"),
    ],
)
def test_scenes_at_least_ninety_percent_obscured_are_dropped(
    counts: tuple[int, ...], limit: float | None, rule: str | None
) -> None:
    """Paper, section 2.1."""
    decision = Decision()
    select.by_counts([decision], counts, PRODUCTS["landsat-c2-l2"], Rules(obscured=limit))
    assert decision.rule == rule


def test_composites_are_kept_however_cloudy() -> None:
    """Definitions, "obscured": every MODIS step that exists is kept, polar night too."""
    for counts in ((0, 0, 100, 0, 0, 0), (0, 100, 0, 0, 0, 0)):
        decision = Decision()
        select.by_counts([decision], counts, PRODUCTS["mod13q1-061"], Rules())
        assert decision.open


def test_rules_that_can_not_be_meant_are_refused() -> None:
    for rules in ({"obscured": 0}, {"obscured": 1.2}, {"margin": -1.0}, {"snapshot": dt.date(1980, 1, 1)}):
        with pytest.raises(BadRecord):
            Rules(**rules)


def test_the_root_hash_is_what_sha256sum_gives() -> None:
    """`printf 'aa  b/c\\nbb  d\\n' | sha256sum` (GNU coreutils 9.1)."""
    assert (
        root_hash({"d": "bb", "b/c": "aa"})
        == "bd60be22b7040d6497649bf995af090fed0fd9dab223431586a1aa5ad63736d8"
    )
