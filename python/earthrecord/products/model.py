"""What a product TOML says: the one place where a fact about a data product stands.

Every value is checked when the file is read; an unknown or misspelt key is an error. The meaning of each key
is described in docs/add-a-product.md. Three keys exist in the TOML alone and are gone once it is read (registry.py):
`like` in a product or a band starts from another product or an earlier band and replaces what it states
itself, `substitute` beside it changes words in all that was taken over ("Terra" to "Aqua"), and
`replaces = true` lets a user's product stand in for a shipped one of the same id.
"""

from __future__ import annotations

import datetime as dt
from typing import Literal

import msgspec

Dtype = Literal[
    "uint8", "int8", "uint16", "int16", "uint32", "int32", "float32", "float64"
]  # what a band may be distributed in
Container = Literal["tiff", "jp2", "hdf4", "hdf5", "netcdf", "vector"]
Column = Literal[
    "scene",
    "platform",
    "sensor",
    "level",
    "tier",
    "date",
    "start",
    "end",
    "path",
    "row",
    "tile",
    "processed",
    "generated",
    "baseline",
    "sensing",
    "datatake",
]  # columns of the scene table that tell scenes apart
QualityClass = Literal["fill", "cloud", "shadow", "snow", "clear"]
Number = int | float


class Model(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base: immutable, strict about keys."""


class Bits(Model, frozen=True, kw_only=True):
    """One bit field of a flag layer, e.g. bits 8-9 "cloud confidence"."""

    start: int
    width: int = 1
    name: str
    values: dict[str, str] = {}
    """Meaning of each value of the field, keyed by the value in decimal digits."""
    sensors: tuple[str, ...] = ()
    """Sensors on which the field is used; empty means all."""


class Band(Model, frozen=True, kw_only=True):
    """One layer of a product, as distributed."""

    name: str
    """Common name (red, nir, qa_pixel ...), the same for all sensors of the product."""
    title: str
    file: str | dict[str, str]
    """What the provider's file name says after the scene id (SR_B4, NDVI ...); by sensor where they differ."""
    aliases: tuple[str, ...] = ()
    """Other spellings of `file` (or, in netCDF, of `member`) met in real archives."""
    member: str | None = None
    """Name of the layer inside a container: the HDF4 data set, the last part of the HDF5 path, the netCDF variable."""
    index: int | dict[str, int] = 1
    """Band number inside a multi-band raster, from 1; by sensor where they differ."""
    record: bool = False
    """Whether the layer is taken: into a record, or beside it where the product is withheld."""
    optional: bool = False
    """A layer that some scenes properly lack (no `partial` flag)."""
    sensors: tuple[str, ...] = ()
    """Sensors that have the layer; empty means all."""
    dtype: Dtype
    other_dtypes: tuple[Dtype, ...] = ()
    """Other types in which catalogues are known to deliver the same values."""
    fill: tuple[Number, ...] = ()
    """Fill values, before scaling; empty where none is usable."""
    mask_value: Number | None = None
    """What pixels outside a region become, where the fill can not serve; without either, the layer stays unmasked."""
    scale: Number | None = None
    """value = scale * DN + offset; None for codes and flags."""
    offset: Number | None = None
    offset_by_scene: bool = False
    """True where the offset changes from scene to scene (Sentinel-2)."""
    unit: str = ""
    valid: tuple[Number, Number] | None = None
    """Valid range of the unscaled values, inclusive."""
    cell: float | None = None
    """Cell size where it differs from the product's."""
    bits: tuple[Bits, ...] = ()
    codes: dict[str, str] = {}
    """Meaning of single values, keyed by the value in decimal digits or a range "0-100"."""
    note: str = ""
    source: str
    """Where the facts of this layer were taken from: keys of the product's `sources`, with blanks between."""
    unchecked: tuple[str, ...] = ()
    """Keys of this row that no source confirms yet."""


class Rule(Model, frozen=True, kw_only=True):
    """One step of a quality rule: the pixels that it puts into a class. The first that applies decides."""

    to: QualityClass
    bits: tuple[int, ...] = ()
    """Any of these bits set."""
    start: int | None = None
    width: int | None = None
    """With `codes`: the bit field whose value is compared, instead of the whole value."""
    codes: tuple[int, ...] = ()
    ranges: tuple[tuple[int, int], ...] = ()
    """Inclusive ranges of values."""
    sensors: tuple[str, ...] = ()


class Quality(Model, frozen=True, kw_only=True):
    """How the six counts are made: the layer, the rules in order, and the class of all other values."""

    band: str
    rules: tuple[Rule, ...]
    otherwise: QualityClass = "clear"


class Gridding(Model, frozen=True, kw_only=True):
    """The grid a product comes on."""

    kind: Literal["utm", "sinusoidal", "geographic", "mollweide", "any", "vector"]
    cell: float
    """Cell size in metres (degrees where kind is geographic)."""
    pixels: int | None = None
    """Pixels on a side of a full tile, where fixed (sinusoidal tiles)."""
    crs: str | None = None
    """The CRS where it is one and the same for all files."""


class Names(Model, frozen=True, kw_only=True):
    """One form of provider file name, as a regular expression with named groups.

    How a pattern is matched (`patterns.match` does it; nothing else should): against the POSIX path of a
    file relative to the archive's root, from the start of any of its components to the end of the path,
    case ignored. So a pattern without a slash describes the file name alone, and one with slashes reaches
    into the folders above, where the scene's id may stand (`(?P<scene>...)/(?P<layer>...)`). The extension is
    never part of a pattern: it follows from `container`, and a marker such as `_crop`, `_clip` or `_subset` that a
    cropping tool leaves before it is allowed.

    Groups: `scene` is the scene's id (without it, the file's stem), `layer` what is compared with a band's
    `file` and `aliases`, case ignored (`bands.band_by_file`); a layer that no band names is no part of the
    product. Without a `layer` group every band lies in the file, told apart by `index` or `member`. The
    others fill the scene's columns: satellite (looked up in `satellites` in upper case; absent where the
    product has one satellite only or none), level, tier, path, row, tile, date, start, processed, generated, baseline
    ("0214" means 02.14), datatake, sensing. A group may be absent from a name, or stay empty; it is never guessed.
    Where names of several products match, the first in the order of the registry has it.
    """

    pattern: str
    container: Container = "tiff"
    dates: dict[str, str] = {}
    """strptime format of each dated group (date, start, processed ...)."""
    examples: tuple[str, ...] = ()
    """Names or paths of this form; a test holds the pattern to them."""


class Refuse(Model, frozen=True, kw_only=True):
    """File names or ids that look like the product and are not, with the reason told to the user.

    The pattern is searched anywhere in the relative path or catalogue id, case ignored, and only where no
    product's `names` match.
    """

    pattern: str
    reason: str
    examples: tuple[str, ...] = ()


class Satellite(Model, frozen=True, kw_only=True):
    platform: str
    sensor: str


class Duplicates(Model, frozen=True, kw_only=True):
    """Which scenes are one acquisition, and which of them is kept."""

    key: tuple[Column, ...]
    """Scene columns that are all equal."""
    near: Column | None = None
    """A time column that may differ by up to `seconds`."""
    seconds: float = 0.0
    prefer: tuple[Column, ...] = ()
    """Columns compared in turn; the greatest wins, missing loses; "level" compares by `levels`."""
    levels: tuple[str, ...] = ()
    """Levels from best to worst."""


class Source(Model, frozen=True, kw_only=True):
    """Where facts were taken from."""

    title: str
    accessed: str = ""


class Product(Model, frozen=True, kw_only=True):
    """A data product as distributed."""

    format: Literal[1]
    id: str
    """Also the name of its file, without .toml."""
    title: str
    provider: str
    group: str
    """Family shown together: Landsat, Sentinel-2, MODIS vegetation ..."""
    record: bool = True
    withheld: bool = False
    """A reference product: cropped beside the record, never into it."""
    kinds: tuple[Literal["core", "region"], ...] = ("core", "region")
    start: dt.date | None = None
    """First day that a record takes, where later than the record's own window."""
    available_from: dt.date | None = None
    cadence: str = ""
    period_days: int | None = None
    """Days that one composite covers; None for single acquisitions and static layers."""
    period_months: int | None = None
    """Calendar months that one step covers, where the period is counted in months (1, or 12 for yearly maps)."""
    fixed: tuple[dt.date, dt.date] | None = None
    """First and last day of a product that has one edition only."""
    static: bool = False
    """No time of its own (terrain, boundaries)."""
    doi: str = ""
    """Without the resolver (10.5066/...); where parts have DOIs of their own, `citation` tells them."""
    licence: str
    citation: str
    attribution: str
    grid: Gridding
    satellites: dict[str, Satellite] = {}
    names: tuple[Names, ...]
    refuse: tuple[Refuse, ...] = ()
    duplicates: Duplicates
    obscured_rule: bool = False
    """Scenes at or over the obscured limit are dropped."""
    one_a_month: bool = False
    """At most one acquisition a month is kept."""
    ring: int = 0
    """Cells taken around the window of the site."""
    baselines: dict[str, int] = {}
    """Known processing baselines and the offset (in DN) that each adds to reflectance."""
    quality: Quality | None = None
    bands: tuple[Band, ...]
    notes: tuple[str, ...] = ()
    sources: dict[str, Source]
    unchecked: tuple[str, ...] = ()
    """Facts outside the bands that no source confirms yet: a key, or a key and what of it."""
