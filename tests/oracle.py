"""Brute force: rules evaluated by loops over names. Slow and obvious; the engine must agree with it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from nlil.data.kb import KnowledgeBase
from nlil.logic.formula import And, Anything, Constant, Formula, Not, Or, Statement, Variable
from nlil.logic.predicate import Fact, Predicate
from nlil.logic.rule import Rule

ONE_WORLD = -1
"""The graph of all entities where there are no graphs."""


@dataclass(frozen=True)
class World:
    """A knowledge base as sets: entities, weight of each fact, graph of each entity, class predicates."""

    entities: tuple[str, ...]
    weight: dict[Fact, float]
    graph: dict[str, int]
    classes: frozenset[Predicate]

    @classmethod
    def of(cls, kb: KnowledgeBase) -> World:
        names = tuple(kb.entities)
        f = kb.facts
        weight = {}
        for i in range(len(f)):
            fact = kb.fact(int(f.predicate[i]), int(f.subject[i]), int(f.object[i]))
            weight[fact] = 1.0 if f.weight is None else float(f.weight[i])
        graph = {n: ONE_WORLD if kb.graph_of is None else int(kb.graph_of[i]) for i, n in enumerate(names)}
        return cls(names, weight, graph, frozenset(kb.predicates[c] for c in kb.classes))

    def crisp(self) -> World:
        return World(self.entities, {f: 1.0 for f, w in self.weight.items() if w >= 0.5}, self.graph, self.classes)

    def without(self, facts: set[Fact]) -> World:
        kept = {f: w for f, w in self.weight.items() if f not in facts}
        return World(self.entities, kept, self.graph, self.classes)

    def has(self, entity: str) -> bool:
        """An entity of a graph without facts is not part of this world."""
        graph = self.graph[entity]
        return graph == ONE_WORLD or any(self.graph[fact.arguments[0]] == graph for fact in self.weight)

    def block(self, entity: str) -> list[str]:
        return [e for e in self.entities if self.graph[e] == self.graph[entity]]


def groundings(
    world: World, statement: Statement, distinct: bool, x: str | None, y: str | None
) -> Iterator[tuple[tuple[str, ...], list[Fact]]]:
    """Every way to put entities on the nodes of the line, with the facts that it takes; only those that exist."""
    given = {"X": x, "Y": y}
    choices = []
    for anchor in statement.anchors:
        match anchor:
            case Variable(name):
                choices.append([given[name]])
            case Constant(name):
                choices.append([name])
            case _:
                choices.append(world.block(x if x is not None else y))
    for nodes in product(*choices):
        taken = []
        for i, filters in enumerate(statement.filters):
            taken += [Fact(p, (nodes[i],)) for p in filters]
        for i, step in enumerate(statement.moves):
            pair = (nodes[i + 1], nodes[i]) if step.inverse else (nodes[i], nodes[i + 1])
            taken.append(Fact(step.predicate, pair))
        if statement.equal is not None:
            other = statement.equal.name if isinstance(statement.equal, Constant) else given[statement.equal.name]
            if nodes[0] != other:
                continue
        if distinct and not _all_different(statement, nodes, given):
            continue
        if all(f in world.weight for f in taken):
            yield nodes, taken


def _all_different(statement, nodes, given) -> bool:
    variables: dict[object, str] = {}
    for i, anchor in enumerate(statement.anchors):
        if isinstance(anchor, Variable):
            variables[anchor] = given[anchor.name]
        elif isinstance(anchor, Anything):
            variables[i] = nodes[i]
    if isinstance(statement.equal, Variable):
        variables[statement.equal] = given[statement.equal.name]
    return len(set(variables.values())) == len(variables)


def formula_value(world: World, formula: Formula, distinct: bool, x: str | None, y: str | None) -> float:
    match formula:
        case Statement():
            total = 0.0
            for _, facts in groundings(world, formula, distinct, x, y):
                weight = 1.0
                for fact in facts:
                    weight *= world.weight[fact]
                total += weight
            return min(1.0, total)
        case Not(argument):
            return 1.0 - formula_value(world, argument, distinct, x, y)
        case And(arguments):
            value = 1.0
            for argument in arguments:
                value *= formula_value(world, argument, distinct, x, y)
            return value
        case Or(arguments):
            value = 1.0
            for argument in arguments:
                value *= 1.0 - formula_value(world, argument, distinct, x, y)
            return 1.0 - value
        case _:
            return 1.0


def is_head_tuple(world: World, rule: Rule, query: tuple[str, ...]) -> bool:
    for anchor, entity in zip(rule.head.arguments, query, strict=True):
        if isinstance(anchor, Constant) and anchor.name != entity:
            return False
    return len({world.graph[e] for e in query}) == 1


def own_facts(world: World, rule: Rule, query: tuple[str, ...]) -> set[Fact]:
    facts = {Fact(rule.target, query)}
    if rule.target in world.classes:
        facts |= {Fact(c, query) for c in world.classes}
    return facts


def value(world: World, rule: Rule, query: tuple[str, ...], hide: bool = False) -> float:
    if not is_head_tuple(world, rule, query):
        return 0.0
    if hide:
        world = world.without(own_facts(world, rule, query))
    return formula_value(world, rule.body, rule.distinct, query[0], query[1] if len(query) == 2 else None)


def queries(world: World, rule: Rule) -> list[tuple[str, ...]]:
    return list(product(world.entities, repeat=rule.target.arity))


def stats(world: World, rule: Rule, negatives: Sequence[Fact] | None = None) -> tuple[int, int, int, int | None]:
    """(support, body size, head size, PCA body)."""
    world = world.crisp()
    support = body = head = pca = 0
    with_fact = {
        f.arguments[0]
        for f in world.weight
        if f.predicate == rule.target and len({world.graph[e] for e in f.arguments}) == 1
    }
    for query in queries(world, rule):
        if not is_head_tuple(world, rule, query):
            continue
        fact = Fact(rule.target, query)
        is_fact = fact in world.weight
        head += is_fact
        if not is_fact and negatives is not None and fact not in negatives:
            continue
        if negatives is None and len(query) == 1 and not world.has(*query):
            continue
        hide = is_fact or negatives is not None or rule.target in world.classes
        if value(world, rule, query, hide) > 0:
            body += 1
            support += is_fact
            pca += query[0] in with_fact
    return support, body, head, pca if rule.target.arity == 2 else None


# fixpoint ----------------------------------------------------------------------------------------------


def strength(world: World, formula: Formula, distinct: bool, x: str, y: str | None, negated: bool = False) -> float:
    """The weakest fact of the best grounding; a negated statement is 1 or 0 by the facts of weight >= .5."""
    match formula:
        case Statement() if negated:
            return 1.0 - formula_value(world.crisp(), formula, distinct, x, y)
        case Statement():
            found = groundings(world, formula, distinct, x, y)
            return max((min((world.weight[f] for f in facts), default=1.0) for _, facts in found), default=0.0)
        case Not(argument):
            return strength(world, argument, distinct, x, y, not negated)
        case And(arguments) | Or(arguments):
            weakest = isinstance(formula, And) != negated
            return (min if weakest else max)(strength(world, a, distinct, x, y, negated) for a in arguments)
        case _:
            return 0.0 if negated else 1.0


def uses(formula: Formula, negated: bool = False) -> Iterator[tuple[Predicate, bool]]:
    """The predicates of a formula, and whether each is negated."""
    match formula:
        case Statement():
            yield from ((step.predicate, negated) for step in formula.steps)
        case Not(argument):
            yield from uses(argument, not negated)
        case And(arguments) | Or(arguments):
            for argument in arguments:
                yield from uses(argument, negated)


def strata(rules: Iterable[Rule]) -> dict[Predicate, int] | None:
    """The stratum of each target: at least that of every target it uses, above that of every one it negates.

    None if negation leads back to its own head: then strata would rise without end.
    """
    rules = list(rules)
    edges = [(rule.target, used, negated) for rule in rules for used, negated in uses(rule.body)]
    level = {rule.target: 0 for rule in rules}
    for _ in range(len(level) ** 2 + 1):
        before = dict(level)
        for head, used, negated in edges:
            level[head] = max(level[head], level[used] + negated if used in level else 0)
        if level == before:
            return level
    return None


def fixpoint(world: World, rules: Sequence[tuple[Rule, float]]) -> dict[Fact, float]:
    """Naive iteration, stratum by stratum: the new facts and their confidence."""
    given, level_of = dict(world.weight), strata([rule for rule, _ in rules])
    assert level_of is not None
    for level in sorted(set(level_of.values())):
        changed = True
        while changed:
            changed = False
            found: dict[Fact, float] = {}
            for rule, confidence in rules:
                if level_of[rule.target] != level:
                    continue
                for query in queries(world, rule):
                    if not is_head_tuple(world, rule, query):
                        continue
                    x, y = query[0], query[1] if len(query) == 2 else None
                    score = confidence * strength(world, rule.body, rule.distinct, x, y)
                    fact = Fact(rule.target, query)
                    if fact not in given and score > max(world.weight.get(fact, 0.0), found.get(fact, 0.0)):
                        found[fact] = score
            if found:
                changed = True
                world = World(world.entities, {**world.weight, **found}, world.graph, world.classes)
    return {f: w for f, w in world.weight.items() if f not in given}
