"""Fidelity: how well rules imitate a classifier, on objects that they were not learned from.

    r@k            the share of objects whose most probable class, by the classifier, is among the first k of the rules
    cross_entropy  of the classifier's distribution q under that of the rules p: mean of -sum_c q_c log p_c, in nats;
                   never below `entropy`, that of q itself
    p = softmax(temperature * evidence), with the temperature fitted on the training objects

Where the true class is known, the accuracy of rules and of the classifier is the share of true classes ranked first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import numpy as np

from ..data.arrays import Doubles, Ids, Longs
from ..data.kb import KnowledgeBase
from ..data.target_scores import TargetScores
from ..errors import DataError
from ..kernel.aggregation import SCALE, class_ranks, score_ranks
from ..kernel.ruleset import RuleSet
from ..progress import Progress, silent
from .members import MemberScorer
from .metrics import recall_figures

MAX_SHOWN = 20
"""Limit of the pairs and objects that are listed."""
SAMPLE = 5_000
"""Limit of the objects that the temperature is fitted on."""
TEMPERATURES = (0.01, 1000.0)
LISTS = ("pairs", "objects", "formulas")
"""Fields of Fidelity that are lists in JSON."""


@dataclass(frozen=True)
class Fidelity:
    """How well rules imitate a classifier; `held_out` describes the objects it was measured on.

    `pairs`    disagreements, most frequent first: class by the classifier, class by the rules, true class, count
    `objects`  the objects with the largest disagreement, by the total variation distance of the distributions (0 to 1)
    `formulas` one formula per class, most frequent class first, with precision, recall and F1 of "the classifier says
               person if and only if the formula holds"

    `num_objects` were measured, `num_trained` were used for learning. `values` has the figures, `temperature` is the
    factor of evidence. `num_known` objects have a true class; `accuracy` is that of rules and classifier on these.
    `per_class` has the figures of each class.
    """

    held_out: str
    num_objects: int
    num_trained: int
    values: Mapping[str, float]
    temperature: float
    num_known: int = 0
    accuracy: Mapping[str, float] = field(default_factory=dict)
    per_class: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    pairs: tuple[Mapping[str, Any], ...] = ()
    objects: tuple[Mapping[str, Any], ...] = ()
    formulas: tuple[Mapping[str, Any], ...] = ()

    def __getitem__(self, name: str) -> float:
        return self.values[name]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {**asdict(self), **{name: list(getattr(self, name)) for name in LISTS}}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Fidelity:
        """Read the `values` of `to_dict`."""
        known = {f.name for f in fields(cls)}
        if not known >= set(values):
            raise DataError(f"fidelity: expected {', '.join(sorted(known))}, got {', '.join(sorted(values))}")
        return cls(**{**values, **{name: tuple(values.get(name, ())) for name in LISTS}})

    def __str__(self) -> str:
        figures = {**self.values, **{f"accuracy of {who}": value for who, value in self.accuracy.items()}}
        return "  ".join(f"{name} {value:.4f}" for name, value in figures.items()) + f"  ({self.num_objects} objects)"


def measure_fidelity(
    rules: RuleSet,
    kb: KnowledgeBase,
    trained: TargetScores,
    world: KnowledgeBase,
    tested: TargetScores,
    held_out: str,
    threads: int = 0,
    memory: int = 2**30,
    progress: Progress = silent,
) -> Fidelity:
    """Measure `rules`, learned from the objects `trained` of `kb`, on the objects `tested` of `world`.

    `held_out` describes these objects.
    """
    temperature = _temperature(rules, kb.crisp, trained, threads, memory)
    world = world.crisp
    evidence = MemberScorer(rules, world, tested.classes, threads, memory).evidence(tested.entities, progress)
    classifier_scores, rule_scores = tested.dense(), np.exp(_log_softmax(evidence, temperature))
    rank = class_ranks(evidence, tested.top.astype(np.int64))
    values = {
        **recall_figures(rank),
        "cross_entropy": _cross_entropy(classifier_scores, evidence, temperature),
        "entropy": float(-(tested.share * np.log(tested.share)).sum() / max(len(tested), 1)),
    }
    row, truth = _truths(world, tested)
    true_class = dict(zip(row.tolist(), truth.tolist()))
    return Fidelity(
        held_out,
        len(tested),
        len(trained),
        values,
        temperature,
        len(row),
        _accuracy(row, truth, evidence, classifier_scores, tested.classes),
        _per_class(rank, tested, world),
        *_disagreements(world, tested, classifier_scores, rule_scores, evidence.argmax(axis=1), true_class),
    )


def _log_softmax(evidence: Longs, temperature: float) -> Doubles:
    from scipy.special import log_softmax

    return np.asarray(log_softmax(evidence / SCALE * temperature, axis=1))


def _cross_entropy(classifier_scores: Doubles, evidence: Longs, temperature: float) -> float:
    return float(-(classifier_scores * _log_softmax(evidence, temperature)).sum() / max(len(classifier_scores), 1))


def _temperature(rules: RuleSet, kb: KnowledgeBase, trained: TargetScores, threads: int, memory: int) -> float:
    """Return the factor of evidence with the least cross-entropy, on objects at regular intervals, not random ones."""
    from scipy.optimize import minimize_scalar

    chosen = np.zeros(len(trained), bool)
    chosen[np.linspace(0, len(trained) - 1, min(len(trained), SAMPLE)).astype(int)] = True
    some = trained.take(chosen)
    evidence = MemberScorer(rules, kb, some.classes, threads, memory).evidence(some.entities)
    classifier_scores = some.dense()
    found = minimize_scalar(
        lambda log: _cross_entropy(classifier_scores, evidence, float(np.exp(log))),
        bounds=tuple(np.log(TEMPERATURES)),
        method="bounded",
    )
    return float(np.exp(found.x))


def _truths(world: KnowledgeBase, tested: TargetScores) -> tuple[Longs, Ids]:
    """Return (row, predicate) of each known class of a tested object, whether the classifier has the class or not."""
    possible = world.classes or frozenset(tested.classes.tolist())
    unary = world.unary[np.isin(world.unary.predicate, list(possible))]
    place = np.full(world.num_entities, -1, np.int64)
    place[tested.entities] = np.arange(len(tested))
    row = place[unary.subject]
    return row[row >= 0], unary.predicate[row >= 0]


def _accuracy(row: Longs, truth: Ids, evidence: Longs, classifier_scores: Doubles, classes: Ids) -> dict[str, float]:
    """Return the accuracy of the classifier and of the rules; both miss a class that the classifier does not have."""
    if not len(row):
        return {}
    position = np.full(max(int(truth.max()), int(classes.max())) + 1, -1, np.int64)
    position[classes] = np.arange(len(classes))
    answer = position[truth]
    known = answer >= 0
    ranks = {
        "classifier": score_ranks(classifier_scores[row[known]], answer[known]),
        "rules": class_ranks(evidence[row[known]], answer[known]),
    }
    return {who: float((rank <= 1).sum() / len(row)) for who, rank in ranks.items()}


def _per_class(rank: Doubles, tested: TargetScores, kb: KnowledgeBase) -> dict[str, dict[str, float]]:
    """Return r@k among the objects that the classifier assigns to each class, most frequent class first."""
    count = np.bincount(tested.top, minlength=len(tested.classes))
    order = [c for c in np.argsort(-count, kind="stable") if count[c]]
    return {
        kb.predicates[tested.classes[c]].name: {**recall_figures(rank[tested.top == c]), "num_objects": int(count[c])}
        for c in order
    }


def _disagreements(
    kb: KnowledgeBase,
    tested: TargetScores,
    classifier_scores: Doubles,
    rule_scores: Doubles,
    rules_top: Longs,
    truth: Mapping[int, int],
) -> tuple[tuple[dict[str, Any], ...], tuple[dict[str, Any], ...]]:
    """Return the most frequent pairs, and the objects with the largest disagreement."""
    from collections import Counter

    names = [kb.predicates[c].name for c in tested.classes]

    def true_name(row: int) -> str | None:
        return kb.predicates[truth[row]].name if row in truth else None

    apart = np.flatnonzero(rules_top != tested.top)
    counts = Counter((names[tested.top[i]], names[rules_top[i]], true_name(int(i))) for i in apart)
    order = sorted(counts.items(), key=lambda item: (-item[1], item[0][:2], item[0][2] or ""))
    pairs = tuple({"classifier": a, "rules": b, "truth": t, "count": n} for (a, b, t), n in order[:MAX_SHOWN])
    distance = 0.5 * np.abs(classifier_scores - rule_scores).sum(axis=1)
    far = apart[np.argsort(-distance[apart], kind="stable")[:MAX_SHOWN]]
    objects = tuple(
        {
            "object": kb.entities.name(int(tested.entities[i])),
            "distance": float(distance[i]),
            "classifier": names[tested.top[i]],
            "classifier_score": float(classifier_scores[i, tested.top[i]]),
            "rules": names[rules_top[i]],
            "rules_score": float(rule_scores[i, rules_top[i]]),
            "truth": true_name(int(i)),
        }
        for i in far
    )
    return pairs, objects
