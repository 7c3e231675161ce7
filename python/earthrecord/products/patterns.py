"""Provider file names: the one place where the patterns of a product are compiled and matched."""

from __future__ import annotations

import functools
import re

from earthrecord.products.model import Container, Names, Product

EXTENSIONS: dict[Container, str] = {
    "tiff": "tif|tiff|gtif|gtiff",
    "jp2": "jp2|j2k",
    "hdf4": "hdf|hdf4|h4",
    "hdf5": "h5|he5|hdf5",
    "netcdf": "nc|nc4|cdf|netcdf",
    "vector": "geojson|json|gpkg|shp",
}
RASTER_ENDINGS = frozenset(
    ending for kind, endings in EXTENSIONS.items() if kind != "vector" for ending in endings.split("|")
)
# What cropping tools leave between a provider's name and the extension; the pixels are the provider's.
_CROPPED = r"(?:[._-](?:crop(?:ped)?|clip(?:ped)?|subset))?"


@functools.cache
def _name(pattern: str) -> re.Pattern[str]:
    folders = "(?:.*/)?" if "/" in pattern else ""
    return re.compile(f"{folders}(?:{pattern}){_CROPPED}", re.IGNORECASE | re.ASCII)


@functools.cache
def _refused(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.ASCII)


def match(names: Names, path: str) -> re.Match[str] | None:
    """Match a POSIX path, relative to the archive's root, with one form of name; see `Names`."""
    dot = path.rfind(".")
    if path[dot + 1 :].lower() not in EXTENSIONS[names.container].split("|"):
        return None
    # Most patterns have no slash: they are spared the search for a place to begin in the whole path.
    start = 0 if "/" in names.pattern else path.rfind("/") + 1
    return _name(names.pattern).fullmatch(path, start, dot)


def refusal(product: Product, text: str) -> str | None:
    """The reason why a path or a catalogue id is not the product, None where nothing speaks against it."""
    return next((rule.reason for rule in product.refuse if _refused(rule.pattern).search(text)), None)
