"""Generators of small ILP tasks: the classic twenty of differentiable ILP, trains, scenes, lists and noise.

A world has facts, the true tuples of the target, and false ones to test. Training examples are drawn
from a small world; a program is right if it is right about all tuples of a larger world that was not used for learning.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise, product

Fact = tuple[str, ...]
"""A predicate and its arguments."""
MAX_POSITIVES, MAX_NEGATIVES = 60, 90
"""Training examples that are drawn from a world."""


@dataclass(frozen=True)
class World:
    """`facts` of the background, the `true` tuples of the target, and the `false` ones that are worth asking."""

    facts: tuple[Fact, ...]
    true: tuple[tuple[str, ...], ...]
    false: tuple[tuple[str, ...], ...]


Make = Callable[[random.Random, int], World]


def world(facts: Iterable[Fact], true: Iterable[tuple[str, ...]], domain: Iterable[tuple[str, ...]]) -> World:
    """Return a world whose false tuples are the others of the `domain`; `facts` and `true` as in World."""
    right = dict.fromkeys(sorted(true))
    return World(tuple(sorted({*facts})), tuple(right), tuple(t for t in sorted({*domain}) if t not in right))


# numbers and lists ----------------------------------------------------------------------------------


def _numbers(count: int) -> tuple[list[Fact], list[str]]:
    names = [str(i) for i in range(count)]
    return [("zero", "0"), *(("succ", a, b) for a, b in pairwise(names))], names


def _predecessor(_: random.Random, scale: int) -> World:
    facts, names = _numbers(10 * scale)
    return world(facts, zip(names[1:], names), product(names, repeat=2))


def _less_than(_: random.Random, scale: int) -> World:
    facts, names = _numbers(10 * scale)
    true = ((a, b) for i, a in enumerate(names) for b in names[i + 1 :])
    return world(facts, true, product(names, repeat=2))


def _multiples(of: int, count: int) -> Make:
    def make(_: random.Random, scale: int) -> World:
        facts, names = _numbers(count * scale)
        return world(facts, ((a,) for a in names[::of]), ((a,) for a in names))

    return make


def _even_two_steps(_: random.Random, scale: int) -> World:
    facts, names = _numbers(12 * scale)
    facts += [("succ2", a, b) for a, b in zip(names, names[2:])]
    return world(facts, ((a,) for a in names[::2]), ((a,) for a in names))


def _lists(rng: random.Random, scale: int) -> tuple[list[Fact], list[tuple[str, list[str]]]]:
    """Cells of linked lists: cons(cell, rest), value(cell, item), nil(end). Returns each cell with its items."""
    facts: list[Fact] = [("nil", "nil")]
    cells: list[tuple[str, list[str]]] = [("nil", [])]
    for number in range(4 * scale):
        rest, items = "nil", list[str]()
        for place in range(rng.randint(2, 5)):
            cell, item = f"l{number}_{place}", rng.choice("abcdefg")
            facts += [("cons", cell, rest), ("value", cell, item)]
            items = [item, *items]
            rest = cell
            cells.append((cell, items))
    return facts, cells


def _member(rng: random.Random, scale: int) -> World:
    facts, cells = _lists(rng, scale)
    return world(facts, ((i, c) for c, items in cells for i in items), product("abcdefg", (c for c, _ in cells)))


def _length(rng: random.Random, scale: int) -> World:
    facts, cells = _lists(rng, scale)
    numbers, names = _numbers(8)
    true = ((c, str(len(items))) for c, items in cells)
    return world([*facts, *numbers], true, product((c for c, _ in cells), names))


# kinship --------------------------------------------------------------------------------------------


TREES = 12
"""Families of a world of scale 1: enough to show every way to be an uncle."""


class _Family:
    """Random family `trees`: every pair of parents has a few children."""

    def __init__(self, rng: random.Random, trees: int) -> None:
        self.male: set[str] = set()
        self.parents: dict[str, tuple[str, str]] = {}
        self.couples: list[tuple[str, str]] = []
        self.people: list[str] = []
        for tree in range(trees):
            couples = [self._couple(rng, f"t{tree}r")]
            for generation in range(3):
                following = []
                for father, mother in couples:
                    for child in range(rng.randint(1, 3)):
                        name = f"{father}{child}"
                        self.parents[name] = (father, mother)
                        self._person(rng, name)
                        if generation < 2 and rng.random() < 0.7:
                            following.append(self._couple(rng, f"m{name}", name))
                couples = following

    def _person(self, rng: random.Random, name: str) -> None:
        self.people.append(name)
        if rng.random() < 0.5:
            self.male.add(name)

    def _couple(self, rng: random.Random, name: str, own: str | None = None) -> tuple[str, str]:
        if own is None:
            own = f"{name}o"
            self.people.append(own)
            self.male.add(own)
        self.people.append(name)
        if own not in self.male:
            self.male.add(name)
        couple = (own, name) if own in self.male else (name, own)
        self.couples.append(couple)
        return couple

    def facts(self, *relations: str) -> list[Fact]:
        return [(name, a, b) for name in relations for a, b in self.pairs(name)]

    def pairs(self, name: str) -> list[tuple[str, str]]:
        father = [(f, c) for c, (f, _) in self.parents.items()]
        mother = [(m, c) for c, (_, m) in self.parents.items()]
        parent = father + mother
        siblings = [(a, b) for a, b in product(self.parents, repeat=2) if a != b and self.parents[a] == self.parents[b]]
        brother = [(a, b) for a, b in siblings if a in self.male]
        of: Mapping[str, Callable[[], list[tuple[str, str]]]] = {
            "father": lambda: father,
            "mother": lambda: mother,
            "parent": lambda: parent,
            "husband": lambda: list(self.couples),
            "brother": lambda: brother,
            "sister": lambda: [(a, b) for a, b in siblings if a not in self.male],
            "daughter": lambda: [(c, p) for p, c in parent if c not in self.male],
            "son": lambda: [(c, p) for p, c in parent if c in self.male],
            "grandparent": lambda: [(a, c) for a, b in parent for b2, c in parent if b == b2],
            "uncle": lambda: [(a, c) for a, b in brother for b2, c in parent if b == b2],
        }
        return of[name]()


def _kin(target: str, *relations: str) -> Make:
    def make(rng: random.Random, scale: int) -> World:
        family = _Family(rng, TREES * scale)
        return world(family.facts(*relations), family.pairs(target), product(family.people, repeat=2))

    return make


def _son(rng: random.Random, scale: int) -> World:
    """Sons whose sex the facts tell: they are somebody's brother or father."""
    family = _Family(rng, TREES * scale)
    facts = family.facts("father", "brother", "sister")
    male = {fact[1] for fact in facts if fact[0] in ("father", "brother")}
    true = [(c, f) for f, c in family.pairs("father") if c in male]
    told = male | {fact[1] for fact in facts if fact[0] == "sister"}
    domain = [(a, b) for a, b in product(family.people, repeat=2) if a in told]
    return world(facts, true, domain)


