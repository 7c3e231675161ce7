"""Writing the layers of kept scenes as format 1, under `<product>/<year>/<scene>/<provider file name>`."""

from __future__ import annotations

import re
import shutil
from collections.abc import Collection, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from earthrecord.archive import netcdf, raster
from earthrecord.errors import UnreadableRaster
from earthrecord.grid import Grid
from earthrecord.products.model import Band, Product
from earthrecord.record import offsets
from earthrecord.record.look import Looker, Place, Row, cells_of, metadata_flags
from earthrecord.sites.model import Site


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


def file_name(file: Mapping[str, Any], band: Band, sensor: str | None, siblings: int) -> str:
    """The provider's file name; a layer of a multi-layer file gets `<stem>_<layer>.tif`."""
    name = PurePosixPath(file["href"].split("?")[0].rstrip("/")).name
    stem, _, ending = name.rpartition(".")
    if file["container"] == "netcdf":
        return name if siblings == 1 else f"{stem}_{band.name}.nc"
    if file["container"] in ("hdf4", "hdf5"):
        layer = band.file if isinstance(band.file, str) else band.file.get(sensor or "", band.name)
        return f"{stem}_{layer}.tif"
    if siblings > 1:
        return f"{stem}_{band.name}.tif"
    return name if ending.lower() in ("tif", "tiff") else f"{stem}.tif"


def record_files(row: Row, product: Product) -> list[tuple[Band, Mapping[str, Any]]]:
    """The scene's files that belong in a record in the product's order."""
    by_band = {file["band"]: file for file in row["files"]}
    wanted = [band for band in product.bands if band.record]
    return [(band, by_band[band.name]) for band in wanted if band.name in by_band]


def lacking(row: Row, product: Product) -> list[str]:
    """Record layers that the scene's sensor has and the scene does not bring; a netCDF row is one variable by its nature."""
    if any(file["container"] == "netcdf" for file in row["files"]):
        return []
    have = {file["band"] for file in row["files"]}
    due = [
        band
        for band in product.bands
        if band.record and not band.optional and (not band.sensors or row["sensor"] in band.sensors)
    ]
    return [band.name for band in due if band.name not in have]


class Store:
    """Writes the scenes of one site below `root`, all layers of a scene or none."""

    def __init__(self, looker: Looker, root: Path) -> None:
        self._looker, self._root = looker, root
        self._site: Site = looker.site

    def write(self, row: Row, folder: PurePosixPath, months: Collection[str] = ()) -> StoredScene:
        """Write every record layer of a scene that the source has; what goes wrong takes the whole scene back.

        `months` limits the steps of a netCDF file; empty takes all.
        """
        product = self._looker.products[row["product"]]
        target = self._root / folder
        target.mkdir(parents=True, exist_ok=True)
        try:
            return self._write(row, product, folder, months)
        except BaseException:
            shutil.rmtree(target, ignore_errors=True)
            raise

    def _write(
        self, row: Row, product: Product, folder: PurePosixPath, months: Collection[str]
    ) -> StoredScene:
        files = record_files(row, product)
        per_file: dict[str, int] = {}
        for _, file in files:
            per_file[file["href"]] = per_file.get(file["href"], 0) + 1
        flags: set[str] = {"partial"} if lacking(row, product) and not product.withheld else set()
        stored = []
        for band, file in files:
            path = folder / file_name(file, band, row["sensor"], per_file[file["href"]])
            size, sha, found = self._layer(row, product, band, file, self._root / path, months)
            stored.append(Stored(str(path), size, sha, band.name))
            flags.update(found)
        state, wrapped = self._offset(row, product)
        return StoredScene(tuple(stored), tuple(sorted(flags)), state, wrapped)

    def _layer(
        self,
        row: Row,
        product: Product,
        band: Band,
        file: Mapping[str, Any],
        target: Path,
        months: Collection[str],
    ) -> tuple[int, str, list[str]]:
        layer = self._looker.layer(row, file)
        self._looker.check(layer, band, file["href"])
        place = self._looker.place(layer.grid, product)
        if place.inside.empty:
            raise UnreadableRaster(
                f"{file['href']} does not reach the site, other layers of {row['scene']} do: get it again"
            )
        if isinstance(layer, netcdf.NetcdfLayer):
            size, sha = netcdf.crop_variable(layer.path, layer.member, target, place.inside, months or None)
            return size, sha, layer.flags
        mask_value = self._mask_value(band)
        mask = None if mask_value is None else place.mask_inside
        size, sha = layer.crop(target, place.inside, mask, mask_value)
        same_grid = band.cell is None
        return size, sha, metadata_flags(row, layer.grid) if same_grid else []

    def _mask_value(self, band: Band) -> float | None:
        """What pixels outside a region become; None leaves them (core sites, layers without a free value)."""
        if self._site.kind != "region":
            return None
        return band.mask_value if band.mask_value is not None else next(iter(band.fill), None)

    def _offset(self, row: Row, product: Product) -> tuple[offsets.State | None, int | None]:
        """Pixel evidence about the reflectance offset, for products where it changes by scene."""
        if not any(band.offset_by_scene for band in product.bands) or product.quality is None:
            return None, None
        found = {band.name: file for band, file in record_files(row, product)}
        wrapped = sum(
            int((self._values(row, product, file)[0] > offsets.WRAPPED).sum())
            for band, file in record_files(row, product)
            if band.offset_by_scene
        )
        if not {"blue", "green", "red", product.quality.band} <= found.keys():
            return "unclear", wrapped
        visible = [self._values(row, product, found[name]) for name in ("blue", "green", "red")]
        codes, coarse = self._values(row, product, found[product.quality.band])
        _values, fine = visible[0]
        codes = _spread(codes, coarse.grid.crop(coarse.inside), fine.grid.crop(fine.inside))
        seen = (codes > offsets.DEFECTIVE) & fine.mask_inside
        dark = np.isin(codes, offsets.DARK) & fine.mask_inside
        return offsets.by_pixels([band for band, _ in visible], dark, int(seen.sum())), wrapped

    def _values(self, row: Row, product: Product, file: Mapping[str, Any]) -> tuple[NDArray[Any], Place]:
        layer = self._looker.layer(row, file)
        place = self._looker.place(layer.grid, product)
        return layer.read(place.inside), place


def _spread(codes: NDArray[Any], coarse: Grid, fine: Grid) -> NDArray[Any]:
    """Codes of a coarser grid under the pixel centres of a finer one; 0 where there is none."""
    cols, rows = cells_of(fine, coarse)
    inside = (cols >= 0) & (cols < coarse.width) & (rows >= 0) & (rows < coarse.height)
    out = np.zeros(inside.shape, codes.dtype)
    out[inside] = codes[rows[inside], cols[inside]]
    return out


def region_masks(places: Mapping[tuple[str, str | None], Place], root: Path) -> list[Stored]:
    """`region_mask.tif` of every product and tile: 1 inside the region, 0 outside."""
    tiles: dict[str, set[str | None]] = {}
    for product, tile in places:
        tiles.setdefault(product, set()).add(tile)
    stored = []
    for (product, tile), place in sorted(places.items(), key=lambda entry: (entry[0][0], entry[0][1] or "")):
        name = "region_mask.tif" if len(tiles[product]) == 1 else f"region_mask_{tile}.tif"
        path = PurePosixPath(product, name)
        size, sha = raster.write(
            root / path, place.mask_inside.astype(np.uint8), place.grid.crop(place.inside)
        )
        stored.append(Stored(str(path), size, sha, "region_mask"))
    return stored
