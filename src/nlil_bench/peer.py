"""AnyBURL + PyClause: learn once with snapshots, rank each snapshot, measure with nlil's own function.

A peer is a folder with `AnyBURL.jar` and a Python that has PyClause in `venv`; it is not part of nlil. Facts are
passed with numbers for names (`r3`, `e17`), so that no character of a name has a meaning for the peer.

A peer lists its best candidates only. An answer that it lists has the mean rank of the candidates with its score;
another rank follows the peer's own order, which may separate equal scores (maxplus compares further rules,
then frequency). An answer that it does not list has the mean rank of all that are not listed.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nlil.data.facts import Facts
from nlil.errors import DataError, NlilError
from nlil.kernel.aggregation import realistic_rank, score_ranks
from nlil.progress import Progress

from .results import Job

if TYPE_CHECKING:
    from nlil.data.dataset import Dataset

PEER = "anyburl"
LEARN = {"MAX_LENGTH_CYCLIC": 3, "THRESHOLD_CORRECT_PREDICTIONS": 2, "THRESHOLD_CONFIDENCE": 0.0001}
"""What PyClause sets for AnyBURL."""
HEAP = "-Xmx8g"
TOP = 200
"""Candidates of a query that PyClause lists; AnyBURL's own figures stop at 100."""
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
        expect_files(self.folder, (self.jar, self.python), "AnyBURL.jar and venv/bin/python with PyClause")

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

    def _run(self, command: Sequence[str], log: Path, limit: float | None, tick: Callable[[], None]) -> None:
        """Wait for the command, at most `limit` seconds. AnyBURL ends with 1 where all is well: its files count."""
        begin = time.monotonic()
        try:
            with log.open("w", encoding="utf-8") as out:
                child = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
        except OSError as error:
            raise NlilError(f"{command[0]}: expected a program that runs, got {error}; install it") from error
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


def expect_files(folder: Path, paths: Iterable[Path], what: str) -> None:
    """Raise NlilError unless the `folder` of a peer has all these `paths`, which are `what` is expected."""
    for path in paths:
        if not path.is_file():
            raise NlilError(f"--peer {folder}: expected {what}, found no {path.relative_to(folder)}; put it there")


def snapshot(rules: Path, limit: int) -> Path:
    """The rules after so many seconds."""
    path = rules.with_name(f"{rules.name}-{limit}")
    if not path.is_file():
        raise NlilError(f"AnyBURL wrote no rules for {limit} s; {tail(rules.with_suffix('.log'))}")
    return path


def tail(log: Path) -> str:
    """The last words of a program, for an error message."""
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines() if log.is_file() else []
    return f"it said: {' / '.join(lines[-3:])}" if lines else "it said nothing"


