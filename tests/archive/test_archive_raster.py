"""One door to every raster: whatever holds it, the pixels are those that GDAL reads, on the grid that GDAL sees."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from earthrecord.archive import crs, raster
from earthrecord.errors import UnreadableRaster, UnsupportedRaster
from earthrecord.grid import Grid, Window
from earthrecord.products import registry

UTM = (30.0, 0.0, 336375.0, 0.0, -30.0, 4462425.0)
HEIGHT, WIDTH = 40, 50
FORMS: dict[str, dict[str, Any]] = {
    "core": {"compress": "deflate", "predictor": 2},
    "lerc": {"compress": "lerc"},
    "lerc_deflate": {"compress": "lerc_deflate"},
    "lossless webp": {"dtype": "uint8", "count": 3, "compress": "webp", "webp_lossless": True},
    "12 bit": {"nbits": 12},
    "jp2": {"driver": "JP2OpenJPEG", "quality": 100, "reversible": True},
}


def pixels(dtype: str = "uint16") -> NDArray[Any]:
    return (np.arange(HEIGHT * WIDTH).reshape(HEIGHT, WIDTH) % 4000).astype(dtype)


def make(path: Path, values: NDArray[Any] | None = None, **options: Any) -> Path:
    """A raster written by GDAL."""
    import rasterio

    dtype = options.pop("dtype", "uint16")
    values = pixels(dtype) if values is None else values
    count = options.pop("count", 1)
    profile = {"driver": "GTiff", "crs": "EPSG:32613", "transform": rasterio.Affine(*UTM)} | options
    with rasterio.open(
        path, "w", width=values.shape[1], height=values.shape[0], dtype=values.dtype, count=count, **profile
    ) as out:
        for band in range(1, count + 1):
            out.write(values + np.array(band - 1, values.dtype), band)
    return path


def gdal(path: Path, band: int = 1) -> tuple[NDArray[Any], tuple[float, ...], Any, Any]:
    import rasterio

    with rasterio.open(path) as dataset:
        return dataset.read(band), tuple(dataset.transform)[:6], dataset.crs, dataset.nodata


def open_(path: Path, index: int = 1, container: str = "tiff") -> raster.Layer:
    return raster.open_layer(path, container, None, index)


@pytest.fixture(params=FORMS, ids=list(FORMS))
def any_form(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    options = dict(FORMS[request.param])
    return make(tmp_path / ("x.jp2" if options.get("driver") else "x.tif"), **options)


def test_every_form_gives_what_gdal_reads(any_form: Path) -> None:
    values, transform, _, _ = gdal(any_form)
    layer = open_(any_form)
    assert (layer.grid, layer.dtype) == (Grid("EPSG:32613", transform, WIDTH, HEIGHT), values.dtype.name)  # type: ignore[arg-type]
    part = layer.read(Window(7, 5, 20, 11))
    assert part.dtype == values.dtype
    np.testing.assert_array_equal(part, values[5:16, 7:27])


def test_every_form_crops_to_the_same_pixels_and_place(any_form: Path, tmp_path: Path) -> None:
    """Format 1: pixels as they are, the grid of the window (definitions, "The record")."""
    values, transform, reference, nodata = gdal(any_form)
    out = tmp_path / "out.tif"
    size, sha = open_(any_form).crop(out, Window(7, 5, 20, 11))
    assert (size, sha) == (out.stat().st_size, hashlib.sha256(out.read_bytes()).hexdigest())
    ours, where, said, tag = gdal(out)
    np.testing.assert_array_equal(ours, values[5:16, 7:27])
    assert where == (30.0, 0.0, transform[2] + 7 * 30, 0.0, -30.0, transform[5] - 5 * 30)
    assert (said, tag, ours.dtype) == (reference, nodata, values.dtype)


def test_a_form_is_read_by_gdal_only_where_the_core_does_not(
    any_form: Path, request: pytest.FixtureRequest
) -> None:
    by_core = isinstance(open_(any_form), raster.TiffLayer)
    assert by_core is (request.node.callspec.params["any_form"] == "core")


def test_pixels_outside_a_region_become_the_mask_value_and_no_others(any_form: Path, tmp_path: Path) -> None:
    """Definitions, "region mask"."""
    values = gdal(any_form)[0][5:16, 7:27]
    site = np.zeros((11, 20), bool)
    site[2:9, 3:15] = True
    open_(any_form).crop(tmp_path / "out.tif", Window(7, 5, 20, 11), site, 99)
    np.testing.assert_array_equal(gdal(tmp_path / "out.tif")[0], np.where(site, values, 99))


@pytest.mark.parametrize(
    "window", [Window(7, 5, 20, 11), Window(-3, -2, 10, 9), Window(45, 35, 12, 12), Window(500, 5, 3, 3)]
)
def test_counts_are_those_of_the_classes(any_form: Path, window: Window) -> None:
    """Six counts that add up to the site's pixels, "outside the raster" first (definitions, "counts")."""
    values = gdal(any_form)[0]
    classes = (np.arange(65536 if values.itemsize == 2 else 256) % 5 + 1).astype(np.uint8)
    site = np.add.outer(np.arange(window.height), np.arange(window.width)) % 3 != 0
    seen = np.zeros((window.height, window.width), np.uint8)
    part = window.within(WIDTH, HEIGHT)
    if not part.empty:
        rows, cols = (
            slice(part.row - window.row, part.row - window.row + part.height),
            slice(part.col - window.col, part.col - window.col + part.width),
        )
        seen[rows, cols] = classes[
            values[part.row : part.row + part.height, part.col : part.col + part.width]
        ]
    counts = open_(any_form).count(classes, window, site)
    assert counts == tuple(int((seen[site] == kind).sum()) for kind in range(6))
    assert sum(counts) == site.sum()


