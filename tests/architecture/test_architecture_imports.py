"""Importing does nothing and loads nothing heavy (docs/architecture.md)."""

from __future__ import annotations

import json
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import earthrecord

HEAVY = {
    "numpy",
    "polars",
    "rasterio",
    "pyproj",
    "shapely",
    "pandas",
    "h5py",
    "netCDF4",
    "pyhdf",
    "pyogrio",
    "rustac",
    "obstore",
}
ROOT = Path(earthrecord.__path__[0])
CLI = sorted(f"earthrecord.cli.{module.name}" for module in pkgutil.iter_modules([str(ROOT / "cli")]))


def loaded(statement: str) -> tuple[set[str], str]:
    """Modules that a statement loads in a fresh interpreter, and what it prints."""
    code = f"import sys, json; before = set(sys.modules); {statement}; print(json.dumps(sorted(set(sys.modules) - before)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    *printed, last = done.stdout.splitlines()
    return set(json.loads(last)), "".join(printed) + done.stderr


@pytest.mark.parametrize(
    "module", ["earthrecord", "earthrecord.errors", "earthrecord.grid", "earthrecord.cli.app", *CLI]
)
def test_importing_loads_nothing_heavy_and_prints_nothing(module: str) -> None:
    modules, printed = loaded(f"import {module}")
    assert not {name.partition(".")[0] for name in modules} & HEAVY
    assert printed == ""


def test_showing_help_loads_nothing_heavy() -> None:
    modules, _ = loaded("from earthrecord.cli.app import app; app(['--help'], standalone_mode=False)")
    assert not {name.partition(".")[0] for name in modules} & HEAVY


def test_room_packages_hold_nothing() -> None:
    for path in ROOT.rglob("__init__.py"):
        assert path.read_text() == "", path


def test_importing_makes_no_file(tmp_path: Path) -> None:
    names = [
        module.name
        for module in pkgutil.walk_packages(earthrecord.__path__, "earthrecord.")
        if not module.ispkg
    ]
    assert len(names) > 30
    code = f"import importlib; [importlib.import_module(name) for name in {names!r}]"
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], cwd=tmp_path, check=True)
    assert list(tmp_path.iterdir()) == []
