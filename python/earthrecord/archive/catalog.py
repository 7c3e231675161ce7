"""Facts of the archives: what each catalogue calls collections, layers and properties, one TOML a catalogue.

A fact of a data product stands in `products/`, a fact of who lists it stands here, and nowhere else. The
neutral catalogue `stac` holds the spellings of the STAC extensions; every other one adds its own before them.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeGuard

import msgspec

from earthrecord.archive.scenes import SCENES
from earthrecord.errors import BadSource
from earthrecord.products.model import Product, Source

SHIPPED = Path(__file__).parent / "catalogs"
NEUTRAL = "stac"
_OWN_LINKS = frozenset({"self", "root", "parent", "collection", "canonical"})


class Item:
    """A STAC item, and what readings ask of it."""

    def __init__(self, members: Mapping[str, Any]) -> None:
        self.members = members
        self.id = _text(members.get("id"))
        self.properties: Mapping[str, Any] = _mapping(members.get("properties"))
        self.assets: Mapping[str, Any] = _mapping(members.get("assets"))
        links = members.get("links")
        self.links = [link for link in links if isinstance(link, dict)] if isinstance(links, list) else []
        self.collection = _text(members.get("collection") or self.properties.get("collection"))

    @functools.cached_property
    def asset_hrefs(self) -> list[str]:
        assets = (asset.get("href") for asset in self.assets.values() if isinstance(asset, dict))
        return [href for href in assets if isinstance(href, str)]

    @functools.cached_property
    def _lines(self) -> dict[str, str]:
        links = (link.get("href") for link in self.links)
        return {"assets": "\n".join(self.asset_hrefs), "links": "\n".join(filter(_is_text, links))}

    def told(self, place: str) -> Any:
        """What stands at one place, None where nothing does; see `Reading`."""
        if place.startswith("properties."):
            return self.properties.get(place[11:])
        if place in ("assets", "links"):
            return self._lines[place]
        return self.collection if place == "collection" else self.id


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base: immutable, strict about keys."""


class Reading(_Table, frozen=True, kw_only=True, rename={"source": "from"}):
    """Where a value stands in an item: the first place that has it, and matches the pattern, tells.

    `from` is `id`, `collection`, `properties.KEY`, `assets` or `links` (the hrefs of all of them, one a line). With
    a pattern the value is what its first group matches, or the whole match.
    """

    source: str
    pattern: str = ""


class Recognise(_Table, frozen=True, kw_only=True):
    """How the catalogue of an item is known; the kinds of evidence are tried in this order."""

    links: tuple[str, ...] = ()
    """Beginnings of its self, root, parent, collection or canonical link."""
    properties: dict[str, str] = {}
    """A property that only this catalogue has, and a pattern of its value."""
    assets: tuple[str, ...] = ()
    """Beginnings of the hrefs of its assets."""
    collections: tuple[str, ...] = ()
    """Ids of its collections, as far as they do not serve others better."""


class Collection(_Table, frozen=True, kw_only=True):
    """One product in one collection. A collection that holds several products is listed once for each."""

    id: str = ""
    """Empty for items that name no collection."""
    items: str = ""
    """Pattern of the ids of the items; empty where all items of the collection are the product."""
    product: str
    assets: dict[str, str] = {}
    """Asset key -> common name of the layer. Empty where files or keys are named as the provider's layers."""
    source: str = ""


class Refuse(_Table, frozen=True, kw_only=True, rename={"source": "from"}):
    """Items that are not the product: a reading that tells so, with the reason told to the user."""

    source: str
    pattern: str
    reason: str


