"""The rows of a SQL query on a DuckDB file as facts: duckdb:///file.db?SELECT a AS subject, ...

What follows `duckdb:///` is a path as on the command line, so that of an absolute one begins with a fourth slash. The
query is whatever follows the first `?`, as it is. It may only read this file, since the source of a run folder that
somebody else made is a query too: one SELECT, a read-only connection, no access to other files, no extensions.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from ..errors import DataError, in_file, require
from .builder import ROWS_PER_BATCH, Batch
from .columns import ColumnLayout, GivenColumns
from .files import unreadable
from .limits import refuse_columns
from .tables import block_facts, table_layout

SCHEME = "duckdb:///"
RESTRICTED = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "temp_directory": "",
}
EXAMPLE = f"{SCHEME}facts.db?SELECT person AS subject, 'lives_in' AS predicate, city AS object FROM people"


def is_query(source: object) -> bool:
    """Return whether `source` is a query on a DuckDB file."""
    return isinstance(source, str) and source.startswith(SCHEME)


def query_parts(source: str) -> tuple[Path, str]:
    """Return the file and the SQL of a `source`. Raises DataError if one is missing.

    >>> query_parts("duckdb:///facts.db?SELECT 1")[1]
    'SELECT 1'
    """
    place, _, query = source.removeprefix(SCHEME).partition("?")
    if not place or not query.strip():
        raise DataError(f"expected a file and a query, for example {EXAMPLE}, got {source!r}")
    try:
        source.encode()
    except UnicodeEncodeError as error:
        raise DataError(f"expected a query that is valid Unicode, got {source!r}") from error
    return Path(place).expanduser(), query.strip()


def absolute_query(source: str) -> str:
    """Return `source` with the path of its file made absolute."""
    path, query = query_parts(source)
    return f"{SCHEME}{path.resolve()}?{query}"


def read_query(source: str, columns: GivenColumns | None = None) -> Iterator[Batch]:
    """Yield the facts that a query returns.

    Args:
        source: The file and the query.
        columns: role -> column of the result, as given by the user; others are found by name, else by position.
    """
    path, query = query_parts(source)
    duckdb = require("duckdb", "sql", "reading a DuckDB file")
    try:
        if path.is_dir():
            raise DataError("expected a DuckDB file, got a folder", path)
        path.stat()
    except OSError as error:
        raise unreadable(path, error) from error
    try:
        with in_file(path), duckdb.connect(str(path), read_only=True, config=RESTRICTED) as connection:
            statements = connection.extract_statements(query)
            if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
                raise DataError(f"expected one SELECT, got {query!r}")
            result = connection.execute(statements[0])
            names = [column[0] for column in result.description]
            refuse_columns(len(names), path)
            layout = table_layout(names, columns or {})
            yield from block_facts(_blocks(result, layout), layout, path, bool(columns))
    except duckdb.Error as error:
        reason = " ".join(str(error).split("\n\n")[0].split())
        raise DataError(f"expected a file and a query that DuckDB can read, got: {reason}", path) from error


def _blocks(result: Any, layout: ColumnLayout) -> Iterator[dict[str, pa.Array]]:
    """Yield the columns of the `result` by role, some rows at a time."""
    while rows := result.fetchmany(ROWS_PER_BATCH):
        try:
            yield {role: pa.array([row[i] for row in rows]) for role, i in layout.place.items()}
        except (pa.ArrowException, TypeError, OverflowError) as error:
            raise DataError(f"expected columns of text or whole numbers, got: {error}") from error
