"""Make the theories of a pool: look at what its rules do, choose, and measure on validation facts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..data.arrays import Doubles, Longs
from ..data.facts import Facts
from ..data.kb import KnowledgeBase
from ..evaluation.members import MemberScorer
from ..evaluation.ranking import Ranker
from ..kernel.aggregation import Aggregation, ScoreSpace
from ..kernel.ruleset import RuleSet
from ..logic.rule import smoothed_confidence
from ..progress import Progress, Stop, silent
from .cover import Cover, cover
from .firings import Hits, survey, survey_members
from .theory import SIZES, SizeScore, Theory, ValidationScores

CONSIDERED = 2_000
"""Rules of a target that a theory is chosen from: those with the largest product of support and confidence."""
ALL_FACTS = 50_000
"""Training facts of all targets together that rules are tried on ..."""
FACTS, MOST_FACTS = 500, 3_000
"""... but so many of each target, at least and at most, if it has them."""
OTHERS = 4
"""Entities without the class that rules of a unary target are tried on, for each of its members that they are."""
MOST_WEIGHT = 10.0
"""What a validation fact counts at most. Those of a target count as much as its training facts, if they are enough."""
LEAST_MEASURED = 200
"""Validation facts, with fewer of which nothing is measured on them."""
PER_ATOM, CIRCULAR = 0.8, 0.5
"""`plainness`: the factor of each atom after the first, and of rules whose body has the target."""
VALIDATION_FACTS = 2_000
"""Validation facts that are ranked at each size, at most."""


def make_theory(
    pool: RuleSet,
    kb: KnowledgeBase,
    size: int,
    valid: Facts | None = None,
    seed: int = 0,
    threads: int = 0,
    memory: int = 2**30,
    progress: Progress = silent,
    stop: Stop | None = None,
) -> Theory:
    """The theories of all targets of a pool.

    Validation facts help to choose: what is to be predicted may be unlike the training facts. Where they are many, they
    also measure: a theory that half of them help to choose, on the other half.

    Args:
        pool: the rules to choose from, in the ids of `kb`.
        kb: the training facts.
        size: rules of a target.
        valid: validation facts.
        seed: chooses facts where there are many.
        threads: CPU threads; 0: all cores.
        memory: bytes that block sizes are chosen for.
        progress: told how many targets are done.
        stop: targets that come after it have no theory.
    """
    rows, crisp = considered(pool, kb.num_predicates), kb.crisp
    some = replace(pool.take(rows).compact(), aggregation=Aggregation("noisy-or", 0), exclusions=())
    ranker = Ranker(some, crisp, threads, memory)
    targets = [int(t) for t in np.unique(some.head)]
    most = min(max(FACTS, ALL_FACTS // max(len(targets), 1)), MOST_FACTS)
    valid = Facts.empty() if valid is None else valid
    is_judge = np.random.default_rng((seed, 9)).permutation(len(valid)) % 2 == 0
    is_judge &= np.count_nonzero(np.isin(valid.predicate, targets)) >= LEAST_MEASURED

    def one(space: ScoreSpace, target: int) -> tuple[Cover, Cover]:
        random, plain = np.random.default_rng((seed, 8, target)), plainness(ranker.rules_of(target))
        if kb.predicates[target].arity == 1:
            hits = _of_class(ranker.rules_of(target), crisp, target, most, random, memory)
            return (cover(hits, plain, SIZES[-1], size),) * 2
        tried = drawn(crisp.facts.of(target), most, random)
        mine = np.sort(random.permutation(np.flatnonzero(valid.predicate == target))[:most])
        weight = min(MOST_WEIGHT, len(tried) / max(len(mine), 1))
        hits = survey(ranker, target, tried, valid[mine], weight, space.walk)
        judges = np.concatenate((np.zeros(len(tried), bool), is_judge[mine]))
        chosen = cover(hits, plain, SIZES[-1], size)
        return chosen, cover(hits._replace(weight=np.where(judges, 0.0, hits.weight)), plain, SIZES[-1], 0)

    covers = ranker.pool.map(one, targets, "choose rules", progress, stop)
    plain = Aggregation(pool.aggregation.kind, pool.aggregation.top, unit=pool.aggregation.unit, by_frequency=True)
    theory, half = (
        Theory(**_columns(ranker, rows, targets[: len(covers)], some), size=size, aggregation=plain)
        for some in (zip(*covers) if covers else ((), ()))
    )
    if not is_judge.any() or (stop is not None and stop()):
        return theory
    half = measured(half, pool, kb, valid[is_judge], kb.facts + valid, seed, threads, memory)
    return replace(theory, aggregation=half.aggregation, scores=half.scores)


def measured(
    theory: Theory,
    pool: RuleSet,
    kb: KnowledgeBase,
    valid: Facts,
    known: Facts,
    seed: int = 0,
    threads: int = 0,
    memory: int = 2**30,
) -> Theory:
    """The theory with its scores on validation facts, and with the aggregation that is better for them.

    Args:
        theory: of this pool.
        pool: rules counted on kb; how they are weighed by kind is tried for the theory too.
        kb: what bodies look at; it has none of the validation facts.
        valid: the validation facts.
        known: facts that do not compete with an answer.
        seed: chooses facts where there are many.
        threads: CPU threads; 0: all cores.
        memory: bytes that block sizes are chosen for.
    """
    sample = valid[~valid.is_unary & np.isin(valid.predicate, pool.head[theory.rows])]
    sample = drawn(sample, VALIDATION_FACTS, np.random.default_rng((seed, 9)))
    if not len(sample):
        return theory
    measure = _Measure(pool, kb, sample, known, threads, memory)
    weighed = replace(theory, aggregation=replace(pool.aggregation, by_frequency=True))
    if pool.aggregation.weighing and measure.mean(weighed) > measure.mean(theory):
        theory = weighed
    return replace(theory, scores=measure.scores(theory))


def considered(pool: RuleSet, num_predicates: int) -> Longs:
    """Return rows of the rules of each target that are worth a look, ascending; there are `num_predicates`.

    Priors are not: frequency breaks ties.
    """
    worth = pool.support * np.asarray(smoothed_confidence(pool.support, pool.body_size), np.float64)
    worth[pool.is_prior] = 0.0
    order = np.argsort(pool.head, kind="stable")
    ends = np.searchsorted(pool.head[order], np.arange(num_predicates + 1))
    parts = [np.zeros(0, np.int64)]
    for low, high in pairwise(ends.tolist()):
        mine = order[low:high]
        mine = mine[worth[mine] > 0]
        best = np.lexsort((mine, -worth[mine]))[:CONSIDERED]
        parts.append(mine[best])
    return np.sort(np.concatenate(parts))


def plainness(rules: RuleSet) -> Doubles:
    """What the gain of each rule counts when rules are compared: more for what is read easily.

    Of rules that explain the same, people want the short one, and not the one that explains a fact by another fact of
    the same predicate: such rules often explain the most, and say the least.
    """
    lines, target = rules.bodies.lines, rules.head[:1]
    is_circular = rules.bodies.any_line(((lines.steps >> 1) == target).any(axis=1) & (lines.lengths > 0))
    plain = PER_ATOM ** np.maximum(rules.lengths - 1, 0)
    return np.where(is_circular[rules.body], CIRCULAR, 1.0) * plain if len(rules) else plain


def drawn(facts: Facts, most: int, random: np.random.Generator) -> Facts:
    """Draw at most `most` of `facts`, in their order."""
    return facts if len(facts) <= most else facts[np.sort(random.permutation(len(facts))[:most])]


def _of_class(
    rules: RuleSet, kb: KnowledgeBase, target: int, most: int, random: np.random.Generator, memory: int
) -> Hits:
    """What rules of a unary target do for its members, and for others."""
    members = kb.facts.of(target).subject
    others = np.setdiff1d(np.arange(kb.num_entities, dtype=np.int32), members)
    few, none = (random.permutation(some)[:most] for some, most in ((members, most), (others, OTHERS * most)))
    share = (len(others) / max(len(none), 1)) * (len(few) / max(len(members), 1))
    scorer = MemberScorer(rules, kb, np.array([target], np.int32), 1, memory)
    return survey_members(scorer, np.sort(few).astype(np.int32), np.sort(none), share)


def _columns(ranker: Ranker, rows: Longs, targets: list[int], covers: Sequence[Cover]) -> dict[str, Any]:
    """The columns of a Theory, one target after the other."""
    none = np.zeros(0, np.int64)
    parts: list[dict[str, np.ndarray]] = [
        dict.fromkeys(("rows", "place", "explained", "tried", "family_row", "family"), none) | {"gain": np.zeros(0)}
    ]
    count = 0
    for target, mine in zip(targets, covers):
        of_target, size = rows[ranker.rows_of(target)], len(mine.rule)
        related = np.setdiff1d(np.flatnonzero(mine.family >= 0), mine.rule)
        parts.append(
            {
                "rows": of_target[mine.rule],
                "place": np.arange(size),
                "gain": mine.gain,
                "explained": mine.explained,
                "tried": np.full(size, mine.num_facts),
                "family_row": of_target[related],
                "family": mine.family[related] + count,
            }
        )
        count += size
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


class _Measure(NamedTuple):
    """Validation facts to rank with theories of a pool."""

    pool: RuleSet
    kb: KnowledgeBase
    facts: Facts
    known: Facts
    threads: int
    memory: int

    def reciprocal(self, rules: RuleSet) -> Doubles:
        """(facts,): the mean 1 / rank of both directions."""
        ranks = Ranker(rules, self.kb, self.threads, self.memory).rank(self.facts, self.known)
        total = np.bincount(ranks.fact, 1.0 / ranks.realistic, len(self.facts))
        return np.asarray(total / 2)

    def mean(self, theory: Theory) -> float:
        return float(self.reciprocal(theory.rules(self.pool)).mean())

    def scores(self, theory: Theory) -> dict[str, ValidationScores]:
        """By target: what the pool reaches, and a theory of each size."""
        targets, of_fact = np.unique(self.facts.predicate, return_inverse=True)
        count = np.bincount(of_fact)

        def by_target(values: Doubles) -> Doubles:
            return np.asarray(np.bincount(of_fact, values) / count)

        pool = by_target(self.reciprocal(self.pool))
        sizes = [by_target(self.reciprocal(theory.rules(self.pool, size))) for size in SIZES]
        found = {}
        for i, target in enumerate(targets.tolist()):
            levels = tuple(SizeScore(size, float(values[i])) for size, values in zip(SIZES, sizes))
            found[str(self.pool.predicates[target])] = ValidationScores(int(count[i]), float(pool[i]), levels)
        return found
