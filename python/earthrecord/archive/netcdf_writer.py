"""Copying a part of one variable, and all that describes it, into a classic netCDF file of its own."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from earthrecord.archive.latlon import Indices, Latitudes, Longitudes
from earthrecord.errors import EarthRecordError, UnreadableRaster, UnsupportedRaster, UnwritableRaster
from earthrecord.grid import Window

_CLASSIC = frozenset({"int8", "int16", "int32", "float32", "float64"})
_BLOCK = 64 * 1024 * 1024


@dataclass(frozen=True)
class Part:
    """What to take of a variable: positions by axis (others whole), which are those of a window of its map."""

    chosen: Mapping[str, Indices]
    rows: Latitudes
    cols: Longitudes
    window: Window

    @property
    def west(self) -> float:
        """The western edge of the window, as its longitudes are written."""
        first = self.cols.stored[self.cols.indices(self.window)[0]]
        return float(first + self.cols.shift(self.window)[0]) - self.cols.step / 2

    @property
    def north(self) -> float:
        return self.rows.north - self.rows.step * self.window.row

    @property
    def south(self) -> float:
        return self.north - self.rows.step * self.window.height


def write(source: Any, member: str, target: Path, part: Part) -> tuple[int, str]:
    """Write a part of the variable `member` of an open dataset; returns size in bytes and SHA-256 (hex).

    Types that the classic format lacks (64-bit and unsigned integers, strings) occur in coordinates: they
    become the 32-bit integers, doubles or characters that hold the same values. Only where the variable itself
    needs them the file is CDF-5, which fewer readers know.
    """
    import netCDF4

    plain = source[member].dtype.newbyteorder("=").name in _CLASSIC
    with _whole(target) as file:
        with netCDF4.Dataset(
            file, "w", format="NETCDF3_64BIT_OFFSET" if plain else "NETCDF3_64BIT_DATA"
        ) as out:
            out.set_fill_off()
            out.setncatts({key: _attribute(source.getncattr(key)) for key in source.ncattrs()})
            for name in _described_by(source, member, part):
                if name == member:
                    _copy_blocks(source[name], out, part)
                else:
                    _copy(source, name, out, part)
        with file.open("rb") as written:
            found = file.stat().st_size, hashlib.file_digest(written, "sha256").hexdigest()
    return found


def read(variable: Any, chosen: Mapping[str, Indices]) -> NDArray[Any]:
    """The chosen part of a variable, as stored, in runs of neighbouring positions."""
    sizes = zip(variable.dimensions, variable.shape, strict=True)
    runs = [_runs(chosen.get(dim, np.arange(size))) for dim, size in sizes]
    try:
        return _read_runs(variable, (), runs)
    except (OSError, RuntimeError) as error:
        file = variable.group().filepath()
        raise UnreadableRaster(f"{file}: {variable.name!r} is damaged ({error}); get it again") from error


def texts(variable: Any) -> list[str]:
    """The values of a variable of strings, characters or numbers, each as text."""
    values = np.asarray(variable[...])
    if values.dtype.kind == "S" and values.ndim:
        return [b"".join(row).decode().strip("\0 ") for row in values.reshape(-1, values.shape[-1])]
    return [str(value) for value in values.ravel()]


def _read_runs(variable: Any, fixed: tuple[slice, ...], runs: list[list[slice]]) -> NDArray[Any]:
    if not runs:
        return np.asarray(variable[fixed or ...])
    return np.concatenate([_read_runs(variable, (*fixed, run), runs[1:]) for run in runs[0]], axis=len(fixed))


def _runs(positions: Indices) -> list[slice]:
    parts = np.split(positions, np.flatnonzero(np.diff(positions) != 1) + 1)
    return [slice(int(part[0]), int(part[-1]) + 1) for part in parts]


@contextmanager
def _whole(target: Path) -> Iterator[Path]:
    """A file beside `target` that takes its name once it was written without an error, and goes otherwise."""
    part = target.with_name(f".{target.name}.part")
    try:
        yield part
        part.replace(target)
    except EarthRecordError:
        raise
    except (OSError, RuntimeError) as error:
        raise UnwritableRaster(
            f"{target}: can not be written ({error}); check space and permissions"
        ) from error
    finally:
        part.unlink(missing_ok=True)


def _described_by(source: Any, member: str, part: Part) -> list[str]:
    """The variable and those that say something of it: all along its axes that are no other map, and bounds."""
    dims = set(source[member].dimensions)
    found = {member}
    for name, variable in source.variables.items():
        along = set(variable.dimensions[:-1] if variable.dtype == "S1" else variable.dimensions)
        if along <= dims and not {part.rows.name, part.cols.name} <= along:
            found |= {name, *(str(getattr(variable, key, name)) for key in ("bounds", "climatology"))}
    return [name for name in source.variables if name in found]


def _copy_blocks(variable: Any, out: Any, part: Part) -> None:
    """Copy the map itself, some steps of its first axis at a time."""
    first, *rest = variable.dimensions
    sizes = [
        len(part.chosen.get(dim, range(size)))
        for dim, size in zip(variable.dimensions, variable.shape, strict=True)
    ]
    copy = _create(
        variable, out, variable.dtype.newbyteorder("="), dict(zip(variable.dimensions, sizes, strict=True))
    )
    positions = part.chosen.get(first, np.arange(variable.shape[0]))
    steps = max(1, _BLOCK // max(1, int(np.prod(sizes[1:])) * variable.dtype.itemsize))
    for start in range(0, len(positions), steps):
        block = {dim: part.chosen[dim] for dim in rest if dim in part.chosen} | {
            first: positions[start : start + steps]
        }
        copy[start : start + steps] = read(variable, block)


def _copy(source: Any, name: str, out: Any, part: Part) -> None:
    """Copy what describes the map: coordinates, bounds, grid mapping, expver ..."""
    variable = source[name]
    values = read(variable, part.chosen)
    if name in (part.cols.name, str(getattr(source[part.cols.name], "bounds", ""))):
        shift = part.cols.shift(part.window)
        values = (values + shift.reshape(-1, *(1,) * (values.ndim - 1))).astype(values.dtype)
    dims = list(variable.dimensions)
    if variable.dtype is str:
        values, dims = _characters(values), [*dims, f"{name}_length"]
    values = _narrow(values)
    copy = _create(variable, out, values.dtype, dict(zip(dims, values.shape, strict=True)))
    for key in variable.ncattrs():
        if key.lower() == "geotransform":
            copy.setncattr(key, _geotransform(str(variable.getncattr(key)), part))
    copy[...] = values


def _create(variable: Any, out: Any, dtype: np.dtype[Any], dims: Mapping[str, int]) -> Any:
    """A variable of the same name and attributes in the new file, with the axes that it needs."""
    for dim, size in dims.items():
        if dim not in out.dimensions:
            out.createDimension(dim, size)
    attributes = {key: _attribute(variable.getncattr(key)) for key in variable.ncattrs()}
    fill = attributes.pop("_FillValue", None)
    fill = fill if fill is None or dtype.kind == "S" else np.asarray(fill).astype(dtype)
    copy = out.createVariable(variable.name, dtype, tuple(dims), fill_value=fill)
    copy.set_auto_maskandscale(False)
    copy.set_auto_chartostring(False)
    copy.setncatts(attributes)
    return copy


def _characters(values: NDArray[Any]) -> NDArray[Any]:
    """Strings as rows of single bytes, UTF-8, padded with NUL."""
    encoded = [str(value).encode() for value in values.ravel()]
    width = max(1, *map(len, encoded)) if encoded else 1
    flat = np.array([text.ljust(width, b"\0") for text in encoded], f"S{width}")
    return np.frombuffer(flat.tobytes(), "S1").reshape(*values.shape, width)


def _narrow(values: NDArray[Any]) -> NDArray[Any]:
    """The same values in a type of the classic format."""
    if values.dtype.kind not in "iu" or values.dtype.newbyteorder("=").name in _CLASSIC:
        return values.astype(values.dtype.newbyteorder("="))
    limits = np.iinfo(np.int32)
    fits = not values.size or (values.min() >= limits.min and values.max() <= limits.max)
    narrow = values.astype(np.int32 if fits else np.float64)
    if (narrow.astype(values.dtype) != values).any():
        raise UnsupportedRaster("a coordinate holds integers over 2**53, which classic netCDF can not hold")
    return narrow


def _attribute(value: Any) -> Any:
    """An attribute in a type of the classic format; a list of strings becomes one string."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) or np.asarray(value).dtype.kind in "US":
        return ", ".join(map(str, np.atleast_1d(value)))
    return _narrow(np.asarray(value))


def _geotransform(said: str, part: Part) -> str:
    """A geotransform in the order and sign that it had, moved to where the part lies."""
    _, dx, rx, _, ry, dy = (float(number) for number in said.split()[:6])
    y = part.north if dy < 0 else part.south
    return " ".join(repr(number) for number in (round(part.west, 10), dx, rx, round(y, 10), ry, dy))
