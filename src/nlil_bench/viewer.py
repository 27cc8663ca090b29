"""nlil bench viewer: how long the pages of `nlil serve` take, and `nlil report`, on runs learned for it.

Addresses of each kind of page are drawn by the seed: hubs and rare entities, long, anchored and negated rules are among
them, and queries of every predicate. Each is opened once the viewer is warm,
again, and as JSON, one after the other, through the socket as a browser does.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

import numpy as np

from nlil.errors import NlilError, require
from nlil.kernel.graph import Graph
from nlil.logic.predicate import Fact
from nlil.logic.query import Query
from nlil.logic.text import fact_text
from nlil.progress import Progress

from .cells import machine_text, markdown, measured, source_text
from .registry import Bench, Request
from .results import Entries, Job, seed_of
from .watched import run_nlil

if TYPE_CHECKING:
    from nlil.data.arrays import Longs
    from nlil.data.kb import KnowledgeBase
    from nlil.kernel.ruleset import RuleSet

DATA = ("kin", "vrd", "fb15k-237")
QUICK_DATA = ("kin:100", "street:30")
COUNT, QUICK_COUNT = 20, 4
"""Addresses of a kind; of queries, both directions of every predicate."""


def measure(job: Job, progress: Progress) -> dict[str, Any]:
    """Learn, serve, open pages, write a report: each a command of its own, as a user runs it."""
    from nlil.datasets import load_dataset
    from nlil.kernel.binding import bind
    from nlil.learning.run import load_run

    seed = seed_of(job)
    is_scene = load_dataset(job["data"], seed=seed, may_download=False).is_scene
    settings = ["preset=scene"] if is_scene else []
    with tempfile.TemporaryDirectory(prefix="nlil-viewer-") as folder:
        run, page = Path(folder) / "run", Path(folder) / "report.html"
        progress("learn", 0, 3)
        words = [word for setting in settings for word in ("--set", setting)]
        run_nlil(["learn", job["data"], "--out", str(run), "--seed", str(seed), *words, "--quiet"])
        progress("open pages", 1, 3)
        learned = load_run(run)
        dataset = load_dataset(job["data"], seed=seed, options=learned.config.data_options())
        rules = bind(learned.rules, dataset.kb).rules
        chosen = addresses(rules, dataset.kb, seed, QUICK_COUNT if job["quick"] else COUNT)
        opened = timed_pages(run, chosen)
        progress("report", 2, 3)
        report = run_nlil(["report", str(run), "--out", str(page), "--quiet"])
        return {
            "settings": settings,
            "checksum": dataset.checksum,
            "num_rules": len(rules),
            "most_rules": int(np.bincount(rules.head).max(initial=0)),
            "pages": opened["pages"],
            "seconds": {"start": opened["start_s"], "warm": opened["warm_s"], "report": report.seconds},
            "report_mb": page.stat().st_size / 1e6,
            "peak_memory_mb": opened["peak_memory_mb"],
            "load_average": os.getloadavg()[0],
        }


# how long pages take -----------------------------------------------------------------------------------


def timed_pages(run: Path, chosen: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Milliseconds of each kind: opened first, again, and as JSON."""
    begin = time.perf_counter()
    with served(run) as (address, usage):
        start, pages = time.perf_counter() - begin, {}
        place = urlsplit(address)
        with closing(HTTPConnection(str(place.hostname), place.port, timeout=60)) as connection:
            while not json.loads(_opened(connection, "/.json"))["is_warm"]:
                time.sleep(0.2)
            warm = time.perf_counter() - begin
            for kind, chosen_of_kind in chosen.items():
                pages[kind] = _timed(connection, chosen_of_kind)
    return {"pages": pages, "start_s": start, "warm_s": warm, "peak_memory_mb": usage["peak_memory_mb"]}


def _timed(connection: HTTPConnection, chosen: Sequence[str]) -> dict[str, Any]:
    first, again = ([_milliseconds(connection, address) for address in chosen] for _ in range(2))
    as_json = [_milliseconds(connection, _json_address(address)) for address in chosen]
    worst = max(zip(map(max, first, again, as_json), chosen), default=(0.0, ""))[1]
    return {
        "count": len(chosen),
        "first": _summary(first),
        "again": _summary(again),
        "json": _summary(as_json),
        "slowest": worst,
    }


