"""AnyBURL + PyClause beside ours: learn once with snapshots, rank each snapshot, measure with our own function.

A peer is a folder with `AnyBURL.jar` and a Python that has PyClause in `venv`; nothing of it is part of nlil. Facts are
handed over with numbers for names (`r3`, `e17`), so that no character of a name means anything to the peer.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nlil.data.facts import Facts
from nlil.errors import NlilError
from nlil.progress import Progress

from .peer_ranks import figures, read_candidates
from .record import machine, versions

if TYPE_CHECKING:
    from nlil.data import Dataset

PEER = "anyburl"
LEARN = {"MAX_LENGTH_CYCLIC": 3, "THRESHOLD_CORRECT_PREDICTIONS": 2, "THRESHOLD_CONFIDENCE": 0.0001}
"""What PyClause sets for AnyBURL."""
HEAP = "-Xmx8g"
TOP = 200
"""Candidates of a query that PyClause is asked for; AnyBURL's own figures stop at 100."""
RANKINGS: Mapping[str, Mapping[str, Any]] = {
    "noisy-or 5": {"aggregation_function": "noisyor", "num_top_rules": 5, "topk": TOP, "disc_at_least": -1},
    "maxplus": {"aggregation_function": "maxplus", "num_top_rules": -1, "topk": TOP, "disc_at_least": 10},
}
PATIENCE = 120.0
"""Seconds that AnyBURL may take beyond the last snapshot, to load and to write."""


@dataclass(frozen=True)
class Peer:
    """The programs of one folder."""

    folder: Path
    java: str = "java"

    @property
    def jar(self) -> Path:
        return self.folder / "AnyBURL.jar"

    @property
    def python(self) -> Path:
        return self.folder / "venv" / "bin" / "python"

    def check(self) -> None:
        for path in (self.jar, self.python):
            if not path.is_file():
                raise NlilError(
                    f"--peer {self.folder}: expected AnyBURL.jar and venv/bin/python with PyClause, "
                    f"found no {path.relative_to(self.folder)}; put it there"
                )

    def learn(
        self, train: Path, rules: Path, seconds: Sequence[int], threads: int, progress: Progress
    ) -> dict[int, float]:
        """Rules in RULES-10 and so on; for each snapshot the seconds after the start when its file was complete."""
        settings = {
            "PATH_TRAINING": train,
            "PATH_OUTPUT": rules,
            "SNAPSHOTS_AT": ",".join(map(str, seconds)),
            "WORKER_THREADS": threads,
            **LEARN,
        }
        properties = rules.with_suffix(".properties")
        properties.write_text("".join(f"{key} = {value}\n" for key, value in settings.items()), encoding="utf-8")
        command = [self.java, HEAP, "-cp", str(self.jar), "de.unima.ki.anyburl.Learn", str(properties)]
        begin, wall = time.monotonic(), time.time()
        self._run(
            command,
            rules.with_suffix(".log"),
            seconds[-1] + PATIENCE,
            lambda: progress("AnyBURL", min(int(time.monotonic() - begin), seconds[-1]), seconds[-1]),
        )
        return {limit: snapshot(rules, limit).stat().st_mtime - wall for limit in seconds}

    def rank(self, job: Mapping[str, Any], log: Path) -> None:
        description = log.with_suffix(".json")
        description.write_text(json.dumps(job), encoding="utf-8")
        script = Path(__file__).with_name("peer_script.py")
        self._run([str(self.python), str(script), str(description)], log, None, lambda: None)

    def _run(self, command: Sequence[str], log: Path, limit: float | None, tick: Any) -> None:
        """Wait for the command. AnyBURL ends with 1 where all is well, so what counts is what was written."""
        begin = time.monotonic()
        try:
            with log.open("w", encoding="utf-8") as out:
                child = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
        except OSError as error:
            raise NlilError(f"{command[0]}: expected a program that runs, got {error}; install it") from error
        self._wait(child, begin, limit, tick, command, log)

    def _wait(
        self,
        child: subprocess.Popen[bytes],
        begin: float,
        limit: float | None,
        tick: Any,
        command: Sequence[str],
        log: Path,
    ) -> None:
        try:
            while True:
                try:
                    child.wait(timeout=1.0)
                    return
                except subprocess.TimeoutExpired:
                    tick()
                if limit is not None and time.monotonic() - begin > limit:
                    raise NlilError(f"{command[0]}: expected an end within {limit:.0f} s, it still runs; {tail(log)}")
        finally:
            if child.poll() is None:
                child.kill()
                child.wait()


