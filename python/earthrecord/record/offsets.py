"""The Sentinel-2 reflectance offset of a scene, told twice: by metadata and by the pixels.

From processing baseline 04.00 on, 1000 is added to reflectance before storing. Catalogues disagree about
whether they took it out again, so neither source is trusted alone (definitions, "Sentinel-2 offset").
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from earthrecord.products.model import Product

State = Literal["present", "absent", "unclear"]
VISIBLE = ("blue", "green", "red")  # B02-B04
DARK = (2, 3, 4, 6)  # SCL: dark area, cloud shadow, vegetation, water
DEFECTIVE = 1  # SCL 0 no data, 1 saturated or defective
LIMIT = 1000  # median DN of B02-B04 over such pixels
LEAST = 0.01  # share of the observed site that must be such pixels
WRAPPED = 60000  # unsigned values over this are negative reflectances that wrapped


def by_metadata(row: Mapping[str, Any], product: Product) -> State:
    """What the metadata say: the catalogue's "applied" flag, then BOA_ADD_OFFSET, then the baseline."""
    if row["offset_applied"] is True:
        return "absent"
    if row["offset"] is not None:
        return "present" if row["offset"] != 0 else "absent"
    known = product.baselines.get(row["baseline"] or "")
    if known is None:
        return "unclear"
    return "present" if known != 0 else "absent"


def by_pixels(bands: list[NDArray[np.uint16]], dark: NDArray[np.bool_], observed: int) -> State:
    """What the pixels say: the median of B02-B04 over dark, shadow, vegetation and water pixels.

    `bands` and `dark` share one shape; `observed` counts the site pixels that are not fill.
    """
    if observed == 0 or dark.sum() < LEAST * observed:
        return "unclear"
    median = float(np.median(np.concatenate([band[dark] for band in bands])))
    return "present" if median >= LIMIT else "absent"


def disagree(metadata: State | None, pixels: State | None) -> bool:
    """Whether both say something and they contradict each other."""
    return metadata != pixels and {metadata, pixels} <= {"present", "absent"}