def test_bands_of_one_file_are_told_apart(tmp_path: Path) -> None:
    for compress in ("deflate", "lerc"):
        path = make(tmp_path / f"{compress}.tif", count=3, compress=compress)
        layer = open_(path, 3)
        assert layer.bands == 3
        np.testing.assert_array_equal(layer.read(Window(0, 0, 4, 3)), pixels()[:3, :4] + 2)
        layer.crop(tmp_path / "out.tif", Window(0, 0, 4, 3))
        np.testing.assert_array_equal(gdal(tmp_path / "out.tif")[0], pixels()[:3, :4] + 2)
        for index in (0, 4):
            with pytest.raises(UnreadableRaster, match=f"band {index} is wanted, it has 3"):
                open_(path, index)


@pytest.mark.parametrize("compress", ["deflate", "lerc"])
def test_pixel_is_point_stays_where_it_was(tmp_path: Path, compress: str) -> None:
    import rasterio

    path = make(tmp_path / "x.tif", compress=compress)
    with rasterio.open(path, "r+") as out:
        out.update_tags(AREA_OR_POINT="Point")
    layer = open_(path)
    assert layer.grid.transform == gdal(path)[1] == UTM
    layer.crop(tmp_path / "out.tif", Window(7, 5, 20, 11))
    with rasterio.open(tmp_path / "out.tif") as made:
        assert made.tags()["AREA_OR_POINT"] == "Point"
        assert tuple(made.transform)[:6] == layer.grid.crop(Window(7, 5, 20, 11)).transform


@pytest.mark.parametrize("compress", ["deflate", "lerc"])
def test_tags_of_the_band_stay(tmp_path: Path, compress: str) -> None:
    import rasterio

    path = make(tmp_path / "x.tif", count=2, compress=compress)
    with rasterio.open(path, "r+") as out:
        out.update_tags(MISSION="landsat")
        out.update_tags(1, NAME="red")
        out.update_tags(2, NAME="nir")
    open_(path, 2).crop(tmp_path / "out.tif", Window(0, 0, 4, 3))
    with rasterio.open(tmp_path / "out.tif") as made:
        assert (made.tags()["MISSION"], made.tags(1)["NAME"]) == ("landsat", "nir")


