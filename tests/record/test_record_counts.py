"""The six counts, window and pixels of a site, computed here once more with numpy, shapely and pyproj.

Definitions, rows "window of a scene", "pixels of the site", "counts" and what follows by product.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rasterio
import shapely
from numpy.typing import NDArray
from pyproj import Transformer
from rasterio.transform import rowcol, xy

import tiny
from earthrecord.record.model import COUNTS
from earthrecord.sites.model import Site

Values = NDArray[Any]
FILL, CLOUD, SHADOW, SNOW, CLEAR = 1, 2, 3, 4, 5


def outline(site: Site, crs: Any) -> Any:
    """The site in another CRS, its edges cut into pieces of 100 m first."""
    dense = shapely.segmentize(site.geometry, 0.001)
    to = Transformer.from_crs("EPSG:4326", crs, always_xy=True).transform
    return shapely.transform(dense, lambda points: np.column_stack(to(points[:, 0], points[:, 1])))


def site_pixels(site: Site, crs: Any, transform: Any, shape: tuple[int, int], cell: float) -> Values:
    """Pixels whose centre lies in the site; where cells exceed a tenth of its shorter side, those that it touches."""
    shape_there = outline(site, crs)
    rows, cols = np.indices(shape)
    if cell <= site.shorter_side / 10:
        xs, ys = xy(transform, rows.ravel(), cols.ravel())
        return np.asarray(shapely.contains_xy(shape_there, xs, ys)).reshape(shape)
    a, _, c, _, e, f = transform[:6]
    west, north = c + a * cols, f + e * rows
    return np.asarray(shapely.intersects(shapely.box(west, north + e, west + a, north), shape_there))


def expected(classes: Values, site: Values) -> dict[str, int]:
    tally = np.bincount(classes[site], minlength=6)
    return dict(zip(COUNTS, (int(n) for n in tally), strict=True))


def first_that_applies(*steps: tuple[Values, int]) -> Values:
    return np.select([where for where, _ in steps], [to for _, to in steps])


def bit(values: Values, number: int) -> Values:
    return np.asarray((values >> number) & 1 == 1)


def landsat_classes(values: Values, sensor: str) -> Values:
    cloud = bit(values, 1) | bit(values, 3) | (bit(values, 2) if sensor == "oli" else False)
    other = np.ones(values.shape, bool)
    return first_that_applies(
        (bit(values, 0), FILL), (cloud, CLOUD), (bit(values, 4), SHADOW), (bit(values, 5), SNOW), (other, CLEAR)
    )  # fmt: skip


REAL_QA = {
    "oli": (1, 21824, 21952, 22280, 23888, 30048, 54596, 55052, 21762, 22018, 56598, 62820, 24082),
    "tm": (1, 5440, 5504, 5896, 7440, 13600, 5442, 5698, 7824, 7960, 13664, 13856),
}


@pytest.mark.parametrize(
    ("scene", "sensor"),
    [
        ("LC08_L2SP_230077_20190712_20200827_02_T1", "oli"),
        ("LC09_L2SP_230077_20220109_20220112_02_T1", "oli"),
        ("LE07_L2SP_230077_20050713_20200914_02_T1", "etm"),
        ("LT05_L2SP_230077_19950710_20200912_02_T1", "tm"),
        ("LT04_L2SP_230077_19880710_20200912_02_T1", "tm"),
    ],
)
@pytest.mark.parametrize("kind", ["real values", "any bits"])
def test_landsat(tmp_path: Path, scene: str, sensor: str, kind: str) -> None:
    """Cirrus (bit 2) is cloud on OLI alone; bits overlap and the order decides."""
    dice = np.random.default_rng(7)
    pool = np.array(REAL_QA["oli" if sensor == "oli" else "tm"] if kind == "real values" else range(65536))
    quality = dice.choice(pool, (160, 160)).astype(np.uint16)
    made = tiny.Tiny(tmp_path)
    tiny.landsat(made.archive, scene, quality)
    made.build(obscured=None)
    site = site_pixels(made.site, tiny.UTM, tiny.grid(30), quality.shape, 30)
    found = made.book()[scene]
    assert {name: found[name] for name in COUNTS} == expected(landsat_classes(quality, sensor), site)
    assert found["outside"] == 0


def test_sentinel_2_on_its_grid_of_20_m(tmp_path: Path) -> None:
    scl = np.random.default_rng(8).integers(0, 14, (240, 240)).astype(np.uint8)
    made = tiny.Tiny(tmp_path)
    scene = tiny.sentinel2(made.archive, scl)
    made.build(obscured=None)
    classes = np.full(scl.shape, FILL)
    for codes, to in (((8, 9, 10), CLOUD), ((3,), SHADOW), ((11,), SNOW), ((2, 4, 5, 6, 7), CLEAR)):
        classes[np.isin(scl, codes)] = to
    site = site_pixels(made.site, tiny.UTM, tiny.grid(20), scl.shape, 20)
    found = made.book()[scene]
    assert {name: found[name] for name in COUNTS} == expected(classes, site)


def by_codes(table: dict[int, tuple[int, ...]], otherwise: int = FILL) -> Callable[[Values], Values]:
    def classes(values: Values) -> Values:
        out = np.full(values.shape, otherwise)
        for to, codes in table.items():
            out[np.isin(values, codes)] = to
        return out

    return classes


VI = by_codes({CLOUD: (3,), SNOW: (2,), CLEAR: (0, 1)})
NDSI = by_codes({CLOUD: (250,), SNOW: tuple(range(40, 101)), CLEAR: (*range(40), 237, 239)})
COMPOSITES = {
    "MOD13Q1.A2020001.h12v11.061.2021001120000": ("250m_16_days_pixel_reliability", np.int8, (-1, 4), VI, 4800),
    "MYD13A1.A2020009.h12v11.061.2021001120000": ("500m_16_days_pixel_reliability", np.int8, (-1, 4), VI, 2400),
    "VNP13A1.A2020001.h12v11.002.2021001120000": (
        "500_m_16_days_pixel_reliability", np.int8, (-4, 12),
        by_codes({CLOUD: (9,), SHADOW: (7,), SNOW: (8,), CLEAR: tuple(range(7))}), 2400,
    ),
    "MOD11A2.A2020001.h12v11.061.2021001120000": (
        "QC_Day", np.uint8, (0, 256), lambda qc: np.select([qc & 3 == 3, qc & 3 == 2], [FILL, CLOUD], CLEAR), 1200,
    ),
    "VNP21A2.A2020001.h12v11.002.2021001120000": (
        "QC_Day", np.uint8, (0, 256), lambda qc: np.select([qc & 3 == 3, qc & 3 == 2], [FILL, CLOUD], CLEAR), 1200,
    ),
    "MOD10A1.A2020040.h12v11.061.2021001120000": ("NDSI_Snow_Cover", np.uint8, (0, 256), NDSI, 2400),
    "MYD10A1.A2020040.h12v11.061.2021001120000": ("NDSI_Snow_Cover", np.uint8, (0, 256), NDSI, 2400),
    "MOD10A2.A2020033.h12v11.061.2021001120000": (
        "Maximum_Snow_Extent", np.uint8, (0, 256),
        by_codes({CLOUD: (50,), SNOW: (100, 200), CLEAR: (25, 37, 39)}), 2400,
    ),
}  # fmt: skip


@pytest.mark.parametrize("scene", COMPOSITES)
def test_composites_on_the_sinusoidal_grid(tmp_path: Path, scene: str) -> None:
    """Cells of 463 and 926 m are longer than a tenth of the site's 3 km: they count where they touch it."""
    layer, dtype, (low, high), classes, pixels = COMPOSITES[scene]
    cell, size = 1111950.5198 / pixels, 40
    values = np.random.default_rng(9).integers(low, high, (size, size)).astype(dtype)
    made = tiny.Tiny(tmp_path)
    transform = tiny.sinusoidal(cell, size)
    tiny.layers(made.archive, scene, {layer: values}, tiny.SINUSOIDAL, transform)
    made.build()
    site = site_pixels(made.site, tiny.SINUSOIDAL, transform, values.shape, cell)
    found = made.book()[scene]
    assert found["kept"]
    assert {name: found[name] for name in COUNTS} == expected(classes(values), site)
    assert sum(found[name] for name in COUNTS) == site.sum() > 8


