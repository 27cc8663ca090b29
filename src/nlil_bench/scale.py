"""nlil bench scale: how fast, and in how much memory, generated triples are loaded."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from nlil.progress import Progress

from .registry import Bench, Request
from .results import Entries, Entry, Job, entry_key, machine_text, markdown, measured, source_text

NUM_TRIPLES = 10_000_000
QUICK_TRIPLES = 1_000_000
NUM_PREDICATES = 200


def measure(job: Job, progress: Progress) -> dict[str, Any]:
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
    }


def entries(request: Request, size: str) -> Iterator[dict[str, Entry]]:
    """Write a TSV of random triples, load it in a fresh process, throw it away."""
    from nlil.data.synthetic import write_random_triples

    triples = int(size)
    with tempfile.TemporaryDirectory(prefix="nlil-scale-") as folder:
        request.session.note(f"writing {triples:,} triples")
        path = Path(folder) / "triples.tsv"
        write_random_triples(path, triples, triples // 10, NUM_PREDICATES, request.seed)
        file_mb = path.stat().st_size / 1e6
        job = {"bench": "scale", "data": f"{triples:,} triples", "path": str(path), "seed": request.seed}
        entry = request.measure({**job, "quick": request.quick}, f"loading {triples:,} triples")
    entry |= {"num_triples": triples, "file_mb": file_mb}
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
            machine_text(e["machine"]),
        )
        for e in shown.values()
    ]
    table = markdown(("triples", "facts kept", "file", "load", "peak memory", "machine"), rows, right=range(5))
    return f"{table}\n\n{source_text('nlil bench scale', shown)}" if rows else table


BENCH = Bench(measure, entries, {"scale": scale_table}, options=frozenset(), names=names)
