"""A multilayer perceptron that names an object's class: what a supervised model gets from the same objects.

Inputs, as settings choose: the numbers of its box, feature vectors from a file keyed by object id (the paper: those of
an RCNN), and the patterns around it. Adam on the cross-entropy, dropout; the epoch with the best R@1 on validation
graphs (or a tenth of the training graphs) is kept.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from scipy.sparse import csr_matrix
from torch import Tensor, nn

from nlil.data.arrays import Doubles, Floats, Ids
from nlil.data.dataset import Dataset
from nlil.data.kb import KnowledgeBase
from nlil.errors import ConfigError, DataError
from nlil.kernel.threads import one_torch_thread
from nlil.progress import Progress

from .class_baselines import ClassBaseline, ClassTask, PatternParts, Patterns, training_parts
from .interface import check_least

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


LEAST_UPDATES = 50
"""Of an epoch: a few objects are gone through several times, or few graphs would also mean little training."""


@dataclass(frozen=True)
class MLPSettings(PatternParts):
    """Inputs: `boxes` (on), `features` (a .npy or Parquet file keyed by object id; none), and of the patterns
    `patterns` (1; 0: none), `bare` (on), `context` (on), `geometry` (off: boxes say more), `min_count` (2).
    Training: `hidden` (128), `layers` (1), `dropout` (.3), `lr` (.002), `batch` (256), `epochs` (30, at most),
    `patience` (5 epochs without a better R@1). `device` (cpu)."""

    patterns: int = 1
    geometry: bool = False
    boxes: bool = True
    features: str = ""
    hidden: int = 128
    layers: int = 1
    dropout: float = 0.3
    lr: float = 0.002
    batch: int = 256
    epochs: int = 30
    patience: int = 5
    device: str = "cpu"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_least(self, {"hidden": 1, "layers": 1, "dropout": 0, "batch": 1, "epochs": 1, "patience": 1})
        if not 0 <= self.dropout < 1:
            raise ConfigError(f"dropout: expected at least 0 and below 1, got {self.dropout}", "dropout")
        if not self.lr > 0:
            raise ConfigError(f"lr: expected more than 0, got {self.lr}", "lr")


class MLP(ClassBaseline):
    name = "mlp"
    note = "multilayer perceptron, no rules"

    defaults = MLPSettings()
    _inputs: Inputs
    _net: Perceptron

    def _learn(self, dataset: Dataset, seed: int, progress: Progress) -> None:
        train, held = training_parts(self.name, dataset, seed)
        self._inputs = Inputs(train, self.settings)
        with torch.random.fork_rng(), one_torch_thread():  # batches are small: more threads mostly wait for each other
            torch.manual_seed(seed)
            self._net = trained(self._inputs, train, held, self.settings, progress)

    def _scores(self, task: ClassTask, progress: Progress) -> Doubles:
        return scores(self._net, self._inputs.of(task), self.settings)


class Inputs:
    """What the model sees of an object: a row of scaled numbers, and the patterns that hold for it."""

    def __init__(self, train: ClassTask, settings: MLPSettings) -> None:
        self.settings = settings
        self.given = read_features(Path(settings.features)) if settings.features else None
        self.patterns = Patterns(train, settings)
        numbers = self._numbers(train)
        self.mean, self.spread = numbers.mean(axis=0), np.maximum(numbers.std(axis=0), 1e-3)
        if not len(self.patterns) and len(self.spread) == 1:
            raise ConfigError(
                "mlp: expected something to look at, got no boxes, features or patterns; choose some "
                "with boxes=on, patterns=1 or features=FILE"
            )

    def _numbers(self, task: ClassTask) -> Floats:
        parts = [np.zeros((len(task), 1), np.float32)]  # a layer wants one number at least
        if self.settings.boxes and task.kb.boxes is not None:
            parts.append(box_numbers(task.kb, task.objects))
        if self.given is not None:
            parts.append(feature_numbers(task.kb, task.objects, *self.given))
        return np.concatenate(parts, axis=1)

    def of(self, task: ClassTask) -> tuple[Tensor, csr_matrix]:
        numbers = np.asarray((self._numbers(task) - self.mean) / self.spread, np.float32)
        return torch.from_numpy(numbers), self.patterns.table(task)


class Perceptron(nn.Module):
    """The first layer adds up one vector for each pattern that holds and a linear map of the numbers."""

    def __init__(self, num_numbers: int, num_patterns: int, num_classes: int, settings: MLPSettings) -> None:
        super().__init__()
        self.num_classes = num_classes
        self.numbers = nn.Linear(num_numbers, settings.hidden)
        self.patterns = nn.EmbeddingBag(max(num_patterns, 1), settings.hidden, mode="sum")
        nn.init.normal_(self.patterns.weight, std=0.1)
        rest: list[nn.Module] = []
        for _ in range(settings.layers - 1):
            rest += [nn.ReLU(), nn.Dropout(settings.dropout), nn.Linear(settings.hidden, settings.hidden)]
        self.rest = nn.Sequential(
            *rest, nn.ReLU(), nn.Dropout(settings.dropout), nn.Linear(settings.hidden, num_classes)
        )

    def forward(self, numbers: Tensor, pattern: Tensor, begin: Tensor) -> Tensor:
        logits: Tensor = self.rest(self.numbers(numbers) + self.patterns(pattern, begin))
        return logits


def batch_of(inputs: tuple[Tensor, csr_matrix], rows: np.ndarray, device: str) -> tuple[Tensor, Tensor, Tensor]:
    numbers, table = inputs
    some = table[rows]
    return (
        numbers[torch.from_numpy(rows)].to(device),
        torch.from_numpy(some.indices.astype(np.int64)).to(device),
        torch.from_numpy(some.indptr[:-1].astype(np.int64)).to(device),
    )


def scores(net: Perceptron, inputs: tuple[Tensor, csr_matrix], settings: MLPSettings) -> Doubles:
    net.eval()
    total = len(inputs[0])
    found = [np.zeros((0, net.num_classes))]
    with torch.no_grad():
        for low in range(0, total, 4096):
            rows = np.arange(low, min(low + 4096, total))
            found.append(net(*batch_of(inputs, rows, settings.device)).double().cpu().numpy())
    return np.concatenate(found)


def trained(inputs: Inputs, train: ClassTask, held: ClassTask, settings: MLPSettings, progress: Progress) -> Perceptron:
    """The weights of the epoch that names most held-out objects right; of the last where nothing is held out."""
    seen, asked = inputs.of(train), inputs.of(held)
    answer = torch.from_numpy(train.answer).to(settings.device)
    net = Perceptron(seen[0].shape[1], len(inputs.patterns), len(train.classes), settings).to(settings.device)
    optimiser = torch.optim.Adam(net.parameters(), lr=settings.lr)
    passes = math.ceil(LEAST_UPDATES * settings.batch / len(train))
    best, best_state, waited = -1.0, None, 0
    for epoch in range(1, settings.epochs + 1):
        net.train()
        order = torch.cat([torch.randperm(len(train)) for _ in range(passes)]).numpy()
        for low in range(0, len(order), settings.batch):
            rows = order[low : low + settings.batch]
            optimiser.zero_grad()
            logits = net(*batch_of(seen, rows, settings.device))
            nn.functional.cross_entropy(logits, answer[torch.from_numpy(rows).to(answer.device)]).backward()
            optimiser.step()
        right = float((scores(net, asked, settings).argmax(axis=1) == held.answer).mean()) if len(held) else 0.0
        progress("mlp", epoch, settings.epochs, f"held out R@1 {right:.3f}" if len(held) else "")
        if right > best or not len(held):
            best, waited = right, 0
            best_state = {name: value.clone() for name, value in net.state_dict().items()}
        else:
            waited += 1
            if waited == settings.patience:
                break
    assert best_state is not None
    net.load_state_dict(best_state)
    return net
