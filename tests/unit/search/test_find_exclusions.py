"""Which exclusions are found in a base that can be counted by hand, and when the learner asks for them."""

from __future__ import annotations

import numpy as np
import pytest

from nlil import KnowledgeBase, Learner, LearnerConfig, Splits
from nlil.data.facts import Facts
from nlil.search.exclusions import find_exclusions, probability_apart, share_apart

LIKES = [("a", "likes", "c"), ("a", "likes", "d"), ("b", "likes", "c"), ("b", "likes", "d"), ("b", "likes", "e")]
RING = [(x, "before", y) for x, y in ("ab", "bc", "cd", "da", "ac", "bd")]


def found(rows: list, target: str, valid: tuple[str, str] | None = None, **options: object) -> dict[str, float]:
    """denial -> expected; `valid` is one pair of the target."""
    kb = KnowledgeBase.from_facts(rows)
    held = None if valid is None else one_fact(kb, target, *valid)
    got = find_exclusions(kb, [kb.predicate_id(kb.predicate(target))], held, **options)  # type: ignore[arg-type]
    return {str(e): e.expected for e in got}


def one_fact(kb: KnowledgeBase, predicate: str, x: str, y: str) -> Facts:
    ids = [kb.predicate_id(kb.predicate(predicate)), kb.entities.id(x), kb.entities.id(y)]
    return Facts(*np.asarray(ids, np.int32)[:, None])


def test_expected_by_hand() -> None:
    """far, walked backwards, leads from a to e: a likes 2, e is liked by 5, of 9 facts. knows leads nowhere."""
    fans = [(x, "likes", "e") for x in "fghi"]
    rows = [*LIKES, *fans, ("e", "far", "a"), ("c", "knows", "e"), ("a", "near", "c"), ("a", "near", "e")]
    assert found(rows, "likes", sure=0.0) == {":- likes(X, Y), far(Y, X).": 10 / 9}
    assert found(rows, "likes", sure=0.95) == {}
    assert found([*rows, ("a", "likes", "e")], "likes", sure=0.0) == {}
    assert found([row for row in rows if row != fans[0]], "likes", sure=0.0) == {":- likes(X, Y), far(Y, X).": 1.0}
    assert found([row for row in rows if row not in fans[:2]], "likes", sure=0.0) == {}, "expected less than once"


@pytest.mark.parametrize("share", [0.0, 0.1, 0.9])
def test_the_share_of_relations_kept_apart_is_found_again(share: float) -> None:
    random = np.random.default_rng(0)
    expected = random.uniform(1, 6, (20, 200))
    together = np.where(random.random(expected.shape) < share, 0, random.poisson(expected))
    assert share_apart(list(zip(expected, together))) == pytest.approx(share, abs=0.02)


def test_how_sure_an_exclusion_is_depends_on_the_base() -> None:
    """Never together, two expected: where most relations are kept apart that says it all, elsewhere it is chance."""
    assert probability_apart(0.9, np.array([2.0])) > 0.98
    assert probability_apart(0.02, np.array([2.0])) < 0.14
    assert share_apart([]) == 0.5


def test_asymmetry_weights_and_vetoes() -> None:
    """Nobody stands before and behind the same one; out(x) * in(y) over the reversed pairs adds up to 11."""
    whole = {":- before(X, Y), before(Y, X).": 11 / 6}
    assert found(RING, "before") == whole
    assert found([*RING, ("b", "before", "a", 0.4)], "before") == whole
    assert found([*RING, ("b", "before", "a", 0.5)], "before") == {}
    assert found(RING, "before", valid=("b", "a")) == {}
    assert found(RING, "before", valid=("d", "d")) == whole
    assert found(RING, "before", allowed=set()) == {}


def test_unary_and_empty_targets_have_none() -> None:
    kb = KnowledgeBase.from_facts([("a", "red"), ("a", "p", "b")])
    kb = kb.with_facts(kb.facts[:0])
    assert find_exclusions(kb, range(kb.num_predicates)) == ()


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"search": "count"}, 1),
        ({"search": "count", "exclusions": "off"}, 0),
        ({"search": "count", "not_body": "before"}, 0),
        ({"search": "both", "neural_facts": "1"}, 1),
        ({"preset": "paper", "search": "count"}, 0),
        ({"search": "neural", "epochs": "1", "restarts": "1"}, 0),
    ],
)
def test_who_asks_for_them(settings: dict[str, str], expected: int) -> None:
    config = LearnerConfig().with_values(settings)
    assert len(Learner(config).fit(KnowledgeBase.from_facts(RING)).rules.exclusions) == expected


def test_validation_facts_veto_what_is_learned() -> None:
    kb = KnowledgeBase.from_facts(RING)
    learner = Learner(LearnerConfig(search="count"))
    assert learner.fit(kb, splits=Splits(kb.facts)).rules.exclusions
    splits = Splits(kb.facts, one_fact(kb, "before", "b", "a"))
    assert learner.fit(kb, splits=splits).rules.exclusions == ()
