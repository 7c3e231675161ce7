"""Files that are no raster, damaged, or made to do harm: an error that says what it is and what to do, and nothing else."""

from __future__ import annotations

import gzip
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rasterio

import mangle
import naive
from earthrecord import _core
from earthrecord.errors import UnreadableRaster, UnsupportedRaster

PLACE = (30.0, 0.0, 399960.0, 0.0, -30.0, 4500000.0)

Reader = Callable[[Path], object]
READERS: list[Reader] = [
    _core.scan_header,
    _core.read_window,
    lambda path: _core.crop(path, path.with_name("out.tif"), (0, 0, 1, 1)),
    lambda path: _core.count_quality(path, np.full(256, 5, np.uint8), (0, 0, 1, 1), np.ones((1, 1), bool)),
]

NO_TIFF = {
    b"": "is empty (0 bytes), not a TIFF; get it again",
    b"\xef\xbb\xbf\n <!DOCTYPE HTML><html>Sign in": "is a web page, perhaps a login form, not a TIFF; sign in and get it again",
    b"<HTML><body>": "is a web page",
    b'<?xml version="1.0"?><Error><Code>AccessDenied</Code>': "is an XML text, perhaps a server's error message",
    b'  {"code": 403}': "is a JSON text, perhaps a server's error message",
    b"version https://git-lfs.github.com/spec/v1\noid sha256:ab\n": "is a Git LFS pointer, not the file itself, not a TIFF; bring",
    gzip.compress(b"x" * 99, mtime=0): "is a gzip archive, not a TIFF; unpack it",
    b"\x0e\x03\x13\x01" + bytes(99): "is an HDF4 file, not a TIFF; name it as what it is",
    b"\x89HDF\r\n\x1a\n" + bytes(99): "is an HDF5 or netCDF-4 file",
    b"CDF\x02" + bytes(99): "is a netCDF file",
    b"\x00\x00\x00\x0cjP  \r\n\x87\n": "is a JPEG 2000 file",
    b"\xff\xd8\xff\xe0": "is a JPEG or PNG picture",
    bytes(4096): "is zeros, as an interrupted download leaves them",
    b"just words\n": "is a text",
    b"II\x2b\x01" + bytes(99): "is something else",
    b"II": "is a text",
    b"II\x2a\x00": "cut short: 4 bytes are due at 4, the file ends at 4; get it again",
    b"II\x2a\x00\x00\x00\x00\x00": "holds no image; get it again",
    b"II\x2a\x00\x08\x00\x00\x00\x00\x00": "damaged: an image directory of 0 entries at 8; get it again",
    b"MM\x00\x2b\x00\x04\x00\x00" + bytes(8): "damaged: a BigTIFF with offsets that are not 8 bytes",
}


@pytest.mark.parametrize("reader", READERS, ids=["scan", "read", "crop", "count"])
@pytest.mark.parametrize("content", NO_TIFF, ids=lambda content: repr(content[:12]))
def test_what_is_no_tiff_is_named(tmp_path: Path, content: bytes, reader: Reader) -> None:
    path = tmp_path / "scene.TIF"
    path.write_bytes(content)
    with pytest.raises(UnreadableRaster, match=re.escape(f"{path}: {NO_TIFF[content]}")):
        reader(path)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("reader", [*READERS, lambda path: _core.sha256_files([path])[0]])
def test_what_is_no_file_is_named(tmp_path: Path, reader: Reader) -> None:
    os.mkfifo(tmp_path / "pipe")
    expected = {
        "missing.TIF": "does not exist; get it, or search again if it moved",
        ".": "is a folder, not a file; name the file in it",
        "pipe": "is a pipe or a device, not a file; copy what it gives into a file",
    }
    for name, words in expected.items():
        with pytest.raises(UnreadableRaster, match=re.escape(words)):
            _raise(reader(tmp_path / name))


def _raise(answer: object) -> None:
    if isinstance(answer, Exception):
        raise answer


