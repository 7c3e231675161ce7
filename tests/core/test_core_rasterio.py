"""What the core decodes equals, bit for bit, what rasterio decodes, over the forms in which TIFF stores pixels."""

from __future__ import annotations

import itertools
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rasterio
from numpy.typing import NDArray
from rasterio.enums import Resampling

import naive
from earthrecord import _core
from earthrecord.errors import UnreadableRaster, UnsupportedRaster

INTEGERS = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64")
FLOATS = ("float32", "float64")
COMPRESSIONS = ("none", "deflate", "lzw", "zstd")
LAYOUTS: tuple[dict[str, Any], ...] = (
    {"tiled": True, "blockxsize": 16, "blockysize": 16},
    {"tiled": True, "blockxsize": 256, "blockysize": 256},
    {"tiled": True, "blockxsize": 48, "blockysize": 32},
    {"blockysize": 1},
    {"blockysize": 7},
    {"blockysize": 256},
)
SHAPES = ((29, 37), (255, 257), (70, 45), (1, 1), (1, 40), (40, 1))
PLACE = rasterio.Affine(30.0, 0.0, 399960.0, 0.0, -30.0, 4500000.0)


def pixels(dtype: str, bands: int, shape: tuple[int, int], seed: int = 7) -> NDArray[Any]:
    """Smooth ground with rough patches and the extreme values of the type."""
    rng, kind = np.random.default_rng(seed), np.dtype(dtype)
    rows, cols = np.indices(shape)
    ground = np.broadcast_to(rows + cols, (bands, *shape)).astype(dtype)
    raw = rng.integers(0, 256, ground.size * kind.itemsize, np.uint8).view(dtype).reshape(ground.shape)
    values = np.where(rng.random(ground.shape) < 0.3, raw, ground)
    least, most = (-np.inf, np.nan) if kind.kind == "f" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    values.flat[0], values.flat[-1] = least, most
    return values


def write(path: Path, values: NDArray[Any], **options: Any) -> Path:
    profile = {"driver": "GTiff", "crs": "EPSG:32633", "transform": PLACE, "dtype": values.dtype.name}
    bands, height, width = values.shape
    with rasterio.open(path, "w", **profile | options, count=bands, height=height, width=width) as target:
        target.write(values)
    return path


def equal(found: NDArray[Any], expected: NDArray[Any]) -> bool:
    """Same type, shape and bits (so that gaps equal gaps)."""
    return (found.dtype, found.shape) == (expected.dtype, expected.shape) and (
        found.tobytes() == expected.tobytes()
    )


