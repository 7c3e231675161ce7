"""STAC items on disk become scenes: one row of the scene table an item.

What a file name says (`products/`) and what the catalogue says (`catalogs/`) are held against each other: an item
whose parts speak of two scenes is refused, never half accepted.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from earthrecord.archive import catalog
from earthrecord.archive.assets import Contradiction, File, Layer, Unfit, cell_of, files, layers
from earthrecord.archive.catalog import Catalogue, Catalogues, Item
from earthrecord.archive.footprint import footprint
from earthrecord.archive.hrefs import Base, choose, location
from earthrecord.archive.items import find
from earthrecord.archive.names import Named, NotTheProduct, identify, period, refused, tile
from earthrecord.products.model import Product

Row: TypeAlias = dict[str, Any]
_PLACES = ("level", "tier", "path", "row", "tile", "processed")
_PROCESSING = ("baseline", "generated", "sensing", "datatake")  # of products with processing baselines
_TIMES = ("processed", "generated", "sensing", "datatake")
_LARGEST_DN = 65535
_DAY = dt.timedelta(days=1)


def read_items(
    path: Path, products: Mapping[str, Product], catalogues: Catalogues | None = None
) -> list[Row]:
    """One row a scene from a file or folder of STAC items, in catalogue order; `items` tells which forms are read.

    Items of one scene in one catalogue (surface reflectance and temperature, or a line that comes twice) become one
    row, and `repeated` counts the further ones. What can not be used is a row with the reason in `refused`.
    Raises `BadSource` for a file that can not be read.
    """
    if catalogues is not None:
        catalog.check(catalogues, products)
    reader = Reader(products, catalogues or catalog.shipped())
    rows: list[Row] = []
    scenes: dict[tuple[str, str, str], Row] = {}
    for order, found in enumerate(find(path)):
        if found.problem or not isinstance(found.item, dict):
            reason = found.problem or "no item: a JSON object was expected"
            new: Row = {"item": found.file.name, "scene": found.file.name, "refused": reason}
        else:
            new = reader.row(found.item, found.base)
        if "refused" in new:
            rows.append(new | {"order": order})
        elif (key := (new["catalogue"], new["product"], new["scene"])) in scenes:
            _join(scenes[key], new, products[new["product"]])
        else:
            scenes[key] = new | {"order": order, "repeated": 0}
            rows.append(scenes[key])
    return rows


class Reader:
    """Makes rows of the scene table of items, by a product table and what is known of catalogues."""

    def __init__(self, products: Mapping[str, Product], catalogues: Catalogues) -> None:
        self._products, self._catalogues = products, catalogues
        self._alone = {name: {name: product} for name, product in products.items()}

    def row(self, members: Mapping[str, Any], base: Base, catalogue: Catalogue | None = None) -> Row:
        """The row of one item (`scenes.SCENES`, without `order`); columns that are absent are null.

        `catalogue` is the one that the item comes from, where that is known better than the item tells.
        """
        item = Item(members)
        catalogue = catalogue or self._catalogues.recognise(item)
        columns: Row = {"item": item.id, "scene": item.id, "catalogue": catalogue.id, "flags": []}
        try:
            product, keys = self._product(item, catalogue)
            columns["product"] = product.id
            scene = str(catalogue.told("scene", item) or "")
            found = files(item.assets, base, product, self._alone[product.id], keys, catalogue.prefer, scene)
            name = _one_scene(found, product, item)
            columns["scene"] = scene or name.get("scene") or item.id
            columns["platform"], columns["sensor"] = _platform(
                item, catalogue, product, name, columns["scene"]
            )
            told = layers(found, product, columns["sensor"], keys, self._catalogues.asset_keys(product.id))
            _add_files(columns, told, item, product)
            _add_description(columns, item, base, catalogue, product, name)
        except Unfit as unfit:
            columns["refused"] = str(unfit)
            columns["flags"] += ["contradiction"] if isinstance(unfit, Contradiction) else []
        return columns

    def _product(self, item: Item, catalogue: Catalogue) -> tuple[Product, Mapping[str, str]]:
        """The product of an item and the catalogue's asset keys for it; `Unfit` where there is none."""
        for member in ("assets", "properties"):
            if not getattr(item, member):
                raise Unfit(f"the item has no {member}")
        if reason := catalogue.unfit(item):
            raise Unfit(reason)
        entry = catalogue.collection(item)
        if entry is not None and entry.product in self._products:
            return self._products[entry.product], entry.assets
        if (item.collection or "") in self._products:
            return self._products[item.collection or ""], {}
        return self._product_by_name(item), {}

    def _product_by_name(self, item: Item) -> Product:
        told = [identify(location(href), self._products) for href in item.asset_hrefs]
        if name := next((name for name in told if isinstance(name, Named)), None):
            return self._products[name.product]
        refusal = refused(item.id or "", self._products) or next(filter(None, told), None)
        if isinstance(refusal, NotTheProduct):
            raise Unfit(refusal.reason)
        what = (
            f"collection {item.collection}"
            if item.collection
            else "such files, and the item names no collection"
        )
        raise Unfit(f"no product of the table has {what}; add one: docs/add-a-product.md")


