"""materialize: everything that rules derive, to the least fixpoint; recursive rules allowed.

Semi-naive: after the first round of a stratum a rule is only looked at from the facts that are new or
stronger than before, outward along its lines. So a round costs in proportion to what it changes. Rules whose bodies are
lines are solved together by column (`line_rounds`), other bodies one by one, by joins.

What an exclusion rules out is not derived. Only facts of the base exclude, as in predictions: if derived facts did,
what is found would hang on the order in which it is found.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass, replace

import numpy as np

from ..data.arrays import Doubles
from ..data.facts import NO_OBJECT, Facts
from ..data.kb import KnowledgeBase
from ..errors import ConfigError, LimitError
from ..logic.formula import Formula
from ..logic.rule import Rule, RuleStats, ScoredRule
from .bodies import X_NODE, Y_NODE, IdHead, IdLine
from .exclusion import Exclusion, by_code
from .joins import UNBOUND, Binding, LineJoin, Occurrence, Solutions, occurrences
from .line_rounds import LineRounds
from .normal import alternatives, leaves, normal_form
from .ruleset import RuleSet
from .store import FactKey, Store
from .strata import levels

Found = dict[FactKey, float]
HOLDS = 0.5
"""A negated statement fails if it has a grounding in facts of at least this weight: the facts that count."""

NO_STATS = RuleStats(0, 0, 0)
ANYONE = -2
"""In a key of `_places`: any entity. Neither an id nor NO_OBJECT."""


@dataclass(frozen=True, eq=False)
class Derived:
    """New facts, sorted, each with the confidence of its best derivation, and the rounds it took.

    `num_excluded` facts would have been derived but for the exclusions.
    """

    facts: Facts
    confidence: Doubles
    rounds: int
    num_excluded: int = 0


@dataclass(frozen=True)
class ClauseHead:
    """What a clause derives: facts of `target`, with the rule's confidence."""

    target: int
    head: IdHead
    confidence: float


@dataclass(frozen=True, eq=False)
class Clause:
    """One alternative of a body, with the heads of all rules that have it: all `positive` lines hold, no `negative` one
    does. Rules share bodies, and a body is solved once for all of them."""

    heads: tuple[ClauseHead, ...]
    join: LineJoin
    positive: tuple[IdLine, ...]
    negative: tuple[IdLine, ...]
    max_facts: int | None = None

    def everything(self) -> Found:
        """All that the clause derives from the store as it is."""
        return self._heads({UNBOUND: 1.0}, self.positive)

    def from_fact(self, line: int, where: Occurrence, fact: FactKey, confidence: float) -> Found:
        """What it derives with `fact` at one place of one of its lines."""
        rest = self.positive[:line] + self.positive[line + 1 :]
        solutions = self.join.from_fact(where, fact, confidence)
        return self._heads(solutions, rest) if solutions else {}

    def _heads(self, solutions: Solutions, lines: tuple[IdLine, ...]) -> Found:
        found: Found = {}
        for (x, y, graph), confidence in self._joined(solutions, lines).items():
            for head in self.heads:
                value = confidence * head.confidence
                for fact, own_graph in self._head_tuples(head, x, y, graph):
                    if value > found.get(fact, 0.0) and self._nothing_negated(fact, own_graph):
                        found[fact] = value
                        _refuse_more(found, self.max_facts)
        return found

    def _joined(self, solutions: Solutions, lines: tuple[IdLine, ...]) -> Solutions:
        """Line after line, those first whose start is known."""
        left = list(lines)
        while left and solutions:
            x, y, _ = next(iter(solutions))
            line = min(left, key=lambda candidate: self._cost(candidate, x is not None, y is not None))
            left.remove(line)
            joined: Solutions = {}
            for bound, confidence in solutions.items():
                for binding, other in self.join.solve(line, bound).items():
                    best = min(confidence, other)
                    if best > joined.get(binding, 0.0):
                        joined[binding] = best
                _refuse_more(joined, self.max_facts)
            solutions = joined
        return solutions

    def _cost(self, line: IdLine, has_x: bool, has_y: bool) -> int:
        known = [a >= 0 or (a == X_NODE and has_x) or (a == Y_NODE and has_y) for a in line.ends]
        if any(known):
            return -sum(known)
        return min((self.join.store.size(p) for p in line.predicates), default=self.join.store.num_entities)

    def _head_tuples(
        self, of: ClauseHead, x: int | None, y: int | None, graph: int | None
    ) -> Iterator[tuple[FactKey, int]]:
        """The facts of a binding; a head variable that nothing binds ranges over the entities of the graph."""
        store, head = self.join.store, of.head
        subjects = [head.subject] if head.subject >= 0 else [x] if x is not None else store.entities(graph)
        for subject in subjects:
            own = store.graph(subject)
            if graph not in (None, own):
                continue
            if head.object is None:
                yield (of.target, subject, NO_OBJECT), own
                continue
            objects = [head.object] if head.object >= 0 else [y] if y is not None else store.entities(own)
            for object_ in objects:
                if store.graph(object_) == own:
                    yield (of.target, subject, object_), own

    def _nothing_negated(self, fact: FactKey, graph: int) -> bool:
        _, x, y = fact
        bound: Binding = (x, None if y == NO_OBJECT else y, graph)
        return all(self.join.best(line, bound) < HOLDS for line in self.negative)


