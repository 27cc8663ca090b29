"""Bodies: the distinct bodies of many rules, by column.

A *line* is a statement with ids in place of names:

    start --step-- node --step-- ... --step-- end

`start` and `end` are anchors: X_NODE, Y_NODE, ANY_NODE or an entity id. A step is a code: 2p follows the binary
predicate p, 2p + 1 follows it backwards, and 2p of a unary predicate p filters the current node. The empty line from
ANY_NODE to ANY_NODE always holds: it is the body `true` of a prior.

A body is a program over lines in postfix order: line numbers and the operators AND, OR and NOT. A body of one line is a
program of one number, so a line is simply the shortest formula.

`is_unary` is always a `unary_mask`: which predicate ids are unary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from ..data.arrays import Ids, Longs, Mask
from ..data.kb import KnowledgeBase
from ..errors import RuleError
from ..logic.formula import ANY, TRUE, Anchor, And, Constant, Formula, Not, Or, Statement, X, Y
from ..logic.predicate import Predicate, Step
from ..logic.rule import Rule

X_NODE, Y_NODE, ANY_NODE = -1, -2, -3
"""Anchors other than entities: the head variables, and any entity of the query's graph."""
ANCHORS: Mapping[int, Anchor] = {X_NODE: X, Y_NODE: Y, ANY_NODE: ANY}
NO_STEP = -1
"""Padding after the last step of a line."""
AND, OR, NOT = -1, -2, -3
"""Operators of a program; numbers >= 0 are lines."""

Value = TypeVar("Value")
Alternatives = list[tuple[tuple[int, ...], tuple[int, ...]]]
"""Conjunctions: the lines that must hold, and the lines that must not."""
Both = tuple[Alternatives, Alternatives]
"""The alternatives of a formula, and of its negation."""


def step_dtype(num_codes: int) -> type:
    """Return the smallest integer type that holds every step code below `num_codes`."""
    return np.int16 if num_codes < 2**15 else np.int32


def anchor_id(names: Names, anchor: Anchor) -> int:
    """Return the id of an anchor; `names` maps names to ids, as a knowledge base does."""
    if isinstance(anchor, Constant):
        return names.entity_id(anchor.name)
    return next(node for node, known in ANCHORS.items() if known == anchor)


def group_keys(columns: Sequence[np.ndarray]) -> Longs:
    """Return one non-negative number per row of `columns`: equal for equal rows, and sorted like the rows."""
    key, span = np.zeros(len(columns[0]), np.int64), 1
    for column in columns:
        low = int(column.min(initial=0))
        size = int(column.max(initial=0)) - low + 1
        if span * size >= 2**63:
            key = np.unique(key, return_inverse=True)[1].reshape(-1)
            span = int(key.max(initial=0)) + 1
        key = key * size + (column.astype(np.int64) - low)
        span *= size
    return key


