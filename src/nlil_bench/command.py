"""nlil bench NAME: measure, store the figures, show them as a table; `nlil bench tables` writes them into documents."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from nlil.cli.session import Session
from nlil.errors import ConfigError, LimitError, NlilError

from .registry import BENCHES, Bench, Request, load_bench

TABLES = "tables"
SPLITS = ("test", "valid")
HELP = "; ".join(
    [
        *(f"{name}: {text}" for name, text in BENCHES.items()),
        "tables: write stored figures into README.md and docs.",
    ]
)
QUICK = "quick: a small version, to see that it works; its figures replace no others and are not in the documents"


def bench(
    session: Session,
    what: Annotated[str, typer.Argument(metavar="|".join((*BENCHES, TABLES)), help=HELP)],
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="kb: nlil with one search (count, neural, both) or a baseline (popularity, neural-lp, dilp, transe, "
            "rotate); default: nlil, as `nlil learn`. scene, fewshot: only nlil, neural, freq, logistic or mlp. "
            "es, recovery: only this method. check: only nlil, popularity, transe or rotate.",
        ),
    ] = None,
    seeds: Annotated[
        int, typer.Option(min=1, metavar="N", help="kb, fewshot: means over this many seeds; folds: random splits.")
    ] = 1,
    split: Annotated[str, typer.Option(metavar="|".join(SPLITS), help="kb: the facts to predict.")] = "test",
    quick: Annotated[bool, typer.Option("--quick", help="A small version, to see that it works.")] = False,
    data: Annotated[
        str | None, typer.Option(metavar="A,B", help="Only these data sets; recovery: these constructs.")
    ] = None,
    seconds: Annotated[str | None, typer.Option(metavar="A,B", help="curve: seconds of learning.")] = None,
    sizes: Annotated[str | None, typer.Option(metavar="A,B", help="ladder: millions of facts.")] = None,
    peer: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Programs to measure too, with a venv. curve: AnyBURL.jar, PyClause; ilp: Popper's popper.py.",
        ),
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="One setting of learn.")
    ] = None,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where to store figures.")] = Path("benchmarks/results"),
    file: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="tables: only these Markdown files. Default: README.md and those of docs."),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="tables: write nothing; exit 1 if a table is not up to date.")
    ] = False,
) -> None:
    """Measure the tables of the paper and more, and store the figures beside the published ones."""
    names = tuple(name.strip() for name in data.split(",") if name.strip()) if data else None
    request = Request(session, names, quick, model, seeds, split, seconds, sizes, peer, tuple(settings or ()), out)
    if what == TABLES:
        write_tables(session, file, check, out)
        return
    if what not in BENCHES:
        raise ConfigError(f"bench {what}: not available; choose one of {', '.join((*BENCHES, TABLES))}")
    if file or check:
        raise ConfigError(f"--file, --check: bench {what} has no use for them; they are for bench tables")
    chosen = load_bench(what)
    check_request(what, chosen, request)
    measure(what, chosen, request)


def check_request(name: str, bench: Bench, request: Request) -> None:
    """An option that the bench has no use for is an error, not a surprise in the figures."""
    given = {
        "data": ",".join(request.names or ()),
        "model": request.model,
        "seeds": request.seeds if request.seeds > 1 else None,
        "split": request.split if request.split != "test" else None,
        "seconds": request.seconds,
        "sizes": request.sizes,
        "peer": request.peer,
        "set": " ".join(request.settings),
    }
    for option, value in given.items():
        if value and option not in bench.options:
            others = [other for other in BENCHES if option in load_bench(other).options]
            raise ConfigError(f"--{option} {value}: bench {name} has no use for it; it is for bench {listed(others)}")
    if request.split not in SPLITS:
        raise ConfigError(f"--split {request.split}: not available; choose one of {', '.join(SPLITS)}")
    if request.model is not None and request.model not in bench.models:
        raise ConfigError(f"--model {request.model}: not available; choose one of {', '.join(bench.models)}")
    if bench.names is not None:
        bench.names(request)
    bench.check(request)


def listed(names: list[str]) -> str:
    """
    >>> listed(["kb"]), listed(["kb", "scene", "es"])
    ('kb', 'kb, scene and es')
    """
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def measure(name: str, bench: Bench, request: Request) -> None:
    """Every data set, one after another; figures are kept as soon as they are there."""
    from .results import save_entries

    entries: dict[str, Any] = {}
    skipped: dict[str, str] = {}
    for data in usable(bench, request, skipped) if bench.names is None else bench.names(request):
        try:
            for found in bench.groups(name, request, data):
                save_entries(name, found, request.out)
                entries |= found
        except LimitError as error:
            if request.names is not None:
                raise
            skipped[data] = str(error)  # the usual sets are of all sizes, and a method for small ones does its own
            request.session.note(f"{data}: skipped, {error}")
    draw(name, bench, request)
    show(name, bench, request, entries, skipped)


def usable(bench: Bench, request: Request, skipped: dict[str, str]) -> Iterator[str]:
    """Data sets that are built in or on this machine. One that the user named and nobody knows is an error."""
    from nlil.data.catalog import catalog_names, find
    from nlil.datasets import builtin_names

    for name in request.names or (bench.quick_data if request.quick else bench.data):
        if name.partition(":")[0] in builtin_names() or find(name) is not None:
            yield name
        elif request.names and name not in catalog_names():
            if not Path(name).exists():
                raise NlilError(f"unknown data set {name!r}; nlil datasets lists those that are known")
            yield name
        else:
            skipped[name] = (
                f"not on this machine; nlil datasets get {name}, or name a folder that has it with NLIL_DATA"
            )
            request.session.note(f"{name}: skipped, {skipped[name]}")


def draw(name: str, bench: Bench, request: Request) -> None:
    """The picture of all entries; figures of --quick have a picture of their own."""
    from .results import read_entries

    if bench.draw is None:
        return
    kept = {key: e for key, e in read_entries(name, request.out).items() if e["quick"] == request.quick}
    if kept:
        path = request.out / (f"{name}_quick.png" if request.quick else f"{name}.png")
        request.session.note(f"drawn: {bench.draw(kept, path)}")


def show(name: str, bench: Bench, request: Request, entries: dict[str, Any], skipped: dict[str, str]) -> None:
    """What was measured, also where README.md and docs leave it out."""
    from rich.markdown import Markdown

    file = request.out / f"{name}.json"
    document = {"bench": name, "entries": entries, "skipped": skipped, "file": str(file)}
    shown = {key: {**entry, "quick": False, "split": "test"} for key, entry in entries.items()}
    if not entries:
        request.session.show(document, "nothing was measured")
        return
    quick = [QUICK] if any(entry["quick"] for entry in entries.values()) else []
    request.session.show(document, Markdown(bench.tables[name](shown)), *quick, f"kept in {file}")


def write_tables(session: Session, files: list[Path] | None, check: bool, out: Path) -> None:
    """With `check` nothing is written and a table that is not up to date ends with 1, as a formatter does."""
    from .tables import documents, stale, update

    changed = {str(path): (stale if check else update)(path, out) for path in files or documents(Path())}
    text = "not up to date: {}; run nlil bench tables" if check else "written: {}"
    session.show(
        {"files": changed, "written": not check},
        *(f"{name}: {text.format(', '.join(found)) if found else 'up to date'}" for name, found in changed.items()),
    )
    if check and any(changed.values()):
        raise typer.Exit(1)
