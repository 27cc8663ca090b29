"""What the options of the data do: merge, drop, min_count, num_classes, geometry; and how they reach the loader."""

from __future__ import annotations

import json
from dataclasses import fields
from importlib import import_module

import pytest

from data_cases import rows, write
from nlil.config import LearnerConfig
from nlil.data.dataset import DataOptions
from nlil.data.refining import read_merges
from nlil.datasets import load, load_dataset
from nlil.errors import ConfigError, DataError, UnknownName


def thing(name, attributes=(), **relations):
    said = [{"name": relation.replace("_", " "), "object": other} for relation, other in relations.items()]
    return {"name": name, "attributes": list(attributes), "relations": said}


TRAIN = {
    "im1": {
        "objects": {
            "1": thing("man", ["tall", "cars"], next_to="2", left_of="2"),
            "2": thing("car"),
            "3": thing("woman", near="2"),
        }
    },
    "im2": {"objects": {"4": thing("man", left_of="5"), "5": thing("boat", ["tall"])}},
}
TEST = {"im3": {"objects": {"6": thing("boat", near="7"), "7": thing("car", beside="6")}}}


@pytest.fixture
def scenes(tmp_path):
    for split, graphs in {"train": TRAIN, "test": TEST}.items():
        write(tmp_path / "scenes" / f"{split}_sceneGraphs.json", json.dumps(graphs))
    return tmp_path / "scenes"


@pytest.fixture
def merges(tmp_path):
    write(tmp_path / "merges" / "un_merge.txt", "person: man,woman\ncar: car,cars")
    return write(tmp_path / "merges" / "rel_merge.txt", "near: near,next to\n").parent


def names(dataset):
    return {p.name for p in dataset.kb.predicates}


def test_defaults_are_those_of_the_learner():
    config = LearnerConfig()
    assert {f.name: f.default for f in fields(DataOptions)} == {
        f.name: getattr(config, f.name) for f in fields(DataOptions)
    }
    assert config.data_options() == DataOptions()
    chosen = LearnerConfig().with_settings(["geometry=off", "drop=left of,right of", "min_count=3", "cuts=4"])
    assert chosen.data_options() == DataOptions(geometry=False, drop=("left of", "right of"), min_count=3, cuts=4)


@pytest.mark.parametrize(("key", "value", "least"), [("min_count", -1, 0), ("num_classes", 0, 1), ("cuts", 1, 2)])
def test_bad_values(key, value, least):
    for make in (DataOptions, LearnerConfig):
        with pytest.raises(ConfigError, match=f"{key}: expected {least} or more, got {value}"):
            make(**{key: value})


def test_names_are_merged_and_no_attribute_tells_a_class(scenes, merges):
    dataset = load_dataset(scenes, options=DataOptions(merge=str(merges)))
    kb = dataset.kb
    assert rows(kb) == {
        ("1", "person"),
        ("1", "tall"),
        ("2", "car"),
        ("3", "person"),
        ("4", "person"),
        ("5", "boat"),
        ("5", "tall"),
        ("1", "near", "2"),
        ("3", "near", "2"),
        ("1", "left of", "2"),
        ("4", "left of", "5"),
    }
    assert {kb.predicates[i].name for i in kb.classes} == {"person", "car", "boat"}
    assert [p.name for p in dataset.targets] == ["person", "boat", "car"]
    assert rows(kb, dataset.splits.context["test"]) == {
        ("6", "boat"),
        ("7", "car"),
        ("6", "near", "7"),
        ("7", "beside", "6"),
    }
    assert dataset.splits.test.context is dataset.splits.context["test"]
    assert dataset.notes == (
        "1 attribute fact(s) left out because a merged class has their name: cars",
        "3 of 10 predicates were merged into others",
    )


