"""A small archive in provider layout, made up: every rule of the record builder has a scene that meets it.

`python tests/provider_archive.py FOLDER` writes it for `scripts/demo`. The pixels mean nothing; names, folders,
types, fills, quality codes and metadata are as providers deliver them.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import rasterio
from numpy.typing import NDArray
from rasterio.crs import CRS
from rasterio.transform import from_origin, rowcol
from rasterio.warp import transform as reproject_points

SITE = "chaco"
BOX = (-63.215, -24.065, -63.185, -24.035)
CENTRE = (-63.2, -24.05)
UTM = "EPSG:32620"  # Landsat names northern zones in the south too
SINUSOIDAL = CRS.from_proj4("+proj=sinu +R=6371007.181 +lon_0=0 +x_0=0 +y_0=0 +units=m +no_defs")
CLEAR, CLOUD, SHADOW, SNOW, FILL = 21824, 22280, 23888, 30048, 1
TM_CLEAR, TM_CLOUD = 5440, 5896


def write(root: Path) -> Path:
    """Write the archive and a sites file below `root`; returns the archive's folder."""
    archive = root / "archive"
    _landsat(archive / "landsat")
    _sentinel2(archive / "sentinel-2")
    _modis(archive / "modis")
    _static(archive / "maps")
    _era5(archive / "era5")
    (root / "sites.toml").write_text(f'[[sites]]\nid = "{SITE}"\nkind = "core"\nbbox = {list(BOX)}\n')
    return archive


def tiff(
    path: Path, values: NDArray[Any], crs: Any, transform: Any, nodata: float | None = None, **more: Any
) -> None:
    """One single-band GeoTIFF as providers write them: deflate, tiled."""
    path.parent.mkdir(parents=True, exist_ok=True)
    height, width = values.shape
    profile = {
        "driver": "GTiff",
        "count": 1,
        "dtype": values.dtype,
        "width": width,
        "height": height,
        "crs": crs,
    }
    profile |= {
        "transform": transform,
        "nodata": nodata,
        "compress": "deflate",
        "tiled": True,
        "blockxsize": 128,
        "blockysize": 128,
    }
    with rasterio.open(path, "w", **(profile | more)) as file:
        file.write(values, 1)


def _utm_grid(cell: float, size: int) -> Any:
    (x,), (y,) = reproject_points("EPSG:4326", UTM, [CENTRE[0]], [CENTRE[1]])
    half = cell * size / 2
    return from_origin(round((x - half) / 60) * 60, round((y + half) / 60) * 60, cell, cell)


def _landsat(root: Path) -> None:
    clear = np.full((160, 160), CLEAR, np.uint16)
    cloudy = clear.copy()
    cloudy[:156] = CLOUD
    half = clear.copy()
    half[:70] = CLOUD
    half[70:76] = SHADOW
    half[76:80] = SNOW
    gaps = np.full((160, 160), TM_CLEAR, np.uint16)
    gaps[::9] = FILL
    scene = _landsat_scene
    scene(root, "LC08_L2SP_230077_20190712_20200827_02_T1", half, 1)
    scene(root, "LC08_L2SP_230077_20190712_20190718_02_T1", half, 1)  # the same pass, processed earlier
    scene(root, "LC08_L2SP_230076_20190712_20200827_02_T1", clear, 2)  # the neighbouring row of that day
    scene(root, "LC08_L2SR_230077_20190829_20200826_02_T2", clear, 3)
    scene(root, "LC09_L2SP_230077_20220109_20220112_02_T1", cloudy, 4)  # obscured
    scene(root, "LC08_L2SP_230077_20220101_20220106_02_T1", clear * 0 + FILL, 5)  # all fill
    scene(root, "LE07_L2SP_230077_20050713_20200914_02_T1", gaps, 6)
    scene(root, "LT05_L2SP_230077_19950710_20200912_02_T1", np.full((160, 160), TM_CLEAR, np.uint16), 7)
    scene(root, "LC08_L1TP_230077_20190712_20200827_02_T1", clear, 8)  # Level-1
    scene(root, "LC08_L2SP_230078_20190712_20200827_02_T1", clear, 9, north=-60_000)  # misses the site
    scene(root, "LC08_L2SP_230077_20261012_20261018_02_T1", clear, 10)  # after the snapshot


