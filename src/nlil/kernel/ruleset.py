"""RuleSet: many rules by column. A rule is a head, a body number, and its statistics.

`ScoredRule` values are made on demand. Ids refer to `predicates` and `entities`; `bodies` holds each body once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, overload

import numpy as np

from ..data.arrays import Doubles, Floats, Ids, Longs, Mask
from ..data.facts import Facts
from ..data.kb import KnowledgeBase
from ..data.vocabulary import Vocabulary
from ..errors import RuleError, RuleSyntaxError, UnknownName, require
from ..logic.formula import Constant, X, Y
from ..logic.labels import Labels
from ..logic.parse import parse_rule
from ..logic.predicate import Predicate
from ..logic.rule import Head, Rule, RuleStats, ScoredRule, rules_html, smoothed_confidence
from .aggregation import DEFAULT, Aggregation
from .bodies import ANY_NODE, OR, Bodies, BodyBuilder, Lines, step_dtype, unary_mask
from .calibration import Calibration
from .exclusion import Exclusion

UNKNOWN = -1
"""pca_body of a unary head."""

SHOWN = 20
"""Rules shown in a notebook."""

NO_ENTITY = -1
"""head_entity of a head without a constant."""
FIRST, SECOND = 1, 2
"""`fixed`: which argument of the head is a constant; 0 for none."""

STATISTICS = ("support", "body_size", "head_size", "pca_body")
COLUMNS = ("head", "head_entity", "fixed", "body", *STATISTICS)


@dataclass(frozen=True, eq=False)
class RuleSet:
    """Row i is a rule for predicates[head[i]], with the constant entities[head_entity[i]] as argument fixed[i] of the
    head (0: none), and the body bodies[body[i]].

    support, body_size, head_size, pca_body  counts as in `RuleStats`; pca_body is UNKNOWN for unary heads
    weight       the weight of each rule; None: the smoothed confidence
    aggregation  how the rules that fire become a score
    requested    the targets that rules were requested for; () if unknown
    exclusions   relations that never hold together with a target
    calibration  the map from scores to probabilities, if known; `take` drops it, as fewer rules score lower
    is_ordered   the rows are in reading order, as in a theory; otherwise the best by weight come first
    entity_labels, predicate_labels  readable labels, by name
    """

    predicates: tuple[Predicate, ...]
    entities: Vocabulary
    bodies: Bodies
    head: Ids
    head_entity: Ids
    fixed: np.ndarray
    body: Ids
    support: np.ndarray
    body_size: np.ndarray
    head_size: np.ndarray
    pca_body: np.ndarray
    weight: Floats | None = None
    aggregation: Aggregation = DEFAULT
    requested: tuple[Predicate, ...] = ()
    exclusions: tuple[Exclusion, ...] = ()
    calibration: Calibration | None = None
    entity_labels: Mapping[str, str] = field(default_factory=dict)
    predicate_labels: Mapping[str, str] = field(default_factory=dict)
    is_ordered: bool = False

    # making ---------------------------------------------------------------------------------------

    @classmethod
    def empty(cls, kb: KnowledgeBase, aggregation: Aggregation | None = None) -> RuleSet:
        """Return a set without rules, in the ids of `kb`; `aggregation` defaults to Aggregation()."""
        return replace(cls.of_lines(kb, np.zeros((0, 1)), head=0), aggregation=aggregation or Aggregation())

    @classmethod
    def of_lines(
        cls,
        kb: KnowledgeBase,
        steps: np.ndarray,
        *,
        head: np.ndarray | int,
        head_entity: np.ndarray | int = NO_ENTITY,
        fixed: np.ndarray | int = 0,
        end: np.ndarray | int = ANY_NODE,
        distinct: np.ndarray | bool = True,
        support: np.ndarray | int = 0,
        body_size: np.ndarray | int = 0,
        head_size: np.ndarray | int = 0,
        pca_body: np.ndarray | int = UNKNOWN,
    ) -> RuleSet:
        """Make rules whose bodies are lines, from columns in the ids of `kb`; scalars are repeated.

        `steps`, `end` and `distinct` are those of `Lines.of`; the others (`head`, `head_entity`, `fixed`,
        `support`, `body_size`, `head_size`, `pca_body`) are columns of the set. Equal bodies are merged by `join` only.
        """
        counts = count_dtype(max(int(np.max(c, initial=0)) for c in (support, body_size, head_size, pca_body)))
        size = len(steps)
        lines = Lines.of(steps.astype(step_dtype(kb.num_codes)), end=end, distinct=distinct)

        def column(values: np.ndarray | int, dtype: type) -> np.ndarray:
            return np.broadcast_to(np.asarray(values, dtype), size).copy()

        return cls(
            kb.predicates,
            kb.entities,
            Bodies.of_lines(lines),
            column(head, np.int32),
            column(head_entity, np.int32),
            column(fixed, np.int8),
            np.arange(size, dtype=np.int32),
            column(support, counts),
            column(body_size, counts),
            column(head_size, counts),
            column(pca_body, counts),
            entity_labels=kb.entity_labels,
            predicate_labels=kb.predicate_labels,
        )

    @classmethod
    def of(cls, kb: KnowledgeBase, scored: Sequence[ScoredRule], aggregation: Aggregation | None = None) -> RuleSet:
        """Make a set of the rules of `scored`, in this order and in the ids of `kb`; `aggregation` as in `empty`."""
        builder, counts = BodyBuilder(kb), count_dtype(kb.num_entities**2)
        body = [builder.add(s.rule) for s in scored]
        heads = np.array([_head_columns(kb, s.rule) for s in scored], np.int64).reshape(-1, 3)
        stats = [(s.stats.support, s.stats.body_size, s.stats.head_size, _pca(s.stats)) for s in scored]
        columns: dict[str, Any] = dict(zip(STATISTICS, np.array(stats, counts).reshape(-1, 4).T.copy()))
        return replace(
            cls.empty(kb, aggregation),
            bodies=builder.bodies(),
            head=heads[:, 0].astype(np.int32),
            head_entity=heads[:, 1].astype(np.int32),
            fixed=heads[:, 2].astype(np.int8),
            body=np.array(body, np.int32),
            weight=np.asarray([s.weight for s in scored], np.float32),
            **columns,
        )

    @classmethod
    def join(cls, parts: Sequence[RuleSet]) -> RuleSet:
        """Concatenate the rules and exclusions of parts over the same vocabularies.

        The aggregation is that of the first part.
        """
        weights = None
        if any(p.weight is not None for p in parts):
            weights = np.concatenate([p.weights.astype(np.float32) for p in parts])
        bodies, numbers = Bodies.join([p.bodies for p in parts])
        columns: dict[str, Any] = {name: _joined([getattr(p, name) for p in parts]) for name in COLUMNS}
        columns["body"] = _joined([new.astype(np.int32)[p.body] for p, new in zip(parts, numbers)])
        exclusions = tuple(dict.fromkeys(e for p in parts for e in p.exclusions))
        return replace(parts[0], bodies=bodies, weight=weights, exclusions=exclusions, **columns)

    # looking --------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.head)

    @property
    def line(self) -> Ids:
        """The line of each rule's body, or -1 if the body is a longer program."""
        return self.bodies.line[self.body] if len(self.bodies) else self.body

    @property
    def has_head(self) -> Mask:
        """For each predicate, whether it is the head of a rule."""
        return np.bincount(self.head, minlength=len(self.predicates)) > 0

    @cached_property
    def lengths(self) -> Longs:
        """The number of body atoms of each rule."""
        of_body = self.bodies.lengths(unary_mask(self.predicates))
        return of_body[self.body] if len(of_body) else np.zeros(len(self), np.int64)

    @cached_property
    def num_disjuncts(self) -> Longs:
        """The number of disjuncts of each rule: how many bodies a reader reads."""
        programs, of_row = np.unique(self.body[self.is_program], return_inverse=True)
        of_program = np.array([self.bodies.program(body).count(OR) + 1 for body in programs.tolist()], np.int64)
        found = np.ones(len(self), np.int64)
        found[self.is_program] = of_program[of_row]
        return found

    @property
    def is_prior(self) -> Mask:
        """Which rules have the body `true` and a head of one variable; p(X, Y) :- true tells no answers apart."""
        if not len(self.bodies):
            return np.zeros(len(self), bool)
        one_variable = (self.fixed > 0) | unary_mask(self.predicates)[self.head]
        return self.bodies.is_true[self.body] & one_variable

    @property
    def is_program(self) -> Mask:
        """Which rules have a body of more than one line: a conjunction, disjunction or negation."""
        return self.line < 0

    @cached_property
    def has_constant(self) -> Mask:
        """Which rules contain a constant."""
        lines = self.bodies.lines
        named = self.bodies.any_line((lines.start >= 0) | (lines.end >= 0))
        return (self.head_entity >= 0) | (named[self.body] if len(named) else False)

    @property
    def weights(self) -> Doubles:
        """The weight of each rule: the stored one, else the smoothed confidence."""
        if self.weight is not None:
            return self.weight.astype(np.float64)
        return np.asarray(smoothed_confidence(self.support, self.body_size), np.float64)

    @property
    def confidence(self) -> Doubles:
        """The standard confidence of each rule."""
        return self.support / np.maximum(self.body_size, 1)

    @property
    def targets(self) -> tuple[Predicate, ...]:
        """The requested targets, else the predicates of the heads."""
        return self.requested or tuple(self.predicates[i] for i in np.flatnonzero(self.has_head))

    def rule(self, row: int) -> Rule:
        """Return the rule of a row."""
        predicate, fixed = self.predicates[self.head[row]], int(self.fixed[row])
        head = Head.of(predicate)
        if fixed:
            constant = Constant(self.entities.name(int(self.head_entity[row])))
            head = Head(predicate, (constant, Y) if fixed == FIRST else (X, constant))
        body = int(self.body[row])
        formula = self.bodies.formula(body, self.predicates, self.entities.name)
        return Rule(head, formula, self.bodies.distinct(body))

    def stats(self, row: int) -> RuleStats:
        """Return the statistics of a row."""
        pca = int(self.pca_body[row])
        return RuleStats(
            int(self.support[row]),
            int(self.body_size[row]),
            int(self.head_size[row]),
            None if pca == UNKNOWN else pca,
        )

    @overload
    def __getitem__(self, row: int) -> ScoredRule: ...
    @overload
    def __getitem__(self, row: slice | str) -> RuleSet: ...
    def __getitem__(self, row: int | slice | str) -> ScoredRule | RuleSet:
        """Return the rule of a row, the rules of a range of rows, or those of a target by name."""
        if isinstance(row, str):
            return self.for_target(row)
        if isinstance(row, slice):
            return replace(self.take(row), calibration=self.calibration)
        if not -len(self) <= row < len(self):
            raise IndexError(f"row {row} of a set of {len(self)} rules")
        row %= len(self)
        stats = self.stats(row)
        return ScoredRule(self.rule(row), stats, stats.smoothed if self.weight is None else float(self.weight[row]))

    def __iter__(self) -> Iterator[ScoredRule]:
        return (self[row] for row in range(len(self)))

    def __repr__(self) -> str:
        targets = f"{len(self.targets):,} targets" if len(self.targets) > 1 else "".join(map(str, self.targets))
        return f"<RuleSet: {len(self):,} rules for {targets or 'no target'}>"

    def _repr_html_(self) -> str:
        """Show the best rules as a table, with labels."""
        count = min(SHOWN, len(self))
        caption = f"{count:,} of {len(self):,} rules" if count < len(self) else f"{count:,} rules"
        return rules_html(self.top(count), Labels.of(self).rule, caption)

    # choosing -------------------------------------------------------------------------------------

    def take(self, rows: Longs | Mask | slice) -> RuleSet:
        """Return the rules of the given rows (numbers, a mask, a range) and all exclusions; bodies stay as they are."""
        picked: dict[str, Any] = {name: getattr(self, name)[rows] for name in COLUMNS}
        weight = None if self.weight is None else self.weight[rows]
        return replace(self, weight=weight, calibration=None, **picked)

    def compact(self) -> RuleSet:
        """Return the same rules without unused bodies."""
        used = np.zeros(len(self.bodies), bool)
        used[self.body] = True
        bodies, number = self.bodies.take(used)
        return replace(self, bodies=bodies, body=number[self.body].astype(np.int32)) if len(used) else self

    def unique(self) -> RuleSet:
        """Return the distinct rules, in the order of their first occurrence.

        The bodies must be distinct, as after `join` or `load_rules`.
        """
        head = (self.head.astype(np.int64) * 3 + self.fixed) * (len(self.entities) + 1) + self.head_entity + 1
        _, head = np.unique(head, return_inverse=True)
        _, first = np.unique(head * (int(self.body.max(initial=0)) + 1) + self.body, return_index=True)
        return self if len(first) == len(self) else self.take(np.sort(first))

    def for_target(self, target: str | Predicate) -> RuleSet:
        """Return the rules and exclusions of `target`: a name, name/arity, or a Predicate.

        The result requests no other target.
        """
        targets = {self.predicates[i] for i in self._targets(target)}
        return replace(
            self.take(self.rows_for(target)),
            requested=tuple(p for p in self.requested if p in targets),
            exclusions=tuple(e for e in self.exclusions if e.target in targets),
            calibration=self.calibration,  # its queries score as before
        )

    def rows_for(self, target: str | Predicate) -> Longs:
        """Return the rows that `for_target` takes for this `target`."""
        return np.flatnonzero(np.isin(self.head, self._targets(target)))

    def _targets(self, name: str | Predicate) -> list[int]:
        """Return the ids of the predicates of this name; a name may have two arities."""
        found = [i for i, p in enumerate(self.predicates) if name in (p, p.name, str(p))]
        labels = self.predicate_labels
        if not found and isinstance(name, str) and labels:
            found = [i for i, p in enumerate(self.predicates) if labels.get(p.name, "").casefold() == name.casefold()]
            names = sorted({self.predicates[i].name for i in found})
            if len(names) > 1:
                raise UnknownName("predicate", name, (), f"it is the label of {', '.join(names)}; write one of these")
        if not found:
            raise UnknownName("predicate", str(name), [*(p.name for p in self.predicates), *labels.values()])
        return found

    def filter(self, *, target: str | Predicate | None = None, **criteria: Any) -> RuleSet:
        """Return the rules of a `target` (None: of all targets) that meet the `criteria`.

        The criteria are the arguments of `constructs.matching_rows`: min_support, min_confidence, contains (the name of
        a predicate or an entity), length, kind.
        """
        from .constructs import matching_rows

        rules = self if target is None else self.for_target(target)
        return replace(rules.take(matching_rows(rules, **criteria)), calibration=self.calibration)

    def to_pandas(self, count: int | None = None) -> Any:
        """Return the `count` best rules (None: all) as a DataFrame: the rule, its target, its weight and statistics."""
        require("pandas", "graph", "a table of rules")
        import pandas

        rows = [
            {
                "rule": str(scored.rule),
                "target": scored.rule.target.name,
                "length": scored.rule.length,
                "weight": scored.weight,
                **scored.stats.to_dict(),
            }
            for scored in self.top(len(self) if count is None else count)
        ]
        return pandas.DataFrame(rows)

    def rows_of(self, rule: Rule) -> Longs:
        """Return the rows of `rule`, ascending: usually one, or none."""
        names = KnowledgeBase(self.entities, self.predicates, Facts.empty())
        builder = BodyBuilder(names)
        try:
            builder.add(rule)
            head, entity, fixed = _head_columns(names, rule)
        except UnknownName:
            return np.zeros(0, np.int64)
        body = self.bodies.find(builder.bodies())
        same_head = (self.head == head) & (self.head_entity == entity) & (self.fixed == fixed)
        return np.flatnonzero(same_head & (self.body == body) & (body >= 0))

    def rows_of_text(self, text: str) -> Longs:
        """Return the `rows_of` the rule printed as `text`; none if the text is not a rule."""
        try:
            return self.rows_of(parse_rule(text))
        except (RuleError, RuleSyntaxError):
            return np.zeros(0, np.int64)

    def order(self) -> Longs:
        """Return rows from best to worst: by weight, support, fewer steps, then row.

        If all rules count (top = 0), priors come last: jointly fitted weights put the negative evidence there.
        """
        if self.is_ordered:
            return np.arange(len(self))
        is_last = self.is_prior & (self.aggregation.places == 0)
        return np.lexsort((self.lengths, -self.support.astype(np.int64), -self.weights, is_last))

    def top(self, count: int) -> list[ScoredRule]:
        """Return the `count` best rules, best first."""
        return [self[int(row)] for row in self.order()[:count]]


def count_dtype(most: int) -> type:
    """Return an integer type wide enough for counts up to `most`, such as all pairs of entities."""
    return np.int32 if most < 2**31 else np.int64


def _head_columns(kb: KnowledgeBase, rule: Rule) -> tuple[int, int, int]:
    """Return (predicate id, entity id of the constant or NO_ENTITY, position of the constant or 0)."""
    for place, argument in enumerate(rule.head.arguments, start=1):
        if isinstance(argument, Constant):
            return kb.predicate_id(rule.target), kb.entities.id(argument.name), place
    return kb.predicate_id(rule.target), NO_ENTITY, 0


def _pca(stats: RuleStats) -> int:
    return UNKNOWN if stats.pca_body is None else stats.pca_body


def _joined(columns: Sequence[np.ndarray]) -> np.ndarray:
    """Concatenate the columns. A single one is shared instead of copied, for sets of tens of millions of rules."""
    return columns[0] if len(columns) == 1 else np.concatenate(columns)
