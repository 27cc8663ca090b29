"""The size of a data set in numbers: `nlil inspect`, and the columns of the paper's Table 2."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..data.arrays import counted
from ..data.dataset import Dataset
from ..data.wide import count_wide
from ..scene.counts import SceneCounts, scene_counts

NUM_SHOWN = 20


@dataclass(frozen=True)
class Summary:
    """Counts of the data set `name`. `num_facts` are the training facts, as in the paper's Table 2, wide ones included.

    Attributes:
        num_entities, num_predicates: over all splits.
        num_unary_predicates, num_binary_predicates: the same by arity.
        num_unary_facts, num_binary_facts: training facts by arity.
        num_wide_predicates, num_wide_facts: those of three or more arguments.
        num_weighted_facts: training facts of weight below 1.
        num_graphs: 1 unless the base joins scene graphs.
        num_classes: classes of objects; 0 for a plain base.
        splits, negatives: the number of facts, and of given false facts, per split.
        degree: mean, median and max of the facts of two and more arguments per entity.
        top_predicates: the most frequent predicates, with their number of facts.
        targets: the default targets.
        checksum: the checksum of the data set.
        notes: what the reader skipped or decided.
        scene: counts of scene graphs; None for a plain base.
    """

    name: str
    num_facts: int
    num_entities: int
    num_predicates: int
    num_unary_predicates: int
    num_binary_predicates: int
    num_wide_predicates: int
    num_unary_facts: int
    num_binary_facts: int
    num_wide_facts: int
    num_weighted_facts: int
    num_graphs: int
    num_classes: int
    splits: dict[str, int]
    negatives: dict[str, int]
    degree: dict[str, float]
    top_predicates: tuple[tuple[str, int], ...]
    targets: tuple[str, ...]
    checksum: str
    notes: tuple[str, ...]
    scene: SceneCounts | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; the paper's columns come first, under the paper's names.

        Geometry predicates are not counted there.
        """
        table = {"facts": self.num_facts, "entities": self.num_entities, "predicates": self.num_predicates}
        if self.scene is not None:
            table["facts"] -= self.scene.num_geometry_facts
            table["predicates"] -= self.scene.num_geometry_predicates
        rest = asdict(self)
        rest["top_predicates"] = dict(self.top_predicates)
        rest["targets"], rest["notes"] = list(self.targets), list(self.notes)
        return table | rest


def summarise(dataset: Dataset, num_shown: int = NUM_SHOWN) -> Summary:
    """Summarise `dataset`: facts, entities, predicates, splits, degrees.

    The `num_shown` most frequent predicates are listed.
    """
    kb, splits = dataset.kb, dataset.splits
    counts = list(zip(map(str, kb.predicates), kb.predicate_counts.tolist()))
    counts += [(str(symbol), len(rows)) for symbol, rows in kb.wide.items()]
    most = sorted(counts, key=lambda found: -found[1])[:num_shown]
    wide = {symbol for tables in (kb.wide, *splits.wide.values()) for symbol in tables}
    arities = [predicate.arity for predicate in kb.predicates]
    weight = kb.facts.weight
    return Summary(
        name=dataset.name,
        num_facts=kb.num_facts,
        num_entities=kb.num_entities,
        num_predicates=kb.num_predicates + len(wide),
        num_unary_predicates=arities.count(1),
        num_binary_predicates=arities.count(2),
        num_wide_predicates=len(wide),
        num_unary_facts=len(kb.unary),
        num_binary_facts=len(kb.binary),
        num_wide_facts=count_wide(kb.wide),
        num_weighted_facts=0 if weight is None else int((weight < 1).sum()),
        num_graphs=kb.num_graphs,
        num_classes=len(kb.classes),
        splits=_sizes(dataset),
        negatives={
            split: len(facts) + count_wide(splits.wide.get(f"negatives {split}", {}))
            for split, facts in splits.negatives.items()
        },
        degree=_degrees(dataset),
        top_predicates=tuple((name, count) for name, count in most if count),
        targets=tuple(map(str, dataset.targets)),
        checksum=dataset.checksum,
        notes=dataset.notes,
        scene=scene_counts(dataset) if dataset.is_scene else None,
    )


def _sizes(dataset: Dataset) -> dict[str, int]:
    """Return the number of facts of each split, of any arity."""
    wide = {**dataset.splits.wide, "train": dataset.kb.wide}
    return {s: len(dataset.splits[s]) + count_wide(wide.get(s, {})) for s in ("train", "valid", "test")}


def _degrees(dataset: Dataset) -> dict[str, float]:
    """Return the training facts of two and more arguments per entity; one counts once for each place it is in."""
    binary, size = dataset.kb.binary, dataset.kb.num_entities
    degree = counted(binary.subject, size) + counted(binary.object, size)
    for rows in dataset.kb.wide.values():
        degree += counted(rows.ravel(), size)
    degree = degree if size else np.zeros(1, np.int64)
    return {"mean": float(degree.mean()), "median": float(np.median(degree)), "max": int(degree.max())}
