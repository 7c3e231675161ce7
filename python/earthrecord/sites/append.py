"""Adds a site to a TOML file without touching what stands in it."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from earthrecord.errors import BadSite
from earthrecord.sites.model import Site
from earthrecord.sites.readers import parse_sites


def append_site(path: Path, site: str, bbox: Sequence[float], **attributes: str | None) -> Site:
    """Write a [[sites]] table at the end of `path`, which is made where it does not exist; returns the site.

    The file is replaced as a whole or not at all. Raises `BadSite` where the id is taken or the result
    would not be a sites file.
    """
    before = _text(path)
    if before and any(known.casefold() == site.casefold() for known in parse_sites(before, path)):
        raise BadSite(f"{path} has a site {site!r} already; choose another id, or edit it there")
    after = before + ("\n" if before else "") + _table(site, bbox, attributes)
    added = parse_sites(after, path)[site]
    _replace(path, after)
    return added


def _text(path: Path) -> str:
    try:
        text = path.read_text("utf-8-sig")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise BadSite(f"{path} is no TOML: {error}") from None
    return text if text.endswith("\n") or not text else text + "\n"


def _table(site: str, bbox: Sequence[float], attributes: dict[str, str | None]) -> str:
    told = {"id": site, **attributes}
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in told.items() if value]
    return "\n".join(["[[sites]]", *lines, f"bbox = {[float(edge) for edge in bbox]}"]) + "\n"


def _replace(path: Path, text: str) -> None:
    path = path.resolve()  # a link stays a link
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_text(text, "utf-8")
        if path.exists():
            shutil.copymode(path, part)
        part.replace(path)
    except OSError as error:
        raise BadSite(f"{path} can not be written: {error}") from None
    finally:
        part.unlink(missing_ok=True)
