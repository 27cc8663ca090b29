"""What a rule is made of, as people filter by it: chain, constant, type, negation. Rules are looked at by column."""

from __future__ import annotations

import numpy as np

from ..kernel.bodies import AND, ANY_NODE, NO_STEP, NOT, OR, X_NODE, Y_NODE, unary_mask
from ..kernel.ruleset import NO_ENTITY, RuleSet

CONSTRUCTS = ("chain", "constant", "type", "prior", "conjunction", "disjunction", "negation", "unanchored")
"""chain: a path from X to Y; constant: names an entity; type: says what an entity is, by a unary predicate;
unanchored: something of the graph that no path joins to X or Y."""


def bit(construct: str) -> int:
    return 1 << CONSTRUCTS.index(construct)


def constructs(rules: RuleSet) -> np.ndarray:
    """For each row the bits of what it is made of."""
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


def construct_names(bits: int) -> list[str]:
    return [construct for construct in CONSTRUCTS if bits & bit(construct)]
