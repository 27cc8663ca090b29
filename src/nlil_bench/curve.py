"""nlil bench curve: MRR against seconds of learning, for nlil and AnyBURL + PyClause on the same machine.

nlil learns again for every number of seconds, each time in a separate process, until one run ends before its limit:
more time would change nothing, so its figure holds for later limits too. The peer learns once and is evaluated at each
limit. Loading facts and ranking the test facts do not count for either.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from nlil.errors import ConfigError
from nlil.progress import Progress

from . import kb
from .cells import Panel, PictureLine, draw_panels, machine_text, markdown, measured, share_text, source_text
from .methods import OURS
from .peer import PEER, TOP, Peer, measure_peer
from .registry import Bench, Request
from .results import Entries, Entry, Job, entry_key, peak_memory_mb, seed_of, stamped

DATA = ("wn18", "fb15k-237", "family", "kinship", "umls")
SECONDS = (10, 50, 100, 250)
QUICK_DATA = ("kin",)
QUICK_SECONDS = (1, 2)
THREADS = 2
COMPILED_ON = "kin"
"""Something small is learned first: compiled code is kept on disk, and the compiler's seconds are nobody's learning."""


# measuring ------------------------------------------------------------------------------------------------


def measure(job: Job, progress: Progress) -> dict[str, Any]:
    """{"entries": ...}: one of nlil, or one of the peer for each number of seconds."""
    found = _ours(job, progress) if job["model"] == OURS else _peer(job, progress)
    return {"entries": {key(entry): stamped(entry, job) for entry in found}}


def _ours(job: Job, progress: Progress) -> list[dict[str, Any]]:
    from nlil.learning import learner  # noqa: F401  imported before the clock starts, as the peer's program is

    options = {"seed": seed_of(job), "threads": job["threads"], "device": "cpu"}
    # The defaults of learn, also with --quick: what is small then is the data.
    about = {"data_seed": seed_of(job), "split": "test", "settings": [f"time_limit={job['limit']}"]}
    entry = kb.measure({**job, **about, "options": options}, progress)
    about = {"data": job["data"], "quick": job["quick"], "limit": job["limit"], "measured_at": job["limit"]}
    return [{**entry, **about}]


def _peer(job: Job, progress: Progress) -> list[dict[str, Any]]:
    from nlil.datasets import load_dataset

    dataset = load_dataset(job["data"], seed=seed_of(job))
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
    """The peer, then nlil, one directly after the other, never at the same time; stored as one group."""
    limits, threads = limits_of(request), request.session.threads or THREADS
    request.measure(request.job("curve", COMPILED_ON, model=OURS, limit=0, threads=threads), "compiling")
    found: dict[str, Entry] = {}
    if request.peer is not None:
        about = {"seconds": limits, "peer": str(request.peer.absolute()), "threads": threads}
        job = request.job("curve", data, model=PEER, **about)
        found |= request.measure(job, f"{data}: AnyBURL for {limits[-1]} s, then PyClause")["entries"]
    for limit in limits:
        job = request.job("curve", data, model=OURS, limit=limit, threads=threads)
        ours = request.measure(job, f"{data}: ours, {limit} s")
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
    "MRR on test facts: filtered, both directions. AnyBURL + PyClause: noisy-or of the five best rules, and maxplus, "
    f"over the {TOP} best candidates of a query; candidates with equal scores share their mean rank, and an answer "
    "beyond these candidates has the mean rank of the rest. `own order`: ranked in PyClause's own order, which "
    "breaks ties by further rules and frequency. nlil: always the mean rank of ties. The difference is to the best "
    "of the four. Same machine and number of threads, one after the other; loading and ranking are not counted. "
    "`used` is the time that learning took."
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
    return markdown(head, rows, range(1, 11), NOTES, source_text("nlil bench curve --peer FOLDER", shown))


def _row(data: str, limit: int, models: Mapping[str, Entry]) -> tuple[str, ...]:
    ours, peer = models.get(OURS), models.get(PEER)
    our_cells, peer_cells, difference = [""] * 3, [""] * 5, ""
    if ours is not None:
        our_cells = [share_text(ours["metrics"]["mrr"]), f"{ours['seconds']['learn']:.1f} s", f"{ours['num_rules']:,}"]
    if peer is not None:
        figures = [figures[name] for figures in peer["rankings"].values() for name in ("mrr", "mrr_own_order")]
        peer_cells = [*map(share_text, figures), f"{peer['num_rules']:,}"]
    if ours is not None and peer is not None:
        difference = f"{ours['metrics']['mrr'] - peer['metrics']['mrr']:+.3f}"
    return (data, f"{limit} s", *our_cells, *peer_cells, difference, machine_text((ours or peer or {})["machine"]))


# the picture: one panel for each data set ---------------------------------------------------------------


def plot_curve(entries: Entries, path: Path) -> Path:
    """MRR against seconds of learning."""
    panels = {}
    for data, limits in by_limit(entries).items():
        peer = PictureLine("AnyBURL + PyClause, its best ranking", line(limits, PEER), "tab:orange")
        panels[data] = Panel(
            [PictureLine("nlil", line(limits, OURS), "tab:blue"), peer], list(limits), "MRR, test facts"
        )
    return draw_panels(path, panels, "seconds of learning")


def line(limits: Mapping[int, Mapping[str, Entry]], model: str) -> list[tuple[float, float]]:
    """(seconds, MRR). A run that took longer than its limit stands where it really ended, never to the left of that."""
    found = [(limit, models[model]) for limit, models in limits.items() if model in models]
    return [(max(float(limit), entry["seconds"]["learn"]), entry["metrics"]["mrr"]) for limit, entry in found]


BENCH = Bench(
    measure,
    {"curve": curve_table},
    DATA,
    QUICK_DATA,
    frozenset({"data", "seconds", "peer"}),
    entries=entries,
    check=check,
    draw=plot_curve,
)
