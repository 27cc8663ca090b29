"""SQL, the same text for DuckDB and SQLite: one query per rule, whose rows have the shape of facts.

    facts(subject, predicate, object)   object is NULL for a unary fact, as in the Parquet files that nlil writes
    entities(name, graph)               every entity; used only where a rule ranges over all of them or over a graph

Names are strings in columns, never names of tables, so each is exactly the name of the data.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from ..data.kb import KnowledgeBase
from ..kernel.normal import Leaf, Term
from ..logic.formula import Constant
from ..logic.rule import Rule
from .language import Alternative, Language, Options, alternatives, blocks, entity_rows, fact_rows, refuse_nul

NAME = "SQL"
TABLES = """CREATE TABLE facts(subject TEXT NOT NULL, predicate TEXT NOT NULL, object TEXT);
CREATE TABLE entities(name TEXT PRIMARY KEY, graph INTEGER NOT NULL);
"""
INDEXES = """CREATE INDEX facts_forward ON facts(predicate, subject);
CREATE INDEX facts_backward ON facts(predicate, object);
"""


def quoted(name: str) -> str:
    """
    >>> quoted("it's")
    "'it''s'"
    """
    return "'" + refuse_nul(name, NAME).replace("'", "''") + "'"


def rule_query(rule: Rule, options: Options) -> str:
    """SELECT DISTINCT subject, predicate, object: the answers of the rule over the tables."""
    found = alternatives(rule, NAME, options)
    if not found:
        columns = f"name AS subject, {quoted(rule.target.name)} AS predicate, name AS object"
        return f"SELECT {columns} FROM entities WHERE 1 = 0;"
    return "\nUNION\n".join(_Select().query(rule, alternative) for alternative in found) + ";"


class _Select:
    """One alternative: tables, conditions, and the column in which each term was first met."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self._graph: str | None = None

    def query(self, rule: Rule, alternative: Alternative) -> str:
        tables: list[str] = []
        conditions: list[str] = []
        columns: dict[Term, str] = {}
        for leaf in alternative.joined:
            self._join(leaf, tables, conditions, columns)
        for variable in alternative.unbound:
            tables.append(f"entities {variable.name.lower()}")
            columns[variable] = f"{variable.name.lower()}.name"
        self._same_graph(alternative, tables, conditions, columns)
        conditions += [self._test(leaf, columns) for leaf in alternative.tested]
        subject, *objects = [columns.get(a) or self._column(a) for a in rule.head.arguments]
        chosen = f"{subject} AS subject, {quoted(rule.target.name)} AS predicate, {(*objects, 'NULL')[0]} AS object"
        where = "\nWHERE " + "\n  AND ".join(conditions) if conditions else ""
        return f"SELECT DISTINCT {chosen}\nFROM {', '.join(tables)}{where}"

    def _column(self, term: Term) -> str:
        assert isinstance(term, Constant), f"{term} is bound before it is used"
        return quoted(term.name)

    def _join(self, leaf: Leaf, tables: list[str], conditions: list[str], columns: dict[Term, str]) -> None:
        for atom in leaf.atoms:
            table = f"f{next(self._numbers)}"
            tables.append(f"facts {table}")
            conditions.append(f"{table}.predicate = {quoted(atom.predicate.name)}")
            if atom.predicate.arity == 1:
                conditions.append(f"{table}.object IS NULL")
            for term, side in zip(atom.arguments, ("subject", "object")):
                column = f"{table}.{side}"
                known = columns.get(term) or (quoted(term.name) if isinstance(term, Constant) else None)
                if known is not None:
                    conditions.append(f"{column} = {known}")
                    continue
                columns[term] = column
                if side == "object":
                    conditions.append(f"{column} IS NOT NULL")
        conditions += [f"{columns[one]} <> {columns[two]}" for one, two in leaf.different]

    def _same_graph(
        self, alternative: Alternative, tables: list[str], conditions: list[str], columns: dict[Term, str]
    ) -> None:
        """The graph of the head's first argument, and the other arguments in it."""
        for term in alternative.in_graph:
            table = f"g{next(self._numbers)}"
            tables.append(f"entities {table}")
            conditions.append(f"{table}.name = {columns.get(term) or self._column(term)}")
            if self._graph is not None:
                conditions.append(f"{table}.graph = {self._graph}")
            self._graph = self._graph or f"{table}.graph"

    def _test(self, leaf: Leaf, columns: dict[Term, str]) -> str:
        if leaf.equal is not None and not leaf.atoms:
            one, two = [columns.get(t) or self._column(t) for t in leaf.equal]
            return f"{one} {'<>' if leaf.negated else '='} {two}"
        tables: list[str] = []
        conditions: list[str] = []
        inner = dict(columns)
        self._join(leaf, tables, conditions, inner)
        if leaf.untied is not None and self._graph is not None:
            table = f"g{next(self._numbers)}"
            tables.append(f"entities {table}")
            conditions += [f"{table}.name = {inner[leaf.untied]}", f"{table}.graph = {self._graph}"]
        exists = f"EXISTS (SELECT 1 FROM {', '.join(tables)} WHERE {' AND '.join(conditions)})"
        return f"NOT {exists}" if leaf.negated else exists


def facts(kb: KnowledgeBase) -> Iterator[str]:
    """The tables and their rows; facts of weight >= .5, as in statistics."""
    yield TABLES
    for rows in blocks(entity_rows(kb)):
        values = ",\n".join(f"({quoted(name)}, {graph})" for name, graph in rows)
        yield f"INSERT INTO entities VALUES\n{values};\n"
    for triples in blocks(fact_rows(kb)):
        values = ",\n".join(f"({quoted(s)}, {quoted(p)}, {'NULL' if o is None else quoted(o)})" for s, p, o in triples)
        yield f"INSERT INTO facts VALUES\n{values};\n"
    yield INDEXES


LANGUAGE = Language(rule_query, facts, comment="-- ", answers_only=True, between="\n")
