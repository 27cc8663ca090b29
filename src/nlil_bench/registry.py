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

if TYPE_CHECKING:
    from nlil.cli.session import Session
    from nlil.progress import Progress

    from .results import Entries, Entry, Job

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
    "length": "an epoch against the longest rule",
    "speed": "learning beside Neural-LP",
    "curve": "MRR against seconds of learning",
    "explanations": "how short, independent and faithful explanations are",
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
        model: The one model to measure; None: all of the bench, or ours.
        seeds: Mean and standard deviation over so many seeds.
        split: The facts that queries are made of, `test` or `valid`.
        seconds: Limits of learning, as text such as `10,50`.
        sizes: Millions of facts, as text such as `0.3,1`.
        peer: Folder with the programs to be measured beside ours.
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

    @property
    def seed(self) -> int:
        """The seed that was given, or 0."""
        return self.session.seed or 0

    @cached_property
    def options(self) -> dict[str, Any]:
        """The common options that the user gave."""
        names = ("seed", "device", "threads", "memory")
        return {name: getattr(self.session, name) for name in names if getattr(self.session, name) is not None}

    def measure(self, job: Job, note: str = "") -> dict[str, Any]:
        """The entry of a job, measured in a process of its own; `note` is shown before it starts."""
        from . import job as jobs

        words = ("data", "noise", "method", "model", "levels", "length", "note")
        self.session.note(note or ", ".join(str(job[word]) for word in words if word in job))
        with self.session.progress() as progress:
            return jobs.measure_apart(job, progress)

    def measure_each(self, jobs: Sequence[Job], key: Callable[[Entry, Job], str]) -> Iterator[dict[str, Entry]]:
        """One entry after another, each under its key."""
        for job in jobs:
            entry = self.measure(job)
            yield {key(entry, job): entry}

    def check_baseline(self) -> None:
        """Tell a wrong setting of the baseline that --model names before anything runs."""
        from nlil.config import LearnerConfig

        from .baselines import make_baseline

        assert self.model is not None
        self.session.configure(LearnerConfig())
        make_baseline(self.model, self.settings, self.options)


@dataclass(frozen=True)
class Bench:
    """One bench: how it measures and how its figures are shown.

    Attributes:
        measure: The entry of one job; runs in a process of its own.
        entries: Entries of one data set under their keys, in groups; a group is kept as a whole or not at all, so
            that figures of one comparison never come from two runs.
        tables: Place in documents -> its table. A place is called like the bench, or starts with its name and `-`.
        data: Data sets that are measured where the user names none.
        quick_data: The same for --quick.
        options: The options of one bench that this one takes: data, model, seeds, split, seconds, sizes, peer,
            set.
        models: The names that --model may have.
        names: What --data names, where that is no data set; complains about unknown ones.
        check: Complains about a request before anything runs.
        draw: Writes a picture of full entries.
    """

    measure: Callable[[Job, Progress], dict[str, Any]]
    entries: Callable[[Request, str], Iterator[Entries]]
    tables: Mapping[str, Callable[[Entries], str]]
    data: tuple[str, ...] = ()
    quick_data: tuple[str, ...] = ()
    options: frozenset[str] = frozenset({"data"})
    models: tuple[str, ...] = ()
    names: Callable[[Request], Sequence[str]] | None = None
    check: Callable[[Request], None] | None = None
    draw: Callable[[Entries, Path], Path] | None = None


def load_bench(name: str) -> Bench:
    """The bench of that name; its module is imported now."""
    if name not in BENCHES:
        raise NlilError(f"unknown bench {name!r}, expected one of {', '.join(BENCHES)}")
    bench: Bench = importlib.import_module(f".{name}", __package__).BENCH
    return bench
