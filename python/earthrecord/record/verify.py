"""Checking a record: every byte, every header, every ledger row. Each finding says what is wrong and how to mend it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from earthrecord import _core
from earthrecord.archive import names, raster
from earthrecord.errors import EarthRecordError
from earthrecord.products.model import Product
from earthrecord.products.quality import class_table
from earthrecord.products.registry import Products
from earthrecord.record import ledger
from earthrecord.record.model import COUNTS, DROPS, Certificate, Places, read_certificate, root_hash
from earthrecord.record.select import obscured_share
from earthrecord.sites.model import Site
from earthrecord.sites.pixels import SitePixels

TEXTS = ("README.md", "CITATION", "site.json")
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
    `BadRecord` where certificate, manifest or ledger can not be read at all.
    """
    certificate = read_certificate(places.certificate)
    manifest, book = ledger.read(places.manifest), ledger.read(places.ledger)
    open_ = manifest.filter(~pl.col("withheld"))
    findings = [*_files(places.record, open_), *_files(places.withheld, manifest.filter(pl.col("withheld")))]
    findings += _withheld_inside(places.record, manifest, products)
    findings += _root(certificate, open_)
    findings += _headers(places.record, open_, products)
    findings += _rows(book, certificate, products)
    findings += _kept(book, manifest)
    recounted = 0
    if site is not None:
        if site.digest != certificate.site_digest:
            findings.append(
                Finding(
                    site.id,
                    "the site is not the one that the record was built for",
                    "give the right --sites file",
                )
            )
        else:
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


def _files(root: Path, manifest: pl.DataFrame) -> Iterator[Finding]:
    wanted = {row["path"]: row for row in manifest.iter_rows(named=True)}
    hashes = _core.sha256_files([root / path for path in wanted])
    for (path, row), found in zip(wanted.items(), hashes, strict=True):
        if isinstance(found, Exception):
            yield Finding(str(root / path), "it is missing or unreadable", REBUILD)
        elif found != row["sha256"]:
            size = (root / path).stat().st_size
            what = (
                f"{size} bytes instead of {row['bytes']}"
                if size != row["bytes"]
                else "bytes differ from those written"
            )
            yield Finding(str(root / path), what, f"delete it and {REBUILD}")
    for path in _below(root):
        if path not in wanted:
            yield Finding(str(root / path), "it is no part of the record", "take it away")


def _below(root: Path) -> Iterator[str]:
    for folder, _, files in os.walk(root):
        for name in sorted(files):
            yield Path(folder, name).relative_to(root).as_posix()


def _withheld_inside(root: Path, manifest: pl.DataFrame, products: Products) -> Iterator[Finding]:
    """A withheld product under records, by name or by content, whatever it is called."""
    remedy = "take it out of the record: it holds answers"
    hidden = dict(manifest.filter(pl.col("withheld")).select("sha256", "product").iter_rows())
    paths = list(_below(root))
    for path, sha in zip(paths, _core.sha256_files([root / path for path in paths]), strict=True):
        found = names.identify(path, products)
        product = products.get(getattr(found, "product", None) or "")
        if product is not None and product.withheld:
            yield Finding(str(root / path), f"{product.title} is withheld", remedy)
        elif isinstance(sha, str) and sha in hidden:
            yield Finding(str(root / path), f"its bytes are those of the withheld {hidden[sha]}", remedy)


def _root(certificate: Certificate, manifest: pl.DataFrame) -> Iterator[Finding]:
    found = root_hash(dict(manifest.select("path", "sha256").iter_rows()))
    if found != certificate.root_hash:
        yield Finding(
            "manifest.parquet", f"its root hash is {found}, record.json says {certificate.root_hash}", REBUILD
        )


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
    remedy = "the ledger was altered: " + REBUILD
    kept = set(book.filter("kept")["scene"])
    for row in book.iter_rows(named=True):
        where = f"ledger row of {row['scene'] or row['product']}"
        if row["kept"] != (row["rule"] is None) or (row["rule"] not in (*DROPS, "no tile", None)):
            yield Finding(where, f"kept is {row['kept']} and its rule is {row['rule']!r}", remedy)
        if row["kept"] and products.get(row["product"]) is None:
            yield Finding(
                where,
                f"no product {row['product']!r} in the product table",
                "give the --products folder that the record was built with",
            )
        elif row["outside"] is not None:
            yield from (
                Finding(where, what, remedy)
                for what in _counts(row, certificate, products.get(row["product"]))
            )
        if row["duplicate_of"] is not None and row["duplicate_of"] not in kept | set(book["scene"]):
            yield Finding(
                where, f"it is called a duplicate of {row['duplicate_of']}, of which there is no row", remedy
            )


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
        yield Finding(
            f"ledger row of {scene}", f"kept, but no file of it is in the manifest ({product})", REBUILD
        )
    for product, scene in sorted(with_files - kept):
        yield Finding(
            f"manifest rows of {scene}",
            f"its files are listed, but the ledger does not keep it ({product})",
            REBUILD,
        )


def _recount(
    places: Places,
    book: pl.DataFrame,
    manifest: pl.DataFrame,
    products: Products,
    pixels: SitePixels,
    certificate: Certificate,
) -> Iterator[Finding | None]:
    """Count kept scenes again from the record's quality layers; None for each that agrees."""
    paths = {(row["product"], row["scene"], row["band"]): row for row in manifest.iter_rows(named=True)}
    for row in book.filter(pl.col("kept") & pl.col("outside").is_not_null()).iter_rows(named=True):
        product = products.get(row["product"])
        file = product and product.quality and paths.get((row["product"], row["scene"], product.quality.band))
        if not product or not file:
            continue
        path = (places.withheld if file["withheld"] else places.record) / file["path"]
        try:
            layer = raster.open_layer(path, "tiff", None, 1, product, row["tile"])
            window = pixels.window(layer.grid, ring=product.ring, margin=certificate.rules.margin)
            found = layer.count(
                class_table(product, row["sensor"], layer.dtype), window, pixels.mask(layer.grid, window)
            )
        except EarthRecordError as error:
            yield Finding(str(path), str(error), REBUILD)
            continue
        told = tuple(row[name] for name in COUNTS)
        same = found == told or product.quality is None
        yield (
            None
            if same
            else Finding(
                f"ledger row of {row['scene']}", f"its counts are {told}, the record gives {found}", REBUILD
            )
        )
