"""Writing the layers of kept scenes as format 1, under `<product>/<year>/<scene>/<provider file name>`."""

from __future__ import annotations

import os
import re
import shutil
from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

import msgspec
import numpy as np
from numpy.typing import NDArray

from earthrecord import _core
from earthrecord.archive import netcdf, raster
from earthrecord.errors import UnreadableRaster, UnsupportedRaster
from earthrecord.grid import Grid
from earthrecord.products.bands import record_bands
from earthrecord.products.model import Band, Product
from earthrecord.record import offsets
from earthrecord.record.look import File, Looker, Place, Row, cells_of, is_remote, metadata_flags
from earthrecord.record.model import whole


class Stored(msgspec.Struct, frozen=True):
    """One file of a record: path below the record, size, SHA-256, layer."""

    path: str
    bytes: int
    sha256: str
    band: str


class StoredScene(msgspec.Struct, frozen=True):
    """What writing one scene left behind."""

    files: tuple[Stored, ...]
    flags: tuple[str, ...]
    offset_pixels: offsets.State | None = None
    """Sentinel-2: present, absent or unclear by pixel evidence."""
    wrapped: int | None = None
    """Sentinel-2: reflectances over 60,000, negatives that wrapped."""


def folder_of(row: Row) -> PurePosixPath:
    """Where a scene lies below the record; a scene without a time lies under its product."""
    name = re.sub(r"[^\w.+-]", "_", row["scene"])
    years = () if row["date"] is None else (f"{row['date']:%Y}",)
    return PurePosixPath(row["product"], *years, name)


def file_name(file: File, band: Band, sensor: str | None, siblings: int) -> str:
    """The provider's file name; a layer of a multi-layer file gets `<stem>_<layer>.tif`."""
    path = unquote(urlsplit(file["href"]).path) if is_remote(file) else file["href"]
    name = PurePosixPath(path).name
    stem, _, ending = name.rpartition(".")
    if file["container"] == "vector":
        return name
    if file["container"] == "netcdf":
        return f"{stem}.nc" if siblings == 1 else f"{stem}_{band.name}.nc"
    if file["container"] in ("hdf4", "hdf5"):
        layer = band.file if isinstance(band.file, str) else band.file.get(sensor or "", band.name)
        return f"{stem}_{layer}.tif"
    if siblings > 1:
        return f"{stem}_{band.name}.tif"
    return name if ending.lower() in ("tif", "tiff") else f"{stem}.tif"


def record_files(row: Row, product: Product) -> list[tuple[Band, File]]:
    """The scene's files that belong in a record in the product's order."""
    by_band = {file["band"]: file for file in row["files"]}
    wanted = [band for band in product.bands if band.record]
    return [(band, by_band[band.name]) for band in wanted if band.name in by_band]


def lacking(row: Row, product: Product) -> list[str]:
    """Record layers that the scene's sensor has and the scene does not bring; a netCDF row is one variable by its nature."""
    if any(file["container"] == "netcdf" for file in row["files"]):
        return []
    have = {file["band"] for file in row["files"]}
    due = [band.name for band in record_bands(product, row["sensor"]) if not band.optional]
    return [name for name in due if name not in have]


class Store:
    """Writes the scenes of one site below `root`, all layers of a scene or none. `sealed` is an earlier record that lends its files."""

    def __init__(self, looker: Looker, root: Path, sealed: Path) -> None:
        self._looker, self._root, self._sealed = looker, root, sealed

    def has(self, scene: StoredScene) -> bool:
        """Whether the files of a scene lie below the root as they were written, from an earlier run or out of the sealed record."""
        hashes = {file.path: file.sha256 for file in scene.files}
        lost = self._differing(self._root, hashes)
        if lost and not self._differing(self._sealed, {path: hashes[path] for path in lost}):
            for path in lost:
                _lend(self._sealed / path, self._root / path)
            return True
        return not lost

    def _differing(self, root: Path, hashes: Mapping[str, str]) -> list[str]:
        found = _core.sha256_files([root / path for path in hashes])
        return [path for path, sha in zip(hashes, found, strict=True) if sha != hashes[path]]

    def write(self, row: Row, folder: PurePosixPath, months: Collection[str] = ()) -> StoredScene:
        """Write every record layer of a scene that the source has; what goes wrong takes the whole scene back.

        `months` limits the steps of a netCDF file; empty takes all.
        """
        target = self._root / folder
        target.mkdir(parents=True, exist_ok=True)
        try:
            return _Scene(self._looker, row, self._root, folder).write(months)
        except BaseException:
            shutil.rmtree(target, ignore_errors=True)
            raise


