"""Run the same commands of two revisions in turn (ABAB...), on one machine: medians, ratios, peak memory, answers.

    python benchmarks/compare.py --list
    python benchmarks/compare.py kin es --runs 5                 the working tree beside e0b4461
    python benchmarks/compare.py --base v1.0 --new HEAD wn18
    python benchmarks/compare.py --base ../older rules-kin       beside another checkout, as it lies there
    python benchmarks/compare.py kin --new-set rules_per_target=0   without what the older side does not do
    NLIL_DATA=FOLDER python benchmarks/compare.py                everything whose data are there

The older revision is checked out with `git worktree` into a folder that is removed at the end, and runs in the same
environment, with PYTHONPATH on its sources. Every command runs once on either side before it counts: that compiles, and
its answers are compared. A command is marked where the new side is slower by more than 10 %; then the exit code is 1,
as where answers differ.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from threading import Timer
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent
BASE = "e0b4461"
"""The revision that the working tree is compared with."""
RUNS = 5
SLOWER = 1.1
"""Marked from this ratio of medians on."""
RULES = 100_000
"""Rules of a large file in AnyBURL's format."""
PART = 4
"""A rule file is also read cut to one of so many parts: what more rules cost, apart from what every command costs."""
TOP_RULES = 500
"""Rules of each target of a run whose rules the older side can derive with in minutes."""
DIGITS = 4
"""Figures of both sides are the same if they are when rounded so."""
NOT_COMPARED = ("seconds", "peak_memory_mb", "calibration_seconds", "notes", "brier_after", "ece_after")
"""Values of `evaluate` that are no figures of its ranks: times, sentences, and errors after a calibration, which has
been fitted on other facts since."""

Words = tuple[str, ...]
"""Words after `nlil`; {run}, {out}, {rules}, {part} and {count} are replaced."""


@dataclass(frozen=True)
class Step:
    """One command that is measured.

    Attributes:
        name: What it is called in the table.
        words: The command.
        answer: What is compared, from its standard output and the file {out}; None: nothing.
        only_new: Further words for the newer side, which leave out what the older one does not measure.
    """

    name: str
    words: Words
    answer: Callable[[str, Path], Any] | None = None
    only_new: Words = ()


@dataclass(frozen=True)
class Workload:
    """Commands of one kind.

    Attributes:
        help: What it measures, for --list.
        steps: The commands that are measured, in order.
        data: The data set that it needs; None: it is built in.
        setup: Commands that each side runs once before: a run folder of its own.
        rules: The command of the older side whose output is the rule file of both sides.
        sums: Add a row for all steps together: work that moved from one command to another is counted once.
    """

    help: str
    steps: tuple[Step, ...]
    data: str | None = None
    setup: tuple[Words, ...] = ()
    rules: Words = ()
    sums: bool = False


def figures(output: str, out: Path) -> Any:
    """Return the figures of the ranks in `evaluate --json`, rounded."""
    return _rounded({key: value for key, value in json.loads(output).items() if key not in NOT_COMPARED})


def facts(output: str, out: Path) -> str:
    """The facts that `materialize` wrote, in any order."""
    return hashlib.sha256("\n".join(sorted(out.read_text(encoding="utf-8").splitlines())).encode()).hexdigest()


def passed(output: str, out: Path) -> Any:
    """What `bench recovery` (all stages) and `bench es` found, without times and rules."""

    def found(entry: Mapping[str, Any]) -> Any:
        value = entry.get("passed", entry.get("solved"))
        return value["refine"] if isinstance(value, dict) else value

    entries = json.loads(output)["entries"].values()
    return sorted([str(entry.get("construct", entry.get("size"))), found(entry)] for entry in entries)


def bench(name: str, *words: str, only_new: Words = ()) -> Step:
    """`nlil bench NAME --quick` with these words."""
    given = ("bench", name, "--quick", "--out", "{out}.d", "--json", *words)
    return Step(" ".join(("bench", name, *words)), given, passed, only_new)


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(inner) for key, inner in value.items() if key not in NOT_COMPARED}
    return round(value, DIGITS) if isinstance(value, float) else value


def learned(data: str, *settings: str) -> Words:
    """`nlil learn` into {run}."""
    return ("learn", data, "--out", "{run}", "--force", *(word for s in settings for word in ("--set", s)))


