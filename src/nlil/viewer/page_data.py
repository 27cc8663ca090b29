"""PageData: an opened run with its indexes. Names are indexed and rules sorted once for all pages."""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np
import pyarrow

from ..data.arrays import Ids, Longs, Mask, offsets
from ..data.kb import KnowledgeBase
from ..data.vocabulary import label_column
from ..errors import NlilError, UnknownName
from ..evaluation.members import MemberScorer
from ..evaluation.prediction import Answer
from ..explanation.changes import Scenes
from ..explanation.probabilities import Probabilities
from ..explanation.rule_card import RuleCards
from ..explanation.why import Explainer
from ..kernel.calibration import Probability
from ..kernel.graph import Graph
from ..kernel.ruleset import RuleSet
from ..learning.feedback import REJECTED, VERDICTS, Feedback, Verdict, save_verdict
from ..learning.opening import OpenedRun
from ..logic.labels import Labels
from ..logic.predicate import Fact, Predicate
from ..logic.query import Query
from ..logic.rule import Rule
from ..neural.attended import trained_targets
from ..scene.canvas import shortened
from ..scene.class_table import ClassTable, TablePredictor
from ..scene.object_classes import ObjectClasses, ranked_classes
from ..theory.listing import TargetTheory, target_theories
from .highlights import Highlights
from .rule_store import RuleStore, entity_ids

CACHED_STORES = 3
"""Predicates whose rules are cached."""
MAX_HITS = 200
"""Names considered before the best are chosen; a common syllable is in thousands."""
MAX_PASTED = 80
"""Characters of a pasted name in an error message."""
WORD_STARTS = (" ", "_", "/", "\t", ".", "-")


