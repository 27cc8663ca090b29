"""Rules in text, answers out."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import kbs
from nlil.data.kb import KnowledgeBase
from nlil.errors import DataError, LimitError, RuleError, UnknownName
from nlil.kernel.evaluator import Evaluator, sparse_answers
from nlil.logic.parse import parse_rule

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
pytestmark = pytest.mark.parametrize("device", DEVICES)


def answers(kb, text, device, x=None, **options):
    """{entity: value} of p(x, ?) or p(?)."""
    evaluator, rule = Evaluator(kb, device, **options), parse_rule(text)
    if x is None:
        dense = evaluator.values(rule, np.arange(kb.num_entities))
        return {kb.entities.name(i): float(dense[i]) for i in np.flatnonzero(dense)}
    ((_, rows),) = sparse_answers(evaluator, rule, evaluator.ids([kb.entities.id(x)]))
    return dict(zip(kb.entities.names(rows.node.cpu().numpy()), rows.value.tolist(), strict=True))


def value(kb, text, query, device="cpu", hide=False):
    ids = [np.asarray([kb.entities.id(name)]) for name in query]
    return float(Evaluator(kb, device).values(parse_rule(text), *ids, hide=hide)[0])


def test_a_chain(device):
    rule = "grand(X, Y) :- mother(X, Z1), mother(Z1, Y)."
    assert answers(kbs.family(), rule, device, x="ann") == {"cleo": 1.0, "max": 1.0}
    assert answers(kbs.family(), rule, device, x="bea") == {}


def test_an_uncle_is_no_father(device):
    rule = "uncle(X, Y) :- mother(Z1, X), mother(Z1, Z2), mother(Z2, Y)"
    assert answers(kbs.family(), rule + ".", device, x="bea") == {"cleo": 1.0, "max": 1.0}
    distinct = rule + ", X \\= Z1, X \\= Z2, X \\= Y, Z1 \\= Z2, Z1 \\= Y, Z2 \\= Y."
    assert parse_rule(distinct).distinct
    assert answers(kbs.family(), distinct, device, x="bea") == {}
    assert answers(kbs.family(), distinct, device, x="tom") == {"cleo": 1.0, "max": 1.0}


def test_the_query_s_own_fact_is_hidden_both_ways_and_nothing_else(device):
    kb = kbs.family()
    assert value(kb, "married(X, Y) :- married(X, Y).", ("ann", "sam"), device) == 1.0
    assert value(kb, "married(X, Y) :- married(X, Y).", ("ann", "sam"), device, hide=True) == 0.0
    assert value(kb, "married(X, Y) :- married(Y, X).", ("ann", "sam"), device, hide=True) == 1.0
    back = "uncle(X, Y) :- uncle(X, Z1), uncle(Z2, Z1), uncle(Z2, Y)."
    assert value(kb, back, ("tom", "max"), device, hide=True) == 0.0
    assert value(kb, back, ("tom", "max"), device) == 1.0


def test_all_class_labels_of_the_object_are_hidden(device):
    kb = kbs.street()
    assert value(kb, "person(X) :- \\+ car(X).", ("a3",), device) == 0.0
    assert value(kb, "person(X) :- \\+ car(X).", ("a3",), device, hide=True) == 1.0
    assert value(kb, "person(X) :- wearing(X, Z1), shirt(Z1).", ("a1",), device, hide=True) == 1.0


def test_an_unanchored_set_is_that_of_the_query_s_own_graph(device):
    assert answers(kbs.street(), "wet(X) :- surfboard(Z1).", device) == {"b1": 1.0, "b2": 1.0, "b3": 1.0}
    assert answers(kbs.street(), "pair(X, Y) :- true.", device, x="b1") == {"b1": 1.0, "b2": 1.0, "b3": 1.0}


def test_soft_facts_add_up_to_one_at_most(device):
    kb = KnowledgeBase.from_facts([("a", "r", "b", 0.5), ("a", "r", "c", 0.25), ("b", "s", "d"), ("c", "s", "d")])
    assert value(kb, "p(X, Y) :- r(X, Z1), s(Z1, Y).", ("a", "d"), device) == 0.75
    assert value(kb, "p(X, Y) :- \\+ (r(X, Z1), s(Z1, Y)).", ("a", "d"), device) == 0.25
    assert value(kb, "p(X, Y) :- r(X, Z1) ; r(X, b).", ("a", "d"), device) == 0.875


def test_a_disjunction_is_guarded_only_if_every_branch_is(device):
    rule = "p(X, Y) :- married(X, Y) ; zero(Y)."
    kb = kbs.knowledge_base(kbs.FAMILY + "tom zero\n")
    assert answers(kb, rule, device, x="ann") == {"sam": 1.0, "tom": 1.0}
    assert answers(kb, rule, device, x="max") == {"tom": 1.0}
    assert answers(kb, "p(X, Y) :- married(X, Y) ; mother(X, Y).", device, x="ann") == {"sam": 1, "bea": 1, "tom": 1}


def test_constants_in_head_and_body(device):
    kb, rule = kbs.family(), "uncle(X, max) :- married(X, ann)."
    assert answers(kb, rule, device, x="sam") == {"max": 1.0}
    assert answers(kb, rule, device, x="ann") == {}
    assert answers(kb, "uncle(tom, Y) :- mother(bea, Y).", device, x="tom") == {"cleo": 1.0, "max": 1.0}
    assert answers(kb, "uncle(tom, Y) :- mother(bea, Y).", device, x="sam") == {}
    assert value(kb, rule, ("sam", "cleo"), device) == 0.0


def test_more_memory_is_asked_for_by_name(device):
    with pytest.raises(LimitError, match="raise --memory"):
        answers(kbs.family(), "p(X) :- mother(Z1, Z2).", device, memory=3 * 128)


def test_clear_errors(device):
    kb = kbs.family()
    with pytest.raises(UnknownName, match="mother"):
        answers(kb, "p(X) :- mothr(X, Z1).", device)
    with pytest.raises(UnknownName, match="entity 'anne'"):
        answers(kb, "p(X) :- mother(X, anne).", device)
    with pytest.raises(RuleError, match="x and y, got x alone"):
        answers(kb, "p(X, Y) :- mother(X, Y).", device)
    with pytest.raises(DataError, match="entity ids"):
        Evaluator(kb, device).values(parse_rule("p(X) :- female(X)."), np.asarray([99]))


def test_an_empty_base_and_no_queries(device):
    kb = KnowledgeBase.from_facts([("a", "r", "b")]).without([0])
    rule = parse_rule("r(X, Y) :- r(X, Z1), \\+ r(X, Y).")
    evaluator, none = Evaluator(kb, device), np.zeros(0, np.int64)
    assert list(sparse_answers(evaluator, rule, evaluator.ids(none))) == []
    assert evaluator.values(rule, none, none).tolist() == []
    assert answers(kb, "r(X, Y) :- r(X, Y).", device, x="a") == {}