def learn_and_evaluate(data: str, *settings: str, is_built_in: bool = False) -> Workload:
    """Both commands on one data set."""
    steps = (
        Step(f"learn {data}", learned(data, *settings)),
        Step(f"evaluate {data}", ("evaluate", "{run}", "--json"), figures),
    )
    help = " ".join(("learn", *settings, "and evaluate on", data))
    return Workload(help, steps, None if is_built_in else data, sums=True)


def rule_file(data: str, language: str, *settings: str, is_built_in: bool = False) -> Workload:
    """`evaluate --rules FILE` with the rules of a run, and `materialize` of that run."""
    steps = (
        Step(f"evaluate --rules, {data}", ("evaluate", "--rules", "{rules}", "--data", data, "--json"), figures),
        Step(f"evaluate 1/{PART} of them", ("evaluate", "--rules", "{part}", "--data", data, "--json"), figures),
        Step(f"materialize {data}", ("materialize", "{run}", "--out", "{out}", "--json"), facts),
    )
    top = () if is_built_in else ("--top", "{count}", "--leave-out")
    return Workload(
        f"evaluate rules as {language} on {data}; materialize; rules a second",
        steps,
        None if is_built_in else data,
        (learned(data, *settings),),
        ("rules", "{run}", "--format", language, *top),
    )


WORKLOADS: Mapping[str, Workload] = {
    "kin": learn_and_evaluate("kin", is_built_in=True),
    **{name: learn_and_evaluate(name) for name in ("family", "kinship", "umls", "wn18", "fb15k-237")},
    "vrd": learn_and_evaluate("vrd", "preset=scene"),
    "recovery": Workload(
        "nlil bench recovery --quick, free scores", (bench("recovery", only_new=("--model", "free")),)
    ),
    "es": Workload(
        "nlil bench es --quick, what both sides measure",
        tuple(bench("es", "--model", method) for method in ("neural", "both", "neural-lp", "dilp")),
        sums=True,
    ),
    "rules-kin": rule_file("kin", "prolog", is_built_in=True),
    "rules-fb15k-237": rule_file("fb15k-237", "anyburl", f"top_rules={TOP_RULES}"),
}


class Usage(NamedTuple):
    """What one command took, what it wrote to standard output, and whether it was ended at the limit."""

    wall: float
    cpu: float
    memory_mb: float
    output: str
    is_over: bool


@dataclass
class Side:
    """One of the two revisions: its sources, a folder for what its commands write, and settings of its `learn`."""

    name: str
    source: Path
    folder: Path
    settings: Sequence[str] = ()
    is_new: bool = False

    def take(self, step: Step, places: Mapping[str, str], limit: float | None) -> Usage:
        """Run one step of this revision."""
        return self.run(step.words + (step.only_new if self.is_new else ()), places, limit)

    def run(self, words: Words, places: Mapping[str, str], limit: float | None) -> Usage:
        """Run `nlil` with these words of this revision, at most `limit` seconds; a failure ends the program."""
        given = [word.format(**places) for word in words]
        if words[0] == "learn":
            given += [word for setting in self.settings for word in ("--set", setting)]
        own = [str(self.source), os.environ.get("PYTHONPATH", "")]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, own))}
        with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
            begin = time.perf_counter()
            command = [sys.executable, "-m", "nlil", *given, "--quiet"]
            child = subprocess.Popen(command, stdout=output, stderr=errors, env=environment)
            timer = Timer(limit or 1e6, child.kill)
            timer.start()
            _, status, used = os.wait4(child.pid, 0)
            is_over = not timer.is_alive()
            timer.cancel()
            wall = time.perf_counter() - begin
            child.returncode = os.waitstatus_to_exitcode(status)
            output.seek(0)
            errors.seek(0)
            if child.returncode and not is_over:
                sys.exit(f"{self.name}: nlil {' '.join(given)}: exit code {child.returncode}: {errors.read()[-500:]}")
            unit = 1e6 if sys.platform == "darwin" else 1e6 / 1024
            return Usage(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / unit, output.read(), is_over)


@contextmanager
def checkout(revision: str | None, folder: Path) -> Iterator[Path]:
    """The sources of a revision in a worktree of its own, or of a folder; None: those of the working tree."""
    if revision is None or Path(revision).is_dir():
        yield (ROOT if revision is None else Path(revision).resolve()) / "src"
        return
    place = folder / f"tree-{revision}"
    git = ["git", "-C", str(ROOT), "worktree"]
    subprocess.run([*git, "add", "--quiet", "--detach", str(place), revision], check=True)
    try:
        yield place / "src"
    finally:
        subprocess.run([*git, "remove", "--force", str(place)], check=True)


