"""GraphML: an edge is a fact, whose predicate is an attribute; labels and types of a node are unary facts.

Edges name their predicate in the attribute predicate, relation, type or label (as Neo4j does), else in the one that
`--columns predicate=...` names; without any, it is the name of the file. Nodes have unary facts by their attribute
type, class or labels (`:Person:Actor` are two), and a label by name, title or label.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import DataError
from .builder import Batch, Row, batched
from .columns import CLASSES, PREDICATES, GivenColumns
from .files import UTF8, readable, stem

LABELS = ("name", "title", "label")
NODE_CLASSES = tuple(name for name in CLASSES if name != "label")
"""Attributes of a node that name its classes; its label is for people."""


@dataclass
class _GraphmlContent:
    """What was read so far: the attribute of each key, labels of nodes, which attributes were used, and how."""

    keys: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    used: dict[str, str] = field(default_factory=dict)

    def values(self, element: ElementTree.Element) -> dict[str, str]:
        """Return the attributes of a node or an edge, by name."""
        found = {name: value for name, value in element.attrib.items() if name in ("label", "labels")}
        for data in element:
            if _tag(data) == "data" and (data.text or "").strip():
                key = data.get("key", "")
                found[self.keys.get(key, key).lower()] = (data.text or "").strip()
        return found


def read_graphml(path: Path, columns: GivenColumns | None = None, encoding: str = UTF8) -> Iterator[Batch]:
    """Yield the facts of a .graphml file (also .gz).

    Args:
        path: the file.
        columns: the attributes of edges that are the predicate and the weight, if the user names them.
        encoding: not used, as the file itself names it.
    """
    graph = _GraphmlContent()
    for some in batched(_rows(path, columns or {}, graph)):
        note = ", ".join(f"{role}={name}" for role, name in graph.used.items())
        notes = (f"{path.name}: attributes read as {note}",) if note else ()
        yield Batch.of_rows(list(some), labels=dict(graph.labels), notes=notes)
        graph.labels.clear()


def _rows(path: Path, columns: GivenColumns, graph: _GraphmlContent) -> Iterator[Row]:
    with readable(path) as stream:
        try:
            for _, element in ElementTree.iterparse(stream):
                match _tag(element):
                    case "key":
                        graph.keys[element.get("id", "")] = str(element.get("attr.name") or element.get("id"))
                    case "node":
                        yield from _node_facts(element, graph)
                        element.clear()
                    case "edge":
                        yield _edge_fact(element, columns, graph, path)
                        element.clear()
                    case "graph" if element.get("edgedefault") == "undirected":
                        raise DataError("expected a directed graph (edgedefault), got an undirected one", path)
        except (ElementTree.ParseError, LookupError, ValueError) as error:  # the latter two: an unusable encoding
            raise DataError(f"expected GraphML, got: {error}", path) from error


def _node_facts(node: ElementTree.Element, graph: _GraphmlContent) -> Iterator[Row]:
    name, values = node.get("id", ""), graph.values(node)
    kind = next((role for role in NODE_CLASSES if role in values), None)
    if kind is not None:
        graph.used["class of a node"] = kind
        for one in values[kind].strip(":").split(":"):
            yield name, one, None, 1.0
    if title := next((role for role in LABELS if role in values), None):
        graph.used["label of a node"] = title
        graph.labels[name] = values[title]


def _edge_fact(edge: ElementTree.Element, columns: GivenColumns, graph: _GraphmlContent, path: Path) -> Row:
    source, target, values = edge.get("source"), edge.get("target"), graph.values(edge)
    if not source or not target:
        raise DataError(f"expected edges with a source and a target, got {dict(edge.attrib)}", path)
    attribute = _attribute(columns, "predicate", (*PREDICATES, "label"), values, path)
    graph.used["predicate"] = attribute or f"{stem(path)!r} for all edges"
    weight = _attribute(columns, "weight", ("weight",), values, path)
    strength = values[weight] if weight else "1"
    try:
        value = float(strength)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        advice = "--columns weight= ignores weights"
        raise DataError(f"edge {source} - {target}: expected a weight in [0, 1], got {strength!r}; {advice}", path)
    return source, values[attribute] if attribute else stem(path), target, value


def _attribute(columns: GivenColumns, role: str, known: tuple[str, ...], values: Mapping[str, str], path: Path) -> str:
    """Return the attribute that has a role: the one that the user names, else a known one, else nothing."""
    given = columns.get(role)
    if given is None:
        return next((name for name in known if name in values), "")
    if given and given.lower() not in values:
        raise DataError(f"expected edges with the attribute {given!r}, got {', '.join(values) or 'none'}", path)
    return given.lower()


def _tag(element: ElementTree.Element) -> str:
    """Return the tag without its namespace."""
    return element.tag.rpartition("}")[2]
