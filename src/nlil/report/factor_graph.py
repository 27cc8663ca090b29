"""factor_graph: a small drawing of the body of a rule, as in the paper's figure 2.

Variables and constants are nodes, predicates are factors between them. Every statement is a lane from left to right.
The head variables X and Y are at the two sides, and every lane that mentions them leads there; so a chain is one lane
from X to Y, and a conjunction several lanes. A negation or a branch of a disjunction is a box around its lanes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from ..logic.formula import Anchor, And, Anything, Constant, Formula, Not, Or, Statement, Truth, Variable
from ..logic.labels import Labels
from ..logic.predicate import Predicate
from ..logic.rule import Rule
from ..scene.canvas import Point, Stroke, arrow, cut_line, element, escaped, picture, shortened, text_width, titled

SIZE = 11.0
"""Text size."""
RADIUS, SQUARE, GAP = 12.0, 12.0, 16.0
LANE, HANGING, PADDING = 44.0, 24.0, 8.0
"""Heights of a lane and of a filter above a node, and the padding inside a box."""
MAX_CHARACTERS = 22
"""Limit of a name in a drawing; its tooltip is the full name."""
ARROW = 6.0
INSET = 6.0
"""How much narrower a box inside a box is."""
OUTER = 3.0

Ends = Literal["both", "left", "right", "none"]


@dataclass(frozen=True)
class LanePart:
    """A node (a body variable or a constant) or a factor (a predicate between two nodes), by `kind`.

    Attributes:
        text: The text that is drawn.
        title: The full name.
        forward: For a factor, whether its object is to the right; None if it has no direction.
        filters: For a node, the unary predicates above it: text and full name.
    """

    kind: Literal["variable", "constant", "factor"]
    text: str
    title: str
    forward: bool | None = None
    filters: tuple[tuple[str, str], ...] = ()

    @property
    def own_width(self) -> float:
        """The width of the circle, box or square."""
        if self.kind == "constant":
            return text_width(self.text, SIZE) + 14
        return SQUARE if self.kind == "factor" else 2 * RADIUS

    @property
    def width(self) -> float:
        """The width including the text below a factor, or the filters above a node."""
        if self.kind == "factor":
            return max(SQUARE, text_width(self.text, SIZE) + 4)
        above = max((2 * (text_width(text, SIZE) + SQUARE) for text, _ in self.filters), default=0.0)
        return max(self.own_width, above)


@dataclass(frozen=True)
class Lane:
    """The `parts`, nodes and factors from left to right; `ends` says on which sides it leads to a head variable.

    `y` is the height of its middle.
    """

    parts: tuple[LanePart, ...]
    ends: Ends
    y: float = 0.0

    @property
    def width(self) -> float:
        """The width including the gaps."""
        return sum(part.width for part in self.parts) + GAP * (len(self.parts) - 1)


@dataclass(frozen=True)
class Frame:
    """A box around lanes: a negation (`word` is `not`) or a branch of a disjunction.

    It spans `top` to `bottom`; `depth` is the number of frames around it.
    """

    word: str
    top: float
    bottom: float
    depth: int


class GraphLayout:
    """Places the parts of the body of `rule` below each other; `left` and `right` are the names of the head variables.

    Heights increase downwards.
    """

    def __init__(self, rule: Rule, labels: Labels) -> None:
        self.left, self.right = [*sorted(variable.name for variable in rule.head.variables), None, None][:2]
        self.labels = labels
        self.lanes: list[Lane] = []
        self.frames: list[Frame] = []
        self.height = PADDING
        self.num_variables = 0
        self._add(rule.body, 0)
        self.height = max(self.height + PADDING, 2 * RADIUS + 2 * PADDING)
        self.depth = max((frame.depth for frame in self.frames), default=-1) + 1

    def _add(self, formula: Formula, depth: int) -> None:
        match formula:
            case Statement():
                for lane in self._lanes(formula):
                    self._place(lane)
            case Truth():
                self._place(Lane((LanePart("factor", "always", "true"),), "none"))
            case Not(argument):
                self._framed("not", argument, depth)
            case And(arguments):
                for argument in arguments:
                    self._add(argument, depth)
            case Or(arguments):
                for place, argument in enumerate(arguments):
                    self._framed("or" if place else "either", argument, depth)

    def _framed(self, word: str, formula: Formula, depth: int) -> None:
        top = self.height
        self.height += PADDING + SIZE
        self._add(formula, depth + 1)
        self.frames.append(Frame(word, top, self.height, depth))
        self.height += PADDING

    def _place(self, lane: Lane) -> None:
        hanging = HANGING * max(len(part.filters) for part in lane.parts)
        self.lanes.append(replace(lane, y=self.height + hanging + LANE / 2))
        self.height += hanging + LANE

    # one statement ----------------------------------------------------------------------------------

    def _lanes(self, statement: Statement) -> Iterator[Lane]:
        """Yield the lanes of a line: a short lane for each filter of a head variable, and one for the rest."""
        last = len(statement.anchors) - 1
        for node in sorted({0, last}):
            side = self._side(statement.anchors[node])
            if side is not None:
                yield from (Lane((self._factor(predicate),), side) for predicate in statement.filters[node])
        if statement.equal is not None:
            yield self._equation(statement, statement.equal)
        elif statement.moves or self._side(statement.anchors[0]) is None:
            yield self._path(statement)

    def _path(self, statement: Statement) -> Lane:
        last = len(statement.anchors) - 1
        start, end = self._side(statement.anchors[0]), self._side(statement.anchors[last])
        # A line begins at a head variable if it has one; if it returns to the same one, that is drawn again.
        arrives = end not in (None, start)
        parts: list[LanePart] = []
        for node in range(last + 1):
            if (node > 0 or start is None) and (node < last or not arrives):
                parts.append(self._node(statement, node))
            if node < last:
                move = statement.moves[node]
                # A lane of Y alone is read from the right.
                parts.append(self._factor(move.predicate, move.inverse == (start == "right")))
        if start == "right":
            return Lane(tuple(reversed(parts)), "right")
        return Lane(tuple(parts), "both" if arrives else start or "none")

    def _equation(self, statement: Statement, two: Anchor) -> Lane:
        """Return the lane of an equation. Anchors are sorted, so a head variable comes first, X before Y."""
        factor, side = LanePart("factor", "=", "the same entity"), self._side(statement.anchors[0])
        if side is None:
            return Lane((self._node(statement, 0), factor, self._anchor(two)), "none")
        if self._side(two) is not None:
            return Lane((factor,), "both")
        other = self._anchor(two)
        return Lane((other, factor) if side == "right" else (factor, other), side)

    def _side(self, anchor: Anchor) -> Ends | None:
        if not isinstance(anchor, Variable):
            return None
        return "left" if anchor.name == self.left else "right" if anchor.name == self.right else None

    def _node(self, statement: Statement, node: int) -> LanePart:
        own = self._anchor(statement.anchors[node])
        if self._side(statement.anchors[node]) is not None:
            return own  # its filters have their own lanes
        return replace(own, filters=tuple(self._names(predicate) for predicate in statement.filters[node]))

    def _anchor(self, anchor: Anchor) -> LanePart:
        match anchor:
            case Constant(name):
                label = self.labels.entity(name)
                return LanePart("constant", shortened(label, MAX_CHARACTERS), label)
            case Anything():
                self.num_variables += 1
                return LanePart("variable", f"Z{self.num_variables}", "")
            case Variable(name):
                return LanePart("variable", name, "")

    def _factor(self, predicate: Predicate, forward: bool | None = None) -> LanePart:
        return LanePart("factor", *self._names(predicate), forward)

    def _names(self, predicate: Predicate) -> tuple[str, str]:
        label = self.labels.predicates.get(predicate.name, predicate.name)
        return short(label), label


def short(name: str, limit: int = MAX_CHARACTERS) -> str:
    """Return the end of a long name, the most specific part, with at most `limit` characters.

    It begins with a whole word if possible.

    >>> short("wearing"), short("/award/award_category/nominees./award/award_nomination/nominated_for")
    ('wearing', '…/nominated_for')
    """
    if len(name) <= limit:
        return name
    end = name[1 - limit :]
    cut = re.search(r"[ /.]", end)
    return "…" + (end if cut is None or len(end) - cut.start() < limit // 3 else end[cut.start() :].lstrip(" ."))


# drawing ------------------------------------------------------------------------------------------------


def factor_graph(rule: Rule, labels: Labels) -> str:
    """Draw the rule as SVG: circles are variables, squares predicates with an arrow to their object, dashes negations.

    Args:
        rule: The rule.
        labels: Labels of entities and predicates.
    """
    return _Drawing(GraphLayout(rule, labels)).svg(labels.rule(rule))


class _Drawing:
    def __init__(self, plan: GraphLayout) -> None:
        self.plan = plan
        margin = plan.depth * INSET + (PADDING if plan.depth else 0)
        self.begin = OUTER + (2 * RADIUS + GAP if plan.left else 0) + margin
        self.end = self.begin + max((lane.width for lane in plan.lanes), default=0.0)
        self.margin = margin
        self.width = self.end + margin + (GAP + 2 * RADIUS if plan.right else 0) + OUTER
        self.left = OUTER + RADIUS, self._height("left")
        self.right = self.width - OUTER - RADIUS, self._height("right")

    def _height(self, side: str) -> float:
        """Return the height of a head variable, the middle of the lanes that lead to it."""
        own = [lane.y for lane in self.plan.lanes if lane.ends in (side, "both")]
        return (min(own) + max(own)) / 2 if own else self.plan.height / 2

    def svg(self, title: str) -> str:
        drawn = titled(title) + "".join(map(self._frame, self.plan.frames))
        negated = [(f.top, f.bottom) for f in self.plan.frames if f.word == "not"]
        for lane in self.plan.lanes:
            inside = sum(top < lane.y < bottom for top, bottom in negated)
            drawn += element("g", self._lane(lane), class_="denied") if inside % 2 else self._lane(lane)
        for at, name in ((self.left, self.plan.left), (self.right, self.plan.right)):
            drawn += _named_box(at, 2 * RADIUS, "head", name) if name else ""
        return picture(self.width, self.plan.height, drawn, class_="factors")

    def _frame(self, frame: Frame) -> str:
        inset = self.margin - frame.depth * INSET
        width, height = self.end - self.begin + 2 * inset, frame.bottom - frame.top
        middle = (self.begin + self.end) / 2, (frame.top + frame.bottom) / 2
        box = _box(middle, width, height, 6.0, f"frame {frame.word}")
        return box + _text((self.begin - inset + 6, frame.top + SIZE + 1), frame.word, "start", "word")

    def _lane(self, lane: Lane) -> str:
        places = [(x, lane.y) for x in self._places(lane)]
        stops: list[tuple[Point, LanePart | None]] = [*zip(places, lane.parts)]
        if lane.ends in ("left", "both"):
            stops.insert(0, (self.left, None))
        if lane.ends in ("right", "both"):
            stops.append((self.right, None))
        edges = "".join(_edge(*one, *two) for one, two in pairwise(stops))
        return edges + "".join(map(_part, places, lane.parts))

    def _places(self, lane: Lane) -> list[float]:
        """Return the middle of each part: from the left, from the right, or over the full width."""
        free = self.end - self.begin - lane.width
        gap, x = GAP, self.begin
        if lane.ends == "both":
            gap += free / (len(lane.parts) + 1)
            x += free / (len(lane.parts) + 1)
        elif lane.ends == "right":
            x += free
        places = []
        for part in lane.parts:
            places.append(x + part.width / 2)
            x += part.width + gap
        return places


def _edge(start: Point, left: LanePart | None, end: Point, right: LanePart | None) -> str:
    """Draw a line between a node (None: a head variable) and a factor, with an arrow at the factor's object."""
    to_right = left is not None and left.kind == "factor"
    factor = left if to_right else right
    assert factor is not None
    ends = cut_line(start, end, *(RADIUS if part is None else part.own_width / 2 for part in (left, right)))
    head = ARROW if factor.forward == to_right else 0.0
    tail, tip = ends if to_right else reversed(ends)
    return element("g", arrow(Stroke(tail, tip, "", 0.0, head=head)), class_="edge")


