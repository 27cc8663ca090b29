"""nlil bench curve: MRR against seconds of learning, AnyBURL + PyClause beside ours, same machine, one after the other.

Ours learns anew for every number of seconds, each in a process of its own, until one run ends before its limit: more
time would change nothing, so its figure holds for later limits too. The peer learns once and is asked at each.
Loading facts counts for neither, nor does ranking the test facts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nlil.progress import Progress

from .cells import Entries, machine_text, markdown, measured, share
from .kb import OURS
from .peer import PEER, TOP, Peer, children_peak_mb, measure_peer

DATA = ("wn18", "fb15k-237", "family", "kinship", "umls")
SECONDS = (10, 50, 100, 250)
QUICK_DATA = ("kin",)
QUICK_SECONDS = (1, 2)
THREADS = 2
COMPILED_ON = "kin"


def our_job(data: str, limit: int, threads: int, seed: int, quick: bool) -> dict[str, Any]:
    return {
        "bench": "curve",
        "data": data,
        "model": OURS,
        "limit": limit,
        "threads": threads,
        "seed": seed,
        "quick": quick,
    }


def peer_job(data: str, seconds: Sequence[int], peer: Path, threads: int, seed: int, quick: bool) -> dict[str, Any]:
    return {
        "bench": "curve",
        "data": data,
        "model": PEER,
        "seconds": list(seconds),
        "peer": str(peer),
        "threads": threads,
        "seed": seed,
        "quick": quick,
    }


def compile_job(threads: int) -> dict[str, Any]:
    """Something small first: compiled code is kept on disk, and the compiler's seconds are nobody's learning."""
    return our_job(COMPILED_ON, 0, threads, 0, quick=True)


def measure(job: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """{"entries": ...}: one of ours, or one of the peer for each number of seconds."""
    found = _ours(job, progress) if job["model"] == OURS else _peer(job, progress)
    return {"entries": {key(entry): entry for entry in found}}


def _ours(job: Mapping[str, Any], progress: Progress) -> list[dict[str, Any]]:
    from nlil.learning import learner  # noqa: F401  imported before the clock starts, as the peer's program is

    from . import kb

    options = {"seed": job["seed"], "threads": job["threads"], "device": "cpu"}
    limits = [f"time_limit={job['limit']}"]
    # The defaults of learn, also with --quick: what is small then is the data.
    entry = kb.measure(kb.job(job["data"], limits, options, quick=False), progress)
    return [{**entry, "quick": job["quick"], "limit": job["limit"], "measured_at": job["limit"]}]


def _peer(job: Mapping[str, Any], progress: Progress) -> list[dict[str, Any]]:
    from nlil.datasets import load_dataset

    dataset = load_dataset(job["data"], seed=job["seed"])
    about = {
        "data": job["data"],
        "model": PEER,
        "checksum": dataset.checksum,
        "quick": job["quick"],
        "seed": job["seed"],
    }
    found = measure_peer(dataset, Peer(Path(job["peer"])), job, progress)
    peak = children_peak_mb()
    return [
        {**about, **entry, "limit": limit, "metrics": best(entry["rankings"]), "peak_memory_mb": peak}
        for limit, entry in found.items()
    ]


def best(rankings: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
    """The kindest figure: the better ranking, by mean ranks of equal scores or in the peer's own order."""
    found = [
        (figures[f"mrr{ending}"], ranking, ending)
        for ranking, figures in rankings.items()
        for ending in ("", "_own_order")
    ]
    mrr, ranking, ending = max(found)
    figures = rankings[ranking]
    return {
        "mrr": mrr,
        **{f"hits@{k}": figures[f"hits@{k}{ending}"] for k in (1, 3, 10)},
        "num_queries": figures["num_queries"],
        "ranking": ranking,
        "own_order": bool(ending),
    }


def key(entry: Mapping[str, Any]) -> str:
    return " ".join([entry["data"], entry["model"], f"{entry['limit']}s", *(["quick"] if entry["quick"] else [])])


def later(entry: Mapping[str, Any], seconds: Sequence[int]) -> dict[str, dict[str, Any]]:
    """The same figure for every later limit, where learning came to its end before its own."""
    if entry["partial"]:
        return {}
    copies = [{**entry, "limit": limit} for limit in seconds if limit > entry["limit"]]
    return {key(copy): copy for copy in copies}


def pairs(entries: Entries) -> dict[str, dict[int, dict[str, Mapping[str, Any]]]]:
    """By data set, number of seconds and model, in the order of the table."""
    found: dict[str, dict[int, dict[str, Mapping[str, Any]]]] = {}
    for entry in sorted(entries.values(), key=lambda e: (_place(e["data"]), e["limit"])):
        found.setdefault(entry["data"], {}).setdefault(entry["limit"], {})[entry["model"]] = entry
    return found


def _place(data: str) -> tuple[int, str]:
    return (DATA.index(data) if data in DATA else len(DATA), data)


def curve_table(entries: Entries) -> str:
    """A row for each set and number of seconds; the difference is to the best of the peer's four figures."""
    shown = measured(entries)
    rows = [_row(data, limit, models) for data, limits in pairs(shown).items() for limit, models in limits.items()]
    head = (
        "data",
        "learning",
        "**nlil**",
        "used",
        "rules",
        "noisy-or",
        "own order",
        "maxplus",
        "own order",
        "rules",
        "difference",
        "machine",
    )
    table = markdown(head, rows, right=range(1, 11))
    return f"{table}\n\n{NOTES}" if rows else table


NOTES = (
    f"MRR on test facts: filtered, both directions. AnyBURL + PyClause: noisy-or of the five best rules and "
    f"maxplus, of the {TOP} best candidates of a query, the answer among equal scores at their mean rank, an "
    "answer beyond them at the mean rank of the rest; beside it in PyClause's own order, which breaks ties by "
    "further rules and frequency. Ours: mean rank of ties always. The difference is to the best of the four. "
    "Same machine and number of threads, one after the other, loading and ranking not counted; `used` is what "
    "learning really took."
)


def _row(data: str, limit: int, models: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
    ours, peer = models.get(OURS), models.get(PEER)
    mine = (
        ["", "", ""]
        if ours is None
        else [share(ours["metrics"]["mrr"]), f"{ours['seconds']['learn']:.1f} s", f"{ours['num_rules']:,}"]
    )
    theirs = [""] * 5
    if peer is not None:
        theirs = [share(figures[name]) for figures in peer["rankings"].values() for name in ("mrr", "mrr_own_order")]
        theirs.append(f"{peer['num_rules']:,}")
    both = ours is not None and peer is not None
    gap = f"{ours['metrics']['mrr'] - peer['metrics']['mrr']:+.3f}" if both else ""  # type: ignore[index]
    return (data, f"{limit} s", *mine, *theirs, gap, machine_text((ours or peer or {})["machine"]))
