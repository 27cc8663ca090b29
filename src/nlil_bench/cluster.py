"""nlil bench cluster: learning on Ray clusters of this machine, compared with one process with one thread.

For each size of a generated graph: one process, then clusters of 1, 2 and 4 workers; each run folder must be identical
to the first one. The smallest graph is also learned while a worker is killed, while a node is added, and while the head
is killed and `--resume` completes the run. Workers share the cores of one machine, so more workers than cores cannot be
faster; they show the overhead of a cluster.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nlil
from nlil.errors import NlilError, require
from nlil.learning.folder import read_json
from nlil.progress import Progress

from .cells import machine_text, markdown, measured, source_text
from .registry import Bench, Request
from .results import Entries, Entry, Job, entry_key, seed_of
from .skewed import write_skewed
from .watched import processes_of, run_nlil

SIZES, QUICK_SIZES = (300_000, 1_000_000, 3_000_000), (10_000,)
WORKERS, QUICK_WORKERS = (1, 2, 4), (2,)
SETTINGS = ("--set", "search=count", "--set", "rules_per_target=0", "--quiet", "--json")
MEMORY = "4GiB"
SOON = 0.3
"""Share of the time that one process takes, after which something happens to the cluster."""


def measure(job: Job, progress: Progress) -> dict[str, Any]:
    """Learn from one graph here and on clusters, and compare the folders."""
    require("ray", "cluster", "bench cluster")
    with tempfile.TemporaryDirectory(prefix="nlil-cluster-", ignore_cleanup_errors=True) as folder:
        place, steps = Path(folder), len(job["workers"]) + 1
        os.environ["NLIL_CACHE"] = str(place / "cache")
        written = write_skewed(place / "graph", job["num_facts"], seed_of(job))
        _learn(place, "warm")  # reads the facts into the cache, compiles
        progress("one process", 0, steps)
        alone = _learn(place, "alone")
        found = {"alone": alone}
        for done, workers in enumerate(job["workers"], start=1):
            progress(f"{workers} workers", done, steps)
            found[str(workers)] = _learn(place, f"cluster{workers}", "--cluster", "ray", "--threads", str(workers))
        events = _events(place, alone["wall"], progress) if job["events"] else {}
    return {"num_facts": written.train, "runs": found, "events": events, "load_average": os.getloadavg()[0]}


def _words(place: Path, name: str, *options: str) -> list[str]:
    """The words of the command that learns the run `name`."""
    threads = () if "--threads" in options else ("--threads", "1")
    run = str(place / name)
    return ["learn", str(place / "graph"), "--out", run, "--memory", MEMORY, *SETTINGS, *threads, *options]


def _learn(place: Path, name: str, *options: str) -> dict[str, Any]:
    """Learn in a process of its own: seconds with and without the start of the program, and memory."""
    took = run_nlil(_words(place, name, *options))
    learned = read_json(place / name / "journal.json")["learn"]
    return {
        "wall": took.seconds,
        "learn": learned["seconds"],
        "peak_mb": took.peak_mb,
        "is_same": _is_same(place / "alone", place / name),
    }


def _is_same(one: Path, other: Path) -> bool:
    """Whether two run folders are the same but for the journal and the number of threads."""
    if not one.is_dir():
        return True  # it is the first
    left_out = ("journal.json", "config.json", "checksums.json")
    names = [sorted(file.name for file in run.iterdir() if file.name not in left_out) for run in (one, other)]
    settings = [{**read_json(run / "config.json"), "threads": 0} for run in (one, other)]
    same = names[0] == names[1] and settings[0] == settings[1]
    return same and all((one / name).read_bytes() == (other / name).read_bytes() for name in names[0])


# what may happen to a cluster -----------------------------------------------------------------------------------------


def _events(place: Path, seconds: float, progress: Progress) -> dict[str, Any]:
    happened: dict[str, Any] = {}
    for number, event in enumerate((_worker_killed, _node_added, _head_killed)):
        name = event.__name__[1:].replace("_", " ")
        progress(name, number, 3)
        happened[name] = event(place, SOON * seconds)
    return happened


def _started(place: Path, name: str, *options: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "nlil", *_words(place, name, *options)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _worker_killed(place: Path, after: float) -> dict[str, Any]:
    """SIGKILL to a worker process that has a task."""
    learning, victims = _started(place, "killed", "--cluster", "ray", "--threads", "2"), 0
    began = time.monotonic()
    while learning.poll() is None and not victims:
        time.sleep(0.05)
        for process in processes_of(learning.pid) if time.monotonic() - began > after else ():
            if not victims and _name(process).startswith("ray::_run"):
                os.kill(process, signal.SIGKILL)
                victims += 1
    code = learning.wait()
    return {"code": code, "killed": victims, "is_same": not code and _is_same(place / "alone", place / "killed")}


def _name(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _node_added(place: Path, after: float) -> dict[str, Any]:
    """A second node joins a head of one worker; the journal says how many tasks each of them has done."""
    cluster = _head()
    try:
        learning = _started(place, "added", "--cluster", f"ray://{cluster.address}")
        time.sleep(after)
        cluster.add_node(num_cpus=2)
        code = learning.wait()
    finally:
        cluster.shutdown()
    notes = [] if code else read_json(place / "added" / "journal.json")["learn"]["notes"]
    said = next((note for note in notes if "nodes of the cluster" in note), "")
    return {"code": code, "nodes": said, "is_same": not code and _is_same(place / "alone", place / "added")}


def _head_killed(place: Path, after: float) -> dict[str, Any]:
    """The head dies; Ray ends the command a minute later, and `--resume` completes what it left."""
    cluster = _head()
    try:
        learning = _started(place, "resumed", "--cluster", f"ray://{cluster.address}")
        time.sleep(after)
        cluster.remove_node(cluster.head_node, allow_graceful=False)
        code = learning.wait()
    finally:
        cluster.shutdown()
    is_left = (place / "resumed").is_dir() and not (place / "resumed" / "run.json").exists()
    again = _learn(place, "resumed", "--resume")
    return {"code": code, "is_left": is_left, "is_same": again["is_same"]}


def _head() -> Any:
    from ray.cluster_utils import Cluster

    os.environ["PYTHONPATH"] = str(Path(nlil.__file__).parent.parent)  # for workers of a checkout
    return Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})


# the bench ------------------------------------------------------------------------------------------------------------


def names(request: Request) -> Sequence[str]:
    """The sizes, as words: --data chooses some of them."""
    for word in request.names or ():
        if not word.isdigit():
            raise NlilError(f"--data {word}: bench cluster generates its graphs; give numbers of facts")
    return request.names or [str(size) for size in (QUICK_SIZES if request.quick else SIZES)]


def jobs(request: Request, size: str) -> list[Job]:
    """One graph."""
    workers, events = QUICK_WORKERS if request.quick else WORKERS, size == names(request)[0]
    data = f"{int(size):,} facts"
    return [request.job("cluster", data, num_facts=int(size), workers=workers, events=events)]


def key(entry: Entry, job: Job) -> str:
    """The number of facts."""
    return entry_key(entry, str(job["num_facts"]))


def cluster_table(entries: Entries) -> str:
    """A row for each graph and number of workers, and what happened to clusters."""
    shown = measured(entries)
    rows = []
    for entry in sorted(shown.values(), key=lambda entry: entry["num_facts"]):
        alone = entry["runs"]["alone"]
        for workers, run in entry["runs"].items():
            rows.append(
                (
                    f"{entry['num_facts']:,}",
                    "none: one thread" if workers == "alone" else workers,
                    f"{run['wall']:.0f} s",
                    f"{run['learn']:.0f} s",
                    f"{alone['learn'] / run['learn']:.2f}",
                    f"{run['peak_mb'] / 1000:.1f} GB",
                    "yes" if run["is_same"] else "NO",
                )
            )
    head = ("facts", "workers", "command", "learning", "times as fast", "memory, all processes", "same files")
    events = []
    for entry in shown.values():
        for event, seen in entry["events"].items():
            told = ", ".join(f"{key}: {value}" for key, value in seen.items())
            where = f"{entry['num_facts']:,} facts, {machine_text(entry['machine'])}"
            events.append(f"{event.capitalize()} ({where}): {told}.")
    return markdown(head, rows, range(2, 6), *events, source_text("nlil bench cluster", shown))


BENCH = Bench(measure, {"cluster": cluster_table}, names=names, jobs=jobs, key=key)
