"""nlil bench curve: MRR against seconds of learning, AnyBURL + PyClause beside ours, same machine, one after the other.

Ours learns anew for every number of seconds, each in a process of its own, until one run ends before its limit: more
time would change nothing, so its figure holds for later limits too. The peer learns once and is evaluated at each.
Loading facts counts for neither, nor does ranking the test facts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nlil.errors import ConfigError
from nlil.progress import Progress

from . import kb
from .methods import OURS
from .peer import PEER, TOP, Peer, measure_peer
from .registry import Bench, Request
from .results import (
    Entries,
    Entry,
    Job,
    entry_key,
    machine_text,
    markdown,
    measured,
    peak_memory_mb,
    picture,
    share_text,
    shared_legend,
    source_text,
    stamped,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DATA = ("wn18", "fb15k-237", "family", "kinship", "umls")
SECONDS = (10, 50, 100, 250)
QUICK_DATA = ("kin",)
QUICK_SECONDS = (1, 2)
THREADS = 2
COMPILED_ON = "kin"
"""Something small is learned first: compiled code is kept on disk, and the compiler's seconds are nobody's learning."""


# measuring ------------------------------------------------------------------------------------------------


def our_job(data: str, limit: int, threads: int, seed: int, quick: bool) -> dict[str, Any]:
    """Ours with `limit` seconds of learning."""
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
    """The peer with snapshots at all `seconds`; `peer` is the folder of its programs."""
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


def measure(job: Job, progress: Progress) -> dict[str, Any]:
    """{"entries": ...}: one of ours, or one of the peer for each number of seconds."""
    found = _ours(job, progress) if job["model"] == OURS else _peer(job, progress)
    return {"entries": {key(entry): stamped(entry, job) for entry in found}}


def _ours(job: Job, progress: Progress) -> list[dict[str, Any]]:
    from nlil.learning import learner  # noqa: F401  imported before the clock starts, as the peer's program is

    options = {"seed": job["seed"], "threads": job["threads"], "device": "cpu"}
    # The defaults of learn, also with --quick: what is small then is the data.
    entry = kb.measure(kb.job(job["data"], [f"time_limit={job['limit']}"], options, quick=False), progress)
    about = {"data": job["data"], "quick": job["quick"], "limit": job["limit"], "measured_at": job["limit"]}
    return [{**entry, **about}]


def _peer(job: Job, progress: Progress) -> list[dict[str, Any]]:
    from nlil.datasets import load_dataset

    dataset = load_dataset(job["data"], seed=job["seed"])
    about = {"data": job["data"], "model": PEER, "checksum": dataset.checksum, "quick": job["quick"]}
    found = measure_peer(dataset, Peer(Path(job["peer"])), job, progress)
    peak = peak_memory_mb(children=True)
    return [
        {**about, **entry, "limit": limit, "metrics": best(entry["rankings"]), "peak_memory_mb": peak}
        for limit, entry in found.items()
    ]


def best(rankings: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
    """The kindest figure: the better ranking, by mean ranks of equal scores or in the peer's own order."""
    mrr, ranking, ending = max(
        (figures[f"mrr{ending}"], ranking, ending)
        for ranking, figures in rankings.items()
        for ending in ("", "_own_order")
    )
    figures = rankings[ranking]
    return {
        "mrr": mrr,
        **{f"hits@{k}": figures[f"hits@{k}{ending}"] for k in (1, 3, 10)},
        "num_queries": figures["num_queries"],
        "ranking": ranking,
        "own_order": bool(ending),
    }


def key(entry: Entry) -> str:
    """Data, model and limit."""
    return entry_key(entry, entry["data"], entry["model"], f"{entry['limit']}s")


def later(entry: Entry, seconds: Sequence[int]) -> dict[str, dict[str, Any]]:
    """The same figure for every later limit, where learning came to its end before its own."""
    if entry["partial"]:
        return {}
    copies = [{**entry, "limit": limit} for limit in seconds if limit > entry["limit"]]
    return {key(copy): copy for copy in copies}


def entries(request: Request, data: str) -> Iterator[dict[str, Entry]]:
    """The peer, then ours: the same minutes, never at the same time; kept as one group."""
    limits, threads, quick = limits_of(request), request.session.threads or THREADS, request.quick
    request.measure(our_job(COMPILED_ON, 0, threads, 0, quick=True), "compiling")
    found: dict[str, Entry] = {}
    if request.peer is not None:
        job = peer_job(data, limits, request.peer.absolute(), threads, request.seed, quick)
        found |= request.measure(job, f"{data}: AnyBURL for {limits[-1]} s, then PyClause")["entries"]
    for limit in limits:
        ours = request.measure(our_job(data, limit, threads, request.seed, quick), f"{data}: ours, {limit} s")
        found |= ours["entries"]
        (entry,) = ours["entries"].values()
        if not entry["partial"]:
            found |= later(entry, limits)
            break
    yield found


def limits_of(request: Request) -> tuple[int, ...]:
    """The numbers of seconds, in order."""
    if request.seconds:
        return parse_limits(request.seconds)
    return QUICK_SECONDS if request.quick else SECONDS


