"""A build that is killed ends, when run again, in the record of an undisturbed one (architecture, rule 3)."""

from pathlib import Path

import kill_build


def test_three_kills_end_in_the_same_root_hash(tmp_path: Path) -> None:
    result = kill_build.run(tmp_path, kills=3, seed=1)
    kills = result["kills"]
    assert isinstance(kills, list)
    assert [kill["same"] for kill in kills] == [True] * 3
