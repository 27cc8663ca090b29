"""The authors of theories beside the cover: weights that are fitted together, and trained formulas; who is chosen."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nlil.data.kb import KnowledgeBase
from nlil.errors import ConfigError
from nlil.evaluation.ranking import Ranker
from nlil.kernel.aggregation import Aggregation
from nlil.kernel.calibration import Calibration, CalibrationMap
from nlil.kernel.evaluator import Evaluator
from nlil.kernel.ruleset import RuleSet
from nlil.kernel.statistics import rule_stats
from nlil.logic.formula import And
from nlil.logic.parse import parse_rule
from nlil.logic.rule import ScoredRule
from nlil.theory.authors import HOLD, fit_weights, only
from nlil.theory.build import Judges, chosen_authors, make_theory
from nlil.theory.firings import Proposals, TargetSample, propose
from nlil.theory.formulas import Sharpened, without_dead
from nlil.theory.theory import SIZES, SizeScore, ValidationScores, load_theory, save_theory

PLAIN = Aggregation("noisy-or", 5)


def rival_base(count: int) -> KnowledgeBase:
    """p(X, Y) where both q(X, Y) and s(X, Y); each of them alone is wrong half of the time."""
    facts = []
    for i in range(count):
        facts += [(f"a{i}", name, f"{end}{i}") for name, end in zip("pqqss", "bbcbd")]
    return KnowledgeBase.from_facts(facts)


def counted(kb: KnowledgeBase, *texts: str) -> RuleSet:
    evaluator = Evaluator(kb)
    scored = [(rule := parse_rule(text), rule_stats(evaluator, rule)) for text in texts]
    return RuleSet.of(kb, [ScoredRule(rule, stats, stats.smoothed) for rule, stats in scored], PLAIN)


def proposals(kb: KnowledgeBase, rules: RuleSet) -> Proposals:
    ranker, target = Ranker(rules, kb, 1), kb.predicate_id(kb.predicate("p"))
    facts = kb.facts.of(target)
    return propose(ranker, TargetSample(target, facts, facts[:0], 1.0), ranker.pool.scratch())


def test_proposals_are_all_candidates_that_are_no_other_known_answer() -> None:
    kb = rival_base(3)
    found = proposals(kb, counted(kb, "p(X, Y) :- q(X, Y).", "p(X, Y) :- s(X, Y)."))
    by_query: dict[int, list[tuple[bool, list[int]]]] = {}
    for i, query in enumerate(found.query.tolist()):
        rules = found.rule[found.pointer[i] : found.pointer[i + 1]].tolist()
        by_query.setdefault(query, []).append((bool(found.is_right[i]), rules))
    ahead, back = [(False, [0]), (False, [1]), (True, [0, 1])], [(True, [0, 1])]
    assert {q: sorted(some) for q, some in by_query.items()} == {
        0: ahead,
        1: ahead,
        2: ahead,
        3: back,
        4: back,
        5: back,
    }
    alone = only(found, np.array([1]), 2)
    assert (len(alone.query), alone.is_right.sum()) == (9, 6)
    assert set(alone.rule.tolist()) == {0}


def weigh(proposed: Proposals, weight: list[float], aggregation: Aggregation = PLAIN) -> np.ndarray:
    return fit_weights(proposed, np.array(weight), np.zeros((2, len(weight)), np.int64), aggregation)


def of(queries: list[list[tuple[bool, list[int]]]]) -> Proposals:
    """Proposals of one direction: for each query its candidates, with the rules that propose them."""
    query = [q for q, some in enumerate(queries) for _ in some]
    rows = [row for some in queries for row in some]
    pointer = np.cumsum([0, *(len(rules) for _, rules in rows)])
    rule = np.array([r for _, rules in rows for r in rules], np.int32)
    right = np.array([is_right for is_right, _ in rows])
    return Proposals(np.array(query, np.int32), right, pointer, rule, np.ones(len(queries)), len(queries))


def test_a_rule_that_is_right_where_another_is_wrong_comes_to_count_more() -> None:
    proposed = of([[(True, [0]), (False, [1])]] * 400)
    weight = weigh(proposed, [0.3, 0.5])
    assert weight[0] > weight[1]
    assert ((weight > 0) & (weight < 1)).all()
    few = weigh(of([[(True, [0]), (False, [1])]]), [0.3, 0.5])
    assert few[0] < few[1], f"one fact does not outweigh the counts (HOLD = {HOLD:g})"


def test_what_nobody_competes_with_keeps_its_weight() -> None:
    assert weigh(of([[(True, [0])], [(False, [1])]]), [0.3, 0.5]) == pytest.approx([0.3, 0.5])


def test_only_as_many_rules_count_as_ranking_counts() -> None:
    """The third rule of a candidate adds nothing where two count: nothing can be learned of its weight."""
    proposed = of([[(True, [0, 1, 2]), (False, [0, 1, 3])]] * 3000)
    start = [0.5, 0.5, 0.1, 0.12]
    assert weigh(proposed, start, Aggregation("noisy-or", 2)) == pytest.approx(start)
    weight = weigh(proposed, start, Aggregation("noisy-or", 3))
    assert weight[2] > weight[3]


def test_slopes_are_those_of_the_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    from nlil.theory import authors as weights

    proposed = of([[(True, [0, 2]), (False, [1]), (False, [1, 2])], [(False, [0]), (True, [1])]])
    seen = []

    def look(loss, start, steps):  # type: ignore[no-untyped-def]
        point = np.array([0.3, -0.2, 0.1, 0.4])
        seen.append((loss(point)[1], [(loss(point + h)[0] - loss(point - h)[0]) / 2e-5 for h in 1e-5 * np.eye(4)]))
        return start

    monkeypatch.setattr(weights, "minimise", look)
    weigh(proposed, [0.3, 0.5, 0.2])
    assert seen[0][0] == pytest.approx(seen[0][1], abs=1e-6)


def test_formulas_join_what_two_rules_say() -> None:
    kb = rival_base(200)
    pool = counted(kb, "p(X, Y) :- q(X, Y).", "p(X, Y) :- s(X, Y).")
    theory = make_theory(pool, kb, 2, threads=1, author="formulas")
    best = theory.rules(pool)[0]
    assert isinstance(best.rule.body, And)
    assert (best.stats.support, best.stats.body_size) == (200, 200), "counted on all facts"
    assert set(theory.authors.values()) == {"formulas"}
    rules, joined = theory.joined(pool)
    assert len(rules) == 3
    assert joined.own is None
    assert [str(s.rule) for s in joined.rules(rules)] == [str(s.rule) for s in theory.rules(pool)]
    assert not make_theory(pool, kb, 2, threads=1, author="cover").rules(pool).is_program.any()


def test_a_part_of_a_formula_that_changes_nothing_is_left_out() -> None:
    """Columns: a rule, two bodies that hold together only where the rule does, and one that never holds with it."""
    table = np.array([[1, 1, 1, 0], [1, 0, 1, 0], [1, 1, 0, 0], [0, 1, 0, 1], [0, 0, 1, 0]], bool)
    for literals, lean in (
        (((1, True), (2, True)), Sharpened(1, ((2, True),))),
        (((1, True), (3, False)), Sharpened(1, ((3, False),))),
        (((1, False), (2, True)), Sharpened(0, ((1, False),))),
    ):
        found, holds = without_dead(Sharpened(0, literals), table)
        assert found == lean
        assert holds.tolist() == np.logical_and.reduce([table[:, k] == s for k, s in ((0, True), *literals)]).tolist()


def test_weights_are_kept_in_a_file_and_order_is_that_of_the_cover(tmp_path: Path) -> None:
    kb = rival_base(60)
    pool = counted(kb, "p(X, Y) :- q(X, Y).", "p(X, Y) :- s(X, Y).", "p(X, Y) :- q(X, Y), s(X, Y).")
    cover, weights = (make_theory(pool, kb, 2, threads=1, author=author) for author in ("cover", "weights"))
    assert cover.rows.tolist() == weights.rows.tolist()
    assert cover.weight is None
    assert weights.weight is not None
    assert not np.isnan(weights.weight[:2]).any()
    assert weights.rules(pool).weights == pytest.approx(weights.weight[:2], rel=1e-6)
    assert cover.rules(pool).weights == pytest.approx(pool.weights[cover.rows[:2]])
    save_theory(weights, tmp_path / "theory.parquet")
    again = load_theory(tmp_path / "theory.parquet", pool)
    assert again.weight is not None
    np.testing.assert_array_equal(again.weight, weights.weight)
    assert again.authors == {"p/2": "weights"}


def test_scores_that_are_no_numbers_are_refused(tmp_path: Path) -> None:
    """A chart of the report would compare them."""
    kb, path = rival_base(60), tmp_path / "theory.parquet"
    pool = counted(kb, "p(X, Y) :- q(X, Y).")
    sizes = tuple(SizeScore(size, [0.5]) for size in SIZES)  # type: ignore[arg-type]
    theory = make_theory(pool, kb, 2, threads=1, author="cover")
    save_theory(replace(theory, scores={"p/2": ValidationScores(10, 0.5, sizes)}), path)
    with pytest.raises(TypeError, match="real number"):
        load_theory(path, pool)


def test_every_disjunct_counts_as_a_body() -> None:
    kb = rival_base(60)
    pool = counted(kb, "p(X, Y) :- q(X, Y) ; s(X, Y).", "p(X, Y) :- q(X, Y), s(X, Y).")
    assert pool.num_disjuncts.tolist() == [2, 1]
    theory = make_theory(pool, kb, 3, threads=1)
    assert theory.rows.tolist() == [1, 0]
    assert theory.place.tolist() == [0, 2]
    assert [len(theory.rules(pool, size)) for size in (1, 2, 3)] == [1, 1, 2]


def test_another_author_is_taken_only_where_it_is_clearly_better() -> None:
    random = np.random.default_rng(0)
    target = np.repeat([0, 1, 2], [200, 200, 20])
    cover = random.random(420)
    better = cover + np.where(target == 1, 0.05, 0.0) + 0.01 * random.standard_normal(420)
    names = ["p/2", "q/2", "r/2"]
    worse_on_p = np.where(target == 0, cover - 0.1, better)
    assert chosen_authors({"cover": cover, "weights": cover}, target, names) == dict.fromkeys(names, "cover")
    found = chosen_authors({"cover": cover, "weights": worse_on_p}, target, names)
    assert found == {"p/2": "cover", "q/2": "weights", "r/2": "cover"}
    found = chosen_authors({"cover": cover, "weights": better}, target, names)
    assert found["q/2"] == found["r/2"] == "weights", "few facts of its own: what is better over all facts"


def test_facts_that_judge_help_nobody_to_choose() -> None:
    kb = rival_base(60)
    pool = counted(kb, "p(X, Y) :- q(X, Y).", "p(X, Y) :- s(X, Y).")
    held = kb.facts.of(kb.predicate_id(kb.predicate("p")))[:20]
    less = replace(kb, facts=kb.facts[~kb.facts.isin(held)])
    judged = make_theory(pool, less, 2, threads=1, author="cover", judges=Judges(held, kb.facts, less))
    assert judged.rows.tolist() == make_theory(pool, less, 2, threads=1, author="cover").rows.tolist()
    assert judged.scores["p/2"].facts == 20


def test_facts_elsewhere_do_not_compete_in_scores_and_choose_nothing() -> None:
    kb = rival_base(60)
    pool = counted(kb, "p(X, Y) :- q(X, Y).")
    p, rivals = kb.predicate_id(kb.predicate("p")), kb.facts.of(kb.predicate_id(kb.predicate("q")))
    held = kb.facts.of(p)[:20]
    less = replace(kb, facts=kb.facts[~kb.facts.isin(held)])
    elsewhere = replace(rivals, predicate=np.full_like(rivals.predicate, p))
    seen: list[tuple[int, int]] = []

    def calibrate(rules: RuleSet, judges: Judges) -> Calibration:
        seen.append((len(rules), len(judges.facts)))
        return Calibration({2: CalibrationMap(offset=1.0)})

    judges = Judges(held, kb.facts, less)
    plain, told = (
        make_theory(pool, less, 2, threads=1, judges=judges, elsewhere=some, calibrate=calibrate)
        for some in (None, elsewhere)
    )
    assert plain.rows.tolist() == told.rows.tolist()
    assert plain.scores["p/2"].pool < 1.0 == told.scores["p/2"].pool
    assert seen == [(1, 20)] * 2
    assert told.rules(pool).calibration is told.calibration is not None
    assert told.rules(pool, size=1).calibration is None, "another size has other scores"


def test_unknown_authors_are_refused() -> None:
    kb = rival_base(3)
    with pytest.raises(ConfigError, match="expected auto, cover, weights, formulas"):
        make_theory(counted(kb, "p(X, Y) :- q(X, Y)."), kb, 2, author="nobody")
