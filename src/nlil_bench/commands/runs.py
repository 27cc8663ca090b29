"""nlil bench stats|scale|recovery|es|length|speed|viewer"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nlil.cli.session import Session
from nlil.errors import ConfigError

from .parts import available, finish, given_options, measure_all, measured


def bench_stats(session: Session, names: list[str] | None, quick: bool, out: Path) -> None:
    from .. import stats

    skipped: dict[str, str] = {}
    chosen = names or (stats.QUICK_DATA if quick else stats.DATA)
    usable = [name for name in chosen if available(session, name, skipped, asked=names is not None)]
    jobs = [stats.job(name, session.seed or 0, quick) for name in usable]
    finish(session, "stats", measured(session, "stats", jobs, stats.key, out), skipped, out)


def bench_scale(session: Session, quick: bool, out: Path) -> None:
    from .. import scale
    from ..record import save_entries

    size = scale.QUICK_TRIPLES if quick else scale.NUM_TRIPLES
    with session.progress() as progress:
        entry = scale.run(size, session.seed or 0, quick, progress)
    entries = {scale.key(entry): entry}
    save_entries("scale", entries, out)
    finish(session, "scale", entries, {}, out)


def bench_recovery(
    session: Session, names: list[str] | None, quick: bool, settings: tuple[str, ...], out: Path
) -> None:
    from nlil.data.planted import CONSTRUCTS
    from nlil.errors import UnknownName
    from nlil.learning.config import LearnerConfig

    from .. import recovery

    for name in names or ():
        if name not in CONSTRUCTS:
            raise UnknownName("construct", name, CONSTRUCTS, f"the constructs are {', '.join(CONSTRUCTS)}")
    session.configure(LearnerConfig().with_settings(settings))
    options = {k: v for k, v in given_options(session).items() if k != "seed"}
    seeds = recovery.SEEDS[:1] if quick else recovery.SEEDS
    if session.seed is not None:
        seeds = (session.seed,)
        options["seed"] = session.seed  # so that the entry of one seed does not replace that of all
    jobs = [
        recovery.job(construct, noise, seeds, settings, options, quick)
        for construct, noise in recovery.cases(quick, names)
    ]
    measure_all(session, "recovery", jobs, recovery.key, out)


def bench_es(
    session: Session, names: list[str] | None, quick: bool, model: str | None, settings: tuple[str, ...], out: Path
) -> None:
    from nlil.learning.config import LearnerConfig

    from .. import es

    session.configure(LearnerConfig().with_settings(settings))
    every = [job for job in es.jobs(quick, settings, given_options(session)) if model in (None, job["method"])]
    jobs = [job for job in every if names is None or job["data"] in names]
    if not jobs:
        known = ", ".join(dict.fromkeys(job["data"] for job in every))
        raise ConfigError(f"--data {','.join(names or ())}: expected some of {known}")
    measure_all(session, "es", jobs, es.key, out)


def bench_length(session: Session, names: list[str] | None, quick: bool, out: Path) -> None:
    from .. import length
    from ..plots import plot_length
    from ..record import read_entries

    skipped: dict[str, str] = {}
    entries: dict[str, Any] = {}
    lengths, seed = length.QUICK_LENGTHS if quick else length.LENGTHS, session.seed or 0
    for name in names or (length.DATA,):
        if not available(session, name, skipped, asked=names is not None):
            continue
        ours = [length.our_job(name, levels, seed, quick) for levels in sorted(set(map(length.levels_for, lengths)))]
        entries |= measured(session, "length", ours, lambda entry, job: length.key(entry), out)
        for size in lengths:
            chain = [length.chain_job(name, size, seed, quick)]
            found = measured(session, "length", chain, lambda entry, job: length.key(entry), out)
            entries |= found
            if any(entry["seconds"]["epoch"] > length.LONGEST_EPOCH for entry in found.values()):
                break
    kept = {
        key: entry
        for key, entry in read_entries("length", out).items()
        if not entry["quick"] and entry["data"] == length.DATA
    }
    if kept and not quick:
        session.note(f"drawn: {plot_length(kept, out / 'length.png')}")
    finish(session, "length", entries, skipped, out)


def bench_speed(session: Session, names: list[str] | None, quick: bool, out: Path) -> None:
    from .. import speed

    skipped: dict[str, str] = {}
    entries: dict[str, Any] = {}
    for name in names or (speed.QUICK_DATA if quick else speed.DATA):
        if available(session, name, skipped, asked=names is not None):
            both = speed.jobs(name, session.seed or 0, quick)
            entries |= measured(session, "speed", both, lambda entry, job: speed.key(entry), out, together=True)
    finish(session, "speed", entries, skipped, out)


def bench_viewer(session: Session, names: list[str] | None, quick: bool, out: Path) -> None:
    from nlil.errors import require

    from .. import viewer

    for package in ("fastapi", "uvicorn", "jinja2"):
        require(package, "viewer", "the viewer")
    skipped: dict[str, str] = {}
    chosen = names or (viewer.QUICK_DATA if quick else viewer.DATA)
    usable = [name for name in chosen if available(session, name, skipped, asked=names is not None)]
    jobs = [viewer.job(name, session.seed or 0, quick) for name in usable]
    finish(session, "viewer", measured(session, "viewer", jobs, viewer.key, out), skipped, out)
