"""Reads the product tables: the shipped ones beside this module, and a user's own."""

from __future__ import annotations

import functools
import hashlib
import itertools
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from earthrecord.errors import BadProduct
from earthrecord.products.check import pattern_problems, problems
from earthrecord.products.model import Product

SHIPPED = Path(__file__).parent
_FORMAT = 1


class Products(Mapping[str, Product]):
    """All known products by id, immutable, in the order in which file names are tried on them.

    Those of a record first, then further ones, then withheld ones; in each, a user's own before the shipped.
    """

    def __init__(self, products: Mapping[str, Product]) -> None:
        self._products = dict(products)

    def __getitem__(self, product: str) -> Product:
        return self._products[product]

    def __iter__(self) -> Iterator[str]:
        return iter(self._products)

    def __len__(self) -> int:
        return len(self._products)

    @functools.cached_property
    def digest(self) -> str:
        """SHA-256 (hex) over the content of all tables, whatever files and spelling they came from."""
        content = {name: self._products[name] for name in sorted(self._products)}
        return hashlib.sha256(msgspec.json.encode(content, order="sorted")).hexdigest()


class _Table(NamedTuple):
    """A product TOML as read, before `like` is resolved."""

    file: Path
    keys: dict[str, Any]
    shipped: bool


def load(extra: Sequence[Path] = ()) -> Products:
    """Read all shipped products and those of the folders (or single TOML files) in `extra`.

    Raises `BadProduct` naming file, key, value and remedy.
    """
    tables: dict[str, _Table] = {}
    for file in sorted(SHIPPED.glob("*.toml")):
        _add(tables, _read(file, shipped=True))
    for folder in extra:
        for file in _files(folder):
            _add(tables, _read(file, shipped=False))
    products = {name: _product(name, tables) for name in tables}

    def rank(name: str) -> tuple[bool, bool, bool, str]:
        return products[name].withheld, not products[name].record, tables[name].shipped, name

    return Products({name: products[name] for name in sorted(products, key=rank)})


def _files(folder: Path) -> list[Path]:
    if folder.is_file():
        return [folder]
    if not folder.is_dir():
        raise BadProduct(f"{folder}: no such folder of product tables; check --products")
    files = sorted(folder.glob("*.toml"))
    if not files:
        raise BadProduct(f"{folder}: holds no .toml file; check --products")
    return files


