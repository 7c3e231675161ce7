"""Latitude-longitude variables of netCDF files (ERA5-Land and the like): described, and cropped to netCDF.

Values, packing (`scale_factor`, `add_offset`, `_FillValue`), attributes and expver planes stay as stored. A
crop is a classic netCDF file, whose bytes follow from its content alone; netCDF-4 files carry the versions of
the libraries that wrote them. The netCDF library is not safe to use from two threads, so one file is open
at a time.
"""

from __future__ import annotations

import datetime as dt
import re
import shutil
import tempfile
import threading
import zipfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from earthrecord.archive import crs, latlon, netcdf_classic, netcdf_writer, signature
from earthrecord.archive.layer import Layer
from earthrecord.errors import BadMetadata, EarthRecordError, UnreadableRaster, UnsupportedRaster
from earthrecord.grid import Grid, Window
from earthrecord.products.model import Product

PRELIMINARY = frozenset({"5", "0005"})
"""expver of ERA5T, which is replaced after some months; final data are 1 or 0001."""

_LOCK = threading.RLock()


@dataclass(frozen=True)
class Variable:
    """A variable on a latitude-longitude grid, as stored.

    `times` are the steps in file order (UTC, without zone), empty without a time axis; `versions` is the
    expver of each step, None where the file does not say. `grid` is north up whatever the stored order is;
    a global one is two turns wide (see `latlon.Longitudes`).
    """

    name: str
    dims: tuple[str, ...]
    shape: tuple[int, ...]
    dtype: str
    grid: Grid
    times: tuple[dt.datetime, ...]
    versions: tuple[str | None, ...]
    fill: float | int | None
    scale: float | None
    offset: float | None
    unit: str


@dataclass(frozen=True, kw_only=True)
class NetcdfLayer(Layer):
    """One variable of a netCDF file; `bands` counts its time steps, `read` gives the first."""

    member: str
    flags: list[str] = field(default_factory=list)
    """`zipped` where the file is a zip with one netCDF in it, `preliminary` where a step is not final yet."""

    def read(self, window: Window) -> NDArray[Any]:
        """The first step (and first plane of every other axis) of a window, north up, packed as stored."""
        self._check(window)
        with _open(self.path) as (source, _):
            axes = _axes(self.path, source, self.member)
            only = {dim: np.array([0]) for dim in source[self.member].dimensions}
            values = netcdf_writer.read(source[self.member], only | axes.indices(window))
            order = source[self.member].dimensions
        if order.index(axes.rows.name) > order.index(axes.cols.name):
            values = values.swapaxes(order.index(axes.rows.name), order.index(axes.cols.name))
        values = values.reshape(window.height, window.width)
        return values if axes.rows.descending else values[::-1]

    def crop(
        self,
        target: Path,
        window: Window,
        site_mask: NDArray[np.bool_] | None = None,  # noqa: ARG002 - the signature of every layer
        mask_value: float | None = None,  # noqa: ARG002
        months: Collection[str] | None = None,
    ) -> tuple[int, str]:
        """Write a window as netCDF (see `crop_variable`). Nothing is masked: the mask of a region stands beside it."""
        return crop_variable(self.path, self.member, target, window, months)


def open_layer(path: Path, names: Sequence[str], product: Product | None = None) -> NetcdfLayer:
    """The variable of a file that answers to one of `names`; blanks, underscores and case do not count.

    With a product, a file of another cell size or time step is refused (`BadMetadata`, with the reason).
    """
    with _open(path) as (source, zipped):
        variable = _variable(path, source, _find(path, _maps(source), names))
    reason = None if product is None else _unlike(variable, product)
    if reason:
        raise BadMetadata(f"{path}: {reason}")
    preliminary = any(version in PRELIMINARY for version in variable.versions)
    return NetcdfLayer(
        path=path,
        grid=variable.grid,
        dtype=variable.dtype,
        nodata=None if variable.fill is None else str(variable.fill),
        bands=max(len(variable.times), 1),
        member=variable.name,
        flags=["zipped"] * zipped + ["preliminary"] * preliminary,
    )


def describe(path: Path) -> list[Variable]:
    """All latitude-longitude variables of a file. Raises `UnreadableRaster`, or `UnsupportedRaster` for uneven axes."""
    with _open(path) as (source, _):
        return [_variable(path, source, name) for name in _maps(source)]


