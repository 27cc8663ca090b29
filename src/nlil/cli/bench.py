"""nlil bench kb|stats|scale|recovery|es|length|speed|tables"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import ConfigError, NlilError
from .session import Session

BENCHES = ("kb", "stats", "scale", "recovery", "es", "length", "speed", "tables")
SEARCHES = ("count", "neural", "both")
Key = Callable[[Mapping[str, Any], Mapping[str, Any]], str]
"""What an entry is kept under, from the entry and its job."""


def bench(
    session: Session,
    what: Annotated[str, typer.Argument(metavar="|".join(BENCHES), help="kb: knowledge graphs; stats: counts of data "
                                        "sets; scale: loading; recovery: planted rules found again; es: even numbers; "
                                        "length: an epoch against the longest rule; speed: learning beside Neural-LP; "
                                        "tables: the figures kept so far into README.md.")],
    model: Annotated[str | None, typer.Option(metavar="NAME", help="kb: count (default), neural or both, or a "
                                              "baseline: popularity, neural-lp, dilp, transe, rotate; es: only this "
                                              "method.")] = None,
    seeds: Annotated[int, typer.Option(min=1, metavar="N", help="kb: mean and standard deviation over so many seeds.")]
    = 1,
    quick: Annotated[bool, typer.Option("--quick", help="A small version, to see that it works.")] = False,
    data: Annotated[str | None, typer.Option(metavar="A,B", help="Only these data sets; constructs for recovery.")]
    = None,
    settings: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="One setting of learn.")]
    = None,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where figures are kept.")] = Path("benchmarks/results"),
    readme: Annotated[Path, typer.Option(metavar="FILE", help="What `bench tables` fills.")] = Path("README.md"),
) -> None:
    """Measure the paper's tables, our figures beside its own, and keep the figures."""
    if what not in BENCHES:
        raise ConfigError(f"bench {what}: not available; choose one of {', '.join(BENCHES)}")
    check_model(what, model, seeds)
    names = [name.strip() for name in data.split(",") if name.strip()] if data else None
    match what:
        case "kb":
            bench_kb(session, names, quick, model or "count", seeds, tuple(settings or ()), out)
        case "stats":
            bench_stats(session, names, quick, out)
        case "scale":
            bench_scale(session, quick, out)
        case "recovery":
            bench_recovery(session, names, quick, tuple(settings or ()), out)
        case "es":
            bench_es(session, names, quick, model, tuple(settings or ()), out)
        case "length":
            bench_length(session, names, quick, out)
        case "speed":
            bench_speed(session, names, quick, out)
        case _:
            from ..bench.tables import update

            changed = update(readme, out)
            session.show({"readme": str(readme), "changed": changed},
                         f"{readme}: {'tables written' if changed else 'up to date'}")


def check_model(what: str, model: str | None, seeds: int) -> None:
    """A model or a number of seeds that the bench has no use for is an error, not a surprise in the figures."""
    if seeds > 1 and what != "kb":
        raise ConfigError(f"--seeds {seeds}: bench {what} has no use for it; it is for bench kb")
    if model is None:
        return
    if what == "kb":
        from ..baselines import NAMES

        known: tuple[str, ...] = (*SEARCHES, *NAMES)
    elif what == "es":
        from ..bench.es import METHODS as known
    else:
        raise ConfigError(f"--model {model}: bench {what} has no use for it; it is for bench kb and bench es")
    if model not in known:
        raise ConfigError(f"--model {model}: not available; choose one of {', '.join(known)}")


def bench_kb(session: Session, names: list[str] | None, quick: bool, model: str, seeds: int,
             settings: tuple[str, ...], out: Path) -> None:
    from ..bench import kb
    from ..bench.job import measure_apart
    from ..bench.record import save_entries
    from ..errors import LimitError

    options = given_options(session)
    plain = check_settings(session, model, settings, options)
    entries: dict[str, Any] = {}
    skipped: dict[str, str] = {}
    for name in names or (kb.QUICK_DATA if quick else kb.DATA):
        if not available(session, name, skipped, asked=names is not None):
            continue
        job = kb.job(name, plain, options, quick, kb.OURS if model in SEARCHES else model, seeds)
        found = []
        try:
            for number, part in enumerate(kb.seed_jobs(job), start=1):
                told = f", {number} of {seeds} seeds" if seeds > 1 else ""
                session.note(f"{name}: learning and evaluating, {model}{told}")
                with session.progress() as progress:
                    found.append(measure_apart(part, progress))
        except LimitError as error:
            if names is not None:
                raise
            skipped[name] = str(error)  # the usual sets are of all sizes, and a method for small ones does its own
            session.note(f"{name}: skipped, {error}")
            continue
        entry = kb.combined(found)
        entries[kb.key(entry, job)] = entry
        save_entries("kb", entries, out)
    finish(session, "kb", entries, skipped, out)


