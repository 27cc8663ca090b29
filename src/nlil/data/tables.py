"""Tables and graphs in Python (NumPy, pandas, Arrow, NetworkX, PyKEEN), Parquet files, and tables in files.

Columns of facts are those that the user names, else found by name, else by position (columns.py).
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import DataError, in_file, require
from ..logic.query import Query, parse_query
from .builder import Batch, Collected, FactCollector, Row, code_of_empty, encoded
from .columns import (
    ADVICE,
    FURTHER_ARGUMENTS,
    POSITIONAL,
    PREDICATES,
    ColumnLayout,
    GivenColumns,
    find_layout,
    parse_columns,
)
from .delimited import TableRows, read_rows
from .facts import Facts, Splits
from .files import UTF8, ending, readable, stem
from .kb import KnowledgeBase
from .limits import MAX_EXPANSION, expanded_limit, refuse_columns
from .roles import EXPECTED_SPLIT, EXPECTED_TIME, SPLIT_NAMES, by_split, doubt_about, present, row_labels, with_doubt

EXPECTED_COLUMNS = "the columns (entity, predicate) or (subject, predicate, object) with an optional weight"


def read_parquet(path: Path, columns: GivenColumns | None = None, encoding: str = UTF8) -> Iterator[Batch]:
    """Yield the rows of the .parquet file at `path`, row group by row group.

    `columns` maps roles to columns, as given by the user; the text of a Parquet file is always UTF-8, whatever the
    `encoding`.
    """
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(path)
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"expected a Parquet file, got: {error}", path) from error
    with file, in_file(path):
        try:
            _check_parquet(file, path)
            names = file.schema_arrow.names
            layout = table_layout(names, columns or {}, stem(path))
            parts = file.iter_batches(batch_size=1 << 20, columns=[names[i] for i in layout.place.values()])
            blocks = ({role: rows.column(names[i]) for role, i in layout.place.items()} for rows in parts)
            yield from block_facts(blocks, layout, path, bool(columns))
        except (OSError, pa.ArrowException) as error:
            raise DataError(f"expected a complete Parquet file, got: {error}", path) from error


def read_table(
    path: Path,
    table_of: Callable[[TableRows, list[str]], pa.Table],
    columns: Sequence[str] | None = None,
    encoding: str = UTF8,
) -> pa.Table:
    """Read the table in the file at `path`: .tsv, .csv, .txt (also .gz) or .parquet.

    Args:
        path: The file.
        table_of: Converts rows of text, given the names of the columns.
        columns: These names, if the header may be missing; None: the first line is always the header.
        encoding: Of a text file.
    """
    if ending(path) == ".parquet":
        return _read_parquet_table(path)
    header, is_first = list(columns or ()), True
    blocks: list[pa.Table] = []
    for rows in read_rows(path, encoding):
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
            file = pq.ParquetFile(stream)
            _check_parquet(file, path)
            return file.read()
        except pa.ArrowException as error:
            raise DataError(f"expected a Parquet file, got: {error}", path) from error


def _check_parquet(file: Any, path: Path) -> None:
    """Raise DataError for duplicate columns, for too many, and for too high a compression ratio of the file at `path`.

    Repeated values take no space in a file, but in memory.
    """
    names = file.schema_arrow.names
    refuse_columns(len(names), path)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"expected columns of different names, got {twice!r} twice", path)
    about = file.metadata
    packed = sum(
        about.row_group(i).column(j).total_compressed_size
        for i in range(about.num_row_groups)
        for j in range(about.num_columns)
    )
    unpacked = sum(about.row_group(i).total_byte_size for i in range(about.num_row_groups))
    if max(unpacked, 8 * about.num_rows * len(names)) > expanded_limit(packed):
        raise DataError(f"expected a compression ratio of at most {MAX_EXPANSION}, got more", path)


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


def table_layout(names: Sequence[str], columns: GivenColumns, table: str = "") -> ColumnLayout:
    """Return which of the column `names` has which role; `table` is the name of the table, if it has one.

    `columns` are those given by the user. Raises DataError if the roles are ambiguous.

    >>> table_layout(["tail", "relation", "head"], {}).place
    {'subject': 2, 'predicate': 1, 'object': 0}
    """
    layout = find_layout(list(map(str, names)), columns, table)
    if layout is not POSITIONAL:
        return layout
    if not 2 <= len(names) <= 4:
        raise DataError(f"expected {EXPECTED_COLUMNS}, got {list(names)}; {ADVICE}")
    return ColumnLayout({role: i for role, i in POSITIONAL.place.items() if i < len(names)}, len(names))


def block_facts(
    blocks: Iterable[Mapping[str, Any]], layout: ColumnLayout, path: Path, is_told: bool
) -> Iterator[Batch]:
    """Yield the facts of the `blocks` of rows of the file at `path`, each block as columns by role.

    Unless the user has named the columns (`is_told`), a note says if the `layout` is doubtful.
    """
    notes = (f"{path.name}: {layout.note}",) if layout.note else ()
    start = 0
    for columns in blocks:
        facts = table_facts(columns, layout, start, notes)
        yield from facts if is_told or start else with_doubt(facts, layout, path.name)
        start += len(columns["subject"])


def table_facts(
    columns: Mapping[str, Any],
    layout: ColumnLayout,
    start: int = 0,
    notes: tuple[str, ...] = (),
    refuse_missing: bool = False,
) -> Iterator[Batch]:
    """Yield the facts of the `columns` by role, a batch for each split that they name.

    A null or empty object marks a unary fact. A third column of fractions, found by position, is a weight.

    Args:
        columns: role -> Arrow array.
        layout: the layout of the table.
        start: the number of rows before the first, for errors.
        notes: those of the batches.
        refuse_missing: a null split is an error (in pandas it is a missing value), and a null object where there are no
            weights; an empty text is not. Beside weights a null object has always marked a unary fact.
    """
    roles = {
        role: column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        for role, column in columns.items()
    }
    if not layout.note and "weight" not in roles and "object" in roles and pa.types.is_floating(roles["object"].type):
        roles["weight"] = roles.pop("object")
    weight = _weights(roles["weight"], start) if "weight" in roles else None
    time = _times(roles.pop("time"), start) if "time" in roles else None
    texts = {role: _strings(column, start) for role, column in roles.items() if role != "weight"}
    subject = _required(texts["subject"], "subject", start)
    if "predicate" in texts:
        predicate = _required(texts["predicate"], "predicate", start)
    else:
        predicate = encoded(pa.repeat(pa.scalar(layout.predicate, pa.large_string()), len(subject)))
    object = None
    if "object" in texts:
        text = texts["object"]
        if refuse_missing and weight is None and text.null_count:
            row = start + pc.index(pc.is_null(text), True).as_py() + 1
            advice = "leave such rows out with dropna(), or write an empty text in a unary fact"
            raise DataError(f"row {row}: expected the name of an object, got a missing value; {advice}")
        object = encoded(pc.if_else(pc.equal(text, ""), pa.scalar(None, text.type), text))
    if "split" in texts:
        if refuse_missing and texts["split"].null_count:
            row = start + pc.index(pc.is_null(texts["split"]), True).as_py() + 1
            raise DataError(f"row {row}: {EXPECTED_SPLIT}, got a missing value")
        unknown = pc.invert(pc.is_in(pc.fill_null(pc.utf8_lower(texts["split"]), ""), SPLIT_NAMES))
        if pc.any(unknown).as_py():
            row = pc.index(unknown, True).as_py()
            raise DataError(f"row {start + row + 1}: {EXPECTED_SPLIT}, got {texts['split'][row].as_py()!r}")
    more = tuple(
        encoded(pc.if_else(pc.equal(texts[role], ""), pa.scalar(None, texts[role].type), texts[role]))
        for role in FURTHER_ARGUMENTS
        if role in texts
    )
    batch = Batch(subject, predicate, object, weight, notes=notes, labels=row_labels(texts), time=time, more=more)
    yield from by_split(batch, texts.get("split"))


def _required(column: Any, what: str, start: int) -> pa.DictionaryArray:
    names = encoded(column)
    _refuse_unnamed(names, f"the name of a {what}", start)
    return names


def _strings(column: Any, start: int) -> Any:
    """Return names as text. Whole numbers are names too, also if pandas stores them as floats."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_floating(kind) and pc.all(pc.equal(column, pc.trunc(column))).as_py() is not False:
        return column.cast(pa.int64()).cast(pa.large_string())
    named = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_integer(kind)
    if not named and not pa.types.is_null(kind) and not pa.types.is_string_view(kind):
        raise DataError(f"expected names as text or whole numbers, got a column of {kind}")
    return column.cast(pa.large_string())


