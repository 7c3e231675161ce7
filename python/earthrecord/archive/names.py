"""What a file name says: the product, the scene, the layer, and the columns of the scene table.

The patterns and what they mean stand in the product tables; nothing here knows a product by name.
"""

from __future__ import annotations

import calendar
import datetime as dt
import functools
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from earthrecord.products.bands import band_by_file
from earthrecord.products.model import Container, Names, Product
from earthrecord.products.patterns import EXTENSIONS, RASTER_ENDINGS, match, refusal

# What a browser, a file manager or wget adds to the name of a second copy: "B4 (1).TIF", "B4 - Copy.TIF", "B4.TIF.1".
_COPY = re.compile(r"(?i)(?: ?\(\d+\)| ?- ?copy(?: ?\(\d+\))?| copy(?: \d+)?)(?=\.\w+$)")
_COPY_BEHIND = re.compile(r"(?i)(\.(?:tiff?|jp2|hdf|h5|nc4?))\.\d{1,2}$")
# Sentinel-2 archives tell copies of one band on several grids apart by a folder: R20m/B02.jp2.
_GRID_FOLDER = re.compile(r"(?i)(?:^|/)R(\d+m)/[^/]+$")
# A scene's id goes at least to its last long number or tile, and over the short ones (collection, tier) that follow.
_ID = re.compile(
    r"(?i).*(?:\d{4,}|h\d\dv\d\d)[a-z0-9]*(?:[_.-](?:\d{1,3}|[TA]\d|RT|L\dA|T\d\d[A-Z]{3})(?![a-z0-9]))*"
)
_NAMELESS = "zq zq"
"""A name that only a pattern without any word of its own takes."""
_ENDINGS = {"tiff": "tif", "hdf4": "hdf", "hdf5": "h5", "netcdf": "nc", "vector": "gpkg"}


@dataclass(frozen=True, slots=True)
class Named:
    """A file that is a layer, or all layers, of a scene of a product."""

    product: str
    scene: str
    """Id of the scene as the name spells it."""
    band: str | None
    """Common name of the layer; None where every band lies in the file (by `index` or `member`)."""
    container: Container
    columns: Mapping[str, Any] = field(default_factory=dict)
    """Scene columns that the name tells: platform, sensor, level, tier, path, row, tile, date, start, end ..."""
    home: str = ""
    """Folder in which the name of the scene stands; "" is the root."""
    variant: int = 0
    """0 for the provider's own name, 1 where a cropping tool added to it, 2 for a further copy of a file."""


@dataclass(frozen=True, slots=True)
class NotTheProduct:
    """A name that looks like a product's and is none."""

    product: str
    scene: str
    reason: str


def identify(path: str, products: Mapping[str, Product]) -> Named | NotTheProduct | None:
    """What a POSIX path (relative to the archive's root, or a URL's path) names; None: no layer of any product.

    Case is ignored throughout. Where several products would take the name, one whose pattern has words of its
    own goes before one that takes any name.
    """
    return next(candidates(path, products), None)


def candidates(path: str, products: Mapping[str, Product]) -> Iterator[Named | NotTheProduct]:
    """All that a path may name, best first; more than one only where what is in the file decides."""
    known = False
    text, copied = without_copy_mark(path)
    forms = _forms(products)
    ending = text.rpartition(".")[2].lower()
    for form in forms.of(ending):
        found = match(form.names, text if form.deep else text.rpartition("/")[2])
        if found is not None:
            known = True
            named = forms.named(form, found, text, copied)
            if named is not None:
                yield named
    if not known and (not_it := refused(path, products) or forms.by_other_ending(text, ending)):
        yield not_it


def refused(path: str, products: Mapping[str, Product]) -> NotTheProduct | None:
    """Why a path or a scene's id is none of the products, None where nothing speaks against it."""
    for product in products.values():
        if reason := refusal(product, path):
            return NotTheProduct(product.id, _unknown_id(path, product), reason)
    return None


