"""predict: ranked answers of one query, each with its score and whether it is a known fact."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.arrays import Ids, Longs
from ..data.facts import Facts
from ..data.kb import KnowledgeBase
from ..errors import NlilError
from ..kernel.aggregation import no_rule, score
from ..kernel.binding import bind
from ..kernel.calibration import Calibration
from ..kernel.ruleset import RuleSet
from ..logic.predicate import Predicate
from ..logic.query import Query, parse_query
from .members import MemberScorer
from .ranking import Ranker


@dataclass(frozen=True)
class Answer:
    """One entity that fills the query's `?`.

    `label` is its name for people, `score` is of 0 to 1, `known` says that the fact is given. The interval of 95 %
    around the probability is `probability_low` to `probability_high`.
    """

    entity: str
    label: str
    score: float
    known: bool
    probability: float | None = None
    """What the score means for a fact not seen before; None without a calibration."""
    probability_low: float | None = None
    probability_high: float | None = None
    """The interval of 95 % around it, as far as validation facts settle it."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "entity": self.entity,
            "label": self.label,
            "score": self.score,
            "probability": self.probability,
            "probability_low": self.probability_low,
            "probability_high": self.probability_high,
            "known": self.known,
        }


class Answers(list[Answer]):
    """The ranked answers of one query: a list that a notebook shows as a table."""

    def __init__(self, query: Query, answers: Iterable[Answer]) -> None:
        super().__init__(answers)
        self.query = query

    def _repr_html_(self) -> str:
        from ..logic.html import table_html

        calibrated = any(answer.probability is not None for answer in self)
        columns = ("answer", *(("probability",) if calibrated else ()), "score", "known")
        rows = [(a.label, *((a.probability,) if calibrated else ()), a.score, a.known) for a in self]
        return table_html(columns, rows, str(self.query))


class Predictor:
    """Answers queries over one base; keep it for many queries.

    `known` are the given facts, None: those of the base; `calibration` says what scores mean, None: that of the rules.
    """

    def __init__(
        self,
        rules: RuleSet,
        kb: KnowledgeBase,
        known: Facts | None = None,
        threads: int = 1,
        memory: int = 2**30,
        calibration: Calibration | None = None,
    ) -> None:
        self.rules, self.kb, self.threads, self.memory = bind(rules, kb).rules, kb, threads, memory
        self.known = kb.facts if known is None else known
        self.calibration = calibration or self.rules.calibration or Calibration({})
        self.ranker = Ranker(self.rules, kb, threads, memory)

    def predict(self, query: str | Query, top: int = 10) -> Answers:
        """Return the best `top` answers; for a query without `?` the one answer with its score, own fact hidden."""
        query = parse_query(query) if isinstance(query, str) else query
        predicate = self.resolve(query)
        target = self.kb.predicate_id(predicate)
        ids = [None if name is None else self.kb.entities.id(name) for name in query.arguments]
        open_places = [place for place, id in enumerate(ids) if id is None]
        if len(open_places) > 1:
            raise NlilError(f"{query}: one argument may be '?', got {len(open_places)}; ask p(a, ?) or p(?, b)")
        if predicate.arity == 1:
            return Answers(query, self._members(target, ids[0], top))
        direction = 1 if open_places == [0] else 0
        known_end, other_end = (ids[1], ids[0]) if direction else (ids[0], ids[1])
        assert known_end is not None
        evidence = self.ranker.evidence(target, direction, known_end, -1 if other_end is None else other_end)
        graph_of = self.kb.graph_of
        if graph_of is not None:
            evidence[graph_of != graph_of[known_end]] = 0  # no rule speaks of two graphs at once, nor may a prior
        facts = self.known.of(target)
        sides = (facts.subject, facts.object)
        known = sides[1 - direction][sides[direction] == known_end]
        return Answers(query, self._answers(evidence, known, top, other_end, 2))

    def _members(self, target: int, entity: int | None, top: int) -> list[Answer]:
        entities = np.arange(self.kb.num_entities, dtype=np.int32) if entity is None else np.array([entity], np.int32)
        evidence = np.zeros(self.kb.num_entities, np.int64)
        evidence[entities] = self.member_evidence(target, entities)
        return self._answers(evidence, self.known.of(target).subject, top, entity, 1)

    def member_evidence(self, target: int, entities: Ids) -> Longs:
        """Return the evidence of target(x) for each of the entities."""
        scorer = MemberScorer(self.rules, self.kb, np.array([target], np.int32), self.threads, self.memory)
        return scorer.evidence(entities)[:, 0]

    def _answers(self, evidence: Longs, known: Ids, top: int, other_end: int | None, arity: int) -> list[Answer]:
        if other_end is not None:
            best = np.array([other_end])
        else:
            best = np.lexsort((np.arange(len(evidence)), -evidence))[:top]
            best = best[evidence[best] > no_rule(self.rules.aggregation)]
        names, scores, is_known = self.kb.entities.names(best), score(evidence[best]), np.isin(best, known)
        return [
            Answer(name, self.kb.label(name), float(s), bool(k), *(self.calibration.estimate(float(s), arity) or ()))
            for name, s, k in zip(names, scores, is_known)
        ]

    def resolve(self, query: Query) -> Predicate:
        """Return the predicate of the query, by name and number of arguments."""
        predicate = query.target
        self.kb.predicate_id(predicate)
        return predicate


def predict(
    rules: RuleSet,
    kb: KnowledgeBase,
    query: str | Query,
    top: int = 10,
    known: Facts | None = None,
    threads: int = 1,
    memory: int = 2**30,
) -> Answers:
    """Return the best answers of one `query`, a `Query` or its text, such as `uncle(alice, ?)`.

    Args:
        rules: they are bound to the names of kb.
        kb: the facts that bodies may use.
        top: how many answers at most.
        known: given facts, which answers are marked by; None: those of kb.
        threads: 0 for as many as there are cores.
        memory: bytes that answers of bodies may take.
    """
    return Predictor(rules, kb, known, threads, memory).predict(query, top)
