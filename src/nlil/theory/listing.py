"""A theory as people read it: target by target, each rule with what it adds, its counts and the rules it stands for."""

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
    "weights": "They are a greedy cover, and their weights are fitted together.",
    "formulas": "They are a greedy cover of rules and of formulas that were trained over rules.",
}
"""How theories come about, by their author."""
RANKED_FACTS = 500
"""Training facts of a target that show how much each rule of its theory raises their ranks."""


@dataclass(frozen=True)
class TheoryRule:
    """A rule of a theory.

    number   in `Theory.rows`
    row      of the pool
    scored   the rule with its counts, and its weight in the theory
    place    among the rules of its target, from 1 on
    adds     training facts that it explains and no rule before it does
    backs_up training facts that it explains and a rule before it does too
    tried    training facts of its target that were looked at
    gain     what it adds to the mean value of a query: the precision of its best rule, and a part of the next
    num_same rules of the pool that say the same and are left out for it
    ranks    how much the mean 1 / rank of training facts rises with it, if that was measured (`with_rank_gains`)
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
        exclusions: what never holds together with the target, as many as the theory may have rules.
        num_rules: rules of the target in the pool.
        scores: on validation facts; None where these were too few.
        author: who chose the rules, one of AUTHORS; None where that is not kept.
    """

    predicate: Predicate
    rules: tuple[TheoryRule, ...]
    exclusions: tuple[Exclusion, ...]
    num_rules: int
    scores: ValidationScores | None
    author: str | None = None

    @property
    def authorship(self) -> str:
        """How the rules were chosen, as a sentence; nothing where that is not known."""
        return AUTHORSHIP.get(self.author or "", "")

    @property
    def explained(self) -> int:
        """Training facts that some rule of the theory explains."""
        return sum(rule.adds for rule in self.rules)

    @property
    def tried(self) -> int:
        """Training facts that were looked at."""
        return self.rules[0].tried if self.rules else 0


def target_theories(
    pool: RuleSet, theory: Theory, numbers: Longs | None = None, num_rules: Longs | None = None
) -> list[TargetTheory]:
    """The theories of a pool, target by target, in the order in which their rules stand.

    Args:
        pool: the rules that `theory` counts.
        theory: what was chosen of them.
        numbers: those of `theory.rows` to show; default: as many of each target as the theory's size says.
        num_rules: of each predicate in the pool, where that is counted already.
    """
    numbers = theory.chosen(pool) if numbers is None else numbers
    rows, same = theory.rows[numbers], theory.family_sizes
    head, listed = pool.head[rows], theory.listed(pool)
    of_pool = np.bincount(pool.head, minlength=len(pool.predicates)) if num_rules is None else num_rules
    found = []
    for target in dict.fromkeys(head.tolist()):
        predicate = pool.predicates[target]
        mine = [
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
        exclusions = [e for e in pool.exclusions if e.target == predicate][: max(theory.size, len(mine))]
        scores = theory.scores.get(str(predicate))
        size, author = int(of_pool[target]), theory.authors.get(str(predicate))
        found.append(TargetTheory(predicate, tuple(mine), tuple(exclusions), size, scores, author))
    return found


def with_rank_gains(
    theories: Sequence[TargetTheory], rules: RuleSet, kb: KnowledgeBase, threads: int = 0, memory: int = 2**30
) -> list[TargetTheory]:
    """Return `theories` with what each rule of a binary target adds to the mean 1 / rank of its training facts.

    A rule is added to those before it; each fact is hidden while it is ranked, and other known facts do not compete.

    Args:
        theories: As `target_theories` returns them.
        rules: Their rules, in the same order, with the aggregation of the theory.
        kb: The training facts.
        threads: CPU threads; 0: all cores.
        memory: Bytes that block sizes are chosen for.
    """
    found, begin = [], 0
    for theory in theories:
        end = begin + len(theory.rules)
        own = np.arange(begin, end)
        begin = end
        if theory.predicate.arity == 2 and theory.predicate in kb.predicates:
            values = _reciprocal_ranks(rules.take(own), kb, theory.predicate, threads, memory)
            mine = [replace(rule, ranks=float(gain)) for rule, gain in zip(theory.rules, np.diff(values))]
            theory = replace(theory, rules=tuple(mine))
        found.append(theory)
    return found


def _reciprocal_ranks(rules: RuleSet, kb: KnowledgeBase, predicate: Predicate, threads: int, memory: int) -> Doubles:
    """(rules + 1,): the mean 1 / rank of facts of a predicate with no rule, with the first one, with two, ..."""
    rules = bind(rules, kb).rules
    facts = kb.crisp.facts.of(kb.predicate_id(predicate)).drawn(RANKED_FACTS, np.random.default_rng(0))
    rankers = (Ranker(rules.take(np.arange(n)), kb.crisp, threads, memory) for n in range(len(rules) + 1))
    return np.array([(1.0 / ranker.rank(facts, facts[:0], hide=True).realistic).mean() for ranker in rankers])


def same_rules(pool: RuleSet, theory: Theory, number: int, most: int | None = None) -> Longs:
    """Return rows of the pool whose rules say the same as rows[number], those with most support first.

    There are at most `most` of them; None: all.
    """
    rows = theory.family_row[theory.family == number]
    return rows[np.lexsort((rows, -pool.support[rows].astype(np.int64)))][:most]


def reading_order(pool: RuleSet, theory: Theory) -> Longs:
    """Return rows of the pool: the first rules of all theories, then the second ones and so on; the rest by weight."""
    chosen = theory.chosen(pool)
    first = theory.rows[chosen[np.lexsort((chosen, -theory.explained[chosen], theory.place[chosen]))]]
    rest = pool.order()
    return np.concatenate((first, rest[~np.isin(rest, first)]))


def theory_document(theories: Sequence[TargetTheory], theory: Theory, labels: Labels) -> dict[str, Any]:
    """Return `theories`, target by target, for programs."""
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
    """Say what a rule adds in a few words.

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
    """Say how the theories do on validation facts, beside all rules."""
    if (pool := theory.pool_score) is None:
        return "no validation facts: how well the theories do beside all rules is not known"
    curve = ", ".join(f"{one.size}: {one.mrr:.3f}" for one in theory.curve())
    return f"mean 1 / rank of validation facts by rules a predicate: {curve}; all rules: {pool:.3f}"


def ties_sentence(theory: Theory, predicates: Iterable[Predicate]) -> str | None:
    """Say what orders answers of `predicates` that the rules leave tied; None where nothing does."""
    if not theory.aggregation.by_frequency or not any(predicate.arity == 2 for predicate in predicates):
        return None
    return (
        "Answers that the rules leave tied are ordered by the frequency table of the predicate: how often each entity "
        "stands in that place of its facts, one table for each direction. It counts less than any rule."
    )
