"""complete: the most probable facts that are not known, over all targets.

The score of a new fact p(a, b) is that of `predict` for p(a, ?). All pairs of entities would be too many, so the
queries are those that facts suggest:

    p(?, b)   for each object b of p: finds entities that may be subjects of p, although no fact says so
    p(a, ?)   for each subject a of p, and for the most probable new subjects

The best candidates of each query are added to one list of the best facts, whose length stays close to the requested
number. A fact is added only if it beats the last of the list, so most candidates of most queries are dropped at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, NamedTuple, overload

import numpy as np

from ..data.arrays import Doubles, Ids, Longs
from ..data.facts import NO_OBJECT, Facts
from ..data.kb import KnowledgeBase
from ..errors import ConfigError
from ..kernel.aggregation import no_rule, score
from ..kernel.binding import bind
from ..kernel.calibration import Calibration
from ..kernel.ruleset import RuleSet
from ..logic.figures import number
from ..logic.labels import Labels
from ..logic.predicate import Fact, Predicate
from ..logic.rule import ScoredRule
from ..logic.text import fact_text
from ..progress import Progress, silent
from .fact_scores import member_evidence, strongest_rules
from .queries import AnswerIndex, TargetQueries
from .ranking import Ranker

ROOM = 1 << 20
"""Additional candidates in the list of the best facts before it is truncated."""
SHOWN = 20
"""Facts that `str` and a notebook show."""


class NewFact(NamedTuple):
    """A fact that is not known: its `score`, its `probability` (None without a calibration), and its strongest `rule`.

    `rule` is None if only a prior supports the fact.
    """

    fact: Fact
    score: float
    probability: float | None
    rule: ScoredRule | None


@dataclass(frozen=True, eq=False)
class NewFacts(Sequence[NewFact]):
    """Facts that are not known, most probable first.

    Attributes:
        kb: the base, for names.
        rules: the rules, in the ids of the base.
        facts: the facts by id.
        score: the score of each fact.
        probability: the probability of each fact; NaN without a calibration.
        row: the row of the strongest rule of each fact; -1 if only a prior supports it.
    """

    kb: KnowledgeBase
    rules: RuleSet
    facts: Facts
    score: Doubles
    probability: Doubles
    row: Longs

    def __len__(self) -> int:
        return len(self.facts)

    @overload
    def __getitem__(self, index: int) -> NewFact: ...
    @overload
    def __getitem__(self, index: slice) -> NewFacts: ...
    def __getitem__(self, index: int | slice) -> NewFact | NewFacts:
        if isinstance(index, slice):
            columns = self.score[index], self.probability[index], self.row[index]
            return NewFacts(self.kb, self.rules, self.facts[index], *columns)
        i = range(len(self))[index]
        fact = self.kb.fact(int(self.facts.predicate[i]), int(self.facts.subject[i]), int(self.facts.object[i]))
        chance, row = float(self.probability[i]), int(self.row[i])
        rule = self.rules[row] if row >= 0 else None
        return NewFact(fact, float(self.score[i]), None if np.isnan(chance) else chance, rule)

    def __iter__(self) -> Iterator[NewFact]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"<NewFacts: {len(self):,}{f', the first {fact_text(self[0].fact)}' if len(self) else ''}>"

    def __str__(self) -> str:
        """The first facts, one in each line, with their labels."""
        lines = [
            f"{labels}{'' if chance is None else f'   probability {number(chance)}'}   score {number(score)}"
            for labels, chance, score in self._shown()
        ]
        more = len(self) - len(lines)
        return "\n".join([*lines, *([f"... and {more:,} more"] if more else [])]) or "no facts"

    def _repr_html_(self) -> str:
        from ..logic.html import table_html

        rows = [(label, "" if chance is None else chance, score) for label, chance, score in self._shown()]
        return table_html(("new fact", "probability", "score"), rows, f"{len(rows):,} of {len(self):,} facts")

    def _shown(self) -> list[tuple[str, float | None, float]]:
        labels = Labels.of(self.kb)
        return [(labels.fact(new.fact), new.probability, new.score) for new in self[:SHOWN]]

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield each fact as plain values; a rule is text."""
        labels = Labels.of(self.kb)
        text_of: dict[int, str] = {-1: ""}
        for i, new in enumerate(self):
            row = int(self.row[i])
            if row not in text_of:
                text_of[row] = str(self.rules.rule(row))
            subject, object = (*new.fact.arguments, None)[:2]
            yield {
                "subject": subject,
                "predicate": new.fact.predicate.name,
                "object": object,
                "label": labels.fact(new.fact),
                "probability": new.probability,
                "score": new.score,
                "rule": text_of[row] or None,
            }

    def to_pandas(self) -> Any:
        """Return a DataFrame with the columns subject, predicate, object, label, probability, score and rule."""
        from ..errors import require

        require("pandas", "graph", "a table of facts")
        import pandas

        names = ("subject", "predicate", "object", "label", "probability", "score", "rule")
        return pandas.DataFrame(list(self.records()), columns=list(names))


