"""One candidate on its way through the rules."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from earthrecord.errors import UnreadableRaster
from earthrecord.grid import Grid
from earthrecord.products.model import Product
from earthrecord.record import offsets
from earthrecord.record.journal import Stamp
from earthrecord.record.look import File, Row
from earthrecord.record.select import Decision
from earthrecord.record.store import StoredScene


@dataclass
class Choice:
    """One candidate: its row of the scene table, what was decided, and what was found in its files."""

    row: Row
    decision: Decision
    grid: Grid | None = None
    """Of the layer that decides; None where it was not opened, or is no raster."""
    trouble: str | None = None
    """Why a file of it can not be used."""
    acquisition: str | None = None
    """Sentinel-2: id of the acquisition that the granule belongs to."""
    acquisition_clear: float | None = None
    stored: StoredScene | None = None
    folder: PurePosixPath | None = None
    months: tuple[str, ...] = ()
    """netCDF: the months that this file gives."""
    seen: dict[str, Stamp | None] = field(default_factory=dict)
    """Its files as this build first saw them."""

    @property
    def flags(self) -> list[str]:
        """All that is odd about it, by metadata and by what was read."""
        return sorted({*self.decision.flags, *(self.stored.flags if self.stored else ())})

    @property
    def scene(self) -> str:
        return str(self.row["scene"])

    def stamps(self, files: Iterable[File]) -> list[Stamp | None]:
        """Files as they are now; None for one that is gone or remote.

        Raises `UnreadableRaster` where a file changed since this build first saw it: parts of two states do not mix.
        """
        now = {file["href"]: _stamp(file["href"]) for file in files}
        for href, stamp in now.items():
            if self.seen.setdefault(href, stamp) != stamp:
                raise UnreadableRaster(f"{href} changed while it was being read: search and build again")
        return list(now.values())


def offset_states(choice: Choice, product: Product) -> tuple[offsets.State | None, offsets.State | None]:
    """The Sentinel-2 offset of a scene by metadata and by pixels; (None, None) for other products."""
    if not any(band.offset_by_scene for band in product.bands):
        return None, None
    return offsets.by_metadata(choice.row, product), choice.stored.offset_pixels if choice.stored else None


def _stamp(href: str) -> Stamp | None:
    if "://" in href:
        return None
    try:
        stat = os.stat(href)
    except OSError:
        return None
    return stat.st_size, stat.st_mtime_ns
