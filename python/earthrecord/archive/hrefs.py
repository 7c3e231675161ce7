"""Links of catalogue items: where they lead from, and which of several is taken."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urljoin, urlsplit
from urllib.request import url2pathname

from earthrecord.products.model import Container
from earthrecord.products.patterns import EXTENSIONS

_SCHEME = re.compile(r"([a-z][a-z0-9+.-]+):/", re.IGNORECASE)
_ESCAPES = re.compile(r"[%?#\\]")
_WINDOWS_DRIVE = re.compile(r"[a-z]:[\\/]", re.IGNORECASE)
_VIRTUAL = {"/vsis3/": "s3://", "/vsigs/": "gs://", "/vsiaz/": "az://", "/vsicurl/": ""}
_ENDINGS: dict[str, Container] = {
    f".{ending}": kind
    for kind, endings in EXTENSIONS.items()
    for ending in endings.split("|")
    if ending != "json"  # of an item's links these are metadata
}
_MEDIA: dict[str, Container] = {
    "image/tiff": "tiff",
    "image/vnd.stac.geotiff": "tiff",
    "image/jp2": "jp2",
    "application/x-hdf": "hdf4",
    "application/x-hdf4": "hdf4",
    "application/x-hdf5": "hdf5",
    "application/x-netcdf": "netcdf",
    "application/netcdf": "netcdf",
    "application/geo+json": "vector",
    "application/geopackage+sqlite3": "vector",
}


class Base(NamedTuple):
    """What the links of an item are relative to."""

    file: Path
    """The file that holds the item."""
    url: str = ""
    """The item's own address where it came from the network; "" otherwise."""

    @property
    def folder(self) -> Path:
        return self.file.parent


class Link(NamedTuple):
    href: str
    """Absolute path, or a URL with its scheme."""
    reachable: bool
    """False for a path at which no file lies."""

    @property
    def scheme(self) -> str:
        """Lower-case scheme; "" for a path."""
        return scheme(self.href)


def scheme(href: str) -> str:
    """The scheme of a link in lower case, "" where it has none; a Windows drive letter is none."""
    match = _SCHEME.match(href)
    return match[1].lower() if match else ""


def file_name(href: str) -> str:
    """The last part of a link's path, without query and escapes."""
    return location(href).rpartition("/")[2]


def location(href: str) -> str:
    """The path of a link in POSIX form, without scheme, host, query and escapes."""
    if "://" not in href:
        return _url_path(href) if scheme(href) else href.replace("\\", "/")
    if _ESCAPES.search(href):
        return _url_path(href)
    return href[href.find("/", href.index("://") + 3) :]


def _url_path(href: str) -> str:
    try:
        return unquote(urlsplit(href).path)
    except ValueError:  # a host that is none
        return href


def resolve(href: str, base: Base) -> Link:
    """The absolute form of a link.

    A relative one is meant relative to the file that holds the item; where no file lies there and the item
    has an address of its own, relative to that address. `file:` URLs become paths, GDAL's `/vsis3/` and the like
    become URLs. Whether a remote file exists is not asked.
    """
    if href.startswith("/vsi"):
        href = _without_gdal(href)
    kind = scheme(href)
    if kind == "file":
        path = _on_disk(url2pathname(_url_path(href)))
        return Link(path, os.path.exists(path))
    if kind:
        return Link(href, True)
    if _WINDOWS_DRIVE.match(href):
        return Link(href, os.path.exists(href))
    return _resolve_path(href, base)


def _without_gdal(href: str) -> str:
    for prefix, replacement in _VIRTUAL.items():
        if href.startswith(prefix):
            return replacement + href[len(prefix) :]
    return href


def _resolve_path(href: str, base: Base) -> Link:
    path = os.path.normpath(os.path.join(base.folder, _on_disk(href)))
    for candidate in (path, unquote(path)):
        if os.path.exists(candidate):
            return Link(candidate, True)
    if base.url and not href.startswith("/"):
        return Link(urljoin(base.url, href.replace("\\", "/")), True)
    return Link(path, False)


def _on_disk(path: str) -> str:
    return path.replace("\\", "/") if os.sep == "/" else path


def choose(asset: Mapping[str, Any], base: Base, prefer: Sequence[str], scene: str) -> Link | None:
    """The link of an asset that is taken: of its `href` and its alternates, the easiest to reach.

    A file on disk comes first, then the schemes of `prefer` in order, then others; a path where no file lies is
    last. A file that lies beside the item and carries the scene's id in its name is what a remote link of the same
    name means. None where the asset has no link.
    """
    links = [resolve(href, base) for href in _hrefs(asset)]
    if not links:
        return None
    first = links[0].href
    if scene and first.startswith(scene, first.rfind("/") + 1):
        beside = os.path.join(os.path.dirname(base.file), file_name(first))
        if os.path.isfile(beside):
            return Link(beside, True)
    return links[0] if len(links) == 1 else min(links, key=lambda link: _effort(link, prefer))


def _hrefs(asset: Mapping[str, Any]) -> list[str]:
    alternates = asset.get("alternate")
    places = [asset, *alternates.values()] if isinstance(alternates, dict) else [asset]
    hrefs = [place.get("href") if isinstance(place, dict) else place for place in places]
    return [href for href in hrefs if isinstance(href, str) and href]


def _effort(link: Link, prefer: Sequence[str]) -> tuple[bool, int]:
    kind = link.scheme
    return not link.reachable, 0 if not kind else 1 + (prefer.index(kind) if kind in prefer else len(prefer))


def container(href: str, media: object) -> Container | None:
    """What kind of file a link leads to, by its ending, else by its media type; None for no layer at all."""
    plain = href[href.rfind(".") :].lower()
    ending = plain if plain in _ENDINGS else os.path.splitext(file_name(href))[1].lower()
    if ending in _ENDINGS:
        return _ENDINGS[ending]
    return _MEDIA.get(str(media).partition(";")[0].strip().lower()) if not ending else None
