"""Every error that EarthRecord raises on purpose.

All derive from `EarthRecordError`; where a standard exception means the same thing, it is the second base,
so that `except OSError` or `except ValueError` work as a caller would expect. A message names the file,
the value that was found and what to do about it. The command line turns each into one line and
its `exit_code`.
"""


class EarthRecordError(Exception):
    """Base of all errors a user can cause or mend."""

    exit_code = 1


class UnreadableRaster(EarthRecordError, OSError):
    """A raster file that is missing, truncated, empty, no raster at all, or damaged."""


class UnsupportedRaster(EarthRecordError, ValueError):
    """A sound raster in a form that the core does not read (LERC, JPEG, JPEG 2000, 12-bit ...)."""


class UnwritableRaster(EarthRecordError, OSError):
    """A raster could not be written: no space, no permission, impossible shape."""


class BadProduct(EarthRecordError, ValueError):
    """A product TOML that contradicts itself or does not follow the format."""


class BadSite(EarthRecordError, ValueError):
    """A site whose place or description can not be used."""


class BadSource(EarthRecordError, ValueError):
    """An archive source that can not be read or understood."""


class EmptySource(BadSource):
    """A source in which no scene of any known product was found."""

    exit_code = 3


class BadMetadata(EarthRecordError, ValueError):
    """Scene metadata that is unreadable, or that speaks of another scene."""


class FetchFailed(EarthRecordError, OSError):
    """A file that could not be brought from where the catalogue says it is."""


class BadRecord(EarthRecordError, ValueError):
    """A record, ledger or manifest that is missing, incomplete or altered."""

    exit_code = 4


class BuiltWithOtherRules(BadRecord):
    """A record exists that was built from other inputs or by other rules."""


class SceneFailed(EarthRecordError):
    """At least one scene was spoiled; the record was built without it."""

    exit_code = 5
