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


@dataclass(frozen=True, eq=False)
class Roads:
    num_entities: int
    num_codes: int
    pointer: Tensor  # int64 (N + 1,)
    code: Tensor  # int64 (E,)
    neighbour: Tensor  # int64 (E,)
    weight: Tensor  # float32 (E,), empty where every fact is crisp
    member_key: Tensor  # int64 (U,): (predicate * graphs + graph) * N + entity, ascending
    member_weight: Tensor  # the same
    graph_of: Tensor  # empty where there is one graph
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
            tensor(both[order][: 0 if crisp else None]),
            tensor(key[by_key]),
            tensor(full(unary.weight, len(unary))[by_key][: 0 if crisp else None]),
            tensor(graph[: 0 if kb.graph_of is None else None]),
            kb.num_graphs,
        )
