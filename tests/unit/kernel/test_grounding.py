"""Why a body holds, and where it fails."""

from __future__ import annotations

import pytest

import kbs
from nlil.data.kb import KnowledgeBase
from nlil.kernel.grounding import RuleQueries, count_groundings, first_failing, groundings
from nlil.kernel.witnesses import LineQuery
from nlil.logic.formula import Not
from nlil.logic.parse import parse_rule
from nlil.logic.text import fact_text


def ask(function, kb, text, *names, **options):
    return function(kb, parse_rule(text), *(kb.entities.id(name) for name in names), **options)


def test_a_grounding_reads_like_the_rule():
    rule = "uncle(X, Y) :- male(X), mother(Z1, X), mother(Z1, Z2), mother(Z2, Y)."
    (grounding,) = ask(groundings, kbs.family(), rule, "tom", "max")
    assert grounding.bindings == (("X", "tom"), ("Y", "max"), ("Z1", "ann"), ("Z2", "bea"))
    assert [fact_text(f) for f in grounding.facts] == [
        "male(tom)",
        "mother(ann, tom)",
        "mother(ann, bea)",
        "mother(bea, max)",
    ]
    assert grounding.weight == 1.0
    assert grounding.absent == ()


def test_an_inverse_first_step_names_the_far_end_first():
    (grounding,) = ask(groundings, kbs.street(), "wet(X) :- inside(Z1, Z2), wearing(Z1, Z3).", "a4")
    assert grounding.bindings == (("X", "a4"), ("Z1", "a1"), ("Z2", "a3"), ("Z3", "a2"))


def test_negation_names_what_is_absent():
    rule = "p(X) :- female(X), \\+ mother(X, Z1)."
    (grounding,) = ask(groundings, kbs.family(), rule, "dora")
    assert [fact_text(f) for f in grounding.facts] == ["female(dora)"]
    assert grounding.absent == (parse_rule(rule).body.arguments[1].argument,)
    assert ask(groundings, kbs.family(), rule, "ann") == []


def test_a_conjunction_combines_and_a_disjunction_lists():
    kb = kbs.family()
    both = "p(X) :- mother(X, Z1), married(X, Z2), mother(X, Z3)."
    assert ask(count_groundings, kb, both, "ann") == 4
    assert len(ask(groundings, kb, both, "ann", limit=3)) == 3
    either = "p(X) :- mother(X, Z1) ; married(X, Z2) ; father(X, Z3)."
    found = ask(groundings, kb, either, "ann")
    assert [dict(g.bindings) for g in found] == [
        {"X": "ann", "Z1": "bea"},
        {"X": "ann", "Z1": "tom"},
        {"X": "ann", "Z2": "sam"},
    ]
    assert ask(count_groundings, kb, either, "ann") == 3


def test_distinct_variables_are_different_entities():
    rule = "p(X) :- mother(X, Z1), father(Z2, Z1), father(Z2, Z3)"
    apart = ", X \\= Z1, X \\= Z2, X \\= Z3, Z1 \\= Z2, Z1 \\= Z3, Z2 \\= Z3"
    assert ask(count_groundings, kbs.family(), rule, "ann") == 4
    assert ask(count_groundings, kbs.family(), rule + apart, "ann") == 2
    for grounding in ask(groundings, kbs.family(), rule + apart, "ann"):
        entities = [entity for _, entity in grounding.bindings]
        assert len(set(entities)) == len(entities) == 4


def test_a_prior_holds_without_facts():
    (grounding,) = ask(groundings, kbs.family(), "uncle(X, max) :- true.", "ann", "max")
    assert grounding.bindings == (("X", "ann"),)
    assert grounding.facts == ()
    assert ask(groundings, kbs.family(), "uncle(X, max) :- true.", "ann", "cleo") == []


def test_hiding_the_query_s_own_fact():
    assert len(ask(groundings, kbs.family(), "uncle(X, Y) :- uncle(X, Y).", "tom", "max")) == 1
    assert ask(groundings, kbs.family(), "uncle(X, Y) :- uncle(X, Y).", "tom", "max", hide=True) == []


def test_where_a_chain_breaks():
    kb = kbs.family()
    rule = "uncle(X, Y) :- male(X), mother(Z1, X), mother(Z1, Z2), mother(Z2, Y)."
    assert ask(first_failing, kb, rule, "tom", "max") is None
    miss = ask(first_failing, kb, rule, "bea", "max")
    assert (miss.statement, miss.reached, miss.at) == (parse_rule(rule).body.arguments[0], 0, ("bea",))
    miss = ask(first_failing, kb, rule, "tom", "dora")
    assert (miss.statement, miss.reached, miss.at) == (parse_rule(rule).body.arguments[1], 2, ("bea", "tom"))


def test_a_negation_that_fails_says_so():
    miss = ask(first_failing, kbs.family(), "p(X) :- female(X), \\+ mother(X, Z1).", "ann")
    assert isinstance(miss.statement, Not)
    assert miss.reached == 1


def test_candidates_are_found_without_listing_groundings(monkeypatch: pytest.MonkeyPatch):
    """There are as many groundings as walks: through a hub, or over five steps, millions."""
    facts = [(f"u{i}", "likes", f"i{j}") for i in range(6) for j in range(6)]
    kb = KnowledgeBase.from_facts([*facts, ("u9", "likes", "i9"), ("i2", "costs", "much")])

    def listing(query: LineQuery):
        raise AssertionError("groundings are listed")

    monkeypatch.setattr(LineQuery, "witnesses", listing)
    walk = "likes(X, Z1), likes(Z2, Z1), likes(Z2, Y)"
    for text, expected in {
        f"p(X, Y) :- {walk}.": {f"i{j}" for j in range(6)},
        "p(X, Y) :- likes(X, Z1), likes(Y, Z1).": {f"u{i}" for i in range(6)},
        f"p(X, Y) :- {walk}, costs(Y, much).": {f"i{j}" for j in range(6)},
        f"p(X, Y) :- {walk} ; costs(Y, much).": set(kb.entities),
    }.items():
        found = RuleQueries(kb, parse_rule(text), hide=False).candidates(kb.entities.id("u1"))
        assert set(kb.entities.names(found)) == expected, text
