"""is_subject(X), is_object(X): made of the stated relations of scene graphs, for rules of classes only."""

from __future__ import annotations

import json

import pytest

from nlil.config import LearnerConfig
from nlil.data.dataset import DataOptions
from nlil.datasets import load_dataset
from nlil.errors import ConfigError
from nlil.learning.learner import Learner
from nlil.scene.roles import ROLES

WITH = DataOptions(roles=True)


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
    assert LearnerConfig().with_settings(["roles=on"]).data_options().roles
    plain = load_dataset("kin", options=WITH)
    assert "is_object" not in {p.name for p in plain.kb.predicates}


def test_a_predicate_of_the_data_keeps_its_name(tmp_path):
    dataset = load_dataset(write(tmp_path, "sees", attribute="is_object"), options=WITH)
    assert members(dataset.kb, dataset.kb.facts, "is_object") == ["3"]
    assert dataset.notes[-1] == "is_object: a predicate of the data, so roles are not made of its relations"


def test_relations_cannot_be_learned_from_roles(tmp_path):
    dataset = load_dataset(write(tmp_path), options=WITH)
    config = LearnerConfig().with_settings(["preset=scene"])
    with pytest.raises(ConfigError, match=r"follow from the relation 'holds'.*--set roles=off"):
        Learner(config).fit(dataset.kb, targets=["holds"])
    Learner(config).fit(load_dataset(write(tmp_path)).kb, targets=["holds"])
