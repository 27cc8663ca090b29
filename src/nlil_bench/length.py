"""nlil bench length: the time of one epoch against the longest rule that can be said, ours beside a chain model.

A statement with T steps on each side has up to 2 T + 1 body atoms, and each level of products doubles that; a chain
needs one step more for every atom. Both walk without limits on one thread; an epoch is one pass over as many queries
as the chain model has (both directions of every fact), scaled up from a sample. Ours enumerates the paths of a query
once, before the first epoch; those seconds stand beside it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from statistics import median
from typing import TYPE_CHECKING, Any

from nlil.progress import Progress

from .record import machine, peak_memory_mb, versions

if TYPE_CHECKING:
    from nlil.data.kb import KnowledgeBase
    from nlil.neural.group import Group
    from nlil.neural.sampling import Sampler

DATA = "wn18"
LENGTHS = (2, 3, 4, 8, 16, 32, 64)
QUICK_LENGTHS = (2, 3, 8)
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
    return (2 * STEPS + 1) * 2**levels


def our_job(data: str, levels: int, seed: int, quick: bool) -> dict[str, Any]:
    return {"bench": "length", "data": data, "model": "nlil", "levels": levels, "seed": seed, "quick": quick}


def chain_job(data: str, length: int, seed: int, quick: bool) -> dict[str, Any]:
    return {"bench": "length", "data": data, "model": "chain", "length": length, "seed": seed, "quick": quick}


def measure(job: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """One model at one size."""
    from nlil.datasets import load_dataset

    dataset = load_dataset(job["data"])
    progress(f"{job['model']} {job.get('length', job.get('levels'))}", 0, 1)
    timed = _our_epoch if job["model"] == "nlil" else _chain_epoch
    found = timed(dataset.kb, job)
    return {
        "data": job["data"],
        "model": job["model"],
        "quick": job["quick"],
        "checksum": dataset.checksum,
        **found,
        "seed": job["seed"],
        "peak_memory_mb": peak_memory_mb(),
        "machine": machine(),
        "versions": versions(),
    }


def _targets(kb: KnowledgeBase) -> list[int]:
    """Every binary predicate with facts."""
    return [p for p, predicate in enumerate(kb.predicates) if predicate.arity == 2 and kb.predicate_counts[p]]


def _our_epoch(kb: KnowledgeBase, job: Mapping[str, Any]) -> dict[str, Any]:
    """All targets as one stack, one generator each, one head: what the paper has."""
    from nlil.kernel.threads import one_torch_thread

    epochs = QUICK_EPOCHS if job["quick"] else EPOCHS
    group, sampler = _group(kb, job)
    with one_torch_thread():
        begin = time.perf_counter()
        trainer = group.prepare(sampler)
        once = time.perf_counter() - begin
        trainer.valid = []  # the chain model has no validation in its epoch either
        trainer.step()
        seconds = []
        for _ in range(epochs):
            begin = time.perf_counter()
            trainer.step()
            seconds.append(time.perf_counter() - begin)
    measured = sum(int(block.plan.real.sum()) for block in trainer.blocks)
    queries = 2 * int(sum(kb.predicate_counts[t] for t in _targets(kb)))
    scale = queries / max(measured, 1)
    return {
        "levels": job["levels"],
        "longest": longest_rule(job["levels"]),
        "queries": queries,
        "measured": measured,
        "seconds": {"once": once * scale, "epoch": median(seconds) * scale},
    }


def _group(kb: KnowledgeBase, job: Mapping[str, Any]) -> tuple[Group, Sampler]:
    from nlil.neural.group import Group
    from nlil.neural.options import NeuralOptions
    from nlil.neural.roads import Roads
    from nlil.neural.sampling import Sampler
    from nlil.neural.vocabulary import Surroundings

    options = NeuralOptions(
        steps=STEPS,
        heads=1,
        levels=job["levels"],
        restarts=1,
        constants=0,
        seed=job["seed"],
        step_edges=UNLIMITED,
        meet_edges=UNLIMITED,
        positives=QUICK_POSITIVES if job["quick"] else POSITIVES,
    )
    surroundings = Surroundings(kb)
    group = Group(kb, Roads.of(kb, "cpu"), [surroundings.space(t, options) for t in _targets(kb)], options)
    return group, Sampler(kb, options)


def _chain_epoch(kb: KnowledgeBase, job: Mapping[str, Any]) -> dict[str, Any]:
    """One chain (rank 1), as ours has one head."""
    from .baselines.neural_lp import chain_epoch_seconds

    queries = FEW_CHAIN_QUERIES if job["quick"] or job["length"] > FAR else CHAIN_QUERIES
    timed = chain_epoch_seconds(
        kb, [kb.predicates[t] for t in _targets(kb)], job["length"], rank=1, seed=job["seed"], queries=queries
    )
    return {
        "length": job["length"],
        "longest": job["length"],
        "queries": timed.queries,
        "measured": timed.measured,
        "seconds": {"epoch": timed.seconds},
    }


def key(entry: Mapping[str, Any]) -> str:
    size = f"levels={entry['levels']}" if entry["model"] == "nlil" else f"{entry['length']:02}"
    return " ".join([entry["data"], entry["model"], size, *(["quick"] if entry["quick"] else [])])
