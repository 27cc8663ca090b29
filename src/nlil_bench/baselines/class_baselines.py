"""What the baselines for object classes share: the objects to classify, and figures from their scores.

A model gives every object a score for every class; ranks, ties and figures are those of `nlil.evaluation`.

Below it what surrounds an object, as columns of a sparse table: its paths, its attributes, what else is in its graph.

    one step      k(X, Z1), u(Z1)                    bare      k(X, Z1)
    two steps     k(X, Z1), r(Z1, Z2), u(Z2)                   k(X, Z1), r(Z1, Z2)
    own           a(X): attributes; geometry on request
    context       c(Z1): another object of the graph has the class c

Variables are distinct, so no path leads back to the object, and its own class is not looked at.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix

from nlil.data.arrays import Doubles, Ids, Longs, Mask, offsets, ranges, run_starts
from nlil.data.dataset import Dataset
from nlil.data.kb import KnowledgeBase
from nlil.errors import ConfigError, DataError
from nlil.evaluation.metrics import Metrics
from nlil.evaluation.protocol import SplitFigures, class_figures
from nlil.kernel.aggregation import score_ranks
from nlil.kernel.graph import Graph
from nlil.progress import Progress, silent
from nlil.settings import Settings, at_least, between, setting

from .batch_ranking import joined_metrics
from .interface import Baseline

HELD_OUT = 0.1
"""Of the training graphs, where a method needs objects to choose by and the set has no validation graphs."""


@dataclass(frozen=True, eq=False)
class ClassTask:
    """Objects and their classes: object i of the graphs in `kb` has the class classes[answer[i]]."""

    kb: KnowledgeBase
    classes: Ids
    objects: Ids
    answer: Longs

    def __len__(self) -> int:
        return len(self.objects)

    def take(self, chosen: Mask) -> ClassTask:
        return ClassTask(self.kb, self.classes, self.objects[chosen], self.answer[chosen])


def class_task(name: str, dataset: Dataset, split: str) -> ClassTask:
    """The objects of a split whose class is a target, in the split's own graphs; `name` is the method, for messages."""
    kb = dataset.kb
    classes = np.array([kb.predicate_id(p) for p in dataset.targets], np.int32)
    classes = classes[np.isin(classes, list(kb.classes))]
    if not len(classes):
        found = ", ".join(str(p) for p in dataset.targets[:3])
        raise ConfigError(
            f"{name}: expected object classes of scene graphs as targets, got {found or 'none'}; choose "
            "scene graphs such as street or vrd, or another method"
        )
    facts = dataset.splits[split]
    context = dataset.splits.context.get(split)
    if context is not None:
        kb = kb.with_facts(context)
    facts = facts[np.isin(facts.predicate, classes)]
    position = np.zeros(kb.num_predicates, np.int64)
    position[classes] = np.arange(len(classes))
    return ClassTask(kb.crisp, classes, facts.subject, position[facts.predicate])


def training_parts(name: str, dataset: Dataset, seed: int) -> tuple[ClassTask, ClassTask]:
    """Objects to learn from and objects to choose by: validation graphs, else a tenth of the training graphs."""
    train, valid = class_task(name, dataset, "train"), class_task(name, dataset, "valid")
    if not len(train):
        raise DataError(f"{name}: expected training objects of a target class, {dataset.name} has none; choose others")
    if len(valid) or train.kb.graph_of is None:
        return train, valid
    graph = train.kb.graph_of[train.objects]
    graphs = np.unique(graph)
    held = np.random.default_rng(seed).permutation(graphs)[: int(len(graphs) * HELD_OUT)]
    is_held = np.isin(graph, held)
    return train.take(~is_held), train.take(is_held)


class ClassBaseline(Baseline):
    """A baseline for object classes; subclasses say what they learn and how they score."""

    note = ""

    @abstractmethod
    def _scores(self, task: ClassTask, progress: Progress) -> Doubles:
        """(objects, classes): more is better. The own class of an object must not be looked at."""

    def class_scores(self, split: str = "test", progress: Progress = silent) -> tuple[ClassTask, Doubles]:
        """The objects of a split, and (objects, classes) what the model says of each: logits, or any score."""
        task = class_task(self.name, self.dataset, split)
        return task, self._scores(task, progress)

    def evaluate(self, split: str = "test", progress: Progress = silent) -> Metrics:
        started = time.perf_counter()
        task, scores = self.class_scores(split, progress)
        part: SplitFigures = ({}, {}, 0)
        if len(task):
            facts = self.dataset.splits[split]
            facts = facts[np.isin(facts.predicate, task.classes)]
            part = class_figures(score_ranks(scores, task.answer), facts, task.kb)
        return joined_metrics([part], started, [self.note, _left_out(self.dataset, task)])


def _left_out(dataset: Dataset, task: ClassTask) -> str:
    others = len(dataset.targets) - len(task.classes)
    return f"{others} targets left out: the method ranks object classes only" if others else ""


@dataclass(frozen=True)
class PatternParts(Settings):
    """Which patterns around an object a model sees."""

    patterns: int = setting(2, "most steps of a path; 0: no paths", between(0, 2))
    bare: bool = setting(True, "also paths that end at any object")
    context: bool = setting(True, "also the classes of the other objects of the graph")
    geometry: bool = setting(True, "also unary predicates made from boxes")
    min_count: int = setting(2, "training objects that a pattern needs", at_least(1))


