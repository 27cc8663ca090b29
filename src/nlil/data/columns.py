"""Which column of a table is the subject, the predicate, the object: as given by the user, else by name.

    subject=source,predicate=type,object=target     by name
    subject=1,predicate=3,object=2                  by position, from 1
    weight=score,split=fold,label=title             further roles; an empty value leaves a column out
    time=since                                      read only to divide facts by time (datasets/splitting.py)
    subject=who,object=where,argument3=month        facts of three arguments; argument4 and so on for more

Recognised names are subject/object, s/p/o, head/tail, h/r/t, source/target, from/to, start/end (also as Neo4j writes
them: `:START_ID(Person)`, `:TYPE`), the two columns beside a predicate or a relation, whatever their names, for unary
facts entity, node, id, and for facts of any arity arg1, arg2, arg3 and so on (also argument1 or arg_1). A table without
a predicate column has one predicate, the name of its file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import ConfigError, DataError

ROLES = ("subject", "predicate", "object", "weight", "split", "label", "object_label", "predicate_label", "time")
MAX_ARGUMENTS = 64
"""Arguments of a fact."""
FURTHER_ARGUMENTS = tuple(f"argument{number}" for number in range(3, MAX_ARGUMENTS + 1))
"""Roles of the arguments after the object."""
LETTERS = (("s", "p", "o"), ("h", "r", "t"))
ENDS = (
    ("subject", "object"),
    ("head", "tail"),
    ("source", "target"),
    ("src", "dst"),
    ("from", "to"),
    ("start", "end"),
    ("start_id", "end_id"),
    ("subject_id", "object_id"),
    ("head_id", "tail_id"),
    ("source_id", "target_id"),
    ("from_id", "to_id"),
)
ENTITIES = ("entity", "node", "subject", "id")
PREDICATES = ("predicate", "relation", "relationship", "relation_type", "edge_type", "rel", "type", "property", "edge")
CLEAR_PREDICATES = ("predicate", "relation", "relationship", "relation_type", "edge_type")
"""Those that are hardly ever the predicate of a fact: of three columns, the other two are its ends."""
CLASSES = (*PREDICATES, "class", "label", "labels")
"""Column names for the predicate of a unary fact."""
FURTHER = {
    "weight": ("weight", "probability"),
    "split": ("split",),
    "label": ("subject_label", "entity_label", "head_label", "source_label"),
    "object_label": ("object_label", "tail_label", "target_label"),
    "predicate_label": ("predicate_label", "relation_label"),
}
"""Optional roles of a recognised table, and the names of their columns."""
NEO4J_LABELS = ":LABEL"
EXAMPLE = "subject=1,predicate=2,object=3"
ADVICE = f"name the columns, for example --columns {EXAMPLE}"

GivenColumns = Mapping[str, str]
"""Role -> the name of its column, or its position; empty: leave it out."""


@dataclass(frozen=True)
class ColumnLayout:
    """Which column, from 0, has which role (`place`), of a table with `width` columns.

    `predicate` is that of every row if there is no predicate column; with `many`, a field may have several predicates,
    separated by `;`, as Neo4j writes the labels of a node. `has_header` says whether the names were in the first line.
    `note` says how the columns were read; empty if by position.
    """

    place: Mapping[str, int]
    width: int
    predicate: str = ""
    many: bool = False
    has_header: bool = False
    note: str = ""


POSITIONAL = ColumnLayout({"subject": 0, "predicate": 1, "object": 2, "weight": 3}, 4)
"""The layout without names; a row may have fewer columns."""


def parse_columns(given: str | Mapping[str, Any] | None) -> GivenColumns:
    """Return role -> column; `given` is a text such as `subject=source,object=target`, or a mapping.

    Raises ConfigError for anything else.

    >>> parse_columns("subject=source, object=2")
    {'subject': 'source', 'object': '2'}
    """
    if not given:
        return {}
    if not isinstance(given, str):
        pairs = [(str(role), str(column)) for role, column in given.items()]
    else:
        words = [word.partition("=") for word in given.split(",")]
        if not all(equals for _, equals, _ in words):
            raise ConfigError(f"columns: expected role=column such as {EXAMPLE}, got {given!r}", "columns")
        pairs = [(role, column) for role, _, column in words]
    found = {role.strip().lower(): column.strip() for role, column in pairs}
    unknown = [role for role in found if role not in (*ROLES, *FURTHER_ARGUMENTS)]
    if unknown or len(found) < len(pairs):
        got = f"the unknown role {unknown[0]!r}" if unknown else "a role twice"
        raise ConfigError(f"columns: expected {', '.join(ROLES)}, each at most once, got {got}", "columns")
    return found


def columns_text(given: str | Mapping[str, Any] | None) -> str:
    """Return `given` as the text that `parse_columns` reads."""
    return ",".join(f"{role}={column}" for role, column in parse_columns(given).items())


def find_layout(names: Sequence[str], given: GivenColumns, table: str) -> ColumnLayout:
    """Return the layout of a table with the columns `names`, which may also be the first fact.

    Args:
        names: the first line, or the names of the columns.
        given: the columns given by the user.
        table: the name of the table, for the predicate of pairs; empty: pairs are refused.
    """
    known = _recognised([_plain(name) for name in names])
    is_header = bool(known)
    place: dict[str, int] = {}
    has_name = False
    for role, column in given.items():
        if column:
            place[role], is_name = _place(column, names)
            has_name |= is_name
    if not place and not known:
        return POSITIONAL
    if not known and set(place) == {"time"}:
        known = {role: i for i, role in enumerate(ROLES[:3]) if i < len(names)}
    rest = {role: i for role, i in known.items() if role not in given and i not in place.values()}
    return _checked({**rest, **place}, names, table, has_name or is_header)


def _checked(chosen: Mapping[str, int], names: Sequence[str], table: str, has_header: bool) -> ColumnLayout:
    columns = ", ".join(repr(name.strip()) for name in names)
    if "subject" not in chosen or not {"predicate", "object"} & set(chosen):
        found = ", ".join(chosen) or "none of them"
        raise DataError(f"expected a subject and a predicate or an object among {columns}, got {found}; {ADVICE}")
    if "predicate" not in chosen and not table:
        raise DataError(f"expected a predicate among {columns}, got none; {ADVICE}")
    predicate = "" if "predicate" in chosen else table
    ordered = {role: chosen[role] for role in (*ROLES, *FURTHER_ARGUMENTS) if role in chosen}
    arguments = [role for role in ("object", *FURTHER_ARGUMENTS) if role in chosen]
    if len(arguments) > 1 and arguments[-1] != FURTHER_ARGUMENTS[len(arguments) - 2]:
        raise DataError(f"expected all arguments up to {arguments[-1]}, got {', '.join(arguments)}; {ADVICE}")
    shown = [name.strip() if has_header else str(i + 1) for i, name in enumerate(names)]
    many = not predicate and len(arguments) < 2 and names[ordered["predicate"]].strip(' "').endswith(NEO4J_LABELS)
    return ColumnLayout(ordered, len(names), predicate, many, has_header, _note(ordered, shown, predicate))


def _note(chosen: Mapping[str, int], names: Sequence[str], predicate: str) -> str:
    parts = [f"{role}={names[i]}" for role, i in chosen.items()]
    if predicate:
        parts.insert(1, f"predicate is {predicate!r} in each row")
    unread = [name for i, name in enumerate(names) if i not in chosen.values()]
    return f"columns read as {', '.join(parts)}" + (f"; not read: {', '.join(unread)}" if unread else "")


def _place(column: str, names: Sequence[str]) -> tuple[int, bool]:
    """Return the index of the column with this name, else with this number, and whether it is a name."""
    stripped = [name.strip(' "') for name in names]
    for known in (list(names), stripped, [name.lower() for name in stripped]):
        for text in (column, column.lower()):
            if text in known:
                return known.index(text), True
    if column.isdecimal() and len(column) < 10 and 1 <= int(column) <= len(names):
        return int(column) - 1, False
    raise DataError(f"expected a column {column!r}, got {', '.join(map(repr, stripped))}; {ADVICE}")


def _numbered(names: Sequence[str]) -> Iterator[str]:
    """Yield arg1, arg2 and so on as they are written in `names`, up to the first that is missing."""
    for number in range(1, MAX_ARGUMENTS + 1):
        written = [f"{word}{number}" for word in ("arg", "arg_", "argument", "argument_")]
        name = next((one for one in written if one in names), None)
        if name is None:
            return
        yield name


def _plain(name: str) -> str:
    """Return a name in lower case, and a Neo4j column as its plain role: `personId:ID(Person)` is id."""
    bare = name.strip(' "#').lower()
    if bare.endswith(")"):
        space = bare.find("(", bare.rfind(")", 0, -1) + 1)  # a regular expression would try each '(' of a long name
        bare = bare[:space] if space >= 0 else bare
    if match := re.fullmatch(r".*:(id|start_id|end_id|label|type)", bare):
        return match[1]
    return bare.lstrip("_")


def _recognised(names: Sequence[str]) -> dict[str, int]:
    """Return role -> column for recognised `names`; empty if they are not a header."""

    def first(some: Sequence[str], taken: Sequence[int] = ()) -> int | None:
        return next((names.index(name) for name in some if name in names and names.index(name) not in taken), None)

    found: dict[str, int] = {}
    for letters in LETTERS:
        if set(letters) <= set(names):
            found = dict(zip(ROLES[:3], map(names.index, letters)))
    for subject, object in ENDS:
        if not found and {subject, object} <= set(names):
            found = {"subject": names.index(subject), "object": names.index(object)}
            if (predicate := first((*PREDICATES, "label"))) is not None:
                found["predicate"] = predicate
    entity = first(ENTITIES)
    if not found and entity is not None and (predicate := first(CLASSES, [entity])) is not None:
        found = {"subject": entity, "predicate": predicate}
        if (label := first(("name", "title"), list(found.values()))) is not None and names[entity] == "id":
            found["label"] = label
    is_plain = len(names) == 3 and not any(first(some) is not None for some in FURTHER.values())
    if not found and is_plain and (predicate := first(CLEAR_PREDICATES)) is not None:
        ends = [place for place in range(3) if place != predicate]
        found = {"subject": ends[0], "predicate": predicate, "object": ends[1]}
    numbers = [place for name in _numbered(names) if (place := first([name])) is not None]
    predicate = first(PREDICATES)
    if not found and (len(numbers) > 1 or (numbers and predicate is not None)):
        found = dict(zip(("subject", "object", *FURTHER_ARGUMENTS), numbers))
        if predicate is not None:
            found["predicate"] = predicate
    if found:
        for role, some in FURTHER.items():
            if role not in found and (place := first(some, list(found.values()))) is not None:
                found[role] = place
    return found
