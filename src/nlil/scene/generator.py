"""`scenes:n`: n training scene graphs, up to the size of Visual Genome, with planted rules for every class.

`scenes:85000` has about 1.4 million objects and 1.9 million training facts: 150 classes, 23 relations and 40
attributes, with the names and frequencies of GQA if `gqa-sample/vocab` is found (a note says which). A quarter as many
graphs, at most 10,000, are for testing.

Each class has one to three planted rules of different shapes, drawn with the seed, the same at every size:

    step        c(X) :- k(X, Z1), u(Z1).                      back       c(X) :- k(Z1, X), u(Z1).
    two steps   c(X) :- k(X, Z1), l(Z1, Z2), u(Z2).           (either direction at each step, Z1 of any class)
    both        c(X) :- k(X, Z1), u(Z1), l(X, Z2), v(Z2).     (each half alone is as frequent for other classes)
    attribute   c(X) :- a(X), k(X, Z1), u(Z1).                (or a(Z1); the relation alone is as frequent for others)

"k to a u" indicates one class only. The noise: 15 % of the planted relations and attributes are left out; 20 % of all
relations join two random objects of a graph; half of the attributes or more are random; then 5 % of the objects get a
wrong class label. Objects are in random order. A piece planted for c is evidence for its other objects too (`u(X) :-
k(Z1, X), c(Z1)` holds about as often), but such mirrored rules are not listed.

Counted on scenes:85000 with seed 0 and real names (315 rules): confidence .62 to .98, median .93
(one step .82, other shapes .94 or more); coverage of the class .014 to .22, median .06; support 162 to 2,597. 10 % of
the objects satisfy a planted rule of their class. Frequencies are the real ones within 3 % for four in five
classes and relations, up to 22 % too high for a few rare ones.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice, product
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..data.arrays import Doubles, Ids, Longs, Mask, offsets
from ..data.catalog import find
from ..data.dataset import Dataset, make_dataset
from ..data.facts import NO_OBJECT, Facts, Splits
from ..data.files import lines
from ..data.kb import KnowledgeBase
from ..data.refining import read_merges
from ..data.vocabulary import Vocabulary
from ..errors import DataError
from ..logic.formula import ANY, And, Formula, Statement, X
from ..logic.predicate import Predicate, Step
from ..logic.rule import Head, Rule

OBJECTS_PER_GRAPH = 16.5
MAX_TEST_GRAPHS = 10_000
WRONG_LABELS = 0.05
SIZE_SHAPE = 4.0
"""Sizes of graphs follow a gamma distribution of this shape: mostly half to twice the mean."""

RELATIONS_PER_OBJECT = 471_614 / 1_405_465
"""As in GQA without left and right."""
RANDOM_RELATIONS = 0.20
"""The share of all relations that join two random objects of a graph."""
LEFT_OUT = 0.15
"""The probability that a relation or an attribute of a planted piece is left out."""

RelationShape = Literal["step", "back", "two steps", "both", "attribute"]
RELATIONS_OF: dict[RelationShape, int] = {"step": 1, "back": 1, "two steps": 2, "both": 4, "attribute": 2}
"""Relations that one piece costs; the last two shapes need decoys (objects of any class that satisfy a half)."""
SHAPE_CHANCE = (0.25, 0.25, 0.2, 0.2, 0.1)
RULES_CHANCE = (0.3, 0.4, 0.3)
"""One, two or three rules for a class."""
EVENNESS = 0.5
"""Pieces of a class ~ share ** EVENNESS: rare classes have more of their objects in planted pieces."""
MOST_PLANTED = 0.5
"""The largest share of the objects of a class that planted rules are about."""
TOLERATED = 0.3
"""The most accidental bodies per planted one that a relation and a class may cause together."""
STRAY = 0.45
"""The share of a relation's facts that end in an object of any class: random ones, decoys, middles of two steps."""
MIDDLES = 0.25
"""The share of all objects that is reserved for these."""
ANY_CLASS = -1

NUM_CLASSES, NUM_RELATIONS, NUM_ATTRIBUTES = 150, 23, 40
"""213 predicates. GQA has 23 relations with at least 1,500 facts, the limit in the paper."""

