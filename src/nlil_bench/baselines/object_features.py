"""Numbers about an object: its box, and feature vectors from a file keyed by object id."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from nlil.data.arrays import Floats, Ids
from nlil.data.kb import KnowledgeBase
from nlil.errors import DataError

BOX_NUMBERS = 10


def box_numbers(kb: KnowledgeBase, objects: Ids) -> Floats:
    """(objects, 10): place, size, centre, area and shape, as shares of the image; then whether the box is known.

    An object without a box has zeros only. Where the size of the image is unknown, the farthest corner of its boxes
    stands for it.
    """
    found = np.zeros((len(objects), BOX_NUMBERS), np.float32)
    if kb.boxes is None:
        return found
    x, y, w, h = (kb.boxes[objects, i].astype(np.float64) for i in range(4))
    width, height = _image_sizes(kb)[:, objects]
    known = np.isfinite(x + y + w + h) & (width > 0) & (height > 0)
    x, y, w, h, width, height = (column[known] for column in (x, y, w, h, width, height))
    x, w, y, h = x / width, w / width, y / height, h / height
    area = np.maximum(w * h, 1e-6)
    shape = np.log(np.maximum(w * width, 1.0) / np.maximum(h * height, 1.0))
    found[known] = np.stack((x, y, w, h, x + w / 2, y + h / 2, np.sqrt(area), np.log(area), shape, np.ones(len(x))), 1)
    return found


def _image_sizes(kb: KnowledgeBase) -> np.ndarray:
    """(2, entities): width and height of the image that each is in; 0 where nothing tells."""
    assert kb.boxes is not None
    graph = np.zeros(kb.num_entities, np.int64) if kb.graph_of is None else kb.graph_of
    corner = np.zeros((2, kb.num_graphs))
    for side in (0, 1):
        np.fmax.at(corner[side], graph, np.nan_to_num(kb.boxes[:, side] + kb.boxes[:, side + 2]))
    if kb.graph_sizes is not None:
        given = kb.graph_sizes.T.astype(np.float64)
        corner = np.where(given > 0, given, corner)  # NaN is not above 0
    return corner[:, graph]


def read_features(path: Path) -> tuple[list[str], Floats]:
    """Object ids and a row of numbers for each.

    Parquet: the first column holds the ids, the others are numbers, or one list of numbers.
    NAME.npy: a table; NAME.ids beside it has one id a line, in the same order.
    """
    if not path.is_file():
        raise DataError("expected a file with feature vectors, found none", path)
    ids, table = _from_npy(path) if path.suffix == ".npy" else _from_parquet(path)
    if table.ndim != 2 or len(ids) != len(table):
        raise DataError(
            f"expected one row of numbers for each of the {len(ids)} ids, got a table of the shape {table.shape}", path
        )
    if not np.isfinite(table).all():
        raise DataError("expected numbers, got some that are infinite or missing", path)
    return ids, table


def _from_npy(path: Path) -> tuple[list[str], Floats]:
    names = path.with_suffix(".ids")
    if not names.is_file():
        raise DataError(f"expected the object ids beside it in {names.name}, one a line, found no such file", path)
    try:
        table = np.load(path, allow_pickle=False).astype(np.float32)
    except ValueError as error:
        raise DataError(f"expected a numpy table of numbers ({error})", path) from error
    return names.read_text(encoding="utf-8").splitlines(), table


def _from_parquet(path: Path) -> tuple[list[str], Floats]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
        ids, *columns = [column.combine_chunks() for column in table.columns]
        if len(columns) == 1 and pa.types.is_nested(columns[0].type):
            numbers = np.array(columns[0].to_pylist(), np.float32)
        else:
            numbers = np.stack([np.asarray(column, np.float32) for column in columns], axis=1)
    except (pa.ArrowInvalid, ValueError, TypeError) as error:
        raise DataError(
            "expected Parquet with a column of ids, then columns of numbers or one of lists of them, got: "
            + " ".join(str(error).split())[:120],
            path,
        ) from error
    return [str(name) for name in ids.to_pylist()], numbers


def feature_numbers(kb: KnowledgeBase, objects: Ids, ids: list[str], table: Floats) -> Floats:
    """(objects, numbers): the row of each object; zeros, and a 0 in the last column, where the file has none."""
    place = {name: i for i, name in enumerate(ids)}
    row = np.array([place.get(kb.entities.name(int(i)), -1) for i in objects], np.int64)
    found = np.zeros((len(objects), table.shape[1] + 1), np.float32)
    known = row >= 0
    found[known, :-1] = table[row[known]]
    found[known, -1] = 1
    return found
