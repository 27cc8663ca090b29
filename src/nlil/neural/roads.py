"""Roads: every fact as an edge, the layout that attention walks on.

Both directions of binary facts and, as an edge from an entity to itself, every unary fact, in one array
sorted by (node, code, neighbour): one expansion of a node's edges serves all operators at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ..data.kb import KnowledgeBase
from ..kernel.calculus import ranges

AT_ONCE = 2**21
"""Edges that are looked at together: bounds the memory of an expansion, changes nothing else."""


@dataclass(frozen=True, eq=False)
class Roads:
    num_entities: int
    num_codes: int
    pointer: Tensor  # int64 (N + 1,)
    code: Tensor  # int64 (E,)
    neighbour: Tensor  # int64 (E,)
    weight: Tensor | None  # float32 (E,)
    member_key: Tensor  # int64 (U,): (predicate * graphs + graph) * N + entity, ascending
    member_weight: Tensor | None
    graph_of: Tensor | None
    num_graphs: int

    @classmethod
    def of(cls, kb: KnowledgeBase, device: str | torch.device = "cpu") -> Roads:
        edges, unary = kb.adjacency, kb.unary
        node = np.concatenate([edges.node, unary.subject]).astype(np.int64)
        code = np.concatenate([edges.code, 2 * unary.predicate.astype(np.int64)])
        neighbour = np.concatenate([edges.neighbour, unary.subject]).astype(np.int64)
        crisp = edges.weight is None and unary.weight is None
        order = np.lexsort((neighbour, code, node))
        graph = np.zeros(kb.num_entities, np.int64) if kb.graph_of is None else kb.graph_of.astype(np.int64)
        key = (unary.predicate.astype(np.int64) * kb.num_graphs + graph[unary.subject]) * kb.num_entities
        key = key + unary.subject
        by_key = np.argsort(key, kind="stable")

        def full(weight: np.ndarray | None, size: int) -> np.ndarray:
            return np.ones(size, np.float32) if weight is None else weight.astype(np.float32)

        def tensor(array: np.ndarray) -> Tensor:
            return torch.from_numpy(np.ascontiguousarray(array)).to(device)

        both = np.concatenate([full(edges.weight, len(edges.code)), full(unary.weight, len(unary))])
        pointer = np.zeros(kb.num_entities + 1, np.int64)
        np.cumsum(np.bincount(node, minlength=kb.num_entities), out=pointer[1:])
        return cls(
            kb.num_entities,
            kb.num_codes,
            tensor(pointer),
            tensor(code[order].astype(np.int64)),
            tensor(neighbour[order]),
            None if crisp else tensor(both[order]),
            tensor(key[by_key]),
            None if crisp else tensor(full(unary.weight, len(unary))[by_key]),
            None if kb.graph_of is None else tensor(graph),
            kb.num_graphs,
        )

    @property
    def device(self) -> torch.device:
        return self.pointer.device

    def degree(self, node: Tensor) -> Tensor:
        return self.pointer[node + 1] - self.pointer[node]

    def edges(self, node: Tensor) -> tuple[Tensor, Tensor]:
        """(row, position): the edges of each node, rows in order."""
        return ranges(self.pointer[node], self.pointer[node + 1])

    def pieces(self, degree: Tensor) -> list[slice]:
        """Runs of rows whose edges together fit `AT_ONCE` (a single row may pass it)."""
        total = torch.cumsum(degree, 0)
        cuts, low = [], 0
        while low < len(degree):
            before = int(total[low - 1]) if low else 0
            high = max(low + 1, int(torch.searchsorted(total, before + AT_ONCE, right=True)))
            cuts.append(slice(low, high))
            low = high
        return cuts

    def members(self, predicate: Tensor, graph: Tensor) -> tuple[Tensor, Tensor]:
        """(row, position in member_key): the entities of each unary predicate in each graph."""
        low = (predicate * self.num_graphs + graph) * self.num_entities
        return ranges(
            torch.searchsorted(self.member_key, low), torch.searchsorted(self.member_key, low + self.num_entities)
        )
