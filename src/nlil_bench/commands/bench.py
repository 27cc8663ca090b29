"""nlil bench kb|scene|fewshot|stats|scale|recovery|es|length|speed|curve|viewer|tables"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nlil.cli.session import Session
from nlil.errors import ConfigError

BENCHES = ("kb", "scene", "fewshot", "stats", "scale", "recovery", "es", "length", "speed", "curve", "viewer", "tables")
SPLITS = ("test", "valid")


def bench(
    session: Session,
    what: Annotated[
        str,
        typer.Argument(
            metavar="|".join(BENCHES),
            help="kb: knowledge graphs; scene: object classes; "
            "fewshot: object classes from few graphs; stats: counts of data sets; scale: "
            "loading; recovery: planted rules found again; es: even numbers; "
            "length: an epoch against the longest rule; speed: learning beside Neural-LP; "
            "curve: MRR against seconds of learning; viewer: how long pages take; "
            "tables: the figures kept so far into README.md and docs.",
        ),
    ],
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="kb: ours as `nlil learn` has it (default), or with "
            "one search (count, neural, both), or a baseline: popularity, neural-lp, "
            "dilp, transe, rotate; scene, fewshot: only nlil, freq, "
            "logistic or mlp; es: only this method.",
        ),
    ] = None,
    seeds: Annotated[
        int, typer.Option(min=1, metavar="N", help="kb: mean and standard deviation over so many seeds.")
    ] = 1,
    split: Annotated[str, typer.Option(metavar="|".join(SPLITS), help="kb: the facts that are asked about.")] = "test",
    quick: Annotated[bool, typer.Option("--quick", help="A small version, to see that it works.")] = False,
    data: Annotated[
        str | None, typer.Option(metavar="A,B", help="Only these data sets; constructs for recovery.")
    ] = None,
    seconds: Annotated[str | None, typer.Option(metavar="A,B", help="curve: how long is learned.")] = None,
    peer: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="curve: AnyBURL.jar, and venv with PyClause, to be measured beside ours."),
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="One setting of learn.")
    ] = None,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where figures are kept.")] = Path("benchmarks/results"),
    file: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="tables: only these Markdown files; otherwise README.md and those of docs."),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="tables: write nothing; exit 1 if a table is not up to date.")
    ] = False,
) -> None:
    """Measure the paper's tables, our figures beside its own, and keep the figures."""
    if what not in BENCHES:
        raise ConfigError(f"bench {what}: not available; choose one of {', '.join(BENCHES)}")
    check_model(what, model)
    check_options(what, seeds, split, bool(seconds or peer), bool(file or check))
    names = [name.strip() for name in data.split(",") if name.strip()] if data else None
    given = tuple(settings or ())
    from . import runs as bench_runs

    match what:
        case "kb":
            from .kb import bench_kb

            bench_kb(session, names, quick, model, seeds, split, given, out)
        case "scene" | "fewshot":
            from . import scene as bench_scene

            run = bench_scene.bench_scene if what == "scene" else bench_scene.bench_fewshot
            run(session, names, quick, model, given, out)
        case "stats":
            bench_runs.bench_stats(session, names, quick, out)
        case "scale":
            bench_runs.bench_scale(session, quick, out)
        case "recovery":
            bench_runs.bench_recovery(session, names, quick, given, out)
        case "es":
            bench_runs.bench_es(session, names, quick, model, given, out)
        case "length":
            bench_runs.bench_length(session, names, quick, out)
        case "speed":
            bench_runs.bench_speed(session, names, quick, out)
        case "curve":
            from .curve import bench_curve

            bench_curve(session, names, quick, seconds, peer, out)
        case "viewer":
            bench_runs.bench_viewer(session, names, quick, out)
        case _:
            bench_tables(session, file, check, out)


def check_model(what: str, model: str | None) -> None:
    """A model that the bench has no use for is an error, not a surprise in the figures."""
    if model is None:
        return
    if what == "kb":
        from ..baselines.interface import CLASS_NAMES, NAMES
        from ..kb import SEARCHES

        known: tuple[str, ...] = (*SEARCHES, *(name for name in NAMES if name not in CLASS_NAMES))
    elif what in ("scene", "fewshot"):
        from ..scene import ROWS

        known = tuple(ROWS)
    elif what == "es":
        from ..es import METHODS as known
    else:
        raise ConfigError(f"--model {model}: bench {what} has no use for it; it is for bench kb, scene, fewshot and es")
    if model not in known:
        raise ConfigError(f"--model {model}: not available; choose one of {', '.join(known)}")


def check_options(what: str, seeds: int, split: str, about_curves: bool, about_files: bool) -> None:
    """Likewise the options of one bench."""
    if seeds > 1 and what != "kb":
        raise ConfigError(f"--seeds {seeds}: bench {what} has no use for it; it is for bench kb")
    if split not in SPLITS:
        raise ConfigError(f"--split {split}: not available; choose one of {', '.join(SPLITS)}")
    if split != "test" and what != "kb":
        raise ConfigError(f"--split {split}: bench {what} has no use for it; it is for bench kb")
    if about_curves and what != "curve":
        raise ConfigError(f"--seconds, --peer: bench {what} has no use for them; they are for bench curve")
    if about_files and what != "tables":
        raise ConfigError(f"--file, --check: bench {what} has no use for them; they are for bench tables")


def bench_tables(session: Session, files: list[Path] | None, check: bool, out: Path) -> None:
    """With `check` nothing is written and a table that is not up to date ends with 1, as a formatter does."""
    from ..tables import places, stale, update

    stales: dict[str, list[str]] = {}
    for path in files or places(Path()):
        found = stale(path, out) if check else update(path, out)
        stales[str(path)] = found
    said = "not up to date: {}; run nlil bench tables" if check else "written: {}"
    session.show(
        {"files": stales, "written": not check},
        *(f"{name}: {said.format(', '.join(found)) if found else 'up to date'}" for name, found in stales.items()),
    )
    if check and any(stales.values()):
        raise typer.Exit(1)
