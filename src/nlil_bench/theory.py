"""nlil bench theory: how much of the quality of all rules a few of them keep, by rules per predicate.

The rules and theories are those of a default `nlil learn`. Test facts are ranked with all rules and with theories of
several sizes, with and without the frequency table that breaks ties, and with as many rules of largest
weight per predicate (with the same table).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from nlil.progress import Progress

from .cells import Panel, PictureLine, draw_panels, markdown, measured, share_text, source_text
from .methods import learn
from .registry import Bench
from .results import Entries, Entry, Job

if TYPE_CHECKING:
    from pathlib import Path

    from nlil.kernel.ruleset import RuleSet
    from nlil.theory.theory import Theory

DATA = ("kin", "family", "umls", "kinship", "wn18", "fb15k-237")
QUICK_DATA = ("kin",)
SHOWN_SIZES = (5, 20, 100)
"""Sizes that have a column in the table; the picture has all."""
WAYS: Mapping[str, str] = {"theory": "theory", "without_table": "without the table", "by_weight": "largest weight"}
"""How rules are chosen and ties broken: key in an entry -> in words."""
COMMAND = "nlil bench theory --data DATA"


def measure(job: Job, progress: Progress) -> dict[str, Any]:
    """MRR, rules and atoms at each size; what learning takes, with and without theories."""
    from nlil.config import LearnerConfig
    from nlil.datasets import load_dataset
    from nlil.evaluation.protocol import evaluate
    from nlil.theory.theory import SIZES

    config = LearnerConfig().with_settings(job["settings"]).with_values(dict(job["options"]), "options")
    dataset = load_dataset(job["data"], seed=config.seed, may_download=False)
    seconds = {}
    for name, changed in (("pool", config.with_values({"rules_per_target": 0})), ("theory", config)):
        learned, seconds[name] = learn(changed, dataset, progress)
    pool, theory = learned.rules, learned.theory
    assert theory is not None

    def mrr(rules: RuleSet) -> float:
        budget: dict[str, Any] = {"threads": config.threads, "memory": config.memory}
        known: dict[str, Any] = {"splits": dataset.splits, "targets": pool.targets}
        return evaluate(rules, dataset.kb, dataset.splits.test, progress=progress, **known, **budget).mrr

    return {
        "checksum": dataset.checksum,
        "pool": {"mrr": mrr(pool), "num_rules": len(pool), "atoms": int(pool.lengths.sum())},
        "valid": [one.mrr for one in theory.curve()],
        "pool_valid": theory.pool_score,
        "sizes": {
            str(size): {
                way: {"mrr": mrr(rules), "num_rules": len(rules), "atoms": int(rules.lengths.sum())}
                for way, rules in chosen(pool, theory, size).items()
            }
            for size in SIZES
        },
        "seconds": seconds,
    }


def chosen(pool: RuleSet, theory: Theory, size: int) -> dict[str, RuleSet]:
    """The rules of each of WAYS."""
    rules = theory.rules(pool, size)
    bare = replace(rules, aggregation=replace(rules.aggregation, by_frequency=False))
    best = replace(pool.take(heaviest(pool, size)).compact(), aggregation=rules.aggregation)
    return {"theory": rules, "without_table": bare, "by_weight": best}


def heaviest(pool: RuleSet, size: int) -> np.ndarray:
    """Rows of the `size` rules of each target that weigh most, ascending. Priors are left to the table."""
    rows = np.flatnonzero(~pool.is_prior)
    order = rows[np.lexsort((rows, -pool.weights[rows], pool.head[rows]))]
    start = np.searchsorted(pool.head[order], pool.head[order])
    return np.sort(order[np.arange(len(order)) - start < size])


def theory_table(entries: Entries) -> str:
    """MRR and the share of what all rules reach, by rules per predicate; of the default author if it was measured."""
    every = measured(entries)
    shown = {name: entry for name, entry in every.items() if AUTHOR not in name} or every
    lines = [line for name, entry in shown.items() for line in rows(name, entry)]
    head = ("data", "rules", *(f"{size} per predicate" for size in SHOWN_SIZES), "rules, atoms", "learn + theories")
    about = (
        f"Test MRR, and its share of what all rules reach. *Rules, atoms*: of theories of at most {SHOWN_SIZES[1]} "
        "rules per predicate. *Learn + theories*: seconds of learning without theories, and what they add."
    )
    return markdown(head, lines, range(2, len(head)), about, source_text(COMMAND, shown))


def rows(name: str, entry: Entry) -> Iterator[list[str]]:
    """All rules, then each of WAYS."""
    pool, seconds, sizes = entry["pool"], entry["seconds"], entry["sizes"]
    times = f"{seconds['pool']:.1f} + {max(seconds['theory'] - seconds['pool'], 0):.1f} s"
    counts = f"{pool['num_rules']:,}, {pool['atoms']:,}"
    yield [name, f"all: {share_text(pool['mrr'])}", *[""] * len(SHOWN_SIZES), counts, times]
    for way, words in WAYS.items():
        found = [sizes[str(size)][way] for size in SHOWN_SIZES]
        cells = [f"{share_text(one['mrr'])} ({one['mrr'] / pool['mrr']:.1%})" for one in found]
        yield ["", words, *cells, f"{found[1]['num_rules']:,}, {found[1]['atoms']:,}", ""]


AUTHOR = "theory_author="
"""The setting whose rows are compared with the default in a table of their own."""


def authors_table(entries: Entries) -> str:
    """Other authors of theories beside the default: with as many bodies, and with as many atoms."""
    shown = measured(entries)
    others = {name: entry for name, entry in shown.items() if AUTHOR in name and entry["data"] in shown}
    lines = []
    for name, entry in others.items():
        usual = shown[entry["data"]]
        for size in map(str, SHOWN_SIZES):
            one, auto = (e["sizes"][size]["theory"] for e in (entry, usual))
            figures = (one["mrr"], auto["mrr"], with_atoms(usual, one["atoms"]))
            lines.append([name, size, f"{one['atoms']:,}", f"{auto['atoms']:,}", *map(share_text, figures)])
    head = ("data", "bodies", "atoms", "auto: atoms", "MRR", "auto, as many bodies", "auto, as many atoms")
    about = (
        "Test MRR by the most bodies per predicate. *auto*: the default. *As many atoms*: interpolated between the "
        "sizes of `auto`, linearly in the logarithm of the number of atoms; that of the largest size beyond it."
    )
    both = {**others, **{entry["data"]: shown[entry["data"]] for entry in others.values()}}
    return markdown(head, lines, range(1, len(head)), about, source_text(f"{COMMAND} --set {AUTHOR}NAME", both))


def with_atoms(entry: Entry, atoms: int) -> float:
    """Return the MRR of theories with that many atoms, interpolated between the sizes of the `entry`."""
    points = sorted((ways["theory"]["atoms"], ways["theory"]["mrr"]) for ways in entry["sizes"].values())
    return float(np.interp(np.log(atoms), np.log([a for a, _ in points]), [mrr for _, mrr in points]))


def plot_theories(entries: Entries, path: Path) -> Path:
    """MRR against rules per predicate, a panel for each entry."""
    colours = dict(zip(WAYS, ("tab:blue", "tab:cyan", "tab:orange")))
    panels = {}
    for name, entry in entries.items():
        found = {int(size): ways for size, ways in entry["sizes"].items()}
        lines = [
            PictureLine(words, [(size, ways[way]["mrr"]) for size, ways in found.items()], colours[way])
            for way, words in WAYS.items()
        ]
        level = PictureLine("all rules", [(size, entry["pool"]["mrr"]) for size in found], "tab:gray", "--")
        panels[name] = Panel([*lines, level], list(found), "MRR, test facts")
    return draw_panels(path, panels, "rules per predicate, at most")


BENCH = Bench(
    measure,
    {"theory": theory_table, "theory-authors": authors_table},
    DATA,
    QUICK_DATA,
    options=frozenset({"data", "set"}),
    draw=plot_theories,
)