def monthly(path: Path) -> tuple[bool, str]:
    """Whether a file has one step a calendar month, and what was found, in words."""
    variables = describe(path)
    if not variables:
        return False, "no variable on a latitude-longitude grid"
    return _monthly(variables[0].times)


def refusal(path: Path, product: Product) -> str | None:
    """Why a file is not of a product (another cell size, no monthly steps, no variable of it), or None."""
    wanted = {_plain(name) for band in product.bands for name in (band.member or band.name, *band.aliases)}
    variables = describe(path)
    known = [variable for variable in variables if _plain(variable.name) in wanted]
    if not known:
        found = ", ".join(variable.name for variable in variables)
        return f"no variable of it, only {found}" if found else "no variable on latitudes and longitudes"
    return next(filter(None, (_unlike(variable, product) for variable in known)), None)


def crop_variable(
    path: Path, member: str, target: Path, window: Window, months: Collection[str] | None = None
) -> tuple[int, str]:
    """Write a window of one variable as a netCDF file; returns its size in bytes and its SHA-256 (hex).

    `window` counts on the variable's north-up grid. `months` ("1994-12") limits the steps; all that are left
    keep the file's order. Latitudes keep their order; longitudes are the stored ones, shifted by 360 only
    where the window lies over the file's seam. Whatever describes the variable (coordinates, bounds,
    grid mapping, expver) comes along. The file appears under its name when it is whole.
    """
    with _open(path) as (source, _):
        axes = _axes(path, source, member)
        chosen = axes.indices(window)
        time = _time_axis(source, member)
        if time is not None and months is not None:
            chosen[time] = _steps(path, _times(path, source, time), months)
        part = netcdf_writer.Part(chosen, axes.rows, axes.cols, window)
        return netcdf_writer.write(source, member, target, part)


def _steps(path: Path, times: Sequence[dt.datetime], months: Collection[str]) -> latlon.Indices:
    steps = [index for index, time in enumerate(times) if f"{time:%Y-%m}" in months]
    if not steps:
        raise BadMetadata(f"{path}: no step in {', '.join(sorted(months))}; search again")
    return np.array(steps)


@dataclass(frozen=True)
class _Axes:
    rows: latlon.Latitudes
    cols: latlon.Longitudes
    grid: Grid

    def indices(self, window: Window) -> dict[str, latlon.Indices]:
        return {self.rows.name: self.rows.indices(window), self.cols.name: self.cols.indices(window)}


@contextmanager
def _open(path: Path) -> Iterator[tuple[Any, bool]]:
    """(dataset that gives values as stored, whether it came out of a zip); failures name the file."""
    import netCDF4

    with _LOCK, _unzipped(path) as (file, zipped):
        _check_kind_and_length(path, file)
        try:
            with netCDF4.Dataset(file, "r") as source:
                source.set_auto_maskandscale(False)
                source.set_auto_chartostring(False)
                yield source, zipped
        except EarthRecordError:
            raise
        except (OSError, RuntimeError) as error:
            raise UnreadableRaster(f"{path}: no netCDF, or damaged ({error}); get it again") from error


def _check_kind_and_length(path: Path, file: Path) -> None:
    kind = signature.kind_of_file(file)
    if kind not in ("hdf5", "netcdf3"):
        remedy = "ask for NetCDF" if kind == "grib" else "get it again"
        raise UnreadableRaster(f"{path}: is {signature.words(kind)}, not netCDF; {remedy}")
    if kind == "hdf5":
        return
    size = file.stat().st_size
    try:
        whole = netcdf_classic.length(file)
    except (EOFError, ValueError, IndexError) as error:
        raise UnreadableRaster(f"{path}: damaged header ({error}); get it again") from None
    if size < whole:
        raise UnreadableRaster(f"{path}: cut short, {size} of {whole} bytes; get it again")


@contextmanager
def _unzipped(path: Path) -> Iterator[tuple[Path, bool]]:
    """A netCDF file, taken out of its zip for as long as it is needed where it lies in one."""
    if signature.kind_of_file(path) != "zip":
        yield path, False
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "inside.nc")
        try:
            with zipfile.ZipFile(path) as archive:
                inside = archive.open(_only_netcdf(path, archive))
                with inside, file.open("wb") as out:
                    shutil.copyfileobj(inside, out)
        except (zipfile.BadZipFile, EOFError) as error:
            raise UnreadableRaster(f"{path}: damaged zip archive ({error}); get it again") from error
        yield file, True


