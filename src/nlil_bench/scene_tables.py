"""The tables of nlil bench scene and nlil bench fewshot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from . import fewshot
from .cells import Entries, machine_text, markdown, measured, share
from .published import SCENE_GOALS, TABLE_3
from .scene import DATA, OURS, ROWS

NAMES = {OURS: "**nlil**", "freq": "Freq, our code", "logistic": "logistic regression", "mlp": "MLP"}
"""Models as a row names them, in the order of rows."""
PROTOCOL = (
    "R@k: the share of test objects whose class is among the first k, all labels of the object hidden, those of its "
    "neighbours given; all objects, then those with and those without a stated relation. Classes with equal scores are "
    "ranked at their mean. Rules: the mean for a class. Time: learning and evaluation. The published figures are those "
    "of Visual Genome, whose files are not at hand here."
)
FEWSHOT_PROTOCOL = "R@1 on all test objects. Smaller shares are parts of larger ones, drawn by the seed."


def scene_table(entries: Entries) -> str:
    """Ours first for each data set, then the baselines, then what was asked for; the paper's Table 3 last."""
    shown = measured(entries)
    lines: list[Sequence[str]] = []
    for data in (*DATA, *sorted({entry["data"] for entry in shown.values()} - set(DATA))):
        mine = [key for key in shown if shown[key]["data"] == data]
        lines += [_line(shown[key]) for key in sorted(mine, key=lambda key: (*_place(shown[key]), key))]
        if mine:
            lines += [
                (data, "asked for", sees, share(first), share(fifth), *[""] * 8)
                for sees, first, fifth in SCENE_GOALS.get(data, ())
            ]
    if not lines:
        return markdown((), ())
    lines += [
        ("Visual Genome", f"{method}, published", "", share(first), share(fifth), *[""] * 8)
        for method, first, fifth in TABLE_3
    ]
    head = (
        "data",
        "model",
        "settings",
        "R@1",
        "R@5",
        "R@1, related",
        "R@5, related",
        "R@1, unrelated",
        "R@5, unrelated",
        "rules",
        "time",
        "peak memory",
        "device",
    )
    return "\n\n".join((markdown(head, lines, right=range(3, 12)), PROTOCOL, *map(_planted, _with_planted(shown))))


def _with_planted(entries: Entries) -> list[Mapping[str, Any]]:
    return [entry for _, entry in sorted(entries.items()) if entry.get("num_planted")]


def _planted(entry: Mapping[str, Any]) -> str:
    settings = " ".join(entry["settings"]) or "default"
    rules, classes = ((entry[f"num_planted{what}_found"], entry[f"num_planted{what}"]) for what in ("", "_classes"))
    return (
        f"{entry['data']}, {settings}: {rules[0]:,} of {rules[1]:,} planted rules are among those learned, for "
        f"{classes[0]:,} of {classes[1]:,} classes all."
    )


def _place(entry: Mapping[str, Any]) -> tuple[int, int]:
    """The order of rows: as bench scene measures them, rows with other settings behind."""
    usual = ROWS[entry["model"]]
    settings = tuple(entry["settings"])
    return list(NAMES).index(entry["model"]), usual.index(settings) if settings in usual else len(usual)


def _line(entry: Mapping[str, Any]) -> Sequence[str]:
    figures = [
        share(entry["metrics"].get(f"r@{k}{objects}")) for objects in ("", "_related", "_unrelated") for k in (1, 5)
    ]
    rules = f"{entry['num_rules'] / max(entry['num_classes'], 1):.1f}" if entry["model"] == OURS else ""
    seconds = entry["seconds"]["learn"] + entry["seconds"]["evaluate"]
    return (
        entry["data"],
        NAMES[entry["model"]],
        " ".join(entry["settings"]) or "default",
        *figures,
        rules,
        f"{seconds:.0f} s",
        f"{entry['peak_memory_mb'] / 1000:.1f} GB",
        machine_text(entry["machine"]),
    )


def fewshot_table(entries: Entries) -> str:
    """A row for each data set and share, a column for each model."""
    found = fewshot.lines(measured(entries))
    models = list(dict.fromkeys(model for by_model in found.values() for model in by_model))
    rows = []
    for data, by_model in found.items():
        for part in sorted({part for by_share in by_model.values() for part in by_share}, reverse=True):
            some = {model: by_share[part] for model, by_share in by_model.items() if part in by_share}
            graphs = next(iter(some.values()))["num_graphs"]
            rows.append(
                (
                    data,
                    f"{100 * part:g} %",
                    f"{graphs:,}",
                    *(share(some[model]["metrics"]["r@1"]) if model in some else "" for model in models),
                )
            )
    head = ("data", "training graphs", "graphs", *map(line_name, models))
    table = markdown(head, rows, right=range(1, len(head)))
    return f"{table}\n\n{FEWSHOT_PROTOCOL}" if rows else table


def line_name(model: str) -> str:
    """
    >>> line_name("freq prior=on")
    'Freq, our code, prior=on'
    """
    name, _, settings = model.partition(" ")
    return f"{NAMES[name]}, {settings}" if settings else NAMES[name]
