"""Every command's help ends with a worked example, and mistakes end in one message, never a traceback."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

COMMANDS = [
    ["search"], ["plan"], ["build-record"], ["update"], ["verify-record"], ["explain"], ["diff-records"],
    ["sites"], ["sites", "new"], ["sites", "show"], ["products"], ["products", "show"],
]  # fmt: skip


def er(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    code = "from earthrecord.cli.app import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *words], cwd=cwd, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_ends_with_a_worked_example(tmp_path: Path, command: list[str]) -> None:
    shown = er(*command, "--help", cwd=tmp_path)
    assert shown.returncode == 0
    example = shown.stdout.rstrip().rpartition("\n\n")[2]
    assert example.strip().startswith("Example: ")
    assert f"er {' '.join(command)}" in example


def test_the_first_screen_lists_every_command_and_the_exit_codes(tmp_path: Path) -> None:
    shown = er("--help", cwd=tmp_path).stdout
    assert len(shown.splitlines()) <= 50
    assert "..." not in shown.partition("Commands:")[2]
    for command in COMMANDS:
        assert f"\n  {command[0]} " in shown
    assert "Exit codes" in shown


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["build-record", "a01", "--from", "nowhere"], 1, "sites.toml does not exist"),
        (["verify-record", "a01"], 4, "record.json is missing"),
        (["explain", "LC08"], 4, "build a record first"),
        (["products", "show", "landsat"], 1, "landsat"),
        (["plan"], 2, "SITE"),
        (["diff-records", "a", "b"], 4, "no site.json"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else None,
)
def test_mistakes_end_in_one_message_and_a_status(
    tmp_path: Path, words: list[str], status: int, said: str
) -> None:
    done = er(*words, cwd=tmp_path)
    assert done.returncode == status, done.stderr
    assert said in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_an_empty_source_says_so_with_status_3(tmp_path: Path) -> None:
    (tmp_path / "sites.toml").write_text('[[sites]]\nid = "a"\nkind = "core"\nbbox = [1.0, 1.0, 1.1, 1.1]\n')
    (tmp_path / "empty").mkdir()
    done = er("build-record", "a", "--from", "empty", cwd=tmp_path)
    assert done.returncode == 3
    assert "empty" in done.stderr


@pytest.mark.parametrize("value", ["cloudy", "1.5", "0"])
def test_an_obscured_limit_that_can_not_be_meant(tmp_path: Path, value: str) -> None:
    (tmp_path / "sites.toml").write_text('[[sites]]\nid = "a"\nkind = "core"\nbbox = [1.0, 1.0, 1.1, 1.1]\n')
    done = er("build-record", "a", "--from", ".", "--obscured", value, cwd=tmp_path)
    assert done.returncode in (1, 2, 4)
    assert value.split(".")[0] in done.stderr
