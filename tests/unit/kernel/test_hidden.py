"""Hidden facts: numbers, arrays and tensors agree with what is written out here."""

from __future__ import annotations

from itertools import product

import numpy as np
import torch

from nlil.data.kb import KnowledgeBase
from nlil.kernel.hidden import (
    Hidden,
    HiddenFact,
    can_hide,
    class_mask,
    hidden_classes,
    hidden_mask,
    hidden_neighbour,
    hides,
    hides_edge,
    hides_member,
    hides_membership,
    hides_without_fact,
    is_own_fact,
    num_seen,
)
from nlil.logic.parse import parse_rule

CODES, NODES = range(4), range(3)
EDGES = np.array(list(product(CODES, NODES, NODES)))
HIDDEN = np.array(list(product(CODES, NODES, (-1, *NODES))))


def fact_of(code: int, here: int, there: int) -> tuple[int, int, int]:
    """(predicate, subject, object) of an edge."""
    return (code >> 1, there, here) if code & 1 else (code >> 1, here, there)


def is_hidden(hidden: np.ndarray, edge: np.ndarray) -> bool:
    """Both edges are the same fact."""
    return bool(hidden[2] >= 0 and fact_of(*hidden) == fact_of(*edge))


def kb() -> KnowledgeBase:
    """u and v are classes, w is not; a and b are joined by p and q."""
    facts = [("a", "p", "b"), ("b", "p", "a"), ("a", "q", "b"), ("a", "p", "a"), ("a", "u"), ("b", "v"), ("a", "w")]
    base = KnowledgeBase.from_facts(facts)
    classes = frozenset(base.predicate_id(base.predicate(name)) for name in "uv")
    return KnowledgeBase(base.entities, base.predicates, base.facts, classes=classes)


def ids(base: KnowledgeBase, names: str) -> list[int]:
    return [base.predicate_id(base.predicate(name)) for name in names]


def test_an_edge_is_hidden_where_it_is_the_same_fact() -> None:
    for hidden in HIDDEN:
        expected = [is_hidden(hidden, edge) for edge in EDGES]
        assert hides_edge(*hidden, *EDGES.T).tolist() == expected
        tensors = hides_edge(*torch.from_numpy(hidden), *torch.from_numpy(EDGES).T)
        assert tensors.tolist() == expected
        assert [bool(hides_edge(*hidden.tolist(), *edge)) for edge in EDGES.tolist()] == expected
        own = HiddenFact(*hidden.tolist(), -1, np.zeros(1, bool))
        assert [bool(hides(own, *edge)) for edge in EDGES.tolist()] == expected


def test_the_hidden_neighbour_is_where_the_hidden_edge_leads() -> None:
    for hidden in HIDDEN:
        for step, here in product(CODES, NODES):
            there = [n for n in NODES if is_hidden(hidden, np.array([step, here, n]))]
            assert hidden_neighbour(HiddenFact(*hidden.tolist(), -1, np.zeros(1, bool)), step, here) == (
                there[0] if there else -1
            )


def test_steps_that_can_hide_are_those_of_the_predicate() -> None:
    for code, step in product(CODES, CODES):
        assert can_hide(code, step) == (code >> 1 == step >> 1)
        pairs = [(x, y) for x, y in product(NODES, NODES) if x != y]
        assert is_own_fact(code, step) == all(hides_edge(code, x, y, step, x, y) for x, y in pairs)


def test_classes_are_hidden_together() -> None:
    base = kb()
    u, v, w = ids(base, "uvw")
    assert hidden_classes(base, [u]) == {u, v}
    assert hidden_classes(base, [w]) == {w}
    assert hidden_classes(base, [v, w]) == {u, v, w}
    assert hidden_classes(base, []) == frozenset()
    assert [hides_without_fact(base, t) for t in (u, v, w)] == [True, True, False]
    for target in (u, v, w):
        mask = hidden_mask(base, [target])
        assert len(mask) == base.num_predicates + 1
        assert not mask[-1]
        assert np.flatnonzero(mask).tolist() == sorted(hidden_classes(base, [target]))
        others = np.arange(base.num_predicates)
        assert hides_membership(class_mask(base), np.full_like(others, target), others).tolist() == mask[:-1].tolist()
        assert [hides_member(HiddenFact(-1, 0, -1, 0, mask), p, x) for p in others.tolist() for x in (0, 1)] == [
            bool(mask[p]) and x == 0 for p in others.tolist() for x in (0, 1)
        ]


def test_a_rule_hides_the_fact_of_its_head() -> None:
    base = kb()
    p, q, u, v = ids(base, "pquv")
    a, b = base.entities.id("a"), base.entities.id("b")
    pair = Hidden.of(base, parse_rule("p(X, Y) :- q(X, Y)."))
    assert pair == Hidden(p, frozenset())
    assert [pair.hides_step(code) for code in (2 * p, 2 * p + 1, 2 * q, 2 * q + 1)] == [True, True, False, False]
    assert pair.edge(a, b, 2 * p, a, b)
    assert pair.edge(a, b, 2 * p + 1, b, a)
    assert not pair.edge(a, b, 2 * p, b, a)
    assert not pair.edge(a, b, 2 * q, a, b)
    one = Hidden.of(base, parse_rule("u(X) :- p(X, Y)."))
    assert one == Hidden(None, frozenset({u, v}))
    assert not any(one.edge(a, b, code, a, b) for code in range(base.num_codes))
    assert [bool(one.member(a, p, node)) for p in (u, v, q) for node in (a, b)] == [
        True,
        False,
        True,
        False,
        False,
        False,
    ]


def test_a_query_sees_all_but_its_own_fact() -> None:
    assert num_seen(np.array([1, 1, 3]), np.array([True, False, True])).tolist() == [0, 1, 2]