def is_available(workload: Workload) -> bool:
    """Is its data set built in, or in the folder that NLIL_DATA names?"""
    data = os.environ.get("NLIL_DATA")
    return workload.data is None or (data is not None and (Path(data) / workload.data).is_dir())


@dataclass(frozen=True)
class Row:
    """One line of the table: medians and peaks of one step, older side first."""

    step: str
    wall: tuple[float, float]
    cpu: tuple[float, float]
    memory_mb: tuple[float, float]
    num_rules: int | None
    is_same: bool | None
    is_over: tuple[bool, bool]

    @property
    def ratio(self) -> float:
        """How many times as long the new side takes."""
        return self.wall[1] / max(self.wall[0], 1e-9)

    @property
    def is_slower(self) -> bool:
        """By more than 10 %, or not done within the limit."""
        return self.ratio > SLOWER or self.is_over[1]

    @property
    def cells(self) -> tuple[str, ...]:
        """As the table shows them."""
        rates = ["" if self.num_rules is None else f"{self.num_rules / seconds:,.0f}" for seconds in self.wall]
        marks = {
            "base over the limit": self.is_over[0],
            "new over the limit": self.is_over[1],
            "SLOWER": self.is_slower,
            "same answers": self.is_same is True,
            "ANSWERS DIFFER": self.is_same is False,
        }
        return (
            self.step,
            *(f"{seconds:.2f} s" for seconds in self.wall),
            f"{self.ratio:.2f}",
            *(f"{seconds:.2f} s" for seconds in self.cpu),
            *(f"{memory:,.0f} MB" for memory in self.memory_mb),
            *rates,
            ", ".join(mark for mark, holds in marks.items() if holds),
        )


HEAD = ("command", "base", "new", "ratio", "CPU base", "CPU new", "memory", "memory", "rules/s", "rules/s", "")


