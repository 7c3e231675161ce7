"""Long proofs: `scripts/prove NAME` runs one and writes its dated result under docs/proofs/."""

from __future__ import annotations

import datetime as dt
import json
import platform
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from earthrecord import _core

PROOFS = Path(__file__).parents[1] / "docs" / "proofs"


def kill_build() -> dict[str, object]:
    """Twenty builds killed at random moments end in the root hash of the undisturbed one."""
    import kill_build as killing

    with tempfile.TemporaryDirectory() as folder:
        result = killing.run(Path(folder), kills=20, seed=20260930)
    kills = result["kills"]
    assert isinstance(kills, list)
    return result | {"holds": all(kill["same"] for kill in kills), "hit": sum(kill["hit"] for kill in kills)}


def mangle() -> dict[str, object]:
    """Ten thousand mangled rasters give the right pixels or a typed error: no panic, no hang, no memory taken."""
    import mangle as mangling

    result = mangling.run(10_000, seed=20260930)
    return result | {"seed": 20260930, "holds": not result["unexpected"]}


NAMES: dict[str, Callable[[], dict[str, object]]] = {"kill-build": kill_build, "mangle": mangle}


def main() -> int:
    if len(sys.argv) != 2 or sys.argv[1] not in NAMES:
        for name, proof in NAMES.items():
            print(f"{name}: {proof.__doc__}")
        return 2
    name = sys.argv[1]
    result = NAMES[name]()
    machine = {"core": _core.__version__, "python": platform.python_version(), "system": platform.platform()}
    told = {
        "proof": name,
        "claim": NAMES[name].__doc__,
        "date": str(dt.datetime.now(dt.UTC).date()),
        **machine,
        **result,
    }
    PROOFS.mkdir(parents=True, exist_ok=True)
    (PROOFS / f"{name}.json").write_text(json.dumps(told, indent=2) + "\n")
    print(json.dumps(told, indent=2))
    return 0 if result["holds"] else 1


if __name__ == "__main__":
    sys.exit(main())
