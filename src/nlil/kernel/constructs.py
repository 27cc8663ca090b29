"""Choosing rules by column: by the constructs of their bodies, their statistics and the names that they contain."""

from __future__ import annotations

import numpy as np

from ..data.arrays import Longs, Mask
from ..data.kb import unclear_name
from ..errors import ConfigError
from .bodies import AND, ANY_NODE, NO_STEP, NOT, OR, X_NODE, Y_NODE, unary_mask
from .ruleset import NO_ENTITY, RuleSet

CONSTRUCTS = ("chain", "constant", "type", "prior", "conjunction", "disjunction", "negation", "unanchored")
"""Constructs by which people can filter rules.

chain: a path from X to Y; constant: names an entity; type: a unary predicate;
unanchored: a part that no path joins to X or Y."""


def bit(construct: str) -> int:
    """Return the bit of a `construct`."""
    return 1 << CONSTRUCTS.index(construct)


def construct_names(bits: int) -> list[str]:
    """Return the constructs of these `bits`."""
    return [construct for construct in CONSTRUCTS if bits & bit(construct)]


def constructs(rules: RuleSet) -> np.ndarray:
    """Return the constructs of each of the `rules`, as bits."""
    if not len(rules):
        return np.zeros(0, np.uint8)
    bodies, lines = rules.bodies, rules.bodies.lines
    is_unary = unary_mask(rules.predicates)
    is_filter = np.zeros(lines.num_lines, bool)
    for step in lines.steps.T:
        is_filter |= (step != NO_STEP) & is_unary[step >> 1]
    named = (lines.start != ANY_NODE) | (lines.end != ANY_NODE)
    of_body = {
        "chain": bodies.any_line(lines.uses(X_NODE) & lines.uses(Y_NODE)),
        "constant": bodies.any_line((lines.start >= 0) | (lines.end >= 0)),
        "type": bodies.any_line(is_filter),
        "prior": bodies.any_line(~named & (lines.lengths == 0)),
        "unanchored": bodies.any_line(~named & (lines.lengths > 0)),
        "conjunction": bodies.uses_operator(AND),
        "disjunction": bodies.uses_operator(OR),
        "negation": bodies.uses_operator(NOT),
    }
    found = np.zeros(len(bodies), np.uint8)
    for construct, mask in of_body.items():
        found[mask] |= bit(construct)
    return found[rules.body] | np.where(rules.head_entity != NO_ENTITY, bit("constant"), 0).astype(np.uint8)


def matching_rows(
    rules: RuleSet,
    *,
    min_support: int = 0,
    min_confidence: float = 0.0,
    contains: str = "",
    length: int | tuple[int, int] | None = None,
    kind: str = "",
) -> Longs:
    """Return the rows of `rules` that fit, ascending.

    Args:
        rules: The rules.
        min_support: The least support.
        min_confidence: The least confidence.
        contains: The name of a predicate in the body, or of an entity in the rule; empty: any.
        length: The number of body atoms, or the fewest and the most; None: any.
        kind: One of CONSTRUCTS that the rule must have; empty: any.
    """
    keep = np.ones(len(rules), bool)  # there may be millions: only what is asked for is looked at
    if min_support > 0:
        keep &= rules.support >= min_support
    if min_confidence > 0:
        keep &= rules.confidence >= min_confidence
    if length is not None:
        low, high = (length, length) if isinstance(length, int) else length
        keep &= (rules.lengths >= low) & (rules.lengths <= high)
    if kind:
        if kind not in CONSTRUCTS:
            raise ConfigError(f"kind: expected {', '.join(CONSTRUCTS)}, got {kind!r}", "kind")
        keep &= (constructs(rules) & bit(kind)) > 0
    return np.flatnonzero(keep & mentions(rules, contains) if contains else keep)


def mentions(rules: RuleSet, name: str) -> Mask:
    """Return which rules have the predicate `name` in their body, or the entity `name` anywhere.

    Labels count as names. Raises UnknownName if there is neither, or if it is the label of several entities.
    """
    labels, label = rules.predicate_labels, name.casefold()
    predicates = [i for i, p in enumerate(rules.predicates) if name in (p.name, str(p))]
    entity = rules.entities.find(name)
    if entity is None and not predicates:
        predicates = [i for i, p in enumerate(rules.predicates) if labels.get(p.name, "").casefold() == label]
        same = [one for one, text in rules.entity_labels.items() if text.casefold() == label]
        entity = rules.entities.find(same[0]) if len(same) == 1 else None
        if entity is None and not predicates:
            names = [p.name for p in rules.predicates]
            raise unclear_name("predicate or entity", name, same, names, labels)
    if not len(rules):
        return np.zeros(0, bool)
    lines = rules.bodies.lines
    of_line = lines.names(predicates) if predicates else np.zeros(lines.num_lines, bool)
    if entity is not None:
        of_line |= (lines.start == entity) | (lines.end == entity)
    found = rules.bodies.any_line(of_line)[rules.body]
    return found if entity is None else found | (rules.head_entity == entity)
