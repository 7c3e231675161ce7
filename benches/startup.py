"""How long `er --help` and `import earthrecord` take: medians over fresh interpreters, beside an empty one.

Run: .venv/bin/python benches/startup.py
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

ROUNDS = 15
CANDIDATES = {
    "python -c pass": ["-c", "pass"],
    "import earthrecord": ["-c", "import earthrecord"],
    "import earthrecord._core": ["-c", "import earthrecord._core"],
    "import typer": ["-c", "import typer"],
    "er --help": [
        "-c",
        "import sys; sys.argv = ['er', '--help']; from earthrecord.cli.app import main; main()",
    ],
}


def seconds(words: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, *words], stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def main() -> None:
    taken: dict[str, list[float]] = {name: [] for name in CANDIDATES}
    for _ in range(ROUNDS):  # interleaved, so that a busy moment hits all alike
        for name, words in CANDIDATES.items():
            taken[name].append(seconds(words))
    for name, times in taken.items():
        print(f"{name:26} {statistics.median(times) * 1000:6.0f} ms  (least {min(times) * 1000:.0f})")


if __name__ == "__main__":
    main()
