"""What a picture of an explanation shows: which objects, which relations, which rule each of them serves.

For a scene the query's own graph; else the proof: the entities and facts of the groundings.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from ..data.facts import Facts
from ..data.kb import KnowledgeBase
from ..explanation.explanation import Explanation, Support
from ..explanation.outline import number
from ..logic.predicate import Fact
from ..logic.text import fact_text

STRONGEST = 4
"""Rules whose objects are highlighted, each in a colour of its own."""
NO_RULE = -1
LARGE = 14
"""Of a graph without boxes and with more objects than this only the query's surroundings are drawn."""
STEPS = 2
"""How far the surroundings reach."""
FAINT, FAINT_IN_CROWD = 10, 4
"""Relations drawn that no rule uses: a picture is for looking at what the rules use."""

Box = tuple[float, float, float, float]
"""x, y, width, height."""


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
    """An arrow with the names of its relations. `is_asked`: the fact that is explained, which is hidden."""

    subject: str
    object: str
    text: str
    rule: int = NO_RULE
    is_asked: bool = False


@dataclass(frozen=True)
class Scene:
    """`captions` are lines with the rule they belong to; `size` is that of the image, where it is known."""

    things: tuple[Thing, ...]
    links: tuple[Link, ...]
    captions: tuple[tuple[str, int], ...]
    size: tuple[float, float] | None = None

    @property
    def has_places(self) -> bool:
        return any(thing.box is not None for thing in self.things)


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
    shown = explanation.supports[:STRONGEST]
    if not any(_names_somebody(s) for s in shown):
        shown += tuple(s for s in explanation.supports[STRONGEST:] if _names_somebody(s))[:1]
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
    """What the data says; what boxes say (above, left of) can be seen, and joins everything with everything."""
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
    if has_places or len(ids) <= LARGE:
        return names
    near = {kb.entities.id(name) for name in explanation.fact.arguments}
    binary = own[~own.is_unary & ~np.isin(own.predicate, list(kb.geometry))]
    pairs = list(zip(binary.subject.tolist(), binary.object.tolist()))
    for _ in range(STEPS):
        near |= {end for pair in pairs if near.intersection(pair) for end in pair}
        if len(near) > LARGE:
            break  # a hub: what rules use comes first below, the rest as far as there is room
    chosen = [name for name in names if name in needed]
    chosen += [kb.entities.name(id) for id in sorted(near)][: max(LARGE - len(chosen), 0)]
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
    crowded = len(shown) > LARGE // 2
    near = sorted(
        (pair for pair in faint if not crowded or matter.intersection(pair)),
        key=lambda pair: explanation.fact.arguments[0] not in pair,
    )
    most = FAINT_IN_CROWD if len(shown) > LARGE else FAINT
    asked = []
    if explanation.fact.predicate.arity == 2:
        a, b = explanation.fact.arguments
        asked = [Link(a, b, f"{_plain(explanation, explanation.fact)}?", is_asked=True)]
    return (*asked, *strong, *(Link(a, b, ", ".join(faint[a, b][:2])) for a, b in near[:most]))


# a proof ------------------------------------------------------------------------------------------------


def _proof(explanation: Explanation, shown: tuple[Support, ...], facts: dict[Fact, int]) -> Scene:
    names = dict.fromkeys([*explanation.fact.arguments, *(name for fact in facts for name in fact.arguments)])
    used = highlighted(explanation)
    things = tuple(_thing(name, explanation, facts, used, {}, {}) for name in names)
    return Scene(things, _links(explanation, facts, (), set(names)), _captions(explanation, shown))
