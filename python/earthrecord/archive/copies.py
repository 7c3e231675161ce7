"""The files of one scene: which of several copies of a layer is taken, and how many are left over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from earthrecord.archive.names import Named
from earthrecord.archive.walk import Entry
from earthrecord.products.bands import bands_of, index_of
from earthrecord.products.model import Container, Product

# A raster a layer is read before a container of many layers, and what the core cuts itself before the rest.
_CHEAPEST: tuple[Container, ...] = ("tiff", "jp2", "hdf5", "hdf4", "netcdf", "vector")
MANY_LAYERS = ("hdf4", "hdf5", "netcdf")

File = dict[str, Any]
_Key = tuple[int, int, str, int]


class Choice(NamedTuple):
    files: list[File]
    """One entry a layer, in the order of the product's table."""
    repeated: int
    """Further copies of the scene, or of layers of it."""
    differ: bool
    """Two copies of a layer have different sizes."""


def choose(product: Product, files: Iterable[tuple[Entry, Named]]) -> Choice:
    """One file for each layer: those of the best copy, and from the next ones what it lacks.

    A copy is what lies under one folder in one container. The best has the cheapest container, plain names, most
    layers, most bytes, and then the first path.
    """
    copies: dict[_Key, dict[str, File]] = {}
    for entry, named in files:
        for file in _layers(product, entry, named):
            copies.setdefault(_key(copies, named, file["band"]), {})[file["band"]] = file
    taken: dict[str, File] = {}
    repeated, differ = 0, False
    for _, copy in sorted(copies.items(), key=_rank):
        twins = [(file, taken[band]) for band, file in copy.items() if band in taken]
        repeated += bool(twins)
        differ |= any(
            one["container"] == two["container"] and one["bytes"] != two["bytes"] for one, two in twins
        )
        taken = copy | {band: file for band, file in taken.items() if file["bytes"] != 0 or band not in copy}
    order = [band.name for band in product.bands if band.name in taken]
    return Choice([taken[name] for name in order], repeated, differ)


def _layers(product: Product, entry: Entry, named: Named) -> Iterator[File]:
    """The layers in one file: the one that its name says, or all that the table finds in such a container."""
    sensor = named.columns.get("sensor")
    for band in bands_of(product, sensor):
        inside = named.band is None and (
            band.member is not None if named.container in MANY_LAYERS else index_of(band, sensor) > 0
        )
        if band.name == named.band or inside:
            yield {
                "band": band.name,
                "href": entry.path,
                "container": named.container,
                "member": band.member if named.container in MANY_LAYERS else None,
                "index": index_of(band, sensor) or 1,
                "bytes": entry.size,
            }


def _key(copies: dict[_Key, dict[str, File]], named: Named, band: str) -> _Key:
    """The copy that a file belongs to; one whose name differs from another's by case alone begins its own."""
    nth = 0
    while band in copies.get(key := (_CHEAPEST.index(named.container), named.variant, named.home, nth), ()):
        nth += 1
    return key


def _rank(item: tuple[_Key, dict[str, File]]) -> tuple[bool, int, int, int, int, str, int]:
    (container, variant, home, nth), copy = item
    sizes = [file["bytes"] for file in copy.values() if file["bytes"]]
    return not sizes, container, variant, -len(sizes), -sum(sizes), home, nth
