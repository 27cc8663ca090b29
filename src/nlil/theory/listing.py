"""A theory for reading: target by target, each rule with what it adds, its counts and the rules it represents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..data.arrays import Doubles, Longs
from ..data.kb import KnowledgeBase
from ..evaluation.ranking import Ranker
from ..kernel.binding import bind
from ..kernel.exclusion import Exclusion
from ..kernel.ruleset import RuleSet
from ..logic.labels import Labels
from ..logic.predicate import Predicate
from ..logic.rule import ScoredRule
from .theory import Theory, ValidationScores

AUTHORSHIP = {
    "cover": "They are a greedy cover: each is the rule that adds most to those before it.",
    "weights": "They are a greedy cover, and their weights are fitted jointly.",
    "formulas": "They are a greedy cover of rules and of formulas trained over rules.",
}
"""How the rules were chosen, by author."""
LEAST_GAIN = 0.0005
"""Gains in mean 1 / rank below this are shown as .000."""
RANKED_FACTS = 500
"""Training facts per target that are ranked to show how much each rule improves their ranks."""


@dataclass(frozen=True)
class TheoryRule:
    """A rule of a theory.

    number   its position in `Theory.rows`
    row      its row in the pool
    scored   the rule with its counts, and its weight in the theory
    place    the number of bodies of its target up to this rule and with it
    adds     training facts that it explains and no rule before it does
    backs_up training facts that it explains and a rule before it explains too
    tried    training facts of its target that were tried
    gain     what it adds to the mean value of a query: the precision of its best rule, and a part of the next
    num_same rules of the pool that it represents
    ranks    how much it raises the mean 1 / rank of training facts, if measured (`with_rank_gains`)
    """

    number: int
    row: int
    scored: ScoredRule
    place: int
    adds: int
    backs_up: int
    tried: int
    gain: float
    num_same: int
    ranks: float | None = None

    def to_dict(self, labels: Labels) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "rule": str(self.scored.rule),
            "label": labels.rule(self.scored.rule),
            "target": str(self.scored.rule.target),
            "place": self.place,
            "explained": self.adds,
            "backs_up": self.backs_up,
            "tried": self.tried,
            "gain": self.gain,
            "rank_gain": self.ranks,
            "family": self.num_same,
            "weight": self.scored.weight,
            **self.scored.stats.to_dict(),
        }


@dataclass(frozen=True)
class TargetTheory:
    """The theory of one target, `predicate`.

    Attributes:
        rules: in the order of what each adds.
        exclusions: relations that never hold together with the target, at most as many as rules.
        num_rules: the number of rules of the target in the pool.
        scores: on validation facts; None if there were too few.
        author: one of AUTHORS; None if unknown.
    """

    predicate: Predicate
    rules: tuple[TheoryRule, ...]
    exclusions: tuple[Exclusion, ...]
    num_rules: int
    scores: ValidationScores | None
    author: str | None = None

    @property
    def authorship(self) -> str:
        """How the rules were chosen, as a sentence; empty if unknown."""
        return AUTHORSHIP.get(self.author or "", "")

    @property
    def explained(self) -> int:
        """The number of training facts that a rule of the theory explains."""
        return sum(rule.adds for rule in self.rules)

    @property
    def tried(self) -> int:
        """The number of training facts that were tried."""
        return self.rules[0].tried if self.rules else 0


def target_theories(
    pool: RuleSet,
    theory: Theory,
    numbers: Longs | None = None,
    num_rules: Longs | None = None,
    exclusions: Sequence[Exclusion] | None = None,
) -> list[TargetTheory]:
    """Return the theories of a pool, target by target, in the order of their rules.

    Args:
        pool: the rules that `theory` refers to.
        theory: the chosen rules.
        numbers: positions in `theory.rows` to show; default: the theory's own size.
        num_rules: the number of rules of each predicate in the pool, if already counted.
        exclusions: those of a theory of this size; default: the theory's own size.
    """
    numbers = theory.chosen(pool) if numbers is None else numbers
    exclusions = theory.exclusions(pool) if exclusions is None else exclusions
    rows, same = theory.rows[numbers], theory.family_sizes
    head, listed = pool.head[rows], theory.listed(pool)
    of_pool = np.bincount(pool.head, minlength=len(pool.predicates)) if num_rules is None else num_rules
    found = []
    for target in dict.fromkeys(head.tolist()):
        predicate = pool.predicates[target]
        chosen = [
            TheoryRule(
                number=n,
                row=int(theory.rows[n]),
                scored=listed[n],
                place=int(theory.place[n]) + 1,
                adds=int(theory.explained[n]),
                backs_up=int(theory.backs_up[n]),
                tried=int(theory.tried[n]),
                gain=float(theory.gain[n]),
                num_same=int(same[n]),
            )
            for n in numbers[head == target].tolist()
        ]
        excluded = tuple(e for e in exclusions if e.target == predicate)
        scores = theory.scores.get(str(predicate))
        size, author = int(of_pool[target]), theory.authors.get(str(predicate))
        found.append(TargetTheory(predicate, tuple(chosen), excluded, size, scores, author))
    return found


def with_rank_gains(
    theories: Sequence[TargetTheory], rules: RuleSet, kb: KnowledgeBase, threads: int = 0, memory: int = 2**30
) -> list[TargetTheory]:
    """Return `theories` with the gain in mean 1 / rank of training facts by each rule of a binary target.

    A rule is added to those before it; each fact is hidden while it is ranked, and other known facts do not compete.

    Args:
        theories: As `target_theories` returns them.
        rules: Their rules, in the same order, with the aggregation of the theory.
        kb: The training facts.
        threads: CPU threads; 0: all cores.
        memory: Bytes per block.
    """
    found, begin = [], 0
    for theory in theories:
        end = begin + len(theory.rules)
        own = np.arange(begin, end)
        begin = end
        if theory.predicate.arity == 2 and theory.predicate in kb.predicates:
            values = _reciprocal_ranks(rules.take(own), kb, theory.predicate, threads, memory)
            ranked = [replace(rule, ranks=float(gain)) for rule, gain in zip(theory.rules, np.diff(values))]
            theory = replace(theory, rules=tuple(ranked))
        found.append(theory)
    return found


def _reciprocal_ranks(rules: RuleSet, kb: KnowledgeBase, predicate: Predicate, threads: int, memory: int) -> Doubles:
    """Return (rules + 1,): the mean 1 / rank of facts of a predicate with the first 0, 1, 2, ... rules."""
    rules = bind(rules, kb).rules
    facts = kb.crisp.facts.of(kb.predicate_id(predicate)).drawn(RANKED_FACTS, np.random.default_rng(0))
    rankers = (Ranker(rules.take(np.arange(n)), kb.crisp, threads, memory) for n in range(len(rules) + 1))
    return np.array([(1.0 / ranker.rank(facts, facts[:0], hide=True).realistic).mean() for ranker in rankers])


def adding(theory: TargetTheory) -> tuple[TheoryRule, ...]:
    """Return the rules that explain a further fact or raise a rank; at least the first one.

    The others back those up: they count where a fact is missing.
    """
    rules = tuple(one for one in theory.rules if one.adds or (one.ranks or 0.0) >= LEAST_GAIN)
    return rules or theory.rules[:1]


def same_rules(pool: RuleSet, theory: Theory, number: int, most: int | None = None) -> Longs:
    """Return the rows of the pool that rows[`number`] represents, most support first; at most `most` (None: all)."""
    rows = theory.family_row[theory.family == number]
    return rows[np.lexsort((rows, -pool.support[rows].astype(np.int64)))][:most]


def reading_order(pool: RuleSet, theory: Theory) -> Longs:
    """Return the rows of the pool: the first rules of all theories, the second ones, ..., then the rest by weight."""
    chosen = theory.chosen(pool)
    first = theory.rows[chosen[np.lexsort((chosen, -theory.explained[chosen], theory.place[chosen]))]]
    rest = pool.order()
    return np.concatenate((first, rest[~np.isin(rest, first)]))


def theory_document(theories: Sequence[TargetTheory], theory: Theory, labels: Labels) -> dict[str, Any]:
    """Return `theories`, target by target, for JSON."""
    rules = [rule for target in theories for rule in target.rules]
    return {
        "num_rules": len(rules),
        "atoms": sum(rule.scored.rule.length for rule in rules),
        "breaks_ties_by_frequency": theory.aggregation.by_frequency,
        "curve": [{"size": one.size, "mrr": one.mrr} for one in theory.curve()],
        "pool_mrr": theory.pool_score,
        "rules": [rule.to_dict(labels) for rule in rules],
        "exclusions": [e.to_dict() for target in theories for e in target.exclusions],
    }


def adds_text(adds: int, backs_up: int) -> str:
    """Describe what a rule adds.

    Args:
        adds: Facts that no rule before it explains.
        backs_up: Facts that a rule before it explains too.

    >>> adds_text(1200, 3), adds_text(1, 0), adds_text(0, 35), adds_text(0, 0)
    ('adds 1,200 facts', 'adds 1 fact', 'another way to 35 facts', 'explains only validation facts')
    """
    if not adds and not backs_up:
        return "explains only validation facts"
    count = f"{adds or backs_up:,} fact" + ("" if (adds or backs_up) == 1 else "s")
    return f"adds {count}" if adds else f"another way to {count}"


def scores_sentence(theory: Theory) -> str:
    """Describe the scores of theories and of all rules on validation facts."""
    if (pool := theory.pool_score) is None:
        return "no validation facts: the theories were not compared with all rules"
    curve = ", ".join(f"{one.size}: {one.mrr:.3f}" for one in theory.curve())
    return f"MRR of validation facts by number of rules per predicate: {curve}; all rules: {pool:.3f}"


def ties_sentence(theory: Theory, predicates: Iterable[Predicate]) -> str | None:
    """Describe how tied answers of `predicates` are ordered; None if they are not."""
    if not theory.aggregation.by_frequency or not any(predicate.arity == 2 for predicate in predicates):
        return None
    return (
        "Answers that the rules leave tied are ordered by the frequency table of the predicate: how often each entity "
        "occurs in that position of its facts, one table for each direction. It counts less than any rule."
    )
