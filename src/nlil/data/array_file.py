"""Named arrays in one file that is mapped into memory when it is opened.

    MAGIC, the size of the header and its CRC-32, the header (JSON), then the arrays, each at a multiple of 64 bytes

The header holds what the file is about, and of each array its name, type, shape, place and CRC-32. A file is not
trusted: `open_arrays` compares its size and all CRCs before anybody looks at a number. What the numbers mean is for
the caller to check.
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
"""Bytes: where an array begins in a file, so that it may be used where it lies."""

Arrays = Mapping[str, np.ndarray]


def write_arrays(path: Path, about: Mapping[str, Any], arrays: Arrays) -> None:
    """Write a file with `arrays` by name at `path`, complete or not at all; `about` is kept as JSON."""
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
    """Return what the file at `path` is about, and its arrays: pages are read when they are needed.

    Writing to an array changes no file. Raises DataError where the file is none of ours, damaged or cut short.
    """
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        head = file.read(HEAD.size)
        if not head.startswith(MAGIC):
            raise DataError("not a file of arrays that this version of nlil wrote", path)
        if len(head) < HEAD.size:
            raise damaged(path, f"{size} bytes")
        _, length, crc = HEAD.unpack(head)
        header = file.read(min(length, size))
        if zlib.crc32(header) != crc:
            raise damaged(path, "its header has another checksum")
        whole = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    content = json.loads(header)
    start = _aligned(HEAD.size + length)
    if start + content["size"] != size:
        raise damaged(path, f"expected {start + content['size']} bytes, got {size}")
    found: dict[str, np.ndarray] = {}
    for name, kind, shape, begin, crc in content["arrays"]:
        found[name] = _array(whole, np.dtype(kind), shape, start + begin, path)
        if zlib.crc32(_bytes(found[name])) != crc:
            raise damaged(path, f"{name} has another checksum")
    return content["about"], found


def damaged(path: Path, how: str) -> DataError:
    """Return the error for a file at `path` that is not as it was written; `how` says what shows it."""
    return DataError(f"a file of arrays that is damaged or cut short ({how})", path)


def _array(whole: mmap.mmap, kind: np.dtype, shape: list[int], begin: int, path: Path) -> np.ndarray:
    count = int(np.prod(shape, dtype=np.int64))
    if kind.hasobject or not kind.isnative or min(shape, default=0) < 0 or begin + count * kind.itemsize > len(whole):
        raise damaged(path, f"an array of {kind}, {shape}, at byte {begin}")
    return np.frombuffer(whole, kind, count, begin).reshape(shape) if count else np.zeros(shape, kind)


def _aligned(place: int) -> int:
    return -(-place // ALIGNMENT) * ALIGNMENT


def _bytes(array: np.ndarray) -> memoryview:
    return array.reshape(-1).view(np.uint8).data
