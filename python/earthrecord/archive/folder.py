"""Scenes in a folder of files as providers deliver them: any depth, any mixture, with metadata beside them or none.

Files are put together to scenes by the ids in their names. What the names say is held against MTL, product
metadata and STAC items of the same scene: the first that speaks fills a column, and where two speak of different
scenes the scene is refused.
"""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from earthrecord.archive import climate, packed, sidecar
from earthrecord.archive.candidate import FACTS, Candidate, Row
from earthrecord.archive.names import (
    Named,
    NotTheProduct,
    candidates,
    identify,
    names_scene,
    refused,
    without_copy_mark,
)
from earthrecord.archive.sidecar import Sidecar
from earthrecord.archive.walk import Entry, Walk, walk
from earthrecord.products.model import Product
from earthrecord.products.patterns import RASTER_ENDINGS

Key = tuple[str, str]
_SAFE = re.compile(r"(?i)\.safe$")


class Scan(NamedTuple):
    """What a folder holds."""

    rows: list[Row]
    """Rows for `scenes.table`: scenes that lie here in the order of their first files, then those that items list."""
    files: int
    """Files that were looked at."""
    ignored: Counter[str]
    """Files that are part of no product, by ending."""
    partial: list[str]
    """Downloads that were not finished."""


def read_folder(root: Path, products: Mapping[str, Product]) -> list[Row]:
    """Rows for `scenes.table` of all scenes in a folder, refused ones too; what is no product at all is passed over.

    One candidate a scene id: of several copies (two folders, HDF and single-band rasters) the best is taken, the
    others are counted in `repeated`. Flags: `no-metadata` where nothing but file names told of the scene,
    `copies-differ` where copies of one layer have different sizes, `unknown-baseline`. netCDF: see `climate`.
    """
    return scan(root, products).rows


def scan(
    root: Path, products: Mapping[str, Product], items: Sequence[Row] = (), found: Walk | None = None
) -> Scan:
    """As `read_folder`, with what was passed over. `items` are rows of STAC items that lie in the same folder.

    An item of a scene whose files lie here is metadata of it; any other is a row of its own.
    """
    folder = _Folder(root, products, walk(root) if found is None else found)
    folder.sort_files()
    folder.adopt(items)
    folder.attach_items(items)
    folder.attach_metadata()
    folder.settle_packed()
    rows = [row for _, row in sorted(folder.rows(), key=lambda pair: pair[0])] + folder.listed()
    for order, row in enumerate(rows):
        row |= {"order": order, "catalogue": row.get("catalogue") or str(root)}
    return Scan(rows, len(folder.walk.entries), folder.ignored(), folder.walk.partial)