def _add_description(
    columns: Row, item: Item, base: Base, catalogue: Catalogue, product: Product, name: Mapping[str, Any]
) -> None:
    """Fill the columns that do not depend on the files."""
    for column in _PLACES if not product.baselines else _PLACES + _PROCESSING:
        columns[column] = _value(column, name.get(column), catalogue.told(column, item))
    _check_same_scene(item, catalogue, name)
    _date(columns, item.properties, product, name)
    columns["offset_applied"] = _boolean(catalogue.told("offset_applied", item))
    columns["footprint"] = footprint(item.members.get("geometry"))
    columns["metadata"] = _metadata(item, base, catalogue, columns["scene"])
    if product.baselines and columns["baseline"] not in product.baselines:
        columns["flags"].append("unknown-baseline")


def _add_files(columns: Row, told: Sequence[Layer], item: Item, product: Product) -> None:
    """Fill the columns that the layers tell; layers whose file is not there are left out where others can be reached."""
    if not told:
        raise Unfit(f"none of its {len(item.assets)} assets is a layer of {product.title}")
    reached = [layer for layer in told if layer.link.reachable]
    if len(reached) < len(told):
        columns["flags"].append("broken-href")
    kept = reached or told
    columns["files"] = [layer.row(columns["sensor"]) for layer in kept]
    columns["offset"] = _offset(told, columns["flags"])
    columns |= _grid(item.properties, kept)


def _one_scene(found: Sequence[File], product: Product, item: Item) -> dict[str, Any]:
    """What the names of the files say of the scene, {} where they say nothing; `Unfit` where they name several."""
    names = {file.named.scene: file.named for file in found if file.named}
    if len(names) > 1:
        raise Contradiction(f"its files are of several scenes: {', '.join(sorted(names))}")
    told = refused(item.id or "", {product.id: product}) if not names else None
    if told is not None:
        raise Unfit(told.reason)
    return {"scene": name.scene, **name.columns} if (name := next(iter(names.values()), None)) else {}


def _platform(
    item: Item, catalogue: Catalogue, product: Product, name: Mapping[str, Any], scene: str | None
) -> tuple[str | None, str | None]:
    """Platform and sensor, by the item's word, the names of the files, or the scene's id."""
    if not product.satellites:
        return None, None
    sensors = {satellite.platform: satellite.sensor for satellite in product.satellites.values()}
    told = re.sub(r"[\s_]+", "-", str(catalogue.told("platform", item) or "").strip().lower())
    said = catalogue.platforms.get(told, told)
    code = next((code for code in product.satellites if (scene or "").startswith(code)), "")
    words = [said if said in sensors else None, name.get("platform")]
    words += [product.satellites[code].platform] if code else []
    platforms = sorted({word for word in words if word is not None})
    if len(platforms) > 1:
        raise Contradiction(
            f"the item, its id and its files tell of several satellites: {', '.join(platforms)}"
        )
    platform = platforms[0] if platforms else None
    if platform is None and len(sensors) == 1 and not said:
        platform = next(iter(sensors))
    if platform is None:
        raise Unfit(f"platform {told or 'not told'}: {product.title} comes from {', '.join(sorted(sensors))}")
    return platform, sensors[platform]


def _check_same_scene(item: Item, catalogue: Catalogue, name: Mapping[str, Any]) -> None:
    """`Unfit` where item and file names tell of different places or tiers."""
    for column in ("path", "row", "tile", "tier", "level"):
        said, coded = (
            _value(column, None, catalogue.told(column, item)),
            _value(column, name.get(column), None),
        )
        if said is not None and coded is not None and said != coded:
            raise Contradiction(f"the item tells of {column} {said}, its files of {coded}")


def _date(columns: Row, properties: Mapping[str, Any], product: Product, name: Mapping[str, Any]) -> None:
    """Start, end and date: the moment of an acquisition, or the days of a period."""
    said = moment(properties.get("datetime")) or moment(properties.get("start_datetime"))
    coded = name.get("start")
    if (
        said is not None
        and coded is not None
        and abs(said.date() - coded.date()) > _DAY
        and not product.fixed
    ):
        raise Contradiction(f"the item is of {said.date()}, its files are of {coded.date()}")
    periodic = product.period_days or product.period_months or product.fixed
    start = (coded or _midnight(said)) if periodic else (said or coded)
    columns["start"], columns["end"] = period(product, start)
    if columns["start"] is None and not product.static:
        raise Unfit(f"the item has no date: datetime is {properties.get('datetime')!r}")
    columns["date"] = columns["start"].date() if columns["start"] else None


def _midnight(time: dt.datetime | None) -> dt.datetime | None:
    return time and time.replace(hour=0, minute=0, second=0, microsecond=0)


