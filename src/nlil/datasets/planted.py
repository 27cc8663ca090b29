"""`planted:CONSTRUCT`: a random base whose target facts follow from one known rule, to be found again.

A base has entities e0, e1, ..., the predicates of the rule and a few that do not occur in it. The labels are
computed here with sets, which needs no engine; the tests compare them with the engine. Then noise may come in:
wrong labels, or body facts that are replaced after the labels were computed.

Densities are chosen so that every part of a rule matters: 15 to 60 % of the entities are positive, and a rule that
lacks one of its parts is clearly worse. Every entity has at least one edge of each random relation, so the mere
existence of an edge says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

import numpy as np

from ..data.dataset import Dataset, make_dataset
from ..data.facts import NO_OBJECT, Facts, Splits
from ..data.kb import KnowledgeBase
from ..data.vocabulary import Vocabulary
from ..errors import ConfigError, UnknownName
from ..logic.formula import And, Constant, Formula, Not, Or, Statement, Variable
from ..logic.parse import parse_rule
from ..logic.predicate import Predicate, Step
from ..logic.rule import Rule


class Layout(Enum):
    """How the edges of a relation lie."""

    RANDOM = auto()  # to anyone else
    FOREST = auto()  # from parent to child; many trees
    HUBS = auto()  # to one of the named entities


@dataclass(frozen=True)
class Relation:
    """A binary predicate; `degree` is the mean out-degree (a forest has its own)."""

    degree: float = 1.5
    layout: Layout = Layout.RANDOM


@dataclass(frozen=True)
class Construct:
    """`classes` gives the share of the entities that each unary predicate holds for.

    `steps`, `heads` and `levels` are the smallest T and H, and roomy widths C, with which the rule can be said.
    """

    rule: str
    relations: Mapping[str, Relation]
    classes: Mapping[str, float] = field(default_factory=dict)
    hubs: tuple[str, ...] = ()
    steps: int = 1
    heads: int = 1
    levels: tuple[int, ...] = ()


CONSTRUCTS_BY_NAME: Mapping[str, Construct] = {
    "chain": Construct(
        "works_in(X, Y) :- employed_by(X, Z1), located_in(Z1, Y).",
        {"employed_by": Relation(1.3), "located_in": Relation(1.3)},
    ),
    "inverse": Construct("owned_by(X, Y) :- owns(Y, X).", {"owns": Relation()}),
    "tree": Construct(
        "facial(X) :- eye(Z1), part_of(Z1, Z2), part_of(X, Z2).",
        {"part_of": Relation(1.3)},
        {"eye": 0.2},
    ),
    "unary-start": Construct(
        "polluted(X) :- factory(Z1), drains_into(Z1, Z2), feeds(Z2, X).",
        {"drains_into": Relation(), "feeds": Relation()},
        {"factory": 0.3},
    ),
    "conjunction": Construct(
        "commuter(X) :- lives_in(X, Z1), suburb(Z1), works_at(X, Z2), office(Z2).",
        {"lives_in": Relation(), "works_at": Relation()},
        {"suburb": 0.5, "office": 0.5},
        levels=(4,),
    ),
    "disjunction": Construct(
        "alarmed(X) :- hears(X, Z1), siren(Z1) ; sees(X, Z2), fire(Z2).",
        {"hears": Relation(), "sees": Relation()},
        {"siren": 0.22, "fire": 0.22},
        levels=(4,),
    ),
    "negation": Construct(
        "safe(X) :- \\+ (eats(X, Z1), poisonous(Z1)).",
        {"eats": Relation()},
        {"poisonous": 0.38},
    ),
    "negated-conjunction": Construct(
        "unbiased(X) :- \\+ (funded_by(X, Z1), company(Z1), reviews(X, Z2), product(Z2)).",
        {"funded_by": Relation(), "reviews": Relation()},
        {"company": 0.58, "product": 0.58},
        levels=(4,),
    ),
    "constant": Construct(
        "parisian(X) :- born_in(X, Z1), district_of(Z1, paris).",
        {"born_in": Relation(), "district_of": Relation(1.2, Layout.HUBS)},
        hubs=("paris", "rome", "oslo", "lima", "cairo"),
    ),
    "recursion": Construct(
        "wet(X) :- spring(X) ; wet(Z1), flows_to(Z1, X).",
        {"flows_to": Relation(layout=Layout.FOREST)},
        {"spring": 0.11},
        levels=(4,),
    ),
    "two-levels": Construct(
        "admitted(X) :- (studies(X, Z1), science(Z1) ; plays(X, Z2), violin(Z2)), "
        "(citizen(X) ; sponsored_by(X, Z3), company(Z3)).",
        {"studies": Relation(), "plays": Relation(), "sponsored_by": Relation()},
        {"science": 0.34, "violin": 0.34, "citizen": 0.45, "company": 0.34},
        levels=(4, 2),
    ),
    "long": Construct(
        "esteemed(X) :- knows(X, Z1), teaches(Z1, Z2), scholar(Z2), works_with(X, Z3), lives_near(Z3, Z4), artist(Z4), "
        "teaches(X, Z5), trusts(Z5, Z6), doctor(Z6), trusts(X, Z7), works_with(Z7, Z8), judge(Z8).",
        dict.fromkeys(("knows", "teaches", "works_with", "lives_near", "trusts"), Relation(2.0)),
        dict.fromkeys(("scholar", "artist", "doctor", "judge"), 0.33),
        heads=4,
        levels=(4, 2),
    ),
}

SPARE_RELATIONS = ("near", "likes", "follows")
SPARE_CLASSES = ("red", "old", "small")
"""Distractors: predicates that occur in no planted rule."""

CONSTRUCTS = tuple(CONSTRUCTS_BY_NAME)
MIN_SIZE = 30
MAX_NOISE = 0.5
"""Beyond this there may not be enough false tuples to replace true ones with."""
PREDICATES_OF_AN_ARITY = (3, 6)
MOST_EXTRA_EDGES = 3
TREE_SIZE = 9
"""Small trees, so that neither everything nor hardly anything is reachable from a few sources."""

Row = tuple[int, ...]
World = dict[Predicate, set[Row]]


@dataclass(frozen=True, eq=False)
class Planted:
    """`kb` holds the facts and the (possibly noisy) labels; `clean` the target facts that the rule makes true.

    `settings` are what a learner needs to say the rule: steps (T), heads (H), levels (widths C), constants.
    """

    construct: str
    kb: KnowledgeBase
    target: Predicate
    rule: Rule
    clean: Facts
    settings: dict[str, Any]


def planted(
    construct: str, seed: int = 0, label_noise: float = 0.0, fact_noise: float = 0.0, size: int = 300
) -> Planted:
    """A base of `size` entities for a construct; noise changes neither its clean labels nor its clean facts.

    `label_noise`: this share of the true target facts is removed, and as many false ones are added.
    `fact_noise`: this share of each other predicate's facts is replaced by random ones.
    """
    if construct not in CONSTRUCTS_BY_NAME:
        raise UnknownName("construct", construct, CONSTRUCTS, f"the constructs are {', '.join(CONSTRUCTS)}")
    _check(seed, size, label_noise=label_noise, fact_noise=fact_noise)
    plan, number = CONSTRUCTS_BY_NAME[construct], CONSTRUCTS.index(construct)
    rule = parse_rule(plan.rule)
    names = [*plan.hubs, *(f"e{i}" for i in range(size - len(plan.hubs)))]
    world = _world(plan, size, np.random.default_rng((seed, number)))
    clean = _least_fixpoint(rule, world, names)
    # Noise draws from streams of its own, so that one seed means one base at every level of noise.
    label_random, fact_random = (np.random.default_rng((seed, number, stream)) for stream in (1, 2))
    noisy = {p: _replaced(rows, p.arity, fact_noise, size, fact_random) for p, rows in sorted(world.items())}
    noisy[rule.target] = _replaced(clean, rule.target.arity, label_noise, size, label_random)
    predicates = tuple(sorted(noisy))
    kb = KnowledgeBase(Vocabulary(names), predicates, _facts(predicates, noisy))
    settings = {"steps": plan.steps, "heads": plan.heads, "levels": plan.levels, "constants": bool(rule.constants)}
    return Planted(construct, kb, rule.target, rule, _facts(predicates, {rule.target: clean}), settings)


def make_planted(construct: str, seed: int = 0) -> Dataset:
    """The noise-free base as a data set; everything is training facts."""
    base = planted(construct, seed)
    return make_dataset(f"planted:{construct}", base.kb, Splits(base.kb.facts), (base.target,), (base.rule,))


def _check(seed: int, size: int, **shares: float) -> None:
    for key, share in shares.items():
        if not 0.0 <= share <= MAX_NOISE:
            raise ConfigError(f"{key}: expected a share from 0 to {MAX_NOISE}, got {share}", key)
    for key, value, least in (("seed", seed, 0), ("size", size, MIN_SIZE)):
        if value < least:
            raise ConfigError(f"{key}: expected a whole number of at least {least}, got {value}", key)


# facts ---------------------------------------------------------------------------------------------


def _world(plan: Construct, size: int, random: np.random.Generator) -> World:
    """Random facts of the rule's predicates and of distractors beside them; densities differ a little by seed."""
    world: World = {}
    for name, relation in {**plan.relations, **_spare(plan.relations, SPARE_RELATIONS, Relation())}.items():
        match relation.layout:
            case Layout.FOREST:
                edges = _forest(size, random)
            case Layout.HUBS:
                edges = _edges(relation.degree, size, len(plan.hubs), random)
            case _:
                edges = _edges(relation.degree, size, size, random)
        world[Predicate(name, 2)] = edges
    for name, share in {**plan.classes, **_spare(plan.classes, SPARE_CLASSES, 0.35)}.items():
        count = round(share * random.uniform(0.95, 1.05) * size)
        world[Predicate(name, 1)] = {(x,) for x in random.choice(size, count, replace=False).tolist()}
    return world


