"""Archives of a test's own: single scenes with the pixels that it wants, under provider names; and builds of them.

A scene covers 4.8 km around the site of `provider_archive`, whose sides are 3 km.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from rasterio.transform import from_origin
from rasterio.warp import transform as reproject_points

import provider_archive
from earthrecord.archive import search
from earthrecord.products.registry import Products, load
from earthrecord.record import ledger
from earthrecord.record.build import Builder
from earthrecord.record.model import Places, Rules
from earthrecord.record.seal import Outcome, build
from earthrecord.sites.model import Site
from earthrecord.sites.readers import read_sites

UTM, SINUSOIDAL = provider_archive.UTM, provider_archive.SINUSOIDAL
EXTENT = 4800
Quality = NDArray[Any]


class Tiny:
    """An archive that a test fills, a site, and builds of it."""

    def __init__(self, folder: Path, site: str = f"bbox = {list(provider_archive.BOX)}", kind: str = "core"):
        self.folder, self.archive = folder, folder / "archive"
        self.archive.mkdir(parents=True)
        (folder / "sites.toml").write_text(f'[[sites]]\nid = "t"\nkind = "{kind}"\n{site}\n')
        self.site: Site = read_sites(folder / "sites.toml")["t"]
        self.products: Products = load()

    def places(self, name: str = "x") -> Places:
        return Places("t", self.folder / name / "work", self.folder / name / "records")

    def builder(self, name: str = "x", **rules: Any) -> Builder:
        return Builder(self.site, self.products, Rules(**rules), self.places(name))

    def scenes(self, sources: Sequence[Path] = ()) -> pl.DataFrame:
        return search.search_all(list(sources) or [self.archive], self.products)

    def build(self, name: str = "x", sources: Sequence[Path] = (), **rules: Any) -> Outcome:
        return build(self.builder(name, **rules), self.scenes(sources))

    def book(self, name: str = "x") -> dict[str, dict[str, Any]]:
        """The ledger by scene."""
        return {row["scene"]: row for row in ledger.read(self.places(name).ledger).to_dicts()}

    def root(self, name: str = "x") -> Path:
        return self.places(name).record


def grid(cell: float, crs: str = UTM, east: float = 0.0, extent: float = EXTENT) -> Any:
    """A transform of square cells around the site's middle, moved to the east by metres."""
    (x,), (y,) = reproject_points("EPSG:4326", crs, *([value] for value in provider_archive.CENTRE))
    return from_origin(
        round((x - extent / 2) / 60) * 60 + east, round((y + extent / 2) / 60) * 60, cell, cell
    )


def landsat(archive: Path, scene: str, quality: Quality, *, transform: Any = None, mtl: bool = True) -> Path:
    """A Landsat scene with its MTL; `quality` is QA_PIXEL."""
    provider_archive._landsat_scene(archive, scene, quality, 1)
    folder = archive / scene
    if transform is not None:
        for path in folder.glob("*.TIF"):
            move(path, transform)
    if transform is not None or not mtl:
        (folder / f"{scene}_MTL.txt").unlink()
    return folder


def move(path: Path, transform: Any, crs: Any = None) -> None:
    """Put a raster elsewhere."""
    import rasterio

    with rasterio.open(path, "r+") as file:
        file.transform = transform
        if crs is not None:
            file.crs = crs


def sentinel2(
    archive: Path,
    scl: Quality,
    *,
    satellite: str = "S2A",
    datatake: str = "20200603T140051",
    sensing: str | None = None,
    tile: str = "20KLV",
    baseline: str = "N0500",
    generated: str = "20230505T101010",
    crs: str = UTM,
    east: float = 0.0,
    reflectance: int | Quality = 1400,
) -> str:
    """A Sentinel-2 granule; `scl` on 20 m, bands of one value (or of an array on 10 m for B02 to B08); returns its id."""
    scene = f"{satellite}_MSIL2A_{datatake}_{baseline}_R067_T{tile}_{generated}"
    sensing = sensing or f"{datatake[:-2]}59"
    images = archive / f"{scene}.SAFE" / "GRANULE" / f"L2A_T{tile}_A025843_{sensing}" / "IMG_DATA"
    size = scl.shape[0]
    coarse, fine = grid(20, crs, east), grid(10, crs, east)
    visible = np.broadcast_to(np.asarray(reflectance, np.uint16), (2 * size, 2 * size))
    for name in ("B02", "B03", "B04", "B08"):
        provider_archive.tiff(images / "R10m" / f"T{tile}_{datatake}_{name}_10m.tif", visible, crs, fine, 0)
    for name in ("B8A", "B11", "B12"):
        values = np.full(scl.shape, 1500, np.uint16)
        provider_archive.tiff(images / "R20m" / f"T{tile}_{datatake}_{name}_20m.tif", values, crs, coarse, 0)
    provider_archive.tiff(images / "R20m" / f"T{tile}_{datatake}_SCL_20m.tif", scl, crs, coarse, 0)
    return scene


def sinusoidal(cell: float, size: int) -> Any:
    """A transform of the sinusoidal grid around the site's middle."""
    (x,), (y,) = reproject_points("EPSG:4326", SINUSOIDAL, *([v] for v in provider_archive.CENTRE))
    left, top = -20015109.356, 10007554.678
    col, row = round((x - left) / cell) - size // 2, round((top - y) / cell) - size // 2
    return from_origin(left + col * cell, top - row * cell, cell, cell)


def layers(folder: Path, scene: str, values: Mapping[str, Quality], crs: Any, transform: Any) -> None:
    """A scene of single-band rasters `<scene>_<layer>.tif`."""
    for name, array in values.items():
        provider_archive.tiff(folder / f"{scene}_{name}.tif", array, crs, transform)


def era5(
    path: Path, first: str, last: str, value: float, *, version: str | None = None, variable: str = "t2m"
) -> None:
    """An ERA5-Land monthly file: one variable from month `first` to month `last`, 9 x 9 cells of 0.1 degrees."""
    import netCDF4

    path.parent.mkdir(parents=True, exist_ok=True)
    months = np.arange(first, np.datetime64(last, "M") + 1, dtype="datetime64[M]")
    with netCDF4.Dataset(path, "w") as file:
        for name, size in (("valid_time", len(months)), ("latitude", 9), ("longitude", 9)):
            file.createDimension(name, size)
        time = file.createVariable("valid_time", "i8", ("valid_time",))
        time.units, time.calendar = "seconds since 1970-01-01", "proleptic_gregorian"
        time[:] = months.astype("datetime64[s]").astype(np.int64)
        for name, start, step in (("latitude", -23.6, -0.1), ("longitude", -63.6, 0.1)):
            axis = file.createVariable(name, "f8", (name,))
            axis.units = "degrees_north" if name == "latitude" else "degrees_east"
            axis[:] = np.round(start + step * np.arange(9), 1)
        if version is not None:
            versions = file.createVariable("expver", str, ("valid_time",))
            versions[:] = np.array([version] * len(months), dtype=object)
        data = file.createVariable(variable, "f4", ("valid_time", "latitude", "longitude"))
        data.units = "K"
        data[:] = value + np.arange(81).reshape(9, 9) / 100
