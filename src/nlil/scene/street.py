"""`street:n`: n street scenes for training and a quarter as many for testing.

Each scene joins two to four situations (a rider, a walker with a dog, a parked car, a house, a tree, a bench).
Classes: person, head, shirt, helmet, bicycle, wheel, car, door, street, building, tree, leaf, dog, leash, bench.
Relations: wearing, riding, holding, pulling, using, on, of, in, near. Attributes (colours and the like) and `near`
are noise. Every relation is sometimes left out, so no rule covers everything; but a relation joins only the classes
listed in SITUATIONS, so each planted rule has confidence 1.0 in every scene:

    person(X)   :- wearing(X, Z1), shirt(Z1).          person(X) :- riding(X, Z1), bicycle(Z1).
    person(X)   :- of(Z1, X), head(Z1).                head(X)   :- of(X, Z1), person(Z1).
    shirt(X)    :- wearing(Z1, X), person(Z1).         helmet(X) :- on(X, Z1), head(Z1).
    helmet(X)   :- on(X, Z1), of(Z1, Z2), person(Z2).  leash(X)  :- holding(Z1, X), person(Z1).
    bicycle(X)  :- riding(Z1, X), person(Z1).          wheel(X)  :- of(X, Z1), bicycle(Z1).
    wheel(X)    :- of(X, Z1), riding(Z2, Z1), person(Z2).
    car(X)      :- of(Z1, X), door(Z1).                door(X)   :- in(X, Z1), building(Z1).
    street(X)   :- on(Z1, X), car(Z1).                 building(X) :- in(Z1, X), door(Z1).
    tree(X)     :- on(Z1, X), leaf(Z1).                leaf(X)   :- on(X, Z1), tree(Z1).
    dog(X)      :- pulling(X, Z1), leash(Z1).          bench(X)  :- using(Z1, X), person(Z1).
"""

from __future__ import annotations

from random import Random

from ..data.dataset import Dataset, make_dataset
from ..logic.formula import ANY, Statement, X
from ..logic.predicate import Predicate, Step
from ..logic.rule import Head, Rule
from .collector import SceneCollector

RELATION_CHANCE = 0.85
"""The probability of each relation of a situation."""

SITUATIONS = (
    "a:person b:bicycle c:wheel d:wheel e:shirt f:head g:helmet s:street ; a riding b, c of b, d of b, b on s, "
    "a wearing e, f of a, g on f",
    "a:person b:shirt c:head d:dog e:leash s:street ; a wearing b, c of a, a holding e, d pulling e, d on s",
    "a:car b:wheel c:wheel d:door s:street ; b of a, c of a, d of a, a on s",
    "a:building b:door c:door d:dog ; b in a, c in a, d near a",
    "a:tree b:leaf c:leaf s:street ; b on a, c on a, a near s",
    "a:bench b:person c:shirt d:head ; b using a, b wearing c, d of b, b on a",
    "a:person b:car c:head s:street ; a in b, c of a, b on s",
)
"""`letter:class ... ; subject relation object, ...`; `s` is the one street of the scene."""

ATTRIBUTES = ("red", "blue", "green", "white", "old", "small", "wet")

RULES = {
    "person": ("wearing shirt", "riding bicycle", "of^ head"),
    "head": ("of person",),
    "shirt": ("wearing^ person",),
    "helmet": ("on head", "on of person"),
    "leash": ("holding^ person",),
    "bicycle": ("riding^ person",),
    "wheel": ("of bicycle", "of riding^ person"),
    "car": ("of^ door",),
    "door": ("in building",),
    "street": ("on^ car",),
    "building": ("in^ door",),
    "tree": ("on^ leaf",),
    "leaf": ("on tree",),
    "dog": ("pulling leash",),
    "bench": ("using^ person",),
}
"""Class -> bodies: steps from X (`^` backwards), the last word is the class where the path ends."""


def make_street(size: int, seed: int = 0) -> Dataset:
    """Make `size` training scenes and a quarter as many test scenes."""
    random = Random(seed)
    collector = SceneCollector()
    num_test = max(1, size // 4)
    for number in range(size + num_test):
        collector.add(f"s{number}", _scene(number, random), "train" if number < size else "test")
    kb, splits, notes = collector.finish()
    return make_dataset(f"street:{size}", kb, splits, planted=planted_street(), notes=notes)


def planted_street() -> tuple[Rule, ...]:
    """Return the rules that hold in every scene."""
    return tuple(_rule(head, body) for head, bodies in RULES.items() for body in bodies)


def _rule(head: str, body: str) -> Rule:
    *moves, end = body.split()
    steps = [Step(Predicate(move.removesuffix("^"), 2), move.endswith("^")) for move in moves]
    return Rule(Head.of(Predicate(head, 1)), Statement(X, (*steps, Step(Predicate(end, 1))), ANY), distinct=True)


def _scene(number: int, random: Random) -> dict[str, dict[str, dict[str, object]]]:
    """Return one scene in the structure of GQA, so that built-in and real scenes are read alike."""
    classes: dict[str, str] = {}
    relations: dict[str, list[dict[str, str]]] = {}

    def thing(kind: str) -> str:
        id = f"s{number}_{len(classes)}"
        classes[id] = kind
        relations[id] = []
        return id

    street = thing("street")
    for situation in random.sample(SITUATIONS, random.randint(2, 4)):
        parts, said = situation.split(" ; ")
        named = {}
        for part in parts.split():
            letter, kind = part.split(":")
            named[letter] = street if letter == "s" else thing(kind)
        for clause in said.split(", "):
            subject, relation, other = clause.split()
            if random.random() < RELATION_CHANCE:
                relations[named[subject]].append({"name": relation, "object": named[other]})
    ids = list(classes)
    for _ in range(len(ids) // 3):
        one, two = random.sample(ids, 2)
        relations[one].append({"name": "near", "object": two})
    shuffled = random.sample(ids, len(ids))  # the order of objects must not reveal their class
    return {
        "objects": {
            id: {
                "name": classes[id],
                "attributes": [a for a in ATTRIBUTES if random.random() < 0.15],
                "relations": relations[id],
            }
            for id in shuffled
        }
    }