class Catalogue(_Table, frozen=True, kw_only=True):
    """One archive's catalogue. As loaded, what it is `like` and the neutral catalogue are already in it."""

    format: Literal[1]
    id: str
    """Also the name of its file, without .toml."""
    title: str
    like: str = ""
    """A catalogue whose collections this one has too, unless it lists them itself."""
    recognise: Recognise = Recognise()
    signing: Literal[
        "none", "planetary-computer", "requester-pays", "copernicus", "usgs", "earthdata", "unknown"
    ]
    """What a link needs before it can be fetched."""
    prefer: tuple[str, ...] = ()
    """Schemes in the order in which an asset's hrefs are tried, after files on disk."""
    collections: tuple[Collection, ...] = ()
    columns: dict[str, tuple[Reading, ...]] = {}
    """Scene column -> readings in order."""
    platforms: dict[str, str] = {}
    """Other spellings of a platform, in lower case with hyphens."""
    metadata: tuple[str, ...] = ()
    """Keys of the assets that hold the scene's own metadata, best first."""
    refuse: tuple[Refuse, ...] = ()
    notes: tuple[str, ...] = ()
    sources: dict[str, Source]
    unchecked: tuple[str, ...] = ()

    def collection(self, item: Item) -> Collection | None:
        """The entry of an item by its collection and its id; None where the catalogue lists none."""
        for entry in self.collections:
            if entry.id == (item.collection or "") and (
                not entry.items or search(entry.items, item.id or "")
            ):
                return entry
        return None

    def told(self, column: str, item: Item) -> Any:
        """What the item says of a scene column, None where it says nothing."""
        for reading in self.columns.get(column, ()):
            value = item.told(reading.source)
            if value is not None and (part := _part(reading.pattern, value)) is not None:
                return part
        return None

    def unfit(self, item: Item) -> str | None:
        """The reason why an item is none of the products, None where nothing speaks against it."""
        for rule in self.refuse:
            value = item.told(rule.source)
            if value is not None and search(rule.pattern, str(value)):
                return rule.reason
        return None


class Catalogues(Mapping[str, Catalogue]):
    """All known catalogues by id, immutable."""

    def __init__(self, catalogues: Mapping[str, Catalogue]) -> None:
        self._catalogues = dict(catalogues)

    def __getitem__(self, catalogue: str) -> Catalogue:
        return self._catalogues[catalogue]

    def __iter__(self) -> Iterator[str]:
        return iter(self._catalogues)

    def __len__(self) -> int:
        return len(self._catalogues)

    def recognise(self, item: Item) -> Catalogue:
        """The catalogue that an item comes from; the neutral one where nothing tells."""
        links = [str(link.get("href")) for link in item.links if link.get("rel") in _OWN_LINKS]
        found = self._by_prefix(self._links, links) or self._by_property(item)
        found = found or self._by_prefix(self._assets, item.asset_hrefs)
        found = found or self._collections.get(item.collection or "")
        return self._catalogues[found or NEUTRAL]

    def asset_keys(self, product: str) -> Mapping[str, str]:
        """Asset key -> layer of a product, in the spellings of all catalogues together."""
        return self._keys.get(product, {})

    @functools.cached_property
    def _keys(self) -> dict[str, dict[str, str]]:
        keys: dict[str, dict[str, str]] = {}
        for catalogue in self._catalogues.values():
            for entry in catalogue.collections:
                keys.setdefault(entry.product, {}).update(entry.assets)
        return keys

    @functools.cached_property
    def _links(self) -> list[tuple[str, str]]:
        return _longest_first((link, c.id) for c in self._catalogues.values() for link in c.recognise.links)

    @functools.cached_property
    def _assets(self) -> list[tuple[str, str]]:
        return _longest_first((href, c.id) for c in self._catalogues.values() for href in c.recognise.assets)

    @functools.cached_property
    def _collections(self) -> dict[str, str]:
        return {name: c.id for c in self._catalogues.values() for name in c.recognise.collections}

    @functools.cached_property
    def _properties(self) -> list[tuple[str, str, str]]:
        return [
            (key, want, c.id)
            for c in self._catalogues.values()
            for key, want in c.recognise.properties.items()
        ]

    def _by_prefix(self, known: Sequence[tuple[str, str]], hrefs: Sequence[str]) -> str | None:
        return next((name for prefix, name in known for href in hrefs if href.startswith(prefix)), None)

    def _by_property(self, item: Item) -> str | None:
        for key, want, name in self._properties:
            value = item.properties.get(key)
            if value is not None and search(want, str(value)):
                return name
        return None


def load(extra: Sequence[Path] = ()) -> Catalogues:
    """Read the shipped catalogues and those of the TOML files (or folders of them) in `extra`.

    One of `extra` replaces a shipped one of the same id. Raises `BadSource` naming file, key and value.
    """
    files = [*sorted(SHIPPED.glob("*.toml")), *(file for path in extra for file in _files(path))]
    raw = {catalogue.id: catalogue for catalogue in map(_read, files)}
    return Catalogues({name: _whole(catalogue, raw) for name, catalogue in raw.items()})


@functools.cache
def shipped() -> Catalogues:
    """The shipped catalogues, read once."""
    return load()


