"""The scene table: what a search found, one row a candidate, the same columns for every source.

`scenes.parquet` is this table plus its format version; a record can be rebuilt from it without asking an archive again.
"""

from __future__ import annotations

import polars as pl

FORMAT = 1

FILE = pl.Struct(
    {
        "band": pl.String(),  # the product's common name of the layer
        "href": pl.String(),  # absolute path, or a URL with its scheme
        "container": pl.String(),  # tiff jp2 hdf4 hdf5 netcdf vector
        "member": pl.String(),  # layer inside an HDF, netCDF or zip container; null otherwise
        "index": pl.UInt16(),  # band number in a raster, from 1
        "bytes": pl.Int64(),  # size of the file that holds it; null where nobody said
    }
)

SCENES = pl.Schema(
    {
        "order": pl.UInt32(),  # position in the catalogue, from 0; the last tie-break
        "product": pl.String(),
        "scene": pl.String(),  # the scene's id, as the provider names it
        "item": pl.String(),  # the id under which the catalogue lists it
        "platform": pl.String(),  # landsat-5, sentinel-2a, terra, aqua, suomi-npp ...; null for models and maps
        "sensor": pl.String(),  # tm etm oli msi modis viirs; null for models and maps
        "level": pl.String(),  # L2SP, L2SR
        "tier": pl.String(),  # T1, T2
        "start": pl.Datetime(
            "us", "UTC"
        ),  # acquisition (Landsat scene centre, Sentinel-2 item time) or first day of the period
        "end": pl.Datetime("us", "UTC"),  # last day of a period; null for a single acquisition
        "date": pl.Date(),  # day of acquisition, UTC; first day of a period
        "path": pl.Int16(),
        "row": pl.Int16(),
        "tile": pl.String(),  # h12v11, 32TMT, N00E006 ...
        "processed": pl.Datetime("us", "UTC"),  # processing or production time as the id or metadata says
        "generated": pl.Datetime("us", "UTC"),  # Sentinel-2 generation time
        "baseline": pl.String(),  # Sentinel-2 processing baseline, "05.00"
        "sensing": pl.Datetime("us", "UTC"),  # Sentinel-2 datastrip sensing start
        "datatake": pl.Datetime("us", "UTC"),  # Sentinel-2 datatake start
        "offset": pl.Int32(),  # reflectance offset in DN that the metadata says is in the values (-1000, 0); null: not said
        "offset_applied": pl.Boolean(),  # the catalogue's own word that the offset was removed; null: not said
        "crs": pl.String(),  # of the finest layer, as the metadata says; null: not said
        "transform": pl.List(pl.Float64()),
        "shape": pl.List(pl.Int64()),  # rows, columns
        "footprint": pl.String(),  # WKT in longitude, latitude; null: not said
        "files": pl.List(FILE),
        "metadata": pl.String(),  # href of the metadata the row was read from; null: file names alone
        "catalogue": pl.String(),  # name of the catalogue or folder
        "repeated": pl.UInt16(),  # how many further lines of the catalogue told of the same candidate
        "flags": pl.List(pl.String()),  # partial resampled metadata-crs no-metadata unknown-baseline ...
        "refused": pl.String(),  # why this is not the product, or can not be used; null: a candidate
    }
)


def table(rows: list[dict[str, object]]) -> pl.DataFrame:
    """A scene table from rows; missing columns become null, unknown ones are an error."""
    unknown = {key for row in rows for key in row} - set(SCENES)
    if unknown:
        raise KeyError(f"no such scene column: {', '.join(sorted(unknown))}")
    return pl.DataFrame([{key: row.get(key) for key in SCENES} for row in rows], schema=SCENES)
