"""Reads the rules of other systems: AnyBURL and AMIE.

    5	3	0.6	uncle(X,Y) <= brother(X,A), parent(A,Y)         AnyBURL: predicted, correct, confidence, rule
    ?a  brother  ?e  ?e  parent  ?b   => ?a  uncle  ?b	0.5	...   AMIE: rule, then columns of figures

Their statistics are ignored, since nlil counts for itself. A line that is not a rule of the other system is an error; a
valid rule that nlil cannot express is left out, with a reason. A new system is an entry in FORMATS with its functions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..errors import DataError, RuleError
from ..logic.formula import ANY, Anchor, Constant
from ..logic.parse import clause_rule
from ..logic.predicate import Predicate
from ..logic.rule import Rule
from ..logic.syntax import Atom, Clause, Term, TrueMark, head_of
from ..logic.tokens import Fault
from .rule_columns import Pattern, RuleColumns, pattern_of, slot_name

REASONS = {
    "joined by three": "with a variable that three binary atoms share",
    "in a ring": "with a ring of variables in the body",
    "joined to itself": "with a body variable twice in one atom",
    "twice in the head": "with one variable twice in the head",
    "head needs a variable": "with no variable in the head",
}
"""Message of the parser for one rule -> description of many."""
OTHER = "with another shape than nlil's rules"
_ANYBURL_FIGURES = re.compile(r"\d+\t\d+\t[0-9.eE+-]+\t")
ANYBURL_VARIABLE = re.compile("[A-Z]")
_ITSELF = "me_myself_i"
"""AnyBURL's name for the other argument of the same atom: p(X,me_myself_i) is p(X,X)."""
_ARGUMENTS = [re.compile(pattern) for pattern in (r"([A-Z]),(.+)\)", r"(.+),([A-Z])\)", r"([^,]+),([^,]+)\)")]
_AMIE_START = re.compile(r"\?\w+\s\s+\S")
_AMIE_HEADER = ("Rule\t", "PCA Confidence")
"""Columns of the line above the rules, in this order."""

ForeignAtom = tuple[str, Sequence[tuple[str, bool]]]
"""The name of a binary predicate and its terms, each with whether it is a variable."""


@dataclass(frozen=True, slots=True)
class Inexpressible:
    """A valid rule of another system that nlil cannot express; `reason` continues "12 rules ..."."""

    reason: str


@dataclass(frozen=True)
class RuleFormat:
    """How another system writes rules.

    Attributes:
        is_line: Whether only this system writes such a line.
        clauses: Yields (head, body, line number) of each rule of a text; the last argument is for messages.
        head: Parses the atom of a head; path and line are for messages.
        body: Parses the atoms of a body.
        distinct: Whether different variables stand for different entities.
    """

    is_line: Callable[[str], bool]
    clauses: Callable[[str, object], Iterator[tuple[str, str, int]]]
    head: Callable[[str, object, int], ForeignAtom]
    body: Callable[[str, object, int], list[ForeignAtom]]
    distinct: bool

    def read(self, text: str, path: object) -> tuple[RuleColumns, list[tuple[str, int]]]:
        """Read the rules of `text`; return also the reason and line of each unusable one. `path` is for messages."""
        columns, left_out = RuleColumns(), []
        heads: dict[str, tuple[int, Variables] | Inexpressible] = {}
        bodies: dict[tuple[Variables, str], int | Inexpressible] = {}
        reader = _BodyReader(columns, self.distinct)
        atoms: dict[str, list[ForeignAtom]] = {}
        for head_text, body_text, line in self.clauses(text, path):
            if head_text not in heads:
                heads[head_text] = _head(columns, self.head(head_text, path, line))
            if body_text not in atoms:
                atoms[body_text] = self.body(body_text, path, line)
            head = heads[head_text]
            if isinstance(head, Inexpressible):
                left_out.append((head.reason, line))
                continue
            number, variables = head
            body = bodies.get((variables, body_text))
            if body is None:
                body = bodies[variables, body_text] = reader.body(variables, atoms[body_text])
            if isinstance(body, Inexpressible):
                left_out.append((body.reason, line))
            else:
                columns.rows.append((number, body, line))
        return columns, left_out