def test_a_zip_archive_is_named(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "scene.TIF", "w") as archive:
        archive.writestr("a.tif", b"x")
    with pytest.raises(UnreadableRaster, match="is a zip archive, not a TIFF; unpack it"):
        _core.scan_header(tmp_path / "scene.TIF")


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read anything")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    path = tmp_path / "scene.TIF"
    _core.write_raster(path, np.zeros((4, 5), np.uint8), PLACE)
    path.chmod(0)
    with pytest.raises(
        UnreadableRaster, match=r"could not open it: Permission denied.*check the disk and the permissions"
    ):
        _core.scan_header(path)


@pytest.mark.parametrize("keep", [0.05, 0.3, 0.6, 0.99])
def test_a_truncated_file_is_never_read_in_part(tmp_path: Path, keep: float) -> None:
    path = tmp_path / "scene.TIF"
    _core.write_raster(path, np.random.default_rng(1).integers(0, 255, (600, 600), np.uint8), PLACE)
    raw = path.read_bytes()
    path.write_bytes(raw[: int(len(raw) * keep)])
    with pytest.raises(UnreadableRaster, match=r"scene\.TIF: cut short: .* get it again"):
        _core.read_window(path)


def test_a_damaged_tile_is_named(tmp_path: Path) -> None:
    path = tmp_path / "scene.TIF"
    _core.write_raster(path, np.random.default_rng(1).integers(0, 255, (600, 600), np.uint8), PLACE)
    raw = bytearray(path.read_bytes())
    raw[-1000] ^= 1
    path.write_bytes(raw)
    with pytest.raises(
        UnreadableRaster, match="damaged: tile 2, 2: its deflate stream or checksum is broken; get it again"
    ):
        _core.read_window(path)
    assert _core.read_window(path, (0, 0, 512, 512)).shape == (512, 512)


def entry(tag: int, kind: int, count: int, value: int) -> bytes:
    return b"".join(
        part.to_bytes(size, "little") for part, size in ((tag, 2), (kind, 2), (count, 4), (value, 4))
    )


def tiff(*more: tuple[int, int, int, int], width: int = 4, height: int = 4, data: bytes = bytes(16)) -> bytes:
    """A TIFF of one uncompressed 8-bit strip; further entries stand for its own of the same tag."""
    tags = {
        256: (4, 1, width),
        257: (4, 1, height),
        258: (3, 1, 8),
        259: (3, 1, 1),
        273: (4, 1, 0),
        279: (4, 1, len(data)),
    }
    tags |= {tag: (kind, count, value) for tag, kind, count, value in more}
    start = 8 + 2 + 12 * len(tags) + 4
    if 273 in tags and tags[273][2] == 0 and tags[279][2] != 0:
        tags[273] = (4, 1, start)
    table = b"".join(entry(tag, *tags[tag]) for tag in sorted(tags))
    return b"II*\0\x08\0\0\0" + len(tags).to_bytes(2, "little") + table + bytes(4) + data


def test_the_plain_tiff_reads(tmp_path: Path) -> None:
    path = tmp_path / "plain.tif"
    path.write_bytes(tiff(data=bytes(range(16))))
    np.testing.assert_array_equal(_core.read_window(path), np.arange(16, dtype=np.uint8).reshape(4, 4))
    assert _core.scan_header(path).rows_per_strip == 4


@pytest.mark.parametrize("reversed_", [False, True])
def test_numbers_in_wide_or_narrow_types_mean_the_same(tmp_path: Path, reversed_: bool) -> None:
    path = tmp_path / "types.tif"
    narrow = [(256, 1, 1, 4), (257, 1, 1, 4), (258, 1, 1, 8), (259, 1, 1, 1)]
    wide = [(256, 9, 1, 4), (257, 4, 1, 4), (258, 4, 1, 8), (259, 4, 1, 1), (278, 4, 1, 2**32 - 1)]
    path.write_bytes(tiff(*(wide if reversed_ else narrow), data=bytes(range(16))))
    np.testing.assert_array_equal(_core.read_window(path), np.arange(16, dtype=np.uint8).reshape(4, 4))


