"""The benches by name. A new one is a module with a `BENCH`, and a line in BENCHES: command, help and tables follow.

The module of a bench has the bench's name; it is imported when the bench is run or its table is written.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nlil.errors import NlilError

from .results import Entries, Entry, Job, job_key

if TYPE_CHECKING:
    from nlil.cli.session import Session
    from nlil.progress import Progress

BENCHES: Mapping[str, str] = {
    "kb": "knowledge graphs",
    "theory": "quality against the number of rules",
    "folds": "learning with and without a validation file",
    "scene": "object classes",
    "fewshot": "object classes from few graphs",
    "stats": "counts of data sets",
    "scale": "loading",
    "cluster": "learning on Ray clusters of this machine",
    "debian": "the Debian package graph",
    "ladder": "learning and evaluating generated graphs of up to 20 million facts",
    "recovery": "planted rules found again",
    "es": "even numbers",
    "ilp": "small logic programs",
    "length": "an epoch against the longest rule",
    "speed": "learning beside Neural-LP",
    "curve": "MRR against seconds of learning",
    "explanations": "how short, independent and faithful explanations are",
    "check": "wrong facts found again",
    "viewer": "how long pages take",
    "start": "CPU time of small commands, and the first demo",
}
"""Name -> what it measures, in a few words, in the order of the help page."""


@dataclass(frozen=True)
class Request:
    """What the user gave to `nlil bench NAME`.

    Attributes:
        session: The common options, and where output goes.
        names: Data sets of --data; None: the bench's own.
        quick: A small version, to see that it works.
        model: The one model to measure; None: all of the bench, or nlil.
        seeds: Mean and standard deviation over so many seeds.
        split: The facts that queries are made of, `test` or `valid`.
        seconds: Limits of learning, as text such as `10,50`.
        sizes: Millions of facts, as text such as `0.3,1`.
        peer: Folder with the programs to compare with.
        settings: `key=value` words of --set.
        out: Folder that keeps the figures.
    """

    session: Session
    names: tuple[str, ...] | None = None
    quick: bool = False
    model: str | None = None
    seeds: int = 1
    split: str = "test"
    seconds: str | None = None
    sizes: str | None = None
    peer: Path | None = None
    settings: tuple[str, ...] = ()
    out: Path = Path("benchmarks/results")

    @cached_property
    def options(self) -> dict[str, Any]:
        """The common options that the user gave."""
        names = ("seed", "device", "threads", "memory")
        return {name: getattr(self.session, name) for name in names if getattr(self.session, name) is not None}

    def job(self, bench: str, data: str, **more: Any) -> dict[str, Any]:
        """Return what the measuring process is told.

        Args:
            bench: The bench that measures.
            data: Its data set.
            more: What else this bench needs; it comes before what the user gave.
        """
        given = {"settings": list(self.settings), "options": self.options, "quick": self.quick}
        return {"bench": bench, "data": data, **given, **more}

    def measure(self, job: Job, note: str = "") -> dict[str, Any]:
        """The entry of a job, measured in a process of its own; `note` is shown before it starts."""
        from . import job as jobs

        words = ("data", "noise", "method", "model", "levels", "length", "note")
        self.session.note(note or ", ".join(str(job[word]) for word in words if word in job))
        with self.session.progress() as progress:
            return jobs.measure_apart(job, progress)

    def check_settings(self) -> None:
        """Raise ConfigError for a wrong setting or option of nlil."""
        from nlil.config import LearnerConfig

        self.session.configure(LearnerConfig().with_settings(self.settings))

    def check_baseline(self) -> None:
        """Raise ConfigError for a wrong setting or option of the baseline that --model names."""
        from nlil.config import LearnerConfig

        from .baselines import make_baseline

        assert self.model is not None
        self.session.configure(LearnerConfig())
        make_baseline(self.model, self.settings, self.options)


def data_key(entry: Entry, job: Job) -> str:
    """Return the key of an entry that only its data, the options and the settings tell apart."""
    return job_key(entry, job, entry["data"])


@dataclass(frozen=True)
class Bench:
    """One bench: how it measures and how its figures are shown.

    Attributes:
        measure: Returns the entry of one job; runs in a process of its own.
        tables: The tables by place in the documents. The name of a place is that of the bench, or begins with it and
            a `-`.
        data: The data sets that are measured if the user names none.
        quick_data: The same for --quick.
        options: The options that this bench takes besides the common ones: data, model, seeds, split, seconds, sizes,
            peer, set.
        models: The allowed values of --model.
        names: What --data names if these are not data sets; raises an error for unknown names.
        jobs: The jobs of one data set; None: a single one.
        key: The key of an entry and its job.
        entries: Replaces `jobs` and `key` where several entries are kept together or not at all, so that the figures
            of a comparison never come from two runs: yields such groups.
        check: Raises an error for a wrong request before anything runs; None: checks the settings.
        draw: Draws all entries to a file.
    """

    measure: Callable[[Job, Progress], dict[str, Any]]
    tables: Mapping[str, Callable[[Entries], str]]
    data: tuple[str, ...] = ()
    quick_data: tuple[str, ...] = ()
    options: frozenset[str] = frozenset({"data"})
    models: tuple[str, ...] = ()
    names: Callable[[Request], Sequence[str]] | None = None
    jobs: Callable[[Request, str], Sequence[Job]] | None = None
    key: Callable[[Entry, Job], str] = data_key
    entries: Callable[[Request, str], Iterator[Entries]] | None = None
    check: Callable[[Request], None] = Request.check_settings
    draw: Callable[[Entries, Path], Path] | None = None

    def groups(self, name: str, request: Request, data: str) -> Iterator[Entries]:
        """Measure a data set for the bench `name`; yield the entries that are kept together."""
        if self.entries is not None:
            yield from self.entries(request, data)
            return
        for job in [request.job(name, data)] if self.jobs is None else self.jobs(request, data):
            entry = request.measure(job)
            yield {self.key(entry, job): entry}


def load_bench(name: str) -> Bench:
    """The bench of that name; its module is imported now."""
    if name not in BENCHES:
        raise NlilError(f"unknown bench {name!r}, expected one of {', '.join(BENCHES)}")
    bench: Bench = importlib.import_module(f".{name}", __package__).BENCH
    return bench
