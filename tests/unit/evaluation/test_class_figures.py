"""R@k of object classes: of all objects, of those with a stated relation and of the others; ranks of real scores."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nlil.data.kb import KnowledgeBase
from nlil.evaluation.metrics import recall_figures
from nlil.evaluation.protocol import class_figures, has_relation
from nlil.kernel.aggregation import class_ranks, ranks_among, score_ranks


def scene() -> KnowledgeBase:
    """a rides b; c is above d, which boxes say; e has nothing."""
    kb = KnowledgeBase.from_facts(
        [
            ("a", "man"),
            ("b", "horse"),
            ("c", "sky"),
            ("d", "sky"),
            ("e", "dog"),
            ("a", "rides", "b"),
            ("c", "above", "d"),
        ]
    )
    classes = frozenset(i for i, p in enumerate(kb.predicates) if p.arity == 1)
    return replace(kb, classes=classes, geometry=frozenset({kb.predicate_id(kb.predicate("above"))}))


def test_what_boxes_say_is_no_relation() -> None:
    kb = scene()
    assert dict(zip(kb.entities, has_relation(kb).tolist())) == {
        "a": True,
        "b": True,
        "c": False,
        "d": False,
        "e": False,
    }
    assert has_relation(replace(kb, geometry=frozenset())).sum() == 4


def test_figures_of_objects_with_and_without_relations() -> None:
    kb = scene()
    facts = kb.unary
    rank = np.array(
        [{"a": 1.0, "b": 6.0, "c": 1.0, "d": 5.0, "e": 9.0}[kb.entities.name(int(e))] for e in facts.subject]
    )
    values, per_predicate, count = class_figures(rank, facts, kb)
    assert values == pytest.approx(
        {
            "r@1": 2 / 5,
            "r@5": 3 / 5,
            "r@1_related": 1 / 2,
            "r@5_related": 1 / 2,
            "r@1_unrelated": 1 / 3,
            "r@5_unrelated": 2 / 3,
        }
    )
    assert per_predicate["sky/1"] == {"r@1": 0.5, "r@5": 1.0, "num_queries": 2}
    assert count == 5
    mine = kb.unary[kb.unary.subject == kb.entities.id("a")]
    assert set(class_figures(np.ones(1), mine, kb)[0]) == {"r@1", "r@5", "r@1_related", "r@5_related"}


def test_all_related_is_all() -> None:
    rank = np.array([1.0, 3.0])
    assert recall_figures(rank) == {"r@1": 0.5, "r@5": 1.0}
    assert recall_figures(rank, np.ones(2, bool))["r@1_related"] == 0.5


def test_real_scores_are_ranked_with_ties_at_their_mean() -> None:
    scores = np.array([[-1.0, -2.0, -3.0, -2.0], [0.0, 0.0, 0.0, 0.0], [1.0, 1.0 + 1e-10, 0.0, 2.0]])
    assert score_ranks(scores, np.array([1, 3, 0])).tolist() == [2.5, 2.5, 2.5]
    assert score_ranks(scores, np.array([0, 0, 2])).tolist() == [1.0, 2.5, 4.0]


def test_ranks_among_the_same_rivals() -> None:
    """Like the ranks of answers that each stand in a row with these rivals: equal evidence is tied."""
    rivals, own = np.array([5, 0, 7, 7, 0]) * 10**6, np.array([7, 6, 0, 9]) * 10**6
    rows = np.column_stack((own, np.tile(rivals, (len(own), 1))))
    assert ranks_among(rivals, own).tolist() == class_ranks(rows, np.zeros(len(own), int)).tolist()
    assert ranks_among(rivals, own).tolist() == [2.0, 3.0, 5.0, 1.0]
