"""Real polygons on real rasters."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import rasterio
from rasterio.features import geometry_mask
from rasterio.warp import transform_geom

from earthrecord.errors import BadSite
from earthrecord.grid import Grid
from earthrecord.sites.pixels import SitePixels
from earthrecord.sites.projection import densified
from earthrecord.sites.readers import read_sites

pytestmark = pytest.mark.real

AREAS = (
    "products-mapme/gfw_sample.geojson",
    "products-mapme/shell_beach_protected_area_41057_B.geojson",
    "products-mapme/sierra_de_neiba_478140.geojson",
    "products-mapme/sierra_de_neiba_478140_2.geojson",
    "landsat-stack-yatsm/p013r030_bbox.geojson",
    "landsat-stack-yatsm/p035r032_bbox.geojson",
    "sentinel2-l1c-eolearn/bbox.geojson",
)


def grid_of(path: Path) -> Grid:
    with rasterio.open(path) as file:
        return Grid(file.crs.to_wkt(), tuple(file.transform)[:6], file.width, file.height)


@pytest.mark.parametrize("name", AREAS)
def test_areas_of_interest_are_sites(real: Path, name: str) -> None:
    (site,) = read_sites(real / name).values()
    assert site.geometry.is_valid
    assert site.shorter_side > 900


def test_a_box_in_utm_is_brought_to_degrees(real: Path) -> None:
    """The eo-learn box is 999 by 1010 m in EPSG:32633."""
    (site,) = read_sites(real / "sentinel2-l1c-eolearn/bbox.geojson").values()
    assert site.crs == "EPSG:32633"
    grid = Grid("EPSG:32633", (10, 0, 465_000, 0, -10, 5_081_000), 300, 300)
    pixels = SitePixels(site)
    assert pixels.mask(grid, pixels.window(grid)).sum() * 100 == pytest.approx(999.48 * 1009.74, rel=0.01)


def test_coordinates_in_metres_without_a_crs_are_refused(real: Path, tmp_path: Path) -> None:
    path = real / "landsat-stack-yatsm/hf_training.geojson"
    with pytest.raises(BadSite, match="feature 1 has no id"):
        read_sites(path)
    content = json.loads(path.read_text())
    for number, feature in enumerate(content["features"], 1):
        feature["id"] = number
    with_ids = tmp_path / "with-ids.geojson"
    with_ids.write_text(json.dumps(content))
    with pytest.raises(BadSite, match=r"site '1' .*longitude 734764.* is beyond the globe; .*state the CRS"):
        read_sites(with_ids)
    content["crs"] = {"type": "name", "properties": {"name": "EPSG:32618"}}
    with_ids.write_text(json.dumps(content))
    sites = read_sites(with_ids)
    assert len(sites) == len(content["features"])
    assert sites["1"].bbox[:2] == pytest.approx((-72.14, 42.52), abs=0.01)


SIERRA, BEACH = "sierra_de_neiba_478140", "shell_beach_protected_area_41057_B"


@pytest.mark.parametrize(
    ("area", "folder"),
    [
        ("gfw_sample", "gfw_treecover"), ("gfw_sample", "gfw_lossyear"), (SIERRA, "gfw_treecover"), (SIERRA, "nasa_srtm"),
        (SIERRA, "mcd64a1"), (BEACH, "global_surface_water_occurrence"), (BEACH, "global_surface_water_transitions"),
    ],
)  # fmt: skip
def test_pixels_of_protected_areas_agree_with_gdal(real: Path, area: str, folder: str) -> None:
    """GDAL takes pixels by their centre too: on lattices in degrees and on the sinusoidal one, with the outline as we project it."""
    (site,) = read_sites(real / "products-mapme" / f"{area}.geojson").values()
    grid, pixels = grid_of(min((real / "products-mapme" / folder).glob("*.tif"))), SitePixels(site)
    window = pixels.window(grid)
    assert not window.within(grid.width, grid.height).empty
    assert not pixels.is_coarse(grid)
    crop = grid.crop(window)
    outline = transform_geom("EPSG:4326", grid.crs, densified(site.geometry))
    theirs = geometry_mask(
        [outline], (crop.height, crop.width), rasterio.Affine(*crop.transform), invert=True
    )
    ours = pixels.mask(grid, window)
    assert ours.sum() > 500
    np.testing.assert_array_equal(ours, theirs)


def test_tree_cover_of_the_published_area(real: Path) -> None:
    """Published by mapme.biodiversity: 2057.33 ha of trees (cover of 10 % and more, patches of 1 ha and more) in 2000."""
    from math import radians, sin

    (site,) = read_sites(real / "products-mapme/gfw_sample.geojson").values()
    (path,) = (real / "products-mapme/gfw_treecover").glob("*.tif")
    grid, pixels = grid_of(path), SitePixels(site)
    window = pixels.window(grid).within(grid.width, grid.height)
    with rasterio.open(path) as file:
        cover = file.read(
            1, window=rasterio.windows.Window(window.col, window.row, window.width, window.height)
        )
    trees = (cover >= 10) & pixels.mask(grid, window)
    _, _, _, _, e, north = grid.crop(window).transform
    edges = np.array([sin(radians(north + e * row)) for row in range(window.height + 1)])
    band = 6371008.8**2 * radians(grid.cell[0]) * (edges[:-1] - edges[1:]) / 1e4
    found = float((trees.sum(axis=1) * band).sum())
    assert found == pytest.approx(2057.33, rel=2e-3)
    assert found >= 2057.33
