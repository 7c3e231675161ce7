"""Regions, boundaries, climate, terrain, withheld products, and what is odd (definitions, "The record")."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import rasterio
import shapely
from rasterio.transform import from_origin
from rasterio.warp import transform as reproject_points

import provider_archive
import tiny
from earthrecord.record import ledger
from earthrecord.record.verify import verify

MODIS = "MOD13Q1.A2020001.h12v11.061.2021001120000"
LST = "MOD11A2.A2020001.h12v11.061.2021001120000"
LANDSAT = "LC08_L2SP_230077_20190712_20200827_02_T1"
TRIANGLE = [[-63.215, -24.065], [-63.185, -24.065], [-63.2, -24.035], [-63.215, -24.065]]
CLEAR = np.full((160, 160), 21824, np.uint16)


@pytest.fixture
def region(tmp_path: Path) -> tiny.Tiny:
    """A region with vegetation, temperature, climate and its boundary; Landsat and Sentinel-2 lie in the archive too."""
    made = tiny.Tiny(tmp_path, f"polygon = {TRIANGLE}", "region")
    vegetation: dict[str, Any] = {
        "250m_16_days_NDVI": np.full((40, 40), 6500, np.int16),
        "250m_16_days_VI_Quality": np.full((40, 40), 2112, np.uint16),
        "250m_16_days_pixel_reliability": np.zeros((40, 40), np.int8),
    }
    cell = 1111950.5198 / 4800
    tiny.layers(made.archive / MODIS, MODIS, vegetation, tiny.SINUSOIDAL, tiny.sinusoidal(cell, 40))
    temperature: dict[str, Any] = {
        "LST_Day_1km": np.full((20, 20), 15000, np.uint16),
        "QC_Day": np.zeros((20, 20), np.uint8),
    }
    tiny.layers(made.archive / LST, LST, temperature, tiny.SINUSOIDAL, tiny.sinusoidal(4 * cell, 20))
    tiny.era5(made.archive / "t2m.nc", "2019-01", "2019-12", 290)
    tiny.landsat(made.archive, LANDSAT, CLEAR)
    tiny.sentinel2(made.archive, np.full((240, 240), 4, np.uint8))
    boundary(made.archive / "geoBoundaries-ARG-ADM1.geojson", TRIANGLE)
    return made


def boundary(path: Path, ring: list[list[float]]) -> None:
    feature = {
        "type": "Feature",
        "properties": {"shapeName": "There"},
        "geometry": {"type": "Polygon", "coordinates": [ring]},
    }
    path.write_text(json.dumps({"type": "FeatureCollection", "features": [feature]}))


def only(made: tiny.Tiny, pattern: str) -> Path:
    (path,) = made.root().rglob(pattern)
    return path


def read(path: Path) -> np.ndarray[Any, Any]:
    with rasterio.open(path) as file:
        values: np.ndarray[Any, Any] = file.read(1)
    return values


def centres_inside(path: Path) -> np.ndarray[Any, Any]:
    """Which pixel centres lie in the triangle, with shapely and pyproj."""
    from pyproj import Transformer

    with rasterio.open(path) as file:
        rows, cols = np.indices(file.shape)
        xs, ys = rasterio.transform.xy(file.transform, rows.ravel(), cols.ravel())
        lon, lat = Transformer.from_crs(file.crs, "EPSG:4326", always_xy=True).transform(xs, ys)
        return np.asarray(shapely.contains_xy(shapely.Polygon(TRIANGLE), lon, lat)).reshape(file.shape)


def test_a_region_has_no_landsat_and_no_sentinel_2(region: tiny.Tiny) -> None:
    """Paper, section 2.1."""
    region.build()
    rules = {row["product"]: row["rule"] for row in region.book().values()}
    assert {product for product, rule in rules.items() if rule == "not asked for"} == {
        "landsat-c2-l2",
        "sentinel-2-l2a",
    }
    assert {path.name for path in region.root().iterdir() if path.is_dir()} == {
        "mod13q1-061", "mod11a2-061", "era5-land-monthly", "geoboundaries",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("layer", "value", "outside"),
    [("NDVI", 6500, -3000), ("VI_Quality", 2112, 65535), ("pixel_reliability", 0, -1)],
)
def test_outside_a_region_lies_the_fill_of_each_layer(
    region: tiny.Tiny, layer: str, value: int, outside: int
) -> None:
    """Definitions, "region mask"."""
    region.build()
    path = only(region, f"*_{layer}.tif")
    inside = centres_inside(path)
    np.testing.assert_array_equal(read(path), np.where(inside, value, outside))
    np.testing.assert_array_equal(read(only(region, "mod13q1-061/region_mask.tif")), inside)
    assert 0 < inside.sum() < inside.size


def test_a_layer_whose_zero_is_valid_gets_its_mask_value(region: tiny.Tiny) -> None:
    """Definitions, "region mask": QC_Day, by `mask_value`; cells of 926 m belong to the region where they touch it."""
    region.build()
    mask = read(only(region, "mod11a2-061/region_mask.tif"))
    quality = read(only(region, "*_QC_Day.tif"))
    np.testing.assert_array_equal(quality, np.where(mask == 1, 0, 3))


def test_climate_of_a_region_is_unmasked_and_has_its_mask(region: tiny.Tiny) -> None:
    """Definitions: `region_mask.tif` is always delivered; ERA5-Land values as distributed, one ring of cells more."""
    import netCDF4

    region.build()
    mask = read(only(region, "era5-land-monthly/region_mask.tif"))
    with netCDF4.Dataset(only(region, "t2m.nc")) as file:
        assert file["t2m"].shape == (12, *mask.shape)
        assert not np.ma.is_masked(file["t2m"][:])
        lons, lats = np.asarray(file["longitude"][:]), np.asarray(file["latitude"][:])
    cells = [[shapely.box(x - 0.05, y - 0.05, x + 0.05, y + 0.05) for x in lons] for y in lats]
    touched = shapely.intersects(np.array(cells), shapely.Polygon(TRIANGLE))
    np.testing.assert_array_equal(mask == 1, touched)
    assert not touched[[0, -1]].any()
    assert not touched[:, [0, -1]].any()
    assert touched[1:-1, 1:-1].any(axis=0).all()


def test_a_boundary_file_is_delivered_as_it_is(region: tiny.Tiny) -> None:
    region.build()
    path = only(region, "geoBoundaries-ARG-ADM1.geojson")
    assert path.read_bytes() == (region.archive / path.name).read_bytes()
    assert path.relative_to(region.root()).parts[0] == "geoboundaries"
    sha = hashlib.sha256(path.read_bytes()).hexdigest()
    manifest = pl.read_parquet(region.places().manifest)
    assert manifest.filter(pl.col("path").str.contains("ARG"))["sha256"].to_list() == [sha]
    assert verify(region.places(), region.products, region.site).findings == ()
    assert "boundary files are delivered whole" in (region.root() / "README.md").read_text()


def test_a_boundary_file_of_another_country_is_outside(region: tiny.Tiny) -> None:
    boundary(region.archive / "geoBoundaries-KEN-ADM1.geojson", [[36, 0], [37, 0], [37, 1], [36, 1], [36, 0]])
    (region.archive / "geoBoundaries-PRY-ADM1.geojson").write_text("<html>log in</html>")
    outcome = region.build()
    book = region.book()
    assert book["geoBoundaries-KEN-ADM1"]["rule"] == "outside"
    assert outcome.spoiled["scene"].to_list() == ["geoBoundaries-PRY-ADM1"]


def test_a_geopackage_is_a_boundary_file_too(region: tiny.Tiny) -> None:
    from pyogrio.raw import write

    path = region.archive / "geoBoundariesCGAZ_ADM1.gpkg"
    shape = np.array([shapely.to_wkb(shapely.Polygon(TRIANGLE))], object)
    write(path, shape, [], [], geometry_type="Polygon", crs="EPSG:4326")
    region.build()
    assert only(region, path.name).read_bytes() == path.read_bytes()


def test_windows_of_one_tile_that_differ_have_a_mask_each(region: tiny.Tiny) -> None:
    """A provider's tool may have cut the granules of one tile differently."""
    second, cell = MODIS.replace("A2020001", "A2020017"), 1111950.5198 / 4800
    reliability = {"250m_16_days_pixel_reliability": np.zeros((40, 40), np.int8)}
    a, _, c, _, e, f, *_ = tiny.sinusoidal(cell, 40)
    shifted = from_origin(c + 20 * a, f, a, -e)
    tiny.layers(region.archive / second, second, reliability, tiny.SINUSOIDAL, shifted)
    region.build()
    shapes = {}
    for path in (region.root() / "mod13q1-061").glob("region_mask*.tif"):
        with rasterio.open(path) as file:
            shapes[path.name] = file.bounds
    layer_bounds = set()
    for path in region.root().rglob("*_pixel_reliability.tif"):
        with rasterio.open(path) as file:
            layer_bounds.add(file.bounds)
    assert set(shapes) == {"region_mask.tif", "region_mask-2.tif"}
    assert set(shapes.values()) == layer_bounds


