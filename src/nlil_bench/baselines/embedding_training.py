"""Epochs of an embedding model of PyKEEN, all of it on one device: order, negatives, scores, loss, update.

PyKEEN's own loop draws the negatives on the CPU and scores each as a fact of its own; on a GPU that is most of the
time. Here the negatives of a fact share what they have in common with it.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

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
