"""nlil bench scale: seconds and memory for loading generated triples, first from a file, then from the cache."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nlil.progress import Progress

from .cells import machine_text, markdown, measured, source_text
from .registry import Bench, Request
from .results import Entries, Entry, Job, entry_key
from .skewed import write_facts

NUM_TRIPLES = 10_000_000
QUICK_TRIPLES = 1_000_000
NUM_PREDICATES = 200


def measure(job: Job, progress: Progress) -> dict[str, Any]:
    """Seconds from the file to a KnowledgeBase, and the peak memory of that process."""
    from nlil.data.catalog import CACHE_VARIABLE
    from nlil.datasets import load_dataset

    os.environ[CACHE_VARIABLE] = job["cache"]
    begin = time.perf_counter()
    dataset = load_dataset(Path(job["path"]))
    seconds = time.perf_counter() - begin
    return {
        "checksum": dataset.checksum,
        "num_facts": len(dataset.kb.facts),
        "num_entities": dataset.kb.num_entities,
        "num_predicates": dataset.kb.num_predicates,
        "seconds": {"load": seconds},
    }


def entries(request: Request, size: str) -> Iterator[dict[str, Entry]]:
    """Write a TSV of random triples, load it in a fresh process, load it again in another, throw it away."""
    triples = int(size)
    with tempfile.TemporaryDirectory(prefix="nlil-scale-") as folder:
        request.session.note(f"writing {triples:,} triples")
        path = Path(folder) / "triples.tsv"
        write_random_triples(path, triples, triples // 10, NUM_PREDICATES, request.options.get("seed", 0))
        file_mb = path.stat().st_size / 1e6
        places = {"path": str(path), "cache": str(Path(folder) / "cache")}
        job = request.job("scale", f"{triples:,} triples", **places)
        entry = request.measure(job, f"loading {triples:,} triples")
        again = request.measure(job, f"loading {triples:,} triples again")
    entry["seconds"]["load again"] = again["seconds"]["load"]
    entry |= {"memory_again_mb": again["peak_memory_mb"], "num_triples": triples, "file_mb": file_mb}
    yield {key(entry): entry}


def key(entry: Entry) -> str:
    """The number of triples."""
    return entry_key(entry, f"{entry['num_triples']}")


def names(request: Request) -> Sequence[str]:
    """The one size."""
    return [str(QUICK_TRIPLES if request.quick else NUM_TRIPLES)]


def scale_table(entries: Entries) -> str:
    """A row for each size."""
    shown = measured(entries)
    rows = [
        (
            f"{e['num_triples']:,}",
            f"{e['num_facts']:,}",
            f"{e['file_mb']:,.0f} MB",
            f"{e['seconds']['load']:.1f} s",
            f"{e['peak_memory_mb'] / 1000:.2f} GB",
            f"{e['seconds']['load again']:.1f} s" if "load again" in e["seconds"] else "",
            f"{e['memory_again_mb'] / 1000:.2f} GB" if "memory_again_mb" in e else "",
            machine_text(e["machine"]),
        )
        for e in shown.values()
    ]
    columns = ("triples", "facts kept", "file", "load", "peak memory", "load again", "peak memory", "machine")
    return markdown(columns, rows, range(7), source_text("nlil bench scale", shown))


BENCH = Bench(measure, {"scale": scale_table}, options=frozenset(), names=names, entries=entries)


def write_random_triples(
    path: str | Path, num_triples: int, num_entities: int, num_predicates: int, seed: int = 0
) -> None:
    """Write a TSV of `num_triples` lines e17 <TAB> p3 <TAB> e42, drawn at random, some repeated.

    Subjects and predicates are drawn with a tilt towards small numbers, as degrees in real graphs are uneven.
    """
    random = np.random.default_rng(seed)
    subject = (random.random(num_triples) ** 2 * num_entities).astype(np.int64)
    predicate = (random.random(num_triples) ** 2 * num_predicates).astype(np.int64)
    write_facts(Path(path), subject, predicate, random.integers(0, num_entities, num_triples))
