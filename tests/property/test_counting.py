"""The counting search against the evaluator: exact statistics, nothing missing, nothing invented."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nlil.data.kb import KnowledgeBase
from nlil.kernel.evaluator import Evaluator
from nlil.kernel.statistics import rule_stats
from nlil.logic.formula import ANY, TRUE, Constant, Statement, X, Y
from nlil.logic.predicate import Predicate, Step
from nlil.logic.rule import Head, Rule, smoothed_confidence
from nlil.search import typed
from nlil.search.count import count_rules
from nlil.search.options import CountOptions

ENTITIES = "abcdef"


@st.composite
def bases(draw: st.DrawFn) -> KnowledgeBase:
    """Up to 30 facts of two binary and two unary predicates over six entities, self-loops included."""
    entity = st.sampled_from(ENTITIES)
    binary = st.tuples(entity, st.sampled_from(["p", "q"]), entity)
    unary = st.tuples(entity, st.sampled_from(["u", "v"]))
    rows = draw(st.lists(binary, min_size=2, max_size=24)) + draw(st.lists(unary, max_size=8))
    return KnowledgeBase.from_facts([*rows, ("a", "p", "b"), ("c", "q", "d"), ("a", "u"), ("b", "v")])


def counted(kb: KnowledgeBase, **options: object) -> dict[Rule, object]:
    chosen = CountOptions(min_support=1, min_confidence=0.0, typed=False, **options)  # type: ignore[arg-type]
    rules = count_rules(kb, np.arange(kb.num_predicates), chosen).rules
    found = {scored.rule: scored.stats for scored in rules}
    assert len(found) == len(rules), "a rule was counted twice"
    return found


def check_statistics(kb: KnowledgeBase, threads: int) -> None:
    evaluator = Evaluator(kb)
    for rule, stats in counted(kb, max_length=3, samples=100, candidates=100, threads=threads).items():
        assert stats == rule_stats(evaluator, rule), str(rule)


@settings(deadline=None, max_examples=20)
@given(bases(), st.integers(1, 2))
def test_every_statistic_is_that_of_the_engine(kb: KnowledgeBase, threads: int) -> None:
    check_statistics(kb, threads)


@pytest.mark.slow
@settings(deadline=None, max_examples=300)
@given(bases(), st.integers(1, 2))
def test_every_statistic_is_that_of_the_engine_in_many_bases(kb: KnowledgeBase, threads: int) -> None:
    check_statistics(kb, threads)


@settings(deadline=None, max_examples=25)
@given(bases())
def test_typed_variants_have_exact_statistics(kb: KnowledgeBase) -> None:
    evaluator = Evaluator(kb)
    options = CountOptions(min_support=1, min_confidence=0.0, constants=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typed, "CHANCE", -1e9)  # so few facts are never above chance
        rules = count_rules(kb, np.arange(kb.num_predicates), options).rules
    for scored in rules:
        assert scored.stats == rule_stats(evaluator, scored.rule), str(scored.rule)


def test_a_filter_that_says_nothing_makes_no_variant() -> None:
    """q leads to the right end half of the time. The right ends are u; 30 ends are v, 19 of them right by chance."""
    facts: list[tuple[str, ...]] = []
    for i in range(50):
        facts += [(f"a{i}", "q", f"b{i}"), (f"a{i}", "p", f"b{i}"), (f"b{i}", "u"), (f"c{i}", "q", f"d{i}")]
    facts += [(f"b{i}", "v") for i in range(19)] + [(f"d{i}", "v") for i in range(11)]
    kb = KnowledgeBase.from_facts(facts)
    assert smoothed_confidence(19, 30) > typed.GAIN * smoothed_confidence(50, 100), "by its confidence it would be kept"
    options, target = CountOptions(constants=False), np.array([kb.predicate_id(Predicate("p", 2))])
    found = [str(scored.rule) for scored in count_rules(kb, target, options).rules]
    assert any("u(" in rule for rule in found)
    assert not any("v(" in rule for rule in found)


def binary_pool(kb: KnowledgeBase) -> list[Rule]:
    """Every rule of the promised shapes, written out."""
    steps = [Step(Predicate(name, 2), inverse) for name in "pq" for inverse in (False, True)]
    rules = []
    for name in "pq":
        target = Predicate(name, 2)
        head = Head.of(target)
        for length in (1, 2):
            for chain in itertools.product(steps, repeat=length):
                if chain != (Step(target),):
                    rules.append(Rule(head, Statement(X, chain, Y), distinct=True))
        for c in ENTITIES:
            for start, side in ((X, Head(target, (X, Constant(c)))), (Y, Head(target, (Constant(c), Y)))):
                rules.append(Rule(side, TRUE))
                for step in steps:
                    own = Step(target, inverse=start == Y)
                    rules.append(Rule(side, Statement(start, (step,), ANY), distinct=True))
                    rules += [
                        Rule(side, Statement(start, (step,), Constant(d)))
                        for d in ENTITIES
                        if not (step == own and d == c)
                    ]
    return rules


def unary_pool(kb: KnowledgeBase) -> list[Rule]:
    steps = [Step(Predicate(name, 2), inverse) for name in "pq" for inverse in (False, True)]
    rules = []
    for name in "uv":
        head = Head.of(Predicate(name, 1))
        rules.append(Rule(head, TRUE))
        for length in (0, 1, 2):
            for chain in itertools.product(steps, repeat=length):
                if chain:
                    rules.append(Rule(head, Statement(X, chain, ANY), distinct=True))
                for end in "uv":
                    if chain or end != name:
                        rules.append(Rule(head, Statement(X, (*chain, Step(Predicate(end, 1))), ANY), distinct=True))
        rules += [Rule(head, Statement(X, (step,), Constant(d))) for step in steps for d in ENTITIES]
    return rules


def has_dead_end(evaluator: Evaluator, rule: Rule) -> bool:
    """Whether a rule for a unary target has the same counts without its last atom."""
    body = rule.body
    if rule.target.arity == 2 or not isinstance(body, Statement) or len(body.steps) < 2:
        return False
    shorter = Rule(rule.head, Statement(X, body.steps[:-1], ANY), distinct=True)
    return rule_stats(evaluator, shorter) == rule_stats(evaluator, rule)


@settings(deadline=None, max_examples=6)
@given(bases())
def test_nothing_is_missing(kb: KnowledgeBase) -> None:
    """Every rule of the pool that explains a fact and has no dead part is found, and no other but longer chains."""
    evaluator = Evaluator(kb)
    found = counted(kb, max_length=3, samples=0)
    pool = [r for r in binary_pool(kb) + unary_pool(kb) if all(name in kb.entities for name in r.constants)]
    expected = {rule for rule in pool if rule_stats(evaluator, rule).support > 0 and not has_dead_end(evaluator, rule)}
    assert set(found) == expected


def test_threads_and_memory_change_nothing() -> None:
    random = np.random.default_rng(3)
    names = [f"e{i}" for i in range(40)]
    rows = [(random.choice(names), f"r{random.integers(4)}", random.choice(names)) for _ in range(300)]
    kb = KnowledgeBase.from_facts([tuple(map(str, row)) for row in rows])  # type: ignore[misc]
    texts = [
        [str(s) for s in count_rules(kb, np.arange(4), CountOptions(threads=threads, memory=memory)).rules]
        for threads, memory in ((1, 2**30), (3, 2**30), (2, 2**20))
    ]
    assert texts[0] == texts[1] == texts[2]
