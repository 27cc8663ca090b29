"""Result files as Markdown tables, and the places in documents where they stand.

A place is everything between `<!-- bench:NAME -->` and `<!-- /bench:NAME -->`; it is written by this file only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from nlil.errors import DataError

from .cells import Entries, machine_text, markdown, measured
from .curve import curve_table
from .kb_tables import calibration_table, kb_table, steps_table, valid_table
from .published import TABLE_2
from .record import RESULTS, read_entries
from .scene_rules import scene_rules_table
from .scene_tables import fewshot_table, scene_table
from .search_tables import es_table, length_table, recovery_table, speed_table
from .viewer import viewer_table

PLACE = re.compile(r"(<!-- bench:([\w-]+) -->\n)(.*?)(<!-- /bench:\2 -->)", re.DOTALL)
MARK = re.compile(r"<!-- /?bench:([\w-]+) -->")


def places(root: Path) -> list[Path]:
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
    """Write the tables of a document; the names of those that this changed."""
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

    def fill(match: re.Match[str]) -> str:
        name = match.group(2)
        if name not in TABLES:
            raise DataError(f"unknown place bench:{name}, expected one of {', '.join(TABLES)}")
        return f"{match.group(1)}{TABLES[name](read_entries(BENCH_OF.get(name, name), folder))}\n{match.group(4)}"

    alone = MARK.search(PLACE.sub("", text))
    if alone is not None:
        raise DataError(
            f"{alone.group()} stands alone, expected <!-- bench:{alone.group(1)} --> and "
            f"<!-- /bench:{alone.group(1)} --> around a table, each on a line of its own"
        )
    return PLACE.sub(fill, text)


def stats_table(entries: Entries) -> str:
    found = {entry["data"]: entry for entry in measured(entries).values()}
    rows = []
    for data in (*TABLE_2, *sorted(set(found) - set(TABLE_2))):
        if data not in found:
            continue
        name, *paper = TABLE_2.get(data, ("", "", "", ""))
        entry = found[data]
        ours = [f"{entry[column]:,}" for column in ("num_facts", "num_entities", "num_predicates")]
        planted = entry.get("planted")
        recovered = "" if not planted else f"{planted['found']} of {planted['rules']}, {planted['exact']} exact"
        rows.append((data, *ours, name, *paper, recovered))
    head = (
        "data",
        "facts",
        "entities",
        "predicates",
        "in the paper",
        "facts",
        "entities",
        "predicates",
        "planted rules found",
    )
    return markdown(head, rows, right=(1, 2, 3, 5, 6, 7))


def scale_table(entries: Entries) -> str:
    rows = [
        (
            f"{e['num_triples']:,}",
            f"{e['num_facts']:,}",
            f"{e['file_mb']:,.0f} MB",
            f"{e['seconds']['load']:.1f} s",
            f"{e['peak_memory_mb'] / 1000:.2f} GB",
            machine_text(e["machine"]),
        )
        for e in measured(entries).values()
    ]
    return markdown(("triples", "facts kept", "file", "load", "peak memory", "machine"), rows, right=range(5))


TABLES: Mapping[str, Callable[[Entries], str]] = {
    "kb": kb_table,
    "kb-steps": steps_table,
    "kb-valid": valid_table,
    "kb-calibration": calibration_table,
    "stats": stats_table,
    "scale": scale_table,
    "recovery": recovery_table,
    "es": es_table,
    "length": length_table,
    "speed": speed_table,
    "curve": curve_table,
    "scene": scene_table,
    "scene-rules": scene_rules_table,
    "fewshot": fewshot_table,
    "viewer": viewer_table,
}
"""Place -> its table, from the entries of the bench of that name."""
BENCH_OF: Mapping[str, str] = {"kb-steps": "kb", "kb-valid": "kb", "kb-calibration": "kb", "scene-rules": "scene"}
"""Places whose figures are those of another bench."""
