"""nlil bench kb|stats|scale|tables"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import ConfigError, NlilError
from .session import Session

BENCHES = ("kb", "stats", "scale", "tables")
MODELS = ("count",)


def bench(
    session: Session,
    what: Annotated[str, typer.Argument(metavar="kb|stats|scale|tables", help="The bench; tables writes the figures "
                                        "kept so far into README.md.")],
    model: Annotated[str, typer.Option(metavar="NAME", help="How rules are found: count.")] = "count",
    quick: Annotated[bool, typer.Option("--quick", help="A small version, to see that it works.")] = False,
    data: Annotated[str | None, typer.Option(metavar="A,B", help="Only these data sets.")] = None,
    settings: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="One setting of learn.")]
    = None,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where figures are kept.")] = Path("benchmarks/results"),
    readme: Annotated[Path, typer.Option(metavar="FILE", help="What `bench tables` fills.")] = Path("README.md"),
) -> None:
    """Measure the paper's tables, our figures beside its own, and keep the figures."""
    if what not in BENCHES:
        raise ConfigError(f"bench {what}: not available; choose one of {', '.join(BENCHES)}")
    if model not in MODELS:
        raise ConfigError(f"--model {model}: not available; choose one of {', '.join(MODELS)}")
    names = [name.strip() for name in data.split(",") if name.strip()] if data else None
    match what:
        case "kb":
            bench_kb(session, names, quick, (*(settings or ()), f"search={model}"), out)
        case "stats":
            bench_stats(session, names, quick, out)
        case "scale":
            bench_scale(session, quick, out)
        case _:
            from ..bench.tables import update

            changed = update(readme, out)
            session.show({"readme": str(readme), "changed": changed},
                         f"{readme}: {'tables written' if changed else 'up to date'}")


def bench_kb(session: Session, names: list[str] | None, quick: bool, settings: tuple[str, ...], out: Path) -> None:
    from ..bench import kb
    from ..bench.job import measure_apart
    from ..bench.record import save_entries
    from ..learning.config import LearnerConfig

    session.configure(LearnerConfig().with_settings(settings))  # a wrong setting is told before anything runs
    given = {"seed": session.seed, "device": session.device, "threads": session.threads, "memory": session.memory}
    options = {k: v for k, v in given.items() if v is not None}
    entries: dict[str, Any] = {}
    skipped: dict[str, str] = {}
    plain = tuple(s for s in settings if s != "search=count")
    for name in names or (kb.QUICK_DATA if quick else kb.DATA):
        if not available(session, name, skipped, asked=names is not None):
            continue
        job = kb.job(name, plain, options, quick)
        session.note(f"{name}: learning and evaluating")
        with session.progress() as progress:
            entry = measure_apart(job, progress)
        entries[kb.key(entry, job)] = entry
        save_entries("kb", entries, out)
    finish(session, "kb", entries, skipped, out)


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
