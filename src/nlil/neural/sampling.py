"""Queries to train on: facts of a target and negatives, drawn from seed, target and round alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..config import LearnerConfig
from ..data.arrays import Longs, Mask, run_starts
from ..data.facts import Facts
from ..data.kb import KnowledgeBase
from ..kernel.graph import Graph
from ..kernel.hidden import hides_without_fact

NO_ENTITY = -1
"""The y of a query of a unary target, and the x and y of padding."""
EVERY_KIND = 0.2
"""Share of the facts of a block that are drawn round-robin over kinds."""
ALIGNED = 16
"""A block is padded to a multiple of this many queries: the matrix of each restart is then aligned to 64 bytes, and its
products are bit-identical however many restarts are evaluated at a time."""
TRIES = 20
"""Limit of the draws per negative; a target that holds nearly everywhere has few negatives."""


@dataclass(frozen=True, eq=False)
class LabelledQueries:
    """Queries p(x, y) or p(x): those of one target in random order (n,), or of a block of G targets x B queries.

    Attributes:
        x, y: entity ids; y is NO_OBJECT for a unary target.
        label: float32: the weight of a fact, 0 for a negative.
        hide: whether to hide the query's own fact: if it is a fact, or if the target is an object class.
    """

    x: Longs
    y: Longs
    label: np.ndarray
    hide: Mask

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, rows: Longs | Mask | slice) -> LabelledQueries:
        return LabelledQueries(self.x[rows], self.y[rows], self.label[rows], self.hide[rows])

    @property
    def real(self) -> Mask:
        """Which queries are not padding."""
        return self.x != NO_ENTITY


class Sampler:
    """Draws the queries of a target; `config` has their numbers."""

    def __init__(
        self,
        kb: KnowledgeBase,
        config: LearnerConfig,
        negatives: Facts | None = None,
        valid: Facts | None = None,
        positives: Facts | None = None,
    ) -> None:
        """Use the given `negatives`, if any; no fact of `kb`, `valid` or `positives` is ever a negative.

        `positives` are the facts to train on instead of those of `kb`; bodies use `kb` in any case.
        """
        self.kb, self.config = kb, config
        self.positives = kb.facts if positives is None else positives
        self.given = negatives if negatives is not None else Facts.empty()
        # Facts about other scene graphs are in their context, not in this base, so no body could hold for them.
        self.valid = valid if valid is not None and valid.context is None else Facts.empty()
        self.held: dict[int, Longs] = {}  # keys of the validation queries of each target
        self._kinds: Longs | None = None

    def queries(self, target: int) -> tuple[LabelledQueries, LabelledQueries]:
        """Return (training, validation) queries of `target`. Without validation facts, a tenth of them is held out."""
        random = np.random.default_rng((self.config.seed, 1, target))
        valid, most = self.valid.of(target), self.config.positives
        train = self._drawn(target, self.positives.of(target), most, random)
        held = len(train) // 10
        if len(valid):
            checked = self._drawn(target, valid, most, random)
        elif held < 10:
            checked = train  # too few to hold out any
        else:
            spared = self._spared(train, held)
            train, checked = train[~spared], train[spared]
        self.held[target] = np.zeros(0, np.int64) if checked is train else self._keys(checked.x, checked.y)
        return train, checked

    def fresh(self, target: int, round: int, positives: int) -> LabelledQueries:
        """Draw training queries of a later `round`, with at most `positives` facts and no validation query."""
        random = np.random.default_rng((self.config.seed, 1, target, round))
        drawn = self._drawn(target, self.positives.of(target), positives, random)
        return drawn[np.flatnonzero(~np.isin(self._keys(drawn.x, drawn.y), self.held[target]))]

    def has_more(self, target: int) -> bool:
        """Return whether another round can draw queries that the first one did not have."""
        facts, wanted = len(self.positives.of(target)), self.config.negatives
        if facts > self.config.positives:
            return True
        if len(self.given.of(target)):
            return False
        is_unary = self.kb.predicates[target].arity == 1
        return not is_unary or int(np.count_nonzero(self.kb.domain)) - facts > wanted * facts

    def _drawn(self, target: int, facts: Facts, most: int, random: np.random.Generator) -> LabelledQueries:
        """Return at most `most` facts and their negatives, in random order."""
        visible = self._keys(*_columns(self.kb.facts.of(target)))  # facts to hide from their own queries
        others = (self._keys(*_columns(some.of(target))) for some in (self.valid, self.positives))
        true = np.unique(np.concatenate((visible, *others)))
        x, y = _columns(facts)
        unary = self.kb.predicates[target].arity == 1
        weight = np.ones(len(x), np.float32) if facts.weight is None else facts.weight.astype(np.float32)
        if len(x) > most:
            some = self._some(x, y, most, random)
            x, y, weight = x[some], y[some], weight[some]
        wanted = int(np.ceil(self.config.negatives * max(len(x), 1)))
        given = self.given.of(target)
        if len(given):
            false_x, false_y = _columns(given[random.permutation(len(given))])
        elif unary:
            false_x, false_y = self._unary_negatives(wanted, random)
        else:
            false_x, false_y = self._binary_negatives(x, y, facts, wanted, random)
        keep = ~np.isin(self._keys(false_x, false_y), true)
        if self.kb.graph_of is not None and not unary:
            keep &= self.kb.graph_of[false_x] == self.kb.graph_of[false_y]  # a head tuple is in one graph
        false_x, false_y = false_x[keep][:wanted], false_y[keep][:wanted]
        all_x, all_y = np.concatenate([x, false_x]), np.concatenate([y, false_y])
        label = np.concatenate([weight, np.zeros(len(false_x), np.float32)])
        hide = np.isin(self._keys(all_x, all_y), visible) | hides_without_fact(self.kb, target)
        order = random.permutation(len(all_x))
        return LabelledQueries(all_x, all_y, label, hide)[order]

    def _spared(self, queries: LabelledQueries, count: int) -> Mask:
        """Return which queries are held out, facts and negatives in proportion.

        The first fact of a kind is held out last: no other one may teach the same.
        """
        true, false = (np.flatnonzero((queries.label > 0) == wanted) for wanted in (True, False))
        is_first = turns(self._kinds_of(queries.x[true], queries.y[true])) == 0
        num_true = count * len(true) // len(queries)
        spared = np.zeros(len(queries), bool)
        spared[true[np.argsort(is_first, kind="stable")[:num_true]]] = True
        spared[false[: count - num_true]] = True
        return spared

    def _some(self, x: Longs, y: Longs, most: int, random: np.random.Generator) -> Longs:
        """Return the rows of the drawn facts: most at random, a share round-robin over kinds.

        `zero` is one of a thousand even numbers, and the only one that needs its own rule.
        """
        order = random.permutation(len(x))
        any_of, rest = np.split(order, [most - int(EVERY_KIND * most)])
        turn = turns(self._kinds_of(x[order], y[order]))[len(any_of) :]
        return np.sort(np.concatenate([any_of, rest[np.argsort(turn, kind="stable")[: most - len(any_of)]]]))

    def _kinds_of(self, x: Longs, y: Longs) -> Longs:
        """Return a number for each query, equal if the same steps lead from its entities."""
        if self._kinds is None:
            self._kinds = entity_kinds(self.kb)
        return self._kinds[x] * 31 + np.where(y == NO_ENTITY, 0, self._kinds[y])

    def _unary_negatives(self, wanted: int, random: np.random.Generator) -> tuple[Longs, Longs]:
        everyone = np.flatnonzero(self.kb.domain)
        x = everyone if len(everyone) <= TRIES * wanted else random.choice(everyone, TRIES * wanted)
        x = random.permutation(np.unique(x)).astype(np.int64)
        return x, np.full(len(x), NO_ENTITY, np.int64)

    def _binary_negatives(
        self, x: Longs, y: Longs, facts: Facts, wanted: int, random: np.random.Generator
    ) -> tuple[Longs, Longs]:
        n = self.kb.num_entities
        if len(x) == 0 or n == 0:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        if self.kb.graph_of is not None or self.config.negative_sampling == "near":
            return self._near_negatives(x, y, facts, 2 * wanted, random)
        return random.integers(0, n, 2 * wanted), random.integers(0, n, 2 * wanted)

    def _near_negatives(
        self, x: Longs, y: Longs, facts: Facts, wanted: int, random: np.random.Generator
    ) -> tuple[Longs, Longs]:
        """Return negatives in thirds: the end of a random walk from x, another object, or another subject."""
        rows = random.integers(0, len(x), wanted)
        kind = np.arange(wanted) % 3
        walked = self._walk(x[rows], random)
        other_y = facts.object[random.integers(0, len(facts), wanted)].astype(np.int64)
        other_x = facts.subject[random.integers(0, len(facts), wanted)].astype(np.int64)
        return np.where(kind == 2, other_x, x[rows]), np.where(kind == 0, walked, np.where(kind == 1, other_y, y[rows]))

    def _walk(self, node: Longs, random: np.random.Generator) -> Longs:
        graph = Graph.of(self.kb)
        degree = np.diff(graph.pointer)
        length = random.integers(1, 2 * self.config.steps + 2, len(node))
        for step in range(1, 2 * self.config.steps + 2):
            at = degree[node]
            pick = graph.pointer[node] + (random.random(len(node)) * at).astype(np.int64)
            moved = graph.neighbour[np.minimum(pick, max(len(graph.neighbour) - 1, 0))].astype(np.int64)
            node = np.where((step <= length) & (at > 0), moved, node)
        return node

    def _keys(self, x: Longs, y: Longs) -> Longs:
        return x * (self.kb.num_entities + 1) + y + 1


def entity_kinds(kb: KnowledgeBase) -> Longs:
    """Return a number for each entity of `kb`, equal if the same steps lead from two entities."""
    graph = Graph.of(kb)
    number = np.random.default_rng(0).integers(0, 2**62, kb.num_codes)  # a set of steps is hashed to their sum
    kind = np.zeros(kb.num_entities, np.int64)
    np.add.at(kind, graph.span_node, number[graph.span_code])
    owner = np.repeat(np.arange(kb.num_entities), np.diff(graph.unary_pointer))
    np.add.at(kind, owner, number[2 * graph.unary_predicate])
    return kind


def turns(kind: Longs) -> Longs:
    """Return for each row the number of earlier rows of its `kind`.

    >>> turns(np.array([7, 5, 7, 7, 5])).tolist()
    [0, 0, 1, 2, 1]
    """
    order = np.argsort(kind, kind="stable")
    position = np.arange(len(kind))
    turn = np.zeros(len(kind), np.int64)
    turn[order] = position - np.maximum.accumulate(np.where(run_starts(kind[order]), position, 0))
    return turn


def _columns(facts: Facts) -> tuple[Longs, Longs]:
    return facts.subject.astype(np.int64), facts.object.astype(np.int64)


def blocks(queries: list[LabelledQueries], batch: int | None = None) -> list[LabelledQueries]:
    """Return the `queries` of G targets as blocks of at most `batch` queries each, padded; None: as one block."""
    longest = max((len(own) for own in queries), default=0)
    count = max(1, -(-longest // batch)) if batch else 1
    result = []
    for first in range(count):
        parts = [own[first::count] for own in queries]
        width = -(-max(1, *map(len, parts)) // ALIGNED) * ALIGNED

        def grid(column: str, empty: int, parts: list[LabelledQueries] = parts, width: int = width) -> np.ndarray:
            rows = [getattr(part, column) for part in parts]
            return np.stack([np.pad(row, (0, width - len(row)), constant_values=empty) for row in rows])

        result.append(LabelledQueries(grid("x", NO_ENTITY), grid("y", NO_ENTITY), grid("label", 0), grid("hide", 0)))
    return result
