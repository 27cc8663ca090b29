"""Generated graphs that look like large real ones: few hubs and many small entities, with rules planted among noise.

`write_skewed` writes a folder with train.tsv, valid.tsv, test.tsv and planted.rules. An eighth as many entities as
facts, 220 predicates, 20 of them heads of planted rules. Degrees, sizes of predicates and values have Zipf
distributions. Every planted rule holds for four of five of its pairs; a fifth of the facts of its head follows from no
rule.

`write_hubs` writes a single file in which every line has one of ten hubs.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nlil.data.arrays import Longs

FACTS_PER_ENTITY = 8
NUM_PREDICATES = 220
NUM_TYPES = 12
"""Kinds of entities; a predicate leads from one to another."""
PLANTED_SHARE = 0.35
"""Of the facts: planted heads and what their bodies are made of."""
HOLDS = 0.8
"""Of the pairs of a body, how many are facts of the head."""
UNEXPLAINED = 0.2
"""Of the facts of a head, how many follow from nothing, about."""
MOST_HELD_OUT = 5_000
"""Facts of `valid` and of `test`, but no more than a twentieth of all."""
NUM_VALUES = 50
"""Objects of the predicates that anchored rules are about."""
HUBS, HUB_PREDICATES, HUB_LINES = 10, 20, 2_000_000
LINES_PER_BLOCK = 1 << 20

PATTERNS = (
    *["h(X, Y) :- a(X, Y)."] * 2,
    *["h(X, Y) :- a(Y, X)."] * 2,
    *["h(X, Y) :- a(X, Z1), b(Z1, Y)."] * 4,
    *["h(X, Y) :- a(Z1, X), b(Z1, Y)."] * 2,
    *["h(X, Y) :- a(X, Z1), b(Y, Z1)."] * 2,
    *["h(X, Y) :- a(X, Z1), b(Z1, Z2), c(Z2, Y)."] * 3,
    "h(X, Y) :- a(X, Z1), b(Z2, Z1), c(Z2, Y).",
    *["h(X, c) :- a(X, d)."] * 4,
)
"""What is planted; a, b, c and h stand for predicates."""

Pairs = tuple[Longs, Longs]


@dataclass(frozen=True)
class Written:
    """What was written: how many facts of each split, and the planted rules as text."""

    train: int
    valid: int
    test: int
    planted: tuple[str, ...]


def write_skewed(folder: str | Path, num_facts: int, seed: int = 0) -> Written:
    """Write a graph of about `num_facts` facts with planted rules into `folder`; the same for the same `seed`."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(seed)
    world = _World(max(num_facts // FACTS_PER_ENTITY, 20 * NUM_TYPES), random)
    keys, planted = _planted(world, int(PLANTED_SHARE * num_facts))
    noise = NUM_PREDICATES - len(keys)
    left = num_facts - sum(map(len, keys))
    sizes = (left * _falling(noise, 1)).astype(np.int64) + 1
    keys += [world.noise(int(size)) for size in sizes]
    number = random.permutation(len(keys))
    rules = tuple(_named(text, number) for text in planted)
    predicate = np.repeat(number, [len(key) for key in keys])
    key = np.concatenate(keys)
    held_out = min(MOST_HELD_OUT, num_facts // 20)
    order = random.permutation(len(key))
    test, valid, train = np.split(order, [held_out, 2 * held_out])
    name = random.permutation(world.size)
    for split, rows in (("train", train), ("valid", valid), ("test", test)):
        write_facts(
            folder / f"{split}.tsv", name[key[rows] // world.size], predicate[rows], name[key[rows] % world.size]
        )
    rules = tuple(_with_constants(text, name) for text in rules)
    (folder / "planted.rules").write_text("\n".join(rules) + "\n", encoding="utf-8")
    return Written(len(train), len(valid), len(test), rules)


def write_hubs(path: str | Path) -> None:
    """Write HUB_LINES facts, each with one of ten hubs as subject or object, to the file `path`."""
    random = np.random.default_rng(0)
    entities = max(HUB_LINES // FACTS_PER_ENTITY, HUBS + 1)
    hub, other = random.integers(0, HUBS, HUB_LINES), random.integers(HUBS, entities, HUB_LINES)
    predicate = random.integers(0, HUB_PREDICATES, HUB_LINES)
    forwards = predicate % 2 == 0
    write_facts(Path(path), np.where(forwards, other, hub), predicate, np.where(forwards, hub, other))


# entities and pairs -----------------------------------------------------------------------------------


class _World:
    """Entities by number: those of type t are t, t + NUM_TYPES, ...; small numbers are hubs."""

    def __init__(self, size: int, random: np.random.Generator) -> None:
        self.size, self.random = size, random

    def _of_type(self, kind: int) -> int:
        return (self.size - kind + NUM_TYPES - 1) // NUM_TYPES

    def zipf(self, kind: int, count: int, exponent: float) -> Longs:
        """Entities of one type, the n-th of them about n ** -exponent as often as the first."""
        most, power = self._of_type(kind), 1 - exponent
        rank = (((most + 1) ** power - 1) * self.random.random(count) + 1) ** (1 / power) - 1
        return np.minimum(rank.astype(np.int64), most - 1) * NUM_TYPES + kind

    def some(self, kind: int, count: int) -> Longs:
        """Different entities of one type, `count` of them or all."""
        most = self._of_type(kind)
        return self.random.permutation(most)[: min(count, most)] * NUM_TYPES + kind

    def keys(self, subject: Longs, object: Longs) -> Longs:
        """Pairs as numbers, each once; nobody is joined to itself."""
        return np.unique((subject * self.size + object)[subject != object])

    def noise(self, count: int) -> Longs:
        """About `count` random pairs between two types; more are drawn for those that repeat."""
        one, two = self.random.integers(0, NUM_TYPES, 2).tolist()
        low, high = self.random.uniform(0.3, 0.8), self.random.uniform(0.6, 1.3)
        found = np.zeros(0, np.int64)
        for _ in range(4):
            more = count - len(found)
            found = np.union1d(found, self.keys(self.zipf(one, more, low), self.zipf(two, more, high)))
            if len(found) >= 0.99 * count:
                break
        return found


def _planted(world: _World, num_facts: int) -> tuple[list[Longs], list[str]]:
    """The facts of each predicate of the planted rules, and the rules with {0}, {1} for numbers of predicates."""
    keys: list[Longs] = []
    rules: list[str] = []
    weight = _falling(len(PATTERNS), 8)
    for pattern, share in zip(PATTERNS, weight[world.random.permutation(len(weight))], strict=True):
        letters = [letter for letter in "abc" if f"{letter}(" in pattern]
        per_predicate = int(share * num_facts / (len(letters) + 1.3))
        bodies, derived, pattern = _body(world, pattern, max(per_predicate, 20))
        kept = derived[world.random.random(len(derived)) < HOLDS]
        extra = int(len(kept) * UNEXPLAINED / (1 - UNEXPLAINED))
        pick = world.random.integers(0, len(derived), (2, extra))
        others = world.keys(derived[pick[0]] // world.size, derived[pick[1]] % world.size)
        first = len(keys)
        keys += [*bodies, np.union1d(kept, others)]
        for place, letter in enumerate(letters):
            pattern = pattern.replace(f"{letter}(", f"{{{first + place}}}(")
        rules.append(pattern.replace("h(", f"{{{first + len(letters)}}}("))
    return keys, rules


def _body(world: _World, pattern: str, count: int) -> tuple[list[Longs], Longs, str]:
    """The pairs of each predicate of a body, the pairs that the body joins, and the pattern with its constants."""
    random = world.random
    kinds = random.integers(0, NUM_TYPES, 4).tolist()
    if ", d)" in pattern:
        # Every value has its constant; the rule that is looked for is that of the most frequent one.
        subject, value, constant = world.some(kinds[0], count), *(world.some(kind, NUM_VALUES) for kind in kinds[1:3])
        which = random.choice(len(value), len(subject), p=_falling(len(value), 1))
        pattern = pattern.replace(", d)", f", <{value[0]}>)").replace(", c)", f", <{constant[0]}>)")
        return [world.keys(subject, value[which])], world.keys(subject, constant[which]), pattern
    atoms = pattern.partition(" :- ")[2].rstrip(".").split("), ")
    starts = [world.some(kind, count) for kind in kinds]
    nodes = {"X": 0, "Z1": 1, "Z2": 2, "Y": 3} if "Z2" in pattern else {"X": 0, "Z1": 1, "Y": 2}
    pairs, bodies = None, []
    at = "X"
    for atom in atoms:
        left, right = atom.split("(")[1].rstrip(")").split(", ")
        source, goal = starts[nodes[left]], starts[nodes[right]]
        edges = _functional(world, source, goal)
        bodies.append(world.keys(*edges))
        subject, object = bodies[-1] // world.size, bodies[-1] % world.size
        there = right if left == at else left
        step = (subject, object) if left == at else (object, subject)
        pairs = step if pairs is None else _joined(pairs, step)
        at = there
    assert pairs is not None
    return bodies, world.keys(*pairs), pattern


def _functional(world: _World, source: Longs, goal: Longs) -> Pairs:
    """One edge from each of the source, and a second one from every fourth; goals are drawn alike."""
    subject = np.concatenate((source, source[::4]))
    return subject, goal[world.random.integers(0, len(goal), len(subject))]


def _joined(left: Pairs, right: Pairs) -> Pairs:
    """The pairs (x, y) with (x, z) among the left and (z, y) among the right ones."""
    order = np.argsort(right[0], kind="stable")
    low = np.searchsorted(right[0][order], left[1], side="left")
    count = np.searchsorted(right[0][order], left[1], side="right") - low
    first = np.repeat(low - np.cumsum(count) + count, count)
    return np.repeat(left[0], count), right[1][order][first + np.arange(count.sum())]


def _falling(count: int, shift: float) -> np.ndarray:
    """Shares of a whole that fall off as 1 / (rank + shift)."""
    weight = 1 / (np.arange(count) + shift)
    return weight / weight.sum()


def _named(text: str, number: Sequence[int] | Longs) -> str:
    """The rule with names of predicates in place of {i}."""
    for i in range(len(number)):
        text = text.replace(f"{{{i}}}", f"p{number[i]}")
    return text


def _with_constants(text: str, name: Longs) -> str:
    """The rule with names of entities in place of <i>."""
    head, *rest = text.split("<")
    for part in rest:
        i, _, after = part.partition(">")
        head += f"e{name[int(i)]}{after}"
    return head


# files ------------------------------------------------------------------------------------------------


def write_facts(path: Path, subject: Longs, predicate: Longs, object: Longs) -> None:
    """Write lines e17 <TAB> p3 <TAB> e42, some at a time, to the file `path`; the arguments are columns of numbers."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from nlil.data.files import replacing

    def names(letter: str, numbers: Longs) -> pa.Array:
        return pc.binary_join_element_wise(letter, pa.array(numbers).cast(pa.string()), "")

    def blocks() -> Iterator[bytes]:
        for low in range(0, len(subject), LINES_PER_BLOCK):
            some = slice(low, low + LINES_PER_BLOCK)
            columns = names("e", subject[some]), names("p", predicate[some]), names("e", object[some])
            lines = pc.binary_join_element_wise(*columns, "\t")
            yield ("\n".join(lines.to_pylist()) + "\n").encode()

    with replacing(path) as temporary, temporary.open("wb") as stream:
        for text in blocks():
            stream.write(text)


if __name__ == "__main__":
    if sys.argv[1] == "hubs":
        write_hubs(sys.argv[2])
    else:
        write_skewed(sys.argv[2], int(float(sys.argv[1])))
