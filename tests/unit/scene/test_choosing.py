"""Which pairs are taken first, which of them stay; conjunctions hold wherever both patterns hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

import nlil
from nlil.data.kb import KnowledgeBase
from nlil.scene.choosing import ChoiceOptions, _sampled, _Search
from nlil.scene.fitting import ClassModel, LabelledObjects, class_counts, fit, one_hot, probabilities
from nlil.scene.growing import Growth, PatternGrower
from nlil.scene.joint import labelled_rows
from nlil.scene.lean import with_literals
from nlil.scene.literals import literals_of
from nlil.scene.patterns import find_patterns
from nlil.scene.sure_patterns import (
    MAX_JOINED_PER_OBJECT,
    MAX_SURE_PER_CLASS,
    sure_patterns,
    with_clear_conjunctions,
)
from nlil.scene.thinning import Thinning, needless_priors


def test_sure_patterns_are_taken_first() -> None:
    counts = np.array([[90, 5, 5], [79, 21, 0], [1, 49, 0], [0, 100, 0], [0, 0, 100]], np.int32)
    sizes = counts.sum(axis=1)
    pattern, target = sure_patterns(counts, sizes, min_support=50)
    # The second is not sure enough, the third explains too few, the last speaks for no target.
    assert list(zip(pattern.tolist(), target.tolist())) == [(0, 0), (3, 1)]


def test_of_many_sure_patterns_the_most_telling() -> None:
    counts = np.array([[100 + i, 0, 1] for i in range(9)], np.int32)
    pattern, _ = sure_patterns(counts, counts.sum(axis=1), min_support=50)
    assert pattern.tolist() == list(range(8, 8 - MAX_SURE_PER_CLASS, -1))


def test_what_was_given_stays() -> None:
    """Two patterns that hold for the same objects: either could go, and the given one stays whatever it weighs."""
    label = np.array([0] * 30 + [1] * 30, np.int32)
    held = np.repeat([[True, True], [False, False]], 30, axis=0)
    data = LabelledObjects(label, sparse.csr_array(held), one_hot(label, 3))
    model = ClassModel.of(np.array([0, 1]), np.array([0, 0]), np.array([0.1, 2.0]), np.zeros(3))
    chances = probabilities(model, data, 1)
    left, _ = Thinning(model, data, chances, 1.0).to(1)
    assert left.pattern.tolist() == [1]
    assert left.weight[0] > 2.0, "it takes over what the other one said"
    left, _ = Thinning(model, data, chances, 1.0, np.array([True, False])).to(1)
    assert left.pattern.tolist() == [0]


def test_of_two_that_say_the_same_one_goes_first() -> None:
    """The third pattern weighs least, but nothing else says what it says; the first two say the same."""
    random = np.random.default_rng(1)
    first, third = random.random((2, 400)) < 0.5
    label = np.where(first, random.random(400) < 0.1, random.random(400) < 0.8).astype(np.int32)
    label = np.where(third & (random.random(400) < 0.5), 0, label).astype(np.int32)
    data = LabelledObjects(label, sparse.csr_array(np.stack((first, first, third), axis=1)), one_hot(label, 3))
    pairs = np.array([0, 1, 2], np.int32), np.zeros(3, np.int32)
    model = fit(ClassModel.of(*pairs, np.zeros(3), np.zeros(3)), data, 0.1, 100, 1)
    left, worth = Thinning(model, data, probabilities(model, data, 1), 0.1).to(2)
    assert 2 in left.pattern.tolist()
    assert left.weight[0] == pytest.approx(model.weight[:2].sum(), rel=0.05)
    assert worth < 1.0


def test_the_cost_of_a_pair_is_what_a_new_fit_loses() -> None:
    random = np.random.default_rng(2)
    held = random.random((3000, 3)) < 0.4
    held[:, 1] |= held[:, 0]
    label = np.where(random.random(3000) < 0.3 + 0.1 * held[:, 0] + 0.1 * held[:, 1], 0, 1).astype(np.int32)
    data = LabelledObjects(label, sparse.csr_array(held), one_hot(label, 2))
    model = ClassModel.of(np.arange(3), np.zeros(3, np.int32), np.zeros(3), np.zeros(2))
    model = fit(model, data, 1.0, 200, 1)

    def loss(of: ClassModel) -> float:
        chance = probabilities(of, data, 1)[np.arange(len(label)), label]
        return float(-np.log(chance).sum() + 0.5 * (of.weight**2).sum())

    left, worth = Thinning(model, data, probabilities(model, data, 1), 1.0).to(2)
    # Second order, and only of the class that has rules; the other one has its bias alone.
    assert loss(fit(left, data, 1.0, 200, 1)) - loss(model) == pytest.approx(worth, abs=0.3)


def test_priors_that_are_worth_little_are_shared() -> None:
    evidence, sharpness = np.array([0.0, 0.3, 0.2, 5.0, 1.0]), np.array([9.0, 9.0, 9.0, 9.0, 0.1])
    assert needless_priors(evidence, sharpness, 1.0).tolist() == [True, True, True, False, True]
    assert needless_priors(evidence, sharpness, 1e-6).tolist() == [True, False, False, False, False]


def test_one_class_with_many_exceptions_does_not_keep_the_others_from_sharing_a_prior() -> None:
    """Many rules speak against person, so its prior is far below the others: by curvature sharing looks too costly."""
    random, num_classes = np.random.default_rng(5), 9
    facts = [(f"p{i}", "person") for i in range(2000)]
    for k in range(1, num_classes):
        facts += [(f"c{k}_{i}", f"class{k}") for i in range(100)]
        facts += [(f"c{k}_{i}", f"mark{k}") for i in range(100) if random.random() < 0.9]
        facts += [(f"p{i}", f"mark{k}") for i in range(2000) if random.random() < 0.005]
    kb = KnowledgeBase.from_facts(facts)
    place = {predicate.name: i for i, predicate in enumerate(kb.predicates)}
    targets = np.array([place["person"], *(place[f"class{k}"] for k in range(1, num_classes))], np.int32)
    kb = replace(kb, classes=frozenset(targets.tolist()))
    patterns = find_patterns(kb, np.arange(kb.num_entities, dtype=np.int32), 0, 2, 2**28)
    rows, label = labelled_rows(kb, patterns.entities, targets)
    line = {kb.predicates[step >> 1].name: n for n, step in enumerate(patterns.bodies.lines.steps[:, 0].tolist())}
    marks = np.array([line[f"mark{k}"] for k in range(1, num_classes)], np.int32)
    given = np.tile(marks, 2), np.repeat([0, 1], num_classes - 1).astype(np.int32)
    given[1][num_classes - 1 :] = np.arange(1, num_classes)
    shares = one_hot(label, num_classes + 1)
    search = _Search(patterns, rows, label, shares, ChoiceOptions(pairs=len(marks) * 2, threads=1), given)
    search._fit()
    search.worth = 20.0
    by_curvature = needless_priors(search.model.prior[:-1], search._thinning().sharpness[:-1], search.worth)
    assert by_curvature.sum() <= 2
    before = search._loss()
    search.share_priors()
    assert search._num_spared() == num_classes
    assert search.room == search.choice.pairs + num_classes
    assert search._loss() - before < search.worth * num_classes


def test_classes_without_a_prior_keep_none_in_a_fit() -> None:
    random = np.random.default_rng(3)
    held = random.random((500, 4)) < 0.4
    label = np.where(held[:, 0], 0, np.where(held[:, 1], 1, 2)).astype(np.int32)
    data = LabelledObjects(label, sparse.csr_array(held), one_hot(label, 4))
    pairs = np.array([0, 1, 1, 2], np.int32), np.array([0, 1, 2, 0], np.int32)
    model = ClassModel.of(*pairs, np.array([1.0, 1.0, -1.0, -1.0]), np.zeros(4), np.array([True, True, False, False]))
    found = fit(model, data, 0.1, 100, 1)
    assert found.prior[:2].tolist() == pytest.approx([0, 0])
    assert found.prior[2] != 0
    free = fit(replace(model, tied=None), data, 0.1, 100, 1)
    chance = [probabilities(m, data, 1)[np.arange(len(label)), label] for m in (model, found, free)]
    assert np.log(chance[0]).sum() < np.log(chance[1]).sum() < np.log(chance[2]).sum()


def test_bodies_grow_where_both_halves_agree() -> None:
    """Of red things the wet ones that are not large are cats; what is noisy only seems to tell."""
    random = np.random.default_rng(4)
    names = ["red", "wet", "large", *(f"noise{k}" for k in range(20))]
    facts = []
    for i in range(600):
        has = {name for name in names if random.random() < 0.5}
        is_cat = {"red", "wet"} <= has and "large" not in has
        facts += [(f"o{i}", "cat" if is_cat else "dog"), *((f"o{i}", name) for name in sorted(has))]
    kb = KnowledgeBase.from_facts(facts)
    classes = frozenset(i for i, p in enumerate(kb.predicates) if p.name in ("cat", "dog"))
    kb = replace(kb, graph_of=np.arange(kb.num_entities, dtype=np.int32), classes=classes)
    targets = np.array(sorted(classes), np.int32)
    patterns = find_patterns(kb, np.arange(kb.num_entities, dtype=np.int32), 1, 2, 2**28)
    rows, label = labelled_rows(kb, patterns.entities, targets)
    data = LabelledObjects(label, patterns.held[rows], one_hot(label, 3))
    cat = [kb.predicates[t].name for t in targets].index("cat")
    model = ClassModel.of(
        np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0), np.log(np.bincount(label, minlength=3) + 0.01)
    )
    gain = np.zeros((len(patterns), 3), np.float32)
    line = {kb.predicates[step >> 1].name: n for n, step in enumerate(patterns.bodies.lines.steps[:, 0].tolist())}
    gain[line["red"], cat] = 1
    half = np.arange(len(label)) % 2 == 0
    found = PatternGrower(patterns, data, half, Growth(), 1).grow(gain, probabilities(model, data, 1), label)
    wanted = (*sorted((line["red"], line["wet"])), ~line["large"])
    assert found[-1] == wanted, "nothing is joined to what is true already"
    longer, _ = with_literals(patterns, found)
    held = longer.held.toarray()
    assert (held[rows, -1] == (label == cat)).all()
    assert literals_of(longer.bodies, len(longer) - 1) == wanted
    assert len(with_literals(longer, found)[0]) == len(longer)


def test_a_sample_is_of_whole_graphs_and_has_about_the_size() -> None:
    data = nlil.load_dataset("street:60")
    kb = data.kb
    patterns = find_patterns(kb, np.flatnonzero(kb.domain).astype(np.int32), 1, 2, 2**28)
    rows = np.arange(len(patterns.entities))
    everything = _sampled(patterns, rows, ChoiceOptions(pairs=1, sample=10**6))
    assert everything.tolist() == rows.tolist()
    some = _sampled(patterns, rows, ChoiceOptions(pairs=1, sample=len(rows) // 3))
    assert 0.15 * len(rows) < len(some) < 0.5 * len(rows)
    graph = kb.graph_of[patterns.entities]
    assert np.isin(graph, np.unique(graph[some])).sum() == len(some)
    other = _sampled(patterns, rows, ChoiceOptions(pairs=1, sample=len(rows) // 3, seed=1))
    assert other.tolist() != some.tolist()


def test_priors_are_listed_last_where_all_rules_count() -> None:
    data = nlil.load_dataset("street:30")
    config = nlil.LearnerConfig().with_values({"preset": "scene", "top_rules": 5})
    rules = nlil.Learner(config).fit(data.kb, data.targets, data.splits).rules
    lengths = [rules[int(row)].rule.length for row in rules.order()]
    assert 0 in lengths
    assert all(length == 0 for length in lengths[lengths.index(0) :])


def crowded() -> KnowledgeBase:
    """Cats are red and wet, others one of both; every third object has more rarer attributes than are paired."""
    facts = []
    for i in range(60):
        facts.append((f"o{i}", "cat" if i % 2 else "dog"))
        facts += [(f"o{i}", name) for name in (("red", "wet") if i % 2 else ("red",) if i % 4 else ("wet",))]
        facts += [
            (f"o{i}", f"a{k}")
            for k in range(2 * MAX_JOINED_PER_OBJECT)
            if i % 3 == 0 and (i // 3 + 1) * (k + 1) % 29 % 4
        ]
    kb = KnowledgeBase.from_facts(facts)
    graph_of = np.array([int(name[1:]) for name in kb.entities], np.int32)
    classes = frozenset(i for i, p in enumerate(kb.predicates) if p.name in ("cat", "dog"))
    return replace(kb, graph_of=graph_of, classes=classes)


def test_a_pair_holds_where_both_hold() -> None:
    kb = crowded()
    patterns = find_patterns(kb, np.arange(kb.num_entities, dtype=np.int32), 2, 2, 2**30)
    targets = np.array(sorted(kb.classes), np.int32)
    rows, label = labelled_rows(kb, patterns.entities, targets)
    data = LabelledObjects(label, patterns.held[rows], one_hot(label, len(targets) + 1))
    found, clear, clear_class = with_clear_conjunctions(patterns, data, class_counts(data), 2)
    assert len(found) > len(patterns)
    held = found.held.toarray()
    for number in range(len(patterns), len(found)):
        i, j = found.bodies.lines_of(number)
        assert held[:, number].tolist() == (held[:, i] & held[:, j]).tolist()
    # Red things are cats two times of three, wet ones too, and what is both always is.
    first_step = found.bodies.lines.steps[:, 0]
    told = {
        tuple(sorted(kb.predicates[first_step[line] >> 1].name for line in found.bodies.lines_of(number))): int(target)
        for number, target in zip(clear, clear_class, strict=True)
    }
    assert kb.predicates[targets[told["red", "wet"]]].name == "cat"