@pytest.mark.parametrize(
    ("patch", "words"),
    [
        ([(256, 4, 1, 0)], "without width and height"),
        ([(256, 9, 1, 2**32 - 4)], "without width and height"),  # -4
        ([(257, 4, 1, 2**31)], "without width and height"),
        ([(256, 2, 1, 65)], "tag 256 is no number"),
        ([(256, 5, 1, 8)], "tag 256 is no number"),
        ([(256, 3, 0, 4)], "tag 256 is no number"),
        ([(259, 3, 2, 1)], "tag 259 is no number"),
        ([(277, 3, 1, 0)], "an image of 0 bands"),
        ([(277, 4, 1, 70000)], "an image of 70000 bands"),
        ([(278, 4, 1, 0)], "strips without rows"),
        ([(322, 4, 1, 16)], "tiles without a possible size"),
        ([(322, 4, 1, 2**31 - 1), (323, 4, 1, 2**31 - 1)], "tiles without a possible size"),
        ([(278, 4, 1, 1)], "4 tiles or strips are due, 1 are listed"),
        ([(273, 4, 2**31, 8), (279, 4, 1, 16)], "cut short"),
        ([(273, 4, 1, 2**32 - 1)], "cut short"),
        ([(279, 4, 1, 2**32 - 1)], "cut short"),
        ([(279, 4, 1, 9)], "9 bytes of pixels, 16 are due"),
        ([(256, 4, 1, 60000), (257, 4, 1, 60000)], "can not hold 3600000000 bytes"),
    ],
)
def test_absurd_tags_are_named(tmp_path: Path, patch: list[tuple[int, int, int, int]], words: str) -> None:
    path = tmp_path / "absurd.tif"
    path.write_bytes(tiff(*patch))
    with pytest.raises(UnreadableRaster, match=rf"absurd\.tif: .*{words}.*get it again"):
        _core.read_window(path, (0, 0, 1, 1))


@pytest.mark.parametrize(
    ("patch", "words"),
    [
        (
            [(256, 4, 1, 2**31 - 1), (257, 4, 1, 2**31 - 1), (277, 3, 1, 65535), (258, 3, 1, 64)],
            "tiles or strips of",
        ),
        ([(266, 3, 1, 2)], "bits in reverse order"),
        ([(284, 3, 1, 3)], "planar configuration 3"),
        ([(284, 4, 1, 65537)], "planar configuration 65535"),
        ([(262, 3, 1, 6)], "photometric interpretation 6"),
        ([(259, 3, 1, 8), (317, 4, 1, 65538)], "predictor 65535"),
        ([(259, 4, 1, 65537)], "compression 65535"),
        ([(339, 4, 1, 65537)], "sample format 65535"),
    ],
)
def test_forms_that_could_be_misread_are_left_to_rasterio(
    tmp_path: Path, patch: list[tuple[int, int, int, int]], words: str
) -> None:
    path = tmp_path / "form.tif"
    path.write_bytes(tiff(*patch))
    assert words in _core.scan_header(path).why_not
    with pytest.raises(UnsupportedRaster, match=rf"form\.tif: the core does not read .*{words}.*rasterio"):
        _core.read_window(path, (0, 0, 1, 1))


@pytest.mark.filterwarnings("ignore::rasterio.errors.NotGeoreferencedWarning")
@pytest.mark.parametrize("most", [2, 16, 256])
def test_lzw_of_the_old_kind_is_read_as_libtiff_does(tmp_path: Path, most: int) -> None:
    values = np.random.default_rng(most).integers(0, most, (120, 90), np.uint8)
    path = tmp_path / "old.tif"
    path.write_bytes(tiff((259, 3, 1, 5), width=90, height=120, data=naive.old_lzw(values.tobytes())))
    with rasterio.open(path) as source:
        np.testing.assert_array_equal(source.read(1), values)
    np.testing.assert_array_equal(_core.read_window(path), values)


