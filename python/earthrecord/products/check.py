"""What a product table must fulfil beyond the types of its keys: facts of one table may not contradict each other."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Iterator

from earthrecord.products.bands import bands_of, file_of, has, index_of
from earthrecord.products.model import Band, Bits, Dtype, Names, Product, Rule
from earthrecord.products.patterns import match

GROUPS = {
    "scene", "layer", "satellite", "level", "tier", "path", "row", "tile", "date", "start", "processed",
    "generated", "baseline", "datatake", "sensing",
}  # fmt: skip
TIMES = {"date", "start", "processed", "generated", "datatake", "sensing"}


def problems(product: Product) -> Iterator[str]:
    """What is wrong, each with key, value and remedy; nothing where the table is sound."""
    yield from _product(product)
    for band in product.bands:
        for problem in _band(product, band):
            yield f"bands.{band.name}.{problem}"
    yield from _quality(product)


def pattern_problems(product: Product) -> Iterator[str]:
    """What is wrong with the patterns. Compiling them all takes longer than reading the tables: asked apart."""
    for number, names in enumerate(product.names):
        for problem in _names(product, names):
            yield f"names[{number}].{problem}"
    for number, refuse in enumerate(product.refuse):
        try:
            re.compile(refuse.pattern)
        except re.error as error:
            yield f"refuse[{number}].pattern: {error}; mend the regular expression"


def sensors_of(product: Product) -> set[str]:
    return {satellite.sensor for satellite in product.satellites.values()}


def _product(product: Product) -> Iterator[str]:
    if product.withheld and product.record:
        yield "withheld = true with record = true; a withheld product never enters a record: say record = false"
    if not any(band.record for band in product.bands):
        yield "bands: none has record = true, so nothing of the product would be taken; say it in one"
    if not product.names:
        yield "names is empty, so no file is of the product; give the form of their names"
    if not product.duplicates.key:
        yield "duplicates.key is empty, so all scenes would be one; name the columns that tell scenes apart"
    if product.grid.kind != "vector" and not (math.isfinite(product.grid.cell) and product.grid.cell > 0):
        yield f"grid.cell = {product.grid.cell} is no cell size; give metres (degrees where kind is geographic)"
    for key in ("period_days", "period_months", "ring"):
        value = getattr(product, key)
        if value is not None and value < (key != "ring"):
            yield f"{key} = {value} is too small; leave the key out where there is none"
    if product.fixed and product.fixed[0] > product.fixed[1]:
        yield f"fixed = {product.fixed[0]} to {product.fixed[1]} is upside down; the first day comes first"
    if product.duplicates.near not in (None, *TIMES):
        yield f"duplicates.near = {product.duplicates.near!r} is no time; name one of {', '.join(sorted(TIMES))}"
    if product.period_days and product.period_months:
        yield "period_days and period_months are both given; say one"
    if product.grid.kind == "sinusoidal" and product.grid.pixels is None:
        yield "grid.pixels is missing; a tile of the sinusoidal grid has a fixed number of pixels"
    if "level" in product.duplicates.prefer and not product.duplicates.levels:
        yield 'duplicates.prefer has "level"; list the levels from best to worst in duplicates.levels'


def _band(product: Product, band: Band) -> Iterator[str]:
    yield from _numbers(band)
    yield from _bits(band)
    for source in set(band.source.split()) - set(product.sources):
        yield f"source = {source!r} is no key of [sources]; declare it there"
    if not band.source.split():
        yield "source is empty; say where the facts come from"
    known = sensors_of(product)
    named = [*band.sensors, *(band.file if isinstance(band.file, dict) else ())]
    named += [
        *(band.index if isinstance(band.index, dict) else ()),
        *(s for bits in band.bits for s in bits.sensors),
    ]
    for sensor in sorted(set(named) - known):
        yield f"sensors: {sensor!r} is no sensor of [satellites] ({', '.join(sorted(known)) or 'none'}); use one of them"
    for key in set(band.unchecked) - set(Band.__struct_fields__):
        yield f"unchecked = {key!r} is no key of a band; name one"


def _numbers(band: Band) -> Iterator[str]:
    given = {
        "fill": band.fill,
        "valid": band.valid or (),
        "mask_value": () if band.mask_value is None else (band.mask_value,),
    }
    for key, values in given.items():
        for value in values:
            if not fits(value, band.dtype):
                yield f"{key} = {value} does not fit {band.dtype}; mend the value or the dtype"
    if band.valid is not None:
        low, high = band.valid
        if low > high:
            yield f"valid = [{low}, {high}] is upside down; the least value comes first"
        for value in band.fill:
            if low <= value <= high:
                yield f"fill = {value} lies inside valid = [{low}, {high}]; a fill is no valid value"
    if band.scale is not None and (band.scale == 0 or not math.isfinite(band.scale)):
        yield f"scale = {band.scale} makes nothing of a value; leave it out where there is none"
    for index in [band.index] if isinstance(band.index, int) else band.index.values():
        if index < 1:
            yield f"index = {index} is no band of a raster; the first is 1"
    if (band.scale is None) != (band.offset is None):
        yield "scale and offset are given together or not at all (value = scale * DN + offset)"
    for code in band.codes:
        if not all(fits(value, band.dtype) for value in code_range(code) or (math.nan,)):
            yield f"codes: {code!r} is no value or range of {band.dtype}; write 7 or 0-100"


def _bits(band: Band) -> Iterator[str]:
    for number, bits in enumerate(band.bits):
        if bits.start < 0 or bits.width < 1:
            yield f"bits: {bits.name!r} has start = {bits.start}, width = {bits.width}; bits count from 0, a field has one at least"
        if bits.start + bits.width > width(band.dtype):
            yield f"bits: {bits.name!r} ends beyond the {band.dtype}"
        for value in bits.values:
            if not value.isdigit() or int(value) >= 2**bits.width:
                yield f"bits: {bits.name!r} has no value {value!r} in {bits.width} bits"
        for other in band.bits[:number]:
            if _overlap(bits, other):
                yield f"bits: {bits.name!r} and {other.name!r} overlap on one sensor; mend start or width"


def _overlap(one: Bits, other: Bits) -> bool:
    apart = one.start >= other.start + other.width or other.start >= one.start + one.width
    sensors = not one.sensors or not other.sensors or set(one.sensors) & set(other.sensors)
    return not apart and bool(sensors)


def _quality(product: Product) -> Iterator[str]:
    quality = product.quality
    if quality is None:
        if product.obscured_rule:
            yield "obscured_rule = true needs a [quality] table"
        return
    band = next((band for band in product.bands if band.name == quality.band), None)
    if band is None:
        yield f"quality.band = {quality.band!r} is no band; name one of {', '.join(b.name for b in product.bands)}"
        return
    if "int" not in band.dtype or width(band.dtype) > 16:
        yield f"quality.band = {quality.band!r} is {band.dtype}; counts need an 8 or 16 bit integer"
        return
    for sensor in sorted(sensors_of(product)):
        if not has(band, sensor):
            yield f"quality.band = {quality.band!r} is missing on {sensor}; every sensor needs it"
    for number, rule in enumerate(quality.rules):
        for problem in _rule(product, band, rule):
            yield f"quality.rules[{number}]: {problem}"


def _rule(product: Product, band: Band, rule: Rule) -> Iterator[str]:
    if not (rule.bits or rule.codes or rule.ranges):
        yield "says nothing; give bits, codes or ranges"
    for low, high in rule.ranges:
        if low > high:
            yield f"ranges: [{low}, {high}] is upside down; the least value comes first"
    for bit in rule.bits:
        if not any(b.start <= bit < b.start + b.width and _on(b, rule) for b in band.bits):
            yield f"bit {bit} is none of {band.name}'s bits for these sensors; describe it there"
    if (rule.start is None) != (rule.width is None):
        yield "start and width belong together"
    elif rule.start is not None and not any(
        (b.start, b.width) == (rule.start, rule.width) for b in band.bits
    ):
        yield f"start = {rule.start}, width = {rule.width} is no bit field of {band.name}; describe it there"
    elif rule.start is None:
        for code in (*rule.codes, *(value for pair in rule.ranges for value in pair)):
            if not fits(code, band.dtype):
                yield f"code {code} does not fit {band.dtype}"
    for sensor in sorted(set(rule.sensors) - sensors_of(product)):
        yield f"{sensor!r} is no sensor of [satellites]"


def _on(bits: Bits, rule: Rule) -> bool:
    """Whether a bit is used on all the sensors of a rule."""
    return not bits.sensors or (bool(rule.sensors) and set(rule.sensors) <= set(bits.sensors))


def _names(product: Product, names: Names) -> Iterator[str]:
    try:
        groups = set(re.compile(names.pattern).groupindex)
    except re.error as error:
        yield f"pattern: {error}; mend the regular expression"
        return
    for group in sorted(groups - GROUPS):
        yield f"pattern: group {group!r} is none of {', '.join(sorted(GROUPS))}"
    for group in sorted((groups & TIMES) ^ set(names.dates)):
        yield f"dates: {group!r} needs both a group in the pattern and a format here"
    if "satellite" in groups and not product.satellites:
        yield "pattern: group 'satellite' needs a [satellites] table to be looked up in"
    for group in sorted(groups & set(names.dates)):
        if not _is_date_format(names.dates[group]):
            yield f"dates.{group} = {names.dates[group]!r} is no format of a date; write it as in '%Y%m%d'"
    for example in names.examples:
        if match(names, example) is None:
            yield f"examples: {example!r} is not of this pattern (with an ending of {names.container!r}); mend one of them"
    if "layer" in groups:
        yield from _told_apart(product)
    if names.container in ("hdf4", "hdf5", "netcdf"):
        for band in product.bands:
            if band.record and band.member is None:
                yield f"container = {names.container!r}, but band {band.name!r} has no member"


def _is_date_format(form: str) -> bool:
    """Whether a moment that is written in the format can be read again."""
    try:
        dt.datetime.strptime(dt.datetime(2024, 12, 31, 23, 59, 58).strftime(form), form)  # noqa: DTZ001, DTZ007
    except ValueError:
        return False
    return "%" in form


def _told_apart(product: Product) -> Iterator[str]:
    """Layers that share a name of their files on one sensor: the second would never be found."""
    for sensor in sorted(sensors_of(product)) or (None,):
        first: dict[tuple[str, int], str] = {}
        for band in bands_of(product, sensor):
            for name in {name.casefold() for name in (file_of(band, sensor), *band.aliases)}:
                told = first.setdefault((name, index_of(band, sensor)), band.name)
                if told != band.name:
                    yield f"layer {name!r} in a file's name means {told!r} and {band.name!r}; file and aliases (or index) of bands must differ"


def width(dtype: Dtype) -> int:
    """Bits of a value of a type."""
    return int(re.sub(r"\D", "", dtype))


def fits(value: float, dtype: Dtype) -> bool:
    """Whether a value lies in the range of a type, and is whole where the type is."""
    if dtype.startswith("float"):
        return True
    low = 0 if dtype.startswith("u") else -(2 ** (width(dtype) - 1))
    return float(value).is_integer() and low <= value < low + 2 ** width(dtype)


def code_range(code: str) -> tuple[int, int] | None:
    """The least and greatest value of a key of `codes`: "7", "-1" or "0-100"; None where it is no such key."""
    found = re.fullmatch(r"(-?\d+)(?:-(\d+))?", code)
    if found is None:
        return None
    low = int(found[1])
    return low, int(found[2] or low)