def _landsat_scene(
    root: Path, scene: str, quality: NDArray[np.uint16], seed: int, north: float = 0.0
) -> None:
    rng, oli = np.random.default_rng(seed), scene[1] == "C"
    grid = _utm_grid(30, 160)
    grid = from_origin(grid.c, grid.f + north, 30, 30)
    level1 = "_L1" in scene
    names = [f"{'' if level1 else 'SR_'}B{n}" for n in ((2, 3, 4, 5, 6, 7) if oli else (1, 2, 3, 4, 5, 7))]
    for name in names:
        values = rng.integers(7300, 20000, quality.shape).astype(np.uint16)
        values[quality == FILL] = 0
        tiff(root / scene / f"{scene}_{name}.TIF", values, UTM, grid, 0)
    tiff(root / scene / f"{scene}_QA_PIXEL.TIF", quality, UTM, grid, 1)
    tiff(root / scene / f"{scene}_QA_RADSAT.TIF", np.zeros(quality.shape, np.uint16), UTM, grid)
    if oli and not level1:
        tiff(root / scene / f"{scene}_SR_QA_AEROSOL.TIF", np.full(quality.shape, 96, np.uint8), UTM, grid, 1)
    elif not level1:
        tiff(
            root / scene / f"{scene}_SR_ATMOS_OPACITY.TIF",
            np.full(quality.shape, 120, np.int16),
            UTM,
            grid,
            -9999,
        )
    (root / scene / f"{scene}_MTL.txt").write_text(_mtl(scene, grid, quality.shape))


def _mtl(scene: str, grid: Any, shape: tuple[int, ...]) -> str:
    satellite, level, place, day, processed, _, tier = scene.split("_")
    sensor = {"LC": "OLI_TIRS", "LE": "ETM", "LT": "TM"}[satellite[:2]]
    west, north = grid.c + 15, grid.f - 15
    east, south = west + 30 * (shape[1] - 1), north - 30 * (shape[0] - 1)
    corners = {"UL": (west, north), "UR": (east, north), "LL": (west, south), "LR": (east, south)}
    projection = [
        f"    CORNER_{key}_PROJECTION_{axis}_PRODUCT = {value:.3f}"
        for key, (x, y) in corners.items()
        for axis, value in (("X", x), ("Y", y))
    ]
    lon, lat = reproject_points(
        UTM, "EPSG:4326", [x for x, _ in corners.values()], [y for _, y in corners.values()]
    )
    degrees = [
        f"    CORNER_{key}_{axis}_PRODUCT = {value:.5f}"
        for key, x, y in zip(corners, lon, lat, strict=True)
        for axis, value in (("LAT", y), ("LON", x))
    ]
    lines = [
        "GROUP = LANDSAT_METADATA_FILE",
        "  GROUP = PRODUCT_CONTENTS",
        f'    LANDSAT_PRODUCT_ID = "{scene}"',
        f'    PROCESSING_LEVEL = "{level}"',
        "    COLLECTION_NUMBER = 02",
        f'    COLLECTION_CATEGORY = "{tier}"',
        "  END_GROUP = PRODUCT_CONTENTS",
        "  GROUP = IMAGE_ATTRIBUTES",
        f'    SPACECRAFT_ID = "LANDSAT_{int(satellite[2:])}"',
        f'    SENSOR_ID = "{sensor}"',
        "    WRS_TYPE = 2",
        f"    WRS_PATH = {int(place[:3])}",
        f"    WRS_ROW = {int(place[3:])}",
        f"    DATE_ACQUIRED = {day[:4]}-{day[4:6]}-{day[6:]}",
        f'    SCENE_CENTER_TIME = "14:0{int(place[3:]) - 75}:12.1234560Z"',
        "  END_GROUP = IMAGE_ATTRIBUTES",
        "  GROUP = PROJECTION_ATTRIBUTES",
        '    MAP_PROJECTION = "UTM"',
        '    DATUM = "WGS84"',
        '    ELLIPSOID = "WGS84"',
        "    UTM_ZONE = 20",
        "    GRID_CELL_SIZE_REFLECTIVE = 30.00",
        f"    REFLECTIVE_LINES = {shape[0]}",
        f"    REFLECTIVE_SAMPLES = {shape[1]}",
        '    ORIENTATION = "NORTH_UP"',
        *degrees,
        *projection,
        "  END_GROUP = PROJECTION_ATTRIBUTES",
        "  GROUP = LEVEL2_PROCESSING_RECORD",
        f'    LANDSAT_PRODUCT_ID = "{scene}"',
        f"    DATE_PRODUCT_GENERATED = {processed[:4]}-{processed[4:6]}-{processed[6:]}T10:00:00Z",
        "  END_GROUP = LEVEL2_PROCESSING_RECORD",
        "END_GROUP = LANDSAT_METADATA_FILE",
        "END",
    ]
    return "\n".join(lines) + "\n"