def _spare(used: Mapping[str, Any], names: tuple[str, ...], like: Any) -> dict[str, Any]:
    """Two distractors, more or fewer where that keeps the number of predicates in bounds."""
    fewest, most = PREDICATES_OF_AN_ARITY
    return dict.fromkeys(names[: min(max(2, fewest - len(used)), most - len(used))], like)


def _edges(degree: float, size: int, num_objects: int, random: np.random.Generator) -> set[Row]:
    """From everyone to one or more of the first `num_objects` entities, `degree` on average, never to themselves."""
    extra = (degree - 1.0) * random.uniform(0.95, 1.05) / MOST_EXTRA_EDGES
    edges: set[Row] = set()
    for subject, count in enumerate((1 + random.binomial(MOST_EXTRA_EDGES, extra, size)).tolist()):
        objects = [o for o in random.choice(num_objects, count + 1, replace=False).tolist() if o != subject]
        edges |= {(subject, o) for o in objects[:count]}
    return edges


def _forest(size: int, random: np.random.Generator) -> set[Row]:
    """Edges from parent to child in trees of TREE_SIZE nodes; each node hangs on one of the two before it."""
    order = random.permutation(size).tolist()
    places = [i for i in range(size) if i % TREE_SIZE]
    return {(order[random.integers(i - min(2, i % TREE_SIZE), i)], order[i]) for i in places}


