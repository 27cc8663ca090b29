"""SPARQL: one CONSTRUCT per rule; its answers are triples of the head.

The triples are those of nlil's N-Triples: a unary fact p(a) is `a rdf:type p`, and a name that is not an IRI is
`urn:nlil:` plus the percent-encoded name. `facts` adds two relations, which are used only if a rule ranges over all
entities or over one graph: `?x rdf:type <urn:nlil-domain:entity>` and `?x <urn:nlil-domain:graph> ?graph`.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..data.kb import KnowledgeBase
from ..data.rdf import RDF_TYPE
from ..data.write import iri
from ..errors import ExportError
from ..kernel.normal import Atom, Leaf, Term
from ..logic.formula import Constant
from ..logic.predicate import Predicate
from ..logic.rule import Rule
from .language import Alternative, Language, Options, alternatives, entity_rows, fact_rows

NAME = "SPARQL"
DOMAIN = "urn:nlil-domain:"
ENTITY, GRAPH = f"<{DOMAIN}entity>", f"<{DOMAIN}graph>"


def node(name: str) -> str:
    """Write a name as an IRI.

    >>> node("ann"), node("http://example.org/ann")
    ('<urn:nlil:ann>', '<http://example.org/ann>')
    """
    if name.startswith(DOMAIN):
        raise ExportError(
            f"names that begin with {DOMAIN} are used by the export itself, got {name!r}; rename it", NAME
        )
    return f"<{iri(name)}>"


def relation(predicate: Predicate) -> str:
    """Return the predicate as an IRI."""
    if predicate.name == RDF_TYPE:
        raise ExportError(
            f"rdf:type stands for unary predicates, so no predicate can have this name, got {predicate}; rename it",
            NAME,
        )
    return node(predicate.name)


def rule_query(rule: Rule, options: Options) -> str:
    """Write CONSTRUCT { head } WHERE { body }."""
    found = alternatives(rule, NAME, options)
    groups = [_group(alternative) for alternative in found] or ["  FILTER(false)"]
    body = groups[0] if len(groups) == 1 else "  {\n" + "\n  } UNION {\n".join(groups) + "\n  }"
    return f"CONSTRUCT {{ {_triple(Atom(rule.target, rule.head.arguments))} }} WHERE {{\n{body}\n}}"


def _term(term: Term) -> str:
    return node(term.name) if isinstance(term, Constant) else f"?{term.name.lower()}"


def _triple(atom: Atom) -> str:
    subject, *objects = map(_term, atom.arguments)
    name = relation(atom.predicate)
    return f"{subject} {name} {objects[0]} ." if objects else f"{subject} a {name} ."


def _group(alternative: Alternative) -> str:
    lines = [line for leaf in alternative.joined for line in _pattern(leaf, in_graph=False)]
    lines += [f"{_term(variable)} a {ENTITY} ." for variable in alternative.unbound]
    lines += [f"{_term(term)} {GRAPH} ?graph ." for term in alternative.in_graph]
    lines += [_test(leaf, bool(alternative.in_graph)) for leaf in alternative.tested]
    return "\n".join(f"  {line}" for line in lines)


def _pattern(leaf: Leaf, in_graph: bool) -> list[str]:
    lines = [_triple(atom) for atom in leaf.atoms]
    if in_graph and leaf.untied is not None:
        lines.append(f"{_term(leaf.untied)} {GRAPH} ?graph .")
    return lines + [f"FILTER({_term(one)} != {_term(two)})" for one, two in leaf.different]


def _test(leaf: Leaf, in_graph: bool) -> str:
    if leaf.equal is not None:
        one, two = map(_term, leaf.equal)
        return f"FILTER({one} {'!=' if leaf.negated else '='} {two})"
    return f"FILTER {'NOT ' if leaf.negated else ''}EXISTS {{ {' '.join(_pattern(leaf, in_graph))} }}"


def facts(kb: KnowledgeBase) -> Iterator[str]:
    """Yield N-Triples: entities with their graphs, then the facts of weight >= .5."""
    for name, graph in entity_rows(kb):
        yield f'{node(name)} <{RDF_TYPE}> {ENTITY} .\n{node(name)} {GRAPH} "{graph}" .\n'
    for predicate in kb.predicates:
        relation(predicate)
    for subject, name, object in fact_rows(kb):
        if object is None:
            yield f"{node(subject)} <{RDF_TYPE}> {node(name)} .\n"
        else:
            yield f"{node(subject)} {node(name)} {node(object)} .\n"


LANGUAGE = Language(rule_query, facts, comment="# ", answers_only=True, between="\n")