def _sentinel2(root: Path) -> None:
    scl = np.full((240, 240), 4, np.uint8)
    hazy = scl.copy()
    hazy[:150] = 9
    _granule(root, "S2A", "20200603T140051", "N0500", "20230505T101010", scl, 1000, 21)
    _granule(
        root, "S2A", "20200603T140051", "N0214", "20200603T180000", scl, 0, 22
    )  # the same, older baseline
    _granule(root, "S2B", "20200618T140049", "N0500", "20230506T101010", hazy, 1000, 23)  # hazier, same month
    _granule(root, "S2B", "20180708T140049", "N0208", "20180708T190000", scl, 0, 24)  # before 2019


def _granule(
    root: Path,
    satellite: str,
    datatake: str,
    baseline: str,
    generated: str,
    scl: NDArray[np.uint8],
    offset: int,
    seed: int,
) -> None:
    rng, sensing = np.random.default_rng(seed), datatake[:-2] + "59"
    safe = root / f"{satellite}_MSIL2A_{datatake}_{baseline}_R067_T20KLV_{generated}.SAFE"
    images = safe / "GRANULE" / f"L2A_T20KLV_A025843_{sensing}" / "IMG_DATA"
    (safe / "DATASTRIP" / f"DS_VGS2_{generated}_S{sensing}").mkdir(parents=True)
    fine, coarse = _utm_grid(10, 480), _utm_grid(20, 240)
    for name, cell in (
        ("B02", 10),
        ("B03", 10),
        ("B04", 10),
        ("B08", 10),
        ("B8A", 20),
        ("B11", 20),
        ("B12", 20),
    ):
        size, grid = (480, fine) if cell == 10 else (240, coarse)
        values = (rng.integers(200, 900, (size, size)) + offset).astype(np.uint16)
        tiff(images / f"R{cell}m" / f"T20KLV_{datatake}_{name}_{cell}m.tif", values, UTM, grid, 0)
    tiff(images / "R20m" / f"T20KLV_{datatake}_SCL_20m.tif", scl, UTM, coarse, 0)


def _modis(root: Path) -> None:
    cell = 1111950.5198 / 4800
    radius = 6371007.181
    lon, lat = np.deg2rad(CENTRE)
    x, y = radius * lon * np.cos(lat), radius * lat
    left, top = -20015109.356 + 11 * 1111950.5198, 10007554.678 - 11 * 1111950.5198
    tile = "h11v11" if left <= x < left + 1111950.5198 else "h12v11"
    left += 1111950.5198 * (tile == "h12v11")
    row, col = rowcol(from_origin(left, top, cell, cell), x, y)
    grid = from_origin(left + (col - 20) * cell, top - (row - 20) * cell, cell, cell)
    for day, produced in (
        ("2020001", "2021001120000"),
        ("2020017", "2021002120000"),
        ("2020017", "2020040120000"),
    ):
        scene = f"MOD13Q1.A{day}.{tile}.061.{produced}"
        _modis_scene(root / scene, scene, grid)


