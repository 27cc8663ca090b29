"""The columns of a table by role: their splits, their labels, and doubts about how they were read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .arrays import Mask
from .arrow import string_array
from .builder import Batch, encoded
from .columns import POSITIONAL, ColumnLayout

SPLIT_OF = {
    **dict.fromkeys(("train", "training", ""), "train"),
    **dict.fromkeys(("valid", "val", "validation", "dev"), "valid"),
    **dict.fromkeys(("test", "testing"), "test"),
}
SPLIT_NAMES = string_array(SPLIT_OF)
EXPECTED_SPLIT = "expected train, valid or test in the split column (--columns split= leaves it out)"
EXPECTED_TIME = "expected a time in the time column"
LABEL_ROLES = (("label", "subject"), ("object_label", "object"), ("predicate_label", "predicate"))
LEAST_FACTS = 50
"""With fewer facts, many predicates are not suspicious."""


def by_split(batch: Batch, split: Any) -> Iterator[Batch]:
    """Yield the rows of each split that the column `split` names; None: the batch as it is."""
    if split is None:
        yield batch
        return
    names = encoded(pc.fill_null(pc.utf8_lower(split), "train"))
    codes = names.indices.to_numpy()
    split_of = np.asarray([SPLIT_OF[name] for name in names.dictionary.to_pylist()])[codes]
    for one in dict.fromkeys(SPLIT_OF.values()):
        if len(rows := np.flatnonzero(split_of == one)):
            yield batch.take(rows, one)


def present(texts: pa.Array) -> Mask:
    """Return which of `texts` are neither null nor empty."""
    return np.asarray(pc.fill_null(pc.not_equal(texts, ""), False).to_numpy(zero_copy_only=False))


def row_labels(roles: Mapping[str, Any]) -> dict[str, str]:
    """Return name -> label of the columns by role (`roles`) that have labels; rows without one are left out."""
    found: dict[str, str] = {}
    for label, of in LABEL_ROLES:
        if label in roles and of in roles:
            pairs = zip(roles[of].to_pylist(), roles[label].to_pylist(), strict=True)
            found |= {name: str(text) for name, text in pairs if name and text}
    return found


def with_doubt(batches: Iterable[Batch], layout: ColumnLayout, table: str) -> Iterator[Batch]:
    """Yield the `batches`, the first with a doubt if its first fact looks like a header, or its predicates like another
    column of the `layout`.

    The doubt begins with the name of the `table`.
    """
    for i, batch in enumerate(batches):
        doubt = (header_doubt(batch, layout) or doubt_about(batch, layout)) if i == 0 else ""
        yield replace(batch, doubt=f"{table}: {doubt}") if doubt else batch


def header_doubt(batch: Batch, layout: ColumnLayout) -> str:
    """Return a sentence if the first line of a text file without a known header looks like one; else nothing.

    It does if none of its names is in another line of the `batch`, while other lines share a predicate. The `layout` of
    a file without a known header is the positional one.
    """
    if layout is not POSITIONAL or len(batch.predicate.dictionary) >= len(batch):
        return ""
    columns = [batch.subject, batch.predicate, *([] if batch.object is None else [batch.object])]
    names = [column[0].as_py() for column in columns]
    for column in columns:
        below = column.slice(1).cast(pa.large_string())
        if any(name is None or "," in name or pc.any(pc.equal(below, name)).as_py() for name in names):
            return ""
    chosen = ",".join(f"{role}={name}" for role, name in zip(("subject", "predicate", "object"), names))
    return f"the first line looks like a header, but is read as a fact; if it is one, add --columns {chosen!r}"


def doubt_about(batch: Batch, layout: ColumnLayout) -> str:
    """Return a sentence if the predicates of a batch with this `layout` look like another column; else nothing.

    They do if there is more than one for every ten facts, or if most of them are also entities. The column with the
    fewest names is then more likely to be the predicate; two columns are more likely to be subjects and objects.
    """
    if "predicate" not in layout.place or len(batch) < LEAST_FACTS:
        return ""
    is_unary = batch.object is None
    names = {
        "subject": batch.subject,
        "predicate": batch.predicate,
        "object": batch.subject if is_unary else batch.object,
    }
    distinct = {role: column.dictionary for role, column in names.items()}
    predicates, entities = distinct["predicate"], pa.concat_arrays([distinct["subject"], distinct["object"]])
    are_entities = pc.sum(pc.is_in(predicates, entities)).as_py() > len(predicates) / 2
    if len(predicates) <= len(batch) / 10 and not are_entities:
        return ""
    why = f"{len(predicates):,} predicates in {len(batch):,} facts"
    why += ", most of which are entities too" if are_entities else ""
    if is_unary:
        chosen = f"subject={layout.place['subject'] + 1},object={layout.place['predicate'] + 1}"
        return f"{why}, all unary: if each line is a pair of entities, add --columns {chosen}"
    fewest = min(distinct, key=lambda role: (len(distinct[role]), role != "predicate"))
    ends = [role for role in names if role != fewest]
    order = {"subject": ends[0], "predicate": fewest, "object": ends[1]}
    chosen = ",".join(f"{role}={layout.place[column] + 1}" for role, column in order.items())
    return f"{why}: if other columns were meant, name them, for example --columns {chosen}"
