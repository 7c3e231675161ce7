"""A record of thousands of scenes takes little memory, and little time for each of them (architecture, rule 6)."""

from __future__ import annotations

import datetime as dt
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

import tiny

CODE = """
import resource, sys
from pathlib import Path
import tiny
made = tiny.Tiny(Path(sys.argv[1]))
made.archive = Path(sys.argv[2])
made.build()
usage = resource.getrusage(resource.RUSAGE_SELF)
print(usage.ru_maxrss * 1024, usage.ru_utime + usage.ru_stime)
"""
PIXELS = 160 * 160 * 2 * 9  # bytes of one scene


def archive_of(folder: Path, scenes: int) -> None:
    """Landsat scenes of nine layers each, all of them links to one."""
    first = "LC08_L2SP_230077_20130401_20200827_02_T1"
    one = tiny.landsat(folder.parent / "one", first, np.full((160, 160), 21824, np.uint16))
    for number in range(scenes):
        day = dt.date(2013, 4, 1) + dt.timedelta(days=4 * number)
        scene = first.replace("20130401", f"{day:%Y%m%d}")
        (folder / scene).mkdir(parents=True)
        for path in one.glob("*.TIF"):
            os.link(path, folder / scene / path.name.replace(first, scene))


def built(folder: Path, scenes: int) -> tuple[float, float]:
    """Peak memory in bytes and processor seconds of a build in a process of its own."""
    folder.mkdir()
    archive_of(folder / "archive", scenes)
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
    words = [sys.executable, "-c", CODE, str(folder / "made"), str(folder / "archive")]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    memory, seconds = map(float, done.stdout.split())
    return memory, seconds


def test_a_further_scene_costs_rows_of_tables_and_no_pixels(tmp_path: Path) -> None:
    few, many = 20, 220
    (small, quick), (large, slow) = built(tmp_path / "few", few), built(tmp_path / "many", many)
    assert (large - small) / (many - few) < PIXELS / 5
    assert (slow - quick) / (many - few) < 0.1
