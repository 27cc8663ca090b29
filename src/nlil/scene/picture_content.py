"""What a picture of an explanation shows: which objects, which relations, which rule each of them serves.

For a scene the query's own graph; else the proof: the entities and facts of the groundings. `surroundings` says it in
words, for a terminal.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..data.facts import Facts
from ..data.kb import KnowledgeBase
from ..explanation.explanation import Explanation, Support
from ..explanation.outline import number
from ..logic.predicate import Fact
from ..logic.text import fact_text
from .canvas import Box, gap

MAX_RULES = 4
"""Rules whose objects are highlighted, each in a colour of its own."""
NO_RULE = -1
MAX_OBJECTS = 14
"""Of a graph without boxes and with more objects than this only the query's surroundings are drawn."""
NEAR_STEPS = 2
"""How far the surroundings reach."""
MAX_FAINT, MAX_FAINT_IN_CROWD = 10, 4
"""Relations drawn that no rule uses: a picture is for looking at what the rules use."""
MAX_NEAREST = 8
"""Objects named in words beside those that rules use."""


@dataclass(frozen=True)
class Thing:
    """An object: what it is, what is written at it, where it is, which of the strongest rules uses it."""

    name: str
    what: str
    text: str
    box: Box | None = None
    is_query: bool = False
    rule: int = NO_RULE

    @property
    def is_used(self) -> bool:
        return self.rule != NO_RULE


@dataclass(frozen=True)
class Link:
    """An arrow with the names of its relations. `is_query`: it is the fact that is explained, which is hidden."""

    subject: str
    object: str
    text: str
    rule: int = NO_RULE
    is_query: bool = False


@dataclass(frozen=True)
class Scene:
    """`captions` are lines with the rule they belong to; `size` is that of the image, where it is known."""

    things: tuple[Thing, ...]
    links: tuple[Link, ...]
    captions: tuple[tuple[str, int], ...]
    size: tuple[float, float] | None = None

    @property
    def extent(self) -> tuple[float, float] | None:
        """How far the boxes reach; None where there are none."""
        boxes = [thing.box for thing in self.things if thing.box is not None]
        return (max(b[0] + b[2] for b in boxes), max(b[1] + b[3] for b in boxes)) if boxes else None

    @property
    def has_places(self) -> bool:
        return self.extent is not None


def scene_of(explanation: Explanation, kb: KnowledgeBase) -> Scene:
    shown = strongest(explanation)
    facts = _used_facts(shown)
    if kb.graph_of is None:
        return _proof(explanation, shown, facts)
    x = kb.entities.id(explanation.fact.arguments[0])
    graph = int(kb.graph_of[x])
    own = kb.facts[kb.graph_of[kb.facts.subject] == graph]
    classes = _classes(kb, own)
    boxes = _boxes(kb, graph)
    ids = np.flatnonzero(kb.graph_of == graph).tolist()
    names = _chosen(kb, explanation, facts, own, ids, len(boxes) > 0)
    used = highlighted(explanation)
    things = tuple(_thing(name, explanation, facts, used, classes, boxes) for name in names)
    links = _links(explanation, facts, _relations(kb, own), set(names))
    truth = classes.get(explanation.fact.arguments[0])
    said = f"; in the data: {truth}" if truth and explanation.fact.predicate.arity == 1 else ""
    return Scene(things, links, _captions(explanation, shown, said), _size(kb, graph))


def strongest(explanation: Explanation) -> tuple[Support, ...]:
    """The strongest rules; where these name nobody (priors, what is absent), one more that does."""
    shown = explanation.supports[:MAX_RULES]
    if not any(_names_somebody(s) for s in shown):
        shown += tuple(s for s in explanation.supports[MAX_RULES:] if _names_somebody(s))[:1]
    return shown


def highlighted(explanation: Explanation) -> dict[str, int]:
    """The objects of the strongest rules' groundings and the rule that each is shown for; not the query itself."""
    used: dict[str, int] = {}
    for fact, rule in sorted(_used_facts(strongest(explanation)).items(), key=lambda item: item[1]):
        for name in fact.arguments:
            if name not in explanation.fact.arguments:
                used.setdefault(name, rule)
    return used


def _names_somebody(support: Support) -> bool:
    return any(grounding.facts for grounding in support.groundings)


def _used_facts(shown: tuple[Support, ...]) -> dict[Fact, int]:
    """Facts with the rule they are shown for: the one that says most, or a general rule would take them all."""
    used: dict[Fact, int] = {}
    for rule in sorted(range(len(shown)), key=lambda rule: -shown[rule].rule.length):
        for grounding in shown[rule].groundings:
            for fact in grounding.facts:
                used.setdefault(fact, rule)
    return used


