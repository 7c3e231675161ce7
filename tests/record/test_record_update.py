"""Updates append; the result is what a build from everything would give. Differences are told by scene."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from earthrecord.archive import search
from earthrecord.errors import BadRecord
from earthrecord.record.diff import diff
from earthrecord.record.model import Rules
from earthrecord.record.update import merge, update

if TYPE_CHECKING:
    from made import Made

NEW = "LC08_L2SP_230077_20190712_20200827_02_T1"
OLD = "LC08_L2SP_230077_20190712_20190718_02_T1"


def take_away(made: Made, *names: str) -> Path:
    """Move scenes out of the archive; returns where they are."""
    aside: Path = made.folder / "aside"
    aside.mkdir(exist_ok=True)
    for name in names:
        (folder,) = [path for path in made.archive.rglob(f"{name}*") if path.is_dir()]
        shutil.move(folder, aside / name)
    return aside


def test_an_update_gives_the_record_that_a_build_from_everything_gives(fresh: Made) -> None:
    whole = fresh.build("whole").certificate.root_hash
    aside = take_away(fresh, NEW, "LT05_L2SP_230077_19950710_20200912_02_T1")
    first = fresh.build("x").certificate.root_hash
    assert first != whole
    for scene in aside.iterdir():
        shutil.move(scene, fresh.archive / "landsat" / scene.name)
    done = update(fresh.builder("x"), fresh.scenes())
    assert done.outcome.certificate.root_hash == whole
    assert done.found == 2
    assert done.difference.new == ("landsat-c2-l2/1995/LT05_L2SP_230077_19950710_20200912_02_T1",)
    assert done.difference.reprocessed == ((f"landsat-c2-l2/2019/{OLD}", f"landsat-c2-l2/2019/{NEW}"),)


def test_what_is_frozen_stays_when_the_archive_loses_it(fresh: Made) -> None:
    before = fresh.build("x")
    frozen = search.read(fresh.places("x").scenes)
    merged, new = merge(frozen, fresh.scenes().filter(fresh.scenes()["scene"] != NEW))
    assert new == 0
    assert merged.equals(frozen)
    assert before.certificate.files > 0


def test_a_later_snapshot_takes_the_later_scene(fresh: Made) -> None:
    import datetime as dt

    fresh.build("x")
    done = update(fresh.builder("x", Rules(snapshot=dt.date(2026, 12, 31))), fresh.scenes())
    assert done.difference.new == ("landsat-c2-l2/2026/LC08_L2SP_230077_20261012_20261018_02_T1",)
    assert done.difference.gone == done.difference.changed == ()


def test_records_are_compared_byte_by_byte(fresh: Made, made: Made) -> None:
    fresh.build("x")
    a, b = made.places("calm").record, fresh.places("x").record
    assert diff(a, b, made.products).same
    (b / "landsat-c2-l2/extra/more").mkdir(parents=True)
    (b / "landsat-c2-l2/extra/more/a.tif").write_bytes(b"x")
    assert diff(a, b, made.products).new == ("landsat-c2-l2/extra/more",)


def test_a_folder_that_is_no_record_is_told(made: Made, tmp_path: Path) -> None:
    with pytest.raises(BadRecord, match=r"no site\.json"):
        diff(made.places("calm").record, tmp_path, made.products)
