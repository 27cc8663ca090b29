"""SQL, the same text for DuckDB and SQLite: one query per rule; its rows have the form of facts.

    facts(subject, predicate, object)   object is NULL for a unary fact, as in the Parquet files that nlil writes
        entities(name, graph)               every entity; used only if a rule ranges over all of them or over a graph

Names are strings in columns, never table names, so each is exactly the name in the data.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
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
    """Quote a name.

    >>> quoted("it's")
    "'it''s'"
    """
    return "'" + refuse_nul(name, NAME).replace("'", "''") + "'"


def rule_query(rule: Rule, options: Options) -> str:
    """Write SELECT DISTINCT subject, predicate, object: the answers of the rule over the tables."""
    found = alternatives(rule, NAME, options)
    if not found:
        columns = f"name AS subject, {quoted(rule.target.name)} AS predicate, name AS object"
        return f"SELECT {columns} FROM entities WHERE 1 = 0;"
    return "\nUNION\n".join(_query(rule, alternative) for alternative in found) + ";"


def _query(rule: Rule, alternative: Alternative) -> str:
    """Return the query of one alternative."""
    select = _Select(count(1))
    for leaf in alternative.joined:
        select.join(leaf)
    for variable in alternative.unbound:
        select.tables.append(f"entities {variable.name.lower()}")
        select.columns[variable] = f"{variable.name.lower()}.name"
    for term in alternative.in_graph:
        select.tie(term)
    select.conditions += [_test(leaf, select) for leaf in alternative.tested]
    subject, *objects = map(select.column, rule.head.arguments)
    chosen = f"{subject} AS subject, {quoted(rule.target.name)} AS predicate, {(*objects, 'NULL')[0]} AS object"
    where = "\nWHERE " + "\n  AND ".join(select.conditions) if select.conditions else ""
    return f"SELECT DISTINCT {chosen}\nFROM {', '.join(select.tables)}{where}"


def _test(leaf: Leaf, outer: _Select) -> str:
    """Return a statement as a condition of the surrounding query."""
    if leaf.equal is not None and not leaf.atoms:
        one, two = map(outer.column, leaf.equal)
        return f"{one} {'<>' if leaf.negated else '='} {two}"
    inner = _Select(outer.numbers, dict(outer.columns), outer.graph)
    inner.join(leaf)
    if leaf.untied is not None and outer.graph is not None:
        inner.tie(leaf.untied)
    exists = f"EXISTS (SELECT 1 FROM {', '.join(inner.tables)} WHERE {' AND '.join(inner.conditions)})"
    return f"NOT {exists}" if leaf.negated else exists


@dataclass
class _Select:
    """Tables and conditions, the column where each term first occurred, and the column of the query's graph."""

    numbers: Iterator[int]
    columns: dict[Term, str] = field(default_factory=dict)
    graph: str | None = None
    tables: list[str] = field(default_factory=list)
    conditions: list[str] = field(default_factory=list)

    def column(self, term: Term) -> str:
        """Return the column of the term, or its quoted name."""
        return self.columns.get(term) or quoted(term.name)

    def join(self, leaf: Leaf) -> None:
        """Add the atoms of a statement."""
        for atom in leaf.atoms:
            table = f"f{next(self.numbers)}"
            self.tables.append(f"facts {table}")
            self.conditions.append(f"{table}.predicate = {quoted(atom.predicate.name)}")
            if atom.predicate.arity == 1:
                self.conditions.append(f"{table}.object IS NULL")
            for term, side in zip(atom.arguments, ("subject", "object")):
                if term in self.columns or isinstance(term, Constant):
                    self.conditions.append(f"{table}.{side} = {self.column(term)}")
                    continue
                self.columns[term] = f"{table}.{side}"
                if side == "object":
                    self.conditions.append(f"{table}.{side} IS NOT NULL")
        self.conditions += [f"{self.columns[one]} <> {self.columns[two]}" for one, two in leaf.different]

    def tie(self, term: Term) -> None:
        """Require the term to be in the query's graph, which the first such term determines."""
        table = f"g{next(self.numbers)}"
        self.tables.append(f"entities {table}")
        self.conditions.append(f"{table}.name = {self.column(term)}")
        if self.graph is not None:
            self.conditions.append(f"{table}.graph = {self.graph}")
        self.graph = self.graph or f"{table}.graph"


def facts(kb: KnowledgeBase) -> Iterator[str]:
    """Yield the tables and their rows; facts of weight >= .5, as in the statistics."""
    yield TABLES
    for rows in blocks(entity_rows(kb)):
        values = ",\n".join(f"({quoted(name)}, {graph})" for name, graph in rows)
        yield f"INSERT INTO entities VALUES\n{values};\n"
    for triples in blocks(fact_rows(kb)):
        values = ",\n".join(f"({quoted(s)}, {quoted(p)}, {'NULL' if o is None else quoted(o)})" for s, p, o in triples)
        yield f"INSERT INTO facts VALUES\n{values};\n"
    yield INDEXES


LANGUAGE = Language(rule_query, facts, comment="-- ", answers_only=True, between="\n")
