"""Figures quoted from papers, for comparison. Filtered MRR and Hits@10; minutes as published."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Published:
    """`ties`: how equal scores were ranked, where that is known to matter."""

    method: str
    mrr: float | None
    hits10: float | None
    minutes: float | None = None
    ties: str = ""


KB: Mapping[str, tuple[Published, ...]] = {
    "wn18": (
        Published("NLIL, the paper", 0.95, 0.946, 12),
        Published("Neural-LP", 0.94, 0.945, 54, "optimistic; .74 under fair ties"),
        Published("TransE", 0.57, 0.933, 53),
        Published("RotatE", 0.94, 0.955, 254),
        Published("ComplEx-N3", 0.95, 0.96),
    ),
    "fb15k-237": (
        Published("NLIL, the paper", 0.25, 0.324, 82),
        Published("Neural-LP", 0.24, 0.362, 250, "optimistic"),
        Published("TransE", 0.28, 0.445, 35),
        Published("RotatE", 0.34, 0.526, 342),
        Published("AnyBURL 2020, 22 cores", None, 0.522, 17),
        Published("PyClause, noisy-or top 5", 0.348, 0.524),
    ),
    "family": (Published("RNNLogic", 0.98, None), Published("RED-GNN", 0.99, None)),
    "kinship": (Published("DRUM", 0.61, None), Published("ComplEx-N3", 0.82, None)),
    "umls": (Published("DRUM", 0.81, None), Published("RED-GNN", 0.96, None)),
}


def best_published(data: str) -> Published:
    """The published method with the highest MRR, then Hits@10, on a data set of `KB`."""
    return max(KB[data], key=lambda p: (p.mrr or 0.0, p.hits10 or 0.0))


TABLE_3: tuple[tuple[str, float, float], ...] = (
    ("NLIL, the paper", 0.51, 0.52),
    ("MLP on RCNN features", 0.53, 0.81),
    ("Freq", 0.40, 0.44),
)
"""The paper's Table 3: method, R@1 and R@5 of 150 classes of Visual Genome."""

TABLE_2: Mapping[str, tuple[str, str, str, str]] = {
    "even:10": ("ES-10", "17", "10", "3"),
    "even:50": ("ES-50", "77", "50", "3"),
    "even:1000": ("ES-1K", "1.5K", "1K", "3"),
    "wn18": ("WN18", "106K", "40K", "18"),
    "fb15k-237": ("FB15K", "272K", "15K", "237"),
    "gqa": ("VG", "1.9M", "1.4M", "2100"),
}
"""The paper's Table 2: data -> its name there, facts, entities, predicates."""

EVEN: Mapping[int, tuple[tuple[str, str], ...]] = {
    10: (("dILP", "5.6 min"), ("Neural-LP", "0.1 min"), ("NLIL, the paper", "< 0.1 min")),
    50: (("dILP", "240 min"), ("Neural-LP", "0.1 min"), ("NLIL, the paper", "< 0.1 min")),
    1000: (("dILP", "out of time"), ("Neural-LP", "0.2 min"), ("NLIL, the paper", "0.1 min")),
}
"""Even-and-successor in the paper: integers -> method, time until it is solved."""
