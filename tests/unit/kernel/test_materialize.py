"""Fixpoints of small programs in text."""

from __future__ import annotations

import numpy as np
import pytest

import kbs
from nlil.data.facts import NO_OBJECT, Facts
from nlil.data.kb import KnowledgeBase
from nlil.data.vocabulary import Vocabulary
from nlil.errors import ConfigError, RuleError, UnknownName
from nlil.kernel.exclusion import Exclusion
from nlil.kernel.materialize import materialize, strata
from nlil.kernel.ruleset import RuleSet
from nlil.logic.parse import parse_rule
from nlil.logic.predicate import Predicate, Step
from nlil.logic.rule import RuleStats, ScoredRule
from nlil.logic.text import fact_text


def program(*texts):
    return [(parse_rule(text), confidence) for confidence, text in texts]


def derive(kb, *texts, **options):
    derived = materialize(kb, program(*texts), **options)
    f = derived.facts
    keys = zip(f.predicate.tolist(), f.subject.tolist(), f.object.tolist(), strict=True)
    return {fact_text(kb.fact(*key)): c for key, c in zip(keys, derived.confidence.tolist(), strict=True)}, derived


def without(kb, name):
    return kb.without([i for i, p in enumerate(kb.predicates) if p.name == name])


EVEN = ((1.0, "even(X) :- zero(X)."), (1.0, "even(X) :- even(Z2), succ(Z2, Z1), succ(Z1, X)."))


def test_recursion_reaches_the_fixpoint_and_writes_new_facts_only():
    found, derived = derive(without(kbs.even(), "even"), *EVEN)
    assert found == {"even(n0)": 1.0, "even(n2)": 1.0, "even(n4)": 1.0, "even(n6)": 1.0}
    assert derived.rounds == 4
    assert derive(kbs.even(), *EVEN)[0] == {}


def test_a_rule_without_a_base_case_derives_nothing():
    both_ways = (1.0, "even(X) :- even(Z2), succ(Z2, Z1), succ(Z1, X) ; succ(X, Z3), succ(Z3, Z4), even(Z4).")
    assert derive(without(kbs.even(), "even"), both_ways)[0] == {}


def test_a_long_chain_costs_its_length():
    size = 4000
    facts = [("0", "zero"), ("none", "even"), *((str(i), "succ", str(i + 1)) for i in range(size))]
    _, derived = derive(KnowledgeBase.from_facts(facts), *EVEN)
    assert derived.rounds == len(derived.facts) == size // 2 + 1


def test_confidence_is_the_best_of_rule_times_weakest_fact():
    kb = KnowledgeBase.from_facts(
        [("a", "r", "b", 0.5), ("b", "r", "c"), ("a", "s", "c", 0.875), ("z", "t", "z", 0.25)]
    )
    chain = (0.5, "t(X, Y) :- r(X, Z1), r(Z1, Y).")
    assert derive(kb, chain)[0] == {"t(a, c)": 0.25}
    # A better derivation that needs one round more replaces the first and what was built on it.
    better = [(1.0, "q(X, Y) :- s(X, Y)."), (1.0, "t(X, Y) :- q(X, Y)."), (0.5, "u(X) :- t(X, Z1).")]
    kb = kb.from_facts(
        [
            ("a", "r", "b", 0.5),
            ("b", "r", "c"),
            ("a", "s", "c", 0.875),
            ("z", "t", "z", 0.25),
            ("z", "q", "z", 0.25),
            ("z", "u"),
        ]
    )
    found, derived = derive(kb, chain, *better)
    assert found == {"t(a, c)": 0.875, "q(a, c)": 0.875, "u(a)": 0.4375}
    assert derived.rounds == 3


def test_facts_of_the_base_keep_their_weight():
    kb = KnowledgeBase.from_facts([("a", "p", "", 0.25), ("a", "q"), ("b", "q"), ("b", "p", "", 0.0)])
    assert derive(kb, (1.0, "p(X) :- q(X)."))[0] == {}