def _captions(explanation: Explanation, shown: tuple[Support, ...], truth: str = "") -> tuple[tuple[str, int], ...]:
    labels = explanation.labels
    lines = [(f"{labels.fact(explanation.fact)}  score {number(explanation.score)}{truth}", NO_RULE)]
    for rule, support in enumerate(shown):
        text = labels.rule(replace(support.rule, distinct=False))
        lines.append((f"+{number(support.share)}  {text}", rule))
    rest = explanation.num_counted - len(shown)
    if rest > 0:
        share = max(explanation.score - sum(s.share for s in shown), 0.0)
        lines.append((f"+{number(share)}  {rest:,} weaker rule{'s' if rest > 1 else ''} beside these", NO_RULE))
    return tuple(lines)


# a scene ------------------------------------------------------------------------------------------------


def _classes(kb: KnowledgeBase, own: Facts) -> dict[str, str]:
    unary = own[own.is_unary]
    found: dict[str, list[str]] = defaultdict(list)
    for predicate, subject in zip(unary.predicate.tolist(), unary.subject.tolist()):
        if predicate in kb.classes:
            name = kb.predicates[predicate].name
            found[kb.entities.name(subject)].append(kb.predicate_labels.get(name, name))
    return {name: "/".join(labels) for name, labels in found.items()}


def _relations(kb: KnowledgeBase, own: Facts) -> list[Fact]:
    """What the data says; geometry predicates (above, left of) can be seen, and join everything with everything."""
    binary = own[~own.is_unary & ~np.isin(own.predicate, list(kb.geometry))]
    rows = zip(binary.predicate.tolist(), binary.subject.tolist(), binary.object.tolist())
    return sorted((kb.fact(*row) for row in rows), key=fact_text)


def _boxes(kb: KnowledgeBase, graph: int) -> dict[str, Box]:
    if kb.boxes is None or kb.graph_of is None:
        return {}
    ids = np.flatnonzero((kb.graph_of == graph) & ~np.isnan(kb.boxes).any(axis=1))
    found = {}
    for id in ids.tolist():
        x, y, width, height = kb.boxes[id].tolist()
        found[kb.entities.name(id)] = (x, y, width, height)
    return found


def _size(kb: KnowledgeBase, graph: int) -> tuple[float, float] | None:
    if kb.graph_sizes is None or np.isnan(kb.graph_sizes[graph]).any() or (kb.graph_sizes[graph] <= 0).any():
        return None
    width, height = kb.graph_sizes[graph].tolist()
    return width, height


def _chosen(
    kb: KnowledgeBase, explanation: Explanation, facts: dict[Fact, int], own: Facts, ids: list[int], has_places: bool
) -> list[str]:
    """All objects of the graph; of a large one without places the surroundings of the query and what rules use."""
    needed = {*explanation.fact.arguments, *(name for fact in facts for name in fact.arguments)}
    names = kb.entities.names(ids)
    if has_places or len(ids) <= MAX_OBJECTS:
        return names
    near = {kb.entities.id(name) for name in explanation.fact.arguments}
    binary = own[~own.is_unary & ~np.isin(own.predicate, list(kb.geometry))]
    pairs = list(zip(binary.subject.tolist(), binary.object.tolist()))
    for _ in range(NEAR_STEPS):
        near |= {end for pair in pairs if near.intersection(pair) for end in pair}
        if len(near) > MAX_OBJECTS:
            break  # a hub: what rules use comes first below, the rest as far as there is room
    chosen = [name for name in names if name in needed]
    chosen += [kb.entities.name(id) for id in sorted(near)][: max(MAX_OBJECTS - len(chosen), 0)]
    return list(dict.fromkeys(chosen))


def _thing(
    name: str,
    explanation: Explanation,
    facts: dict[Fact, int],
    used: dict[str, int],
    classes: dict[str, str],
    boxes: dict[str, Box],
) -> Thing:
    labels = explanation.labels
    traits = [_plain(explanation, f) for f in facts if f.arguments == (name,)]
    is_query = name in explanation.fact.arguments
    said = classes.get(name, "")
    if is_query and explanation.fact.predicate.arity == 1:
        said = f"{_plain(explanation, explanation.fact)}?"
    more = [trait for trait in traits if trait != said]
    text = ", ".join([said or labels.entities.get(name, name), *more])
    rule = used.get(name, NO_RULE)
    if said and (is_query or rule != NO_RULE) and name not in explanation.labels.entities:
        text += f"  {name.rpartition('/')[2]}"  # so that the text of the explanation can be found in the picture
    return Thing(name, classes.get(name, ""), text, boxes.get(name), is_query, rule)


