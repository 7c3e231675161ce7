"""Scene metadata that lie beside rasters, as columns of the scene table, and whether they speak of that scene."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from earthrecord.archive import mtl, safe
from earthrecord.archive.names import without_copy_mark
from earthrecord.errors import BadMetadata
from earthrecord.products.model import Product

_MTL = re.compile(r"(?i)(?:(?P<scene>.+)[_.-])?MTL\.(?P<form>txt|json|xml)")
_SAFE = re.compile(
    r"(?i)(?:(?P<scene>.+)[_.-])?(?:MTD_MSIL2A\.xml|product_metadata\.xml|tileinfo(?:_metadata)?\.json)"
)
# Where names and metadata both speak, they must agree. The date stands apart: see `contradiction`.
_AGREE = ("platform", "sensor", "level", "tier", "path", "row", "tile", "baseline")
_SAME_DATATAKE = dt.timedelta(seconds=2)


class Sidecar(NamedTuple):
    """What one metadata file says."""

    path: Path
    scene: str | None
    """Id of the scene by its content; None where the file is damaged or silent."""
    columns: Mapping[str, Any]
    problem: str | None = None
    """Why the file can not be used."""
    scale: float | None = None
    """Reflectance of one DN, where the file tells."""
    contradicts: bool = False
    """The problem is that it tells of two scenes."""


def scene_in_name(name: str) -> str | None:
    """The scene's id in the name of a metadata file, "" where it is one without an id; None for other files."""
    name, _ = without_copy_mark(name)
    found = _MTL.fullmatch(name) or _SAFE.fullmatch(name)
    return None if found is None else found["scene"] or ""


def without_form(rel: str) -> str:
    """What the forms of one metadata file have in common: its path without the ending, where there are several."""
    plain, _ = without_copy_mark(rel)
    return plain.rpartition(".")[0].lower() if _MTL.fullmatch(plain.rpartition("/")[2]) else rel


def read(path: Path) -> Sidecar:
    """Read a file that `scene_in_name` takes for metadata."""
    try:
        if _MTL.fullmatch(without_copy_mark(path.name)[0]):
            return _landsat(path)
        return _sentinel_2(path)
    except BadMetadata as error:
        return Sidecar(path, None, {}, str(error))


def contradiction(sidecar: Sidecar, named: Mapping[str, Any], scene: str | None) -> str | None:
    """Where metadata and file names speak of two scenes, told with both values; None where they agree.

    `scene` is the id by the names, None where it can not be compared with that of the metadata.
    """
    told = {**sidecar.columns, "scene": sidecar.scene if scene else None}
    by_name = {**named, "scene": scene}
    time = "datatake" if told.get("datatake") and by_name.get("datatake") else "date"
    for column in ("scene", *_AGREE, time):
        one, two = told.get(column), by_name.get(column)
        if one is not None and two is not None and not _agree(one, two):
            return (
                f"metadata of another scene: {sidecar.path} says {column} {one}, the names of the files say {two}; "
                "put the scene's own metadata there"
            )
    return None


def foreign(path: str, told: str, scene: str) -> str:
    """What to say of metadata of an absent scene among the files of another one, which has none of its own."""
    return (
        f"metadata of another scene: {path}, among its files, says scene {told}, the names of the files say {scene}; "
        "put the scene's own metadata there"
    )


def other_scale(sidecar: Sidecar, product: Product) -> str | None:
    """Where the metadata state another scale than the product has: a reason to refuse; None otherwise."""
    scales = {band.scale for band in product.bands if band.record and band.offset_by_scene and band.scale}
    if sidecar.scale is None or not scales or any(abs(sidecar.scale / scale - 1) < 1e-6 for scale in scales):
        return None
    told = ", ".join(f"{scale:g}" for scale in sorted(scales))
    return f"{sidecar.path} says that one DN is {sidecar.scale:g} of reflectance, {product.id} has {told}: not the product as distributed"


def _agree(told: Any, by_name: Any) -> bool:
    if isinstance(told, dt.datetime) and isinstance(by_name, dt.datetime):
        return abs(told - by_name) < _SAME_DATATAKE
    return str(told).casefold() == str(by_name).casefold()


def _landsat(path: Path) -> Sidecar:
    facts = mtl.read(path)
    keys = (
        "level",
        "tier",
        "platform",
        "sensor",
        "path",
        "row",
        "date",
        "start",
        "processed",
        "crs",
        "footprint",
    )
    columns = {key: getattr(facts, key) for key in keys} | _grid(facts.transform, facts.shape)
    return Sidecar(path, facts.scene, _told(columns))


def _sentinel_2(path: Path) -> Sidecar:
    facts = safe.read(path)
    keys = (
        "platform",
        "tile",
        "baseline",
        "generated",
        "datatake",
        "sensing",
        "processed",
        "start",
        "offset",
        "crs",
        "footprint",
    )
    columns = {key: getattr(facts, key) for key in keys} | _grid(facts.transform, facts.shape)
    columns["date"] = facts.start and facts.start.date()
    scale = 1 / facts.quantification if facts.quantification else None
    return Sidecar(path, facts.scene, _told(columns), scale=scale)


def _grid(transform: tuple[float, ...] | None, shape: tuple[int, int] | None) -> dict[str, Any]:
    return {"transform": transform and list(transform), "shape": shape and list(shape)}


def _told(columns: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in columns.items() if value is not None}