def windows(height: int, width: int) -> list[tuple[int, int, int, int]]:
    """Two corners, a block within, the last pixel, a row."""
    w, h = max(width // 3, 1), max(height // 3, 1)
    right, low = width - w, height - h
    corners = [(0, low, w, h), (right, 0, w, h)]
    return [*corners, (right // 2, low // 2, w, h), (width - 1, height - 1, 1, 1), (0, low // 2, width, 1)]


def check(path: Path) -> int:
    """Compare every band and window of a file; how many arrays were compared."""
    compared = 0
    with rasterio.open(path) as source:
        for band in range(1, source.count + 1):
            expected = source.read(band)
            assert equal(_core.read_window(path, band=band), expected), (path, band)
            for block in windows(source.height, source.width):
                part = naive.window(expected, block)
                assert equal(_core.read_window(path, block, band), part), (path, band, block)
                compared += 1
    return compared


def predictors(compression: str, dtype: str) -> tuple[int, ...]:
    if compression == "none":
        return (1,)
    return (1, 2, 3) if dtype in FLOATS else (1, 2)


@pytest.mark.parametrize("dtype", INTEGERS + FLOATS)
@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_every_form_of_a_type(compression: str, dtype: str, tmp_path: Path) -> None:
    turn = itertools.count()
    for predictor, layout, order in itertools.product(
        predictors(compression, dtype), LAYOUTS, ("LITTLE", "BIG")
    ):
        number = next(turn)
        form = {"endianness": order, "bigtiff": ("NO", "YES")[number // 2 % 2]}
        bands, shape = 1 + number % 4, SHAPES[number % len(SHAPES)]
        if predictor > 1:
            form["predictor"] = str(predictor)
        form["interleave"] = ("pixel", "band")[number // 3 % 2]
        if not layout.get("tiled"):
            layout = layout | {"blockysize": min(layout["blockysize"], shape[0])}
        path = tmp_path / f"{number}.tif"
        write(path, pixels(dtype, bands, shape, number), compress=compression, **form, **layout)
        header = _core.scan_header(path)
        assert header.readable, header.why_not
        assert (header.bands, header.height, header.width, header.dtype) == (bands, *shape, dtype)
        assert (header.compression, header.predictor) == (compression, predictor)
        assert (header.big_endian, header.bigtiff) == (order == "BIG", form["bigtiff"] == "YES")
        assert header.planar == (2 if form["interleave"] == "band" and bands > 1 else header.planar)
        assert header.file_bytes == path.stat().st_size
        assert check(path) == bands * 5


@pytest.mark.parametrize("interleave", ["pixel", "band"])
@pytest.mark.parametrize("nodata", [None, 0, 7, 255])
def test_sparse_tiles_give_the_nodata_value(tmp_path: Path, interleave: str, nodata: float | None) -> None:
    path = tmp_path / "sparse.tif"
    options = {"sparse_ok": "TRUE", "tiled": True, "blockxsize": 16, "blockysize": 16, "compress": "deflate"}
    values = np.full((2, 100, 90), nodata or 0, np.uint8)
    values[:, 20:30, 40:60] = 9
    write(path, values, nodata=nodata, interleave=interleave, **options)
    dense = write(tmp_path / "dense.tif", values, nodata=nodata, **options | {"sparse_ok": "FALSE"})
    assert path.stat().st_size < dense.stat().st_size
    assert equal(_core.read_window(path, band=2), values[1])
    check(path)


@pytest.mark.parametrize(
    ("dtype", "stored", "read"),
    [
        ("uint8", "300", 255),  # as GDAL: brought into the type's range
        ("uint8", "-3", 0),
        ("uint8", "nan", 0),
        ("int16", "7.4", 7),
        ("int64", "9007199254740993", 9007199254740993),
        ("float32", "nan", np.nan),
        ("float32", "-3.4028234663852886e+38", np.finfo("float32").min),
        ("float64", "0.1", 0.1),
    ],
)
def test_sparse_tiles_and_odd_nodata_tags(tmp_path: Path, dtype: str, stored: str, read: float) -> None:
    path, whole = tmp_path / "sparse.tif", np.dtype(dtype).kind != "f"
    profile = {"driver": "GTiff", "count": 1, "height": 40, "width": 40, "dtype": dtype, "transform": PLACE}
    placeholder = "1" * len(stored)
    nodata = int(placeholder) if whole else float(stored)
    with rasterio.open(path, "w", crs="EPSG:32633", sparse_ok="TRUE", nodata=nodata, **profile):
        pass
    if whole:
        raw = path.read_bytes()
        assert raw.count(placeholder.encode() + b"\0") == 1
        path.write_bytes(raw.replace(placeholder.encode() + b"\0", stored.encode() + b"\0"))
        assert _core.scan_header(path).nodata == stored
    assert equal(_core.read_window(path), np.full((40, 40), read, dtype))
    check(path)


def test_a_directory_at_the_end_of_the_file(tmp_path: Path) -> None:
    path = write(tmp_path / "moved.tif", pixels("int16", 3, (70, 45)), compress="deflate", nodata=-32768)
    size = path.stat().st_size
    with rasterio.open(path, "r+") as target:
        target.update_tags(note="longer than before " * 400)
    assert int.from_bytes(path.read_bytes()[4:8], "little") >= size
    header = _core.scan_header(path)
    assert header.nodata == "-32768"
    assert header.gdal_metadata is not None
    assert header.gdal_metadata.count("longer than before") == 400
    check(path)


def test_pixel_is_point_is_shifted_as_gdal_does(tmp_path: Path) -> None:
    path = tmp_path / "point.tif"
    profile = {"driver": "GTiff", "count": 1, "height": 9, "width": 5, "dtype": "uint8", "transform": PLACE}
    with rasterio.open(path, "w", crs="EPSG:32633", **profile) as target:
        target.update_tags(AREA_OR_POINT="Point")
    with rasterio.open(path) as source:
        assert source.tags()["AREA_OR_POINT"] == "Point"
        assert _core.scan_header(path).transform == tuple(source.transform)[:6] == tuple(PLACE)[:6]


@pytest.mark.parametrize(
    "place",
    [
        rasterio.Affine(20.0, 4.0, 500000.0, 3.0, -25.0, 100.0),
        rasterio.Affine(20.0, 0.0, 500000.0, 0.0, 25.0, 100.0),
        rasterio.Affine(1 / 3, 0.0, 0.1, 0.0, -1 / 7, 89.9),
    ],
)
@pytest.mark.parametrize("point", ["Area", "Point"])
def test_transforms(tmp_path: Path, place: rasterio.Affine, point: str) -> None:
    path = tmp_path / "place.tif"
    profile = {"driver": "GTiff", "count": 1, "height": 9, "width": 5, "dtype": "uint8", "transform": place}
    with rasterio.open(path, "w", crs="EPSG:32633", **profile) as target:
        target.update_tags(AREA_OR_POINT=point)
    with rasterio.open(path) as source:
        assert _core.scan_header(path).transform == tuple(source.transform)[:6]


def test_no_georeference_is_none(tmp_path: Path) -> None:
    path = tmp_path / "nowhere.tif"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rasterio.errors.NotGeoreferencedWarning)
        write(path, pixels("uint8", 1, (9, 5)), crs=None, transform=None)
    header = _core.scan_header(path)
    assert (header.transform, header.geokeys, header.epsg, header.nodata) == (None, b"", None, None)


@pytest.mark.parametrize("crs", ["EPSG:32633", "EPSG:4326", "EPSG:3031", "EPSG:3035"])
def test_a_coded_crs_is_named(tmp_path: Path, crs: str) -> None:
    path = write(tmp_path / "coded.tif", pixels("uint8", 1, (9, 5)), crs=crs)
    assert f"EPSG:{_core.scan_header(path).epsg}" == crs


def test_a_crs_without_code_has_none(tmp_path: Path) -> None:
    sinusoidal = "+proj=sinu +lon_0=0 +x_0=0 +y_0=0 +R=6371007.181 +units=m +no_defs"
    path = write(tmp_path / "sinusoidal.tif", pixels("uint8", 1, (9, 5)), crs=sinusoidal)
    assert _core.scan_header(path).epsg is None
    assert _core.scan_header(path).geokeys


def test_a_cloud_optimised_file_with_overviews(tmp_path: Path) -> None:
    path = tmp_path / "cog.tif"
    write(path, pixels("uint16", 1, (300, 400)), driver="COG", compress="DEFLATE", blocksize=128)
    header = _core.scan_header(path)
    assert header.overviews == 2
    assert header.tile == (128, 128)
    assert (header.width, header.height) == (400, 300)
    check(path)


def test_overviews_added_later_and_an_internal_mask_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "mask.tif"
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True):
        write(path, pixels("uint8", 3, (90, 80)), compress="lzw")
        with rasterio.open(path, "r+") as target:
            target.write_mask(np.eye(90, 80) > 0)
            target.build_overviews([2, 4], Resampling.nearest)
    assert _core.scan_header(path).overviews == 5  # a mask, two overviews of the image and two of the mask
    assert _core.scan_header(path).width == 80
    check(path)


def test_many_files_at_once_keep_their_order(tmp_path: Path) -> None:
    paths = [write(tmp_path / f"{n}.tif", pixels("uint8", 1, (n, 5))) for n in range(1, 40)]
    paths[7].write_bytes(b"")
    found = _core.scan_headers(paths)
    assert [h.height for h in found if isinstance(h, _core.Header)] == [n for n in range(1, 40) if n != 8]
    assert isinstance(found[7], UnreadableRaster)
    assert str(paths[7]) in str(found[7])


NBITS = {"dtype": "uint16", "nbits": "12"}


@pytest.mark.parametrize(
    ("why", "options"),
    [
        ("LERC", {"compress": "LERC"}),
        ("LERC", {"compress": "LERC_ZSTD"}),
        ("JPEG", {"compress": "JPEG"}),
        ("WebP", {"compress": "WEBP", "webp_lossless": "TRUE"}),
        ("32773", {"compress": "PACKBITS"}),
        ("34925", {"compress": "LZMA"}),
        ("12 bits", NBITS),
        ("12 bits", NBITS | {"compress": "deflate"}),
        ("1 bits", {"nbits": "1"}),
        ("sample format 6", {"dtype": "complex64"}),
        ("sample format 5", {"dtype": "complex_int16"}),
        ("16 bits in sample format 3", {"dtype": "float32", "nbits": "16"}),
    ],
)
def test_forms_that_the_core_leaves_to_rasterio(tmp_path: Path, why: str, options: dict[str, Any]) -> None:
    path = tmp_path / "form.tif"
    dtype = options.get("dtype", "uint8")
    values = pixels("uint8", 3, (40, 64)).astype("int16" if dtype == "complex_int16" else dtype)
    write(path, values // 255 if options.get("nbits") == "1" else values, interleave="pixel", **options)
    header = _core.scan_header(path)
    assert not header.readable
    assert why in header.why_not
    assert (header.width, header.height, header.bands) == (64, 40, 3)
    with pytest.raises(UnsupportedRaster, match=r"form\.tif.*rasterio"):
        _core.read_window(path)


@pytest.mark.parametrize("band", [0, 3, 65535])
def test_a_band_that_is_not_there(tmp_path: Path, band: int) -> None:
    path = write(tmp_path / "two.tif", pixels("uint8", 2, (9, 5)))
    with pytest.raises(UnreadableRaster, match=rf"two\.tif: band {band} is wanted, it has 2"):
        _core.read_window(path, band=band)


@pytest.mark.parametrize(
    "block",
    [(-1, 0, 3, 3), (0, -1, 3, 3), (3, 0, 3, 3), (0, 7, 3, 3), (9, 9, 1, 1), (0, 0, 0, 3), (2**62, 0, 1, 1)],
)
def test_a_window_that_is_not_on_the_raster(tmp_path: Path, block: tuple[int, int, int, int]) -> None:
    path = write(tmp_path / "small.tif", pixels("uint8", 1, (9, 5)))
    with pytest.raises(UnreadableRaster, match=r"small\.tif: a window of .* does not lie on its 5 x 9"):
        _core.read_window(path, block)


def test_a_window_of_negative_size_is_a_value_error(tmp_path: Path) -> None:
    path = write(tmp_path / "small.tif", pixels("uint8", 1, (9, 5)))
    with pytest.raises(ValueError, match="a window of -1 x 3 pixels"):
        _core.read_window(path, (0, 0, -1, 3))
