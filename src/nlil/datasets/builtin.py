"""Built-in sets, generated here by seeded code, with the rules they make true.

`even:n`, `kin:n`, `street:n`, `scenes:n`: n is the size.  `planted:CONSTRUCT`: a base for one kind of rule.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..data.dataset import Dataset
from ..data.even import make_even
from ..data.kin import make_kin
from ..data.planted import CONSTRUCTS, make_planted
from ..errors import DataError
from ..scene.generator import make_scenes
from ..scene.street import make_street


@dataclass(frozen=True)
class Builtin:
    """A generator: `make(size, seed)`; `size` is what stands behind the colon."""

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
    described = {builtin.name: builtin.description for builtin in BUILTINS}
    return described | {PLANTED: f"one rule to be found again; planted:C, where C is {', '.join(CONSTRUCTS)}"}


def make_builtin(source: str, seed: int = 0) -> Dataset | None:
    """The built-in set `name`, `name:size` or `planted:construct`; None when no set has that name."""
    name, colon, rest = source.partition(":")
    if name == PLANTED:
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
