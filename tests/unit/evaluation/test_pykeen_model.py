"""PyKEEN's evaluator ranks by our rules, and finds what `nlil evaluate` finds."""

from __future__ import annotations

import numpy as np
import pytest

from nlil import evaluate, load
from nlil.errors import DataError, UnknownName
from nlil.search.count import count_rules
from nlil.search.options import CountOptions

pytest.importorskip("pykeen", reason="PyKEEN is not installed: the bridge to its evaluator was NOT tested")


def labelled(kb, facts):
    return np.array([(f.arguments[0], f.predicate.name, f.arguments[1]) for f in kb.named(facts)])


def test_both_evaluators_find_the_same():
    from pykeen.evaluation import RankBasedEvaluator
    from pykeen.triples import TriplesFactory

    from nlil.evaluation.pykeen_model import RuleModel

    kb, splits = load("kin:60", seed=1)
    kb = kb.with_facts(kb.binary)
    test, valid = (facts[~facts.is_unary] for facts in (splits.test, splits.valid))
    rules = count_rules(kb, np.arange(kb.num_predicates, dtype=np.int32), CountOptions(max_length=2)).rules
    rules = rules.take(np.arange(0, len(rules), 7))  # few rules: many ties, in which evaluators differ
    names = {name: i for i, name in enumerate(kb.entities)}
    factory = TriplesFactory.from_labeled_triples(labelled(kb, kb.facts), entity_to_id=names)
    triples = {
        part: factory.map_triples(labelled(kb, facts)) for part, facts in (("test", test), ("valid", valid))
    }  # fmt: skip
    found = RankBasedEvaluator().evaluate(
        RuleModel(rules, kb, factory, threads=1),
        triples["test"],
        batch_size=16,
        additional_filter_triples=[factory.mapped_triples, triples["valid"]],
        use_tqdm=False,
    )
    mine = evaluate(rules, kb, test, splits=splits, threads=1)
    for kind in ("realistic", "optimistic", "pessimistic"):
        key = "mrr" if kind == "realistic" else f"mrr_{kind}"
        assert found.get_metric(f"both.{kind}.inverse_harmonic_mean_rank") == pytest.approx(mine[key], abs=1e-6)
    assert mine["mrr_optimistic"] > mine["mrr"] + 0.01  # there are ties indeed
    assert found.get_metric("both.realistic.hits_at_10") == pytest.approx(mine["hits@10"], abs=1e-6)


def test_scores_that_single_precision_cannot_tell_apart_are_no_tie():
    from nlil.evaluation.pykeen_model import _places
    from nlil.kernel.aggregation import evidence, score

    total = evidence(np.array([0.99999995, 0.99999993, 0.5, 0.99999993]))
    assert len(np.unique(score(total).astype(np.float32))) == 2
    assert _places(total).tolist() == [2, 1, 0, 1]


def test_names_are_needed():
    import torch
    from pykeen.triples import CoreTriplesFactory, TriplesFactory

    from nlil.evaluation.pykeen_model import RuleModel

    kb, _ = load("kin:20")
    rules = count_rules(kb, np.array([0], np.int32), CountOptions(max_length=1)).rules
    factory = TriplesFactory.from_labeled_triples(np.array([("nobody", "aunt", "stranger")]))
    with pytest.raises(UnknownName, match="unknown entity 'nobody'"):
        RuleModel(rules, kb, factory)
    numbers = CoreTriplesFactory(torch.tensor([[0, 0, 1]]), 2, 1)
    with pytest.raises(DataError, match="name of each entity, got one with numbers only"):
        RuleModel(rules, kb, numbers)
