"""Limits of what readers accept (docs/limits.md); a file beyond them is refused with one sentence.

A small file from an untrusted source must not take much memory or time. The limits are far above those of real data.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import IO

import numpy as np

from ..errors import DataError

MAX_LINE = 1 << 24
"""Bytes of a line, and characters of a Prolog clause."""
MAX_NAME = 1 << 16
"""Bytes of a name."""
MAX_COLUMNS = 1_000
"""Columns of a table."""
MAX_DEPTH = 64
"""Nested lists and objects of a JSON file."""
MAX_EXPANSION = 200
"""Limit of the compression ratio; very repetitive facts reach 50."""
FREE_EXPANSION = 1 << 28
"""A decompressed file may always have this many bytes."""

_OPEN, _CLOSE = b"[{", b"]}"
_OTHERS = bytes(set(range(256)) - set(b'[]{}"'))


def expanded_limit(size: int) -> int:
    """Return the limit of the decompressed bytes of a compressed file of `size` bytes."""
    return max(FREE_EXPANSION, MAX_EXPANSION * size)


def refuse_columns(number: int, path: Path) -> None:
    """Raise DataError if the `number` of columns of the file at `path` is too large."""
    if number > MAX_COLUMNS:
        raise DataError(f"expected at most {MAX_COLUMNS:,} columns, got {number:,}", path)


def refuse_long_line(size: int, path: Path, number: int) -> None:
    """Raise DataError for a line of more than MAX_LINE bytes; line `number` of `path` has at least `size`."""
    if size > MAX_LINE:
        raise DataError(f"expected lines of at most {MAX_LINE:,} bytes, got a longer one", path, number)


class ExpandedStream(io.RawIOBase):
    """The content of a compressed file; raises DataError when it exceeds the limit for a file of that size.

    Args:
        stream: The decompressed content.
        path: The file, for its size and for the error.
    """

    def __init__(self, stream: io.BufferedIOBase, path: Path) -> None:
        self._stream, self._path = stream, path
        self._left = expanded_limit(path.stat().st_size)

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Fill `buffer`; return the number of bytes."""
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        self._left -= len(data)
        if self._left < 0:
            raise DataError(
                f"expected a compression ratio of at most {MAX_EXPANSION}, got more; decompress the file yourself if "
                "you trust it",
                self._path,
            )
        return len(data)


class ShallowJson:
    """A stream of JSON for a parser; raises DataError before the parser reads anything nested too deeply.

    Args:
        stream: The file.
        path: Its name, for the error.
    """

    def __init__(self, stream: IO[bytes], path: Path) -> None:
        self._stream, self._path = stream, path
        self._depth, self._in_text, self._is_escaped = 0, False, False

    def read(self, size: int = -1) -> bytes:
        """Return the next `size` bytes."""
        data = self._stream.read(size)
        self._follow(data)
        return data

    def _follow(self, data: bytes) -> None:
        if b"\\" in data or self._is_escaped:
            data = self._unescaped(data)
        pieces = data.translate(None, _OTHERS).split(b'"')  # every second piece is inside a string
        marks = np.frombuffer(b"".join(pieces[self._in_text :: 2]), np.uint8)
        if len(pieces) % 2 == 0:
            self._in_text = not self._in_text
        if len(marks):
            depths = self._depth + np.cumsum(np.where(np.isin(marks, list(_OPEN)), 1, -1))
            if int(depths.max()) > MAX_DEPTH:
                raise DataError(f"expected at most {MAX_DEPTH} nested lists and objects, got more", self._path)
            self._depth = int(depths[-1])

    def _unescaped(self, data: bytes) -> bytes:
        """Return the data without backslashes and the characters that they escape."""
        if self._is_escaped:
            data = data[1:]
        self._is_escaped = (len(data) - len(data.rstrip(b"\\"))) % 2 == 1
        return data.replace(b"\\\\", b"").replace(b'\\"', b"")
