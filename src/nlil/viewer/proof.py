"""The picture of an explanation with its nodes as links: a proof as a graph, or a scene with its boxes."""

from __future__ import annotations

import re
from html import escape, unescape

from ..explanation import Explanation
from ..scene.picture import draw
from ..scene.picture_svg import as_svg
from .desk import Desk

# What `as_svg` writes for an object; its name and title are escaped, so neither holds a quote or a bracket.
_NODE = re.compile(r'<rect class="[^"]*" data-name="(?P<name>[^"]*)"[^>]*?(?:/>|><title>[^<]*</title></rect>)')


WIDE = 1000
"""A picture of more than so many pixels is shown larger on a narrow screen, to be moved there."""


def linked_picture(desk: Desk, explanation: Explanation) -> str:
    """SVG; every entity leads to its page."""

    def link(node: re.Match[str]) -> str:
        id = desk.kb.entities.find(unescape(node["name"]))
        if id is None:
            return node.group()
        label = escape(desk.entities.labels[id], quote=True)
        return f'<a href="/entity/{id}" class="node" aria-label="{label}">{node.group()}</a>'

    drawn = draw(explanation, desk.kb)
    text = as_svg(drawn)
    if drawn.width > WIDE:
        text = text.replace("<svg ", '<svg class="wide" ', 1)
    return _NODE.sub(link, text)
