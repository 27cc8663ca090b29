"""Reading files: endings, .gz, blocks and lines, errors; and writing them atomically.

`path` is always the file; errors become DataErrors.
"""

from __future__ import annotations

import codecs
import glob
import gzip
import io
import os
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import BinaryIO, cast

from ..errors import ConfigError, DataError
from .limits import ExpandedStream, refuse_long_line
from .locks import is_at, take

TEST_EXAMPLES = ("test.pl", "test_exs.pl", "exs_test.pl")
"""Files beside bk.pl and exs.pl with examples to measure a program on."""
UTF8 = "utf-8"
UTF8_BOM = b"\xef\xbb\xbf"
BLOCK_BYTES = 1 << 23
UNFINISHED = ".part"
"""Suffix of a file that is being written."""
MAX_ENCODING = 100
"""Characters of the name of an encoding: Python reads long ones slowly, and remembers them."""
_UMASK = Lock()


def ending(path: Path) -> str:
    """Return the ending that names the format, in lower case, without .gz: `a.TSV.gz` -> `.tsv`."""
    return Path(stem_of_gzip(path)).suffix.lower()


def stem(path: Path) -> str:
    """Return the name without its format: `train.tsv.gz` -> `train`."""
    return Path(stem_of_gzip(path)).stem


def stem_of_gzip(path: Path) -> str:
    """Return the name of the file without .gz."""
    return path.name[:-3] if path.name.lower().endswith(".gz") else path.name


def present(folder: Path, name: str) -> Path | None:
    """Return the file `name` or `name.gz` in a folder, or None."""
    return next((file for file in (folder / name, folder / f"{name}.gz") if file.is_file()), None)


@contextmanager
def readable(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading bytes, decompressed if it ends in .gz; errors become DataErrors."""
    try:
        if not path.name.lower().endswith(".gz"):
            with path.open("rb") as stream:
                yield stream
            return
        with gzip.open(path) as packed, io.BufferedReader(ExpandedStream(packed, path), BLOCK_BYTES) as unpacked:
            yield cast(BinaryIO, unpacked)
    except (OSError, EOFError, zlib.error) as error:
        raise unreadable(path, error) from error


def unreadable(path: Path, error: Exception) -> DataError:
    """Turn an `error` of the operating system into one sentence about the file at `path`."""
    match error:
        case FileNotFoundError():
            reason = "no such file"
        case IsADirectoryError():
            reason = "expected a file, got a folder"
        case PermissionError():
            reason = "no permission to read it"
        case EOFError() | gzip.BadGzipFile() | zlib.error():
            reason = f"expected a complete gzip file, got a damaged one ({error})"
        case _:
            reason = f"cannot be read ({error})"
    return DataError(reason, path)


def blocks(path: Path, encoding: str = UTF8) -> Iterator[tuple[int, str]]:
    """Yield (number of the first line, text) of a file in an `encoding`, in blocks of whole lines.

    A byte order mark is removed.
    """
    if encoding != UTF8:
        yield from _other_blocks(path, encoding)
        return
    rest, number = b"", 1
    with readable(path) as stream:
        while True:
            data = stream.read(BLOCK_BYTES)
            end = data.rfind(b"\n") + 1 if data else 0
            if data and not end:
                rest += data
                refuse_long_line(len(rest), path, number)
                continue
            block = rest + data[:end]
            if block:
                yield number, _decoded(block.removeprefix(UTF8_BOM) if number == 1 else block, path, number)
            if not data:
                return
            number += block.count(b"\n")
            rest = data[end:]


def _other_blocks(path: Path, encoding: str) -> Iterator[tuple[int, str]]:
    rest, number = "", 1
    with readable(path) as stream, io.TextIOWrapper(stream, encoding, newline="") as text:
        try:
            while data := text.read(BLOCK_BYTES):
                data = rest + data.removeprefix("\ufeff") if number == 1 and not rest else rest + data
                end = data.rfind("\n") + 1
                if end:
                    yield number, data[:end]
                    number += data.count("\n", 0, end)
                rest = data[end:]
                refuse_long_line(len(rest), path, number)
        except UnicodeError as error:
            raise DataError(f"expected text in the encoding {encoding}, got other bytes ({error})", path) from error
    if rest:
        yield number, rest


def known_encoding(name: str) -> str:
    """Return the usual spelling of an encoding such as latin-1. Raises ConfigError if there is none of this `name`."""
    try:
        if len(name) > MAX_ENCODING:
            raise LookupError
        found = codecs.lookup(name)
        "a".encode(found.name)  # there are also codecs from bytes to bytes, such as hex
        return found.name
    except (LookupError, ValueError):
        expected = "encoding: expected one that Python knows, such as utf-8, latin-1 or utf-16"
        raise ConfigError(f"{expected}, got {name!r}", "encoding") from None


def _decoded(block: bytes, path: Path, number: int) -> str:
    try:
        return block.decode()
    except UnicodeDecodeError as error:
        begin = block.rfind(b"\n", 0, error.start) + 1
        line = number + block.count(b"\n", 0, begin)
        found = f"the bytes {block[begin:].split()[0][:60]!r}"
        advice = "name the encoding, for example --encoding latin-1"
        raise DataError(f"expected UTF-8 text, got {found}; {advice}", path, line) from error


def lines(path: Path, encoding: str = UTF8) -> Iterator[tuple[int, str]]:
    """Yield (line number, text without its end) of a file in an `encoding`; blank lines are skipped."""
    for first, block in blocks(path, encoding):
        for number, line in enumerate(block.split("\n"), start=first):
            if line.strip(" \r"):
                yield number, line.rstrip("\r")


def user_cache() -> Path:
    """Return the cache folder of the user. Raises RuntimeError if the user has no home folder."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary file next to `path` that replaces it at the end of the block, or is removed after an error.

    Its content is on the disk before it takes the place of the old one. What a killed process left next to `path` is
    removed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary, handle = _temporary_file(path)
    try:
        yield temporary
        share(temporary)  # mkstemp gives 0600
        sync(temporary)
        os.replace(temporary, path)
    finally:
        os.close(handle)
        temporary.unlink(missing_ok=True)


def share(path: Path) -> None:
    """Give the file at `path` the usual permissions of this user's files.

    The umask can be read only by setting it, for the whole process: one thread at a time.
    """
    with _UMASK:
        umask = os.umask(0)
        os.umask(umask)
    path.chmod(0o666 & ~umask)


def _temporary_file(path: Path) -> tuple[Path, int]:
    """Return a new file next to `path`, and a handle that holds its lock while the process is working."""
    prefix = f".{path.name}."
    for left in path.parent.glob(f"{glob.escape(prefix)}*{UNFINISHED}"):
        _remove_abandoned(left)
    while True:
        handle, name = tempfile.mkstemp(UNFINISHED, prefix, path.parent)
        if take(handle) and is_at(handle, Path(name)):
            return Path(name), handle
        os.close(handle)  # another process removed it as abandoned before we had its lock


def _remove_abandoned(file: Path) -> None:
    with suppress(OSError):
        handle = os.open(file, os.O_RDWR)
        try:
            if take(handle):
                file.unlink()
        finally:
            os.close(handle)


def sync(path: Path) -> None:
    """Wait until a file, or the entries of a folder, are on the disk, if the system supports this."""
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
