"""Functions and properties of lists: tasks with background clauses in Prolog, checked by SWI-Prolog on longer lists."""

from __future__ import annotations

import random
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

BACKGROUND = """head([H|_], H).
tail([_|T], T).
empty([]).
cons(A, B, [A|B]).
zero(0).
one(1).
even(A) :- number(A), 0 is A mod 2.
odd(A) :- number(A), 1 is A mod 2.
succ_of(A, B) :- number(A), B is A + 1.
"""
TYPES = {
    "head": "list,element", "tail": "list,list", "empty": "list,", "cons": "element,list,list", "zero": "int,",
    "one": "element,", "even": "element,", "odd": "element,", "succ_of": "int,int",
}  # fmt: skip
WAYS = {
    "head": "in,out", "tail": "in,out", "empty": "in,", "cons": "in,in,out", "zero": "out,", "one": "in,",
    "even": "in,", "odd": "in,", "succ_of": "in,out",
}  # fmt: skip
COMMON = ("head", "tail", "empty", "cons")
Items = list[int]
Example = tuple[Any, ...]

Make = Callable[[random.Random, int], tuple[Example, Example]]
"""Makes a true and a false example, for lists of up to so many items."""


def _items(rng: random.Random, longest: int, least: int = 1) -> Items:
    return [rng.randint(1, 9) for _ in range(rng.randint(least, longest))]


def _function(of: Callable[[Items], Any], least: int = 1) -> Make:
    def make(rng: random.Random, longest: int) -> tuple[Example, Example]:
        items, others = _items(rng, longest, least), _items(rng, longest, least)
        near: list[Any] = [of(others), items, others, items[1:]] if isinstance(of(items), list) else [*items, 0]
        wrong = rng.choice(near)  # an item of the list too, or `member` would be right about `last`
        while wrong == of(items):
            wrong = _items(rng, longest) if isinstance(wrong, list) else rng.randint(0, 9)
        return (items, of(items)), (items, wrong)

    return make


def _property(holds: Callable[[Items], bool]) -> Make:
    def make(rng: random.Random, longest: int) -> tuple[Example, Example]:
        def drawn(wanted: bool) -> Items:
            while True:
                items = _items(rng, longest, 0)
                if wanted and rng.random() < 0.5:
                    items = [2 * (item // 2) or 2 for item in items]
                if holds(items) == wanted:
                    return items

        return (drawn(True),), (drawn(False),)

    return make


LISTS: Mapping[str, tuple[Make, str, str, tuple[str, ...]]] = {
    "last": (_function(lambda x: x[-1]), "list,element", "in,out", COMMON),
    "length": (_function(len), "list,int", "in,out", (*COMMON, "zero", "succ_of")),
    "drop-last": (_function(lambda x: x[:-1]), "list,list", "in,out", COMMON),
    "all-even": (_property(lambda x: all(i % 2 == 0 for i in x)), "list,", "in,", (*COMMON, "even", "odd")),
    "has-one": (_property(lambda x: 1 in x), "list,", "in,", (*COMMON, "one", "even")),
    "second": (_function(lambda x: x[1], 2), "list,element", "in,out", COMMON),
}
"""Task -> its examples, types, directions, and the predicates of bodies."""


def write_folder(name: str, seed: int, place: Path) -> tuple[list[Example], list[Example]]:
    """Write the folder of a list task; return test examples of longer lists: true and false ones."""
    make, types, ways, body = LISTS[name]
    rng = random.Random(f"{name} {seed}")
    lines = [f"{kind}({_atom(example)})." for _ in range(12) for kind, example in zip(("pos", "neg"), make(rng, 4))]
    bias = ["max_vars(5).", "max_body(4).", "max_clauses(3).", "enable_recursion."]
    arity = len([t for t in types.split(",") if t])
    bias += [f"head_pred(f,{arity}).", f"type(f,({types})).", f"direction(f,({ways}))."]
    for symbol in body:
        count = len([t for t in TYPES[symbol].split(",") if t])
        bias += [f"body_pred({symbol},{count}).", f"type({symbol},({TYPES[symbol]}))."]
        bias += [f"direction({symbol},({WAYS[symbol]}))."]
    place.mkdir(parents=True, exist_ok=True)
    for file, text in (("bk", BACKGROUND), ("exs", "\n".join(dict.fromkeys(lines))), ("bias", "\n".join(bias))):
        (place / f"{file}.pl").write_text(text + "\n", encoding="utf-8")
    tests = [make(rng, 8) for _ in range(50)]
    return [true for true, _ in tests], [false for _, false in tests]


def _atom(example: Example) -> str:
    return f"f({','.join(str(value).replace(' ', '') for value in example)})"


def is_right(clauses: Sequence[str], true: Sequence[Example], false: Sequence[Example]) -> bool:
    """Return whether SWI-Prolog proves all `true` examples and none of the `false` ones with `clauses`."""
    command = shutil.which("swipl")
    if command is None or not clauses:
        return False
    goals = [f"once({_atom(e)})" for e in true] + [f"\\+ {_atom(e)}" for e in false]
    text = BACKGROUND + "\n".join(clauses) + "\n:- initialization((" + ",\n".join(goals) + " -> halt(0) ; halt(1))).\n"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "check.pl"
        path.write_text(text, encoding="utf-8")
        try:
            done = subprocess.run(
                [command, "-q", "-f", "none", str(path)], capture_output=True, timeout=30, check=False
            )
        except subprocess.TimeoutExpired:
            return False
    return done.returncode == 0
