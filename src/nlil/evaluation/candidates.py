"""Scored candidates with their truth: the sample that calibration is fitted and measured on.

A query is p(s, ?) or p(?, o) of a fact of the split, "which class?" of an object of the split, or P(x) of one entity.

    counted    for p(s, ?), p(?, o) and class queries, the CANDIDATES best candidates that a rule reaches (a score above
               0; ties go to the smaller id); for P(x), every entity that a rule reaches
    left out   candidates known from another split (the filter of ranking), and those that no rule reaches
    true       the facts of the split; all other candidates count as false
    sampled    at most MOST_QUERIES queries of each kind, by seed; fewer on large bases (`affordable`)

Whether a candidate counts never depends on its truth: an answer that no rule reaches, or that is not among the best, is
left out like a wrong candidate. `num_answers` is the number of answers of the queries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..data.arrays import Doubles, Ids, Longs, Mask
from ..data.facts import NO_OBJECT, Facts, Splits, fact_keys
from ..data.kb import KnowledgeBase
from ..kernel.aggregation import score
from ..kernel.binding import bind
from ..kernel.compiled import compiled
from ..kernel.ruleset import RuleSet
from ..progress import Progress, Stop, silent
from .gate import affordable
from .members import MemberScorer
from .queries import TargetQueries, answers_among
from .ranking import Ranker

CANDIDATES = 20
MOST_QUERIES = 2_000

JudgedCandidates = tuple[Longs, Mask, Facts]
"""Evidence and truth of candidates, and their facts."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """Row i is a candidate: its `score`, whether it `is_true`, the `arity` of its predicate, the number of its `fact`.

    p(s, ?) and p(?, o) may both propose p(s, o): two rows, one fact. `num_answers` is the number of answers of the
    queries.
    """

    score: Doubles
    is_true: Mask
    arity: Longs
    fact: Longs
    num_answers: int

    def __len__(self) -> int:
        return len(self.score)

    @classmethod
    def join(cls, parts: Sequence[Candidates]) -> Candidates:
        """Concatenate `parts`; equal facts of two parts count as different facts."""
        used = np.cumsum([0, *(int(part.fact.max(initial=-1)) + 1 for part in parts)])
        return cls(
            np.concatenate([part.score for part in parts]),
            np.concatenate([part.is_true for part in parts]),
            np.concatenate([part.arity for part in parts]),
            np.concatenate([part.fact + first for part, first in zip(parts, used)]),
            sum(part.num_answers for part in parts),
        )

    def of_arity(self, arity: int) -> Candidates:
        """Return the candidates of predicates of this `arity`, 1 or 2."""
        rows = self.arity == arity
        return Candidates(self.score[rows], self.is_true[rows], self.arity[rows], self.fact[rows], self.num_answers)


def scored_candidates(
    rules: RuleSet,
    kb: KnowledgeBase,
    splits: Splits,
    split: str,
    *,
    seed: int = 0,
    threads: int = 0,
    memory: int = 2**30,
    progress: Progress = silent,
    parts: int = 1,
    stop: Stop | None = None,
    device: str = "cpu",
) -> Candidates:
    """Score the candidates of the facts of a `split`, valid or test, whose predicate is a target of the rules.

    There are none for train: rules were counted on training facts, so their scores say nothing about unseen facts.
    `splits` has all facts, which determine the truth. If a sample consists of several `parts`, each takes its share of
    the queries. `stop` raises Stopped. A GPU scores what it supports if `device` is one.
    """
    rules = bind(rules, kb).rules
    facts = splits[split]
    others = [splits[name] for name in ("train", "valid", "test") if name != split]
    known = kb.facts + others[0] + others[1]
    context = splits.context.get(split)
    if context is not None:
        kb = kb.with_facts(context)
    targets = [kb.predicate_id(p) for p in rules.targets if p in kb.predicates]
    facts = facts[np.isin(facts.predicate, targets)] if split != "train" else Facts.empty()
    sampler = _Sampler(
        rules, kb, facts, known, np.random.default_rng(seed), threads, memory, progress, parts, stop, device
    )
    kinds = [(2, sampler.binary()), (1, sampler.classes()), (1, sampler.members())]
    rows = [(arity, *scored) for arity, found in kinds for scored in found]
    none = np.zeros(0, np.int64)
    evidence = np.concatenate([none, *(row[1] for row in rows)])
    is_true = np.concatenate([none.astype(bool), *(row[2] for row in rows)])
    arity = np.repeat([row[0] for row in rows], [len(row[1]) for row in rows]).astype(np.int64)
    (fact,) = fact_keys(Facts.join(row[3] for row in rows))
    return Candidates(score(evidence), is_true, arity, fact, sampler.num_answers)


@dataclass(eq=False)
class _Sampler:
    rules: RuleSet
    kb: KnowledgeBase
    facts: Facts
    known: Facts
    random: np.random.Generator
    threads: int
    memory: int
    progress: Progress
    parts: int = 1
    stop: Stop | None = None
    device: str = "cpu"
    num_answers: int = 0

    def some(self, count: int) -> Longs:
        """Return at most MOST_QUERIES positions below `count`, ascending; if there are parts, the share of one."""
        most = -(-affordable(MOST_QUERIES, self.kb.num_entities) // self.parts)
        return np.arange(count) if count <= most else np.sort(self.random.choice(count, most, replace=False))

    def binary(self) -> Iterator[JudgedCandidates]:
        facts = self.facts[~self.facts.is_unary]
        if not len(facts):
            return
        queries = np.unique(
            np.concatenate(
                [
                    np.stack((facts.predicate, np.full(len(facts), direction), end), axis=1)
                    for direction, end in enumerate((facts.subject, facts.object))
                ]
            ),
            axis=0,
        )
        queries = queries[self.some(len(queries))]
        groups = [
            TargetQueries(
                int(target),
                int(direction),
                (known_ends := queries[(queries[:, :2] == (target, direction)).all(axis=1), 2].astype(np.int32)),
                np.full(len(known_ends), -1, np.int32),
            )
            for target, direction in np.unique(queries[:, :2], axis=0)
        ]
        yield from self._answers(groups)

    def _answers(self, groups: list[TargetQueries]) -> Iterator[JudgedCandidates]:
        graph_of = self.kb.graph_of
        true, known = (
            [answers_among(facts, group.target, group.direction, group.query) for group in groups]
            for facts in (self.facts, self.known)
        )

        def answers(of: list[tuple[Longs, Ids]], g: int, i: int) -> Ids:
            pointer, answer = of[g]
            return answer[pointer[i] : pointer[i + 1]]

        def best(g: int, i: int, total: Longs) -> JudgedCandidates:
            target, direction, query, _ = groups[g]
            a = int(query[i])
            total[answers(known, g, i)] = 0
            if graph_of is not None:
                total[graph_of != graph_of[a]] = 0
            best = best_reached(total)
            ends = (best, a) if direction else (a, best)
            return total[best], np.isin(best, answers(true, g, i)), _facts(target, *ends)

        ranker = Ranker(self.rules, self.kb, self.threads, self.memory, self.device, self.stop)
        scored = ranker.each(groups, best, lambda _, *done: self.progress("calibration", *done))
        for g, found in enumerate(scored):
            both = ((answers(true, g, i), answers(known, g, i)) for i in range(len(found)))
            self.num_answers += sum(len(np.setdiff1d(*pair)) for pair in both)
            yield from found

    def classes(self) -> Iterator[JudgedCandidates]:
        facts = self.facts[np.isin(self.facts.predicate, list(self.kb.classes))]
        if not len(facts):
            return
        classes = np.array(
            [
                self.kb.predicate_id(p)
                for p in self.rules.targets
                if p in self.kb.predicates and self.kb.predicate_id(p) in self.kb.classes
            ],
            np.int32,
        )
        objects = np.unique(facts.subject)
        objects = objects[self.some(len(objects))]
        evidence = MemberScorer(self.rules, self.kb, classes, self.threads, self.memory).evidence(objects)
        is_true = self._has(facts, objects, classes)
        known = self._has(self.known, objects, classes)
        self.num_answers += int((is_true & ~known).sum())
        for object_, total, truth in zip(objects, np.where(known, 0, evidence), is_true):
            best = best_reached(total)
            yield total[best], truth[best], _facts(classes[best], object_)

    def _has(self, facts: Facts, objects: Ids, classes: Ids) -> Mask:
        """Return (objects, classes): whether `facts` assign the class to the object."""
        held = np.zeros((len(objects), len(classes)), bool)
        own = facts[np.isin(facts.subject, objects) & np.isin(facts.predicate, classes)]
        order = np.argsort(classes)
        held[np.searchsorted(objects, own.subject), order[np.searchsorted(classes[order], own.predicate)]] = True
        return held

    def members(self) -> Iterator[JudgedCandidates]:
        facts = self.facts[self.facts.is_unary & ~np.isin(self.facts.predicate, list(self.kb.classes))]
        for p in np.unique(facts.predicate):
            open_ = self.kb.domain.copy()
            open_[self.known.of(int(p)).subject] = False
            entities = np.flatnonzero(open_).astype(np.int32)
            entities = entities[self.some(len(entities))]
            is_true = np.isin(entities, facts.of(int(p)).subject)
            self.num_answers += int(is_true.sum())
            scorer = MemberScorer(self.rules, self.kb, np.array([p], np.int32), self.threads, self.memory)
            evidence = scorer.evidence(entities)[:, 0]
            reached = evidence > 0
            yield evidence[reached], is_true[reached], _facts(p, entities[reached])


def _facts(predicate: int | Ids, subject: int | Ids, object: int | Longs = NO_OBJECT) -> Facts:
    """Make facts from columns; single numbers are repeated."""
    predicates, subjects, objects = np.broadcast_arrays(np.atleast_1d(predicate), subject, object)
    return Facts(predicates.astype(np.int32), subjects.astype(np.int32), objects.astype(np.int32))


def best_reached(evidence: Longs, most: int = CANDIDATES) -> Longs:
    """Return the positions of the `most` largest values of `evidence` above 0, ascending; ties go to the first.

    >>> best_reached(np.array([0, 5, 3, 5, 3]), 3).tolist()
    [1, 2, 3]
    """
    return np.sort(_best_reached(evidence, most))


@compiled
def _best_reached(evidence: Longs, most: int) -> Longs:
    """`best_reached`, best first; one pass, since a base may have millions of entities."""
    best, size = np.zeros(most, np.int64), 0
    for i in range(len(evidence)):
        if evidence[i] <= (evidence[best[most - 1]] if size == most else 0):
            continue
        place = min(size, most - 1)
        while place > 0 and evidence[best[place - 1]] < evidence[i]:
            best[place] = best[place - 1]
            place -= 1
        best[place] = i
        size = min(size + 1, most)
    return best[:size]