class PageData:
    """An opened `run` with what its pages need.

    Not thread-safe: callers hold `lock`. The search by name needs no lock.
    """

    def __init__(self, run: OpenedRun) -> None:
        pyarrow.default_memory_pool().release_unused()  # reading millions of rules leaves much unused memory
        self.run, self.rules, self.kb, self.theory = run, run.all_rules, run.base, run.theory
        self.labels = Labels.of(run.base)
        self.lock = threading.RLock()
        self.feedback = run.feedback
        self.known = run.known
        nothing = self.rules.take(np.zeros(0, np.int64))
        self._predictor = TablePredictor(nothing, self.kb, self.known, 1, run.config.memory)
        self._scenes = Scenes(self.kb)
        self._explainer = Explainer(nothing, self.kb, run.config.memory, PageProbabilities(self))
        self._order = np.argsort(self.rules.head, kind="stable").astype(np.int32)
        self._pointer = offsets(self.rules.head[self._order], self.kb.num_predicates)
        self.store = lru_cache(CACHED_STORES)(self._store)
        self.verdicts = self._verdict_rows()
        self.highlights = Highlights(run)

    def warm_up(self) -> None:
        """Prepare what the first request would otherwise wait for: indexes, and the compiled code of a first answer."""
        _ = self.entities, self.predicates, self.cards.evaluator, Graph.of(self.cards.kb)
        query = self.example_query
        if query is not None:
            predicate = query.target
            explainer, _ = self.explainer(predicate, query.arguments)
            for answer in self.answers(query, 1):
                names = tuple(answer.entity if name is None else name for name in query.arguments)
                explainer.explain(Fact(predicate, names))

    def work_ahead(self) -> None:
        """Begin in the background what takes long: the scores of all objects, and the facts that stand out."""
        if self.class_table is not None:
            self.class_table.start()
        self.highlights.find(self._accepted())

    @property
    def targets(self) -> Longs:
        """The predicates with rules, those with most rules first."""
        return np.argsort(-self.num_rules, kind="stable")[: np.count_nonzero(self.num_rules)]

    @property
    def example_query(self) -> Query | None:
        """An example query with an answer: about the first fact of the predicate with most rules."""
        for target in self.targets[:1].tolist():
            facts = self.kb.facts.of(target)
            if len(facts):
                return query_of(self.kb.predicates[target], self.kb.entities.name(int(facts.subject[0])), 0)
        return None

    # names ----------------------------------------------------------------------------------------

    @cached_property
    def entities(self) -> NameIndex:
        """The names of all entities."""
        names, labels = list(self.kb.entities), label_column(self.kb.entity_labels, self.kb.entities).to_pylist()
        return NameIndex("entity", names, [n if label is None else label for n, label in zip(names, labels)])

    @cached_property
    def predicates(self) -> NameIndex:
        """The names of all predicates; a name with two arities is shown with its arity."""
        found = self.kb.predicates
        both = {p.name for p in found if p.arity == 1} & {p.name for p in found if p.arity == 2}
        names = [str(p) if p.name in both else p.name for p in found]
        return NameIndex("predicate", names, [self.kb.predicate_labels.get(p.name, n) for p, n in zip(found, names)])

    def entity_id(self, text: str) -> int:
        """Return the id of the entity named `text`, or else of the only one with this label."""
        found = self.kb.entities.find(text)
        if found is not None:
            return found
        called = self.entities.called(text)
        if len(called) == 1:
            return called[0]
        if called:
            some = ", ".join(repr(self.entities.names[id]) for id in called[:3])
            raise NlilError(f"{len(called)} entities are called {text!r}; name one of them, such as {some}")
        near = [self.entities.labels[id] for id in self.entities.find(text[:40], 3)]
        raise UnknownName("entity", shortened(text, MAX_PASTED), near, "search for it by a part of its name")

    def resolved(self, query: Query) -> Query:
        """Return the query with names of the data in place of labels; raises an error for unknown names."""
        names = tuple(None if n is None else self.kb.entities.name(self.entity_id(n)) for n in query.arguments)
        predicate = query.target
        if predicate not in self.kb.predicates:
            same = self.predicates.called(query.predicate)
            called = [i for i in same if self.kb.predicates[i].arity == predicate.arity]
            if len(called) != 1:
                self.kb.predicate_id(replace(predicate, name=shortened(query.predicate, MAX_PASTED)))
            predicate = self.kb.predicates[called[0]]
        return Query(predicate.name, names)

    # rules ----------------------------------------------------------------------------------------

    def rows_of(self, target: int) -> Ids:
        """Return the rows of the rules for the predicate `target`, including rejected ones."""
        return self._order[self._pointer[target] : self._pointer[target + 1]]

    @property
    def num_rules(self) -> Longs:
        """The number of rules of each predicate."""
        return np.diff(self._pointer)

    @property
    def rejected(self) -> Mask:
        """Which rules were rejected."""
        return self.verdicts == VERDICTS.index(REJECTED) + 1

    def theories_of(self, targets: Sequence[int]) -> dict[int, TargetTheory]:
        """Return the theories of the predicates among `targets` that have one, by id, without rejected rules."""
        if self.theory is None:
            return {}
        numbers = self.theory.chosen(self.rules)
        rows = self.theory.rows[numbers]
        shown = numbers[np.isin(self.rules.head[rows], targets) & ~self.rejected[rows]]
        found = target_theories(self.rules, self.theory, shown, self.num_rules)
        return {self.kb.predicate_id(one.predicate): one for one in found}

    @cached_property
    def trained(self) -> frozenset[Predicate]:
        """The predicates whose attentions the run has."""
        learned = self.run.learned
        return frozenset(trained_targets(learned.attentions, learned.rules.predicates))

    def _store(self, target: int) -> RuleStore:
        """Return the rules of a predicate; `store` caches them."""
        rows = self.rows_of(target).astype(np.int64)
        return RuleStore(self.rules, rows, self.kb, self.rejected[rows])

    def judge(self, row: int, verdict: str, note: str) -> None:
        """Store a `verdict` on the rule of a `row`, with a `note`, in the run folder; an empty one removes it."""
        rule = self.rules.rule(row)
        judged = Verdict(verdict, note, datetime.now(UTC).isoformat(timespec="seconds")) if verdict else None
        self.use_feedback(save_verdict(self.run.path, str(rule), judged))

    def use_feedback(self, feedback: Feedback) -> None:
        """Answer by the verdicts in `feedback` from now on; other viewers of the run give verdicts too."""
        self.feedback, before = feedback, self.verdicts
        self.verdicts = self._verdict_rows()
        self.store.cache_clear()
        self.__dict__.pop("class_scorer", None)
        for target in np.unique(self.rules.head[self.verdicts != before]).tolist():
            if self.class_table is not None and target in self.class_table.position:
                active = self.store(target).active
                self.class_table.judged(target, partial(self._scorer, active, [target]))
        if self.highlights.found is not None or self.highlights.is_busy:
            self.highlights.find(self._accepted())

    def _accepted(self) -> RuleSet:
        """The rules that are not rejected."""
        return self.rules.take(~self.rejected) if self.rejected.any() else self.rules

    def _verdict_rows(self) -> np.ndarray:
        """By row: 0, or the number of its verdict from 1 on."""
        found = np.zeros(len(self.rules), np.int8)
        for text, verdict in self.feedback.items():
            found[self.rules.rows_of_text(text)] = VERDICTS.index(verdict.verdict) + 1
        return found

    def row_of(self, rule: Rule, explainer: Explainer, rows: Longs) -> int:
        """Return the row in the run of a `rule` of the `explainer`, whose rules have these `rows`."""
        return int(rows[explainer.rules.rows_of(rule)[0]])

    @cached_property
    def cards(self) -> RuleCards:
        """Cards over the facts that the rules were counted on, so that examples and counts agree."""
        dataset = self.run.dataset
        return RuleCards(
            self.rules, dataset.kb, self.known, dataset.splits.negatives.get("train"), self.run.config.memory
        )

    # answers --------------------------------------------------------------------------------------

    def answers(self, query: Query, top: int) -> list[Answer]:
        """Return the `top` answers to `query`; `probability` returns their probabilities."""
        self._predictor.table = self.class_table
        return self.store(self.kb.predicate_id(query.target)).answers(query, top, self._predictor)

    def explainer(
        self, predicate: Predicate, names: Sequence[str | None], only_firing: bool = False
    ) -> tuple[Explainer, Longs]:
        """Return an explainer for facts of the `predicate` about the entities `names`, and the rows of its rules.

        With `only_firing`, rules that hold for none of the facts may be left out, so its misses are incomplete.
        """
        ids, base = entity_ids(self.kb, names), self._explainer
        if self.kb.graph_of is not None:
            # Scenes are separate worlds, so only the scenes of these entities matter.
            base = Explainer(base.rules, self._scenes.around(ids), self.run.config.memory, base.probabilities)
        return self.store(self.kb.predicate_id(predicate)).explainer(ids, base, only_firing)

    def probability(self, fact: Fact, value: float) -> Probability | None:
        """Return the probability of `fact` with the score `value`; None if unknown."""
        return self._explainer.probabilities.probability(fact, value)

    # scenes ---------------------------------------------------------------------------------------

    @property
    def has_scenes(self) -> bool:
        """Whether entities are objects of scenes with classes."""
        return self.kb.graph_of is not None and bool(self.kb.classes)

    @cached_property
    def class_scorer(self) -> MemberScorer | None:
        """The scorer of all classes with rules; None if there are none."""
        with_rules = [c for c in sorted(self.kb.classes) if self.num_rules[c]]
        if not with_rules:
            return None
        return self._scorer(self._accepted(), with_rules)

    def _scorer(self, rules: RuleSet, targets: Sequence[int]) -> MemberScorer:
        return MemberScorer(rules, self.kb, np.asarray(targets, np.int32), 1, self.run.config.memory)

    @cached_property
    def class_table(self) -> ClassTable | None:
        """The table of class scores, empty until `work_ahead` starts it; None without class rules."""
        scorer = self.class_scorer if self.has_scenes else None
        return None if scorer is None else ClassTable(scorer)

    @property
    def is_warm(self) -> bool:
        """Whether the work of `work_ahead` is finished."""
        return (self.class_table is None or self.class_table.is_complete) and not self.highlights.is_busy

    def object_classes(self, entity: int) -> ObjectClasses | None:
        """Return the classes of the object `entity` of a scene, most probable first."""
        scorer = self.class_scorer if self.has_scenes else None
        if scorer is None:
            return None
        known = None if self.class_table is None else self.class_table.row(entity)
        return ranked_classes(self.rules, scorer, self.kb, entity, known)


