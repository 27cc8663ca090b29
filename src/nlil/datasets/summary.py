"""The size of a data set in numbers: `nlil inspect`, and the columns of the paper's Table 2."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..data.arrays import counted
from ..data.dataset import Dataset
from ..scene.counts import SceneCounts, scene_counts

NUM_SHOWN = 20


@dataclass(frozen=True)
class Summary:
    """Counts of the data set `name`. `num_facts` are the training facts, as in the paper's Table 2.

    Attributes:
        num_entities, num_predicates: over all splits.
        num_unary_predicates, num_binary_predicates: the same by arity.
        num_unary_facts, num_binary_facts: training facts by arity.
        num_weighted_facts: training facts of weight below 1.
        num_graphs: 1 unless the base joins scene graphs.
        num_classes: classes of objects; 0 for a plain base.
        splits, negatives: the number of facts, and of given false facts, per split.
        degree: mean, median and max of the binary facts per entity.
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
    num_unary_facts: int
    num_binary_facts: int
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
    counts = kb.predicate_counts
    order = np.argsort(-counts, kind="stable")[:num_shown]
    arities = [predicate.arity for predicate in kb.predicates]
    weight = kb.facts.weight
    return Summary(
        name=dataset.name,
        num_facts=len(kb.facts),
        num_entities=kb.num_entities,
        num_predicates=kb.num_predicates,
        num_unary_predicates=arities.count(1),
        num_binary_predicates=arities.count(2),
        num_unary_facts=len(kb.unary),
        num_binary_facts=len(kb.binary),
        num_weighted_facts=0 if weight is None else int((weight < 1).sum()),
        num_graphs=kb.num_graphs,
        num_classes=len(kb.classes),
        splits={split: len(splits[split]) for split in ("train", "valid", "test")},
        negatives={split: len(facts) for split, facts in splits.negatives.items()},
        degree=_degrees(dataset),
        top_predicates=tuple((str(kb.predicates[i]), int(counts[i])) for i in order if counts[i]),
        targets=tuple(map(str, dataset.targets)),
        checksum=dataset.checksum,
        notes=dataset.notes,
        scene=scene_counts(dataset) if dataset.is_scene else None,
    )


def _degrees(dataset: Dataset) -> dict[str, float]:
    """Return the binary training facts per entity, as subject or object."""
    binary, size = dataset.kb.binary, dataset.kb.num_entities
    degree = counted(binary.subject, size) + counted(binary.object, size)
    degree = degree if size else np.zeros(1, np.int64)
    return {"mean": float(degree.mean()), "median": float(np.median(degree)), "max": int(degree.max())}