VOCABULARY_OF = "gqa-sample"
ADJECTIVES = (
    "red blue green white black brown grey yellow pink purple old young small large tall short long wet dry round open "
    "closed empty full wooden metal striped shiny plastic dark bright clean dirty broken bare thick thin curved "
    "painted folded hollow dusty"
)
CLASS_SYLLABLES = ("ba de fi go ku la me ni po ru sa te vo", "dak lin mor nup rel sot tam vek zin bol gar hup")
RELATION_SYLLABLES = ("bril crom dwen frin glap", "ates ens ors ums els")
CLASS_SLOPE, RELATION_SLOPE = 0.85, 1.2
"""Share of the r-th name ~ r ** -slope: near the real curves (the first class 9 %, the last of 150 0.2 %)."""


def make_scenes(size: int, seed: int = 0) -> Dataset:
    """Make `size` training graphs and a quarter as many test graphs, at most 10,000."""
    names = scene_names()
    # The rules have their own random stream, so that a seed plants the same rules at every size.
    plan = plan_scenes(names, np.random.default_rng((seed, 0)))
    num_test = min(max(1, size // 4), MAX_TEST_GRAPHS)
    world = _World(names, plan, size + num_test, np.random.default_rng((seed, 1, size)))
    kb, splits = world.finish(size)
    return make_dataset(f"scenes:{size}", kb, splits, planted=plan.rules, notes=_notes(names, plan))


def _notes(names: SceneNames, plan: ScenePlan) -> tuple[str, ...]:
    return (
        names.origin,
        f"{len(plan.rules)} planted rules for {len(names.classes)} classes; noise: {LEFT_OUT:.0%} of the planted "
        f"relations left out, {RANDOM_RELATIONS:.0%} of all relations random, {WRONG_LABELS:.0%} of the class labels "
        "wrong",
    )


# names and frequencies --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SceneNames:
    """Names of `classes` and `relations`, most frequent first, with their shares.

    `class_share` and `relation_share` each sum to 1.

    `origin` says in one sentence where they come from.
    """

    classes: tuple[str, ...]
    class_share: Doubles
    relations: tuple[str, ...]
    relation_share: Doubles
    origin: str

    @cached_property
    def attributes(self) -> tuple[str, ...]:
        """The names of attributes; one with the name of a class would reveal the class."""
        return tuple(word for word in ADJECTIVES.split() if word not in self.classes)[:NUM_ATTRIBUTES]


def scene_names() -> SceneNames:
    """Return the names and counts of GQA if $NLIL_DATA has the folder gqa-sample/vocab, otherwise made-up ones."""
    folder = find(VOCABULARY_OF)
    if folder is None or not (folder / "vocab").is_dir():
        return made_names()
    return real_names(folder / "vocab")


def made_names() -> SceneNames:
    """Return names made of syllables, with frequencies of a power law."""
    origin = f"names are made up and frequencies follow a power law ({VOCABULARY_OF}/vocab was not found)"
    classes = _made(CLASS_SYLLABLES, CLASS_SLOPE, NUM_CLASSES)
    return SceneNames(*classes, *_made(RELATION_SYLLABLES, RELATION_SLOPE, NUM_RELATIONS), origin)


def _made(syllables: tuple[str, str], slope: float, number: int) -> tuple[tuple[str, ...], Doubles]:
    share = np.arange(1.0, number + 1) ** -slope
    return tuple(islice(map("".join, product(*map(str.split, syllables))), number)), share / share.sum()


def real_names(folder: Path) -> SceneNames:
    """Read the names from obj_freq.txt and rel_freq.txt in `folder`.

    They are merged by un_merge.txt and rel_merge.txt.
    """
    origin = f"names and frequencies of classes and relations are GQA's, from {VOCABULARY_OF}/vocab"
    classes = _most_frequent(folder / "obj_freq.txt", folder / "un_merge.txt", NUM_CLASSES)
    relations = _most_frequent(folder / "rel_freq.txt", folder / "rel_merge.txt", NUM_RELATIONS)
    return SceneNames(*classes, *relations, origin)


def _most_frequent(counts: Path, merges: Path, wanted: int) -> tuple[tuple[str, ...], Doubles]:
    merged_into = {name: new for (name, _), new in read_merges(merges).items()}
    total: Counter[str] = Counter()
    for number, line in lines(counts):
        if number == 1:
            continue  # the sum of all
        name, _, count = line.strip().rpartition(" ")
        if not name or not count.isdecimal():
            raise DataError(f"expected a name and a count, got {line!r}", counts, number)
        total[merged_into.get(name, name)] += int(count)
    if len(total) < wanted:
        raise DataError(f"expected at least {wanted} names, got {len(total)}", counts)
    names, numbers = zip(*sorted(total.items(), key=lambda item: (-item[1], item[0]))[:wanted])
    share = np.asarray(numbers, np.float64)
    return names, share / share.sum()


# the plan: rules, and the pieces of scenes that make them hold; rates per object, for every size ------


@dataclass(frozen=True)
class Piece:
    """A part of a scene; there are `rate` of these per object.

    `classes` are those of its objects, `relations` are (relation, subject, object), `attributes` (attribute, object);
    subject and object are positions among the classes.
    """

    rate: float
    classes: tuple[int, ...]
    relations: tuple[tuple[int, int, int], ...]
    attributes: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, eq=False)
class ScenePlan:
    """The planted `rules`, and the `pieces` that make them hold.

    `random_relations` and `random_attributes` are the rates of random facts per object.
    """

    rules: tuple[Rule, ...]
    pieces: tuple[Piece, ...]
    random_relations: Doubles
    random_attributes: Doubles


@dataclass(frozen=True)
class _Wanted:
    """A rule to plant."""

    head: int
    shape: RelationShape
    rate: float


@dataclass(frozen=True)
class _PlannedLink:
    """From an object along a relation (backwards: the object is its object) to one of class `end`."""

    relation: int
    backwards: int
    end: int

    def between(self, here: int, there: int) -> tuple[int, int, int]:
        return (self.relation, there, here) if self.backwards else (self.relation, here, there)


def plan_scenes(names: SceneNames, random: np.random.Generator) -> ScenePlan:
    """Draw the rules to plant, over `names`, and the pieces of scenes that make them hold.

    `random` is the random generator.
    """
    wanted = _wanted_rules(names.class_share, random)
    draft = _Draft(names, random)
    for rule in sorted(wanted, key=lambda rule: (-rule.rate, rule.head)):  # large ones first, while there is room
        draft.plant(rule)
    kept_relations = draft.relation_rate * (1 - LEFT_OUT)
    missing = np.maximum(names.relation_share * RELATIONS_PER_OBJECT - kept_relations, 0.02 * names.relation_share)
    random_relations = missing / missing.sum() * RANDOM_RELATIONS * RELATIONS_PER_OBJECT
    # As many random attributes as planted ones, so that an attribute alone does not reveal a class.
    random_attributes = draft.attribute_rate + draft.attribute_rate.sum() / len(names.attributes) / 4
    order = {name: i for i, name in enumerate(names.classes)}
    rules = tuple(sorted(draft.rules, key=lambda rule: (order[rule.target.name], rule.length, str(rule))))
    return ScenePlan(rules, tuple(draft.pieces), random_relations, random_attributes)


def _wanted_rules(class_share: Doubles, random: np.random.Generator) -> list[_Wanted]:
    """Draw one to three shapes for each class; their rates use up the relations that are not random."""
    kinds = list(RELATIONS_OF)
    shapes: list[list[RelationShape]] = []
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
    """The rules planted so far. `free[k, b, u]`: "k (b: backwards) to a u" does not indicate any class yet."""

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
        """Plant two steps through an object of any class, so that no single step indicates the class."""
        last = self._link(wanted, wanted.rate)
        # The middle object sees the first step from its other end, so that must not be a sign of anything; and the
        # relation of the last step would lead some objects to themselves and back.
        room = np.maximum(self.relation_left - wanted.rate, 1e-9)[:, None] * self.free[:, ::-1, wanted.head]
        room[last.relation] = 0
        relation, turned = divmod(int(self.random.choice(room.size, p=room.ravel() / room.sum())), 2)
        first = _PlannedLink(relation, turned, ANY_CLASS)
        self.free[relation, 1 - turned, wanted.head] = False
        self.relation_left[relation] -= wanted.rate
        self._add(wanted, (wanted.head, ANY_CLASS, last.end), (first.between(0, 1), last.between(1, 2)))
        steps = (self._move(first), self._move(last), self._class(last.end))
        return Statement(X, steps, ANY)

    def _with_attribute(self, wanted: _Wanted) -> Formula:
        """Plant an attribute of X or of the other object; decoys have the relation without it."""
        link = self._link(wanted, 2 * wanted.rate)
        slope = 1 / np.arange(1.0, len(self.names.attributes) + 1)
        attribute = int(self.random.choice(len(slope), p=slope / slope.sum()))
        where = int(self.random.integers(2))
        self._add(wanted, (wanted.head, link.end), (link.between(0, 1),), ((attribute, where),))
        self._decoy(wanted, link)
        having = Step(Predicate(self.names.attributes[attribute], 1))
        move, end = self._move(link), self._class(link.end)
        return Statement(X, (having, move, end) if where == 0 else (move, having, end), ANY)

    def _link(self, wanted: _Wanted, load: float, backwards: int | None = None) -> _PlannedLink:
        """Draw a relation, its direction and a class that do not indicate any class yet, by the number of facts left.

        `load` is the number of facts of the relation and of objects of the class that it needs. If nothing fits, first
        confidence suffers, then frequencies; but no such combination is used for two rules.
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
        # Squared: large rules come first and should use the frequent relations, which are too noisy for small ones.
        weight = np.maximum(self.relation_left, 1e-6)[:, None, None] ** 2 * np.maximum(self.class_left, 1e-6)
        flat = (fits * weight).ravel()
        relation, turned, end = np.unravel_index(int(self.random.choice(len(flat), p=flat / flat.sum())), free.shape)
        link = _PlannedLink(int(relation), int(turned), int(end))
        self.free[relation, turned, end] = False
        self.free[relation, 1 - turned, wanted.head] = False
        self.relation_left[relation] -= load
        self.class_left[end] -= load
        return link

    def _decoy(self, wanted: _Wanted, link: _PlannedLink) -> None:
        """Add as many objects of any class that have only this link."""
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

    def _statement(self, link: _PlannedLink) -> Statement:
        return Statement(X, (self._move(link), self._class(link.end)), ANY)

    def _move(self, link: _PlannedLink) -> Step:
        return Step(Predicate(self.names.relations[link.relation], 2), bool(link.backwards))

    def _class(self, number: int) -> Step:
        return Step(Predicate(self.names.classes[number], 1))


# the scenes -------------------------------------------------------------------------------------------


class _World:
    """Objects with a class and a graph, and their facts: planted pieces, objects without relations, then noise."""

    def __init__(self, names: SceneNames, plan: ScenePlan, num_graphs: int, random: np.random.Generator) -> None:
        self.names, self.random, self.num_graphs = names, random, num_graphs
        self.num_objects = round(OBJECTS_PER_GRAPH * num_graphs)
        weight = random.gamma(SIZE_SHAPE, size=num_graphs)
        self._graph_edges = np.cumsum(weight / weight.sum())
        self.relations: list[tuple[int, Longs, Longs]] = []
        self.attributes: list[tuple[int, Longs]] = []
        classes: list[Ids] = []
        graphs: list[Ids] = []
        placed = 0
        for piece in plan.pieces:
            count = self._count(piece.rate)
            graph = self._some_graphs(count)
            for number in piece.classes:
                classes.append(self._some_classes(count) if number == ANY_CLASS else np.full(count, number, np.int32))
                graphs.append(graph)
            self._say(piece, count, placed)
            placed += count * len(piece.classes)
        loose = self._loose_classes(np.concatenate(classes))
        loose_graph = self._some_graphs(len(loose))
        loose_graph[:num_graphs] = np.arange(num_graphs)[: len(loose)]  # no graph is empty
        self._arrange(np.concatenate((*classes, loose)), np.concatenate((*graphs, loose_graph)))
        self._random_facts(plan)
        self._wrong_labels()

    def _count(self, rate: float) -> int:
        """Return the number of objects at this rate, randomly rounded."""
        return int(rate * self.num_objects + self.random.random())

    def _some_graphs(self, count: int) -> Ids:
        drawn = np.searchsorted(self._graph_edges, self.random.random(count), side="right")
        return np.minimum(drawn, self.num_graphs - 1).astype(np.int32)

    def _some_classes(self, count: int) -> Ids:
        return self.random.choice(len(self.names.classes), count, p=self.names.class_share).astype(np.int32)

    def _say(self, piece: Piece, count: int, start: int) -> None:
        """Add the facts of `count` copies; object j of copy i is start + j * count + i.

        Each may be left out at random.
        """
        copies = np.arange(count)
        for relation, subject, object in piece.relations:
            kept = copies[self.random.random(count) >= LEFT_OUT]
            self.relations.append((relation, start + subject * count + kept, start + object * count + kept))
        for attribute, thing in piece.attributes:
            kept = copies[self.random.random(count) >= LEFT_OUT]
            self.attributes.append((attribute, start + thing * count + kept))

    def _loose_classes(self, placed: Ids) -> Ids:
        """Return the classes of further objects, so that every class has its share; at least one object per graph."""
        wanted = self.names.class_share * max(self.num_objects, len(placed) + self.num_graphs)
        missing = np.maximum(wanted - np.bincount(placed, minlength=len(wanted)), 0.0)
        number = max(self.num_objects - len(placed), self.num_graphs)
        counts = self.random.multinomial(number, missing / missing.sum())
        # Shuffled, because the first ones are assigned to graphs in order.
        return self.random.permutation(np.repeat(np.arange(len(counts), dtype=np.int32), counts))

    def _arrange(self, class_of: Ids, graph_of: Ids) -> None:
        """Number the objects graph by graph, in random order within a graph."""
        self.num_objects = len(class_of)
        shuffled = self.random.permutation(self.num_objects)
        order = shuffled[np.argsort(graph_of[shuffled], kind="stable")]
        new = np.empty(self.num_objects, np.int64)
        new[order] = np.arange(self.num_objects)
        self.class_of, self.graph_of = class_of[order], graph_of[order]
        self.relations = [(relation, new[subject], new[object]) for relation, subject, object in self.relations]
        self.attributes = [(attribute, new[thing]) for attribute, thing in self.attributes]

    def _random_facts(self, plan: ScenePlan) -> None:
        pointer = offsets(self.graph_of, self.num_graphs)
        for relation, rate in enumerate(plan.random_relations):
            subject = self.random.integers(self.num_objects, size=self._count(rate))
            graph = self.graph_of[subject]
            start, size = pointer[graph], pointer[graph + 1] - pointer[graph]
            # Another object of the graph: 1 to size - 1 positions further, cyclically.
            further = 1 + (self.random.random(len(subject)) * (size - 1)).astype(np.int64)
            object = start + (subject - start + further) % size
            other = size > 1
            self.relations.append((relation, subject[other], object[other]))
        for attribute, rate in enumerate(plan.random_attributes):
            self.attributes.append((attribute, self.random.integers(self.num_objects, size=self._count(rate))))

    def _wrong_labels(self) -> None:
        wrong = self.random.choice(self.num_objects, round(WRONG_LABELS * self.num_objects), replace=False)
        true = self.class_of[wrong].copy()
        same = np.arange(len(wrong))
        while len(same):
            self.class_of[wrong[same]] = self._some_classes(len(same))
            same = same[self.class_of[wrong[same]] == true[same]]

    def finish(self, num_training: int) -> tuple[KnowledgeBase, Splits]:
        """Return the base and the splits, as for scene graphs from files; the first graphs are for training."""
        groups = [
            [Predicate(name, 1) for name in self.names.classes],
            [Predicate(name, 2) for name in self.names.relations],
            [Predicate(name, 1) for name in self.names.attributes],
        ]
        predicates = tuple(sorted(predicate for group in groups for predicate in group))
        id_of = {predicate: i for i, predicate in enumerate(predicates)}
        class_id, relation_id, attribute_id = (np.asarray([id_of[p] for p in group], np.int32) for group in groups)
        nothing = np.full(self.num_objects, NO_OBJECT)
        rows = [(class_id[self.class_of], np.arange(self.num_objects), nothing)]
        rows += [(np.full(len(s), relation_id[k]), s, o) for k, s, o in self.relations]
        rows += [(np.full(len(s), attribute_id[k]), s, np.full(len(s), NO_OBJECT)) for k, s in self.attributes]
        predicate, subject, object = (np.concatenate(column).astype(np.int32) for column in zip(*rows))
        facts = Facts(predicate, subject, object).unique()
        is_training = self.graph_of[facts.subject] < num_training
        train, test = facts[is_training], facts[~is_training]
        classes = frozenset(class_id.tolist())
        kb = KnowledgeBase(Vocabulary(self._entity_names()), predicates, train, self.graph_of, classes)
        queries = test[np.isin(test.predicate, class_id)]
        return kb, Splits(train, test=queries, context={"train": train, "test": test})

    def _entity_names(self) -> pa.Array:
        """Return names such as s12_3, object 3 of graph 12."""
        pointer = offsets(self.graph_of, self.num_graphs)
        within = np.arange(self.num_objects) - pointer[self.graph_of]
        graph = pc.binary_join_element_wise("s", pa.array(self.graph_of).cast(pa.string()), "")
        return pc.binary_join_element_wise(graph, pa.array(within).cast(pa.string()), "_")
