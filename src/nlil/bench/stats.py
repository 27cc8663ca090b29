"""nlil bench stats: the paper's Table 2 (facts, entities, predicates) beside our counts."""

from __future__ import annotations

from typing import Any

from .record import machine, versions

DATA = ("even:10", "even:50", "even:1000", "wn18", "fb15k-237", "street", "gqa")
QUICK_DATA = ("even:10", "even:50", "even:1000", "street")


def measure(data: str, seed: int) -> dict[str, Any]:
    """Counts of one data set; nothing is downloaded for it."""
    from ..data import load_dataset, summarise

    dataset = load_dataset(data, seed=seed, may_download=False)
    summary = summarise(dataset)
    kept = ("num_facts", "num_entities", "num_predicates", "num_unary_facts", "num_binary_facts", "num_graphs",
            "splits")
    return {
        "data": data,
        "checksum": dataset.checksum,
        **{name: getattr(summary, name) for name in kept},
        "seed": seed,
        "machine": machine(),
        "versions": versions(),
    }