def _only_netcdf(path: Path, archive: zipfile.ZipFile) -> str:
    inside = [name for name in archive.namelist() if name.lower().endswith((".nc", ".nc4"))]
    if len(inside) != 1:
        raise UnsupportedRaster(
            f"{path}: a zip with {len(inside)} netCDF files in it; one is read, unzip it yourself"
        )
    return inside[0]


def _maps(source: Any) -> list[str]:
    """The names of all variables on latitudes and longitudes."""
    return [name for name in source.variables if _lat_lon(source, name)]


def _variable(path: Path, source: Any, name: str) -> Variable:
    variable, time = source[name], _time_axis(source, name)
    times = () if time is None else _times(path, source, time)
    numbers = {key: getattr(variable, key, None) for key in ("_FillValue", "scale_factor", "add_offset")}
    fill, scale, offset = (
        None if number is None else np.asarray(number).item() for number in numbers.values()
    )
    return Variable(
        name=name,
        dims=variable.dimensions,
        shape=variable.shape,
        dtype=variable.dtype.newbyteorder("=").name,
        grid=_axes(path, source, name).grid,
        times=times,
        versions=_versions(source, name, time, len(times)),
        fill=fill,
        scale=scale,
        offset=offset,
        unit=str(getattr(variable, "units", "")),
    )


def _lat_lon(source: Any, name: str) -> tuple[str, str] | None:
    """The names of a variable's latitude and longitude axes, None where it lacks one."""
    variable = source[name]
    found = {_direction(source, dim): dim for dim in variable.dimensions}
    if variable.dtype is str or not {"north", "east"} <= set(found):
        return None
    return found["north"], found["east"]


def _direction(source: Any, dim: str) -> str:
    """north, east, or nothing, as the axis's own coordinate variable says (CF conventions, section 4)."""
    axis = source.variables.get(dim)
    if axis is None or axis.dimensions != (dim,) or axis.dtype is str:
        return ""
    unit = str(getattr(axis, "units", "")).lower()
    found = re.fullmatch(r"degrees?_?(n|north|e|east)", unit)
    if found:
        return "north" if found[1].startswith("n") else "east"
    called = str(getattr(axis, "standard_name", dim)).lower()
    return {"latitude": "north", "lat": "north", "longitude": "east", "lon": "east"}.get(called, "")


def _axes(path: Path, source: Any, name: str) -> _Axes:
    axes = _lat_lon(source, name) if name in source.variables else None
    if axes is None:
        raise UnreadableRaster(f"{path}: has no variable {name!r} on latitudes and longitudes; search again")
    lat, lon = (np.asarray(source[axis][:], np.float64) for axis in axes)
    try:
        rows = latlon.latitudes(axes[0], lat, _spacing(lon))
        cols = latlon.longitudes(axes[1], lon, _spacing(lat))
    except ValueError as error:
        raise UnsupportedRaster(f"{path}: {error}; only regular latitude-longitude grids are read") from None
    return _Axes(rows, cols, latlon.grid(_crs(source, name), rows, cols))


def _spacing(values: latlon.Floats) -> float | None:
    return None if len(values) < 2 else abs(float(values[1] - values[0]))


def _crs(source: Any, name: str) -> str:
    """What the grid mapping says; latitudes and longitudes without one are taken as WGS84."""
    mapping = source.variables.get(getattr(source[name], "grid_mapping", ""))
    said = next((getattr(mapping, key) for key in ("crs_wkt", "spatial_ref") if hasattr(mapping, key)), None)
    return "EPSG:4326" if said is None else crs.named(str(said))


def _time_axis(source: Any, name: str) -> str | None:
    for dim in source[name].dimensions:
        axis = source.variables.get(dim)
        if axis is not None and " since " in str(getattr(axis, "units", "")):
            return str(dim)
    return None


