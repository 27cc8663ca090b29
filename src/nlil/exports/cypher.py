"""Cypher for Kuzu: one query per rule, whose rows have the form of facts.

    (:Entity {name, graph})-[:Fact {predicate}]->(:Entity)     a binary fact
    (:Entity)-[:Kind]->(:Class {name})                         a unary fact

Names are strings in properties, never labels, so each is exactly the name in the data. Every relationship has its own
MATCH: within one MATCH, Cypher may require relationships to be different, which a rule does not.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..data.kb import KnowledgeBase
from ..kernel.normal import Atom, Leaf, Term
from ..logic.formula import Constant, Variable
from ..logic.rule import Rule
from .language import Alternative, Language, Options, alternatives, blocks, entity_rows, fact_rows, refuse_nul

NAME = "Cypher"
TABLES = """CREATE NODE TABLE Entity(name STRING, graph INT64, PRIMARY KEY(name));
CREATE NODE TABLE Class(name STRING, PRIMARY KEY(name));
CREATE REL TABLE Fact(FROM Entity TO Entity, predicate STRING);
CREATE REL TABLE Kind(FROM Entity TO Class);
"""


def quoted(name: str) -> str:
    r"""Quote a name. Line breaks and tabs stay as they are: not every Cypher implementation supports \n.

    >>> quoted("it's")
    "'it\\'s'"
    """
    return "'" + refuse_nul(name, NAME).replace("\\", "\\\\").replace("'", "\\'") + "'"


def rule_query(rule: Rule, options: Options) -> str:
    """Write MATCH ... RETURN DISTINCT subject, predicate, object."""
    found = alternatives(rule, NAME, options)
    if not found:
        nodes = ", ".join(f"({a.name.lower()}:Entity)" for a in rule.head.arguments if isinstance(a, Variable))
        return f"MATCH {nodes} WHERE false RETURN {_row(rule)};"
    return "\nUNION\n".join(_alternative(rule, alternative) for alternative in found) + ";"


def _row(rule: Rule) -> str:
    subject, *objects = map(_name, rule.head.arguments)
    return f"{subject} AS subject, {quoted(rule.target.name)} AS predicate, {(*objects, 'NULL')[0]} AS object"


def _alternative(rule: Rule, alternative: Alternative) -> str:
    """Return patterns, then conditions. A node has its label where it first occurs."""
    known: set[Term] = set()
    lines = [f"MATCH {_pattern(atom, known)}" for leaf in alternative.joined for atom in leaf.atoms]
    lines += [f"MATCH ({variable.name.lower()}:Entity)" for variable in alternative.unbound]
    known |= set(alternative.unbound)
    conditions = [c for leaf in alternative.joined for c in _different(leaf)]
    graph: str | None = None
    for end in alternative.in_graph:
        name = end.name.lower() if isinstance(end, Variable) else "c"
        if isinstance(end, Constant):
            lines.append(f"MATCH (c:Entity {{name: {quoted(end.name)}}})")
        if graph is not None:
            conditions.append(f"{name}.graph = {graph}")
        graph = graph or f"{name}.graph"
    conditions += [_test(leaf, known, graph) for leaf in alternative.tested]
    where = [f"WHERE {' AND '.join(conditions)}"] if conditions else []
    return "\n".join([*lines, *where, f"RETURN DISTINCT {_row(rule)}"])


def _name(term: Term) -> str:
    return quoted(term.name) if isinstance(term, Constant) else f"{term.name.lower()}.name"


def _node(term: Term, known: set[Term]) -> str:
    if isinstance(term, Constant):
        return f"(:Entity {{name: {quoted(term.name)}}})"
    label = "" if term in known else ":Entity"
    known.add(term)
    return f"({term.name.lower()}{label})"


def _pattern(atom: Atom, known: set[Term]) -> str:
    name = quoted(atom.predicate.name)
    subject, *objects = [_node(term, known) for term in atom.arguments]
    if not objects:
        return f"{subject}-[:Kind]->(:Class {{name: {name}}})"
    return f"{subject}-[:Fact {{predicate: {name}}}]->{objects[0]}"


def _test(leaf: Leaf, known: set[Term], graph: str | None) -> str:
    if leaf.equal is not None:
        one, two = map(_name, leaf.equal)
        return f"{one} {'<>' if leaf.negated else '='} {two}"
    conditions = _different(leaf)
    if graph is not None and leaf.untied is not None:
        conditions.append(f"{leaf.untied.name.lower()}.graph = {graph}")
    inner = set(known)
    patterns = [_pattern(atom, inner) for atom in leaf.atoms]
    text = " AND ".join(conditions)
    for pattern in reversed(patterns):
        text = f"EXISTS {{ MATCH {pattern}{f' WHERE {text}' if text else ''} }}"
    return f"NOT {text}" if leaf.negated else text


def _different(leaf: Leaf) -> list[str]:
    return [f"{_name(one)} <> {_name(two)}" for one, two in leaf.different]


def facts(kb: KnowledgeBase) -> Iterator[str]:
    """Yield the tables and their content; facts of weight >= .5, as in the statistics."""
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
        for items, other, created in (
            (unary, "(p:Class {name: row.p})", "[:Kind]->(p)"),
            (binary, "(b:Entity {name: row.b})", "[:Fact {predicate: row.p}]->(b)"),
        ):
            if items:
                listed = ",\n".join(items)
                yield f"UNWIND [{listed}] AS row MATCH (a:Entity {{name: row.a}}), {other} CREATE (a)-{created};\n"


LANGUAGE = Language(rule_query, facts, comment="// ", answers_only=True, between="\n")
