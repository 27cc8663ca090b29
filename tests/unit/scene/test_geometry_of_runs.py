"""Data that rules of another data set are applied to: its boxes are cut and named as where the rules were learned."""

from __future__ import annotations

from test_geometry import expected_numbers, geometric, meanings, names_of, says, scene

from nlil.data.dataset import DataOptions
from nlil.scene.geometry import RELATIONS, with_geometry


def grid(step, **about):
    """Boxes of ten sizes, which grow by `step`."""
    return scene([(i, i, 2 + i * step, 3 + i) for i in range(10)], **about)


def test_other_data_is_cut_where_the_rules_were_learned():
    """Whatever its own quantiles are: each name holds for the same boxes in both."""
    learned = geometric(grid(5), cuts=4)
    for other in (grid(1), grid(14), scene([(0, 0, 1, 1)]), scene([(150, 70, 50, 30)])):
        own, like = geometric(other, cuts=4), with_geometry(other, DataOptions(cuts=7), learned.kb.predicates)
        assert names_of(like) <= names_of(learned) | set(RELATIONS)
        assert not meanings(like).items() - meanings(learned).items()
        assert names_of(own) - names_of(learned) - set(RELATIONS) or other.kb.num_entities == 1, "its own cuts differ"
        meaning = meanings(learned)
        for i in like.kb.geometry:
            numeric = meaning.get(like.kb.predicates[i].name, like.kb.predicates[i].name)
            if like.kb.predicates[i].arity == 1:
                boxes = [tuple(map(int, box)) for box in other.kb.boxes]
                assert like.kb.members(i).tolist() == [
                    n for n, box in enumerate(boxes) if says(numeric, expected_numbers(*box))
                ], numeric
    assert geometric(grid(5), cuts=4).checksum == with_geometry(grid(5), DataOptions(), learned.kb.predicates).checksum


def test_other_data_is_named_as_the_rules_are():
    learned = geometric(grid(5), cuts=4)
    large = meanings(learned)["large"]
    clashing = geometric(grid(5, attributes=("large",), relation="above"), cuts=4)
    like = with_geometry(grid(5), DataOptions(), clashing.kb.predicates)
    assert names_of(like) == names_of(clashing) > {"box_above", large}
    own = with_geometry(grid(5, attributes=("large",), relation="above"), DataOptions(), learned.kb.predicates)
    assert {"box_above", large, "small"} < names_of(own)
    assert own.notes[-1] == "above, large: names of the data, although rules may use them for geometry predicates"


def test_rules_that_know_no_boxes_say_nothing_about_them():
    """`large` is what people said in the data of the rules, so the boxes of other data do not answer for it."""
    learned = scene([None], attributes=("large",))
    assert "large" in names_of(geometric(grid(5), cuts=4))
    assert "large" not in names_of(with_geometry(grid(5), DataOptions(cuts=4), learned.kb.predicates))


def test_one_cut_is_said_by_its_names():
    made = geometric(grid(5), cuts=2)
    assert not {"small", "large", "at_top", "wide"} & names_of(made)
    other = with_geometry(grid(1), DataOptions(cuts=2), made.kb.predicates)
    assert {name for name in names_of(other) if name.startswith("size")} <= names_of(made)
