"""Changed bases, remedies and necessary facts: what is said about a change is what explaining the changed base says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nlil.explanation.rule_card as rule_cards
import oracle
from nlil.data.facts import NO_OBJECT, Facts
from nlil.data.kb import KnowledgeBase
from nlil.explanation.changes import changed
from nlil.explanation.disputes import check
from nlil.explanation.rule_card import rule_card
from nlil.explanation.what_if import necessary_facts, what_if
from nlil.explanation.why import Explainer, explain
from nlil.explanation.why_not import why_not
from nlil.kernel.graph import Graph
from nlil.kernel.ruleset import RuleSet
from nlil.logic.parse import parse_rule
from nlil.logic.predicate import Fact
from property.engine_cases import BIG, KNOWS, NAMES, PREDICATES, bases, rules
from property.test_explanation import aggregations, entities, exclusions, the_fact, within_graphs, written

rows = st.tuples(st.integers(0, 3), entities, entities).map(
    lambda r: r if PREDICATES[r[0]].arity == 2 else (r[0], r[1], NO_OBJECT)
)


def as_rows(kb: KnowledgeBase) -> set[tuple[int, int, int]]:
    return set(zip(kb.facts.predicate.tolist(), kb.facts.subject.tolist(), kb.facts.object.tolist()))


def rebuilt(kb: KnowledgeBase, add: list[Fact], without: list[Fact]) -> KnowledgeBase:
    """The changed base from its facts alone, every index built anew."""
    gone = {(kb.predicate_id(f.predicate), *(kb.entities.id(a) for a in f.arguments)) for f in without}
    keep = [
        (p, s, o)[: 2 if o == NO_OBJECT else 3] not in gone
        for p, s, o in zip(kb.facts.predicate.tolist(), kb.facts.subject.tolist(), kb.facts.object.tolist())
    ]
    facts = kb.facts[np.asarray(keep, bool)]
    for f in add:
        ids = [kb.entities.id(a) for a in f.arguments]
        columns = (kb.predicate_id(f.predicate), ids[0], ids[1] if len(ids) == 2 else NO_OBJECT)
        facts = facts + Facts(*(np.asarray([c], np.int32) for c in columns))
    return kb.with_facts(facts)


def some_changes(kb: KnowledgeBase, drawn: list[tuple[int, int, int]]) -> tuple[list[Fact], list[Fact]]:
    """(add, without): facts that are there go, others come."""
    there = as_rows(kb)
    facts = {row: kb.fact(*row) for row in dict.fromkeys(drawn)}
    return [f for row, f in facts.items() if row not in there], [f for row, f in facts.items() if row in there]


@given(bases(), st.lists(rows, max_size=4))
@settings(deadline=None, max_examples=100)
def test_the_graph_of_a_changed_base_is_that_of_a_new_one(kb, drawn):
    add, without = some_changes(kb, drawn)
    got, expected = changed(kb, add, without), rebuilt(kb, add, without)
    assert as_rows(got) == as_rows(expected)
    for name, one, other in zip(Graph._fields, Graph.of(got), Graph.of(expected)):
        assert np.array_equal(one, other), name
        assert np.asarray(one).dtype == np.asarray(other).dtype, name


@given(
    bases().map(within_graphs),
    st.lists(written, min_size=1, max_size=8),
    st.sampled_from([BIG, KNOWS, KNOWS]),
    entities,
    entities,
    aggregations,
    exclusions,
    st.lists(rows, min_size=1, max_size=3),
)
@settings(deadline=None, max_examples=60)
def test_what_if_is_what_the_changed_base_says(kb, scored, target, x, y, aggregation, exclusions, drawn):
    of = replace(RuleSet.of(kb, scored, aggregation), exclusions=exclusions)
    fact = the_fact(kb, target, x, y)
    add, without = some_changes(kb, drawn)
    got = what_if(of, kb, fact, add=add, without=without, top=100)
    assert got.before == explain(of, kb, fact, top=100)
    assert got.after == explain(of, rebuilt(kb, add, without), fact, top=100)
    assert got.to_dict()["score_after"] == got.after.score
    assert str(got)


@given(
    bases().map(within_graphs),
    st.lists(written, min_size=1, max_size=8),
    st.sampled_from([BIG, KNOWS, KNOWS]),
    entities,
    entities,
    aggregations,
    exclusions,
)
@settings(deadline=None, max_examples=60)
def test_remedies_hold_on_the_changed_base(kb, scored, target, x, y, aggregation, exclusions):
    of = replace(RuleSet.of(kb, scored, aggregation), exclusions=exclusions)
    fact = the_fact(kb, target, x, y)
    got = why_not(of, kb, fact, top=4, facts=2)
    assert got.score == explain(of, kb, fact).score
    assert (got.excluded is not None) == (got.lifted is not None)
    found = [(h.rule, r) for h in got.rules for r in h.remedies] + ([(None, got.lifted)] if got.lifted else [])
    for rule, remedy in found:
        facts = [remedy.change.fact]
        new = rebuilt(kb, *(facts, []) if remedy.change.action == "add" else ([], facts))
        assert as_rows(new) != as_rows(kb)
        assert remedy.score == explain(of, new, fact).score
        assert rule is None or oracle.value(oracle.World.of(new), rule, fact.arguments, hide=True) > 0
    assert (got.best is None) == (not found)
    assert got.best is None or got.best.score == max(remedy.score for _, remedy in found)


@given(bases(weighted=False).map(within_graphs), rules(), entities, entities)
@settings(deadline=None, max_examples=80)
def test_a_rule_that_one_change_would_mend_gets_a_remedy(kb, rule, x, y):
    """Compared with trying out every fact that could come or go."""
    _compare_with_all_changes(kb, rule, x, y)


REPEATED = tuple(
    map(
        parse_rule,
        (
            "knows(X, Y) :- likes(X, Z1), likes(Z2, Z1), likes(Z2, Y).",
            "knows(X, Y) :- likes(X, Z1), likes(Z1, Y).",
            "knows(X, Y) :- likes(X, Z1), likes(Z1, Z2), likes(Z2, Y).",
            "knows(X, Y) :- likes(X, Z1), red(Z1), likes(Z1, Z2), red(Z2), knows(Z2, Y).",
            "knows(X, Y) :- likes(X, Z1), red(Z1), likes(Y, Z2), red(Z2).",
            "knows(X, Y) :- likes(X, Z1), red(Z1), likes(X, Z2), big(Z2).",
            "big(X) :- likes(X, Z1), likes(Z2, Z1), red(Z2).",
            "big(X) :- likes(X, Z1), likes(Z1, X), Z1 \\= X.",
            "big(X) :- red(X), likes(Z1, X), red(Z1).",
            "big(X) :- \\+ (likes(X, Z1), red(Z1)), \\+ likes(Z2, a).",
            "big(X) :- (likes(X, Z1), knows(Z1, a)), (likes(X, Z2), knows(Z2, b)) ; red(a), red(X).",
        ),
    )
)


@given(bases(weighted=False).map(within_graphs), st.sampled_from(REPEATED), entities, entities)
@settings(deadline=None, max_examples=150)
def test_a_fact_that_is_needed_twice_is_found(kb, rule, x, y):
    _compare_with_all_changes(kb, rule, x, y)


def _compare_with_all_changes(kb, rule, x, y):
    fact = the_fact(kb, rule.target, x, y)
    world = oracle.World.of(kb)
    fires = oracle.value(world, rule, fact.arguments, hide=True) > 0
    if fires or not oracle.is_head_tuple(world, rule, fact.arguments):
        return
    of = RuleSet.of(kb, [_scored(rule)])
    possible = [
        kb.fact(p, s, o)
        for p in range(4)
        for s in range(len(NAMES))
        for o in (range(len(NAMES)) if PREDICATES[p].arity == 2 else [NO_OBJECT])
    ]
    if kb.graph_of is not None:
        graph = dict(zip(NAMES, kb.graph_of.tolist()))
        possible = [f for f in possible if graph[f.arguments[0]] == graph[f.arguments[-1]]]
    # The fact that is asked about is hidden: whether it comes or goes changes nothing.
    helps = {f for f in possible if f != fact and _fires(kb, rule, f, fact.arguments)}
    got = why_not(of, kb, fact, facts=30)
    shown = {r.change.fact for h in got.rules for r in h.remedies}
    assert shown <= helps
    assert len(shown) == min(len(helps), 30), (helps, shown)


def _fires(kb, rule, change, arguments) -> bool:
    """With a fact more, or fewer if the base has it."""
    is_there = change in oracle.World.of(kb).weight
    changed_base = rebuilt(kb, [] if is_there else [change], [change] if is_there else [])
    return oracle.value(oracle.World.of(changed_base), rule, arguments, hide=True) > 0


def _scored(rule):
    from nlil.logic.rule import RuleStats, ScoredRule

    return ScoredRule(rule, RuleStats(1, 2, 3, None if rule.target.arity == 1 else 2), 0.5)


@given(
    bases().map(within_graphs),
    st.lists(written, min_size=1, max_size=8),
    st.sampled_from([BIG, KNOWS, KNOWS]),
    entities,
    entities,
    aggregations,
)
@settings(deadline=None, max_examples=50)
def test_necessary_facts_are_those_without_which_the_score_falls(kb, scored, target, x, y, aggregation):
    of = RuleSet.of(kb, scored, aggregation)
    fact = the_fact(kb, target, x, y)
    got = necessary_facts(of, kb, fact, limit=100)
    falls = [n.fall for n in got.facts]
    assert falls == sorted(falls, reverse=True)
    for n in got.facts:
        assert n.score == explain(of, rebuilt(kb, [], [n.fact]), fact).score < got.score
        assert n.fall == got.score - n.score
    if kb.facts.weight is None and not any("\\+" in str(s.rule) for s in scored):
        # Nothing was overlooked: without negation no other fact can lower the score.
        named = {n.fact for n in got.facts}
        for row in as_rows(kb):
            other = kb.fact(*row)
            assert other in named or explain(of, rebuilt(kb, [], [other]), fact).score >= got.score


@given(bases(weighted=False), rules(), st.integers(0, 3), st.integers(1, 4), st.booleans())
@settings(deadline=None, max_examples=120)
def test_a_card_shows_the_tuples_that_are_counted(kb, rule, offset, size, one_by_one):
    kb = within_graphs(kb)
    world = oracle.World.of(kb)
    everything = [(a, b) for a in NAMES for b in NAMES] if rule.target.arity == 2 else [(a,) for a in NAMES]
    facts = [t for t in everything if Fact(rule.target, t) in world.weight]
    examples = [t for t in facts if oracle.is_head_tuple(world, rule, t) and oracle.value(world, rule, t, True) > 0]
    others = [
        t
        for t in everything
        if t not in facts and oracle.is_head_tuple(world, rule, t) and oracle.value(world, rule, t, False) > 0
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rule_cards, "SMALL_FACTS", 1_000 if one_by_one else -1)
        card = rule_card(None, kb, rule, examples=size, offset=offset)
    assert (card.stats.support, card.stats.body_size) == (len(examples), len(examples) + len(others))
    assert [i.fact.arguments for i in card.examples] == examples[offset : offset + size]
    assert [i.fact.arguments for i in card.counterexamples] == others[offset : offset + size]
    assert card.predictions == card.counterexamples
    assert all(i.grounding is not None for i in (*card.examples, *card.counterexamples))
    low, high = card.interval
    assert 0 <= low <= card.stats.confidence <= high <= 1


@given(bases(weighted=False, graphs=False), st.lists(written, min_size=1, max_size=6), aggregations)
@settings(deadline=None, max_examples=30)
def test_the_evidence_of_a_dispute_does_not_use_the_disputed_fact(kb, scored, aggregation):
    of = RuleSet.of(kb, scored, aggregation)
    for dispute in check(of, kb, top=3, threads=1):
        assert len(dispute.evidence) == len(dispute.reasons)
        facts = oracle.World.of(kb).weight
        for ways in dispute.evidence:
            assert ways
            for way in ways:
                assert dispute.fact not in way.facts
                assert all(f in facts for f in way.facts)


def test_one_explainer_serves_many_changes():
    kb = KnowledgeBase.from_facts([("a", "p", "b"), ("b", "q", "c"), ("a", "q", "b")])
    of = RuleSet.of(kb, [_scored(parse_rule("p(X, Y) :- q(X, Y)."))])
    explainer = Explainer(of, kb)
    fact = kb.fact(kb.predicate_id(kb.predicate("p")), 0, 1)
    q = kb.fact(kb.predicate_id(kb.predicate("q")), 0, 1)
    assert explainer.score(fact) == pytest.approx(0.5)
    assert explainer.changed(without=[q]).score(fact) == 0
    assert explainer.changed(without=[q]).changed(add=[q]).score(fact) == explainer.score(fact)
