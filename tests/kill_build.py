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


def killed(archive: Path, folder: Path, delay: float) -> bool:
    """Start a build and kill it with all its threads after `delay` seconds; True where it was still running."""
    process = subprocess.Popen(
        er(folder, *BUILD),
        cwd=archive,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        process.wait(delay)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return True
    return False


def run(folder: Path, kills: int, seed: int) -> dict[str, object]:
    """Builds of one archive: one undisturbed, then `kills` that are each killed at least once and run again."""
    provider_archive.write(folder)
    root, seconds = undisturbed(folder, folder / "calm")
    dice, outcomes = random.Random(seed), []
    for number in range(kills):
        place = folder / f"killed-{number}"
        at = dice.uniform(0.1, 1.0) * seconds
        hit = killed(folder, place, at)
        left = sum(1 for path in place.rglob("*") if path.is_file())
        again, _ = undisturbed(folder, place)
        outcomes.append({"after_s": round(at, 3), "hit": hit, "files_left": left, "same": again == root})
        shutil.rmtree(place, ignore_errors=True)
    return {"root_hash": root, "undisturbed_s": round(seconds, 2), "seed": seed, "kills": outcomes}
