"""nlil bench scale: how fast, and in how much memory, generated triples are loaded."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nlil.progress import Progress, silent

from .job import measure_apart
from .record import machine, peak_memory_mb, versions

NUM_TRIPLES = 10_000_000
QUICK_TRIPLES = 1_000_000
NUM_PREDICATES = 200


def run(num_triples: int, seed: int, quick: bool = False, progress: Progress = silent) -> dict[str, Any]:
    """Write a TSV of random triples, load it in a fresh process, throw it away."""
    from nlil.data.synthetic import write_random_triples

    with tempfile.TemporaryDirectory(prefix="nlil-scale-") as folder:
        progress("writing triples", 0, 2)
        path = write_random_triples(Path(folder) / "triples.tsv", num_triples, num_triples // 10, NUM_PREDICATES, seed)
        progress("loading triples", 1, 2)
        result = measure_apart({"bench": "scale", "data": f"{num_triples:,} triples", "path": str(path)}, progress)
        return {
            **result,
            "num_triples": num_triples,
            "file_mb": path.stat().st_size / 1e6,
            "seed": seed,
            "quick": quick,
        }


def measure(job: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Seconds from the file to a KnowledgeBase, and the peak memory of that process."""
    from nlil.datasets import load_dataset

    begin = time.perf_counter()
    dataset = load_dataset(Path(job["path"]))
    seconds = time.perf_counter() - begin
    return {
        "checksum": dataset.checksum,
        "num_facts": len(dataset.kb.facts),
        "num_entities": dataset.kb.num_entities,
        "num_predicates": dataset.kb.num_predicates,
        "seconds": {"load": seconds},
        "peak_memory_mb": peak_memory_mb(),
        "machine": machine(),
        "versions": versions(),
    }


def key(entry: Mapping[str, Any]) -> str:
    return " ".join([f"{entry['num_triples']}", *(["quick"] if entry["quick"] else [])])