class _Scene:
    """One scene while it is written."""

    def __init__(self, looker: Looker, row: Row, root: Path, folder: PurePosixPath) -> None:
        self._looker, self._row, self._root, self._folder = looker, row, root, folder
        self._product: Product = looker.products[row["product"]]
        self._places: dict[Grid, Place] = {}
        self._layers: dict[str, Place] = {}

    def write(self, months: Collection[str]) -> StoredScene:
        row, product = self._row, self._product
        files = record_files(row, product)
        siblings = Counter(file["href"] for _, file in files)
        flags: set[str] = {"partial"} if lacking(row, product) and not product.withheld else set()
        stored = dict[str, Stored]()
        for band, file in files:
            name = file_name(file, band, row["sensor"], siblings[file["href"]])
            path = self._folder / name
            size, sha, found = self._layer(band, file, self._root / path, months)
            stored[band.name] = Stored(str(path), size, sha, band.name)
            flags.update(found)
        state, wrapped = self._offset(stored)
        return StoredScene(tuple(stored.values()), tuple(sorted(flags)), state, wrapped)

    def _layer(
        self, band: Band, file: File, target: Path, months: Collection[str]
    ) -> tuple[int, str, list[str]]:
        if file["container"] == "vector":
            return (*_copied(self._looker.path(file), target), [])
        layer = self._looker.layer(self._row, file)
        self._looker.check(layer, band, file["href"])
        place = self._layers[band.name] = self._place(layer.grid)
        if place.inside.empty:
            raise UnreadableRaster(
                f"{file['href']} does not reach the site, other layers of {self._row['scene']} do: get it again"
            )
        if isinstance(layer, netcdf.NetcdfLayer):
            size, sha = netcdf.crop_variable(layer.path, layer.member, target, place.inside, months or None)
            return size, sha, layer.flags
        value = self._mask_value(band)
        size, sha = layer.crop(target, place.inside, None if value is None else place.mask_inside, value)
        return size, sha, metadata_flags(self._row, layer.grid) if band.cell is None else []

    def _place(self, grid: Grid) -> Place:
        if grid not in self._places:
            self._places[grid] = self._looker.place(grid, self._product)
        return self._places[grid]

    def _mask_value(self, band: Band) -> float | None:
        """What pixels outside a region become; None leaves them (core sites, layers without a free value)."""
        if self._looker.site.kind != "region":
            return None
        return band.mask_value if band.mask_value is not None else next(iter(band.fill), None)

    def _offset(self, stored: Mapping[str, Stored]) -> tuple[offsets.State | None, int | None]:
        """Pixel evidence about the reflectance offset, for products where it changes by scene; read from what was written."""
        scaled = [band.name for band in self._product.bands if band.offset_by_scene]
        if not scaled or self._product.quality is None:
            return None, None
        quality = self._product.quality.band
        values = {
            name: _core.read_window(self._root / stored[name].path)
            for name in (*scaled, quality)
            if name in stored
        }
        wrapped = sum(int((values[name] > offsets.WRAPPED).sum()) for name in scaled if name in values)
        if not {*offsets.VISIBLE, quality} <= values.keys():
            return "unclear", wrapped
        fine, coarse = self._layers[offsets.VISIBLE[0]], self._layers[quality]
        codes = _spread(values[quality], coarse.grid.crop(coarse.inside), fine.grid.crop(fine.inside))
        seen = (codes > offsets.DEFECTIVE) & fine.mask_inside
        dark = np.isin(codes, offsets.DARK) & fine.mask_inside
        visible = [values[name] for name in offsets.VISIBLE]
        return offsets.by_pixels(visible, dark, int(seen.sum())), wrapped


def _copied(source: Path, target: Path) -> tuple[int, str]:
    """Copy a vector file as it is; returns its size in bytes and its SHA-256 (hex)."""
    if source.suffix.lower() == ".shp":
        raise UnsupportedRaster(
            f"{source}: a shapefile is several files; make one GeoPackage of it (ogr2ogr)"
        )
    with whole(target) as part:
        shutil.copyfile(source, part)
        (sha,) = _core.sha256_files([part])
        if isinstance(sha, Exception):
            raise sha
    return target.stat().st_size, sha


def _lend(source: Path, target: Path) -> None:
    """A second name for a file of the sealed record; a copy where the file system has no second names."""
    with whole(target) as part:
        part.unlink(missing_ok=True)
        try:
            os.link(source, part)
        except OSError:
            shutil.copyfile(source, part)


def _spread(codes: NDArray[Any], coarse: Grid, fine: Grid) -> NDArray[Any]:
    """Codes of a coarser grid under the pixel centres of a finer one; 0 where there is none."""
    cols, rows = cells_of(fine, coarse)
    inside = (cols >= 0) & (cols < coarse.width) & (rows >= 0) & (rows < coarse.height)
    out = np.zeros(inside.shape, codes.dtype)
    out[inside] = codes[rows[inside], cols[inside]]
    return out


def region_masks(places: Mapping[tuple[str, str | None], list[Place]], root: Path) -> list[Stored]:
    """`region_mask.tif` of every product and tile (1 inside the region, 0 outside), one for each window that its layers have."""
    tiles = Counter(product for product, _ in places)
    stored = []
    for (product, tile), found in places.items():
        stem = "region_mask" if tiles[product] == 1 else f"region_mask_{tile}"
        for number, place in enumerate(found, 1):
            path = PurePosixPath(product, f"{stem}.tif" if number == 1 else f"{stem}-{number}.tif")
            mask = place.mask_inside.astype(np.uint8)
            size, sha = raster.write(root / path, mask, place.grid.crop(place.inside))
            stored.append(Stored(str(path), size, sha, "region_mask"))
    return stored