def _replaced(rows: set[Row], arity: int, share: float, size: int, random: np.random.Generator) -> set[Row]:
    """`share` of the rows gone, and as many that were not among them."""
    count = round(share * len(rows))
    gone = {sorted(rows)[i] for i in random.choice(len(rows), count, replace=False).tolist()}
    new: set[Row] = set()
    while len(new) < count:
        row = tuple(random.integers(0, size, arity).tolist())
        if row not in rows:
            new.add(row)
    return (rows - gone) | new


def _facts(predicates: tuple[Predicate, ...], world: World) -> Facts:
    triples = [(predicates.index(p), *row, NO_OBJECT)[:3] for p, rows in world.items() for row in rows]
    predicate, subject, object = np.ascontiguousarray(np.asarray(triples, np.int32).reshape(-1, 3).T)
    return Facts(predicate, subject, object).unique()


# labels --------------------------------------------------------------------------------------------


def _least_fixpoint(rule: Rule, world: World, names: list[str]) -> set[Row]:
    """What the rule derives from no target facts at all; one round more than needed unless it is recursive."""
    labels: set[Row] = set()
    while (derived := _Truth({**world, rule.target: labels}, names, rule.target.arity).of(rule.body)) != labels:
        labels = derived
    return labels


class _Truth:
    """The head tuples for which a formula holds, by sets. For planted rules: every statement begins in X."""

    def __init__(self, world: World, names: list[str], arity: int) -> None:
        self.world, self.names, self.arity = world, names, arity
        self.reached: dict[Step, dict[int, set[int]]] = {}

    def of(self, formula: Formula) -> set[Row]:
        match formula:
            case Statement():
                return {row for x in range(len(self.names)) for row in self._rows(formula, x)}
            case And(arguments):
                return set.intersection(*map(self.of, arguments))
            case Or(arguments):
                return set.union(*map(self.of, arguments))
            case Not(argument):
                assert self.arity == 1, "only unary targets are planted with negation"
                everyone: set[Row] = {(x,) for x in range(len(self.names))}
                return everyone - self.of(argument)
            case _:
                raise AssertionError(f"no planted rule contains {formula}")

    def _rows(self, statement: Statement, x: int) -> set[Row]:
        assert statement.start == Variable("X"), f"{statement} does not begin in X"
        nodes = {x}
        for step in statement.steps:
            after = self._reached_by(step)
            nodes = {other for node in nodes for other in after.get(node, ())}
        if isinstance(statement.end, Variable):
            return {(x, node) for node in nodes}
        if isinstance(statement.end, Constant):
            nodes &= {self.names.index(statement.end.name)}
        return {(x,)} if nodes else set()

    def _reached_by(self, step: Step) -> dict[int, set[int]]:
        if step not in self.reached:
            after = self.reached[step] = {}
            for row in self.world[step.predicate]:
                # A filter leads from each of its entities to itself.
                source, end = (row[-1], row[0]) if step.inverse else (row[0], row[-1])
                after.setdefault(source, set()).add(end)
        return self.reached[step]
