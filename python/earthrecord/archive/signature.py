"""What a file really is, told by its first bytes: names and endings lie, above all after a download."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

Kind = Literal[
    "tiff",
    "jp2",
    "hdf4",
    "hdf5",
    "netcdf3",
    "zip",
    "html",
    "xml",
    "json",
    "grib",
    "gzip",
    "pointer",
    "empty",
    "text",
    "unknown",
]

HEAD = 1024
_SIGNATURES: tuple[tuple[bytes, Kind], ...] = (
    (b"II*\0", "tiff"),
    (b"MM\0*", "tiff"),
    (b"II+\0", "tiff"),
    (b"MM\0+", "tiff"),
    (b"\0\0\0\x0cjP  \r\n\x87\n", "jp2"),
    (b"\xff\x4f\xff\x51", "jp2"),
    (b"\x0e\x03\x13\x01", "hdf4"),
    (b"\x89HDF\r\n\x1a\n", "hdf5"),
    (b"CDF\x01", "netcdf3"),
    (b"CDF\x02", "netcdf3"),
    (b"CDF\x05", "netcdf3"),
    (b"PK\x03\x04", "zip"),
    (b"GRIB", "grib"),
    (b"\x1f\x8b", "gzip"),
    (b"version https://git-lfs", "pointer"),
)
_WORDS: dict[Kind, str] = {
    "tiff": "a TIFF",
    "jp2": "a JPEG 2000 image",
    "hdf4": "an HDF4 file",
    "hdf5": "an HDF5 or netCDF-4 file",
    "netcdf3": "a classic netCDF file",
    "zip": "a zip archive",
    "html": "a web page (often a login or error page)",
    "xml": "an XML document (often an error message)",
    "json": "a JSON document (often an error message)",
    "grib": "a GRIB file",
    "gzip": "a gzip archive",
    "pointer": "a Git LFS pointer, not the file it stands for",
    "empty": "an empty file",
    "text": "a text file",
    "unknown": "no raster that EarthRecord knows",
}
RASTERS: frozenset[Kind] = frozenset({"tiff", "jp2", "hdf4", "hdf5", "netcdf3", "zip", "unknown"})
"""What a raster may look like; `unknown` is left for a reader to judge."""


def kind_of(head: bytes) -> Kind:
    """The kind of a file whose first bytes (`HEAD` of them, or all) are `head`."""
    if not head:
        return "empty"
    known = next((kind for magic, kind in _SIGNATURES if head.startswith(magic)), None)
    return known or _kind_of_text(head)


def kind_of_file(path: Path) -> Kind:
    """The kind of a file on disk; raises `OSError` as `open` does."""
    with path.open("rb") as file:
        return kind_of(file.read(HEAD))


def words(kind: Kind) -> str:
    """A kind in words, with its article, for messages."""
    return _WORDS[kind]


def _kind_of_text(head: bytes) -> Kind:
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    if start.startswith((b"<!doctype html", b"<html", b"<head", b"<body")):
        return "html"
    if start.startswith(b"<"):
        return "html" if b"<html" in start else "xml"
    if start.startswith((b"{", b"[")):
        return "json"
    printable = all(byte in b"\t\n\r\f" or 32 <= byte < 127 for byte in head)
    return "text" if printable else "unknown"
