"""The quality rules of a product as a table of classes, one entry a bit pattern."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from earthrecord.errors import BadProduct
from earthrecord.products.model import Band, Product, Quality, QualityClass, Rule

CLASSES: dict[QualityClass, int] = {"fill": 1, "cloud": 2, "shadow": 3, "snow": 4, "clear": 5}


def quality_of(product: Product) -> tuple[Band, Quality]:
    """The layer that the counts are made from, and its rules. Raises `BadProduct` where the product has none."""
    if product.quality is None:
        raise BadProduct(f"{product.id} has no [quality] table, so nothing of it can be counted")
    return next(band for band in product.bands if band.name == product.quality.band), product.quality


def class_table(product: Product, sensor: str | None, dtype: str) -> NDArray[np.uint8]:
    """The class of every bit pattern of `dtype` (8 or 16 bit integers): 1 fill, 2 cloud, 3 shadow, 4 snow, 5 clear.

    256 or 65,536 entries, for `_core.count_quality`; signed values stand at their bit pattern. Rules apply in
    order, the first decides; rules of other sensors are passed over. Where a file comes in the unsigned type
    of a signed layer (or the other way round), its bits mean what they mean in the layer's own type:
    255 is then the fill -1. Raises `BadProduct` for another dtype, or a product without quality rules.
    """
    if dtype not in ("uint8", "int8", "uint16", "int16"):
        raise BadProduct(
            f"{product.id}: its quality layer came as {dtype}; counts need an 8 or 16 bit integer"
        )
    band, quality = quality_of(product)
    patterns, values = _domain(band, np.dtype(dtype))
    table = np.full(patterns.shape, CLASSES[quality.otherwise], np.uint8)
    for rule in reversed(quality.rules):
        if not rule.sensors or sensor in rule.sensors:
            table[_applies(rule, patterns, values)] = CLASSES[rule.to]
    return table


def _domain(band: Band, dtype: np.dtype[np.generic]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All bit patterns of a type, and the value that each stands for."""
    bits = dtype.itemsize * 8
    patterns = np.arange(2**bits, dtype=np.int64)
    own = np.dtype(band.dtype)
    signed = (own if own.itemsize == dtype.itemsize else dtype).kind == "i"
    values = np.where(patterns < 2 ** (bits - 1), patterns, patterns - 2**bits) if signed else patterns
    return patterns, values


def _applies(rule: Rule, patterns: NDArray[np.int64], values: NDArray[np.int64]) -> NDArray[np.bool_]:
    mask = sum(1 << bit for bit in rule.bits)
    hit: NDArray[np.bool_] = (patterns & mask) != 0
    if rule.start is not None:
        values = (patterns >> rule.start) & ((1 << (rule.width or 1)) - 1)
    hit |= np.isin(values, rule.codes)
    for low, high in rule.ranges:
        hit |= (values >= low) & (values <= high)
    return hit
