"""Named arrays in one file that is mapped into memory when it is opened.

    MAGIC, the size of the header and its CRC-32, the header (JSON), then the arrays, each at a multiple of 64 bytes

The header holds a description of the file, and for each array its name, type, shape, offset and CRC-32. Files are not
trusted: `open_arrays` checks the size and all CRCs before it returns an array. The caller checks the values.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DataError
from .files import replacing

MAGIC = b"nlil arrays 1\n\0\0"
HEAD = struct.Struct("<16sQI")
ALIGNMENT = 64
"""Every array begins at a multiple of this many bytes, so that it can be used without a copy."""

Arrays = Mapping[str, np.ndarray]


def write_arrays(path: Path, about: Mapping[str, Any], arrays: Arrays) -> None:
    """Write `arrays`, by name, atomically to the file at `path`; the description `about` is stored as JSON."""
    table, end = [], 0
    columns = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    for name, array in columns.items():
        begin = _aligned(end)
        end = begin + array.nbytes
        table.append((name, array.dtype.str, array.shape, begin, zlib.crc32(_bytes(array))))
    header = json.dumps({"about": about, "size": end, "arrays": table}).encode()
    with replacing(path) as part, part.open("wb") as file:
        file.write(HEAD.pack(MAGIC, len(header), zlib.crc32(header)))
        file.write(header)
        start = _aligned(file.tell())
        for (*_, begin, _), array in zip(table, columns.values()):
            file.seek(start + begin)
            file.write(_bytes(array))
        file.truncate(start + end)


def open_arrays(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the description and the arrays of the file at `path`; pages are read when they are needed.

    Writing to an array does not change the file. Raises DataError if the file has another format or is damaged.
    """
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        head = file.read(HEAD.size)
        if not head.startswith(MAGIC):
            raise DataError("expected a file of arrays written by this version of nlil, got another format", path)
        if len(head) < HEAD.size:
            raise damaged(path, f"{size} bytes")
        _, length, crc = HEAD.unpack(head)
        header = file.read(min(length, size))
        if zlib.crc32(header) != crc:
            raise damaged(path, "wrong checksum of the header")
        whole = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    content = json.loads(header)
    start = _aligned(HEAD.size + length)
    if start + content["size"] != size:
        raise damaged(path, f"expected {start + content['size']} bytes, got {size}")
    found: dict[str, np.ndarray] = {}
    for name, kind, shape, begin, crc in content["arrays"]:
        found[name] = _array(whole, np.dtype(kind), shape, start + begin, path)
        if zlib.crc32(_bytes(found[name])) != crc:
            raise damaged(path, f"wrong checksum of {name}")
    return content["about"], found


def damaged(path: Path, how: str) -> DataError:
    """Return the error for a damaged file at `path`; `how` says what is wrong with it."""
    return DataError(f"the file is damaged or incomplete ({how})", path)


def _array(whole: mmap.mmap, kind: np.dtype, shape: list[int], begin: int, path: Path) -> np.ndarray:
    count = int(np.prod(shape, dtype=np.int64))
    if kind.hasobject or not kind.isnative or min(shape, default=0) < 0 or begin + count * kind.itemsize > len(whole):
        raise damaged(path, f"an array of {kind}, {shape}, at byte {begin}")
    return np.frombuffer(whole, kind, count, begin).reshape(shape) if count else np.zeros(shape, kind)


def _aligned(place: int) -> int:
    return -(-place // ALIGNMENT) * ALIGNMENT


def _bytes(array: np.ndarray) -> memoryview:
    return array.reshape(-1).view(np.uint8).data