Variables = tuple[str, ...]
"""The variables of a head as written, "" for a constant."""


def _head(columns: RuleColumns, atom: ForeignAtom) -> tuple[int, Variables] | Inexpressible:
    """Return the number of a head, and its variables."""
    name, terms = atom
    try:
        head, _ = head_of(_atom(0, name, terms, {}))
    except Fault as fault:
        return _inexpressible(fault)
    return columns.head(head), tuple(term if is_variable else "" for term, is_variable in terms)


class _BodyReader:
    """Turns bodies into columns; each pattern of variables and constants is parsed once."""

    def __init__(self, columns: RuleColumns, distinct: bool) -> None:
        self.columns, self.distinct = columns, distinct
        self.patterns: dict[tuple[Variables, ...], Pattern | Inexpressible | None] = {}

    def body(self, variables: Variables, atoms: Sequence[ForeignAtom]) -> int | Inexpressible:
        """Return the number of the body of these `atoms` under a head with these `variables`."""
        key = (variables, *(tuple(t if is_variable else "" for t, is_variable in terms) for _, terms in atoms))
        if key not in self.patterns:
            self.patterns[key] = self._pattern(variables, key[1:])
        match self.patterns[key]:
            case Inexpressible() as inexpressible:
                return inexpressible
            case None:
                rule = self._rule(variables, atoms)
                return rule if isinstance(rule, Inexpressible) else self.columns.builder.add(rule)
            case pattern:
                constants = (term for _, terms in atoms for term, is_variable in terms if not is_variable)
                return self.columns.body(pattern, [*(name for name, _ in atoms), *constants])

    def _pattern(self, variables: Variables, body: Sequence[Variables]) -> Pattern | Inexpressible | None:
        """Return the pattern of a body: the names of the atoms are the first slots, constants the next."""
        size = len(body)
        atoms: list[ForeignAtom] = []
        for number, texts in enumerate(body):
            terms = []
            for text in texts:
                terms.append((text or slot_name(size), bool(text)))
                size += not text
            atoms.append((slot_name(number), terms))
        if size > len(body) + 1:
            return None  # two constants may be equal
        rule = self._rule(variables, atoms)
        return rule if isinstance(rule, Inexpressible) else pattern_of(rule, size)

    def _rule(self, variables: Variables, atoms: Sequence[ForeignAtom]) -> Rule | Inexpressible:
        """Return a rule with this body and a head with these variables, or why there is none."""
        try:
            head, anchors = head_of(_atom(0, "p", [(name or "c", name != "") for name in variables], {}))
            body = tuple(_atom(i, *atom, anchors) for i, atom in enumerate(atoms, start=1))
            rule = clause_rule(Clause(head, (body or (TrueMark(0),),), 0))
            return Rule(rule.head, rule.body, self.distinct)
        except (Fault, RuleError) as fault:
            return _inexpressible(fault)


def _atom(number: int, name: str, terms: Sequence[tuple[str, bool]], anchors: Mapping[str, Anchor]) -> Atom:
    """Return an atom of the syntax tree; offsets only distinguish occurrences."""
    found = (
        Term(text, anchors.get(text, ANY) if is_variable else Constant(text), 3 * number + j)
        for j, (text, is_variable) in enumerate(terms, start=1)
    )
    return Atom(Predicate(name, 2), tuple(found), 3 * number)


def _inexpressible(fault: Fault | RuleError) -> Inexpressible:
    return Inexpressible(next((many for one, many in REASONS.items() if one in str(fault)), OTHER))


