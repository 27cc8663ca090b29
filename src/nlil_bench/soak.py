"""A soak test of `nlil serve`: many clients, while the run is replaced, verdicts are given and the disk fills and
empties.

    python -m nlil_bench.soak FOLDER --requests 10000

FOLDER lies on a small file system, such as a tmpfs of 12 MB: it is filled to the last byte again and again. A request
may be answered with 503 and a sentence while the run cannot be read or written; any other answer of 500 and more is a
failure, and so is a connection that breaks. The figures are written as JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from http.client import HTTPConnection, HTTPException
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

import numpy as np

from nlil.datasets import load_dataset
from nlil.errors import NlilError
from nlil.learning.learner import Learner
from nlil.learning.run import Learned, save_run

from .viewer import served

DATA = "kin:40"
CLIENTS = 50
VERDICTS = 0.03
"""Share of the requests that give a verdict."""
REPLACED_EVERY_S, FILLED_S = 2.3, 1.0
WATCHED_EVERY_S = 0.25
TOKEN = re.compile(r'name="token" value="([^"]+)"')
BALLAST = "ballast"
PATIENCE_S = 120


class Answer(NamedTuple):
    """The `status` of an answer (0: the connection broke), its `kind` of page, the `seconds`, the text of a failure."""

    status: int
    kind: str
    seconds: float
    text: str = ""


def soak(
    folder: Path, requests: int, clients: int = CLIENTS, seed: int = 0, most_seconds: float = float("inf")
) -> dict[str, Any]:
    """Serve a run in `folder` to many `clients`; return the figures.

    Args:
        folder: On a small file system.
        requests: How many the clients send.
        clients: Each waits for its answer before it sends the next request.
        seed: Of the requests.
        most_seconds: After this time no more requests are sent.
    """
    dataset = load_dataset(DATA)
    runs = [
        Learner(search="count", rules_per_target=0, seed=number, max_length=2 + number).fit(
            dataset.kb, dataset.targets, dataset.splits
        )
        for number in range(2)
    ]
    run = save_run(runs[0], folder / "run", source=DATA, checksum=dataset.checksum, force=True)
    ended, answers, memory, done = threading.Event(), list[Answer](), list[float](), Counter[str]()

    with served(run) as (address, usage):
        place = urlsplit(address)
        host, port = str(place.hostname), int(place.port or 0)
        wait_until_warm(host, port)
        pid = int(usage["pid"])
        work: Sequence[Callable[[], None]] = [
            lambda: every(REPLACED_EVERY_S, ended, lambda: replace_run(runs, run, dataset.checksum, done)),
            lambda: every(FILLED_S, ended, lambda: fill(folder, ended, done)),
            lambda: every(WATCHED_EVERY_S, ended, lambda: memory.append(resident_mb(pid))),
        ]
        beside = [threading.Thread(target=one) for one in work]
        lock, begun = threading.Lock(), time.monotonic()
        left = takewhile(lambda _: time.monotonic() < begun + most_seconds, range(requests))
        names = [str(name) for name in dataset.kb.entities]
        crowd = [
            threading.Thread(target=client, args=(host, port, left, lock, names, random.Random(f"{seed}/{i}"), answers))
            for i in range(clients)
        ]
        for thread in (*beside, *crowd):
            thread.start()
        for thread in crowd:
            thread.join()
        seconds = time.monotonic() - begun
        ended.set()
        for thread in beside:
            thread.join()
        (folder / BALLAST).unlink(missing_ok=True)
        after = asked(HTTPConnection(host, port, timeout=PATIENCE_S), "GET", "/.json", "home")
    return {**figures(answers, seconds), "memory_mb": growth(memory), **done, "status_at_the_end": after.status}


def figures(answers: Sequence[Answer], seconds: float) -> dict[str, Any]:
    """Return counts and times of the `answers`."""
    times = np.sort([one.seconds for one in answers if one.status] or [float("nan")])
    failed = [one for one in answers if one.status == 0 or (one.status >= 500 and not is_clear(one))]
    return {
        "requests": len(answers),
        "seconds": round(seconds, 1),
        "statuses": dict(sorted(Counter(one.status for one in answers).items())),
        "failures": len(failed),
        "failed": [one._asdict() for one in failed[:5]],
        "p50_ms": round(1000 * float(np.quantile(times, 0.5)), 1),
        "p99_ms": round(1000 * float(np.quantile(times, 0.99)), 1),
        "slowest_ms": round(1000 * float(times[-1]), 1),
    }


def is_clear(answer: Answer) -> bool:
    """Return whether it is a 503 that says why."""
    return answer.status == 503 and len(answer.text) > 20


def growth(memory: Sequence[float]) -> dict[str, float]:
    """Return the mean resident memory in each quarter of the time, in megabytes."""
    parts = np.array_split(np.asarray(memory or [0.0]), 4)
    return {f"quarter {number}": round(float(part.mean()), 1) for number, part in enumerate(parts, 1) if len(part)}


# what happens at the same time ----------------------------------------------------------------------------


def client(
    host: str,
    port: int,
    left: Iterator[int],
    lock: threading.Lock,
    names: Sequence[str],
    rng: random.Random,
    answers: list[Answer],
) -> None:
    """Send requests while there are some `left`."""
    connection = HTTPConnection(host, port, timeout=PATIENCE_S)
    with closing(connection):
        while True:
            with lock:
                if next(left, None) is None:
                    return
            kind, address = drawn(names, rng)
            if rng.random() < VERDICTS:
                answers.append(give_verdict(connection, rng))
            else:
                answers.append(asked(connection, "GET", address, kind))


def drawn(names: Sequence[str], rng: random.Random) -> tuple[str, str]:
    """Return a kind of page and an address of it."""
    one, two = quote(rng.choice(names)), quote(rng.choice(names))
    relation = rng.choice(("uncle", "mother", "niece", "brother"))
    chosen = rng.choice(
        (
            ("home", "/"),
            ("search", f"/search?q={one[:3]}"),
            ("predicate", f"/predicate/{rng.randrange(18)}?sort=confidence"),
            ("entity", f"/entity/{rng.randrange(len(names))}"),
            ("rule", f"/rule/{rng.randrange(2_000)}"),
            ("ask", f"/ask?q={relation}({one},+%3F)"),
            ("explain", f"/explain?q={relation}({one},{two})"),
            ("why-not", f"/why-not?q={relation}({one},{two})"),
            ("feedback", "/feedback"),
        )
    )
    path, mark, query = chosen[1].partition("?")
    return chosen[0], f"{path}.json{mark}{query}" if rng.random() < 0.3 else chosen[1]


def give_verdict(connection: HTTPConnection, rng: random.Random) -> Answer:
    """Judge a rule, as the form on its page does."""
    address = f"/rule/{rng.randrange(1_000)}"
    page = asked(connection, "GET", address, "rule", whole=True)
    token = TOKEN.search(page.text)
    if token is None:
        return page._replace(text=page.text[:300])
    form = urlencode({"token": token[1], "verdict": rng.choice(("accepted", "rejected", "")), "note": "soak"})
    return asked(connection, "POST", f"{address}/verdict", "verdict", form)


def asked(
    connection: HTTPConnection, method: str, address: str, kind: str, form: str | None = None, whole: bool = False
) -> Answer:
    """Send one request; with `whole`, return the text of every answer, not only of failures."""
    begun = time.perf_counter()
    try:
        headers = {"Content-Type": "application/x-www-form-urlencoded"} if form is not None else {}
        connection.request(method, address, form, headers)
        got = connection.getresponse()
        text = got.read().decode("utf-8", "replace")
    except (OSError, HTTPException) as error:
        connection.close()
        return Answer(0, kind, time.perf_counter() - begun, f"{address}: {error!r}")
    shown = text if whole else f"{address}: {text[-400:]}" if got.status >= 500 else ""
    return Answer(got.status, kind, time.perf_counter() - begun, shown)


def every(seconds: float, ended: threading.Event, work: Callable[[], None]) -> None:
    """Do some `work` again and again, so many `seconds` apart, until `ended`."""
    while not ended.wait(seconds):
        work()


def replace_run(runs: Sequence[Learned], run: Path, checksum: str, done: Counter[str]) -> None:
    """Replace the run by the other one; on a full disk nothing changes."""
    number = done["replaced"] + done["not_replaced"]
    try:
        save_run(runs[(number + 1) % len(runs)], run, source=DATA, checksum=checksum, force=True)
        done["replaced"] += 1
    except (OSError, NlilError):
        done["not_replaced"] += 1


def fill(folder: Path, ended: threading.Event, done: Counter[str]) -> None:
    """Fill the file system to the last byte, wait, and empty it."""
    with suppress(OSError), (folder / BALLAST).open("wb", buffering=0) as stream:
        while stream.write(b"\0" * 4096) == 4096:
            pass
    done["filled"] += 1
    ended.wait(FILLED_S)
    (folder / BALLAST).unlink(missing_ok=True)


def resident_mb(pid: int) -> float:
    """Return the resident memory of a process in megabytes."""
    with suppress(OSError, IndexError):
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    return 0.0


def wait_until_warm(host: str, port: int) -> None:
    """Wait until the viewer has done what it does once."""
    with closing(HTTPConnection(host, port, timeout=PATIENCE_S)) as connection:
        while not json.loads(asked(connection, "GET", "/.json", "home", whole=True).text)["is_warm"]:
            time.sleep(0.2)


def main() -> int:
    """Soak, and write the figures to stdout; 1 if a request failed."""
    parser = argparse.ArgumentParser(prog="soak", description=__doc__)
    parser.add_argument("folder", type=Path, help="a folder on a small file system; what it contains is replaced")
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--clients", type=int, default=CLIENTS)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after this time")
    given = parser.parse_args()
    free = shutil.disk_usage(given.folder).free
    if free > 100e6:
        parser.error(f"{given.folder} has {free / 1e6:,.0f} MB free; it would be filled: choose a small file system")
    with tempfile.TemporaryDirectory(dir=given.folder) as place:
        found = soak(Path(place), given.requests, given.clients, most_seconds=given.seconds)
    sys.stdout.write(json.dumps(found, indent=1) + "\n")
    return 1 if found["failures"] else 0


if __name__ == "__main__":
    sys.exit(main())
