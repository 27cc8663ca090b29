"""Groundings: the facts that make a body true for one query, and the part of a body that fails.

`x` and `y` are the entity ids of a query (`y` is None for a unary head); `hide` hides its own fact in `kb`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

from ..data.kb import KnowledgeBase
from ..logic.formula import Formula, Not, Statement, Variable
from ..logic.predicate import Fact
from ..logic.rule import Rule
from .bodies import X_NODE, Y_NODE, IdHead, Line, check_arity
from .hidden import Hidden
from .normal import All, BodyVariable, Leaf, Some, Tree, normal_form
from .witnesses import LineQuery, Witness

Bindings = tuple[tuple[str, str], ...]
MAX_SHOWN = 10


@dataclass(frozen=True)
class Grounding:
    """One way in which a body is true.

    bindings  (variable, entity) pairs for X, Y, Z1, ..., named as in the text of the rule
    facts     the facts used, in text order, each once
    absent    the negated statements, which hold because they have no witness
    weight    the product of the facts' weights, and 1 - value of each negated statement
    """

    bindings: Bindings
    facts: tuple[Fact, ...] = ()
    absent: tuple[Statement, ...] = ()
    weight: float = 1.0


@dataclass(frozen=True)
class Failure:
    """Where the body of `rule` fails: the first `statement` that does not hold.

    `reached` is the number of its steps that hold; `at` are the entities where these end. A negated statement fails
    because it holds; `reached` is then all its steps.
    """

    rule: Rule
    statement: Formula
    reached: int
    at: tuple[str, ...]


def groundings(
    kb: KnowledgeBase, rule: Rule, x: int, y: int | None = None, limit: int = 10, hide: bool = False
) -> list[Grounding]:
    """Return up to `limit` groundings of the body of `rule` for the query; none if its value is 0."""
    query = _RuleQuery.of(kb, rule, x, y, hide)
    if not query.fits:
        return []
    start = Grounding(query.head_bindings)
    return [_tidy(start, part) for part in islice(query.solutions(query.leaves), limit)]


def count_groundings(kb: KnowledgeBase, rule: Rule, x: int, y: int | None = None, hide: bool = False) -> int:
    """Count the groundings of `rule` for the query; without `distinct` this does not list them."""
    query = _RuleQuery.of(kb, rule, x, y, hide)
    return query.count(query.leaves) if query.fits else 0


def first_failing(kb: KnowledgeBase, rule: Rule, x: int, y: int | None = None, hide: bool = False) -> Failure | None:
    """Return the first part of the body of `rule` that does not hold; None if the body holds.

    For a query that does not match the head, this is the whole body, with no step reached.
    """
    query = _RuleQuery.of(kb, rule, x, y, hide)
    return query.failure(query.leaves) if query.fits else Failure(rule, rule.body, 0, ())


class RuleQueries:
    """Many queries of one `rule`; `hide` hides the own fact of each."""

    def __init__(self, kb: KnowledgeBase, rule: Rule, hide: bool) -> None:
        hidden = Hidden.of(kb, rule) if hide else None
        self._query = _RuleQuery(kb, rule, 0, None, hidden, normal_form(rule.body), {})

    def holds(self, x: int, y: int | None = None) -> bool:
        """Return whether the query matches the head and the body holds for it."""
        query = replace(self._query, x=x, y=y)
        return query.fits and next(query.solutions(query.leaves), None) is not None

    def candidates(self, x: int) -> list[int]:
        """Return entities, ascending, among them all Y for which the body may hold."""
        kb, end = self._query.kb, IdHead.of(self._query.kb, self._query.rule).object
        query = replace(self._query, x=x)
        found = query.candidates(query.leaves) if end is None or end < 0 else {end}
        return list(range(kb.num_entities)) if found is None else sorted(found)


# one rule, one query ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _RuleQuery:
    """A rule, a query, and the body with its negations at the leaves; `lines` has the lines of leaves met so far."""

    kb: KnowledgeBase
    rule: Rule
    x: int
    y: int | None
    hidden: Hidden | None
    leaves: Tree
    lines: dict[int, Line]

    @classmethod
    def of(cls, kb: KnowledgeBase, rule: Rule, x: int, y: int | None, hide: bool) -> _RuleQuery:
        check_arity(rule, y is not None)
        hidden = Hidden.of(kb, rule) if hide else None
        return cls(kb, rule, int(x), None if y is None else int(y), hidden, normal_form(rule.body), {})

    @property
    def fits(self) -> bool:
        head, graphs = IdHead.of(self.kb, self.rule), self.kb.graph_of
        if self.y is None:
            return True
        if head.subject not in (X_NODE, self.x) or head.object not in (Y_NODE, self.y):
            return False
        return graphs is None or bool(graphs[self.x] == graphs[self.y])

    @property
    def head_bindings(self) -> Bindings:
        query = (self.x,) if self.y is None else (self.x, self.y)
        pairs = zip(self.rule.head.arguments, query, strict=True)
        return tuple((a.name, self.kb.entities.name(e)) for a, e in pairs if isinstance(a, Variable))

    def line(self, leaf: Leaf) -> LineQuery:
        if (line := self.lines.get(id(leaf))) is None:
            line = self.lines[id(leaf)] = Line.of(self.kb, leaf.statement)
        return LineQuery(self.kb, line, self.rule.distinct, self.x, self.y, self.hidden)

    def solutions(self, tree: Tree) -> Iterator[Grounding]:
        match tree:
            case Leaf(_, _, False):
                for witness in self.line(tree).witnesses():
                    yield self._grounding(tree, witness)
            case Leaf():
                value = min(1.0, self.line(tree).totals()[1])
                if value < 1.0:
                    yield Grounding((), absent=(tree.statement,), weight=1.0 - value)
            case Some(parts):
                for part in parts:
                    yield from self.solutions(part)
            case All(parts):
                # Check all parts first: a part that cannot hold would otherwise be tried once per solution of the parts
                # before.
                if all(next(self.solutions(part), None) is not None for part in parts):
                    yield from self._product(parts)

    def _product(self, parts: tuple[Tree, ...]) -> Iterator[Grounding]:
        if not parts:
            yield Grounding(())
            return
        for first in self.solutions(parts[0]):
            for rest in self._product(parts[1:]):
                yield _joined(first, rest)

    def _grounding(self, leaf: Leaf, witness: Witness) -> Grounding:
        entities = self.kb.entities.names(witness.nodes)
        pairs = zip(leaf.nodes, entities, strict=True)
        bindings = tuple((node.name, entity) for node, entity in pairs if isinstance(node, BodyVariable))
        atoms = leaf.statement.atoms
        facts = tuple(Fact(predicate, tuple(entities[i] for i in nodes)) for predicate, nodes in atoms)
        return Grounding(bindings, facts, (), witness.weight)

    def candidates(self, tree: Tree) -> set[int] | None:
        """Return the entities Y that the statements over X and Y allow, with Y open; None if any may hold."""
        match tree:
            case Leaf(_, _, False):
                query = self.line(tree)
                if query.line.equal is not None or not (query.line.uses_x and query.line.uses_y):
                    return None
                # Not by its witnesses: through a hub, or over five steps, there are millions of them.
                line = query.line if query.line.anchors[0] == Y_NODE else query.line.reversed()
                ends = replace(query, line=line).hopeful[0]
                return None if ends is None else set(ends.tolist())
            case All(parts):
                return next((found for found in map(self.candidates, parts) if found is not None), None)
            case Some(parts):
                found = [ends for ends in map(self.candidates, parts) if ends is not None]
                return {end for ends in found for end in ends} if len(found) == len(parts) else None
            case _:
                return None

    def count(self, tree: Tree) -> int:
        match tree:
            case Leaf(_, _, False):
                return self.line(tree).totals()[0]
            case Leaf():
                return int(self.line(tree).totals()[1] < 1.0)
            case Some(parts):
                return sum(self.count(part) for part in parts)
            case All(parts):
                total = 1
                for part in parts:
                    total = total and total * self.count(part)
                return total

    def failure(self, tree: Tree) -> Failure | None:
        if next(self.solutions(tree), None) is not None:
            return None
        match tree:
            case Leaf(statement, _, negated):
                reached, where = self.line(tree).furthest()
                at = tuple(self.kb.entities.names(where[:MAX_SHOWN]))
                return Failure(self.rule, Not(statement) if negated else statement, reached, at)
            case All(parts) | Some(parts):
                failures = (self.failure(part) for part in parts)
                return next((f for f in failures if f is not None), Failure(self.rule, self.rule.body, 0, ()))


def _joined(one: Grounding, two: Grounding) -> Grounding:
    return Grounding(
        one.bindings + two.bindings, one.facts + two.facts, one.absent + two.absent, one.weight * two.weight
    )


def _tidy(start: Grounding, part: Grounding) -> Grounding:
    """Put head variables first, body variables by number, and each fact once."""
    body = tuple(sorted(part.bindings, key=lambda binding: int(binding[0][1:])))
    return Grounding(start.bindings + body, tuple(dict.fromkeys(part.facts)), part.absent, part.weight)
