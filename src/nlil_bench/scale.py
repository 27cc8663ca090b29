"""nlil bench scale: seconds and memory for loading generated triples, first from a file, then from the cache."""

from __future__ import annotations

import gzip
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nlil.progress import Progress

from .registry import Bench, Request
from .results import Entries, Entry, Job, entry_key, machine_text, markdown, measured, source_text

NUM_TRIPLES = 10_000_000
QUICK_TRIPLES = 1_000_000
NUM_PREDICATES = 200
ROWS_PER_BLOCK = 1 << 20


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
        write_random_triples(path, triples, triples // 10, NUM_PREDICATES, request.seed)
        file_mb = path.stat().st_size / 1e6
        job = {"bench": "scale", "data": f"{triples:,} triples", "path": str(path), "seed": request.seed}
        job |= {"cache": str(Path(folder) / "cache"), "quick": request.quick}
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
    table = markdown(columns, rows, right=range(7))
    return f"{table}\n\n{source_text('nlil bench scale', shown)}" if rows else table


BENCH = Bench(measure, entries, {"scale": scale_table}, options=frozenset(), names=names)


def write_random_triples(
    path: str | Path, num_triples: int, num_entities: int, num_predicates: int, seed: int = 0
) -> Path:
    """A TSV (or .tsv.gz) of `num_triples` lines e17 <TAB> p3 <TAB> e42, drawn at random, some repeated.

    Subjects and predicates are drawn with a tilt towards small numbers, as degrees in real graphs are uneven.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    from nlil.data.files import replacing

    path = Path(path)
    random = np.random.default_rng(seed)
    entities = pc.binary_join_element_wise("e", pa.array(np.arange(num_entities)).cast(pa.string()), "")
    predicates = pc.binary_join_element_wise("p", pa.array(np.arange(num_predicates)).cast(pa.string()), "")
    with replacing(path) as temporary:
        zipped = path.name.lower().endswith(".gz")
        with gzip.open(temporary, "wb", compresslevel=1) if zipped else temporary.open("wb") as stream:
            for start in range(0, num_triples, ROWS_PER_BLOCK):
                size = min(ROWS_PER_BLOCK, num_triples - start)
                subject = (random.random(size) ** 2 * num_entities).astype(np.int64)
                predicate = (random.random(size) ** 2 * num_predicates).astype(np.int64)
                object = random.integers(0, num_entities, size)
                columns = (entities.take(subject), predicates.take(predicate), entities.take(object))
                text = pc.binary_join_element_wise(*columns, "\t")
                stream.write(("\n".join(text.to_pylist()) + "\n").encode())
    return path
