"""The parts of a rule's body: Path, Statement, Not, And, Or, TRUE. Frozen, hashable, pure Python.

A statement is two paths that meet. Read from one start to the other, it is a single line of nodes,

    start --step-- node --step-- ... --step-- end

where a unary predicate is a filter at a node. `Statement` stores one path and the anchor at its far end, in a normal
form: of the two directions it stores the smaller one, the filters of a node are sorted, and a line that returns to
its own anchor has that anchor's filters at the start. Statements with the same line are therefore equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from ..errors import RuleError
from .predicate import Predicate, Step


@dataclass(frozen=True, slots=True)
class Variable:
    """A head variable: its `name` is X, or Y (the paper's X')."""

    name: str

    def __post_init__(self) -> None:
        if self.name not in ("X", "Y"):
            raise RuleError(f"a head variable is X or Y, got {self.name!r}")


@dataclass(frozen=True, slots=True)
class Constant:
    """One entity, by its name in the data: the set {c}."""

    name: str


@dataclass(frozen=True, slots=True)
class Anything:
    """All entities of the query's own graph."""


X = Variable("X")
Y = Variable("Y")
ANY = Anything()
Anchor = Variable | Constant | Anything


def anchor_key(anchor: Anchor) -> tuple[int, str]:
    """Return a sort key: X, Y, constants by name, ANY. A line is read from its smaller `anchor`."""
    match anchor:
        case Variable(name):
            return (0, name)
        case Constant(name):
            return (1, name)
        case _:
            return (2, "")


@dataclass(frozen=True, slots=True)
class Path:
    """phi_T(... phi_1(start)): the entities reached from `start` along `steps`.

    A unary start P() is `Path.unary(P)`.
    """

    start: Anchor
    steps: tuple[Step, ...] = ()

    @classmethod
    def unary(cls, predicate: Predicate, *steps: Step) -> Path:
        """Return P(), then `steps`: everything, filtered by the unary `predicate`."""
        return cls(ANY, (Step(predicate), *steps))

    def then(self, *steps: Step) -> Path:
        """Return the path extended by `steps`."""
        return Path(self.start, self.steps + steps)


