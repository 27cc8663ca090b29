"""The content of a picture of an explanation: objects, relations, and the rule that uses each of them.

For a scene, it is the graph of the query; otherwise the proof: the entities and facts of the groundings. `surroundings`
describes the same in words, for a terminal.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..data.facts import Facts
from ..data.kb import KnowledgeBase
from ..explanation.brief import probability_text
from ..explanation.reasons import KINDS, Support, kind_of
from ..explanation.why import Explanation
from ..logic.figures import number
from ..logic.formula import Truth
from ..logic.predicate import Fact
from ..logic.text import fact_text
from .canvas import Box, gap

MAX_RULES = 4
"""Rules whose objects are highlighted, each in a different colour."""
NO_RULE = -1
MAX_OBJECTS = 14
"""Of a graph without boxes and with more objects, only the surroundings of the query are drawn."""
NEAR_STEPS = 2
"""Steps from the query to the border of its surroundings."""
MAX_FAINT, MAX_FAINT_IN_CROWD = 10, 4
"""The most relations that are drawn although no rule uses them."""
MAX_NEAREST = 8
"""Objects described in words in addition to those that rules use."""


@dataclass(frozen=True, kw_only=True)
class Shown:
    """Whether a shape is the query (`is_query`), and which of the strongest rules uses it (`rule`, or NO_RULE)."""

    is_query: bool = False
    rule: int = NO_RULE

    @property
    def is_used(self) -> bool:
        """Whether one of the strongest rules uses it."""
        return self.rule != NO_RULE

    @property
    def matters(self) -> bool:
        """Whether it is always drawn."""
        return self.is_query or self.is_used

    @property
    def kind(self) -> str:
        """The class of the shape in the drawing, for programs."""
        return "query" if self.is_query else f"used rule-{self.rule}" if self.is_used else "other"


@dataclass(frozen=True)
class Thing(Shown):
    """An object: its `name`, its class (`what`), the `text` of its label, and its `box`, None if unknown."""

    name: str
    what: str
    text: str
    box: Box | None = None

    @property
    def title(self) -> str:
        """Its tooltip."""
        return f"{self.text} ({self.name})"


@dataclass(frozen=True)
class Link(Shown):
    """An arrow from `subject` to `object`; its `text` has the names of the relations."""

    subject: str
    object: str
    text: str

    def other(self, name: str) -> str:
        """Return the end that is not `name`."""
        return self.object if name == self.subject else self.subject


@dataclass(frozen=True)
class Scene:
    """The content of a picture: `things` and `links` between them.

    `captions` are lines, each with its rule; `size` is that of the image, if known.
    """

    things: tuple[Thing, ...]
    links: tuple[Link, ...]
    captions: tuple[tuple[str, int], ...]
    size: tuple[float, float] | None = None

    @property
    def extent(self) -> tuple[float, float] | None:
        """The extent of the boxes; None if there are none."""
        boxes = [thing.box for thing in self.things if thing.box is not None]
        return (max(b[0] + b[2] for b in boxes), max(b[1] + b[3] for b in boxes)) if boxes else None

    @property
    def has_places(self) -> bool:
        """Whether some object has a box."""
        return self.extent is not None


def scene_of(explanation: Explanation, kb: KnowledgeBase) -> Scene:
    """Return the content of the picture of an explanation; `kb` has the facts of the graph of the query."""
    query, shown = explanation.fact, strongest(explanation)
    facts = _used_facts(shown)
    names = list(dict.fromkeys([*query.arguments, *(name for fact in facts for name in fact.arguments)]))
    if kb.graph_of is None:
        content = _Content(explanation, facts, {}, {})
        return Scene(content.things(names), content.links((), names), _captions(explanation, shown))
    graph = int(kb.graph_of[kb.entities.id(query.arguments[0])])
    own = kb.facts[kb.graph_of[kb.facts.subject] == graph]
    content = _Content(explanation, facts, _classes(kb, own), _boxes(kb, graph))
    relations = _relations(kb, own)
    everybody = kb.entities.names(np.flatnonzero(kb.graph_of == graph).tolist())
    if not content.boxes and len(everybody) > MAX_OBJECTS:
        everybody = _nearest(everybody, names, query, relations)
    truth = content.classes.get(query.arguments[0])
    also = f"; in the data: {truth}" if truth and query.predicate.arity == 1 else ""
    links = content.links(relations, everybody)
    return Scene(content.things(everybody), links, _captions(explanation, shown, also), _size(kb, graph))


def strongest(explanation: Explanation) -> tuple[Support, ...]:
    """Return the strongest rules: first those with facts as reasons, then those about absent facts, priors last."""

    def kind(support: Support) -> int:
        return KINDS.index(kind_of(support.groundings[0]) if support.groundings else "other")

    return tuple(sorted(explanation.supports, key=kind)[:MAX_RULES])


def _used_facts(shown: tuple[Support, ...]) -> dict[Fact, int]:
    """Return each fact with the rule it is shown for: the longest, or a general rule would get them all."""
    used: dict[Fact, int] = {}
    for rule in sorted(range(len(shown)), key=lambda rule: -shown[rule].rule.length):
        for grounding in shown[rule].groundings:
            for fact in grounding.facts:
                used.setdefault(fact, rule)
    return used


def _captions(explanation: Explanation, shown: tuple[Support, ...], truth: str = "") -> tuple[tuple[str, int], ...]:
    labels = explanation.labels
    figure, _ = probability_text(explanation.probability, explanation.score)
    lines = [(f"{labels.fact(explanation.fact)}  {figure}{truth}", NO_RULE)]
    for rule, support in enumerate(shown):
        text = "frequency" if isinstance(support.rule.body, Truth) else labels.short_rule(support.rule)
        lines.append((f"+{number(support.share)}  {text}", rule))
    rest = explanation.num_counted - len(shown)
    if rest > 0:
        share = max(explanation.score - sum(s.share for s in shown), 0.0)
        lines.append((f"+{number(share)}  {rest:,} weaker rule{'s' if rest > 1 else ''} beside these", NO_RULE))
    return tuple(lines)


@dataclass(frozen=True)
class _Content:
    """The `facts` that the strongest rules use, each with its rule; classes and boxes of objects by name."""

    explanation: Explanation
    facts: dict[Fact, int]
    classes: dict[str, str]
    boxes: dict[str, Box]

    @cached_property
    def used(self) -> dict[str, int]:
        """The objects of these facts, each with its rule, without the query itself."""
        used: dict[str, int] = {}
        for fact, rule in sorted(self.facts.items(), key=lambda item: item[1]):
            for name in fact.arguments:
                if name not in self.explanation.fact.arguments:
                    used.setdefault(name, rule)
        return used

    def predicate(self, fact: Fact) -> str:
        """The label or name of the predicate, without quotes."""
        name = fact.predicate.name
        return self.explanation.labels.predicates.get(name, name)

    def things(self, names: Iterable[str]) -> tuple[Thing, ...]:
        return tuple(map(self._thing, names))

    def _thing(self, name: str) -> Thing:
        query, labels = self.explanation.fact, self.explanation.labels.entities
        is_query, rule, what = name in query.arguments, self.used.get(name, NO_RULE), self.classes.get(name, "")
        said = f"{self.predicate(query)}?" if is_query and query.predicate.arity == 1 else what
        traits = [self.predicate(fact) for fact in self.facts if fact.arguments == (name,)]
        text = ", ".join([said or labels.get(name, name), *(trait for trait in traits if trait != said)])
        if said and (is_query or rule != NO_RULE) and name not in labels:
            text += f"  {name.rpartition('/')[2]}"  # to find the names of the explanation in the picture
        return Thing(name, what, text, self.boxes.get(name), is_query=is_query, rule=rule)

    def links(self, relations: Iterable[Fact], names: Collection[str]) -> tuple[Link, ...]:
        """Return the query, the relations that rules use, then some other relations between these objects."""
        query, shown = self.explanation.fact, set(names)
        used: dict[tuple[str, ...], int] = {}
        strong: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for fact, rule in self.facts.items():
            if fact.predicate.arity == 2:
                used.setdefault(fact.arguments, rule)
                strong[fact.arguments].append(self.predicate(fact))
        faint: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for fact in relations:
            if fact.arguments not in used and shown.issuperset(fact.arguments) and fact != query:
                faint[fact.arguments].append(self.predicate(fact))
        matter, crowded = {*self.used, *query.arguments}, len(shown) > MAX_OBJECTS // 2
        near = [pair for pair in faint if not crowded or matter.intersection(pair)]
        near.sort(key=lambda pair: query.arguments[0] not in pair)
        most = MAX_FAINT_IN_CROWD if len(shown) > MAX_OBJECTS else MAX_FAINT
        links = [Link(a, b, ", ".join(strong[a, b]), rule=rule) for (a, b), rule in used.items()]
        links += [Link(a, b, ", ".join(faint[a, b][:2])) for a, b in near[:most]]
        if query.predicate.arity == 2:
            a, b = query.arguments
            links.insert(0, Link(a, b, f"{self.predicate(query)}?", is_query=True))
        return tuple(links)


def _classes(kb: KnowledgeBase, own: Facts) -> dict[str, str]:
    unary = own[own.is_unary]
    found: dict[str, list[str]] = defaultdict(list)
    for predicate, subject in zip(unary.predicate.tolist(), unary.subject.tolist()):
        if predicate in kb.classes:
            name = kb.predicates[predicate].name
            found[kb.entities.name(subject)].append(kb.predicate_labels.get(name, name))
    return {name: "/".join(labels) for name, labels in found.items()}


def _relations(kb: KnowledgeBase, own: Facts) -> list[Fact]:
    """Return the annotated relations.

    Geometry predicates (above, left of) are visible, and relate almost everything.
    """
    binary = own[~own.is_unary & ~np.isin(own.predicate, list(kb.geometry))]
    rows = zip(binary.predicate.tolist(), binary.subject.tolist(), binary.object.tolist())
    return sorted((kb.fact(*row) for row in rows), key=fact_text)


def _boxes(kb: KnowledgeBase, graph: int) -> dict[str, Box]:
    if kb.boxes is None or kb.graph_of is None:
        return {}
    ids = np.flatnonzero((kb.graph_of == graph) & ~np.isnan(kb.boxes).any(axis=1))
    boxes = ((x, y, width, height) for x, y, width, height in kb.boxes[ids].tolist())
    return dict(zip(kb.entities.names(ids.tolist()), boxes))


def _size(kb: KnowledgeBase, graph: int) -> tuple[float, float] | None:
    if kb.graph_sizes is None or np.isnan(kb.graph_sizes[graph]).any() or (kb.graph_sizes[graph] <= 0).any():
        return None
    width, height = kb.graph_sizes[graph].tolist()
    return width, height


def _nearest(names: list[str], needed: Collection[str], query: Fact, relations: list[Fact]) -> list[str]:
    """Of a large graph without boxes, return the objects that rules use, and the surroundings of the query."""
    near = set(query.arguments)
    for _ in range(NEAR_STEPS):
        near |= {end for fact in relations if near.intersection(fact.arguments) for end in fact.arguments}
        if len(near) > MAX_OBJECTS:
            break  # a hub: objects that rules use come first below, others if there is space
    chosen = [name for name in names if name in needed]
    chosen += [name for name in names if name in near][: max(MAX_OBJECTS - len(chosen), 0)]
    return list(dict.fromkeys(chosen))


# in words ---------------------------------------------------------------------------------------------


def surroundings(scene: Scene) -> list[dict[str, Any]]:
    """Return the objects of `scene` around the query: the query, those that rules use, then the MAX_NEAREST nearest.

    Objects that are related to the query count as nearest, then those whose boxes are. For each object: its name
    (`object`), its `class`, its `place` in words (empty if unknown), its `relations`, which say X for the query and
    `it` for this object, whether one of the strongest rules uses it (`used`), and whether it is the `query`.
    """
    query = next(thing for thing in scene.things if thing.is_query)
    linked = {end for link in scene.links for end in (link.subject, link.object) if query.name == link.other(end)}

    def key(thing: Thing) -> tuple[bool, bool, bool, float, str]:
        away = math.inf if thing.box is None or query.box is None else gap(thing.box, query.box)
        return not thing.is_query, not thing.is_used, thing.name not in linked, away, thing.name

    ordered = sorted(scene.things, key=key)
    needed = sum(thing.matters for thing in ordered)
    near = [t for t in ordered[needed:] if t.name in linked or t.box is not None][:MAX_NEAREST]
    return [_described(thing, query, scene) for thing in (*ordered[:needed], *near)]


def _described(thing: Thing, query: Thing, scene: Scene) -> dict[str, Any]:
    size = scene.size or scene.extent
    ends = {(query.name, thing.name): "X {} it", (thing.name, query.name): "it {} X"} if thing is not query else {}
    said = [(ends.get((link.subject, link.object), ""), link.text) for link in scene.links]
    return {
        "object": thing.name,
        "class": thing.what,
        "place": place_in_words(thing.box, size) if thing.box is not None and size is not None else "",
        "relations": [way.format(text) for way, text in said if way],
        "used": thing.is_used,
        "query": thing.is_query,
    }


def place_in_words(box: Box, size: tuple[float, float]) -> str:
    """Say where the middle of `box` lies, by thirds of the image, which has this `size`.

    >>> place_in_words((0, 0, 10, 10), (100, 100)), place_in_words((40, 40, 10, 10), (100, 100))
    ('top left', 'middle')
    """
    x, y, width, height = box
    if width >= 0.8 * size[0] and height >= 0.8 * size[1]:
        return "all over"
    across = ("left", "", "right")[_third(x + width / 2, size[0])]
    down = ("top", "", "bottom")[_third(y + height / 2, size[1])]
    return f"{down} {across}".strip() or "middle"


def _third(value: float, whole: float) -> int:
    return min(max(int(3 * value / max(whole, 1e-9)), 0), 2)
