"""nlil bench viewer: how long the pages of `nlil serve` take, and `nlil report`, on runs learned for it.

Addresses of each kind of page are drawn by the seed (`viewer_addresses`). Each is opened once the viewer is warm,
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
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from nlil.errors import NlilError
from nlil.progress import Progress

from .cells import Entries, machine_text, markdown, measured
from .record import machine, versions
from .viewer_addresses import addresses

DATA = ("kin", "vrd", "fb15k-237")
QUICK_DATA = ("kin:100", "street:30")
COUNT, QUICK_COUNT = 20, 4
"""Addresses of a kind; questions are asked of every predicate in both directions."""


def job(data: str, seed: int, quick: bool) -> dict[str, Any]:
    return {"bench": "viewer", "data": data, "seed": seed, "quick": quick}


def measure(job: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Learn, serve, open pages, write a report: each a command of its own, as a user runs it."""
    from nlil.datasets import load_dataset
    from nlil.kernel.binding import bind
    from nlil.learning.run import load_run

    is_scene = load_dataset(job["data"], seed=job["seed"], may_download=False).is_scene
    settings = ["preset=scene"] if is_scene else []
    with tempfile.TemporaryDirectory(prefix="nlil-viewer-") as folder:
        run, page = Path(folder) / "run", Path(folder) / "report.html"
        progress("learn", 0, 3)
        words = [word for setting in settings for word in ("--set", setting)]
        command("learn", job["data"], "--out", str(run), "--seed", str(job["seed"]), *words)
        progress("open pages", 1, 3)
        learned = load_run(run)
        dataset = load_dataset(job["data"], seed=job["seed"], options=learned.config.data_options())
        rules = bind(learned.rules, dataset.kb).rules
        chosen = addresses(rules, dataset.kb, job["seed"], QUICK_COUNT if job["quick"] else COUNT)
        opened = timed_pages(run, chosen)
        progress("report", 2, 3)
        begin = time.perf_counter()
        command("report", str(run), "--out", str(page))
        return {
            "data": job["data"],
            "settings": settings,
            "quick": job["quick"],
            "checksum": dataset.checksum,
            "num_rules": len(rules),
            "most_rules": int(np.bincount(rules.head).max(initial=0)),
            "pages": opened["pages"],
            "seconds": {"start": opened["start_s"], "warm": opened["warm_s"], "report": time.perf_counter() - begin},
            "report_mb": page.stat().st_size / 1e6,
            "peak_memory_mb": opened["peak_memory_mb"],
            "load_average": os.getloadavg()[0],
            "seed": job["seed"],
            "machine": machine(),
            "versions": versions(),
        }


# how long they take -----------------------------------------------------------------------------------


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
            for kind, mine in chosen.items():
                pages[kind] = _timed(connection, mine)
    return {"pages": pages, "start_s": start, "warm_s": warm, **usage}


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
    """The address of a viewer of the run; its peak memory is known at the end."""
    words = [sys.executable, "-m", "nlil", "serve", str(run), "--port", "0", "--json", "--quiet"]
    usage: dict[str, float] = {}
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as child:
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


def command(*words: str) -> None:
    done = subprocess.run([sys.executable, "-m", "nlil", *words, "--quiet"], capture_output=True, text=True)
    if done.returncode:
        raise NlilError((done.stderr.strip().splitlines() or [f"nlil {words[0]} failed"])[-1])


def key(entry: Mapping[str, Any], job: Mapping[str, Any]) -> str:
    return " ".join(
        [entry["data"], *([f"seed={entry['seed']}"] if entry["seed"] else []), *(["quick"] if entry["quick"] else [])]
    )


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
            f"holds {entry['peak_memory_mb'] / 1000:.1f} GB at most; the report takes "
            f"{seconds['report']:.0f} s and has {entry['report_mb']:.1f} MB; "
            f"{machine_text(entry['machine'])}, load average {entry['load_average']:.1f}."
        )
    head = ("data", "page", "addresses", "first, median ms", "max", "again, median ms", "max", "JSON, median ms", "max")
    return "\n\n".join((markdown(head, rows, right=range(2, 9)), *notes))
