"""Boxes and polygons as people write them: right, or a clear error."""

from __future__ import annotations

import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st
from shapely.affinity import translate

from earthrecord.errors import BadSite
from earthrecord.sites.ground import metres_per_degree, projected_crs
from earthrecord.sites.model import Site
from earthrecord.sites.outline import from_box, from_geometry


def polygon(*points: tuple[float, float]) -> shapely.Polygon:
    return shapely.Polygon(points)


BOX = polygon((6, 0), (6.2, 0), (6.2, 0.3), (6, 0.3))


@pytest.mark.parametrize(
    ("box", "bounds"),
    [
        ((6.0, 0.0, 6.1, 0.1), (6.0, 0.0, 6.1, 0.1)),
        ((179.8, -17, -179.7, -16), (179.8, -17, 180.3, -16)),
        ((179.8, -17, 180.3, -16), (179.8, -17, 180.3, -16)),
        ((-180.2, -17, -179.7, -16), (179.8, -17, 180.3, -16)),
        ((359.5, 50, 360.5, 51), (-0.5, 50, 0.5, 51)),
        ((180, 1, 181, 2), (-180, 1, -179, 2)),
        ((0, 85, 90, 90), (0, 85, 90, 90)),
        ((-30, -90, 30, -89), (-30, -90, 30, -89)),
    ],
)
def test_boxes_become_continuous(box: tuple[float, ...], bounds: tuple[float, ...]) -> None:
    assert from_box(box).bounds == pytest.approx(bounds)


@pytest.mark.parametrize(
    ("box", "said"),
    [
        ((1, 2, 3), "3 numbers"),
        ((1, 2, 1, 3), "no width"),
        ((1, 3, 2, 2), "from south 3 to north 2"),
        ((1, 2, 2, 2), "from south 2 to north 2"),
        ((10, 2, -10, 3), "swap them"),
        ((-100, 2, 100, 3), "200 degrees"),
        ((-90, 2, 90, 3), "180 degrees"),
        ((1, 89, 2, 90.5), "latitude 90.5"),
        ((-24, 147, -23, 148), "swapped"),
        ((336375, 44605, 338205, 44624), "beyond the globe"),
        ((float("nan"), 2, 3, 4), "not a finite number"),
        ((1, 2, 1.000001, 2.000001), "at least 1 m"),
        ((1, 89.9999999, 2, 90), "at least 1 m"),
    ],
)
def test_boxes_that_can_not_be(box: tuple[float, ...], said: str) -> None:
    with pytest.raises(BadSite, match=said):
        from_box(box)


def test_parts_cut_at_the_antimeridian_are_joined_again() -> None:
    """RFC 7946, section 3.1.9."""
    cut = shapely.MultiPolygon([shapely.box(179.5, -17, 180, -16), shapely.box(-180, -17, -179, -16)])
    joined = from_geometry(cut)
    assert joined.geom_type == "Polygon"
    assert joined.equals(shapely.box(179.5, -17, 181, -16))


def test_islands_on_both_sides_of_the_antimeridian_stay_apart() -> None:
    fiji = shapely.MultiPolygon([shapely.box(-179.5, -17, -179, -16), shapely.box(177, -18, 178, -17)])
    outline = from_geometry(fiji)
    assert outline.bounds == (177, -18, 181, -16)
    assert outline.area == pytest.approx(fiji.area)


@pytest.mark.parametrize("start", [0, 1, 2, 3])
def test_a_ring_that_jumps_over_the_antimeridian(start: int) -> None:
    corners = [(179.0, 1.0), (-179.0, 1.0), (-179.0, 3.0), (179.0, 3.0)]
    ring = polygon(*corners[start:], *corners[:start])
    assert from_geometry(ring).normalize().equals(shapely.box(179, 1, 181, 3).normalize())


def test_a_hole_stays_in_its_shell_over_the_antimeridian() -> None:
    shell = [(178.0, 1.0), (-178.0, 1.0), (-178.0, 3.0), (178.0, 3.0)]
    hole = [(-179.5, 1.5), (-179.0, 1.5), (-179.0, 2.0)]
    outline = from_geometry(shapely.Polygon(shell, [hole]))
    assert outline.area == pytest.approx(4 * 2 - 0.125)
    assert not outline.contains(shapely.Point(180.9, 1.6))


