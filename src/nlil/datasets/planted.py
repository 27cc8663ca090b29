"""`planted:CONSTRUCT`: a random base whose target facts follow from one known rule, which is to be recovered.

A base has entities e0, e1, ..., the predicates of the rule and a few distractors. The labels are the least fixpoint
of the rule. Noise may then change labels, or replace body facts after the labels were computed.

Densities are chosen so that every part of a rule matters: 15 to 60 % of the entities are positive, and a rule without
one of its parts is clearly worse. Every entity has at least one edge of each random relation, so the mere existence of
an edge says nothing.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

import numpy as np

from ..data.dataset import Dataset, make_dataset
from ..data.facts import NO_OBJECT, Facts, Splits
from ..data.kb import KnowledgeBase
from ..data.vocabulary import Vocabulary
from ..errors import ConfigError, UnknownName
from ..logic.parse import parse_rule
from ..logic.predicate import Predicate
from ..logic.rule import Rule


@dataclass(frozen=True)
class Construct:
    """One kind of `rule`, and the facts that it needs; planted.toml defines them and explains the fields.

    `relations`, `hub_relations`, `forests`, `classes` and `hubs` describe the facts; `steps`, `heads` and `levels` are
    what a learner needs to express the rule; `size` is the number of entities.
    """

    rule: str
    relations: Mapping[str, float] = field(default_factory=dict)
    hub_relations: Mapping[str, float] = field(default_factory=dict)
    forests: Sequence[str] = ()
    classes: Mapping[str, float] = field(default_factory=dict)
    hubs: Sequence[str] = ()
    steps: int = 1
    heads: int = 1
    levels: Sequence[int] = ()
    size: int = 300  # entities


CONSTRUCTS_BY_NAME = {
    name: Construct(**about)
    for name, about in tomllib.loads(files(__package__).joinpath("planted.toml").read_text(encoding="utf-8")).items()
}

CONSTRUCTS = tuple(CONSTRUCTS_BY_NAME)
"""The constructs of the file, one for each feature of the rule language."""
LONG_LENGTHS = (8, 16, 32)
"""Body atoms of the constructs `long-8`, `long-16`, ..."""
LONG_POSITIVES = 0.4
"""Approximate share of the entities for which a long rule holds."""


def long_construct(atoms: int) -> Construct:
    """Return a rule with this many body `atoms`: pairs `r1(X, Z1), c1(Z1)`, joined in pairs by alternating and and or.

    Each level of the tree is a level of products. All pairs hold for the same share of the entities, so each matters as
    much as any other.
    """
    pairs, degree = atoms // 2, 1.5

    def joined(low: int, count: int, conjunction: bool) -> str:
        if count == 1:
            return f"r{low}(X, Z{low}), c{low}(Z{low})"
        parts = [joined(half, count // 2, not conjunction) for half in (low, low + count // 2)]
        return (", " if conjunction else " ; ").join(f"({part})" for part in parts)

    def share(pair: float, count: int, conjunction: bool) -> float:
        """Return the share of entities for which the rule holds if each pair holds for the share `pair`."""
        if count == 1:
            return pair
        half = share(pair, count // 2, not conjunction)
        return half * half if conjunction else 1 - (1 - half) ** 2

    tried = np.linspace(0, 1, 1001)
    pair = float(np.interp(LONG_POSITIVES, [share(float(p), pairs, True) for p in tried], tried))
    in_class = 1 - (1 - pair) ** (1 / degree)
    numbers = range(1, pairs + 1)
    return Construct(
        f"lasting(X) :- {joined(1, pairs, True)}.",
        relations={f"r{i}": degree for i in numbers},
        classes={f"c{i}": in_class for i in numbers},
        levels=[pairs >> level for level in range((pairs - 1).bit_length())],
        size=100 * pairs,
    )


CONSTRUCTS_BY_NAME |= {f"long-{atoms}": long_construct(atoms) for atoms in LONG_LENGTHS}

SPARE_RELATIONS = ("near", "likes", "follows")
SPARE_CLASSES = ("red", "old", "small")
"""Distractors: predicates that occur in no planted rule."""

MEAN_DEGREE, SPARE_SHARE = 1.5, 0.35
"""For a distractor: edges per entity, or the share of the entities that it holds for."""

MIN_SIZE = 30
MAX_NOISE = 0.5
"""Above this there may not be enough false tuples to replace true ones."""
PREDICATES_OF_AN_ARITY = (3, 6)
MAX_EXTRA_EDGES = 3
TREE_SIZE = 9
"""Trees are small, so that a few sources reach neither everything nor hardly anything."""

Row = tuple[int, ...]
World = dict[Predicate, set[Row]]


@dataclass(frozen=True, eq=False)
class Planted:
    """A base with a planted `rule` of a `construct`: `kb` holds the facts and the (possibly noisy) labels.

    `clean` are the facts of the `target` that the rule derives. `settings` are what a learner needs to express the
    rule: steps (T), heads (H), levels (widths C), constants.
    """

    construct: str
    kb: KnowledgeBase
    target: Predicate
    rule: Rule
    clean: Facts
    settings: dict[str, Any]


def planted(
    construct: str, seed: int = 0, label_noise: float = 0.0, fact_noise: float = 0.0, size: int | None = None
) -> Planted:
    """Make a base of `size` entities (None: the construct's own size) for a `construct`.

    Noise does not change the clean labels. `label_noise`: this share of the true target facts is removed, and as many
    false ones are added. `fact_noise`: this share of each other predicate's facts is replaced by random ones.
    """
    known = tuple(CONSTRUCTS_BY_NAME)
    if construct not in known:
        raise UnknownName("construct", construct, known, f"the constructs are {', '.join(known)}")
    plan, number = CONSTRUCTS_BY_NAME[construct], known.index(construct)
    size = plan.size if size is None else size
    _check(seed, size, label_noise=label_noise, fact_noise=fact_noise)
    rule = parse_rule(plan.rule)
    names = [*plan.hubs, *(f"e{i}" for i in range(size - len(plan.hubs)))]
    world = _world(plan, size, np.random.default_rng((seed, number)))
    clean = _labels(rule, world, names)
    # Noise has its own random streams, so that one seed gives one base at every noise level.
    label_random, fact_random = (np.random.default_rng((seed, number, stream)) for stream in (1, 2))
    noisy = {p: _replaced(rows, p.arity, fact_noise, size, fact_random) for p, rows in sorted(world.items())}
    noisy[rule.target] = _replaced(clean, rule.target.arity, label_noise, size, label_random)
    predicates = tuple(sorted(noisy))
    kb = KnowledgeBase(Vocabulary(names), predicates, _facts(predicates, noisy))
    settings = {
        "steps": plan.steps,
        "heads": plan.heads,
        "levels": tuple(plan.levels),
        "constants": bool(rule.constants),
    }
    return Planted(construct, kb, rule.target, rule, _facts(predicates, {rule.target: clean}), settings)


def make_planted(construct: str, seed: int = 0) -> Dataset:
    """Make the noise-free base of a `construct` as a data set; all facts are training facts."""
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
    """Make random facts of the rule's predicates and of distractors; densities vary slightly by seed."""
    used = [*plan.relations, *plan.hub_relations, *plan.forests]
    everyone, hubs = plan.relations.items(), plan.hub_relations.items()
    spare = ((name, MEAN_DEGREE) for name in _spare(used, SPARE_RELATIONS))
    edges = {name: _edges(degree, size, size, random) for name, degree in everyone}
    edges |= {name: _edges(degree, size, len(plan.hubs), random) for name, degree in hubs}
    edges |= {name: _forest(size, random) for name in plan.forests}
    edges |= {name: _edges(degree, size, size, random) for name, degree in spare}
    world: World = {Predicate(name, 2): rows for name, rows in edges.items()}
    for name, share in {**plan.classes, **dict.fromkeys(_spare(plan.classes, SPARE_CLASSES), SPARE_SHARE)}.items():
        count = round(share * random.uniform(0.95, 1.05) * size)
        world[Predicate(name, 1)] = {(x,) for x in random.choice(size, count, replace=False).tolist()}
    return world


def _spare(used: Collection[str], names: tuple[str, ...]) -> tuple[str, ...]:
    """Return about two distractors, so that the number of predicates stays within bounds."""
    fewest, most = PREDICATES_OF_AN_ARITY
    return names[: max(1, min(max(2, fewest - len(used)), most - len(used)))]


def _edges(degree: float, size: int, num_objects: int, random: np.random.Generator) -> set[Row]:
    """Make edges from everyone to one or more of the first `num_objects` others, `degree` on average."""
    extra = (degree - 1.0) * random.uniform(0.95, 1.05) / MAX_EXTRA_EDGES
    edges: set[Row] = set()
    for subject, count in enumerate((1 + random.binomial(MAX_EXTRA_EDGES, extra, size)).tolist()):
        objects = [o for o in random.choice(num_objects, count + 1, replace=False).tolist() if o != subject]
        edges |= {(subject, o) for o in objects[:count]}
    return edges


def _forest(size: int, random: np.random.Generator) -> set[Row]:
    """Make edges from parent to child in trees of TREE_SIZE nodes; each node hangs below one of the two before it."""
    order = random.permutation(size).tolist()
    places = [i for i in range(size) if i % TREE_SIZE]
    return {(order[random.integers(i - min(2, i % TREE_SIZE), i)], order[i]) for i in places}


def _replaced(rows: set[Row], arity: int, share: float, size: int, random: np.random.Generator) -> set[Row]:
    """Replace a `share` of the rows by rows that were not among them."""
    count = round(share * len(rows))
    gone = {sorted(rows)[i] for i in random.choice(len(rows), count, replace=False).tolist()}
    new: set[Row] = set()
    while len(new) < count:
        row = tuple(random.integers(0, size, arity).tolist())
        if row not in rows:
            new.add(row)
    return (rows - gone) | new


def _labels(rule: Rule, world: World, names: list[str]) -> set[Row]:
    """Return what the rule derives without any target facts."""
    from ..kernel.materialize import materialize

    predicates = tuple(sorted({rule.target, *world}))
    facts = materialize(KnowledgeBase(Vocabulary(names), predicates, _facts(predicates, world)), [(rule, 1.0)]).facts
    pairs = zip(facts.subject.tolist(), facts.object.tolist())
    return {pair[: rule.target.arity] for pair in pairs}


def _facts(predicates: tuple[Predicate, ...], world: World) -> Facts:
    triples = [(predicates.index(p), *row, NO_OBJECT)[:3] for p, rows in world.items() for row in rows]
    predicate, subject, object = np.ascontiguousarray(np.asarray(triples, np.int32).reshape(-1, 3).T)
    return Facts(predicate, subject, object).unique()
