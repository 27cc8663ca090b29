"""Wrong facts that are planted: of the right type, unknown, as many as asked for."""

from __future__ import annotations

import numpy as np

from nlil import KnowledgeBase, load
from nlil.data.facts import Facts
from nlil.evaluation.wrongness import plant


def planted(kb: KnowledgeBase, rows: np.ndarray, seed: int = 0, known: Facts | None = None):
    return plant(kb, rows, Facts.empty() if known is None else known, np.random.default_rng(seed))


def test_planted_facts_are_of_the_right_type_and_unknown():
    kb, splits = load("kin:60")
    rows = np.arange(0, len(kb.facts), 10)
    found = planted(kb, rows, known=splits.all())
    assert len(found.wrong) == len(rows)
    assert not found.wrong.isin(kb.facts + splits.all()).any()
    assert len(found.kb.facts) == len(kb.facts)
    assert found.wrong.isin(found.kb.facts).all()
    assert kb.facts.isin(found.kb.facts).sum() == len(kb.facts) - len(rows)
    for p, s, o in zip(found.wrong.predicate, found.wrong.subject, found.wrong.object):
        same = kb.facts.of(int(p))
        if o >= 0:
            assert s != o
            assert s in same.subject
            assert o in same.object
            # One end is that of the fact that was replaced.
            gone = kb.facts[rows].of(int(p))
            assert s in gone.subject or o in gone.object


def test_the_same_seed_plants_the_same_facts():
    kb, _ = load("kin:40")
    rows = np.arange(0, len(kb.facts), 7)
    one, same, other = (planted(kb, rows, seed).wrong for seed in (1, 1, 2))
    assert one.isin(same).all()
    assert not one.isin(other).all()


def test_an_object_gets_another_class():
    kb, _ = load("street:20")
    is_class = np.isin(kb.facts.predicate, sorted(kb.classes))
    found = planted(kb, np.flatnonzero(is_class)[::5])
    assert len(found.wrong) == len(np.flatnonzero(is_class)[::5])
    assert np.isin(found.wrong.predicate, sorted(kb.classes)).all()
    assert not found.wrong.isin(kb.facts).any()
    # What relates objects stays as it is: another object might lie in another picture.
    relations = np.flatnonzero(~kb.facts.is_unary)[:10]
    assert not len(planted(kb, relations).wrong)


def test_a_predicate_that_holds_of_all_pairs_is_left_alone():
    names = "abc"
    kb = KnowledgeBase.from_facts([(s, "p", o) for s in names for o in names if s != o] + [("a", "q", "b")])
    found = planted(kb, np.arange(len(kb.facts)))
    assert not len(found.wrong)
    assert found.kb.facts.isin(kb.facts).all()
    assert len(found.kb.facts) == len(kb.facts)
