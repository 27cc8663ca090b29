"""reach: every end of a line, each once, also where prunings tempt."""

from __future__ import annotations

import numpy as np

from nlil.data.kb import KnowledgeBase
from nlil.kernel.graph import Graph
from nlil.kernel.hidden import HiddenFact
from nlil.kernel.walk import NO_LIMIT, reach, walk_space


def ends(facts: list[tuple[str, str, str]], start: str, *steps: str) -> set[str]:
    kb = KnowledgeBase.from_facts(facts)
    codes = np.array([2 * kb.predicate_id(kb.predicate(step)) for step in steps], np.int64)
    graph = Graph.of(kb.crisp)
    space = walk_space(kb.num_entities, len(steps))
    found = reach(
        graph,
        space,
        codes,
        len(codes),
        kb.entities.id(start),
        True,
        HiddenFact(-1, -1, -1, -1, graph.is_unary),
        NO_LIMIT,
        -1,
    )
    return set(kb.entities.names(space.ends[:found]))


def test_an_end_that_one_predecessor_rules_out_is_reached_through_another() -> None:
    # a, z1, z2, z1 repeats z1; a, other, z2, z1 does not: z2 must be expanded for both predecessors.
    facts = [("a", "r", "z1"), ("a", "r", "other"), ("z1", "s", "z2"), ("other", "s", "z2"), ("z2", "t", "z1")]
    assert ends(facts, "a", "r", "s", "t") == {"z1"}


def test_a_path_never_returns() -> None:
    assert ends([("a", "r", "b"), ("b", "s", "a"), ("b", "s", "c")], "a", "r", "s") == {"c"}
