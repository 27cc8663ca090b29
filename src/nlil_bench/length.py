"""nlil bench length: the time of one epoch by the longest rule that can be expressed, for nlil and a chain model; and
whether planted long rules are found.

nlil uses the paper's generator, a Transformer. A statement with T steps on each side has up to 2 T + 1 body atoms, and
each level of products doubles that; a chain needs one step more for every atom. Both follow all edges, on one
thread, nlil by CPU time; an epoch is one pass over as many queries as the chain model has (both directions of every
fact), scaled up from a sample. nlil enumerates the paths of a query once, before the first epoch; that time is listed
separately.

A planted rule is found if the attentions of the best restart select it; nothing is counted before.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from nlil.progress import Progress

from .cells import (
    NOT_MEASURED,
    Panel,
    PictureLine,
    draw_panels,
    machine_text,
    markdown,
    measured,
    share_text,
    source_text,
)
from .registry import Bench, Request
from .results import Entries, Entry, Job, device_word, entry_key, job_key, machine, seed_of

if TYPE_CHECKING:
    from nlil.data.kb import KnowledgeBase
    from nlil.neural.sampling import Sampler
    from nlil.neural.search import MemberGroup

DATA = "wn18"
LENGTHS = (2, 3, 4, 8, 16, 32, 64)
QUICK_LENGTHS = (2, 3, 8)
PLANTED = "planted:long-"
FOUND_LENGTHS = (8, 16, 32)
"""Body atoms of the planted rules that are looked for."""
FOUND_SEEDS = (20, 21, 22)
"""Of planted bases; settings were chosen on others."""
STEPS = 2
LONGEST_EPOCH = 20 * 60.0
"""Seconds: a chain model that needs more is not made any longer."""
UNLIMITED = 2**40
POSITIVES, QUICK_POSITIVES = 50, 5
"""Facts of each target in our sample; two false tuples come with each."""
CHAIN_QUERIES, FEW_CHAIN_QUERIES = 512, 64
FAR = 5
"""Chains of more steps reach nearly everything from everywhere: few queries tell their time, and take long."""
EPOCHS, QUICK_EPOCHS = 5, 1
"""Measured after a first one, which compiles; the median counts."""


def levels_for(length: int) -> int:
    """The fewest levels whose longest rule has so many body atoms.

    >>> [levels_for(length) for length in LENGTHS]
    [0, 0, 0, 1, 2, 3, 4]
    """
    levels = 0
    while longest_rule(levels) < length:
        levels += 1
    return levels


def longest_rule(levels: int) -> int:
    """Body atoms.

    >>> longest_rule(0), longest_rule(3)
    (5, 40)
    """
    return (2 * STEPS + 1) << levels


def measure(job: Job, progress: Progress) -> dict[str, Any]:
    """One model at one size, or the planted rules of one length."""
    from nlil.datasets import load_dataset

    if job["model"] == "found":
        return _found(job, progress)
    dataset = load_dataset(job["data"])
    progress(f"{job['model']} {job.get('length', job.get('levels'))}", 0, 1)
    timed = _our_epoch if job["model"] == "nlil" else _chain_epoch
    return {"model": job["model"], "checksum": dataset.checksum, **timed(dataset.kb, job)}


def _found(job: Job, progress: Progress) -> dict[str, Any]:
    """What the attentions of a Transformer say of the planted rules."""
    from nlil.datasets.planted import planted

    from .recovery import learner_config, recover

    construct = f"long-{job['length']}"
    settings, options = ("select=off", "refine=off", "beam=1", *job["settings"]), job["options"]
    tried = [recover(construct, "none", seed, "transformer", settings, options, progress) for seed in job["seeds"]]
    first = planted(construct, job["seeds"][0])
    config = learner_config(first, job["seeds"][0], "transformer", settings, options)
    return {
        "model": "found",
        "length": job["length"],
        "levels": config.levels,
        "planted": str(first.rule),
        "passed": sum(entry["argmax"]["passed"] for entry in tried),
        "seeds": tried,
        "seed": job["seeds"][0],
        "seconds": {"learn": sum(entry["seconds"]["train"] for entry in tried)},
        "config": config.to_dict(),
        "machine": machine(config.device),
    }


def _targets(kb: KnowledgeBase) -> list[int]:
    """Every binary predicate with facts."""
    return [p for p, predicate in enumerate(kb.predicates) if predicate.arity == 2 and kb.predicate_counts[p]]


def _our_epoch(kb: KnowledgeBase, job: Job) -> dict[str, Any]:
    """All targets as one stack, one Transformer each, one head: what the paper has."""
    from nlil.kernel.threads import one_torch_thread

    epochs = QUICK_EPOCHS if job["quick"] else EPOCHS
    group, sampler = _group(kb, job)
    with one_torch_thread():
        begin = time.process_time()
        trainer = group.prepare(sampler)
        once = time.process_time() - begin
        trainer.valid = []  # the chain model has no validation in its epoch either
        trainer.step()
        seconds = []
        for _ in range(epochs):
            begin = time.process_time()
            trainer.step()
            seconds.append(time.process_time() - begin)
    measured = sum(int(block.paths.real.sum()) for block in trainer.blocks)
    queries = 2 * int(sum(kb.predicate_counts[t] for t in _targets(kb)))
    scale = queries / max(measured, 1)
    return {
        "levels": job["levels"],
        "longest": longest_rule(job["levels"]),
        "queries": queries,
        "measured": measured,
        "seconds": {"once": once * scale, "epoch": median(seconds) * scale},
    }


def _group(kb: KnowledgeBase, job: Job) -> tuple[MemberGroup, Sampler]:
    from nlil.config import LearnerConfig
    from nlil.neural.paths import attention_graph
    from nlil.neural.sampling import Sampler
    from nlil.neural.search import MemberGroup
    from nlil.neural.vocabulary import Surroundings

    options = LearnerConfig(
        steps=STEPS,
        heads=1,
        levels=job["levels"],
        generator="transformer",
        residual=False,
        fresh=0,
        restarts=1,
        neural_constants=0,
        seed=seed_of(job),
        step_edges=UNLIMITED,
        meet_edges=UNLIMITED,
        positives=QUICK_POSITIVES if job["quick"] else POSITIVES,
    )
    surroundings = Surroundings(kb)
    group = MemberGroup(kb, attention_graph(kb, "cpu"), [surroundings.space(t, options) for t in _targets(kb)], options)
    return group, Sampler(kb, options)


def _chain_epoch(kb: KnowledgeBase, job: Job) -> dict[str, Any]:
    """One chain (rank 1), as nlil has one head here."""
    from .baselines.neural_lp import chain_epoch_seconds

    queries = FEW_CHAIN_QUERIES if job["quick"] or job["length"] > FAR else CHAIN_QUERIES
    timed = chain_epoch_seconds(
        kb, [kb.predicates[t] for t in _targets(kb)], job["length"], rank=1, seed=seed_of(job), queries=queries
    )
    return {
        "length": job["length"],
        "longest": job["length"],
        "queries": timed.queries,
        "measured": timed.measured,
        "seconds": {"epoch": timed.seconds},
    }


def key(entry: Entry, job: Job) -> str:
    """Data, model and size; of planted rules also device, options and settings."""
    if entry["model"] == "found":
        return job_key(entry, job, entry["data"], "found", device_word(entry))
    size = f"levels={entry['levels']}" if entry["model"] == "nlil" else f"{entry['length']:02}"
    return entry_key(entry, entry["data"], entry["model"], size)


def entries(request: Request, data: str) -> Iterator[dict[str, Entry]]:
    """Ours at every size, then chains until an epoch takes too long; of planted data whether its rule is found."""
    if data.startswith(PLANTED):
        seeds = FOUND_SEEDS[:1] if request.quick else FOUND_SEEDS
        if request.session.seed is not None:
            seeds = (request.session.seed,)
        jobs = [request.job("length", data, model="found", length=int(data.removeprefix(PLANTED)), seeds=seeds)]
    else:
        lengths = QUICK_LENGTHS if request.quick else LENGTHS
        levels = sorted(set(map(levels_for, lengths)))
        jobs = [request.job("length", data, model="nlil", levels=level) for level in levels]
        jobs += [request.job("length", data, model="chain", length=length) for length in lengths]
    for job in jobs:
        entry = request.measure(job)
        yield {key(entry, job): entry}
        if entry["model"] == "chain" and entry["seconds"]["epoch"] > LONGEST_EPOCH:
            break


# the table ------------------------------------------------------------------------------------------------


def length_table(entries: Entries) -> str:
    """Every length with the smallest model of nlil that has it, and the claim of the paper below."""
    blocks = []
    shown = {key: entry for key, entry in measured(entries).items() if entry["model"] != "found"}
    for data in sorted({entry["data"] for entry in shown.values()}):
        of_data = [entry for entry in shown.values() if entry["data"] == data]
        ours = {entry["levels"]: entry for entry in of_data if entry["model"] == "nlil"}
        chains = {entry["length"]: entry for entry in of_data if entry["model"] == "chain"}
        rows = [
            _length_row(length, ours.get(levels_for(length)), chains)
            for length in LENGTHS
            if levels_for(length) in ours or length in chains
        ]
        timed = ("paths, once", "Transformer, epoch", "chain model, epoch", "chain model / nlil")
        blocks.append(markdown((f"{data}: longest rule", "levels", *timed), rows, range(6), *_claim(ours, chains)))
    return "\n\n".join((*blocks, source_text("nlil bench length", shown))) if blocks else NOT_MEASURED


def _length_row(length: int, ours: Entry | None, chains: Mapping[int, Entry]) -> Sequence[str]:
    once, epoch, ratio = "", "", ""
    if ours is not None:
        once, epoch = (f"{ours['seconds'][part]:,.0f} s" for part in ("once", "epoch"))
        if length in chains:
            ratio = f"{chains[length]['seconds']['epoch'] / ours['seconds']['epoch']:.1f}"
    chain = "" if not chains else "longer still, not run" if _is_over(length, chains) else "not measured"
    if length in chains:
        seconds = chains[length]["seconds"]["epoch"]
        chain = f"{seconds:,.0f} s" if seconds <= LONGEST_EPOCH else f"over 20 min (estimated {seconds / 60:,.0f})"
    return str(length), str(levels_for(length)), once, epoch, chain, ratio


def _is_over(length: int, chains: Mapping[int, Entry]) -> bool:
    return any(e["seconds"]["epoch"] > LONGEST_EPOCH for shorter, e in chains.items() if shorter < length)


def _claim(ours: Mapping[int, Entry], chains: Mapping[int, Entry]) -> list[str]:
    """The paper: length 32 takes about what length 3 takes a chain model."""
    long, short = ours.get(levels_for(32)), chains.get(3)
    if long is None or short is None:
        return []
    ratio = long["seconds"]["epoch"] / short["seconds"]["epoch"]
    first = (long["seconds"]["once"] + long["seconds"]["epoch"]) / short["seconds"]["epoch"]
    return [
        f"An epoch is {short['queries']:,} queries on one thread, scaled up from {long['measured']:,} queries of nlil "
        f"and {short['measured']:,} of the chain model. A rule of length 32 costs {ratio:.2g} times as much as length "
        f"3 of the chain model ({first:.2g} times in the first epoch, which enumerates the paths that later epochs "
        "reuse)."
    ]


def found_table(entries: Entries) -> str:
    """Planted rules by their length; the share of them that the argmax reached, and what it cost."""
    shown = {key: entry for key, entry in measured(entries).items() if entry["model"] == "found"}
    rows = []
    for key in sorted(shown, key=lambda key: (shown[key]["length"], key)):
        entry, words = shown[key], " ".join(key.split(" ", 3)[3:])
        best = [min(seed["argmax"]["precision"], seed["argmax"]["recall"]) for seed in entry["seeds"]]
        rows.append(
            (
                str(entry["length"]),
                str(entry["levels"]),
                words or "default",
                f"{entry['passed']} of {len(best)}",
                ", ".join(map(share_text, best)),
                f"{entry['seconds']['learn'] / len(best):,.0f} s",
                machine_text(entry["machine"]),
            )
        )
    found = ("found at argmax", "least of precision and recall", "CPU time", "machine")
    head = ("atoms planted", "levels", "settings", *found)
    return markdown(head, rows, (0, 1, 3, 5), source_text("nlil bench length", shown))


# the picture ----------------------------------------------------------------------------------------------


def plot_length(entries: Entries, path: Path) -> Path:
    """Seconds of an epoch against the longest rule, both axes logarithmic: a power is a straight line."""
    timed = [entry for entry in entries.values() if entry["model"] != "found"]
    by_levels = {e["levels"]: e["seconds"]["epoch"] for e in timed if e["model"] == "nlil"}
    ours = [(length, by_levels[levels_for(length)]) for length in LENGTHS if levels_for(length) in by_levels]
    chains = sorted((e["length"], e["seconds"]["epoch"]) for e in timed if e["model"] == "chain")
    lines = [
        PictureLine("nlil, T = 2, levels grow", ours, "tab:blue"),
        PictureLine("chain model", chains, "tab:orange"),
        PictureLine("20 min", [(length, LONGEST_EPOCH) for length in LENGTHS], "gray", "--"),
    ]
    title = f"One epoch on {', '.join(sorted({entry['data'] for entry in timed}))}"
    panel = Panel(lines, LENGTHS, "seconds of an epoch, one thread")
    return draw_panels(path, {title: panel}, "longest rule, body atoms", log_y=True)


BENCH = Bench(
    measure,
    {"length": length_table, "length-found": found_table},
    (DATA, *(f"{PLANTED}{length}" for length in FOUND_LENGTHS)),
    (DATA, f"{PLANTED}{FOUND_LENGTHS[0]}"),
    options=frozenset({"data", "set"}),
    entries=entries,
    draw=plot_length,
)