def names_scene(scene: str, products: Mapping[str, Product]) -> Named | None:
    """What a bare scene id names: that of a layer of it, were one there; None for no id of a product."""
    forms = _forms(products)
    for form in forms.all:
        layer, ending = form.product.bands[0].file, _ENDINGS.get(form.names.container, form.names.container)
        layer = layer if isinstance(layer, str) else next(iter(layer.values()))
        for tail in () if form.any_name else (f"_{layer}", f"/{layer}", ""):
            path = f"{scene}{tail}.{ending}"
            found = match(form.names, path)
            named = found and forms.named(form, found, path, copied=False)
            if isinstance(named, Named) and named.scene.casefold() == scene.casefold():
                return named
    return None


def is_acquisition(product: Product) -> bool:
    """Whether a scene is what one satellite saw in one pass, not a composite, a map or a model."""
    composite = product.period_days is not None or product.period_months is not None
    return bool(product.satellites) and not (composite or product.static or product.fixed)


def period(product: Product, start: dt.datetime | None) -> tuple[dt.datetime | None, dt.datetime | None]:
    """First and last day of the period that begins at `start`; no last day for a single acquisition."""
    if product.fixed is not None:
        first, last = (dt.datetime.combine(day, dt.time(), dt.UTC) for day in product.fixed)
        return first, last
    if start is None:
        return None, None
    if product.period_days is not None:
        return start, start + dt.timedelta(days=product.period_days - 1)
    if product.period_months is not None:
        return start, _last_day(start, product.period_months)
    return start, None


def _last_day(start: dt.datetime, months: int) -> dt.datetime:
    year, month = divmod(start.year * 12 + start.month - 2 + months, 12)
    return start.replace(year=year, month=month + 1, day=calendar.monthrange(year, month + 1)[1])


class _Form(NamedTuple):
    product: Product
    names: Names
    deep: bool
    """Whether the pattern reaches into the folders above the file."""
    any_name: bool
    """Whether the pattern has no word of its own."""


class _Forms:
    """The forms of name of all products, those without words of their own last."""

    def __init__(self, products: Mapping[str, Product]) -> None:
        self.products = products
        forms = [
            _Form(product, names, "/" in names.pattern, _takes_any(names))
            for product in products.values()
            for names in product.names
        ]
        self.all = sorted(forms, key=lambda form: form.any_name)
        self._by_ending: dict[str, list[_Form]] = {}
        self._bands: dict[tuple[str, str | None, str], str | None] = {}

    def of(self, ending: str) -> list[_Form]:
        """The forms whose files may end so."""
        if ending not in self._by_ending:
            fit = {kind for kind, endings in EXTENSIONS.items() if re.fullmatch(endings, ending)}
            self._by_ending[ending] = [form for form in self.all if form.names.container in fit]
        return self._by_ending[ending]

    def by_other_ending(self, path: str, ending: str) -> NotTheProduct | None:
        """What a raster's name would be with the ending that its provider gives it."""
        stem = path[: len(path) - len(ending)]
        for form in self.all if ending in RASTER_ENDINGS else ():
            right = _ENDINGS.get(form.names.container, form.names.container)
            found = None if form.any_name or right == "gpkg" else match(form.names, stem + right)
            named = found and self.named(form, found, stem + right, copied=False)
            if isinstance(named, Named):
                return NotTheProduct(
                    named.product,
                    named.scene,
                    f"{path} ends in .{ending}, as a file of {named.product} it ends in .{right}: "
                    "get it as the provider delivers it, or give it its own ending back",
                )
        return None

    def named(
        self, form: _Form, found: re.Match[str], path: str, copied: bool
    ) -> Named | NotTheProduct | None:
        """What a match says; None where its layer is none of the product's."""
        product, kind = form.product, form.names.container
        groups = {key: value for key, value in found.groupdict().items() if value}
        scene = groups.get("scene") or path.rpartition("/")[2].rpartition(".")[0]
        try:
            columns = _columns(product, form.names, groups)
        except ValueError as error:
            return NotTheProduct(product.id, scene, f"{path}: {error}, as a file of {product.id} has it")
        band = (
            self._band(product, columns.get("sensor"), _layer(groups["layer"], path))
            if "layer" in groups
            else None
        )
        if band is None and "layer" in found.re.groupindex:
            return None
        variant = 2 if copied else int(_is_cropped(found, groups))
        return Named(product.id, scene, band, kind, columns, _home(found, form, path), variant)

    def _band(self, product: Product, sensor: str | None, layer: str) -> str | None:
        key = product.id, sensor, layer
        if key not in self._bands:
            band = band_by_file(product, sensor, layer)
            self._bands[key] = None if band is None else band.name
        return self._bands[key]


