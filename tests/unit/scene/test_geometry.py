from __future__ import annotations

import json
import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data_cases import rows, write
from nlil.data.dataset import DataOptions, make_dataset
from nlil.datasets import load_dataset
from nlil.errors import DataError
from nlil.scene.collector import SceneCollector
from nlil.scene.geometry import MAX_OBJECTS, RELATIONS, box_numbers, pair_facts, proper_boxes, with_geometry

WIDTH, HEIGHT = 200, 100
CAT_ON_MAT = {
    "im1": {
        "width": 100,
        "height": 100,
        "objects": {
            "a": {"name": "cat", "x": 10, "y": 10, "w": 5, "h": 5},
            "b": {"name": "mat", "x": 0, "y": 0, "w": 90, "h": 90},
        },
    }
}
NUMBER = r"(-?[\d.]+)"
box = st.tuples(st.integers(0, 150), st.integers(0, 80), st.integers(0, 50), st.integers(0, 20))


def scene(*images, size=(WIDTH, HEIGHT), names=("thing",), relation="near", attributes=(), test=()):
    """A data set of images, each a list of boxes; the objects are named 0, 1, 2 ... over all of them."""
    collector, number = SceneCollector(), 0
    for i, boxes in enumerate((*images, *test)):
        objects = {}
        for values in boxes:
            thing = {
                "name": names[number % len(names)],
                "attributes": list(attributes),
                "relations": [{"name": relation, "object": str(number)}],
            }
            objects[str(number)] = thing | dict(zip("xywh", values or (), strict=False))
            number += 1
        graph = {"width": size[0], "height": size[1], "objects": objects}
        collector.add(f"im{i}", graph, "train" if i < len(images) else "test")
    kb, splits, notes = collector.finish()
    return make_dataset("scene", kb, splits, notes=notes)


def geometric(dataset, cuts=10):
    return with_geometry(dataset, DataOptions(cuts=cuts))


def names_of(dataset):
    return {dataset.kb.predicates[i].name for i in dataset.kb.geometry}


def meanings(dataset):
    """Plain name -> numeric name, from the note."""
    note = next(note for note in dataset.notes if note.startswith("of the boxes: "))
    return dict(part.split(" is ") for part in note.removeprefix("of the boxes: ").split(", "))


def expected_numbers(x, y, w, h):
    x, y, w, h = map(Fraction, (x, y, w, h))
    return {
        "size": w * h / (WIDTH * HEIGHT),
        "width": w / WIDTH,
        "height": h / HEIGHT,
        "aspect": w / h,
        "middle_x": (x + w / 2) / WIDTH,
        "middle_y": (y + h / 2) / HEIGHT,
        "top": y / HEIGHT,
        "bottom": (y + h) / HEIGHT,
    }


def says(name, numbers):
    """Whether what a name says is true of these shares, from the name alone."""
    number = next(n for n in sorted(numbers, key=len, reverse=True) if name.startswith(n + "_"))
    scale = 100 if name.endswith("pct") else 1
    assert (scale == 1) == (number == "aspect")
    rest, value = name.removeprefix(number).removesuffix("pct"), float(scale * numbers[number])
    if match := re.fullmatch(f"_over_{NUMBER}", rest):
        return value > float(match[1])
    if match := re.fullmatch(f"_up_to_{NUMBER}", rest):
        return value <= float(match[1])
    low, high = map(float, re.fullmatch(f"_{NUMBER}_to_{NUMBER}", rest).groups())
    return low < value <= high


@settings(deadline=None, max_examples=50)
@given(st.lists(st.lists(box, min_size=1, max_size=6), min_size=1, max_size=4), st.integers(2, 6))
def test_names_tell_the_truth(images, cuts):
    dataset = scene(*images[:-1] or images, test=images[-1:] if len(images) > 1 else ())
    made = geometric(dataset, cuts)
    kb, everything = made.kb, made.complete()
    meaning = meanings(made) if any("of the boxes" in note for note in made.notes) else {}
    boxes = [values for image in images for values in image]
    for i in kb.geometry:
        predicate = kb.predicates[i]
        if predicate.arity == 1:
            numeric = meaning.get(predicate.name, predicate.name)
            expected = [
                e for e, (x, y, w, h) in enumerate(boxes) if w and h and says(numeric, expected_numbers(x, y, w, h))
            ]
            assert everything.members(i).tolist() == expected, predicate.name


