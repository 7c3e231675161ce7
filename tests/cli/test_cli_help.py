"""Every command's help ends with a worked example, and mistakes end in one message, never a traceback."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from earthrecord.cli.app import app

COMMANDS = [
    ["search"], ["plan"], ["build-record"], ["update"], ["verify-record"], ["explain"], ["diff-records"],
    ["sites"], ["sites", "new"], ["sites", "show"], ["products"], ["products", "show"],
]  # fmt: skip
RUNNER = CliRunner()


def er(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    code = "from earthrecord.cli.app import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *words], cwd=cwd, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_ends_with_a_worked_example(command: list[str]) -> None:
    shown = RUNNER.invoke(app, [*command, "--help"], env={"COLUMNS": "200", "TERM": "dumb"})
    assert shown.exit_code == 0
    text = shown.output
    assert f"Example: er {' '.join(command)}" in " ".join(text.split()), text


def test_the_list_of_commands_is_complete() -> None:
    shown = RUNNER.invoke(app, ["--help"], env={"COLUMNS": "200", "TERM": "dumb"})
    for command in COMMANDS:
        assert command[0] in shown.output
    assert "Exit codes" in " ".join(shown.output.split())


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