def _husband(rng: random.Random, scale: int) -> World:
    """Husbands as far as daughters tell of them: the father of a daughter of her mother."""
    family = _Family(rng, TREES * scale)
    facts = family.facts("father", "daughter", "brother")
    known = {(f, p) for f, c in family.pairs("father") for d, p in family.pairs("daughter") if c == d and f != p}
    women = [p for p in family.people if p not in family.male]
    unknown = {*family.pairs("husband")} - known
    return world(facts, known, (t for t in product(family.people, women) if t not in unknown))


def _father(rng: random.Random, scale: int) -> World:
    family = _Family(rng, TREES * scale)
    facts = family.facts("husband", "mother", "brother")
    return world(facts, family.pairs("father"), product(family.people, repeat=2))


def _related(rng: random.Random, scale: int) -> World:
    """Related: joined by parents and children, in any direction."""
    family = _Family(rng, 2 + scale)
    edges = family.pairs("parent")
    group = {p: p for p in family.people}
    for a, b in edges * len(family.people):
        group[a] = group[b] = min(group[a], group[b])
        if len({group[x] == group[y] for x, y in edges}) == 1 and all(group[x] == group[y] for x, y in edges):
            break
    people = [p for p in family.people if any(p in edge for edge in edges)]
    pairs = list(product(people, repeat=2))
    return world(family.facts("parent"), ((a, b) for a, b in pairs if group[a] == group[b]), pairs)


# graphs ---------------------------------------------------------------------------------------------


def _graph(rng: random.Random, count: int, edges: int) -> tuple[list[str], set[tuple[str, str]]]:
    nodes = [f"v{i}" for i in range(count)]
    found: set[tuple[str, str]] = set()
    while len(found) < edges:
        a, b = rng.sample(nodes, 2)
        found.add((a, b))
    return nodes, found


def _edges(edges: Iterable[tuple[str, str]]) -> list[Fact]:
    return [("edge", a, b) for a, b in edges]


