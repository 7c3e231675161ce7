"""The texts that go into a record: README.md (how to read the files), CITATION, site.json.

All is generated from the product table and from the scenes that are there. Nothing tells what was dropped.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from earthrecord.products.model import Band, Product
from earthrecord.record import offsets
from earthrecord.record.choice import Choice, offset_states
from earthrecord.record.model import ARCHIVE_FLAGS, FLAGS
from earthrecord.sites.model import Site


def readme(site: Site, snapshot: dt.date, kept: Sequence[tuple[Product, Sequence[Choice]]]) -> str:
    """README.md of a record."""
    west, south, east, north = site.bbox
    lines = [
        f"# Record of site {site.id}",
        "",
        (
            f"Satellite and auxiliary data over longitude {west:.6f} to {east:.6f}, latitude {south:.6f} to {north:.6f} (WGS84), "
            f"as distributed by their providers up to {snapshot}."
        ),
        "",
        (
            "Pixel values are unmodified: scale factors, offsets and quality layers are **not** applied. Each file is one layer of one scene, "
            "cropped to the site on the scene's own grid; nothing was resampled. To get a physical value, leave out fill, then compute "
            "`value = scale * DN + offset` with the numbers below."
        ),
        "",
        "Files lie under `<product>/<year>/<scene>/<provider's file name>`; products without a time under `<product>/<tile>/`.",
        "",
        "| product | folder | scenes | first | last |",
        "| --- | --- | --- | --- | --- |",
        *(_summary(product, choices) for product, choices in kept),
    ]
    if site.kind == "region":
        lines += ["", *_REGION]
    for product, choices in kept:
        lines += ["", *_product(product, choices)]
    return "\n".join(lines) + "\n"


_REGION = (
    (
        "Pixels outside the region's boundary hold each layer's fill, or the value that stands for it. A layer in which every value is valid "
        "is left as it is, and so are netCDF files; boundary files are delivered whole. In each product's folder, `region_mask.tif` is 1 inside "
        "the region and 0 outside; it is `region_mask_<tile>.tif` where the product comes in several tiles."
    ),
)


def _summary(product: Product, choices: Sequence[Choice]) -> str:
    dates = sorted(choice.row["date"] for choice in choices if choice.row["date"] is not None)
    ends = [choice.row["end"].date() for choice in choices if choice.row["end"] is not None]
    first, last = (str(dates[0]), str(max(dates[-1:] + ends))) if dates else ("", "")
    return f"| {product.title} | `{product.id}/` | {len(choices)} | {first} | {last} |"


def _product(product: Product, choices: Sequence[Choice]) -> list[str]:
    there = {choice.row["sensor"] for choice in choices}
    sensors = [
        s for s in dict.fromkeys(satellite.sensor for satellite in product.satellites.values()) if s in there
    ]
    present = {file.band for choice in choices if choice.stored for file in choice.stored.files}
    bands = [band for band in product.bands if band.name in present]
    lines = [f"## {product.title}", "", _origin(product), ""]
    lines += _band_table(bands, sensors)
    for band in bands:
        lines += _meanings(band)
    lines += _notes(product, bands)
    return lines + _offsets(product, choices) + _odd(choices)


def _origin(product: Product) -> str:
    parts = [product.provider + "."]
    if product.cadence:
        parts.append(f"Cadence: {product.cadence}.")
    if product.period_days:
        parts.append(f"The date of a file is the first of the {product.period_days} days that it covers.")
    return " ".join(parts)


def _band_table(bands: Sequence[Band], sensors: Sequence[str]) -> list[str]:
    head = [
        "| layer | file name says | type | fill | scale | offset | unit | valid DN |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    return head + [_band_row(band, sensors) for band in bands]


def _band_row(band: Band, sensors: Sequence[str]) -> str:
    if isinstance(band.file, str):
        names = f"`{band.file}`"
    else:
        names = ", ".join(f"`{band.file[s]}` ({s.upper()})" for s in sensors if s in band.file)
    fill = ", ".join(f"{value:g}" for value in band.fill) or "none"
    scale = "-" if band.scale is None else f"{band.scale:.10g}"
    offset = "by scene" if band.offset_by_scene else "-" if band.offset is None else f"{band.offset:.10g}"
    valid = "" if band.valid is None else f"{band.valid[0]:g} to {band.valid[1]:g}"
    return f"| {band.name}: {band.title} | {names} | {band.dtype} | {fill} | {scale} | {offset} | {band.unit or '-'} | {valid} |"


def _meanings(band: Band) -> list[str]:
    lines = []
    if band.codes:
        lines += [
            "",
            f"`{band.name}` codes: " + "; ".join(f"{code} {text}" for code, text in band.codes.items()) + ".",
        ]
    if band.bits:
        lines += ["", f"`{band.name}` bits (0 is the least significant):"]
    for bits in band.bits:
        span = f"{bits.start}" if bits.width == 1 else f"{bits.start}-{bits.start + bits.width - 1}"
        values = "; ".join(f"{value} {text}" for value, text in bits.values.items())
        only = f" ({', '.join(s.upper() for s in bits.sensors)} only)" if bits.sensors else ""
        lines.append(f"- {span}: {bits.name}{only}" + (f" ({values})" if values else ""))
    return lines


def _notes(product: Product, bands: Sequence[Band]) -> list[str]:
    """Notes on layers, each once, then those on the product."""
    by_note: dict[str, list[str]] = {}
    for band in bands:
        if band.note:
            by_note.setdefault(band.note, []).append(f"`{band.name}`")
    lines = [f"- {', '.join(names)}: {note}" for note, names in by_note.items()]
    return ["", *lines, *(f"- {note}" for note in product.notes)]


def _offsets(product: Product, choices: Sequence[Choice]) -> list[str]:
    if not any(band.offset_by_scene for band in product.bands):
        return []
    lines = [
        "",
        (
            "Reflectance is `(DN + offset) / 10000`; where the offset is present it is -1000 unless noted. Two independent tellings a scene: "
            "what its metadata say, and what the pixels show."
        ),
        "",
        "| scene | baseline | offset by metadata | offset by pixels |",
        "| --- | --- | --- | --- |",
    ]
    for choice in choices:
        metadata, pixels = offset_states(choice, product)
        value = f" ({choice.row['offset']})" if choice.row["offset"] not in (None, 0, -1000) else ""
        disagree = " **these disagree**" if offsets.disagree(metadata, pixels) else ""
        lines.append(
            f"| {choice.scene} | {choice.row['baseline'] or 'not said'} | {metadata}{value} | {pixels}{disagree} |"
        )
    return lines


def _odd(choices: Sequence[Choice]) -> list[str]:
    lines = []
    for flag, text in FLAGS.items():
        if flag in ARCHIVE_FLAGS:
            continue
        scenes = [choice.scene for choice in choices if flag in choice.flags]
        if scenes:
            which = "all scenes" if len(scenes) == len(choices) else ", ".join(scenes)
            lines.append(f"- {text} ({which})")
    return ["", "Of some scenes there is more to say:", "", *lines] if lines else []


def citation(products: Sequence[Product], snapshot: dt.date) -> str:
    """CITATION: how to cite, licence and attribution of every product in the record."""
    lines = ["Please cite the providers of the data in this record.", ""]
    for product in products:
        lines += [product.title, f"  Cite: {product.citation}"]
        if product.doi:
            lines.append(f"  DOI: https://doi.org/{product.doi}")
        lines += [
            f"  Licence: {product.licence}",
            f"  Attribution: {product.attribution.replace('{year}', str(snapshot.year))}",
            "",
        ]
    return "\n".join(lines)