class Lines(NamedTuple):
    """Lines by column: line i runs from start[i] along steps[i], padded with NO_STEP, to end[i].

    With `distinct`, all variables of the line stand for different entities.
    """

    start: Ids
    steps: np.ndarray
    end: Ids
    distinct: Mask

    @classmethod
    def of(
        cls,
        steps: np.ndarray,
        start: np.ndarray | int = X_NODE,
        end: np.ndarray | int = ANY_NODE,
        distinct: np.ndarray | bool = True,
    ) -> Lines:
        """Make lines from their steps (lines, width); scalars are repeated. A line without steps is `true`."""
        size, empty = len(steps), ~(steps != NO_STEP).any(axis=1)
        anchors = [np.broadcast_to(np.asarray(a, np.int32), size) for a in (start, end)]
        first, last = (np.where(empty & (a < 0), np.int32(ANY_NODE), a) for a in anchors)
        return cls(first, steps, last, np.broadcast_to(np.asarray(distinct, bool), size) & ~empty)

    @property
    def num_lines(self) -> int:
        """The number of lines; len() of a NamedTuple is its number of columns."""
        return len(self.start)

    @property
    def width(self) -> int:
        """The most steps that a line can have."""
        return int(self.steps.shape[1])

    @property
    def lengths(self) -> np.ndarray:
        """The number of steps of each line."""
        size = np.zeros(self.num_lines, np.int16)
        for step in self.steps.T:  # step by step: sums along short rows are slow
            size += step != NO_STEP
        return size

    def moves(self, is_unary: Mask) -> Mask:
        """Return which lines have a step to another node."""
        found = np.zeros(self.num_lines, bool)
        for step in self.steps.T:
            found |= (step != NO_STEP) & ~is_unary[step >> 1]
        return found

    def take(self, rows: np.ndarray) -> Lines:
        """Return the lines of the given rows (numbers or a mask)."""
        return Lines(*(column[rows] for column in self))

    def uses(self, anchor: int) -> Mask:
        """Return which lines start or end at `anchor`."""
        return (self.start == anchor) | (self.end == anchor)

    def names(self, predicates: Iterable[int]) -> Mask:
        """Return which lines have a step along one of these predicates."""
        wanted, found = list(predicates), np.zeros(self.num_lines, bool)
        for step in self.steps.T:
            found |= (step != NO_STEP) & np.isin(step >> 1, wanted)
        return found

    def line(self, row: int, is_unary: Mask) -> Line:
        """Return line `row`, node by node."""
        codes = [int(code) for code in self.steps[row] if code != NO_STEP]
        return Line.of_codes(int(self.start[row]), codes, int(self.end[row]), is_unary)

    @classmethod
    def join(cls, parts: Sequence[Lines]) -> Lines:
        """Concatenate the lines of all parts."""
        width = max(p.width for p in parts)
        dtype = np.result_type(*(p.steps.dtype for p in parts))
        steps = [
            np.pad(p.steps.astype(dtype, copy=False), ((0, 0), (0, width - p.width)), constant_values=NO_STEP)
            for p in parts
        ]
        return cls(
            np.concatenate([p.start for p in parts]),
            np.concatenate(steps),
            np.concatenate([p.end for p in parts]),
            np.concatenate([p.distinct for p in parts]),
        )

    def find(self, other: Lines, row: int) -> int:
        """Return the number of the line that equals line `row` of `other`, or -1."""
        steps = other.steps[row][other.steps[row] != NO_STEP]
        if len(steps) > self.width:
            return -1
        same = np.flatnonzero((self.start == other.start[row]) & (self.end == other.end[row]))
        wanted = np.full(self.width, NO_STEP)
        wanted[: len(steps)] = steps
        fits = (self.distinct[same] == other.distinct[row]) & (self.steps[same] == wanted).all(axis=1)
        return int(same[fits][0]) if fits.any() else -1

    def unique(self) -> tuple[Lines, Longs]:
        """Return the distinct lines, and for every line its number among them."""
        key = group_keys([self.start, self.end, self.distinct, *self.steps.T])
        _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
        return self.take(first), inverse.reshape(-1)


