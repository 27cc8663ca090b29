"""What the benches of the command line share: which sets are there, measuring apart, keeping and showing figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from nlil.cli.session import Session
from nlil.errors import NlilError

Key = Callable[[Mapping[str, Any], Mapping[str, Any]], str]
"""What an entry is kept under, from the entry and its job."""
QUICK = "quick: a small version, to see that it works; its figures replace no others and stay out of the documents"


def measure_all(session: Session, bench: str, jobs: list[dict[str, Any]], key: Key, out: Path) -> None:
    finish(session, bench, measured(session, bench, jobs, key, out), {}, out)


def measured(
    session: Session, bench: str, jobs: list[dict[str, Any]], key: Key, out: Path, together: bool = False
) -> dict[str, Any]:
    """Each job in a process of its own; figures are kept as soon as they are there.

    `together`: as soon as all are there, so that figures of one comparison never come from two runs.
    """
    from ..job import measure_apart
    from ..record import save_entries

    entries: dict[str, Any] = {}
    for number, job in enumerate(jobs, start=1):
        words = ("data", "noise", "method", "model", "levels", "length", "told")
        told = [str(job[word]) for word in words if word in job]
        session.note(f"{number} of {len(jobs)}: {', '.join(told)}")
        with session.progress() as progress:
            entry = measure_apart(job, progress)
        entries[key(entry, job)] = entry
        if not together or number == len(jobs):
            save_entries(bench, entries, out)
    return entries


def given_options(session: Session) -> dict[str, Any]:
    """The common options that the user gave."""
    given = {"seed": session.seed, "device": session.device, "threads": session.threads, "memory": session.memory}
    return {k: v for k, v in given.items() if v is not None}


def available(session: Session, name: str, skipped: dict[str, str], asked: bool) -> bool:
    """Built in, or on this machine. A set that was asked for by name is an error, another one is passed over."""
    from nlil.data import find
    from nlil.data.catalog import catalog_names
    from nlil.datasets import builtin_names

    if name.partition(":")[0] in builtin_names() or find(name) is not None:
        return True
    if asked and name not in catalog_names():
        if Path(name).exists():
            return True
        raise NlilError(f"unknown data set {name!r}; nlil datasets lists those that are known")
    skipped[name] = f"not on this machine; nlil datasets get {name}, or name a folder that has it with NLIL_DATA"
    session.note(f"{name}: skipped, {skipped[name]}")
    return False


def finish(session: Session, bench: str, entries: dict[str, Any], skipped: dict[str, str], out: Path) -> None:
    from rich.markdown import Markdown

    from ..tables import TABLES

    # What was asked for is shown, also where README.md and docs leave it out.
    shown = {key: {**entry, "quick": False, "split": "test"} for key, entry in entries.items()}
    document = {"bench": bench, "entries": entries, "skipped": skipped, "file": str(out / f"{bench}.json")}
    if entries:
        quick = any(entry.get("quick") for entry in entries.values())
        session.show(
            document, Markdown(TABLES[bench](shown)), *([QUICK] if quick else []), f"kept in {out / f'{bench}.json'}"
        )
    else:
        session.show(document, "nothing was measured")