def _anyburl_clauses(text: str, path: object) -> Iterator[tuple[str, str, int]]:
    for number, line in enumerate(text.split("\n"), start=1):
        figures = _ANYBURL_FIGURES.match(line)
        head, arrow, body = line[figures.end() if figures else 0 :].partition("<=")
        if figures and arrow:
            yield head, body, number
        elif line.strip():
            raise DataError(
                f"expected predicted, correct, confidence and head <= body with tabs between, got {line!r}",
                path,
                number,
            )


def _anyburl_atoms(text: str, path: object, line: int) -> list[ForeignAtom]:
    atoms = [atom for atom in re.split(r"(?<=\)), +", text.strip()) if atom]
    return [_anyburl_atom(atom, path, line) for atom in atoms]


def _anyburl_atom(text: str, path: object, line: int) -> ForeignAtom:
    """Parse name(s,t).

    Names may contain commas and brackets, so a variable on one side shows where the other begins.
    """
    name, _, inside = text.strip().partition("(")
    found = next((f for f in (pattern.fullmatch(inside) for pattern in _ARGUMENTS) if f is not None), None)
    if not name or found is None:
        raise DataError(f"expected an atom such as uncle(X,Y), got {text.strip()!r}", path, line)
    first, second = found.groups()
    first, second = second if first == _ITSELF else first, first if second == _ITSELF else second
    return name, [(term, ANYBURL_VARIABLE.fullmatch(term) is not None) for term in (first, second)]


def _is_anyburl(line: str) -> bool:
    figures = _ANYBURL_FIGURES.match(line)
    return figures is not None and "<=" in line[figures.end() :]


def _is_amie(line: str) -> bool:
    start = _AMIE_START.match(line)
    return (start is not None and "=>" in line[start.end() :]) or _is_amie_header(line)


def _is_amie_header(line: str) -> bool:
    first, second = (line.find(name) for name in _AMIE_HEADER)
    return 0 <= first < second


def _amie_clauses(text: str, path: object) -> Iterator[tuple[str, str, int]]:
    """Yield the clauses; other output of AMIE has no tabs and does not begin with a variable."""
    for number, line in enumerate(text.split("\n"), start=1):
        rule = line.split("\t")[0].strip()
        if "=>" not in rule:
            if (rule.startswith("?") or "\t" in line.strip()) and not _is_amie_header(line):
                raise DataError(f"expected a rule such as ?a  p  ?b   => ?a  q  ?b, got {line.strip()!r}", path, number)
            continue
        body, _, head = rule.partition("=>")
        yield head, body, number


def _amie_head(text: str, path: object, line: int) -> ForeignAtom:
    atoms = _amie_atoms(text, path, line)
    if len(atoms) != 1:
        raise DataError(f"expected one atom such as ?a  p  ?b after =>, got {text.strip()!r}", path, line)
    return atoms[0]


def _amie_atoms(text: str, path: object, line: int) -> list[ForeignAtom]:
    """Parse atoms whose words are separated by two spaces."""
    words = [word for word in re.split(r"\s{2,}", text.strip()) if word]
    if len(words) % 3:
        raise DataError(
            f"expected atoms of three words, two spaces between, such as ?a  p  ?b, got {text.strip()!r}", path, line
        )
    # <ann> means ann, as in the triples that AMIE reads.
    plain = [word[1:-1] if word.startswith("<") and word.endswith(">") else word for word in words]
    terms = [(name, word.startswith("?")) for name, word in zip(plain, words)]
    return [(plain[i + 1], (terms[i], terms[i + 2])) for i in range(0, len(words), 3)]


FORMATS = {
    # AnyBURL keeps variables distinct, AMIE does not.
    "anyburl": RuleFormat(_is_anyburl, _anyburl_clauses, _anyburl_atom, _anyburl_atoms, distinct=True),
    "amie": RuleFormat(_is_amie, _amie_clauses, _amie_head, _amie_atoms, distinct=False),
}