def parse_limits(text: str) -> tuple[int, ...]:
    """Seconds as the command line has them.

    >>> parse_limits("10,50")
    (10, 50)
    """
    words = [word.strip().removesuffix("s") for word in text.split(",")]
    if not all(word.isdecimal() and int(word) for word in words):
        raise ConfigError(f"--seconds {text}: expected whole seconds such as 10,50,100,250")
    return tuple(sorted({int(word) for word in words}))


def check(request: Request) -> None:
    """Complain about --seconds and --peer before anything runs."""
    limits_of(request)
    if request.peer is not None:
        Peer(request.peer).check()


# the table ------------------------------------------------------------------------------------------------

NOTES = (
    f"MRR on test facts: filtered, both directions. AnyBURL + PyClause: noisy-or of the five best rules and "
    f"maxplus, of the {TOP} best candidates of a query, the answer among equal scores at their mean rank, an "
    "answer beyond them at the mean rank of the rest; beside it in PyClause's own order, which breaks ties by "
    "further rules and frequency. Ours: mean rank of ties always. The difference is to the best of the four. "
    "Same machine and number of threads, one after the other, loading and ranking not counted; `used` is what "
    "learning really took."
)


def by_limit(entries: Entries) -> dict[str, dict[int, dict[str, Entry]]]:
    """By data set, number of seconds and model, in the order of the table."""

    def place(entry: Entry) -> tuple[int, str, int]:
        return (DATA.index(entry["data"]) if entry["data"] in DATA else len(DATA), entry["data"], entry["limit"])

    found: dict[str, dict[int, dict[str, Entry]]] = {}
    for entry in sorted(entries.values(), key=place):
        found.setdefault(entry["data"], {}).setdefault(entry["limit"], {})[entry["model"]] = entry
    return found


def curve_table(entries: Entries) -> str:
    """A row for each set and number of seconds; the difference is to the best of the peer's four figures."""
    shown = measured(entries)
    rows = [_row(data, limit, models) for data, limits in by_limit(shown).items() for limit, models in limits.items()]
    peer = ("noisy-or", "own order", "maxplus", "own order", "rules")
    head = ("data", "learning", "**nlil**", "used", "rules", *peer, "difference", "machine")
    table = markdown(head, rows, right=range(1, 11))
    source = source_text("nlil bench curve --peer FOLDER", shown)
    return f"{table}\n\n{NOTES}\n\n{source}" if rows else table


def _row(data: str, limit: int, models: Mapping[str, Entry]) -> tuple[str, ...]:
    ours, peer = models.get(OURS), models.get(PEER)
    mine, theirs, difference = [""] * 3, [""] * 5, ""
    if ours is not None:
        mine = [share_text(ours["metrics"]["mrr"]), f"{ours['seconds']['learn']:.1f} s", f"{ours['num_rules']:,}"]
    if peer is not None:
        figures = [figures[name] for figures in peer["rankings"].values() for name in ("mrr", "mrr_own_order")]
        theirs = [*map(share_text, figures), f"{peer['num_rules']:,}"]
    if ours is not None and peer is not None:
        difference = f"{ours['metrics']['mrr'] - peer['metrics']['mrr']:+.3f}"
    return (data, f"{limit} s", *mine, *theirs, difference, machine_text((ours or peer or {})["machine"]))


# the picture: one panel for each data set ---------------------------------------------------------------

LINES = ((OURS, "nlil", "tab:blue", "o"), (PEER, "AnyBURL + PyClause, its best ranking", "tab:orange", "s"))
PANELS_ACROSS = 3


def plot_curve(entries: Entries, path: Path) -> Path:
    """MRR against seconds of learning."""
    sets = by_limit(entries)
    down, across = math.ceil(len(sets) / PANELS_ACROSS), min(len(sets), PANELS_ACROSS)
    with picture(path, 4.2 * across, 3.2 * down + 0.5) as figure:
        for position, (data, limits) in enumerate(sets.items(), start=1):
            axes = figure.add_subplot(down, across, position)
            _panel(axes, data, limits)
            if position % across == 1 or across == 1:
                axes.set_ylabel("MRR, test facts")
        shared_legend(figure, columns=2)
    return path


def _panel(axes: Axes, data: str, limits: Mapping[int, Mapping[str, Entry]]) -> None:
    for model, label, colour, marker in LINES:
        points = line(limits, model)
        if points:
            axes.plot(*zip(*points), color=colour, marker=marker, markersize=4, label=label)
    axes.set_xscale("log")
    axes.set_xticks(list(limits), [str(limit) for limit in limits])
    axes.minorticks_off()
    axes.set_xlabel("seconds of learning")
    axes.set_title(data)
    axes.grid(alpha=0.3)


def line(limits: Mapping[int, Mapping[str, Entry]], model: str) -> list[tuple[float, float]]:
    """(seconds, MRR). A run that took longer than its limit stands where it really ended, never to the left of that."""
    found = [(limit, models[model]) for limit, models in limits.items() if model in models]
    return [(max(float(limit), entry["seconds"]["learn"]), entry["metrics"]["mrr"]) for limit, entry in found]


BENCH = Bench(
    measure,
    entries,
    {"curve": curve_table},
    DATA,
    QUICK_DATA,
    frozenset({"data", "seconds", "peer"}),
    check=check,
    draw=plot_curve,
)
