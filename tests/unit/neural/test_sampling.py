"""Queries to train on: positives, tuples that are none, what is held out and what is hidden."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from soft_cases import predicate_id

from nlil.config import LearnerConfig
from nlil.data.facts import Facts
from nlil.data.kb import KnowledgeBase
from nlil.neural.sampling import ALIGNED, NO_ENTITY, LabelledQueries, Sampler, blocks

SIZE = 60


def ring(size: int = SIZE) -> KnowledgeBase:
    """n0 -> n1 -> ... -> n0, every third number `red`, and two steps at once as the target."""
    names = [f"n{i:02}" for i in range(size)]
    facts: list[tuple[str, ...]] = [(names[i], "next", names[(i + 1) % size]) for i in range(size)]
    facts += [(names[i], "second", names[(i + 2) % size]) for i in range(size)]
    facts += [(name, "red") for name in names[::3]]
    return KnowledgeBase.from_facts(facts)  # type: ignore[arg-type]


def pairs(pool: LabelledQueries, label: float | None = None) -> set[tuple[int, int]]:
    rows = np.ones(len(pool), bool) if label is None else pool.label == label
    return set(zip(pool.x[rows].tolist(), pool.y[rows].tolist()))


def facts_of(kb: KnowledgeBase, name: str) -> set[tuple[int, int]]:
    facts = kb.facts.of(predicate_id(kb, name))
    return set(zip(facts.subject.tolist(), facts.object.tolist()))


def made(kb: KnowledgeBase, name: str, tuples: list[tuple[int, int]]) -> Facts:
    x, y = (np.array(column, np.int32) for column in zip(*tuples))
    return Facts(np.full(len(x), predicate_id(kb, name), np.int32), x, y)


def pools(
    kb: KnowledgeBase, name: str, negatives: Facts | None = None, valid: Facts | None = None, **settings: object
) -> tuple[LabelledQueries, LabelledQueries]:
    return Sampler(kb, LearnerConfig(**settings), negatives, valid).queries(predicate_id(kb, name))  # type: ignore


@pytest.mark.parametrize("target", ["second", "red"])
@pytest.mark.parametrize("kind", ["near", "uniform"])
def test_negatives_are_no_facts(target: str, kind: str) -> None:
    kb = ring()
    known = facts_of(kb, target)
    unseen = {(x + 1, NO_ENTITY if target == "red" else (x + 5) % SIZE) for x, _ in sorted(known)[:12]} - known
    for seed in range(5):
        for pool in pools(kb, target, None, made(kb, target, sorted(unseen)), negative_sampling=kind, seed=seed):
            assert not pairs(pool, 0.0) & (known | unseen), "neither training facts nor validation facts are negatives"
            assert pairs(pool, 0.0)


def test_as_many_negatives_as_asked_for() -> None:
    for ratio in (1.0, 2.5):
        options = LearnerConfig(negatives=ratio, negative_sampling="uniform")
        both = Sampler(ring(), options).queries(predicate_id(ring(), "second"))
        labels = np.concatenate([pool.label for pool in both])
        assert labels.sum() == SIZE
        assert len(labels) - SIZE == int(np.ceil(ratio * SIZE))


def test_near_negatives_are_reached_or_of_the_range() -> None:
    """In many small rings an unrelated pair is nearly always of two rings."""
    kb = KnowledgeBase.from_facts(
        [
            (f"r{r}n{i}", p, f"r{r}n{(i + step) % 5}")
            for r in range(40)
            for i in range(5)
            for p, step in (("next", 1), ("second", 2))
        ]
    )

    def share_in_one_ring(kind: str) -> float:
        pool, _ = pools(kb, "second", negative_sampling=kind)
        name = [kb.entities.name(i)[:3] for i in range(kb.num_entities)]
        return float(np.mean([name[x] == name[y] for x, y in pairs(pool, 0.0)]))

    assert share_in_one_ring("near") > 0.2
    assert share_in_one_ring("uniform") < 0.1


def test_given_negatives_are_used_and_no_others() -> None:
    kb = ring()
    given = [(i, (i + 5) % SIZE) for i in range(30)]
    train, held = pools(kb, "second", made(kb, "second", given))
    assert pairs(train, 0.0) | pairs(held, 0.0) == set(given)
    contradicted = [*given, (0, 2)]  # a fact as well
    train, held = pools(kb, "second", made(kb, "second", contradicted))
    assert (0, 2) not in pairs(train, 0.0) | pairs(held, 0.0)


def test_of_too_many_given_negatives_some_are_drawn() -> None:
    kb = ring()
    given = sorted((i, (i + d) % SIZE) for i in range(SIZE) for d in range(5, 15))
    train, held = pools(kb, "second", made(kb, "second", given))
    used = pairs(train, 0.0) | pairs(held, 0.0)
    assert used < set(given)
    assert len(used) == 2 * SIZE
    assert max(x for x, _ in used) > SIZE // 2, "not the first of the list"


def test_given_negatives_of_another_target_are_none_of_this_one() -> None:
    kb = ring()
    false = made(kb, "next", [(0, 5)])
    for one, other in zip(pools(kb, "second", false), pools(kb, "second")):
        assert pairs(one, 0.0) == pairs(other, 0.0)
        assert pairs(one, 0.0)


def test_positives_are_limited() -> None:
    train, held = pools(ring(), "second", positives=20)
    positives = pairs(train, 1.0) | pairs(held, 1.0)
    assert len(positives) == 20
    assert positives < facts_of(ring(), "second")


def test_without_a_validation_split_a_tenth_is_held_out() -> None:
    train, held = pools(ring(), "second")
    assert len(held) == (len(train) + len(held)) // 10
    assert not pairs(train) & pairs(held)
    assert {0.0, 1.0} == set(held.label.tolist())
    few, same = pools(ring(12), "second")
    assert pairs(few) == pairs(same), "too few to spare any"


def test_validation_facts_are_asked_about() -> None:
    kb = ring()
    new = [(i, (i + 4) % SIZE) for i in range(15)]
    train, held = pools(kb, "second", valid=made(kb, "second", new))
    assert pairs(held, 1.0) == set(new)
    assert pairs(train, 1.0) == facts_of(kb, "second")
    assert not held.hide[held.label == 1].any(), "nothing of theirs is in the base"


def test_validation_facts_of_other_graphs_cannot_be_asked_about() -> None:
    """Their bodies are in the context, which the training base does not hold."""
    kb = ring()
    valid = replace(made(kb, "red", [(1, NO_ENTITY), (2, NO_ENTITY)]), context=kb.facts)
    train, held = pools(kb, "red", valid=valid)
    assert pairs(train, 1.0) | pairs(held, 1.0) == facts_of(kb, "red")


def test_weights_are_labels() -> None:
    facts = [(f"a{i}", "t", f"b{i}", 0.25 if i % 2 else 1.0) for i in range(8)]
    kb = KnowledgeBase.from_facts(facts)
    pool, _ = pools(kb, "t")
    weight = {kb.entities.id(f"a{i}"): 0.25 if i % 2 else 1.0 for i in range(8)}
    positive = pool.label > 0
    assert [weight[x] for x in pool.x[positive].tolist()] == pool.label[positive].tolist()
    assert positive.sum() == 8


def test_facts_hide_themselves_and_classes_hide_always() -> None:
    kb = ring()
    for pool in pools(kb, "red"):
        assert (pool.hide == (pool.label == 1)).all()
    exclusive = replace(kb, classes=frozenset([predicate_id(kb, "red")]))
    for pool in pools(exclusive, "red"):
        assert pool.hide.all()
        assert (pool.label == 0).any()
    for pool in pools(exclusive, "second"):
        assert (pool.hide == (pool.label == 1)).all()


def test_seed_and_target_decide_everything() -> None:
    def columns(name: str, seed: int) -> list[list[float]]:
        return [getattr(pool, c).tolist() for pool in pools(ring(), name, seed=seed) for c in ("x", "y", "label")]

    assert columns("second", 1) == columns("second", 1)
    assert columns("second", 1) != columns("second", 2)
    sampler = Sampler(ring(), LearnerConfig(seed=1))
    sampler.queries(predicate_id(ring(), "next"))  # what else is drawn does not matter
    again = sampler.queries(predicate_id(ring(), "second"))
    assert columns("second", 1) == [getattr(pool, c).tolist() for pool in again for c in ("x", "y", "label")]


@pytest.mark.parametrize("batch", [7, 50, 1000])
def test_blocks_hold_every_query_once(batch: int) -> None:
    kb = ring()
    all_pools = [pools(kb, name)[0] for name in ("second", "red")]
    found = blocks(all_pools, batch)
    for g, pool in enumerate(all_pools):
        rows = [
            row
            for block in found
            for row in zip(block.x[g], block.y[g], block.label[g], block.hide[g])
            if row[0] != NO_ENTITY
        ]
        assert sorted(rows) == sorted(zip(pool.x, pool.y, pool.label, pool.hide))
    for block in found:
        assert block.x.shape == block.y.shape == block.label.shape == block.hide.shape
        assert block.real.sum(1).max() <= batch
        assert block.x.shape[1] % ALIGNED == 0
        padding = ~block.real
        assert not block.hide[padding].any()
        assert not block.label[padding].any()
    assert any((~block.real).any() for block in found), "the shorter pool is padded"


def test_no_queries_make_one_empty_block() -> None:
    none = np.zeros(0, np.int64)
    (block,) = blocks([LabelledQueries(none, none, none.astype(np.float32), none.astype(bool))], 10)
    assert block.x.tolist() == [[NO_ENTITY] * ALIGNED]


def test_later_rounds_bring_other_facts_but_no_validation_query() -> None:
    kb = ring()
    target = predicate_id(kb, "second")
    sampler = Sampler(kb, LearnerConfig(positives=40, negatives=3.0))
    assert sampler.has_more(target)
    train, valid = sampler.queries(target)
    rounds = [sampler.fresh(target, number, 10) for number in range(1, 60)]
    seen = set().union(*(pairs(pool, 1.0) for pool in rounds))
    checked = {label: pairs(valid, label) for label in (0.0, 1.0)}
    assert seen == facts_of(kb, "second") - checked[1.0], "from all facts"
    assert len(seen) > len(pairs(train, 1.0))
    for pool in rounds:
        assert len(pairs(pool, 1.0)) <= 10
        assert not pairs(pool, 0.0) & (facts_of(kb, "second") | checked[0.0])
    again = Sampler(kb, sampler.config)
    again.queries(target)
    assert again.fresh(target, 3, 10).x.tolist() == rounds[2].x.tolist() != rounds[3].x.tolist()


def test_what_has_been_seen_whole_brings_nothing_new() -> None:
    kb = ring()
    few, red = LearnerConfig(positives=SIZE, negatives=2.0), predicate_id(kb, "red")
    assert Sampler(kb, few).has_more(predicate_id(kb, "second")), "pairs that are no facts are many"
    assert Sampler(kb, few).has_more(red) == (SIZE - len(facts_of(kb, "red")) > 2 * len(facts_of(kb, "red")))
    assert not Sampler(kb, LearnerConfig(positives=SIZE, negatives=100.0)).has_more(red)


def numbers(size: int) -> KnowledgeBase:
    """0, 1, ..., of which the even ones are the target; only 0 is `zero`."""
    facts: list[tuple[str, ...]] = [(f"n{i:03}", "succ", f"n{i + 1:03}") for i in range(size)]
    facts += [(f"n{i:03}", "even") for i in range(0, size, 2)]
    return KnowledgeBase.from_facts([*facts, ("n000", "zero")])  # type: ignore[arg-type]


def test_every_kind_of_fact_is_drawn_and_not_held_out() -> None:
    """Of 300 even numbers 0 is the only one without a predecessor; it is to be learned from in every round."""
    kb = numbers(600)
    zero, target = kb.entities.id("n000"), predicate_id(kb, "even")
    for seed in range(10):
        sampler = Sampler(kb, LearnerConfig(positives=40, seed=seed))
        train, held = sampler.queries(target)
        assert (zero, NO_ENTITY) in pairs(train, 1.0)
        assert held.label.sum() > 0
        assert (zero, NO_ENTITY) not in pairs(held)
        for round in range(1, 4):
            fresh = sampler.fresh(target, round, 20)
            assert (zero, NO_ENTITY) in pairs(fresh, 1.0)
            assert fresh.label.sum() > 15


def test_most_of_the_facts_are_any() -> None:
    """A kind with one fact in ten is drawn more often than that, and does not crowd out the others."""
    facts: list[tuple[str, ...]] = [(f"n{i:03}", "seen") for i in range(500)]
    facts += [(f"n{i:03}", "rare") for i in range(50)]
    kb = KnowledgeBase.from_facts(facts)  # type: ignore[arg-type]
    sampler, target = Sampler(kb, LearnerConfig()), predicate_id(kb, "seen")
    sampler.queries(target)
    drawn = sampler.fresh(target, 1, 100)
    rare = sum(kb.entities.name(x) < "n050" for x, _ in pairs(drawn, 1.0))
    assert 15 <= rare <= 35
