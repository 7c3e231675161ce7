"""One Sentinel-2 acquisition a month (paper, section 2.1; definitions, "Sentinel-2 a month")."""

import datetime as dt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from earthrecord.grid import Grid, Window
from earthrecord.record import months
from earthrecord.record.look import Place

FILL, CLOUD, SNOW, CLEAR = 1, 2, 4, 5


def granule(
    position: int,
    classes: NDArray[np.uint8],
    *,
    tile: str = "31TCJ",
    day: int = 1,
    x: float = 500_000.0,
    crs: str = "EPSG:32631",
) -> months.Granule:
    grid = Grid(crs, (20.0, 0.0, x, 0.0, -20.0, 5_000_000.0), classes.shape[1], classes.shape[0])
    place = Place(grid, Window(0, 0, classes.shape[1], classes.shape[0]), np.ones(classes.shape, bool))
    moment = dt.datetime(2020, 6, day, 10, tzinfo=dt.UTC)
    row: dict[str, Any] = {
        "tile": tile,
        "order": position,
        "datatake": moment,
        "start": moment,
        "product": "s2",
        "platform": "sentinel-2a",
    }
    return months.Granule(position, row, place, classes)


def classes(left: int, right: int) -> NDArray[np.uint8]:
    return np.repeat(np.array([[left] * 5 + [right] * 5], np.uint8), 10, axis=0)


def test_both_halves_of_a_split_tile_are_used() -> None:
    acquisition = months.union([granule(0, classes(CLEAR, FILL)), granule(1, classes(FILL, CLOUD))])
    assert (sorted(acquisition.used), acquisition.idle) == ([0, 1], ())
    assert acquisition.counts == (0, 0, 50, 0, 0, 50)


def test_one_tile_is_enough_where_it_holds_the_whole_site() -> None:
    acquisition = months.union(
        [granule(0, classes(CLEAR, FILL), tile="31TDJ"), granule(1, classes(CLEAR, CLEAR))]
    )
    assert (acquisition.used, acquisition.idle) == ((1,), (0,))


def test_tiles_that_see_the_same_are_taken_by_tile_id() -> None:
    acquisition = months.union(
        [granule(0, classes(CLEAR, CLEAR), tile="31TDJ"), granule(1, classes(CLEAR, CLEAR), tile="31TCJ")]
    )
    assert (acquisition.used, acquisition.idle) == ((1,), (0,))


def test_a_tile_of_the_neighbouring_zone_adds_by_pixel_centres() -> None:
    from pyproj import Transformer

    base = granule(0, classes(CLEAR, 0))
    x, y = Transformer.from_crs("EPSG:32631", "EPSG:32632", always_xy=True).transform(500_000.0, 5_000_000.0)
    wide = Grid("EPSG:32632", (20.0, 0.0, x - 2000, 0.0, -20.0, y + 2000), 200, 200)
    other = months.Granule(
        1,
        {**base.row, "tile": "32TMP"},
        Place(wide, Window(0, 0, 200, 200), np.ones((200, 200), bool)),
        np.full((200, 200), SNOW, np.uint8),
    )
    other_sees_more = months.union([base, other])
    assert other_sees_more.used[0] == 1
    small = months.Granule(
        1, other.row, Place(wide, Window(0, 0, 200, 200), np.zeros((200, 200), bool)), other.classes
    )
    acquisition = months.union([base, small])
    assert acquisition.used == (0, 1)
    assert acquisition.counts == (0, 0, 0, 0, 50, 50)


def test_the_clearest_acquisition_of_a_month_wins_snow_as_clear() -> None:
    cloudy, snowy, half = (
        months.union([granule(i, classes(*c), day=i + 1)])
        for i, c in enumerate([(CLOUD, CLEAR), (SNOW, CLEAR), (FILL, CLEAR)])
    )
    assert months.best_of_months([cloudy, snowy, half]) == {0: 1, 2: 1}


def test_ties_go_to_covered_share_then_the_earlier_day_then_the_tile() -> None:
    half, cloudy = (
        months.union([granule(0, classes(FILL, CLEAR))]),
        months.union([granule(1, classes(CLOUD, CLEAR), day=2)]),
    )
    assert months.best_of_months([half, cloudy]) == {0: 1}
    early, late = (
        months.union([granule(0, classes(CLEAR, CLEAR), day=9)]),
        months.union([granule(1, classes(CLEAR, CLEAR), day=4)]),
    )
    assert months.best_of_months([early, late]) == {0: 1}
    b, a = (
        months.union([granule(i, classes(CLEAR, CLEAR), tile=tile)])
        for i, tile in enumerate(("31TDJ", "31TCJ"))
    )
    assert months.best_of_months([b, a]) == {0: 1}


def test_months_do_not_compete_with_each_other() -> None:
    june = months.union([granule(0, classes(CLEAR, CLEAR))])
    july = months.union([granule(1, classes(CLOUD, CLOUD))])
    july = months.Acquisition((2020, 7), july.used, july.idle, july.counts, july.rank)
    assert months.best_of_months([june, july]) == {}


def test_a_granule_without_datatake_stands_for_itself() -> None:
    rows: list[tuple[int, Any]] = [
        (0, {**granule(0, classes(CLEAR, CLEAR)).row, "datatake": None}),
        (1, granule(1, classes(CLEAR, CLEAR)).row),
    ]
    rows.append((2, rows[1][1]))
    assert sorted(map(sorted, months.datatakes(rows))) == [[0], [1, 2]]