class RuledOut:
    """Facts that no rule may derive, by the exclusions and the facts of the base that count."""

    def __init__(self, kb: KnowledgeBase, exclusions: Iterable[Exclusion]) -> None:
        self.codes = by_code(exclusions, kb)
        self.pairs: dict[int, set[tuple[int, int]]] = {}
        self.stopped: set[FactKey] = set()
        for code in {code for steps in self.codes.values() for code in steps}:
            facts = kb.facts.of(code >> 1).crisp()
            ends = (facts.subject.tolist(), facts.object.tolist())
            self.pairs[code] = set(zip(*(ends[::-1] if code & 1 else ends)))

    def stops(self, fact: FactKey) -> bool:
        """Whether the fact is ruled out; remembered if so."""
        predicate, *pair = fact
        if not any(tuple(pair) in self.pairs[code] for code in self.codes.get(predicate, ())):
            return False
        self.stopped.add(fact)
        return True


def materialize(
    kb: KnowledgeBase,
    rules: RuleSet | Sequence[tuple[Rule, float]],
    max_rounds: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    max_facts: int | None = None,
    exclusions: Iterable[Exclusion] = (),
) -> Derived:
    """The least fixpoint of the rules over the facts: what is new, and how sure.

    confidence = max over derivations of (rule confidence * weakest body fact); facts of the base keep
    their weight. A fact that one of the `exclusions` rules out by a fact of the base is not derived.
    A LimitError ends what would derive, or hold at once, more than `max_facts`.

    Args:
        kb: The facts.
        rules: Rules in the ids of `kb`, which derive with their confidence, or rules with confidences.
        max_rounds: Rounds after which it ends.
        progress: Called with (rounds, new facts so far) after every round.
        max_facts: The limit.
        exclusions: What never holds with what.
    """
    if isinstance(rules, RuleSet):
        columns, confidence = rules, rules.confidence
    else:
        columns, confidence = _columns(kb, rules)
    level_of = levels(columns)
    derived: Found = {}
    ruled_out = RuledOut(kb, exclusions)
    rounds = 0
    for level in np.unique(level_of).tolist():
        if rounds == max_rounds:
            break
        mine = level_of == level
        stratum = Stratum(kb, columns.take(mine), confidence[mine], max_facts, derived)
        changes = _changes(derived, ruled_out, stratum.first(), max_facts)
        while changes and (max_rounds is None or rounds < max_rounds):
            stratum.put(changes)
            derived.update(changes)
            _refuse_more(derived, max_facts)
            rounds += 1
            if progress is not None:
                progress(rounds, len(derived))
            changes = _changes(derived, ruled_out, stratum.from_facts(changes), max_facts)
    return replace(_result(derived, rounds), num_excluded=len(ruled_out.stopped))


def _columns(kb: KnowledgeBase, rules: Sequence[tuple[Rule, float]]) -> tuple[RuleSet, Doubles]:
    for rule, confidence in rules:
        if not 0.0 <= confidence <= 1.0:
            raise ConfigError(f"a rule's confidence must lie in [0, 1], got {confidence} for {rule}")
    columns = RuleSet.of(kb, [ScoredRule(rule, NO_STATS, 0.0) for rule, _ in rules])
    return columns, np.array([confidence for _, confidence in rules], np.float64)


class Stratum:
    """The rules of one stratum: those whose bodies are lines by column, where facts are crisp and of one graph; the
    others by joins. `derived` are the facts of the strata before."""

    def __init__(
        self, kb: KnowledgeBase, rules: RuleSet, confidence: Doubles, max_facts: int | None, derived: Found
    ) -> None:
        self.earlier = dict(derived)
        self.lines: LineRounds | None = None
        others = np.arange(len(rules))
        if kb.facts.weight is None and kb.graph_of is None:
            self.lines = LineRounds(rules, kb, confidence)
            others = np.flatnonzero(~self.lines.taken)
        rest = [(rules.rule(row), float(confidence[row])) for row in others.tolist()]
        named = {kb.predicate_id(p) for rule, _ in rest for p in (*rule.predicates, rule.target)}
        self.store = Store(kb, sorted(named))
        self.given = Given(self.store, self.earlier)
        self.clauses = list(_clauses(kb, self.store, rest, max_facts))
        self.places = _places(self.clauses)
        self.put(derived)

    def put(self, changes: Found) -> None:
        """Let facts be known from now on."""
        for fact, confidence in changes.items():
            if fact[0] in self.store.members:
                self.store.put(fact, confidence)
        self.given.derived.update(changes)
        if self.lines is not None and changes:
            self.lines.put(changes)

    def first(self) -> Iterator[Found]:
        """All that the rules derive from what is known."""
        if self.lines is not None:
            yield from self.lines.first()
            yield from self.lines.from_facts(self.earlier) if self.earlier else ()
        for clause in self.clauses:
            yield self.given.without(clause.everything())

    def from_facts(self, changes: Found) -> Iterator[Found]:
        """What the rules derive with one of these facts, which must have been `put`."""
        if self.lines is not None:
            yield from self.lines.from_facts(changes)
        yield from map(self.given.without, _consequences(self.places, changes))


