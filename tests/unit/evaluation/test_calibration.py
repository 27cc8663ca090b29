"""What scores mean: the figures by hand, the map, and which candidates count."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nlil.data.facts import Facts, Splits
from nlil.data.kb import KnowledgeBase
from nlil.evaluation import calibration, candidates
from nlil.evaluation.calibration import (
    brier_score,
    calibration_figures,
    cross_fitted,
    expected_calibration_error,
    fit_calibration,
    fit_map,
)
from nlil.evaluation.candidates import Candidates, best_reached, scored_candidates
from nlil.evaluation.reliability_plot import plot_reliability
from nlil.kernel.calibration import Calibration, CalibrationMap
from nlil.kernel.ruleset import RuleSet
from nlil.logic.parse import parse_rule
from nlil.logic.rule import RuleStats, ScoredRule


def drawn(seed: int, count: int = 4000) -> Candidates:
    """Scores that promise too much: what is said to be s is true with probability s^3 / 2."""
    random = np.random.default_rng(seed)
    score = random.uniform(0.01, 0.99, count)
    return Candidates(score, random.uniform(size=count) < score**3 / 2, np.full(count, 2), np.arange(count), count)


def test_figures_by_hand() -> None:
    said, true = np.array([0.1, 0.1, 0.1, 0.9]), np.array([False, True, False, True])
    assert brier_score(said, true) == pytest.approx((0.01 + 0.81 + 0.01 + 0.01) / 4)
    # A bin with three candidates, |.1 - 1/3|, and one with one, |.9 - 1|.
    assert expected_calibration_error(said, true) == pytest.approx((3 * (1 / 3 - 0.1) + 0.1) / 4)
    assert expected_calibration_error(np.array([1.0, 0.0]), np.array([True, False])) == 0.0


def test_the_map_mends_facts_it_has_not_seen() -> None:
    fitted = fit_calibration(drawn(0))
    figures = calibration_figures(drawn(1), fitted)
    assert figures["ece_before"] > 0.2
    assert figures["ece_after"] < 0.03
    assert figures["brier_after"] < figures["brier_before"]
    assert figures["calibration_candidates"] == 4000


def test_scores_that_are_right_stay() -> None:
    random = np.random.default_rng(2)
    score = random.uniform(size=20_000)
    found = fit_map(score, random.uniform(size=len(score)) < score)
    assert found(np.array([0.1, 0.5, 0.9])) == pytest.approx([0.1, 0.5, 0.9], abs=0.02)
    assert CalibrationMap()(np.array([0.25])) == pytest.approx([0.25])


def drawn_map(seed: int, count: int, copies: int = 1) -> CalibrationMap:
    """Fitted on scores that are right; each fact stands there `copies` times."""
    random = np.random.default_rng(seed)
    score = random.uniform(size=count)
    is_true = random.uniform(size=count) < score
    return fit_map(np.tile(score, copies), np.tile(is_true, copies), np.tile(np.arange(count), copies))


def test_the_interval_holds_the_truth_as_often_as_it_says() -> None:
    held = [
        (found.low or 1) <= truth <= (found.high or 0)
        for seed in range(100)
        for truth in (0.2, 0.5, 0.8)
        for found in [drawn_map(seed, 300).estimate(truth)]
    ]
    assert 0.9 <= np.mean(held) <= 0.99


def test_the_interval_narrows_with_facts_and_not_with_copies_of_them() -> None:
    def width(found: CalibrationMap) -> float:
        said = found.estimate(0.5)
        assert said.low is not None
        assert said.high is not None
        assert said.low < said.value < said.high
        return said.high - said.low

    few = width(drawn_map(0, 300))
    assert width(drawn_map(0, 4800)) == pytest.approx(few / 4, rel=0.2)
    assert width(drawn_map(0, 300, copies=5)) == pytest.approx(few, rel=0.05)


def test_the_interval_is_kept_and_old_files_have_none() -> None:
    fitted = Calibration({2: drawn_map(0, 300)}, 300)
    assert Calibration.from_dict(fitted.to_dict()) == fitted
    values = fitted.to_dict()
    del values["maps"]["2"]["covariance"]
    assert Calibration.from_dict(values).estimate(0.5, 2) == (fitted.probability(0.5, 2), None, None)
    values["maps"]["2"]["covariance"] = [1.0]
    with pytest.raises(ValueError, match="6 numbers"):
        Calibration.from_dict(values)


@pytest.mark.parametrize("truth", ["rising", "falling", "all", "none"])
def test_the_map_rises_whatever_it_is_fitted_on(truth: str) -> None:
    score = np.linspace(0.0, 1.0, 200)
    is_true = {"rising": score > 0.5, "falling": score < 0.5, "all": score >= 0, "none": score < 0}[truth]
    said = fit_map(score, is_true)(np.linspace(1e-6, 1 - 1e-6, 1000))
    assert np.isfinite(said).all()
    assert ((said > 0) & (said < 1)).all()
    assert (np.diff(said) >= 0).all()
    inside = said[(said > 1e-8) & (said < 1 - 1e-8)]
    assert len(inside) > 100
    assert (np.diff(inside) > 0).all()


def test_too_few_candidates_give_no_map() -> None:
    few = drawn(0, calibration.LEAST_CANDIDATES - 1)
    assert fit_calibration(few).maps == {}
    assert "brier_after" not in calibration_figures(few, fit_calibration(few))
    assert list(fit_calibration(drawn(0, calibration.LEAST_CANDIDATES)).maps) == [2]


def test_no_candidate_is_told_by_a_map_that_knows_its_fact() -> None:
    """Every fact is a candidate twice, for p(s, ?) and p(?, o): its label moves others, never its own rows."""
    found = drawn(4, 60)
    twice = Candidates(*(np.tile(column, 2) for column in (found.score, found.is_true, found.arity, found.fact)), 60)
    fitted = fit_calibration(twice)
    said = cross_fitted(twice, fitted)
    assert np.array_equal(said[:60], said[60:])
    for fact in range(10):
        turned = replace(twice, is_true=twice.is_true ^ (twice.fact == fact))
        changed = cross_fitted(turned, fitted) != said
        assert not changed[twice.fact == fact].any()
        assert changed.mean() > 0.3
    assert not np.array_equal(said, fitted.probabilities(twice.score, twice.arity))
    own, elsewhere = (calibration_figures(twice, fitted, is_own)["brier_after"] for is_own in (True, False))
    assert own == brier_score(said, twice.is_true) != elsewhere


def test_an_arity_without_a_map_keeps_its_scores() -> None:
    found = drawn(5, 100)
    found = replace(found, arity=np.where(found.fact < 30, 1, 2))
    fitted = fit_calibration(found)
    assert list(fitted.maps) == [2]
    said = cross_fitted(found, fitted)
    assert np.array_equal(said[:30], found.score[:30])
    assert (said[30:] != found.score[30:]).all()
    assert (
        len(
            cross_fitted(
                replace(found, **{n: getattr(found, n)[:0] for n in ("score", "is_true", "arity", "fact")}), fitted
            )
        )
        == 0
    )


def test_as_json_and_back() -> None:
    fitted = fit_calibration(drawn(0))
    assert Calibration.from_dict(fitted.to_dict()) == fitted
    assert fitted.probability(0.5, 1) is None
    falling = fitted.to_dict() | {"maps": {"2": {"by_score": -1.0, "by_rest": 1.0, "offset": 0.0}}}
    with pytest.raises(ValueError, match="increasing map"):
        Calibration.from_dict(falling)


def test_best_reached_keeps_the_first_of_equals() -> None:
    evidence = np.array([0, 7, 7, 9, 7, 0])
    assert best_reached(evidence, 2).tolist() == [1, 3]
    assert best_reached(evidence, 10).tolist() == [1, 2, 3, 4]


def test_best_reached_are_the_first_of_all_in_order() -> None:
    random = np.random.default_rng(0)
    for size in range(40):
        evidence, most = random.integers(0, 8, size), int(random.integers(1, 12))
        order = np.lexsort((np.arange(size), -evidence))
        expected = np.sort(order[evidence[order] > 0][:most])
        assert best_reached(evidence, most).tolist() == expected.tolist()


NAMED = [
    ("a", "q", "b"),
    ("a", "q", "c"),
    ("a", "q", "d"),
    ("a", "q", "e"),
    ("z", "q", "y"),
    ("a", "p", "b"),
    ("m", "r"),
    ("n", "r"),
    ("o", "r"),
]


def base() -> tuple[KnowledgeBase, RuleSet]:
    # f has no q: no rule reaches it. m, n, o have r, which speaks for s; p and s are the targets.
    kb = KnowledgeBase.from_facts([*NAMED, ("f", "s"), ("m", "s")])
    stats = RuleStats(1, 2, 1, 1)
    scored = [
        ScoredRule(parse_rule(text), stats, weight)
        for text, weight in (("p(X, Y) :- q(X, Y).", 0.5), ("s(X) :- r(X).", 0.25))
    ]
    return kb, RuleSet.of(kb, scored)


def facts(kb: KnowledgeBase, *named: tuple[str, ...]) -> Facts:
    rows = [(kb.predicate_id(kb.predicate(p)), *map(kb.entities.id, names)) for p, *names in named]
    columns = np.array([(*row, -1)[:3] for row in rows], np.int32).reshape(-1, 3).T
    return Facts(*columns)


def test_which_candidates_count() -> None:
    kb, rules = base()
    splits = Splits(kb.facts, facts(kb, ("p", "a", "c"), ("p", "a", "f"), ("s", "n")), facts(kb, ("p", "a", "d")))
    found = scored_candidates(rules, kb, splits, "valid")
    # p(a, ?): b is known from training and d is a test fact, so both are left out; c is true, e is not, f is not
    # reached. p(?, c): a, true. p(?, f): nobody is reached. s: n is true, o is not, m is known.
    two, one = found.of_arity(2), found.of_arity(1)
    assert sorted(two.is_true.tolist()) == [False, True, True]
    assert two.score == pytest.approx([0.5] * 3)
    assert sorted(one.is_true.tolist()) == [False, True]
    assert one.score == pytest.approx([0.25] * 2)
    assert found.num_answers == 5
    # p(a, c) is proposed by p(a, ?) and by p(?, c).
    assert len(set(two.fact.tolist())) == 2
    assert len(set(found.fact.tolist())) == 4
    assert calibration_figures(found, None)["calibration_answers"] == pytest.approx(3 / 5)
    assert len(scored_candidates(rules, kb, splits, "train")) == 0


def test_a_test_fact_is_never_a_label_of_validation() -> None:
    kb, rules = base()
    valid, test = facts(kb, ("p", "a", "c")), facts(kb, ("p", "a", "d"), ("p", "z", "y"))
    true = {
        split: scored_candidates(rules, kb, Splits(kb.facts, valid, test), split).is_true.sum()
        for split in ("valid", "test")
    }
    assert true == {"valid": 2, "test": 4}


def test_the_sample_follows_from_the_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "MOST_QUERIES", 2)
    kb, rules = base()
    splits = Splits(kb.facts, facts(kb, ("p", "a", "c"), ("p", "z", "y"), ("p", "a", "d"), ("p", "a", "e")))
    drawn = [scored_candidates(rules, kb, splits, "valid", seed=seed) for seed in (0, 0, 1, 2, 3)]
    assert np.array_equal(drawn[0].is_true, drawn[1].is_true)
    assert len({(len(one), one.num_answers) for one in drawn}) > 1
    # Six queries: p(a, ?) has three answers, each of the others one. Without one of them no query comes twice.
    monkeypatch.setattr(candidates, "MOST_QUERIES", 5)
    most = [scored_candidates(rules, kb, splits, "valid", seed=seed).num_answers for seed in range(40)]
    assert set(most) <= {8 - 3, 8 - 1}


def test_threads_do_not_change_the_sample() -> None:
    from nlil.datasets import load_dataset

    data = load_dataset("kin:60")
    stats = RuleStats(1, 2, 1, 1)
    pairs = [(p, q) for p in ("son", "daughter", "aunt") for q in ("father", "mother", "niece")]
    rules = RuleSet.of(data.kb, [ScoredRule(parse_rule(f"{p}(X, Y) :- {q}(Y, X)."), stats, 0.5) for p, q in pairs])
    one, two = (scored_candidates(rules, data.kb, data.splits, "test", threads=threads) for threads in (1, 2))
    assert len(one) > 20
    assert np.array_equal(one.score, two.score)
    assert np.array_equal(one.is_true, two.is_true)


def test_classes_of_the_objects_of_a_split() -> None:
    from nlil.datasets import load_dataset
    from nlil.evaluation.members import MemberScorer
    from nlil.kernel.aggregation import score

    data = load_dataset("street:20")
    names = ("person", "car", "shirt")
    texts = [f"{name}(X) :- {step}." for name in names for step in ("on(X, Z1)", "wearing(Z1, X)", "true")]
    scored = [ScoredRule(parse_rule(text), RuleStats(1, 2, 1, 1), 0.1 + 0.05 * i) for i, text in enumerate(texts)]
    backwards = sorted((data.kb.predicate(name) for name in names), key=data.kb.predicate_id, reverse=True)
    rules = replace(RuleSet.of(data.kb, scored), requested=tuple(backwards))
    found = scored_candidates(rules, data.kb, data.splits, "test")
    ids = np.array([data.kb.predicate_id(data.kb.predicate(name)) for name in names], np.int32)
    asked = data.splits.test[np.isin(data.splits.test.predicate, ids)]
    # Each object has one class, its priors reach all three, and bodies see the scenes of the split.
    assert (len(found), found.num_answers, found.is_true.sum()) == (3 * len(asked), len(asked), len(asked))
    scenes = data.kb.with_facts(data.splits.context["test"])
    evidence = MemberScorer(rules, scenes, ids).evidence(asked.subject)
    own = score(evidence[np.arange(len(asked)), [ids.tolist().index(p) for p in asked.predicate]])
    assert np.sort(found.score[found.is_true]) == pytest.approx(np.sort(own))


def test_the_plot_is_a_picture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    found = drawn(3)
    plain = plot_reliability(found, None, tmp_path / "plain.png", "before")
    both = plot_reliability(found, fit_calibration(found), tmp_path / "both.png", "both")
    assert plain.read_bytes().startswith(b"\x89PNG")
    assert plain.read_bytes() != both.read_bytes()
    apart = plot_reliability(found, fit_calibration(found), tmp_path / "apart.png", "both", is_own_sample=True)
    assert apart.read_bytes() != both.read_bytes()


def test_intervals_of_shares() -> None:
    from nlil.evaluation.calibration import Reliability
    from nlil.evaluation.reliability_plot import interval

    table = Reliability(np.array([10, 10, 100]), np.zeros(3), np.array([0.5, 1.0, 0.0]))
    below, above = interval(table)
    # Wilson's interval for 5, 10 of 10 and 0 of 100.
    assert below == pytest.approx([0.5 - 0.2366, 1 - 0.7225, 0], abs=1e-4)
    assert above == pytest.approx([0.7634 - 0.5, 0, 0.0370], abs=1e-4)
