"""Datalog for clingo: one clause per alternative of a rule, helper clauses for what is negated.

Plain names are written as they are: uncle(ann, bob). Others are strings, and a predicate that is not a plain name
becomes the first argument of fact: fact("/film/film/genre", "Alien", horror). Heads are ordinary relations, so a
program derives the least fixpoint, as `nlil materialize` does; `entity` and `graph` are added if a rule ranges over all
entities or over one graph.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ..data.kb import KnowledgeBase
from ..errors import ExportError, RuleError
from ..kernel.materialize import strata
from ..kernel.normal import Leaf, Term
from ..logic.formula import Constant, Variable
from ..logic.predicate import Predicate
from ..logic.rule import Rule
from .language import Alternative, Language, Options, alternatives, entity_rows, fact_rows, refuse_nul
from .rule_columns import RuleColumns

NAME = "Datalog"
_PLAIN = re.compile(r"[a-z][A-Za-z0-9_]*", re.ASCII)
_OWN = re.compile(r"not|fact|entity|graph|absent_[0-9_]+", re.ASCII)
"""Keywords and relations of the export itself: a predicate of such a name is written with fact(...)."""


def constant(name: str) -> str:
    """Write a name as a constant, quoted if necessary.

    >>> constant("ann"), constant("Ann \\"B\\"")
    ('ann', '"Ann \\\\"B\\\\""')
    """
    if _PLAIN.fullmatch(name) and name != "not":
        return name
    return _string(name)


def _string(name: str) -> str:
    return '"' + refuse_nul(name, NAME).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def atom_text(predicate: Predicate, *arguments: str) -> str:
    """Write an atom of `arguments`; a `predicate` that is not a plain name becomes the first argument of `fact`."""
    if _PLAIN.fullmatch(predicate.name) and not _OWN.fullmatch(predicate.name):
        return f"{predicate.name}({', '.join(arguments)})"
    return f"fact({', '.join((_string(predicate.name), *arguments))})"


def rule_clauses(rule: Rule, options: Options) -> str:
    """Return the clauses of a rule; `options.number` distinguishes its helper relations from those of other rules."""
    if options.exclusions:
        raise ExportError(
            "exclusions apply to given facts only, but a relation here also has derived facts; "
            "leave the exclusions out",
            NAME,
        )
    lines: list[str] = []
    head = atom_text(rule.target, *map(_term, rule.head.arguments))
    for index, alternative in enumerate(alternatives(rule, NAME, options), start=1):
        body, helpers = _body(alternative, f"{options.number}_{index}")
        lines += [*helpers, f"{head} :- {', '.join(body)}."]
    return "\n".join(lines) or "% never holds"


def _term(term: Term) -> str:
    return constant(term.name) if isinstance(term, Constant) else term.name


def _atoms(leaf: Leaf) -> list[str]:
    return [atom_text(atom.predicate, *map(_term, atom.arguments)) for atom in leaf.atoms]


def _different(leaf: Leaf) -> list[str]:
    return [f"{_term(one)} != {_term(two)}" for one, two in leaf.different]


def _body(alternative: Alternative, place: str) -> tuple[list[str], list[str]]:
    body: list[str] = []
    helpers: list[str] = []
    in_graph = bool(alternative.in_graph)
    for leaf in alternative.joined:
        body += [*_atoms(leaf), *_different(leaf)]
    body += [f"entity({variable.name})" for variable in alternative.unbound]
    body += [f"graph({_term(term)}, G)" for term in alternative.in_graph]
    for index, leaf in enumerate(alternative.tested, start=1):
        if leaf.equal is not None:
            one, two = map(_term, leaf.equal)
            body.append(f"{one} {'!=' if leaf.negated else '='} {two}")
        elif not leaf.negated:
            body += _conjunction(leaf, in_graph)
        elif _is_one_fact(leaf):
            body.append(f"not {_atoms(leaf)[0]}")
        else:
            helper, clause = _helper(leaf, f"absent_{place}_{index}", in_graph)
            body.append(f"not {helper}")
            helpers.append(clause)
    return body, helpers


def _conjunction(leaf: Leaf, in_graph: bool) -> list[str]:
    tie = [f"graph({leaf.untied.name}, G)"] if in_graph and leaf.untied is not None else []
    return [*_atoms(leaf), *tie, *_different(leaf)]


def _is_one_fact(leaf: Leaf) -> bool:
    return len(leaf.atoms) == 1 and not leaf.different and all(isinstance(t, Constant | Variable) for t in leaf.terms)


def _helper(leaf: Leaf, name: str, in_graph: bool) -> tuple[str, str]:
    """Return the negated part as a relation over its head variables (and its graph)."""
    shared = [variable.name for variable in leaf.head_variables]
    if in_graph and leaf.untied is not None:
        shared.append("G")
    helper = f"{name}({', '.join(shared)})" if shared else name
    return helper, f"{helper} :- {', '.join(_conjunction(leaf, in_graph))}."


def facts(kb: KnowledgeBase) -> Iterator[str]:
    """Yield entities with their graphs, then the facts of weight >= .5."""
    # Declare relations that may be empty, so that clingo does not warn about them.
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


def check_stratified(rules: Sequence[Rule]) -> None:
    """Raise ExportError if `rules` use negation in a cycle, for which clingo has several answer sets, or none."""
    columns = RuleColumns()
    for rule in rules:
        columns.add(rule, 0)
    try:
        strata(columns.rules())
    except RuleError as error:
        raise ExportError(str(error), NAME) from error


LANGUAGE = Language(rule_clauses, facts, comment="% ", check=check_stratified)