class Given:
    """Which facts the base has, or denies: they stay as they are."""

    def __init__(self, store: Store, derived: Found) -> None:
        self.store, self.derived = store, dict(derived)

    def without(self, found: Found) -> Found:
        """The facts that the base does not have."""
        return {fact: value for fact, value in found.items() if not self._has(fact)}

    def _has(self, fact: FactKey) -> bool:
        return fact not in self.derived and (self.store.confidence(fact) > 0 or fact in self.store.denied)


def _clauses(
    kb: KnowledgeBase, store: Store, rules: Sequence[tuple[Rule, float]], max_facts: int | None
) -> Iterator[Clause]:
    """The alternatives of each different body, with the heads of the rules that have it."""
    heads: dict[tuple[Formula, bool], dict[ClauseHead, None]] = {}
    for rule, confidence in rules:
        head = ClauseHead(kb.predicate_id(rule.target), IdHead.of(kb, rule), confidence)
        heads.setdefault((rule.body, rule.distinct), {})[head] = None
    for (body, distinct), mine in heads.items():
        tree, join = normal_form(body), LineJoin(store, distinct)
        lines = {leaf: IdLine.of(kb, leaf.statement) for leaf in leaves(tree)}
        for conjunction in alternatives(tree):
            positive = tuple(lines[leaf] for leaf in conjunction if not leaf.negated)
            negative = tuple(lines[leaf] for leaf in conjunction if leaf.negated)
            yield Clause(tuple(mine), join, positive, negative, max_facts)


Place = tuple[Clause, int, Occurrence]


def _places(clauses: Sequence[Clause]) -> dict[FactKey, list[Place]]:
    """Where a fact can enter: by (predicate, subject, object), with ANYONE where any entity will do.

    Rules with constants are many: a fact must not be tried on those of other constants.
    """
    places: dict[FactKey, list[Place]] = defaultdict(list)
    for clause in clauses:
        for number, line in enumerate(clause.positive):
            for predicate, where in occurrences(line):
                nodes = line.anchors[where.node : where.node + 1 + where.is_move]
                anchors = [a if a >= 0 else ANYONE for a in nodes]
                if where.is_move and line.codes[where.node] & 1:
                    anchors.reverse()
                subject, object_ = anchors if where.is_move else (anchors[0], NO_OBJECT)
                places[predicate, subject, object_].append((clause, number, where))
    return dict(places)


def _consequences(places: dict[FactKey, list[Place]], changes: Found) -> Iterator[Found]:
    for fact, confidence in changes.items():
        predicate, subject, object_ = fact
        objects = (NO_OBJECT,) if object_ == NO_OBJECT else (object_, ANYONE)
        for key in [(predicate, s, o) for s in (subject, ANYONE) for o in objects]:
            for clause, line, where in places.get(key, ()):
                yield clause.from_fact(line, where, fact, confidence)


def _changes(derived: Found, ruled_out: RuledOut, parts: Iterator[Found], max_facts: int | None) -> Found:
    """What is new, or derived before with less confidence."""
    changes: Found = {}
    for part in parts:
        for fact, confidence in part.items():
            if confidence > max(derived.get(fact, 0.0), changes.get(fact, 0.0)) and not ruled_out.stops(fact):
                changes[fact] = confidence
        _refuse_more(changes, max_facts)
    return changes


def _refuse_more(found: Sized, max_facts: int | None) -> None:
    if max_facts is not None and len(found) > max_facts:
        raise LimitError(f"the rules derive more than {max_facts:,} facts; leave out those that derive too much")


def _result(derived: Found, rounds: int) -> Derived:
    keys = sorted(derived)
    columns = np.asarray(keys, np.int32).reshape(-1, 3)
    predicate, subject, object_ = np.ascontiguousarray(columns.T)
    return Derived(Facts(predicate, subject, object_), np.asarray([derived[key] for key in keys], np.float64), rounds)
