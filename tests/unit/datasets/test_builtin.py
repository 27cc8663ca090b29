from __future__ import annotations

import numpy as np
import pytest

from data_cases import confidence, rows
from nlil.datasets import builtin_names, load_dataset
from nlil.errors import DataError, UnknownName
from nlil.scene.street import ATTRIBUTES


def test_names():
    assert list(builtin_names()) == ["even", "kin", "street", "scenes", "planted"]


def test_even_has_the_facts_of_the_paper():
    dataset = load_dataset("even")
    assert dataset.name == "even:10"
    assert len(dataset.kb.facts) == 17
    assert len(load_dataset("even:50").kb.facts) == 77
    successors = {(str(i), "succ", str(i + 1)) for i in range(10)}
    assert rows(dataset.kb) == {("0", "zero")} | successors | {(str(i), "even") for i in range(0, 11, 2)}
    assert [str(target) for target in dataset.targets] == ["even/1"]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("source", ["even:20", "kin", "street", "kin:400"])
def test_planted_rules_are_exact_on_training_and_on_complete_data(source, seed):
    dataset = load_dataset(source, seed=seed)
    assert dataset.planted
    for kb in (dataset.kb, dataset.complete()):
        for rule in dataset.planted:
            support, body = confidence(kb, rule)
            assert support == body, f"{rule} holds {support} of {body} times"
            assert support >= (1 if source == "even:20" else 2), str(rule)


def test_a_fact_too_few_is_noticed():
    dataset = load_dataset("kin")
    head = dataset.planted[0].target
    lame = dataset.kb.with_facts(dataset.kb.facts[dataset.kb.facts.predicate != dataset.kb.predicate_id(head)])
    assert confidence(lame, dataset.planted[0])[0] < confidence(lame, dataset.planted[0])[1]


def test_every_kin_relation_and_every_street_class_has_a_planted_rule():
    kin, street = load_dataset("kin"), load_dataset("street")
    assert {r.target for r in kin.planted} == {p for p in kin.kb.predicates if p.arity == 2}
    assert {r.target for r in street.planted} == set(street.targets)
    assert all(rule.length <= 3 for rule in kin.planted + street.planted)


@pytest.mark.parametrize("source", ["kin", "street"])
def test_the_seed_decides(source):
    assert load_dataset(source, seed=3).checksum == load_dataset(source, seed=3).checksum
    assert load_dataset(source, seed=3).checksum != load_dataset(source, seed=4).checksum


def test_kin_is_consistent():
    dataset = load_dataset("kin", seed=1)
    kb = dataset.complete()
    assert kb.num_entities == 160
    facts = rows(kb)
    of = {
        relation: {(r[0], r[2]) for r in facts if len(r) == 3 and r[1] == relation}
        for relation in ("father", "mother", "husband", "wife", "son", "daughter", "uncle", "aunt", "nephew", "niece")
    }
    male = {r[0] for r in facts if r[1:] == ("male",)}
    assert of["father"]
    assert all(parent in male for parent, _ in of["father"])
    assert not any(parent in male for parent, _ in of["mother"])
    assert {(b, a) for a, b in of["husband"]} == of["wife"]
    assert {(b, a) for a, b in of["father"] | of["mother"]} == of["son"] | of["daughter"]
    assert {(b, a) for a, b in of["uncle"] | of["aunt"]} == of["nephew"] | of["niece"]
    assert len({child for _, child in of["father"]}) == len(of["father"])  # one father each


def test_kin_splits_by_person_and_every_held_out_fact_is_seen_from_the_other_side():
    dataset = load_dataset("kin")
    splits = dataset.splits
    binary = splits.train[~splits.train.is_unary]
    pairs = set(zip(binary.subject.tolist(), binary.object.tolist(), strict=True))
    for facts in (splits.valid, splits.test):
        assert len(facts) >= 50
        assert not np.isin(facts.subject, binary.subject).any()
        assert all((o, s) in pairs for s, o in zip(facts.subject.tolist(), facts.object.tolist(), strict=True))


def test_street_is_many_graphs_with_context():
    dataset = load_dataset("street:20")
    kb, splits = dataset.kb, dataset.splits
    assert kb.num_graphs == 25
    assert len(kb.classes) == 15
    assert (kb.graph_of[splits.train.subject] < 20).all()
    context = splits.context["test"]
    assert (kb.graph_of[context.subject] >= 20).all()
    bound = ~context.is_unary
    assert (kb.graph_of[context.subject[bound]] == kb.graph_of[context.object[bound]]).all()
    assert len(splits.test) == int((kb.graph_of >= 20).sum())  # one class each
    assert set(ATTRIBUTES).isdisjoint(kb.predicates[i].name for i in kb.classes)


@pytest.mark.parametrize("source", ["even:", "even:x", "even:1", "kin:3", "street:-2", "kin:1.5"])
def test_bad_sizes(source):
    with pytest.raises(DataError, match=f"^{source}: expected a whole number of at least"):
        load_dataset(source)


def test_unknown_names():
    with pytest.raises(UnknownName) as caught:
        load_dataset("fb15k237")
    assert "'fb15k-237'" in str(caught.value)
    assert str(caught.value).endswith("it is neither a known set nor an existing path")
    with pytest.raises(UnknownName, match=r"unknown data set 'no/such\.tsv'"):
        load_dataset("no/such.tsv")
    with pytest.raises(UnknownName):
        load_dataset("")


def test_a_name_wins_over_a_file_of_that_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kin").mkdir()
    (tmp_path / "kin" / "train.tsv").write_text("a\tp\tb\n")
    assert load_dataset("kin").kb.num_entities == 160
    assert load_dataset("./kin").kb.num_entities == 2