# ---------------------------------------------------------------------------------------------- core sites


@pytest.fixture
def core(tmp_path: Path) -> tiny.Tiny:
    return tiny.Tiny(tmp_path)


def test_a_core_site_has_no_mask_and_no_boundary(core: tiny.Tiny) -> None:
    tiny.landsat(core.archive, LANDSAT, CLEAR)
    boundary(core.archive / "geoBoundaries-ARG-ADM1.geojson", TRIANGLE)
    core.build()
    assert core.book()["geoBoundaries-ARG-ADM1"]["rule"] == "not asked for"
    assert not list(core.root().rglob("region_mask*"))


def test_the_newest_production_of_a_composite_is_kept(core: tiny.Tiny) -> None:
    """Definitions, "duplicate, MODIS/VIIRS": product, tile and first day; the other satellite and tile are others."""
    cell = 1111950.5198 / 4800
    names = {
        f"MOD13Q1.A2020001.h12v11.061.{time}": time == "2021001120001"
        for time in ("2021001120000", "2021001120001", "2020020120000")
    }
    names |= {
        "MYD13Q1.A2020001.h12v11.061.2020020120000": True,
        "MOD13Q1.A2020017.h12v11.061.2020040120000": True,
    }
    for name in names:
        values = {"250m_16_days_pixel_reliability": np.zeros((40, 40), np.int8)}
        tiny.layers(core.archive / name, name, values, tiny.SINUSOIDAL, tiny.sinusoidal(cell, 40))
    core.build()
    assert {scene: row["kept"] for scene, row in core.book().items()} == names


