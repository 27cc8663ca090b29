"""Rules as a PyKEEN model, so that PyKEEN's own evaluator ranks with them.

    model = RuleModel(rules, kb, factory)
    RankBasedEvaluator().evaluate(model, test.mapped_triples, batch_size=32, additional_filter_triples=[...])

The score of a candidate is its place among the different scores of its query, a small whole number. So ties are those
of `nlil evaluate` (scores that are equal to 1e-9), although PyKEEN compares numbers of single precision.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.arrays import Ids, Longs
from ..data.kb import KnowledgeBase
from ..errors import DataError, require
from ..kernel.aggregation import score
from ..kernel.binding import bind
from ..kernel.ruleset import RuleSet
from ..logic.predicate import Predicate
from .queries import TargetQueries
from .ranking import Ranker

require("pykeen", "kge", "a PyKEEN model of rules")
import torch  # noqa: E402
from pykeen.models import Model  # noqa: E402

DECIMALS = 9
"""Scores are rounded to so many before they are compared, as in `nlil evaluate`."""


class RuleModel(Model):
    """Scores triples by rules; there is nothing to train.

    Args:
        rules: The rules.
        kb: The facts that they are evaluated on; the triples to rank should be others.
        factory: Numbers the entities and relations of the triples, by names of `kb`; a TriplesFactory.
        threads: Threads for scoring; 0: all cores.
        memory: Bytes that scoring may take.
    """

    def __init__(self, rules: RuleSet, kb: KnowledgeBase, factory: Any, threads: int = 0, memory: int = 2**30) -> None:
        super().__init__(triples_factory=factory, random_seed=0)
        self.ranker = Ranker(bind(rules, kb).rules, kb, threads, memory)
        self.entity = _ids(getattr(factory, "entity_to_id", None), kb.entities.id, "entity")
        self.predicate = _ids(
            getattr(factory, "relation_to_id", None), lambda name: kb.predicate_id(Predicate(name, 2)), "relation"
        )
        self.place = torch.nn.Parameter(torch.zeros(1), requires_grad=False)  # PyKEEN asks parameters for the device

    def score_t(self, hr_batch: Any, **_: Any) -> Any:
        """Return (batch, entities): the scores of all tails; `hr_batch` has heads and relations."""
        head, relation = hr_batch.cpu().numpy().T
        return self._scores(relation, head, 0).to(hr_batch.device)

    def score_h(self, rt_batch: Any, **_: Any) -> Any:
        """Return (batch, entities): the scores of all heads; `rt_batch` has relations and tails."""
        relation, tail = rt_batch.cpu().numpy().T
        return self._scores(relation, tail, 1).to(rt_batch.device)

    def score_hrt(self, hrt_batch: Any, **_: Any) -> Any:
        """Return (batch, 1): the score of each triple of `hrt_batch` as a tail of its query."""
        return self.score_t(hrt_batch[:, :2]).gather(1, hrt_batch[:, 2:])

    def score_r(self, ht_batch: Any, **_: Any) -> Any:
        """Refused: rules rank entities. `ht_batch` has heads and tails."""
        raise DataError("expected queries for a head or a tail, got one for a relation; rules do not rank relations")

    def _scores(self, relation: Longs, known: Longs, direction: int) -> torch.Tensor:
        found = np.zeros((len(known), len(self.entity)), np.float32)
        for one in np.unique(relation).tolist():
            rows = np.flatnonzero(relation == one)
            query = self.entity[known[rows]]
            nothing = np.full(len(rows), -1, np.int32)
            (totals,) = self.ranker.each(
                [TargetQueries(int(self.predicate[one]), direction, query, nothing)],
                lambda _, i, total: _places(total[self.entity]),
            )
            found[rows] = totals
        return torch.from_numpy(found)

    def collect_regularization_term(self) -> Any:
        """Return 0: there is nothing to train."""
        return torch.zeros(())

    def _reset_parameters_(self) -> None:
        pass

    def _get_entity_len(self, *, mode: Any = None) -> int:
        return len(self.entity)


def _places(total: Longs) -> np.ndarray:
    """The place of each candidate among the different rounded scores."""
    return np.unique(np.round(score(total), DECIMALS), return_inverse=True)[1].astype(np.float32)


def _ids(names: dict[str, int] | None, id_of: Any, what: str) -> Ids:
    """Our id of each of PyKEEN's."""
    if names is None:
        raise DataError(f"expected a TriplesFactory with the name of each {what}, got one with numbers only")
    found = np.zeros(len(names), np.int32)
    for name, number in names.items():
        found[number] = id_of(name)
    return found