@pytest.mark.parametrize("options", [{}, {"compress": "lerc"}])
@pytest.mark.parametrize(
    ("dtype", "nodata"),
    [("uint16", None), ("uint16", 0), ("int16", -9999), ("float32", -3.4e38), ("float32", float("nan"))],
)
def test_the_nodata_tag_stays_as_distributed(
    tmp_path: Path, options: dict[str, Any], dtype: str, nodata: float | None
) -> None:
    """No tag stays no tag (definitions, "nodata tag, CRS")."""
    path = make(tmp_path / "x.tif", dtype=dtype, nodata=nodata, **options)
    layer = open_(path)
    assert (layer.nodata is None) == (nodata is None)
    layer.crop(tmp_path / "out.tif", Window(0, 0, 4, 3))
    np.testing.assert_equal(gdal(tmp_path / "out.tif")[3], gdal(path)[3])


def test_metadata_of_one_band_stays_without_the_others() -> None:
    said = (
        '<GDALMetadata>\n  <Item name="A">all</Item>\n  <Item name="D" sample="0">red</Item>\n'
        '  <Item name="OFFSET" sample="1" role="offset">2</Item>\n</GDALMetadata>\n'
    )
    kept = raster._metadata_of(said, 2, 3)
    assert (
        kept
        == '<GDALMetadata>\n  <Item name="A">all</Item>\n  <Item name="OFFSET" sample="0" role="offset">2</Item>\n</GDALMetadata>\n'
    )
    assert raster._metadata_of(None, 1, 1) is None
    assert (
        raster._metadata_of('<GDALMetadata><Item name="D" sample="0">x</Item></GDALMetadata>', 2, 2) is None
    )


def test_side_files_say_nothing(tmp_path: Path) -> None:
    """A record follows from the raster's bytes: an .aux.xml beside it must not add a nodata value."""
    path = make(tmp_path / "x.jp2", **FORMS["jp2"])
    path.with_name("x.jp2.aux.xml").write_text(
        '<PAMDataset><PAMRasterBand band="1"><NoDataValue>7</NoDataValue></PAMRasterBand></PAMDataset>'
    )
    assert open_(path).nodata is None


def test_content_decides_and_names_do_not(tmp_path: Path) -> None:
    tiff = make(tmp_path / "a.tif")
    jp2 = make(tmp_path / "b.jp2", **FORMS["jp2"])
    for path, name, container in ((tiff, "a.jp2", "jp2"), (jp2, "b.tif", "tiff"), (tiff, "a.hdf", "hdf4")):
        odd = tmp_path / f"odd-{name}"
        shutil.copy(path, odd)
        np.testing.assert_array_equal(
            open_(odd, container=container).read(Window(0, 0, WIDTH, HEIGHT)), pixels()
        )
    with pytest.raises(UnreadableRaster, match="layer 'NDVI' is wanted, but it is a TIFF"):
        raster.open_layer(tmp_path / "odd-a.hdf", "hdf4", "NDVI", 1)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "empty file"),
        (b"<html><body>Sign in</body></html>", "web page"),
        (b"\xef\xbb\xbf\n <!DOCTYPE HTML><html>", "web page"),
        (b'{"message": "Forbidden"}', "JSON"),
        (b"<?xml version='1.0'?><Error><Code>AccessDenied</Code></Error>", "XML"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 5\n", "LFS pointer"),
        (b"not found\n", "text file"),
        (bytes(range(128, 256)), "no raster"),
    ],
)
@pytest.mark.parametrize("container", ["tiff", "jp2", "hdf4", "hdf5", "netcdf"])
def test_what_is_no_raster_is_told_for_what_it_is(
    tmp_path: Path, content: bytes, says: str, container: str
) -> None:
    path = tmp_path / "LC08_SR_B4.TIF"
    path.write_bytes(content)
    with pytest.raises(UnreadableRaster, match=rf"LC08_SR_B4\.TIF: is .*{says}"):
        raster.open_layer(path, container, "layer", 1)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnreadableRaster, match=r"gone\.tif: No such file"):
        open_(tmp_path / "gone.tif")


@pytest.mark.parametrize("form", ["core", "jp2", "lerc"])
def test_a_cut_raster_is_unreadable(tmp_path: Path, form: str) -> None:
    path = make(
        tmp_path / "x.tif",
        np.random.default_rng(1).integers(0, 4000, (300, 300)).astype("uint16"),
        **FORMS[form],
    )
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(UnreadableRaster, match=r"x\.tif"):
        open_(path).read(Window(0, 0, 300, 300))