def test_negation_waits_for_its_stratum():
    kb = kbs.family()
    rules = [(1.0, "aunt(X, Y) :- \\+ uncle(X, Y), mother(X, Y)."), (1.0, "uncle(X, Y) :- mother(X, Y), male(Y).")]
    found, _ = derive(kb, *rules)
    assert found == {"uncle(ann, tom)": 1.0, "uncle(bea, max)": 1.0, "aunt(ann, bea)": 1.0, "aunt(bea, cleo)": 1.0}
    columns = RuleSet.of(kb, [ScoredRule(rule, RuleStats(0, 0, 0), 0.0) for rule, _ in program(*rules)])
    assert strata(columns).tolist() == [1, 0]


def test_a_cycle_through_negation_is_named():
    kb = KnowledgeBase.from_facts([("a", name) for name in "pqrs"])
    with pytest.raises(RuleError, match=r"r/1 -> p/1 -> q/1 -> r/1"):
        derive(kb, (1.0, "p(X) :- q(X)."), (1.0, "q(X) :- r(X)."), (1.0, "r(X) :- s(X), \\+ p(X)."))
    with pytest.raises(RuleError, match=r"p/1 -> p/1"):
        derive(kb, (1.0, "p(X) :- \\+ p(X)."))


def test_a_free_head_variable_ranges_over_its_graph():
    found, _ = derive(kbs.street(), (1.0, "holding(X, Y) :- \\+ shirt(X), surfboard(Y)."))
    assert set(found) == {"holding(b2, b3)", "holding(b3, b3)"}


def test_a_path_between_constants_belongs_to_the_graph_between_them():
    found, _ = derive(kbs.street(), (1.0, "tree(X) :- inside(a1, Z1), part_of(a4, Z1)."))
    assert set(found) == {"tree(a1)", "tree(a2)", "tree(a3)", "tree(a4)"}


def several_graphs():
    """p and q lead from a to b, which are in graph 0, through u in graph 1 and v in graph 2; w and t are in graph 3."""
    facts = [(1, 0, 2), (1, 0, 3), (2, 2, 1), (2, 3, 1), (0, 4, NO_OBJECT), (1, 4, 5)]
    predicates = (Predicate("big", 1), P, Q)
    columns = np.array(facts, np.int32).T
    return KnowledgeBase(
        Vocabulary("abuvwt"), predicates, Facts(*columns).unique(), np.array([0, 0, 1, 2, 3, 3], np.int32)
    )


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("big(X) :- p(a, Z1), q(Z1, b).", {"big(u)", "big(v)"}),
        ("big(X) :- \\+ (p(a, Z1), q(Z1, b)).", {"big(a)", "big(b)", "big(t)"}),
        # A fact about constants holds in every graph.
        ("q(X, Y) :- p(X, Y), p(a, u).", {"q(w, t)"}),
        ("q(X, Y) :- p(X, Y), \\+ p(a, u).", set()),
        # A constant of the head lies in the graph of the rule.
        ("p(X, a) :- big(X).", set()),
        ("p(X, t) :- big(X).", set()),
        ("q(X, t) :- big(X).", {"q(w, t)"}),
    ],
)
def test_rules_over_several_graphs(rule, expected):
    assert set(derive(several_graphs(), (1.0, rule))[0]) == expected


def test_conjunctions_see_what_both_sides_derived_before():
    kb = kbs.knowledge_base("".join(f"n{i} succ n{i + 1}\n" for i in range(4)) + "n0 p\nn0 q\nz r z\n")
    step = [(1.0, f"{name}(X) :- {name}(Z1), succ(Z1, X).") for name in "pq"]
    found, _ = derive(kb, *step, (1.0, "r(X, Y) :- p(X), q(Y)."))
    assert {fact for fact in found if fact[0] == "r"} == {f"r(n{i}, n{j})" for i in range(5) for j in range(5)}