def measure_peer(dataset: Dataset, peer: Peer, job: Job, progress: Progress) -> dict[int, dict[str, Any]]:
    """For each number of seconds of the job the figures of both rankings; learned in one run."""
    from nlil.learning.folder import versions

    seconds, threads = list(job["seconds"]), int(job["threads"])
    peer.check()
    queried = queried_facts(dataset)
    entries: dict[int, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        facts = {"train": dataset.kb.facts, "valid": dataset.splits.valid, "test": queried}
        paths = {split: str(write_facts(of_split, folder / f"{split}.txt")) for split, of_split in facts.items()}
        written = peer.learn(Path(paths["train"]), folder / "rules", seconds, threads, progress)
        known = dataset.kb.facts + dataset.splits.valid + dataset.splits.test
        for limit in seconds:
            rules = snapshot(folder / "rules", limit)
            begin = time.monotonic()
            rankings: dict[str, dict[str, float]] = {}
            for ranking, options in RANKINGS.items():
                progress(f"PyClause, {limit} s", len(rankings), len(RANKINGS), ranking)
                ranked = {**paths, "rules": str(rules), "threads": threads, "options": options}
                candidates = ranked_candidates(peer, ranked, folder, f"{ranking} at {limit} s")
                rankings[ranking] = figures(candidates, queried, known, dataset.kb.num_entities)
            entries[limit] = {
                "rankings": rankings,
                "num_rules": len(rules.read_bytes().splitlines()),
                "seconds": {"learn": float(limit), "written": written[limit], "evaluate": time.monotonic() - begin},
                "config": {**LEARN, "WORKER_THREADS": threads, "java": HEAP, "rankings": dict(RANKINGS)},
                "versions": {**versions(), "jar": hashlib.sha256(peer.jar.read_bytes()).hexdigest()},
            }
    return entries


def ranked_candidates(peer: Peer, job: Job, folder: Path, name: str) -> dict[Query, Candidates]:
    """What PyClause ranks for every query; `name` says in an error what was ranked."""
    out, log = folder / "candidates.tsv", folder / "rank.log"
    out.unlink(missing_ok=True)
    peer.rank({**job, "out": str(out)}, log)
    if not out.is_file():
        raise NlilError(f"PyClause wrote no candidates for {name}; {tail(log)}")
    return read_candidates(out)


def queried_facts(dataset: Dataset) -> Facts:
    """The binary test facts that our own evaluation makes queries of: those of targets."""
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


# figures from candidates ----------------------------------------------------------------------------------

HEAD, TAIL = "head", "tail"
HITS = (1, 3, 10)


class Query(NamedTuple):
    """p(?, entity) for `head`, p(entity, ?) for `tail`."""

    direction: str
    predicate: int
    entity: int


Candidates = Sequence[tuple[int, float]]


def candidate_ranks(candidates: Candidates, answer: int, known: set[int], num_entities: int) -> tuple[float, float]:
    """The rank of `answer` by score, ties by their mean, and in the order of the list; other `known` are left out.

    >>> candidate_ranks([(4, 0.9), (1, 0.5), (2, 0.5)], 2, {2, 4}, 10)
    (1.5, 2.0)
    >>> candidate_ranks([(4, 0.9), (1, 0.5)], 2, {2, 4}, 10)
    (5.5, 5.5)
    """
    listed = [(entity, score) for entity, score in candidates if entity == answer or entity not in known]
    place = next((i for i, (entity, _) in enumerate(listed) if entity == answer), None)
    if place is None:
        competing = num_entities - len(known - {answer})
        rest = float(realistic_rank(len(listed), competing - len(listed)))
        return rest, rest
    scores = np.array([[score for _, score in listed]])
    return float(score_ranks(scores, np.array([place]))[0]), float(place + 1)


def figures(candidates: Mapping[Query, Candidates], facts: Facts, known: Facts, num_entities: int) -> dict[str, float]:
    """MRR and hits of binary `facts`, both directions; `own_order` beside a name: in the order of the list."""
    answers = answers_of(known)
    tied: list[float] = []
    ordered: list[float] = []
    for query, answer in queries_of(facts):
        by_score, by_order = candidate_ranks(candidates.get(query, ()), answer, answers[query], num_entities)
        tied.append(by_score)
        ordered.append(by_order)
    return {**_means(tied, ""), **_means(ordered, "_own_order"), "num_queries": len(tied)}


def _means(ranks: Sequence[float], ending: str) -> dict[str, float]:
    size = max(len(ranks), 1)
    found = {f"mrr{ending}": sum(1 / rank for rank in ranks) / size}
    return found | {f"hits@{k}{ending}": sum(rank <= k for rank in ranks) / size for k in HITS}


def queries_of(facts: Facts) -> Iterable[tuple[Query, int]]:
    """Both questions that each binary fact answers."""
    binary = facts[~facts.is_unary]
    columns = (binary.predicate.tolist(), binary.subject.tolist(), binary.object.tolist())
    for predicate, subject, object_ in zip(*columns):
        yield Query(HEAD, predicate, object_), subject
        yield Query(TAIL, predicate, subject), object_


def answers_of(facts: Facts) -> Mapping[Query, set[int]]:
    answers: defaultdict[Query, set[int]] = defaultdict(set)
    for query, answer in queries_of(facts):
        answers[query].add(answer)
    return answers


def read_candidates(path: Path) -> dict[Query, Candidates]:
    """What the peer wrote: direction, relation, entity, then candidate and score in turn."""
    found: dict[Query, Candidates] = {}
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            direction, *words = line.rstrip("\n").split("\t")
            try:
                relation, entity, *rest = words
                pairs = [(id_of(name), float(score)) for name, score in zip(rest[::2], rest[1::2], strict=True)]
                # Below 0: the number for a unary predicate, which is not an entity.
                real = [pair for pair in pairs if pair[0] >= 0]
                found[Query(direction, id_of(relation), id_of(entity))] = real
            except ValueError:
                raise DataError(
                    f"expected direction, relation, entity, then candidates with scores, got {line[:80]!r}",
                    path,
                    number,
                ) from None
    return found


def id_of(name: str) -> int:
    """
    >>> id_of("e17")
    17
    """
    return int(name[1:])
