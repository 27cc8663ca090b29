"""factor_graph: the body of a rule as a small drawing, as in the paper's figure 2."""

from __future__ import annotations

from ..logic.labels import Labels
from ..logic.rule import Rule
from .factor_layout import GAP, HANGING, PADDING, RADIUS, SIZE, SQUARE, Factor, Frame, Lane, Layout, Node, layout
from .svg import element, path, picture, text, titled

ARROW = 6.0
INSET = 6.0
"""How much narrower a box inside a box is."""
OUTER = 3.0

Point = tuple[float, float]


def factor_graph(rule: Rule, labels: Labels) -> str:
    """SVG: circles are variables, squares predicates with an arrow to their object, dashes a negation."""
    return _Drawing(layout(rule, labels)).svg(labels.rule(rule))


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
        length = max(((end[0] - start[0]) ** 2 + (end[1] - start[1]) ** 2) ** 0.5, 1.0)
        along = (end[0] - start[0]) / length, (end[1] - start[1]) / length
        one = _moved(start, along, _reach(left))
        two = _moved(end, along, -_reach(right))
        line = element("line", x1=one[0], y1=one[1], x2=two[0], y2=two[1], class_="edge")
        if factor.forward is None or factor.forward != to_right:
            return line
        tip, back = (two, along) if to_right else (one, (-along[0], -along[1]))
        base = _moved(tip, back, -ARROW)
        across = (-back[1] * ARROW / 2, back[0] * ARROW / 2)
        corners = [tip, (base[0] + across[0], base[1] + across[1]), (base[0] - across[0], base[1] - across[1])]
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
        width = _own_width(node)
        shape = element(
            "rect", x=at[0] - width / 2, y=at[1] - RADIUS, width=width, height=2 * RADIUS, rx=RADIUS, class_="constant"
        )
        return titled(node.title, shape + text(at[0], at[1] + 4, node.text, text_anchor="middle"))


def _own_width(node: Node) -> float:
    return Node(node.text, node.title, node.is_constant).width


def _reach(part: Node | Factor | None) -> float:
    """From the middle of a part to where an edge begins."""
    if part is None:
        return RADIUS
    return SQUARE / 2 if isinstance(part, Factor) else _own_width(part) / 2


def _moved(point: Point, along: Point, distance: float) -> Point:
    return point[0] + along[0] * distance, point[1] + along[1] * distance