@dataclass(frozen=True, eq=False)
class Bodies:
    """The program of body i is ops[pointer[i] : pointer[i + 1]], over the numbers of `lines`."""

    lines: Lines
    pointer: Longs
    ops: Ids

    @classmethod
    def of_lines(cls, lines: Lines) -> Bodies:
        """Make one body for each of `lines`."""
        number = np.arange(lines.num_lines + 1)
        return cls(lines, number, number[:-1].astype(np.int32))

    def __len__(self) -> int:
        return len(self.pointer) - 1

    @cached_property
    def line(self) -> Ids:
        """For each body its line, or -1 if the body is a longer program."""
        alone = np.diff(self.pointer) == 1
        return np.where(alone, self.ops[self.pointer[:-1]], -1).astype(np.int32) if len(self) else self.ops[:0]

    @cached_property
    def is_true(self) -> Mask:
        """Which bodies always hold; these are the bodies of priors."""
        empty = np.append(self.lines.lengths == 0, False) & np.append(self.lines.start == ANY_NODE, False)
        return empty[self.line]

    def lengths(self, is_unary: Mask) -> Longs:
        """Return the number of atoms of each body; an equation such as X = Y counts as one."""
        lines = self.lines
        is_equation = ~lines.moves(is_unary) & (lines.start != ANY_NODE) & (lines.end != ANY_NODE)
        return self._sum(lines.lengths.astype(np.int64) + (is_equation & (lines.start != lines.end)))

    def _sum(self, of_line: np.ndarray) -> Longs:
        """Sum a value per line over the lines of each body."""
        value = np.append(of_line, np.zeros(3, of_line.dtype)).astype(np.int64)  # operators index the end: 0
        total = np.concatenate(([0], np.cumsum(value[self.ops])))
        return total[self.pointer[1:]] - total[self.pointer[:-1]]

    def any_line(self, of_line: Mask) -> Mask:
        """Return which bodies have a line that is marked in `of_line`."""
        return self._sum(of_line) > 0

    def uses_operator(self, operator: int) -> Mask:
        """Return which bodies contain the `operator` AND, OR or NOT."""
        total = np.concatenate(([0], np.cumsum(self.ops == operator)))
        return total[self.pointer[1:]] > total[self.pointer[:-1]]

    def lines_of(self, body: int) -> list[int]:
        """Return the lines of a body, in text order."""
        return [op for op in self.program(body) if op >= 0]

    def program(self, body: int) -> list[int]:
        """Return the postfix program of a body."""
        return self.ops[self.pointer[body] : self.pointer[body + 1]].tolist()

    def value(
        self,
        body: int,
        leaf: Callable[[int], Value],
        conjunction: Callable[[Value, Value], Value],
        disjunction: Callable[[Value, Value], Value],
        negation: Callable[[Value], Value],
    ) -> Value:
        """Evaluate the program of `body`: `leaf` returns the value of a line by its number.

        `conjunction` and `disjunction` combine two values; `negation` takes one.
        """
        stack: list[Value] = []
        for op in self.program(body):
            if op >= 0:
                stack.append(leaf(op))
            elif op == NOT:
                stack.append(negation(stack.pop()))
            else:
                right, left = stack.pop(), stack.pop()
                stack.append((conjunction if op == AND else disjunction)(left, right))
        return stack[0]

    def alternatives(self, body: int) -> Alternatives:
        """Return the disjunctive normal form of `body`.

        An alternative holds if its positive lines do and no negative one.
        """

        def product(left: Alternatives, right: Alternatives) -> Alternatives:
            return [(p + q, m + n) for p, m in left for q, n in right]

        def conjunction(left: Both, right: Both) -> Both:
            return product(left[0], right[0]), left[1] + right[1]

        def disjunction(left: Both, right: Both) -> Both:
            return left[0] + right[0], product(left[1], right[1])

        def leaf(line: int) -> Both:
            return [((line,), ())], [((), (line,))]

        return self.value(body, leaf, conjunction, disjunction, lambda both: (both[1], both[0]))[0]

    def degree(self, body: int, leaf: Callable[[int], np.ndarray], is_crisp: bool) -> np.ndarray:
        """Evaluate `body` over arrays that broadcast.

        `leaf` returns the array of a line: truth values if `is_crisp`, otherwise degrees of truth.
        """
        if is_crisp:
            return self.value(body, leaf, np.logical_and, np.logical_or, np.logical_not)
        return self.value(body, leaf, np.multiply, lambda a, b: 1 - (1 - a) * (1 - b), lambda a: 1 - a)

    def values(self, of_line: np.ndarray, is_crisp: bool) -> np.ndarray:
        """Return the values (queries, bodies) from those of the lines, `of_line` (queries, lines).

        `is_crisp` as in `degree`.
        """
        values = of_line[:, np.maximum(self.line, 0)] if len(self) else of_line[:, :0]
        for body in np.flatnonzero(self.line < 0).tolist():
            values[:, body] = self.degree(body, of_line.T.__getitem__, is_crisp)
        return values

    def distinct(self, body: int) -> bool:
        """Return whether the variables of each statement of `body` stand for different entities."""
        return any(self.lines.distinct[line] for line in self.lines_of(body))

    def formula(self, body: int, predicates: Sequence[Predicate], name: Callable[[int], str]) -> Formula:
        """Return `body` as a tree over `predicates`; `name` maps an entity id to its name."""

        def statement(line: int) -> Formula:
            steps = self.lines.steps[line]
            moves = tuple(Step(predicates[code >> 1], bool(code & 1)) for code in steps[steps != NO_STEP].tolist())
            ends = (int(self.lines.start[line]), int(self.lines.end[line]))
            start, end = (Constant(name(a)) if a >= 0 else ANCHORS[a] for a in ends)
            return TRUE if not moves and start == end == ANY else Statement(start, moves, end)

        return self.value(body, statement, lambda a, b: And(a, b), lambda a, b: Or(a, b), Not)

    def find(self, other: Bodies) -> int:
        """Return the number of the body that equals the only body of `other`, or -1."""
        number = [self.lines.find(other.lines, line) for line in range(other.lines.num_lines)]
        if -1 in number:
            return -1
        ops = np.array([number[op] if op >= 0 else op for op in other.program(0)], np.int32)
        if len(ops) == 1:
            found = np.flatnonzero(self.line == ops[0])
            return int(found[0]) if len(found) else -1
        same_size = np.flatnonzero(np.diff(self.pointer) == len(ops))
        return next((int(b) for b in same_size if (self.ops[self.pointer[b] : self.pointer[b + 1]] == ops).all()), -1)

    def with_programs(self, programs: Sequence[Sequence[int]]) -> Bodies:
        """Append bodies, given by their `programs` over the same lines."""
        pointer = self.pointer[-1] + np.cumsum([len(program) for program in programs], dtype=np.int64)
        ops = [op for program in programs for op in program]
        return Bodies(
            self.lines, np.concatenate((self.pointer, pointer)), np.concatenate((self.ops, np.array(ops, np.int32)))
        )

    @classmethod
    def join(cls, parts: Sequence[Bodies]) -> tuple[Bodies, list[Longs]]:
        """Return the distinct bodies of all parts, and for each part the new numbers of its bodies."""
        lines, number = Lines.join([p.lines for p in parts]).unique()
        first_line = np.cumsum([0, *(p.lines.num_lines for p in parts)])
        ops, pointers, shift = [], [np.zeros(1, np.int64)], 0
        for part, begin in zip(parts, first_line):
            ops.append(np.where(part.ops >= 0, number[np.maximum(part.ops, 0) + begin] if len(number) else 0, part.ops))
            pointers.append(part.pointer[1:] + shift)
            shift += len(part.ops)
        every = cls(lines, np.concatenate(pointers), np.concatenate(ops).astype(np.int32))
        bodies, new = every._unique()
        return bodies, np.split(new, np.cumsum([len(p) for p in parts])[:-1])

    def take(self, used: Mask) -> tuple[Bodies, Longs]:
        """Return the bodies marked in `used`, and the new number of each body, undefined for the others."""
        size = np.where(used, np.diff(self.pointer), 0)
        ops = self.ops[np.repeat(used, np.diff(self.pointer))]
        has_line = np.zeros(self.lines.num_lines, bool)
        has_line[ops[ops >= 0]] = True
        number = np.append(np.cumsum(has_line) - 1, (NOT, OR, AND))
        pointer = np.concatenate(([0], np.cumsum(size[used])))
        kept = Bodies(self.lines.take(has_line), pointer.astype(np.int64), number[ops].astype(np.int32))
        return kept, np.cumsum(used) - 1

    def _unique(self) -> tuple[Bodies, Longs]:
        """Return the distinct bodies, single lines first, in line order; and the new number of each body."""
        is_used = np.zeros(self.lines.num_lines + 1, bool)
        is_used[self.line] = True
        used = np.flatnonzero(is_used[:-1])
        place = np.zeros(self.lines.num_lines + 1, np.int64)
        place[used] = np.arange(len(used))
        new = place[self.line]
        programs: dict[bytes, int] = {}
        longer = np.flatnonzero(self.line < 0)
        for body in longer.tolist():
            text = self.ops[self.pointer[body] : self.pointer[body + 1]].tobytes()
            new[body] = programs.setdefault(text, len(used) + len(programs))
        tails = [np.frombuffer(text, np.int32) for text in programs]
        ops = np.concatenate([used.astype(np.int32), *tails])
        pointer = np.concatenate(([0], np.cumsum([*np.ones(len(used), np.int64), *(len(tail) for tail in tails)])))
        return Bodies(self.lines, pointer.astype(np.int64), ops), new