def complete(
    rules: RuleSet,
    kb: KnowledgeBase,
    *,
    targets: Sequence[str | Predicate] | None = None,
    top: int = 1000,
    known: Facts | None = None,
    threads: int = 0,
    memory: int = 2**30,
    calibration: Calibration | None = None,
    progress: Progress = silent,
) -> NewFacts:
    """Return the most probable facts that are not known.

    Args:
        rules: They are bound to the names of `kb`.
        kb: The facts that bodies may use.
        targets: Predicates of the facts; by default those of the rules.
        top: The number of facts.
        known: Given facts, which are not new; by default those of `kb`.
        threads: Threads for scoring; 0: all cores.
        memory: Bytes that one evaluation may take.
        calibration: The map from scores to probabilities; by default that of the rules.
        progress: Called with the progress.
    """
    if top < 1:
        raise ConfigError(f"top: expected 1 or more, got {top}", "top")
    rules = bind(rules, kb).rules
    calibration = calibration or rules.calibration or Calibration({})
    named = rules.targets if targets is None else [kb.predicate(t) if isinstance(t, str) else t for t in targets]
    ids = sorted({kb.predicate_id(p) for p in named})
    ranker = Ranker(rules, kb, threads, memory)
    search = _Search(ranker, kb.facts if known is None else known, top, progress)
    best = search.pairs([t for t in ids if kb.predicates[t].arity == 2])
    best = np.concatenate((best, search.members([t for t in ids if kb.predicates[t].arity == 1])))
    arity = np.where(best[:, 3] == NO_OBJECT, 1, 2)
    scores = score(best[:, 0])
    chance = calibration.probabilities(scores, arity)
    order = np.lexsort((best[:, 3], best[:, 2], best[:, 1], -scores, -chance))[:top]
    best, scores, chance, arity = best[order], scores[order], chance[order], arity[order]
    chance[~np.isin(arity, list(calibration.maps))] = np.nan
    predicate, subject, object = best[:, 1:].T.astype(np.int32)
    facts = Facts(predicate, subject, object)
    return NewFacts(kb, rules, facts, scores, chance, strongest_rules(ranker, facts))


class _Best:
    """The best facts so far, as rows (evidence, predicate, subject, object); many threads add to it.

    The order is total: by evidence, then by id. So a fact that is dropped can never be among the best of all.
    """

    def __init__(self, most: int, least: int) -> None:
        self.most, self.floor = most, least + 1
        self._parts: list[Longs] = [np.zeros((0, 4), np.int64)]
        self._size = 0
        self._lock = Lock()

    def add(self, evidence: Longs, target: int, subject: Ids | int, object: Ids | int) -> None:
        """Add the facts target(subject, object), one of which is a column beside `evidence`."""
        rows = np.empty((len(evidence), 4), np.int64)
        rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 3] = evidence, target, subject, object
        with self._lock:
            self._parts.append(rows)
            self._size += len(rows)
            if self._size > self.most + ROOM:
                self._cut()

    def _cut(self) -> None:
        rows = np.concatenate(self._parts)
        if len(rows) > self.most:
            rows = rows[rows[:, 0] >= np.partition(rows[:, 0], -self.most)[-self.most]]
            rows = rows[np.lexsort((rows[:, 3], rows[:, 2], rows[:, 1], -rows[:, 0]))[: self.most]]
            self.floor = int(rows[-1, 0])
        self._parts, self._size = [rows], len(rows)

    def rows(self) -> Longs:
        """Return the best facts, in no order."""
        self._cut()
        return self._parts[0]


@dataclass(frozen=True)
class _Search:
    ranker: Ranker
    known: Facts
    top: int
    progress: Progress

    def pairs(self, targets: Sequence[int]) -> Longs:
        """Return the best facts of binary targets."""
        ends = {t: self._ends(t) for t in targets}
        backward = self._best([TargetQueries(t, 1, ends[t][1], _nothing(ends[t][1])) for t in targets], ends)
        found = {t: np.unique(backward[backward[:, 1] == t, 2]) for t in targets}
        subjects = {t: np.union1d(ends[t][0], found[t]).astype(np.int32) for t in targets}
        return self._best([TargetQueries(t, 0, subjects[t], _nothing(subjects[t])) for t in targets])

    def _ends(self, target: int) -> tuple[Ids, Ids]:
        """Return the subjects and the objects of a target, as the base knows them."""
        facts = self.ranker.kb.facts.of(target)
        return np.unique(facts.subject), np.unique(facts.object)

    def _best(self, queries: list[TargetQueries], ends: dict[int, tuple[Ids, Ids]] | None = None) -> Longs:
        """Return the best new facts of these queries; with `ends`, only those of subjects that are not known yet."""
        kb = self.ranker.kb
        best = _Best(self.top, no_rule(self.ranker.rules.aggregation))
        answers = [AnswerIndex.of(self.known, q.target, q.direction, kb.num_entities) for q in queries]

        def add(g: int, i: int, total: Longs) -> None:
            target, direction, query, _ = queries[g]
            end = int(query[i])
            total[answers[g].to(end)] = 0
            if ends is not None:
                total[ends[target][0]] = 0
            if kb.graph_of is not None:
                total[kb.graph_of != kb.graph_of[end]] = 0
            chosen = np.flatnonzero(total >= best.floor)
            if len(chosen):
                best.add(total[chosen], target, *((chosen, end) if direction else (end, chosen)))

        self.ranker.each(queries, add, self.progress)
        return best.rows()

    def members(self, targets: Sequence[int]) -> Longs:
        """Return the best facts of unary targets; an object that has a class gets no other class."""
        kb = self.ranker.kb
        best = _Best(self.top, no_rule(self.ranker.rules.aggregation))
        is_class = np.isin(self.known.predicate, list(kb.classes)) & self.known.is_unary
        for target in targets:
            taken = self.known.subject[is_class] if target in kb.classes else self.known.of(target).subject
            entities = np.setdiff1d(np.flatnonzero(kb.domain), taken).astype(np.int32)
            evidence = member_evidence(self.ranker, target, entities)
            chosen = evidence >= best.floor
            best.add(evidence[chosen], target, entities[chosen], NO_OBJECT)
        return best.rows()


def _nothing(query: Ids) -> Ids:
    """Return that nothing is hidden from any query."""
    return np.full(len(query), -1, np.int32)
