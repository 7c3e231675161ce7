"""Kills a build at random moments and compares what comes out in the end with an undisturbed build."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import provider_archive

BUILD = ("build-record", provider_archive.SITE, "--sites", "sites.toml", "--from", "archive", "--json")


def er(folder: Path, *words: str) -> list[str]:
    code = "import sys; from earthrecord.cli.app import main; sys.argv[0] = 'er'; main()"
    return [
        sys.executable,
        "-c",
        code,
        *words,
        "--work",
        str(folder / "work"),
        "--records",
        str(folder / "records"),
    ]


def undisturbed(archive: Path, folder: Path) -> tuple[str, float]:
    """Root hash of a build that nobody kills, and how many seconds it took."""
    start = time.monotonic()
    done = subprocess.run(er(folder, *BUILD), cwd=archive, capture_output=True, check=True)
    return str(json.loads(done.stdout)["root_hash"]), time.monotonic() - start


def killed(archive: Path, folder: Path, after: int) -> bool:
    """Start a build and kill it with all its threads once `after` files lie there; True where it was still running."""
    words = er(folder, *BUILD)
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(words, cwd=archive, stdout=quiet, stderr=quiet, start_new_session=True)
    while process.poll() is None:
        if files_of(folder) >= after:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return True
        time.sleep(0.002)
    return False


def files_of(folder: Path) -> int:
    return sum(len(names) for _, _, names in os.walk(folder))


def run(folder: Path, kills: int, seed: int) -> dict[str, object]:
    """Builds of one archive: one undisturbed, then `kills` that are each killed at a random moment and run again.

    A moment is told by the number of files that the build has left by then, so that it may lie anywhere: before the
    first pixel is counted, among the scenes, in the seal.
    """
    provider_archive.write(folder)
    root, seconds = undisturbed(folder, folder / "calm")
    most, dice, outcomes = files_of(folder / "calm"), random.Random(seed), []
    for number in range(kills):
        place = folder / f"killed-{number}"
        after = dice.randrange(most)
        hit = killed(folder, place, after)
        left = files_of(place)
        again, _ = undisturbed(folder, place)
        outcomes.append({"after_files": after, "hit": hit, "files_left": left, "same": again == root})
        shutil.rmtree(place, ignore_errors=True)
    return {
        "root_hash": root,
        "files": most,
        "undisturbed_s": round(seconds, 2),
        "seed": seed,
        "kills": outcomes,
    }
