"""Graph: the facts of a knowledge base as flat arrays. The only index of them.

A binary fact p(s, o) is two edges: s --2p--> o and o --(2p + 1)--> s. Edges are sorted by (node, code, neighbour), so
the edges of one node along one code are contiguous: a *span*. The span of (d, k ^ 1) lists the x with k(x, d), so it is
also the set of entities for which the body `k(X, d)` of an anchored rule holds.

The graph is a named tuple of arrays: compiled loops take it as one argument, `to` copies it to a device as tensors,
`save` and `open` keep it in a file that is mapped into memory. Ids have 32 bits; keys, counts and positions have 64;
span numbers have 32 unless there are too many.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np

from ..data.array_file import open_arrays, write_arrays
from ..data.arrays import Doubles, Floats, Ids, Longs, Mask, offsets, ranges, run_starts
from ..data.kb import KnowledgeBase
from ..errors import DataError
from .bodies import unary_mask
from .compiled import SmallWork, compiled

if TYPE_CHECKING:
    import torch

TensorGraph: TypeAlias = Any
"""A Graph with tensors in place of arrays, as `Graph.to` makes it."""


class Graph(NamedTuple):
    """Built with `Graph.of`; there is one per base, which lives as long as the base.

    The edges of node v are pointer[v] .. pointer[v + 1], those of span i span_pointer[i] .. span_pointer[i + 1]. The
    spans of node v are node_span[v] .. node_span[v + 1]; the spans of code k are code_span[code_pointer[k] :
    code_pointer[k + 1]]. The entities of graph g are graph_entity[graph_pointer[g] : graph_pointer[g + 1]].

    Attributes:
        num_entities, num_codes: entity ids and step codes are below these.
        is_unary: by predicate, whether it is unary; one more False entry for NO_STEP >> 1.
        pointer: by node, into the edges.
        code, neighbour: of each edge, its step code and the node it leads to.
        weight: of each edge; empty if all facts are crisp.
        back_span: of each edge, the span that holds the same fact walked backwards.
        node_span: by node, into the spans.
        span_pointer: by span, into the edges.
        span_node, span_code: of each span, the node and the code of all its edges.
        span_key: of each span, node * num_codes + code; then a largest key.
        code_pointer: by code, into code_span.
        code_span: the spans, sorted by (code, node).
        code_edges: by code, its number of edges.
        unary_pointer, unary_predicate: unary facts by entity, predicates ascending.
        member_pointer, member: unary facts by predicate, entities ascending.
        member_weight: the weight of each member; empty if all facts are crisp.
        graph_pointer: by graph, into graph_entity; a plain base is one graph.
        graph_of, graph_entity: the graph of each entity, the entities by graph; empty if there is one graph.
    """

    num_entities: int
    num_codes: int
    is_unary: Mask
    pointer: Longs
    code: Ids
    neighbour: Ids
    weight: Floats
    back_span: Ids
    node_span: Longs
    span_pointer: Longs
    span_node: Ids
    span_code: Ids
    span_key: Longs
    code_pointer: Longs
    code_span: Ids
    code_edges: Longs
    unary_pointer: Longs
    unary_predicate: Ids
    member_pointer: Longs
    member: Ids
    member_weight: Floats
    graph_pointer: Longs
    graph_of: Ids
    graph_entity: Ids

    @classmethod
    def of(cls, kb: KnowledgeBase) -> Graph:
        """Return the graph of the facts of `kb`; loops that ignore weights take the graph of `kb.crisp`."""
        found = _graphs.get(kb)
        if found is None:
            found = _graphs[kb] = _build(kb)
        return found

    def keep_for(self, kb: KnowledgeBase) -> None:
        """Make `Graph.of(kb)` return this graph from now on."""
        _graphs[kb] = self

    # other places ---------------------------------------------------------------------------------

    def to(self, device: str | torch.device, wide: bool = False) -> TensorGraph:
        """Return the graph with tensors on `device`; on the CPU they share the memory of the arrays.

        Args:
            device: cpu or cuda.
            wide: whether to make all integers 64 bits wide, so that arithmetic on ids and codes cannot overflow.
        """
        import torch

        def moved(value: Any) -> Any:
            if not isinstance(value, np.ndarray):
                return value
            tensor = torch.from_numpy(value).to(device)
            return tensor.long() if wide and not tensor.is_floating_point() else tensor

        return Graph(*map(moved, self))

    def save(self, path: str | Path) -> None:
        """Write the graph atomically to one file at `path`."""
        sizes = {"num_entities": self.num_entities, "num_codes": self.num_codes}
        arrays = {name: value for name, value in self._asdict().items() if name not in sizes}
        write_arrays(Path(path), {"graph": sizes}, arrays)

    @classmethod
    def open(cls, path: str | Path) -> Graph:
        """Return the graph that `save` wrote to `path`; its arrays are mapped into memory."""
        about, arrays = open_arrays(Path(path))
        if "graph" not in about:
            raise DataError("expected a graph written by nlil, got other arrays", Path(path))
        values: dict[str, Any] = about["graph"] | arrays
        return cls(**values)

    # sizes ----------------------------------------------------------------------------------------

    @property
    def is_crisp(self) -> bool:
        """Whether every fact is certain."""
        return not len(self.weight) and not len(self.member_weight)

    @property
    def num_spans(self) -> int:
        """The number of spans."""
        return len(self.span_node)

    @property
    def num_graphs(self) -> int:
        """The number of graphs in the base; 1 for a plain base."""
        return len(self.graph_pointer) - 1

    @property
    def node(self) -> Ids:
        """The node of each edge."""
        return np.repeat(np.arange(self.num_entities, dtype=np.int32), np.diff(self.pointer))

    def fan_out(self, code: int) -> float:
        """Return the mean number of edges of `code` per node that has any."""
        return float(self.code_edges[code]) / max(int(self.code_pointer[code + 1] - self.code_pointer[code]), 1)

    # look-ups, of arrays and of tensors -----------------------------------------------------------

    def edges(self, node: Any, code: Any) -> tuple[Any, Any]:
        """Return the range (low, high) of the edges of each node along `code`."""
        key = _long(node) * self.num_codes + code
        place = _library(self.span_key).searchsorted(self.span_key, key)
        return self.span_pointer[place], self.span_pointer[place + (self.span_key[place] == key)]

    def find(self, node: Any, code: int, target: Any) -> tuple[Any, Any]:
        """Return (row, position) of the edges node --code--> target that exist; at most one per row."""
        low, end = self.edges(node, code)
        low = lower_bound(self.neighbour, low, end, target)
        library = _library(self.neighbour)
        inside = library.where(low < end)[0]
        row = inside[self.neighbour[low[inside]] == target[inside]]
        return row, low[row]

    def find_members(self, node: Any, predicate: int) -> tuple[Any, Any]:
        """Return (row, position in `member`) of those of the nodes `node` that are in the unary `predicate`."""
        begin, end = int(self.member_pointer[predicate]), int(self.member_pointer[predicate + 1])
        library = _library(self.member)
        members = self.member[begin:end]
        if begin == end:
            none = node[:0]
            return none, none
        place = library.searchsorted(members, _as(node, members)).clip(max=end - begin - 1)
        row = library.where(members[place] == node)[0]
        return row, place[row] + begin

    def find_spans(self, node: Any, code: Any) -> Any:
        """Return the number of the span of each (node, code); -1 where no such edge exists."""
        key = _long(node) * self.num_codes + code
        place = _library(self.span_key).searchsorted(self.span_key, key)
        return _library(self.span_key).where(self.span_key[place] == key, place, -1)

    def members(self, predicate: int) -> Ids:
        """Return the entities of a unary predicate, ascending."""
        return self.member[self.member_pointer[predicate] : self.member_pointer[predicate + 1]]

    def edges_along(self, code: int) -> tuple[Ids, Longs]:
        """Return (node, position) of all edges of a code, by node and neighbour."""
        span = self.code_span[self.code_pointer[code] : self.code_pointer[code + 1]]
        low = self.span_pointer[span]
        size = self.span_pointer[span + 1] - low
        return np.repeat(self.span_node[span], size), ranges(low, size)

    def leaves(self) -> Mask:
        """Return whether each span has an edge to another node than its own."""
        others = self.neighbour != np.repeat(self.span_node, np.diff(self.span_pointer))
        return np.add.reduceat(others, self.span_pointer[:-1], dtype=np.int64) > 0 if len(others) else others

    def degree(self, node: Any) -> Any:
        """Return the number of edges of each node."""
        return self.pointer[node + 1] - self.pointer[node]

    def edges_of(self: TensorGraph, node: Any) -> tuple[Any, Any]:
        """Return (row, position) of all edges of each node, rows in order. For tensors."""
        from .calculus import ranges

        row, position = ranges(self.pointer[node], self.pointer[node + 1])
        return row, position

    def members_in(self: TensorGraph, predicate: Any, number: Any) -> tuple[Any, Any]:
        """Return (row, position in `member`) of the entities of each unary `predicate` in the graph `number`.

        For tensors.
        """
        from .calculus import ranges

        if not len(self.graph_of):
            return ranges(self.member_pointer[predicate], self.member_pointer[predicate + 1])
        if not len(self.member):
            return predicate[:0], predicate[:0]
        row, place = ranges(self.graph_pointer[number], self.graph_pointer[number + 1])
        entity = self.graph_entity[place]
        low, high = self.member_pointer[predicate[row]], self.member_pointer[predicate[row] + 1]
        low = lower_bound(self.member, low, high, entity)
        is_member = (low < high) & (self.member[low.clamp(max=len(self.member) - 1)] == entity)
        return row[is_member], low[is_member]

    def graph_numbers(self, entity: Any) -> Any:
        """Return the graph of each entity; None if there is one graph."""
        return _long(self.graph_of[entity]) if len(self.graph_of) else None

    def crosses(self) -> bool:
        """Return whether some edge leads from one graph to another: then it matters which graph a query is in."""
        if not len(self.graph_of):
            return False
        return bool((self.graph_of[self.node] != self.graph_of[self.neighbour]).any())

    def with_loops(self) -> Graph:
        """Return the graph with every unary fact p(x) as an additional edge x --2p--> x.

        The result has edges only, no spans.
        """
        own = np.repeat(np.arange(self.num_entities, dtype=np.int32), np.diff(self.unary_pointer))
        node = np.concatenate((self.node, own))
        code = np.concatenate((self.code, 2 * self.unary_predicate))
        order = np.argsort(node.astype(np.int64) * self.num_codes + code, kind="stable")
        neighbour = np.concatenate((self.neighbour, own))[order]
        weight = self.weight
        if not self.is_crisp:
            by_entity = np.argsort(self.member, kind="stable")  # predicates already ascend
            weight = np.concatenate((self.weight, self.member_weight[by_entity]))[order]
        none = np.zeros(0, np.int32)
        return self._replace(
            pointer=self.pointer + self.unary_pointer,
            code=code[order],
            neighbour=neighbour,
            weight=weight,
            back_span=none,
            code_span=none,
            span_node=none,
            span_code=none,
            span_key=none.astype(np.int64),
        )


_graphs: WeakKeyDictionary[KnowledgeBase, Graph] = WeakKeyDictionary()


def _build(kb: KnowledgeBase) -> Graph:
    num_entities, num_codes = kb.num_entities, max(kb.num_codes, 1)
    facts, unary = kb.binary, kb.unary
    node = np.concatenate((facts.subject, facts.object))
    code = np.concatenate((2 * facts.predicate, 2 * facts.predicate + 1)).astype(np.int32)
    key = node.astype(np.int64) * num_codes + code
    # Facts are sorted, so the neighbours of one node along one code already ascend, in both directions.
    order = np.argsort(key, kind="stable")
    key = key[order]
    is_first = run_starts(key)
    first = np.flatnonzero(is_first)
    span_key = key[first]
    span_code = (span_key % num_codes).astype(np.int32)
    number = span_numbers(len(first))
    back_span = np.empty(len(order), number)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    of_edge = np.cumsum(is_first) - 1
    back_span[place] = of_edge[np.roll(place, len(facts))]
    graph_of = np.zeros(0, np.int32) if kb.graph_of is None else kb.graph_of.astype(np.int32)
    one_graph = np.array([0, num_entities], np.int64)
    return Graph(
        num_entities,
        num_codes,
        unary_mask(kb.predicates),
        offsets(node[order], num_entities),
        code[order],
        np.concatenate((facts.object, facts.subject))[order],
        _twice(facts.weight)[order] if facts.weight is not None else np.zeros(0, np.float32),
        back_span,
        offsets(span_key // num_codes, num_entities),
        np.append(first, len(key)).astype(np.int64),
        (span_key // num_codes).astype(np.int32),
        span_code,
        np.append(span_key, np.iinfo(np.int64).max),
        offsets(np.sort(span_code), num_codes),
        np.argsort(span_code, kind="stable").astype(number),
        np.bincount(code, minlength=num_codes).astype(np.int64),
        *_by_entity(kb),
        kb.unary_pointer,
        unary.subject,
        np.zeros(0, np.float32) if unary.weight is None else unary.weight,
        one_graph if kb.graph_of is None else offsets(np.sort(graph_of), kb.num_graphs),
        graph_of,
        np.argsort(graph_of, kind="stable").astype(np.int32),
    )


def span_numbers(num_spans: int) -> Any:
    """Return the narrowest integer type that can number `num_spans` spans."""
    return np.int32 if num_spans < 2**31 else np.int64


def _twice(weight: Floats) -> Floats:
    return np.concatenate((weight, weight))


def _by_entity(kb: KnowledgeBase) -> tuple[Longs, Ids]:
    """Return (pointer, predicate) of the unary facts of each entity."""
    unary = kb.unary
    order = np.argsort(unary.subject, kind="stable")  # facts are sorted by predicate
    return offsets(unary.subject[order], kb.num_entities), unary.predicate[order]


# arrays and tensors ---------------------------------------------------------------------------------


def _library(array: Any) -> Any:
    """Return numpy or torch, whichever made the array."""
    if isinstance(array, np.ndarray):
        return np
    import torch

    return torch


def _long(values: Any) -> Any:
    return np.asarray(values, np.int64) if _is_numpy(values) else values.long()


def _is_numpy(values: Any) -> bool:
    return isinstance(values, np.ndarray | np.generic | int)


def _as(values: Any, like: Any) -> Any:
    """Return the values in the type of the array to be searched, which would otherwise be copied."""
    return values.astype(like.dtype) if _is_numpy(values) else values.to(like.dtype)


def lower_bound(values: Any, low: Any, high: Any, wanted: Any) -> Any:
    """Return for each row the first position in low .. high - 1 where `values` reach `wanted`, or `high`.

    `values` ascend from `low` to `high`.
    """
    library = _library(values)
    last = max(len(values) - 1, 0)
    while bool((low < high).any()):
        middle = (low + high) // 2
        is_open = low < high
        less = values[middle.clip(max=last)] < wanted if len(values) else is_open
        low = library.where(is_open & less, middle + 1, low)
        high = library.where(is_open & ~less, middle, high)
    return low


# compiled loops -------------------------------------------------------------------------------------


@compiled
def first_at_least(values: np.ndarray, low: int, high: int, wanted: int) -> int:
    """Return the first position in low .. high - 1 where `values`, ascending there, reach `wanted`; else `high`."""
    while low < high:
        middle = (low + high) // 2
        if values[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def find_span(graph: Graph, node: int, code: int) -> int:
    """Return the span of `node` along `code` in `graph`, or -1."""
    end = graph.node_span[node + 1]
    span = first_at_least(graph.span_code, graph.node_span[node], end, code)
    return span if span < end and graph.span_code[span] == code else -1


@compiled
def span_edges(graph: Graph, node: int, code: int) -> tuple[int, int]:
    """Return the range of the edges of `node` along `code` in `graph`."""
    span = find_span(graph, node, code)
    if span < 0:
        return 0, 0
    return graph.span_pointer[span], graph.span_pointer[span + 1]


@compiled
def find_edge(graph: Graph, node: int, code: int, neighbour: int) -> int:
    """Return the position of the edge `node` --`code`--> `neighbour` in `graph`, or -1."""
    low, high = span_edges(graph, node, code)
    place = first_at_least(graph.neighbour, low, high, neighbour)
    return place if place < high and graph.neighbour[place] == neighbour else -1


@compiled
def find_member(graph: Graph, node: int, predicate: int) -> int:
    """Return the position of the fact `predicate(node)` in `graph.member`, or -1."""
    end = graph.member_pointer[predicate + 1]
    place = first_at_least(graph.member, graph.member_pointer[predicate], end, node)
    return place if place < end and graph.member[place] == node else -1


@compiled
def has_unary(graph: Graph, node: int, predicate: int) -> bool:
    """Return whether `graph` has the fact `predicate(node)`."""
    for i in range(graph.unary_pointer[node], graph.unary_pointer[node + 1]):
        if graph.unary_predicate[i] == predicate:
            return True
    return False


# facts of targets ----------------------------------------------------------------------------


class TargetFacts(NamedTuple):
    """The binary facts of a list of targets: by (subject, object), and the targets of each subject.

    The facts of subject s are pointer[s] .. pointer[s + 1] of `object` and `target`, a position among the targets. The
    targets of s are subject_target[subject_pointer[s] : subject_pointer[s + 1]]; `size` is the number of facts of each
    target.

    Attributes:
        pointer: by subject, into object and target.
        subject_pointer: by subject, into subject_target.
    """

    pointer: Longs
    object: Ids
    target: Ids
    subject_pointer: Longs
    subject_target: Ids
    size: Longs


def target_facts(kb: KnowledgeBase, targets: Ids) -> TargetFacts:
    """Collect the facts of `kb` whose predicate is `targets[i]`, coded by the position i."""
    position = np.full(kb.num_predicates, -1, np.int32)
    position[targets] = np.arange(len(targets), dtype=np.int32)
    facts = kb.crisp.binary
    facts = facts[position[facts.predicate] >= 0]
    target = position[facts.predicate]
    order = np.lexsort((target, facts.object, facts.subject))
    count = max(len(targets), 1)
    pairs = np.sort(facts.subject.astype(np.int64) * count + target)  # np.unique takes ten times as long
    pairs = pairs[np.diff(pairs, prepend=-1) > 0]
    return TargetFacts(
        offsets(facts.subject[order], kb.num_entities),
        facts.object[order],
        target[order],
        offsets(pairs // count, kb.num_entities),
        (pairs % count).astype(np.int32),
        np.bincount(target, minlength=len(targets)).astype(np.int64),
    )


# paths ----------------------------------------------------------------------------------------------


def num_paths(graph: Graph, longest: int) -> list[float]:
    """Return the number of paths in `graph` with 1, 2, ... `longest` steps.

    Parallel edges between two entities count once.
    """
    ways: np.ndarray = np.ones(graph.num_entities)
    found = []
    with SmallWork(_one_step_more).of(longest * (graph.num_entities + len(graph.neighbour))):
        for _ in range(longest):
            ways = _one_step_more(graph, ways, np.full(graph.num_entities, -1, np.int32))
            found.append(float(ways.sum()))
    return found


@compiled
def _one_step_more(graph: Graph, ways: Doubles, seen: Ids) -> Doubles:
    """Return for each entity the sum of `ways` over its distinct neighbours."""
    result = np.zeros(graph.num_entities)
    for v in range(graph.num_entities):
        for e in range(graph.pointer[v], graph.pointer[v + 1]):
            there = graph.neighbour[e]
            if seen[there] != v:
                seen[there] = v
                result[v] += ways[there]
    return result
