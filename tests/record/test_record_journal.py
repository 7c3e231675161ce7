"""A journal survives a kill in the middle of a line (architecture, rule 3)."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from earthrecord.record.journal import Journal, digest


def test_what_was_put_is_found_again(tmp_path: Path) -> None:
    with Journal(tmp_path / "j") as journal:
        journal.put("a", [1, 2])
        journal.put("b", {"x": "y"})
        journal.put("a", [3])
    with Journal(tmp_path / "j") as journal:
        assert (journal.get("a"), journal.get("b"), journal.get("c")) == ([3], {"x": "y"}, None)


@given(cut=st.integers(min_value=0, max_value=60))
def test_any_cut_loses_at_most_the_last_entries_and_the_journal_goes_on(
    cut: int, tmp_path_factory: object
) -> None:
    folder = tmp_path_factory.mktemp("journal")  # type: ignore[attr-defined]
    with Journal(folder / "j") as journal:
        for key in "abc":
            journal.put(key, key * 5)
    content = (folder / "j").read_bytes()
    (folder / "j").write_bytes(content[:cut])
    whole = content[:cut].count(b"\n")
    with Journal(folder / "j") as journal:
        assert [journal.get(key) is not None for key in "abc"][:whole] == [True] * whole
        journal.put("d", 4)
    with Journal(folder / "j") as journal:
        assert journal.get("d") == 4


def test_a_digest_depends_on_every_part_and_on_nothing_else() -> None:
    assert digest({"a": 1, "b": 2}, 3) == digest({"b": 2, "a": 1}, 3)
    assert digest({"a": 1}, 3) != digest({"a": 1}, 4)
