"""One archive told in three ways (folder, items with paths, items with http addresses) gives one record.

Quality layers of remote scenes are fetched first, bands of dropped scenes never, and nothing fetched stays behind.
"""

from __future__ import annotations

import functools
import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tiny
from earthrecord.errors import UnwritableRaster
from earthrecord.record.build import Builder
from earthrecord.record.model import Rules, read_certificate
from earthrecord.record.plan import plan
from earthrecord.record.seal import build

KEPT = "LC08_L2SP_230077_20190712_20200827_02_T1"
OLD = "LC08_L2SP_230077_20190712_20190718_02_T1"
CLOUDY = "LC09_L2SP_230077_20220109_20220112_02_T1"
NEXT_ROW = (
    "LC08_L2SP_230078_20190712_20200827_02_T1"  # its footprint reaches the site's margin, its pixels do not
)
FAR = "LC08_L2SP_230079_20190712_20200827_02_T1"
FILES = {
    "blue": "SR_B2", "green": "SR_B3", "red": "SR_B4", "nir08": "SR_B5", "swir16": "SR_B6", "swir22": "SR_B7",
    "qa_pixel": "QA_PIXEL", "qa_radsat": "QA_RADSAT", "qa_aerosol": "SR_QA_AEROSOL",
}  # fmt: skip