def check(catalogues: Catalogues, products: Mapping[str, Product]) -> None:
    """Raise `BadSource` where a catalogue speaks of a product or layer that the table does not have."""
    for catalogue in catalogues.values():
        for entry in catalogue.collections:
            if entry.product not in products:
                raise BadSource(
                    f"catalogue {catalogue.id}: collection {entry.id!r}: no product {entry.product!r}"
                )
            bands = {band.name for band in products[entry.product].bands}
            for key, band in entry.assets.items():
                if band not in bands:
                    raise BadSource(
                        f"catalogue {catalogue.id}: asset {key!r}: {entry.product} has no layer {band!r}"
                    )


def _text(value: object) -> str | None:
    return str(value) if isinstance(value, str | int) and str(value) else None


def _is_text(value: object) -> TypeGuard[str]:
    return isinstance(value, str)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.ASCII | re.MULTILINE)


def search(pattern: str, text: str) -> re.Match[str] | None:
    """Search a catalogue's pattern in a text, case ignored."""
    return _compiled(pattern).search(text)


def _part(pattern: str, value: Any) -> Any:
    if not pattern:
        return value
    match = search(pattern, str(value))
    if match is None:
        return None
    return match[1] if match.re.groups else match[0]


def _longest_first(pairs: Iterator[tuple[str, str]]) -> list[tuple[str, str]]:
    return sorted(pairs, key=lambda pair: (-len(pair[0]), pair))


def _files(path: Path) -> list[Path]:
    files = sorted(path.glob("*.toml")) if path.is_dir() else [path]
    if not files:
        raise BadSource(f"{path} holds no .toml file of a catalogue; see docs/add-a-catalog.md")
    return files


def _read(file: Path) -> Catalogue:
    try:
        catalogue = msgspec.convert(tomllib.loads(file.read_text("utf-8")), Catalogue)
        _check_alone(catalogue, file)
    except OSError as error:
        raise BadSource(f"{file} can not be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadSource(f"{file} is no TOML: {error}; mend the file at that place") from error
    except msgspec.ValidationError as error:
        raise BadSource(f"{file}: {error}; the keys are described in docs/add-a-catalog.md") from error
    return catalogue


def _check_alone(catalogue: Catalogue, file: Path) -> None:
    if catalogue.id != file.stem:
        raise BadSource(
            f"{file}: id = {catalogue.id!r}, but a catalogue's id is the name of its file; make them equal"
        )
    if strange := set(catalogue.columns) - set(SCENES):
        raise BadSource(f"{file}: columns.{min(strange)}: a scene has no such column")
    places = [reading.source for readings in catalogue.columns.values() for reading in readings]
    for place in (*places, *(rule.source for rule in catalogue.refuse)):
        if place not in ("id", "collection", "assets", "links") and not place.startswith("properties."):
            raise BadSource(
                f"{file}: from = {place!r}; an item has id, collection, assets, links and properties.KEY"
            )
    for pattern in _patterns(catalogue):
        try:
            re.compile(pattern)
        except re.error as error:
            raise BadSource(f"{file}: pattern {pattern!r} is no regular expression: {error}") from error


def _patterns(catalogue: Catalogue) -> Iterator[str]:
    yield from catalogue.recognise.properties.values()
    yield from (entry.items for entry in catalogue.collections)
    yield from (reading.pattern for readings in catalogue.columns.values() for reading in readings)
    yield from (rule.pattern for rule in catalogue.refuse)


def _whole(catalogue: Catalogue, raw: Mapping[str, Catalogue]) -> Catalogue:
    """A catalogue with what it is like, and the neutral one, added after its own facts."""
    whole = catalogue
    for base in _bases(catalogue, raw):
        columns = set(whole.columns) | set(base.columns)
        whole = msgspec.structs.replace(
            whole,
            collections=(*whole.collections, *base.collections),
            columns={name: (*whole.columns.get(name, ()), *base.columns.get(name, ())) for name in columns},
            platforms=base.platforms | whole.platforms,
            metadata=(*whole.metadata, *base.metadata),
            refuse=(*whole.refuse, *base.refuse),
            prefer=whole.prefer or base.prefer,
        )
    return whole


def _bases(catalogue: Catalogue, raw: Mapping[str, Catalogue]) -> list[Catalogue]:
    bases: list[Catalogue] = []
    name = catalogue.like
    while name and name != NEUTRAL:
        if name not in raw or raw[name] in bases or name == catalogue.id:
            raise BadSource(
                f"catalogue {catalogue.id}: like = {name!r} leads to no catalogue, or in a circle"
            )
        bases.append(raw[name])
        name = raw[name].like
    return bases if catalogue.id == NEUTRAL else [*bases, raw[NEUTRAL]]
