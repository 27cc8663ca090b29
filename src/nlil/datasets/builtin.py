"""Built-in sets, generated here by seeded code, with the rules they make true.

`even:n`, `kin:n`, `street:n`, `scenes:n`: n is the size.  `planted:CONSTRUCT`: a base for one kind of rule.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ..data.dataset import Dataset, make_dataset
from ..data.facts import NO_OBJECT, Facts, Splits
from ..data.kb import KnowledgeBase
from ..data.vocabulary import Vocabulary
from ..errors import DataError
from ..logic.formula import ANY, Statement, X
from ..logic.predicate import Predicate, Step
from ..logic.rule import Head, Rule

EVEN, SUCC, ZERO = Predicate("even", 1), Predicate("succ", 2), Predicate("zero", 1)


def make_even(size: int, seed: int = 0) -> Dataset:
    """Make even numbers and the successor (the paper's ES-n) over 0 .. `size`: zero(0), succ(i, i + 1), even(2 i).

    Everything is training facts, nothing is random. The task is to find the two rules of `planted_even`, whose least
    fixpoint is `even` again.
    """
    numbers = np.arange(size + 1, dtype=np.int32)
    evens = numbers[::2]
    predicate = np.repeat(np.asarray([0, 1, 2], np.int32), [len(evens), size, 1])
    subject = np.concatenate((evens, numbers[:-1], numbers[:1]))
    object = np.full(len(subject), NO_OBJECT, np.int32)
    object[predicate == 1] = numbers[1:]
    facts = Facts(predicate, subject, object).unique()
    kb = KnowledgeBase(Vocabulary(pa.array(numbers).cast(pa.string())), (EVEN, SUCC, ZERO), facts)
    return make_dataset(f"even:{size}", kb, Splits(facts), (EVEN,), planted_even())


def planted_even() -> tuple[Rule, ...]:
    """even(X) :- zero(X).   even(X) :- even(Z2), succ(Z2, Z1), succ(Z1, X).   (X, Z1, Z2 different)"""
    back = Step(SUCC, inverse=True)
    return (
        Rule(Head.of(EVEN), Statement(X, (Step(ZERO),))),
        Rule(Head.of(EVEN), Statement(X, (back, back, Step(EVEN)), ANY), distinct=True),
    )


def make_kin(size: int, seed: int = 0) -> Dataset:
    """Make genealogies; see kin.py."""
    from . import kin  # each generator is imported when its data is wanted

    return kin.make_kin(size, seed)


def make_street(size: int, seed: int = 0) -> Dataset:
    """Make street scenes; see scene/street.py."""
    from ..scene import street

    return street.make_street(size, seed)


def make_scenes(size: int, seed: int = 0) -> Dataset:
    """Make scene graphs; see scene/generator.py."""
    from ..scene import generator

    return generator.make_scenes(size, seed)


@dataclass(frozen=True)
class Builtin:
    """A generator: `make(size, seed)`.

    `size` is what stands behind the colon, `default_size` without one, at least `min_size`. `name` and `description`
    are shown by `nlil datasets`.
    """

    name: str
    description: str
    make: Callable[[int, int], Dataset]
    default_size: int
    min_size: int


BUILTINS = (
    Builtin("even", "even numbers and the successor over 0 .. n (default 10): zero, succ, even", make_even, 10, 2),
    Builtin("kin", "genealogies of n people (default 160): male, female and 16 kin relations", make_kin, 160, 20),
    Builtin("street", "n street scenes (default 200), a quarter as many to test on: 15 classes", make_street, 200, 4),
    Builtin(
        "scenes",
        "n scene graphs (default 2000), up to a quarter as many to test on: 150 classes with planted "
        "rules; scenes:85000 is as large as Visual Genome",
        make_scenes,
        2000,
        10,
    ),
)

PLANTED = "planted"


def builtin_names() -> dict[str, str]:
    """Name -> one line about it."""
    from .planted import CONSTRUCTS_BY_NAME

    described = {builtin.name: builtin.description for builtin in BUILTINS}
    return described | {PLANTED: f"one rule to be found again; planted:C, where C is {', '.join(CONSTRUCTS_BY_NAME)}"}


def make_builtin(source: str, seed: int = 0) -> Dataset | None:
    """Make the built-in set `name`, `name:size` or `planted:construct`; None when no set has that name."""
    name, colon, rest = source.partition(":")
    if name == PLANTED:
        from .planted import make_planted

        return make_planted(rest, seed)
    for builtin in BUILTINS:
        if builtin.name == name:
            return builtin.make(_size(builtin, rest) if colon else builtin.default_size, seed)
    return None


def _size(builtin: Builtin, text: str) -> int:
    if not text.isdecimal() or int(text) < builtin.min_size:
        raise DataError(
            f"{builtin.name}:{text}: expected a whole number of at least {builtin.min_size} "
            f"after the colon, got {text!r}"
        )
    return int(text)