@contextmanager
def served(run: Path) -> Iterator[tuple[str, dict[str, float]]]:
    """The address of a viewer of the run, and its process id; its peak memory is known at the end."""
    words = [sys.executable, "-m", "nlil", "serve", str(run), "--port", "0", "--json", "--quiet"]
    usage: dict[str, float] = {}
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as child:
        usage["pid"] = child.pid
        try:
            assert child.stdout is not None
            said = "".join(iter(child.stdout.readline, "}\n")) + "}"
            yield json.loads(said)["address"], usage
        finally:
            child.terminate()
            _, child.returncode, used = os.wait4(child.pid, 0)
            usage["peak_memory_mb"] = used.ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6


def _milliseconds(connection: HTTPConnection, address: str) -> float:
    begin = time.perf_counter()
    _opened(connection, address)
    return 1000 * (time.perf_counter() - begin)


def _opened(connection: HTTPConnection, address: str) -> bytes:
    connection.request("GET", address)
    answer = connection.getresponse()
    text = answer.read()
    if answer.status != 200:
        raise NlilError(f"{address}: the viewer answered {answer.status}: {text[:200].decode('utf-8', 'replace')}")
    return text


def _json_address(address: str) -> str:
    path, mark, query = address.partition("?")
    return f"{path}.json{mark}{query}"


def _summary(values: Sequence[float]) -> dict[str, float]:
    return {"median_ms": float(np.median(values)), "max_ms": max(values)} if values else {}


def check(request: Request) -> None:
    """Complain about a missing package before anything runs."""
    for package in ("fastapi", "uvicorn", "jinja2"):
        require(package, "viewer", "the viewer")


def viewer_table(entries: Entries) -> str:
    """A row for each kind of page and data set, and below what it took beside."""
    shown = measured(entries)
    rows, notes = [], []
    for entry in shown.values():
        for kind, found in entry["pages"].items():
            times = [
                f"{found[turn][value]:.0f}" if found[turn] else ""
                for turn in ("first", "again", "json")
                for value in ("median_ms", "max_ms")
            ]
            rows.append((entry["data"], kind, f"{found['count']:,}", *times))
        seconds = entry["seconds"]
        notes.append(
            f"{entry['data']}: {entry['num_rules']:,} rules, up to {entry['most_rules']:,} for a predicate; "
            f"the viewer answers after {seconds['start']:.0f} s, is warm after {seconds['warm']:.0f} s and "
            f"uses at most {entry['peak_memory_mb'] / 1000:.1f} GB; the report takes "
            f"{seconds['report']:.0f} s and has {entry['report_mb']:.1f} MB; "
            f"{machine_text(entry['machine'])}, load average {entry['load_average']:.1f}."
        )
    head = ("data", "page", "addresses", "first, median ms", "max", "again, median ms", "max", "JSON, median ms", "max")
    return markdown(head, rows, range(2, 9), *notes, source_text("nlil bench viewer", shown))


TABLE_VIEWS = (
    "",
    "?sort=confidence",
    "?sort=support&order=rising",
    "?sort=length",
    "?min_support=5",
    "?min_confidence=.5&sort=support",
)


