"""From Python: NumPy, pandas, Arrow, NetworkX, PyKEEN. Each gives a KnowledgeBase; names are taken as text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from ..errors import DataError, require
from ..logic.predicate import Predicate
from .builder import FactBuilder
from .columns import Batch, FactCollector
from .kb import KnowledgeBase
from .tables import choose_columns, table_batch


def from_numpy(array: Any) -> KnowledgeBase:
    """Rows (entity, predicate), (subject, predicate, object) or these with a weight, as in the TSV format."""
    rows = np.asarray(array)
    if rows.ndim != 2 or not 2 <= rows.shape[1] <= 4:
        raise DataError(f"expected an array of shape (facts, 2 to 4), got {rows.shape}")
    if np.issubdtype(rows.dtype, np.floating):
        raise DataError("expected names as text or whole numbers, got an array of fractions")
    names = [pa.array([None if x is None else str(x) for x in column], pa.large_string()) for column in rows.T[:3]]
    weight = [pa.array(rows[:, 3].astype(np.float64))] if rows.shape[1] == 4 else []
    return _from_batch(table_batch([*names, *weight]))


def from_arrow(table: pa.Table) -> KnowledgeBase:
    """Columns by name (head/relation/tail, subject/predicate/object, entity/predicate, weight), else by position."""
    chosen, _ = choose_columns(table.column_names)
    return _from_batch(table_batch([table.column(name).combine_chunks() for name in chosen]))


def from_pandas(frame: Any) -> KnowledgeBase:
    """A DataFrame with the columns of `from_arrow`; a missing object marks a unary fact."""
    require("pandas", "graph", "reading data frames")
    try:
        table = pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise DataError(f"expected columns of one kind each, got: {error}") from error
    return from_arrow(table)


def from_networkx(
    graph: Any, *, predicate: str = "predicate", unary: str = "type", weight: str | None = None
) -> KnowledgeBase:
    """Edges of a DiGraph or MultiDiGraph: the edge attribute `predicate`, else the edge's key, names the predicate.

    The node attribute `unary` (one name or several) gives unary facts; `weight` names an edge attribute in [0, 1].
    """
    require("networkx", "graph", "reading NetworkX graphs")
    if not graph.is_directed():
        raise DataError("expected a DiGraph or MultiDiGraph, got an undirected graph; use graph.to_directed()")
    if len({str(node) for node in graph}) != len(graph):
        raise DataError("expected nodes that differ as text, got two that read alike")
    builder = FactBuilder()
    for node, data in graph.nodes(data=True):
        for name in _names(data.get(unary)):
            builder.add(Predicate(name, 1), str(node))
    edges = (
        graph.edges(keys=True, data=True)
        if graph.is_multigraph()
        else ((a, b, None, data) for a, b, data in graph.edges(data=True))
    )
    for subject, object, key, data in edges:
        name = data.get(predicate, key)
        if not isinstance(name, str):
            raise DataError(
                f"edge ({subject!r}, {object!r}): expected a predicate as the attribute "
                f"{predicate!r} or as the key, got {name!r}"
            )
        value = 1.0 if weight is None else float(data.get(weight, 1.0))
        builder.add(Predicate(name, 2), str(subject), str(object), value)
    return builder.knowledge_base()


def _names(value: Any) -> Iterable[str]:
    if value is None:
        return ()
    return (value,) if isinstance(value, str) else tuple(map(str, value))


def from_pykeen(factory: Any) -> KnowledgeBase:
    """The triples of a PyKEEN TriplesFactory; entity ids stay what they are there."""
    require("pykeen", "kge", "reading PyKEEN triples")
    triples = factory.mapped_triples.cpu().numpy().astype(np.int32)
    entities = _by_id(getattr(factory, "entity_to_id", None), factory.num_entities)
    relations = _by_id(getattr(factory, "relation_to_id", None), factory.num_relations)
    collector = FactCollector()
    collector.register(entities)

    def column(i: int, names: list[str]) -> pa.DictionaryArray:
        return pa.DictionaryArray.from_arrays(pa.array(triples[:, i]), pa.array(names, pa.large_string()))

    collector.add(Batch.of(column(0, entities), column(1, relations), column(2, entities)))
    return collector.finish().knowledge_base()


def _by_id(ids: dict[str, int] | None, size: int) -> list[str]:
    """Names in the order of their ids; the numbers themselves where a factory has no names."""
    names = [str(i) for i in range(size)]
    for name, i in (ids or {}).items():
        names[i] = str(name)
    return names


def _from_batch(batch: Batch) -> KnowledgeBase:
    collector = FactCollector()
    collector.add(batch)
    return collector.finish().knowledge_base()
