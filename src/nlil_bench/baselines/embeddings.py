"""TransE (Bordes et al., 2013) and RotatE (Sun et al., 2019): models and loss of PyKEEN, ranked by our evaluation.

Both as the RotatE paper trains them: self-adversarial negative sampling, Adam; entities are not normalised. The
validation facts, ranked by our code, decide when to stop and which weights are kept.

The training loop is our own and stays on one device. PyKEEN's loop draws the negatives on the CPU and scores each as
a separate fact; on a GPU that takes most of the time. Here the negatives of a fact share what they have in common.
"""

from __future__ import annotations

import functools
import logging
import math
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from nlil.config import parse_size
from nlil.data.arrays import Ids
from nlil.data.dataset import Dataset
from nlil.errors import NlilError, require
from nlil.evaluation.metrics import Metrics, rank_figures
from nlil.kernel.device import resolve_device
from nlil.progress import Progress, silent
from nlil.settings import Settings, at_least, between, setting

from .batch_ranking import batch_metrics, batch_ranks
from .interface import Baseline

LAST_RATE = 0.1
"""The learning rate falls in a straight line to this share of itself."""


class EmbeddingTrainer:
    """`negatives` for each fact, by another subject for half the facts of a batch and by another object for half."""

    def __init__(
        self, model: Any, triples: Tensor, lr: float, epochs: int, batch: int, negatives: int, seed: int
    ) -> None:
        self.model, self.triples, self.batch, self.negatives = model, triples.to(model.device), batch, negatives
        self.random = torch.Generator(model.device).manual_seed(seed)
        self.optimiser = torch.optim.Adam(model.get_grad_params(), lr=lr)
        self.rates = torch.optim.lr_scheduler.LinearLR(self.optimiser, 1.0, LAST_RATE, max(epochs - 1, 1))

    def epoch(self) -> float:
        """The mean loss of one pass over all facts in an order drawn anew."""
        self.model.train()
        order = torch.randperm(len(self.triples), generator=self.random, device=self.triples.device)
        total = torch.zeros((), device=self.triples.device)
        for low in range(0, len(order), self.batch):
            facts = self.triples[order[low : low + self.batch]]
            self.optimiser.zero_grad()
            loss = self.loss(facts)
            loss.backward()
            self.optimiser.step()
            self.model.post_parameter_update()  # rotations are made to have length 1 again
            total += loss.detach() * len(facts)
        self.rates.step()
        return float(total) / len(order)

    def loss(self, facts: Tensor) -> Tensor:
        half = (len(facts) + 1) // 2
        by_subject, by_object = facts[:half], facts[half:]
        scores = [self.model.score_h(by_subject[:, 1:], heads=self.others(by_subject[:, 0]))]
        if len(by_object):
            scores.append(self.model.score_t(by_object[:, :2], tails=self.others(by_object[:, 2])))
        loss: Tensor = self.model.loss.process_slcwa_scores(
            positive_scores=self.model.score_hrt(facts),
            negative_scores=torch.cat(scores),
            num_entities=self.model.num_entities,
        )
        return loss

    def others(self, entity: Tensor) -> Tensor:
        """(facts, negatives): entities drawn from all but the fact's own; they may make a known fact, as in PyKEEN."""
        drawn = torch.randint(
            max(self.model.num_entities - 1, 1),
            (len(entity), self.negatives),
            generator=self.random,
            device=entity.device,
        )
        return drawn + (drawn >= entity[:, None])


VALIDATION_FACTS = 500
"""At most so many validation facts are ranked, drawn once."""
COPIES = 3
"""Of the differences between a query and every entity that scoring makes on the way."""


@dataclass(frozen=True)
class EmbeddingSettings(Settings):
    """The model, its loss, and the training. The best weights are kept."""

    dim: int = setting(100, "numbers of an entity, complex ones for RotatE", at_least(1))
    norm: int = setting(1, "norm of the difference in TransE; that of RotatE is Euclidean", between(1, 2))
    margin: float = setting(9.0, "margin of the self-adversarial loss")
    temperature: float = setting(1.0, "temperature of the self-adversarial loss")
    negatives: int = setting(32, "negatives per fact", at_least(1))
    batch: int = setting(512, "facts per step", at_least(1))
    lr: float = setting(0.005, "learning rate of Adam at the start, by short runs on validation facts of UMLS")
    epochs: int = setting(100, "most epochs", at_least(1))
    check_every: int = setting(10, "epochs between two checks of the validation MRR", at_least(1))
    patience: int = setting(4, "stop after this many checks without a better MRR", at_least(1))
    device: str = setting("cpu", "cpu or cuda")
    threads: int = setting(0, "threads of torch; 0: its default")
    memory: int = setting(2 * 2**30, "bytes that batches are sized for", at_least(1), parse_size)


