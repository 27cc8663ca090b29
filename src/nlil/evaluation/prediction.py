"""predict: ranked answers of one query, each with its score and whether it is a known fact."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data.arrays import Doubles, Ids, Longs, Mask
from ..data.arrow import to_numpy
from ..data.facts import NO_OBJECT, Facts
from ..data.kb import KnowledgeBase
from ..data.vocabulary import Vocabulary
from ..errors import NlilError, require
from ..kernel.aggregation import no_rule, score
from ..kernel.binding import bind
from ..kernel.calibration import Calibration
from ..kernel.ruleset import RuleSet
from ..logic.figures import number
from ..logic.predicate import Predicate
from ..logic.query import Query, parse_query
from .fact_scores import fact_evidence
from .members import MemberScorer
from .ranking import Ranker

if TYPE_CHECKING:
    import pyarrow as pa

    from ..data.builder import Batch

FACTS_AT_ONCE = 1 << 20
"""Facts per batch: those of one subject share a query."""


@dataclass(frozen=True)
class Answer:
    """One `entity` that answers a query.

    `label` is its name for people, `score` is in [0, 1], `known` says whether the fact is given. `probability` has the
    95 % interval `probability_low` to `probability_high`.
    """

    entity: str
    label: str
    score: float
    known: bool
    probability: float | None = None
    """The probability of an unseen fact with this score; None without a calibration."""
    probability_low: float | None = None
    probability_high: float | None = None
    """Upper end of the 95 % interval, which depends on the number of validation facts."""

    def __repr__(self) -> str:
        chance = "" if self.probability is None else f", probability {number(self.probability)}"
        return f"<Answer: {self.label}{chance}, score {number(self.score)}{', known' if self.known else ''}>"

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


@dataclass(frozen=True, eq=False)
class ScoredFacts:
    """Facts by name with their scores; a fact with a name that the base does not have has none.

    Attributes:
        names: subject, predicate and object of each fact; the object is None for a unary one.
        score: NaN for unknown names.
        probability: NaN for unknown names, and without a calibration.
        known: whether the fact is given.
    """

    names: list[tuple[str, str, str | None]]
    score: Doubles
    probability: Doubles
    known: Mask

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return f"<ScoredFacts: {len(self):,}>"

    @classmethod
    def join(cls, parts: Iterable[ScoredFacts]) -> ScoredFacts:
        """Concatenate `parts`."""
        every = list(parts)
        names = [name for part in every for name in part.names]
        columns = [[getattr(part, column) for part in every] for column in ("score", "probability", "known")]
        score, probability, known = (np.concatenate([np.zeros(0), *column]) for column in columns)
        return cls(names, score, probability, known.astype(bool))

    def to_pandas(self) -> Any:
        """Return a DataFrame with the columns subject, predicate, object, probability, score and known."""
        require("pandas", "graph", "a table of facts")
        import pandas

        names = ("subject", "predicate", "object", "probability", "score", "known")
        return pandas.DataFrame(list(self.rows()), columns=list(names))

    @property
    def num_unknown(self) -> int:
        """The number of facts with a name that the base does not have."""
        return int(np.isnan(self.score).sum())

    def rows(self) -> Iterator[tuple[str, str, str | None, float | None, float | None, bool]]:
        """Yield subject, predicate, object, probability, score and whether it is known, of each fact."""
        columns = self.probability.tolist(), self.score.tolist(), self.known.tolist()
        for names, chance, value, known in zip(self.names, *columns):
            # NaN differs from itself; np.isnan takes longer than all the rest.
            yield (*names, chance if chance == chance else None, value if value == value else None, known)


class Predictor:
    """Answers queries over one base; keep it for many queries.

    `known` are the given facts (None: those of the base); `calibration` maps scores to probabilities (None: that of the
    rules).
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
        """Return the best `top` answers; for a `query` without `?`, its score with the fact itself hidden."""
        query = self.kb.resolved(parse_query(query) if isinstance(query, str) else query)
        predicate = query.target
        target = self.kb.predicate_id(predicate)
        ids = [None if name is None else self.kb.entities.id(name) for name in query.arguments]
        open_places = [place for place, id in enumerate(ids) if id is None]
        if len(open_places) > 1:
            raise NlilError(f"{query}: one argument may be '?', got two; ask p(a, ?) or p(?, b), or see: nlil complete")
        if predicate.arity == 1:
            return Answers(query, self._members(target, ids[0], top))
        direction = 1 if open_places == [0] else 0
        known_end, other_end = (ids[1], ids[0]) if direction else (ids[0], ids[1])
        assert known_end is not None
        evidence = self.ranker.evidence(target, direction, known_end, -1 if other_end is None else other_end)
        graph_of = self.kb.graph_of
        if graph_of is not None:
            evidence[graph_of != graph_of[known_end]] = 0  # no rule joins two graphs, and neither may a prior
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

    def score_facts(self, facts: Facts) -> tuple[Doubles, Doubles]:
        """Return the score and the probability (NaN without a calibration) of each of `facts`, hidden from itself."""
        scores = score(fact_evidence(self.ranker, facts))
        arity = np.where(facts.is_unary, 1, 2)
        chance = self.calibration.probabilities(scores, arity)
        chance[~np.isin(arity, list(self.calibration.maps))] = np.nan
        return scores, chance

    def score_batches(
        self, batches: Iterable[Batch], note: Callable[[Iterable[str]], None] = lambda _: None
    ) -> Iterator[ScoredFacts]:
        """Yield the facts of `batches` with their scores, batch by batch, in order.

        `note` is called with the notes of their reader.
        """
        waiting: list[Batch] = []
        noted: set[str] = set()
        for batch in batches:
            note([text for text in batch.notes if text not in noted])
            noted.update(batch.notes)
            waiting.append(batch)
            if sum(map(len, waiting)) >= FACTS_AT_ONCE:
                yield self._scored(waiting)
                waiting = []
        if waiting:
            yield self._scored(waiting)

    def _scored(self, batches: list[Batch]) -> ScoredFacts:
        names = [row for batch in batches for row in batch.names()]
        ids = Facts.join(self._ids(batch) for batch in batches)
        found = np.flatnonzero(ids.subject >= 0)
        scores, chance = np.full((2, len(names)), np.nan)
        known = np.zeros(len(names), bool)
        facts = ids[found]
        scores[found], chance[found] = self.score_facts(facts)
        known[found] = facts.isin(self.known)
        return ScoredFacts(names, scores, chance, known)

    def _ids(self, batch: Batch) -> Facts:
        """Return the ids of the facts; a subject of -1 marks a name that the base does not have."""
        kb = self.kb

        def column(names: pa.DictionaryArray) -> Ids:
            return np.append(kb.entity_ids(Vocabulary(names.dictionary)), np.int32(-1))[
                to_numpy(names.indices, null=-1)
            ]

        subject = column(batch.subject)
        object = np.full(len(batch), NO_OBJECT, np.int32)
        is_binary = np.zeros(len(batch), bool)
        if batch.object is not None:
            is_binary = to_numpy(batch.object.indices, null=-1) >= 0
            object = column(batch.object)
        names = batch.predicate.dictionary.to_pylist()
        table = [[_predicate_id(kb, Predicate(name, arity)) for arity in (1, 2)] for name in names]
        predicate = np.asarray(table, np.int32).reshape(-1, 2)[to_numpy(batch.predicate.indices), is_binary.astype(int)]
        unknown = (subject < 0) | (predicate < 0) | (is_binary & (object < 0))
        return Facts(np.where(unknown, 0, predicate), np.where(unknown, -1, subject), np.where(unknown, -1, object))


def _predicate_id(kb: KnowledgeBase, predicate: Predicate) -> int:
    """Return the id of the `predicate`, also by short name or label; -1 if it is unknown or ambiguous."""
    found = kb.predicates_named(predicate)
    return kb.predicate_id(found[0]) if len(found) == 1 else -1


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
        top: the maximum number of answers.
        known: given facts, which are marked among the answers; None: those of kb.
        threads: 0: all cores.
        memory: bytes for the answers of bodies.
    """
    return Predictor(rules, kb, known, threads, memory).predict(query, top)
