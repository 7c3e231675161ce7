"""Checking a record: every byte, every header, every ledger row. Each finding says what is wrong and how to mend it.

Time stamps are not looked at: whoever hands a record on changes them without changing the record.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec
import polars as pl

from earthrecord import _core
from earthrecord.archive import names, netcdf, raster
from earthrecord.errors import BadRecord, EarthRecordError
from earthrecord.products.model import Product
from earthrecord.products.quality import class_table
from earthrecord.products.registry import Products
from earthrecord.record import ledger
from earthrecord.record.journal import digest_of
from earthrecord.record.model import COUNTS, DROPS, Certificate, Places, read_certificate, root_hash
from earthrecord.record.seal import MANIFEST
from earthrecord.record.select import obscured_share
from earthrecord.sites.model import Site
from earthrecord.sites.pixels import SitePixels

REBUILD = "build the record again with er build-record --replace"


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong: where, what, and what to do."""

    where: str
    what: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}; {self.remedy}"


@dataclass(frozen=True)
class Report:
    """What a verification looked at and what it found."""

    files: int
    bytes: int
    rows: int
    recounted: int
    root_hash: str
    findings: tuple[Finding, ...]


def verify(places: Places, products: Products, site: Site | None = None) -> Report:
    """Verify one record against its manifest, ledger and certificate.

    With the site at hand the kept scenes are counted again from the record's own quality layers. Raises
    `BadRecord` where certificate, manifest or ledger can not be read at all, or a build was stopped while it
    gave them their names.
    """
    if places.sealing.is_dir():
        raise BadRecord(f"{places.sealing}: a build was stopped in its last step; run the same command again")
    certificate = read_certificate(places.certificate)
    manifest, book = ledger.read(places.manifest, MANIFEST), ledger.read(places.ledger)
    open_, hidden = manifest.filter(~pl.col("withheld")), manifest.filter("withheld")
    found = _hashes(places.record)
    findings = [
        *_files(places.record, found, open_),
        *_files(places.withheld, _hashes(places.withheld), hidden),
        *_withheld_inside(places.record, found, hidden, products),
        *_certificate(places, certificate, open_, hidden, book),
        *_headers(places.record, open_, products),
        *_rows(book, certificate, products),
        *_kept(book, manifest),
    ]
    recounted = 0
    if site is not None and site.digest != certificate.site_digest:
        what = "the site is not the one that the record was built for"
        findings.append(Finding(site.id, what, "give the right --sites file"))
    elif site is not None:
        again = list(_recount(places, book, manifest, products, SitePixels(site), certificate))
        recounted, findings = len(again), findings + [finding for finding in again if finding]
    return Report(
        open_.height,
        int(open_["bytes"].sum()),
        book.height,
        recounted,
        certificate.root_hash,
        tuple(findings),
    )


def _hashes(root: Path) -> dict[str, str | Exception]:
    """What lies below a folder, by path below it; a folder without a file, and a link, stand in it by a trailing slash."""
    paths = list(_below(root))
    plain = [path for path in paths if not path.endswith("/")]
    found = dict(zip(plain, _core.sha256_files([root / path for path in plain]), strict=True))
    return {path: found.get(path, "") for path in paths}


def _below(root: Path) -> Iterator[str]:
    for folder, folders, files in os.walk(root):
        below = PurePosixPath(Path(folder).relative_to(root).as_posix())
        if not files and not folders and Path(folder) != root:
            yield f"{below}/"
        for name in sorted(files + folders):
            link = os.path.islink(f"{folder}/{name}")
            if link or name in files:
                yield f"{below / name}{'/' if link else ''}"


def _files(root: Path, found: Mapping[str, str | Exception], manifest: pl.DataFrame) -> Iterator[Finding]:
    wanted = {row["path"]: row for row in manifest.iter_rows(named=True)}
    for path, row in wanted.items():
        if isinstance(found.get(path, OSError()), Exception):
            yield Finding(str(root / path), "it is missing or unreadable", REBUILD)
        elif found[path] != row["sha256"]:
            size = (root / path).stat().st_size
            what = (
                f"{size} bytes instead of {row['bytes']}"
                if size != row["bytes"]
                else "bytes differ from those written"
            )
            yield Finding(str(root / path), what, REBUILD)
    for path in found:
        if path not in wanted:
            yield Finding(str(root / path), "it is no part of the record", "take it away")


