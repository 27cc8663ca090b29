"""A multilayer perceptron that names an object's class: what a supervised model gets from the same objects.

Inputs, as settings choose: the numbers of its box and the patterns around it (the paper's has the features of an RCNN).
Adam on the cross-entropy, dropout; the epoch with the best R@1 on validation graphs (or a tenth of the training graphs)
is kept.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from scipy.sparse import csr_matrix
from torch import Tensor, nn

from nlil.data.arrays import Doubles, Floats, Ids
from nlil.data.dataset import Dataset
from nlil.data.kb import KnowledgeBase
from nlil.errors import ConfigError
from nlil.kernel.threads import one_torch_thread
from nlil.progress import Progress
from nlil.settings import Allowed, at_least, between, more_than, setting

from .class_baselines import ClassBaseline, ClassTask, PatternParts, Patterns, training_parts

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


LEAST_UPDATES = 50
"""Of an epoch: a few objects are gone through several times, or few graphs would also mean little training."""


@dataclass(frozen=True)
class MLPSettings(PatternParts):
    """The inputs, then the training."""

    patterns: int = setting(1, "most steps of a path; 0: no paths", between(0, 2))
    geometry: bool = setting(False, "also unary predicates made from boxes; the boxes themselves say more")
    boxes: bool = setting(True, "the numbers of the box")
    hidden: int = setting(128, "hidden units", at_least(1))
    layers: int = setting(1, "hidden layers", at_least(1))
    dropout: float = setting(0.3, "share of the units that are dropped", Allowed("0 to below 1", lambda v: 0 <= v < 1))
    lr: float = setting(0.002, "learning rate", more_than(0))
    batch: int = setting(256, "objects per step", at_least(1))
    epochs: int = setting(30, "most epochs", at_least(1))
    patience: int = setting(5, "stop after this many epochs without a better R@1", at_least(1))
    device: str = setting("cpu", "cpu or cuda")


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
        self.patterns = Patterns(train, settings)
        numbers = self._numbers(train)
        self.mean, self.spread = numbers.mean(axis=0), np.maximum(numbers.std(axis=0), 1e-3)
        if not len(self.patterns) and len(self.spread) == 1:
            raise ConfigError(
                "mlp: expected something to look at, got no boxes or patterns; choose some with boxes=on or patterns=1"
            )

    def _numbers(self, task: ClassTask) -> Floats:
        parts = [np.zeros((len(task), 1), np.float32)]  # a layer wants one number at least
        if self.settings.boxes and task.kb.boxes is not None:
            parts.append(box_numbers(task.kb, task.objects))
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
    seen, chosen_by = inputs.of(train), inputs.of(held)
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
        right = float((scores(net, chosen_by, settings).argmax(axis=1) == held.answer).mean()) if len(held) else 0.0
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
