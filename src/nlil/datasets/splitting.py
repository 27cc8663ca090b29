"""Divide facts into training, validation and test facts: at random, or by entity."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np

from ..data.arrays import Longs, Mask
from ..data.facts import Facts, Splits
from ..data.kb import KnowledgeBase
from ..data.write import write_facts
from ..errors import ConfigError, DataError

WAYS = ("random", "entity")


def split_facts(
    kb: KnowledgeBase, *, by: str = "random", valid: float = 0.1, test: float = 0.1, seed: int = 0
) -> Splits:
    """Divide the facts of `kb`.

    Args:
        kb: the facts.
        by: random: a share of the facts, where every entity and every predicate keeps a training fact; entity: all
            facts of a share of the subjects.
        valid: the share of validation facts, or of their subjects.
        test: the share of test facts, or of their subjects.
        seed: chooses them.
    """
    if by not in WAYS:
        raise ConfigError(f"by: expected {' or '.join(WAYS)}, got {by!r}", "by")
    if min(valid, test) < 0 or valid + test >= 1:
        raise ConfigError(
            f"valid and test: expected shares of 0 or more that sum to less than 1, got {valid} and {test}"
        )
    if kb.graph_of is not None:
        raise DataError("expected a plain base, got scene graphs; divide their files instead")
    facts, random = kb.facts, np.random.default_rng(seed)
    if by == "entity":
        subjects = np.unique(facts.subject)
        part_of = np.zeros(kb.num_entities, np.int8)
        part_of[subjects] = _parts(len(subjects), valid, test, random.permutation(len(subjects)))
        part = part_of[facts.subject]
    else:
        order = random.permutation(len(facts))
        movable = order[~_needed(facts[order])]
        part = np.zeros(len(facts), np.int8)
        counts = [min(round(share * len(facts)), len(movable)) for share in (valid, test)]
        part[movable[: counts[0]]] = 1
        part[movable[counts[0] : sum(counts)]] = 2
    return Splits(facts[part == 0], facts[part == 1], facts[part == 2])


def _parts(size: int, valid: float, test: float, order: Longs) -> np.ndarray:
    part = np.zeros(size, np.int8)
    ends = np.rint(np.cumsum([valid, test]) * size).astype(int)
    part[order[: ends[0]]] = 1
    part[order[ends[0] : ends[1]]] = 2
    return part


def _needed(facts: Facts) -> Mask:
    """Which facts are the first of their predicate, of their subject or of their object."""
    needed = np.zeros(len(facts), bool)
    needed[np.unique(facts.predicate, return_index=True)[1]] = True
    both = np.stack((facts.subject, np.where(facts.is_unary, facts.subject, facts.object)), axis=1).ravel()
    needed[np.unique(both, return_index=True)[1] // 2] = True
    return needed


def write_splits(kb: KnowledgeBase, splits: Splits, folder: Path) -> Path:
    """Write the `splits` of `kb`, and its labels, into a new `folder`; it appears whole or not at all."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise DataError("exists and is not empty; choose another folder", folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        for name in ("train", "valid", "test"):
            if name == "train" or len(splits[name]):
                write_facts(kb, splits[name], temporary / f"{name}.tsv")
        for name, labels in (("labels", kb.entity_labels), ("relation_labels", kb.predicate_labels)):
            if labels:
                lines = (f"{one}\t{label}\n" for one, label in labels.items())
                (temporary / f"{name}.tsv").write_text("".join(lines), encoding="utf-8")
        temporary.chmod(0o755)
        os.replace(temporary, folder)
    finally:
        if temporary.exists():
            for file in temporary.iterdir():
                file.unlink()
            temporary.rmdir()
    return folder
