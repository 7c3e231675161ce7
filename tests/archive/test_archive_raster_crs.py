"""Names of coordinate reference systems, and geokeys that GDAL reads back as the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from earthrecord import _core
from earthrecord.archive import crs

LAEA = "+proj=laea +lat_0=45.5 +lon_0=-114.125 +x_0=0 +y_0=0 +datum=WGS84 +units=m +no_defs"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("EPSG:32633", "+proj=utm +zone=33 +datum=WGS84 +units=m +no_defs"),
        ("OGC:CRS84", "EPSG:4326"),
        (crs.SINUSOIDAL, "+proj=sinu +R=6371007.181 +lon_0=0 +x_0=0 +y_0=0 +units=m"),
        ("ESRI:54009", "+proj=moll +datum=WGS84 +units=m"),
        ("nonsense", "nonsense"),
    ],
)
def test_the_same_coordinates_under_two_names(one: str, other: str) -> None:
    assert crs.same(one, other)
    assert crs.same(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("EPSG:32633", "EPSG:32634"),
        ("EPSG:32633", "EPSG:32733"),
        ("EPSG:3031", "EPSG:3976"),
        (crs.SINUSOIDAL, "+proj=sinu +R=6371000 +units=m"),
        (crs.SINUSOIDAL, "+proj=sinu +datum=WGS84 +units=m"),
        ("EPSG:4326", "EPSG:32633"),
        ("EPSG:4326", "+proj=longlat +R=6367470"),
        ("EPSG:2263", "+proj=utm +zone=18 +datum=NAD83"),
        ("EPSG:4326", "nonsense"),
    ],
)
def test_other_coordinates(one: str, other: str) -> None:
    assert not crs.same(one, other)


def test_a_crs_gets_its_shortest_name() -> None:
    import rasterio

    assert crs.named(rasterio.CRS.from_epsg(32633).to_wkt()) == "EPSG:32633"
    assert crs.named(rasterio.CRS.from_string(crs.SINUSOIDAL).to_wkt()) == crs.SINUSOIDAL
    assert crs.same(crs.named(LAEA), LAEA)


@pytest.mark.parametrize(
    "name", ["EPSG:32633", "EPSG:4326", "EPSG:3031", "EPSG:3035", crs.SINUSOIDAL, "ESRI:54009", LAEA]
)
def test_geokeys_are_read_back_as_the_crs(tmp_path: Path, name: str) -> None:
    import rasterio

    path = tmp_path / "x.tif"
    _core.write_raster(path, np.zeros((2, 3), np.uint8), (1.0, 0.0, 5.0, 0.0, -1.0, 9.0), crs.geokeys(name))
    with rasterio.open(path) as dataset:
        assert crs.same(dataset.crs.to_wkt(), name)
    again = crs.of_header(_core.scan_header(path))
    assert again is not None
    assert crs.same(again, name)


def test_the_sinusoidal_constant_is_what_gdal_writes(tmp_path: Path) -> None:
    import rasterio

    profile = {
        "driver": "GTiff",
        "width": 1,
        "height": 1,
        "count": 1,
        "dtype": "uint8",
        "crs": crs.SINUSOIDAL,
    }
    with rasterio.open(
        tmp_path / "x.tif", "w", transform=rasterio.Affine(2, 0, 0, 0, -2, 0), **profile
    ) as out:
        out.write(np.zeros((1, 1, 1), np.uint8))
    theirs = crs.of_header(_core.scan_header(tmp_path / "x.tif"))
    assert theirs == crs.SINUSOIDAL
    with rasterio.open(tmp_path / "x.tif") as by_gdal:
        _core.write_raster(
            tmp_path / "y.tif",
            np.zeros((1, 1), np.uint8),
            (2.0, 0.0, 0.0, 0.0, -2.0, 0.0),
            crs.geokeys(crs.SINUSOIDAL),
        )
        with rasterio.open(tmp_path / "y.tif") as ours:
            assert ours.crs == by_gdal.crs
            assert "6371007.181" in ours.crs.to_wkt()


def test_user_defined_keys_are_understood_once_for_each_blob(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    by_rasterio = crs._by_rasterio

    def counted(path: str) -> str | None:
        asked.append(path)
        return by_rasterio(path)

    monkeypatch.setattr(crs, "_by_rasterio", counted)
    monkeypatch.setattr(crs, "_BY_GEOKEYS", {})
    keys = crs.geokeys(LAEA)
    for name in ("a.tif", "b.tif"):
        _core.write_raster(tmp_path / name, np.zeros((2, 2), np.uint8), (2.0, 0.0, 0.0, 0.0, -2.0, 0.0), keys)
        found = crs.of_header(_core.scan_header(tmp_path / name))
        assert found is not None
        assert crs.same(found, LAEA)
    assert len(asked) == 1


def test_an_esri_code_where_an_epsg_one_belongs(tmp_path: Path) -> None:
    """GHSL comes in Mollweide, ESRI:54009 (products, section 11)."""
    keys = _core.geokeys_of_epsg(54009, False)
    _core.write_raster(
        tmp_path / "x.tif", np.zeros((2, 2), np.uint8), (100.0, 0.0, 0.0, 0.0, -100.0, 0.0), keys
    )
    assert crs.of_header(_core.scan_header(tmp_path / "x.tif")) == "ESRI:54009"
