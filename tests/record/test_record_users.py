"""Records through product tables of a user's own, as docs/add-a-product.md gives them, on real files."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import rasterio
from rasterio.warp import transform_bounds

from earthrecord.archive import search
from earthrecord.products.registry import Products, load
from earthrecord.record import ledger
from earthrecord.record.build import Builder
from earthrecord.record.model import Places, Rules
from earthrecord.record.seal import build
from earthrecord.record.verify import verify
from earthrecord.sites.readers import read_sites

pytestmark = pytest.mark.real
PAGE = Path(__file__).parents[2] / "docs" / "add-a-product.md"


@pytest.fixture(scope="module")
def mine(tmp_path_factory: pytest.TempPathFactory) -> Products:
    """The shipped products and the two tables that the page holds whole."""
    folder = tmp_path_factory.mktemp("products")
    for text in re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.DOTALL):
        (name,) = re.findall(r'^id = "(.+)"$', text, re.MULTILINE)
        (folder / f"{name}.toml").write_text(text)
    return load([folder])


def make(folder: Path, bbox: tuple[float, ...], source: Path, mine: Products, rules: Rules) -> Places:
    (folder / "sites.toml").write_text(f'[[sites]]\nid = "mine"\nkind = "core"\nbbox = {list(bbox)}\n')
    site = read_sites(folder / "sites.toml")["mine"]
    places = Places("mine", folder / "work", folder / "records")
    build(Builder(site, mine, rules, places), search.search_all([source], mine))
    report = verify(places, mine, site)
    assert report.findings == ()
    assert (
        report.recounted
        == ledger.read(places.ledger).filter(pl.col("kept") & pl.col("clear").is_not_null()).height
    )
    return places


def test_the_447_stacks_of_a_plot_of_150_metres(real: Path, tmp_path: Path, mine: Products) -> None:
    source = real / "landsat-stack-yatsm" / "p035r032"
    with rasterio.open(next(source.glob("*.tif"))) as file:
        bbox = transform_bounds(file.crs, "EPSG:4326", *file.bounds)
    inner = (bbox[0] + 4e-4, bbox[1] + 4e-4, bbox[2] - 4e-4, bbox[3] - 4e-4)
    places = make(tmp_path, inner, source, mine, Rules(obscured=None))
    book = ledger.read(places.ledger)
    assert book.height == 447
    kept = book.filter("kept")
    assert set(book.filter(~pl.col("kept"))["rule"]) <= {"no observation", "duplicate"}
    assert set(kept["platform"]) == {"landsat-4", "landsat-5", "landsat-7"}
    compared = 0
    for row in kept.iter_rows(named=True):
        with rasterio.open(source / f"{row['scene']}_stack.tif") as theirs:
            values = theirs.read()
            x0, y0 = theirs.bounds.left, theirs.bounds.top
        for path in sorted((places.record / row["folder"]).iterdir()):
            band = next(b for b in mine["landsat-leda-stack"].bands if path.stem.endswith(f"_{b.name}"))
            assert isinstance(band.index, int)
            with rasterio.open(path) as ours:
                col, line = round((ours.bounds.left - x0) / 30), round((y0 - ours.bounds.top) / 30)
                window = values[band.index - 1, line : line + ours.height, col : col + ours.width]
                np.testing.assert_array_equal(ours.read(1), window)
                compared += 1
    assert compared == kept.height * len([b for b in mine["landsat-leda-stack"].bands if b.record])


def test_daily_era5_land_through_a_table_of_the_users_own(real: Path, tmp_path: Path, mine: Products) -> None:
    """Refused as ERA5-Land monthly; built, cropped and equal to the source where it is described."""
    import netCDF4

    source = real / "era5land-krigr"
    places = make(tmp_path, (8.0, 60.0, 8.4, 60.3), source, mine, Rules())
    (path,) = places.record.rglob("*.nc")
    with netCDF4.Dataset(path) as ours, netCDF4.Dataset(source / "CentralNorway.nc") as theirs:
        for file in (ours, theirs):
            file.set_auto_maskandscale(False)
        product = mine["era5-land-daily"]
        name = str(next(band.member for band in product.bands if band.record))
        lat, lon = (next(d for d in theirs[name].dimensions if d.startswith(axis)) for axis in ("lat", "lon"))
        rows = np.searchsorted(-np.asarray(theirs[lat][:]), -np.asarray(ours[lat][:]) - 1e-6)
        cols = np.searchsorted(np.asarray(theirs[lon][:]), np.asarray(ours[lon][:]) - 1e-6)
        np.testing.assert_array_equal(ours[name][:], theirs[name][:][:, rows][:, :, cols])
        assert ours[name].dtype == theirs[name].dtype
        attributes = set(theirs[name].ncattrs())
        assert {key: str(ours[name].getncattr(key)) for key in attributes} == {
            key: str(theirs[name].getncattr(key)) for key in attributes
        }
        step = 0.1
        west, south, east, north = 8.0, 60.0, 8.4, 60.3
        assert ours[lon][0] - step / 2 <= west - step + 1e-6
        assert ours[lon][-1] + step / 2 >= east + step - 1e-6
        assert ours[lat][:].min() - step / 2 <= south - step + 1e-6
        assert ours[lat][:].max() + step / 2 >= north + step - 1e-6
