"""Which asset of a catalogue item is which layer of a product, and what the names of files say of the scene."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from earthrecord.archive.hrefs import Base, Link, choose, container, location
from earthrecord.archive.names import Named, identify
from earthrecord.products.bands import band_by_file, bands_of, file_of, index_of
from earthrecord.products.model import Band, Container, Product

GRANULES = ("hdf4", "hdf5", "netcdf")
_SINGLE = {"tiff": 0, "jp2": 1}  # of two files that hold one layer, the one that is cheaper to cut


class Unfit(Exception):
    """An item that is no scene of a known product, or that contradicts itself; the message is the reason."""


class Contradiction(Unfit):
    """An item whose parts speak of two scenes."""


class Layer(NamedTuple):
    """One layer of a scene, and the file in which the item says it lies."""

    band: Band
    key: str
    asset: Mapping[str, Any]
    link: Link
    kind: Container
    granule: bool
    """The file holds all layers."""

    def row(self, sensor: str | None) -> dict[str, Any]:
        """A member of the scene column `files`."""
        size = self.asset.get("file:size")
        return {
            "band": self.band.name,
            "href": self.link.href,
            "container": self.kind,
            "member": self.band.member if self.kind in GRANULES else None,
            "index": index_of(self.band, sensor) or 1,
            "bytes": size if type(size) is int and 0 < size < 2**63 else None,
        }


class File(NamedTuple):
    """An asset that may hold a layer, and what the name of its file says."""

    key: str
    asset: Mapping[str, Any]
    link: Link
    kind: Container
    named: Named | None
    layer: str | None
    """Name of the layer; None where the file's name says nothing, or the file holds all layers."""

    @property
    def granule(self) -> bool:
        """The file holds all layers."""
        return self.named is not None and self.layer is None


def files(
    assets: Mapping[str, Any],
    base: Base,
    product: Product,
    products: Mapping[str, Product],
    keys: Mapping[str, str],
    prefer: Sequence[str],
    scene: str,
) -> list[File]:
    """The assets that may hold layers: those of the catalogue's `keys`, and files that hold all layers.

    Without `keys`, all rasters. Names are read by the patterns of `products`, which holds `product` alone.
    """
    bands = {band.name: band for band in product.bands}
    first: Named | None = None
    found: list[File] = []
    for key, asset in assets.items():
        kind = container(str(asset.get("href", "")), asset.get("type")) if isinstance(asset, dict) else None
        if kind is None or (keys and key not in keys and kind not in GRANULES):
            continue
        link = choose(asset, base, prefer, scene)
        if link is None:
            continue
        band = bands.get(keys.get(key, ""))
        if first is not None and band is not None and _says(link.href, first, band):
            found.append(File(key, asset, link, kind, first, band.name))
            continue
        told = identify(location(link.href), products)
        named = told if isinstance(told, Named) else None
        first = first or named
        found.append(File(key, asset, link, kind, named, named.band if named else None))
    return found


def _says(href: str, first: Named, band: Band) -> bool:
    """Whether a file is, plainly, of the scene of another one and this layer; spares reading most names in full."""
    stem = location(href).rpartition(".")[0].casefold()
    words = (file_of(band, first.columns.get("sensor")), *band.aliases)
    return first.scene.casefold() in stem and stem.endswith(
        tuple(f"{joint}{word.casefold()}" for word in words if word for joint in "_/")
    )


def layers(
    found: Sequence[File],
    product: Product,
    sensor: str | None,
    keys: Mapping[str, str],
    spellings: Mapping[str, str],
) -> list[Layer]:
    """The layers in those files, each once, record layers first: the native cell size, then a raster of its own.

    `keys` are the catalogue's words for the product's layers; without them files are known by name, then by a key
    that is the layer's file suffix, its name, or one of `spellings`. Raises `Unfit` where key and name of a file
    speak of two layers.
    """
    bands = {band.name: band for band in bands_of(product, sensor)}
    candidates: dict[str, list[Layer]] = {}
    for file in found:
        for band, granule in _held(file, product, sensor, bands, keys, spellings):
            layer = Layer(band, file.key, file.asset, file.link, file.kind, granule)
            candidates.setdefault(band.name, []).append(layer)
    best = [_best(candidates[name], product) for name in bands if name in candidates]
    return sorted(best, key=lambda layer: not layer.band.record)


def _best(candidates: Sequence[Layer], product: Product) -> Layer:
    return candidates[0] if len(candidates) == 1 else min(candidates, key=lambda layer: _rank(layer, product))


def _held(
    file: File,
    product: Product,
    sensor: str | None,
    bands: Mapping[str, Band],
    keys: Mapping[str, str],
    spellings: Mapping[str, str],
) -> Iterator[tuple[Band, bool]]:
    """The layers in one file, and whether it is one that holds all."""
    if file.granule:
        yield from ((band, True) for band in bands.values() if band.member or file.kind not in GRANULES)
        return
    by_name = bands.get(file.layer or "")
    by_key = bands.get(keys[file.key]) if file.key in keys else None
    if by_key is None and not keys:
        by_key = None if by_name else _by_key(file.key, product, sensor, bands, spellings)
    if by_key is not None and by_name is not None and by_key is not by_name:
        raise Unfit(f"asset {file.key!r} is {by_key.name}, but its file {file.link.href} is {by_name.name}")
    if band := by_key or by_name:
        yield band, False


def _by_key(
    key: str, product: Product, sensor: str | None, bands: Mapping[str, Band], spellings: Mapping[str, str]
) -> Band | None:
    """The layer that an asset key means by itself: its file suffix (with or without ending), its name, another's word."""
    stem = key.rpartition(".")[0] or key
    return band_by_file(product, sensor, stem) or bands.get(key.lower()) or bands.get(spellings.get(key, ""))


def _rank(layer: Layer, product: Product) -> tuple[float, bool, int]:
    native = layer.band.cell or product.grid.cell
    cell = cell_of(layer.asset)
    away = abs(math.log(cell / native)) if cell else 0.0
    return round(away, 1), layer.granule, _SINGLE.get(layer.kind, 0)


def cell_of(asset: Mapping[str, Any]) -> float | None:
    """The cell size of an asset as its own metadata tell it, None where they are silent."""
    transform = asset.get("proj:transform")
    size = transform[0] if isinstance(transform, Sequence) and transform else None
    for value in (size, asset.get("gsd"), asset.get("raster:spatial_resolution")):
        if isinstance(value, int | float) and value > 0:
            return float(value)
    return None
