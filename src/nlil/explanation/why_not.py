"""why_not: single facts that would make the strongest rules fire that do not, and the score that would result.

A change adds a fact that completes a rule, or removes one that blocks it. For a statement that fails, the entities
reached from the start of its line and those from which its end can be reached are known; a fact that joins the two
completes it. For a fact that the line needs at several places, or that several statements lack, the lines are walked
as if it were there. Every proposed change is then tried out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations, islice
from typing import Any, Literal

import numpy as np

from ..data.arrays import Ids, Longs
from ..data.facts import NO_OBJECT
from ..data.kb import KnowledgeBase
from ..kernel.bodies import ANY_NODE, Line
from ..kernel.calibration import Calibration, Probability, probability_document
from ..kernel.hidden import Hidden
from ..kernel.normal import Leaf, alternatives, normal_form
from ..kernel.ruleset import RuleSet
from ..kernel.witnesses import LineQuery
from ..logic.labels import Labels
from ..logic.predicate import Fact
from ..logic.query import Query
from ..logic.rule import Rule, ScoredRule
from ..logic.text import fact_text
from .brief import change_texts, probability_text
from .changes import Ids3, fact_ids
from .outline import HasOutline, Item, fact_document, known_text, rule_document, rule_item
from .why import Excluded, Explainer, ScoredFact, Side

TRIES_PER_REMEDY = 4
"""Changes tried per change shown; a fact that one statement lacks may not help if variables have to differ."""
MAX_ENDS = 30
"""Entities tried on each side of a missing fact, those with most facts of the predicate first."""
MAX_WITNESSES = 200
"""Groundings of a negated statement that are compared; a single fact is rarely in more."""


@dataclass(frozen=True, order=True)
class Change:
    """A `fact` to add or remove, as `action` says."""

    action: Literal["add", "remove"]
    fact: Fact


@dataclass(frozen=True)
class Remedy:
    """A change after which the rule fires, and the resulting `score` and `probability`."""

    change: Change
    score: float
    probability: Probability | None = None

    @property
    def figure(self) -> float:
        """The figure to compare changes by: the probability if known, else the score."""
        return self.score if self.probability is None else self.probability.value


@dataclass(frozen=True)
class SilentRule(ScoredRule):
    """A strong rule that does not fire, and `remedies`: single changes that make it fire, if any were found."""

    remedies: tuple[Remedy, ...]


@dataclass(frozen=True, repr=False)
class WhyNot(HasOutline):
    """What `fact` lacks, with the fact itself hidden. `score` is its score; `known` says whether the data has it.

    `probability` belongs to the score; None if unknown. `rules` are the strongest that do not fire. If `excluded` rules
    the fact out, `lifted` is the remedy for that.
    """

    fact: Fact
    known: bool
    score: float
    rules: tuple[SilentRule, ...]
    excluded: Excluded | None = None
    lifted: Remedy | None = None
    labels: Labels = field(default_factory=Labels, repr=False, compare=False)
    probability: Probability | None = None

    @property
    def best(self) -> Remedy | None:
        """The change that raises the probability most, or the score if no probability is known."""
        remedies = [r for rule in self.rules for r in rule.remedies] + ([self.lifted] if self.lifted else [])
        return max(remedies, key=lambda r: (r.figure, r.score), default=None)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return fact_document(
            self.fact,
            self.labels,
            known=self.known,
            score=self.score,
            **probability_document(self.probability),
            excluded=None if self.excluded is None else fact_text(self.excluded.by),
            lifted=None if self.lifted is None else self._remedy(self.lifted),
            rules=[
                {**rule_document(h, self.labels), "remedies": [self._remedy(r) for r in h.remedies]} for h in self.rules
            ],
        )

    def _remedy(self, remedy: Remedy) -> dict[str, Any]:
        change = remedy.change
        figures = {"score": remedy.score, **probability_document(remedy.probability)}
        return {"action": change.action, **fact_document(change.fact, self.labels, **figures)}

    def outline(self) -> Item:
        """Return the rules that do not fire, each with the changes that would make it fire."""
        below = [
            rule_item(
                h,
                self.labels,
                [self._line(r) for r in h.remedies] or [Item("no single fact was found that would make it fire")],
            )
            for h in self.rules
        ]
        if self.excluded is not None:
            text = self.excluded.text(self.fact, self.labels)
            below.insert(0, Item(text, "", () if self.lifted is None else (self._line(self.lifted),)))
        elif not below:
            below = [Item("every rule whose head matches fires")]
        figure, score = probability_text(self.probability, self.score)
        title = f"why not {self.labels.fact(self.fact)}  {figure}"
        return Item(title, f"{score}{known_text(self.known)}", tuple(below))

    def _line(self, remedy: Remedy) -> Item:
        verb = "with" if remedy.change.action == "add" else "without"
        (_, after), (_, score) = change_texts((self.probability, self.score), (remedy.probability, remedy.score))
        figures = f"{after}; {score}" if score else after
        return Item(f"{verb} {self.labels.fact(remedy.change.fact)}", figures)


def why_not(
    rules: RuleSet,
    kb: KnowledgeBase,
    query: str | Query | Fact,
    *,
    top: int = 5,
    facts: int = 3,
    side: Side = "object",
    memory: int = 2**30,
    calibration: Calibration | None = None,
) -> WhyNot:
    """Find single facts that would make the strongest rules fire that do not.

    Each change is applied to the base and the fact is scored again.

    Args:
        rules: The rules that score the fact.
        kb: The facts that the rules are evaluated on.
        query: The fact, as a value or as text.
        top: The number of rules.
        facts: The maximum number of changes shown for each rule.
        side: The answer explained: object for uncle(alice, ?), subject for uncle(?, bob).
        memory: Bytes that one evaluation may take.
        calibration: The map from scores to probabilities; by default that of the rules.
    """
    return explain_why_not(Explainer(rules, kb, memory, calibration), query, top=top, facts=facts, side=side)


def explain_why_not(
    explainer: Explainer, query: str | Query | Fact, *, top: int = 5, facts: int = 3, side: Side = "object"
) -> WhyNot:
    """Do the same as `why_not` with a given `explainer`; `top` and `facts` as there."""
    found = explainer.scored(query, side)
    known, labels = explainer.is_known(found.fact), Labels.of(explainer.kb)
    ruled_out, probability = found.excluded, explainer.probability(found)
    if ruled_out is not None:
        free = explainer.changed(without=[ruled_out.by])
        after = free.scored(found.fact, side)
        lifted = Remedy(Change("remove", ruled_out.by), after.shares.score, free.probability(after))
        return WhyNot(found.fact, known, found.shares.score, (), ruled_out, lifted, labels, probability)
    silent = tuple(_silent_rule(explainer, found, row, facts, side) for row in explainer.failing(found.fired, top))
    return WhyNot(found.fact, known, found.shares.score, silent, labels=labels, probability=probability)


def _silent_rule(explainer: Explainer, found: ScoredFact, row: int, facts: int, side: Side) -> SilentRule:
    scored = explainer.rules[row]
    remedies: list[Remedy] = []
    proposals = new_changes(found.fact, completions(explainer.kb, scored.rule, found.x, found.y))
    for change in islice(proposals, TRIES_PER_REMEDY * facts):
        is_added = change.action == "add"
        if is_added and explainer.is_known(change.fact):
            continue
        other = explainer.changed(*([change.fact], ()) if is_added else ((), [change.fact]))
        after = other.scored(found.fact, side)
        if np.isin(row, after.fired.rows):
            remedies.append(Remedy(change, after.shares.score, other.probability(after)))
        if len(remedies) == facts:
            break
    remedies.sort(key=lambda remedy: (-remedy.figure, -remedy.score))
    return SilentRule(scored.rule, scored.stats, scored.weight, tuple(remedies))


# changes that may help ----------------------------------------------------------------------------------


def completions(kb: KnowledgeBase, rule: Rule, x: int, y: int | None) -> Iterator[Change]:
    """Yield changes that may make the rule's body hold, with the query's own fact hidden, the likeliest first."""
    hidden = Hidden.of(kb, rule)

    def query(leaf: Leaf, distinct: bool) -> LineQuery:
        return LineQuery(kb, Line.of(kb, leaf.statement), distinct, x, y, hidden)

    def fails(leaf: Leaf) -> bool:
        # First without `distinct`, which is cheap at a hub; what fails without it fails with it.
        if kb.facts.weight is not None:
            value = min(1.0, query(leaf, rule.distinct).totals()[1])
            return value >= 1.0 if leaf.negated else value <= 0.0
        holds = all(next(query(leaf, d).witnesses(), None) is not None for d in {False, rule.distinct})
        return holds == leaf.negated

    for leaves in alternatives(normal_form(rule.body)):
        failing = leaves if len(leaves) == 1 else tuple(leaf for leaf in leaves if fails(leaf))
        if all(leaf.negated for leaf in failing):
            common = [set(_blockers(leaf, query(leaf, rule.distinct))) for leaf in failing]
            yield from sorted(set.intersection(*common) if common else ())
        elif not any(leaf.negated for leaf in failing):
            yield from _missing_in_all([query(leaf, False) for leaf in failing], rule.distinct)


def _missing_in_all(queries: Sequence[LineQuery], distinct: bool) -> Iterator[Change]:
    """Yield facts that complete all of these lines: proposed for one of them, they must serve the others too.

    A line with `distinct` variables uses no fact twice.
    """
    reached = [_Reached.of(query) for query in queries]
    for one in reached:
        for change in chain(_missing(one), () if distinct else one.repeated()):
            ids = fact_ids(one.query.kb, change.fact)
            if _within_graph(one.query.kb, ids) and all(other is one or other.holds_with(ids) for other in reached):
                yield change


def _within_graph(kb: KnowledgeBase, ids: Ids3) -> bool:
    """Return whether both arguments are in one graph; a constant of another graph is out of reach."""
    return kb.graph_of is None or ids[2] == NO_OBJECT or kb.graph_of[ids[1]] == kb.graph_of[ids[2]]


def _blockers(leaf: Leaf, query: LineQuery) -> Iterator[Change]:
    """Yield the facts that all groundings of the negated statement share."""
    ways = []
    for witness in islice(query.witnesses(), MAX_WITNESSES):
        names = query.kb.entities.names(witness.nodes)
        atoms = leaf.statement.atoms
        ways.append({Fact(predicate, tuple(names[i] for i in nodes)) for predicate, nodes in atoms})
    if ways:
        yield from (Change("remove", fact) for fact in sorted(set.intersection(*ways)))


def _missing(reached: _Reached) -> Iterator[Change]:
    """Yield facts that join what is reached from the start with what leads to the end, the last steps first."""
    line, kb = reached.query.line, reached.query.kb
    for i in reversed(range(len(line.anchors))):
        for predicate in line.filters[i]:
            nodes = reached.nodes_without(i, predicate)
            yield from (Change("add", kb.fact(predicate, int(node))) for node in nodes[:MAX_ENDS])
        if i:
            yield from (Change("add", kb.fact(*ids)) for ids in reached.edges(i - 1))


@dataclass(frozen=True, eq=False)
class _Reached:
    """before[i]: the entities that the line reaches at node i; after[i]: those that pass its filters."""

    query: LineQuery
    before: tuple[Ids, ...]
    after: tuple[Ids, ...]

    @classmethod
    def of(cls, query: LineQuery) -> _Reached:
        before: list[Ids] = []
        after: list[Ids] = []
        for i in range(len(query.line.anchors)):
            here = _allowed(query, i)
            if i:
                there = query._sources(after[-1], query.line.codes[i - 1] ^ 1)
                here = there if here is None else np.intersect1d(here, there)
            elif here is None:
                here = query.block
            before.append(here)
            for predicate in query.line.filters[i]:
                here = np.intersect1d(here, query.kb.members(predicate))
            after.append(here)
        return cls(query, tuple(before), tuple(after))

    def nodes_without(self, i: int, predicate: int) -> Ids:
        """Return the entities at node i that lack only this filter."""
        query = self.query
        nodes = self.before[i]
        for other in query.line.filters[i]:
            if other != predicate:
                nodes = np.intersect1d(nodes, query.kb.members(other))
        if i < len(query.line.codes):
            onward = self._onward(i + 1)
            if onward is not None:
                nodes = np.intersect1d(nodes, query._sources(onward, query.line.codes[i]))
        return np.setdiff1d(nodes, query.kb.members(predicate))

    def edges(self, i: int) -> Iterator[tuple[int, int, int]]:
        """Yield (predicate, subject, object) that join node i and node i + 1, the likeliest first."""
        query = self.query
        code = query.line.codes[i]
        onward = self._onward(i + 1)
        ends = query.block if onward is None else onward
        ends = ends if query.line.anchors[i + 1] != ANY_NODE else np.intersect1d(ends, query.block)
        for s, t in self._likely(code, self.after[i], ends):
            yield (code >> 1, t, s) if code & 1 else (code >> 1, s, t)

    def _likely(self, code: int, sources: Ids, targets: Ids) -> list[tuple[int, int]]:
        """Return the likely ends of a step.

        Those with most facts, and first pairs that both have facts of the predicate.
        """
        kb = self.query.kb
        facts = kb.binary.of(code >> 1)
        said_of = (facts.object, facts.subject) if code & 1 else (facts.subject, facts.object)
        some, out = _busiest(sources, said_of[0], kb.num_entities)
        others, into = _busiest(targets, said_of[1], kb.num_entities)
        pairs = [(int(s), int(t)) for s in some for t in others]
        pairs.sort(key=lambda p: (-min(out[p[0]], 1) - min(into[p[1]], 1), -out[p[0]] - into[p[1]], p))
        return pairs

    def repeated(self) -> Iterator[Change]:
        """Yield facts that the line needs at more than one place and that are all it lacks."""
        line, kb = self.query.line, self.query.kb
        for i, later in combinations(range(len(line.anchors)), 2):
            for predicate in sorted({*line.filters[i]} & {*line.filters[later]}):
                nodes = np.setdiff1d(self.before[i], kb.members(predicate))[:MAX_ENDS].tolist()
                yield from (
                    Change("add", kb.fact(predicate, node))
                    for node in nodes
                    if self.holds_with((predicate, node, NO_OBJECT))
                )
        for i, later in combinations(range(len(line.codes)), 2):
            code = line.codes[i]
            if code >> 1 != line.codes[later] >> 1:
                continue
            sources, onward = self.after[i], self._onward(later + 1)
            ends = self.query.block if onward is None else onward
            if code != line.codes[later]:  # walked backwards: it leads to where the first use began
                sources, ends = np.intersect1d(sources, ends), self.query.block
            for s, t in self._likely(code, sources, ends):
                ids = (code >> 1, t, s) if code & 1 else (code >> 1, s, t)
                if self.holds_with(ids):
                    yield Change("add", kb.fact(*ids))

    def holds_with(self, ids: Ids3) -> bool:
        """Return whether the line holds with this fact added, ignoring `distinct`."""
        line, query = self.query.line, self.query
        predicate, subject, object = ids
        here = self.before[0]
        for i in range(len(line.anchors)):
            if i:
                code = line.codes[i - 1]
                source, target = (object, subject) if code & 1 else (subject, object)
                is_used = code >> 1 == predicate and object != NO_OBJECT and source in here
                here = query._sources(here, code ^ 1)
                here = np.union1d(here, [target]).astype(np.int32) if is_used else here
                allowed = _allowed(query, i)
                here = here if allowed is None else np.intersect1d(here, allowed)
            for needed in line.filters[i]:
                members = query.kb.members(needed)
                is_added = needed == predicate and object == NO_OBJECT
                here = np.intersect1d(here, np.union1d(members, [subject]) if is_added else members).astype(np.int32)
            if not len(here):
                return False
        return True

    def _onward(self, i: int) -> Ids | None:
        """Return the entities at node i from which the rest of the line holds; None: any."""
        return self.query.hopeful[i]


def _allowed(query: LineQuery, i: int) -> Ids | None:
    """Return the entities that are allowed at node i; None: any."""
    known = query.known(query.line.anchors[i])
    if known is not None:
        equal = query.line.equal
        return np.asarray([known] if equal is None or query.known(equal) == known else [], np.int32)
    return None if query.kb.graph_of is None else query.block


def _busiest(nodes: Ids, said: Ids, num_entities: int) -> tuple[Longs, Longs]:
    """Return the nodes with most facts of the predicate, and the number of these facts for every entity."""
    counts = np.bincount(said, minlength=num_entities)
    return nodes[np.lexsort((nodes, -counts[nodes]))][:MAX_ENDS].astype(np.int64), counts


def new_changes(fact: Fact, changes: Iterator[Change]) -> Iterator[Change]:
    """Yield the distinct `changes`, without the explained `fact` itself, which is hidden."""
    seen = {Change("add", fact), Change("remove", fact)}
    for change in changes:
        if change not in seen:
            seen.add(change)
            yield change