def _reach(nodes: list[str], edges: set[tuple[str, str]]) -> set[tuple[str, str]]:
    reach = set(edges)
    for middle, a, b in product(nodes, repeat=3):
        if (a, middle) in reach and (middle, b) in reach:
            reach.add((a, b))
    return reach


def _undirected(rng: random.Random, scale: int) -> World:
    nodes, edges = _graph(rng, 6 * scale, 8 * scale)
    return world(_edges(edges), {*edges, *((b, a) for a, b in edges)}, product(nodes, repeat=2))


def _connected(rng: random.Random, scale: int) -> World:
    nodes, edges = _graph(rng, 9 * scale, 10 * scale)
    return world(_edges(edges), _reach(nodes, edges), product(nodes, repeat=2))


def _cyclic(rng: random.Random, scale: int) -> World:
    """Nodes on a cycle, of any length; cycles of two to five nodes, and paths that lead to and from them."""
    edges: set[tuple[str, str]] = set()
    nodes: list[str] = []
    for part in range(5 * scale):
        ring = [f"c{part}_{i}" for i in range(2 + part % (4 + scale))]
        path = [f"p{part}_{i}" for i in range(rng.randint(2, 7))]
        nodes += ring + path
        edges |= {*zip(ring, [*ring[1:], ring[0]]), *pairwise(path)}
        edges.add((path[-1], ring[0]) if rng.random() < 0.5 else (ring[0], path[0]))
    reach = _reach(nodes, edges)
    return world(_edges(edges), ((n,) for n in nodes if (n, n) in reach), ((n,) for n in nodes))


def _colours(rng: random.Random, nodes: list[str]) -> dict[str, str]:
    return {node: rng.choice(("red", "green", "blue")) for node in nodes}


def _colour_facts(colours: Mapping[str, str]) -> list[Fact]:
    return [*(("colour", n, c) for n, c in colours.items()), ("red", "red"), ("green", "green"), ("blue", "blue")]


def _adjacent_to_red(rng: random.Random, scale: int) -> World:
    nodes, edges = _graph(rng, 12 * scale, 18 * scale)
    colours = _colours(rng, nodes)
    true = {(a,) for a, b in edges if colours[b] == "red"}
    return world([*_edges(edges), *_colour_facts(colours)], true, ((n,) for n in nodes))


def _two_children(rng: random.Random, scale: int) -> World:
    nodes, edges = _graph(rng, 12 * scale, 18 * scale)
    counts = {n: sum(a == n for a, _ in edges) for n in nodes}
    different = [("neq", a, b) for a, b in product(nodes, repeat=2) if a != b]
    return world([*_edges(edges), *different], ((n,) for n in nodes if counts[n] > 1), ((n,) for n in nodes))


def _colouring(rng: random.Random, scale: int) -> World:
    nodes, edges = _graph(rng, 12 * scale, 18 * scale)
    colours = _colours(rng, nodes)
    true = {(a,) for a, b in edges if colours[a] == colours[b]}
    return world([*_edges(edges), *_colour_facts(colours)], true, ((n,) for n in nodes))


CLASSIC: Mapping[str, Make] = {
    "predecessor": _predecessor,
    "undirected": _undirected,
    "less-than": _less_than,
    "member": _member,
    "length": _length,
    "even": _multiples(2, 12),
    "even-two-steps": _even_two_steps,
    "fizz": _multiples(3, 14),
    "buzz": _multiples(5, 22),
    "odd": lambda rng, scale: _odd(scale),
    "son": _son,
    "grandparent": _kin("grandparent", "father", "mother"),
    "husband": _husband,
    "uncle": _kin("uncle", "father", "mother", "brother"),
    "related": _related,
    "father": _father,
    "adjacent-to-red": _adjacent_to_red,
    "two-children": _two_children,
    "colouring": _colouring,
    "connected": _connected,
    "cyclic": _cyclic,
}
"""The small tasks; `even` and `odd` are one of the twenty."""


def _odd(scale: int) -> World:
    facts, names = _numbers(12 * scale)
    return world(facts, ((a,) for a in names[1::2]), ((a,) for a in names))


# trains and scenes ----------------------------------------------------------------------------------