def _times(column: Any, start: int) -> Any:
    """Return times as text: numbers, or dates as ISO writes them."""
    try:
        texts = column.cast(pa.large_string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise DataError(f"expected times as numbers or dates, got a column of {column.type}") from error
    is_present = present(texts)
    if not is_present.all():
        raise DataError(f"row {start + int(np.argmin(is_present)) + 1}: {EXPECTED_TIME}, got none")
    return texts


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
    if rows.dtype == object and (missing := [row for row in rows.tolist() if any(x != x for x in row)]):
        raise DataError(f"expected names as text or whole numbers, got a missing value in {missing[0]}")
    names = [pa.array([None if x is None else str(x) for x in column], pa.large_string()) for column in rows.T[:3]]
    weight = [pa.array(rows[:, 3].astype(np.float64))] if rows.shape[1] == 4 else []
    layout = table_layout([""] * rows.shape[1], {})
    return _base(table_facts(dict(zip(layout.place, [*names, *weight])), layout))


def from_arrow(table: pa.Table, columns: str | Mapping[str, Any] | None = None) -> KnowledgeBase:
    """Make a base from a `table`; a null object marks a unary fact.

    `columns` says which column has which role: `{"subject": "source", "object": "target"}`, or the same as text. Others
    are found by name (head/relation/tail, source/type/target, ...), else by position. Rows for validation or testing
    are an error, since a base has no splits.
    """
    return _base(_table_batches(table, columns, refuse_missing=False))


def from_pandas(frame: Any, columns: str | Mapping[str, Any] | None = None) -> KnowledgeBase:
    """Make a base from a DataFrame `frame`; `columns` as in `from_arrow`.

    A missing value is an error, as an empty field of a CSV file is; the object of a unary fact is an empty text.
    """
    return _base(frame_batches(frame, columns))


def table_splits(table: Any, columns: str | Mapping[str, Any] | None = None) -> tuple[KnowledgeBase, Splits]:
    """Return the training facts of a pandas or Arrow `table` and its splits, as its column of splits says.

    `columns` as in `from_arrow`; without such a column all facts are for training.
    """
    got, labels = _collected(any_table_batches(table, columns))
    if not len(got.of("train")) and not got.wide.get("train"):
        raise DataError("expected at least one training fact, got none")
    kb = got.knowledge_base(**labels)
    wide = {split: tables for split, tables in got.wide.items() if split != "train"}
    return kb, Splits(kb.facts, got.of("valid"), got.of("test"), wide=wide)


def any_table_batches(table: Any, columns: str | Mapping[str, Any] | None = None) -> list[Batch]:
    """Return the facts of a pandas or Arrow `table`, by name; `columns` as in `from_arrow`."""
    is_arrow = isinstance(table, pa.Table)
    return _table_batches(table, columns, refuse_missing=False) if is_arrow else frame_batches(table, columns)


def frame_batches(frame: Any, columns: str | Mapping[str, Any] | None = None) -> list[Batch]:
    """Return the facts of a DataFrame `frame`, by name; `columns` as in `from_arrow`."""
    return _table_batches(_arrow_frame(frame), columns, refuse_missing=True)


def _arrow_frame(frame: Any) -> pa.Table:
    require("pandas", "graph", "reading data frames")
    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise DataError(f"expected columns with values of one type each, got: {error}") from error


def _table_batches(table: pa.Table, columns: str | Mapping[str, Any] | None, refuse_missing: bool) -> list[Batch]:
    given = parse_columns(columns)
    with _advice_in_python():
        layout = table_layout(table.column_names, given)
        chosen = {role: table.column(i).combine_chunks() for role, i in layout.place.items()}
        batches = list(table_facts(chosen, layout, refuse_missing=refuse_missing))
    if not given and batches and (doubt := doubt_about(batches[0], layout)):
        warnings.warn(_in_python(doubt), stacklevel=5)
    return batches


def _in_python(message: str) -> str:
    """Return a `message` with the option of the command line as an argument.

    >>> _in_python("name them, for example --columns subject=1,object=2")
    'name them, for example columns="subject=1,object=2"'
    """
    return re.sub(r"--columns ([^\s;)]+)", r'columns="\1"', message)


@contextmanager
def _advice_in_python() -> Iterator[None]:
    """Let a DataError of this block advise an argument, not an option of the command line."""
    try:
        yield
    except DataError as error:
        raise DataError(_in_python(str(error))) from error


def frame_queries(frame: Any, columns: str | Mapping[str, Any] | None = None) -> list[Query]:
    """Return the query of each row of a DataFrame `frame`; `columns` as in `from_arrow`.

    A single column holds queries as text. Otherwise the query asks for an end that is missing, empty or `?`, or for the
    object if it has no column.
    """
    table = _arrow_frame(frame)
    if table.num_columns == 1:
        return [parse_query(text) for text in table_names(table.column(0), "a query").to_pylist()]
    with _advice_in_python():
        place = table_layout(table.column_names, parse_columns(columns)).place
        ends = [_strings(table.column(place[role]), 0).to_pylist() for role in ("subject", "object") if role in place]
        predicates = table_names(table.column(place["predicate"]), "a predicate").to_pylist()
    ends += [[None] * len(predicates)] * (2 - len(ends))
    return [Query(name, (_known_end(s), _known_end(o))) for name, s, o in zip(predicates, *ends)]


def _known_end(name: str | None) -> str | None:
    return None if name is None or name.strip() in ("", "?") else name


def to_pandas(kb: KnowledgeBase, facts: Facts) -> Any:
    """Return the `facts` of `kb` as a DataFrame: subject, predicate, object (empty in a unary fact), and weight."""
    require("pandas", "graph", "a table of facts")
    import pandas

    names, predicates = np.asarray([*kb.entities, ""], object), np.asarray([p.name for p in kb.predicates], object)
    columns = {
        "subject": names[facts.subject],
        "predicate": predicates[facts.predicate],
        "object": names[facts.object],  # -1 is the empty text
    }
    weight = {} if facts.weight is None else {"weight": facts.weight}
    return pandas.DataFrame(columns | weight)


def from_networkx(
    graph: Any, *, predicate: str = "predicate", unary: str = "type", weight: str | None = None
) -> KnowledgeBase:
    """Make a base from the edges of `graph`, a DiGraph or MultiDiGraph.

    The edge attribute `predicate`, or one of a usual name (relation, type, label, ...), or else the key of the edge,
    names the predicate. The node attribute `unary` (one name or several) gives unary facts; `weight` names an edge
    attribute in [0, 1]; None: all weights are 1.
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
        name = next((data[one] for one in (predicate, *PREDICATES, "label") if one in data), key)
        if not isinstance(name, str):
            raise DataError(
                f"edge ({subject!r}, {object!r}): expected a predicate as the attribute {predicate!r} or as the key, "
                f"got the attributes {list(map(str, data))}; name it: KnowledgeBase.from_networkx(graph, predicate=...)"
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


def _collected(batches: Iterable[Batch]) -> tuple[Collected, dict[str, Any]]:
    """Return the facts of each split, and the labels of entities and predicates."""
    collector = FactCollector()
    for batch in batches:
        collector.add(batch)
    got = collector.finish()
    names = {predicate.name for predicate in got.predicates}
    of_predicates = {name: label for name, label in got.labels.items() if name in names}
    return got, {"entity_labels": got.labels, "predicate_labels": of_predicates}


def _base(batches: Iterable[Batch]) -> KnowledgeBase:
    """Make a base of facts that are all for training."""
    got, labels = _collected(batches)
    others = [split for split, facts in got.facts.items() if split != "train" and len(facts)]
    others += [split for split in got.wide if split != "train"]
    if others:
        raise DataError(
            f"expected training facts, got some of the split {others[0]}: nlil.learn(table) keeps them apart, and "
            f'columns="split=" reads them all as one'
        )
    return got.knowledge_base(**labels)
