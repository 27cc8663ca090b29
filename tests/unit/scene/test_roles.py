"""is_subject(X), is_object(X): made of stated relations, used in rules of classes where they help."""

from __future__ import annotations

import json

import numpy as np
import pytest

from nlil.config import LearnerConfig
from nlil.data.dataset import DataOptions
from nlil.datasets import load_dataset
from nlil.errors import ConfigError
from nlil.learning import gates
from nlil.learning import joint as learning
from nlil.learning.learner import Learner
from nlil.scene.role_trial import halves
from nlil.scene.roles import ROLES, role_ids

WITH = DataOptions(roles="auto")


def thing(name, *relations, attributes=()):
    box = {"x": 1, "y": 2, "w": 30, "h": 40, "attributes": list(attributes)}
    return {"name": name, **box, "relations": [{"name": name, "object": other} for name, other in relations]}


def write(folder, relation="holds", attribute="old"):
    for split, first in (("train", 1), ("test", 11)):
        objects = {
            str(first): thing("man", (relation, str(first + 1)), ("sees", str(first + 1))),
            str(first + 1): thing("cup", ("near", str(first + 2))),
            str(first + 2): thing("bed", attributes=[attribute]),
        }
        image = {f"{split}1": {"width": 100, "height": 100, "objects": objects}}
        (folder / f"{split}_sceneGraphs.json").write_text(json.dumps(image))
    return folder


def members(kb, facts, role):
    chosen = facts[facts.predicate == kb.predicate_id(kb.predicate(role))]
    return sorted(kb.entities.names(chosen.subject))


def test_roles_are_those_in_stated_relations(tmp_path):
    dataset = load_dataset(write(tmp_path), options=WITH)
    kb, other = dataset.kb, dataset.splits.context["test"]
    assert members(kb, kb.facts, "is_subject") == ["1", "2"], "boxes overlap, but that is not stated"
    assert members(kb, kb.facts, "is_object") == ["2", "3"]
    assert (members(kb, other, "is_subject"), members(kb, other, "is_object")) == (["11", "12"], ["12", "13"])
    assert {kb.predicate_id(kb.predicate(role.name)) for role in ROLES} < kb.geometry, "no targets, and not stated"


def test_roles_are_only_made_where_the_setting_says_so(tmp_path):
    assert "is_object" not in {p.name for p in load_dataset(write(tmp_path)).kb.predicates}
    assert LearnerConfig().roles == "off"
    assert LearnerConfig().with_settings(["preset=scene"]).data_options().roles == "auto"
    for word, meant in {"yes": "on", "off": "off", "auto": "auto"}.items():
        assert LearnerConfig().with_settings(["preset=scene", f"roles={word}"]).data_options().roles == meant
    with pytest.raises(ConfigError, match="roles: expected auto, on or off, got 'maybe'"):
        LearnerConfig().with_settings(["roles=maybe"])
    plain = load_dataset("kin", options=WITH)
    assert "is_object" not in {p.name for p in plain.kb.predicates}


def test_a_predicate_of_the_data_keeps_its_name(tmp_path):
    dataset = load_dataset(write(tmp_path, "sees", attribute="is_object"), options=WITH)
    assert members(dataset.kb, dataset.kb.facts, "is_object") == ["3"]
    assert dataset.notes[-1] == "is_object: a predicate of the data, so roles are not made of its relations"


def test_bodies_for_relations_do_not_use_roles(tmp_path):
    """They follow from the relations, so they would give away what is to be learned."""
    dataset = load_dataset(write(tmp_path), options=WITH)
    assert role_ids(dataset.kb)
    for words in ([], ["roles=on"]):
        config = LearnerConfig().with_settings(["preset=scene", "min_support=1", *words])
        rules = Learner(config).fit(dataset.kb, targets=["holds"]).rules
        assert len(rules)
        assert not any("is_" in str(scored.rule) for scored in rules)


# whether they help ------------------------------------------------------------------------------------


def scenes(folder, subjects):
    """Images of things that do something to things: only the class that `subjects` chooses does, in one of 30 ways."""
    random = np.random.default_rng(3)
    for split, count in (("train", 300), ("test", 100)):
        images = {}
        for image in range(count):
            objects = {}
            for i in range(4):
                names = [f"class{random.integers(9)}", f"class{random.integers(9)}"]
                names[0] = subjects(names[0])
                one, other = f"{split}{image}_{2 * i}", f"{split}{image}_{2 * i + 1}"
                box = {"x": 1, "y": 2, "w": 30, "h": 40, "attributes": []}
                relation = {"name": f"does{random.integers(30)}", "object": other}
                objects[one] = {"name": names[0], **box, "relations": [relation]}
                objects[other] = {"name": names[1], **box, "relations": []}
            images[f"{split}{image}"] = {"width": 100, "height": 100, "objects": objects}
        (folder / f"{split}_sceneGraphs.json").write_text(json.dumps(images))
    return load_dataset(folder, options=WITH)


def num_with_roles(dataset, *words):
    config = LearnerConfig().with_settings(["preset=scene", "top_rules=3", "threads=1", *words])
    rules = Learner(config).fit(dataset.kb, dataset.targets, dataset.splits).rules
    return sum("is_" in str(scored.rule) for scored in rules)


def test_roles_are_used_where_they_help(tmp_path):
    dataset = scenes(tmp_path, lambda name: "doer")
    assert num_with_roles(dataset) > 0
    assert num_with_roles(dataset, "roles=off") == 0


def test_roles_that_do_not_help_are_not_used(tmp_path, monkeypatch):
    dataset = scenes(tmp_path, lambda name: name)
    assert num_with_roles(dataset) == 0
    assert num_with_roles(dataset, "roles=on") > 0, "they look good on training objects"
    monkeypatch.setattr(learning, "ROLES", gates.ROLES._replace(least_gain=-1.0, standard_errors=0.0))
    assert num_with_roles(dataset) > 0, "only the gate keeps them out"


def test_what_cannot_be_judged_is_not_used(tmp_path, monkeypatch):
    dataset = scenes(tmp_path, lambda name: "doer")
    monkeypatch.setattr(learning, "ROLES", gates.ROLES._replace(least_facts=10_000))
    assert num_with_roles(dataset) == 0


def test_other_graphs_judge_than_choose():
    group = np.repeat(np.arange(500, dtype=np.int32), 4)
    first, others = halves(group, 10_000, 0)
    assert not set(group[first].tolist()) & set(group[others].tolist())
    assert len(first) == len(others) == 1000
    few, rest = halves(group, 100, 0)
    assert len(few) == len(rest) == 100
    assert halves(group, 100, 1)[0].tolist() != few.tolist()
