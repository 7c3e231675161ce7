"""The files of a folder, whatever its depth: those that may matter, and how many do not."""

from __future__ import annotations

import os
import re
import stat
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

# What viewers, file managers and synchronisers leave behind, and thumbnails and checksum lists of providers.
_LEFT_BEHIND = re.compile(
    r"(?i)\.aux\.xml$|\.(?:ovr|msk|rrd|lock|md5|sha1|sha256|sha512)$|(?:^|[._-])(?:md5|sha256)(?:sums?)?(?:\.txt)?$"
    r"|thumb(?:nail)?[\w-]*\.(?:jpe?g|png|gif|webp)$|^thumbs\.db$|^desktop\.ini$"
)
_PARTIAL = re.compile(
    r"(?i)\.(?:part|partial|crdownload|download|filepart|aria2|tmp|temp|incomplete|!ut)$|~$|^~\$|\.tmp\.\w+$"
)
_FOLDERS = frozenset({"__macosx", "@eadir", "$recycle.bin", "system volume information", "lost+found"})


class Entry(NamedTuple):
    """A file. `size` is None where the file can not be asked (a broken link)."""

    rel: str
    """POSIX path relative to the root."""
    path: str
    size: int | None

    @property
    def name(self) -> str:
        return self.rel.rpartition("/")[2]

    @property
    def folder(self) -> str:
        """Relative path of the folder; "" is the root."""
        return self.rel.rpartition("/")[0]


@dataclass
class Walk:
    """What lies in a folder. `entries` are in the order of their relative paths."""

    entries: list[Entry] = field(default_factory=list)
    unreadable: list[tuple[str, str]] = field(default_factory=list)
    """Places whose content is not known, and why, with what to do."""
    partial: list[str] = field(default_factory=list)
    """Downloads that were not finished."""
    passed_over: Counter[str] = field(default_factory=Counter)
    """Files that never hold a layer, by ending."""


def walk(root: Path) -> Walk:
    """All files below `root`. Links to folders are followed, no folder is entered twice; hidden files are passed over.

    A folder that a link leads to is entered after all others, so that its files keep their own paths where they
    have one below `root`.
    """
    found, seen = Walk(), set[tuple[int, int]]()
    waiting, links = [(str(root), "")], list[tuple[str, str]]()
    while waiting or links:
        path, rel = waiting.pop() if waiting else links.pop(0)
        if not _entered(path, seen):
            continue
        try:
            with os.scandir(path) as listing:
                entries = sorted(listing, key=lambda entry: entry.name, reverse=True)
        except OSError as error:
            why = f"{path} can not be listed ({error.strerror}): what is in it is not known; mend that and search again"
            found.unreadable.append((rel or path, why))
            continue
        for entry in entries:
            below = f"{rel}/{entry.name}" if rel else entry.name
            if _is_folder(entry):
                if not _is_hidden(entry.name):
                    (links if entry.is_symlink() else waiting).append((entry.path, below))
            else:
                _take(entry, below, found)
    found.entries.sort()
    found.partial.sort()
    return found


def _entered(path: str, seen: set[tuple[int, int]]) -> bool:
    """Whether a folder is entered now: it exists, and no other path has led to it."""
    try:
        status = os.stat(path)
    except OSError:
        return True  # listing it tells why
    if (status.st_dev, status.st_ino) in seen:
        return False
    seen.add((status.st_dev, status.st_ino))
    return True


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _is_hidden(name: str) -> bool:
    return name.startswith(".") or name.lower() in _FOLDERS


def _take(entry: os.DirEntry[str], rel: str, found: Walk) -> None:
    shown = rel.encode("utf-8", "replace").decode()
    if shown != rel:
        found.unreadable.append(
            (shown, f"{shown}: the name is no text in UTF-8; rename the file and search again")
        )
    elif _PARTIAL.search(entry.name):
        found.partial.append(rel)
    elif entry.name.startswith(".") or _LEFT_BEHIND.search(entry.name):
        found.passed_over[_ending(entry.name)] += 1
    else:
        _take_file(entry, rel, found)


def _take_file(entry: os.DirEntry[str], rel: str, found: Walk) -> None:
    """A file, or a link to nothing, which is told where it is opened; pipes and the like are no files."""
    try:
        status = entry.stat()
    except OSError:
        found.entries.append(Entry(rel, entry.path, None))
        return
    if stat.S_ISREG(status.st_mode):
        found.entries.append(Entry(rel, entry.path, status.st_size))
    else:
        found.passed_over[_ending(entry.name)] += 1


def _ending(name: str) -> str:
    return os.path.splitext(name)[1].lower() or name