def test_a_conjunction_is_as_sure_as_its_weakest_fact_and_weak_facts_deny_nothing():
    kb = KnowledgeBase.from_facts(
        [
            *[("a", "p", "b", 0.5), ("a", "q", "", 0.75), ("b", "p", "a", 0.75), ("b", "q", "", 0.5)],
            *[("b", "s", "", 0.4), ("a", "s", "", 0.5), ("z", "r", "z"), ("z", "t")],
        ]
    )
    assert derive(kb, (1.0, "r(X, Y) :- p(X, Y), q(X)."))[0] == {"r(a, b)": 0.5, "r(b, a)": 0.5}
    assert derive(kb, (1.0, "t(X) :- q(X), \\+ s(X)."))[0] == {"t(b)": 0.5}


def test_a_derived_fact_enters_a_rule_at_a_constant():
    kb = without(kbs.knowledge_base(kbs.EVEN + "n9 big\n"), "even")
    found, _ = derive(kb, *EVEN, (1.0, "big(X) :- even(n4), succ(n3, X)."), (1.0, "succ(X, n9) :- big(X)."))
    assert {"big(n4)", "succ(n4, n9)", "succ(n9, n9)"} <= set(found)
    found, _ = derive(kb, *EVEN, (1.0, "big(X) :- even(n3), succ(n3, X)."))
    assert not [fact for fact in found if fact.startswith("big")]


P, Q, R, T = (Predicate(name, 2) for name in "pqrt")
FACTS = [("a", "p", "b"), ("b", "p", "c"), ("c", "r", "a"), ("z", "q", "z"), ("z", "t", "z")]
PROGRAM = ((1.0, "q(X, Y) :- p(X, Y)."), (1.0, "q(X, Y) :- q(X, Z1), q(Z1, Y)."), (1.0, "t(X, Y) :- q(X, Y)."))


@pytest.mark.parametrize(
    ("exclusion", "gone"),
    [
        (Exclusion(Q, Step(R, inverse=True), 1.0), {"q(a, c)", "t(a, c)"}),  # t would have followed from q
        (Exclusion(T, Step(R, inverse=True), 1.0), {"t(a, c)"}),
        (Exclusion(Q, Step(R), 1.0), set()),
        (Exclusion(T, Step(P), 1.0), {"t(a, b)", "t(b, c)"}),
        (Exclusion(T, Step(Q), 1.0), set()),  # q is derived, and derived facts exclude nothing
    ],
)
def test_what_an_exclusion_rules_out_is_not_derived(exclusion, gone):
    kb = KnowledgeBase.from_facts(FACTS)
    everything, plain = derive(kb, *PROGRAM)
    found, derived = derive(kb, *PROGRAM, exclusions=(exclusion,))
    assert set(everything) - set(found) == gone
    assert {fact: everything[fact] for fact in found} == found
    mine = {fact for fact in gone if fact.startswith(exclusion.target.name)}
    assert (plain.num_excluded, derived.num_excluded) == (0, len(mine))


def test_facts_that_do_not_count_and_facts_of_the_base():
    kb = KnowledgeBase.from_facts(
        [("a", "p", "b", 0.4), ("b", "p", "a", 0.5), ("b", "q", "a"), ("c", "q", "c"), ("c", "r", "d"), ("d", "r", "c")]
    )
    rules = ((1.0, "q(X, Y) :- r(X, Y)."), (1.0, "q(X, Y) :- p(X, Y)."))
    found, derived = derive(kb, *rules, exclusions=(Exclusion(Q, Step(P), 1.0), Exclusion(Q, Step(R), 1.0)))
    # p(a, b) of weight .4 excludes nothing, and q(b, a) stays in the base although p(b, a) is there.
    assert set(found) == {"q(a, b)"}
    assert derived.num_excluded == 2


def test_rounds_can_be_limited():
    seen = []
    found, derived = derive(without(kbs.even(), "even"), *EVEN, max_rounds=2, progress=lambda *n: seen.append(n))
    assert set(found) == {"even(n0)", "even(n2)"}
    assert derived.rounds == 2
    assert seen == [(1, 1), (2, 2)]


def test_clear_errors():
    with pytest.raises(ConfigError, match="confidence"):
        derive(kbs.even(), (1.5, "even(X) :- zero(X)."))
    with pytest.raises(UnknownName, match="odd"):
        derive(kbs.even(), (1.0, "odd(X) :- zero(X)."))