def test_one_file_of_merges(tmp_path, merges):
    assert read_merges(merges / "rel_merge.txt") == {("near", 2): "near", ("next to", 2): "near"}
    both = read_merges(write(tmp_path / "mine.txt.gz", "near : next to , beside\n"))
    assert both == {(name, arity): "near" for name in ("next to", "beside") for arity in (1, 2)}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("near next to\n", r"mine\.txt:1: expected 'name: name,name,\.\.\.', got 'near next to'"),
        ("near: next to,\n", "mine.txt:1: expected 'name: name"),
        ("a: b\nc: b\n", r"mine\.txt:2: expected 'b' to be merged once, got it into 'a' and 'c'"),
        ("a: b\nc: a\n", "expected one merge per name, but 'b' is merged into 'a', and that into 'c'"),
    ],
)
def test_bad_merges(tmp_path, text, said):
    with pytest.raises(DataError, match=said):
        read_merges(write(tmp_path / "mine.txt", text))


def test_merges_that_are_not_there(tmp_path):
    with pytest.raises(DataError, match="none: no such file"):
        read_merges(tmp_path / "none")
    with pytest.raises(DataError, match=r"expected un_merge\.txt or rel_merge\.txt in the folder, got neither"):
        read_merges(tmp_path)


def test_dropped_relations(scenes):
    dataset = load_dataset(scenes, options=DataOptions(drop=("left of",)))
    assert "left of" not in names(dataset)
    assert ("1", "next to", "2") in rows(dataset.kb)
    with pytest.raises(UnknownName, match="unknown relation 'leftof'; closest: 'left of'"):
        load_dataset(scenes, options=DataOptions(drop=("leftof",)))
    with pytest.raises(UnknownName, match="unknown relation 'tall'"):  # an attribute
        load_dataset(scenes, options=DataOptions(drop=("tall",)))


def test_rare_predicates_go_and_their_objects_stay(scenes):
    dataset = load_dataset(scenes, options=DataOptions(min_count=2))
    kb = dataset.kb
    assert names(dataset) == {"man", "tall", "left of"}
    assert rows(kb) == {
        ("1", "man"),
        ("4", "man"),
        ("1", "tall"),
        ("5", "tall"),
        ("1", "left of", "2"),
        ("4", "left of", "5"),
    }
    assert list(kb.entities) == ["1", "2", "3", "4", "5", "6", "7"]
    assert len(dataset.splits.test) == 0  # no test object has a class that is left
    assert "3 training objects lose their class" in dataset.notes[-1]
    assert load_dataset(scenes, options=DataOptions(min_count=1)).kb.classes


def test_merged_names_count_together(scenes, merges):
    dataset = load_dataset(scenes, options=DataOptions(merge=str(merges), min_count=3))
    assert names(dataset) == {"person"}


def test_nothing_left(scenes):
    with pytest.raises(ConfigError, match="min_count=99: expected at least one class of scenes to be left, got none"):
        load_dataset(scenes, options=DataOptions(min_count=99))


def test_fewer_targets(scenes):
    dataset = load_dataset(scenes, options=DataOptions(num_classes=1))
    assert [p.name for p in dataset.targets] == ["man"]
    assert len(dataset.kb.classes) == 4


def test_other_bases_have_options_too():
    kb, splits = load("kin", options=DataOptions(drop=("uncle",)))
    assert "uncle" not in {p.name for p in kb.predicates}
    assert len(splits.train) == len(kb.facts)
    dataset = load_dataset("kin", options=DataOptions(drop=("uncle",)))
    assert dataset.planted
    assert all("uncle" not in {p.name for p in (rule.target, *rule.predicates)} for rule in dataset.planted)
    assert "uncle" not in {p.name for p in dataset.targets}


def test_options_that_change_nothing_change_no_checksum(scenes):
    assert load_dataset("kin", options=DataOptions(min_count=1)).checksum == load_dataset("kin").checksum
    assert load_dataset(scenes, options=DataOptions(num_classes=2)).checksum == load_dataset(scenes).checksum
    assert load_dataset(scenes, options=DataOptions(drop=("near",))).checksum != load_dataset(scenes).checksum


