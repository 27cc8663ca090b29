"""A rule's body as a factor graph, laid out: variables and constants are nodes, predicates are factors between them.

Every statement is a lane from left to right. The head variables X and Y stand once, at the two sides, and every
lane that mentions them leads there; so a chain is one lane from X to Y, a conjunction several. A negation or a branch
of a disjunction is a box around its lanes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from ..logic.formula import Anchor, And, Anything, Constant, Formula, Line, Not, Or, Statement, Truth, Variable
from ..logic.labels import Labels
from ..logic.predicate import Predicate, Step
from ..logic.rule import Rule
from ..scene.picture_canvas import shortened, text_width

SIZE = 11.0
"""Of the text."""
RADIUS, SQUARE, GAP = 12.0, 12.0, 16.0
LANE, HANGING, PADDING = 44.0, 24.0, 8.0
"""Heights of a lane, of a filter above a node, of the room inside a box."""
LONGEST = 22
"""Characters of a name in a drawing; the whole name is its title."""

Ends = Literal["both", "left", "right", "none"]


@dataclass(frozen=True)
class Node:
    """A variable of the body, a constant, or a head variable met a second time."""

    text: str
    title: str
    is_constant: bool = False
    filters: tuple[tuple[str, str], ...] = ()

    @property
    def width(self) -> float:
        own = text_width(self.text, SIZE) + 14 if self.is_constant else 2 * RADIUS
        # What hangs above is written to the right of its square, which stands over the middle of the node.
        above = max((text_width(text, SIZE) for text, _ in self.filters), default=0.0)
        return max(own, 2 * (above + SQUARE)) if above else own


@dataclass(frozen=True)
class Factor:
    """A predicate between two nodes; `forward` says that its object is to the right, None that it has no direction."""

    text: str
    title: str
    forward: bool | None = None

    @property
    def width(self) -> float:
        return max(SQUARE, text_width(self.text, SIZE) + 4)


@dataclass(frozen=True)
class Lane:
    """Nodes and factors from left to right; `ends` says on which sides it leads to a head variable."""

    parts: tuple[Node | Factor, ...]
    ends: Ends
    y: float = 0.0

    @property
    def width(self) -> float:
        return sum(part.width for part in self.parts) + GAP * (len(self.parts) - 1)


@dataclass(frozen=True)
class Frame:
    """A box around lanes: what is negated, or one branch of a disjunction."""

    kind: Literal["not", "or"]
    word: str
    top: float
    bottom: float
    depth: int


@dataclass
class Layout:
    """`left` and `right` are the names of the head variables; heights count downwards from the top."""

    left: str | None
    right: str | None
    lanes: list[Lane] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    height: float = PADDING
    num_variables: int = 0

    @property
    def depth(self) -> int:
        return max((frame.depth for frame in self.frames), default=-1) + 1


def layout(rule: Rule, labels: Labels) -> Layout:
    names = sorted(variable.name for variable in rule.head.variables)
    result = Layout(names[0] if names else None, names[1] if len(names) == 2 else None)
    _Layer(result, labels).add(rule.body, 0)
    result.height = max(result.height + PADDING, 2 * RADIUS + 2 * PADDING)
    return result


class _Layer:
    """Lays the parts of a formula below each other."""

    def __init__(self, result: Layout, labels: Labels) -> None:
        self.result, self.labels = result, labels

    def add(self, formula: Formula, depth: int) -> None:
        match formula:
            case Statement():
                for lane in self._lanes(formula.line):
                    self._place(lane)
            case Truth():
                self._place(Lane((Factor("always", "true"),), "none"))
            case Not(argument):
                self._framed("not", "not", argument, depth)
            case And(arguments):
                for argument in arguments:
                    self.add(argument, depth)
            case Or(arguments):
                for place, argument in enumerate(arguments):
                    self._framed("or", "or" if place else "either", argument, depth)

    def _framed(self, kind: Literal["not", "or"], word: str, formula: Formula, depth: int) -> None:
        top = self.result.height
        self.result.height += PADDING + SIZE
        self.add(formula, depth + 1)
        self.result.frames.append(Frame(kind, word, top, self.result.height, depth))
        self.result.height += PADDING

    def _place(self, lane: Lane) -> None:
        hanging = max((len(part.filters) for part in lane.parts if isinstance(part, Node)), default=0)
        top = self.result.height
        self.result.lanes.append(Lane(lane.parts, lane.ends, top + HANGING * hanging + LANE / 2))
        self.result.height = top + HANGING * hanging + LANE

    # one statement ----------------------------------------------------------------------------------

    def _lanes(self, line: Line) -> Iterator[Lane]:
        """What is said of a head variable alone is a short lane of its own; the rest is one lane."""
        last = len(line.anchors) - 1
        for node in sorted({0, last}):
            side = self._side(line.anchors[node])
            if side is not None:
                yield from (Lane((self._factor(predicate),), side) for predicate in line.filters[node])
        if line.equal is not None:
            yield self._equation(line, line.equal)
        elif line.moves or self._side(line.anchors[0]) is None:
            yield self._path(line)

    def _path(self, line: Line) -> Lane:
        last = len(line.anchors) - 1
        start, end = self._side(line.anchors[0]), self._side(line.anchors[last])
        # A line begins at a head variable if it has one; where it returns to the same one, that is drawn again.
        arrives = end not in (None, start)
        parts: list[Node | Factor] = []
        for node in range(last + 1):
            if (node > 0 or start is None) and (node < last or not arrives):
                parts.append(self._node(line, node))
            if node < last:
                parts.append(self._move(line.moves[node]))
        if start == "right":
            return Lane(tuple(_turned(part) for part in reversed(parts)), "right")  # read from Y, at the right
        return Lane(tuple(parts), "both" if arrives else start or "none")

    def _equation(self, line: Line, two: Anchor) -> Lane:
        """Anchors stand in order, so a head variable is the first of the two, X before Y."""
        factor, side = Factor("=", "the same entity"), self._side(line.anchors[0])
        if side is None:
            return Lane((self._node(line, 0), factor, self._anchor(two)), "none")
        if self._side(two) is not None:
            return Lane((factor,), "both")
        if side == "right":
            return Lane((self._anchor(two), factor), "right")
        return Lane((factor, self._anchor(two)), "left")

    def _side(self, anchor: Anchor) -> Ends | None:
        match anchor:
            case Variable(name) if name == self.result.left:
                return "left"
            case Variable(name) if name == self.result.right:
                return "right"
        return None

    def _node(self, line: Line, node: int) -> Node:
        anchor = line.anchors[node]
        own = self._anchor(anchor)
        if self._side(anchor) is not None:
            return own  # its filters have lanes of their own
        filters = tuple(self._names(predicate) for predicate in line.filters[node])
        return Node(own.text, own.title, own.is_constant, filters)

    def _anchor(self, anchor: Anchor) -> Node:
        match anchor:
            case Constant(name):
                label = self.labels.entity(name)
                return Node(shortened(label, LONGEST), label, is_constant=True)
            case Anything():
                self.result.num_variables += 1
                name = f"Z{self.result.num_variables}"
                return Node(name, name)
            case Variable(name):
                return Node(name, name)

    def _factor(self, predicate: Predicate) -> Factor:
        return Factor(*self._names(predicate))

    def _move(self, step: Step) -> Factor:
        return Factor(*self._names(step.predicate), not step.inverse)

    def _names(self, predicate: Predicate) -> tuple[str, str]:
        label = self.labels.predicates.get(predicate.name, predicate.name)
        return short(label), label


def _turned(part: Node | Factor) -> Node | Factor:
    if isinstance(part, Factor) and part.forward is not None:
        return Factor(part.text, part.title, not part.forward)
    return part


def short(name: str, limit: int = LONGEST) -> str:
    """The telling part of a long name: its end, whole words where that is possible.

    >>> short("wearing"), short("/award/award_category/nominees./award/award_nomination/nominated_for")
    ('wearing', '…/nominated_for')
    """
    if len(name) <= limit:
        return name
    end = name[1 - limit :]
    cut = re.search(r"[ /.]", end)
    return "…" + (end if cut is None or len(end) - cut.start() < limit // 3 else end[cut.start() :].lstrip(" ."))
