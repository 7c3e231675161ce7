"""The six counts against their naive twin (definitions.md, "counts")."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

import naive
from earthrecord import _core
from earthrecord.errors import UnreadableRaster, UnsupportedRaster

PLACE = (30.0, 0.0, 500000.0, 0.0, -30.0, 4000000.0)
BYTE = np.full(256, 5, np.uint8)
SMALL = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

Case = tuple[NDArray[Any], NDArray[np.uint8], naive.Block, NDArray[np.bool_]]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A raster (a few values or all fill), a table of classes, a window partly or wholly beyond, a site with gaps."""
    dtype = np.dtype(draw(st.sampled_from(["uint8", "int8", "uint16", "int16"])))
    shape = draw(st.tuples(st.integers(1, 9), st.integers(1, 9)))
    few = draw(st.lists(hnp.from_dtype(dtype), min_size=1, max_size=4))
    values = draw(hnp.arrays(dtype, shape, elements=st.sampled_from(few)))
    seed = draw(st.integers(0, 2**32 - 1))
    classes = np.random.default_rng(seed).integers(1, 6, 2 ** (8 * dtype.itemsize)).astype(np.uint8)
    block = draw(
        st.tuples(st.integers(-12, 12), st.integers(-12, 12), st.integers(1, 14), st.integers(1, 14))
    )
    site = draw(hnp.arrays(np.bool_, (block[3], block[2])))
    return values, classes, block, site


def on_raster(values: NDArray[Any], block: naive.Block) -> NDArray[Any]:
    col, row, width, height = block
    return values[max(row, 0) : max(row + height, 0), max(col, 0) : max(col + width, 0)]


@SMALL
@given(cases())
def test_counts_equal_their_naive_twin(tmp_path: Path, case: Case) -> None:
    values, classes, block, site = case
    path = tmp_path / "quality.tif"
    _core.write_raster(path, values, PLACE)
    counts = _core.count_quality(path, classes, block, site)
    assert counts == naive.counts(values, classes, block, site)
    assert sum(counts) == site.sum()
    size = values.shape[1], values.shape[0]
    assert _core.count_classes(on_raster(values, block), classes, block, site, size) == counts


@SMALL
@given(cases())
def test_arrays_in_any_order_count_the_same(case: Case) -> None:
    values, classes, block, site = case
    size = values.shape[1], values.shape[0]
    here = on_raster(values, block)
    expected = naive.counts(values, classes, block, site)
    swapped = here.astype(here.dtype.newbyteorder(">"))
    wide = np.repeat(np.repeat(here, 2, axis=0), 3, axis=1)[::2, ::3]
    tables = np.repeat(classes, 2)[::2]
    for form in (swapped, np.asfortranarray(here), wide):
        assert _core.count_classes(form, tables, block, np.asfortranarray(site), size) == expected


def test_a_large_layer_over_many_tiles(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    values = rng.choice(np.array([1, 21824, 22280, 23888, 30048], np.uint16), (700, 600))
    classes = np.full(65536, 5, np.uint8)
    classes[[1, 22280, 23888, 30048]] = 1, 2, 3, 4
    block, site = (-50, 300, 500, 500), rng.random((500, 500)) < 0.7
    _core.write_raster(tmp_path / "qa.tif", values, PLACE)
    assert _core.count_quality(tmp_path / "qa.tif", classes, block, site) == naive.counts(
        values, classes, block, site
    )


def test_a_scene_that_is_all_fill(tmp_path: Path) -> None:
    _core.write_raster(tmp_path / "qa.tif", np.zeros((4, 5), np.uint8), PLACE)
    classes, site = BYTE.copy(), np.ones((4, 5), bool)
    classes[0] = 1
    assert _core.count_quality(tmp_path / "qa.tif", classes, (0, 0, 5, 4), site) == (0, 20, 0, 0, 0, 0)
    assert _core.count_quality(tmp_path / "qa.tif", classes, (5, 0, 5, 4), site) == (20, 0, 0, 0, 0, 0)
    assert _core.count_quality(tmp_path / "qa.tif", classes, (0, 0, 5, 4), ~site) == (0, 0, 0, 0, 0, 0)


def test_the_band_that_is_asked_for(tmp_path: Path) -> None:
    import rasterio

    path = tmp_path / "bands.tif"
    values = np.stack([np.full((6, 7), band, np.uint8) for band in (1, 2, 3)])
    profile = {"driver": "GTiff", "count": 3, "height": 6, "width": 7, "dtype": "uint8", "crs": "EPSG:32633"}
    with rasterio.open(path, "w", transform=rasterio.Affine(*PLACE), interleave="pixel", **profile) as target:
        target.write(values)
    classes, site = BYTE.copy(), np.ones((6, 7), bool)
    classes[2] = 2
    assert _core.count_quality(path, classes, (0, 0, 7, 6), site, band=2) == (0, 0, 42, 0, 0, 0)
    assert _core.count_quality(path, classes, (0, 0, 7, 6), site, band=3) == (0, 0, 0, 0, 0, 42)
    with pytest.raises(UnreadableRaster, match="band 4 is wanted, it has 3"):
        _core.count_quality(path, classes, (0, 0, 7, 6), site, band=4)


@pytest.mark.parametrize(
    ("dtype", "entries"), [("uint8", 65536), ("int16", 256), ("uint32", 256), ("float32", 65536)]
)
def test_a_table_for_another_type_is_refused(tmp_path: Path, dtype: str, entries: int) -> None:
    path, site = tmp_path / "qa.tif", np.ones((4, 5), bool)
    _core.write_raster(path, np.zeros((4, 5), dtype), PLACE)
    table = np.full(entries, 5, np.uint8)
    with pytest.raises(UnsupportedRaster, match=rf"qa\.tif: holds {dtype}; a class table of {entries}"):
        _core.count_quality(path, table, (0, 0, 5, 4), site)
    with pytest.raises(ValueError, match=f"of {dtype} do not fit"):
        _core.count_classes(np.zeros((4, 5), dtype), table, (0, 0, 5, 4), site, (5, 4))


@pytest.mark.parametrize("wrong", [0, 6, 255])
def test_a_class_that_is_none_is_refused(tmp_path: Path, wrong: int) -> None:
    path, site, classes = tmp_path / "qa.tif", np.ones((4, 5), bool), BYTE.copy()
    _core.write_raster(path, np.zeros((4, 5), np.uint8), PLACE)
    classes[17] = wrong
    with pytest.raises(ValueError, match=f"class {wrong} of the value 17"):
        _core.count_quality(path, classes, (0, 0, 5, 4), site)


def test_a_mask_or_values_of_another_shape_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "qa.tif"
    _core.write_raster(path, np.zeros((4, 5), np.uint8), PLACE)
    with pytest.raises(ValueError, match="site mask of"):
        _core.count_quality(path, BYTE, (0, 0, 5, 4), np.ones((5, 4), bool))
    with pytest.raises(ValueError, match="site mask of"):
        _core.count_quality(path, BYTE, (0, 0, -5, -4), np.ones((5, 4), bool))
    for values in (np.zeros((5, 4), np.uint8), np.zeros((3, 5), np.uint8), np.zeros(20, np.uint8)):
        with pytest.raises(ValueError, match="do not fit"):
            _core.count_classes(values, BYTE, (0, 0, 5, 4), np.ones((4, 5), bool), (5, 4))
    with pytest.raises(ValueError, match="do not fit"):
        _core.count_classes(np.zeros((4, 5), bool), BYTE, (0, 0, 5, 4), np.ones((4, 5), bool), (5, 4))