class _Folder:
    """The files of one folder on their way to candidates."""

    def __init__(self, root: Path, products: Mapping[str, Product], found: Walk) -> None:
        self.root, self.products, self.walk = root, products, found
        self.above = _scene_folder_above(root, products)
        self.scenes: dict[Key, Candidate] = {}
        self.key_of: dict[str, Key] = {}
        """Path of a file -> key of its scene."""
        self.metadata: list[tuple[Entry, Sidecar]] = []
        self.packed: list[Entry] = []
        self.climate: list[tuple[Entry, list[Named]]] = []
        self.unknown: dict[str, tuple[Entry, NotTheProduct | None]] = {}
        self.items: list[tuple[str, Row]] = []
        """Rows of items whose scenes do not lie here, with their places."""
        self.refusals: dict[Key, tuple[str, NotTheProduct]] = {}

    def sort_files(self) -> None:
        """Each file to what it may be."""
        forms = defaultdict[str, list[Entry]](list)
        for entry in self.walk.entries:
            if sidecar.scene_in_name(entry.name) is not None:
                forms[sidecar.without_form(entry.rel)].append(entry)
            elif packed.ENDING.search(entry.name):
                self.packed.append(entry)
            else:
                self._sort_by_name(entry)
        self.metadata = [_first_sound(entries) for entries in forms.values()]

    def _sort_by_name(self, entry: Entry) -> None:
        named = identify(entry.rel, self.products)
        if self.above and not isinstance(named, Named):
            named = identify(self.above + entry.rel, self.products)
            if isinstance(named, Named):
                named = replace(named, home=f"{named.home}/".removeprefix(self.above).rstrip("/"))
        if not isinstance(named, Named):
            # Beside layers lies what is none: there the folder alone says nothing of a file.
            told = _is_raster(entry) or refused(entry.name, self.products) is not None
            self.unknown[entry.rel] = entry, named if told else None
        elif named.container == "netcdf":
            every = candidates(entry.rel, self.products)
            self.climate.append((entry, [one for one in every if isinstance(one, Named)]))
        else:
            self._take(entry, named)

    def _take(self, entry: Entry, named: Named) -> None:
        key = named.product, named.scene.casefold()
        if key not in self.scenes:
            self.scenes[key] = Candidate(self.products[named.product], named.scene)
        self.scenes[key].files.append((entry, named))
        self.key_of[entry.path] = key

    def adopt(self, items: Iterable[Row]) -> None:
        """Give files that do not say of which scene they are to the one whose metadata alone lie in a folder above."""
        ids = self._ids_by_folder(items)
        for entry, not_it in list(self.unknown.values()):
            home = next((folder for folder in _above(entry.folder) if folder in ids), None)
            if home is None:
                continue
            below = entry.rel[len(home) + 1 if home else 0 :]
            if len(ids[home]) > 1:
                self._note_ambiguous(entry, below, home, sorted(ids[home]))
                continue
            (scene,) = ids[home]
            named = self._named_below(scene, below, home)
            if named is not None:
                del self.unknown[entry.rel]
                self._take(entry, named)
            elif not_it is not None and _names(scene, not_it.product, self.products):
                self.unknown[entry.rel] = (
                    entry,
                    None,
                )  # another layer of that scene: its folder says what it is

    def _note_ambiguous(self, entry: Entry, below: str, home: str, scenes: Sequence[str]) -> None:
        """A layer that may be of each of several scenes whose metadata lie around it is none of them."""
        claims = [named for scene in scenes if (named := self._named_below(scene, below, home))]
        if claims:
            reason = (
                f"{entry.rel} does not tell its scene, and metadata of {len(scenes)} lie around it "
                f"({', '.join(scenes[:3])} ...): give each scene a folder of its own"
            )
            self.unknown[entry.rel] = entry, NotTheProduct(claims[0].product, entry.rel, reason)

    def _ids_by_folder(self, items: Iterable[Row]) -> dict[str, set[str]]:
        """The ids of all scenes whose metadata lie in a folder."""
        ids = defaultdict[str, set[str]](set)
        for entry, side in self.metadata:
            if side.scene:
                ids[entry.folder].add(side.scene)
        by_item = {str(row["item"]): str(row["scene"]) for row in items if row.get("scene")}
        for entry, _ in self.unknown.values():
            stem, _, ending = entry.name.rpartition(".")
            if ending.lower() == "json" and stem in by_item:
                ids[entry.folder].add(by_item[stem])
        return ids

    def _named_below(self, scene: str, below: str, home: str) -> Named | None:
        """What a path is called where its scene's id stands before it, as a folder or as a part of the name."""
        for joint in ("/", "_"):
            named = identify(f"{scene}{joint}{below}", self.products)
            if isinstance(named, Named) and named.scene.casefold() == scene.casefold():
                return Named(
                    named.product,
                    named.scene,
                    named.band,
                    named.container,
                    named.columns,
                    home,
                    named.variant,
                )
        return None

    def attach_items(self, items: Iterable[Row]) -> None:
        """Items to the scenes whose files they list, or whose id they have."""
        for row in items:
            scene = self.scenes.get(self._key_of_item(row) or ("", ""))
            if scene is None:
                self.items.append((self._place_of_item(row), row))
            elif row.get("refused"):
                torn = "contradiction" in (row.get("flags") or ())
                problem = f"{row['item']}: {row['refused']}"
                scene.sidecars.append(Sidecar(self.root, None, {}, problem, contradicts=torn))
            else:
                scene.items.append(row)
                have = {named.band for _, named in scene.files}
                scene.extra += [
                    file
                    for file in row["files"]
                    if file["band"] not in have and self._is_nameless(file["href"])
                ]

    def _key_of_item(self, row: Row) -> Key | None:
        for file in row.get("files") or ():
            if file["href"] in self.key_of:
                return self.key_of[file["href"]]
        ids = [str(row[column]).casefold() for column in ("scene", "item") if row.get(column)]
        products = [row["product"]] if row.get("product") else list(self.products)
        return next(
            (key for name in ids for key in ((p, name) for p in products) if key in self.scenes), None
        )

    def _is_nameless(self, href: str) -> bool:
        """Whether a file of an item lies on disk under a name that tells nothing."""
        return href not in self.key_of and os.path.isabs(href) and os.path.exists(href)

    def _place_of_item(self, row: Row) -> str:
        """Relative path of what an item was read from, where that lies here."""
        metadata = str(row.get("metadata") or row.get("item"))
        return (
            os.path.relpath(metadata, self.root) if metadata.startswith(f"{self.root}{os.sep}") else metadata
        )

    def attach_metadata(self) -> None:
        """Metadata files to the scenes that they name, or among whose files alone they lie."""
        by_id = {scene: candidate for (_, scene), candidate in self.scenes.items()}
        orphans: list[tuple[Entry, Sidecar]] = []
        for entry, side in self.metadata:
            scene = next((by_id[name] for name in _ids(entry, side) if name in by_id), None)
            if scene is None:
                orphans.append((entry, side))
            else:
                scene.sidecars.append(side)
        folders = self._scenes_by_folder()
        for entry, side in orphans:
            around = folders.get(entry.folder, [])
            if len(around) != 1 or not self._belongs(entry, side, around[0]):
                self._note_orphan(entry, side)

    def _scenes_by_folder(self) -> dict[str, list[Candidate]]:
        folders = defaultdict[str, dict[int, Candidate]](dict)
        for scene in self.scenes.values():
            for entry, named in scene.files:
                for folder in (entry.folder, named.home):
                    folders[folder][id(scene)] = scene
        return {folder: list(scenes.values()) for folder, scenes in folders.items()}

    def _belongs(self, entry: Entry, side: Sidecar, scene: Candidate) -> bool:
        """Whether metadata of no scene here are, by another id, of the only one whose files lie around them.

        If they are not, and it has none of its own, something was mixed up: it is marked.
        """
        told = sidecar.scene_in_name(entry.name) or side.scene
        if told is None or not scene.is_other(told):
            scene.sidecars.append(side)
            return True
        if not scene.sidecars and not scene.items:
            scene.foreign = entry.path, told
        return False

    def _note_orphan(self, entry: Entry, side: Sidecar) -> None:
        """Metadata without layers: they tell more of an item's scene, or that a scene is not the product, or not here."""
        name = side.scene or sidecar.scene_in_name(entry.name) or ""
        if not_it := refused(name, self.products):
            self._refuse(entry.rel, not_it)
            return
        listed = [row for place, row in self.items if _is_of(row, place, name, entry)]
        for row in listed:
            row |= {
                key: value for key, value in side.columns.items() if key in FACTS and row.get(key) is None
            }
        if not listed and (named := names_scene(name, self.products)):
            reason = (
                side.problem
                or f"only metadata of it lie here ({entry.rel}), none of its layers under their provider's names: get them too"
            )
            self._refuse(entry.rel, NotTheProduct(named.product, side.scene or named.scene, reason))

    def _refuse(self, place: str, not_it: NotTheProduct) -> None:
        self.refusals.setdefault((not_it.product, not_it.scene.casefold()), (place, not_it))

    def settle_packed(self) -> None:
        """Archives of scenes: refused with a word of advice, or counted where the scene lies unpacked too."""
        for entry in self.packed:
            name = packed.ENDING.sub("", without_copy_mark(entry.name)[0])
            if not_it := refused(entry.rel, self.products):
                self._refuse(entry.rel, not_it)
                continue
            if not self._settle(entry, name):
                held = [self._settle(entry, inside) for inside in packed.members(Path(entry.path))]
                if not any(held):
                    self.unknown[entry.rel] = entry, None

    def _settle(self, entry: Entry, inside: str) -> bool:
        """Tell of a scene in a packed archive, if that is what a name in it says."""
        named = next(
            filter(None, (names_scene(_SAFE.sub("", part), self.products) for part in inside.split("/"))),
            None,
        )
        told = named or identify(inside, self.products)
        if told is None:
            return False
        if scene := self.scenes.get((told.product, told.scene.casefold())):
            scene.packed = 1
        elif isinstance(told, NotTheProduct):
            self._refuse(entry.rel, told)
        else:
            reason = f"packed in {entry.rel}: unpack it first, then search again"
            self._refuse(entry.rel, NotTheProduct(told.product, told.scene, reason))
        return True

    def rows(self) -> Iterator[tuple[str, Row]]:
        """Rows of what lies here, with the places by which they are ordered."""
        for entry, not_it in self.unknown.values():
            if not_it is not None:
                self._refuse(entry.rel, not_it)
        yield from ((scene.place, scene.row()) for scene in self.scenes.values())
        for entry, named in self.climate:
            yield from ((entry.rel, row) for row in climate.rows(entry, named, self.products))
        yield from ((place, _refused_row(not_it)) for place, not_it in self.refusals.values())
        yield from (
            (place, {"scene": place, "item": place, "repeated": 0, "flags": [], "refused": why})
            for place, why in self.walk.unreadable
        )

    def listed(self) -> list[Row]:
        """Items of scenes that do not lie here, in their own order; a refusal that was told already is left out."""
        told = tuple(scene for _, scene in self.refusals)
        return [
            row
            for _, row in self.items
            if not (row.get("refused") and str(row.get("item")).casefold().startswith(told))
        ]

    def ignored(self) -> Counter[str]:
        """Files that are part of nothing, by ending."""
        used = {file["href"] for _, row in self.items for file in row.get("files") or ()}
        nothing = [
            entry for entry, not_it in self.unknown.values() if not_it is None and entry.path not in used
        ]
        return self.walk.passed_over + Counter(os.path.splitext(entry.name)[1].lower() for entry in nothing)


