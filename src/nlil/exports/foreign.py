"""Rules that other systems wrote, read as rules of ours: AnyBURL's and AMIE's.

    5	3	0.6	uncle(X,Y) <= brother(X,A), parent(A,Y)         AnyBURL: predicted, correct, confidence, rule
    ?a  brother  ?e  ?e  parent  ?b   => ?a  uncle  ?b	0.5	...   AMIE: rule, then columns of figures

The figures are not kept, as nlil counts for itself. What is no rule of the other system is refused; a sound rule that
is none of ours comes as Unsayable. A new system is a reader here and its entry in FORMATS.
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

REASONS = {
    "joined by three": "with a variable that three binary atoms share",
    "in a ring": "with a ring of variables in the body",
    "joined to itself": "with a body variable twice in one atom",
    "twice in the head": "with one variable twice in the head",
    "head needs a variable": "with no variable in the head",
}
"""What the parser says of one rule -> what is said of many."""
OTHER = "with another shape than nlil's rules"
ANYBURL_LINE = re.compile(r"\d+\t\d+\t[0-9.eE+-]+\t.*<=.*")
ANYBURL_VARIABLE = re.compile("[A-Z]")
_ITSELF = "me_myself_i"
"""AnyBURL's word for the other argument of the same atom: p(X,me_myself_i) is p(X,X)."""
_ARGUMENTS = [re.compile(pattern) for pattern in (r"([A-Z]),(.+)\)", r"(.+),([A-Z])\)", r"([^,]+),([^,]+)\)")]
_AMIE_HEADER = r".*\bRule\t.*\bPCA Confidence\b.*"
AMIE_LINE = re.compile(rf"\?\w+\s\s+\S.*=>.*|{_AMIE_HEADER}")
"""A rule, or the names of the columns."""

ForeignAtom = tuple[str, Sequence[tuple[str, bool]]]
"""The name of a binary predicate, and its terms, each with whether it is a variable."""


@dataclass(frozen=True, slots=True)
class Unsayable:
    """A sound rule of another system that is none of ours; `reason` goes on after "12 rules"."""

    reason: str


Found = Iterator[tuple[Rule | Unsayable, int]]
"""Rules, each with its line."""


def _rule(head: ForeignAtom, body: Sequence[ForeignAtom], distinct: bool) -> Rule | Unsayable:
    """The rule that these atoms say, or why it cannot be one of ours."""
    # Offsets only tell occurrences apart here: the text is not ours.
    anchors: Mapping[str, Anchor] = {}

    def atom(i: int, name: str, terms: Sequence[tuple[str, bool]]) -> Atom:
        found = (Term(t, anchors.get(t, ANY) if v else Constant(t), 3 * i + j) for j, (t, v) in enumerate(terms, 1))
        return Atom(Predicate(name, 2), tuple(found), 3 * i)

    try:
        own, anchors = head_of(atom(0, *head))
        atoms = tuple(atom(i, *foreign) for i, foreign in enumerate(body, start=1))
        rule = clause_rule(Clause(own, (atoms or (TrueMark(0),),), 0))
        return Rule(rule.head, rule.body, distinct)
    except (Fault, RuleError) as fault:
        return Unsayable(next((many for one, many in REASONS.items() if one in str(fault)), OTHER))


def read_anyburl(text: str, path: object) -> Found:
    """Every rule of a file of AnyBURL's; `path` is named in messages."""
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        if ANYBURL_LINE.fullmatch(line) is None:
            raise DataError(
                f"expected predicted, correct, confidence and head <= body with tabs between, got {line!r}",
                path,
                number,
            )
        head, _, body = line.split("\t", 3)[3].partition("<=")
        bodies = [atom for atom in re.split(r"(?<=\)), +", body.strip()) if atom]
        atoms = [_anyburl_atom(atom, path, number) for atom in (head, *bodies)]
        # AnyBURL grounds different variables with different entities.
        yield _rule(atoms[0], atoms[1:], True), number


def _anyburl_atom(text: str, path: object, line: int) -> ForeignAtom:
    """name(s,t): names may hold commas and brackets, so a variable on one side tells where the other begins."""
    name, _, inside = text.strip().partition("(")
    found = next((f for f in (pattern.fullmatch(inside) for pattern in _ARGUMENTS) if f is not None), None)
    if not name or found is None:
        raise DataError(f"expected an atom such as uncle(X,Y), got {text.strip()!r}", path, line)
    first, second = found.groups()
    first, second = second if first == _ITSELF else first, first if second == _ITSELF else second
    return name, [(term, ANYBURL_VARIABLE.fullmatch(term) is not None) for term in (first, second)]


def read_amie(text: str, path: object) -> Found:
    """Every rule of AMIE's output; `path` is named in messages.

    Two spaces part the words of a rule. What AMIE says before and after its rules has no tabs and does not begin with a
    variable.
    """
    for number, line in enumerate(text.split("\n"), start=1):
        rule = line.split("\t")[0].strip()
        if "=>" not in rule:
            if (rule.startswith("?") or "\t" in line.strip()) and re.fullmatch(_AMIE_HEADER, line) is None:
                raise DataError(f"expected a rule such as ?a  p  ?b   => ?a  q  ?b, got {line.strip()!r}", path, number)
            continue
        body, _, head = rule.partition("=>")
        heads = _amie_atoms(head, path, number)
        if len(heads) != 1:
            raise DataError(f"expected one atom such as ?a  p  ?b after =>, got {head.strip()!r}", path, number)
        # AMIE lets different variables take the same entity.
        yield _rule(heads[0], _amie_atoms(body, path, number), False), number


def _amie_atoms(text: str, path: object, line: int) -> list[ForeignAtom]:
    words = [word for word in re.split(r"\s{2,}", text.strip()) if word]
    if len(words) % 3:
        raise DataError(
            f"expected atoms of three words, two spaces between, such as ?a  p  ?b, got {text.strip()!r}", path, line
        )
    # <ann> is ann, as in the triples that AMIE reads.
    plain = [word[1:-1] if word.startswith("<") and word.endswith(">") else word for word in words]
    terms = [(name, word.startswith("?")) for name, word in zip(plain, words)]
    return [(plain[i + 1], (terms[i], terms[i + 2])) for i in range(0, len(words), 3)]


FORMATS: dict[str, tuple[re.Pattern[str], Callable[[str, object], Found]]] = {
    "anyburl": (ANYBURL_LINE, read_anyburl),
    "amie": (AMIE_LINE, read_amie),
}
"""By name: what a line looks like that only this system writes, and the reader of the whole text."""
