"""How long a classic netCDF file must be, by its own header.

The netCDF library reads zeros where such a file was cut short, and says nothing. (File format: netCDF User's Guide,
appendix B, "File Format Specifications".)
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

_SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 4, 6: 8, 7: 1, 8: 2, 9: 4, 10: 8, 11: 8}
"""Bytes of each external type: byte, char, short, int, float, double, and the unsigned and 64-bit ones of CDF-5."""


def length(path: Path) -> int:
    """The least size in bytes of a whole file. Raises `EOFError` for a cut header, `ValueError` for a broken one."""
    with path.open("rb") as file:
        version = file.read(4)[3]
        return _Header(file, version).length()


@dataclass
class _Header:
    file: BinaryIO
    version: int

    def length(self) -> int:
        records = self._count()
        dims = [self._dim() for _ in range(self._list())]
        self._attributes()
        variables = [self._variable(dims) for _ in range(self._list())]
        ends = [begin + size for begin, size, record in variables if not record]
        in_records = [(begin, size) for begin, size, record in variables if record]
        if records in (2**32 - 1, 2**64 - 1):
            raise ValueError("the number of records was never written")
        if in_records and records:
            ends.append(_end_of_records(in_records, records))
        return max([self.file.tell(), *ends])

    def _dim(self) -> int:
        self._name()
        return self._count()

    def _variable(self, dims: list[int]) -> tuple[int, int, bool]:
        """(offset, bytes of the whole variable or of one record, whether it grows by records)."""
        self._name()
        axes = [dims[self._count()] for _ in range(self._count())]
        self._attributes()
        kind = self._int(4)
        self._count()  # the stored size overflows for large variables; the axes tell it
        begin = self._int(4 if self.version == 1 else 8)
        record = bool(axes) and axes[0] == 0
        return begin, math.prod(axes[1:] if record else axes) * _SIZES.get(kind, 1), record

    def _attributes(self) -> None:
        for _ in range(self._list()):
            self._name()
            kind = self._int(4)
            self._skip(self._count() * _SIZES.get(kind, 1))

    def _list(self) -> int:
        self._int(4)  # the tag of the list, 0 where it is absent
        return self._count()

    def _name(self) -> None:
        self._skip(self._count())

    def _count(self) -> int:
        return self._int(8 if self.version == 5 else 4)

    def _int(self, size: int) -> int:
        content = self.file.read(size)
        if len(content) < size:
            raise EOFError("it ends in its header")
        return int(struct.unpack(">I" if size == 4 else ">Q", content)[0])

    def _skip(self, size: int) -> None:
        self.file.seek(_padded(size), 1)


def _end_of_records(variables: list[tuple[int, int]], records: int) -> int:
    """The end of the last record; records of a single variable stand without padding between them."""
    one = variables[0][1] if len(variables) == 1 else sum(_padded(size) for _, size in variables)
    return max(begin + (records - 1) * one + size for begin, size in variables)


def _padded(size: int) -> int:
    return -(-size // 4) * 4