@pytest.mark.parametrize(
    ("box", "geometry", "is_asked"), [(True, True, True), (True, False, False), (False, True, False)]
)
def test_geometry_is_asked_for_where_there_are_boxes(tmp_path, monkeypatch, box, geometry, is_asked):
    asked = []
    geometry_module = import_module("nlil.scene.geometry")
    monkeypatch.setattr(
        geometry_module, "with_geometry", lambda dataset, options, like: asked.append(options) or dataset
    )
    place = {"x": 1, "y": 1, "w": 1, "h": 1} if box else {}
    path = write(tmp_path / "a_sceneGraphs.json", json.dumps({"im": {"objects": {"1": {"name": "cat", **place}}}}))
    load_dataset(path, options=DataOptions(geometry=geometry))
    assert bool(asked) == is_asked


# the command line --------------------------------------------------------------------------------------------------


def test_inspect_takes_the_settings(nlil_command, scenes, merges):
    found = nlil_command("inspect", str(scenes), "--json", "--set", f"merge={merges}", "--set", "min_count=2").json
    assert found["top_predicates"] == {"person/1": 3, "left of/2": 2, "near/2": 2, "tall/1": 2}
    assert (found["facts"], found["entities"], found["predicates"]) == (9, 7, 4)
    assert found["scene"]["relations"] == {"train": 4, "test": 1}
    complaint = nlil_command("inspect", str(scenes), "--set", "max_length=2").complaint
    assert "expected a setting of the data (geometry, roles, drop" in complaint
    assert "cuts: expected 2 or more" in nlil_command("inspect", str(scenes), "--set", "cuts=1").complaint


def test_inspect_counts_scenes(nlil_command, scenes):
    found = nlil_command("inspect", str(scenes), "--json").json
    scene = found["scene"]
    assert (scene["num_facts"], scene["num_objects"], scene["num_images"]) == (16, 7, 3)
    assert (scene["num_related_images"], scene["num_unrelated_images"]) == (3, 0)
    assert scene["objects"] == {"train": 5, "test": 2}
    assert scene["attributes"] == {"train": 3, "test": 0}
    shown = nlil_command("inspect", str(scenes)).out
    assert "16 facts, 7 entities, 10 predicates (all splits)" in shown
    assert "3: 3 with relations (train 2, test 1), 0 without" in shown
    assert nlil_command("inspect", "kin", "--json").json["scene"] is None


def test_a_run_remembers_how_its_data_were_read(nlil_command, tmp_path, scenes, merges, monkeypatch):
    run = tmp_path / "run"
    monkeypatch.chdir(tmp_path)
    settings = ("--set", "merge=merges", "--set", "drop=left of", "--set", "min_support=1", "--set", "search=count")
    assert nlil_command("learn", str(scenes), "--out", str(run), *settings).code == 0
    config = json.loads((run / "config.json").read_text())
    assert (config["merge"], config["drop"]) == (str(merges), ["left of"])
    monkeypatch.chdir(scenes)  # a relative path would be lost here
    again = nlil_command("evaluate", str(run), "--json")
    assert again.json["num_queries"] >= 1
    assert "has changed" not in again.err
    elsewhere = write(tmp_path / "other" / "train_sceneGraphs.json", json.dumps(TEST)).parent
    assert nlil_command("check", str(run), "--data", str(elsewhere), "--json").code == 0  # it has no `left of` to drop
    wrong = nlil_command("learn", str(scenes), "--out", str(tmp_path / "x"), "--set", "drop=leftof")
    assert "unknown relation 'leftof'" in wrong.complaint


def test_a_run_remembers_originals(nlil_command, tmp_path, monkeypatch):
    from nlil.datasets.load import lasting_source

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NLIL_DATA", str(tmp_path))
    (tmp_path / "mine").mkdir()
    assert lasting_source("mine:original") == "mine:original"
    assert lasting_source("./mine:original") == f"{tmp_path / 'mine'}:original"