def _sort_filters(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Sort each run of filters; the filters of one node commute."""
    result: list[Step] = []
    run: list[Step] = []
    for step in steps:
        if step.is_filter:
            run.append(step)
        else:
            result += sorted(run)
            result.append(step)
            run = []
    return (*result, *sorted(run))


def _gather_filters(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Move the filters of the far end to the start; both ends are the same entity."""
    last_move = max((i for i, step in enumerate(steps) if not step.is_filter), default=-1)
    return steps[last_move + 1 :] + steps[: last_move + 1]


@dataclass(frozen=True)
class Statement:
    """psi: the path from `start` along `steps` meets `end`.  Build it from two paths with `Statement.meet`.

    P_k(l, r) is meet(l.then(P_k), r); P_k(l) for a unary P_k is meet(l.then(P_k), any); a bare relation is
    meet(l.then(P_k), any).
    """

    start: Anchor
    steps: tuple[Step, ...]
    end: Anchor = ANY

    def __post_init__(self) -> None:
        forward = self.steps
        backward = tuple(s.reversed() for s in reversed(forward))
        closed = self.start == self.end and not isinstance(self.start, Anything)
        if closed:
            forward, backward = _gather_filters(forward), _gather_filters(backward)
        forward, backward = _sort_filters(forward), _sort_filters(backward)
        one = (anchor_key(self.start), anchor_key(self.end), forward)
        two = (anchor_key(self.end), anchor_key(self.start), backward)
        start, end, steps = self.start, self.end, forward
        if two < one:
            start, end, steps = self.end, self.start, backward
        if closed and all(step.is_filter for step in steps):
            end = ANY  # car(X) that meets X is car(X)
        object.__setattr__(self, "start", start)
        object.__setattr__(self, "end", end)
        object.__setattr__(self, "steps", steps)
        if not steps and (isinstance(start, Anything) or isinstance(end, Anything) or start == end):
            raise RuleError("a statement needs at least one predicate, or two different ends to equate")

    @classmethod
    def meet(cls, left: Path, right: Path) -> Statement:
        """exists Z: Z in left and Z in right."""
        back = tuple(step.reversed() for step in reversed(right.steps))
        return cls(left.start, left.steps + back, right.start)

    # the same line, node by node: `moves[i]` leads from node i to node i + 1 ------------------------

    @cached_property
    def moves(self) -> tuple[Step, ...]:
        """The steps from one node to the next."""
        return tuple(step for step in self.steps if not step.is_filter)

    @cached_property
    def filters(self) -> tuple[tuple[Predicate, ...], ...]:
        """The unary predicates of each node."""
        found: list[list[Predicate]] = [[]]
        for step in self.steps:
            if step.is_filter:
                found[-1].append(step.predicate)
            else:
                found.append([])
        return tuple(map(tuple, found))

    @property
    def anchors(self) -> tuple[Anchor, ...]:
        """The anchor of each node, ANY for a body variable."""
        return (self.start, *[ANY] * (len(self.moves) - 1), self.end) if self.moves else (self.start,)

    @property
    def equal(self) -> Anchor | None:
        """The second anchor of the only node (X = Y), or None: without moves, both ends are node 0."""
        return None if self.moves or isinstance(self.end, Anything) or self.end == self.start else self.end

    @property
    def atoms(self) -> Iterator[tuple[Predicate, tuple[int, ...]]]:
        """The atoms along the line: the predicate and the node of each argument, without the equation."""
        for node, filters in enumerate(self.filters):
            for predicate in filters:
                yield predicate, (node,)
            if node < len(self.moves):
                move = self.moves[node]
                yield move.predicate, (node + 1, node) if move.inverse else (node, node + 1)

    @property
    def num_variables(self) -> int:
        """The number of different variables: X, Y, and one for each unanchored node."""
        free = sum(isinstance(a, Anything) for a in self.anchors)
        named = {a for a in (*self.anchors, self.equal) if isinstance(a, Variable)}
        return free + len(named)


@dataclass(frozen=True, slots=True)
class Truth:
    """true: the body of a prior, `p(X, c) :- true`."""


TRUE = Truth()


@dataclass(frozen=True, slots=True)
class Not:
    """1 - f, where f is the `argument`."""

    argument: Formula


def flat(kind: type[And] | type[Or], arguments: Iterable[Formula]) -> list[Formula]:
    """Return the arguments, with nested formulas of the same kind replaced by their arguments."""
    return [inner for a in arguments for inner in (a.arguments if isinstance(a, kind) else (a,))]


def _at_least_two(kind: type[And] | type[Or], arguments: tuple[Formula, ...]) -> tuple[Formula, ...]:
    found = flat(kind, arguments)
    if len(found) < 2:
        raise RuleError(f"{kind.__name__} takes at least two formulas, got {len(found)}")
    return tuple(found)


@dataclass(frozen=True, slots=True, init=False)
class And:
    """f1 * f2 * ... of two or more `arguments`; nested conjunctions are flattened."""

    arguments: tuple[Formula, ...]

    def __init__(self, *arguments: Formula) -> None:
        object.__setattr__(self, "arguments", _at_least_two(And, arguments))


@dataclass(frozen=True, slots=True, init=False)
class Or:
    """1 - (1 - f1) * (1 - f2) * ... of two or more `arguments`; nested disjunctions are flattened."""

    arguments: tuple[Formula, ...]

    def __init__(self, *arguments: Formula) -> None:
        object.__setattr__(self, "arguments", _at_least_two(Or, arguments))


Formula = Statement | Not | And | Or | Truth


def statements(formula: Formula) -> Iterator[Statement]:
    """Yield every statement of `formula`, left to right."""
    match formula:
        case Statement():
            yield formula
        case Not(argument):
            yield from statements(argument)
        case And(arguments) | Or(arguments):
            for argument in arguments:
                yield from statements(argument)


def length(formula: Formula) -> int:
    """Return the number of body atoms of `formula` (an equation counts as one)."""
    return sum(len(s.steps) + (s.equal is not None) for s in statements(formula))