class Embedding(Baseline):
    """What both have in common; `name` is that of the class in pykeen.models."""

    number_bytes = 4
    defaults = EmbeddingSettings()
    packages = ("pykeen",)
    history: list[dict[str, float]]
    _trained: Any = None

    def _learn(self, dataset: Dataset, seed: int, progress: Progress) -> None:
        """All binary predicates at once; unary facts have no place in these models."""
        require("pykeen", "kge", f"the baseline {self.name}")
        kb = dataset.kb.crisp
        facts = kb.binary
        if not len(facts):
            raise NlilError(f"{self.name}: expected binary facts to learn from, got none; check with: nlil inspect")
        triples = np.stack((facts.subject, facts.predicate, facts.object), 1).astype(np.int64)
        self.history = []
        with _quiet(self.settings.threads), torch.random.fork_rng():
            self._train(triples, dataset, seed, progress)

    def _train(self, triples: np.ndarray, dataset: Dataset, seed: int, progress: Progress) -> None:
        from pykeen.triples import CoreTriplesFactory

        s = self.settings
        factory = CoreTriplesFactory(torch.from_numpy(triples), dataset.kb.num_entities, dataset.kb.num_predicates)
        torch.manual_seed(seed)
        model = self._untrained(factory, seed).to(resolve_device(s.device))
        trainer = EmbeddingTrainer(model, torch.from_numpy(triples), s.lr, s.epochs, s.batch, s.negatives, seed)
        valid = _sample(dataset, seed)
        known = dataset.splits.all() + dataset.kb.facts
        best, kept, since = -1.0, None, 0
        self._trained = model
        for epoch in range(1, s.epochs + 1):
            loss = trainer.epoch()
            if epoch % s.check_every and epoch < s.epochs:
                continue
            self.history.append({"epoch": epoch, "loss": loss})
            if len(valid):
                ranks = batch_ranks(self.scores, valid, known, dataset.kb.num_entities, self._batch(dataset))
                mrr = rank_figures(ranks)["mrr"]
                self.history[-1]["valid_mrr"] = mrr
                since = 0 if mrr > best else since + 1
                if since == 0:
                    best, kept = mrr, {k: v.detach().clone() for k, v in model.state_dict().items()}
            progress(self.name, epoch, s.epochs, "  ".join(f"{k} {v:.4g}" for k, v in self.history[-1].items()))
            if since == s.patience:
                break
        if kept is not None:
            model.load_state_dict(kept)

    @abstractmethod
    def _untrained(self, factory: Any, seed: int) -> Any:
        """The PyKEEN model with fresh parameters."""

    def _loss(self) -> Any:
        from pykeen.losses import NSSALoss

        return NSSALoss(margin=self.settings.margin, adversarial_temperature=self.settings.temperature)

    def _uniform(self, numbers: int, norm: int, differences: int) -> Callable[[torch.Tensor], torch.Tensor]:
        """Numbers so wide that distances start near the margin: far below, every negative is on the wrong side of it,
        and the first epochs only blow the space up. `differences`: independent terms in each of the `numbers`."""
        deviation = self.settings.margin / (numbers if norm == 1 else math.sqrt(numbers))
        width = deviation * math.sqrt(3 / differences)
        return functools.partial(torch.nn.init.uniform_, a=-width, b=width)

    @property
    def _bytes_per_score(self) -> int:
        return COPIES * self.number_bytes * self.settings.dim

    def _batch(self, dataset: Dataset) -> int:
        return max(1, self.settings.memory // (self._bytes_per_score * dataset.kb.num_entities))

    @torch.no_grad()
    def scores(self, predicate: int, given: Ids, side: int) -> torch.Tensor:
        """(batch, entities), as PyKEEN scores them, on its device."""
        self._trained.eval()
        known = torch.from_numpy(np.asarray(given, np.int64))
        relation = torch.full_like(known, predicate)
        pairs = (torch.stack((known, relation), 1), torch.stack((relation, known), 1))[side].to(self._trained.device)
        score: torch.Tensor = self._trained.score_t(pairs) if side == 0 else self._trained.score_h(pairs)
        return score

    def evaluate(self, split: str = "test", progress: Progress = silent) -> Metrics:
        dataset = self.dataset
        epoch = max(self.history, key=lambda entry: entry.get("valid_mrr", entry["epoch"]))["epoch"]
        with _quiet(self.settings.threads):
            return batch_metrics(
                self.scores,
                dataset,
                split,
                memory=self.settings.memory,
                bytes_per_score=self._bytes_per_score,
                progress=progress,
                notes=(f"embeddings of epoch {epoch:.0f}, no rules",),
            )


class TransE(Embedding):
    """-|h + r - t|"""

    name = "TransE"

    def _untrained(self, factory: Any, seed: int) -> Any:
        from pykeen.models import TransE as Model

        initial = self._uniform(numbers=self.settings.dim, norm=self.settings.norm, differences=3)
        return Model(
            triples_factory=factory,
            embedding_dim=self.settings.dim,
            scoring_fct_norm=self.settings.norm,
            entity_initializer=initial,
            entity_constrainer=None,
            relation_initializer=initial,
            loss=self._loss(),
            random_seed=seed,
        )


class RotatE(Embedding):
    """-|h r - t| with complex numbers, |r| = 1"""

    name = "RotatE"
    number_bytes = 8
    defaults = EmbeddingSettings(lr=0.05)  # also by short runs on UMLS

    def _untrained(self, factory: Any, seed: int) -> Any:
        from pykeen.models import RotatE as Model

        initial = self._uniform(numbers=2 * self.settings.dim, norm=2, differences=2)
        return Model(
            triples_factory=factory,
            embedding_dim=self.settings.dim,
            entity_initializer=initial,
            loss=self._loss(),
            random_seed=seed,
        )


def _sample(dataset: Dataset, seed: int) -> Any:
    """Validation facts of binary targets."""
    ids = [dataset.kb.predicate_id(p) for p in dataset.targets]
    facts = dataset.splits.valid
    facts = facts[np.isin(facts.predicate, ids) & ~facts.is_unary]
    rows = np.random.default_rng(seed).permutation(len(facts))[:VALIDATION_FACTS]
    return facts[np.sort(rows)]


@contextmanager
def _quiet(threads: int) -> Iterator[None]:
    """Silence PyKEEN's log, and set the number of torch threads for the time of the call."""
    logger, before = logging.getLogger("pykeen"), torch.get_num_threads()
    level = logger.level
    logger.setLevel(logging.ERROR)
    if threads:
        torch.set_num_threads(threads)
    try:
        yield
    finally:
        logger.setLevel(level)
        torch.set_num_threads(before)
