"""The Sentinel-2 offset by two tellings (definitions, "Sentinel-2 offset")."""

from typing import Any

import numpy as np
import pytest

from earthrecord.products.registry import load
from earthrecord.record import offsets

PRODUCT = load()["sentinel-2-l2a"]


@pytest.mark.parametrize(
    ("row", "state"),
    [
        ({"baseline": "02.14"}, "absent"),
        ({"baseline": "05.00"}, "present"),
        ({"baseline": "04.00", "offset": -1000}, "present"),
        ({"baseline": "05.00", "offset": -1000, "offset_applied": True}, "absent"),
        ({"baseline": "05.00", "offset": 0}, "absent"),
        ({"baseline": "04.00", "offset": -7000}, "present"),
        ({"baseline": "99.99"}, "unclear"),
        ({}, "unclear"),
    ],
)
def test_by_metadata(row: dict[str, Any], state: str) -> None:
    assert (
        offsets.by_metadata({"baseline": None, "offset": None, "offset_applied": None} | row, PRODUCT)
        == state
    )


@pytest.mark.parametrize(
    ("value", "state"), [(999, "absent"), (1000, "present"), (1400, "present"), (150, "absent")]
)
def test_by_pixels_the_median_of_dark_pixels_decides(value: int, state: str) -> None:
    bands = [np.full((10, 10), value, np.uint16)] * 3
    assert offsets.by_pixels(bands, np.ones((10, 10), bool), 100) == state


def test_under_one_percent_of_such_pixels_is_unclear() -> None:
    bands, dark = [np.full((100, 100), 1500, np.uint16)] * 3, np.zeros((100, 100), bool)
    dark.flat[:99] = True
    assert offsets.by_pixels(bands, dark, 10_000) == "unclear"
    dark.flat[:100] = True
    assert offsets.by_pixels(bands, dark, 10_000) == "present"
    assert offsets.by_pixels(bands, dark & False, 0) == "unclear"


def test_only_two_clear_tellings_can_disagree() -> None:
    assert offsets.disagree("present", "absent")
    assert not offsets.disagree("present", "present")
    assert not offsets.disagree("present", "unclear")
    assert not offsets.disagree("present", None)
