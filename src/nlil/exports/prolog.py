"""Prolog (SWI-Prolog): the rules are nlil's own exact text, read back by `parse_program`; the facts bring what runs it.

`facts` writes the facts and, before them, a loader: `'nlil:rules'('rules.pl')`. As it reads the rules it puts
'nlil:entity'(X) before what is negated and at the end of each body, so that a head variable that nothing binds ranges
over the entities; where there are many graphs it ties head and body variables to one graph. Heads are relations like
any other, tabled, so a program derives the least fixpoint, as `nlil materialize` does. Denials are kept as
'nlil:denial'(Ruled_out, By) and not run.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..data.kb import KnowledgeBase
from ..errors import ExportError
from ..logic.predicate import Predicate
from ..logic.rule import Rule
from ..logic.text import atom_text, rule_text
from .language import Language, Options, entity_rows, fact_rows

OWN = "nlil:"
LOADER = r"""
:- dynamic 'nlil:reading'/0.
:- multifile 'nlil:denial'/2.
:- discontiguous 'nlil:denial'/2, 'nlil:entity'/1, 'nlil:graph'/2.
'nlil:rules'(File) :-
    style_check(-singleton),
    setup_call_cleanup(assertz('nlil:reading'), load_files(File, [encoding(utf8)]), retractall('nlil:reading')).

term_expansion((:- Ruled_out, By), 'nlil:denial'(Ruled_out, By)) :- 'nlil:reading'.
term_expansion((Head :- Body), [(:- table(P)), (:- multifile(P)), (:- discontiguous(P)), (Head :- Guarded)]) :-
    'nlil:reading',
    functor(Head, Name, Arity), P = Name/Arity,
    term_variables(Head, Variables),
    'nlil:entities'(Variables, Entities),
    'nlil:guarded'(Body, Variables-Graph, Inner),
    'nlil:head'(Head, Graph, Same_graph),
    Guarded = (Same_graph, Inner, Entities).

'nlil:guarded'((A, B), V, (C, D)) :- !, 'nlil:guarded'(A, V, C), 'nlil:guarded'(B, V, D).
'nlil:guarded'((A ; B), V, (C ; D)) :- !, 'nlil:guarded'(A, V, C), 'nlil:guarded'(B, V, D).
'nlil:guarded'(\+ A, V-G, (Entities, \+ B)) :- !, 'nlil:guarded'(A, V-G, B), 'nlil:entities'(V, Entities).
'nlil:guarded'(true, _, true) :- !.
'nlil:guarded'(A = B, _, A = B) :- !.
'nlil:guarded'(A \= B, _, A \= B) :- !.
'nlil:guarded'(Atom, V-G, (Atom, Same_graph)) :- term_variables(Atom, Own), 'nlil:body'(Own, V, G, Same_graph).

'nlil:entities'([], true).
'nlil:entities'([V | Vs], ('nlil:entity'(V), Entities)) :- 'nlil:entities'(Vs, Entities).
"""
ONE_GRAPH = """
'nlil:head'(_, _, true).
'nlil:body'(_, _, _, true).
"""
MANY_GRAPHS = """
'nlil:head'(Head, G, Same_graph) :- Head =.. [_ | Arguments], 'nlil:same_graph'(Arguments, G, Same_graph).
'nlil:body'([], _, _, true).
'nlil:body'([Z | Zs], Head, G, Same_graph) :-
    'nlil:body'(Zs, Head, G, Others),
    (   member(X, Head), X == Z -> Same_graph = Others ; Same_graph = ('nlil:graph'(Z, G), Others) ).
'nlil:same_graph'([], _, true).
'nlil:same_graph'([X | Xs], G, ('nlil:graph'(X, G), Others)) :- 'nlil:same_graph'(Xs, G, Others).
"""


def rule_clause(rule: Rule, options: Options) -> str:
    """The exact text of the rule."""
    for predicate in (rule.target, *rule.predicates):
        _check(predicate)
    return rule_text(rule)


def _check(predicate: Predicate) -> None:
    if predicate.name.startswith(OWN):
        raise ExportError(
            f"predicates that begin with {OWN} are used by the export itself, got {predicate}; rename it in the data",
            "Prolog",
        )


def facts(kb: KnowledgeBase) -> Iterator[str]:
    """The loader of rules, entities with their graphs, then the facts of weight >= .5."""
    yield ":- encoding(utf8).\n" + LOADER.lstrip() + (ONE_GRAPH if kb.graph_of is None else MANY_GRAPHS)
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
