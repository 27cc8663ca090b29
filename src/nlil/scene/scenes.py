"""`scenes:n`: n scene graphs to learn from, as large as Visual Genome if asked, with planted rules for every class.

`scenes:85000` has about 1.4 million objects and 1.9 million facts to learn from: 150 classes, 23 relations and 40
attributes, with GQA's own names and frequencies where `gqa-sample/vocab` is found (the notes say which). A quarter as
many graphs, at most 10,000, are for testing.

Each class has one to three planted rules of different shapes, drawn with the seed, the same at every size:

    step        c(X) :- k(X, Z1), u(Z1).                      back       c(X) :- k(Z1, X), u(Z1).
    two steps   c(X) :- k(X, Z1), l(Z1, Z2), u(Z2).           (either direction at each step, Z1 of any class)
    both        c(X) :- k(X, Z1), u(Z1), l(X, Z2), v(Z2).     (each half alone is as often said of other classes)
    attribute   c(X) :- a(X), k(X, Z1), u(Z1).                (or a(Z1); the relation alone is said of others as often)

"k to a u" is a sign of one class only. What stands against the rules: 15 % of the planted relations and attributes are
left out; 20 % of all relations join two random objects of a graph; half of the attributes or more are random; then 5 %
of the objects get a wrong class label. Objects stand in random order. A piece planted for c is evidence for its other
objects too (`u(X) :- k(Z1, X), c(Z1)` holds about as often), though such mirrored rules are not listed.

What that comes to, counted on scenes:85000 with seed 0 and real names (315 rules): confidence .62 to .98, median .93
(one step .82, other shapes .94 or more); coverage of the class .014 to .22, median .06; support 162 to 2,597. 10 % of
the objects satisfy a planted rule of their class. Frequencies are the real ones within 3 % for four in five
classes and relations, up to 22 % too high for a few rare ones.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..data.arrays import Ids, Longs, offsets
from ..data.dataset import Dataset, make_dataset
from ..data.facts import NO_OBJECT, Facts, Splits
from ..data.kb import KnowledgeBase
from ..data.vocabulary import Vocabulary
from ..logic.predicate import Predicate
from .scenes_names import SceneNames, scene_names
from .scenes_plan import ANY_CLASS, LEFT_OUT, RANDOM_RELATIONS, Piece, ScenePlan, plan_scenes

OBJECTS_PER_GRAPH = 16.5
MAX_TEST_GRAPHS = 10_000
WRONG_LABELS = 0.05
SIZE_SHAPE = 4.0
"""Graphs differ in size as a gamma distribution of this shape does: half to twice the mean, mostly."""


def make_scenes(size: int, seed: int = 0) -> Dataset:
    """`size` training graphs and a quarter as many test graphs, at most 10,000."""
    names = scene_names()
    # The rules have a stream of their own: the same seed plants the same rules at every size.
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


class _World:
    """Objects with a class and a graph, and facts between them: planted pieces, loose objects, then noise."""

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
        """So many of this rate, a fraction of one by chance."""
        return int(rate * self.num_objects + self.random.random())

    def _some_graphs(self, count: int) -> Ids:
        drawn = np.searchsorted(self._graph_edges, self.random.random(count), side="right")
        return np.minimum(drawn, self.num_graphs - 1).astype(np.int32)

    def _some_classes(self, count: int) -> Ids:
        return self.random.choice(len(self.names.classes), count, p=self.names.class_share).astype(np.int32)

    def _say(self, piece: Piece, count: int, start: int) -> None:
        """The facts of `count` copies; object j of copy i is start + j * count + i. Each is left out by chance."""
        copies = np.arange(count)
        for relation, subject, object in piece.relations:
            said = copies[self.random.random(count) >= LEFT_OUT]
            self.relations.append((relation, start + subject * count + said, start + object * count + said))
        for attribute, thing in piece.attributes:
            said = copies[self.random.random(count) >= LEFT_OUT]
            self.attributes.append((attribute, start + thing * count + said))

    def _loose_classes(self, placed: Ids) -> Ids:
        """Objects without planted relations bring every class to its share; at least one for each graph."""
        wanted = self.names.class_share * max(self.num_objects, len(placed) + self.num_graphs)
        missing = np.maximum(wanted - np.bincount(placed, minlength=len(wanted)), 0.0)
        number = max(self.num_objects - len(placed), self.num_graphs)
        counts = self.random.multinomial(number, missing / missing.sum())
        # Shuffled, because the first ones are laid out graph by graph.
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
            # Another object of the graph: one to size - 1 places further, round and round.
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
        """The first graphs are for training. Splits as for scene graphs that are read from files."""
        predicates, class_id, relation_id, attribute_id = self._predicates()
        facts = self._facts(class_id, relation_id, attribute_id)
        is_training = self.graph_of[facts.subject] < num_training
        train, test = facts[is_training], facts[~is_training]
        classes = frozenset(class_id.tolist())
        kb = KnowledgeBase(Vocabulary(self._entity_names()), predicates, train, self.graph_of, classes)
        queries = test[np.isin(test.predicate, class_id)]
        return kb, Splits(train, test=queries, context={"train": train, "test": test})

    def _predicates(self) -> tuple[tuple[Predicate, ...], Ids, Ids, Ids]:
        """Sorted, and the ids of classes, relations and attributes by their numbers."""
        groups = (
            [Predicate(name, 1) for name in self.names.classes],
            [Predicate(name, 2) for name in self.names.relations],
            [Predicate(name, 1) for name in self.names.attributes],
        )
        predicates = tuple(sorted(predicate for group in groups for predicate in group))
        ids = {predicate: i for i, predicate in enumerate(predicates)}
        class_id, relation_id, attribute_id = (np.asarray([ids[p] for p in group], np.int32) for group in groups)
        return predicates, class_id, relation_id, attribute_id

    def _facts(self, class_id: Ids, relation_id: Ids, attribute_id: Ids) -> Facts:
        thing = np.arange(self.num_objects)
        subjects = [thing, *(s for _, s, _ in self.relations), *(s for _, s in self.attributes)]
        relation_objects = [o for _, _, o in self.relations]
        predicate = [class_id[self.class_of]]
        predicate += [np.full(len(s), relation_id[k], np.int32) for k, s, _ in self.relations]
        predicate += [np.full(len(s), attribute_id[k], np.int32) for k, s in self.attributes]
        attributes = sum(len(s) for _, s in self.attributes)
        object = [np.full(self.num_objects, NO_OBJECT), *relation_objects, np.full(attributes, NO_OBJECT)]
        p, s, o = (np.concatenate(column).astype(np.int32) for column in (predicate, subjects, object))
        return Facts(p, s, o).unique()

    def _entity_names(self) -> pa.Array:
        """s12_3: object 3 of graph 12."""
        pointer = offsets(self.graph_of, self.num_graphs)
        within = np.arange(self.num_objects) - pointer[self.graph_of]
        graph = pc.binary_join_element_wise("s", pa.array(self.graph_of).cast(pa.string()), "")
        return pc.binary_join_element_wise(graph, pa.array(within).cast(pa.string()), "_")
