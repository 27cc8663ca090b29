"""nlil datasets [list | get NAME]"""

from __future__ import annotations

from typing import Annotated

import typer

from ..errors import ConfigError
from .session import Session


def datasets(
    session: Session,
    action: Annotated[str, typer.Argument(metavar="[list|get]", help="What to do.")] = "list",
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="The set to get.")] = None,
) -> None:
    """List the data sets that are known by name, or fetch one into the cache."""
    match action, name:
        case "list", None:
            show_list(session)
        case "get", str(wanted):
            get(session, wanted)
        case "get", None:
            raise ConfigError("datasets get needs the name of a set; nlil datasets lists them")
        case _:
            raise ConfigError(f"datasets: expected list or get NAME, got {' '.join(filter(None, (action, name)))!r}")


def show_list(session: Session) -> None:
    from ..data.catalog import list_catalog
    from ..datasets import builtin_names
    from .render import cells, plain_table

    builtin = builtin_names()
    known = [entry.to_dict() for entry in list_catalog()]
    table = plain_table("name", "what", "where", "licence")
    for name, description in builtin.items():
        table.add_row(*cells(name, description, "built in", "generated"))
    for entry in known:
        where = entry["path"] or (f"nlil datasets get {entry['name']}" if entry["downloadable"] else "not available")
        table.add_row(*cells(entry["name"], entry["description"], where, entry["licence"]))
    session.show({"builtin": [{"name": n, "description": d} for n, d in builtin.items()], "catalog": known}, table)


def get(session: Session, name: str) -> None:
    from ..data.catalog import download, find
    from ..datasets import builtin_names

    if name.partition(":")[0] in builtin_names():
        session.show({"name": name, "path": None, "builtin": True}, f"{name} is built in, there is nothing to fetch")
        return
    path = find(name) or download(name)
    session.show({"name": name, "path": str(path), "builtin": False}, f"{name}: {path}")