def _trains(rng: random.Random, scale: int) -> World:
    """A train goes east if it has a short closed car."""
    facts: list[Fact] = []
    east: list[str] = []
    trains = [f"t{i}" for i in range(20 * scale)]
    for train in trains:
        good = False
        for place in range(rng.randint(2, 4)):
            car = f"{train}_{place}"
            length, roof = rng.choice(("short", "long")), rng.choice(("closed", "open"))
            shape, wheels = rng.choice(("circle", "triangle", "square")), str(rng.randint(2, 3))
            facts += [
                ("has_car", train, car),
                (length, car),
                (roof, car),
                ("load", car, shape),
                ("wheels", car, wheels),
            ]
            good |= (length, roof) == ("short", "closed")
        east += [train] if good else []
    return world(facts, ((t,) for t in east), ((t,) for t in trains))


def _scenes(good: Callable[[list[tuple[str, int]], set[tuple[int, int]]], bool]) -> Make:
    """Scenes of pieces with a colour and a size; some pieces touch. `good` says which scenes are."""

    def make(rng: random.Random, scale: int) -> World:
        facts: list[Fact] = []
        true: list[tuple[str, ...]] = []
        scenes = [f"s{i}" for i in range(30 * scale)]
        for scene in scenes:
            pieces = [(rng.choice(("red", "blue", "green")), rng.randint(1, 9)) for _ in range(rng.randint(1, 4))]
            pairs = {(i, j) for i in range(len(pieces)) for j in range(len(pieces)) if i != j and rng.random() < 0.3}
            for i, (colour, size) in enumerate(pieces):
                piece = f"{scene}_{i}"
                facts += [("piece", scene, piece), ("colour", piece, colour), ("size", piece, str(size))]
            facts += [("contact", f"{scene}_{i}", f"{scene}_{j}") for i, j in pairs]
            true += [(scene,)] if good(pieces, pairs) else []
        return world(facts, true, ((s,) for s in scenes))

    return make


RED_BLUE = ("red", "blue")
OTHERS: Mapping[str, Make] = {
    "trains": _trains,
    "zendo-contact": _scenes(lambda pieces, pairs: any((pieces[i][0], pieces[j][0]) == RED_BLUE for i, j in pairs)),
    "zendo-size": _scenes(lambda pieces, _: any(size >= 7 for _, size in pieces)),
    "zendo-same": _scenes(lambda pieces, pairs: any(pieces[i][0] == pieces[j][0] for i, j in pairs)),
    "kinship-invention": _kin("grandparent", "father", "mother"),
}
"""Trains, scenes, and kinship with an invented predicate."""
INVENTED = ("kinship-invention",)
"""Tasks that are run with --invent, and solved only by a program with an invented predicate."""
RECURSIVE = (
    "less-than", "member", "length", "even", "even-two-steps", "fizz", "buzz", "odd", "related", "connected", "cyclic",
)  # fmt: skip
"""Tasks that no program without recursion solves; nlil finds out by itself, a peer may have to be told."""
NOISY = ("uncle", "adjacent-to-red", "trains", "father", "less-than")
"""Tasks with wrong labels."""
NOISE_SCALE = 3
"""Worlds with wrong labels are larger: five examples with one wrong label say nothing."""


def drawn(made: World, rng: random.Random) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """Draw training examples from the world `made`: positive and negative ones.

    Two thirds of the negative ones are near misses: false tuples whose entities are joined by a fact, or by two.
    """
    positives = rng.sample(made.true, min(MAX_POSITIVES, len(made.true)))
    chosen: set[tuple[str, ...]] = set()
    for near in (*_near_misses(made), made.false):
        others = [t for t in near if t not in chosen]
        chosen |= {*rng.sample(others, min(MAX_NEGATIVES // 3, len(others)))}
    return sorted(positives), sorted(chosen)


def _near_misses(made: World) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """Return the false tuples whose first and last entities are in one fact, and those in two facts with a third."""
    beside: dict[str, set[str]] = {}
    for _, *args in made.facts:
        for one in args:
            beside.setdefault(one, set()).update(args)
    pairs = [t for t in made.false if len(t) > 1]
    direct = [t for t in pairs if t[-1] in beside.get(t[0], ())]
    return direct, [t for t in pairs if beside.get(t[0], set()) & beside.get(t[-1], set())]


def with_noise(
    positives: list[tuple[str, ...]], negatives: list[tuple[str, ...]], share: float, rng: random.Random
) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """Return the examples, `positives` and `negatives`, with a `share` of each labelled wrongly."""
    wrong = [{*rng.sample(part, round(share * len(part)))} for part in (positives, negatives)]
    good = [t for t in positives if t not in wrong[0]] + sorted(wrong[1])
    bad = [t for t in negatives if t not in wrong[1]] + sorted(wrong[0])
    return sorted(good), sorted(bad)
