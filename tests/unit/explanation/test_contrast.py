"""Why one answer rather than another: only what differs."""

from __future__ import annotations

import pytest

import nlil
from nlil.data.kb import KnowledgeBase
from nlil.errors import NlilError, UnknownName
from unit.explanation.test_reason_groups import rule_set

KB = KnowledgeBase.from_facts(
    [
        ("ann", "lives_in", "bern"),
        ("bern", "in", "switzerland"),
        ("bern", "near", "france"),
        ("ann", "knows", "bob"),
        ("bob", "citizen_of", "france"),
        ("bob", "citizen_of", "switzerland"),
        ("ann", "speaks", "french"),
        ("o1", "man"),
        ("o2", "woman"),
        ("o1", "bearded"),
        ("o1", "adult"),
    ]
)
RULES = {
    "citizen_of(X, Y) :- knows(X, Z1), citizen_of(Z1, Y).": 0.5,
    "citizen_of(X, Y) :- lives_in(X, Z1), in(Z1, Y).": 0.6,
    "citizen_of(X, switzerland) :- speaks(X, french).": 0.4,
    "citizen_of(X, france) :- speaks(X, french).": 0.3,
    "man(X) :- bearded(X).": 0.6,
    "man(X) :- adult(X).": 0.2,
    "woman(X) :- adult(X).": 0.2,
}


def test_what_counts_for_both_as_much_is_not_named() -> None:
    got = nlil.contrast(rule_set(KB, RULES), KB, "citizen_of(ann, switzerland)", "france")
    assert [r.clause(got.first.fact, got.labels) for r in got.first.reasons] == [
        "ann lives in bern and bern is in switzerland",
        "ann speaks french",  # more for switzerland than for france
    ]
    assert got.second.reasons == ()
    assert (got.first.num_same, got.second.num_same) == (2, 2)
    assert str(got).splitlines()[0] == "Why ann is a citizen of switzerland rather than france"
    assert "for france: score " in str(got)
    assert "the same for both: 2 rules" in str(got)


def test_classes() -> None:
    got = nlil.contrast(rule_set(KB, RULES), KB, "man(o1)", "woman")
    assert [reason.facts[0].predicate.name for reason in got.first.reasons] == ["bearded"]
    assert got.names == ("man", "woman")
    document = got.to_dict()
    assert document["second"]["fact"] == "woman(o1)"
    assert document["first"]["same_share"] > 0


def test_refusals() -> None:
    rules = rule_set(KB, RULES)
    with pytest.raises(NlilError, match="rather than itself"):
        nlil.contrast(rules, KB, "citizen_of(ann, france)", "france")
    with pytest.raises(UnknownName, match="entity 'germany'"):
        nlil.contrast(rules, KB, "citizen_of(ann, france)", "germany")
    with pytest.raises(UnknownName, match="predicate 'child'"):
        nlil.contrast(rules, KB, "man(o1)", "child")
