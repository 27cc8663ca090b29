"""nlil bench kb: learn and evaluate on knowledge graphs, and compare with baselines and published figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from nlil.progress import Progress

from .baselines.interface import CLASS_NAMES, NAMES
from .cells import machine_text, markdown, measured, share_text, source_text
from .methods import OURS, BaselineMethod, Method, OurMethod, measure_method
from .published import KB, best_published
from .registry import Bench, Request
from .results import Entries, Entry, Job, device_word, job_key
from .seeds import over_seeds, seeds_word

DATA = ("wn18", "fb15k-237", "family", "kinship", "umls")
QUICK_DATA = ("kin", "kinship")
SEARCHES = ("count", "neural", "both")
"""nlil with one search; all other models are baselines."""
QUICK_SETTINGS: Mapping[str, tuple[str, ...]] = {
    OURS: ("max_length=2",),
    "neural-lp": ("epochs=1",),
    "transe": ("epochs=4", "check_every=2", "dim=50", "negatives=8"),
    "rotate": ("epochs=4", "check_every=2", "dim=50", "negatives=8"),
}
"""To see that it works; given settings come after these."""


# measuring ------------------------------------------------------------------------------------------------


def whole_job(request: Request, data: str) -> Job:
    """The job of all seeds."""
    model = OURS if request.model is None or request.model in SEARCHES else request.model
    few = QUICK_SETTINGS.get(model, ()) if request.quick else ()
    seed = request.options.get("seed", 0)
    job = request.job("kb", data, model=model, seeds=request.seeds, split=request.split, data_seed=seed)
    return {**job, "settings": [*few, *our_settings(request)]}


def measure(job: Job, progress: Progress) -> dict[str, Any]:
    """One model on one set with one seed."""
    from nlil.config import LearnerConfig
    from nlil.datasets import load_dataset
    from nlil.learning.opening import Applied

    split = job["split"]
    method: Method
    if job["model"] == OURS:
        method = OurMethod(LearnerConfig().with_settings(job["settings"]).with_values(job["options"], "options"))
    else:
        method = BaselineMethod(job["model"], job["settings"], job["options"])
    dataset, entry = measure_method(
        method, lambda options: load_dataset(job["data"], seed=job["data_seed"], options=options), split, progress
    )
    if isinstance(method, OurMethod):
        applied = Applied(method.learned.rules, dataset, method.config)
        entry["calibration"] = applied.reliability(split, progress).figures
    return {"model": job["model"], "split": split, **entry}


def key(entry: Entry, job: Job) -> str:
    """What tells entries apart: data, device, model, seeds, split, and every option or setting the user gave."""
    model = f"model={entry['model']}" * (entry["model"] != OURS)
    split = f"split={job['split']}" * (job["split"] != "test")
    return job_key(entry, job, entry["data"], device_word(entry), model, seeds_word(job), split)


def our_settings(request: Request) -> tuple[str, ...]:
    """The settings that were given, and the search where --model names one."""
    return (*request.settings, *([f"search={request.model}"] if request.model in SEARCHES else []))


def check(request: Request) -> None:
    """Check the settings of nlil or of a baseline."""
    if request.model is None or request.model in SEARCHES:
        request.check_settings()
    else:
        request.check_baseline()


# tables ---------------------------------------------------------------------------------------------------

ROW_NAMES = {
    OURS: "**nlil**",
    "popularity": "popularity",
    "neural-lp": "Neural-LP, our code",
    "dilp": "dILP, our code",
    "transe": "TransE, PyKEEN",
    "rotate": "RotatE, PyKEEN",
}
"""Models as a row names them, in the order of rows."""
COMMAND = "nlil bench kb --data DATA --model MODEL --seeds N --set KEY=VALUE"
PROTOCOL = (
    "Rows that are not marked as published were measured with the same evaluation code: filtered, both directions, "
    "all entities as candidates, realistic ties. With several seeds: mean ± sample standard deviation; the time "
    "(learning and evaluation) is a mean, the memory a maximum. Published figures are quoted; a different treatment "
    "of ties is named."
)
STEPS: Mapping[frozenset[str], str] = {
    frozenset(
        {"exclusions=off", "tried_length=0", "conjunctions=0", "weigh=off"}
    ): "chains, anchored and half-anchored rules, priors; noisy-or of the 5 strongest",
    frozenset({"tried_length=0", "conjunctions=0", "weigh=off"}): "+ exclusions",
    frozenset({"conjunctions=0", "weigh=off"}): (
        "+ chains of up to 5 steps where they raise the score on validation facts"
    ),
    frozenset({"weigh=off"}): "+ conjunctions, likewise",
    frozenset(): "+ fitted weights (the default)",
}
"""Settings -> what they have in words, each with one thing more than the one before."""
STEP_DATA = ("fb15k-237", "wn18", "family", "kinship", "umls")
"""The columns of the tables of steps."""


class Row(NamedTuple):
    """What tells rows apart; `settings` are the words that the user gave."""

    data: str
    device: str
    model: str
    settings: tuple[str, ...]


def kb_table(entries: Entries) -> str:
    """nlil first for each data set, then the measured baselines, then the published figures."""
    found = rows(entries, "test")
    lines: list[Sequence[str]] = []
    for data in (*KB, *sorted({row.data for row in found} - set(KB))):
        of_data = sorted((row for row in found if row.data == data), key=lambda row: list(ROW_NAMES).index(row.model))
        lines += [_line(row, found[row]) for row in of_data]
        for p in KB.get(data, ()) if of_data else ():
            ties = p.ties and f"ties: {p.ties}"
            figures = (share_text(p.mrr), "", share_text(p.hits10))
            minutes = "" if p.minutes is None else f"{p.minutes:g} min"
            lines.append((data, f"{p.method}, published", ties, *figures, "", minutes, "", "", ""))
    head = ("data", "model", "settings", "MRR", "Hits@1", "Hits@10", "seeds", "time", "peak memory", "rules", "device")
    shown = {str(row): entry for row, entry in found.items()}
    return markdown(head, lines, range(3, 10), PROTOCOL, source_text(COMMAND, shown))


def summary_table(entries: Entries) -> str:
    """One line for each data set: the default on a CPU, the best baseline that we measured, the best published."""
    found = rows(entries, "test")
    lines: list[Sequence[str]] = []
    shown: dict[str, Entry] = {}
    for data in KB:
        default = found.get(Row(data, "cpu", OURS, ()))
        if default is None:
            continue
        others = [row for row in found if row.data == data and row.model != OURS]
        best = max(others, key=lambda row: found[row]["metrics"]["mrr"], default=None)
        published = best_published(data)
        shown |= {str(row): found[row] for row in (Row(data, "cpu", OURS, ()), best) if row is not None}
        *_, time, memory, num_rules, machine = _line(Row(data, "cpu", OURS, ()), default)
        lines.append(
            (
                data,
                _means(default),
                time,
                memory,
                num_rules,
                machine,
                f"{_means(found[best])} ({ROW_NAMES[best.model]})" if best else "",
                f"{_pair(share_text(published.mrr), share_text(published.hits10))} ({published.method})",
            )
        )
    head = ("data", "**nlil**", "time", "peak memory", "rules", "machine", "best baseline, measured", "best published")
    about = "Test facts: MRR / Hits@10, filtered, both directions, realistic ties. Time: learning and evaluation."
    return markdown(head, lines, range(1, 5), about, source_text(COMMAND, shown))


def steps_table(entries: Entries) -> str:
    """What each step of nlil contributes on test facts, and the best published figure."""
    found = _by_settings(entries, "test")
    lines = [
        (text, _words(settings), *_figures(found[settings])) for settings, text in STEPS.items() if settings in found
    ]
    published = [best_published(data) for data in STEP_DATA]
    peers = [f"{_pair(share_text(p.mrr), share_text(p.hits10))} ({p.method})" for p in published]
    head = ("test facts: MRR / Hits@10", "settings", *STEP_DATA)
    rows = [*lines, ("best published MRR", "", *peers)] if lines else []
    return markdown(
        head, rows, range(2, len(head)), _source(found[settings] for settings in STEPS if settings in found)
    )


def valid_table(entries: Entries) -> str:
    """The same on validation facts, by which the steps were chosen, and other settings that were tried there."""
    found = _by_settings(entries, "valid")
    order = list(STEPS)
    ranked = sorted(found, key=lambda s: (order.index(s) if s in order else len(order), sorted(s)))
    lines = [(STEPS.get(settings, ""), _words(settings), *_figures(found[settings])) for settings in ranked]
    head = ("validation facts: MRR / Hits@10", "settings", *STEP_DATA)
    return markdown(head, lines, range(2, len(head)), _source(found.values()))


def calibration_table(entries: Entries) -> str:
    """How far scores and calibrated probabilities are from the truth, for nlil with the default settings."""
    names = [f"{name}_{when}" for name in ("brier", "ece") for when in ("before", "after")]
    lines: list[tuple[str, ...]] = []
    shown: dict[str, Entry] = {}
    for split in ("valid", "test"):
        for row, entry in rows(entries, split).items():
            given = {word for word in row.settings if not word.startswith("split=")}
            if "brier_before" in entry.get("calibration", ()) and not given and row.device == "cpu":
                lines.append((row.data, split, *(share_text(entry["calibration"].get(name)) for name in names)))
                shown[f"{split} {row.data}"] = entry
    head = ("data", "facts", "Brier before", "after", "ECE before", "after")
    return markdown(head, sorted(lines), range(2, 6), source_text(COMMAND, shown))


def rows(entries: Entries, split: str) -> dict[Row, Entry]:
    """The full entries of a split; of those that differ in the number of seeds only, the one with most."""
    found: dict[Row, Entry] = {}
    for key, entry in measured(entries).items():
        if entry.get("split", "test") != split:
            continue
        _, device, *words = key.removesuffix(" quick").split(" ")
        settings = tuple(word for word in words if word.partition("=")[0] not in ("model", "seeds"))
        row = Row(entry["data"], device, str(entry.get("model", OURS)), settings)
        if row not in found or len(found[row].get("seeds", ())) < len(entry.get("seeds", ())):
            found[row] = entry
    return found


def _line(row: Row, entry: Entry) -> Sequence[str]:
    seconds = entry["seconds"]
    return (
        row.data,
        ROW_NAMES[row.model],
        " ".join(row.settings) or "default",
        *(_figure(entry, name) for name in ("mrr", "hits@1", "hits@10")),
        str(len(entry.get("seeds", (entry["seed"],)))),
        f"{seconds['learn'] + seconds['evaluate']:.0f} s",
        f"{entry['peak_memory_mb'] / 1000:.1f} GB",
        f"{entry['num_rules']:,}" if row.model == OURS else "",
        machine_text(entry["machine"]),
    )


def _by_settings(entries: Entries, split: str) -> dict[frozenset[str], dict[str, Entry]]:
    """settings -> data -> entry of nlil; that of a CPU if there is also one of a GPU (their figures are the same)."""
    found: dict[frozenset[str], dict[str, Entry]] = {}
    for row, entry in sorted(rows(entries, split).items(), key=lambda item: item[0].device, reverse=True):
        settings = frozenset(word for word in row.settings if not word.startswith("split="))
        if row.model == OURS:
            found.setdefault(settings, {})[row.data] = entry
    return found


def _source(by_settings: Iterable[Mapping[str, Entry]]) -> str:
    """The sentence below a table with a cell for each of some settings and each data set."""
    shown = [by_data[data] for by_data in by_settings for data in STEP_DATA if data in by_data]
    return source_text(COMMAND, {str(number): entry for number, entry in enumerate(shown)})


def _figures(by_data: Mapping[str, Entry]) -> list[str]:
    return [
        _pair(_figure(by_data[data], "mrr"), _figure(by_data[data], "hits@10")) if data in by_data else ""
        for data in STEP_DATA
    ]


def _figure(entry: Entry, name: str) -> str:
    return share_text(entry["metrics"].get(name), entry.get("deviation", {}).get(name))


def _means(entry: Entry) -> str:
    return _pair(*(share_text(entry["metrics"].get(name)) for name in ("mrr", "hits@10")))


def _pair(mrr: str, hits: str) -> str:
    return f"{mrr} / {hits}" if hits else mrr


def _words(settings: frozenset[str]) -> str:
    return f"`{' '.join(sorted(settings))}`" if settings else "default"


BENCH = Bench(
    measure,
    {
        "kb": kb_table,
        "kb-summary": summary_table,
        "kb-steps": steps_table,
        "kb-valid": valid_table,
        "kb-calibration": calibration_table,
    },
    DATA,
    QUICK_DATA,
    frozenset({"data", "model", "seeds", "split", "set"}),
    models=(*SEARCHES, *(name for name in NAMES if name not in CLASS_NAMES)),
    entries=over_seeds(lambda request, data: [whole_job(request, data)], key),
    check=check,
)
