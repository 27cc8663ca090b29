"""nlil datasets [list | get NAME | cache [--clear [NAME]]]"""

from __future__ import annotations

from ..errors import ConfigError
from .session import Session


def datasets(session: Session, action: str = "list", name: str | None = None, *, clear: bool = False) -> None:
    """List the data sets that are known by name, download one, or show the cache of large sources.

    Facts that take longer than about a second to read are stored in the folder of NLIL_CACHE, or else in the user's
    cache folder; later commands map them into memory. A source that has changed is read again.

    Args:
        session: The common options.
        action ([list|get|cache]): What to do.
        name ([NAME]): The data set to download, or to remove from the cache: its name or its path.
        clear: With cache: remove the data set from the cache; without a name, all of them.
    """
    match action, name, clear:
        case "list", None, False:
            show_list(session)
        case "get", str(wanted), False:
            get(session, wanted)
        case "get", None, False:
            raise ConfigError("datasets get needs the name of a set; nlil datasets lists them")
        case "cache", None, False:
            show_cache(session)
        case "cache", _, True:
            clear_cache(session, name)
        case _:
            words = " ".join(filter(None, (action, name, "--clear" if clear else None)))
            raise ConfigError(f"datasets: expected list, get NAME or cache [--clear [NAME]], got {words!r}")


def show_list(session: Session) -> None:
    """List every data set that is known by name."""
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
    """Download the data set `name` of the catalogue, or say where it is."""
    from ..data.catalog import download, find
    from ..datasets import builtin_names

    if name.partition(":")[0] in builtin_names():
        session.show({"name": name, "path": None, "builtin": True}, f"{name} is built in; there is nothing to download")
        return
    path = find(name) or download(name)
    session.show({"name": name, "path": str(path), "builtin": False}, f"{name}: {path}")


def show_cache(session: Session) -> None:
    """Show the cached data sets."""
    from dataclasses import asdict
    from datetime import datetime

    from ..datasets.cache import facts_folder, list_cached
    from .render import table

    found, folder = list_cached(), facts_folder()
    rows = []
    for kept in found:
        used = datetime.fromtimestamp(kept.used).strftime("%Y-%m-%d %H:%M")
        source = kept.source if kept.state == "current" else f"{kept.source} ({kept.state})"
        rows.append((kept.name, source, f"{kept.facts:,}", megabytes(kept.size), used))
    view = table(("name", "source", "facts", "size", "last used"), rows) if found else f"{folder} keeps no facts"
    session.show({"folder": None if folder is None else str(folder), "sets": [asdict(kept) for kept in found]}, view)


def clear_cache(session: Session, name: str | None) -> None:
    """Remove the data set `name` from the cache, or all if it is None."""
    from ..datasets.cache import clear_cached

    removed = clear_cached(name)
    size = sum(kept.size for kept in removed)
    said = f"removed {len(removed)} cached data {'set' if len(removed) == 1 else 'sets'}, {megabytes(size)}"
    session.show({"removed": [kept.source for kept in removed], "bytes": size}, said)


def megabytes(size: int) -> str:
    """Return a `size` in bytes as readable text."""
    return f"{size / 1e6:,.1f} MB"
