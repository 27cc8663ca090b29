"""Theories as people read them: in the order of what rules add, over other rows, before all other rules."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import kbs
from nlil import RuleSet, ScoredRule, parse_rule
from nlil.data.facts import Facts
from nlil.evaluation.ranking import Ranker
from nlil.kernel.evaluator import Evaluator
from nlil.kernel.exclusion import Exclusion
from nlil.kernel.statistics import rule_stats
from nlil.learning.run import Learned
from nlil.logic.labels import Labels
from nlil.logic.predicate import Step
from nlil.theory.listing import (
    reading_order,
    same_rules,
    scores_sentence,
    target_theories,
    theory_document,
    with_rank_gains,
)
from nlil.theory.theory import AUTHORS, SIZES, SizeScore, Theory, ValidationScores

TEXTS = (
    "mother(X, Y) :- married(X, Z1), father(Z1, Y).",
    "mother(X, Y) :- female(X).",
    "uncle(X, Y) :- father(Z1, X), father(Z1, Z2), mother(Z2, Y).",
    "mother(X, Y) :- married(Z1, X), father(Z1, Y).",
    "married(X, Y) :- married(Y, X).",
    "mother(X, max) :- true.",
)


@pytest.fixture(scope="module")
def pool() -> RuleSet:
    kb = kbs.family()
    evaluator = Evaluator(kb)
    rules = [parse_rule(text) for text in TEXTS]
    return RuleSet.of(kb, [ScoredRule(r, rule_stats(evaluator, r), 0.1) for r in rules])


@pytest.fixture(scope="module")
def theory(pool: RuleSet) -> Theory:
    """Two rules of mother, one of uncle; row 3 and row 5 say the same as the first and the second one."""
    longs = lambda *values: np.array(values, np.int64)  # noqa: E731
    sizes = tuple(SizeScore(size, 0.5) for size in SIZES)
    return Theory(
        rows=longs(0, 1, 2),
        place=longs(0, 1, 0),
        gain=np.array([0.5, 0.25, 0.75]),
        explained=longs(2, 1, 4),
        backs_up=longs(0, 2, 0),
        tried=longs(4, 4, 4),
        family_row=longs(3, 5),
        family=longs(0, 1),
        size=20,
        aggregation=replace(pool.aggregation, by_frequency=True),
        scores={"mother/2": ValidationScores(3, 0.75, sizes), "uncle/2": ValidationScores(1, 0.25, sizes)},
    )


def test_a_theory_lists_the_exclusions_that_it_uses(pool: RuleSet, theory: Theory) -> None:
    """At most as many as rules, for a size and for a share of the score; the first of each target stay."""
    mother, uncle = (next(p for p in pool.predicates if p.name == name) for name in ("mother", "uncle"))
    others = [p for p in pool.predicates if p.arity == 2 and p not in (mother, uncle)]
    never = [Exclusion(target, Step(p), 9.0 - i) for target in (mother, uncle) for i, p in enumerate(others)]
    assert len(others) > 1
    few = replace(theory, scores={"mother/2": replace(theory.scores["mother/2"], sizes=(SizeScore(1, 0.75),))})
    pool = replace(pool, exclusions=tuple(never))
    for asked, kept in (
        ({"size": 1}, [never[0], never[len(others)]]),
        ({"keep": 1.0}, [never[0], *never[len(others) :]]),
        ({}, never),
    ):
        rules = few.rules(pool, **asked)
        assert list(rules.exclusions) == kept
        listed = target_theories(pool, few, few.chosen(pool, **asked), exclusions=rules.exclusions)
        assert [e for one in listed for e in one.exclusions] == kept
    assert [e for one in target_theories(pool, few) for e in one.exclusions] == never


def test_ranks_rise_by_what_rules_gain(pool: RuleSet, theory: Theory) -> None:
    """All that the rules of a target gain is the distance from the frequency table alone to the whole theory."""
    kb, rules = kbs.family(), theory.rules(pool)
    mother, uncle = with_rank_gains(target_theories(pool, theory), rules, kb, 1)
    for target, rows in ((mother, [0, 1]), (uncle, [2])):
        facts = kb.facts.of(kb.predicate_id(target.predicate))

        def mean(some: list[int], facts: Facts = facts) -> float:
            ranks = Ranker(rules.take(np.array(some, np.int64)), kb, 1).rank(facts, facts[:0], hide=True)
            return float((1 / ranks.realistic).mean())

        gains = [one.ranks for one in target.rules]
        assert gains == pytest.approx([mean(rows[: n + 1]) - mean(rows[:n]) for n in range(len(rows))])
    assert mother.rules[0].ranks is not None
    assert mother.rules[0].ranks > 0.1
    assert all(one.ranks is None for one in target_theories(pool, theory)[0].rules)


def test_target_by_target_with_what_each_rule_adds(pool: RuleSet, theory: Theory) -> None:
    mother, uncle = target_theories(pool, theory)
    assert [str(one.scored.rule) for one in mother.rules] == list(TEXTS[:2])
    assert [(one.place, one.adds, one.num_same) for one in mother.rules] == [(1, 2, 1), (2, 1, 1)]
    assert (mother.num_rules, mother.explained, mother.tried) == (4, 3, 4)
    assert (uncle.num_rules, uncle.explained) == (1, 4)
    assert mother.scores is theory.scores["mother/2"]
    assert (mother.author, mother.authorship) == (None, "")
    for author in AUTHORS:
        (told, _) = target_theories(pool, replace(theory, authors={"mother/2": author}))
        assert "greedy cover" in told.authorship
    (first, _) = target_theories(pool, theory, theory.chosen(pool, size=1))
    assert len(first.rules) == 1


def test_what_is_left_out_takes_its_family_along(pool: RuleSet, theory: Theory) -> None:
    kept = np.array([5, 4, 2, 1])
    small = theory.over(kept, len(pool))
    left = pool.take(kept)
    (mother, uncle) = target_theories(left, small)
    assert [str(one.scored.rule) for one in mother.rules] == [TEXTS[1]]
    assert mother.rules[0].place == 2, "what a rule adds was counted after the one that is left out"
    assert [str(left.rule(int(row))) for row in same_rules(left, small, mother.rules[0].number)] == [TEXTS[5]]
    assert [str(one.scored.rule) for one in uncle.rules] == [TEXTS[2]]
    assert uncle.rules[0].num_same == 0


def test_rules_of_theories_are_read_first_then_the_others_by_weight(pool: RuleSet, theory: Theory) -> None:
    heavy = replace(pool, weight=np.array([0.1, 0.1, 0.1, 0.5, 0.9, 0.2], np.float32))
    assert reading_order(heavy, theory).tolist() == [2, 0, 1, 4, 3, 5]
    learned = Learned(heavy, None, (), theory=theory)  # type: ignore[arg-type]
    assert [str(s.rule) for s in learned.best_first().top(2)] == [TEXTS[2], TEXTS[0]]
    mine = learned.for_target("mother").best_first()
    assert [str(s.rule) for s in mine.top(9)] == [TEXTS[0], TEXTS[1], TEXTS[3], TEXTS[5]]
    plain = replace(learned, theory=None).best_first()
    assert str(plain.top(1)[0].rule) == TEXTS[4]


def test_the_rules_of_the_theory_alone_have_their_theory(pool: RuleSet, theory: Theory) -> None:
    small = Learned(pool, None, (), theory=theory).with_theory(size=1)  # type: ignore[arg-type]
    assert small.theory is not None
    assert [t.rules[0].adds for t in target_theories(small.rules, small.theory)] == [2, 4]
    assert small.best_first() is small.rules


def test_the_document_of_programs(pool: RuleSet, theory: Theory) -> None:
    told = theory_document(target_theories(pool, theory), theory, Labels.of(pool))
    assert [rule["explained"] for rule in told["rules"]] == [2, 1, 4]
    assert [rule["backs_up"] for rule in told["rules"]] == [0, 2, 0]
    assert (told["num_rules"], told["atoms"], told["breaks_ties_by_frequency"]) == (3, 2 + 1 + 3, True)
    assert told["pool_mrr"] == (3 * 0.75 + 0.25) / 4
    assert "5: 0.500" in scores_sentence(theory)
    assert "not compared" in scores_sentence(replace(theory, scores={}))
