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
    classes: NDArray[np.uint8], *, tile: str = "31TCJ", day: int = 1, order: int = 0
) -> months.Granule:
    grid = Grid(
        "EPSG:32631",
        (20.0, 0.0, 500_000.0, 0.0, -20.0, 5_000_000.0),
        classes.shape[1],
        classes.shape[0],
    )
    place = Place(grid, Window(0, 0, classes.shape[1], classes.shape[0]), np.ones(classes.shape, bool))
    moment = dt.datetime(2020, 6, day, 10, tzinfo=dt.UTC)
    row: dict[str, Any] = {
        "tile": tile,
        "order": order,
        "datatake": moment,
        "date": moment.date(),
        "product": "s2",
        "platform": "sentinel-2a",
    }
    return months.Granule(row, place, classes)


def classes(left: int, right: int) -> NDArray[np.uint8]:
    return np.repeat(np.array([[left] * 5 + [right] * 5], np.uint8), 10, axis=0)


def alone(left: int, right: int, *, tile: str = "31TCJ", day: int = 1) -> months.Acquisition:
    """The acquisition of one granule."""
    one = granule(classes(left, right), tile=tile, day=day)
    return months.acquisition(one.row, months.union([one]).counts)


def test_both_halves_of_a_split_tile_are_used() -> None:
    laid = months.union([granule(classes(CLEAR, FILL)), granule(classes(FILL, CLOUD))])
    assert (sorted(laid.used), laid.idle) == ([0, 1], ())
    assert laid.counts == (0, 0, 50, 0, 0, 50)


def test_one_tile_is_enough_where_it_holds_the_whole_site() -> None:
    laid = months.union([granule(classes(CLEAR, FILL), tile="31TDJ"), granule(classes(CLEAR, CLEAR))])
    assert (laid.used, laid.idle) == ((1,), (0,))


def test_tiles_that_see_the_same_are_taken_by_tile_id() -> None:
    laid = months.union([granule(classes(CLEAR, CLEAR), tile="31TDJ"), granule(classes(CLEAR, CLEAR))])
    assert (laid.used, laid.idle) == ((1,), (0,))


def test_a_tile_of_the_neighbouring_zone_adds_by_pixel_centres() -> None:
    from pyproj import Transformer

    base = granule(classes(CLEAR, 0))
    x, y = Transformer.from_crs("EPSG:32631", "EPSG:32632", always_xy=True).transform(500_000.0, 5_000_000.0)
    wide = Grid("EPSG:32632", (20.0, 0.0, x - 2000, 0.0, -20.0, y + 2000), 200, 200)
    row = {**base.row, "tile": "32TMP"}
    snow = np.full((200, 200), SNOW, np.uint8)
    large = months.Granule(row, Place(wide, Window(0, 0, 200, 200), np.ones((200, 200), bool)), snow)
    assert months.union([base, large]).used[0] == 1
    small = months.Granule(row, Place(wide, Window(0, 0, 200, 200), np.zeros((200, 200), bool)), snow)
    laid = months.union([base, small])
    assert laid.used == (0, 1)
    assert laid.counts == (0, 0, 0, 0, 50, 50)


def test_the_clearest_acquisition_of_a_month_wins_snow_as_clear() -> None:
    cloudy, snowy, half = alone(CLOUD, CLEAR), alone(SNOW, CLEAR, day=2), alone(FILL, CLEAR, day=3)
    assert months.best_of_months([cloudy, snowy, half]) == {0: 1, 2: 1}


def test_ties_go_to_covered_share_then_the_earlier_day_then_the_tile() -> None:
    assert months.best_of_months([alone(FILL, CLEAR), alone(CLOUD, CLEAR, day=2)]) == {0: 1}
    assert months.best_of_months([alone(CLEAR, CLEAR, day=9), alone(CLEAR, CLEAR, day=4)]) == {0: 1}
    assert months.best_of_months([alone(CLEAR, CLEAR, tile="31TDJ"), alone(CLEAR, CLEAR)]) == {0: 1}
    assert months.best_of_months([alone(CLEAR, CLEAR), alone(CLEAR, CLEAR)]) == {1: 0}


def test_months_do_not_compete_with_each_other() -> None:
    july = alone(CLOUD, CLOUD)._replace(month=(2020, 7))
    assert months.best_of_months([alone(CLEAR, CLEAR), july]) == {}


def test_the_month_is_that_of_the_datatake_start() -> None:
    """Definitions: a granule sensed after midnight of the first belongs to the month in which its datatake began."""
    start = dt.datetime(2020, 6, 30, 23, 59, 51, tzinfo=dt.UTC)
    row = {"datatake": start, "date": dt.date(2020, 7, 1), "tile": "60KXA"}
    assert months.acquisition(row, (0, 0, 0, 0, 0, 1)).month == (2020, 6)
    assert months.acquisition({**row, "datatake": None}, (0, 0, 0, 0, 0, 1)).month == (2020, 7)


def test_granules_of_one_satellite_and_datatake_belong_together() -> None:
    one = granule(classes(CLEAR, CLEAR)).row
    later = one["datatake"].replace(microsecond=24_000)  # catalogues round the time differently
    rows = [{**one, "datatake": None}, one, {**one, "datatake": later}, {**one, "platform": "sentinel-2b"}]
    assert sorted(map(sorted, months.datatakes(rows))) == [[0], [1, 2], [3]]
