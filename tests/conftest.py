"""Fixtures that every room's tests share."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def real() -> Path:
    """The folder of real satellite data; tests that ask for it are skipped where it is absent."""
    folder = Path(os.environ.get("EARTHRECORD_REAL_DATA", ROOT.parent / "shared/data/real"))
    if not folder.is_dir():
        pytest.skip(f"no real data at {folder}; point EARTHRECORD_REAL_DATA to it")
    return folder