def addresses(rules: RuleSet, kb: KnowledgeBase, seed: int, count: int) -> dict[str, list[str]]:
    """Kind of page -> addresses; `rules` are bound to `kb`, whose ids the viewer's addresses have."""
    random = np.random.default_rng(seed)
    labels = [kb.label(name) for name in kb.entities.names(random.integers(kb.num_entities, size=count).tolist())]
    typed = [label[: int(random.integers(1, 6))] for label in labels]
    num_rules = np.bincount(rules.head, minlength=kb.num_predicates)
    targets = np.flatnonzero((num_rules > 0) & (kb.predicate_counts > 0))
    most = np.argsort(-num_rules, kind="stable")[:count]
    facts = _facts(kb, random.permutation(np.repeat(targets, -(-count // len(targets))))[:count], random)
    wrong = _mixed(kb, facts, random)
    return {
        "first page": ["/"],
        "search as you type": [f"/search?{urlencode({'q': text})}" for text in typed],
        "rules of a predicate": [f"/predicate/{id}{TABLE_VIEWS[i % len(TABLE_VIEWS)]}" for i, id in enumerate(most)],
        "rule": [f"/rule/{row}" for row in _rule_rows(rules, random, count)],
        "rule, later pages": [f"/rule/{row}?examples=2&counterexamples=5" for row in _long_lists(rules, count)],
        "entity": [f"/entity/{id}" for id in _hubs_and_rare(kb, random, count)],
        "ask": [f"/ask?{urlencode({'q': q})}" for target in targets for q in _questions(kb, int(target), random)],
        "explain": [_about("explain", fact) for fact in (*facts[: count // 2], *wrong[count // 2 :])],
        "why not": [_about("why-not", fact) for fact in (*wrong[: count // 2], *facts[count // 2 :])],
        "verdicts": ["/feedback"],
    }


def _rule_rows(rules: RuleSet, random: np.random.Generator, count: int) -> list[int]:
    """Any, the longest lines, those with constants, and those that are no line (negated, conjoined)."""
    each = -(-count // 4)
    longest = np.argsort(-np.where(rules.is_program, 0, rules.lengths), kind="stable")[:1000]
    pools = (np.arange(len(rules)), longest, np.flatnonzero(rules.has_constant), np.flatnonzero(rules.is_program))
    picks = [random.choice(pool, min(each, len(pool)), replace=False) for pool in pools]
    return [int(row) for row in np.concatenate(picks)]


def _long_lists(rules: RuleSet, count: int) -> list[int]:
    """The rules with most counterexamples, the most general ones, of which each page has to be found."""
    others = rules.body_size - rules.support
    busy = np.flatnonzero((rules.support > 10) & (others > 40))
    return [int(row) for row in busy[np.argsort(-others[busy], kind="stable")[:count]]]


def _hubs_and_rare(kb: KnowledgeBase, random: np.random.Generator, count: int) -> list[int]:
    degree = np.diff(Graph.of(kb).pointer)
    order = np.argsort(-degree, kind="stable")
    rare = order[-(kb.num_entities // 10 + 1) :]
    return [int(id) for id in (*order[: count // 2], *random.choice(rare, min(count // 2, len(rare)), replace=False))]


def _questions(kb: KnowledgeBase, target: int, random: np.random.Generator) -> list[str]:
    (fact,) = _facts(kb, np.array([target]), random)
    one, *two = fact.arguments
    both = [(one, None), (None, two[0])] if two else [(None,), (one,)]
    return [str(Query(fact.predicate.name, names)) for names in both]


def _about(page: str, fact: Fact) -> str:
    return f"/{page}?{urlencode({'q': fact_text(fact)})}"


def _facts(kb: KnowledgeBase, targets: Longs, random: np.random.Generator) -> list[Fact]:
    """A fact of each target."""
    found = []
    for target in targets.tolist():
        of_target = kb.facts.of(target)
        row = int(random.integers(len(of_target)))
        found.append(kb.fact(target, int(of_target.subject[row]), int(of_target.object[row])))
    return found


def _mixed(kb: KnowledgeBase, facts: Sequence[Fact], random: np.random.Generator) -> list[Fact]:
    """Each with an argument of another fact of its predicate, of a unary one of any entity: seldom true."""
    result = []
    for fact in facts:
        (other,) = _facts(kb, np.array([kb.predicate_id(fact.predicate)]), random)
        last = (
            other.arguments[-1]
            if len(fact.arguments) == 2
            else kb.entities.name(int(kb.facts.subject[random.integers(len(kb.facts))]))
        )
        result.append(Fact(fact.predicate, (*fact.arguments[:-1], last)))
    return result


BENCH = Bench(measure, {"viewer": viewer_table}, DATA, QUICK_DATA, check=check)
