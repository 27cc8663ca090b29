"""Prolog (SWI-Prolog): the rules are nlil's exact text, which `parse_program` reads back; the facts contain a loader.

`facts` writes loader.pl before the facts: `'nlil:rules'('rules.pl')`. As it reads the rules, it adds 'nlil:entity'(X)
before negations and at the end of each body, so that an unbound head variable ranges over the entities; if there are
many graphs, it restricts head and body variables to one graph. Heads are ordinary, tabled relations, so a program
derives the least fixpoint, as `nlil materialize` does. Denials are stored as 'nlil:denial'(Ruled_out, By) and not
executed.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files

from ..data.kb import KnowledgeBase
from ..errors import ExportError
from ..logic.predicate import Predicate
from ..logic.rule import Rule
from ..logic.text import atom_text, rule_text
from .language import Language, Options, entity_rows, fact_rows

OWN = "nlil:"
ONE_GRAPH = """
'nlil:head'(_, _, true).
'nlil:body'(_, _, _, true).
"""


def rule_clause(rule: Rule, options: Options) -> str:
    """Write the exact text of the rule."""
    for predicate in (rule.target, *rule.predicates):
        _check(predicate)
    return rule_text(rule)


RESERVED = frozenset(
    {
        *(
            (name, 1)
            for name in ("\\+", ":-", "?-", "assertz", "call", "discontiguous", "dynamic", "multifile", "table")
        ),
        *((name, 1) for name in ("redefine_system_predicate", "retractall", "style_check")),
        *((name, 2) for name in (",", ";", "|", "->", "*->", ":", ":-", "-->", "=", "\\=", "/", "-")),
        *((name, 2) for name in ("load_files", "predicate_property", "term_expansion", "term_variables")),
    }
)
"""Predicates that Prolog or the loader cannot do without; any other built-in is redefined by the facts."""


def _check(predicate: Predicate) -> None:
    if (predicate.name, predicate.arity) in RESERVED:
        raise ExportError(f"{predicate} has a fixed meaning there; rename it in the data", "Prolog")
    if predicate.name.startswith(OWN):
        raise ExportError(
            f"predicates that begin with {OWN} are used by the export itself, got {predicate}; rename it in the data",
            "Prolog",
        )


def _text(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def facts(kb: KnowledgeBase) -> Iterator[str]:
    """Yield the loader, the entities with their graphs, then the facts of weight >= .5."""
    yield ":- encoding(utf8).\n" + _text("loader.pl")
    yield ONE_GRAPH if kb.graph_of is None else "\n" + _text("many_graphs.pl")
    for predicate in kb.predicates:
        _check(predicate)
        name = f"{atom_text(predicate.name)}/{predicate.arity}"
        head = f"{atom_text(predicate.name)}({', '.join('_' * predicate.arity)})"
        yield f":- 'nlil:redefine'({head}). :- multifile({name}). :- discontiguous({name}). :- table({name}).\n"
    for entity, graph in entity_rows(kb):
        yield f"'nlil:entity'({atom_text(entity)}). 'nlil:graph'({atom_text(entity)}, {graph}).\n"
    for subject, relation, object in fact_rows(kb):
        arguments = (subject,) if object is None else (subject, object)
        yield f"{atom_text(relation)}({', '.join(map(atom_text, arguments))}).\n"


LANGUAGE = Language(rule_clause, facts)
