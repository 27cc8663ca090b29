"""Metrics: figures as fractions, overall and per predicate; functions of ranks or labels."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..data.arrays import Doubles, Longs, Mask
from ..kernel.aggregation import Ranks

COLUMNS = (
    *("mrr", "hits@1", "hits@3", "hits@10", "r@1", "r@5"),
    *("precision", "recall", "f1", "fixpoint_f1", "auc", "accuracy", "num_queries"),
)
"""Figures of a predicate, in the order of columns."""
Z_95 = 1.959964
"""Normal quantile of a two-sided 95 % interval."""


@dataclass(frozen=True, repr=False)
class Metrics:
    """The figures of an evaluation, as fractions of 1.

    `values` has the figures for which there are queries: mrr and hits@k for binary targets; r@k for classes
    (r@k_related: for objects with a relation, r@k_unrelated: without); precision, recall and f1 for other unary
    targets; fixpoint_precision, fixpoint_recall and fixpoint_f1 for what confident rules derive about recursive targets
    when no target fact is given. If the split has negatives: fixpoint_accuracy, and auc and accuracy of rules that are
    applied once. `per_predicate` has the figures of each target by name. `num_queries` were ranked with `num_rules` in
    `seconds`, with at most `peak_memory_mb`; `notes` are for the user.
    """

    values: Mapping[str, float]
    per_predicate: Mapping[str, Mapping[str, float]]
    num_queries: int
    num_rules: int
    seconds: float
    peak_memory_mb: float
    notes: tuple[str, ...] = field(default=())

    def __getitem__(self, name: str) -> float:
        return self.values[name]

    @property
    def mrr(self) -> float:
        """The mean reciprocal rank, ties ranked realistically."""
        return self.values["mrr"]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON: the figures, then counts and cost."""
        return {
            **self.values,
            "num_queries": self.num_queries,
            "num_rules": self.num_rules,
            "seconds": round(self.seconds, 3),
            "peak_memory_mb": round(self.peak_memory_mb, 1),
            "per_predicate": {name: dict(figures) for name, figures in self.per_predicate.items()},
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        figures = "  ".join(f"{name} {value:.4f}" for name, value in self.values.items())
        return f"{figures}  ({self.num_queries:,} queries, {self.num_rules:,} rules, {self.seconds:.1f} s)"

    def __repr__(self) -> str:
        return f"<Metrics: {self}>"

    def __rich__(self) -> Any:
        from rich.table import Table

        table = Table(title=f"{self.num_queries:,} queries, {self.num_rules:,} rules", title_justify="left")
        table.add_column("figure")
        table.add_column("value", justify="right")
        for name, value in self.values.items():
            table.add_row(name, f"{value:.4f}")
        return table

    def _repr_html_(self) -> str:
        from ..logic.html import table_html

        rows = [(name, f"{value:.4f}") for name, value in self.values.items()]
        return table_html(("figure", "value"), rows, f"{self.num_queries:,} queries, {self.num_rules:,} rules")


def rank_figures(ranks: Ranks, chosen: Mask | slice = slice(None)) -> dict[str, float]:
    """Return the mean reciprocal rank and hits@k by the realistic rank, and the MRR by the other two tie rules.

    Only the `chosen` ones of `ranks` count.
    """
    realistic = ranks.realistic[chosen]
    return {
        "mrr": _mean(1 / realistic),
        **{f"hits@{k}": _mean(realistic <= k) for k in (1, 3, 10)},
        "mrr_optimistic": _mean(1 / ranks.optimistic[chosen]),
        "mrr_pessimistic": _mean(1 / ranks.pessimistic[chosen]),
    }


def recall_figures(rank: Doubles, related: Mask | None = None) -> dict[str, float]:
    """Return r@k: the share of all objects whose class has realistic `rank` <= k.

    `related` marks the objects with a relation; then the shares among these and among the others are returned too.

    >>> recall_figures(np.array([1.0, 2.0, 9.0]), np.array([True, True, False]))["r@1_related"]
    0.5
    """
    parts = {"": rank} if related is None else {"": rank, "_related": rank[related], "_unrelated": rank[~related]}
    return {
        f"r@{k}{ending}": _mean(part <= k) for ending, part in parts.items() if len(part) or not ending for k in (1, 5)
    }


def decision_figures(true_positive: int, predicted: int, actual: int) -> dict[str, float]:
    """Return precision, recall and F1 from counts: `true_positive` of `predicted`, and of `actual` members."""
    precision = true_positive / predicted if predicted else 0.0
    recall = true_positive / actual if actual else 0.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return {"precision": precision, "recall": recall, "f1": f1}


def best_threshold(evidence: Longs, is_member: Mask) -> int:
    """Return the threshold of `evidence` for membership with the largest F1; of several, the highest.

    `is_member` marks the true members.
    """
    order = np.argsort(-evidence, kind="stable")
    ordered = evidence[order]
    hits = np.cumsum(is_member[order])
    last = np.append(ordered[1:] != ordered[:-1], True)  # a threshold cannot split equal evidence
    f1 = np.where(last, 2 * hits / (np.arange(1, len(ordered) + 1) + is_member.sum()), -1.0)
    return max(int(ordered[int(np.argmax(f1))]), 1) if len(ordered) else 1


def _mean(values: np.ndarray) -> float:
    return float(np.mean(values)) if len(values) else 0.0


def wilson_interval(hits: float, total: float) -> tuple[float, float]:
    """Return Wilson's score interval of the share `hits` / `total`, at 95 %.

    >>> [round(bound, 3) for bound in wilson_interval(8, 10)], wilson_interval(0, 0)
    ([0.49, 0.943], (0.0, 1.0))
    """
    if total <= 0:
        return 0.0, 1.0
    share, squared = hits / total, Z_95 * Z_95
    middle = (share + squared / (2 * total)) / (1 + squared / total)
    half = Z_95 / (1 + squared / total) * math.sqrt(share * (1 - share) / total + squared / (4 * total * total))
    # At 0 and 1 the interval includes the share exactly, which floating-point arithmetic would just miss.
    return 0.0 if hits <= 0 else max(0.0, middle - half), 1.0 if hits >= total else min(1.0, middle + half)