def _scene_folder_above(root: Path, products: Mapping[str, Product]) -> str:
    """The way to the root from the scene's folder in which it lies, or which it is; "" where it is in none.

    Who names such a folder as a source has cut the scene's id off the paths of the files.
    """
    parts = root.parts
    for depth in range(len(parts) - 1, 0, -1):
        if names_scene(_SAFE.sub("", parts[depth]), products):
            return "/".join(parts[depth:]) + "/"
    return ""


def _is_raster(entry: Entry) -> bool:
    return entry.name.rpartition(".")[2].lower() in RASTER_ENDINGS


def _first_sound(forms: Sequence[Entry]) -> tuple[Entry, Sidecar]:
    """Of one file in several forms (MTL as text, JSON, XML) the first that can be read, else what is wrong with the first."""
    read = []
    for entry in forms:
        read.append((entry, sidecar.read(Path(entry.path))))
        if read[-1][1].problem is None:
            return read[-1]
    return read[0]


def _ids(entry: Entry, side: Sidecar) -> Iterator[str]:
    """What a metadata file may call its scene: its name; where that tells nothing the folders around it, then its content."""
    if name := sidecar.scene_in_name(entry.name):
        yield name.casefold()
        return
    for folder in reversed(entry.folder.split("/")):
        yield _SAFE.sub("", folder).casefold()
    if side.scene:
        yield side.scene.casefold()


def _is_of(row: Row, place: str, scene: str, entry: Entry) -> bool:
    """Whether an item is of the scene that a metadata file names, or was read from the same folder."""
    same = str(row.get("scene")).casefold() == scene.casefold()
    return row.get("refused") is None and (same or place.rpartition("/")[0] == entry.folder != "")


def _names(scene: str, product: str, products: Mapping[str, Product]) -> bool:
    named = names_scene(scene, products)
    return named is not None and named.product == product


def _above(folder: str) -> Iterator[str]:
    """A folder and all above it, the root ("") last."""
    while folder:
        yield folder
        folder = folder.rpartition("/")[0]
    yield ""


def _refused_row(not_it: NotTheProduct) -> Row:
    told = {"product": not_it.product, "scene": not_it.scene, "item": not_it.scene, "refused": not_it.reason}
    return {**told, "repeated": 0, "flags": []}