def test_composites_are_kept_however_little_they_show(core: tiny.Tiny) -> None:
    """Definitions, "obscured": calendars and polar night stay visible."""
    cell, dark = 1111950.5198 / 4800, "MOD13Q1.A2020017.h12v11.061.2020040120000"
    for name, value in ((MODIS, 3), (dark, -1)):
        values = {"250m_16_days_pixel_reliability": np.full((40, 40), value, np.int8)}
        tiny.layers(core.archive / name, name, values, tiny.SINUSOIDAL, tiny.sinusoidal(cell, 40))
    core.build()
    book = core.book()
    assert (book[MODIS]["kept"], book[MODIS]["obscured"]) == (True, 1.0)
    assert (book[dark]["kept"], book[dark]["obscured"]) == (True, None)


def months_of(path: Path) -> list[str]:
    import netCDF4

    with netCDF4.Dataset(path) as file:
        return [
            str(month)
            for month in np.asarray(file["valid_time"][:]).astype("datetime64[s]").astype("datetime64[M]")
        ]


def test_climate_comes_month_by_month_final_before_preliminary_then_newest(core: tiny.Tiny) -> None:
    """Definitions, "ERA5-Land": key variable and month."""
    tiny.era5(core.archive / "a.nc", "2019-01", "2019-08", 280, version="0005")
    tiny.era5(core.archive / "b.nc", "2019-01", "2019-06", 290, version="0001")
    tiny.era5(core.archive / "c.nc", "2019-05", "2019-06", 300, version="0001")
    tiny.era5(core.archive / "d.nc", "2019-01", "2019-03", 300, variable="tp")
    core.build()
    found = {path.name: months_of(path) for path in core.root().rglob("*.nc")}
    assert found == {
        "a.nc": ["2019-07", "2019-08"],
        "b.nc": [f"2019-{month:02}" for month in range(1, 7)],
        "d.nc": ["2019-01", "2019-02", "2019-03"],
    }
    (row,) = (row for row in core.book().values() if row["rule"] == "duplicate")
    assert row["source"].endswith("c.nc")
    flagged = {Path(row["source"]).name for row in core.book().values() if "preliminary" in row["flags"]}
    assert flagged == {"a.nc"}


def test_climate_ends_with_the_snapshot_and_begins_in_1984(core: tiny.Tiny) -> None:
    """Definitions, "window"."""
    tiny.era5(core.archive / "long.nc", "1983-11", "2026-12", 290)
    core.build()
    months = months_of(only(core, "long.nc"))
    assert (months[0], months[-1], len(months)) == ("1984-01", "2026-09", 42 * 12 + 9)


def test_a_netcdf_in_a_zip_is_opened_and_the_ledger_says_so(core: tiny.Tiny) -> None:
    import zipfile

    tiny.era5(core.folder / "inside.nc", "2019-01", "2019-02", 290)
    with zipfile.ZipFile(core.archive / "download.nc", "w") as archive:
        archive.write(core.folder / "inside.nc", "data_stream-moda.nc")
    core.build()
    (row,) = core.book().values()
    assert "zipped" in row["flags"]
    assert months_of(only(core, "download.nc")) == ["2019-01", "2019-02"]
    assert "zip" not in (core.root() / "README.md").read_text()


