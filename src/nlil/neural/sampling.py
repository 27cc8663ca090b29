"""Queries to train on: facts of a target and tuples that are none, drawn from the seed and the target alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..data.arrays import Longs
from ..data.facts import Facts
from ..data.kb import KnowledgeBase
from .options import NeuralOptions
from .sources import NOBODY, Queries

TRIES = 20
"""Draws for each negative until one is no fact; a target that holds nearly everywhere has few negatives."""


@dataclass(frozen=True, eq=False)
class Pool:
    """The queries of one target, in random order."""

    x: Longs
    y: Longs
    label: np.ndarray
    hide: np.ndarray

    def __len__(self) -> int:
        return len(self.x)

    def take(self, rows: np.ndarray) -> Pool:
        return Pool(self.x[rows], self.y[rows], self.label[rows], self.hide[rows])


class Sampler:
    """Draws pools; `known` are the facts that are no negatives (all that are known to be true)."""

    def __init__(
        self, kb: KnowledgeBase, options: NeuralOptions, negatives: Facts | None = None, valid: Facts | None = None
    ) -> None:
        self.kb, self.options = kb, options
        self.given = negatives if negatives is not None else Facts.empty()
        # What is known of other scene graphs is in the facts' context, not in this base: no body could hold there.
        self.valid = valid if valid is not None and valid.context is None else Facts.empty()

    def pools(self, target: int) -> tuple[Pool, Pool]:
        """(training, validation). Without validation facts of its own a tenth of the queries is held out."""
        random = np.random.default_rng((self.options.seed, 1, target))
        facts = self.kb.facts.of(target)
        known = self._keys(*_columns(facts))
        valid = self.valid.of(target)
        pool = self._pool(target, facts, np.union1d(known, self._keys(*_columns(valid))), known, random)
        if len(valid):
            return pool, self._pool(target, valid, np.union1d(known, self._keys(*_columns(valid))), known, random)
        held = len(pool) // 10
        if held < 10:
            return pool, pool  # too few to spare any
        return pool.take(np.arange(held, len(pool))), pool.take(np.arange(held))

    def _pool(self, target: int, facts: Facts, true: Longs, visible: Longs, random: np.random.Generator) -> Pool:
        """`true`: tuples that are no negatives; `visible`: facts of the base, which a query of theirs must not see."""
        x, y = _columns(facts)
        unary = self.kb.predicates[target].arity == 1
        weight = np.ones(len(x), np.float32) if facts.weight is None else facts.weight.astype(np.float32)
        if len(x) > self.options.positives:
            some = np.sort(random.choice(len(x), self.options.positives, replace=False))
            x, y, weight = x[some], y[some], weight[some]
        wanted = int(np.ceil(self.options.negatives * max(len(x), 1)))
        given = self.given.of(target)
        if len(given):
            false_x, false_y = _columns(given[random.permutation(len(given))])
        elif unary:
            false_x, false_y = self._unary_negatives(true, wanted, random)
        else:
            false_x, false_y = self._binary_negatives(x, y, facts, wanted, random)
        keep = ~np.isin(self._keys(false_x, false_y), true)
        if self.kb.graph_of is not None and not unary:
            keep &= self.kb.graph_of[false_x] == self.kb.graph_of[false_y]  # no head tuple crosses graphs
        false_x, false_y = false_x[keep][:wanted], false_y[keep][:wanted]
        all_x, all_y = np.concatenate([x, false_x]), np.concatenate([y, false_y])
        label = np.concatenate([weight, np.zeros(len(false_x), np.float32)])
        hide = np.isin(self._keys(all_x, all_y), visible) | (target in self.kb.classes)
        order = random.permutation(len(all_x))
        return Pool(all_x, all_y, label, hide).take(order)

    def _unary_negatives(self, true: Longs, wanted: int, random: np.random.Generator) -> tuple[Longs, Longs]:
        everyone = np.flatnonzero(self.kb.domain)
        x = everyone if len(everyone) <= TRIES * wanted else random.choice(everyone, TRIES * wanted)
        x = random.permutation(np.unique(x)).astype(np.int64)
        y = np.full(len(x), NOBODY, np.int64)
        keep = ~np.isin(self._keys(x, y), true)
        return x[keep], y[keep]

    def _binary_negatives(
        self, x: Longs, y: Longs, facts: Facts, wanted: int, random: np.random.Generator
    ) -> tuple[Longs, Longs]:
        n = self.kb.num_entities
        if len(x) == 0 or n == 0:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        if self.kb.graph_of is not None or self.options.negative_sampling == "near":
            return self._near_negatives(x, y, facts, 2 * wanted, random)
        return random.integers(0, n, 2 * wanted), random.integers(0, n, 2 * wanted)

    def _near_negatives(
        self, x: Longs, y: Longs, facts: Facts, wanted: int, random: np.random.Generator
    ) -> tuple[Longs, Longs]:
        """By thirds: where a random walk from x ends, another object of the target, another subject of it."""
        rows = random.integers(0, len(x), wanted)
        kind = np.arange(wanted) % 3
        walked = self._walk(x[rows], random)
        other_y = facts.object[random.integers(0, len(facts), wanted)].astype(np.int64)
        other_x = facts.subject[random.integers(0, len(facts), wanted)].astype(np.int64)
        return np.where(kind == 2, other_x, x[rows]), np.where(kind == 0, walked, np.where(kind == 1, other_y, y[rows]))

    def _walk(self, node: Longs, random: np.random.Generator) -> Longs:
        edges = self.kb.adjacency
        degree = np.diff(edges.pointer)
        length = random.integers(1, 2 * self.options.steps + 2, len(node))
        for step in range(1, 2 * self.options.steps + 2):
            at = degree[node]
            pick = edges.pointer[node] + (random.random(len(node)) * at).astype(np.int64)
            moved = edges.neighbour[np.minimum(pick, max(len(edges.neighbour) - 1, 0))].astype(np.int64)
            node = np.where((step <= length) & (at > 0), moved, node)
        return node

    def _keys(self, x: Longs, y: Longs) -> Longs:
        return x * (self.kb.num_entities + 1) + y + 1


def _columns(facts: Facts) -> tuple[Longs, Longs]:
    return facts.subject.astype(np.int64), facts.object.astype(np.int64)


def blocks(pools: list[Pool], batch: int) -> list[Queries]:
    """The pools of G targets as blocks of at most `batch` queries each; short pools are padded."""
    longest = max((len(pool) for pool in pools), default=0)
    count = max(1, -(-longest // batch))
    result = []
    for block in range(count):
        parts = [pool.take(np.arange(block, len(pool), count)) for pool in pools]
        width = max(1, max(len(part) for part in parts))

        def grid(name: str, empty: float, dtype: type, parts: list[Pool] = parts, width: int = width) -> np.ndarray:
            rows = [np.concatenate([getattr(p, name), np.full(width - len(p), empty)]) for p in parts]
            return np.stack(rows).astype(dtype)

        result.append(
            Queries(
                grid("x", NOBODY, np.int64),
                grid("y", NOBODY, np.int64),
                grid("label", 0, np.float32),
                grid("hide", 0, bool),
            )
        )
    return result