def snapshot(rules: Path, limit: int) -> Path:
    """The rules after so many seconds."""
    path = rules.with_name(f"{rules.name}-{limit}")
    if not path.is_file():
        raise NlilError(f"AnyBURL wrote no rules for {limit} s; {tail(rules.with_suffix('.log'))}")
    return path


def tail(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines() if log.is_file() else []
    return f"it said: {' / '.join(lines[-3:])}" if lines else "it said nothing"


def measure_peer(dataset: Dataset, peer: Peer, job: Mapping[str, Any], progress: Progress) -> dict[int, dict[str, Any]]:
    """For each number of seconds the figures of both rankings; learned in one run."""
    seconds, threads = list(job["seconds"]), int(job["threads"])
    peer.check()
    splits = dataset.splits
    asked = asked_facts(dataset)
    entries: dict[int, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = {
            split: write_facts(facts, folder / f"{split}.txt")
            for split, facts in (("train", dataset.kb.facts), ("valid", splits.valid), ("test", asked))
        }
        rules = folder / "rules"
        written = peer.learn(paths["train"], rules, seconds, threads, progress)
        known = dataset.kb.facts + splits.valid + splits.test
        for limit in seconds:
            mine = snapshot(rules, limit)
            measured: dict[str, Any] = {}
            begin = time.monotonic()
            for ranking, options in RANKINGS.items():
                progress(f"PyClause, {limit} s", len(measured), len(RANKINGS), ranking)
                out = folder / "candidates.tsv"
                out.unlink(missing_ok=True)
                log = folder / "rank.log"
                peer.rank(
                    {
                        **{key: str(path) for key, path in paths.items()},
                        "rules": str(mine),
                        "out": str(out),
                        "threads": threads,
                        "options": options,
                    },
                    log,
                )
                if not out.is_file():
                    raise NlilError(f"PyClause wrote no candidates for {ranking} at {limit} s; {tail(log)}")
                measured[ranking] = figures(read_candidates(out), asked, known, dataset.kb.num_entities)
            entries[limit] = {
                "rankings": measured,
                "num_rules": num_lines(mine),
                "seconds": {"learn": float(limit), "written": written[limit], "evaluate": time.monotonic() - begin},
                "config": {**LEARN, "WORKER_THREADS": threads, "java": HEAP, "rankings": dict(RANKINGS)},
                "machine": machine(),
                "versions": {**versions(), "jar": checksum(peer.jar)},
            }
    return entries


def asked_facts(dataset: Dataset) -> Facts:
    """The binary test facts that our own evaluation asks about: those of targets."""
    import numpy as np

    test = dataset.splits.test
    targets = [dataset.kb.predicate_id(predicate) for predicate in dataset.targets]
    return test[~test.is_unary & np.isin(test.predicate, targets)]


def write_facts(facts: Facts, path: Path) -> Path:
    """As triples of numbered names; a unary fact becomes a triple whose object is the predicate itself."""
    columns = (facts.subject.tolist(), facts.predicate.tolist(), facts.object.tolist(), facts.is_unary.tolist())
    with path.open("w", encoding="utf-8") as out:
        for subject, predicate, object_, unary in zip(*columns):
            out.write(f"e{subject}\tr{predicate}\t{f'e{-1 - predicate}' if unary else f'e{object_}'}\n")
    return path


def children_peak_mb() -> float:
    """Most memory that one program of the peer held, in MB (10^6 bytes)."""
    import resource

    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / 1e6


def num_lines(path: Path) -> int:
    with path.open("rb") as lines:
        return sum(1 for _ in lines)


def checksum(path: Path) -> str:
    import hashlib

    return hashlib.sha256(path.read_bytes()).hexdigest()
