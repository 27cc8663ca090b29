"""factor_graph: the body of a rule as a small drawing, as in the paper's figure 2.

Variables and constants are nodes, predicates are factors between them. Every statement is a lane from left to right.
The head variables X and Y stand once, at the two sides, and every lane that mentions them leads there; so a chain is
one lane from X to Y, a conjunction several. A negation or a branch of a disjunction is a box around its lanes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from ..logic.formula import Anchor, And, Anything, Constant, Formula, Line, Not, Or, Statement, Truth, Variable
from ..logic.labels import Labels
from ..logic.predicate import Predicate
from ..logic.rule import Rule
from ..scene.canvas import shortened, text_width
from .svg import element, path, picture, text, titled

SIZE = 11.0
"""Of the text."""
RADIUS, SQUARE, GAP = 12.0, 12.0, 16.0
LANE, HANGING, PADDING = 44.0, 24.0, 8.0
"""Heights of a lane, of a filter above a node, of the room inside a box."""
LONGEST = 22
"""Characters of a name in a drawing; the whole name is its title."""
ARROW = 6.0
INSET = 6.0
"""How much narrower a box inside a box is."""
OUTER = 3.0

Point = tuple[float, float]
Ends = Literal["both", "left", "right", "none"]


@dataclass(frozen=True)
class Node:
    """A variable of the body, a constant, or a head variable met a second time."""

    text: str
    title: str
    is_constant: bool = False
    filters: tuple[tuple[str, str], ...] = ()

    @property
    def own_width(self) -> float:
        """Of the circle or box alone."""
        return text_width(self.text, SIZE) + 14 if self.is_constant else 2 * RADIUS

    @property
    def width(self) -> float:
        # What hangs above is written to the right of its square, which stands over the middle of the node.
        above = max((text_width(text, SIZE) for text, _ in self.filters), default=0.0)
        return max(self.own_width, 2 * (above + SQUARE)) if above else self.own_width


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


class Layout:
    """The parts of a body below each other; `left` and `right` are the names of the head variables.

    Heights count downwards from the top.
    """

    def __init__(self, rule: Rule, labels: Labels) -> None:
        self.left, self.right = [*sorted(variable.name for variable in rule.head.variables), None, None][:2]
        self.labels = labels
        self.lanes: list[Lane] = []
        self.frames: list[Frame] = []
        self.height = PADDING
        self.num_variables = 0
        self.add(rule.body, 0)
        self.height = max(self.height + PADDING, 2 * RADIUS + 2 * PADDING)
        self.depth = max((frame.depth for frame in self.frames), default=-1) + 1

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
        top = self.height
        self.height += PADDING + SIZE
        self.add(formula, depth + 1)
        self.frames.append(Frame(kind, word, top, self.height, depth))
        self.height += PADDING

    def _place(self, lane: Lane) -> None:
        hanging = max((len(part.filters) for part in lane.parts if isinstance(part, Node)), default=0)
        top = self.height
        self.lanes.append(replace(lane, y=top + HANGING * hanging + LANE / 2))
        self.height = top + HANGING * hanging + LANE

    # one statement ----------------------------------------------------------------------------------

    def _lanes(self, line: Line) -> Iterator[Lane]:
        """What is said of a head variable alone is a short lane of its own; the rest is one lane."""
        last = len(line.anchors) - 1
        for node in sorted({0, last}):
            side = self._side(line.anchors[node])
            if side is not None:
                yield from (Lane((Factor(*self._names(predicate)),), side) for predicate in line.filters[node])
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
                move = line.moves[node]
                parts.append(Factor(*self._names(move.predicate), not move.inverse))
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
            case Variable(name) if name == self.left:
                return "left"
            case Variable(name) if name == self.right:
                return "right"
        return None

    def _node(self, line: Line, node: int) -> Node:
        anchor = line.anchors[node]
        own = self._anchor(anchor)
        if self._side(anchor) is not None:
            return own  # its filters have lanes of their own
        filters = tuple(self._names(predicate) for predicate in line.filters[node])
        return replace(own, filters=filters)

    def _anchor(self, anchor: Anchor) -> Node:
        match anchor:
            case Constant(name):
                label = self.labels.entity(name)
                return Node(shortened(label, LONGEST), label, is_constant=True)
            case Anything():
                self.num_variables += 1
                name = f"Z{self.num_variables}"
                return Node(name, name)
            case Variable(name):
                return Node(name, name)

    def _names(self, predicate: Predicate) -> tuple[str, str]:
        label = self.labels.predicates.get(predicate.name, predicate.name)
        return short(label), label


def _turned(part: Node | Factor) -> Node | Factor:
    if isinstance(part, Factor) and part.forward is not None:
        return replace(part, forward=not part.forward)
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


# drawing ------------------------------------------------------------------------------------------------


def factor_graph(rule: Rule, labels: Labels) -> str:
    """SVG: circles are variables, squares predicates with an arrow to their object, dashes a negation."""
    return _Drawing(Layout(rule, labels)).svg(labels.rule(rule))


class _Drawing:
    def __init__(self, plan: Layout) -> None:
        self.plan = plan
        margin = plan.depth * INSET + (PADDING if plan.depth else 0)
        self.begin = OUTER + (2 * RADIUS + GAP if plan.left else 0) + margin
        self.end = self.begin + max((lane.width for lane in plan.lanes), default=0.0)
        self.margin = margin
        self.width = self.end + margin + (GAP + 2 * RADIUS if plan.right else 0) + OUTER
        self.sides = {
            "left": (OUTER + RADIUS, self._height("left")),
            "right": (self.width - OUTER - RADIUS, self._height("right")),
        }

    def _height(self, side: str) -> float:
        """A head variable stands in the middle of the lanes that lead to it."""
        own = [lane.y for lane in self.plan.lanes if lane.ends in (side, "both")]
        return (min(own) + max(own)) / 2 if own else self.plan.height / 2

    def svg(self, title: str) -> str:
        frames = "".join(map(self._frame, self.plan.frames))
        negated = [(f.top, f.bottom) for f in self.plan.frames if f.kind == "not"]
        lanes = ""
        for lane in self.plan.lanes:
            inside = sum(top < lane.y < bottom for top, bottom in negated)
            lanes += element("g", self._lane(lane), class_="denied") if inside % 2 else self._lane(lane)
        heads = "".join(
            self._circle(self.sides[side], name, "head")
            for side, name in (("left", self.plan.left), ("right", self.plan.right))
            if name
        )
        return picture(self.width, self.plan.height, title, frames + lanes + heads, "factors")

    def _frame(self, frame: Frame) -> str:
        inset = self.margin - frame.depth * INSET
        x, width = self.begin - inset, self.end - self.begin + 2 * inset
        box = element(
            "rect", x=x, y=frame.top, width=width, height=frame.bottom - frame.top, rx=6.0, class_=f"frame {frame.kind}"
        )
        return box + text(x + 6, frame.top + SIZE + 1, frame.word, class_="word")

    def _lane(self, lane: Lane) -> str:
        places = self._places(lane)
        drawn = ""
        for (x, part), (next_x, following) in zip(zip(places, lane.parts), zip(places[1:], lane.parts[1:])):
            drawn += self._edge((x, lane.y), part, (next_x, lane.y), following)
        if lane.ends in ("left", "both"):
            drawn += self._edge(self.sides["left"], None, (places[0], lane.y), lane.parts[0])
        if lane.ends in ("right", "both"):
            drawn += self._edge((places[-1], lane.y), lane.parts[-1], self.sides["right"], None)
        return drawn + "".join(self._part((x, lane.y), part) for x, part in zip(places, lane.parts))

    def _places(self, lane: Lane) -> list[float]:
        """The middle of each part: from the left, from the right, or over the whole width."""
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

    # pieces -----------------------------------------------------------------------------------------

    def _edge(self, start: Point, left: Node | Factor | None, end: Point, right: Node | Factor | None) -> str:
        """A line between a node (None: a head variable) and a factor, with an arrow at the object of the factor."""
        factor = left if isinstance(left, Factor) else right
        assert isinstance(factor, Factor)
        to_right = factor is left
        length = max(math.dist(start, end), 1.0)
        along = (end[0] - start[0]) / length, (end[1] - start[1]) / length
        one = _moved(start, along, _reach(left))
        two = _moved(end, along, -_reach(right))
        line = element("line", x1=one[0], y1=one[1], x2=two[0], y2=two[1], class_="edge")
        if factor.forward is None or factor.forward != to_right:
            return line
        tip, back = (two, along) if to_right else (one, (-along[0], -along[1]))
        base = _moved(tip, back, -ARROW)
        across = -back[1], back[0]
        corners = [tip, _moved(base, across, ARROW / 2), _moved(base, across, -ARROW / 2)]
        return line + element("polygon", points=path(corners), class_="arrow")

    def _part(self, at: Point, part: Node | Factor) -> str:
        if isinstance(part, Factor):
            below = text(at[0], at[1] + SQUARE / 2 + SIZE + 1, part.text, text_anchor="middle")
            return titled(part.title, self._square(at) + below)
        body = self._pill(at, part) if part.is_constant else self._circle(at, part.text, "variable")
        for position, (name, whole) in enumerate(part.filters, start=1):
            over = (at[0], at[1] - HANGING * position - 2)
            stem = element(
                "line",
                x1=at[0],
                y1=over[1] + SQUARE / 2,
                x2=at[0],
                y2=at[1] - RADIUS if position == 1 else over[1] + HANGING - SQUARE / 2,
                class_="edge",
            )
            beside = text(at[0] + SQUARE / 2 + 4, over[1] + 4, name)
            body += titled(whole, stem + self._square(over) + beside)
        return body

    def _square(self, at: Point) -> str:
        return element("rect", x=at[0] - SQUARE / 2, y=at[1] - SQUARE / 2, width=SQUARE, height=SQUARE, class_="factor")

    def _circle(self, at: Point, name: str, kind: str) -> str:
        return element("circle", cx=at[0], cy=at[1], r=RADIUS, class_=kind) + text(
            at[0], at[1] + 4, name, text_anchor="middle", class_=f"{kind}-name"
        )

    def _pill(self, at: Point, node: Node) -> str:
        width = node.own_width
        shape = element(
            "rect", x=at[0] - width / 2, y=at[1] - RADIUS, width=width, height=2 * RADIUS, rx=RADIUS, class_="constant"
        )
        return titled(node.title, shape + text(at[0], at[1] + 4, node.text, text_anchor="middle"))


def _reach(part: Node | Factor | None) -> float:
    """From the middle of a part to where an edge begins."""
    if part is None:
        return RADIUS
    return SQUARE / 2 if isinstance(part, Factor) else part.own_width / 2


def _moved(point: Point, along: Point, distance: float) -> Point:
    return point[0] + along[0] * distance, point[1] + along[1] * distance