class Patterns:
    """The patterns that training objects have, each a column; `table` says which hold for objects of any graphs."""

    def __init__(self, task: ClassTask, parts: PatternParts) -> None:
        self.parts = parts
        _, number = pattern_rows(task, parts)
        found, count = np.unique(number, return_counts=True)
        self.numbers: Longs = found[count >= parts.min_count]

    def __len__(self) -> int:
        return len(self.numbers)

    def table(self, task: ClassTask) -> csr_matrix:
        """(objects, patterns) of ones."""
        row, number = pattern_rows(task, self.parts)
        column = np.searchsorted(self.numbers, number)
        known = column < len(self.numbers)
        known[known] = self.numbers[column[known]] == number[known]
        ones = np.ones(int(known.sum()), np.float32)
        return csr_matrix((ones, (row[known], column[known])), (len(task), len(self.numbers)))


def pattern_rows(task: ClassTask, parts: PatternParts) -> tuple[Longs, Longs]:
    """(position of the object, number of the pattern) of everything that holds, each once."""
    kb = task.kb
    geometry = sorted(kb.geometry)
    rows = [_own(kb, task.objects, geometry if parts.geometry else [])]
    rows += _paths(kb.without(geometry), task.objects, parts)
    if parts.context:
        rows.append(_others(kb, task.objects))
    owner, number = (np.concatenate(columns) for columns in zip(*rows))
    order = np.lexsort((number, owner))
    owner, number = owner[order], number[order]
    new = run_starts(owner, number)
    return owner[new], number[new]


Rows = tuple[Longs, Longs]


@dataclass(frozen=True, eq=False)
class Unaries:
    """The unary predicates of each entity: those of v are predicate[pointer[v]] .. predicate[pointer[v + 1]]."""

    pointer: Longs
    predicate: Ids

    @classmethod
    def of(cls, kb: KnowledgeBase, chosen: np.ndarray) -> Unaries:
        facts = kb.unary[chosen]
        order = np.argsort(facts.subject, kind="stable")
        return cls(offsets(facts.subject[order], kb.num_entities), facts.predicate[order])

    def expand(self, entities: Ids | Longs) -> tuple[Longs, Longs]:
        """(row of `entities`, predicate) for each predicate of each of them."""
        begin = self.pointer[entities]
        count = self.pointer[np.asarray(entities, np.int64) + 1] - begin
        found = self.predicate[ranges(begin, count)]
        return np.repeat(np.arange(len(entities)), count), found.astype(np.int64)


def _own(kb: KnowledgeBase, objects: Ids, geometry: list[int]) -> Rows:
    """Attributes and the given `geometry` predicates: numbers below the number of predicates."""
    every = sorted(kb.geometry)
    wanted = ~np.isin(kb.unary.predicate, [*kb.classes, *every]) | np.isin(kb.unary.predicate, geometry)
    return Unaries.of(kb, wanted).expand(objects)


def _paths(kb: KnowledgeBase, objects: Ids, parts: PatternParts) -> list[Rows]:
    """Numbers: the codes of the steps and what is at the end (0: nothing said), above those of `_own`."""
    unary = Unaries.of(kb, np.ones(len(kb.unary), bool))
    owner = np.arange(len(objects), dtype=np.int64)
    before, here = np.full(len(objects), -1, np.int64), np.asarray(objects, np.int64)
    path = np.zeros(len(objects), np.int64)
    found = []
    for _ in range(parts.patterns):
        start = objects[owner]
        edge, step = _steps(kb, here)
        owner, before, path = owner[step], here[step], path[step]
        here = Graph.of(kb).neighbour[edge].astype(np.int64)
        path = path * (kb.num_codes + 1) + Graph.of(kb).code[edge] + 1
        forward = (here != start[step]) & (here != before)
        owner, before, here, path = owner[forward], before[forward], here[forward], path[forward]
        row, end = unary.expand(here)
        found.append((owner[row], _number(kb, path[row], end + 1)))
        if parts.bare:
            found.append((owner, _number(kb, path, np.zeros(len(path), np.int64))))
    return found


def _steps(kb: KnowledgeBase, entities: Longs) -> tuple[Longs, Longs]:
    """(edge, row of `entities`) for each edge of each of them."""
    begin = Graph.of(kb).pointer[entities]
    count = Graph.of(kb).pointer[entities + 1] - begin
    return ranges(begin, count), np.repeat(np.arange(len(entities)), count)


def _number(kb: KnowledgeBase, path: Longs, end: Longs) -> Longs:
    return kb.num_predicates + path * (kb.num_predicates + 1) + end


def _others(kb: KnowledgeBase, objects: Ids) -> Rows:
    """The classes of the other objects of the graph, as numbers below 0."""
    graph_of = np.zeros(kb.num_entities, np.int64) if kb.graph_of is None else kb.graph_of.astype(np.int64)
    facts = kb.unary[np.isin(kb.unary.predicate, list(kb.classes))]
    key, count = np.unique(graph_of[facts.subject] * kb.num_predicates + facts.predicate, return_counts=True)
    graph, present = np.divmod(key, kb.num_predicates)
    pointer = offsets(graph, kb.num_graphs)
    begin = pointer[graph_of[objects]]
    length = pointer[graph_of[objects] + 1] - begin
    place = ranges(begin, length)
    owner = np.repeat(np.arange(len(objects)), length)
    # A class that the graph has through the object alone is not said: that would be the answer.
    own_row, own = Unaries.of(kb, np.isin(kb.unary.predicate, list(kb.classes))).expand(objects)
    is_own = np.isin(owner * kb.num_predicates + present[place], own_row * kb.num_predicates + own)
    kept = count[place] - is_own > 0
    return owner[kept], -1 - present[place][kept]
