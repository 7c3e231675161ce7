"""Scenes in netCDF files: one a variable and file, with the period that its time axis spans.

Such files are named by their download, so what is in them decides which product they are. A variable over its
months is what replaces another one (final data after preliminary ones), hence one row each.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from earthrecord.archive.names import Named, period
from earthrecord.archive.walk import Entry
from earthrecord.errors import EarthRecordError
from earthrecord.products.bands import bands_of
from earthrecord.products.model import Band, Product

if TYPE_CHECKING:
    from earthrecord.archive.netcdf import Variable

Row = dict[str, Any]


def rows(entry: Entry, named: Sequence[Named], products: Mapping[str, Product]) -> Iterator[Row]:
    """The scenes of one file, as the first product that takes its content has them; else one refused row."""
    from earthrecord.archive import netcdf

    path, reasons = Path(entry.path), defaultdict[str, list[str]](list)
    for candidate in named:
        product = products[candidate.product]
        try:
            if reason := netcdf.refusal(path, product):
                reasons[reason].append(product.id)
                continue
            variables = netcdf.describe(path)
        except EarthRecordError as error:
            reasons[str(error)] = []
            continue
        yield from _scenes(entry, candidate, product, variables)
        return
    told = (f"not {', '.join(ids)}: {reason}" if ids else reason for reason, ids in reasons.items())
    first, reason = named[0], "; ".join(told)
    row = {"product": first.product, "scene": first.scene, "item": first.scene, "refused": reason}
    yield {**row, "repeated": 0, "flags": []}


def _scenes(entry: Entry, named: Named, product: Product, variables: Sequence[Variable]) -> Iterator[Row]:
    by_name = {_plain(variable.name): variable for variable in variables}
    for band in bands_of(product, named.columns.get("sensor")):
        variable = next((by_name[name] for name in _spellings(band) if name in by_name), None)
        if variable is not None and named.band in (None, band.name):
            file = {
                "band": band.name,
                "href": entry.path,
                "container": "netcdf",
                "member": variable.name,
                "index": 1,
                "bytes": entry.size,
            }
            yield {**named.columns, **_time(named, product, band, variable), "files": [file]}


def _time(named: Named, product: Product, band: Band, variable: Variable) -> Row:
    """The scene's id and its period. Steps may lie some hours beside the days that they stand for; they stay as told."""
    from earthrecord.archive.netcdf import PRELIMINARY

    name = band.member or band.name
    row: Row = {
        "product": product.id,
        "item": named.scene,
        "scene": f"{named.scene}_{name}",
        "repeated": 0,
        "flags": [],
    }
    if variable.times:
        first, last = (time.replace(tzinfo=dt.UTC) for time in (min(variable.times), max(variable.times)))
        form = "%Y%m" if product.period_months else "%Y%m%d"
        days = dict.fromkeys((f"{first:{form}}", f"{last:{form}}"))
        row |= {"scene": f"{name}_{'_'.join(days)}", "start": first, "date": first.date()}
        row["end"] = period(product, last)[1] or last
    versions = {version in PRELIMINARY for version in variable.versions if version is not None}
    if versions:
        row["level"] = "preliminary" if True in versions else "final"
    return row


def _spellings(band: Band) -> list[str]:
    return [_plain(name) for name in (band.member or band.name, *band.aliases)]


def _plain(name: str) -> str:
    return name.replace("_", "").replace(" ", "").lower()
