"""Builds that are stopped, disturbed or attacked (architecture, rules 3 and 4; definitions, "format 1")."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rasterio.transform import from_origin

import provider_archive
import tiny
from earthrecord.archive import raster, search
from earthrecord.errors import BadRecord, UnwritableRaster
from earthrecord.record import seal
from earthrecord.record.build import Builder
from earthrecord.record.journal import Journal
from earthrecord.record.look import Looker
from earthrecord.record.model import read_certificate
from earthrecord.record.seal import build
from earthrecord.record.update import update
from earthrecord.record.verify import verify

SCENES = ("LC08_L2SP_230077_20190712_20200827_02_T1", "LC08_L2SP_230077_20190813_20200827_02_T1")
HANSEN = "Hansen_GFC-2025-v1.13_lossyear_20S_070W.tif"
CLEAR = np.full((160, 160), 21824, np.uint16)


@pytest.fixture
def made(tmp_path: Path) -> tiny.Tiny:
    """One Landsat scene and one withheld tile."""
    made = tiny.Tiny(tmp_path)
    tiny.landsat(made.archive, SCENES[0], CLEAR)
    step = 0.00025
    origin = [value + sign * 200 * step for value, sign in zip(provider_archive.CENTRE, (-1, 1), strict=True)]
    grid = from_origin(*origin, step, step)
    provider_archive.tiff(made.archive / HANSEN, np.ones((400, 400), np.uint8), "EPSG:4326", grid)
    return made


def more(made: tiny.Tiny) -> None:
    """What a provider adds later: a scene, and a new edition of the withheld tile."""
    tiny.landsat(made.archive, SCENES[1], CLEAR)
    shutil.copy(made.archive / HANSEN, made.archive / HANSEN.replace("20S", "30S"))


def leftovers(made: tiny.Tiny, name: str = "x") -> list[str]:
    places = made.places(name)
    below = [path for root in (places.work_root, places.records_root) for path in root.rglob("*")]
    return [str(path) for path in below if path.name.startswith(".") or path.name == "sealing"]


class Killed(BaseException):
    """The process ends here."""


class Axe:
    """Stops a build at the n-th step of its sealing that changes a name on disk, before or after it is done."""

    def __init__(self, patch: pytest.MonkeyPatch, at: int, after: bool) -> None:
        self.left, self.after, self.armed = at, after, False
        seal_now = seal._seal

        def armed(*words: Any) -> Any:
            self.armed = True
            return seal_now(*words)

        patch.setattr(seal, "_seal", armed)
        for owner, names in (
            (Path, ("rename", "replace", "rmdir")),
            (os, ("sync", "unlink")),
            (shutil, ("rmtree",)),
        ):
            for name in names:
                patch.setattr(owner, name, self.guard(getattr(owner, name)))

    def guard(self, step: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(*words: Any, **named: Any) -> Any:
            self.left -= self.armed
            if self.armed and self.left == 0 and not self.after:
                raise Killed
            done = step(*words, **named)
            if self.armed and self.left == 0:
                raise Killed
            return done

        return guarded


STEPS = 20


@pytest.mark.parametrize("at", range(1, STEPS + 1))
def test_stopped_at_any_step_of_sealing_it_ends_in_the_same_record(
    made: tiny.Tiny, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    """A first build, then an update over it; each is stopped, and run again. In between, what is sealed is sound."""
    for run in (first, later):
        if run is later:
            more(made)
        with monkeypatch.context() as patch:
            Axe(patch, at, after=at % 2 == (run is first))
            with pytest.raises(Killed):
                run(made, "x")
        sound_or_told(made)
        run(made, "x")
        assert leftovers(made) == []
        assert verify(made.places(), made.products, made.site).findings == ()
    made.build("calm")
    calm, found = (read_certificate(made.places(name).certificate) for name in ("calm", "x"))
    assert (found.root_hash, found.withheld_hash) == (calm.root_hash, calm.withheld_hash)


def sound_or_told(made: tiny.Tiny) -> None:
    """A stopped build leaves the old record whole, the new one whole, or an error that says what to do."""
    places = made.places()
    if places.sealing.is_dir():
        with pytest.raises(BadRecord, match="run the same command again"):
            verify(places, made.products, made.site)
    elif places.certificate.exists():
        assert verify(places, made.products, made.site).findings == ()


def first(made: tiny.Tiny, name: str) -> None:
    build(made.builder(name), made.scenes())


def later(made: tiny.Tiny, name: str) -> None:
    update(made.builder(name), made.scenes())


def test_two_builds_of_one_site_at_once_are_refused(made: tiny.Tiny) -> None:
    with Journal(made.places().journal):
        for run in (first, later):
            with pytest.raises(BadRecord, match="another build of this site is running"):
                run(made, "x")
    first(made, "x")


@pytest.mark.parametrize("which", ["work", "records"])
def test_folders_that_can_not_be_written_are_a_clear_error(made: tiny.Tiny, which: str) -> None:
    (made.folder / "x").mkdir()
    (made.folder / "x" / which).write_text("a file")
    with pytest.raises(UnwritableRaster, match=r"can not be written .*choose other folders"):
        made.build()


def test_a_full_disk_ends_the_build_and_spoils_no_scene(
    made: tiny.Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> Any:
        raise UnwritableRaster("/x.tif: no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(raster.TiffLayer, "crop", full)
        with pytest.raises(UnwritableRaster, match="no space left"):
            made.build()
    assert not made.root().exists()
    assert made.build().spoiled.height == 0
    assert leftovers(made) == []


def test_a_damaged_left_over_is_written_again(made: tiny.Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    """A power cut leaves files of the right length and wrong content."""
    first(made, "calm")
    with monkeypatch.context() as patch:
        patch.setattr("earthrecord.record.seal._seal", lambda *_: (_ for _ in ()).throw(Killed()))
        with pytest.raises(Killed):
            first(made, "x")
    (path,) = made.places().building.rglob("*_SR_B4.TIF")
    path.write_bytes(bytes(path.stat().st_size))
    first(made, "x")
    assert same(made, "calm", "x")


def same(made: tiny.Tiny, one: str, other: str) -> bool:
    hashes = {read_certificate(made.places(name).certificate).root_hash for name in (one, other)}
    return len(hashes) == 1


def test_a_damaged_record_is_mended_by_building_it_again(made: tiny.Tiny) -> None:
    """What verify-record recommends."""
    first(made, "x")
    before = read_certificate(made.places().certificate).root_hash
    (path,) = made.root().rglob("*_SR_B4.TIF")
    path.write_bytes(bytes(path.stat().st_size))
    assert verify(made.places(), made.products, made.site).findings
    build(made.builder(), made.scenes(), replace=True)
    assert verify(made.places(), made.products, made.site).findings == ()
    assert read_certificate(made.places().certificate).root_hash == before


@pytest.mark.parametrize(
    "poison",
    [
        lambda line: line.replace(b'["', b'["\xff'),
        lambda line: line.replace(b",", b";"),
        lambda line: line[:68] + b"[],null]\n",
        lambda line: line[: len(line) // 2],
    ],
)
def test_a_poisoned_journal_changes_nothing(made: tiny.Tiny, poison: Callable[[bytes], bytes]) -> None:
    first(made, "x")
    places = made.places()
    before = read_certificate(places.certificate)
    places.journal.write_bytes(b"".join(map(poison, places.journal.read_bytes().splitlines(keepends=True))))
    again = build(made.builder(), made.scenes(), replace=True).certificate
    assert (again.root_hash, again.ledger_digest) == (before.root_hash, before.ledger_digest)


def test_counts_in_the_journal_that_do_not_add_up_are_made_again(made: tiny.Tiny) -> None:
    first(made, "x")
    places = made.places()
    counts = str(made.book()[SCENES[0]]["clear"]).encode()
    content = places.journal.read_bytes()
    assert content.count(b"," + counts + b"]") == 1
    places.journal.write_bytes(content.replace(b"," + counts + b"]", b",12]"))
    before = read_certificate(places.certificate)
    assert build(made.builder(), made.scenes(), replace=True).certificate == before


def test_a_file_replaced_after_the_search_is_told(made: tiny.Tiny) -> None:
    """Another size is another file than the one that was found; the same command with a new search takes it."""
    scenes = made.scenes()
    (quality,) = made.archive.rglob("*_QA_PIXEL.TIF")
    quality.write_bytes(quality.read_bytes() + b"\0")
    tiny.landsat(made.archive, SCENES[1], CLEAR)
    with pytest.raises(Exception, match="1 unreadable"):
        build(made.builder(), scenes.filter(scenes["product"] == "landsat-c2-l2"))
    assert made.build("new").spoiled.height == 0


def test_a_file_that_changes_while_it_is_read_spoils_its_scene(
    made: tiny.Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counts of one state and pixels of another would be a wrong record."""
    tiny.landsat(made.archive, SCENES[1], CLEAR)
    count = Looker.counts

    def counts(looker: Looker, row: Any, band: Any, file: Any, place: Any) -> Any:
        found = count(looker, row, band, file, place)
        if row["scene"] == SCENES[0]:
            os.utime(file["href"], (1, 1))
        return found

    with monkeypatch.context() as patch:
        patch.setattr(Looker, "counts", counts)
        outcome = made.build()
    assert outcome.spoiled["scene"].to_list() == [SCENES[0]]
    assert "changed while" in outcome.spoiled["reason"][0]
    assert made.build().spoiled.height == 0


