"""Index: the facts of a knowledge base as tensors on one device, laid out for walking.

Edges of both directions are sorted by (node, code, neighbour), so the edges of one node along one step
are a range of the array, found by binary search on the key node * num_codes + code. Unary facts are
sorted keys predicate * num_entities + entity.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ..data.arrays import Doubles, Longs, offsets
from ..data.kb import KnowledgeBase


@dataclass(frozen=True, eq=False)
class Index:
    """Tensors of a KnowledgeBase; build it once per base and device with `Index.of`."""

    num_entities: int
    num_codes: int
    device: torch.device
    key: Tensor  # int64 (E,): node * num_codes + code, ascending
    neighbour: Tensor  # int32 (E,): ascending within a key
    weight: Tensor | None  # float64 (E,), None when every fact is crisp
    unary_key: Tensor  # int64 (U,): predicate * num_entities + entity, ascending
    unary_weight: Tensor | None
    graph_of: Tensor | None  # int64 (N,), None when there is one graph
    graph_pointer: Tensor  # entities of graph g are graph_entity[graph_pointer[g] : graph_pointer[g + 1]]
    graph_entity: Tensor
    edge_counts: Longs  # edges per code
    fanout: Doubles  # mean edges per code over the nodes that have any

    @classmethod
    def of(cls, kb: KnowledgeBase, device: str | torch.device = "cpu") -> Index:
        where = torch.device(device)
        edges, unary = kb.adjacency, kb.unary
        key = kb.edge_key
        unary_key = unary.predicate.astype(np.int64) * kb.num_entities + unary.subject
        graphs = np.zeros(kb.num_entities, np.int64) if kb.graph_of is None else kb.graph_of.astype(np.int64)
        edge_counts = np.bincount(edges.code, minlength=kb.num_codes).astype(np.int64)
        sources = np.bincount(edges.code[np.diff(key, prepend=-1) != 0], minlength=kb.num_codes)

        def tensor(array: np.ndarray | None, dtype: torch.dtype) -> Tensor | None:
            return None if array is None else torch.from_numpy(np.ascontiguousarray(array)).to(where, dtype)

        def long(array: np.ndarray) -> Tensor:
            return torch.from_numpy(np.ascontiguousarray(array)).to(where, torch.int64)

        return cls(
            num_entities=kb.num_entities,
            num_codes=kb.num_codes,
            device=where,
            key=long(key),
            neighbour=torch.from_numpy(np.ascontiguousarray(edges.neighbour)).to(where),
            weight=tensor(edges.weight, torch.float64),
            unary_key=long(unary_key),
            unary_weight=tensor(unary.weight, torch.float64),
            graph_of=tensor(kb.graph_of, torch.int64),
            graph_pointer=long(offsets(np.sort(graphs), kb.num_graphs)),
            graph_entity=long(np.argsort(graphs, kind="stable")),
            edge_counts=edge_counts,
            fanout=edge_counts / np.maximum(sources, 1),
        )

    @property
    def is_crisp(self) -> bool:
        return self.weight is None and self.unary_weight is None

    @property
    def num_graphs(self) -> int:
        return len(self.graph_pointer) - 1

    def edges(self, node: Tensor, code: int) -> tuple[Tensor, Tensor]:
        """The range (low, high) of edges of each node along `code`."""
        key = node * self.num_codes + code
        return torch.searchsorted(self.key, key), torch.searchsorted(self.key, key, right=True)

    def find(self, node: Tensor, code: int, target: Tensor) -> tuple[Tensor, Tensor]:
        """(row, position) of the edges node --code--> target that exist; at most one per row."""
        low, end = self.edges(node, code)
        high = end
        last = max(len(self.neighbour) - 1, 0)
        # Bisection inside each row's range: a key (node, code, neighbour) would overflow on large bases.
        while bool((low < high).any()):
            middle = (low + high) // 2
            open_ = low < high
            less = self.neighbour[middle.clamp(max=last)] < target
            low = torch.where(open_ & less, middle + 1, low)
            high = torch.where(open_ & ~less, middle, high)
        inside = (low < end).nonzero().squeeze(1)
        row = inside[self.neighbour[low[inside]] == target[inside]]
        return row, low[row]

    def members(self, node: Tensor, predicate: int) -> tuple[Tensor, Tensor]:
        """(row, position) of the nodes that are in the unary predicate."""
        key = node + predicate * self.num_entities
        if len(self.unary_key) == 0:
            none = torch.zeros(0, dtype=torch.int64, device=self.device)
            return none, none
        position = torch.searchsorted(self.unary_key, key).clamp(max=len(self.unary_key) - 1)
        row = (self.unary_key[position] == key).nonzero().squeeze(1)
        return row, position[row]
