"""Graphs of PyTorch Geometric: Data with types of edges, and HeteroData. Their attributes are read, not their classes.

An edge is a fact. In HeteroData its predicate is the name of its relation, a node is called by its type and number, and
the types of nodes are unary facts: paper(paper_3), writes(author_0, paper_3). In Data nodes are called by their
numbers, and predicates by those of `edge_type`, else of an `edge_attr` with one whole number for each edge; a graph
without either has the predicate `edge`. Features, labels and masks are not read.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from ..errors import DataError
from .arrays import Longs
from .arrow import number_array, string_array
from .builder import Batch, FactCollector
from .kb import MOST_IDS, KnowledgeBase

EDGE = "edge"
"""The predicate of a graph without types of edges."""


def is_pyg(source: Any) -> bool:
    """Return whether `source` has the attributes of HeteroData or of Data."""
    return hasattr(source, "edge_types") or hasattr(source, "edge_index")


def from_pyg(data: Any) -> KnowledgeBase:
    """Make a base from the edges of `data`, a Data or HeteroData of PyTorch Geometric.

    Nodes without edges are entities too.
    """
    collector = FactCollector()
    batches = _typed(data, collector) if hasattr(data, "edge_types") else [_plain(data, collector)]
    for batch in batches:
        collector.add(batch)
    kb = collector.finish().knowledge_base()
    if not len(kb.facts):
        raise DataError("expected a graph with edges, got none")
    return kb


def _typed(data: Any, collector: FactCollector) -> list[Batch]:
    """Return the facts of HeteroData, after the `collector` has all nodes."""
    indexes = data.edge_index_dict
    edges: dict[tuple[str, str, str], Longs] = {}
    for kind in data.edge_types:
        if kind not in indexes:
            raise DataError(f"{kind}: expected an edge_index, got none; adj_t is not read")
        edges[kind] = _edge_index(indexes[kind], str(kind))
    sizes = {str(kind): _count(data[kind].num_nodes) for kind in data.node_types}
    for (subject, _, object), index in edges.items():
        for kind, ids in ((subject, index[0]), (object, index[1])):
            sizes[kind] = max(sizes.get(kind, 0), int(ids.max(initial=-1)) + 1)
    names = {kind: string_array([f"{kind}_{i}" for i in range(size)]) for kind, size in sizes.items()}
    batches = []
    for kind, some in names.items():
        collector.register(some.to_pylist())
        batches.append(Batch.of(some, _repeated(kind, len(some))))
    for (subject, relation, object), index in edges.items():
        ends = (_encoded(ids, names[kind]) for kind, ids in ((subject, index[0]), (object, index[1])))
        first, second = ends
        batches.append(Batch.of(first, _repeated(str(relation), len(first)), second))
    return batches


def _plain(data: Any, collector: FactCollector) -> Batch:
    """Return the facts of Data, after the `collector` has all nodes."""
    index = _edge_index(data.edge_index, "edge_index")
    size = max(_count(getattr(data, "num_nodes", None)), int(index.max(initial=-1)) + 1)
    names = string_array(list(map(str, range(size))))
    collector.register(names.to_pylist())
    types = _edge_types(data, index.shape[1])
    predicate = _repeated(EDGE, index.shape[1]) if types is None else string_array(list(map(str, types.tolist())))
    return Batch.of(_encoded(index[0], names), predicate, _encoded(index[1], names))


def _edge_types(data: Any, num_edges: int) -> Longs | None:
    """Return the number of each edge's type; None if there are none."""
    for name in ("edge_type", "edge_attr"):
        if (value := getattr(data, name, None)) is None:
            continue
        types = _array(value)
        types = types[:, 0] if types.ndim == 2 and types.shape[1] == 1 else types
        if types.ndim == 1 and np.issubdtype(types.dtype, np.integer):
            if len(types) != num_edges:
                raise DataError(f"{name}: expected one type for each of {num_edges:,} edges, got {len(types):,}")
            return types.astype(np.int64)
        if name == "edge_type":
            raise DataError(f"edge_type: expected one whole number for each edge, got {types.dtype} of {types.shape}")
    return None


def _edge_index(value: Any, where: str) -> Longs:
    index = _array(value)
    if index.ndim != 2 or index.shape[0] != 2 or not np.issubdtype(index.dtype, np.integer):
        raise DataError(f"{where}: expected whole numbers of shape (2, edges), got {index.dtype} of {index.shape}")
    if index.size and (index.min() < 0 or index.max() >= MOST_IDS):
        raise DataError(f"{where}: expected numbers of nodes from 0, got {int(index.min())} to {int(index.max())}")
    return index.astype(np.int64)


def _array(value: Any) -> np.ndarray:
    """Return a tensor or an array as an array."""
    return np.asarray(value.detach().cpu() if hasattr(value, "detach") else value)


def _count(value: Any) -> int:
    return 0 if value is None else int(value)


def _encoded(ids: Longs, names: pa.Array) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(number_array(ids.astype(np.int32)), names)


def _repeated(name: str, count: int) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(number_array(np.zeros(count, np.int32)), string_array([name]))
