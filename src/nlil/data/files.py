"""Files at the border: endings, .gz, line by line, and what can go wrong with them."""

from __future__ import annotations

import gzip
import os
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from ..errors import DataError

UTF8_BOM = b"\xef\xbb\xbf"


def ending(path: Path) -> str:
    """The ending that names the format, in lower case, without .gz: `a.TSV.gz` -> `.tsv`."""
    return Path(stem_of_gzip(path)).suffix.lower()


def stem(path: Path) -> str:
    """The name without its format: `train.tsv.gz` -> `train`."""
    return Path(stem_of_gzip(path)).stem


def stem_of_gzip(path: Path) -> str:
    return path.name[:-3] if path.name.lower().endswith(".gz") else path.name


def beside(path: Path, name: str) -> Path | None:
    """The file `name`, or `name.gz`, in the folder of `path`."""
    return next((file for file in (path.with_name(name), path.with_name(f"{name}.gz")) if file.is_file()), None)


@contextmanager
def readable(path: Path) -> Iterator[BinaryIO]:
    """The bytes of a file, decompressed when it ends in .gz; trouble becomes one clear sentence."""
    try:
        with gzip.open(path) if path.name.lower().endswith(".gz") else path.open("rb") as stream:
            yield cast(BinaryIO, stream)
    except (OSError, EOFError, zlib.error) as error:
        raise unreadable(path, error) from error


def unreadable(path: Path, error: Exception) -> DataError:
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


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """(line number, text without its end) of a UTF-8 file; blank lines are passed over."""
    with readable(path) as stream:
        for number, raw in enumerate(stream, start=1):
            data = raw.removeprefix(UTF8_BOM) if number == 1 else raw
            try:
                text = data.rstrip(b"\r\n").decode()
            except UnicodeDecodeError as error:
                raise DataError(f"expected UTF-8 text, got the bytes {raw[:60]!r}", path, number) from error
            if text.strip(" "):
                yield number, text


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary name beside `path` that takes its place when the block ends well, and vanishes otherwise."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)  # mkstemp gives 0600; a result is as readable as any other file
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