def _read(file: Path, shipped: bool) -> _Table:
    try:
        keys = tomllib.loads(file.read_bytes().removeprefix(b"\xef\xbb\xbf").decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadProduct(f"{file}: no TOML: {error}; mend the file at that place") from error
    except OSError as error:
        raise BadProduct(f"{file}: can not be read: {error.strerror}; check the permission") from error
    if keys.get("id") != file.stem:
        raise BadProduct(
            f"{file}: id = {keys.get('id')!r}, but a product's id is the name of its file; make them equal"
        )
    if not re.fullmatch(r"[A-Za-z0-9][\w.-]*", file.stem, re.ASCII):
        raise BadProduct(
            f"{file}: id = {file.stem!r}; use letters, digits, - _ and . alone: it names folders"
        )
    if problem := next(_shape(keys), None):
        raise BadProduct(f"{file}: {problem}; the keys are described in docs/add-a-product.md")
    return _Table(file, keys, shipped)


def _shape(keys: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with the keys that are resolved before the others are read."""
    bands, words, replaces = keys.get("bands", []), keys.get("substitute", {}), keys.get("replaces", True)
    if not isinstance(bands, list) or not all(isinstance(band, dict) for band in bands):
        yield f"bands = {bands!r} is no list of tables"
    elif wrong := [
        name
        for band in bands
        for name in (band.get("name"), band.get("like"))
        if not isinstance(name, str | None)
    ]:
        yield f"bands: name or like = {wrong[0]!r} is no text"
    if not isinstance(words, dict) or not all(isinstance(word, str) for word in words.values()):
        yield f"substitute = {words!r} is no table of words"
    if not isinstance(keys.get("like", ""), str):
        yield f"like = {keys['like']!r} is no id of a product"
    if replaces is not True:
        yield f"replaces = {replaces!r}; it is true, or not there"


def _add(tables: dict[str, _Table], new: _Table) -> None:
    replaces = new.keys.pop("replaces", False)
    old = tables.get(new.keys["id"])
    if replaces is True and old is not None and new.keys.get("like") == new.keys["id"]:
        new = new._replace(keys=old.keys | {key: value for key, value in new.keys.items() if key != "like"})
    if old is not None and not (replaces is True and old.shipped and not new.shipped):
        raise BadProduct(
            f"{new.file}: id = {new.keys['id']!r} is that of {old.file}; choose another id, "
            "or say `replaces = true` where yours stands in for a shipped product"
        )
    if old is None and replaces:
        raise BadProduct(
            f"{new.file}: replaces = {replaces!r}, but no shipped product is called {new.keys['id']!r}"
        )
    tables[new.keys["id"]] = new


def _product(name: str, tables: Mapping[str, _Table]) -> Product:
    file = tables[name].file
    keys = _resolved(name, tables, ())
    keys["bands"] = _rows(file, keys.get("bands", []))
    if keys.get("format") != _FORMAT:
        raise BadProduct(f"{file}: format = {keys.get('format')!r}; this version reads format {_FORMAT}")
    try:
        product = msgspec.convert(keys, Product)
    except msgspec.ValidationError as error:
        raise BadProduct(f"{file}: {_told(error, keys)}") from error
    found = (
        problems(product)
        if tables[name].shipped
        else itertools.chain(problems(product), pattern_problems(product))
    )
    if problem := next(iter(found), None):
        raise BadProduct(f"{file}: {problem}")
    return product


def _resolved(name: str, tables: Mapping[str, _Table], seen: tuple[str, ...]) -> dict[str, Any]:
    """The keys of a product over those of the product it is `like`."""
    file, keys, _ = tables[name]
    if "like" not in keys:
        return dict(keys)
    base = keys["like"]
    if base in (*seen, name):
        raise BadProduct(f"{file}: like = {base!r} leads in a circle; start one of the products from none")
    if base not in tables:
        raise BadProduct(f"{file}: like = {base!r}, but there is no such product; `er products` lists them")
    inherited = _resolved(base, tables, (*seen, name))
    merged = _substituted(inherited, keys.get("substitute", {})) | keys
    return {key: value for key, value in merged.items() if key not in ("like", "substitute")}


def _substituted(value: Any, words: Mapping[str, str]) -> Any:
    """A value with words changed in every string of it (not in the keys)."""
    if isinstance(value, str):
        for old, new in words.items():
            value = value.replace(old, new)
        return value
    if isinstance(value, dict):
        return {key: _substituted(item, words) for key, item in value.items()}
    return [_substituted(item, words) for item in value] if isinstance(value, list) else value


def _rows(file: Path, bands: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of the bands, each over the earlier row that it is `like`."""
    rows: dict[str, dict[str, Any]] = {}
    for band in bands:
        base = band.get("like")
        if base is not None and base not in rows:
            raise BadProduct(
                f"{file}: bands.{band.get('name')}.like = {base!r}, but no earlier band is called so"
            )
        row = {**rows.get(base or "", {}), **band}
        row.pop("like", None)
        if row.get("name") in rows:
            raise BadProduct(f"{file}: two bands are called {row['name']!r}; names are unique in a product")
        rows[row.get("name", "")] = row
    return list(rows.values())


def _told(error: msgspec.ValidationError, keys: dict[str, Any]) -> str:
    """msgspec's words, with the name of the band and the value that was found at the path."""
    reason, _, path = str(error).partition(" - at ")
    at = path.strip("`").removeprefix("$.")
    return f"{at or 'top level'}: {reason}{_found(keys, at)}; the keys are described in docs/add-a-product.md"


def _found(keys: Any, path: str) -> str:
    value, label = keys, ""
    for step in path.replace("[", ".").replace("]", "").split("."):
        try:
            value = value[int(step)] if isinstance(value, list) else value[step]
        except (KeyError, ValueError, IndexError, TypeError):
            return label
        if isinstance(value, dict) and "name" in value:
            label = f" (in {value['name']!r})"
    return label if isinstance(value, dict | list) else f"{label}, found {value!r}"
