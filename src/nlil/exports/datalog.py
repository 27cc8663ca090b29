"""Datalog for clingo: one clause per alternative of a rule, helper clauses for what is negated.

Plain names stand as they are: uncle(ann, bob). Others are strings, and a predicate that is no plain name is the first
argument of fact: fact("/film/film/genre", "Alien", horror). Heads are relations like any other, so a program derives
the least fixpoint, as `nlil materialize` does; `entity` and `graph` are added where a rule ranges over all entities or
over one graph.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..data.kb import KnowledgeBase
from ..errors import ExportError
from ..logic.formula import Constant, Variable
from ..logic.predicate import Predicate
from ..logic.rule import Rule
from .alternatives import Alternative, Part, Term, alternatives
from .rows import entity_rows, fact_rows

LANGUAGE = "Datalog"
COMMENT = "% "
_PLAIN = re.compile(r"[a-z][A-Za-z0-9_]*", re.ASCII)
_OWN = re.compile(r"not|fact|entity|graph|absent_[0-9_]+", re.ASCII)
"""Words of the language and relations that the export makes: a predicate of such a name is written with fact(...)."""


def constant(name: str) -> str:
    """
    >>> constant("ann"), constant("Ann \\"B\\"")
    ('ann', '"Ann \\\\"B\\\\""')
    """
    if _PLAIN.fullmatch(name) and name != "not":
        return name
    return _string(name)


def _string(name: str) -> str:
    if "\0" in name:
        raise ExportError(f"a string cannot hold the character NUL of {name!r}; rename it in the data", LANGUAGE)
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def atom_text(predicate: Predicate, *arguments: str) -> str:
    if _PLAIN.fullmatch(predicate.name) and not _OWN.fullmatch(predicate.name):
        return f"{predicate.name}({', '.join(arguments)})"
    return f"fact({', '.join((_string(predicate.name), *arguments))})"


def rule_clauses(rule: Rule, number: int = 1, graphs: bool = False) -> str:
    """The clauses of a rule; `number` keeps its helper relations apart from those of other rules."""
    lines: list[str] = []
    head = atom_text(rule.target, *map(_term, rule.head.arguments))
    for index, alternative in enumerate(alternatives(rule, LANGUAGE, graphs), start=1):
        body, helpers = _body(alternative, f"{number}_{index}")
        lines += [*helpers, f"{head} :- {', '.join(body)}."]
    return "\n".join(lines) or f"{COMMENT}never holds"


def _term(term: Term) -> str:
    return constant(term.name) if isinstance(term, Constant) else term.name


def _atoms(part: Part) -> list[str]:
    return [atom_text(atom.predicate, *map(_term, atom.arguments)) for atom in part.atoms]


def _different(part: Part) -> list[str]:
    return [f"{_term(one)} != {_term(two)}" for one, two in part.different]


def _body(alternative: Alternative, place: str) -> tuple[list[str], list[str]]:
    body: list[str] = []
    helpers: list[str] = []
    in_graph = bool(alternative.in_graph)
    for part in alternative.joined:
        body += [*_atoms(part), *_different(part)]
    body += [f"entity({variable.name})" for variable in alternative.unbound]
    body += [f"graph({_term(term)}, G)" for term in alternative.in_graph]
    for index, part in enumerate(alternative.tested, start=1):
        if part.equal is not None:
            one, two = map(_term, part.equal)
            body.append(f"{one} {'!=' if part.negated else '='} {two}")
        elif not part.negated:
            body += _conjunction(part, in_graph)
        elif _is_one_fact(part):
            body.append(f"not {_atoms(part)[0]}")
        else:
            helper, clause = _helper(part, f"absent_{place}_{index}", in_graph)
            body.append(f"not {helper}")
            helpers.append(clause)
    return body, helpers


def _conjunction(part: Part, in_graph: bool) -> list[str]:
    tie = [f"graph({part.outside.name}, G)"] if in_graph and part.outside is not None else []
    return [*_atoms(part), *tie, *_different(part)]


def _is_one_fact(part: Part) -> bool:
    return len(part.atoms) == 1 and not part.different and all(isinstance(t, Constant | Variable) for t in part.terms)


def _helper(part: Part, name: str, in_graph: bool) -> tuple[str, str]:
    """What is negated, as a relation over the head variables in it (and its graph)."""
    shared = [variable.name for variable in part.head_variables]
    if in_graph and part.outside is not None:
        shared.append("G")
    helper = f"{name}({', '.join(shared)})" if shared else name
    return helper, f"{helper} :- {', '.join(_conjunction(part, in_graph))}."


def facts(kb: KnowledgeBase) -> Iterator[str]:
    """Entities with their graphs, then the facts of weight >= .5."""
    # Relations may be empty: said once, so that clingo does not warn of them.
    yield "#defined entity/1.\n#defined graph/2.\n#defined fact/2.\n#defined fact/3.\n"
    for predicate in kb.predicates:
        if _PLAIN.fullmatch(predicate.name) and not _OWN.fullmatch(predicate.name):
            yield f"#defined {predicate.name}/{predicate.arity}.\n"
    for name, graph in entity_rows(kb):
        yield f"entity({constant(name)}). graph({constant(name)}, {graph}).\n"
    for subject, relation, object in fact_rows(kb):
        arguments = (subject,) if object is None else (subject, object)
        predicate = Predicate(relation, 1 if object is None else 2)
        yield f"{atom_text(predicate, *map(constant, arguments))}.\n"