def moment(value: object) -> dt.datetime | None:
    """A time in UTC from a datetime, an ISO 8601 text or a year-day-time stamp (13 digits); None for anything else."""
    try:
        if isinstance(value, dt.datetime):
            time = value
        elif isinstance(value, str) and len(value) == 13 and value.isdigit():
            time = dt.datetime.strptime(value, "%Y%j%H%M%S")  # noqa: DTZ007 (UTC is set below)
        else:
            time = dt.datetime.fromisoformat(str(value).strip())
        return time.replace(tzinfo=dt.UTC) if time.tzinfo is None else time.astimezone(dt.UTC)
    except (ValueError, OverflowError):
        return None


def _value(column: str, coded: Any, told: Any) -> Any:
    """A column as the scene table has it, from the names of the files, else from the item."""
    value = told if coded is None else coded
    if value is None or column in _TIMES:
        return moment(value)
    text = str(value).strip()
    if column in ("path", "row"):
        return int(text) if re.fullmatch(r"[0-9]{1,3}", text) else None
    if column == "baseline":
        digits = text.replace(".", "").zfill(4)
        return f"{digits[:2]}.{digits[2:]}"
    if column == "tile":
        return tile(text)
    return text


def _offset(told: Sequence[Layer], flags: list[str]) -> int | None:
    """The offset in DN that the item says is in reflectance; null where it is silent, or differs between layers."""
    offsets = {dn for layer in told if layer.band.offset_by_scene and (dn := _offset_of(layer)) is not None}
    if len(offsets) > 1:
        flags.append("offset-differs")
    return offsets.pop() if len(offsets) == 1 else None


def _offset_of(layer: Layer) -> int | None:
    for place in (layer.asset, *_first(layer.asset.get("raster:bands")), *_first(layer.asset.get("bands"))):
        offset = _number(place, "raster:offset", "offset")
        scale = _number(place, "raster:scale", "scale") or layer.band.scale
        if offset is not None and scale and abs(offset / scale) <= _LARGEST_DN:
            return round(offset / scale)
    return None


def _first(bands: Any) -> list[Mapping[str, Any]]:
    return bands[:1] if isinstance(bands, list) and bands and isinstance(bands[0], dict) else []


def _number(place: Mapping[str, Any], *keys: str) -> float | None:
    values = (place.get(key) for key in keys)
    return next((value for value in values if isinstance(value, int | float) and math.isfinite(value)), None)


def _grid(properties: Mapping[str, Any], kept: Sequence[Layer]) -> Row:
    """CRS, transform and shape of the finest record layer, as the metadata tell them."""
    own = [layer for layer in kept if not layer.granule]
    own = [layer for layer in own if layer.band.record] or own
    finest = min((layer.asset for layer in own), key=lambda asset: cell_of(asset) or float("inf"), default={})
    place = finest if finest.get("proj:transform") or finest.get("proj:shape") else properties
    transform, shape = place.get("proj:transform"), place.get("proj:shape")
    return {
        "crs": _crs(finest) or _crs(properties),
        "transform": _numbers(transform, 6, float),
        "shape": _numbers(shape, 2, int),
    }


def _numbers(value: Any, count: int, kind: type[int] | type[float]) -> list[int | float] | None:
    """The first members of a list of numbers, None where it is too short or holds something else."""
    numbers = value[:count] if isinstance(value, list) else []
    sound = all(isinstance(number, int | float) and abs(number) < 1e15 for number in numbers)
    return [kind(number) for number in numbers] if sound and len(numbers) == count else None


def _crs(place: Mapping[str, Any]) -> str | None:
    code, wkt = place.get("proj:code"), place.get("proj:wkt2")
    if isinstance(code, str) and code:
        return code
    if epsg := _number(place, "proj:epsg"):
        return f"EPSG:{epsg:.0f}"
    return wkt if isinstance(wkt, str) and wkt else None


def _metadata(item: Item, base: Base, catalogue: Catalogue, scene: str | None) -> str:
    """Where the scene's own metadata lie (MTL, MTD), else the file that holds the item."""
    for key in catalogue.metadata:
        asset = item.assets.get(key)
        link = choose(asset, base, catalogue.prefer, scene or "") if isinstance(asset, dict) else None
        if link is not None and link.reachable:
            return link.href
    return str(base.file)


def _join(first: Row, further: Row, product: Product) -> None:
    """Add what a further item of the same scene knows."""
    have = {file["band"] for file in first["files"]}
    files = [*first["files"], *(file for file in further["files"] if file["band"] not in have)]
    order = {band.name: (not band.record, place) for place, band in enumerate(product.bands)}
    first["files"] = sorted(files, key=lambda file: order[file["band"]])
    for column, value in further.items():
        if first.get(column) is None:
            first[column] = value
    first["repeated"] += 1
    first["flags"] = [*first["flags"], *(flag for flag in further["flags"] if flag not in first["flags"])]


def _boolean(value: object) -> bool | None:
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value.strip().lower())
    return value if isinstance(value, bool) else None
