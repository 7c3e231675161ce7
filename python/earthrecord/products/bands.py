"""Which layers a sensor has, and which of them a file name means."""

from __future__ import annotations

from earthrecord.products.model import Band, Product


def bands_of(product: Product, sensor: str | None) -> list[Band]:
    """All layers that the sensor has, in the order of the table; None for models and maps, or where it is not known."""
    return [band for band in product.bands if has(band, sensor)]


def has(band: Band, sensor: str | None) -> bool:
    """Whether a sensor has the layer: it is not kept from it by `sensors`, nor left out of `file`."""
    named = isinstance(band.file, str) or sensor in band.file
    return named and (not band.sensors or sensor in band.sensors)


def record_bands(product: Product, sensor: str | None) -> list[Band]:
    """The layers taken into a record (or beside it, where the product is withheld)."""
    return [band for band in bands_of(product, sensor) if band.record]


def file_of(band: Band, sensor: str | None) -> str:
    """What the provider's file name says of the layer on this sensor; "" where the sensor has none."""
    return band.file if isinstance(band.file, str) else band.file.get(sensor or "", "")


def index_of(band: Band, sensor: str | None) -> int:
    """Band number inside a multi-band raster, from 1; 0 where the sensor has none."""
    return band.index if isinstance(band.index, int) else band.index.get(sensor or "", 0)


def band_by_file(product: Product, sensor: str | None, tail: str) -> Band | None:
    """The layer whose `file` or alias is `tail`, case ignored; None where the product has no such layer."""
    wanted = tail.casefold().replace(" ", "_")
    for band in bands_of(product, sensor):
        if wanted in {name.casefold() for name in (file_of(band, sensor), *band.aliases)}:
            return band
    return None
