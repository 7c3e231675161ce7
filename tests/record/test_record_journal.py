"""A journal survives a kill in the middle of a line (architecture, rule 3), and nothing that is put into it."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from earthrecord.errors import BadRecord
from earthrecord.record.journal import Journal, digest


def test_what_was_put_is_found_again(tmp_path: Path) -> None:
    with Journal(tmp_path / "j") as journal:
        journal.put("a", [], [1, 2])
        journal.put("b", [], {"x": "y"})
        journal.put("a", [], [3])
    with Journal(tmp_path / "j") as journal:
        assert journal.get("a", [], list[int]) == [3]
        assert journal.get("b", [], dict[str, str]) == {"x": "y"}
        assert journal.get("c", [], int) is None


def test_a_result_counts_as_long_as_its_files_are_as_they_were(tmp_path: Path) -> None:
    """A file that is gone, or on the network, has no stamp and leaves the result standing."""
    with Journal(tmp_path / "j") as journal:
        journal.put("a", [(10, 5), None], 1)
    with Journal(tmp_path / "j") as journal:
        assert journal.get("a", [(10, 5), None], int) == 1
        assert journal.get("a", [None, None], int) == 1
        assert journal.get("a", [(10, 6), None], int) is None
        assert journal.get("a", [(10, 5), (1, 1)], int) is None
        assert journal.get("a", [(10, 5)], int) is None


@given(cut=st.integers(min_value=0, max_value=75))
def test_any_cut_loses_at_most_the_last_entries_and_the_journal_goes_on(
    cut: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("journal")
    with Journal(folder / "j") as journal:
        for key in "abc":
            journal.put(key, [], key * 5)
    content = (folder / "j").read_bytes()
    (folder / "j").write_bytes(content[:cut])
    whole = content[:cut].count(b"\n")
    with Journal(folder / "j") as journal:
        assert [journal.get(key, [], str) is not None for key in "abc"][:whole] == [True] * whole
        journal.put("d", [], 4)
    with Journal(folder / "j") as journal:
        assert journal.get("d", [], int) == 4


@pytest.mark.parametrize(
    "line",
    [b"\x00\xff\xfe", b"[]", b'["a"]', b'["a",[],', b'["a",7,1]', b'{"a":1}', b'["a",[[1]],1]', b""],
)
def test_a_spoiled_line_is_no_entry(tmp_path: Path, line: bytes) -> None:
    with Journal(tmp_path / "j") as journal:
        journal.put("b", [], 1)
    (tmp_path / "j").write_bytes(line + b"\n" + (tmp_path / "j").read_bytes())
    with Journal(tmp_path / "j") as journal:
        assert (journal.get("a", [], int), journal.get("b", [], int)) == (None, 1)


def test_a_result_of_another_type_is_none(tmp_path: Path) -> None:
    with Journal(tmp_path / "j") as journal:
        journal.put("a", [], "twelve")
    with Journal(tmp_path / "j") as journal:
        assert journal.get("a", [], tuple[int, int]) is None


def test_one_build_at_a_time_holds_a_journal(tmp_path: Path) -> None:
    with Journal(tmp_path / "j"), pytest.raises(BadRecord, match="another build"):
        Journal(tmp_path / "j")
    with Journal(tmp_path / "j") as journal:
        assert journal.get("a", [], int) is None


def test_a_digest_depends_on_every_part_and_on_nothing_else() -> None:
    assert digest({"a": 1, "b": 2}, 3) == digest({"b": 2, "a": 1}, 3)
    assert digest({"a": 1}, 3) != digest({"a": 1}, 4)
