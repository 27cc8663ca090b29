"""How many rules with constants a base has, from a sample of its heads.   [cost.py]

    q(X, c) :- k(X, d)     anchored
    q(X, c) :- k(X, Z1)    half-anchored

The rules of some heads q(X, c) are counted exactly. The number for all heads follows from the number of edges at the
entities X of each head.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..data.arrays import Ids, Longs
from ..data.facts import Facts

SAMPLED_EDGES = 2_000_000
"""About this many edges belong to the heads of the sample."""


def num_constant_rules(
    facts: Facts,
    num_entities: int,
    targets: Ids,
    min_support: int = 2,
    min_confidence: float = 0.0,
    most: int = SAMPLED_EDGES,
) -> float:
    """Return about how many anchored and half-anchored rules there are.

    Args:
        facts: binary facts.
        num_entities: entities of the base.
        targets: the predicates of heads.
        min_support: the least support of a rule.
        min_confidence: its least confidence.
        most: with at most this many edges at the entities of all heads, the number is exact.
    """
    spans = _Spans.of(facts, num_entities)
    heads = np.flatnonzero((spans.size >= min_support) & np.isin(spans.code >> 1, targets))
    edges = np.add.reduceat(spans.degree[spans.neighbour], spans.first)[heads] if len(heads) else heads
    order = np.random.default_rng(0).permutation(len(heads))
    sample = order[: max(1, int(np.searchsorted(np.cumsum(edges[order]), most, "right")))]
    counted = spans.num_rules(heads[sample], min_support, min_confidence) if len(heads) else 0
    return counted * float(edges.sum()) / max(float(edges[sample].sum()), 1.0)


@dataclass(frozen=True)
class _Spans:
    """Edges in both directions, in spans of one node and one code; the span of c and a code is also a head q(X, c).

    Attributes:
        neighbour: by edge, the other end.
        back: by edge, the span that has it in the other direction.
        first, size, node, code: by span, its first edge, its number of edges, its node and its code.
        degree: edges by node.
        pointer: by node, its first edge; one more at the end.
        span_pointer: by node, its first span; one more at the end.
    """

    neighbour: Longs
    back: Longs
    first: Longs
    size: Longs
    node: Longs
    code: Longs
    degree: Longs
    pointer: Longs
    span_pointer: Longs

    @classmethod
    def of(cls, facts: Facts, num_entities: int) -> _Spans:
        ends = facts.subject.astype(np.int64), facts.object.astype(np.int64)
        node, neighbour = np.concatenate(ends), np.concatenate(ends[::-1])
        code = np.concatenate((2 * facts.predicate.astype(np.int64), 2 * facts.predicate.astype(np.int64) + 1))
        num_codes = int(code.max(initial=0)) + 2
        order = np.argsort(node * num_codes + code, kind="stable")
        node, neighbour, code = node[order], neighbour[order], code[order]
        key, first, size = np.unique(node * num_codes + code, return_index=True, return_counts=True)
        pointer = np.searchsorted(node, np.arange(num_entities + 1))
        span_pointer = np.searchsorted(key // num_codes, np.arange(num_entities + 1))
        back = np.searchsorted(key, neighbour * num_codes + (code ^ 1))
        return cls(
            *(neighbour, back, first, size, key // num_codes, key % num_codes),
            *(np.diff(pointer), pointer, span_pointer),
        )

    def num_rules(self, heads: Longs, min_support: int, min_confidence: float) -> int:
        """Return the number of rules of `heads` with enough support and confidence; a fact does not support itself."""
        member, of_head = _ranges(self.first[heads], self.size[heads])
        x, head = self.neighbour[member], heads[of_head]
        edge, of_member = _ranges(self.pointer[x], self.degree[x])
        item, other = self.back[edge], self.neighbour[edge]
        is_own = item == head[of_member]  # the edge from X that is the fact itself
        anchored = of_head[of_member] * len(self.size) + item
        enough = _num_enough(anchored[~is_own], self.size, len(self.size), min_support, min_confidence)
        leads = ~is_own & (other != x[of_member])
        num_codes = int(self.code.max()) + 2
        step = self.code[item] ^ 1
        walks = np.unique(of_member[leads] * num_codes + step[leads])  # one for each X and step
        half = of_head[walks // num_codes] * num_codes + walks % num_codes
        starts = np.bincount(self.code, minlength=num_codes)
        return enough + _num_enough(half, starts, num_codes, min_support, min_confidence)


def _num_enough(keys: Longs, body_size: Longs, num_bodies: int, min_support: int, min_confidence: float) -> int:
    """Return how many `keys`, head * num_bodies + body, occur often enough for a rule."""
    key, support = np.unique(keys, return_counts=True)
    size = np.maximum(body_size[key % num_bodies], support)
    return int(((support >= min_support) & (support >= min_confidence * size)).sum())


def _ranges(first: Longs, size: Longs) -> tuple[Longs, Longs]:
    """Return the numbers first[i] .. first[i] + size[i] - 1 of all i, and the i of each."""
    of = np.repeat(np.arange(len(size)), size)
    begin = np.cumsum(size) - size
    return first[of] + np.arange(len(of)) - begin[of], of
