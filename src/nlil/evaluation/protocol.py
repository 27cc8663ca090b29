"""evaluate: the figures of a rule set on the facts of a split. One protocol for every kind of target."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ..data.arrays import Doubles, Ids, Longs, Mask
from ..data.facts import Facts, Splits
from ..data.kb import KnowledgeBase
from ..kernel.aggregation import Ranks, class_ranks
from ..kernel.binding import bind
from ..kernel.ruleset import RuleSet
from ..logic.predicate import Predicate
from ..progress import Progress, silent
from .fixpoints import judge_fixpoints
from .members import MemberScorer
from .metrics import Metrics, best_threshold, decision_figures, rank_figures, recall_figures
from .ranking import Ranker
from .triples import classify_triples


def evaluate(
    rules: RuleSet,
    kb: KnowledgeBase,
    facts: Facts,
    *,
    splits: Splits | None = None,
    split: str = "test",
    targets: Sequence[Predicate] | None = None,
    threads: int = 0,
    memory: int = 2**30,
    device: str = "cpu",
    progress: Progress = silent,
) -> Metrics:
    """Return the figures of `rules` on `facts`, the facts of a `split` in the ids of `kb`.

    Every fact whose predicate is a target counts, whether rules reach it or not; a note gives the number of others.
    Bodies see the facts of `kb` (for scene graphs, those of the split's own graphs), never the query's own fact; the
    filter uses all of `splits`. `targets` defaults to the targets of the rules. Recursive targets are also judged by
    their least fixpoint, with none of their facts given (`judge_fixpoints`). If `splits` has negatives of the split,
    facts are also classified as true or false (`classify_triples`).

    Args:
        threads: 0: all cores.
        memory: bytes for plans and answers.
        device: cpu, cuda or auto.
        progress: receives reports of progress.
    """
    started = time.perf_counter()
    bound = bind(rules, kb)
    rules = bound.rules
    notes = [
        f"{count} rules left out: {what} unknown in this data"
        for count, what in ((bound.unknown_constant, "a constant"), (bound.unknown_predicate, "a predicate"))
        if count
    ]
    if bound.unknown_exclusion:
        notes.append(f"{bound.unknown_exclusion} exclusions left out: a predicate unknown in this data")
    known = (splits.all() if splits is not None else facts) + kb.facts
    training = kb
    context = splits.context.get(split) if splits is not None else facts.context
    if context is not None:
        kb = kb.with_facts(context)
    chosen = [kb.predicate_id(p) for p in (rules.targets if targets is None else targets) if p in kb.predicates]
    all_facts = len(facts)
    facts = facts[np.isin(facts.predicate, np.asarray(chosen, np.int32))]
    if len(facts) < all_facts:
        notes.append(
            f"{all_facts - len(facts):,} of {all_facts:,} facts do not count: their predicate is not a target of the "
            "rules"
        )
    values: dict[str, float] = {}
    per_predicate: dict[str, dict[str, float]] = {}
    num_queries = 0
    parts = _parts(rules, kb, facts, known, chosen, threads, memory, device, progress)
    for figures, by_predicate, queries in parts:
        values |= figures
        per_predicate |= by_predicate
        num_queries += queries
    negatives = splits.negatives.get(split) if splits is not None else None
    judged = judge_fixpoints(rules, kb, known, np.unique(facts.predicate), facts, negatives)
    values |= judged.values
    for name, fixpoint in judged.per_predicate.items():
        per_predicate[name] = {**per_predicate[name], **fixpoint}
    notes += judged.notes
    if splits is not None:
        triples = classify_triples(rules, training, splits, split, chosen, threads, memory)
        values |= triples.values
        for name, figures in triples.per_predicate.items():
            per_predicate[name] = {**per_predicate.get(name, {"num_queries": 0}), **figures}
        notes += triples.notes
    return Metrics(
        values, per_predicate, num_queries, len(rules), time.perf_counter() - started, peak_memory_mb(), tuple(notes)
    )


SplitFigures = tuple[dict[str, float], dict[str, dict[str, float]], int]


def _parts(
    rules: RuleSet,
    kb: KnowledgeBase,
    facts: Facts,
    known: Facts,
    targets: list[int],
    threads: int,
    memory: int,
    device: str,
    progress: Progress,
) -> Iterator[SplitFigures]:
    """Yield the figures of binary targets, of classes, and of other unary targets that have facts."""
    binary = facts[~facts.is_unary]
    if len(binary):
        ranker = Ranker(rules, kb, threads, memory, device)
        yield binary_figures(ranker.rank(binary, known, hide=True, progress=progress), binary, kb)
    yield from unary_figures(rules, kb, facts, known, targets, threads, memory, progress)


def unary_figures(
    rules: RuleSet,
    kb: KnowledgeBase,
    facts: Facts,
    known: Facts,
    targets: Sequence[int],
    threads: int = 0,
    memory: int = 2**30,
    progress: Progress = silent,
) -> Iterator[SplitFigures]:
    """Yield the figures of classes, and of other unary targets, that have facts.

    Args:
        rules: in the ids of `kb`.
        kb: the facts that bodies may use.
        facts: the facts to predict.
        known: the facts of all splits.
        targets: predicate ids.
        threads: CPU threads; 0: all cores.
        memory: bytes per block.
        progress: receives reports of progress.
    """

    def evidence_of(targets: Ids, entities: Ids) -> Longs:
        return MemberScorer(rules, kb, targets, threads, memory).evidence(entities, progress)

    classes = np.array([t for t in targets if t in kb.classes], np.int32)
    of_class = facts[np.isin(facts.predicate, classes)]
    if len(of_class):
        position = np.zeros(kb.num_predicates, np.int64)
        position[classes] = np.arange(len(classes))
        ranks = class_ranks(evidence_of(classes, of_class.subject), position[of_class.predicate])
        yield class_figures(ranks, of_class, kb)
    yield member_figures(lambda target, entities: evidence_of(np.array([target]), entities)[:, 0], kb, facts, known)


def binary_figures(ranks: Ranks, facts: Facts, kb: KnowledgeBase) -> SplitFigures:
    """Return the figures of the `ranks` of binary `facts`, from any scorer."""
    predicate = facts.predicate[ranks.fact]
    by_predicate = {}
    for p in np.unique(predicate):
        rows = predicate == p
        by_predicate[str(kb.predicates[p])] = {**rank_figures(ranks, rows), "num_queries": int(rows.sum())}
    return rank_figures(ranks), by_predicate, len(ranks.fact)


def class_figures(rank: Doubles, facts: Facts, kb: KnowledgeBase) -> SplitFigures:
    """Return the figures of class `facts` from the realistic `rank` of each, from any scorer."""
    by_predicate = {}
    for p in np.unique(facts.predicate):
        rows = facts.predicate == p
        by_predicate[str(kb.predicates[p])] = {**recall_figures(rank[rows]), "num_queries": int(rows.sum())}
    return recall_figures(rank, has_relation(kb)[facts.subject]), by_predicate, len(facts)


def has_relation(kb: KnowledgeBase) -> Mask:
    """Return which entities are in an annotated binary fact; geometry predicates do not count as relations."""
    stated = kb.binary[~np.isin(kb.binary.predicate, list(kb.geometry))]
    related = np.zeros(kb.num_entities, bool)
    related[stated.subject] = True
    related[stated.object] = True
    return related


def member_figures(
    evidence_of: Callable[[int, Ids], Longs], kb: KnowledgeBase, facts: Facts, known: Facts
) -> SplitFigures:
    """Return precision, recall and F1 of decisions about all entities whose truth is not known from another split.

    An entity is predicted to have the predicate if its score reaches the threshold with the largest F1 on the facts of
    `kb`, each hidden from itself. `evidence_of` returns the evidence of a target for entities, as integers.
    """
    facts = facts[facts.is_unary & ~np.isin(facts.predicate, list(kb.classes))]
    totals = np.zeros(3, np.int64)
    by_predicate = {}
    everyone = np.flatnonzero(kb.domain).astype(np.int32)
    for p in np.unique(facts.predicate):
        positive = np.unique(facts.of(int(p)).subject)
        evidence = evidence_of(int(p), everyone)
        threshold = best_threshold(evidence, np.isin(everyone, kb.members(int(p))))
        candidates = np.isin(everyone, _undecided(kb, known.of(int(p)).subject, positive))
        predicted = (evidence >= threshold) & candidates
        counts = np.array([int(predicted[np.isin(everyone, positive)].sum()), int(predicted.sum()), len(positive)])
        totals += counts
        by_predicate[str(kb.predicates[p])] = {**decision_figures(*counts.tolist()), "num_queries": len(positive)}
    if not by_predicate:
        return {}, {}, 0
    return decision_figures(*totals.tolist()), by_predicate, len(facts)


def _undecided(kb: KnowledgeBase, known: Ids, positive: Ids) -> Ids:
    """Return the entities of this base, except those known as members from another split."""
    keep = kb.domain.copy()
    keep[known] = False
    keep[positive] = True
    return np.flatnonzero(keep).astype(np.int32)


def peak_memory_mb() -> float:
    """Return the peak memory of this process, in megabytes (10^6 bytes)."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6
