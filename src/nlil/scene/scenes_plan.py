"""The plan of generated scenes: which rules hold, and the pieces of scenes that make them hold.

Everything is a rate per object, so that one seed plants the same rules at every size.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from ..data.arrays import Doubles, Mask
from ..logic.formula import ANY, And, Formula, Statement, X
from ..logic.predicate import Predicate, Step
from ..logic.rule import Head, Rule
from .scenes_names import SceneNames

RELATIONS_PER_OBJECT = 471_614 / 1_405_465
"""As in GQA without left and right."""
RANDOM_RELATIONS = 0.20
"""The share of all relations that join two random objects of a graph."""
LEFT_OUT = 0.15
"""The chance that a relation or an attribute of a planted piece is not said."""

Shape = Literal["step", "back", "two steps", "both", "attribute"]
RELATIONS_OF: dict[Shape, int] = {"step": 1, "back": 1, "two steps": 2, "both": 4, "attribute": 2}
"""Relations that one piece costs; the last two shapes need decoys (objects of any class that satisfy a half)."""
SHAPE_CHANCE = (0.25, 0.25, 0.2, 0.2, 0.1)
RULES_CHANCE = (0.3, 0.4, 0.3)
"""One, two or three rules for a class."""
EVENNESS = 0.5
"""Pieces of a class ~ share ** EVENNESS: rare classes have more of their objects in planted pieces."""
MOST_PLANTED = 0.5
"""At most this share of a class's objects is what a planted rule is about."""
TOLERATED = 0.3
"""Accidental bodies per planted one that a relation and a class may cause together."""
STRAY = 0.45
"""The share of a relation's facts that end in an object of any class: random ones, decoys, middles of two steps."""
MIDDLES = 0.25
"""The share of all objects set aside for those."""
ANY_CLASS = -1


@dataclass(frozen=True)
class Piece:
    """`rate` of these per object: objects by class, (relation, subject, object), (attribute, object)."""

    rate: float
    classes: tuple[int, ...]
    relations: tuple[tuple[int, int, int], ...]
    attributes: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, eq=False)
class ScenePlan:
    """Rules, the pieces that make them hold, and per object the rates of random relations and attributes."""

    rules: tuple[Rule, ...]
    pieces: tuple[Piece, ...]
    random_relations: Doubles
    random_attributes: Doubles


@dataclass(frozen=True)
class _Wanted:
    """One rule to plant, not yet drawn."""

    head: int
    shape: Shape
    rate: float


@dataclass(frozen=True)
class _Link:
    """From an object along a relation (backwards: the object is its object) to one of class `end`."""

    relation: int
    backwards: int
    end: int

    def between(self, here: int, there: int) -> tuple[int, int, int]:
        return (self.relation, there, here) if self.backwards else (self.relation, here, there)


def plan_scenes(names: SceneNames, random: np.random.Generator) -> ScenePlan:
    wanted = _wanted_rules(names.class_share, random)
    draft = _Draft(names, random)
    for rule in sorted(wanted, key=lambda rule: (-rule.rate, rule.head)):  # large ones first, while there is room
        draft.plant(rule)
    said = draft.relation_rate * (1 - LEFT_OUT)
    missing = np.maximum(names.relation_share * RELATIONS_PER_OBJECT - said, 0.02 * names.relation_share)
    random_relations = missing / missing.sum() * RANDOM_RELATIONS * RELATIONS_PER_OBJECT
    # As many attributes by chance as planted ones, so that an attribute alone does not tell a class.
    random_attributes = draft.attribute_rate + draft.attribute_rate.sum() / len(names.attributes) / 4
    order = {name: i for i, name in enumerate(names.classes)}
    rules = tuple(sorted(draft.rules, key=lambda rule: (order[rule.target.name], rule.length, str(rule))))
    return ScenePlan(rules, tuple(draft.pieces), random_relations, random_attributes)


def _wanted_rules(class_share: Doubles, random: np.random.Generator) -> list[_Wanted]:
    """One to three shapes for each class; their rates use up the relations that are not random."""
    kinds = list(RELATIONS_OF)
    shapes: list[list[Shape]] = []
    for _ in class_share:
        number = 1 + int(random.choice(len(RULES_CHANCE), p=RULES_CHANCE))
        chosen = random.choice(len(kinds), size=number, replace=False, p=SHAPE_CHANCE)
        shapes.append([kinds[i] for i in chosen])
    cost = np.asarray([np.mean([RELATIONS_OF[shape] for shape in group]) for group in shapes])
    budget = (1 - RANDOM_RELATIONS) * RELATIONS_PER_OBJECT / (1 - LEFT_OUT)
    low, high = 0.0, 1.0
    for _ in range(50):  # the scale at which the budget is spent; the cap makes it a bisection
        scale = (low + high) / 2
        rate = np.minimum(scale * class_share**EVENNESS, MOST_PLANTED * class_share)
        low, high = (scale, high) if float(rate @ cost) < budget else (low, scale)
    return [
        _Wanted(head, shape, float(rate[head]) / len(group)) for head, group in enumerate(shapes) for shape in group
    ]


