"""Divide facts into training, validation and test facts: at random, by entity, or by time.

By time, the last facts are test facts and those before them validation facts. Facts of the same time stay together, so
shares are met as nearly as times allow. A fact that is repeated belongs to its first time.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..data.arrays import Doubles, Longs, Mask
from ..data.arrow import to_numpy
from ..data.builder import FactCollector
from ..data.columns import columns_text, parse_columns
from ..data.database import is_query, query_parts, read_query
from ..data.dataset import DataOptions, Dataset, make_dataset
from ..data.delimited import parse_numbers
from ..data.facts import Facts, Splits
from ..data.kb import KnowledgeBase
from ..data.tables import any_table_batches
from ..data.wide import wide_texts
from ..data.write import write_facts
from ..errors import ConfigError, DataError
from .anything import IN_MEMORY, as_dataset, is_table
from .folder import all_batches, finished
from .load import place_of

WAYS = ("random", "entity", "time")
ISO_DATE = r"^\d{4}(-\d\d(-\d\d([T ]\d\d:\d\d.*)?)?)?$"
"""Dates in this form are in the order of their text."""


def split(
    source: Any,
    *,
    by: str = "random",
    valid: float = 0.1,
    test: float = 0.1,
    seed: int = 0,
    columns: str | Mapping[str, Any] | None = None,
    encoding: str | None = None,
) -> tuple[KnowledgeBase, Splits]:
    """Divide the facts of a data set, all its splits together; return the base of the training facts, and the splits.

    Args:
        source: Anything that `nlil.learn` takes; by time, a table: a file, a folder, a DataFrame or an Arrow table.
        by: random: a share of the facts, where every entity and every predicate keeps a training fact; entity: all
            facts of a share of the subjects; time: the latest facts, by the column that `columns` assigns to time.
        valid: The share of validation facts.
        test: The share of test facts.
        seed: Chooses them.
        columns: Which column of a table has which role: `columns="time=since"`.
        encoding: Of text files; default: UTF-8.

    >>> kb, splits = split("kin:30", by="entity", test=0.2)
    """
    given: dict[str, Any] = {"columns": columns_text(columns)} if columns else {}
    given |= {"encoding": encoding} if encoding else {}
    dataset = split_dataset(source, DataOptions(**given), by=by, valid=valid, test=test, seed=seed)
    return dataset.kb, dataset.splits


def split_dataset(source: Any, options: DataOptions, *, by: str, valid: float, test: float, seed: int) -> Dataset:
    """Divide the facts of `source`, read by `options`, as `split` does with `by`, `valid`, `test` and `seed`."""
    _check(by, valid, test)
    if by == "time":
        return _split_by_time(source, options, valid, test)
    dataset = as_dataset(source, seed, options)
    kb = dataset.complete()
    splits = split_facts(kb, by=by, valid=valid, test=test, seed=seed)
    return make_dataset(dataset.name, kb.with_facts(splits.train), splits, notes=dataset.notes)


def split_facts(
    kb: KnowledgeBase, *, by: str = "random", valid: float = 0.1, test: float = 0.1, seed: int = 0
) -> Splits:
    """Divide the facts of `kb`.

    Args:
        kb: the facts.
        by: random or entity, as in `split`; a base has no times.
        valid: the share of validation facts, or of their subjects.
        test: the share of test facts, or of their subjects.
        seed: chooses them.
    """
    _check(by, valid, test)
    if by == "time":
        raise ConfigError("by: expected random or entity for a base, which has no times; nlil.split reads tables", "by")
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


def _check(by: str, valid: float, test: float) -> None:
    if by not in WAYS:
        raise ConfigError(f"by: expected {', '.join(WAYS[:-1])} or {WAYS[-1]}, got {by!r}", "by")
    if min(valid, test) < 0 or valid + test >= 1:
        raise ConfigError(
            f"valid and test: expected shares of 0 or more that sum to less than 1, got {valid} and {test}"
        )


def _split_by_time(source: Any, options: DataOptions, valid: float, test: float) -> Dataset:
    if not parse_columns(options.columns).get("time"):
        raise ConfigError("by=time: expected the column of times, for example --columns time=since, got none", "by")
    path, name = Path(IN_MEMORY), IN_MEMORY
    if isinstance(source, str) and is_query(source):
        path, name = query_parts(source)[0], source
        batches = list(read_query(source, parse_columns(options.columns)))
    elif isinstance(source, str | Path):
        path, name = place_of(source)
        batches = list(all_batches(path, options))
    elif is_table(source):
        batches = list(any_table_batches(source, options.columns))
    else:
        raise DataError(f"by=time: expected a table with a column of times, got {type(source).__name__}")
    dated = [batch for batch in batches if len(batch)]
    without = sum(batch.time is None for batch in dated)
    if without or not dated:
        raise DataError("by=time: expected a column of times in every table, got one without", path)
    order = _order(pa.concat_arrays([batch.time for batch in dated]), path)
    last_train, last_valid = np.sort(order)[_last_places(len(order), valid, test)]
    part = (order > last_train).astype(np.int8) + (order > last_valid)
    collector, start = FactCollector(), 0
    for batch in dated:
        part_of_row = part[start : start + len(batch)]
        start += len(batch)
        for number, one in enumerate(("train", "valid", "test")):
            if len(rows := np.flatnonzero(part_of_row == number)):
                collector.add(batch.take(rows, one))
    read = finished(collector.finish(), name, path, path if path.is_dir() else None, encoding=options.encoding)
    train, before = read.splits.train, read.splits.valid
    before = before[~before.isin(train)]
    after = read.splits.test
    splits = Splits(train, before, after[~(after.isin(train) | after.isin(before))], wide=read.splits.wide)
    return make_dataset(name, read.kb, splits, notes=read.notes)


def _last_places(size: int, valid: float, test: float) -> list[int]:
    """Return the places of the last training fact and of the last validation fact among `size` facts by time."""
    ends = np.rint(size * np.asarray([1 - valid - test, 1 - test])).astype(int)
    return [max(0, int(end) - 1) for end in ends]


def _order(times: pa.Array, path: Path) -> Doubles:
    """Return numbers in the order of `times`, which are all numbers or all dates."""
    numbers, is_number = parse_numbers(times)
    is_number &= np.isfinite(numbers)
    if is_number.all():
        return numbers
    is_date = np.asarray(pc.match_substring_regex(times, ISO_DATE).to_numpy(zero_copy_only=False))
    if not is_date.all():
        wrong = times[int(np.argmin(is_number if is_number.sum() > is_date.sum() else is_date))].as_py()
        raise DataError(
            f"by=time: expected times that are all numbers, or all dates as 2024-12-31, got {wrong!r}", path
        )
    return to_numpy(pc.rank(times, tiebreaker="min")).astype(np.float64)


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
    """Write the `splits` of `kb`, and its labels, into a new `folder`; it appears whole or not at all.

    Facts of three and more arguments are background: they stay together, in facts.pl.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise DataError("exists and is not empty; choose another folder", folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        for name in ("train", "valid", "test"):
            if name == "train" or len(splits[name]):
                write_facts(kb, splits[name], temporary / f"{name}.tsv")
        if kb.wide:
            lines = (f"{text}.\n" for text in wide_texts(kb.wide, kb.entities))
            (temporary / "facts.pl").write_text("".join(lines), encoding="utf-8")
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