def _part(at: Point, part: LanePart) -> str:
    if part.kind == "factor":
        below = _text((at[0], at[1] + SQUARE / 2 + SIZE + 1), part.text)
        return element("g", titled(part.title) + _square(at) + below)
    drawn = element("g", titled(part.title) + _named_box(at, part.own_width, part.kind, part.text))
    low = at[1] - RADIUS
    for position, (name, whole) in enumerate(part.filters, start=1):
        over = at[0], at[1] - HANGING * position - 2
        stem = element("line", x1=at[0], y1=over[1] + SQUARE / 2, x2=at[0], y2=low, class_="edge")
        beside = _text((at[0] + SQUARE / 2 + 4, over[1] + 4), name, "start")
        drawn += element("g", titled(whole) + stem + _square(over) + beside)
        low = over[1] - SQUARE / 2
    return drawn


def _square(at: Point) -> str:
    return _box(at, SQUARE, SQUARE, 0.0, "factor")


def _named_box(at: Point, width: float, kind: str, name: str) -> str:
    """Draw a circle, or a wider box with round ends."""
    return _box(at, width, 2 * RADIUS, RADIUS, kind) + _text((at[0], at[1] + 4), name, kind=f"{kind}-name")


def _box(at: Point, width: float, height: float, radius: float, kind: str) -> str:
    """Draw a box around its centre."""
    left, top = at[0] - width / 2, at[1] - height / 2
    return element("rect", x=left, y=top, width=width, height=height, rx=radius, class_=kind)


def _text(at: Point, text: str, anchor: str = "middle", kind: str | None = None) -> str:
    return element("text", escaped(text), x=at[0], y=at[1], text_anchor=anchor, class_=kind)
