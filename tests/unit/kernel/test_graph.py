"""The graph of a base: its orders, its look-ups, its file; made once, and kept no longer than the base."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings

from nlil.data.kb import KnowledgeBase
from nlil.errors import DataError
from nlil.kernel.graph import Graph, find_span, has_unary, span_edges, span_numbers
from property.engine_cases import bases


def base() -> KnowledgeBase:
    return KnowledgeBase.from_facts([("a", "p", "b"), ("b", "q", "c", 0.4), ("c", "p", "a", 0.9)])


def edges_of(kb: KnowledgeBase) -> list[tuple[int, int, int, float]]:
    """(node, code, neighbour, weight) of all edges, from the facts alone."""
    facts = kb.binary
    weight = np.ones(len(facts)) if facts.weight is None else facts.weight
    rows = list(zip(facts.predicate.tolist(), facts.subject.tolist(), facts.object.tolist(), weight.tolist()))
    return sorted([(s, 2 * p, o, w) for p, s, o, w in rows] + [(o, 2 * p + 1, s, w) for p, s, o, w in rows])


def test_one_base_has_one_graph() -> None:
    kb = base()
    assert Graph.of(kb.crisp) is Graph.of(kb.crisp)
    assert len(Graph.of(kb.crisp).code) == 4  # the fact of weight .4 does not count
    assert len(Graph.of(kb).code) == 6
    assert Graph.of(base().crisp) is not Graph.of(kb.crisp)


def test_a_graph_goes_with_its_base() -> None:
    kb = base()
    Graph.of(kb.crisp)
    gone = weakref.ref(kb.crisp)
    del kb
    gc.collect()
    assert gone() is None


@given(kb=bases())
@settings(deadline=None)
def test_edges_and_spans_are_the_facts(kb: KnowledgeBase) -> None:
    graph, edges = Graph.of(kb), edges_of(kb)
    weight = graph.weight.tolist() if len(graph.weight) else [1.0] * len(edges)
    assert list(zip(graph.node.tolist(), graph.code.tolist(), graph.neighbour.tolist(), weight)) == edges
    spans = sorted({(node, code) for node, code, *_ in edges})
    assert list(zip(graph.span_node.tolist(), graph.span_code.tolist())) == spans
    for e, (node, code, neighbour, _) in enumerate(edges):
        assert spans[graph.back_span[e]] == (neighbour, code ^ 1)
        nodes, places = graph.edges_along(code)
        assert (node, neighbour) in list(zip(nodes.tolist(), graph.neighbour[places].tolist()))
    for i, (node, code) in enumerate(spans):
        mine = [there for here, step, there, _ in edges if (here, step) == (node, code)]
        assert graph.neighbour[graph.span_pointer[i] : graph.span_pointer[i + 1]].tolist() == mine
        assert graph.leaves()[i] == (mine != [node])
    by_code = [spans[i] for i in graph.code_span]
    assert by_code == sorted(spans, key=lambda span: (span[1], span[0]))
    assert graph.code_edges.tolist() == [sum(code == e[1] for e in edges) for code in range(graph.num_codes)]


@given(kb=bases())
@settings(deadline=None)
def test_look_ups_agree_in_loops_on_arrays_and_on_tensors(kb: KnowledgeBase) -> None:
    graph, edges = Graph.of(kb), edges_of(kb)
    tensors = graph.to("cpu")
    node = np.arange(kb.num_entities)
    for code in range(graph.num_codes):
        low, high = graph.edges(node, code)
        assert torch.stack(tensors.edges(torch.from_numpy(node), code)).tolist() == [low.tolist(), high.tolist()]
        spans = graph.find_spans(node, np.full(len(node), code))
        for x in node.tolist():
            mine = [e for e, edge in enumerate(edges) if edge[:2] == (x, code)]
            assert list(range(low[x], high[x])) == mine
            assert list(range(*span_edges(graph, x, code))) == mine
            assert spans[x] == find_span(graph, x, code)
        for target in node.tolist():
            row, position = graph.find(node, code, np.full(len(node), target))
            assert [edges[p][:3] for p in position] == [(x, code, target) for x in row.tolist()]
            assert len(row) == sum(edge[1:3] == (code, target) for edge in edges)
            there = tensors.find(torch.from_numpy(node), code, torch.full((len(node),), target))
            assert [part.tolist() for part in there] == [row.tolist(), position.tolist()]
    for predicate in range(kb.num_predicates):
        row, position = graph.find_members(node, predicate)
        assert row.tolist() == graph.member[position].tolist() == kb.members(predicate).tolist()
        there = tensors.find_members(torch.from_numpy(node), predicate)
        assert [part.tolist() for part in there] == [row.tolist(), position.tolist()]
        assert [has_unary(graph, x, predicate) for x in node] == [x in row for x in node]


@given(kb=bases())
@settings(deadline=None)
def test_loops_are_the_unary_facts(kb: KnowledgeBase) -> None:
    graph, unary = Graph.of(kb).with_loops(), kb.unary
    weight = np.ones(len(unary)) if unary.weight is None else unary.weight
    loops = [(s, 2 * p, s, w) for p, s, w in zip(unary.predicate.tolist(), unary.subject.tolist(), weight.tolist())]
    found = graph.weight.tolist() if len(graph.weight) else [1.0] * len(graph.code)
    rows = list(zip(graph.node.tolist(), graph.code.tolist(), graph.neighbour.tolist(), found))
    assert rows == sorted(edges_of(kb) + loops)


@given(kb=bases())
@settings(deadline=None)
def test_a_saved_graph_is_the_same_when_mapped(tmp_path_factory: pytest.TempPathFactory, kb: KnowledgeBase) -> None:
    path = tmp_path_factory.mktemp("graph") / "g"
    graph = Graph.of(kb)
    graph.save(path)
    opened = Graph.open(path)
    for name, one, other in zip(Graph._fields, graph, opened):
        assert np.array_equal(one, other), name
        assert np.asarray(one).dtype == np.asarray(other).dtype, name
    assert find_span(opened, 0, 0) == find_span(graph, 0, 0)
    assert list(path.parent.iterdir()) == [path]


def test_a_file_that_is_no_graph_or_half_of_one_is_told(tmp_path: Path) -> None:
    path = tmp_path / "g"
    Graph.of(base()).save(path)
    whole = path.read_bytes()
    path.write_bytes(b"something else")
    with pytest.raises(DataError, match="got another format"):
        Graph.open(path)
    for size in range(20, len(whole) - 1, 97):
        path.write_bytes(whole[:size])
        with pytest.raises(DataError, match="damaged or incomplete"):
            Graph.open(path)


def test_numbers_of_spans_are_as_wide_as_they_must_be() -> None:
    assert span_numbers(2**31 - 1) == np.int32
    assert span_numbers(2**31) == np.int64


def test_keys_of_large_ids_do_not_overflow() -> None:
    """Ids as of 10^8 entities and 10^5 predicates: node * num_codes is far beyond 32 bits."""
    graph = Graph.of(base())._replace(num_codes=200_000)
    node, code = np.array([99_999_999], np.int32), np.array([199_999], np.int32)
    key = 99_999_999 * 200_000 + 199_999
    graph = graph._replace(
        span_key=np.array([5, key, np.iinfo(np.int64).max]), span_pointer=np.array([0, 2, 2**33], np.int64)
    )
    assert [int(end[0]) for end in graph.edges(node, code)] == [2, 2**33]
    assert graph.find_spans(node, code).tolist() == [1]
    tensors = graph.to("cpu")
    low, high = tensors.edges(torch.from_numpy(node), torch.from_numpy(code))
    assert (int(low), int(high)) == (2, 2**33)
