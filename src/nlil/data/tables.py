"""Tables and graphs in Python (NumPy, pandas, Arrow, NetworkX, PyKEEN), Parquet files, and tables in files.

Columns of facts are found by name (head/relation/tail, subject/predicate/object, entity/predicate, and optionally
weight), otherwise by position.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import DataError, require
from .builder import Batch, FactCollector, Row, code_of_empty, encoded
from .delimited import Rows, read_rows
from .files import ending, readable
from .kb import KnowledgeBase

KNOWN_COLUMNS = (
    ("head", "relation", "tail"),
    ("subject", "predicate", "object"),
    ("entity", "predicate"),
)


def read_parquet(path: Path) -> Iterator[Batch]:
    """Yield the rows of the .parquet file at `path`, row group by row group."""
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(path)
    except (OSError, pa.ArrowInvalid) as error:
        raise DataError(f"expected a Parquet file, got: {error}", path) from error
    with file:
        try:
            chosen, notes = choose_columns(file.schema_arrow.names)
            start = 0
            for rows in file.iter_batches(batch_size=1 << 20, columns=chosen):
                yield table_batch([rows.column(name) for name in chosen], start, notes)
                start += rows.num_rows
        except DataError as error:
            raise DataError(str(error), path) from error
        except (OSError, pa.ArrowInvalid) as error:
            raise DataError(f"expected a complete Parquet file, got: {error}", path) from error


def read_table(
    path: Path, table_of: Callable[[Rows, list[str]], pa.Table], columns: Sequence[str] | None = None
) -> pa.Table:
    """Read the table in the file at `path`: .tsv, .csv, .txt (also .gz) or .parquet.

    Args:
        path: The file.
        table_of: Converts rows of text, given the names of the columns.
        columns: These names, if the header may be missing; None: the first line is always the header.
    """
    if ending(path) == ".parquet":
        return _read_parquet_table(path)
    header, is_first = list(columns or ()), True
    blocks: list[pa.Table] = []
    for rows in read_rows(path):
        if is_first and len(rows):
            is_first, names = False, rows.row(0)
            if columns is None or [name.strip(' "').lower() for name in names] == header:
                header, rows = header or names, rows.without_first()
        if len(rows):
            blocks.append(table_of(rows, header))
    return pa.concat_tables(blocks) if blocks else pa.table({name: [] for name in header})


def _read_parquet_table(path: Path) -> pa.Table:
    import pyarrow.parquet as pq

    with readable(path) as stream:
        try:
            return pq.read_table(stream)
        except pa.ArrowInvalid as error:
            raise DataError(f"expected a Parquet file, got: {error}", path) from error


def arrow_table(table: Any, expected: str) -> pa.Table:
    """Return an Arrow or pandas table, or a mapping of columns, as an Arrow table; `expected` begins the error."""
    if isinstance(table, pa.Table):
        return table
    try:
        return (
            pa.table(dict(table)) if isinstance(table, Mapping) else pa.Table.from_pandas(table, preserve_index=False)
        )
    except (pa.ArrowInvalid, pa.ArrowTypeError, AttributeError) as error:
        raise DataError(f"{expected} (Arrow, pandas or a mapping), got: {error}") from error


def table_names(column: pa.ChunkedArray, expected: str) -> pa.DictionaryArray:
    """Return the names in a column; `expected` says in errors what each row must have."""
    try:
        names = encoded(column.combine_chunks().cast(pa.large_string()))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise DataError(f"expected {expected} in each row, got: {error}") from error
    _refuse_unnamed(names, expected)
    return names


def _refuse_unnamed(names: pa.DictionaryArray, expected: str, start: int = 0) -> None:
    if names.null_count or code_of_empty(names) >= 0:
        empty = pc.fill_null(pc.equal(names.cast(pa.large_string()), ""), True)
        raise DataError(f"row {start + pc.index(empty, True).as_py() + 1}: expected {expected}, got none")


def choose_columns(names: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    """Choose which of the column `names` to read, in the order subject, predicate, object, weight.

    Returns these, and a note about other columns.

    >>> choose_columns(["tail", "relation", "head", "weight"])[0]
    ['head', 'relation', 'tail', 'weight']
    """
    lower = {name.lower(): name for name in names}
    for known in KNOWN_COLUMNS:
        if all(name in lower for name in known):
            chosen = [lower[name] for name in known]
            break
    else:
        if not 2 <= len(names) <= 4:
            expected = "the columns (entity, predicate) or (subject, predicate, object) with an optional weight"
            raise DataError(f"expected {expected}, got {list(names)}")
        return list(names), ()
    if "weight" in lower:
        chosen.append(lower["weight"])
    left_out = [name for name in names if name not in chosen]
    return chosen, (f"columns not read: {', '.join(left_out)}",) if left_out else ()


def table_batch(columns: Sequence[Any], start: int = 0, notes: tuple[str, ...] = ()) -> Batch:
    """Make a batch of the `columns` subject, predicate[, object][, weight].

    `start` is the number of the first row, for errors; `notes` are those of the batch. A null or empty object marks a
    unary fact. A third column of fractions is a weight, not an object.
    """
    subject, predicate, *rest = columns
    if len(rest) == 1 and pa.types.is_floating(rest[0].type):
        rest = [None, rest[0]]
    object = rest[0] if rest else None
    weight = _weights(rest[1], start) if len(rest) > 1 else None
    subject, predicate = _required(subject, "subject", start), _required(predicate, "predicate", start)
    third = None
    if object is not None:
        text = _strings(object)
        third = encoded(pc.if_else(pc.equal(text, ""), pa.scalar(None, text.type), text))
    return Batch(subject, predicate, third, weight, notes=notes)


def _required(column: Any, what: str, start: int) -> pa.DictionaryArray:
    names = encoded(_strings(column))
    _refuse_unnamed(names, f"the name of a {what}", start)
    return names


def _strings(column: Any) -> Any:
    """Return names as text. Whole numbers are names too, fractions are not."""
    plain = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    kind = plain.type.value_type if pa.types.is_dictionary(plain.type) else plain.type
    named = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_integer(kind)
    if not named and not pa.types.is_null(kind) and not pa.types.is_string_view(kind):
        raise DataError(f"expected names as text or whole numbers, got a column of {kind}")
    return plain.cast(pa.large_string())


def _weights(column: Any, start: int) -> Any:
    try:
        weight = np.asarray(column.cast(pa.float64()).to_numpy(zero_copy_only=False), np.float64)
    except pa.ArrowInvalid as error:
        raise DataError(f"expected weights in [0, 1], got: {error}") from error
    good = (weight >= 0) & (weight <= 1)
    if not good.all():
        row = int(np.argmin(good))
        raise DataError(f"row {start + row + 1}: expected a weight in [0, 1], got {weight[row]}")
    return weight.astype(np.float32)


# a KnowledgeBase from Python objects: names are converted to text ---------------------------------------


def from_numpy(array: Any) -> KnowledgeBase:
    """Make a base from rows (entity, predicate), (subject, predicate, object) or these with a weight.

    `array` has the shape (facts, 2 to 4); names are text or whole numbers.
    """
    rows = np.asarray(array)
    if rows.ndim != 2 or not 2 <= rows.shape[1] <= 4:
        raise DataError(f"expected an array of shape (facts, 2 to 4), got {rows.shape}")
    if np.issubdtype(rows.dtype, np.floating):
        raise DataError("expected names as text or whole numbers, got an array of fractions")
    names = [pa.array([None if x is None else str(x) for x in column], pa.large_string()) for column in rows.T[:3]]
    weight = [pa.array(rows[:, 3].astype(np.float64))] if rows.shape[1] == 4 else []
    return _from_batch(table_batch([*names, *weight]))


def from_arrow(table: pa.Table) -> KnowledgeBase:
    """Make a base from the columns of `table`.

    They are found by name (head/relation/tail, subject/predicate/object, entity/predicate, weight), otherwise by
    position.
    """
    chosen, _ = choose_columns(table.column_names)
    return _from_batch(table_batch([table.column(name).combine_chunks() for name in chosen]))


def from_pandas(frame: Any) -> KnowledgeBase:
    """Make a base from a DataFrame: `frame` has the columns of `from_arrow`; a missing object marks a unary fact."""
    require("pandas", "graph", "reading data frames")
    try:
        table = pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise DataError(f"expected columns with values of one type each, got: {error}") from error
    return from_arrow(table)


def from_networkx(
    graph: Any, *, predicate: str = "predicate", unary: str = "type", weight: str | None = None
) -> KnowledgeBase:
    """Make a base from the edges of `graph`, a DiGraph or MultiDiGraph.

    The edge attribute `predicate`, or otherwise the key of the edge, names the predicate. The node attribute `unary`
    (one name or several) gives unary facts; `weight` names an edge attribute in [0, 1]; None: all weights are 1.
    """
    require("networkx", "graph", "reading NetworkX graphs")
    if not graph.is_directed():
        raise DataError("expected a DiGraph or MultiDiGraph, got an undirected graph; use graph.to_directed()")
    if len({str(node) for node in graph}) != len(graph):
        raise DataError("expected nodes with different names, got two with the same text")
    edges = (
        graph.edges(keys=True, data=True)
        if graph.is_multigraph()
        else ((a, b, None, data) for a, b, data in graph.edges(data=True))
    )
    rows: list[Row] = [
        (str(node), name, None, 1.0) for node, data in graph.nodes(data=True) for name in _names(data.get(unary))
    ]
    for subject, object, key, data in edges:
        name = data.get(predicate, key)
        if not isinstance(name, str):
            raise DataError(
                f"edge ({subject!r}, {object!r}): expected a predicate as the attribute "
                f"{predicate!r} or as the key, got {name!r}"
            )
        rows.append((str(subject), name, str(object), 1.0 if weight is None else float(data.get(weight, 1.0))))
    collector = FactCollector()
    collector.add_rows(rows)
    return collector.finish().knowledge_base()


def _names(value: Any) -> Iterable[str]:
    if value is None:
        return ()
    return (value,) if isinstance(value, str) else tuple(map(str, value))


def from_pykeen(factory: Any) -> KnowledgeBase:
    """Make a base from the triples of a PyKEEN TriplesFactory; entity ids are those of `factory`."""
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
    """Names in the order of their ids; the ids themselves if a factory has no names."""
    names = [str(i) for i in range(size)]
    for name, i in (ids or {}).items():
        names[i] = str(name)
    return names


def _from_batch(batch: Batch) -> KnowledgeBase:
    collector = FactCollector()
    collector.add(batch)
    return collector.finish().knowledge_base()
