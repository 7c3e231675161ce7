"""What a build has finished so far, so that a killed one goes on where it stopped.

One JSON line an entry, written in one piece; a line that a kill cut short, or that something else spoiled, is
ignored. An entry is found by a digest of what its result depends on, and counts as long as the files that
it was made from are as they were. While a journal is open, no other build of the site can open it.
"""

from __future__ import annotations

import fcntl
import hashlib
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, TypeVar

import msgspec
import polars as pl

from earthrecord.errors import BadRecord

T = TypeVar("T")
Stamp = tuple[int, int]
"""Bytes and time stamp (nanoseconds) of a file."""

_LINE = msgspec.json.Decoder(tuple[str, list[Stamp | None], msgspec.Raw])


def digest(*parts: Any) -> str:
    """SHA-256 (hex) of JSON-like values."""
    return hashlib.sha256(msgspec.json.encode(parts, order="deterministic")).hexdigest()


def digest_of(frame: pl.DataFrame) -> str:
    """SHA-256 (hex) of a table's rows in their order."""
    sha = hashlib.sha256()
    for row in frame.iter_rows():
        sha.update(msgspec.json.encode(row, order="deterministic"))
    return sha.hexdigest()


class Journal:
    """Finished work by key; safe to use from several threads, and held by one process at a time."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        self._file: IO[bytes] = path.open("ab")
        _hold(self._file, path)
        self._entries = _read(path)
        if path.stat().st_size and not _ends_whole(path):
            self._file.write(b"\n")

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def get(self, key: str, stamps: Sequence[Stamp | None], kind: type[T]) -> T | None:
        """The result under a key, where its files are as they were; a file without a stamp (gone, remote) is taken to be."""
        then, value = self._entries.get(key, ([], b""))
        if not value or len(then) != len(stamps):
            return None
        if any(now not in (None, was) for now, was in zip(stamps, then, strict=True)):
            return None
        try:
            return msgspec.json.decode(value, type=kind)
        except msgspec.DecodeError:
            return None

    def put(self, key: str, stamps: Sequence[Stamp | None], value: object) -> None:
        """Note a result for later runs; this one does not ask for it again."""
        line = msgspec.json.encode((key, stamps, value))
        with self._lock:
            self._file.write(line + b"\n")
            self._file.flush()


def _hold(file: IO[bytes], path: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise BadRecord(
            f"{path} is in use: another build of this site is running; wait for its end, or stop it"
        ) from None
    except OSError:
        pass  # a file system without locks


def _ends_whole(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, 2)
        return file.read(1) == b"\n"


def _read(path: Path) -> dict[str, tuple[list[Stamp | None], bytes]]:
    entries: dict[str, tuple[list[Stamp | None], bytes]] = {}
    with path.open("rb") as file:
        for line in file:
            try:
                key, stamps, value = _LINE.decode(line)
            except msgspec.DecodeError:
                continue
            entries[key] = stamps, bytes(value)
    return entries