def _times(path: Path, source: Any, axis: str) -> tuple[dt.datetime, ...]:
    import netCDF4

    steps = source[axis]
    try:
        dates = netCDF4.num2date(np.asarray(steps[:]), steps.units, getattr(steps, "calendar", "standard"))
        return tuple(dt.datetime(*date.timetuple()[:6]) for date in np.ravel(np.asarray(dates, object)))  # noqa: DTZ001 - netCDF times are UTC
    except (ValueError, OverflowError) as error:
        raise BadMetadata(f"{path}: times of {axis!r} in {steps.units!r} can not be read ({error})") from None


def _versions(source: Any, name: str, time: str | None, count: int) -> tuple[str | None, ...]:
    """The expver of each step: a variable along the time axis, or planes of which one is filled at each step."""
    told = source.variables.get("expver")
    if told is None or time is None:
        return (None,) * count
    if told.dimensions[:1] == (time,):
        return tuple(netcdf_writer.texts(told))
    if told.dimensions == ("expver",) and "expver" in source[name].dimensions:
        return _versions_of_planes(source[name], netcdf_writer.texts(told), time, count)
    return (netcdf_writer.texts(told)[0],) * count if told.size == 1 else (None,) * count


def _versions_of_planes(variable: Any, planes: list[str], time: str, count: int) -> tuple[str | None, ...]:
    """Preliminary steps stand at the end: looked at from there until a final one is met."""
    final = next((index for index, plane in enumerate(planes) if plane not in PRELIMINARY), 0)
    others = [plane for index, plane in enumerate(planes) if index != final] or [planes[final]]
    fill = getattr(variable, "_FillValue", None)
    last = count
    while last and not _filled(variable, {time: last - 1, "expver": final}, fill):
        last -= 1
    return (planes[final],) * last + (others[0],) * (count - last)


def _filled(variable: Any, at: Mapping[str, int], fill: Any) -> bool:
    """Whether a plane holds any value that is not fill."""
    values = variable[tuple(at.get(dim, slice(None)) for dim in variable.dimensions)]
    empty = np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.shape, bool)
    return not (empty if fill is None else empty | (values == fill)).all()


def _find(path: Path, held: Sequence[str], names: Sequence[str]) -> str:
    for name in names:
        found = next((one for one in held if _plain(one) == _plain(name)), None)
        if found:
            return found
    listed = ", ".join(held) or "none on latitudes and longitudes"
    raise UnreadableRaster(f"{path}: has no variable {names[0]!r}; it holds {listed}")


def _plain(name: str) -> str:
    return re.sub(r"[\s_]", "", name).lower()


def _unlike(variable: Variable, product: Product) -> str | None:
    """Why a variable is not of a product: cells of another size, or other steps than one a month."""
    cell, expected = variable.grid.cell, product.grid.cell
    if product.grid.kind == "geographic" and max(abs(size - expected) for size in cell) > 0.05 * expected:
        hint = "; 0.25 degrees is ERA5, 0.1 is ERA5-Land" if "era5" in product.id else ""
        return f"cells of {cell[0]:.4g} x {cell[1]:.4g} degrees, {product.id} has {expected:g}{hint}"
    if product.period_months != 1:
        return None
    yes, reason = _monthly(variable.times)
    return None if yes else reason


def _monthly(times: Sequence[dt.datetime]) -> tuple[bool, str]:
    if not times:
        return False, "no time axis; monthly means have one step a month"
    if len(times) == 1:
        return True, f"one step, {times[0]:%Y-%m-%d %H:%M}"
    gaps = [abs(later - earlier) for earlier, later in pairwise(times)]
    found = f"{len(times)} steps {_apart(sorted(gaps)[len(gaps) // 2])} from {min(times):%Y-%m-%d %H:%M} to {max(times):%Y-%m-%d %H:%M}"
    months = {(time.year, time.month) for time in times}
    if len(months) == len(times) and min(gaps) >= dt.timedelta(days=28):
        return True, found
    return False, f"{found}; monthly means have one step a month"


def _apart(gap: dt.timedelta) -> str:
    if gap >= dt.timedelta(days=28):
        return "a month apart" if gap <= dt.timedelta(days=31) else f"{round(gap.days / 30.44)} months apart"
    for unit, length in (("day", dt.timedelta(days=1)), ("hour", dt.timedelta(hours=1))):
        if gap >= length:
            number = gap / length
            return (
                f"{'an' if unit == 'hour' else 'a'} {unit} apart"
                if number == 1
                else f"{number:g} {unit}s apart"
            )
    return f"{gap.total_seconds():g} seconds apart"
