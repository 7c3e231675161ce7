"""A built record of the made-up archive, once a test session."""

from __future__ import annotations

from pathlib import Path

import pytest

from made import Made


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    made = Made(tmp_path_factory.mktemp("made"))
    made.build("calm")
    return made


@pytest.fixture
def fresh(tmp_path: Path) -> Made:
    """An archive of its own, for tests that damage it."""
    return Made(tmp_path)
