"""ERA5-Land and other latitude-longitude netCDF: described and cropped as stored (definitions, "format 1", "ERA5-Land")."""

from __future__ import annotations

import datetime as dt
import hashlib
import os
import resource
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from earthrecord.archive import netcdf, netcdf_classic, raster
from earthrecord.errors import BadMetadata, UnreadableRaster, UnsupportedRaster, UnwritableRaster
from earthrecord.grid import Window
from earthrecord.products import registry

KRIGR = "era5land-krigr/CentralNorway.nc"
NORTH, LATS = 50.0, 12
WEST, LONS = 10.0, 16
MONTHS = 30


def centres(first: float, count: int, step: float) -> NDArray[np.float64]:
    return np.round(first + step * np.arange(count), 6)


def packed(steps: int, rows: int = LATS, cols: int = LONS) -> NDArray[np.int16]:
    values = np.arange(steps * rows * cols, dtype=np.int64) % 60000 - 30000
    return values.astype(np.int16).reshape(steps, rows, cols)


def old(
    path: Path, lats: Any = None, lons: Any = None, *, expver: bool = False, days: int | None = None
) -> Path:
    """A file as the Climate Data Store delivered it before 2024: packed int16, `time` in hours since 1900, expver planes."""
    import netCDF4

    lats = centres(NORTH, LATS, -0.1) if lats is None else lats
    lons = centres(WEST, LONS, 0.1) if lons is None else lons
    origin = dt.datetime(1900, 1, 1)  # noqa: DTZ001 - netCDF times are UTC
    times = [dt.datetime(2024 + i // 12, i % 12 + 1, 1) for i in range(MONTHS)]  # noqa: DTZ001
    times = times if days is None else [times[0] + dt.timedelta(days=days * i) for i in range(MONTHS)]
    values = packed(MONTHS, len(lats), len(lons))
    with netCDF4.Dataset(path, "w", format="NETCDF3_64BIT_OFFSET") as out:
        out.Conventions, out.history = "CF-1.6", "2024-02-30 00:00:00 GMT by grib_to_netcdf"
        for name, size in (
            ("longitude", len(lons)),
            ("latitude", len(lats)),
            ("time", None),
            *([("expver", 2)] if expver else []),
        ):
            out.createDimension(name, size)
        for name, dtype, unit, axis in (
            ("longitude", "f4", "degrees_east", lons),
            ("latitude", "f4", "degrees_north", lats),
            *([("expver", "i4", "", [1, 5])] if expver else []),
            (
                "time",
                "i4",
                "hours since 1900-01-01 00:00:00.0",
                [int((time - origin).total_seconds() // 3600) for time in times],
            ),
        ):
            coordinate = out.createVariable(name, dtype, (name,))
            coordinate[:] = axis
            if unit:
                coordinate.units = unit
        dims = ("time", "expver", "latitude", "longitude") if expver else ("time", "latitude", "longitude")
        for name in ("t2m", "tp"):
            variable = out.createVariable(name, "i2", dims, fill_value=-32767)
            variable.setncatts(
                {
                    "scale_factor": 0.0017,
                    "add_offset": 265.25,
                    "missing_value": np.int16(-32767),
                    "units": "K",
                }
            )
            variable.set_auto_maskandscale(False)
            if expver:
                variable[:] = np.full((MONTHS, 2, *values.shape[1:]), -32767, "i2")
                variable[: MONTHS - 3, 0], variable[MONTHS - 3 :, 1] = values[:-3], values[-3:]
            else:
                variable[:] = values
    return path


def new(path: Path) -> Path:
    """A file as the Climate Data Store delivers it since 2024: netCDF-4, float32, `valid_time`, expver as strings."""
    import netCDF4

    with netCDF4.Dataset(path, "w") as out:
        out.setncatts({"GRIB_centre": "ecmf", "Conventions": "CF-1.7", "GRIB_subCentre": np.int64(0)})
        for name, size in (("valid_time", MONTHS), ("latitude", LATS), ("longitude", LONS)):
            out.createDimension(name, size)
        out.createVariable("number", "i8", ())[...] = 0
        time = out.createVariable("valid_time", "i8", ("valid_time",))
        time.units, time.calendar = "seconds since 1970-01-01", "proleptic_gregorian"
        time[:] = [
            int(dt.datetime(2024 + i // 12, i % 12 + 1, 1, tzinfo=dt.UTC).timestamp()) for i in range(MONTHS)
        ]
        for name, unit, axis in (
            ("latitude", "degrees_north", centres(NORTH, LATS, -0.1)),
            ("longitude", "degrees_east", centres(WEST, LONS, 0.1)),
        ):
            coordinate = out.createVariable(name, "f8", (name,), fill_value=np.nan)
            coordinate.units, coordinate.standard_name = unit, name
            coordinate[:] = axis
        version = out.createVariable("expver", str, ("valid_time",))
        version[:] = np.array(["0001"] * (MONTHS - 2) + ["0005"] * 2, object)
        t2m = out.createVariable(
            "t2m", "f4", ("valid_time", "latitude", "longitude"), fill_value=np.nan, zlib=True
        )
        t2m.setncatts(
            {
                "units": "K",
                "coordinates": "number valid_time latitude longitude expver",
                "GRIB_paramId": np.int64(167),
            }
        )
        values = packed(MONTHS).astype("f4")
        values[:, 0, 0] = np.nan
        t2m[:] = values
    return path


def stored(path: Path, name: str) -> NDArray[Any]:
    import netCDF4

    with netCDF4.Dataset(path) as source:
        source.set_auto_maskandscale(False)
        return np.asarray(source[name][...])


def attributes(path: Path, name: str | None = None) -> dict[str, Any]:
    import netCDF4

    with netCDF4.Dataset(path) as source:
        thing = source if name is None else source[name]
        return {key: thing.getncattr(key) for key in thing.ncattrs()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("era5")


@pytest.fixture(scope="module")
def old_file(folder: Path) -> Path:
    return old(folder / "t2m_old.nc")


@pytest.fixture(scope="module")
def new_file(folder: Path) -> Path:
    return new(folder / "t2m_new.nc")


def test_describe_tells_axes_steps_packing_and_fill(old_file: Path, new_file: Path) -> None:
    t2m, tp = netcdf.describe(old_file)
    assert (t2m.name, tp.name) == ("t2m", "tp")
    assert t2m.dims == ("time", "latitude", "longitude")
    assert (t2m.dtype, t2m.fill, t2m.scale, t2m.offset, t2m.unit) == ("int16", -32767, 0.0017, 265.25, "K")
    assert (t2m.times[0], t2m.times[-1]) == (dt.datetime(2024, 1, 1), dt.datetime(2026, 6, 1))  # noqa: DTZ001
    assert set(t2m.versions) == {None}
    np.testing.assert_allclose(t2m.grid.transform, (0.1, 0, 9.95, 0, -0.1, 50.05), atol=1e-5)
    assert (t2m.grid.crs, t2m.grid.width, t2m.grid.height) == ("EPSG:4326", LONS, LATS)
    (fresh,) = netcdf.describe(new_file)
    assert fresh.times == t2m.times
    assert fresh.versions == ("0001",) * (MONTHS - 2) + ("0005",) * 2
    assert (fresh.dtype, fresh.scale) == ("float32", None)
    assert fresh.fill is not None
    assert np.isnan(fresh.fill)


@settings(max_examples=25, deadline=None)
@given(col=st.integers(0, LONS - 1), row=st.integers(0, LATS - 1), up=st.booleans(), data=st.data())
def test_any_window_is_the_stored_values_cut(
    folder: Path, col: int, row: int, up: bool, data: st.DataObject
) -> None:
    window = Window(col, row, data.draw(st.integers(1, LONS - col)), data.draw(st.integers(1, LATS - row)))
    lats = centres(NORTH, LATS, -0.1)
    source = folder / f"any_{up}.nc"
    if not source.exists():
        old(source, lats[::-1] if up else lats)
    size, sha = netcdf.crop_variable(source, "t2m", folder / "any_out.nc", window)
    out = folder / "any_out.nc"
    assert (size, sha) == (out.stat().st_size, hashlib.sha256(out.read_bytes()).hexdigest())
    first = LATS - row - window.height if up else row
    rows, cols = slice(first, first + window.height), slice(col, col + window.width)
    for name, part in (
        ("t2m", np.s_[:, rows, cols]),
        ("latitude", np.s_[rows]),
        ("longitude", np.s_[cols]),
        ("time", np.s_[:]),
    ):
        whole, ours = stored(source, name), stored(out, name)
        np.testing.assert_array_equal(ours, whole[part])
        assert ours.dtype == whole.dtype
        assert attributes(out, name) == attributes(source, name)
    layer = raster.open_layer(source, "netcdf", "t2m", 1)
    north_up = packed(MONTHS)[0][rows, cols]
    np.testing.assert_array_equal(layer.read(window), north_up[::-1] if up else north_up)


def test_what_describes_the_variable_comes_along_and_no_other_map(old_file: Path, folder: Path) -> None:
    import netCDF4

    out = folder / "along.nc"
    netcdf.crop_variable(old_file, "t2m", out, Window(2, 2, 5, 5))
    assert attributes(out) == attributes(old_file)
    with netCDF4.Dataset(out) as made:
        assert set(made.variables) == {"longitude", "latitude", "time", "t2m"}
        assert made.data_model == "NETCDF3_64BIT_OFFSET"


def test_a_new_file_keeps_values_where_the_classic_format_lacks_the_type(
    new_file: Path, folder: Path
) -> None:
    import netCDF4

    out = folder / "new_out.nc"
    netcdf.crop_variable(new_file, "t2m", out, Window(0, 0, 3, 2))
    np.testing.assert_array_equal(stored(out, "t2m"), stored(new_file, "t2m")[:, :2, :3])
    np.testing.assert_array_equal(stored(out, "valid_time"), stored(new_file, "valid_time"))
    assert attributes(out, "t2m").keys() == attributes(new_file, "t2m").keys()
    assert attributes(out, "valid_time") == attributes(new_file, "valid_time")
    with netCDF4.Dataset(out) as made:
        assert made.data_model == "NETCDF3_64BIT_OFFSET"
        assert list(netCDF4.chartostring(made["expver"][:])) == ["0001"] * (MONTHS - 2) + ["0005"] * 2
        assert made["number"][...] == 0
    (again,) = netcdf.describe(out)
    assert (again.versions, again.times) == (
        netcdf.describe(new_file)[0].versions,
        netcdf.describe(new_file)[0].times,
    )


def test_gdal_reads_a_crop_where_it_lies(new_file: Path, folder: Path) -> None:
    import rasterio

    netcdf.crop_variable(new_file, "t2m", folder / "gdal.nc", Window(4, 3, 5, 6))
    with rasterio.open(f"netcdf:{folder / 'gdal.nc'}:t2m") as made:
        assert (made.count, made.shape) == (MONTHS, (6, 5))
        np.testing.assert_allclose(tuple(made.transform)[:6], (0.1, 0, 10.35, 0, -0.1, 49.75), atol=1e-6)
        np.testing.assert_array_equal(made.read(2), stored(new_file, "t2m")[1, 3:9, 4:9])


def test_expver_planes_stay_as_stored(folder: Path) -> None:
    path = old(folder / "planes.nc", expver=True)
    (t2m, _) = netcdf.describe(path)
    assert t2m.versions == ("1",) * (MONTHS - 3) + ("5",) * 3
    netcdf.crop_variable(path, "t2m", folder / "planes_out.nc", Window(1, 1, 4, 4))
    np.testing.assert_array_equal(
        stored(folder / "planes_out.nc", "t2m"), stored(path, "t2m")[:, :, 1:5, 1:5]
    )
    np.testing.assert_array_equal(stored(folder / "planes_out.nc", "expver"), [1, 5])
    assert raster.open_layer(path, "netcdf", "t2m", 1).flags == ["preliminary"]  # type: ignore[attr-defined]


def test_months_limit_the_steps_in_file_order(new_file: Path, folder: Path) -> None:
    out = folder / "months.nc"
    netcdf.crop_variable(new_file, "t2m", out, Window(0, 0, 4, 4), months={"2025-02", "2024-03", "1999-01"})
    np.testing.assert_array_equal(stored(out, "t2m"), stored(new_file, "t2m")[[2, 13], :4, :4])
    assert [f"{time:%Y-%m}" for time in netcdf.describe(out)[0].times] == ["2024-03", "2025-02"]
    with pytest.raises(BadMetadata, match="no step in 1999-01"):
        netcdf.crop_variable(new_file, "t2m", out, Window(0, 0, 4, 4), months={"1999-01"})


@pytest.mark.parametrize(
    ("lons", "west", "expected"),
    [
        (
            centres(0, 360, 1.0),
            -3.5,
            [-3.0, -2.0, -1.0, 0.0, 1.0, 2.0],
        ),  # 357 to 359 and 0 to 2: told around 0
        (centres(0, 360, 1.0), 176.5, [177.0, 178.0, 179.0, 180.0, 181.0, 182.0]),  # as stored
        (centres(-180, 360, 1.0), 176.5, [177.0, 178.0, 179.0, 180.0, 181.0, 182.0]),  # over the date line
        (centres(-180, 360, 1.0), -3.5, [-3.0, -2.0, -1.0, 0.0, 1.0, 2.0]),  # as stored
        (
            np.concatenate([centres(350, 10, 1.0), centres(0, 10, 1.0)]),
            -3.5,
            [-3.0, -2.0, -1.0, 0.0, 1.0, 2.0],
        ),
        (
            centres(300, 20, 1.0),
            -55.5,
            [305.0, 306.0, 307.0, 308.0, 309.0, 310.0],
        ),  # as stored, found from -55
    ],
)
def test_longitudes_are_continuous_over_the_seam(
    folder: Path, lons: Any, west: float, expected: list[float]
) -> None:
    path = old(folder / "seam.nc", lats=centres(20, 4, -1.0), lons=lons)
    grid = netcdf.describe(path)[0].grid
    col = round((west - grid.transform[2]) / grid.transform[0])
    netcdf.crop_variable(path, "t2m", folder / "seam_out.nc", Window(col, 1, 6, 2))
    ours = stored(folder / "seam_out.nc", "longitude")
    np.testing.assert_allclose(ours, expected)
    at = [int(np.flatnonzero(np.isclose((lons - lon) % 360, 0))[0]) for lon in ours]
    np.testing.assert_array_equal(
        stored(folder / "seam_out.nc", "t2m"), stored(path, "t2m")[:, 1:3][:, :, at]
    )


@pytest.mark.parametrize("west", [-3.2, 176.8, 100.3])
@pytest.mark.parametrize("first", [0, -180])
def test_a_site_over_a_seam_gets_one_block_of_cells_with_its_ring(
    folder: Path, first: int, west: float
) -> None:
    """Definitions, "ERA5-Land" and "window of a scene": one ring more than the cells that touch the site."""
    from earthrecord.sites.model import Site
    from earthrecord.sites.outline import from_box
    from earthrecord.sites.pixels import SitePixels

    path = old(folder / "globe.nc", lats=centres(20, 6, -1.0), lons=centres(first, 360, 1.0))
    east = west + 6
    site = Site("s1", from_box((west, 16.2, east - 360 if east > 180 else east, 18.3)))
    layer = raster.open_layer(path, "netcdf", "t2m", 1)
    window = SitePixels(site).window(layer.grid, ring=1)
    layer.crop(folder / "globe_out.nc", window)
    lons = (stored(folder / "globe_out.nc", "longitude") - west + 10) % 360 + west - 10
    expected = np.arange(np.round(west) - 1, np.round(east) + 2)
    np.testing.assert_allclose(lons, expected, atol=1e-4)
    np.testing.assert_array_equal(np.diff(stored(folder / "globe_out.nc", "longitude")), 1)


def test_one_window_told_a_turn_further_gives_the_same_file(folder: Path) -> None:
    path = old(folder / "turn.nc", lats=centres(20, 4, -1.0), lons=centres(0, 360, 1.0))
    here = netcdf.crop_variable(path, "t2m", folder / "here.nc", Window(177, 0, 6, 2))
    there = netcdf.crop_variable(path, "t2m", folder / "there.nc", Window(177 + 360, 0, 6, 2))
    assert here == there


def test_a_grid_mapping_stays_and_its_geotransform_follows(folder: Path) -> None:
    import netCDF4

    path = old(folder / "mapped.nc")
    wkt = 'GEOGCRS["sphere",DATUM["unnamed",ELLIPSOID["Sphere",6367470,0]],CS[ellipsoidal,2],AXIS["latitude",north],AXIS["longitude",east],UNIT["degree",0.0174532925199433]]'
    with netCDF4.Dataset(path, "a") as source:
        source["t2m"].grid_mapping = "crs"
        crs = source.createVariable("crs", "i4", ())
        crs.setncatts({"crs_wkt": wkt, "geotransform": "9.95 0.1 0 50.05 0 -0.1"})
        crs[...] = 7
    netcdf.crop_variable(path, "t2m", folder / "mapped_out.nc", Window(4, 3, 5, 6))
    assert stored(folder / "mapped_out.nc", "crs") == 7
    made = attributes(folder / "mapped_out.nc", "crs")
    assert made["crs_wkt"] == wkt
    np.testing.assert_allclose(
        [float(number) for number in made["geotransform"].split()], [10.35, 0.1, 0, 49.75, 0, -0.1], atol=1e-5
    )
    assert "6367470" in netcdf.describe(folder / "mapped_out.nc")[0].grid.crs


def test_bounds_come_along(folder: Path) -> None:
    import netCDF4

    path = old(folder / "bounds.nc", lats=centres(20, 4, -1.0), lons=centres(0, 360, 1.0))
    with netCDF4.Dataset(path, "a") as source:
        source.createDimension("side", 2)
        for name in ("time", "longitude"):
            source[name].bounds = f"{name}_edges"
            edges = source.createVariable(f"{name}_edges", source[name].dtype, (name, "side"))
            edges[:] = np.stack([source[name][:], source[name][:] + 1], 1)
    netcdf.crop_variable(
        path, "t2m", folder / "bounds_out.nc", Window(178, 0, 4, 2)
    )  # over the seam of the file
    np.testing.assert_array_equal(stored(folder / "bounds_out.nc", "time_edges"), stored(path, "time_edges"))
    lons = stored(folder / "bounds_out.nc", "longitude")
    np.testing.assert_array_equal(lons, [-2, -1, 0, 1])
    np.testing.assert_array_equal(
        stored(folder / "bounds_out.nc", "longitude_edges"), np.stack([lons, lons + 1], 1)
    )


def test_the_same_input_gives_the_same_bytes(old_file: Path, new_file: Path, folder: Path) -> None:
    """Also bytes that are known for ever: no time, no version, no machine in the file (definitions, "format 1")."""
    for source in (old_file, new_file):
        made = {
            netcdf.crop_variable(source, "t2m", folder / f"twice{i}.nc", Window(1, 1, 9, 7)) for i in range(2)
        }
        assert len(made) == 1
    size, sha = netcdf.crop_variable(old_file, "t2m", folder / "known.nc", Window(1, 1, 9, 7))
    assert (size, sha[:16]) == (4592, "a85d3e59a9d2e37f")


def test_a_variable_of_64_bit_integers_keeps_its_type(folder: Path) -> None:
    import netCDF4

    path = old(folder / "wide.nc")
    wide = folder / "wide4.nc"
    with netCDF4.Dataset(path) as source, netCDF4.Dataset(wide, "w") as out:
        for name in ("time", "latitude", "longitude"):
            out.createDimension(name, len(source[name]))
            out.createVariable(name, source[name].dtype, (name,))[:] = source[name][:]
            out[name].units = source[name].units
        out.createVariable("n", "i8", ("time", "latitude", "longitude"))[:] = (
            packed(MONTHS).astype("i8") * 2**40
        )
    netcdf.crop_variable(wide, "n", folder / "wide_out.nc", Window(0, 0, 3, 3))
    np.testing.assert_array_equal(stored(folder / "wide_out.nc", "n"), stored(wide, "n")[:, :3, :3])


def test_a_zip_with_one_netcdf_is_opened_and_told(old_file: Path, folder: Path) -> None:
    path = folder / "download.nc"
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(old_file, "data_stream-moda.nc")
    layer = raster.open_layer(path, "netcdf", "t2m", 1)
    assert layer.flags == ["zipped"]  # type: ignore[attr-defined]
    here = layer.crop(folder / "zip_out.nc", Window(1, 1, 3, 3))
    assert here == netcdf.crop_variable(old_file, "t2m", folder / "plain_out.nc", Window(1, 1, 3, 3))
    with zipfile.ZipFile(path, "a") as archive:
        archive.write(old_file, "another.nc")
    with pytest.raises(UnsupportedRaster, match="2 netCDF files"):
        netcdf.describe(path)


def test_monthly_says_what_it_found(folder: Path, old_file: Path, new_file: Path) -> None:
    assert netcdf.monthly(old_file) == (
        True,
        "30 steps a month apart from 2024-01-01 00:00 to 2026-06-01 00:00",
    )
    assert netcdf.monthly(new_file)[0]
    yes, reason = netcdf.monthly(old(folder / "daily.nc", days=1))
    assert not yes
    assert (
        reason
        == "30 steps a day apart from 2024-01-01 00:00 to 2024-01-30 00:00; monthly means have one step a month"
    )
    assert not netcdf.monthly(old(folder / "weekly.nc", days=7))[0]


def test_what_is_not_era5_land_monthly_is_refused_with_the_reason(folder: Path, old_file: Path) -> None:
    product = registry.load()["era5-land-monthly"]
    assert netcdf.refusal(old_file, product) is None
    era5 = old(folder / "era5.nc", lats=centres(50, 8, -0.25), lons=centres(10, 8, 0.25))
    assert "cells of 0.25 x 0.25 degrees" in str(netcdf.refusal(era5, product))
    with pytest.raises(BadMetadata, match=r"era5\.nc: cells of 0.25"):
        raster.open_layer(era5, "netcdf", "t2m", 1, product)
    assert "a day apart" in str(netcdf.refusal(old(folder / "days.nc", days=1), product))
    assert (
        raster.open_layer(old_file, "netcdf", "2m_temperature", 1, product).dtype == "int16"
    )  # by the band's alias


def test_axes_that_are_not_regular_are_refused(folder: Path) -> None:
    gaussian = np.array([50.0, 49.7, 49.5, 49.4])
    with pytest.raises(UnsupportedRaster, match="latitude is not evenly spaced"):
        netcdf.describe(old(folder / "gauss.nc", lats=gaussian))
    with pytest.raises(UnsupportedRaster, match="from east to west"):
        netcdf.describe(old(folder / "west.nc", lons=centres(WEST, LONS, 0.1)[::-1]))


@pytest.mark.parametrize("share", [0.0005, 0.002, 0.02, 0.05, 0.3, 0.99])
@pytest.mark.parametrize("make", [old, new])
def test_a_cut_file_is_unreadable(tmp_path: Path, make: Any, share: float) -> None:
    path = make(tmp_path / "cut.nc")
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(UnreadableRaster, match=r"cut\.nc"):
        netcdf.describe(path)


@pytest.mark.parametrize("version", ["NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA"])
@settings(deadline=None)
@given(records=st.integers(0, 5), variables=st.integers(1, 3), rows=st.integers(1, 3), grows=st.booleans())
def test_the_length_of_a_classic_file_is_known_to_the_byte(
    folder: Path, version: Any, records: int, variables: int, rows: int, grows: bool
) -> None:
    """Files end with at most three bytes of padding after what their header promises."""
    import netCDF4

    path = folder / "length.nc"
    with netCDF4.Dataset(path, "w", format=version) as out:
        out.title = "abc"
        out.createDimension("time", None if grows else max(records, 1))
        out.createDimension("row", rows)
        for index in range(variables):
            made = out.createVariable(f"v{index}", ("i1", "i2", "f8")[index], ("time", "row"))
            made.units = "m"
            made[: records if grows else max(records, 1)] = index + 1
    size = path.stat().st_size
    assert size - 3 <= netcdf_classic.length(path) <= size


def test_wrong_names_tell_what_there_is(old_file: Path) -> None:
    with pytest.raises(UnreadableRaster, match=r"no variable 'sst'; it holds t2m, tp"):
        raster.open_layer(old_file, "netcdf", "sst", 1)
    with pytest.raises(UnreadableRaster, match="no layer in it is named"):
        raster.open_layer(old_file, "netcdf", None, 1)


def test_a_full_disk_is_no_fault_of_the_source(old_file: Path, tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, limits[1]))
    try:
        with pytest.raises(UnwritableRaster, match=r"out\.nc: can not be written"):
            netcdf.crop_variable(old_file, "t2m", tmp_path / "out.nc", Window(0, 0, LONS, LATS))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert list(tmp_path.iterdir()) == []


def test_damaged_pixels_are_the_sources_fault(tmp_path: Path) -> None:
    path = new(tmp_path / "new.nc")
    content = bytearray(path.read_bytes())
    start = content.index(b"\x78\x5e")  # where the compressed values begin
    content[start + 2 : start + 200] = bytes(198)
    path.write_bytes(content)
    with pytest.raises(UnreadableRaster, match=r"new\.nc: 't2m' is damaged"):
        netcdf.crop_variable(path, "t2m", tmp_path / "out.nc", Window(0, 0, LONS, LATS))
    assert [left.name for left in tmp_path.iterdir()] == ["new.nc"]


def test_nothing_is_left_of_a_crop_that_fails(old_file: Path, tmp_path: Path) -> None:
    with pytest.raises(UnwritableRaster, match="No such file"):
        netcdf.crop_variable(old_file, "t2m", tmp_path / "no" / "where.nc", Window(0, 0, 2, 2))
    with pytest.raises(UnreadableRaster):
        netcdf.crop_variable(old_file, "sst", tmp_path / "x.nc", Window(0, 0, 2, 2))
    assert list(tmp_path.iterdir()) == []


def test_files_are_closed(old_file: Path, new_file: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for path in (old_file, new_file) * 20:
        raster.open_layer(path, "netcdf", "t2m", 1).read(Window(0, 0, 2, 2))
    assert len(os.listdir("/proc/self/fd")) <= before


@pytest.mark.real
def test_the_daily_file_is_no_monthly_one(real: Path) -> None:
    reason = (
        "5 steps a day apart from 1994-12-31 23:00 to 1995-01-04 23:00; monthly means have one step a month"
    )
    assert netcdf.monthly(real / KRIGR) == (False, reason)
    with pytest.raises(BadMetadata, match="5 steps a day apart"):
        raster.open_layer(real / KRIGR, "netcdf", "t2m", 1, registry.load()["era5-land-monthly"])


@pytest.mark.real
def test_a_crop_of_the_real_file_equals_its_source(real: Path, tmp_path: Path) -> None:
    layer = raster.open_layer(real / KRIGR, "netcdf", "2m_temperature", 1)
    assert (layer.dtype, layer.bands, layer.grid.width, layer.grid.height) == ("float32", 5, 89, 55)
    assert "6367470" in layer.grid.crs
    layer.crop(tmp_path / "out.nc", Window(30, 10, 20, 12))
    for name, part in (
        ("2m_temperature", np.s_[:, 10:22, 30:50]),
        ("latitude", np.s_[10:22]),
        ("longitude", np.s_[30:50]),
        ("time", np.s_[:]),
    ):
        np.testing.assert_array_equal(stored(tmp_path / "out.nc", name), stored(real / KRIGR, name)[part])
        assert attributes(tmp_path / "out.nc", name) == attributes(real / KRIGR, name)
    ours, theirs = attributes(tmp_path / "out.nc", "crs"), attributes(real / KRIGR, "crs")
    assert ours["crs_wkt"] == theirs["crs_wkt"]


@pytest.mark.real
def test_a_table_of_stations_is_no_map(real: Path) -> None:
    path = real / "era5-xclim/daily_surface_cancities_1990-1993.nc"
    assert netcdf.describe(path) == []
    assert netcdf.monthly(path) == (False, "no variable on a latitude-longitude grid")
