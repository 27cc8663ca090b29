"""Keys and numbers on the borders of 32 and 64 bits, for bases of 10^9 facts and 10^8 entities, without the memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nlil.data.facts import Facts, fact_keys
from nlil.data.kb import KnowledgeBase
from nlil.data.vocabulary import Vocabulary
from nlil.errors import DataError, LimitError
from nlil.evaluation.plan import stable_order
from nlil.kernel.bodies import NO_STEP, Lines, step_dtype
from nlil.kernel.derived import DerivedFacts, FoundFacts, directed
from nlil.kernel.graph import Graph, span_numbers
from nlil.kernel.ruleset import RuleSet
from nlil.logic.predicate import Predicate
from nlil.program.recursion import Goals

ENTITIES = 10**8
LAST = 2**31 - 2
"""The last id of the largest base."""
KB = KnowledgeBase.from_facts([("a", "p", "b"), ("b", "q", "c"), ("c", "p", "a")])


class Names(Vocabulary):
    """A vocabulary that says how many names it has, and has none."""

    def __init__(self, size: int) -> None:
        super().__init__([])
        self.size = size

    def __len__(self) -> int:
        return self.size


def ids(*values: int) -> Any:
    return np.array(values, np.int32)


def test_ids_end_where_32_bits_end() -> None:
    facts = Facts(ids(0), ids(LAST), ids(LAST))
    kb = KnowledgeBase(Names(2**31 - 1), (Predicate("p", 2),), facts)
    assert kb.num_entities == 2**31 - 1
    with pytest.raises(DataError, match="at most 2,147,483,647 entities, got 2,147,483,648"):
        KnowledgeBase(Names(2**31), (Predicate("p", 2),), facts)


def test_facts_that_were_found_are_told_apart_by_large_ids() -> None:
    predicate, subject = ids(LAST, LAST, 0, LAST, LAST), ids(LAST, LAST, LAST, 0, LAST)
    found = FoundFacts(predicate, subject, ids(LAST, LAST - 1, LAST, LAST, LAST), np.array([0.1, 0.2, 0.3, 0.4, 0.5]))
    assert found.best().confidence.tolist() == [0.3, 0.4, 0.2, 0.5]


def test_keys_of_facts_are_exact_whatever_the_ids() -> None:
    """Three ids of 31 bits do not fit in 63: subjects of a predicate are ranked first."""
    facts = Facts(ids(LAST, LAST, 0, LAST, LAST), ids(LAST, LAST, LAST, 0, LAST), ids(LAST, LAST - 1, LAST, LAST, LAST))
    (keys,) = fact_keys(facts)
    assert np.argsort(keys, kind="stable").tolist() == [2, 3, 1, 0, 4]
    assert len(set(keys.tolist())) == 4
    unique = facts.unique()
    assert list(zip(unique.predicate.tolist(), unique.subject.tolist(), unique.object.tolist())) == [
        (0, LAST, LAST), (LAST, 0, LAST), (LAST, LAST, LAST - 1), (LAST, LAST, LAST),
    ]  # fmt: skip
    assert facts.isin(unique[np.array([0, 3])]).tolist() == [True, False, True, False, True]


def test_packed_facts_keep_their_ids() -> None:
    """10^8 entities take 27 bits: with up to 512 predicates a fact is one number."""
    facts = Facts(ids(511, 511), ids(ENTITIES - 1, 0), ids(ENTITIES - 1, -1))
    found = facts.unique()
    assert found.subject.tolist() == [0, ENTITIES - 1]
    assert found.object.tolist() == [-1, ENTITIES - 1]
    assert found.predicate.tolist() == [511, 511]


def test_spans_and_steps_are_numbered_as_wide_as_they_need() -> None:
    assert span_numbers(2**31 - 1) == np.int32
    assert span_numbers(2**31) == np.int64
    assert step_dtype(2**15 - 1) == np.int16
    assert step_dtype(2**15) == np.int32


def test_spans_are_found_by_nodes_and_codes_of_any_size() -> None:
    """The key of a span is node * codes + code."""
    codes = 2**31 - 2
    graph = Graph.of(KB)
    key = np.array([5, LAST * codes + 3, LAST * codes + codes - 1], np.int64)
    graph = graph._replace(num_codes=codes, span_key=np.append(key, np.iinfo(np.int64).max))
    assert graph.find_spans(ids(LAST, LAST, LAST, 0), ids(3, codes - 1, 4, 5)).tolist() == [1, 2, -1, 0]


def test_keys_of_derived_edges_are_exact() -> None:
    changes = FoundFacts(
        ids(2_000, 2_001), ids(ENTITIES - 1, ENTITIES - 1), ids(ENTITIES - 2, -1), np.array([0.5, 0.25])
    )
    code, node, neighbour, confidence = directed(changes)
    assert list(zip(code.tolist(), node.tolist(), neighbour.tolist(), confidence.tolist())) == [
        (4_000, ENTITIES - 1, ENTITIES - 2, 0.5),
        (4_002, ENTITIES - 1, ENTITIES - 1, 0.25),
        (4_001, ENTITIES - 2, ENTITIES - 1, 0.5),
    ]
    derived = DerivedFacts(ENTITIES, np.arange(2_002) == 2_001)
    derived.put(changes)
    assert derived.levels.key.tolist() == [
        4_000 * ENTITIES + ENTITIES - 1, 4_001 * ENTITIES + ENTITIES - 2, 4_002 * ENTITIES + ENTITIES - 1,
    ]  # fmt: skip
    facts = derived.facts()
    assert [column.tolist() for column in facts] == [column.tolist() for column in changes]


def test_lines_that_differ_in_large_ids_stay_apart() -> None:
    """Their columns do not fit in one key of 64 bits."""
    steps = np.full((4, 6), LAST, np.int32)
    steps[1, 5] = LAST - 1
    steps[3, 0] = NO_STEP
    lines, number = Lines.of(steps, ids(LAST, LAST, LAST - 1, 0), ids(LAST, LAST, LAST, 0)).unique()
    assert lines.num_lines == len(set(number.tolist())) == 4


def test_rules_are_told_apart_by_large_constants() -> None:
    rules = RuleSet.of_lines(KB, np.zeros((3, 1)), head=1, head_entity=ids(LAST, LAST - 1, LAST), fixed=2)
    rules = RuleSet(
        rules.predicates, Names(2**31 - 1), rules.bodies, rules.head, rules.head_entity, rules.fixed, ids(0, 0, 0),
        rules.support, rules.body_size, rules.head_size, rules.pca_body,
    )  # fmt: skip
    assert rules.unique().head_entity.tolist() == [LAST, LAST - 1]


def test_items_are_sorted_beyond_2_to_the_31() -> None:
    for top in (2**32 - 1, 2**32, 2**40):
        keys = np.array([top, 2**31, 2**31 - 1, 2**31, 0])
        assert stable_order(keys).tolist() == [4, 2, 1, 3, 0]


def test_keys_of_tuples_that_do_not_fit_are_refused() -> None:
    """Sub-goals and examples of a logic program are told apart by keys, which must not wrap."""
    rows = np.array([[LAST, LAST, LAST], [0, 0, 1]], np.int64)
    with pytest.raises(LimitError, match="too many for 3 arguments"):
        Goals(rows, LAST + 1)
    assert Goals(rows[:, :2], LAST + 1).numbers(rows[::-1, :2]).tolist() == [1, 0]