class Names(Protocol):
    """A map from names to ids: the part of a knowledge base that `BodyBuilder` needs."""

    def code(self, step: Step) -> int:
        """Return the code of a step."""

    def entity_id(self, name: str) -> int:
        """Return the id of the entity `name`."""

    @property
    def num_codes(self) -> int:
        """All codes are below this number."""


class BodyBuilder:
    """Collects the distinct bodies of rules as columns; `names` maps predicates and entities to ids."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.lines: dict[tuple[int, int, bool, tuple[int, ...]], int] = {}
        self.programs: dict[tuple[int, ...], int] = {}

    def add(self, rule: Rule) -> int:
        """Add the body of `rule` and return its number. Raises UnknownName for a name that the base does not have."""
        return self.program(tuple(self._program(rule.body, rule.distinct)))

    def program(self, ops: tuple[int, ...]) -> int:
        """Return the number of the body with the postfix program `ops`."""
        return self.programs.setdefault(ops, len(self.programs))

    def line(self, start: int, end: int, distinct: bool, steps: tuple[int, ...]) -> int:
        """Return the number of the line from `start` along `steps` to `end`, `distinct` or not."""
        return self.lines.setdefault((start, end, distinct, steps), len(self.lines))

    def _program(self, formula: Formula, distinct: bool) -> list[int]:
        match formula:
            case Statement(start, steps, end):
                ends = (anchor_id(self.names, start), anchor_id(self.names, end))
                codes = tuple(self.names.code(step) for step in steps)
                return [self.line(*ends, distinct and formula.num_variables > 1, codes)]
            case Not(argument):
                return [*self._program(argument, distinct), NOT]
            case And(arguments) | Or(arguments):
                operator = AND if isinstance(formula, And) else OR
                program = self._program(arguments[0], distinct)
                for argument in arguments[1:]:
                    program += [*self._program(argument, distinct), operator]
                return program
            case _:
                return [self.line(ANY_NODE, ANY_NODE, False, ())]

    def bodies(self) -> Bodies:
        """Return the bodies added so far."""
        width = max((len(steps) for *_, steps in self.lines), default=1) or 1
        table: np.ndarray = np.full((len(self.lines), width), NO_STEP, step_dtype(self.names.num_codes))
        for row, (*_, steps) in enumerate(self.lines):
            table[row, : len(steps)] = steps
        anchors = np.array([key[:3] for key in self.lines], np.int64).reshape(-1, 3)
        lines = Lines(anchors[:, 0].astype(np.int32), table, anchors[:, 1].astype(np.int32), anchors[:, 2] != 0)
        pointer = np.cumsum([0, *(len(program) for program in self.programs)])
        ops = np.array([op for program in self.programs for op in program], np.int32)
        return Bodies(lines, pointer.astype(np.int64), ops)


# one line, node by node --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Line:
    """A line, node by node: node i has the unary `filters[i]`; `codes[i]` leads from node i to node i + 1.

    `anchors` has an anchor for each node, ANY_NODE between the ends. Without moves both ends are node 0; `equal` is
    then the second anchor (X = Y) or None.
    """

    anchors: tuple[int, ...]
    filters: tuple[tuple[int, ...], ...]
    codes: tuple[int, ...]
    equal: int | None

    @classmethod
    def of(cls, kb: KnowledgeBase, statement: Statement) -> Line:
        """Return the line of a statement, in the ids of `kb`."""
        return cls(
            tuple(anchor_id(kb, a) for a in statement.anchors),
            tuple(tuple(kb.predicate_id(p) for p in run) for run in statement.filters),
            tuple(kb.code(step) for step in statement.moves),
            None if statement.equal is None else anchor_id(kb, statement.equal),
        )

    @classmethod
    def of_codes(cls, start: int, codes: Sequence[int], end: int, is_unary: Mask) -> Line:
        """Return the line from `start` along `codes`, moves and filters in order, to `end`."""
        filters: list[list[int]] = [[]]
        moves: list[int] = []
        for code in codes:
            if is_unary[code >> 1]:
                filters[-1].append(code >> 1)
            else:
                moves.append(code)
                filters.append([])
        anchors, equal = (start, *[ANY_NODE] * (len(moves) - 1), end)[: len(moves) + 1], None
        if not moves:
            anchors, equal = (start,), None if end in (ANY_NODE, start) else end
        return cls(anchors, tuple(map(tuple, filters)), tuple(moves), equal)

    def reversed(self) -> Line:
        """Return the line read from its far end: codes 2p and 2p + 1 are swapped."""
        codes = tuple(code ^ 1 for code in reversed(self.codes))
        return Line(self.anchors[::-1], self.filters[::-1], codes, self.equal)

    @cached_property
    def ends(self) -> tuple[int, ...]:
        """The anchors that may be variables or constants: both ends, or the node and its equation."""
        return (self.anchors[0], self.anchors[-1]) if self.equal is None else (self.anchors[0], self.equal)

    @property
    def uses_x(self) -> bool:
        """Whether X is an end of the line."""
        return X_NODE in self.ends

    @property
    def uses_y(self) -> bool:
        """Whether Y is an end of the line."""
        return Y_NODE in self.ends

    @cached_property
    def predicates(self) -> frozenset[int]:
        """The ids of its predicates."""
        return frozenset(code >> 1 for code in self.codes) | {p for run in self.filters for p in run}


@dataclass(frozen=True)
class IdHead:
    """p(X), p(X, Y), p(X, c), p(c, Y): `subject` and `object` are X_NODE, Y_NODE or an entity id."""

    subject: int
    object: int | None

    @classmethod
    def of(cls, kb: KnowledgeBase, rule: Rule) -> IdHead:
        """Return the head of a rule, in the ids of `kb`."""
        ids = [anchor_id(kb, a) for a in rule.head.arguments]
        return cls(ids[0], ids[1] if len(ids) == 2 else None)

    @property
    def is_open(self) -> bool:
        """True for p(X, Y), a head without constants."""
        return self.subject == X_NODE and self.object == Y_NODE


def check_arity(rule: Rule, has_object: bool) -> None:
    """Raise RuleError unless the query fits `rule`: unary heads take x alone, binary heads x and y (`has_object`)."""
    if has_object != (rule.target.arity == 2):
        wanted, got = ("x alone", "x and y") if has_object else ("x and y", "x alone")
        raise RuleError(f"{rule.target}: a query of this head is {wanted}, got {got}")


def reversed_steps(steps: np.ndarray, length: np.ndarray, is_unary: np.ndarray) -> np.ndarray:
    """Return each row of `steps` in the opposite direction: order reversed, moves inverted, filters unchanged.

    `length` is the number of steps of each row; the rest is NO_STEP.
    """
    result = np.full_like(steps, NO_STEP)
    rows = np.arange(len(steps))
    for place in range(steps.shape[1]):
        source = length - 1 - place
        valid = source >= 0
        code = steps[rows[valid], source[valid]]
        result[valid, place] = np.where(is_unary[code >> 1], code, code ^ 1)
    return result


def unary_mask(predicates: Sequence[Predicate]) -> Mask:
    """Return which of `predicates` are unary, by id, plus one False entry for NO_STEP >> 1."""
    return np.array([p.arity == 1 for p in predicates] + [False], bool)
