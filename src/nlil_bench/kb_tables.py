"""The tables of nlil bench kb: every model beside every other, and what each step of ours brought."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .cells import Entries, machine_text, markdown, measured, minutes, share
from .kb import OURS
from .published import GOALS, KB

NAMES = {
    OURS: "**nlil**",
    "popularity": "popularity",
    "neural-lp": "Neural-LP, our code",
    "dilp": "dILP, our code",
    "transe": "TransE, PyKEEN",
    "rotate": "RotatE, PyKEEN",
}
"""Models as a row names them, in the order of rows."""

PROTOCOL = (
    "Rows that are not marked as published were measured by one evaluation code: filtered, both directions, all "
    "entities as candidates, realistic ties. With several seeds: mean ± sample standard deviation; the time (learning "
    "and evaluation) is a mean, the memory the largest. Published figures are quoted; other ties are named."
)

STEPS: Mapping[frozenset[str], str] = {
    frozenset(
        {"exclusions=off", "tried_length=0", "conjunctions=0", "weigh=off"}
    ): "chains, anchored and half-anchored rules, priors; noisy-or of the 5 strongest",
    frozenset({"tried_length=0", "conjunctions=0", "weigh=off"}): "+ exclusions",
    frozenset({"conjunctions=0", "weigh=off"}): "+ chains of up to 5 steps where validation facts rise by them",
    frozenset({"weigh=off"}): "+ conjunctions, likewise",
    frozenset(): "+ weighing (the default)",
}
"""Settings -> what they have in words, each with one thing more than the one before."""


class Row(NamedTuple):
    """What tells rows apart; `settings` are the words that the user gave."""

    data: str
    device: str
    model: str
    settings: tuple[str, ...]


def kb_table(entries: Entries) -> str:
    """Ours first for each data set, then the baselines that we measured, then what was published."""
    found = rows(entries, "test")
    lines: list[Sequence[str]] = []
    for data in (*KB, *sorted({row.data for row in found} - set(KB))):
        mine = sorted((row for row in found if row.data == data), key=lambda row: list(NAMES).index(row.model))
        if not mine:
            continue
        lines += [_line(row, found[row]) for row in mine]
        lines += [
            (
                data,
                f"{p.method}, published",
                p.ties and f"ties: {p.ties}",
                share(p.mrr),
                "",
                share(p.hits10),
                "",
                minutes(p.minutes),
                "",
                "",
                "",
            )
            for p in KB.get(data, ())
        ]
    head = ("data", "model", "settings", "MRR", "Hits@1", "Hits@10", "seeds", "time", "peak memory", "rules", "device")
    return f"{markdown(head, lines, right=range(3, 10))}\n\n{PROTOCOL}" if lines else markdown((), ())


def steps_table(entries: Entries) -> str:
    """What each step of ours brought on test facts, beside what was asked for."""
    found = _by_settings(entries, "test")
    lines = [
        (text, _words(settings), *_figures(found[settings])) for settings, text in STEPS.items() if settings in found
    ]
    if not lines:
        return markdown((), ())
    goals = [_pair(share(mrr), share(hits)) for mrr, hits in GOALS.values()]
    return markdown(
        ("test facts: MRR / Hits@10", "settings", *GOALS),
        [*lines, ("asked for", "", *goals)],
        right=range(2, 2 + len(GOALS)),
    )


def valid_table(entries: Entries) -> str:
    """The same on validation facts, by which the steps were chosen, and other settings that were tried there."""
    found = _by_settings(entries, "valid")
    order = list(STEPS)
    ranked = sorted(found, key=lambda s: (order.index(s) if s in order else len(order), sorted(s)))
    lines = [(STEPS.get(settings, ""), _words(settings), *_figures(found[settings])) for settings in ranked]
    return markdown(("validation facts: MRR / Hits@10", "settings", *GOALS), lines, right=range(2, 2 + len(GOALS)))


def calibration_table(entries: Entries) -> str:
    """How far scores and calibrated probabilities are from the truth, of ours with the default settings."""
    lines = []
    for split in ("valid", "test"):
        for row, entry in rows(entries, split).items():
            told = {word for word in row.settings if not word.startswith("split=")}
            if "brier_before" in entry.get("calibration", ()) and not told and row.device == "cpu":
                figures = (
                    entry["calibration"].get(f"{name}_{when}")
                    for name in ("brier", "ece")
                    for when in ("before", "after")
                )
                lines.append((row.data, split, *map(share, figures)))
    return markdown(("data", "facts", "Brier before", "after", "ECE before", "after"), sorted(lines), right=range(2, 6))


def rows(entries: Entries, split: str) -> dict[Row, Mapping[str, Any]]:
    """The full entries of a split; of those that differ in the number of seeds only, the one with most."""
    found: dict[Row, Mapping[str, Any]] = {}
    for key, entry in measured(entries).items():
        if entry.get("split", "test") != split:
            continue
        row = _row(key, entry)
        if row not in found or len(found[row].get("seeds", ())) < len(entry.get("seeds", ())):
            found[row] = entry
    return found


def _row(key: str, entry: Mapping[str, Any]) -> Row:
    _, device, *words = key.removesuffix(" quick").split(" ")
    settings = tuple(word for word in words if word.partition("=")[0] not in ("model", "seeds"))
    return Row(entry["data"], device, str(entry.get("model", OURS)), settings)


def _line(row: Row, entry: Mapping[str, Any]) -> Sequence[str]:
    seconds = entry["seconds"]
    figures = [_figure(entry, figure) for figure in ("mrr", "hits@1", "hits@10")]
    rules = f"{entry['num_rules']:,}" if row.model == OURS else ""
    seeds = len(entry.get("seeds", (entry["seed"],)))
    return (
        row.data,
        NAMES[row.model],
        " ".join(row.settings) or "default",
        *figures,
        str(seeds),
        f"{seconds['learn'] + seconds['evaluate']:.0f} s",
        f"{entry['peak_memory_mb'] / 1000:.1f} GB",
        rules,
        machine_text(entry["machine"]),
    )


def _by_settings(entries: Entries, split: str) -> dict[frozenset[str], dict[str, Mapping[str, Any]]]:
    """settings -> data -> entry, of ours; figures of a CPU where there are both, though they are the same."""
    found: dict[frozenset[str], dict[str, Mapping[str, Any]]] = {}
    for row, entry in sorted(rows(entries, split).items(), key=lambda item: item[0].device, reverse=True):
        settings = frozenset(word for word in row.settings if not word.startswith("split="))
        if row.model == OURS:
            found.setdefault(settings, {})[row.data] = entry
    return found


def _figures(by_data: Mapping[str, Mapping[str, Any]]) -> list[str]:
    return [
        _pair(_figure(by_data[data], "mrr"), _figure(by_data[data], "hits@10")) if data in by_data else ""
        for data in GOALS
    ]


def _figure(entry: Mapping[str, Any], name: str) -> str:
    return share(entry["metrics"].get(name), entry.get("deviation", {}).get(name))


def _pair(mrr: str, hits: str) -> str:
    return f"{mrr} / {hits}" if hits else mrr


def _words(settings: frozenset[str]) -> str:
    return f"`{' '.join(sorted(settings))}`" if settings else "default"