def _modis_scene(folder: Path, scene: str, grid: Any) -> None:
    layers: dict[str, tuple[Any, float, float | None]] = {
        "250m_16_days_NDVI": (np.int16, 6500, -3000),
        "250m_16_days_EVI": (np.int16, 4200, -3000),
        "250m_16_days_VI_Quality": (np.uint16, 2112, 65535),
        "250m_16_days_pixel_reliability": (np.int8, 0, -1),
        "250m_16_days_composite_day_of_the_year": (np.int16, 5, -1),
        "250m_16_days_red_reflectance": (np.int16, 400, -1000),
        "250m_16_days_NIR_reflectance": (np.int16, 2500, -1000),
    }
    for name, (dtype, value, nodata) in layers.items():
        tiff(folder / f"{scene}_{name}.tif", np.full((40, 40), value, dtype), SINUSOIDAL, grid, nodata)


def _static(root: Path) -> None:
    cover = np.full((1200, 1200), 10, np.uint8)
    step = 1 / 12000
    grid = from_origin(CENTRE[0] - 600 * step, CENTRE[1] + 600 * step, step, step)
    for year, version in ((2020, "v100"), (2021, "v200")):
        tiff(root / f"ESA_WorldCover_10m_{year}_{version}_S27W066_Map.tif", cover, "EPSG:4326", grid, 0)
    heights = np.linspace(180, 220, 400 * 400, dtype=np.float32).reshape(400, 400)
    grid = from_origin(CENTRE[0] - 200 / 3600, CENTRE[1] + 200 / 3600, 1 / 3600, 1 / 3600)
    tiff(root / "Copernicus_DSM_COG_10_S25_00_W064_00_DEM.tif", heights, "EPSG:4326", grid, predictor=3)
    loss = np.zeros((400, 400), np.uint8)
    loss[180:220, 180:220] = 19
    grid = from_origin(CENTRE[0] - 200 * 0.00025, CENTRE[1] + 200 * 0.00025, 0.00025, 0.00025)
    tiff(root / "Hansen_GFC-2025-v1.13_lossyear_20S_070W.tif", loss, "EPSG:4326", grid)


def _era5(root: Path) -> None:
    import netCDF4

    root.mkdir(parents=True)
    with netCDF4.Dataset(root / "era5_land_monthly_t2m_2019_2020.nc", "w") as file:
        file.createDimension("valid_time", 24)
        file.createDimension("latitude", 9)
        file.createDimension("longitude", 9)
        time = file.createVariable("valid_time", "i8", ("valid_time",))
        time.units, time.calendar, time.standard_name = (
            "seconds since 1970-01-01",
            "proleptic_gregorian",
            "time",
        )
        months = np.arange("2019-01", "2021-01", dtype="datetime64[M]")
        time[:] = months.astype("datetime64[s]").astype(np.int64)
        latitude = file.createVariable("latitude", "f8", ("latitude",))
        latitude.units = "degrees_north"
        latitude[:] = np.round(-23.6 - 0.1 * np.arange(9), 1)
        longitude = file.createVariable("longitude", "f8", ("longitude",))
        longitude.units = "degrees_east"
        longitude[:] = np.round(-63.6 + 0.1 * np.arange(9), 1)
        t2m = file.createVariable(
            "t2m", "f4", ("valid_time", "latitude", "longitude"), fill_value=np.float32("nan"), zlib=True
        )
        t2m.units, t2m.long_name = "K", "2 metre temperature"
        t2m[:] = 295 + np.arange(24 * 81, dtype=np.float32).reshape(24, 9, 9) / 100


if __name__ == "__main__":
    write(Path(sys.argv[1]))
