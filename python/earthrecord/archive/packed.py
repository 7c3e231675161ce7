"""What lies in packed archives, as far as that is known without unpacking them."""

from __future__ import annotations

import lzma
import re
import tarfile
import zipfile
import zlib
from pathlib import Path

ENDING = re.compile(r"(?i)(?:\.tar)?\.(?:tar|tgz|zip|gz|bz2|xz|7z|rar|z)$")
_MOST_NAMES = 200
"""Of one scene more than enough, and one scene found is told."""

_DAMAGED = (
    OSError,
    EOFError,
    ValueError,
    zlib.error,
    lzma.LZMAError,
    zipfile.BadZipFile,
    tarfile.TarError,
)


def members(path: Path) -> list[str]:
    """POSIX paths in an archive: all of a zip, the first of a tar (the rest would have to be unpacked), else none."""
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                return archive.namelist()[:_MOST_NAMES]
        with tarfile.open(path, "r:*") as archive:
            first = archive.next()
    except _DAMAGED:
        return []
    return [] if first is None else [first.name.removeprefix("./")]
