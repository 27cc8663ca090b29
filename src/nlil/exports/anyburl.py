"""AnyBURL's rule text, written and read: `predicted, correct, confidence, head <= body`, tabs between.

AnyBURL knows binary predicates, rules that are one path (X to Y, or from the variable of the head to a constant or to
anything), and keeps all variables apart; it has no quotes. Everything else is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from string import ascii_uppercase

from ..errors import DataError, ExportError
from ..logic.formula import TRUE, Anything, Constant, Formula, Statement, Variable
from ..logic.predicate import Predicate
from ..logic.rule import Rule, RuleStats
from .alternatives import Free, Term, part_of
from .foreign import ForeignAtom, Unsayable, foreign_rule

LANGUAGE = "AnyBURL"
LINE = re.compile(r"\d+\t\d+\t[0-9.eE+-]+\t.*<=.*")
"""What a line of such a file looks like."""
_LETTERS = [letter for letter in ascii_uppercase if letter not in "XY"]
_VARIABLE = re.compile("[A-Z]")
_ITSELF = "me_myself_i"
"""AnyBURL's word for the other argument of the same atom: p(X,me_myself_i) is p(X,X)."""
_ARGUMENTS = [re.compile(pattern) for pattern in (r"([A-Z]),(.+)\)", r"(.+),([A-Z])\)", r"([^,]+),([^,]+)\)")]


def rule_line(rule: Rule, stats: RuleStats) -> str:
    """12\t10\t0.8333\tuncle(X,Y) <= brother(X,A), parent(A,Y)"""
    head = _atom(rule.target, rule.head.arguments, {})
    return f"{stats.body_size}\t{stats.support}\t{stats.confidence}\t{head} <= {_body(rule)}"


def _body(rule: Rule) -> str:
    body = _sayable(rule)
    if body is None:
        return ""
    names = [f"Z{number}" for number in range(1, len(body.line.anchors) + 1)]
    part = part_of(body, names, distinct=False)
    letters: dict[Term, str] = {}
    return ", ".join(_atom(atom.predicate, atom.arguments, letters) for atom in part.atoms)


def _sayable(rule: Rule) -> Statement | None:
    """The one path of the body, None for a prior; what AnyBURL cannot say is refused."""
    body: Formula = rule.body
    if rule.target.arity == 1:
        raise ExportError(f"it has no unary predicates, the head of {rule} is one", LANGUAGE)
    constant_head = any(isinstance(a, Constant) for a in rule.head.arguments)
    if body == TRUE:
        if not constant_head:
            raise ExportError(f"a prior needs a constant in its head, {rule} has none", LANGUAGE)
        return None
    if not isinstance(body, Statement):
        raise ExportError(
            f"a body is one path, without negation, alternatives or further statements, got {rule}", LANGUAGE
        )
    if any(step.is_filter for step in body.steps):
        raise ExportError(f"it has no unary predicates, the body of {rule} has", LANGUAGE)
    if not body.steps:
        raise ExportError(f"it has no equations, got {rule}", LANGUAGE)
    variables = {a for a in (body.start, body.end) if isinstance(a, Variable)}
    closed = body.start == body.end and not isinstance(body.start, Anything)
    if variables != rule.head.variables or closed:
        raise ExportError(
            "a path leads from X to Y, or from the head's one variable to a constant or to anything; "
            f"that of {rule} does not",
            LANGUAGE,
        )
    if body.line.num_variables > 1 and not rule.distinct:
        raise ExportError(f"it keeps all variables apart, {rule} does not", LANGUAGE)
    return body


def _atom(predicate: Predicate, arguments: tuple[Term, ...], letters: dict[Term, str]) -> str:
    return f"{_plain(predicate.name)}({','.join(_term(a, letters) for a in arguments)})"


def _term(term: Term, letters: dict[Term, str]) -> str:
    match term:
        case Free():
            if term not in letters and len(letters) == len(_LETTERS):
                raise ExportError(f"a rule has at most {len(_LETTERS)} body variables", LANGUAGE)
            return letters.setdefault(term, _LETTERS[min(len(letters), len(_LETTERS) - 1)])
        case Constant(name):
            if _VARIABLE.fullmatch(name):
                raise ExportError(f"it would take the entity {name!r} for a variable; rename it in the data", LANGUAGE)
            return _plain(name)
        case _:
            return term.name


def _plain(name: str) -> str:
    if not name or re.search(r"[\s(),]|<=", name):
        raise ExportError(
            f"names stand without quotes, so none may be empty or hold spaces, brackets or commas, "
            f"got {name!r}; rename it in the data",
            LANGUAGE,
        )
    return name


def read_rules(text: str, path: object) -> Iterator[tuple[Rule | Unsayable, int]]:
    """Every rule of the text with its line; its numbers are not kept, as nlil counts for itself.

    What is no rule of AnyBURL's is refused; a rule that is none of ours comes as Unsayable.
    """
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        if LINE.fullmatch(line) is None:
            raise DataError(
                f"expected predicted, correct, confidence and head <= body with tabs between, got {line!r}",
                path,
                number,
            )
        head, _, body = line.split("\t", 3)[3].partition("<=")
        atoms = [_read_atom(atom, path, number) for atom in (head, *_split(body))]
        # AnyBURL grounds different variables with different entities.
        yield foreign_rule(atoms[0], atoms[1:], True), number


def _split(body: str) -> list[str]:
    return [atom for atom in re.split(r"(?<=\)), +", body.strip()) if atom]


def _read_atom(text: str, path: object, line: int) -> ForeignAtom:
    """name(s,t): names may hold commas and brackets, so a variable on one side tells where the other begins."""
    name, _, inside = text.strip().partition("(")
    found = next((f for f in (pattern.fullmatch(inside) for pattern in _ARGUMENTS) if f is not None), None)
    if not name or found is None:
        raise DataError(f"expected an atom such as uncle(X,Y), got {text.strip()!r}", path, line)
    first, second = found.groups()
    first, second = second if first == _ITSELF else first, first if second == _ITSELF else second
    return ForeignAtom(name, (first, second), (_is_variable(first), _is_variable(second)))


def _is_variable(term: str) -> bool:
    return _VARIABLE.fullmatch(term) is not None
