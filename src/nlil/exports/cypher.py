"""Cypher for Kuzu: one query per rule, whose rows have the shape of facts.

    (:Entity {name, graph})-[:Fact {predicate}]->(:Entity)     a binary fact
    (:Entity)-[:Kind]->(:Class {name})                         a unary fact

Names are strings in properties, never labels, so each is exactly the name of the data. Every relationship is matched by
a MATCH of its own: Cypher may let two relationships of one MATCH never be the same, a rule does not.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..data.kb import KnowledgeBase
from ..errors import ExportError
from ..logic.formula import Constant, Variable
from ..logic.rule import Rule
from .alternatives import Alternative, Atom, Denials, Part, Term, alternatives
from .rows import blocks, entity_rows, fact_rows

LANGUAGE = "Cypher"
COMMENT = "// "
TABLES = """CREATE NODE TABLE Entity(name STRING, graph INT64, PRIMARY KEY(name));
CREATE NODE TABLE Class(name STRING, PRIMARY KEY(name));
CREATE REL TABLE Fact(FROM Entity TO Entity, predicate STRING);
CREATE REL TABLE Kind(FROM Entity TO Class);
"""


def quoted(name: str) -> str:
    r"""Line ends and tabs stand as they are: not every Cypher knows \n.

    >>> quoted("it's")
    "'it\\'s'"
    """
    if "\0" in name:
        raise ExportError(f"a string cannot hold the character NUL of {name!r}; rename it in the data", LANGUAGE)
    return "'" + name.replace("\\", "\\\\").replace("'", "\\'") + "'"


def rule_query(rule: Rule, number: int = 1, graphs: bool = False, exclusions: Denials = ()) -> str:
    """MATCH ... RETURN DISTINCT subject, predicate, object."""
    found = alternatives(rule, LANGUAGE, graphs, exclusions)
    if not found:
        nodes = ", ".join(f"({a.name.lower()}:Entity)" for a in rule.head.arguments if isinstance(a, Variable))
        return f"MATCH {nodes} WHERE false RETURN {_row(rule)};"
    return "\nUNION\n".join(_Query().text(rule, alternative) for alternative in found) + ";"


def _row(rule: Rule) -> str:
    subject, *objects = [
        quoted(a.name) if isinstance(a, Constant) else f"{a.name.lower()}.name" for a in rule.head.arguments
    ]
    return f"{subject} AS subject, {quoted(rule.target.name)} AS predicate, {(*objects, 'NULL')[0]} AS object"


class _Query:
    """One alternative: patterns, then conditions. A node has its label where it is met first."""

    def text(self, rule: Rule, alternative: Alternative) -> str:
        known: set[Term] = set()
        lines = [f"MATCH {self._pattern(atom, known)}" for part in alternative.joined for atom in part.atoms]
        lines += [f"MATCH ({variable.name.lower()}:Entity)" for variable in alternative.unbound]
        known |= set(alternative.unbound)
        conditions = [c for part in alternative.joined for c in _different(part)]
        graph: str | None = None
        for end in alternative.in_graph:
            name = end.name.lower() if isinstance(end, Variable) else "c"
            if isinstance(end, Constant):
                lines.append(f"MATCH (c:Entity {{name: {quoted(end.name)}}})")
            if graph is not None:
                conditions.append(f"{name}.graph = {graph}")
            graph = graph or f"{name}.graph"
        conditions += [self._test(part, known, graph) for part in alternative.tested]
        where = [f"WHERE {' AND '.join(conditions)}"] if conditions else []
        return "\n".join([*lines, *where, f"RETURN DISTINCT {_row(rule)}"])

    def _node(self, term: Term, known: set[Term]) -> str:
        if isinstance(term, Constant):
            return f"(:Entity {{name: {quoted(term.name)}}})"
        label = "" if term in known else ":Entity"
        known.add(term)
        return f"({term.name.lower()}{label})"

    def _pattern(self, atom: Atom, known: set[Term]) -> str:
        name = quoted(atom.predicate.name)
        nodes = [self._node(term, known) for term in atom.arguments]
        if len(nodes) == 1:
            return f"{nodes[0]}-[:Kind]->(:Class {{name: {name}}})"
        return f"{nodes[0]}-[:Fact {{predicate: {name}}}]->{nodes[1]}"

    def _test(self, part: Part, known: set[Term], graph: str | None) -> str:
        if part.equal is not None:
            one, two = [quoted(t.name) if isinstance(t, Constant) else f"{t.name.lower()}.name" for t in part.equal]
            return f"{one} {'<>' if part.negated else '='} {two}"
        conditions = _different(part)
        if graph is not None and part.outside is not None:
            conditions.append(f"{part.outside.name.lower()}.graph = {graph}")
        inner = set(known)
        patterns = [self._pattern(atom, inner) for atom in part.atoms]
        text = " AND ".join(conditions)
        for pattern in reversed(patterns):
            text = f"EXISTS {{ MATCH {pattern}{f' WHERE {text}' if text else ''} }}"
        return f"NOT {text}" if part.negated else text


def _different(part: Part) -> list[str]:
    return [f"{one.name.lower()}.name <> {two.name.lower()}.name" for one, two in part.different]


def facts(kb: KnowledgeBase) -> Iterator[str]:
    """The tables and what is in them; facts of weight >= .5, as in statistics."""
    yield TABLES
    for rows in blocks(entity_rows(kb)):
        values = ",\n".join(f"{{name: {quoted(name)}, graph: {graph}}}" for name, graph in rows)
        yield f"UNWIND [{values}] AS row CREATE (:Entity {{name: row.name, graph: row.graph}});\n"
    classes = (p.name for p in kb.predicates if p.arity == 1)
    for names in blocks(classes):
        yield f"UNWIND [{', '.join(map(quoted, names))}] AS name CREATE (:Class {{name: name}});\n"
    for triples in blocks(fact_rows(kb)):
        unary = [f"{{a: {quoted(s)}, p: {quoted(p)}}}" for s, p, o in triples if o is None]
        binary = [f"{{a: {quoted(s)}, p: {quoted(p)}, b: {quoted(o)}}}" for s, p, o in triples if o is not None]
        if unary:
            rows_text = ",\n".join(unary)
            yield (
                f"UNWIND [{rows_text}] AS row MATCH (a:Entity {{name: row.a}}), (p:Class {{name: row.p}}) "
                "CREATE (a)-[:Kind]->(p);\n"
            )
        if binary:
            rows_text = ",\n".join(binary)
            yield (
                f"UNWIND [{rows_text}] AS row MATCH (a:Entity {{name: row.a}}), (b:Entity {{name: row.b}}) "
                "CREATE (a)-[:Fact {predicate: row.p}]->(b);\n"
            )