@dataclass(eq=False)
class _Draft:
    """What is planted so far. `free[k, b, u]`: "k (b: backwards) to a u" is not yet used as a sign of any class."""

    names: SceneNames
    random: np.random.Generator
    rules: list[Rule] = field(default_factory=list)
    pieces: list[Piece] = field(default_factory=list)

    def __post_init__(self) -> None:
        num_relations, num_classes = len(self.names.relations), len(self.names.classes)
        self.free: Mask = np.ones((num_relations, 2, num_classes), bool)
        self.relation_rate: Doubles = np.zeros(num_relations)
        self.attribute_rate: Doubles = np.zeros(len(self.names.attributes))
        budget = (1 - RANDOM_RELATIONS) * RELATIONS_PER_OBJECT / (1 - LEFT_OUT)
        self.relation_left: Doubles = self.names.relation_share * budget
        self.class_left: Doubles = self.names.class_share * (1 - MIDDLES)

    def plant(self, wanted: _Wanted) -> None:
        match wanted.shape:
            case "step" | "back":
                link = self._link(wanted, wanted.rate, backwards=int(wanted.shape == "back"))
                self._add(wanted, (wanted.head, link.end), (link.between(0, 1),))
                body: Formula = self._statement(link)
            case "two steps":
                body = self._two_steps(wanted)
            case "both":
                one, two = self._link(wanted, 2 * wanted.rate), self._link(wanted, 2 * wanted.rate)
                self._add(wanted, (wanted.head, one.end, two.end), (one.between(0, 1), two.between(0, 2)))
                self._decoy(wanted, one)
                self._decoy(wanted, two)
                body = And(self._statement(one), self._statement(two))
            case "attribute":
                body = self._with_attribute(wanted)
        self.class_left[wanted.head] -= wanted.rate
        head = Head.of(Predicate(self.names.classes[wanted.head], 1))
        self.rules.append(Rule(head, body, distinct=True))

    def _two_steps(self, wanted: _Wanted) -> Formula:
        """Through an object of any class, so that no single step tells the class."""
        last = self._link(wanted, wanted.rate)
        # The middle object sees the first step from its other end, so that must not be a sign of anything; and the
        # relation of the last step would lead some objects to themselves and back.
        room = np.maximum(self.relation_left - wanted.rate, 1e-9)[:, None] * self.free[:, ::-1, wanted.head]
        room[last.relation] = 0
        relation, turned = divmod(int(self.random.choice(room.size, p=room.ravel() / room.sum())), 2)
        first = _Link(relation, turned, ANY_CLASS)
        self.free[relation, 1 - turned, wanted.head] = False
        self.relation_left[relation] -= wanted.rate
        self._add(wanted, (wanted.head, ANY_CLASS, last.end), (first.between(0, 1), last.between(1, 2)))
        steps = (self._move(first), self._move(last), self._class(last.end))
        return Statement(X, steps, ANY)

    def _with_attribute(self, wanted: _Wanted) -> Formula:
        """The attribute at X or at the other object; decoys have the relation without it."""
        link = self._link(wanted, 2 * wanted.rate)
        slope = 1 / np.arange(1.0, len(self.names.attributes) + 1)
        attribute = int(self.random.choice(len(slope), p=slope / slope.sum()))
        where = int(self.random.integers(2))
        self._add(wanted, (wanted.head, link.end), (link.between(0, 1),), ((attribute, where),))
        self._decoy(wanted, link)
        having = Step(Predicate(self.names.attributes[attribute], 1))
        move, end = self._move(link), self._class(link.end)
        return Statement(X, (having, move, end) if where == 0 else (move, having, end), ANY)

    def _link(self, wanted: _Wanted, load: float, backwards: int | None = None) -> _Link:
        """A relation, its direction and a class that together are nobody's sign yet, drawn by the room left.

        `load`: facts of the relation and objects of the class that it needs. Where nothing fits, confidence may
        suffer, then frequencies; but a sign never serves two rules.
        """
        rate, share = wanted.rate, self.names
        free = self.free & self.free[:, ::-1, wanted.head][:, :, None]
        free[:, :, wanted.head] = False
        if backwards is not None:
            free[:, 1 - backwards] = False
        stray = STRAY * RELATIONS_PER_OBJECT * share.relation_share[:, None, None] * share.class_share
        clean, nearly = (free & (stray <= tolerated * rate) for tolerated in (TOLERATED, 2 * TOLERATED))
        room = (self.relation_left[:, None, None] >= load) & (self.class_left >= load)
        fits = next(mask for mask in (clean & room, nearly & room, clean, free) if mask.any())
        # Squared: large rules come first and should take the frequent relations, which are too noisy for small ones.
        weight = np.maximum(self.relation_left, 1e-6)[:, None, None] ** 2 * np.maximum(self.class_left, 1e-6)
        flat = (fits * weight).ravel()
        relation, turned, end = np.unravel_index(int(self.random.choice(len(flat), p=flat / flat.sum())), free.shape)
        link = _Link(int(relation), int(turned), int(end))
        self.free[relation, turned, end] = False
        self.free[relation, 1 - turned, wanted.head] = False
        self.relation_left[relation] -= load
        self.class_left[end] -= load
        return link

    def _decoy(self, wanted: _Wanted, link: _Link) -> None:
        """As many objects of any class with this link alone as the rule has."""
        self._add(wanted, (ANY_CLASS, link.end), (link.between(0, 1),))

    def _add(
        self,
        wanted: _Wanted,
        classes: tuple[int, ...],
        relations: tuple[tuple[int, int, int], ...],
        attributes: tuple[tuple[int, int], ...] = (),
    ) -> None:
        self.pieces.append(Piece(wanted.rate, classes, relations, attributes))
        for relation, _, _ in relations:
            self.relation_rate[relation] += wanted.rate
        for attribute, _ in attributes:
            self.attribute_rate[attribute] += wanted.rate

    def _statement(self, link: _Link) -> Statement:
        return Statement(X, (self._move(link), self._class(link.end)), ANY)

    def _move(self, link: _Link) -> Step:
        return Step(Predicate(self.names.relations[link.relation], 2), bool(link.backwards))

    def _class(self, number: int) -> Step:
        return Step(Predicate(self.names.classes[number], 1))
