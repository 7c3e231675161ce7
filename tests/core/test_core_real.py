"""Every real raster: what the core says and decodes equals what rasterio says and decodes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rasterio

from earthrecord import _core

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def headers(real: Path) -> list[_core.Header]:
    paths = sorted(
        path for path in real.rglob("*") if path.suffix.lower() in (".tif", ".tiff") and path.is_file()
    )
    found = [answer for answer in _core.scan_headers(paths) if isinstance(answer, _core.Header)]
    assert len(found) == len(paths) > 600, "every real TIFF has a header that the core understands"
    return found


def _alone() -> Any:
    """rasterio without side files: the TIFF's own word."""
    return rasterio.Env(GDAL_DISABLE_READDIR_ON_OPEN="EMPTY_DIR", GDAL_PAM_ENABLED="NO")


@pytest.mark.filterwarnings("ignore::rasterio.errors.NotGeoreferencedWarning")
def test_headers_say_what_rasterio_says(headers: list[_core.Header]) -> None:
    with _alone():
        for header in headers:
            with rasterio.open(header.path) as source:
                found = header.width, header.height, header.bands
                assert found == (source.width, source.height, source.count), header.path
                assert header.dtype in ("", source.dtypes[0]), header.path
                assert (header.transform or (1, 0, 0, 0, 1, 0)) == tuple(source.transform)[:6], header.path
                nodata = (
                    None if header.nodata is None else np.dtype(source.dtypes[0]).type(float(header.nodata))
                )
                np.testing.assert_equal(nodata, source.nodata, header.path)
                if header.epsg is not None:
                    assert rasterio.CRS.from_epsg(header.epsg) == source.crs, header.path
                assert (header.geokeys != b"") == (source.crs is not None), header.path
                if header.tile:
                    assert header.tile == source.block_shapes[0][::-1], header.path


@pytest.mark.filterwarnings("ignore::rasterio.errors.NotGeoreferencedWarning")
def test_every_band_equals_what_rasterio_reads(headers: list[_core.Header]) -> None:
    files = bands = 0
    with _alone():
        for header in headers:
            if not header.readable:
                continue
            files += 1
            with rasterio.open(header.path) as source:
                for band in range(1, header.bands + 1):
                    found, expected = _core.read_window(header.path, band=band), source.read(band)
                    assert (found.dtype, found.shape) == (expected.dtype, expected.shape), header.path
                    assert found.tobytes() == expected.tobytes(), (header.path, band)
                    bands += 1
    assert files >= 690
    assert bands >= 3800


def test_what_the_core_leaves_to_rasterio_says_why(headers: list[_core.Header]) -> None:
    for header in headers:
        assert header.readable or header.why_not, header.path