def _withheld_inside(
    root: Path, found: Mapping[str, str | Exception], hidden: pl.DataFrame, products: Products
) -> Iterator[Finding]:
    """A withheld product under records, by name or by content, whatever it is called."""
    remedy = "take it out of the record: it holds answers"
    contents = dict(hidden.select("sha256", "product").iter_rows())
    for path, sha in found.items():
        named = names.identify(path.rstrip("/"), products)
        product = products.get(getattr(named, "product", None) or "")
        if product is not None and product.withheld:
            yield Finding(str(root / path), f"{product.title} is withheld", remedy)
        elif isinstance(sha, str) and sha in contents:
            yield Finding(str(root / path), f"its bytes are those of the withheld {contents[sha]}", remedy)


def _certificate(
    places: Places, certificate: Certificate, open_: pl.DataFrame, hidden: pl.DataFrame, book: pl.DataFrame
) -> Iterator[Finding]:
    """What record.json says of manifest, ledger and record. Whoever edits all of them alike is told by the root hash alone."""
    told = {"site": places.site, "files": open_.height, "bytes": int(open_["bytes"].sum())}
    told |= {"root_hash": _root(open_), "withheld_hash": _root(hidden), "ledger_digest": digest_of(book)}
    told |= _told_by_record(places.record)
    for field, found in told.items():
        said = str(getattr(certificate, field))
        if said != str(found):
            what = f"its {field} is {said}, what is there makes it {found}"
            yield Finding(str(places.certificate), what, f"one of both was altered: {REBUILD}")
    if certificate.rules.snapshot != certificate.snapshot:
        yield Finding(
            str(places.certificate),
            f"it names two snapshot dates, {certificate.snapshot} and {certificate.rules.snapshot}",
            REBUILD,
        )


def _root(manifest: pl.DataFrame) -> str:
    return root_hash(dict(manifest.select("path", "sha256").iter_rows()))


def _told_by_record(record: Path) -> dict[str, Any]:
    try:
        content = msgspec.json.decode((record / "site.json").read_bytes(), type=dict[str, Any])
    except (OSError, msgspec.DecodeError):
        return {}  # found by its hash
    return {"snapshot": content.get("snapshot")}


def _headers(root: Path, manifest: pl.DataFrame, products: Products) -> Iterator[Finding]:
    rows = [row for row in manifest.iter_rows(named=True) if row["path"].lower().endswith((".tif", ".tiff"))]
    for row, header in zip(rows, _core.scan_headers([root / row["path"] for row in rows]), strict=True):
        if isinstance(header, Exception):
            if (root / row["path"]).exists():
                yield Finding(str(root / row["path"]), str(header), REBUILD)
            continue
        for what in _format_1(header):
            yield Finding(header.path, what, REBUILD)
        product = products.get(row["product"] or "")
        band = product and next((band for band in product.bands if band.name == row["band"]), None)
        if band and header.dtype not in (band.dtype, *band.other_dtypes):
            yield Finding(header.path, f"it holds {header.dtype}, {band.name} is {band.dtype}", REBUILD)
    for path in manifest.filter(pl.col("path").str.ends_with(".nc"))["path"]:
        yield from _netcdf(root / path)


def _netcdf(path: Path) -> Iterator[Finding]:
    try:
        variables = netcdf.describe(path) if path.exists() else ["missing"]
    except EarthRecordError as error:
        yield Finding(str(path), str(error), REBUILD)
        return
    if len(variables) != 1:
        yield Finding(str(path), f"it holds {len(variables)} variables, a record's file holds one", REBUILD)


def _format_1(header: _core.Header) -> Iterator[str]:
    small = header.width <= 256 and header.height <= 256
    checks = {
        "one band": header.bands == 1,
        "deflate": header.compression == "deflate",
        "predictor 2 for integers": header.predictor == (1 if header.dtype.startswith("float") else 2),
        "256-pixel tiles, one strip where it fits": header.tile is None
        if small
        else header.tile == (256, 256),
        "no overviews": header.overviews == 0,
        "classic little-endian TIFF": not header.big_endian and not header.bigtiff,
    }
    return (f"it is not in format 1 ({what})" for what, holds in checks.items() if not holds)


