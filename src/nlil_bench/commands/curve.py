"""nlil bench curve"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nlil.cli.session import Session
from nlil.errors import ConfigError

from .parts import QUICK, available


def bench_curve(
    session: Session, names: list[str] | None, quick: bool, seconds: str | None, peer: Path | None, out: Path
) -> None:
    """For each set the peer, then ours: the same minutes, never at the same time."""
    from .. import curve
    from ..peer import Peer
    from ..record import save_entries

    limits = parse_limits(seconds) if seconds else curve.QUICK_SECONDS if quick else curve.SECONDS
    if peer is not None:
        Peer(peer).check()
    skipped: dict[str, str] = {}
    entries: dict[str, Any] = {}
    threads, seed = session.threads or curve.THREADS, session.seed or 0
    sets = [
        name
        for name in names or (curve.QUICK_DATA if quick else curve.DATA)
        if available(session, name, skipped, asked=names is not None)
    ]
    if sets:
        _measured(session, curve.compile_job(threads), "compiling")
    for name in sets:
        found: dict[str, Any] = {}
        if peer is not None:
            job = curve.peer_job(name, limits, peer.absolute(), threads, seed, quick)
            found |= _measured(session, job, f"{name}: AnyBURL for {limits[-1]} s, then PyClause")
        for limit in limits:
            mine = _measured(session, curve.our_job(name, limit, threads, seed, quick), f"{name}: ours, {limit} s")
            found |= mine
            (entry,) = mine.values()
            if not entry["partial"]:
                found |= curve.later(entry, limits)
                break
        save_entries("curve", found, out)  # both at once: a comparison never comes from two runs
        entries |= found
    _finish(session, entries, skipped, quick, out)


def parse_limits(text: str) -> tuple[int, ...]:
    """
    >>> parse_limits("10,50")
    (10, 50)
    """
    words = [word.strip().removesuffix("s") for word in text.split(",")]
    if not all(word.isdecimal() and int(word) for word in words):
        raise ConfigError(f"--seconds {text}: expected whole seconds such as 10,50,100,250")
    return tuple(sorted({int(word) for word in words}))


def _measured(session: Session, job: dict[str, Any], told: str) -> dict[str, Any]:
    from ..job import measure_apart

    session.note(told)
    with session.progress() as progress:
        return dict(measure_apart(job, progress)["entries"])


def _finish(session: Session, entries: dict[str, Any], skipped: dict[str, str], quick: bool, out: Path) -> None:
    from rich.markdown import Markdown

    from ..curve import curve_table
    from ..curve_plot import plot_curve
    from ..record import read_entries

    file = out / "curve.json"
    document = {"bench": "curve", "entries": entries, "skipped": skipped, "file": str(file)}
    if not entries:
        session.show(document, "nothing was measured")
        return
    kept = {key: entry for key, entry in read_entries("curve", out).items() if not entry["quick"]}
    if kept and not quick:
        session.note(f"drawn: {plot_curve(kept, out / 'curve.png')}")
    shown = {key: {**entry, "quick": False} for key, entry in entries.items()}
    session.show(document, Markdown(curve_table(shown)), *([QUICK] if quick else []), f"kept in {file}")
