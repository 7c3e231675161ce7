"""Format 1 (docs/formats.md): what `crop` and `write_raster` leave on the disk."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rasterio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray
from rasterio.windows import Window

import naive
from earthrecord import _core
from earthrecord.errors import UnreadableRaster, UnwritableRaster

PLACE = (30.0, 0.0, 399960.0, 0.0, -30.0, 4500000.0)
DTYPES = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float32", "float64")
UTM = _core.geokeys_of_epsg(32633, False)
SMALL = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def noise(dtype: str, shape: tuple[int, ...], seed: int = 1) -> NDArray[Any]:
    raw = np.random.default_rng(seed).integers(
        0, 256, int(np.prod(shape)) * np.dtype(dtype).itemsize, np.uint8
    )
    return raw.view(dtype).reshape(shape)


def bits(values: NDArray[Any]) -> tuple[np.dtype[Any], tuple[int, ...], bytes]:
    return values.dtype, values.shape, values.tobytes()


def source(path: Path, values: NDArray[Any], **options: Any) -> Path:
    profile = {
        "driver": "GTiff",
        "crs": "EPSG:32633",
        "transform": rasterio.Affine(*PLACE),
        "compress": "deflate",
    }
    bands, height, width = values.shape
    profile |= {"count": bands, "height": height, "width": width, "dtype": values.dtype.name}
    with rasterio.open(path, "w", **profile | options) as target:
        target.write(values)
    return path


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 1), (1, 300), (256, 256), (257, 3), (3, 257), (520, 515)])
def test_what_is_written_reads_back(tmp_path: Path, dtype: str, shape: tuple[int, int]) -> None:
    values, path = noise(dtype, shape), tmp_path / "out.tif"
    size, sha = _core.write_raster(path, values, PLACE, UTM, "7")
    assert (size, sha) == (path.stat().st_size, hashlib.sha256(path.read_bytes()).hexdigest())
    assert bits(naive.format_1(path)) == bits(values)
    assert bits(_core.read_window(path)) == bits(values)
    with rasterio.open(path) as target:
        assert bits(target.read(1)) == bits(values)
        assert (tuple(target.transform)[:6], target.crs.to_epsg(), target.nodata) == (PLACE, 32633, 7)
        assert (target.profile["compress"], target.overviews(1)) == ("deflate", [])
    tags = naive.entries(path)
    assert (tags[259], tags[317]) == ((8,), (1 if dtype.startswith("float") else 2,))
    tiled = max(shape) > 256
    assert ((322 in tags), (324 in tags), (273 in tags)) == (tiled, tiled, not tiled)
    assert (tags[322] + tags[323] == (256, 256)) if tiled else (tags[278] == (shape[0],))
    assert not {305, 306, 315, 270} & set(tags), "no software, time stamp, author or description"
    assert list(tags) == sorted(tags)


@SMALL
@given(
    hnp.arrays(
        st.sampled_from(["uint8", "int8", "int16", "int64", "float32"]),
        hnp.array_shapes(min_dims=2, max_dims=2, max_side=12),
    ),
    st.data(),
)
def test_a_crop_is_a_window_with_the_mask_value_off_the_site(
    tmp_path: Path, values: NDArray[Any], data: st.DataObject
) -> None:
    path, out = tmp_path / "in.tif", tmp_path / "out.tif"
    _core.write_raster(path, values, PLACE, UTM)
    col, row = data.draw(st.integers(0, values.shape[1] - 1)), data.draw(st.integers(0, values.shape[0] - 1))
    width, height = (
        data.draw(st.integers(1, values.shape[1] - col)),
        data.draw(st.integers(1, values.shape[0] - row)),
    )
    site = data.draw(hnp.arrays(np.bool_, (height, width)))
    block = col, row, width, height
    _core.crop(path, out, block)
    assert bits(naive.format_1(out)) == bits(naive.window(values, block))
    _core.crop(
        path, out, block, site=np.asfortranarray(site), mask_value=-1 if values.dtype.kind != "u" else 255
    )
    expected = naive.masked(naive.window(values, block), site, -1 if values.dtype.kind != "u" else 255)
    assert bits(naive.format_1(out)) == bits(expected)


@SMALL
@given(hnp.arrays(st.sampled_from(DTYPES[:8]), st.integers(1, 20)))
def test_the_writer_stores_differences(tmp_path: Path, line: NDArray[Any]) -> None:
    import zlib

    _core.write_raster(tmp_path / "line.tif", line[None], PLACE)
    tags, data = naive.entries(tmp_path / "line.tif"), (tmp_path / "line.tif").read_bytes()
    stored = zlib.decompress(data[tags[273][0] : tags[273][0] + tags[279][0]])
    assert stored == naive.differences(line).tobytes()


@pytest.mark.parametrize(
    "form", [{"interleave": "band"}, {"interleave": "pixel"}, {"endianness": "BIG", "bigtiff": "YES"}]
)
@pytest.mark.parametrize("block", [(0, 0, 70, 60), (13, 21, 40, 30), (69, 59, 1, 1)])
def test_a_crop_carries_what_the_source_says(
    tmp_path: Path, form: dict[str, str], block: naive.Block
) -> None:
    values = noise("int16", (3, 60, 70))
    path, out = source(tmp_path / "in.tif", values, nodata=-32768, **form), tmp_path / "out.tif"
    with rasterio.open(path, "r+") as dataset:
        dataset.update_tags(product="x & y <z>", empty="")
        for band in (1, 2, 3):
            dataset.update_tags(band, wavelength=f"{band}00")
            dataset.set_band_description(band, f"band {band}")
        dataset.scales, dataset.offsets, dataset.units = (1.0, 0.5, 0.25), (0.0, -1.0, 2.0), ("m", "K", "s")
    _core.crop(path, out, block, band=2)
    with rasterio.open(path) as old, rasterio.open(out) as new:
        assert new.count == 1
        assert bits(new.read(1)) == bits(old.read(2, window=Window(*block)))
        assert new.transform == old.window_transform(Window(*block))
        assert (new.crs, new.nodata, new.dtypes[0]) == (old.crs, old.nodata, "int16")
        assert new.tags() == old.tags()
        assert new.tags(1) == old.tags(2)
        assert (new.descriptions[0], new.scales[0], new.offsets[0], new.units[0]) == (
            "band 2",
            0.5,
            -1.0,
            "K",
        )
    assert _core.scan_header(out).geokeys == _core.scan_header(path).geokeys


def test_the_metadata_of_a_single_band_are_kept_as_stored(tmp_path: Path) -> None:
    path = source(tmp_path / "in.tif", noise("uint8", (1, 9, 8)))
    with rasterio.open(path, "r+") as dataset:
        dataset.update_tags(b="2", a="1")
        dataset.update_tags(1, c="3")
    _core.crop(path, tmp_path / "out.tif", (2, 3, 4, 5))
    assert _core.scan_header(tmp_path / "out.tif").gdal_metadata == _core.scan_header(path).gdal_metadata


@pytest.mark.parametrize("nodata", ["nan", "-32768", "0", "-3.4028234663852886e+38", "255", "1e20"])
def test_the_nodata_tag_is_kept_as_stored(tmp_path: Path, nodata: str) -> None:
    path, out = tmp_path / "in.tif", tmp_path / "out.tif"
    _core.write_raster(path, noise("float64", (4, 5)), PLACE, UTM, nodata)
    _core.crop(path, out, (1, 1, 3, 2))
    assert _core.scan_header(out).nodata == nodata
    with rasterio.open(out) as dataset:
        np.testing.assert_equal(dataset.nodata, float(nodata))


def test_no_nodata_tag_stays_no_tag(tmp_path: Path) -> None:
    path = source(tmp_path / "in.tif", noise("uint8", (1, 9, 8)))
    _core.crop(path, tmp_path / "out.tif", (0, 0, 8, 9))
    assert _core.scan_header(tmp_path / "out.tif").nodata is None
    assert not {42112, 42113} & set(naive.entries(tmp_path / "out.tif"))


@pytest.mark.parametrize(
    "place",
    [
        rasterio.Affine(20.0, 4.0, 500000.0, 3.0, -25.0, 100.0),
        rasterio.Affine(20.0, 0.0, 500000.0, 0.0, 25.0, 100.0),
        rasterio.Affine(1 / 3, 0.0, 0.1, 0.0, -1 / 7, 89.9),
    ],
)
@pytest.mark.parametrize("point", ["Area", "Point"])
def test_rotated_flipped_and_point_grids_are_moved_to_the_window(
    tmp_path: Path, place: rasterio.Affine, point: str
) -> None:
    path = source(tmp_path / "in.tif", noise("uint8", (1, 50, 60)), transform=place)
    with rasterio.open(path, "r+") as dataset:
        dataset.update_tags(AREA_OR_POINT=point)
    _core.crop(path, tmp_path / "out.tif", (7, 11, 20, 30))
    with rasterio.open(path) as old, rasterio.open(tmp_path / "out.tif") as new:
        expected = old.window_transform(Window(7, 11, 20, 30))
        assert tuple(new.transform) == pytest.approx(tuple(expected), rel=1e-15)
        assert new.tags()["AREA_OR_POINT"] == point


@pytest.mark.parametrize(
    "crs", ["EPSG:4326", "EPSG:3031", "+proj=sinu +lon_0=0 +R=6371007.181 +units=m +no_defs"]
)
def test_the_crs_is_kept(tmp_path: Path, crs: str) -> None:
    path = source(tmp_path / "in.tif", noise("uint8", (1, 9, 8)), crs=crs)
    _core.crop(path, tmp_path / "out.tif", (1, 2, 3, 4))
    with rasterio.open(path) as old, rasterio.open(tmp_path / "out.tif") as new:
        assert new.crs == old.crs
        assert new.crs is not None
    assert _core.scan_header(tmp_path / "out.tif").geokeys == _core.scan_header(path).geokeys != b""


@pytest.mark.parametrize(("code", "geographic"), [(32633, False), (4326, True), (3031, False)])
def test_geokeys_of_a_code(tmp_path: Path, code: int, geographic: bool) -> None:
    _core.write_raster(
        tmp_path / "out.tif", noise("uint8", (4, 5)), PLACE, _core.geokeys_of_epsg(code, geographic)
    )
    with rasterio.open(tmp_path / "out.tif") as dataset:
        assert dataset.crs.to_epsg() == code
    assert _core.scan_header(tmp_path / "out.tif").epsg == code


def test_the_same_input_gives_the_same_bytes_wherever_it_runs(tmp_path: Path) -> None:
    path = source(tmp_path / "in.tif", noise("uint16", (2, 600, 500)), nodata=0)
    one, two = tmp_path / "a" / "one.tif", tmp_path / "b" / "c" / "two.tif"
    for target in (one, two):
        target.parent.mkdir(parents=True)
    first = _core.crop(path, one, (3, 5, 400, 300), 2)
    code = f"from earthrecord import _core; print(_core.crop('in.tif', {str(two)!r}, (3, 5, 400, 300), 2)[1])"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert first[1] == done.stdout.strip()
    assert one.read_bytes() == two.read_bytes()
    assert _core.crop(path, one, (3, 5, 400, 300), 2) == first, "over itself"


@pytest.mark.parametrize(
    ("dtype", "digest"),
    [
        ("int16", "6116ae0c065624a5223547005e2334a52c883f50367308d938a5a61cefd5a02f"),
        ("float32", "2bf60ce9ffecf0a649467be9de274723174b6096ba318117c7ce258762e169aa"),
    ],
)
def test_these_bytes_do_not_change(tmp_path: Path, dtype: str, digest: str) -> None:
    """The root hash of every record stands on it: a new version of the core must write what the old one wrote."""
    values = (np.multiply.outer(np.arange(300), np.arange(280)) % 251 - 7).astype(dtype)
    keys = _core.geokeys_of_epsg(32633, False)
    metadata = '<GDALMetadata>\n  <Item name="a">1</Item>\n</GDALMetadata>\n'
    _, sha = _core.write_raster(tmp_path / "out.tif", values, PLACE, keys, "-7", metadata)
    assert sha == digest


def test_a_crop_of_a_crop_is_the_crop(tmp_path: Path) -> None:
    path = source(tmp_path / "in.tif", noise("uint16", (1, 300, 400)))
    _core.crop(path, tmp_path / "one.tif", (10, 20, 300, 200))
    _core.crop(tmp_path / "one.tif", tmp_path / "two.tif", (5, 6, 50, 40))
    _core.crop(path, tmp_path / "direct.tif", (15, 26, 50, 40))
    assert (tmp_path / "two.tif").read_bytes() == (tmp_path / "direct.tif").read_bytes()


@pytest.mark.parametrize("level", range(1, 13))
def test_levels(tmp_path: Path, level: int) -> None:
    values = np.add.outer(np.arange(300), np.arange(300)).astype(np.uint16)
    _core.write_raster(tmp_path / "out.tif", values, PLACE, level=level)
    assert bits(naive.format_1(tmp_path / "out.tif")) == bits(values)


@pytest.mark.parametrize("level", [-1, 0, 13, 2**31 - 1])
def test_a_level_that_is_none_is_refused(tmp_path: Path, level: int) -> None:
    with pytest.raises(UnwritableRaster, match="level must be 1 to 12"):
        _core.write_raster(tmp_path / "out.tif", noise("uint8", (4, 5)), PLACE, level=level)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "change",
    [
        lambda v: v.astype(v.dtype.newbyteorder(">")),
        np.asfortranarray,
        lambda v: np.repeat(v, 2, axis=1)[:, ::2],
        lambda v: v[::-1, ::-1].copy()[::-1, ::-1],
        lambda v: np.frombuffer(v.tobytes(), v.dtype).reshape(v.shape),
    ],
    ids=["big-endian", "fortran", "strided", "reversed", "read-only"],
)
@pytest.mark.parametrize("dtype", ["int16", "float64", "uint8"])
def test_arrays_in_any_order_give_the_same_file(tmp_path: Path, dtype: str, change: Any) -> None:
    values = noise(dtype, (7, 9))
    plain = _core.write_raster(tmp_path / "plain.tif", values, PLACE)
    assert _core.write_raster(tmp_path / "form.tif", change(values), PLACE) == plain


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0)])
def test_an_array_without_pixels_is_refused(tmp_path: Path, shape: tuple[int, int]) -> None:
    with pytest.raises(UnwritableRaster, match="nothing to write"):
        _core.write_raster(tmp_path / "out.tif", np.zeros(shape, np.uint8), PLACE)
    assert list(tmp_path.iterdir()) == []


def test_arrays_that_are_no_raster_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"shape \[20\]"):
        _core.write_raster(tmp_path / "out.tif", np.zeros(20, np.uint8), PLACE)
    with pytest.raises(ValueError, match=r"shape \[1, 4, 5\]"):
        _core.write_raster(tmp_path / "out.tif", np.zeros((1, 4, 5), np.uint8), PLACE)
    for dtype in ("bool", "complex64", "float16", "datetime64[s]", "object", "S3"):
        with pytest.raises(TypeError, match="an array of"):
            _core.write_raster(tmp_path / "out.tif", np.zeros((4, 5), dtype), PLACE)
    with pytest.raises(ValueError, match="geokeys"):
        _core.write_raster(tmp_path / "out.tif", noise("uint8", (4, 5)), PLACE, b"\xff" * 9)
    for place in ((0.0,) * 6, (np.nan, 0.0, 0.0, 0.0, -1.0, 0.0), (1.0, 2.0, 0.0, 2.0, 4.0, 0.0)):
        with pytest.raises(UnwritableRaster, match="transform"):
            _core.write_raster(tmp_path / "out.tif", noise("uint8", (4, 5)), place)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        *(("uint8", v) for v in (-1, 256, 0.5, float("nan"), float("inf"))),
        *(("int16", v) for v in (-32769, 32768)),
        *(("uint64", v) for v in (-1, 2.0**64)),
        *(("int64", v) for v in (2.0**63, -(2.0**64))),
        *(("float32", v) for v in (1e39, -1e39)),
    ],
)
def test_a_mask_value_that_the_type_can_not_hold_is_refused(tmp_path: Path, dtype: str, value: float) -> None:
    path = tmp_path / "in.tif"
    _core.write_raster(path, noise(dtype, (4, 5)), PLACE)
    with pytest.raises(UnwritableRaster, match=rf"out\.tif: the mask value .* is no {dtype}"):
        _core.crop(path, tmp_path / "out.tif", (0, 0, 5, 4), site=np.zeros((4, 5), bool), mask_value=value)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("dtype", "value"),
    [("uint64", 2.0**63), ("int64", -(2.0**63)), ("float32", float("nan")), ("float32", -3.4e38)],
)
def test_a_mask_value_at_the_end_of_the_range(tmp_path: Path, dtype: str, value: float) -> None:
    path, site = tmp_path / "in.tif", np.zeros((4, 5), bool)
    _core.write_raster(path, noise(dtype, (4, 5)), PLACE)
    _core.crop(path, tmp_path / "out.tif", (0, 0, 5, 4), site=site, mask_value=value)
    np.testing.assert_array_equal(naive.format_1(tmp_path / "out.tif"), np.full((4, 5), value, dtype))


@pytest.mark.parametrize("shape", [(5, 4), (2, 10), (20, 1), (4, 6), (0, 0)])
def test_a_mask_of_another_shape_is_refused(tmp_path: Path, shape: tuple[int, int]) -> None:
    path = tmp_path / "in.tif"
    _core.write_raster(path, noise("uint8", (4, 5)), PLACE)
    with pytest.raises(ValueError, match="site mask of"):
        _core.crop(path, tmp_path / "out.tif", (0, 0, 5, 4), site=np.ones(shape, bool), mask_value=0)
    assert list(tmp_path.iterdir()) == [path]


def test_half_of_a_mask_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "in.tif"
    _core.write_raster(path, noise("uint8", (4, 5)), PLACE)
    with pytest.raises(ValueError, match="give both or none"):
        _core.crop(path, tmp_path / "out.tif", (0, 0, 5, 4), site=np.ones((4, 5), bool))
    with pytest.raises(ValueError, match="give both or none"):
        _core.crop(path, tmp_path / "out.tif", (0, 0, 5, 4), mask_value=0)


@pytest.mark.parametrize("block", [(-1, 0, 3, 3), (3, 0, 3, 3), (0, 2, 3, 3), (0, 0, 0, 0), (9, 9, 2, 2)])
def test_a_window_beyond_the_raster_is_refused(tmp_path: Path, block: naive.Block) -> None:
    path = tmp_path / "in.tif"
    _core.write_raster(path, noise("uint8", (4, 5)), PLACE)
    with pytest.raises(UnreadableRaster, match=r"in\.tif: a window of .* does not lie on its 5 x 4"):
        _core.crop(path, tmp_path / "out.tif", block)
    assert list(tmp_path.iterdir()) == [path]


def test_no_part_is_left_where_a_file_can_not_be_written(tmp_path: Path) -> None:
    (tmp_path / "taken.tif").mkdir()
    (tmp_path / "file").touch()
    before = sorted(tmp_path.rglob("*"))
    for target in ("taken.tif", "file/out.tif", "missing/out.tif", "x" * 300 + ".tif"):
        with pytest.raises(UnwritableRaster, match=f"{re.escape(target)}: could not be written.*check"):
            _core.write_raster(tmp_path / target, noise("uint8", (4, 5)), PLACE)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_folder_that_may_not_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(UnwritableRaster, match="Permission denied"):
        _core.write_raster(tmp_path / "out.tif", noise("uint8", (4, 5)), PLACE)
    tmp_path.chmod(0o700)


def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    """A limit on file sizes stands for the full disk."""
    path = tmp_path / "out.tif"
    _core.write_raster(path, np.zeros((4, 5), np.uint8), PLACE)
    old = path.read_bytes()
    code = (
        "import resource, signal, numpy as np; from earthrecord import _core\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "values = np.random.default_rng(1).integers(0, 255, (200, 200), np.uint8)\n"
        f"_core.write_raster('out.tif', values, {PLACE})"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "UnwritableRaster: out.tif: could not be written: File too large" in done.stderr
    assert path.read_bytes() == old
    assert list(tmp_path.iterdir()) == [path]