def test_a_raster_without_a_place_is_refused(tmp_path: Path) -> None:
    import rasterio

    with pytest.raises(UnreadableRaster, match="no CRS"):
        open_(make(tmp_path / "x.tif", crs=None))
    with pytest.warns(rasterio.errors.NotGeoreferencedWarning):
        plain = make(tmp_path / "y.tif", transform=rasterio.Affine.identity())
    with pytest.raises(UnreadableRaster, match="no position"):
        open_(plain)


@pytest.mark.parametrize("transform", [(30.0, 1.0, 0.0, 1.0, -30.0, 0.0), (30.0, 0.0, 0.0, 0.0, 30.0, 0.0)])
def test_rotated_and_flipped_grids_are_refused(tmp_path: Path, transform: tuple[float, ...]) -> None:
    import rasterio

    with pytest.raises(UnsupportedRaster, match="rotated or flipped"):
        open_(make(tmp_path / "x.tif", transform=rasterio.Affine(*transform)))


def test_write_puts_an_array_on_its_grid(tmp_path: Path) -> None:
    mask = np.eye(5, 7, dtype=np.uint8)
    grid = Grid(crs.SINUSOIDAL, (463.3, 0.0, 1000.0, 0.0, -463.3, 2000.0), 7, 5)
    raster.write(tmp_path / "mask.tif", mask, grid)
    values, transform, reference, nodata = gdal(tmp_path / "mask.tif")
    np.testing.assert_array_equal(values, mask)
    assert (transform, nodata) == (grid.transform, None)
    assert crs.same(reference.to_wkt(), crs.SINUSOIDAL)


def test_files_are_closed(any_form: Path) -> None:
    open_(any_form).read(Window(0, 0, 2, 2))
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(30):
        open_(any_form).read(Window(0, 0, 2, 2))
    assert len(os.listdir("/proc/self/fd")) <= before


@pytest.mark.real
@pytest.mark.parametrize(
    ("name", "index"),
    [
        ("modis-mod13q1-sits/h12v10/TERRA_MODIS_h12v10_EVI_2013-09-14.jp2", 1),
        ("sentinel2-l2a-riotilerpds/B04.tif", 1),
        ("landsat-stack-yatsm/p035r032/LE70350321999205EDC00_stack.tif", 8),
        ("modis-myd13a1-riotilerpds/MYD13A1.A2020153.h30v10.006.2020170024036_NDVI_B01.TIF", 1),
        ("modis-mcd12q1-modistools/MCD12Q1_LC_Type1_2004-01-01_arcachon.tif", 1),
    ],
)
def test_real_rasters_crop_to_their_own_pixels(real: Path, tmp_path: Path, name: str, index: int) -> None:
    values, transform, reference, nodata = gdal(real / name, index)
    layer = open_(real / name, index)
    window = Window(1, 2, min(70, layer.grid.width - 1), min(60, layer.grid.height - 2))
    layer.crop(tmp_path / "out.tif", window)
    ours, where, said, tag = gdal(tmp_path / "out.tif")
    np.testing.assert_array_equal(ours, values[2 : 2 + window.height, 1 : 1 + window.width])
    expected = Grid("", transform, 0, 0).crop(window).transform  # type: ignore[arg-type]
    np.testing.assert_allclose(where, expected, rtol=0, atol=1e-6)
    assert (tag, ours.dtype) == (nodata, values.dtype)
    assert crs.same(said.to_wkt(), reference.to_wkt())


@pytest.mark.real
def test_modis_tiles_share_one_crs_whatever_holds_them(real: Path) -> None:
    found = {
        open_(real / name).grid.crs
        for name in (
            "modis-mod13q1-sits/h12v10/TERRA_MODIS_h12v10_EVI_2013-09-14.jp2",
            "modis-myd13a1-riotilerpds/MYD13A1.A2020153.h30v10.006.2020170024036_NDVI_B01.TIF",
            "modis-stactools/MOD10A2.A2022033.h09v05.061.2022042050729_Maximum_Snow_Extent.tif",
        )
    }
    assert found == {crs.SINUSOIDAL}
    assert registry.load()["mod13q1-061"].grid.crs is not None
    assert crs.same(str(registry.load()["mod13q1-061"].grid.crs), crs.SINUSOIDAL)
