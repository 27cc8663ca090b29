"""Statements one change away from a statement: what a search among them takes for its next step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..data.kb import KnowledgeBase
from ..errors import RuleError
from ..logic.formula import ANY, Anchor, Constant, Statement, Variable
from ..logic.predicate import Predicate, Step
from .space import Kind, Space

LONGEST = 4
"""Steps and filters of a statement that is made longer."""


@dataclass(frozen=True)
class Parts:
    """What statements may be made of: moves in both directions, filters, far ends."""

    moves: tuple[Step, ...]
    filters: tuple[Step, ...]
    ends: tuple[Anchor, ...]

    @classmethod
    def of(cls, kb: KnowledgeBase, space: Space) -> Parts:
        """The vocabulary of a target; ends are its constants, and anything."""
        steps = sorted({kb.step(int(code)) for code in space.operators if code >= 0})
        ends = [
            Constant(kb.entities.name(start.id))
            for start in space.starts
            if start is not None and start.kind == Kind.CONSTANT
        ]
        return cls(
            tuple(step for step in steps if not step.is_filter),
            tuple(step for step in steps if step.is_filter),
            (ANY, *ends),
        )

    def without(self, predicate: Predicate) -> Parts:
        moves, filters = (tuple(s for s in steps if s.predicate != predicate) for steps in (self.moves, self.filters))
        return Parts(moves, filters, self.ends)

    def single(self, variables: Iterable[Variable]) -> Iterator[Statement]:
        """The shortest statements about each variable."""
        for variable in variables:
            for step in (*self.filters, *self.moves):
                yield Statement(variable, (step,))

    def neighbours(self, statement: Statement) -> Iterator[Statement]:
        """One step exchanged, left out or added at the far end; another far end."""
        start, steps, end = statement.start, statement.steps, statement.end
        if not isinstance(start, Variable):
            return
        for i, step in enumerate(steps):
            for other in self.filters if step.is_filter else self.moves:
                if other != step:
                    yield from _built(start, (*steps[:i], other, *steps[i + 1 :]), end)
            if len(steps) > 1:
                yield from _built(start, (*steps[:i], *steps[i + 1 :]), end)
        if isinstance(end, Variable):
            return
        for other_end in self.ends:
            if other_end != end:
                yield from _built(start, steps, other_end)
        if len(steps) < LONGEST:
            if end == ANY:
                for step in self.moves:
                    yield from _built(start, (*steps, step), end)
            for step in self.filters:
                if step not in steps:
                    yield from _built(start, (*steps, step), end)


def _built(start: Anchor, steps: tuple[Step, ...], end: Anchor) -> Iterator[Statement]:
    try:
        yield Statement(start, steps, end)
    except RuleError:  # no such statement
        return