class Server:
    """Serves a folder on this machine and notes what is asked for."""

    def __init__(self, folder: Path) -> None:
        asked: list[str] = []

        class Handler(http.server.SimpleHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append(self.path.rpartition("/")[2])
                super().do_GET()

            def log_message(self, *_: Any) -> None:
                pass

        self.asked = asked
        handler = functools.partial(Handler, directory=str(folder))
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def made(tmp_path: Path) -> tiny.Tiny:
    made = tiny.Tiny(tmp_path)
    clear = np.full((160, 160), 21824, np.uint16)
    tiny.landsat(made.archive, KEPT, clear)
    tiny.landsat(made.archive, OLD, clear)
    tiny.landsat(made.archive, CLOUDY, np.full((160, 160), 22280, np.uint16))
    tiny.landsat(made.archive, NEXT_ROW, clear, transform=tiny.grid(30, east=6000.0))
    tiny.landsat(made.archive, FAR, clear, transform=tiny.grid(30, east=90_000.0))
    return made


@pytest.fixture
def server(made: tiny.Tiny) -> Iterator[Server]:
    server = Server(made.archive)
    yield server
    server.close()


def items(made: tiny.Tiny, name: str, base: str) -> Path:
    """The archive's scenes as STAC items whose links begin with `base`."""
    path = made.folder / f"{name}.json"
    features = [_item(scene, base) for scene in (KEPT, OLD, CLOUDY, NEXT_ROW, FAR)]
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    return path


def _item(scene: str, base: str) -> dict[str, Any]:
    satellite, level, place, day, _, _, tier = scene.split("_")
    east = {NEXT_ROW: 6000.0, FAR: 90_000.0}.get(scene, 0.0)
    transform = tiny.grid(30, east=east)
    west = -63.225 + east / 101_000
    ring = [[west, -24.075], [west + 0.05, -24.075], [west + 0.05, -24.025], [west, -24.025], [west, -24.075]]
    return {
        "type": "Feature",
        "stac_version": "1.0.0",
        "id": scene,
        "collection": "landsat-c2-l2",
        "geometry": {"type": "Polygon", "coordinates": [ring]},
        "properties": {
            "datetime": f"{day[:4]}-{day[4:6]}-{day[6:]}T14:02:12.123456Z",
            "platform": f"landsat-{int(satellite[2:])}",
            "instruments": ["oli", "tirs"],
            "landsat:wrs_path": place[:3],
            "landsat:wrs_row": place[3:],
            "landsat:collection_number": "02",
            "landsat:collection_category": tier,
            "landsat:correction": level,
            "proj:epsg": 32620,
            "proj:shape": [160, 160],
            "proj:transform": [30, 0, transform.c, 0, -30, transform.f, 0, 0, 1],
        },
        "assets": {
            key: {"href": f"{base}/{scene}/{scene}_{file}.TIF", "type": "image/tiff"}
            for key, file in FILES.items()
        },
        "links": [],
    }


def test_folder_and_items_and_addresses_give_one_record(made: tiny.Tiny, server: Server) -> None:
    sources = {
        "folder": made.archive,
        "paths": items(made, "paths", str(made.archive)),
        "addresses": items(made, "addresses", server.address),
    }
    for name, source in sources.items():
        made.build(name, [source])
    roots = {read_certificate(made.places(name).certificate).root_hash for name in sources}
    assert len(roots) == 1
    rules = [{scene: row["rule"] for scene, row in made.book(name).items()} for name in sources]
    assert rules[0] == rules[1] == rules[2]
    assert rules[0] == {KEPT: None, OLD: "duplicate", CLOUDY: "obscured", NEXT_ROW: "outside", FAR: "outside"}


def test_quality_is_fetched_first_and_no_band_of_a_dropped_scene(made: tiny.Tiny, server: Server) -> None:
    source = items(made, "addresses", server.address)
    made.build("x", [source])
    bands = [name for name in server.asked if not name.endswith("_QA_PIXEL.TIF")]
    first_band = server.asked.index(bands[0])
    assert {name.partition("_SR")[0].partition("_QA")[0] for name in bands} == {KEPT}
    assert set(server.asked[:first_band]) == {
        f"{scene}_QA_PIXEL.TIF" for scene in (KEPT, OLD, CLOUDY, NEXT_ROW)
    }
    assert len(server.asked) == len(set(server.asked)), "a file was fetched twice"
    assert not made.places().cache.exists()


def test_a_plan_asks_for_nothing_and_tells_what_metadata_tell(made: tiny.Tiny, server: Server) -> None:
    frame, _ = plan(made.builder(), made.scenes([items(made, "addresses", server.address)]))
    assert server.asked == []
    local, _ = plan(made.builder(), made.scenes())
    assert frame["scenes"].sum() == local["scenes"].sum() + 1  # the pixels of the next row are not known yet
    assert frame["remote"].sum() == 9 * 3
    assert frame["write"].sum() == local["write"].sum()


def test_what_the_network_does_not_give_is_an_unreadable_row(made: tiny.Tiny, server: Server) -> None:
    """A file that is gone, a page instead of a raster; mended, the same command gives the whole record."""
    source = items(made, "addresses", server.address)
    other = KEPT.replace("230077_20190712", "230077_20190813")
    (band,) = made.archive.rglob(f"{KEPT}_SR_B4.TIF")
    good = band.read_bytes()
    tiny.landsat(made.archive, other, np.full((160, 160), 21824, np.uint16))
    for content in (None, b"<!DOCTYPE html><html>Please log in</html>"):
        band.unlink(missing_ok=True)
        if content is not None:
            band.write_bytes(content)
        name = "gone" if content is None else "page"
        outcome = made.build(name, [source, made.archive / other])
        assert outcome.spoiled["scene"].to_list() == [KEPT]
        assert f"{KEPT}_SR_B4.TIF" in outcome.spoiled["reason"][0]
    band.write_bytes(good)
    assert made.build("page", [source, made.archive / other]).spoiled.height == 0


def test_without_the_network_remote_scenes_are_unreadable(made: tiny.Tiny, server: Server) -> None:
    scenes = made.scenes([items(made, "addresses", server.address)])
    builder = Builder(made.site, made.products, Rules(), made.places(), network=False)
    with pytest.raises(Exception, match="unreadable"):
        build(builder, scenes)
    assert server.asked == []


def test_a_cache_that_can_not_be_written_ends_the_build(made: tiny.Tiny, server: Server) -> None:
    """A full disk is no fault of a scene."""
    made.places().work.mkdir(parents=True)
    made.places().cache.write_text("a file")
    with pytest.raises(UnwritableRaster, match="can not be written"):
        made.build("x", [items(made, "addresses", server.address)])
