"""Result files as Markdown tables, and the places in the README where they stand.

A place is everything between `<!-- bench:NAME -->` and `<!-- /bench:NAME -->`; it is written by this file only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import DataError
from .cells import Entries, machine_text, markdown, minutes, share
from .kb import OURS
from .published import KB, TABLE_2
from .record import RESULTS, read_entries
from .search_tables import es_table, length_table, recovery_table, speed_table

PLACE = re.compile(r"(<!-- bench:(\w+) -->\n)(.*?)(<!-- /bench:\2 -->)", re.DOTALL)


def update(readme: Path, folder: Path = RESULTS) -> bool:
    """Write the tables into the README; True if that changed it."""
    from ..data.files import replacing

    old = readme.read_text(encoding="utf-8")
    new = filled(old, folder)
    if new == old:
        return False
    with replacing(readme) as temporary:
        temporary.write_text(new, encoding="utf-8")
    return True


def filled(text: str, folder: Path = RESULTS) -> str:
    """The text with every place filled from the result files."""

    def fill(match: re.Match[str]) -> str:
        name = match.group(2)
        if name not in TABLES:
            raise DataError(f"unknown place bench:{name}, expected one of {', '.join(TABLES)}")
        return f"{match.group(1)}{TABLES[name](read_entries(name, folder))}\n{match.group(4)}"

    return PLACE.sub(fill, text)


def kb_table(entries: Entries) -> str:
    """Ours first for each data set, then the baselines that we measured, then what was published."""
    rows: list[Sequence[str]] = []
    shown = [key for key in entries if not entries[key]["quick"]]
    for data in (*KB, *sorted({entries[key]["data"] for key in shown} - set(KB))):
        mine = [key for key in shown if entries[key]["data"] == data]
        if not mine:
            continue
        mine.sort(key=lambda key: list(KB_NAMES).index(_model(entries[key])))
        rows += [_kb_row(data, key, entries[key]) for key in mine]
        rows += [(data, p.method, share(p.mrr), "", share(p.hits10), minutes(p.minutes), "", "", p.ties)
                 for p in KB.get(data, ())]
    head = ("data", "method", "MRR", "Hits@1", "Hits@10", "time", "peak memory", "rules", "ties, machine")
    return markdown(head, rows, right=range(2, 8))


KB_NAMES = {
    OURS: "**nlil**, counting",
    "popularity": "popularity, measured",
    "neural-lp": "Neural-LP, our code",
    "dilp": "dILP, our code",
    "transe": "TransE, PyKEEN, our ranks",
    "rotate": "RotatE, PyKEEN, our ranks",
}
"""Models as a row names them, in the order of rows."""


def _model(entry: Mapping[str, Any]) -> str:
    return str(entry.get("model", OURS))


def _kb_row(data: str, key: str, entry: Mapping[str, Any]) -> Sequence[str]:
    metrics, seconds, spread = entry["metrics"], entry["seconds"], entry.get("deviation", {})
    options = [word for word in key.removesuffix(" quick").split(" ")[2:] if not word.startswith("model=")]
    name = KB_NAMES[_model(entry)]
    if any(word.startswith("search=") for word in options):
        name = "**nlil**"  # the options say how it searched
    name += f", {' '.join(options)}" if options else ""
    figures = [share(metrics.get(figure), spread.get(figure)) for figure in ("mrr", "hits@1", "hits@10")]
    rules = f"{entry['num_rules']:,}" if _model(entry) == OURS else ""
    return (data, name, *figures, f"{seconds['learn'] + seconds['evaluate']:.0f} s",
            f"{entry['peak_memory_mb'] / 1000:.1f} GB", rules, f"realistic; {machine_text(entry['machine'])}")


def stats_table(entries: Entries) -> str:
    rows = []
    for data in (*TABLE_2, *sorted(set(entries) - set(TABLE_2))):
        if data not in entries:
            continue
        name, *paper = TABLE_2.get(data, ("", "", "", ""))
        entry = entries[data]
        ours = [f"{entry[column]:,}" for column in ("num_facts", "num_entities", "num_predicates")]
        planted = entry.get("planted")
        recovered = "" if not planted else f"{planted['found']} of {planted['rules']}, {planted['exact']} exact"
        rows.append((data, *ours, name, *paper, recovered))
    head = ("data", "facts", "entities", "predicates", "in the paper", "facts", "entities", "predicates",
            "planted rules found")
    return markdown(head, rows, right=(1, 2, 3, 5, 6, 7))


def scale_table(entries: Entries) -> str:
    rows = [(f"{e['num_triples']:,}", f"{e['num_facts']:,}", f"{e['file_mb']:,.0f} MB", f"{e['seconds']['load']:.1f} s",
             f"{e['peak_memory_mb'] / 1000:.2f} GB", machine_text(e["machine"])) for e in entries.values()]
    return markdown(("triples", "facts kept", "file", "load", "peak memory", "machine"), rows, right=range(5))


TABLES: Mapping[str, Callable[[Entries], str]] = {
    "kb": kb_table,
    "stats": stats_table,
    "scale": scale_table,
    "recovery": recovery_table,
    "es": es_table,
    "length": length_table,
    "speed": speed_table,
}
