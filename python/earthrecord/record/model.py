"""What a record is built by and what the builder leaves behind: rules, places, decisions, the certificate."""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from earthrecord.errors import BadRecord

FORMAT = 1
SNAPSHOT = dt.date(2026, 9, 30)  # paper, section 2.1
WINDOW_START = dt.date(1984, 1, 1)  # paper, section 2.1

COUNTS = ("outside", "fill", "cloud", "shadow", "snow", "clear")

# Why a candidate is not in the record, in the order in which the rules are tried.
DROPS = {
    "not the product": "it is not the product",
    "not asked for": "this record takes no scenes of that product",
    "time window": "it lies outside the record's time window",
    "outside": "none of the site's pixels lies in it",
    "unreadable": "a file that decides about it could not be read",
    "duplicate": "another processing of the same acquisition is kept",
    "no quality layer": "the layer that the counts are made from is missing",
    "no observation": "all of the site's pixels in it are fill",
    "obscured": "cloud and shadow hide too much of the site",
    "one a month": "another acquisition of that month shows more of the site",
    "no tile": "the provider has no tile of it there",
}

# What is odd about a candidate, kept or not.
FLAGS = {
    "partial": "It lacks at least one layer that its sensor usually has.",
    "resampled": "Its raster lies on another grid than the one its metadata describe (decimated or resampled); it is kept as it is.",
    "metadata-crs": "Its metadata name another CRS than the raster; the raster's own was used.",
    "no-metadata": "It came without metadata; what is known comes from the file names.",
    "unknown-baseline": "Its processing baseline is not in the product table, so the metadata do not decide the offset.",
    "offset-differs": "Its metadata state different reflectance offsets for different layers.",
    "offset-disagrees": "Metadata and pixels disagree about its reflectance offset: look at it before you use it.",
    "broken-href": "Its catalogue entry links to a file that is not there.",
    "copies-differ": "The archive holds copies of it that differ; the complete one was taken.",
    "zipped": "It came as a zip archive with one file in it.",
    "preliminary": "Some of its steps are preliminary and will be replaced by the provider.",
}

ARCHIVE_FLAGS = frozenset({"no-metadata", "broken-href", "copies-differ", "zipped"})
"""Flags that tell of the source and not of the data: they stay in the ledger."""


class Rules(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The choices of one build; they are written into `record.json`."""

    snapshot: dt.date = SNAPSHOT
    start: dt.date = WINDOW_START
    obscured: float | None = 0.9
    """Scenes with at least this share of cloud and shadow are dropped; None keeps them all (paper, section 2.1)."""
    all_sentinel2: bool = False
    """Keep every Sentinel-2 acquisition instead of one a month."""
    margin: float = 0.0
    """Metres of context around the site's window."""
    products: tuple[str, ...] = ()
    """Products to take; empty: all that the sources hold."""

    def __post_init__(self) -> None:
        if self.obscured is not None and not 0 < self.obscured <= 1:
            raise BadRecord(f"the obscured limit is {self.obscured}; give a share over 0 and up to 1, or off")
        if self.margin < 0:
            raise BadRecord(f"the context margin is {self.margin} m; give 0 or more")
        if self.snapshot < self.start:
            raise BadRecord(f"the snapshot {self.snapshot} lies before the start {self.start}")


class Certificate(msgspec.Struct, frozen=True, kw_only=True):
    """`record.json`: what the record is, by which rules and from which tables it was made."""

    format: int
    site: str
    snapshot: dt.date
    rules: Rules
    site_digest: str
    products_digest: str
    scenes_digest: str
    core: str
    files: int
    bytes: int
    root_hash: str
    withheld_hash: str
    ledger_digest: str


class Places(msgspec.Struct, frozen=True):
    """Where things of one site lie: the builder's side under `work`, the record under `records`."""

    site: str
    work_root: Path
    records_root: Path

    @property
    def work(self) -> Path:
        return self.work_root / self.site

    @property
    def record(self) -> Path:
        return self.records_root / self.site

    @property
    def building(self) -> Path:
        return self.records_root / f".{self.site}.building"

    @property
    def withheld(self) -> Path:
        return self.work / "withheld"

    @property
    def withheld_building(self) -> Path:
        return self.work / ".withheld.building"

    @property
    def sealing(self) -> Path:
        """Ledger, manifest and certificate of a finished build until all has its name (`seal.finish`)."""
        return self.work / "sealing"

    @property
    def scenes(self) -> Path:
        return self.work / "scenes.parquet"

    @property
    def ledger(self) -> Path:
        return self.work / "ledger.parquet"

    @property
    def manifest(self) -> Path:
        return self.work / "manifest.parquet"

    @property
    def certificate(self) -> Path:
        return self.work / "record.json"

    @property
    def journal(self) -> Path:
        return self.work / "journal.ndjson"

    @property
    def cache(self) -> Path:
        return self.work / "fetched"


def root_hash(hashes: dict[str, str]) -> str:
    """The hash of a folder from its files' SHA-256 by relative path.

    It is the SHA-256 of what `sha256sum` prints for the files in byte order of their paths, so that
    anybody can check it without this program (docs/formats.md).
    """
    lines = (f"{hashes[path]}  {path}\n" for path in sorted(hashes, key=str.encode))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def read_certificate(path: Path) -> Certificate:
    """Read `record.json`; `BadRecord` where it is missing, damaged or of another format."""
    waiting = path.parent / "sealing" / path.name  # of a build that was stopped in its last step
    try:
        certificate = msgspec.json.decode(
            (waiting if waiting.exists() else path).read_bytes(), type=Certificate
        )
    except FileNotFoundError:
        raise BadRecord(f"{path} is missing: build the record first, with er build-record") from None
    except msgspec.DecodeError as error:
        raise BadRecord(f"{path} is damaged ({error}): build the record again") from None
    if certificate.format != FORMAT:
        raise BadRecord(
            f"{path} has format {certificate.format}, this program writes format {FORMAT}: build again"
        )
    return certificate


def write_json(path: Path, value: object) -> None:
    """Write a small JSON file whole or not at all."""
    write_whole(
        path, msgspec.json.format(msgspec.json.encode(value, order="deterministic"), indent=2) + b"\n"
    )


def write_whole(path: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    with whole(path) as part:
        part.write_bytes(content)


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A name beside `path` to write to: the file appears under its own name only when it is whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    yield part
    part.replace(path)
