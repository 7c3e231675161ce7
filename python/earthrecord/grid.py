"""Where pixels lie: a raster's grid, and a window of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Window:
    """A block of pixels: first column, first row, columns, rows (0-based; may lie beyond the raster)."""

    col: int
    row: int
    width: int
    height: int

    @property
    def empty(self) -> bool:
        return self.width <= 0 or self.height <= 0

    def within(self, width: int, height: int) -> Window:
        """The part of this window that lies on a raster of `width` by `height` pixels (may be empty)."""
        col, row = max(self.col, 0), max(self.row, 0)
        right, bottom = min(self.col + self.width, width), min(self.row + self.height, height)
        return Window(col, row, max(right - col, 0), max(bottom - row, 0))


@dataclass(frozen=True, slots=True)
class Grid:
    """A north-up raster grid.

    `crs` is anything pyproj reads ("EPSG:32633", WKT, a PROJ string). `transform` holds the six affine
    numbers (a, b, c, d, e, f) of x = a*col + b*row + c and y = d*col + e*row + f, in units of the CRS,
    counted from the outer corner of the first pixel. `width` and `height` are in pixels.
    """

    crs: str
    transform: tuple[float, float, float, float, float, float]
    width: int
    height: int

    @property
    def cell(self) -> tuple[float, float]:
        """Cell width and height in units of the CRS, both positive."""
        return abs(self.transform[0]), abs(self.transform[4])

    def crop(self, window: Window) -> Grid:
        """The grid of a window of this grid."""
        a, b, c, d, e, f = self.transform
        x = a * window.col + b * window.row + c
        y = d * window.col + e * window.row + f
        return Grid(self.crs, (a, b, x, d, e, y), window.width, window.height)
