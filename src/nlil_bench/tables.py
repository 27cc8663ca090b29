"""Result files as Markdown tables, and the places in documents that hold them.

A place is everything between `<!-- bench:NAME -->` and `<!-- /bench:NAME -->`; it is written by this file only.
"""

from __future__ import annotations

import re
from pathlib import Path

from nlil.errors import DataError

from .registry import BENCHES, load_bench
from .results import RESULTS, read_entries

PLACE = re.compile(r"(<!-- bench:([\w-]+) -->\n)(.*?)(<!-- /bench:\2 -->)", re.DOTALL)
MARK = re.compile(r"<!-- /?bench:([\w-]+) -->")


def documents(root: Path) -> list[Path]:
    """The documents of a project that have places: README.md, then those of docs."""
    readme = root / "README.md"
    if not readme.is_file():
        raise DataError("expected the README of a project in this folder, found none; go there or name --file", readme)
    return [
        path
        for path in (readme, *sorted((root / "docs").glob("*.md")))
        if MARK.search(path.read_text(encoding="utf-8"))
    ]


def update(path: Path, folder: Path = RESULTS) -> list[str]:
    """Write the tables of a document from the result files of `folder`; the names of those that this changed."""
    from nlil.data.files import replacing

    changed = stale(path, folder)
    if changed:
        new = filled(path.read_text(encoding="utf-8"), folder)
        with replacing(path) as temporary:
            temporary.write_text(new, encoding="utf-8")
    return changed


def stale(path: Path, folder: Path = RESULTS) -> list[str]:
    """The names of the tables of a document that are not what the result files give."""
    old = path.read_text(encoding="utf-8")
    try:
        new = filled(old, folder)
    except DataError as error:
        raise DataError(str(error), path) if error.path is None else error from None
    pairs = zip(PLACE.finditer(old), PLACE.finditer(new), strict=True)
    return [before.group(2) for before, after in pairs if before.group(3) != after.group(3)]


def filled(text: str, folder: Path = RESULTS) -> str:
    """The text with every place filled from the result files."""
    alone = MARK.search(PLACE.sub("", text))
    if alone is not None:
        raise DataError(
            f"{alone.group()} stands alone, expected <!-- bench:{alone.group(1)} --> and "
            f"<!-- /bench:{alone.group(1)} --> around a table, each on a line of its own"
        )
    return PLACE.sub(lambda match: f"{match.group(1)}{place_text(match.group(2), folder)}\n{match.group(4)}", text)


def place_text(place: str, folder: Path = RESULTS) -> str:
    """The table of one place: of the bench that its name starts with."""
    name = place.partition("-")[0]
    tables = load_bench(name).tables if name in BENCHES else {}
    if place not in tables:
        every = [place for bench in BENCHES for place in load_bench(bench).tables]
        raise DataError(f"unknown place bench:{place}, expected one of {', '.join(every)}")
    return tables[place](read_entries(name, folder))
