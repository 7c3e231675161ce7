"""What a build has finished so far, so that a killed one goes on where it stopped.

One JSON line an entry, written in one piece; a line that a kill cut short is ignored. Entries are found by a
digest of everything that they depend on, so a changed input is simply not found.
"""

from __future__ import annotations

import hashlib
import threading
from pathlib import Path
from typing import IO, Any

import msgspec


def digest(*parts: Any) -> str:
    """SHA-256 (hex) of JSON-like values."""
    return hashlib.sha256(msgspec.json.encode(parts, order="deterministic")).hexdigest()


class Journal:
    """Finished work by key; safe to use from several threads."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        self._entries = _read(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file: IO[bytes] = path.open("ab")
        if path.stat().st_size and not _ends_whole(path):
            self._file.write(b"\n")

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def get(self, key: str) -> Any | None:
        return self._entries.get(key)

    def put(self, key: str, value: Any) -> None:
        """Note an entry; one that is known already costs nothing."""
        line = msgspec.json.encode([key, value]) + b"\n"
        with self._lock:
            if self._entries.get(key) == value:
                return
            self._entries[key] = value
            self._file.write(line)
            self._file.flush()


def _ends_whole(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, 2)
        return file.read(1) == b"\n"


def _read(path: Path) -> dict[str, Any]:
    entries: dict[str, Any] = {}
    if not path.exists():
        return entries
    for line in path.read_bytes().splitlines():
        try:
            key, value = msgspec.json.decode(line, type=tuple[str, Any])
        except msgspec.DecodeError:
            continue  # cut short by a kill
        entries[key] = value
    return entries
