"""Triple classification: whether a given fact is true or false, for data with negative facts.

A fact is classified as true if its score is above the threshold of its predicate, the one that best separates the
validation facts from the validation negatives. Each fact is scored with itself hidden.

`splits` has the facts and negatives of each `split`; `targets` are predicate ids.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..data.arrays import Doubles, Ids, Mask
from ..data.facts import Facts, Splits
from ..data.kb import KnowledgeBase
from ..kernel.aggregation import score
from ..kernel.ruleset import RuleSet
from .fact_scores import fact_evidence
from .ranking import Ranker


@dataclass(frozen=True)
class Classified:
    """Figures of the classification of given facts: `values` overall, `per_predicate` by name, and `notes`."""

    values: dict[str, float] = field(default_factory=dict)
    per_predicate: dict[str, dict[str, float]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class LabelledFacts:
    """Facts and given negatives of one split: the `predicate` of each, its `score`, and whether it `is_true`."""

    predicate: Ids
    score: Doubles
    is_true: Mask

    def of(self, predicate: int) -> LabelledFacts:
        """Return the rows of one predicate."""
        rows = self.predicate == predicate
        return LabelledFacts(self.predicate[rows], self.score[rows], self.is_true[rows])


def classify_triples(
    rules: RuleSet,
    kb: KnowledgeBase,
    splits: Splits,
    split: str,
    targets: list[int],
    threads: int = 0,
    memory: int = 2**30,
) -> Classified:
    """Return auc and accuracy over the facts and negatives of `split`, for targets with negatives there.

    Thresholds come from the validation facts and negatives; a predicate without any uses the overall threshold. There
    is no accuracy if validation has no negatives, or is itself evaluated: no figure is measured on the facts it was
    fitted on. `kb` has the training facts.
    """
    judged = labelled(rules, kb, splits, split, targets, threads, memory)
    if judged is None:
        return Classified()
    values, notes = {"auc": area_under_roc(judged.score, judged.is_true)}, []
    chosen = None if split == "valid" else labelled(rules, kb, splits, "valid", targets, threads, memory)
    thresholds = {}
    if chosen is not None:
        everywhere = best_cut(chosen.score, chosen.is_true)
        for p in np.unique(judged.predicate):
            own = chosen.of(int(p))
            thresholds[int(p)] = best_cut(own.score, own.is_true) if len(own.score) else everywhere
        values["accuracy"] = _accuracy(judged, thresholds)
    elif split != "valid":
        notes.append(
            "no accuracy: thresholds are chosen on validation facts and negatives, and valid_negatives are missing"
        )
    per_predicate = {}
    for p in np.unique(judged.predicate):
        own = judged.of(int(p))
        figures = {"auc": area_under_roc(own.score, own.is_true)} if 0 < own.is_true.mean() < 1 else {}
        if thresholds:
            figures["accuracy"] = _accuracy(own, thresholds)
        per_predicate[str(kb.predicates[p])] = figures
    return Classified(values, per_predicate, notes)


def labelled(
    rules: RuleSet, kb: KnowledgeBase, splits: Splits, split: str, targets: list[int], threads: int, memory: int
) -> LabelledFacts | None:
    """Score the facts and negatives of a split; None if it has no facts or no negatives of a target."""
    negatives = splits.negatives.get(split, Facts.empty()).crisp()
    negatives = negatives[np.isin(negatives.predicate, targets)]
    facts = splits[split].crisp()
    # A predicate without negatives would reward always answering true.
    facts = facts[np.isin(facts.predicate, np.unique(negatives.predicate))]
    if not len(facts) or not len(negatives):
        return None
    context = splits.context.get(split)
    if context is not None:
        kb = kb.with_facts(context)
    both = facts + negatives
    is_true = np.arange(len(both)) < len(facts)
    return LabelledFacts(both.predicate, fact_scores(rules, kb, both, threads, memory), is_true)


def fact_scores(rules: RuleSet, kb: KnowledgeBase, facts: Facts, threads: int = 0, memory: int = 2**30) -> Doubles:
    """Return the score of each of `facts`, hidden from itself."""
    return score(fact_evidence(Ranker(rules, kb, threads, memory), facts))


def best_cut(score: Doubles, is_true: Mask) -> float:
    """Return the threshold of `score` with the best accuracy: above it facts are classified as true.

    It is halfway between two neighbouring scores, or outside all of them; ties go to the lowest.

    >>> best_cut(np.array([0.1, 0.2, 0.6, 0.8]), np.array([False, False, True, True]))
    0.4
    """
    values = np.unique(score)
    cuts = np.concatenate(([values[0] - 1], (values[1:] + values[:-1]) / 2, [values[-1] + 1]))
    true, false = (np.sort(score[mask]) for mask in (is_true, ~is_true))
    right = len(true) - np.searchsorted(true, cuts) + np.searchsorted(false, cuts)
    return float(cuts[int(np.argmax(right))])


def area_under_roc(score: Doubles, is_true: Mask) -> float:
    """Return how often a true fact has a higher `score` than a false one, ties counting half."""
    from scipy.stats import rankdata

    num_true, num_false = int(is_true.sum()), int((~is_true).sum())
    ranks = rankdata(score)[is_true].sum()
    return float((ranks - num_true * (num_true + 1) / 2) / (num_true * num_false))


def _accuracy(judged: LabelledFacts, thresholds: dict[int, float]) -> float:
    cut = np.array([thresholds[int(p)] for p in judged.predicate])
    return float(np.mean((judged.score > cut) == judged.is_true))