def test_exact_percents_are_not_over():
    made = geometric(scene([(0, 0, 20, 70), (0, 0, 10, 10), (0, 0, 100, 100), (0, 0, 20, 70)]), cuts=4)
    members = {
        made.kb.predicates[i].name: set(made.kb.members(i).tolist())
        for i in made.kb.geometry
        if made.kb.predicates[i].arity == 1
    }
    assert members["size_0.5_to_7pct"] == {0, 3}  # 7 percent to the last digit: .07 * 100 would be over 7
    assert members["large"] == {2}
    assert meanings(made)["large"] == "size_over_7pct"


def test_plain_names_stand_for_the_outermost_conditions():
    boxes = [(x, y, w, h) for x in (0, 60, 120) for y in (0, 40) for w, h in ((4, 4), (60, 10), (8, 50))]
    made = geometric(scene(boxes), cuts=3)
    meaning = meanings(made)
    assert set(meaning) == {
        "small",
        "large",
        "narrow",
        "wide",
        "short",
        "tall",
        "at_left",
        "at_right",
        "at_top",
        "at_bottom",
    }
    for plain, start in (("small", "size_up_to"), ("large", "size_over"), ("narrow", "aspect_up_to"),
                         ("wide", "aspect_over"), ("short", "height_up_to"), ("tall", "height_over"),
                         ("at_left", "middle_x_up_to"), ("at_right", "middle_x_over"),
                         ("at_top", "middle_y_up_to"), ("at_bottom", "middle_y_over")):  # fmt: skip
        assert meaning[plain].startswith(start)
        assert meaning[plain] not in names_of(made)
        assert plain in names_of(made)
    highest = max(float(name[10:-3]) for name in names_of(made) | {meaning["large"]} if name.startswith("size_over"))
    assert meaning["large"] == f"size_over_{highest:g}pct"


def test_names_of_the_data_come_first():
    boxes = [(0, 0, 10, 10), (100, 50, 50, 50), (0, 50, 40, 20)]
    made = geometric(scene(boxes, names=("large", "cat"), attributes=("at_top",), relation="tall"), cuts=3)
    assert {"small", "at_bottom", "short", "above", "left_of", "larger_than"} < names_of(made)
    assert not {"large", "at_top", "tall"} & names_of(made)
    assert not {"large", "at_top", "tall"} & set(meanings(made))
    numeric = geometric(scene([(0, 0, 10, 10), (0, 0, 100, 20)], attributes=("width_over_5pct",)), cuts=2)
    assert {"width_up_to_5pct", "box_width_over_5pct"} < names_of(numeric)
    assert len([name for name in names_of(made) if re.match("size_over|middle_y_up_to|height_over", name)]) == 5


@pytest.mark.parametrize("clash", [{"relation": "above"}, {"attributes": ("inside",)}, {"names": ("left_of",)}])
def test_one_clash_renames_all_relations(clash):
    boxes = [(0, 0, 10, 10), (100, 50, 50, 50), (0, 0, 40, 20), (110, 60, 5, 5), (10, 10, 60, 20), (110, 90, 5, 5)]
    made = geometric(scene(boxes, **clash))
    assert {f"box_{name}" for name in RELATIONS} < names_of(made)
    assert not set(RELATIONS) & names_of(made)
    again = geometric(scene(boxes, relation="box_above", attributes=("above",)))
    assert {f"box_box_{name}" for name in RELATIONS} < names_of(again)


@pytest.mark.parametrize(("relation", "first", "second"), [
    ("inside", (10, 10, 10, 10), (0, 0, 50, 50)),
    ("inside", (41, 0, 10, 10), (0, 0, 50, 50)),          # nine tenths of it
    ("above", (0, 0, 10, 30), (90, 20, 10, 20)),          # ends at the other's middle
    ("left_of", (0, 0, 30, 10), (20, 50, 20, 10)),
    ("larger_than", (0, 0, 10, 21), (50, 50, 10, 10)),
    ("high_in", (20, 0, 10, 20), (0, 0, 50, 30)),         # its middle is a third down
    ("low_in", (20, 10, 10, 20), (0, 0, 50, 30)),
])  # fmt: skip
def test_relations_point_one_way(relation, first, second):
    made = geometric(scene([first, second]))
    found = rows(made.kb)
    assert ("0", relation, "1") in found
    assert ("1", relation, "0") not in found


