"""The graph around an entity, which grows: each entity in it is a link that shows its neighbours as well."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import ConfigError
from ..kernel.graph import Graph
from ..scene.canvas import as_svg
from ..scene.picture import compose
from ..scene.picture_content import NO_RULE, Link, Scene, Thing
from .page_data import PageData

MAX_OPENED = 6
"""Entities whose neighbours are shown, beside the one in the middle."""
MAX_NEIGHBOURS, MAX_MORE = 8, 5
"""Neighbours shown of the entity in the middle, and further ones of each other; those of hubs are countless."""
MAX_EDGES = 2_000
"""Edges looked at of each."""
MAX_NAMES = 2
"""Predicates named on one arrow."""
COLOURED = 0
"""The colour of arrows and of entities whose neighbours are shown: that of the first rule in other pictures."""


def opened_entities(text: str, num_entities: int) -> list[int]:
    """Return the entities in the `text` of a parameter, such as 4,12, which are below `num_entities`."""
    words = [word for word in text.split(",") if word]
    if not all(word.isascii() and word.isdigit() and len(word) < 10 and int(word) < num_entities for word in words):
        raise ConfigError(f"open: expected numbers of entities such as 4,12, got {text[:80]!r}", "open")
    return list(dict.fromkeys(map(int, words)))[-MAX_OPENED:]


def neighbourhood(data: PageData, entity: int, opened: Sequence[int]) -> tuple[dict[str, Any], str]:
    """Return the graph around `entity` as a document and as a picture (empty without neighbours).

    The neighbours of the entity are shown, and those of the `opened` ones that are then in the graph.
    """
    shown, drawn, open_now = {entity: None}, dict[tuple[int, int], list[str]](), []
    for one in dict.fromkeys([entity, *opened]):
        if one not in shown:
            continue
        beside, room = _links(data, one), MAX_NEIGHBOURS if one == entity else MAX_MORE
        new = [other for other in beside if other not in shown][:room]
        shown |= dict.fromkeys(new)
        open_now.append(one)
        drawn |= {pair: names for other, (pair, names) in beside.items() if other in new or other in open_now}
    document = {
        "opened": open_now[1:],
        "nodes": [data.entities.document(one) for one in shown],
        "links": [{"subject": s, "object": o, "predicates": names} for (s, o), names in drawn.items()],
    }
    return document, _picture(data, entity, open_now[1:], shown, drawn) if drawn else ""


def _links(data: PageData, one: int) -> dict[int, tuple[tuple[int, int], list[str]]]:
    """The neighbours of an entity, each with subject and object and the labels of the predicates between them.

    Where facts lead both ways, those of which it is the subject: two arrows at each neighbour are too many to read.
    """
    graph = Graph.of(data.kb)
    low, high = (int(end) for end in graph.pointer[one : one + 2])
    edges = slice(low, min(high, low + MAX_EDGES))
    forward, backward = dict[int, list[str]](), dict[int, list[str]]()
    for code, other in zip(graph.code[edges].tolist(), graph.neighbour[edges].tolist()):
        if other != one:
            (backward if code & 1 else forward).setdefault(other, []).append(data.predicates.labels[code >> 1])
    inward = {other: ((other, one), names) for other, names in backward.items()}
    return inward | {other: ((one, other), names) for other, names in forward.items()}


def _picture(
    data: PageData,
    entity: int,
    opened: Sequence[int],
    shown: Sequence[int] | dict[int, None],
    links: dict[tuple[int, int], list[str]],
) -> str:
    def thing(one: int) -> Thing:
        rule = COLOURED if one in opened else NO_RULE
        return Thing(name(one), "", data.entities.labels[one], is_query=one == entity, rule=rule)

    def page(shape: str) -> tuple[str, str] | None:
        if shape not in ids:  # the ground of the picture
            return None
        one = ids[shape]
        if one == entity or one in opened:
            return f"/entity/{one}", f"{data.entities.labels[one]}, its page"
        wanted = ",".join(map(str, [*opened, one][-MAX_OPENED:]))
        return f"/entity/{entity}?open={wanted}#graph", f"{data.entities.labels[one]}, show its neighbours"

    name = data.kb.entities.name
    ids = {name(one): one for one in shown}
    arrows = tuple(Link(name(s), name(o), _text(names), rule=COLOURED) for (s, o), names in links.items())
    caption = f"{len(shown) - 1:,} entities around {data.entities.labels[entity]}"
    scene = Scene(tuple(thing(one) for one in shown), arrows, ((caption, NO_RULE),))
    return as_svg(compose(scene), page)


def _text(names: Sequence[str]) -> str:
    more = f" +{len(names) - MAX_NAMES}" if len(names) > MAX_NAMES else ""
    return ", ".join(names[:MAX_NAMES]) + more
