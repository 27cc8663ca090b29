from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from nlil.datasets import load_dataset
from nlil.errors import DataError
from nlil.kernel.evaluator import Evaluator
from nlil.kernel.statistics import rule_stats
from nlil.logic.formula import And, Statement
from nlil.logic.predicate import Step
from nlil.scene import generator as scenes
from nlil.scene.generator import NUM_CLASSES, NUM_RELATIONS, made_names, real_names, scene_names


@pytest.fixture(autouse=True)
def no_real_names(monkeypatch, tmp_path):
    monkeypatch.delenv("NLIL_DATA", raising=False)
    monkeypatch.setenv("NLIL_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def small():
    """With made names, whatever lies on this machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scenes, "scene_names", made_names)
        return load_dataset("scenes:1000")


@pytest.fixture(scope="module")
def evaluator(small):
    return Evaluator(small.kb)


def pooled(evaluator, rules):
    """Support and body size of all rules together: a single one has few examples in a small set."""
    stats = [rule_stats(evaluator, rule) for rule in rules]
    return sum(s.support for s in stats), sum(s.body_size for s in stats)


def shape(rule):
    if isinstance(rule.body, And):
        return "both"
    moves = [step for step in rule.body.steps if not step.is_filter]
    if len(moves) == 2:
        return "two steps"
    return "attribute" if rule.length == 3 else "back" if moves[0].inverse else "step"


def by_shape(dataset, wanted, number):
    """Planted rules of one shape, those of frequent classes first (they are cheap to judge in a small set)."""
    return [rule for rule in dataset.planted if shape(rule) == wanted][:number]


def test_counts(small):
    kb, splits = small.kb, small.splits
    assert kb.num_graphs == 1250
    assert len(small.targets) == len(kb.classes) == 150
    assert kb.num_predicates == 213
    assert kb.num_entities == round(16.5 * 1250)
    training = int((kb.graph_of < 1000).sum())
    assert len(kb.binary) / training == pytest.approx(471_614 / 1_405_465, rel=0.05)
    attributes = len(kb.unary) - training
    assert 0.02 * training < attributes < 0.06 * training
    assert len(np.unique(kb.graph_of)) == 1250  # no graph is empty
    assert len(splits.test) == kb.num_entities - training


def test_every_graph_is_its_own_world(small):
    kb, context = small.kb, small.splits.context
    assert kb.entities.name(0) == "s0_0"
    assert len(set(kb.entities)) == kb.num_entities
    for facts, is_ours in ((context["train"], kb.graph_of < 1000), (context["test"], kb.graph_of >= 1000)):
        bound = facts[~facts.is_unary]
        assert is_ours[facts.subject].all()
        assert (kb.graph_of[bound.subject] == kb.graph_of[bound.object]).all()
        assert (bound.subject != bound.object).all()
    last = kb.num_entities - 1
    assert kb.entities.name(last).startswith(f"s{kb.graph_of[last]}_")


def test_the_seed_decides_and_the_rules_do_not_depend_on_the_size():
    one, again, other = (load_dataset("scenes:40", seed=seed) for seed in (3, 3, 4))
    assert one.checksum == again.checksum != other.checksum
    assert one.planted == load_dataset("scenes:60", seed=3).planted != other.planted


def test_at_most_ten_thousand_graphs_are_for_testing(monkeypatch):
    monkeypatch.setattr(scenes, "MAX_TEST_GRAPHS", 7)
    assert load_dataset("scenes:40").kb.num_graphs == 47


def test_every_class_has_one_to_three_rules_of_different_shapes(small):
    shapes = Counter(shape(rule) for rule in small.planted)
    assert set(shapes) == {"step", "back", "two steps", "both", "attribute"}
    assert min(shapes.values()) >= 20
    of_class = {target: [shape(r) for r in small.planted if r.target == target] for target in small.targets}
    assert all(1 <= len(found) == len(set(found)) <= 3 for found in of_class.values())
    assert len({rule.body for rule in small.planted}) == len(small.planted)
    assert all(rule.target not in rule.predicates for rule in small.planted)


def test_planted_rules_hold_far_above_the_prior(small, evaluator):
    total = int((small.kb.graph_of < 1000).sum())
    for rule in small.planted[:160:12]:
        stats = rule_stats(evaluator, rule)
        prior = stats.head_size / total
        assert stats.support >= 2
        assert stats.confidence > max(0.4, 5 * prior), str(rule)
        assert stats.head_coverage > 0.005, str(rule)


def test_with_another_class_in_its_body_a_rule_does_not_hold(small, evaluator):
    classes = [Step(target) for target in small.targets[:10]]
    swapped = []
    for number, rule in enumerate(by_shape(small, "step", 5) + by_shape(small, "back", 5)):
        move = next(step for step in rule.body.steps if not step.is_filter)
        end = next(c for c in classes[number % 5 :] if c.predicate not in {*rule.predicates, rule.target})
        swapped.append(replace(rule, body=Statement(rule.body.start, (move, end))))
    support, body = pooled(evaluator, swapped)
    assert body > 200
    assert support / body < 0.2


def test_half_a_conjunction_is_not_enough(small, evaluator):
    rules = by_shape(small, "both", 4)
    support, body = pooled(evaluator, rules)
    assert support / body > 0.85
    for half in range(2):
        support, body = pooled(evaluator, [replace(rule, body=rule.body.arguments[half]) for rule in rules])
        assert 0.3 < support / body < 0.65


def test_without_its_attribute_a_rule_holds_half_the_time(small, evaluator):
    rules = by_shape(small, "attribute", 8)
    attributes = {p for p in small.kb.predicates if p.arity == 1} - set(small.targets)
    bare = [
        replace(
            rule, body=Statement(rule.body.start, tuple(s for s in rule.body.steps if s.predicate not in attributes))
        )
        for rule in rules
    ]
    support, body = pooled(evaluator, rules)
    assert support / body > 0.85
    support, body = pooled(evaluator, bare)
    assert 0.3 < support / body < 0.65


def test_five_percent_of_the_labels_are_wrong(monkeypatch):
    def labels(dataset):
        class_facts = dataset.complete().unary
        class_facts = class_facts[np.isin(class_facts.predicate, list(dataset.kb.classes))]
        return class_facts.predicate[np.argsort(class_facts.subject)]

    noisy = labels(load_dataset("scenes:40"))
    monkeypatch.setattr(scenes, "WRONG_LABELS", 0.0)
    clean = labels(load_dataset("scenes:40"))
    assert int((noisy != clean).sum()) == round(0.05 * len(clean))


def test_fifteen_percent_of_the_planted_relations_are_left_out(small, monkeypatch):
    monkeypatch.setattr(scenes, "scene_names", made_names)
    said = len(small.kb.binary)
    plan = scenes.plan_scenes(made_names(), np.random.default_rng((0, 0)))
    monkeypatch.setattr(scenes, "plan_scenes", lambda *_: plan)  # the plan, and every draw, stays as it is
    monkeypatch.setattr(scenes, "LEFT_OUT", 0.0)
    everything = len(load_dataset("scenes:1000").kb.binary)
    planted = everything - 0.2 * said
    assert (everything - said) / planted == pytest.approx(0.15, abs=0.01)


def test_the_order_of_objects_tells_nothing(small):
    kb = small.kb
    first = np.searchsorted(kb.graph_of, np.arange(kb.num_graphs))
    size = np.bincount(kb.graph_of)
    place = (np.arange(kb.num_entities) - first[kb.graph_of] + 0.5) / size[kb.graph_of]
    for target in small.targets:
        members = kb.members(kb.predicate_id(target))
        assert abs(place[members].mean() - 0.5) < 4.5 * np.sqrt(1 / 12 / len(members)), str(target)
    bound = kb.binary
    assert abs((bound.subject < bound.object).mean() - 0.5) < 0.03
    # Neighbours in the list are no more often related than objects further apart: 2 of size * (size - 1) / 2 pairs.
    adjacent = np.abs(bound.subject - bound.object) == 1
    assert adjacent.mean() == pytest.approx((2 / size[kb.graph_of[bound.subject]]).mean(), rel=0.15)


def test_frequencies_are_those_of_the_names(small):
    names, counts = made_names(), small.kb.predicate_counts
    shares = {p.name: int(counts[i]) for i, p in enumerate(small.kb.predicates)}
    total = int((small.kb.graph_of < 1000).sum())
    for name, share in zip(names.classes[:15], names.class_share, strict=False):
        assert shares[name] / total == pytest.approx(share, rel=0.25), name
    for name, share in zip(names.relations[:8], names.relation_share, strict=False):
        assert shares[name] / len(small.kb.binary) == pytest.approx(share, rel=0.25), name


def vocabulary(folder):
    """Files as the paper's authors wrote them: c0, c1, ... and r0, r1, ...; cs is another name of c5."""
    folder.mkdir(parents=True)
    classes = "".join(f"c{i} {10_000 - 50 * i}\n" for i in range(NUM_CLASSES)) + "cs 5000\n"
    relations = "".join(f"on the r{i} {3000 - 100 * i}\n" for i in range(NUM_RELATIONS + 1))
    (folder / "obj_freq.txt").write_text(f"total obj 1\n{classes}")
    (folder / "rel_freq.txt").write_text(f"total rel 1\n{relations}")
    (folder / "un_merge.txt").write_text("c5: c5,cs\n")
    (folder / "rel_merge.txt").write_text("on the r3: on the r3,on the r4")
    return folder


def test_real_names_where_they_are_found(tmp_path, monkeypatch):
    folder = vocabulary(tmp_path / "gqa-sample" / "vocab")
    assert "made up" in load_dataset("scenes:10").notes[0]
    monkeypatch.setenv("NLIL_DATA", str(tmp_path))
    names = scene_names()
    assert names.classes[0] == "c5"
    assert "cs" not in names.classes
    assert names.class_share[0] / names.class_share[1] == pytest.approx(14_750 / 10_000)
    assert names.relations[0] == "on the r3"
    assert "on the r4" not in names.relations
    dataset = load_dataset("scenes:10")
    assert "GQA" in dataset.notes[0]
    assert {p.name for p in dataset.kb.predicates if p.arity == 2} == set(names.relations)
    assert names.origin == real_names(folder).origin


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("obj_freq.txt", "total obj 1\ncar many\n", "line 2: expected a name and a count, got 'car many'"),
        ("obj_freq.txt", "total obj 1\ncar 3\n", "expected at least 150 names, got 1"),
        ("rel_merge.txt", "near,by\n", "expected 'name: name,name,...', got 'near,by'"),
    ],
)
def test_a_bad_vocabulary_is_named(tmp_path, file, text, message):
    folder = vocabulary(tmp_path / "vocab")
    (folder / file).write_text(text)
    with pytest.raises(DataError) as caught:
        real_names(folder)
    assert file in str(caught.value)
    assert message.removeprefix("line 2: ") in str(caught.value)


def test_an_attribute_never_has_the_name_of_a_class(tmp_path):
    folder = vocabulary(tmp_path / "vocab")
    (folder / "un_merge.txt").write_text("red: c5,cs\n")
    names = real_names(folder)
    assert "red" in names.classes
    assert len(names.attributes) == 40
    assert set(names.attributes).isdisjoint(names.classes)


def test_the_command_line_knows_it(nlil_command):
    outcome = nlil_command("inspect", "scenes:20", "--json")
    assert outcome.code == 0
    assert '"num_classes": 150' in outcome.out