class PageProbabilities(Probabilities):
    """Maps scores to probabilities; classes compete with all classes, whose scores the pages already have."""

    def __init__(self, data: PageData) -> None:
        super().__init__(data.rules, data.kb, data.run.calibration, data.run.config.memory)
        self.data = data

    def over(self, kb: KnowledgeBase) -> Probabilities:
        """Return itself: pages show no probabilities for changed facts of `kb`."""
        return self

    def of_classes(self, name: str) -> dict[Predicate, float]:
        """Return the probability of every class that has rules for the entity `name`, most probable first."""
        found = self.data.object_classes(self.kb.entities.id(name))
        if found is None:
            return {}
        return {predicate: chance for (predicate, _), chance in zip(found.ranked, found.probability)}


def query_of(predicate: Predicate, name: str, place: int) -> Query:
    """Return p(a, ?) for `place` 0, p(?, a) for 1, or p(a) for a unary `predicate`; a is the entity `name`."""
    if predicate.arity == 1:
        return Query(predicate.name, (name,))
    return Query(predicate.name, (name, None) if place == 0 else (None, name))


# search by name -----------------------------------------------------------------------------------------


class NameIndex:
    """All `names` and `labels` in one lower-case text, one per line: searching a megabyte takes a millisecond.

    `kind` is predicate or entity.
    """

    def __init__(self, kind: str, names: Sequence[str], labels: Sequence[str]) -> None:
        self.kind, self.names, self.labels = kind, names, labels
        lines = [plain(label if label == name else f"{label}\t{name}") for name, label in zip(names, labels)]
        self.begins = [1]
        for line in lines:
            self.begins.append(self.begins[-1] + len(line) + 1)
        self.text = "\n" + "\n".join(lines) + "\n"

    def find(self, typed: str, limit: int) -> list[int]:
        """Return up to `limit` ids of names that contain what was `typed`.

        Names that begin with it come first, then names with a word that does, then others; short names first.
        """
        wanted = plain(typed).strip()
        if not wanted:
            return []
        chosen: dict[int, None] = {}
        for starts in (("\n",), WORD_STARTS, ("",)):
            found = {line for start in starts for line in self._lines(start + wanted)}
            chosen.update(dict.fromkeys(sorted(found, key=lambda line: (len(self.labels[line]), line))))
            if len(chosen) >= limit:
                break
        return list(chosen)[:limit]

    def called(self, label: str) -> list[int]:
        """Return the ids of all names with exactly this `label`."""
        wanted = plain(label)
        lines = dict.fromkeys([*self._lines(f"\n{wanted}\t"), *self._lines(f"\n{wanted}\n")])
        exact = [line for line in lines if self.labels[line] == label]
        return exact or list(lines)

    def document(self, id: int) -> dict[str, Any]:
        """Return the name, the label and the address of the page of an id."""
        name, label = self.names[id], self.labels[id]
        return {"kind": self.kind, "id": id, "name": name, "label": label, "address": f"/{self.kind}/{id}"}

    def _lines(self, pattern: str) -> Iterator[int]:
        place, found = 0, 0
        while found < MAX_HITS and (place := self.text.find(pattern, place)) >= 0:
            line = bisect_right(self.begins, place + (pattern[0] == "\n")) - 1
            yield line
            place, found = self.begins[line + 1] - 1, found + 1  # the newline before the next name


def plain(text: str) -> str:
    """Normalise `text` for comparison: ignore case, and make it one line."""
    return text.casefold().replace("\n", " ").replace("\r", " ")