def test_a_scene_that_was_replaced_in_place_is_read_again(made: tiny.Tiny) -> None:
    """The same names and sizes, other pixels: the time stamp tells."""
    first(made, "x")
    before = read_certificate(made.places().certificate).root_hash
    (band,) = made.archive.rglob("*_SR_B4.TIF")
    content = bytearray(band.read_bytes())
    twin = made.folder / "twin.tif"
    shutil.copy(next(made.archive.rglob("*_SR_B3.TIF")), twin)
    band.write_bytes(twin.read_bytes().ljust(len(content), b"\0"))
    os.utime(band, (2_000_000_000, 2_000_000_000))
    done = update(made.builder(), made.scenes())
    assert [path.rpartition("_")[2] for path in done.difference.changed] == ["B4.TIF"]
    assert done.outcome.certificate.root_hash != before
    assert verify(made.places(), made.products, made.site).findings == ()


def test_an_update_without_news_changes_nothing(made: tiny.Tiny) -> None:
    first(made, "x")
    before = read_certificate(made.places().certificate)
    done = update(made.builder(), made.scenes())
    assert (done.found, done.difference.same) == (0, True)
    assert done.outcome.certificate == before


def test_an_update_keeps_what_the_archive_lost(made: tiny.Tiny) -> None:
    """An update appends: scenes that are in the record stay in it."""
    first(made, "x")
    more(made)
    shutil.rmtree(made.archive / SCENES[0])
    (made.archive / HANSEN).unlink()
    done = update(made.builder(), made.scenes())
    assert done.outcome.spoiled.height == 0
    assert done.difference.gone == ()
    assert [Path(path).name for path in done.difference.new] == [SCENES[1]]
    assert verify(made.places(), made.products, made.site).findings == ()


