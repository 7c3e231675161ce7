"""Mangled TIFF files: what the core must answer with a result or an error that says so, never with a panic or a hang.

`run(count, seed)` does it in a process of its own, whose memory is limited. By hand: `python tests/mangle.py 10000 1`.
"""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

MEMORY = 1 << 30
"""Bytes that reading a small file may take, whatever it claims: an allocation beyond ends the process."""

ANSWERS = {"UnreadableRaster", "UnsupportedRaster", "UnwritableRaster", "ValueError"}
"""Errors that a caller expects."""

HUGE = [0, 1, 2, 255, 256, 65535, 65536, 2**20, 2**30, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**63, 2**64 - 1]
PLACES = (
    256,
    257,
    258,
    259,
    266,
    273,
    277,
    278,
    279,
    284,
    317,
    322,
    323,
    324,
    325,
    339,
    33550,
    34735,
    42112,
    42113,
)
"""Tags worth patching."""


def bases(folder: Path) -> list[Path]:
    """About twenty small sound files, one for each form that the core decodes and some that it does not."""
    import numpy as np
    import rasterio

    tile = {"tiled": True, "blockxsize": 16, "blockysize": 16}
    forms: list[dict[str, Any]] = [
        *({"compress": name, **tile} for name in ("none", "deflate", "lzw", "zstd")),
        *({"compress": name, "blockysize": 7} for name in ("none", "deflate", "lzw", "zstd")),
        *(
            {"compress": name, "predictor": 2, "endianness": "BIG", **tile}
            for name in ("deflate", "lzw", "zstd")
        ),
        *({"compress": name, "predictor": 3, "dtype": "float32"} for name in ("deflate", "lzw", "zstd")),
        {"bigtiff": "YES", "compress": "deflate", **tile},
        {"bigtiff": "YES", "endianness": "BIG", "blockysize": 40},
        {"count": 3, "interleave": "pixel", "compress": "deflate", "predictor": 2},
        {"count": 3, "interleave": "band", "compress": "zstd", **tile},
        {"sparse_ok": "TRUE", "nodata": 7, "compress": "deflate", **tile},
        {"sparse_ok": "TRUE", "dtype": "float64", "nodata": float("nan"), "bigtiff": "YES"},
        {"driver": "COG", "blocksize": 128, "compress": "deflate", "height": 150, "width": 140},
        {"compress": "LERC", "dtype": "int16"},
    ]
    made = []
    for number, form in enumerate(forms):
        profile: dict[str, Any] = {
            "driver": "GTiff",
            "count": 1,
            "height": 40,
            "width": 45,
            "dtype": "uint16",
        }
        place = rasterio.Affine(30, 0, 399960, 0, -30, 4500000)
        profile |= {"crs": "EPSG:32633", "transform": place} | form
        shape = profile["count"], profile["height"], profile["width"]
        values = np.random.default_rng(number).integers(0, 9, shape).astype(profile["dtype"])
        made.append(folder / f"base{number}.tif")
        with rasterio.open(made[-1], "w", **profile) as target:
            target.update_tags(note="a note")
            if "sparse_ok" not in form:
                target.write(values)
    return made


def directories(data: bytes) -> Iterator[tuple[int, int, list[int], int]]:
    """Place of each image directory: start, bytes of an offset, places of its entries, place of the next pointer."""
    order = "little" if data[:2] == b"II" else "big"
    big = data[2 if order == "little" else 3] == 43
    head, size, word, first = (8, 20, 8, 8) if big else (2, 12, 4, 4)
    number: Callable[[int, int], int] = lambda at, many: int.from_bytes(data[at : at + many], order)  # type: ignore[arg-type]  # noqa: E731
    at = number(first, word)
    while at:
        entries = [at + head + size * n for n in range(number(at, head))]
        yield at, word, entries, entries[-1] + size
        at = number(entries[-1] + size, word)


def mangle(data: bytes, rng: random.Random) -> bytes:
    """One to three damages."""
    out = bytearray(data)
    order: Any = "little" if data[:2] == b"II" else "big"
    found = list(directories(data))
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        rng.choice((_flip, _cut, _fill, _patch, _patch, _patch, _patch, _loop, _overlap, _claim, _claim))(
            out, found, order, rng
        )
    return bytes(out)


Found = list[tuple[int, int, list[int], int]]


def _put(out: bytearray, at: int, many: int, value: int, order: Any) -> None:
    out[at : at + many] = (value % (1 << 8 * many)).to_bytes(many, order)


def _flip(out: bytearray, found: Found, order: Any, rng: random.Random) -> None:
    """Bytes anywhere, or in the first image directory."""
    low, high = rng.choice(((0, len(out)), (found[0][0], found[0][3] + 8)))
    for _ in range(rng.randint(1, 8)):
        at = rng.randrange(low, max(high, low + 1))
        if at < len(out):
            out[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))


def _cut(out: bytearray, found: Found, order: Any, rng: random.Random) -> None:
    del out[rng.randrange(len(out) + 1) :]


def _fill(out: bytearray, found: Found, order: Any, rng: random.Random) -> None:
    """A block of zeros, as interrupted downloads leave it."""
    at = rng.randrange(len(out) + 1)
    many = min(rng.choice((4, 64, 512)), len(out) - at)
    out[at : at + many] = bytes(many)


def _entry(out: bytearray, found: Found, order: Any, rng: random.Random) -> tuple[int, int]:
    _, word, entries, _ = rng.choice(found)
    known = [at for at in entries if int.from_bytes(out[at : at + 2], order) in PLACES]
    return rng.choice(known or entries), word


