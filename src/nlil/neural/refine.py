"""After training: local search around the best rules, as long as their F1 rises.

Restarts often converge to a part of a rule, or differ from it in one choice. Every statement is a row of truth values
over all tuples of the head. A formula is monotone in each of its parts, so the counts of a rule with one changed part
are a product of these rows with a vector, for all statements at once. If no known statement helps, new ones are grown
for the tuples that the rule gets wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..data.arrays import Mask
from ..data.kb import KnowledgeBase
from ..errors import RuleError
from ..kernel.pairs import combined
from ..logic.formula import (
    ANY,
    TRUE,
    Anchor,
    And,
    Constant,
    Formula,
    Not,
    Or,
    Statement,
    Variable,
    X,
    Y,
    length,
    statements,
)
from ..logic.predicate import Predicate, Step
from ..logic.rule import Head, Rule
from ..logic.simplify import FALSE, formula_key
from .candidates import as_candidate
from .space import Kind, Space

MOST_READ = 600
"""Limit of the extracted statements considered, those of the best rules first."""
MOST_STATEMENTS = 200
"""Limit of the statements that may be put into a rule, the most informative ones."""
MOST_STARTS = 4
"""Rules, and single statements, to start from."""
MOST_GROWN = 3
"""The best resulting rules for which new statements are grown."""
GROWTH_BEAM, GROWTH_ROUNDS = 40, 4
"""Width of the beam of grown statements, and number of rounds."""
MOST_GROWN_STEPS = 4
"""Limit of the steps and filters of a grown statement."""
MOST_EDITS = 12
"""Limit of successive changes of one rule."""
LEAST_GAIN, LEAST_FIXED = 0.01, 0.2
"""Least gain in F1 of a longer rule, and the least share of wrong answers that it must correct."""
ROUNDING = 1e-6
"""Least gain in F1 of a rule that is not longer."""

Join = type[And] | type[Or]
Build = Callable[[Formula], Formula]


@dataclass(frozen=True)
class Parts:
    """The parts of statements: moves in both directions, filters, far ends."""

    moves: tuple[Step, ...]
    filters: tuple[Step, ...]
    ends: tuple[Anchor, ...]

    @classmethod
    def of(cls, kb: KnowledgeBase, space: Space) -> Parts:
        """Return the parts in the vocabulary `space` of a target; ends are its constants, and anything."""
        steps = sorted({kb.step(int(code)) for code in space.operators if code >= 0})
        moves, filters = (tuple(step for step in steps if step.is_filter == wanted) for wanted in (False, True))
        constants = [start.id for start in space.starts if start is not None and start.kind == Kind.CONSTANT]
        return cls(moves, filters, (ANY, *(Constant(kb.entities.name(id)) for id in constants)))

    def without(self, predicate: Predicate) -> Parts:
        """Return the parts without steps along `predicate`."""
        moves, filters = (tuple(s for s in steps if s.predicate != predicate) for steps in (self.moves, self.filters))
        return Parts(moves, filters, self.ends)

    def single(self, variables: Iterable[Variable]) -> Iterator[Statement]:
        """Yield the shortest statements about each of `variables`."""
        for variable in variables:
            for step in (*self.filters, *self.moves):
                yield Statement(variable, (step,))

    def neighbours(self, statement: Statement) -> Iterator[Statement]:
        """Yield statements one change away from `statement`.

        A step is replaced, removed or added at the far end; or the far end is replaced.
        """
        if not isinstance(statement.start, Variable):
            return
        for steps, end in self._changes(statement.steps, statement.end):
            try:
                yield Statement(statement.start, steps, end)
            except RuleError:  # no such statement
                continue

    def _changes(self, steps: tuple[Step, ...], end: Anchor) -> Iterator[tuple[tuple[Step, ...], Anchor]]:
        for i, step in enumerate(steps):
            for other in self.filters if step.is_filter else self.moves:
                if other != step:
                    yield (*steps[:i], other, *steps[i + 1 :]), end
            if len(steps) > 1:
                yield (*steps[:i], *steps[i + 1 :]), end
        if isinstance(end, Variable):
            return
        yield from ((steps, other) for other in self.ends if other != end)
        if len(steps) < MOST_GROWN_STEPS:
            longer = [*(self.moves if end == ANY else ()), *(f for f in self.filters if f not in steps)]
            yield from (((*steps, step), end) for step in longer)


class Table(Protocol):
    """Truth values over the tuples of a head; `kernel.batch.TruthTable` is one."""

    label: Mask

    def of(self, statement: Statement) -> Mask | None:
        """Return where `statement` holds, or None if unknown."""


class Refiner:
    """Improves rules for one `head`; `table` says where statements hold."""

    def __init__(self, head: Head, table: Table, parts: Parts) -> None:
        """Make new statements from `parts`."""
        self.head, self.table, self.label = head, table, table.label
        self.parts = parts.without(head.predicate)
        self.known: dict[Statement, Mask] = {}

    def refined(self, bodies: Sequence[Formula]) -> list[Rule]:
        """Improve the best of the `bodies`, using the statements of all of them; best bodies first."""
        bodies = [body for body in bodies if not self._names_target(body)]
        read = list(dict.fromkeys(s for body in bodies for s in statements(body)))
        pool = self._telling(read[:MOST_READ])[:MOST_STATEMENTS]
        if not pool:
            return []
        starts = dict.fromkeys([*bodies[:MOST_STARTS], *pool[:MOST_STARTS], *map(Not, pool[:MOST_STARTS])])
        found = dict.fromkeys(self._climb(body, pool) for body in starts)
        best = sorted(found, key=self._order)
        grown = [self._grow(body, pool) for body in best[:MOST_GROWN]]
        worth = sorted(self._worth_their_length([*grown, *best]), key=self._order)
        rules = [as_candidate(Rule(self.head, body)) for body in worth]
        return [rule for rule in rules if rule is not None]

    def _names_target(self, body: Formula) -> bool:
        """Return whether the body uses the target: one-step counts do not show what a recursive rule derives."""
        return any(step.predicate == self.head.predicate for s in statements(body) for step in s.steps)

    def _order(self, body: Formula) -> tuple[float, int, Any]:
        return (-round(self._f1(body), 9), length(body), formula_key(body))

    def _worth_their_length(self, bodies: Sequence[Formula]) -> list[Formula]:
        """Drop bodies that a shorter one makes unnecessary; small changes may have skipped it."""
        kept: list[Formula] = []
        for body in sorted(dict.fromkeys(bodies), key=lambda body: (length(body), formula_key(body))):
            if all(self._is_better(body, other) for other in kept if length(other) < length(body)):
                kept.append(body)
        return kept

    def _is_better(self, longer: Formula, than: Formula) -> bool:
        return self._pays(self._f1(longer), self._wrong(longer), self._f1(than), self._wrong(than))

    def _pays(self, score: float, wrong: int, before: float, wrong_before: int) -> bool:
        """Return whether F1 and the wrong answers justify a longer rule."""
        return score > before + LEAST_GAIN and wrong <= (1 - LEAST_FIXED) * wrong_before

    # truth values -------------------------------------------------------------------------------------

    def _truth(self, statement: Statement) -> Mask:
        if statement not in self.known:
            truth = self.table.of(statement)
            self.known[statement] = np.zeros_like(self.label) if truth is None else truth
        return self.known[statement]

    def _value(self, formula: Formula) -> Mask:
        return np.broadcast_to(combined(formula, self._truth, True), self.label.shape)

    def _f1(self, formula: Formula) -> float:
        value = self._value(formula)
        return 2 * int((value & self.label).sum()) / max(1, int(value.sum()) + int(self.label.sum()))

    def _wrong(self, formula: Formula) -> int:
        return int((self._value(formula) != self.label).sum())

    def _telling(self, pool: Iterable[Statement], where: Mask | None = None) -> list[Statement]:
        """Return the statements most correlated with the label, in either sign; one of each set of equal truth."""
        label = self.label if where is None else self.label[where]
        seen: dict[bytes, tuple[float, int, Statement]] = {}
        centred = label - (label.mean() if len(label) else 0.0)
        for order, statement in enumerate(pool):
            truth = self._truth(statement)
            truth = truth if where is None else truth[where]
            packed = np.packbits(truth).tobytes()
            if packed not in seen and truth.any() and not truth.all():
                share = truth.mean()
                telling = abs(float(centred[truth].sum())) / float(np.sqrt(share * (1 - share)))
                seen[packed] = (-round(telling, 6), order, statement)
        return [s for *_, s in sorted(seen.values(), key=lambda entry: entry[:2])]

    # changes ------------------------------------------------------------------------------------------

    def _grow(self, body: Formula, pool: list[Statement]) -> Formula:
        """Repeatedly grow statements that separate wrong from correct answers, and apply the best changes.

        Statements are grown separately for tuples where the rule holds and where it does not.
        """
        for _ in range(MOST_EDITS):
            value = self._value(body)
            before = body
            for where in (value, ~value):
                if self.label[where].any() and not self.label[where].all():
                    new = self._grown(where, pool)
                    body = self._climb(before, list(dict.fromkeys([*new, *pool])))
                if body != before:
                    break
            if body == before:
                break
        return body

    def _grown(self, where: Mask, pool: list[Statement]) -> list[Statement]:
        variables = (X, Y)[: self.head.predicate.arity]
        best = self._telling([*pool, *self.parts.single(variables)], where)[:GROWTH_BEAM]
        for _ in range(GROWTH_ROUNDS):
            near = dict.fromkeys([*best, *(n for s in best for n in self.parts.neighbours(s))])
            found = self._telling(near, where)[:GROWTH_BEAM]
            if found == best:
                break
            best = found
        return best

    def _climb(self, body: Formula, pool: Sequence[Statement]) -> Formula:
        """Repeatedly apply the best change, as long as it is worth its length."""
        rows = np.stack([self._truth(s) for s in pool]).astype(np.float32)
        best = body
        for _ in range(MOST_EDITS):
            now, wrong = self._f1(best), self._wrong(best)
            options = []
            for score, still_wrong, formula in self._changes(best, pool, rows):
                is_longer = length(formula) > length(best)
                pays = self._pays(score, still_wrong, now, wrong) if is_longer else score > now + ROUNDING
                if pays and as_candidate(Rule(self.head, formula)) is not None:
                    options.append((-round(score, 9), length(formula), formula_key(formula), formula))
            if not options:
                break
            best = min(options, key=lambda option: option[:3])[3]
        return best

    def _changes(
        self, body: Formula, pool: Sequence[Statement], rows: np.ndarray
    ) -> Iterator[tuple[float, int, Formula]]:
        """Yield (F1, wrong answers, formula): the best statement, in either sign, for every change of every part."""
        facts = int(self.label.sum())
        for part, build in places(body):
            low, value = self._value(build(FALSE)), self._value(part)
            decides = self._value(build(TRUE)) & ~low
            ways: tuple[tuple[Join | None, Mask, Mask], ...] = (  # where it holds; where a statement decides
                (And, low, decides & value),
                (Or, low | (decides & value), decides & ~value),
                (None, low, decides),  # in place of the part
            )
            masks = np.stack([m for _, _, where in ways for m in (where & self.label, where)], 1).astype(np.float32)
            hits, total = rows @ masks, masks.sum(0)
            for column, (join, holds, _) in enumerate(ways):
                base = int((holds & self.label).sum()), int(holds.sum())
                for sign, counts in ((True, hits), (False, total - hits)):
                    support, size = (base[i] + counts[:, 2 * column + i] for i in (0, 1))
                    score = 2 * support / np.maximum(size + facts, 1)
                    best = int(np.argmax(score))
                    wrong = int(facts + size[best] - 2 * support[best])
                    literal: Formula = pool[best] if sign else Not(pool[best])
                    changed = literal if join is None else join(part, literal)
                    yield float(score[best]), wrong, build(changed)


def places(formula: Formula, build: Build = lambda whole: whole) -> Iterator[tuple[Formula, Build]]:
    """Yield every part of `formula`, with a function that replaces it in the whole; `build` makes the whole."""
    yield formula, build
    if isinstance(formula, (And, Or)):
        kind, arguments = type(formula), formula.arguments
        for i, argument in enumerate(arguments):

            def inner(new: Formula, i: int = i) -> Formula:
                return build(kind(*arguments[:i], new, *arguments[i + 1 :]))

            yield from places(argument, inner)
