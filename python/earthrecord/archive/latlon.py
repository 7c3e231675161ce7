"""Regular latitude and longitude axes: which cells a window means, also where it lies over the seam of the globe."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from earthrecord.grid import Grid, Window

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True)
class Latitudes:
    """Cell centres as stored (either order), evenly `step` degrees apart. Rows of a window count from the north."""

    name: str
    stored: Floats
    step: float

    @property
    def descending(self) -> bool:
        return len(self.stored) < 2 or bool(self.stored[0] > self.stored[-1])

    @property
    def north(self) -> float:
        return float(self.stored.max()) + self.step / 2

    def indices(self, window: Window) -> Indices:
        """Positions of the window's rows in the file, in the file's order."""
        rows = np.arange(window.row, window.row + window.height)
        return rows if self.descending else len(self.stored) - 1 - rows[::-1]


@dataclass(frozen=True)
class Longitudes:
    """Cell centres as stored, going east, evenly `step` degrees apart, with at most one jump of 360 degrees.

    Column 0 is the cell at position `first`, whose western edge is called `west`. An axis that goes around the
    globe is offered two turns long, from 180 W on, so that every window of up to one turn is one block.
    """

    name: str
    stored: Floats
    step: float
    first: int
    west: float
    around: int
    """Columns of one turn; 0 where the axis does not go around the globe."""

    @property
    def width(self) -> int:
        return 2 * self.around or len(self.stored)

    def indices(self, window: Window) -> Indices:
        """Positions of the window's columns in the file, from west to east."""
        columns = self.first + np.arange(window.col, window.col + window.width)
        return columns % self.around if self.around else columns

    def shift(self, window: Window) -> Floats:
        """What makes the stored longitudes of a window rise evenly: multiples of 360, all 0 where they do already.

        A window over the file's seam is told around 0: 359.9, 0.0, 0.1 become -0.1, 0.0, 0.1.
        """
        centres = self.west + self.step * (np.arange(window.col, window.col + window.width) + 0.5)
        turns = np.round((centres - self.stored[self.indices(window)]) / 360)
        if (turns == turns[0]).all():
            return np.zeros(window.width)
        return np.asarray(360 * (turns - round(float(centres.mean()) / 360)), np.float64)


def latitudes(name: str, stored: Floats, step: float | None) -> Latitudes:
    """Latitudes of an axis; `step` is needed for an axis of one cell. Raises `ValueError` where they are uneven."""
    return Latitudes(name, stored, abs(_step(name, stored, step)))


def longitudes(name: str, stored: Floats, step: float | None) -> Longitudes:
    """Longitudes of an axis; `step` is needed for an axis of one cell. Raises `ValueError` where they are uneven or go west."""
    rising = np.unwrap(stored, period=360.0)
    step = _step(name, rising, step)
    if step < 0:
        raise ValueError(f"{name} goes from east to west")
    around = round(360 / step)
    if len(stored) < around:
        turn = 360 * round(float(rising.mean()) / 360)
        return Longitudes(name, stored, step, 0, float(rising[0]) - turn - step / 2, 0)
    from_date_line = (stored[:around] + 180 + step / 4) % 360
    first = int(from_date_line.argmin())
    return Longitudes(name, stored, step, first, float(from_date_line[first]) - 180 - 0.75 * step, around)


def grid(crs: str, rows: Latitudes, cols: Longitudes) -> Grid:
    """The axes as a grid that is north up."""
    transform = (cols.step, 0.0, cols.west, 0.0, -rows.step, rows.north)
    return Grid(crs, transform, cols.width, len(rows.stored))


def _step(name: str, values: Floats, step: float | None) -> float:
    if len(values) < 2:
        if step is None:
            raise ValueError(f"{name} has a single cell, so its size is not known")
        return step
    found = float(values[-1] - values[0]) / (len(values) - 1)
    if found == 0 or np.abs(np.diff(values) - found).max() > 0.02 * abs(found):
        raise ValueError(f"{name} is not evenly spaced")
    return found
