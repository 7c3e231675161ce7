"""The worked examples of docs/add-a-product.md do what the page says, on the real files that it speaks of."""

import datetime as dt
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from earthrecord.products.bands import index_of, record_bands
from earthrecord.products.model import Band, Model, Names, Product
from earthrecord.products.patterns import match, refusal
from earthrecord.products.quality import CLASSES, class_table
from earthrecord.products.registry import Products, load

PAGE = (Path(__file__).parents[2] / "docs/add-a-product.md").read_text()


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Products:
    folder = tmp_path_factory.mktemp("my-products")
    for text in re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL):
        found = re.search(r'^id = "(.+)"$', text, re.MULTILINE)
        assert found is not None
        (folder / f"{found[1]}.toml").write_text(text)
    return load([folder])


def test_the_page_holds_both_tables_whole(known: Products) -> None:
    assert list(known)[:2] == ["era5-land-daily", "landsat-leda-stack"]


@pytest.mark.parametrize("model", [Product, Band, Names], ids=lambda model: model.__name__)
def test_the_page_explains_every_key(model: type[Model]) -> None:
    keys = set(re.findall(r"[a-z_0-9]+", " ".join(re.findall(r"^\| (.+?) \|", PAGE, re.MULTILINE))))
    assert set(model.__struct_fields__) <= keys
    assert {"like", "substitute", "replaces"} <= keys


@pytest.mark.real
def test_all_447_names_match_with_their_dates_and_satellites(known: Products, real: Path) -> None:
    product = known["landsat-leda-stack"]
    [names] = product.names
    dates, satellites = {}, Counter[str]()
    for path in (real / "landsat-stack-yatsm/p035r032").glob("*.tif"):
        name = f"p035r032/{path.name}"
        groups = match(names, name)
        assert groups is not None
        assert not any(match(other, name) for p in known.values() if p is not product for other in p.names)
        assert refusal(known["landsat-c2-l2"], name)
        dates[groups["scene"]] = dt.datetime.strptime(groups["date"], names.dates["date"])  # noqa: DTZ007
        satellites[product.satellites[groups["satellite"]].platform] += 1
        assert (groups["path"], groups["row"]) == ("035", "032")
    assert len(dates) == 447
    assert satellites == Counter({"landsat-5": 284, "landsat-7": 159, "landsat-4": 4})
    listed = _listed(real / "landsat-stack-yatsm/p035r032-images.csv")
    assert {scene for scene in dates if scene[9:16] not in ("1999366", "2012366", "1988366")} < set(listed)
    assert all(dates[scene] == day for scene, day in listed.items() if scene in dates)
    assert sum(scene in listed for scene in dates) == 444


def _listed(file: Path) -> dict[str, dt.datetime]:
    """Scenes and days as the maker of the stack lists them. Three days there are other ones than in the file names."""
    rows = (line.split(",") for line in file.read_text().split()[1:])
    return {row[2].rsplit("/", 1)[-1].split("_")[0]: dt.datetime.strptime(row[0], "%Y%j") for row in rows}  # noqa: DTZ007


@pytest.mark.real
def test_the_layers_of_the_real_stack_are_as_the_table_says(known: Products, real: Path) -> None:
    import rasterio

    product = known["landsat-leda-stack"]
    classes, codes = Counter[str](), Counter[int]()
    names = {number: name for name, number in CLASSES.items()}
    for path in sorted((real / "landsat-stack-yatsm/p035r032").glob("*.tif")):
        with rasterio.open(path) as raster:
            stack = raster.read()
            assert set(raster.dtypes) == {"int16"}
            tags = raster.tags()
        for band in record_bands(product, "tm"):
            layer = stack[index_of(band, "tm") - 1]
            _holds(band, layer, tags[f"Band_{index_of(band, 'tm')}"])
        table = class_table(product, "tm", "int16")
        codes.update(stack[7].ravel().tolist())
        classes.update(names[int(code)] for code in table[stack[7].view(np.uint16)].ravel())
    assert codes == {0: 6072, 2: 765, 3: 1194, 4: 2223, 255: 474, -9999: 447}
    assert classes == {"clear": 6072, "shadow": 765, "snow": 1194, "cloud": 2223, "fill": 474 + 447}


def _holds(band: Band, layer: np.ndarray, tag: str) -> None:
    """The tag names the layer, and all values but fill lie in its valid range."""
    word = {"thermal": "T_b", "nir": "NIR"}.get(band.name, band.name)
    assert word.casefold() in tag.casefold()
    if band.valid is not None:
        values = layer[~np.isin(layer, band.fill)]
        assert ((values >= band.valid[0]) & (values <= band.valid[1])).all()


@pytest.mark.real
def test_the_daily_table_describes_the_real_file(known: Products, real: Path) -> None:
    import netCDF4

    product = known["era5-land-daily"]
    [band] = product.bands
    assert match(product.names[0], "era5land-krigr/CentralNorway.nc") is not None
    assert (
        next(p.id for p in known.values() if any(match(n, "CentralNorway.nc") for n in p.names)) == product.id
    )
    assert band.member is not None
    with netCDF4.Dataset(str(real / "era5land-krigr/CentralNorway.nc")) as file:
        variable = file.variables[band.member]
        assert (str(variable.dtype), variable.units) == (band.dtype, band.unit)
        days = np.diff(np.asarray(file["time"][:])) / 86400
        assert days.tolist() == [product.period_days] * 4
        assert np.allclose(np.diff(np.asarray(file["longitude"][:])), product.grid.cell)
