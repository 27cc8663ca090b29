"""Random triples of any size, to measure readers and engines with. Seeded; written block by block."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .files import replacing

ROWS_PER_BLOCK = 1 << 20


def write_random_triples(
    path: str | Path, num_triples: int, num_entities: int, num_predicates: int, seed: int = 0
) -> Path:
    """A TSV (or .tsv.gz) of `num_triples` lines e17 <TAB> p3 <TAB> e42, drawn at random, some repeated.

    Subjects and predicates are drawn with a tilt towards small numbers, as degrees in real graphs are uneven.
    """
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