def test_a_zero_in_a_band_makes_no_fill(tmp_path: Path) -> None:
    """Definitions, "counts": from the quality layer alone."""
    made, scene = tiny.Tiny(tmp_path), "LC08_L2SP_230077_20190712_20200827_02_T1"
    folder = tiny.landsat(made.archive, scene, np.full((160, 160), 21824, np.uint16))
    with rasterio.open(next(folder.glob("*_SR_B4.TIF")), "r+") as file:
        file.write(np.zeros((160, 160), np.uint16), 1)
    made.build()
    assert made.book()[scene]["fill"] == 0


def test_what_lies_beyond_the_raster_is_outside_and_the_rest_is_counted(tmp_path: Path) -> None:
    """Definitions, "counts": outside the raster comes first; the counts add up to the site's pixels."""
    made, scene = tiny.Tiny(tmp_path), "LC08_L2SP_230077_20190712_20200827_02_T1"
    clear = np.full((160, 160), 21824, np.uint16)
    shifted = tiny.grid(30, east=2400.0)
    tiny.landsat(made.archive, scene, clear, transform=shifted)
    made.build()
    whole = site_pixels(made.site, tiny.UTM, tiny.grid(30), (160, 160), 30).sum()
    there = site_pixels(made.site, tiny.UTM, shifted, (160, 160), 30).sum()
    found = made.book()[scene]
    assert (found["outside"], found["clear"]) == (whole - there, there)
    assert 0 < there < whole


