"""Many files at once: their order, and Ctrl-C."""

from __future__ import annotations

import hashlib
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import naive
from earthrecord import _core
from earthrecord.errors import UnreadableRaster

PLACE = (30.0, 0.0, 399960.0, 0.0, -30.0, 4500000.0)

BATCH = """
import sys
from earthrecord import _core
print("ready", flush=True)
try:
    _core.{batch}([sys.argv[1]] * {many})
except KeyboardInterrupt:
    print("interrupted", flush=True)
else:
    print("done", flush=True)
"""


def many_directories(path: Path) -> None:
    """A sound raster with a chain of a thousand further directories: a header that takes milliseconds."""
    _core.write_raster(path, np.zeros((4, 5), np.uint8), PLACE)
    data = bytearray(path.read_bytes())
    at, end = 8 + 2 + 12 * len(naive.entries(path)), len(data)
    for number in range(1000):
        data[at : at + 4] = (end + 18 * number).to_bytes(4, "little")
        data += (1).to_bytes(2, "little") + bytes(16)
        at = len(data) - 4
    path.write_bytes(data)
    assert _core.scan_header(path).overviews == 1000


def megabytes(path: Path) -> None:
    path.write_bytes(bytes(8_000_000))


@pytest.mark.parametrize(("batch", "make"), [("scan_headers", many_directories), ("sha256_files", megabytes)])
def test_a_batch_answers_ctrl_c_within_a_second(
    tmp_path: Path, batch: str, make: Callable[[Path], None]
) -> None:
    path = tmp_path / "slow.tif"
    make(path)
    code = BATCH.format(batch=batch, many=100_000)
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.7)
        begun = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "interrupted\n"
        assert time.monotonic() - begun < 1


def test_hashes_keep_the_order_of_the_files(tmp_path: Path) -> None:
    paths = [tmp_path / str(number) for number in range(50)]
    for number, path in enumerate(paths):
        path.write_bytes(bytes([number]) * (number * 20_011))
    paths[9].unlink()
    found = _core.sha256_files([str(path) for path in paths])
    for path, sha in zip(paths, found, strict=True):
        if path == paths[9]:
            assert isinstance(sha, UnreadableRaster)
            assert f"{path}: does not exist" in str(sha)
        else:
            assert sha == hashlib.sha256(path.read_bytes()).hexdigest()


def test_no_files_give_no_answers() -> None:
    assert _core.scan_headers([]) == []
    assert _core.sha256_files([]) == []


def test_a_header_can_not_be_changed(tmp_path: Path) -> None:
    path = tmp_path / "small.tif"
    _core.write_raster(path, np.zeros((4, 5), np.uint8), PLACE)
    header = _core.scan_header(path)
    with pytest.raises(AttributeError):
        header.width = 7
    assert repr(header) == f"Header({path}: 5 x 4, 1 band(s) of uint8)"
