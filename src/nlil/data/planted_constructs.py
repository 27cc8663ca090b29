"""The constructs that planted bases are made for: the rule in text, how dense its predicates are, what a learner needs.

Densities are chosen so that every part of a rule matters: 15 to 60 % of the entities are positive, and a rule that
lacks one of its parts is clearly worse. Every entity has at least one edge of each random relation, so the mere
existence of an edge says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto


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