def _plain(explanation: Explanation, fact: Fact) -> str:
    """The name of the predicate as it is: nothing needs quotes here."""
    name = fact.predicate.name
    return explanation.labels.predicates.get(name, name)


def _links(
    explanation: Explanation, facts: dict[Fact, int], others: Iterable[Fact], shown: set[str]
) -> tuple[Link, ...]:
    used: dict[tuple[str, ...], int] = {}
    texts: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for fact, rule in facts.items():
        if fact.predicate.arity == 2:
            used.setdefault(fact.arguments, rule)
            texts[fact.arguments].append(_plain(explanation, fact))
    strong = [Link(a, b, ", ".join(texts[a, b]), rule) for (a, b), rule in used.items()]
    faint: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for fact in others:
        if fact.arguments not in used and shown.issuperset(fact.arguments) and fact != explanation.fact:
            faint[fact.arguments].append(_plain(explanation, fact))
    matter = {*highlighted(explanation), *explanation.fact.arguments}
    crowded = len(shown) > MAX_OBJECTS // 2
    near = sorted(
        (pair for pair in faint if not crowded or matter.intersection(pair)),
        key=lambda pair: explanation.fact.arguments[0] not in pair,
    )
    most = MAX_FAINT_IN_CROWD if len(shown) > MAX_OBJECTS else MAX_FAINT
    query = []
    if explanation.fact.predicate.arity == 2:
        a, b = explanation.fact.arguments
        query = [Link(a, b, f"{_plain(explanation, explanation.fact)}?", is_query=True)]
    return (*query, *strong, *(Link(a, b, ", ".join(faint[a, b][:2])) for a, b in near[:most]))


# a proof ------------------------------------------------------------------------------------------------


def _proof(explanation: Explanation, shown: tuple[Support, ...], facts: dict[Fact, int]) -> Scene:
    names = dict.fromkeys([*explanation.fact.arguments, *(name for fact in facts for name in fact.arguments)])
    used = highlighted(explanation)
    things = tuple(_thing(name, explanation, facts, used, {}, {}) for name in names)
    return Scene(things, _links(explanation, facts, (), set(names)), _captions(explanation, shown))


# in words ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Neighbour:
    """`place` is in words, empty where nothing is known. Relations say X for the query and `it` for this object.

    `is_used`: one of the strongest rules looks at it.
    """

    name: str
    what: str
    place: str
    relations: tuple[str, ...]
    is_used: bool
    is_query: bool

    def to_dict(self) -> dict[str, Any]:
        return {
            "object": self.name,
            "class": self.what,
            "place": self.place,
            "relations": list(self.relations),
            "used": self.is_used,
            "query": self.is_query,
        }


def surroundings(scene: Scene, limit: int = MAX_NEAREST) -> list[Neighbour]:
    """The query, what rules use, then what is nearest: by relations where there are any, by boxes otherwise.

    `limit`: objects listed beside those that rules use.
    """
    query = next(thing for thing in scene.things if thing.is_query)
    size = scene.size or scene.extent
    linked = {
        end for link in scene.links if query.name in (link.subject, link.object) for end in (link.subject, link.object)
    }

    def key(thing: Thing) -> tuple[bool, bool, bool, float, str]:
        away = math.inf if thing.box is None or query.box is None else gap(thing.box, query.box)
        return not thing.is_query, not thing.is_used, thing.name not in linked, away, thing.name

    ordered = sorted(scene.things, key=key)
    needed = sum(thing.is_query or thing.is_used for thing in ordered)
    near = [t for t in ordered[needed:] if t.name in linked or t.box is not None][:limit]
    return [_neighbour(thing, scene, query, size) for thing in (*ordered[:needed], *near)]


def _neighbour(thing: Thing, scene: Scene, query: Thing, size: tuple[float, float] | None) -> Neighbour:
    place = place_in_words(thing.box, size) if thing.box is not None and size is not None else ""
    ways = []
    for link in scene.links:
        if (link.subject, link.object) == (query.name, thing.name) and thing is not query:
            ways.append(f"X {link.text} it")
        elif (link.subject, link.object) == (thing.name, query.name) and thing is not query:
            ways.append(f"it {link.text} X")
    return Neighbour(thing.name, thing.what, place, tuple(ways), thing.is_used, thing.is_query)


def place_in_words(box: Box, size: tuple[float, float]) -> str:
    """Where the middle of the box lies, by thirds of the image.

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
