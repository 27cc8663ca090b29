"""RuleSet: many rules by column, each a row of small integers; a `ScoredRule` is made on demand.

Rows 0 .. num_lines - 1 are line rules (see `coding.py`); the rows after them are the rules in
`general`, in order. Statistics are columns over all rows. Ids are those of `predicates`, `entities`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..data.arrays import Doubles, Floats, Ids, Longs, Mask
from ..data.kb import KnowledgeBase
from ..data.vocabulary import Vocabulary
from ..errors import ConfigError, UnknownName
from ..logic.predicate import Predicate
from ..logic.rule import SMOOTHING, Rule, RuleStats, ScoredRule, rules_html
from ..logic.text import atom_text, readable_text
from .coding import NO_STEP, Row, decode, encode
from .exclusion import Exclusion

UNKNOWN = -1
"""pca_body of a unary head."""

SHOWN = 20
"""Rules that a notebook shows."""

COLUMNS = ("head", "head_entity", "fixed", "end", "distinct", "support", "body_size", "head_size", "pca_body")


KINDS = (
    "one-step chain",
    "longer chain",
    "answer constant",
    "answer constant, any",
    "query constant",
    "query constant, any",
    "other",
    "prior",
)
"""Kinds of rules for a query p(a, ?): chains; p(X, c) and p(c, Y), whose constant is the answer or the query's own,
with a body that names an entity or any; every other body; p(X, c) :- true."""


@dataclass(frozen=True)
class Aggregation:
    """How the rules that fire become one score.

    max       the strongest rule
    noisy-or  1 - prod(1 - weight) over the `top` strongest rules and the priors; top = 0 takes all

    With a `weighing`, noisy-or is taken of the `top` strongest rules of each kind (KINDS): (factor, discount) says
    what the strongest of a kind counts, and what each next one counts of the one before.

    Where weights of exclusive classes were fitted together, `unit` is the evidence of one natural unit of log-odds:
    the probabilities of an object's classes are the softmax of evidence / unit. 0: no such meaning.
    """

    kind: str = "noisy-or"
    top: int = 5
    weighing: tuple[tuple[float, float], ...] = ()
    unit: float = 0.0

    def __post_init__(self) -> None:
        try:
            numbers = tuple((float(f), float(d)) for f, d in self.weighing)
            fits = not numbers or (
                len(numbers) == len(KINDS)
                and self.kind == "noisy-or"
                and self.top > 0
                and all(0 <= f <= 1 and 0 <= d <= 1 for f, d in numbers)
            )
        except (TypeError, ValueError):
            fits = False
        if not fits:
            raise ConfigError(
                f"weighing: expected noisy-or of some rules of each kind, with a factor and "
                f"a discount of 0 to 1 for each of {', '.join(KINDS)}, "
                f"got {self.weighing}",
                "weighing",
            )
        object.__setattr__(self, "weighing", numbers)
        if not 0 <= self.unit < float("inf"):
            raise ConfigError(f"unit: expected a number of 0 or more, got {self.unit!r}", "unit")
        if self.kind not in ("max", "noisy-or"):
            raise ConfigError(f"aggregation must be max or noisy-or, got {self.kind!r}", "aggregation")
        if self.top < 0:
            raise ConfigError(f"aggregation_top must be 0 (all) or more, got {self.top}", "aggregation_top")


@dataclass(frozen=True, eq=False)
class RuleSet:
    predicates: tuple[Predicate, ...]
    entities: Vocabulary
    head: Ids
    head_entity: Ids
    fixed: np.ndarray
    steps: np.ndarray
    end: Ids
    distinct: Mask
    support: Ids
    body_size: Ids
    head_size: Ids
    pca_body: Ids
    weight: Floats | None = None
    general: tuple[Rule, ...] = ()
    aggregation: Aggregation = Aggregation()
    asked: tuple[Predicate, ...] = ()
    exclusions: tuple[Exclusion, ...] = ()
    entity_labels: Mapping[str, str] = field(default_factory=dict)
    predicate_labels: Mapping[str, str] = field(default_factory=dict)

    # making ---------------------------------------------------------------------------------------

    @classmethod
    def empty(cls, kb: KnowledgeBase, aggregation: Aggregation | None = None) -> RuleSet:
        none, small = np.zeros(0, np.int32), np.zeros(0, np.int8)
        steps: np.ndarray = np.zeros((0, 1), step_dtype(kb.num_codes))
        return cls(
            kb.predicates,
            kb.entities,
            none,
            none,
            small,
            steps,
            none,
            np.zeros(0, bool),
            none,
            none,
            none,
            none,
            None,
            (),
            aggregation or Aggregation(),
            (),
            (),
            kb.entity_labels,
            kb.predicate_labels,
        )

    @classmethod
    def of(cls, kb: KnowledgeBase, scored: Sequence[ScoredRule], aggregation: Aggregation | None = None) -> RuleSet:
        """A set of given rules. Line rules come first, each group in the given order."""
        rows = [(encode(s.rule, kb), s) for s in scored]
        lines = [(row, s) for row, s in rows if row is not None]
        others = [s for row, s in rows if row is None]
        ordered = [s for _, s in lines] + others
        width = max((len(row.steps) for row, _ in lines), default=1) or 1
        steps: np.ndarray = np.full((len(lines), width), NO_STEP, step_dtype(kb.num_codes))
        for i, (row, _) in enumerate(lines):
            steps[i, : len(row.steps)] = row.steps
        heads = [row.head for row, _ in lines] + [kb.predicate_id(s.rule.target) for s in others]

        def column(values: list[int], dtype: type = np.int32) -> np.ndarray:
            return np.asarray(values, dtype)

        return replace(
            cls.empty(kb, aggregation),
            head=column(heads),
            head_entity=column([row.head_entity for row, _ in lines]),
            fixed=column([row.fixed for row, _ in lines], np.int8),
            steps=steps,
            end=column([row.end for row, _ in lines]),
            distinct=column([row.distinct for row, _ in lines], np.bool_),
            support=column([s.stats.support for s in ordered]),
            body_size=column([s.stats.body_size for s in ordered]),
            head_size=column([s.stats.head_size for s in ordered]),
            pca_body=column([UNKNOWN if s.stats.pca_body is None else s.stats.pca_body for s in ordered]),
            weight=np.asarray([s.weight for s in ordered], np.float32),
            general=tuple(s.rule for s in others),
        )

    @classmethod
    def join(cls, parts: Sequence[RuleSet]) -> RuleSet:
        """All rules and exclusions of parts over the same vocabularies, in order; the first part's aggregation."""
        if len(parts) == 1:
            return parts[0]
        width = max(p.steps.shape[1] for p in parts)
        lines = [p.num_lines for p in parts]

        def tail_last(name: str) -> np.ndarray:
            arrays = [getattr(p, name) for p in parts]
            heads = [a[:n] for a, n in zip(arrays, lines)]
            return np.concatenate(heads + [a[n:] for a, n in zip(arrays, lines)])

        weights = None
        if any(p.weight is not None for p in parts):
            parts = [replace(p, weight=p.weights.astype(np.float32)) for p in parts]
            weights = tail_last("weight")
        joined: dict[str, Any] = {name: tail_last(name) for name in COLUMNS}
        steps = np.concatenate(
            [np.pad(p.steps, ((0, 0), (0, width - p.steps.shape[1])), constant_values=NO_STEP) for p in parts]
        )
        general = tuple(rule for p in parts for rule in p.general)
        exclusions = tuple(dict.fromkeys(e for p in parts for e in p.exclusions))
        return replace(parts[0], steps=steps, weight=weights, general=general, exclusions=exclusions, **joined)

    # looking --------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.head)

    @property
    def num_lines(self) -> int:
        return len(self.end)

    @property
    def weights(self) -> Doubles:
        """The weight of each rule: the given one, else the smoothed confidence."""
        if self.weight is not None:
            return self.weight.astype(np.float64)
        return self.support / (self.body_size + float(SMOOTHING))

    @property
    def confidence(self) -> Doubles:
        return self.support / np.maximum(self.body_size, 1)

    @property
    def targets(self) -> tuple[Predicate, ...]:
        """The predicates that rules were asked for, else those that some rule has in its head."""
        return self.asked or tuple(self.predicates[i] for i in np.unique(self.head))

    def rule(self, row: int) -> Rule:
        if row >= self.num_lines:
            return self.general[row - self.num_lines]
        steps = tuple(int(c) for c in self.steps[row] if c != NO_STEP)
        line = Row(
            int(self.head[row]),
            int(self.head_entity[row]),
            int(self.fixed[row]),
            steps,
            int(self.end[row]),
            bool(self.distinct[row]),
        )
        constants = [i for i in (line.head_entity, line.end) if i >= 0]
        return decode(line, self.predicates, {i: self.entities.name(i) for i in constants})

    def stats(self, row: int) -> RuleStats:
        pca = int(self.pca_body[row])
        return RuleStats(
            int(self.support[row]), int(self.body_size[row]), int(self.head_size[row]), None if pca == UNKNOWN else pca
        )

    def __getitem__(self, row: int) -> ScoredRule:
        if not -len(self) <= row < len(self):
            raise IndexError(f"row {row} of a set of {len(self)} rules")
        row %= len(self)
        stats = self.stats(row)
        return ScoredRule(self.rule(row), stats, stats.smoothed if self.weight is None else float(self.weight[row]))

    def __iter__(self) -> Iterator[ScoredRule]:
        return (self[row] for row in range(len(self)))

    def _repr_html_(self) -> str:
        """The best rules as a table, with labels."""
        count = min(SHOWN, len(self))
        caption = f"{count:,} of {len(self):,} rules" if count < len(self) else f"{count:,} rules"
        return rules_html(self.top(count), self._readable, caption)

    def _readable(self, rule: Rule) -> str:
        entities, predicates = self.entity_labels, self.predicate_labels
        return readable_text(
            rule,
            lambda name: entities.get(name) or atom_text(name),
            lambda name: predicates.get(name) or atom_text(name),
        )

    # choosing -------------------------------------------------------------------------------------

    def take(self, rows: Longs | Mask) -> RuleSet:
        """The rules of the given rows (ids or a mask) and all exclusions; line rules stay before the others."""
        rows = np.flatnonzero(rows) if rows.dtype == bool else np.asarray(rows, np.int64)
        lines, others = rows[rows < self.num_lines], rows[rows >= self.num_lines]
        both = np.concatenate((lines, others))
        of_lines = ("head_entity", "fixed", "end", "distinct", "steps")
        of_all = ("head", "support", "body_size", "head_size", "pca_body")
        picked: dict[str, Any] = {name: getattr(self, name)[lines] for name in of_lines}
        picked |= {name: getattr(self, name)[both] for name in of_all}
        weight = None if self.weight is None else self.weight[both]
        return replace(self, weight=weight, general=tuple(self.general[i - self.num_lines] for i in others), **picked)

    def for_target(self, target: str | Predicate) -> RuleSet:
        """The rules and exclusions of `target` (a name, name/arity, or a Predicate)."""
        found = [i for i, p in enumerate(self.predicates) if target in (p, p.name, str(p))]
        if not found:
            raise UnknownName("predicate", str(target), [p.name for p in self.predicates])
        exclusions = tuple(e for e in self.exclusions if target in (e.target, e.target.name, str(e.target)))
        return replace(self.take(np.isin(self.head, found)), exclusions=exclusions)

    def order(self) -> Longs:
        """Rows from best to worst: weight, support, then fewer steps, then row.

        Where all rules count (top = 0) priors come last: weights fitted together put there what negations take away.
        """
        size = np.zeros(len(self), np.int64)
        size[: self.num_lines] = (self.steps != NO_STEP).sum(axis=1)
        size[self.num_lines :] = [rule.length for rule in self.general]
        is_last = (size == 0) & (self.aggregation.top == 0) & (self.aggregation.kind == "noisy-or")
        return np.lexsort((size, -self.support.astype(np.int64), -self.weights, is_last))

    def top(self, count: int) -> list[ScoredRule]:
        """The `count` best rules, best first."""
        return [self[int(row)] for row in self.order()[:count]]


def step_dtype(num_codes: int) -> type:
    return np.int16 if num_codes < 2**15 else np.int32