@pytest.mark.parametrize(("relation", "first", "second"), [
    ("inside", (42, 0, 10, 10), (0, 0, 50, 50)),          # four fifths of it
    ("overlaps", (10, 10, 10, 10), (0, 0, 50, 50)),       # inside is not overlaps
    ("overlaps", (0, 0, 10, 10), (10, 0, 10, 10)),        # a common edge has no area
    ("above", (0, 0, 10, 31), (90, 20, 10, 20)),
    ("left_of", (0, 0, 31, 10), (20, 50, 20, 10)),
    ("larger_than", (0, 0, 10, 20), (50, 50, 10, 10)),    # twice is not more than twice
    ("high_in", (20, 1, 10, 20), (0, 0, 50, 30)),
    ("low_in", (20, 9, 10, 20), (0, 0, 50, 30)),
    ("high_in", (46, 0, 10, 20), (0, 0, 50, 30)),         # its middle is beside the other
])  # fmt: skip
def test_relations_that_just_fail(relation, first, second):
    found = rows(geometric(scene([first, second])).kb)
    assert not {("0", relation, "1"), ("1", relation, "0")} & found


def test_overlaps_holds_both_ways():
    found = rows(geometric(scene([(0, 0, 20, 20), (10, 10, 20, 20)])).kb)
    assert {("0", "overlaps", "1"), ("1", "overlaps", "0")} <= found


def test_relations_stay_within_an_image_and_a_split():
    inner, outer = (10, 10, 10, 10), (0, 0, 50, 50)
    made = geometric(scene([inner], [outer], [inner, outer], test=([outer, inner],)))
    assert {row for row in rows(made.kb) if row[1] == "inside"} == {("2", "inside", "3")}
    context = rows(made.kb, made.splits.context["test"])
    assert {row for row in context if row[1] == "inside"} == {("5", "inside", "4")}
    assert rows(made.kb, made.splits.test) == {("4", "thing"), ("5", "thing")}


@pytest.mark.parametrize("bad", [None, (5, 5, 0, 7), (5, 5, 7, -1), (None, 5, 7, 7), (5, 5, 7, None)])
def test_objects_without_a_proper_box_get_no_facts(bad):
    made = geometric(scene([(0, 0, 10, 10), bad, (50, 50, 40, 30)]), cuts=2)
    mine = [row for row in rows(made.kb) if "1" in (row[0], *row[2:])]
    assert sorted(mine) == [("1", "near", "1"), ("1", "thing")]
    assert ("2", "size_over_0.5pct") in rows(made.kb)


def test_cuts_come_from_training_objects():
    train = [(0, 0, 10, 10), (0, 0, 20, 20), (50, 50, 40, 30)]
    little = geometric(scene(train, test=([(0, 0, 1, 1), (0, 0, 2, 2)],)))
    much = geometric(scene(train, test=([(0, 0, 200, 100), (0, 0, 190, 90)],)))
    unary = [
        {p for i, p in enumerate(made.kb.predicates) if i in made.kb.geometry and p.arity == 1}
        for made in (little, much)
    ]
    assert unary[0] == unary[1]
    assert meanings(little) == meanings(much)


def test_an_image_of_unknown_size_reaches_as_far_as_its_boxes():
    dataset = scene([(0, 0, 50, 20), (50, 0, 50, 40)], size=(None, 80))
    numbers = box_numbers(dataset.kb, proper_boxes(dataset.kb))
    assert numbers["width"].tolist() == [50, 50]
    assert numbers["height"].tolist() == [25, 50]
    unknown = replace(dataset.kb, graph_sizes=None)
    assert box_numbers(unknown, proper_boxes(unknown))["height"].tolist() == [50, 100]


