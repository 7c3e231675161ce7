"""The facts of a product in words and rows of a table, for people to read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from earthrecord.products.model import Band, Bits, Number, Product, Rule

UNCHECKED = "?"
TAKEN = "*"
SENSORS = {"tm": "TM", "etm": "ETM+", "oli": "OLI", "msi": "MSI", "modis": "MODIS", "viirs": "VIIRS"}
SUMMARY = ("id", "title", "group", "role", "layers", "cadence", "available from")
COLUMNS = ("layer", "file", "dtype", "fill", "scale", "offset", "unit", "valid DN", "source")


def role(product: Product) -> str:
    """record, withheld, or extra for a product that is taken nowhere unless asked for."""
    return "withheld" if product.withheld else "record" if product.record else "extra"


def summary(product: Product) -> tuple[str, ...]:
    """One line of the list of products, in the order of `SUMMARY`."""
    taken = sum(band.record for band in product.bands)
    since = product.available_from or (product.fixed[0] if product.fixed else None)
    return (
        product.id,
        product.title,
        product.group,
        role(product),
        f"{taken} of {len(product.bands)}",
        product.cadence,
        since.isoformat() if since else "",
    )


def facts(product: Product) -> Iterator[tuple[str, str]]:
    """Name and value of each fact of the product itself."""
    sites = "core sites and regions" if len(product.kinds) > 1 else f"{product.kinds[0]} sites only"
    yield "provider", product.provider
    yield "role", f"{role(product)}; {sites}"
    yield "dates", "; ".join(_dates(product))
    yield "grid", _grid(product)
    if product.ring:
        yield "window", f"{product.ring} cell more on every side"
    if product.satellites:
        names = (f"{key} {s.platform} {sensor_name(s.sensor)}" for key, s in product.satellites.items())
        yield "satellites", ", ".join(names)
    yield "duplicates", _duplicates(product)
    if product.obscured_rule:
        yield "dropped", "scenes in which cloud and shadow hide the site (the obscured limit)"
    if product.one_a_month:
        yield "a month", "one acquisition at most"
    if product.baselines:
        yield "baselines", ", ".join(f"{name} {offset:+d}" for name, offset in product.baselines.items())
    yield "licence", product.licence
    yield "cite", product.citation
    if product.doi:
        yield "doi", product.doi
    yield "attribution", product.attribution


def _dates(product: Product) -> Iterator[str]:
    if product.cadence:
        yield product.cadence
    if product.available_from:
        yield f"available from {product.available_from}"
    if product.fixed:
        yield f"covers {product.fixed[0]} to {product.fixed[1]}"
    if product.start:
        yield f"taken from {product.start}"
    if product.period_days:
        yield f"a file covers {product.period_days} days from the date in its name"


def _grid(product: Product) -> str:
    grid = product.grid
    if grid.kind == "vector":
        return f"polygons, {grid.crs}"
    unit = "degrees" if grid.kind == "geographic" else "m"
    size = f", {grid.pixels} x {grid.pixels} pixels a tile" if grid.pixels else ""
    return f"{grid.kind}, cells of {grid.cell:.10g} {unit}{size}" + (f", {grid.crs}" if grid.crs else "")


def _duplicates(product: Product) -> str:
    rule = product.duplicates
    near = f" and {rule.near} within {rule.seconds:g} s" if rule.near else ""
    wins = [
        f"level ({', '.join(rule.levels)})" if name == "level" else f"latest {name}" for name in rule.prefer
    ]
    return f"same {', '.join(rule.key)}{near}; kept: {', then '.join([*wins, 'first in the catalogue'])}"


def band_rows(product: Product) -> Iterator[tuple[str, ...]]:
    """One row a layer, in the order of `COLUMNS`; what no source confirms carries a sign."""
    for band in product.bands:
        yield (
            band.name + (TAKEN if band.record else ""),
            file_words(band),
            _marked(band, "dtype", band.dtype),
            _marked(band, "fill", ", ".join(number(value) for value in band.fill)),
            _marked(band, "scale", number(band.scale)),
            _marked(band, "offset", "by scene" if band.offset_by_scene else number(band.offset)),
            _marked(band, "unit", band.unit),
            _marked(
                band, "valid", f"{number(band.valid[0])} to {number(band.valid[1])}" if band.valid else ""
            ),
            band.source,
        )


def _marked(band: Band, key: str, text: str) -> str:
    return f"{text} {UNCHECKED}".strip() if key in band.unchecked else text


def number(value: Number | None) -> str:
    return "" if value is None else f"{value:.10g}"


def sensor_name(sensor: str) -> str:
    return SENSORS.get(sensor, sensor)


def file_words(band: Band) -> str:
    """What file names say of the layer: SR_B1 (TM, ETM+), SR_B2 (OLI)."""
    if isinstance(band.file, str):
        return band.file + _only(band.sensors)
    by_file: dict[str, list[str]] = {}
    for sensor, file in band.file.items():
        by_file.setdefault(file, []).append(sensor)
    return ", ".join(file + _only(sensors) for file, sensors in by_file.items())


def _only(sensors: Sequence[str]) -> str:
    return f" ({', '.join(sensor_name(sensor) for sensor in sensors)})" if sensors else ""


def band_lines(band: Band) -> Iterator[str]:
    """What a layer's values mean beyond its row: title, note, bits, codes; nothing where the title says all."""
    more = [band.note] if band.note else []
    if band.mask_value is not None:
        more.append(f"{number(band.mask_value)} outside a region")
    if band.other_dtypes:
        more.append(f"also met as {', '.join(band.other_dtypes)}")
    yield f"{band.name}: {band.title}" + "".join(f"; {text}" for text in more)
    for bits in band.bits:
        yield f"  {_bits(bits)}"
    for code, meaning in band.codes.items():
        yield f"  {code}: {meaning}"


def _bits(bits: Bits) -> str:
    last = bits.start + bits.width - 1
    span = f"bit {bits.start}" if bits.width == 1 else f"bits {bits.start}-{last}"
    values = "; ".join(f"{value} {meaning}" for value, meaning in bits.values.items())
    return f"{span}: {bits.name}{_only(bits.sensors)}" + (f" ({values})" if values else "")


def quality_lines(product: Product) -> Iterator[str]:
    """The quality rules in words, in the order in which they apply."""
    if product.quality is None:
        yield "no quality layer: nothing is counted"
        return
    band = next(band for band in product.bands if band.name == product.quality.band)
    yield f"counted on {band.name}, the first that applies:"
    for rule in product.quality.rules:
        yield f"  {rule.to}: {rule_words(rule, band)}"
    yield f"  {product.quality.otherwise}: all else"


def rule_words(rule: Rule, band: Band) -> str:
    """bit 1 (dilated cloud) or bit 3 (cloud); values 8, 9, 10; bits 0-1 = 2."""
    parts = [f"bit {bit} ({_bit_name(bit, band)})" for bit in rule.bits]
    values = [str(code) for code in rule.codes] + [f"{low} to {high}" for low, high in rule.ranges]
    if values and rule.start is not None:
        parts.append(f"bits {rule.start}-{rule.start + (rule.width or 1) - 1} = {' or '.join(values)}")
    elif values:
        parts.append(", ".join(values))
    return " or ".join(parts) + _only(rule.sensors)


def _bit_name(bit: int, band: Band) -> str:
    return next((bits.name for bits in band.bits if bits.start <= bit < bits.start + bits.width), "?")