@pytest.mark.parametrize(
    ("geometry", "said"),
    [
        (None, "empty"),
        (shapely.Polygon(), "empty"),
        (shapely.Point(1, 2), "Point.*buffer"),
        (shapely.LineString([(0, 0), (1, 1)]), "LineString"),
        (polygon((0, 0), (1, 1), (1, 0), (0, 1)), r"Self-intersection.*0\.5 0\.5.*change its area"),
        (shapely.MultiPolygon([shapely.box(0, 0, 2, 2), shapely.box(1, 1, 3, 3)]), "not simple"),
        (polygon((0, 0), (1, 1), (2, 2)), "not simple|area"),
        (polygon((-180, -90), (180, -90), (180, -60), (-180, -60)), "around the globe or a pole"),
        (polygon((-120, 80), (0, 80), (120, 80)), "around the globe or a pole"),
        (polygon((-100, 0), (0, 0), (100, 0), (0, 50)), "200 degrees"),
        (shapely.MultiPolygon([shapely.box(-100, 0, -99, 1), shapely.box(90, 0, 91, 1), shapely.box(0, 0, 1, 1)]), "degrees of longitude"),
        (polygon((0, 0), (1, 0), (1, 95)), "latitude 95"),
    ],
    ids=str,
)  # fmt: skip
def test_polygons_that_can_not_be(geometry: object, said: str) -> None:
    with pytest.raises(BadSite, match=said):
        from_geometry(geometry)


def test_heights_are_dropped() -> None:
    assert not from_geometry(shapely.force_3d(BOX, 12.0)).has_z


@given(west=st.floats(-180, 179.99), width=st.floats(0.01, 179), turns=st.sampled_from([-360, 0, 360]))
def test_a_box_is_the_same_on_every_turn(west: float, width: float, turns: int) -> None:
    box = shapely.box(west, 10, west + width, 11)
    moved = translate(box, turns)
    if moved.bounds[0] < -540 or moved.bounds[2] > 540:
        return
    outline = from_geometry(moved)
    assert outline.bounds == pytest.approx(box.bounds, abs=1e-9)
    assert -180 <= outline.bounds[0] < 180 + 1e-9


@pytest.mark.parametrize(
    ("place", "code"),
    [
        ((-63.2, -24.0), 32720), ((6.6, 0.1), 32632), ((0, 0), 32631), ((180.2, -17), 32701), ((179.9, 17), 32660),
        ((5, 60), 32632), ((2.9, 60), 32631), ((12, 60), 32633), ((5, 64), 32631),
        ((8.9, 78), 32631), ((9, 78), 32633), ((21, 78), 32635), ((33, 78), 32637), ((42, 78), 32638),
        ((10, 84.1), 3413), ((10, -80.1), 3031), ((10, -79.9), 32732),
    ],
)  # fmt: skip
def test_the_crs_of_a_place(place: tuple[float, float], code: int) -> None:
    """UTM zones as Sentinel-2 tiles have them, polar grids beyond."""
    assert projected_crs(*place) == f"EPSG:{code}"


@pytest.mark.parametrize("latitude", [0.0, -24.0, 45.0, 79.9, 89.0])
def test_metres_of_a_degree_agree_with_geodesics(latitude: float) -> None:
    from pyproj import Geod

    geod = Geod(ellps="WGS84")
    _, _, east = geod.inv(10, latitude, 10.001, latitude)
    _, _, north = geod.inv(10, latitude - 0.0005, 10, latitude + 0.0005)
    per_east, per_north = metres_per_degree(latitude)
    assert per_east / 1000 == pytest.approx(east, rel=1e-6)
    assert per_north / 1000 == pytest.approx(north, rel=1e-6)


@pytest.mark.parametrize("site", ["", "a b", "a/b", "..", "-a", "_a", "ä", "a" * 65, "a.b", "a\n"])
def test_ids_that_name_no_folder(site: str) -> None:
    with pytest.raises(BadSite, match="no site id"):
        Site(site, BOX)


@pytest.mark.parametrize(
    ("key", "value"), [("kind", "plot"), ("kind", None), ("theme", "trees"), ("role", ""), ("koppen", "BWh")]
)
def test_attributes_come_from_closed_lists(key: str, value: str | None) -> None:
    with pytest.raises(BadSite, match=f"{key} is {value!r}; write one of"):
        Site("a", BOX, **{key: value})  # type: ignore[arg-type]


@pytest.mark.parametrize(("crs", "said"), [("EPSG:4326", "not projected"), ("EPSG:99", "not understood")])
def test_a_crs_is_projected(crs: str, said: str) -> None:
    with pytest.raises(BadSite, match=said):
        Site("a", BOX, crs=crs)


def test_the_digest_tells_geometry_alone() -> None:
    site = Site("a", BOX)
    assert site.digest == Site("b", BOX, kind="region", crs="EPSG:32633", name="b").digest
    assert site.digest == Site("a", translate(BOX, 1e-12)).digest
    assert site.digest != Site("a", translate(BOX, 1e-8)).digest