_known: dict[int, _Forms] = {}
_MOST_KNOWN = 64


def _forms(products: Mapping[str, Product]) -> _Forms:
    """The forms of a product table; names come by the hundred thousand, tables by the handful."""
    forms = _known.get(id(products))
    if forms is None or forms.products is not products:
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        forms = _known[id(products)] = _Forms(products)
    return forms


def _takes_any(names: Names) -> bool:
    return match(names, f"{_NAMELESS}.{_ENDINGS.get(names.container, names.container)}") is not None


def without_copy_mark(path: str) -> tuple[str, bool]:
    """A path without what marks its file as a further copy, and whether it was marked."""
    text = _COPY_BEHIND.sub(r"\1", path) if path[-1:].isdigit() else path
    stem = text.rpartition(".")[0]
    if stem[-1:] == ")" or "copy" in stem[-9:].lower():
        text = _COPY.sub("", text)
    return text, text != path


def _layer(layer: str, path: str) -> str:
    grid = _GRID_FOLDER.search(path)
    return layer if grid is None or layer.lower().endswith(f"_{grid[1].lower()}") else f"{layer}_{grid[1]}"


def _is_cropped(found: re.Match[str], groups: Mapping[str, str]) -> bool:
    last = found.string.rindex(".")
    return max(map(found.end, groups), default=last) < last


def _home(found: re.Match[str], form: _Form, path: str) -> str:
    if not form.deep or "scene" not in found.re.groupindex:
        return path.rpartition("/")[0]
    return path[: found.start("scene")].rpartition("/")[0]


def _columns(product: Product, names: Names, groups: Mapping[str, str]) -> dict[str, Any]:
    columns: dict[str, Any] = dict(_satellite(product, groups.get("satellite")))
    for key, text in groups.items():
        if key in names.dates:
            columns[key] = _time(text, names.dates[key])
        elif key in _READ:
            columns[key] = _READ[key](text)
    first = next((columns[key] for key in ("start", "date", "datatake", "sensing") if key in columns), None)
    start, end = period(product, first)
    told = {"start": start, "end": end, "date": start and start.date()}
    columns.pop("date", None)
    return columns | {key: value for key, value in told.items() if value is not None}


def _satellite(product: Product, code: str | None) -> dict[str, str]:
    if code is None and len(product.satellites) != 1:
        return {}
    satellite = product.satellites.get(code.upper()) if code else next(iter(product.satellites.values()))
    return {} if satellite is None else {"platform": satellite.platform, "sensor": satellite.sensor}


@functools.lru_cache(maxsize=65536)
def _time(text: str, form: str) -> dt.datetime:
    try:
        return dt.datetime.strptime(text, form).replace(tzinfo=dt.UTC)
    except ValueError:
        raise ValueError(f"{text!r} in its name is no date") from None


def tile(text: str) -> str:
    """One spelling of a tile, whatever the archive's: h12v11, 32TMT, and 05QKB where some write 5QKB."""
    if re.fullmatch(r"h\d+v\d+", text, re.IGNORECASE):
        return text.lower()
    return f"{text.upper():0>5}" if re.fullmatch(r"\d{1,2}[a-z]{3}", text, re.IGNORECASE) else text.upper()


def _baseline(text: str) -> str:
    return f"{text[:-2]:0>2}.{text[-2:]}" if text.isdigit() else text


_READ: dict[str, Callable[[str], str | int]] = {
    "level": str.upper,
    "tier": str.upper,
    "tile": tile,
    "baseline": _baseline,
    "path": int,
    "row": int,
}


def _unknown_id(path: str, product: Product) -> str:
    """The id of a scene that no pattern describes: the longest that a refused part of the path spells."""
    parts = [part for part in path.split("/") if refusal(product, part)]
    ids = [found[0] if (found := _ID.match(part)) else part.partition(".")[0] for part in parts]
    return max(ids, key=len, default=path.rpartition("/")[0] or path)
