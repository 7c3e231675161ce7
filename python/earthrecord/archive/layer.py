"""A layer of a scene: one band of pixels on a grid, whatever file holds it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from earthrecord import _core
from earthrecord.grid import Grid, Window

Counts = tuple[int, int, int, int, int, int]


@dataclass(frozen=True, kw_only=True)
class Layer(ABC):
    """One band of a raster file. Opening reads the header; every `read` opens and closes the file.

    `dtype` is a numpy name, as stored. `nodata` is the tag as distributed, None where the file has none.
    `geokeys` is the blob that format 1 carries (see `_core.Header.geokeys`). `bands` is how many layers of
    this kind the file has.
    """

    path: Path
    grid: Grid
    dtype: str
    nodata: str | None = None
    geokeys: bytes = b""
    gdal_metadata: str | None = None
    bands: int = 1

    @abstractmethod
    def read(self, window: Window) -> NDArray[Any]:
        """Pixels of a window that lies on the raster: (height, width) in the stored dtype, nothing scaled or masked."""

    def crop(
        self,
        target: Path,
        window: Window,
        site_mask: NDArray[np.bool_] | None = None,
        mask_value: float | None = None,
    ) -> tuple[int, str]:
        """Write a window that lies on the raster as format 1; returns size in bytes and SHA-256 (hex).

        Where `site_mask` (height, width of the window) is False, pixels become `mask_value`; nothing else changes.
        """
        values = self.read(window)
        if site_mask is not None and mask_value is not None:
            values = np.where(site_mask, values, np.array(mask_value, values.dtype))
        transform = self.grid.crop(window).transform
        values = np.ascontiguousarray(values)
        return _core.write_raster(target, values, transform, self.geokeys, self.nodata, self.gdal_metadata)

    def count(self, classes: NDArray[np.uint8], window: Window, site_mask: NDArray[np.bool_]) -> Counts:
        """The six counts over the site's pixels (outside, fill, cloud, shadow, snow, clear).

        `window` may reach beyond the raster; `site_mask` has its shape. `classes`: see `_core.count_quality`.
        """
        size = self.grid.width, self.grid.height
        inside = window.within(*size)
        values = np.zeros((0, 0), self.dtype) if inside.empty else self.read(inside)
        return _core.count_classes(values, classes, corner(window), site_mask, size)

    def _check(self, window: Window) -> None:
        if window.empty or window.within(self.grid.width, self.grid.height) != window:
            raise ValueError(
                f"{window} does not lie on the {self.grid.width} x {self.grid.height} pixels of {self.path}"
            )


def corner(window: Window) -> tuple[int, int, int, int]:
    """A window as the core takes it."""
    return window.col, window.row, window.width, window.height
