"""Name merges: many names of one thing become one name.

    car: car,cars                      one merge a line: the name that stays, a colon, the names it stands for

A folder is read from `un_merge.txt` (classes and attributes) and `rel_merge.txt` (relations), either or both; a file
of one of these names holds merges of that kind, any other file holds merges of both.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ..errors import DataError
from ..logic.predicate import Predicate
from .files import lines, stem, unreadable

ARITIES: Mapping[str, tuple[int, ...]] = {"un_merge": (1,), "rel_merge": (2,)}
BOTH = (1, 2)

Merges = Mapping[tuple[str, int], str]
"""(name, arity) -> the name that takes its place."""


def read_merges(path: Path) -> Merges:
    """The merges of a file or folder.

    A name is merged once: into one name that is not itself merged away, so that the order of lines means nothing.
    """
    merges: dict[tuple[str, int], str] = {}
    for file in _files(path):
        for number, line in lines(file):
            new, colon, rest = line.partition(":")
            names = [name.strip() for name in rest.split(",")]
            if not colon or not new.strip() or not all(names):
                raise DataError(f"expected 'name: name,name,...', got {line!r:.80}", file, number)
            for arity in ARITIES.get(stem(file), BOTH):
                for name in names:
                    before = merges.setdefault((name, arity), new.strip())
                    if before != new.strip():
                        raise DataError(
                            f"expected {name!r} to be merged once, got it into {before!r} and {new.strip()!r}",
                            file,
                            number,
                        )
    for (name, arity), new in merges.items():
        if merges.get((new, arity), new) != new:
            raise DataError(
                f"expected names that stay, but {name!r} is merged into {new!r} and that into {merges[new, arity]!r}",
                path,
            )
    return merges


def _files(path: Path) -> list[Path]:
    try:
        if not path.is_dir():
            path.stat()
            return [path]
        found = sorted(file for file in path.iterdir() if file.is_file() and stem(file) in ARITIES)
    except OSError as error:
        raise unreadable(path, error) from error
    if not found:
        raise DataError("expected un_merge.txt or rel_merge.txt in the folder, got neither", path)
    return found


def merged(predicate: Predicate, merges: Merges) -> Predicate:
    return Predicate(merges.get((predicate.name, predicate.arity), predicate.name), predicate.arity)