def _patch(out: bytearray, found: Found, order: Any, rng: random.Random) -> None:
    """Another tag, type, count or value in an entry."""
    at, word = _entry(out, found, order, rng)
    field = rng.choice(("tag", "type", "count", "value", "value"))
    if field == "tag":
        _put(out, at, 2, rng.choice(PLACES), order)
    elif field == "type":
        _put(out, at + 2, 2, rng.choice((*range(19), 65535)), order)
    else:
        place, many = (at + 4, word) if field == "count" else (at + 4 + word, rng.choice((2, word)))
        _put(out, place, many, rng.choice((*HUGE, rng.randrange(len(out) + 9), rng.getrandbits(31))), order)


def _loop(out: bytearray, found: Found, order: Any, rng: random.Random) -> None:
    """A chain of directories that comes back, or leads elsewhere."""
    _, word, _, place = rng.choice(found)
    _put(out, place, word, rng.choice((found[0][0], found[-1][0], rng.randrange(len(out) + 9))), order)


def _overlap(out: bytearray, found: Found, order: Any, rng: random.Random) -> None:
    """All tiles at one place, or none of them anywhere."""
    _, word, entries, _ = found[0]
    for at in entries:
        tag, kind, many = (
            int.from_bytes(out[at + a : at + b], order) for a, b in ((0, 2), (2, 4), (4, 4 + word))
        )
        if tag in rng.choice(((273, 324), (273, 279, 324, 325))) and kind in (3, 4, 16):
            size, place = {3: 2, 4: 4, 16: 8}[kind], at + 4 + word
            start = place if many * size <= word else int.from_bytes(out[place : place + word], order)
            value = rng.choice((0, 8, int.from_bytes(out[start : start + size], order)))
            for number in range(min(many, 64)):
                if start + size * (number + 1) <= len(out):
                    _put(out, start + size * number, size, value, order)


def _claim(out: bytearray, found: Found, order: Any, rng: random.Random) -> None:
    """More columns, rows, bands, or larger tiles and strips than there can be."""
    _, word, entries, _ = found[0]
    for at in entries:
        if int.from_bytes(out[at : at + 2], order) in rng.choice(
            ((256, 257), (322, 323), (256, 257, 278, 322, 323), (277,))
        ):
            _put(out, at + 2, 2, 4, order)
            _put(out, at + 4, word, 1, order)
            _put(out, at + 4 + word, 4, rng.choice(HUGE[3:12]), order)


def attempts(path: Path, out: Path, rng: random.Random) -> Iterator[tuple[str, Callable[[], object]]]:
    """What is tried on each file."""
    import numpy as np

    from earthrecord import _core

    col, row = rng.choice(((0, 0), (30, 30), (-3, 5), (2**31, 0), (44, 39)))
    block, site = (col, row, 8, 8), np.ones((8, 8), bool)
    classes = np.full(65536, 5, np.uint8)
    yield "scan", lambda: _core.scan_header(path)
    yield "scan many", lambda: [str(_core.scan_headers([path]))]
    yield "read all", lambda: _core.read_window(path)
    yield "read", lambda: _core.read_window(path, block, rng.choice((1, 1, 3)))
    yield "read one", lambda: _core.read_window(path, (0, 0, 1, 1))
    yield "count", lambda: _core.count_quality(path, classes, block, site)
    yield "crop", lambda: _core.crop(path, out, (0, 0, 8, 8), 1, site, 0)


def child(folder: Path, count: int, seed: int) -> dict[str, object]:
    """Mangle and try; outcomes by attempt, the slowest attempt in seconds, what nobody should meet."""
    import earthrecord.errors
    from earthrecord import _core

    known = sorted(folder.glob("base*.tif"))
    sound = [path.read_bytes() for path in known]
    assert not _core.DEBUG or earthrecord.errors
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    outcomes: Counter[str] = Counter()
    unexpected: list[str] = []
    slowest = 0.0
    path, out = folder / "mangled.tif", folder / "out.tif"
    for number in range(count):
        rng = random.Random(f"{seed} {number}")
        path.write_bytes(mangle(sound[number % len(sound)], rng))
        (folder / "number").write_text(str(number))
        for name, attempt in attempts(path, out, rng):
            begun = time.perf_counter()
            answer, error = "result", ""
            try:
                attempt()
            except BaseException as raised:
                answer, error = type(raised).__name__, str(raised)
            outcomes[f"{name}: {answer}"] += 1
            slowest = max(slowest, time.perf_counter() - begun)
            if answer != "result" and (answer not in ANSWERS or str(path) not in error):
                unexpected.append(f"{number} {name}: {answer}: {error}")
    left = [place.name for place in folder.iterdir() if ".part" in place.name]
    return {
        "files": count,
        "outcomes": dict(sorted(outcomes.items())),
        "unexpected": unexpected[:20] + left,
        "slowest": round(slowest, 3),
    }


def run(count: int, seed: int) -> dict[str, Any]:
    """Try `count` mangled files; `AssertionError` where the process dies of one."""
    with tempfile.TemporaryDirectory() as name:
        bases(Path(name))
        command = [sys.executable, __file__, str(count), str(seed), name]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60 + count / 10, check=False)
        if done.returncode != 0:
            number = (Path(name) / "number").read_text()
            raise AssertionError(
                f"file {number} of seed {seed} ended the process ({done.returncode}): {done.stderr}"
            )
        found: dict[str, Any] = json.loads(done.stdout)
        return found


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(json.dumps(run(int(sys.argv[1]), int(sys.argv[2])), indent=2))
    else:
        print(json.dumps(child(Path(sys.argv[3]), int(sys.argv[1]), int(sys.argv[2]))))