def compare(
    name: str, workload: Workload, sides: Sequence[Side], runs: int, rules: int, limit: float | None
) -> list[Row]:
    """Both sides in turn, `runs` times, after a first time that does not count."""
    places = [_places(name, side, sides[0], rules) for side in sides]
    for words in workload.setup:
        for side, own in zip(sides, places):
            side.run(words, own, limit)
    if workload.rules:
        text = sides[0].run(workload.rules, places[0], limit).output
        lines = text.splitlines(keepends=True)
        Path(places[0]["rules"]).write_text(text, encoding="utf-8")
        Path(places[0]["part"]).write_text("".join(lines[: len(lines) // PART]), encoding="utf-8")
    rows = []
    for step in workload.steps:
        rows.append(measure(step, sides, places, runs, limit, bool(workload.rules)))
        print("  ".join(filter(None, rows[-1].cells)), file=sys.stderr)  # what is measured if the rest is cut short
    return [*rows, total(name, rows)] if workload.sums else rows


def total(name: str, rows: Sequence[Row]) -> Row:
    """All steps of a workload as one row."""
    wall, cpu = (
        (sum(r[0] for r in pairs), sum(r[1] for r in pairs))
        for pairs in ([r.wall for r in rows], [r.cpu for r in rows])
    )
    memory = max(r.memory_mb[0] for r in rows), max(r.memory_mb[1] for r in rows)
    is_over = any(r.is_over[0] for r in rows), any(r.is_over[1] for r in rows)
    return Row(f"{name}, all steps", wall, cpu, memory, None, None, is_over)


def print_slopes(rows: Sequence[Row]) -> None:
    """What one more rule of a file costs: the difference of a whole file and a part of it."""
    for whole, part in pairwise(rows):
        more = (whole.num_rules or 0) - (part.num_rules or 0)
        if part.step.startswith(f"evaluate 1/{PART}") and more > 0:
            base, new = (1e6 * (a - b) / more for a, b in zip(whole.cpu, part.cpu))
            print(
                f"{whole.step}: {base:.1f} and {new:.1f} microseconds of CPU for one more rule, {base / new:.1f} times"
            )


def measure(
    step: Step,
    sides: Sequence[Side],
    places: Sequence[Mapping[str, str]],
    runs: int,
    limit: float | None,
    has_rules: bool,
) -> Row:
    """One step on both sides; the first time is for the compiler and for the answers."""
    first = [side.take(step, own, limit) for side, own in zip(sides, places)]
    is_over = (first[0].is_over, first[1].is_over)
    usages = [[usage] if usage.is_over else [] for usage in first]  # what took too long is not tried again
    for number in range(runs):
        for side, folder, found, over in zip(sides, places, usages, is_over):
            if not over:
                found.append(side.take(step, folder, limit))
                print(f"{step.name}: {side.name}, {number + 1} of {runs}: {found[-1].wall:.2f} s", file=sys.stderr)
    is_same = None
    if step.answer is not None and not any(is_over):
        base, new = (step.answer(usage.output, Path(own["out"])) for usage, own in zip(first, places))
        is_same = base == new
    return Row(
        step.name,
        _each(usages, lambda own: median(usage.wall for usage in own)),
        _each(usages, lambda own: median(usage.cpu for usage in own)),
        _each(usages, lambda own: max(usage.memory_mb for usage in own)),
        _num_rules(first[1].output) if has_rules and not is_over[1] else None,
        is_same,
        is_over,
    )


def _each(usages: Sequence[list[Usage]], value: Callable[[list[Usage]], float]) -> tuple[float, float]:
    base, new = usages
    return value(base), value(new)


def _places(name: str, side: Side, base: Side, rules: int) -> dict[str, str]:
    folder = side.folder / name
    folder.mkdir(parents=True, exist_ok=True)
    shared = base.folder / name
    return {
        "run": str(folder / "run"),
        "out": str(folder / "out.tsv"),
        "rules": str(shared / "rules.txt"),
        "part": str(shared / "part.txt"),
        "count": str(rules),
    }


def _num_rules(output: str) -> int | None:
    found = json.loads(output).get("num_rules")
    return int(found) if found is not None else None


def print_table(rows: Sequence[Sequence[str]]) -> None:
    """Columns as wide as their widest cell."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    for first, *cells in rows:
        padded = (cell.rjust(width) for cell, width in zip(cells, widths[1:]))
        print("  ".join((first.ljust(widths[0]), *padded)).rstrip())


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help="those of --list; default: all with data")
    parser.add_argument("--list", action="store_true", help="say which workloads there are")
    parser.add_argument("--base", default=BASE, metavar="REV", help=f"the older revision, or a folder ({BASE})")
    parser.add_argument("--new", metavar="REV", help="the newer one; default: the working tree")
    parser.add_argument("--runs", type=int, default=RUNS, metavar="N", help=f"runs of each command ({RUNS})")
    parser.add_argument("--rules", type=int, default=RULES, metavar="N", help=f"rules of a large file ({RULES:,})")
    parser.add_argument("--limit", type=float, metavar="SECONDS", help="longest time of one command")
    parser.add_argument(
        "--new-set", action="append", default=[], metavar="K=V", help="a setting that only the new side's learn gets"
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="also write the figures as JSON")
    given = parser.parse_args()
    unknown = [name for name in given.workloads if name not in WORKLOADS]
    if unknown:
        parser.error(f"unknown workload {unknown[0]}, expected one of {', '.join(WORKLOADS)}")
    return given


def main() -> None:
    given = parsed()
    if given.list:
        for name, workload in WORKLOADS.items():
            print(f"{name:<18}{workload.help}{'' if is_available(workload) else ' (data not found)'}")
        return
    chosen = given.workloads or [name for name, workload in WORKLOADS.items() if is_available(workload)]
    rows: list[Row] = []
    with (
        tempfile.TemporaryDirectory(prefix="nlil-compare-") as folder,
        checkout(given.base, Path(folder)) as base,
        checkout(given.new, Path(folder)) as new,
    ):
        sides = [
            Side(given.base, base, Path(folder) / "base"),
            Side(given.new or "new", new, Path(folder) / "new", given.new_set, is_new=True),
        ]
        for name in chosen:
            rows += compare(name, WORKLOADS[name], sides, given.runs, given.rules, given.limit)
    print_table([HEAD, *(row.cells for row in rows)])
    print_slopes(rows)
    if given.out is not None:
        document = {"base": given.base, "new": given.new, "runs": given.runs, "rows": [row.__dict__ for row in rows]}
        given.out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    sys.exit(any(row.is_slower or row.is_same is False for row in rows))


if __name__ == "__main__":
    main()
