"""JSON in pieces: a file of any size is never in memory as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..data.files import readable
from ..errors import DataError, require

SHOWN_REASON = 160


def members(path: Path, expected: str) -> Iterator[tuple[str, Any]]:
    """(key, value) of the object that the file holds, one after the other; `expected` is for the error."""
    with _events(path, expected) as (ijson, stream):
        yield from ijson.kvitems(stream, "", use_float=True)


def elements(path: Path, place: str, expected: str) -> Iterator[Any]:
    """The values at a place, such as `item` (of a list) or `annotation.item`."""
    with _events(path, expected) as (ijson, stream):
        yield from ijson.items(stream, place, use_float=True)


def whole(path: Path, expected: str) -> Any:
    """A small file at once."""
    return next(elements(path, "", expected))


def beginning(path: Path) -> Iterator[tuple[str, Any]]:
    """The parser's events (start_map, map_key, ...); ends early where the JSON is damaged."""
    ijson = _ijson()
    with readable(path) as stream:
        try:
            yield from ijson.basic_parse(stream, use_float=True)
        except ijson.JSONError:
            return


@contextmanager
def _events(path: Path, expected: str) -> Iterator[tuple[Any, Any]]:
    ijson = _ijson()
    with readable(path) as stream:
        try:
            yield ijson, stream
        except ijson.JSONError as error:
            reason = " ".join(str(error).split())
            raise DataError(f"expected JSON {expected}, got: {reason:.{SHOWN_REASON}}", path) from error


def _ijson() -> Any:
    return require("ijson", "scene", "reading scene graphs")
