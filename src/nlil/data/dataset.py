"""Dataset: what `load_dataset` gives. Facts, splits, default targets, a checksum, planted rules."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from ..logic.predicate import Predicate
from ..logic.rule import Rule
from .facts import Facts, Splits
from .kb import KnowledgeBase
from .options import NUM_CLASSES


@dataclass(frozen=True, eq=False)
class Dataset:
    """`kb` holds the training facts over the entities and predicates of all splits.

    `targets`   what is learned unless told otherwise
    `checksum`  SHA-256 of the content: names, ids, facts of every split
    `planted`   rules that a built-in generator makes true: without exception on its training facts, in `scenes`
                up to its stated noise; else empty
    `notes`     what the reader passed over or decided, one sentence each
    """

    name: str
    kb: KnowledgeBase
    splits: Splits
    targets: tuple[Predicate, ...]
    checksum: str
    planted: tuple[Rule, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def is_scene(self) -> bool:
        return bool(self.kb.classes)

    def complete(self) -> KnowledgeBase:
        """The base with the facts of all splits: what a generated set was before it was split."""
        facts = self.splits.all()
        for context in self.splits.context.values():
            facts = facts + context
        return replace(self.kb, facts=facts.unique())


def make_dataset(
    name: str,
    kb: KnowledgeBase,
    splits: Splits,
    targets: tuple[Predicate, ...] | None = None,
    planted: tuple[Rule, ...] = (),
    notes: tuple[str, ...] = (),
    num_classes: int = NUM_CLASSES,
) -> Dataset:
    chosen = default_targets(kb, num_classes) if targets is None else targets
    return Dataset(name, kb, splits, chosen, checksum(kb, splits), planted, notes)


def default_targets(kb: KnowledgeBase, num_classes: int = NUM_CLASSES) -> tuple[Predicate, ...]:
    """The most frequent classes of a scene graph (most frequent first), else every predicate with facts."""
    counts = kb.predicate_counts
    if kb.classes:
        by_count = sorted((i for i in kb.classes if counts[i]), key=lambda i: (-int(counts[i]), kb.predicates[i].name))
        return tuple(kb.predicates[i] for i in by_count[:num_classes])
    return tuple(kb.predicates[int(i)] for i in np.flatnonzero(counts))


def checksum(kb: KnowledgeBase, splits: Splits) -> str:
    """SHA-256 over names and id columns: the same for the same content, whatever the format it came in."""
    digest = hashlib.sha256()
    _add_names(digest, kb.entities.array)
    _add_names(digest, pa.array([str(p) for p in kb.predicates], pa.large_string()))
    digest.update(np.asarray(sorted(kb.classes), np.int32).tobytes())
    if kb.graph_of is not None:
        digest.update(kb.graph_of.tobytes())
    for numbers in (kb.boxes, kb.graph_sizes):
        if numbers is not None:
            digest.update(np.ascontiguousarray(numbers).data)
    parts = {"train": splits.train, "valid": splits.valid, "test": splits.test}
    parts |= {f"negatives {split}": facts for split, facts in sorted(splits.negatives.items())}
    parts |= {f"context {split}": facts for split, facts in sorted(splits.context.items())}
    for name, facts in parts.items():
        digest.update(f"{name} {len(facts)} {facts.weight is not None}".encode())
        _add_facts(digest, facts)
    return digest.hexdigest()


def _add_facts(digest: hashlib._Hash, facts: Facts) -> None:
    for column in (facts.predicate, facts.subject, facts.object, facts.weight):
        if column is not None:
            digest.update(np.ascontiguousarray(column).data)


def _add_names(digest: hashlib._Hash, names: pa.Array) -> None:
    """Lengths, then the characters: two lists of names never look alike."""
    _, offset_buffer, data = names.buffers()
    offsets = np.frombuffer(offset_buffer, np.int64)[names.offset : names.offset + len(names) + 1]
    digest.update(np.diff(offsets).tobytes())
    if data is not None and len(offsets):
        digest.update(memoryview(data)[int(offsets[0]) : int(offsets[-1])])
