"""nlil datasets [list | get NAME]"""

from __future__ import annotations

from ..errors import ConfigError
from .session import Session


def datasets(session: Session, action: str = "list", name: str | None = None) -> None:
    """List the data sets that are known by name, or fetch one into the cache.

    Args:
        session: The common options.
        action ([list|get]): What to do.
        name ([NAME]): The set to get.
    """
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
    """Show every set that is known by name."""
    from ..data.catalog import list_catalog
    from ..datasets import builtin_names
    from .render import table

    builtin = builtin_names()
    known = [entry.to_dict() for entry in list_catalog()]
    rows = [(name, description, "built in", "generated") for name, description in builtin.items()]
    for entry in known:
        where = entry["path"] or (f"nlil datasets get {entry['name']}" if entry["downloadable"] else "not available")
        rows.append((entry["name"], entry["description"], where, entry["licence"]))
    shown = table(("name", "what", "where", "licence"), rows)
    session.show({"builtin": [{"name": n, "description": d} for n, d in builtin.items()], "catalog": known}, shown)


def get(session: Session, name: str) -> None:
    """Fetch the set `name` of the catalogue, or say where it is."""
    from ..data.catalog import download, find
    from ..datasets import builtin_names

    if name.partition(":")[0] in builtin_names():
        session.show({"name": name, "path": None, "builtin": True}, f"{name} is built in, there is nothing to fetch")
        return
    path = find(name) or download(name)
    session.show({"name": name, "path": str(path), "builtin": False}, f"{name}: {path}")