def terrain(core: tiny.Tiny, west: float, east: float, name: str = "S25_00_W064_00") -> None:
    step = 1 / 3600
    heights = np.full((400, round((east - west) / step)), 5.0, np.float32)
    provider_archive.tiff(
        core.archive / f"Copernicus_DSM_COG_10_{name}_DEM.tif", heights, "EPSG:4326",
        from_origin(west, provider_archive.CENTRE[1] + 200 * step, step, step),
    )  # fmt: skip


def test_a_missing_static_tile_is_a_note_in_the_ledger(core: tiny.Tiny) -> None:
    """Definitions: sea in the DEM is no error."""
    terrain(core, -63.3, -63.2)
    core.build()
    rows = ledger.read(core.places().ledger).filter(pl.col("rule") == "no tile").to_dicts()
    assert [row["product"] for row in rows] == ["cop-dem-glo-30"]
    assert "covers 50" in rows[0]["reason"] or "covers 49" in rows[0]["reason"]
    assert verify(core.places(), core.products, core.site).findings == ()


def test_two_tiles_that_cover_the_site_leave_no_note(core: tiny.Tiny) -> None:
    terrain(core, -63.3, -63.2)
    terrain(core, -63.2, -63.1, "S25_00_W063_00")
    core.build()
    assert [row["rule"] for row in core.book().values()] == [None, None]


def test_tiles_that_all_lie_elsewhere_are_a_note_too(core: tiny.Tiny) -> None:
    terrain(core, -63.1, -63.0)
    tiny.landsat(core.archive, LANDSAT, CLEAR)
    core.build()
    rows = ledger.read(core.places().ledger).filter(pl.col("rule") == "no tile")
    assert "100.0%" in rows["reason"][0]


def test_the_note_holds_on_any_grid(core: tiny.Tiny) -> None:
    """GHSL lies in Mollweide; beside the record like every withheld product."""
    (x,), (y,) = reproject_points("EPSG:4326", "ESRI:54009", *([v] for v in provider_archive.CENTRE))
    transform = from_origin(round(x / 100) * 100, round(y / 100) * 100 + 5000, 100, 100)
    name = "GHS_BUILT_S_E2020_GLOBE_R2023A_54009_100_V1_0_R12_C12.tif"
    provider_archive.tiff(core.archive / name, np.ones((100, 100), np.uint16), "ESRI:54009", transform)
    tiny.landsat(core.archive, LANDSAT, CLEAR)
    core.build()
    kept = [row for row in core.book().values() if row["product"] == "ghs-built-s-r2023a" and row["kept"]]
    assert [row["withheld"] for row in kept] == [True]
    assert not list(core.root().rglob("*GHS*"))
    assert [path.name for path in core.places().withheld.rglob("*.tif")] == [name]


def test_the_raster_wins_over_the_crs_of_its_metadata(core: tiny.Tiny) -> None:
    """Definitions, "nodata tag, CRS": flagged `metadata-crs`, in ledger and README."""
    folder = tiny.landsat(core.archive, LANDSAT, CLEAR)
    for path in folder.glob("*.TIF"):
        tiny.move(path, tiny.grid(30, "EPSG:32619"), "EPSG:32619")
    core.build()
    assert core.book()[LANDSAT]["flags"] == ["metadata-crs"]
    with rasterio.open(only(core, "*_SR_B4.TIF")) as file:
        assert file.crs.to_epsg() == 32619
    assert "Its metadata name another CRS" in (core.root() / "README.md").read_text()


def test_a_candidate_in_two_places_is_one_and_repeated(core: tiny.Tiny) -> None:
    """Definitions, "order of rules": `repeated` in the ledger."""
    folder = tiny.landsat(core.archive / "one", LANDSAT, CLEAR)
    shutil.copytree(folder, core.archive / "two" / LANDSAT)
    core.build()
    assert [(row["kept"], row["repeated"]) for row in core.book().values()] == [(True, 1)]


def test_the_site_file_gives_nothing_away(core: tiny.Tiny) -> None:
    """Definitions, "site.json"."""
    tiny.landsat(core.archive, LANDSAT, CLEAR)
    core.build()
    assert json.loads((core.root() / "site.json").read_text()) == {
        "id": "t",
        "kind": "core",
        "bbox": list(provider_archive.BOX),
        "crs": "EPSG:32720",
        "snapshot": "2026-09-30",
    }


def test_a_layer_of_another_place_is_an_error_of_its_scene(core: tiny.Tiny) -> None:
    folder = tiny.landsat(core.archive, LANDSAT, CLEAR)
    tiny.landsat(core.archive, LANDSAT.replace("20190712_", "20190813_"), CLEAR)
    tiny.move(next(folder.glob("*_SR_B4.TIF")), tiny.grid(30, east=60_000.0))
    outcome = core.build()
    assert outcome.spoiled["scene"].to_list() == [LANDSAT]
    assert "does not reach the site" in outcome.spoiled["reason"][0]