def test_a_large_sparse_raster_is_read_in_parts(tmp_path: Path) -> None:
    path = tmp_path / "sparse.tif"
    side, zeros = 2**15, 134  # where the data of a TIFF of ten tags begin
    size = [(256, 4, 1, 2 * side), (257, 4, 1, side), (258, 3, 1, 32), (322, 4, 1, side), (323, 4, 1, side)]
    path.write_bytes(tiff(*size, (324, 4, 2, zeros), (325, 4, 2, zeros)))
    assert _core.read_window(path, (side - 4, side - 3, 7, 3)).sum() == 0
    with pytest.raises(
        UnsupportedRaster, match=rf"sparse\.tif: a window of 65536 x 32768 .* has {2**33} bytes.* in parts"
    ):
        _core.read_window(path)


LIMITED = """
import resource, sys, numpy as np
from pathlib import Path
from earthrecord import _core
pages = int(Path("/proc/self/statm").read_text().split()[0])
most = pages * resource.getpagesize() + (1 << 30)
resource.setrlimit(resource.RLIMIT_AS, (most, most))
for path in sys.argv[1:]:
    for attempt in (lambda: _core.read_window(path), lambda: _core.crop(path, "out.tif", (0, 0, 60000, 60000))):
        try:
            attempt()
        except Exception as error:
            print(type(error).__name__, error)
"""


def test_memory_that_is_not_there_is_an_error_and_not_the_end(tmp_path: Path) -> None:
    """Sparse rasters of 3.6 GB, a strip of 2 GB in a file with a hole, under a limit of 1 GB."""
    sparse, hole = tmp_path / "sparse.tif", tmp_path / "hole.tif"
    big = [(256, 4, 1, 60000), (257, 4, 1, 60000), (273, 4, 1, 0), (279, 4, 1, 0)]
    sparse.write_bytes(tiff(*big))
    raw = tiff((256, 4, 1, 40000), (257, 4, 1, 50000), (279, 4, 1, 2 * 10**9))
    with hole.open("wb") as target:
        target.write(raw)
        target.truncate(len(raw) + 2 * 10**9)
    command = [sys.executable, "-c", LIMITED, sparse.name, hole.name]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert lines[0] == lines[1].replace("out.tif", "sparse.tif")
    assert lines[0].startswith("UnsupportedRaster sparse.tif: needs 3600000000 bytes at once")
    assert lines[2].startswith("UnsupportedRaster hole.tif: needs 2000000000 bytes at once")
    assert len(lines) == 4
    assert not (tmp_path / "out.tif").exists()


@pytest.mark.parametrize("compression", [1, 5, 8, 50000])
def test_pixels_that_a_file_can_not_hold_take_no_memory(tmp_path: Path, compression: int) -> None:
    """A file of 110 bytes that claims 3.6 GB, under a limit of 1 GB."""
    path = tmp_path / "claim.tif"
    path.write_bytes(tiff((256, 4, 1, 60000), (257, 4, 1, 60000), (259, 3, 1, compression)))
    command = [sys.executable, "-c", LIMITED, path.name]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert len(lines) == 2
    assert all(
        re.match(r"UnreadableRaster claim\.tif: .*can not hold 3600000000 bytes of pixels", line)
        for line in lines
    )


def test_mangled_files_get_an_answer() -> None:
    """1,000 here; 10,000 and more by `tests/mangle.py`."""
    found = mangle.run(1000, 20260930)
    assert found["unexpected"] == []
    assert found["slowest"] < 5
    outcomes: dict[str, Any] = found["outcomes"]
    assert {name.partition(": ")[2] for name in outcomes} <= {"result", *mangle.ANSWERS}
    for attempt in ("scan", "read", "read all", "read one", "count", "crop"):
        answers = {name.partition(": ")[2] for name in outcomes if name.startswith(f"{attempt}: ")}
        assert {"result", "UnreadableRaster"} <= answers, (
            f"{attempt} always goes one way: the damage is too mild or too hard"
        )