def test_an_empty_search_leaves_the_record_that_stands(made: tiny.Tiny) -> None:
    first(made, "x")
    empty = made.scenes().head(0)
    with pytest.raises(Exception, match="stays as it is"):
        build(made.builder(), empty, replace=True)
    assert verify(made.places(), made.products, made.site).findings == ()


def test_a_refused_build_leaves_the_frozen_search(made: tiny.Tiny) -> None:
    """Architecture, data contracts: a record can be rebuilt from its scenes.parquet."""
    first(made, "x")
    frozen = search.read(made.places().scenes)
    more(made)
    with pytest.raises(BadRecord, match="another search result"):
        first(made, "x")
    assert search.read(made.places().scenes).equals(frozen)


CODE = """
import os, sys
os.umask(int(sys.argv[4], 8))
import tiny
from pathlib import Path
from earthrecord.record import seal
from earthrecord.record.build import Builder
from earthrecord.record.seal import build
made = tiny.Tiny(Path(sys.argv[1]))
made.archive = Path(sys.argv[2])
builder = made.builder()
builder.workers = int(sys.argv[3])
print(build(builder, made.scenes()).certificate.root_hash)
"""


def test_the_root_hash_does_not_depend_on_the_machine(made: tiny.Tiny, tmp_path: Path) -> None:
    """Definitions, "format 1": locale, time zone, umask, hash seed, workers, folder and order of files on disk do not count."""
    more(made)
    other = tmp_path / "Wäldchen 10%"  # the same files, made in another order
    for path in sorted(made.archive.rglob("*"), reverse=True):
        if path.is_file():
            target = other / path.relative_to(made.archive)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
    hashes = set()
    for number, (archive, workers, umask, more_) in enumerate(
        [
            (made.archive, 1, "022", {"TZ": "Pacific/Kiritimati", "LC_ALL": "C", "PYTHONHASHSEED": "1"}),
            (other, 5, "077", {"TZ": "America/Anchorage", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "2"}),
        ]
    ):
        words = [str(tmp_path / f"run{number}"), str(archive), str(workers), umask]
        environment = os.environ | more_ | {"PYTHONPATH": str(Path(__file__).parents[1])}
        done = subprocess.run(
            [sys.executable, "-c", CODE, *words], env=environment, capture_output=True, text=True, check=True
        )
        hashes.add(done.stdout.strip())
    assert len(hashes) == 1
    assert hashes == {made.build().certificate.root_hash}


def test_a_builder_keeps_no_pixels(made: tiny.Tiny) -> None:
    """Architecture, rule 6: memory does not grow with the number of scenes; a choice holds where its scene lies, no mask."""
    builder: Builder = made.builder()
    with Journal(made.places().journal) as journal:
        choices = builder.decide(made.scenes(), journal)
    for choice in choices:
        assert not [value for value in vars(choice).values() if isinstance(value, np.ndarray)]
    one, other = (builder.place_of(choices[0]) for _ in range(2))
    assert one.mask is other.mask
