"""Prolog (SWI-Prolog): the rules are nlil's own exact text, read back by `parse_program`; the facts bring what runs it.

`facts` writes the facts and, before them, loader.pl: `'nlil:rules'('rules.pl')`. As it reads the rules it puts
'nlil:entity'(X) before what is negated and at the end of each body, so that a head variable that nothing binds ranges
over the entities; where there are many graphs it ties head and body variables to one graph. Heads are relations like
any other, tabled, so a program derives the least fixpoint, as `nlil materialize` does. Denials are kept as
'nlil:denial'(Ruled_out, By) and not run.
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


def _check(predicate: Predicate) -> None:
    if predicate.name.startswith(OWN):
        raise ExportError(
            f"predicates that begin with {OWN} are used by the export itself, got {predicate}; rename it in the data",
            "Prolog",
        )


def _text(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def facts(kb: KnowledgeBase) -> Iterator[str]:
    """Yield the loader of rules, entities with their graphs, then the facts of weight >= .5."""
    yield ":- encoding(utf8).\n" + _text("loader.pl")
    yield ONE_GRAPH if kb.graph_of is None else "\n" + _text("many_graphs.pl")
    for predicate in kb.predicates:
        _check(predicate)
        name = f"{atom_text(predicate.name)}/{predicate.arity}"
        yield f":- multifile({name}). :- discontiguous({name}). :- table({name}).\n"
    for entity, graph in entity_rows(kb):
        yield f"'nlil:entity'({atom_text(entity)}). 'nlil:graph'({atom_text(entity)}, {graph}).\n"
    for subject, relation, object in fact_rows(kb):
        arguments = (subject,) if object is None else (subject, object)
        yield f"{atom_text(relation)}({', '.join(map(atom_text, arguments))}).\n"


LANGUAGE = Language(rule_clause, facts)
