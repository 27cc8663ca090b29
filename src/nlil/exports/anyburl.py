"""Writes AnyBURL's rule format: `predicted, correct, confidence, head <= body`, tab-separated; `foreign` reads it.

AnyBURL supports binary predicates and rules that are one path (from X to Y, or from the head's only variable to a
constant or to anything); it keeps all variables distinct and has no quotes. Other rules are refused.
"""

from __future__ import annotations

import re
from string import ascii_uppercase

from ..errors import ExportError
from ..kernel.normal import BodyVariable, Leaf, Term, node_names
from ..logic.formula import TRUE, Anything, Constant, Formula, Statement, Variable
from ..logic.predicate import Predicate
from ..logic.rule import Rule
from .foreign import ANYBURL_VARIABLE
from .language import Language, Options

NAME = "AnyBURL"
_LETTERS = [letter for letter in ascii_uppercase if letter not in "XY"]


def rule_line(rule: Rule, options: Options) -> str:
    """Write a line: 12\t10\t0.8333\tuncle(X,Y) <= brother(X,A), parent(A,Y)"""
    stats = options.stats
    assert stats is not None, "a line begins with what was counted"
    head = _atom(rule.target, rule.head.arguments, {})
    return f"{stats.body_size}\t{stats.support}\t{stats.confidence}\t{head} <= {_body(rule)}"


def _body(rule: Rule) -> str:
    body = _sayable(rule)
    if body is None:
        return ""
    letters: dict[Term, str] = {}
    atoms = Leaf(body, next(node_names(body))).atoms
    return ", ".join(_atom(atom.predicate, atom.arguments, letters) for atom in atoms)


def _sayable(rule: Rule) -> Statement | None:
    """Return the path of the body, None for a prior; raises ExportError for what AnyBURL cannot express."""
    body: Formula = rule.body
    if rule.target.arity == 1:
        raise ExportError(f"it has no unary predicates, but the head of {rule} is unary", NAME)
    constant_head = any(isinstance(a, Constant) for a in rule.head.arguments)
    if body == TRUE:
        if not constant_head:
            raise ExportError(f"a prior needs a constant in its head, {rule} has none", NAME)
        return None
    if not isinstance(body, Statement):
        raise ExportError(f"a body is one path, without negation, alternatives or further statements, got {rule}", NAME)
    if any(step.is_filter for step in body.steps):
        raise ExportError(f"it has no unary predicates, but the body of {rule} has one", NAME)
    if not body.steps:
        raise ExportError(f"it has no equations, got {rule}", NAME)
    variables = {a for a in (body.start, body.end) if isinstance(a, Variable)}
    closed = body.start == body.end and not isinstance(body.start, Anything)
    if variables != rule.head.variables or closed:
        raise ExportError(
            "a path leads from X to Y, or from the head's one variable to a constant or to anything; "
            f"that of {rule} does not",
            NAME,
        )
    if body.num_variables > 1 and not rule.distinct:
        raise ExportError(f"its variables always stand for different entities, but those of {rule} need not", NAME)
    return body


def _atom(predicate: Predicate, arguments: tuple[Term, ...], letters: dict[Term, str]) -> str:
    return f"{_plain(predicate.name)}({','.join(_term(a, letters) for a in arguments)})"


def _term(term: Term, letters: dict[Term, str]) -> str:
    match term:
        case BodyVariable():
            if term not in letters and len(letters) == len(_LETTERS):
                raise ExportError(f"a rule has at most {len(_LETTERS)} body variables", NAME)
            return letters.setdefault(term, _LETTERS[min(len(letters), len(_LETTERS) - 1)])
        case Constant(name):
            if ANYBURL_VARIABLE.fullmatch(name):
                raise ExportError(f"it would take the entity {name!r} for a variable; rename it in the data", NAME)
            return _plain(name)
        case _:
            return term.name


def _plain(name: str) -> str:
    if not name or re.search(r"[\s(),]|<=", name):
        raise ExportError(
            "names are not quoted, so they must not be empty or contain spaces, brackets or commas, "
            f"got {name!r}; rename it in the data",
            NAME,
        )
    return name


LANGUAGE = Language(rule_line)
