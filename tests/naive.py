"""Naive twins of the core's kernels: a few obvious lines each, slow and plainly right."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Block = tuple[int, int, int, int]
"""A window: column, row, width, height."""


def window(values: NDArray[Any], block: Block) -> NDArray[Any]:
    """The pixels of a window that lies on the raster."""
    col, row, width, height = block
    return values[row : row + height, col : col + width]


def masked(values: NDArray[Any], site: NDArray[np.bool_], mask_value: float) -> NDArray[Any]:
    """`values` with `mask_value` off the site."""
    out = values.copy()
    out[~site] = mask_value
    return out


def counts(
    values: NDArray[Any], classes: NDArray[np.uint8], block: Block, site: NDArray[np.bool_]
) -> tuple[int, ...]:
    """Site pixels by class 0 outside the raster, 1 fill, 2 cloud, 3 shadow, 4 snow, 5 clear; `values` is the whole raster."""
    patterns = values.view(f"u{values.itemsize}")
    tally = [0] * 6
    for row, col in np.argwhere(site):
        y, x = int(row) + block[1], int(col) + block[0]
        on = 0 <= y < values.shape[0] and 0 <= x < values.shape[1]
        tally[int(classes[patterns[y, x]]) if on else 0] += 1
    return tuple(tally)


def differences(line: NDArray[Any]) -> NDArray[Any]:
    """TIFF's predictor 2: each pixel less the one before it, wrapping."""
    return np.concatenate([line[:1], line[1:] - line[:-1]])


def entries(path: Path) -> dict[int, tuple[Any, ...]]:
    """Tags of the only directory of a classic little-endian TIFF: numbers, or one text as bytes."""
    data = path.read_bytes()
    assert data[:4] == b"II*\0"
    (at,) = struct.unpack_from("<I", data, 4)
    (count,) = struct.unpack_from("<H", data, at)
    kinds = {2: "s", 3: "H", 4: "I", 12: "d"}
    tags: dict[int, tuple[Any, ...]] = {}
    for tag, kind, many, _ in struct.iter_unpack("<HHII", data[at + 2 : at + 2 + 12 * count]):
        form = f"<{many}{kinds[kind]}"
        place = at + 2 + 12 * len(tags) + 8
        where = place if struct.calcsize(form) <= 4 else struct.unpack_from("<I", data, place)[0]
        tags[tag] = struct.unpack_from(form, data, where)
    assert struct.unpack_from("<I", data, at + 2 + 12 * count) == (0,)
    return tags


def format_1(path: Path) -> NDArray[Any]:
    """The pixels of a file of format 1 (docs/formats.md), read by the book."""
    data, tags = path.read_bytes(), entries(path)
    width, height = tags[256][0], tags[257][0]
    wide, deep = (tags[322][0], tags[323][0]) if 322 in tags else (width, height)
    dtype = np.dtype(f"<{'?uif'[tags[339][0]]}{tags[258][0] // 8}")
    out = np.zeros((-(-height // deep) * deep, -(-width // wide) * wide), dtype)
    places = zip(tags.get(324, tags.get(273, ())), tags.get(325, tags.get(279, ())), strict=True)
    for number, (offset, count) in enumerate(places):
        block = np.frombuffer(zlib.decompress(data[offset : offset + count]), dtype).reshape(deep, wide)
        down, across = divmod(number, -(-width // wide))
        summed = block if dtype.kind == "f" else np.cumsum(block, axis=1, dtype=dtype)
        out[down * deep : (down + 1) * deep, across * wide : (across + 1) * wide] = summed
    return out[:height, :width]


def old_lzw(raw: bytes) -> bytes:
    """LZW as before TIFF 6: lowest bit first, codes grow when the table is full."""
    codes, word, bits = {bytes([byte]): byte for byte in range(256)}, b"", 9
    stream, filled = 256, 9
    for end in [bytes([byte]) for byte in raw] + [b""]:
        if end and word + end in codes:
            word += end
            continue
        stream, filled = stream | codes[word] << filled, filled + bits
        codes[word + end], word = len(codes) + 2, end
        if len(codes) + 2 > 1 << bits:
            bits += 1
        if len(codes) + 2 >= 4094:
            stream, filled = stream | 256 << filled, filled + bits
            codes, bits = {bytes([byte]): byte for byte in range(256)}, 9
    stream, filled = stream | 257 << filled, filled + bits
    return stream.to_bytes((filled + 7) // 8, "little")
