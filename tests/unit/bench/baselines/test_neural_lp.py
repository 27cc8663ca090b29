"""Neural-LP: it learns, hides what it is asked, ranks as the protocol says, and tells its time."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from kbs import family, knowledge_base, street
from nlil.data.facts import Facts
from nlil.data.kb import KnowledgeBase
from nlil.datasets.planted import planted
from nlil.errors import ConfigError, NlilError
from nlil.logic.predicate import Predicate
from nlil_bench.baselines.neural_lp import NeuralLP, NeuralLPModel, Trainer, chain_epoch_seconds

QUICK = NeuralLP(hidden=16, lr=0.02, batch=16, epochs=6)


@pytest.mark.parametrize("steps", [1, 2, 4])
def test_attentions_are_distributions(steps: int) -> None:
    trainer = Trainer(NeuralLP(steps=steps, hidden=8), family())
    attentions = trainer.controller(torch.arange(len(trainer.vocabulary)))
    assert attentions.operators.shape == (len(trainer.vocabulary), 3, steps, trainer.map.num_operators)
    assert [b.shape[-1] for b in attentions.memories] == list(range(1, steps + 2))
    for distribution in (attentions.operators, *attentions.memories):
        assert bool((distribution >= 0).all())
        torch.testing.assert_close(distribution.sum(-1), torch.ones(distribution.shape[:-1]))


def split_chain() -> tuple[KnowledgeBase, Facts, Predicate]:
    base = planted("chain", size=100)
    facts = base.kb.facts
    mine = np.flatnonzero(facts.predicate == base.kb.predicate_id(base.target))
    held = np.zeros(len(facts), bool)
    held[np.random.default_rng(0).choice(mine, len(mine) // 5, replace=False)] = True
    return base.kb.with_facts(facts[~held]), facts[held], base.target


@pytest.fixture(scope="module")
def learned() -> tuple[NeuralLPModel, KnowledgeBase, Facts]:
    kb, test, target = split_chain()
    return QUICK.fit(kb, [target]), kb, test


def test_learns_a_planted_chain(learned: tuple[NeuralLPModel, KnowledgeBase, Facts]) -> None:
    model, kb, test = learned
    metrics = model.rank(kb, test)
    assert metrics.num_queries == 2 * len(test)
    assert metrics.mrr > 0.95
    assert metrics["mrr_pessimistic"] <= metrics.mrr <= metrics["mrr_optimistic"]
    assert len(model.seconds) == QUICK.epochs
    assert model.history[-1]["loss"] < model.history[0]["loss"]
    best, *others = model.rules(4)[model.targets[0]]
    assert str(best.rule) == "works_in(X, Y) :- employed_by(X, Z1), located_in(Z1, Y)."
    assert best.confidence > 0.9
    assert 0 <= sum(r.confidence for r in others) <= 1 - best.confidence + 1e-9


def test_rules_hold_all_the_attention() -> None:
    model = NeuralLP(steps=1, hidden=8, epochs=0).fit(family())
    for rules in model.rules(10**6).values():
        assert sum(r.confidence for r in rules) == pytest.approx(1)


def test_an_epoch_asks_its_share_of_the_queries_and_others_each_time() -> None:
    asked: list[int] = []
    trainer = Trainer(NeuralLP(hidden=8, batch=1, share=0.25), family())
    trainer._batch = lambda queries: asked.append(int(queries.code[0] * 1000 + queries.known[0])) or 0.0  # type: ignore
    trainer.epoch()
    first = list(asked)
    assert len(first) == -(-len(trainer.queries) // 4)
    asked.clear()
    trainer.epoch()
    assert len(asked) == len(first)
    assert asked != first
    with pytest.raises(ConfigError, match="share: expected a number above 0 and at most 1, got 0"):
        NeuralLP(share=0.0)


def test_only_the_own_fact_is_no_reason() -> None:
    """p holds between pairs that nothing else connects: hidden, no answer can be reached."""
    kb = knowledge_base("\n".join(f"a{i} p b{i}" for i in range(8)) + "\nc q d")
    trainer = Trainer(QUICK, kb, ["p"])
    walks = trainer.map.walks(trainer.queries)
    assert bool((walks.answer < 0).all())
    before = {name: value.clone() for name, value in trainer.controller.state_dict().items()}
    loss, _ = trainer.epoch()
    assert loss == pytest.approx(-np.log(1e-20))
    assert all(torch.equal(before[name], value) for name, value in trainer.controller.state_dict().items())
    model = trainer.model()
    # Ranked, too: a training fact is not its own reason, so its answer ties with all that is out of reach.
    assert model.rank(kb, kb.facts.of(kb.predicate_id(Predicate("p", 2))))["mrr"] < 0.2


def test_same_seed_same_result() -> None:
    kb, test, target = split_chain()
    one, two = (NeuralLP(hidden=8, epochs=1, batch=32, threads=n).fit(kb, [target]) for n in (1, 2))
    other = NeuralLP(hidden=8, epochs=1, batch=32, seed=1).fit(kb, [target])
    assert all(torch.equal(a, b) for a, b in zip(one.controller.parameters(), two.controller.parameters()))
    assert one.rank(kb, test).values == two.rank(kb, test).values
    assert not torch.equal(one.controller.choose, other.controller.choose)


def test_scores_are_the_best_first_and_both_ways(learned: tuple[NeuralLPModel, KnowledgeBase, Facts]) -> None:
    model, kb, test = learned
    subject, object = int(test.subject[0]), int(test.object[0])
    entities, scores = model.scores("works_in", kb.entities.name(subject))
    assert (np.diff(scores) <= 0).all()
    assert 0 < scores.sum() <= 1 + 1e-9
    assert scores[entities == object] > 0.1
    back, back_scores = model.scores("works_in", object, inverse=True)
    assert back_scores[back == subject] > 0.1
    with pytest.raises(ConfigError, match="train it with that target"):
        model.scores("located_in", subject)


def test_ranks_are_those_of_dense_scores(learned: tuple[NeuralLPModel, KnowledgeBase, Facts]) -> None:
    model, kb, test = learned
    test = test[:10]
    known = test + kb.facts
    ranks = {}
    for i in range(len(test)):
        for inverse in (False, True):
            ends = (int(test.subject[i]), int(test.object[i]))
            x, answer = ends[::-1] if inverse else ends
            dense = np.zeros(kb.num_entities)
            entities, scores = model.scores(model.targets[0], x, inverse)
            dense[entities] = np.where(scores < 1e-20, 0, scores)
            of_x = known.of(int(test.predicate[i]))
            answers = of_x.subject[of_x.object == x] if inverse else of_x.object[of_x.subject == x]
            rivals = np.setdiff1d(np.arange(kb.num_entities), answers)
            close = np.isclose(dense[rivals], dense[answer], rtol=1e-7, atol=0)
            ranks[i, inverse] = ((dense[rivals] > dense[answer]) & ~close).sum() + 1 + close.sum() / 2
    metrics = model.rank(kb, test)
    assert metrics.mrr == pytest.approx(np.mean([1 / r for r in ranks.values()]))


def test_unary_targets_start_from_everything() -> None:
    kb = knowledge_base(
        "\n".join(f"e{i} {c}" for i in range(30) for c in ["red"] * (i % 3 == 0) + ["odd"] * (i % 2))
        + "\n"
        + "\n".join(f"e{i} near e{(i * 7 + 1) % 30}" for i in range(30))
        + "\n"
        + "\n".join(f"e{(i * 7 + 1) % 30} hot" for i in range(0, 30, 3))
    )
    target = kb.predicate("hot")
    facts = kb.facts.of(kb.predicate_id(target))
    model = NeuralLP(hidden=16, lr=0.02, batch=4, epochs=50, seed=2).fit(kb, [target])
    assert str(model.rules(1)[target][0].rule) == "hot(X) :- near(Z1, X), red(Z1)."
    entities, _ = model.scores(target)
    assert set(entities[: len(facts)].tolist()) == set(facts.subject.tolist())
    metrics = model.rank(kb, facts)
    assert metrics["f1"] == 1


def test_members_do_not_stand_out_by_being_hidden() -> None:
    """Nothing tells marked things from others; but hiding a mark changes the sums that all scores are divided by."""
    kb = knowledge_base("\n".join(f"e{i} thing" for i in range(20)) + "\n" + "\n".join(f"e{i} mark" for i in range(10)))
    model = NeuralLP(hidden=8, epochs=2).fit(kb, ["mark"])
    metrics = model.rank(kb, kb.facts.of(kb.predicate_id(Predicate("mark", 1))))
    assert (metrics["precision"], metrics["recall"]) == (0.5, 1.0)


def test_scene_classes_are_ranked() -> None:
    kb = street()
    model = NeuralLP(hidden=8, epochs=1).fit(kb, ["person", "car", "tree"])
    facts = kb.facts[np.isin(kb.facts.predicate, [kb.predicate_id(t) for t in model.targets])]
    metrics = model.rank(kb, facts)
    assert {"r@1", "r@5"} <= set(metrics.values)
    assert metrics["r@5"] == 1


def test_epoch_seconds_scale_with_the_sample() -> None:
    kb = family()
    whole = chain_epoch_seconds(kb, ["uncle", "mother"], 2, hidden=8)
    assert whole.queries == whole.measured == 12
    part = chain_epoch_seconds(kb, ["uncle", "mother"], 3, queries=6, hidden=8)
    assert (part.queries, part.measured) == (12, 6)
    assert part.seconds > 0


@pytest.mark.parametrize("key", ["steps", "rank", "batch"])
def test_settings_are_checked(key: str) -> None:
    with pytest.raises(ConfigError, match=f"{key}: expected 1 or more, got 0"):
        NeuralLP(**{key: 0})


def test_another_vocabulary_is_refused(learned: tuple[NeuralLPModel, KnowledgeBase, Facts]) -> None:
    with pytest.raises(NlilError, match="predicates that it was trained on"):
        learned[0].rank(family(), family().facts)
