"""Layers of HDF4 and HDF5 granules: pixels as stored, on the grid of their tile (products, section 2)."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from earthrecord.archive import crs, hdf, raster
from earthrecord.errors import BadMetadata, UnreadableRaster, UnsupportedRaster
from earthrecord.grid import Window

MOD10A2 = "modis-stactools/MOD10A2.A2022033.h09v05.061.2022042050729"
SIDE = 12
LAYERS: dict[str, tuple[str, Any]] = {
    "500m 16 days NDVI": ("int16", -3000),
    "500m 16 days VI Quality": ("uint16", 65535),
    "500m 16 days pixel reliability": ("int8", -1),
    "QC_Day": ("uint8", None),
}


def pixels(dtype: str) -> np.ndarray[Any, Any]:
    values = np.arange(SIDE * SIDE).reshape(SIDE, SIDE)
    return (values - 20 if dtype.startswith("int") else values).astype(dtype)


def structure(
    tile: str = "h09v05",
    fields: tuple[str, ...] = tuple(LAYERS),
    projection: str = "GCTP_SNSOID",
    side: int = SIDE,
) -> str:
    """Structural metadata as HDF-EOS writes them."""
    grid = hdf.tile_grid(tile, side)
    left, top = grid.transform[2], grid.transform[5]
    names = "".join(
        f'\t\t\tOBJECT=DataField_{i}\n\t\t\t\tDataFieldName="{name}"\n\t\t\tEND_OBJECT=DataField_{i}\n'
        for i, name in enumerate(fields)
    )
    return (
        "GROUP=SwathStructure\nEND_GROUP=SwathStructure\nGROUP=GridStructure\n\tGROUP=GRID_1\n"
        f'\t\tGridName="Grid"\n\t\tXDim={side}\n\t\tYDim={side}\n'
        f"\t\tUpperLeftPointMtrs=({left:.6f},{top:.6f})\n\t\tLowerRightMtrs=({left + hdf.TILE:.6f},{top - hdf.TILE:.6f})\n"
        f"\t\tProjection={projection}\n\t\tProjParams=(6371007.181000,0,0,0,0,0,0,0,0,0,0,0,0)\n{names}\tEND_GROUP=GRID_1\nEND_GROUP=GridStructure\nEND\n"
    )


def hdf4(path: Path, text: str | None = None) -> Path:
    """A granule in HDF4, as MODIS comes."""
    from pyhdf.SD import SD, SDC

    codes = {"int16": SDC.INT16, "uint16": SDC.UINT16, "int8": SDC.INT8, "uint8": SDC.UINT8}
    granule = SD(str(path), SDC.WRITE | SDC.CREATE | SDC.TRUNC)
    for name, (dtype, fill) in LAYERS.items():
        layer = granule.create(name, codes[dtype], (SIDE, SIDE))
        layer[:] = pixels(dtype)
        if fill is not None:
            layer.attr("_FillValue").set(codes[dtype], fill)
        layer.attr("scale_factor").set(SDC.FLOAT64, 10000.0)
        layer.endaccess()
    granule.attr("StructMetadata.0").set(SDC.CHAR, structure() if text is None else text)
    granule.end()
    return path


def hdf5(path: Path, text: str | None = None) -> Path:
    """A granule in HDF5 with the groups of VNP13A1 002."""
    import h5py

    fields = ("500 m 16 days NDVI", "500 m 16 days pixel reliability")
    with h5py.File(path, "w") as granule:
        folder = granule.create_group("HDFEOS/GRIDS/VIIRS_Grid_16Day_VI_500m/Data Fields")
        ndvi = folder.create_dataset(fields[0], data=pixels("int16"), chunks=(4, 4), compression="gzip")
        ndvi.attrs["_FillValue"] = np.array([-15000, -13000], "int16")
        folder.create_dataset(fields[1], data=pixels("int8")).attrs["_FillValue"] = np.int8(-1)
        granule["HDFEOS/GRIDS/VIIRS_Grid_16Day_VI_500m/XDim"] = np.arange(SIDE)
        text = structure(fields=fields, projection="HE5_GCTP_SNSOID") if text is None else text
        granule["HDFEOS INFORMATION/StructMetadata.0"] = np.bytes_(text)
    return path


@pytest.fixture
def modis(tmp_path: Path) -> Path:
    return hdf4(tmp_path / "MOD13A1.A2020001.h09v05.061.2020020000000.hdf")


@pytest.fixture
def viirs(tmp_path: Path) -> Path:
    return hdf5(tmp_path / "VNP13A1.A2020001.h09v05.002.2020020000000.h5")


@pytest.mark.parametrize(("name", "dtype", "fill"), [(name, *facts) for name, facts in LAYERS.items()])
def test_hdf4_layers_keep_type_fill_and_values(modis: Path, name: str, dtype: str, fill: int | None) -> None:
    layer = hdf.open_layer(modis, [name])
    assert (layer.dtype, layer.nodata, layer.bands) == (
        dtype,
        None if fill is None else str(fill),
        len(LAYERS),
    )
    assert layer.gdal_metadata is None  # the divisor that MODIS calls scale_factor would mislead as a tag
    values = layer.read(Window(0, 0, SIDE, SIDE))
    assert values.dtype == dtype
    np.testing.assert_array_equal(values, pixels(dtype))


def test_hdf5_layers_keep_type_and_values_and_two_fills_make_no_tag(viirs: Path) -> None:
    ndvi = hdf.open_layer(viirs, ["500 m 16 days NDVI"])
    assert (ndvi.dtype, ndvi.nodata) == ("int16", None)
    np.testing.assert_array_equal(ndvi.read(Window(0, 0, SIDE, SIDE)), pixels("int16"))
    assert hdf.open_layer(viirs, ["500 m 16 days pixel reliability"]).nodata == "-1"


@settings(deadline=None)
@given(col=st.integers(0, SIDE - 1), row=st.integers(0, SIDE - 1), data=st.data())
def test_any_window_equals_the_layer_cut(
    granules: tuple[Path, Path], col: int, row: int, data: st.DataObject
) -> None:
    window = Window(col, row, data.draw(st.integers(1, SIDE - col)), data.draw(st.integers(1, SIDE - row)))
    for path, name in zip(granules, ("500m 16 days NDVI", "500 m 16 days NDVI"), strict=True):
        part = pixels("int16")[row : row + window.height, col : col + window.width]
        np.testing.assert_array_equal(hdf.open_layer(path, [name]).read(window), part)


@pytest.fixture(scope="module")
def granules(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("granules")
    return hdf4(folder / "m.h09v05.hdf"), hdf5(folder / "v.h09v05.h5")


def test_a_window_off_the_raster_is_a_mistake(modis: Path) -> None:
    with pytest.raises(ValueError, match="does not lie on"):
        hdf.open_layer(modis, ["QC_Day"]).read(Window(-1, 0, 3, 3))


@pytest.mark.parametrize(
    "name",
    [
        "500m 16 days NDVI",
        "500m_16_days_NDVI",
        "500 m 16 days ndvi",
        "HDFEOS/GRIDS/VIIRS_Grid_16Day_VI_500m/Data Fields/500 m 16 days NDVI",
    ],
)
def test_blanks_underscores_and_case_do_not_tell_names_apart(modis: Path, viirs: Path, name: str) -> None:
    assert hdf.open_layer(viirs, [name]).member.endswith("/500 m 16 days NDVI")
    if "/" not in name:
        assert hdf.open_layer(modis, [name]).member == "500m 16 days NDVI"


def test_another_spelling_is_tried_and_a_missing_layer_names_what_there_is(modis: Path) -> None:
    assert hdf.open_layer(modis, ["nothing", "qc day"]).member == "QC_Day"
    with pytest.raises(UnreadableRaster, match=r"no layer 'EVI'; it holds 500m 16 days NDVI, .*QC_Day"):
        hdf.open_layer(modis, ["EVI"])


def test_members_lists_the_layers(modis: Path, viirs: Path) -> None:
    assert hdf.members(modis) == list(LAYERS)
    folder = "HDFEOS/GRIDS/VIIRS_Grid_16Day_VI_500m/Data Fields/"
    assert hdf.members(viirs) == [f"{folder}500 m 16 days NDVI", f"{folder}500 m 16 days pixel reliability"]


@pytest.mark.parametrize(
    ("tile", "pixels", "cell", "left", "top"),
    [  # StructMetadata of real granules; cells of products, section 2
        ("h09v05", 2400, 463.312716528, -10007554.677, 4447802.078667),
        ("h28v08", 2400, 463.312716528, 11119505.196667, 1111950.519667),
        ("h18v09", 4800, 231.656358264, 0.0, 0.0),
        ("h00v00", 1200, 926.625433056, -20015109.354, 10007554.677),
    ],
)
def test_the_grid_of_a_tile(tile: str, pixels: int, cell: float, left: float, top: float) -> None:
    grid = hdf.tile_grid(tile, pixels)
    np.testing.assert_allclose(grid.transform, (cell, 0, left, 0, -cell, top), rtol=0, atol=1e-6)
    assert (grid.width, grid.height, grid.crs) == (pixels, pixels, crs.SINUSOIDAL)


def test_the_tile_comes_from_the_table_the_name_or_the_metadata(tmp_path: Path) -> None:
    bare = hdf4(tmp_path / "granule.hdf", structure("h20v11"))
    assert hdf.open_layer(bare, ["QC_Day"]).grid == hdf.tile_grid("h20v11", SIDE)
    silent = hdf4(tmp_path / "silent.hdf", " ")
    assert hdf.open_layer(silent, ["QC_Day"], "h20v11").grid == hdf.tile_grid("h20v11", SIDE)
    for name in ("MOD11A2.A2020001.h20v11.061.hdf", "MOD11A2.A2020001.H20V11.061.hdf"):
        named = hdf4(tmp_path / name, " ")
        assert hdf.open_layer(named, ["QC_Day"]).grid == hdf.tile_grid("h20v11", SIDE)
    with pytest.raises(UnsupportedRaster, match="no tile hHHvVV"):
        hdf.open_layer(silent, ["QC_Day"])


@pytest.mark.parametrize("make", [hdf4, hdf5])
def test_a_granule_that_says_it_lies_elsewhere_is_refused(tmp_path: Path, make: Any) -> None:
    fields = (*LAYERS, "500 m 16 days NDVI")
    path = make(tmp_path / "x.h09v05.hdf", structure("h10v05", fields))
    with pytest.raises(BadMetadata, match=r"named as tile h09v05 .* put it at -8895604"):
        hdf.open_layer(path, ["500m 16 days NDVI"])
    path = make(tmp_path / "y.h09v05.hdf", structure("h09v05", fields, side=2400))
    with pytest.raises(BadMetadata, match="12 x 12 pixels"):
        hdf.open_layer(path, ["500m 16 days NDVI"])


def test_another_projection_is_refused(tmp_path: Path) -> None:
    path = hdf4(tmp_path / "MOD13C2.hdf", structure(projection="GCTP_GEO"))
    with pytest.raises(UnsupportedRaster, match="GCTP_GEO"):
        hdf.open_layer(path, ["QC_Day"])


def test_the_ending_does_not_matter(modis: Path, viirs: Path, tmp_path: Path) -> None:
    as_h5 = tmp_path / "m.h09v05.h5"
    as_hdf = tmp_path / "v.h09v05.hdf"
    shutil.copy(modis, as_h5)
    shutil.copy(viirs, as_hdf)
    assert raster.open_layer(as_h5, "hdf5", "QC_Day", 1).dtype == "uint8"
    assert raster.open_layer(as_hdf, "hdf4", "500m 16 days NDVI", 1).dtype == "int16"


@pytest.mark.parametrize("make", [hdf4, hdf5])
@pytest.mark.parametrize("share", [0.0, 0.001, 0.3, 0.7, 0.98])
def test_a_cut_granule_is_unreadable(tmp_path: Path, make: Any, share: float) -> None:
    path = make(tmp_path / "x.h09v05.hdf")
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(UnreadableRaster, match=r"x\.h09v05\.hdf"):
        hdf.open_layer(path, ["500m 16 days NDVI"]).read(Window(0, 0, SIDE, SIDE))


def test_a_login_page_is_no_granule(tmp_path: Path) -> None:
    path = tmp_path / "MOD13Q1.A2020001.h09v05.061.2020020000000.hdf"
    path.write_bytes(b"<!DOCTYPE html>\n<html><title>Earthdata Login</title></html>")
    with pytest.raises(UnreadableRaster, match="web page"):
        hdf.open_layer(path, ["250m 16 days NDVI"])
    with pytest.raises(UnreadableRaster, match="web page"):
        raster.open_layer(path, "hdf4", "250m 16 days NDVI", 1)


def test_files_are_closed_however_often_they_are_opened(modis: Path, viirs: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(340):
        for path, name in ((modis, "QC_Day"), (viirs, "500 m 16 days NDVI")):
            hdf.open_layer(path, [name]).read(Window(1, 1, 2, 2))
            with pytest.raises(UnreadableRaster):
                hdf.open_layer(path, ["nothing"])
    assert len(os.listdir("/proc/self/fd")) <= before


@pytest.mark.real
def test_the_granule_equals_the_providers_own_geotiff(real: Path, tmp_path: Path) -> None:
    import rasterio

    layer = raster.open_layer(real / f"{MOD10A2}.hdf", "hdf4", "Maximum_Snow_Extent", 1, tile="h09v05")
    window = Window(0, 0, 2400, 2400)
    layer.crop(tmp_path / "out.tif", window)
    with (
        rasterio.open(real / f"{MOD10A2}_Maximum_Snow_Extent.tif") as theirs,
        rasterio.open(tmp_path / "out.tif") as ours,
    ):
        assert (ours.dtypes, ours.nodata, ours.shape) == (theirs.dtypes, theirs.nodata, theirs.shape)
        np.testing.assert_allclose(tuple(ours.transform), tuple(theirs.transform), rtol=0, atol=1e-6)
        assert crs.same(ours.crs.to_wkt(), theirs.crs.to_wkt())
        np.testing.assert_array_equal(ours.read(1), theirs.read(1))


@pytest.mark.real
def test_a_window_of_the_real_granule(real: Path) -> None:
    import rasterio
    from rasterio.windows import Window as Block

    layer = hdf.open_layer(real / f"{MOD10A2}.hdf", ["Eight_Day_Snow_Cover", "unused"])
    assert layer.nodata == "0"
    layer = hdf.open_layer(real / f"{MOD10A2}.hdf", ["maximum snow extent"])
    with rasterio.open(real / f"{MOD10A2}_Maximum_Snow_Extent.tif") as theirs:
        np.testing.assert_array_equal(
            layer.read(Window(700, 300, 90, 40)), theirs.read(1, window=Block(700, 300, 90, 40))
        )
