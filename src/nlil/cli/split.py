"""nlil split DATA --out FOLDER"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from .session import Bounds, Session, Source


def split(
    session: Session,
    data: Source,
    *,
    out: Path,
    by: str = "random",
    valid: Annotated[float, Bounds(0, 1)] = 0.1,
    test: Annotated[float, Bounds(0, 1)] = 0.1,
) -> None:
    """Divide facts into training, validation and test facts.

    Args:
        session: The common options.
        data: The data to divide; the facts of all its splits are put together first.
        out (FOLDER): The folder to write: train.tsv, valid.tsv, test.tsv.
        by (WAY): random: a share of the facts, while every entity and every predicate keeps a training fact; entity:
            all facts of a share of the subjects; time: the latest facts, by the column that --columns time=NAME names.
        valid (SHARE): The share of validation facts.
        test (SHARE): The share of test facts.
    """
    from ..data.dataset import DataOptions
    from ..datasets.splitting import split_dataset, write_splits
    from .session import data_notes

    seed, options = session.seed or 0, DataOptions(**session.reading)
    dataset = split_dataset(data, options, by=by, valid=valid, test=test, seed=seed)
    session.notes(data_notes(dataset))
    kb, splits = dataset.kb, dataset.splits
    write_splits(kb, splits, out)
    sizes = {name: len(splits[name]) for name in ("train", "valid", "test")}
    shown = ", ".join(f"{name} {size:,}" for name, size in sizes.items())
    session.show({"out": str(out), **sizes}, f"{shown} written to {out}; next: nlil learn {out} --out RUN")