@pytest.mark.parametrize("crs", ["EPSG:32620", "EPSG:32619"])
def test_the_window_is_the_smallest_block_that_holds_the_site(tmp_path: Path, crs: str) -> None:
    """Definitions, "window of a scene": box edges densified before projection; nothing resampled."""
    made, scene = tiny.Tiny(tmp_path), "LC08_L2SP_230077_20190712_20200827_02_T1"
    transform = tiny.grid(30, crs)
    folder = tiny.landsat(made.archive, scene, np.full((160, 160), 21824, np.uint16), mtl=False)
    for path in folder.glob("*.TIF"):
        tiny.move(path, transform, crs)
    made.build()
    west, south, east, north = outline(made.site, crs).bounds
    top, left = rowcol(transform, west, north, op=lambda v: np.floor(v + 1e-6))
    bottom, right = rowcol(transform, east, south, op=lambda v: np.ceil(v - 1e-6))
    with rasterio.open(next(made.root().rglob("*_SR_B4.TIF"))) as file:
        assert (file.height, file.width) == (bottom - top, right - left)
        assert (file.transform.c, file.transform.f) == (transform.c + 30 * left, transform.f - 30 * top)


def test_without_a_quality_layer_there_are_no_counts(tmp_path: Path) -> None:
    """Definitions: MCD12Q1, WorldCover, DEM ...: null in the ledger."""
    made = tiny.Tiny(tmp_path)
    scene = "MCD12Q1.A2020001.h12v11.061.2022001120000"
    values = {"LC_Type1": np.full((40, 40), 10, np.uint8)}
    tiny.layers(made.archive, scene, values, tiny.SINUSOIDAL, tiny.sinusoidal(1111950.5198 / 2400, 40))
    made.build()
    row = made.book()[scene]
    assert row["kept"]
    assert [row[name] for name in (*COUNTS, "obscured")] == [None] * 7
