"""AMIE's rule text, read: `?a  p  ?b  ?b  q  ?c   => ?a  r  ?c`, then columns of figures, tabs between.

Terms begin with a question mark where they are variables; two spaces part the words of a rule. Different variables may
take the same entity.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ..errors import DataError
from ..logic.rule import Rule
from .foreign import ForeignAtom, Unsayable, foreign_rule

_HEADER = r".*\bRule\t.*\bPCA Confidence\b.*"
LINE = re.compile(rf"\?\w+\s\s+\S.*=>.*|{_HEADER}")
"""What a line of such a file looks like: a rule, or the names of the columns."""
_COLUMNS = re.compile(_HEADER)


def read_rules(text: str, path: object) -> Iterator[tuple[Rule | Unsayable, int]]:
    """Every rule of the text with its line; a rule that is none of ours comes as Unsayable.

    What AMIE says before and after its rules has no tabs and does not begin with a variable.
    """
    for number, line in enumerate(text.split("\n"), start=1):
        rule = line.split("\t")[0].strip()
        if "=>" not in rule:
            if (rule.startswith("?") or "\t" in line.strip()) and _COLUMNS.fullmatch(line) is None:
                raise DataError(f"expected a rule such as ?a  p  ?b   => ?a  q  ?b, got {line.strip()!r}", path, number)
            continue
        body, _, head = rule.partition("=>")
        heads = _atoms(head, path, number)
        if len(heads) != 1:
            raise DataError(f"expected one atom such as ?a  p  ?b after =>, got {head.strip()!r}", path, number)
        # AMIE lets different variables take the same entity.
        yield foreign_rule(heads[0], _atoms(body, path, number), False), number


def _atoms(text: str, path: object, line: int) -> list[ForeignAtom]:
    words = [word for word in re.split(r"\s{2,}", text.strip()) if word]
    if len(words) % 3:
        raise DataError(
            f"expected atoms of three words, two spaces between, such as ?a  p  ?b, got {text.strip()!r}", path, line
        )
    return [_atom(words[i : i + 3]) for i in range(0, len(words), 3)]


def _atom(words: Sequence[str]) -> ForeignAtom:
    first, name, second = words
    return ForeignAtom(_plain(name), (_plain(first), _plain(second)), (first.startswith("?"), second.startswith("?")))


def _plain(word: str) -> str:
    """<ann> is ann, as in the triples that AMIE reads."""
    return word[1:-1] if word.startswith("<") and word.endswith(">") else word
