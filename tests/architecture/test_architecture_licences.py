"""Everything the package needs may be used under MIT OR Apache-2.0 (no GPL, AGPL, LGPL, EUPL)."""

import importlib.metadata as metadata
import re

COPYLEFT = re.compile(r"\b(?:A|L)?GPL|\bEUPL|GNU (?:Affero|Lesser|General)", re.IGNORECASE)


def needed(name: str, seen: set[str]) -> set[str]:
    """A distribution and all that it requires, extras left out."""
    if name.lower() in seen:
        return seen
    seen.add(name.lower())
    try:
        requires = metadata.requires(name) or []
    except metadata.PackageNotFoundError:
        seen.discard(name.lower())
        return seen
    for line in requires:
        if "extra ==" not in line:
            needed(re.split(r"[ ;<>=!~\[(]", line, maxsplit=1)[0], seen)
    return seen


def test_no_dependency_is_copyleft() -> None:
    names = needed("earthrecord", set())
    assert len(names) > 20
    for name in names:
        told = metadata.metadata(name)
        licences = [*(told.get_all("License-Expression") or []), *(told.get_all("Classifier") or [])]
        found = [text for text in licences if text and COPYLEFT.search(text)]
        assert not found, f"{name}: {found}"