def check_settings(session: Session, model: str, settings: tuple[str, ...], options: dict[str, Any]) -> tuple[str, ...]:
    """The settings for the job. A wrong one is told before anything runs."""
    from ..learning.config import LearnerConfig

    if model not in SEARCHES:
        from ..baselines import make_baseline

        session.configure(LearnerConfig())
        make_baseline(model, settings, options)
        return settings
    settings = (*settings, f"search={model}")
    session.configure(LearnerConfig().with_settings(settings))
    return tuple(s for s in settings if s != "search=count")


def bench_stats(session: Session, names: list[str] | None, quick: bool, out: Path) -> None:
    from ..bench import stats
    from ..bench.record import save_entries

    skipped: dict[str, str] = {}
    chosen = names or (stats.QUICK_DATA if quick else stats.DATA)
    usable = [name for name in chosen if available(session, name, skipped, asked=names is not None)]
    entries = {name: stats.measure(name, session.seed or 0) for name in usable}
    if entries:
        save_entries("stats", entries, out)
    finish(session, "stats", entries, skipped, out)


def bench_scale(session: Session, quick: bool, out: Path) -> None:
    from ..bench import scale
    from ..bench.record import save_entries

    size = scale.QUICK_TRIPLES if quick else scale.NUM_TRIPLES
    with session.progress() as progress:
        entries = {f"{size}": scale.run(size, session.seed or 0, progress)}
    save_entries("scale", entries, out)
    finish(session, "scale", entries, {}, out)


def bench_recovery(session: Session, names: list[str] | None, quick: bool, settings: tuple[str, ...], out: Path
                   ) -> None:
    from ..bench import recovery
    from ..data.planted import CONSTRUCTS
    from ..errors import UnknownName
    from ..learning.config import LearnerConfig

    for name in names or ():
        if name not in CONSTRUCTS:
            raise UnknownName("construct", name, CONSTRUCTS, f"the constructs are {', '.join(CONSTRUCTS)}")
    session.configure(LearnerConfig().with_settings(settings))
    options = {k: v for k, v in given_options(session).items() if k != "seed"}
    seeds = recovery.SEEDS[:1] if quick else recovery.SEEDS
    if session.seed is not None:
        seeds = (session.seed,)
        options["seed"] = session.seed  # so that the entry of one seed does not replace that of all
    jobs = [recovery.job(construct, noise, seeds, settings, options, quick) for construct, noise in
            recovery.cases(quick) if names is None or construct in names]
    measure_all(session, "recovery", jobs, recovery.key, out)


def bench_es(session: Session, names: list[str] | None, quick: bool, model: str | None, settings: tuple[str, ...],
             out: Path) -> None:
    from ..bench import es
    from ..learning.config import LearnerConfig

    session.configure(LearnerConfig().with_settings(settings))
    every = [job for job in es.jobs(quick, settings, given_options(session)) if model in (None, job["method"])]
    jobs = [job for job in every if names is None or job["data"] in names]
    if not jobs:
        known = ", ".join(dict.fromkeys(job["data"] for job in every))
        raise ConfigError(f"--data {','.join(names or ())}: expected some of {known}")
    measure_all(session, "es", jobs, es.key, out)


def bench_length(session: Session, names: list[str] | None, quick: bool, out: Path) -> None:
    from ..bench import length
    from ..bench.plots import plot_length
    from ..bench.record import read_entries

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
    kept = {key: entry for key, entry in read_entries("length", out).items()
            if not entry["quick"] and entry["data"] == length.DATA}
    if kept:
        session.note(f"drawn: {plot_length(kept, out / 'length.png')}")
    finish(session, "length", entries, skipped, out)


def bench_speed(session: Session, names: list[str] | None, quick: bool, out: Path) -> None:
    from ..bench import speed

    skipped: dict[str, str] = {}
    entries: dict[str, Any] = {}
    for name in names or speed.DATA:
        if available(session, name, skipped, asked=names is not None):
            both = speed.jobs(name, session.seed or 0, quick)
            entries |= measured(session, "speed", both, lambda entry, job: speed.key(entry), out, together=True)
    finish(session, "speed", entries, skipped, out)


def measure_all(session: Session, bench: str, jobs: list[dict[str, Any]], key: Key, out: Path) -> None:
    finish(session, bench, measured(session, bench, jobs, key, out), {}, out)


def measured(session: Session, bench: str, jobs: list[dict[str, Any]], key: Key, out: Path,
             together: bool = False) -> dict[str, Any]:
    """Each job in a process of its own; figures are kept as soon as they are there.

    `together`: as soon as all are there, so that figures of one comparison never come from two runs.
    """
    from ..bench.job import measure_apart
    from ..bench.record import save_entries

    entries: dict[str, Any] = {}
    for number, job in enumerate(jobs, start=1):
        told = [str(job[word]) for word in ("data", "noise", "method", "model", "levels", "length") if word in job]
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
    from ..data import builtin_names, find
    from ..data.catalog import catalog_names

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

    from ..bench.tables import TABLES

    shown = {key: {**entry, "quick": False} for key, entry in entries.items()}
    document = {"bench": bench, "entries": entries, "skipped": skipped, "file": str(out / f"{bench}.json")}
    if entries:
        session.show(document, Markdown(TABLES[bench](shown)), f"kept in {out / f'{bench}.json'}")
    else:
        session.show(document, "nothing was measured")
