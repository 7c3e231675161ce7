"""The window of a scene and the pixels of a site (definitions, "The record"), against naive twins."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import shapely
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from pyproj import Transformer

import earthrecord.sites.pixels as pixels_module
from earthrecord.errors import BadSite, UnsupportedRaster
from earthrecord.grid import Grid, Window
from earthrecord.sites.crossing import cells_touched, centres_inside, edges_of, extent
from earthrecord.sites.ground import projected_crs
from earthrecord.sites.model import Site
from earthrecord.sites.outline import from_box, from_geometry
from earthrecord.sites.pixels import EMPTY, SitePixels
from earthrecord.sites.projection import densified

SINUSOIDAL = "+proj=sinu +lon_0=0 +x_0=0 +y_0=0 +R=6371007.181 +units=m +no_defs"
MOLLWEIDE = "ESRI:54009"
TILE, CELL_250 = 1111950.519667, 231.65635826395834


def box_site(west: float, south: float, east: float, north: float) -> Site:
    return Site("a", from_box((west, south, east, north)))


def modis_tile(h: int, v: int, cells: int = 4800) -> Grid:
    cell = TILE / cells
    transform = (cell, 0.0, -20015109.354 + h * TILE, 0.0, -cell, 10007554.677 - v * TILE)
    return Grid(SINUSOIDAL, transform, cells, cells)


def around(crs: str, site: Site, cell: float, phase: tuple[float, float] = (0.0, 0.0)) -> Grid:
    """A raster with the site's centre in its middle, 401 cells more than the site on each axis."""
    west, south, east, north = site.bbox
    x, y = Transformer.from_crs("OGC:CRS84", crs, always_xy=True).transform(
        (west + east) / 2, (south + north) / 2
    )
    width, height = (400 + 4 * int(side / cell) for side in site.size)
    left = x - cell * (width // 2 + phase[0])
    top = y + cell * (height // 2 + phase[1])
    return Grid(crs, (cell, 0.0, left, 0.0, -cell, top), width, height)


def to_cells(grid: Grid, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    a, _, c, _, e, f = grid.transform
    return np.column_stack([(x - c) / a, (y - f) / e])


def outline_in_cells(site: Site, grid: Grid) -> Any:
    """The naive way: every densified vertex through PROJ, for sites away from every seam."""
    transformer = Transformer.from_crs("OGC:CRS84", grid.crs, always_xy=True)

    def through(xy: NDArray[np.float64]) -> NDArray[np.float64]:
        return to_cells(grid, *transformer.transform(xy[:, 0], xy[:, 1]))

    return shapely.transform(densified(site.geometry), through)


def naive_centres(outline: Any, window: Window) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Point in polygon for every centre, and which centres are too near the outline to say."""
    cols, rows = np.meshgrid(
        window.col + np.arange(window.width) + 0.5, window.row + np.arange(window.height) + 0.5
    )
    near = shapely.dwithin(shapely.points(cols, rows), outline.boundary, 1e-5)
    return shapely.contains_xy(outline, cols, rows), near


def naive_touched(outline: Any, window: Window) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """The area that every cell shares with the outline, and which shares are too small to say."""
    cols, rows = np.meshgrid(window.col + np.arange(window.width), window.row + np.arange(window.height))
    area = shapely.area(shapely.intersection(shapely.box(cols, rows, cols + 1, rows + 1), outline))
    return area > 0, (area > 0) & (area < 1e-4)


@st.composite
def boxes(draw: st.DrawFn) -> Site:
    """Boxes of 100 m to 30 km, anywhere but over a seam."""
    latitude = draw(st.floats(-83, 83))
    longitude = draw(st.floats(-179, 179))
    width, height = (draw(st.floats(100, 30_000)) / 111_000 for _ in range(2))
    width = min(width / np.cos(np.radians(latitude)), 1.9)
    assume(abs(longitude) + width / 2 < 179.99)
    return box_site(
        longitude - width / 2, latitude - height / 2, longitude + width / 2, latitude + height / 2
    )


@st.composite
def polygons(draw: st.DrawFn) -> Site:
    """Star-shaped polygons, some with a hole, in the place of a box."""
    west, south, east, north = draw(boxes()).bbox
    count = draw(st.integers(3, 12))
    radii = np.array(draw(st.lists(st.floats(0.2, 1.0), min_size=count, max_size=count)))
    angles = np.linspace(0, 2 * np.pi, count, endpoint=False)
    unit = np.column_stack([np.cos(angles), np.sin(angles)]) * radii[:, None]
    shape = shapely.Polygon(unit, [unit[::-1] / 4] if draw(st.booleans()) else None)
    middle, half = ((west + east) / 2, (south + north) / 2), ((east - west) / 2, (north - south) / 2)
    assume(shape.is_valid)
    return Site("a", from_geometry(shapely.transform(shape, lambda xy: xy * half + middle)))


def crs_near(site: Site, choice: int) -> str:
    """A CRS that a product may have there: UTM, its neighbour, sinusoidal, Mollweide, polar, Albers, geographic."""
    west, south, east, north = site.bbox
    longitude, latitude = (west + east) / 2, (south + north) / 2
    neighbour = projected_crs(longitude + (6 if longitude < 170 else -6), latitude)
    polar = "EPSG:3413" if latitude > 0 else "EPSG:3031"
    albers = "EPSG:5070" if latitude > 0 and -150 < longitude < -40 else "EPSG:3577"
    albers = albers if albers == "EPSG:5070" or (latitude < 0 and 80 < longitude < 170) else SINUSOIDAL
    return (projected_crs(longitude, latitude), neighbour, SINUSOIDAL, MOLLWEIDE, polar, albers)[choice]


SHARES = st.floats(0, 1, exclude_max=True)
CHOICES = st.integers(0, 5)


@settings(max_examples=60, deadline=None)
@given(
    site=st.one_of(boxes(), polygons()),
    choice=CHOICES,
    finer=st.sampled_from([12, 25, 60]),
    u=SHARES,
    v=SHARES,
)
def test_fine_cells_are_the_sites_where_their_centre_lies_inside(
    site: Site, choice: int, finer: int, u: float, v: float
) -> None:
    """Definitions, "window of a scene" and "pixels of the site"."""
    grid = around(crs_near(site, choice), site, site.shorter_side / finer, (u, v))
    assume(max(site.size) < 20 * site.shorter_side)
    pixels, outline = SitePixels(site), outline_in_cells(site, grid)
    window = pixels.window(grid)
    assert_smallest(window, outline)
    mask = pixels.mask(grid, window)
    inside, near = naive_centres(outline, window)
    np.testing.assert_array_equal(mask[~near], inside[~near])


@settings(max_examples=40, deadline=None)
@given(site=st.one_of(boxes(), polygons()), choice=CHOICES, coarser=st.floats(0.11, 5), u=SHARES, v=SHARES)
def test_coarse_cells_are_the_sites_where_they_share_area(
    site: Site, choice: int, coarser: float, u: float, v: float
) -> None:
    """Definitions, "window of a scene": a cell larger than a tenth of the site's shorter side."""
    assume(max(site.size) < 20 * site.shorter_side)
    grid = around(crs_near(site, choice), site, site.shorter_side * coarser, (u, v))
    pixels, outline = SitePixels(site), outline_in_cells(site, grid)
    window = pixels.window(grid)
    assert_smallest(window, outline)
    touched, small = naive_touched(outline, window)
    mask = pixels.mask(grid, window)
    np.testing.assert_array_equal(mask[~small], touched[~small])
    assert mask.any()


def assert_smallest(window: Window, outline: Any) -> None:
    """All densified edge points lie in the window, and none of its four sides could be moved in."""
    left, top, right, bottom = outline.bounds
    hair = 2e-6
    assert window.col - hair <= left < window.col + 1 + hair
    assert window.row - hair <= top < window.row + 1 + hair
    assert window.col + window.width - 1 - hair < right <= window.col + window.width + hair
    assert window.row + window.height - 1 - hair < bottom <= window.row + window.height + hair


@settings(max_examples=40, deadline=None)
@given(site=boxes(), u=SHARES, v=SHARES)
def test_pixels_agree_with_longitude_and_latitude_of_their_centres(site: Site, u: float, v: float) -> None:
    """The box is one in longitude and latitude: no centre may be wrong by more than 5 cm."""
    assume(max(site.size) < 20 * site.shorter_side)
    west, south, east, north = site.bbox
    grid = around(crs_near(site, 0), site, site.shorter_side / 20, (u, v))
    pixels = SitePixels(site)
    window = pixels.window(grid)
    a, _, c, _, e, f = grid.crop(window).transform
    cols, rows = np.meshgrid(np.arange(window.width) + 0.5, np.arange(window.height) + 0.5)
    back = Transformer.from_crs(grid.crs, "OGC:CRS84", always_xy=True)
    x, y = back.transform(c + a * cols, f + e * rows)
    hair_y, hair_x = 0.05 / 111_000, 0.05 / 111_000 / np.cos(np.radians((south + north) / 2))
    depth = np.minimum(np.minimum(x - west, east - x) / hair_x, np.minimum(y - south, north - y) / hair_y)
    mask = pixels.mask(grid, window)
    assert mask[depth > 1].all()
    assert not mask[depth < -1].any()


@st.composite
def half_cell_shapes(draw: st.DrawFn) -> Any:
    """Polygons whose corners are corners and centres of cells."""
    halves = st.integers(-16, 16)
    corners = np.array(draw(st.lists(st.tuples(halves, halves), min_size=3, max_size=7, unique=True))) / 2
    x, y = (corners - corners.mean(axis=0)).T
    shape = shapely.Polygon(corners[np.argsort(np.arctan2(y, x), kind="stable")])
    assume(shape.is_valid and shape.area > 0)
    return shape


@given(
    shape=half_cell_shapes(),
    block=st.tuples(st.integers(-9, 9), st.integers(-9, 9), st.integers(1, 9), st.integers(1, 9)),
)
def test_kernels_on_corners_and_edges_that_meet_centres(shape: Any, block: tuple[int, int, int, int]) -> None:
    inside, near = naive_centres(shape, Window(*block))
    np.testing.assert_array_equal(centres_inside(edges_of(shape), block)[~near], inside[~near])
    touched, small = naive_touched(shape, Window(*block))
    np.testing.assert_array_equal(cells_touched(edges_of(shape), block)[~small], touched[~small])


@given(shape=half_cell_shapes(), share=st.floats(0.1, 0.9))
def test_of_two_plots_that_share_an_edge_exactly_one_gets_each_centre(shape: Any, share: float) -> None:
    """A plot cut in two along a line through centres: no centre is lost, none counts twice."""
    west, _, east, _ = shape.bounds
    line = round(2 * (west + share * (east - west))) / 2
    left, right = (
        shapely.intersection(shape, shapely.box(low, -9, high, 9)) for low, high in ((-9, line), (line, 9))
    )
    block = extent(edges_of(shape))
    masks = [centres_inside(edges_of(part), block) for part in (left, right) if part.area > 0]
    _, near = naive_centres(shape, Window(*block))  # a cut moves the ends of slanting edges by a rounding
    counts = np.sum(masks, axis=0)
    assert counts.max(initial=0) <= 1
    np.testing.assert_array_equal((counts == 1)[~near], centres_inside(edges_of(shape), block)[~near])


def test_an_outline_along_pixel_edges_takes_no_row_or_column_more() -> None:
    """A box of 0.3 degrees on a grid of a twelve-thousandth, whose edges are no round binary numbers."""
    site = box_site(6.1, 0.2, 6.4, 0.5)
    grid = Grid("EPSG:4326", (1 / 12000, 0, 6.0, 0, -1 / 12000, 3.0), 36000, 36000)
    pixels = SitePixels(site)
    window = pixels.window(grid)
    assert window == Window(1200, 30000, 3600, 3600)
    assert pixels.mask(grid, window).all()
    assert pixels.window(grid, ring=2) == Window(1198, 29998, 3604, 3604)


@pytest.mark.parametrize(
    ("transform", "width", "window"),
    [
        ((0.1, 0, -180.05, 0, -0.1, 90.05), 3600, Window(1863, 900, 4, 2)),
        ((0.1, 0, -0.05, 0, -0.1, 90.05), 3600, Window(63, 900, 4, 2)),
        ((0.1, 0, -0.05, 0, 0.1, -90.05), 3600, Window(63, 899, 4, 2)),
        ((0.1, 0, -180.05, 0, -0.1, 90.05), 7200, Window(1863, 900, 4, 2)),
        ((0.1, 0, -360.05, 0, -0.1, 90.05), 3600, Window(63, 900, 4, 2)),
    ],
)
def test_geographic_rasters_on_any_turn_and_in_any_order(
    transform: tuple[float, ...], width: int, window: Window
) -> None:
    grid = Grid("EPSG:4326", transform, width, 1801)  # type: ignore[arg-type]
    pixels = SitePixels(box_site(6.3, -0.1, 6.6, 0.0))
    assert pixels.window(grid) == window
    assert pixels.mask(grid, window).all()


def test_sites_west_of_greenwich_on_a_raster_of_0_to_360() -> None:
    grid = Grid("EPSG:4326", (0.1, 0, -0.05, 0, -0.1, 90.05), 3600, 1801)
    assert SitePixels(box_site(-63.3, -24.1, -63.1, -23.9)).window(grid) == Window(2967, 1139, 3, 3)


def test_a_site_over_greenwich_on_a_raster_of_0_to_360_has_both_ends() -> None:
    grid = Grid("EPSG:4326", (1.0, 0, 0, 0, -1.0, 90), 360, 180)
    pixels = SitePixels(box_site(-2, 50, 3, 52))
    window = pixels.window(grid)
    assert window == Window(0, 38, 360, 2)
    mask = pixels.mask(grid, window)
    assert np.flatnonzero(mask.all(axis=0)).tolist() == [0, 1, 2, 358, 359]
    assert mask.sum() == 10


ANTIMERIDIAN = box_site(179.8, -17.0, -179.7, -16.6)


def test_over_the_antimeridian_a_sinusoidal_tile_sees_its_own_part() -> None:
    """Tiles h35v10 and h00v10 hold 0.2 and 0.3 degrees of it; the projection keeps areas."""
    pixels = SitePixels(ANTIMERIDIAN)
    width, height = ANTIMERIDIAN.size
    for grid, share in ((modis_tile(35, 10), 0.4), (modis_tile(0, 10), 0.6)):
        window = pixels.window(grid)
        assert window.within(grid.width, grid.height) == window
        seen = int(pixels.mask(grid, window).sum())
        assert seen == pytest.approx(share * width * height / CELL_250**2, rel=0.01)


@pytest.mark.parametrize("crs", [SINUSOIDAL, MOLLWEIDE])
def test_over_the_antimeridian_each_half_of_a_map_sees_its_own_part(crs: str) -> None:
    pixels = SitePixels(ANTIMERIDIAN)
    transformer = Transformer.from_crs("OGC:CRS84", crs, always_xy=True)
    seam, _ = transformer.transform(180.0, -17.0)
    edge, north = transformer.transform(180.0, -16.6)
    reach = max(seam, edge)
    east = Grid(crs, (250, 0, reach - 75_000, 0, -250, north + 5_000), 320, 220)
    west = Grid(crs, (250, 0, -reach - 5_000, 0, -250, north + 5_000), 320, 220)
    expected = []
    for grid, (low, high) in ((east, (179.8, 180.0)), (west, (-180.0, -179.7))):
        window = pixels.window(grid)
        assert window.within(grid.width, grid.height) == window
        outline = outline_in_cells(Site("b", from_box((low, -17.0, high, -16.6)[:4])), grid)
        assert_smallest(window, outline)
        inside, near = naive_centres(outline, window)
        np.testing.assert_array_equal(pixels.mask(grid, window)[~near], inside[~near])
        expected.append(int(inside.sum()))
    whole = Grid(crs, (250, 0, west.transform[2], 0, -250, north + 5_000), round(2 * reach / 250) + 40, 220)
    window = pixels.window(whole)
    assert int(pixels.mask(whole, window).sum()) == pytest.approx(sum(expected), abs=0.005 * sum(expected))


@pytest.mark.parametrize(
    ("west", "columns"),
    [(177.0, (3360, 600)), (-180.0, (-240, 600)), (-183.0, (3360, 600))],
)
def test_over_the_antimeridian_a_geographic_tile_has_one_block(west: float, columns: tuple[int, int]) -> None:
    """The window is not clipped: it reaches beyond the tile, where the neighbour tile has the rest."""
    grid = Grid("EPSG:4326", (1 / 1200, 0, west, 0, -1 / 1200, -15), 3600, 3600)
    pixels = SitePixels(ANTIMERIDIAN)
    window = pixels.window(grid)
    assert window == Window(columns[0], 1920, columns[1], 480)
    assert pixels.mask(grid, window).all()


def test_over_the_antimeridian_a_raster_told_two_turns_long_has_one_block() -> None:
    grid = Grid("EPSG:4326", (0.1, 0, -180.05, 0, -0.1, 90.05), 7200, 1801)
    assert SitePixels(ANTIMERIDIAN).window(grid) == Window(3598, 1066, 6, 5)


def test_over_the_antimeridian_a_raster_of_the_globe_has_both_ends() -> None:
    grid = Grid("EPSG:4326", (0.1, 0, -180, 0, -0.1, 90), 3600, 1800)
    pixels = SitePixels(ANTIMERIDIAN)
    window = pixels.window(grid)
    assert window == Window(0, 1066, 3600, 4)
    assert np.flatnonzero(pixels.mask(grid, window).all(axis=0)).tolist() == [0, 1, 2, 3598, 3599]


@pytest.mark.parametrize("crs", ["EPSG:32701", "EPSG:32760"])
def test_over_the_antimeridian_both_utm_zones_see_the_whole_site(crs: str) -> None:
    pixels = SitePixels(ANTIMERIDIAN)
    grid = around(crs, ANTIMERIDIAN, 30)
    window = pixels.window(grid)
    assert window.within(grid.width, grid.height) == window
    outline = outline_in_cells(ANTIMERIDIAN, grid)
    assert_smallest(window, outline)
    assert pixels.mask(grid, window).sum() == pytest.approx(outline.area, rel=1e-4)


def test_a_site_over_two_utm_zones_keeps_its_area_in_both() -> None:
    site = box_site(5.9, 50.0, 6.1, 50.2)
    pixels = SitePixels(site)
    areas = [
        int(pixels.mask(grid, pixels.window(grid)).sum())
        for grid in (around("EPSG:32631", site, 30), around("EPSG:32632", site, 30))
    ]
    width, height = site.size
    assert areas == [pytest.approx(width * height / 900, rel=2e-3)] * 2


@pytest.mark.parametrize(
    ("box", "crs"),
    [
        ((10, 89.5, 100, 90), "EPSG:3413"),
        ((-170, 89.0, -20, 90), "EPSG:32661"),
        ((170, -89.9, -170, -89.5), "EPSG:3031"),
        ((-30, -90, 30, -89.8), "EPSG:3031"),
    ],
)
def test_wedges_at_the_poles_are_curved(box: tuple[float, float, float, float], crs: str) -> None:
    site, cell = box_site(*box), 2000.0
    grid = Grid(crs, (cell, 0, -500_000 + (2_000_000 if crs == "EPSG:32661" else 0), 0, -cell, 500_000 + (2_000_000 if crs == "EPSG:32661" else 0)), 500, 500)  # fmt: skip
    pixels = SitePixels(site)
    window = pixels.window(grid)
    outline = outline_in_cells(site, grid)
    assert_smallest(window, outline)
    mask = pixels.mask(grid, window)
    if not pixels.is_coarse(grid):
        inside, near = naive_centres(outline, window)
        np.testing.assert_array_equal(mask[~near], inside[~near])
    assert mask.sum() >= outline.area * 0.99


@pytest.mark.parametrize("cell", [30.0, 250.0, 1000.0])
def test_a_plot_of_100_metres_has_pixels_in_every_product(cell: float) -> None:
    site = box_site(9.0, 45.0, 9.00127, 45.0009)
    assert site.shorter_side == pytest.approx(100, rel=0.01)
    grid = around("EPSG:32632", site, cell, (0.3, 0.4))
    pixels = SitePixels(site)
    window = pixels.window(grid)
    assert pixels.is_coarse(grid)
    assert pixels.mask(grid, window).all()
    assert (window.width - 1) * cell < 102


def test_a_plot_of_100_metres_in_a_tenth_of_a_degree() -> None:
    grid = Grid("EPSG:4326", (0.1, 0, -180.05, 0, -0.1, 90.05), 3600, 1801)
    pixels = SitePixels(box_site(9.0, 45.0, 9.00127, 45.0009))
    assert pixels.window(grid) == Window(1890, 450, 1, 1)
    assert pixels.window(grid, ring=1) == Window(1889, 449, 3, 3)
    mask = pixels.mask(grid, Window(1889, 449, 3, 3))
    assert (mask.sum(), bool(mask[1, 1])) == (1, True)


def test_the_rule_of_a_tenth_begins_above_a_tenth() -> None:
    """Definitions: larger than a tenth. The longer side of a cell counts."""
    site = box_site(0.0, -0.05, 0.1, 0.05)
    tenth = site.shorter_side / 10
    pixels = SitePixels(site)
    grid = around("EPSG:32631", site, tenth * 0.999)
    assert not pixels.is_coarse(grid)
    assert pixels.is_coarse(around("EPSG:32631", site, tenth * 1.001))
    a, b, c, d, e, f = grid.transform
    assert pixels.is_coarse(Grid(grid.crs, (a, b, c, d, e * 1.01, f), grid.width, grid.height))


def test_a_margin_is_in_metres_and_rounded_up() -> None:
    site = box_site(9.0, 45.0, 9.2, 45.2)
    pixels, grid = SitePixels(site), around("EPSG:32632", site, 30)
    bare = pixels.window(grid)
    for margin, cells in ((0, 0), (1, 1), (30, 1), (30.1, 2), (300, 10)):
        wide = pixels.window(grid, margin=margin, ring=1)
        assert wide == Window(bare.col - cells - 1, bare.row - cells - 1, bare.width + 2 * cells + 2, bare.height + 2 * cells + 2)  # fmt: skip
    wide = pixels.window(grid, margin=300)
    np.testing.assert_array_equal(pixels.mask(grid, wide)[10:-10, 10:-10], pixels.mask(grid, bare))
    assert pixels.mask(grid, wide).sum() == pixels.mask(grid, bare).sum()


def test_a_margin_on_a_grid_in_degrees_and_one_in_feet() -> None:
    site = box_site(-90.0, 60.0, -89.8, 60.2)
    degrees = Grid("EPSG:4326", (0.001, 0, -91, 0, -0.001, 61), 2000, 2000)
    pixels = SitePixels(site)
    bare, wide = pixels.window(degrees), pixels.window(degrees, margin=1000)
    assert (bare.col - wide.col, bare.row - wide.row) == (18, 9)  # cells of 55.7 by 111.4 m
    feet = around("EPSG:2225", box_site(-122.0, 40.0, -121.9, 40.1), 100)
    pixels = SitePixels(box_site(-122.0, 40.0, -121.9, 40.1))
    assert pixels.window(feet).col - pixels.window(feet, margin=1000).col == 33  # 3280.8 feet


@pytest.mark.parametrize(
    "grid",
    [
        Grid("EPSG:32632", (30, 0, 300_000, 0, -30, 6_000_000), 1000, 1000),
        Grid("EPSG:32760", (30, 0, 300_000, 0, -30, 6_000_000), 1000, 1000),
        Grid("EPSG:3413", (30, 0, 0, 0, -30, 0), 1000, 1000),
        Grid("EPSG:3031", (30, 0, 0, 0, -30, 0), 1000, 1000),
        Grid("EPSG:4326", (0.001, 0, 10, 0, -0.001, 60), 1000, 1000),
        modis_tile(18, 4),
    ],
    ids=lambda grid: grid.crs[:12],
)
def test_a_raster_elsewhere_has_an_empty_window(grid: Grid) -> None:
    pixels = SitePixels(box_site(-63.3, -24.1, -63.1, -23.9))
    window = pixels.window(grid, ring=1, margin=1000)
    assert window == EMPTY
    assert pixels.mask(grid, window).shape == (0, 0)
    assert not pixels.mask(grid, Window(0, 0, 5, 4)).any()


def test_the_pole_of_the_other_hemisphere_has_no_place_on_a_polar_map() -> None:
    grid = Grid("EPSG:3413", (1000, 0, -4e6, 0, -1000, 4e6), 8000, 8000)
    assert SitePixels(box_site(-30, -90, 30, -89)).window(grid) == EMPTY


def test_scenes_of_one_lattice_share_one_mask() -> None:
    site = box_site(9.0, 45.0, 9.3, 45.3)
    first = around("EPSG:32632", site, 30)
    a, b, c, d, e, f = first.transform
    second = Grid(first.crs, (a, b, c - 30 * 17, d, e, f + 30 * 4), first.width, first.height)
    pixels = SitePixels(site)
    one, two = pixels.window(first), pixels.window(second)
    assert two == Window(one.col + 17, one.row + 4, one.width, one.height)
    assert pixels.mask(first, one) is pixels.mask(second, two)
    shifted = Grid(first.crs, (a, b, c - 15, d, e, f), first.width, first.height)
    assert pixels.mask(shifted, pixels.window(shifted)) is not pixels.mask(first, one)
    with pytest.raises(ValueError, match="read-only"):
        pixels.mask(first, one)[0, 0] = True


def test_memory_does_not_grow_with_the_number_of_lattices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pixels_module, "_CACHE", 200_000)
    monkeypatch.setattr(pixels_module, "_LATTICES", 5)
    site = box_site(9.0, 45.0, 9.1, 45.1)
    pixels = SitePixels(site)
    for cell in np.linspace(30, 60, 40):
        grid = around("EPSG:32632", site, float(cell))
        window = pixels.window(grid)
        first = pixels.mask(grid, window)
        assert sum(mask.nbytes for mask in pixels._masks.values()) == pixels._bytes <= 200_000
        assert len(pixels._parts) <= 5
        np.testing.assert_array_equal(pixels.mask(grid, window), first)


def test_a_block_of_a_mask_is_the_block() -> None:
    site = Site("a", from_geometry(shapely.Polygon([(9, 45), (9.3, 45.1), (9.1, 45.3)])))
    grid = around("EPSG:32632", site, 30)
    window = SitePixels(site).window(grid)
    whole = SitePixels(site).mask(grid, window)
    for pixels in (SitePixels(site), SitePixels(site)):
        part = pixels.mask(grid, Window(window.col + 100, window.row + 200, 300, 150))
        np.testing.assert_array_equal(part, whole[200:350, 100:400])


def test_threads_get_the_same_pixels() -> None:
    site = box_site(9.0, 45.0, 9.3, 45.3)
    grids = [around(crs, site, cell) for crs in ("EPSG:32632", "EPSG:32631") for cell in (30, 90, 250)] * 8
    shared = SitePixels(site)
    with ThreadPoolExecutor(8) as pool:
        sums = list(pool.map(lambda grid: int(shared.mask(grid, shared.window(grid)).sum()), grids))
    alone = SitePixels(site)
    assert sums == [int(alone.mask(grid, alone.window(grid)).sum()) for grid in grids]


def test_masks_that_no_machine_holds_are_refused() -> None:
    site = box_site(9.0, 45.0, 19.0, 55.0)
    grid = Grid("EPSG:4326", (1e-5, 0, 0, 0, -1e-5, 60), 3_000_000, 3_000_000)
    pixels = SitePixels(site)
    with pytest.raises(BadSite, match="more than one mask"):
        pixels.mask(grid, pixels.window(grid))


@pytest.mark.parametrize(
    ("grid", "said"),
    [
        (Grid("EPSG:32632", (30, 1, 300_000, 1, -30, 6_000_000), 10, 10), "not north up"),
        (Grid("nonsense", (30, 0, 300_000, 0, -30, 6_000_000), 10, 10), "not understood"),
        (Grid("", (30, 0, 300_000, 0, -30, 6_000_000), 10, 10), "not understood"),
        (Grid('LOCAL_CS["x",UNIT["metre",1]]', (30, 0, 0, 0, -30, 0), 10, 10), "can not be reached"),
    ],
)
def test_rasters_that_lie_nowhere(grid: Grid, said: str) -> None:
    with pytest.raises(UnsupportedRaster, match=said):
        SitePixels(box_site(9, 45, 9.1, 45.1)).window(grid)


def test_a_thousand_by_a_thousand_pixels_are_quick() -> None:
    site = box_site(9.0, 45.0, 9.38, 45.27)
    grid = around("EPSG:32632", site, 30)
    SitePixels(site).window(grid)  # PROJ opens its database once
    pixels, begin = SitePixels(site), time.perf_counter()
    mask = pixels.mask(grid, pixels.window(grid))
    assert time.perf_counter() - begin < 0.5
    assert mask.size > 900_000