def _rows(book: pl.DataFrame, certificate: Certificate, products: Products) -> Iterator[Finding]:
    """Ledger rows that contradict themselves or the rules."""
    remedy, scenes = "the ledger was altered: " + REBUILD, set(book["scene"])
    for row in book.iter_rows(named=True):
        where = f"ledger row of {row['scene'] or row['product']}"
        product = products.get(row["product"] or "")
        if row["kept"] and product is None:
            what = f"no product {row['product']!r} in the product table"
            yield Finding(where, what, "give the --products folder that the record was built with")
        if row["kept"] != (row["rule"] is None) or row["rule"] not in (*DROPS, None):
            yield Finding(where, f"kept is {row['kept']} and its rule is {row['rule']!r}", remedy)
        if row["duplicate_of"] is not None and row["duplicate_of"] not in scenes:
            what = f"it is called a duplicate of {row['duplicate_of']}, of which there is no row"
            yield Finding(where, what, remedy)
        if row["outside"] is not None:
            yield from (Finding(where, what, remedy) for what in _counts(row, certificate, product))


def _counts(row: Mapping[str, Any], certificate: Certificate, product: Product | None) -> Iterator[str]:
    counts = [row[name] for name in COUNTS]
    if min(counts) < 0:
        yield f"a count is negative: {counts}"
    share = obscured_share(counts)
    if share != row["obscured"]:
        yield f"obscured is {row['obscured']}, its counts make it {share}"
    limit = certificate.rules.obscured
    scene_rule = product is not None and product.obscured_rule and not product.one_a_month
    if scene_rule and row["kept"] and (share is None or (limit is not None and share >= limit)):
        yield f"it is kept, though obscured is {share} and the limit {limit}"
    if scene_rule and row["rule"] == "obscured" and (share is None or limit is None or share < limit):
        yield f"it was dropped as obscured, though obscured is {share} and the limit {limit}"


def _kept(book: pl.DataFrame, manifest: pl.DataFrame) -> Iterator[Finding]:
    """Kept scenes have files, and files have a kept scene."""
    with_files = set(manifest.filter(pl.col("scene").is_not_null()).select("product", "scene").iter_rows())
    kept = set(book.filter("kept").select("product", "scene").iter_rows())
    for product, scene in sorted(kept - with_files):
        what = f"kept, but no file of it is in the manifest ({product})"
        yield Finding(f"ledger row of {scene}", what, REBUILD)
    for product, scene in sorted(with_files - kept):
        what = f"its files are listed, but the ledger does not keep it ({product})"
        yield Finding(f"manifest rows of {scene}", what, REBUILD)


def _recount(
    places: Places,
    book: pl.DataFrame,
    manifest: pl.DataFrame,
    products: Products,
    pixels: SitePixels,
    certificate: Certificate,
) -> Iterator[Finding | None]:
    """Count kept scenes again from the record's quality layers; None for each that agrees."""
    table = cache(lambda product, sensor, dtype: class_table(products[product], sensor, dtype))
    for row, path in _counted(places, book, manifest, products):
        product = products[row["product"]]
        try:
            layer = raster.open_layer(path, "tiff", None, 1, product, row["tile"])
            window = pixels.window(layer.grid, ring=product.ring, margin=certificate.rules.margin)
            classes = table(product.id, row["sensor"], layer.dtype)
            found = layer.count(classes, window, pixels.mask(layer.grid, window))
        except EarthRecordError as error:
            yield Finding(str(path), str(error), REBUILD)
            continue
        told = tuple(row[name] for name in COUNTS)
        what = f"its counts are {told}, the record gives {found}"
        yield None if found == told else Finding(f"ledger row of {row['scene']}", what, REBUILD)


def _counted(
    places: Places, book: pl.DataFrame, manifest: pl.DataFrame, products: Products
) -> Iterable[tuple[Mapping[str, Any], Path]]:
    """Kept rows with counts, each with its quality layer in the record or beside it."""
    paths = {(row["product"], row["scene"], row["band"]): row for row in manifest.iter_rows(named=True)}
    for row in book.filter(pl.col("kept") & pl.col("outside").is_not_null()).iter_rows(named=True):
        product = products.get(row["product"])
        file = product and product.quality and paths.get((product.id, row["scene"], product.quality.band))
        if file:
            yield row, (places.withheld if file["withheld"] else places.record) / file["path"]