def brute_pairs(boxes, graph_of):
    found = set()
    for i, (x, y, w, h) in enumerate(boxes):
        for j, (u, v, s, t) in enumerate(boxes):
            if i == j or graph_of[i] != graph_of[j]:
                continue
            shared = max(0, min(x + w, u + s) - max(x, u)) * max(0, min(y + h, v + t) - max(y, v))
            inside = [10 * shared >= 9 * area for area in (w * h, s * t)]
            holds = {
                "inside": inside[0],
                "overlaps": shared > 0 and not any(inside),
                "above": 2 * (y + h) <= 2 * v + t,
                "left_of": 2 * (x + w) <= 2 * u + s,
                "larger_than": w * h > 2 * s * t,
            }
            if 2 * u <= 2 * x + w <= 2 * (u + s) and 2 * v <= 2 * y + h <= 2 * (v + t):
                holds |= {"high_in": 3 * (2 * y + h) <= 6 * v + 2 * t, "low_in": 3 * (2 * y + h) >= 6 * v + 4 * t}
            found |= {(name, i, j) for name, true in holds.items() if true}
    return found


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 2), box.map(lambda b: (b[0], b[1], b[2] + 1, b[3] + 1))), max_size=14))
def test_pairs_agree_with_a_double_loop(objects):
    graph_of = np.asarray([graph for graph, _ in objects], np.int32)
    boxes = np.asarray([values for _, values in objects], np.float64).reshape(-1, 4)
    found, notes = pair_facts(boxes, graph_of)
    assert {(name, *row) for name, pairs in found.items() for row in pairs.tolist()} == brute_pairs(
        [values for _, values in objects], graph_of
    )
    assert notes == ()


def test_the_number_of_pairs_is_bounded(monkeypatch):
    monkeypatch.setattr("nlil.scene.geometry.PAIRS_AT_ONCE", 100)
    count = MAX_OBJECTS + 5
    boxes = np.asarray([(0, 0, 1 + i, 1 + i) for i in range(count)] + [(0, 0, 1, 1)] * 3, np.float64)
    graph_of = np.asarray([0] * count + [1] * 3, np.int32)
    found, notes = pair_facts(boxes, graph_of)
    taking_part = set(found["inside"].ravel().tolist())
    assert taking_part == {*range(5, count), count, count + 1, count + 2}  # the largest; the small image is whole
    numbers = {(name, *row) for name, pairs in found.items() for row in pairs.tolist()}
    assert numbers == {row for row in brute_pairs(boxes.tolist(), graph_of) if min(row[1:]) >= 5}
    assert notes == ("relations between boxes are those of the 40 largest objects of an image; 1 images have more",)
    few, notes = pair_facts(boxes, graph_of, max_pairs=100)
    assert set(few["inside"][:, 0].tolist()) <= {*range(count - 10, count + 3)}
    assert "the 10 largest" in notes[0]  # 10 * 9 pairs and the 6 of the small image are the most below 100


def test_loading_makes_geometry_unless_it_is_off(tmp_path):
    write(tmp_path / "train_sceneGraphs.json", json.dumps(CAT_ON_MAT))
    on, off = load_dataset(tmp_path), load_dataset(tmp_path, options=DataOptions(geometry=False))
    assert {("a", "inside", "b"), ("a", "size_up_to_0.25pct"), ("b", "size_over_0.25pct")} < rows(on.kb)
    assert rows(off.kb) == {("a", "cat"), ("b", "mat")}
    assert off.kb.geometry == frozenset()
    assert on.checksum != off.checksum
    assert on.targets == off.targets
    assert with_geometry(replace(off, kb=replace(off.kb, boxes=None)), DataOptions()).kb.geometry == frozenset()


def test_numbers_and_boxes_together(tmp_path):
    write(tmp_path / "train_sceneGraphs.json", json.dumps(CAT_ON_MAT))
    write(tmp_path / "numbers.csv", "object,age\na,3\nb,9\n")
    kb = load_dataset(tmp_path).kb
    assert {("b", "age_over_3"), ("a", "inside", "b"), ("a", "cat")} < rows(kb)
    assert {kb.predicates[i].name for i in range(kb.num_predicates) if i not in kb.geometry} == {"cat", "mat"}
    write(tmp_path / "numbers.csv", "object,age\na,3\nb,nine\n")
    with pytest.raises(DataError, match=r"numbers\.csv:3: expected a number for 'age', got 'nine'"):
        load_dataset(tmp_path)


@pytest.mark.parametrize(
    ("num_objects", "wanted", "bins"),
    [(1_000, 10, 10), (150_000, 10, 10), (1_400_000, 10, 2), (500_000, 20, 8), (10**8, 10, 2), (0, 5, 5)],
)
def test_many_boxes_get_fewer_bins(num_objects: int, wanted: int, bins: int) -> None:
    from nlil.scene.geometry import MAX_UNARY_FACTS, NUM_NUMBERS, _affordable_bins

    found = _affordable_bins(num_objects, wanted)
    assert found == bins
    assert found == 2 or num_objects * NUM_NUMBERS * (1 + (found - 1) / 2) <= MAX_UNARY_FACTS
