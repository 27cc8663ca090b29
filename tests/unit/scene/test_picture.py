"""The picture of an explanation: what is highlighted, what is escaped, how labels lie, the three formats."""

from __future__ import annotations

import base64
import io
import math
import struct
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import kbs
from nlil import KnowledgeBase, RuleSet, RuleStats, ScoredRule, explain, parse_rule
from nlil.errors import ConfigError, DataError
from nlil.explanation.why import Explanation
from nlil.logic.predicate import Predicate
from nlil.scene.canvas import Canvas, Rect, Room, Stroke, Tag, as_svg, overlap, read_photo
from nlil.scene.picture import draw, write_picture
from nlil.scene.picture_content import MAX_OBJECTS, place_in_words, scene_of, surroundings

PERSON = Predicate("person", 1)
SVG = "{http://www.w3.org/2000/svg}"
PLACES = {"a1": (100, 50, 200, 400), "a2": (120, 150, 150, 120), "a3": (50, 200, 700, 350), "a4": (500, 480, 80, 80)}
RULES = {"person(X) :- wearing(X, Z1).": 0.6, "person(X) :- wearing(X, Z1), shirt(Z1).": 0.5, "person(X) :- true.": 0.1}


def boxed(kb: KnowledgeBase, width: float = 1000, height: float = 600) -> KnowledgeBase:
    """The first scene of the street with boxes, the second without."""
    boxes = np.full((kb.num_entities, 4), np.nan, np.float32)
    for name, box in PLACES.items():
        boxes[kb.entities.id(name)] = box
    return replace(kb, boxes=boxes, graph_sizes=np.array([[width, height], [np.nan, np.nan]], np.float32))


def explained(kb: KnowledgeBase, fact: str, rules: dict[str, float] | None = None) -> Explanation:
    scored = [ScoredRule(parse_rule(text), RuleStats(1, 2, 3, 2), w) for text, w in (rules or RULES).items()]
    return explain(RuleSet.of(kb, scored), kb, fact)


def boxes_of(svg: str, kind: str) -> set[str]:
    rects = ElementTree.fromstring(svg).iter(f"{SVG}rect")
    return {r.get("data-name", "") for r in rects if {"box", kind} <= set((r.get("class") or "").split())}


def test_exactly_the_objects_of_the_groundings_are_highlighted():
    kb = boxed(kbs.street())
    svg = as_svg(draw(explained(kb, "person(a1)"), kb))
    assert boxes_of(svg, "query") == {"a1"}
    assert boxes_of(svg, "used") == {"a2"}
    assert boxes_of(svg, "other") == {"a3", "a4"}
    # The more telling rule gives the colour, although a stronger one uses the object too.
    assert boxes_of(svg, "rule-1") == {"a2"}
    nothing = as_svg(draw(explained(kb, "person(a1)", {"person(X) :- true.": 0.1}), kb))
    assert boxes_of(nothing, "used") == set()


def test_rules_without_objects_and_unanchored_ones():
    kb = boxed(kbs.street())
    rules = {"person(X) :- wheel(Z1).": 0.4, r"person(X) :- \+ (holding(X, Z1)).": 0.5}
    canvas = draw(explained(kb, "person(a1)", rules), kb)
    assert boxes_of(as_svg(canvas), "used") == {"a4"}
    captions = [s.text for s in canvas.shapes if isinstance(s, Tag) and s.kind == "caption"]
    assert captions[0].startswith("person(a1)  score ")
    assert captions[0].endswith("; in the data: person")
    assert any(r"\+" in text for text in captions)


def test_boxes_are_at_their_places():
    kb = boxed(kbs.street())
    canvas = draw(explained(kb, "person(a1)"), kb)
    drawn = {s.name: s.box for s in canvas.shapes if isinstance(s, Rect) and s.name}
    assert drawn == {name: pytest.approx(box) for name, box in PLACES.items()}
    assert canvas.width == 1000
    small = boxed(kbs.street(), 800, 600)  # drawn larger: text keeps its size
    scale = draw(explained(small, "person(a1)"), small).width / 800
    assert scale == 900 / 800


def test_arrows_point_from_subject_to_object():
    kb = boxed(kbs.street())
    canvas = draw(explained(kb, "car(a3)", {"car(X) :- part_of(Z1, X).": 0.5}), kb)
    (arrow,) = [s for s in canvas.shapes if isinstance(s, Stroke) and "used" in s.kind]
    wheel = PLACES["a4"]
    assert overlap((*arrow.start, 1, 1), wheel)
    assert not overlap((*arrow.end, 1, 1), wheel)
    assert arrow.head > 0


@pytest.mark.parametrize("image", [False, True])
def test_names_are_escaped(image: bool, tmp_path: Path):
    evil = "<script>alert('x')</script>&\""
    facts = [("o1", evil), ("o2", "shirt"), ("o1", evil + "on", "o2"), (evil + "3", "tree\x00\x1b")]
    kb = KnowledgeBase.from_facts(facts)
    boxes = np.array([[10, 10, 50, 50]] * kb.num_entities, np.float32)
    classes = frozenset(i for i, p in enumerate(kb.predicates) if p.arity == 1)
    kb = replace(kb, graph_of=np.zeros(kb.num_entities, np.int32), classes=classes, boxes=boxes)
    quoted = evil.replace("'", "\\'")
    explanation = explained(kb, f"'{quoted}'(o1)", {f"'{quoted}'(X) :- '{quoted}on'(X, Z1).": 0.5})
    canvas = draw(explanation, kb, photo(tmp_path, 60, 60) if image else None)
    svg, page = as_svg(canvas), write_picture(canvas, tmp_path / "page.html", explanation).read_text()
    root = ElementTree.fromstring(svg)
    assert not [e for e in root.iter() if "script" in e.tag.lower()]
    assert boxes_of(svg, "other") == {evil + "3"}
    assert "<script" not in page.lower()
    write_picture(canvas, tmp_path / "picture.png", explanation)


def test_same_explanation_same_bytes(tmp_path: Path):
    kb = boxed(kbs.street())
    explanation = explained(kb, "person(a1)")
    for ending in ("svg", "png", "html"):
        one, two = (write_picture(draw(explanation, kb), tmp_path / f"{i}.{ending}", explanation) for i in "ab")
        assert one.read_bytes() == two.read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.html", "a.png", "a.svg", "b.html", "b.png", "b.svg"]


def photo(folder: Path, width: int, height: int, kind: str = "png") -> Path:
    from matplotlib.image import imsave

    path = folder / f"photo.{kind}"
    imsave(path, np.full((height, width, 3), 200, np.uint8))
    return path


def png_size(content: bytes) -> tuple[int, ...]:
    return struct.unpack(">II", content[16:24])


def test_png_has_the_size_of_the_canvas(tmp_path: Path):
    from matplotlib.image import imread

    kb = boxed(kbs.street())
    explanation = explained(kb, "person(a1)")
    canvas = draw(explanation, kb)
    content = write_picture(canvas, tmp_path / "x.PNG", explanation).read_bytes()
    assert png_size(content) == (canvas.width, canvas.height)
    pixels = imread(io.BytesIO(content))
    query = np.array([0xB3, 0x12, 0x2D]) / 255
    x, y, width, height = PLACES["a1"]
    assert np.allclose(pixels[y + height, x + width // 8, :3], query, atol=0.02)


@pytest.mark.parametrize("kind", ["png", "jpeg"])
def test_an_image_is_embedded_as_it_is(kind: str, tmp_path: Path):
    kb = boxed(kbs.street())
    explanation, path = explained(kb, "person(a1)"), photo(tmp_path, 500, 300, kind)
    canvas = draw(explanation, kb, path)
    (image,) = ElementTree.fromstring(as_svg(canvas)).iter(f"{SVG}image")
    head, _, data = image.get("href", "").partition(",")
    assert head == f"data:image/{kind};base64"
    assert base64.b64decode(data) == path.read_bytes()
    assert (image.get("width"), image.get("height")) == ("1000", "600")
    assert boxes_of(as_svg(canvas), "used") == {"a2"}
    drawn = write_picture(canvas, tmp_path / "over.png", explanation).read_bytes()
    assert png_size(drawn) == (canvas.width, canvas.height)


def test_images_that_do_not_fit_are_refused(tmp_path: Path):
    kb = boxed(kbs.street())
    with pytest.raises(
        ConfigError, match="expected an image with the aspect ratio of 1000 x 600, as in the data, got 300 x 500"
    ):
        draw(explained(kb, "person(a1)"), kb, photo(tmp_path, 300, 500))
    with pytest.raises(ConfigError, match="needs objects with boxes"):
        draw(explained(kb, "person(b1)"), kb, photo(tmp_path, 300, 500))
    broken = tmp_path / "broken.jpg"
    broken.write_bytes(photo(tmp_path, 50, 30, "jpeg").read_bytes()[:40])
    with pytest.raises(DataError, match="incomplete or damaged"):
        read_photo(broken)
    broken.write_bytes(b"GIF89a")
    with pytest.raises(DataError, match="expected a PNG or JPEG image"):
        read_photo(broken)
    with pytest.raises(ConfigError, match=r"expected a name ending in \.svg, \.png, \.html"):
        write_picture(draw(explained(kb, "person(a1)"), kb), tmp_path / "x.gif", explained(kb, "person(a1)"))


def covering(canvas: Canvas) -> list[tuple[str, str]]:
    tags = [s for s in canvas.shapes if isinstance(s, Tag)]
    return [(a.text, b.text) for i, a in enumerate(tags) for b in tags[:i] if overlap(a.box, b.box)]


def test_labels_do_not_cover_each_other():
    """Thirty objects in one spot, all used: everything that rules use is named, nothing is hidden."""
    facts = [("q", "person")]
    for i in range(30):
        facts += [(f"o{i}", "shirt"), ("q", "wearing", f"o{i}")]
    kb = KnowledgeBase.from_facts(facts)
    boxes = np.array([[400 + i % 3, 300 + i % 2, 60, 40] for i in range(kb.num_entities)], np.float32)
    classes = frozenset(i for i, p in enumerate(kb.predicates) if p.arity == 1)
    kb = replace(
        kb,
        graph_of=np.zeros(kb.num_entities, np.int32),
        classes=classes,
        boxes=boxes,
        graph_sizes=np.array([[1000, 700]], np.float32),
    )
    explanation = explain(
        RuleSet.of(kb, [ScoredRule(parse_rule("person(X) :- wearing(X, Z1), shirt(Z1)."), RuleStats(1, 2, 3, 2), 0.5)]),
        kb,
        "person(q)",
        groundings=20,
    )
    canvas = draw(explanation, kb)
    assert covering(canvas) == []
    assert sum("used" in s.kind for s in canvas.shapes if isinstance(s, Tag) and s.kind.startswith("label")) == 20
    assert all(s.box[0] >= 0 and s.box[0] + s.box[2] <= canvas.width for s in canvas.shapes if isinstance(s, Tag))


def test_room_prefers_places_off_the_arrows():
    room = Room(100, 100, better_free=[(0, 0, 50, 50)])
    assert room.place((10, 10), [(20, 20), (80, 80)]) == (75, 75, 10, 10)
    assert room.place((10, 10), [(80, 80)], must=False) is None
    assert room.place((10, 10), [(80, 80), (20, 20)], must=False) == (15, 15, 10, 10)


def test_graphs_without_boxes_are_laid_out():
    kb = kbs.street()
    canvas = draw(explained(kb, "person(b1)", {"person(X) :- holding(X, Z1).": 0.5}), kb)
    assert boxes_of(as_svg(canvas), "used") == {"b3"}
    assert boxes_of(as_svg(canvas), "other") == {"b2"}
    nodes = [s.box for s in canvas.shapes if isinstance(s, Rect) and s.name]
    assert not [1 for i, a in enumerate(nodes) for b in nodes[:i] if overlap(a, b)]


def test_a_layout_follows_links_in_either_direction():
    """Around the query stand what it is linked to and what is linked to it; what is a step farther stands outside."""
    facts = [("q", "person"), ("q", "on", "out"), ("in", "on", "q"), ("far", "on", "in"), ("alone", "person")]
    kb = KnowledgeBase.from_facts(facts)
    kb = replace(kb, graph_of=np.zeros(kb.num_entities, np.int32), classes=frozenset({kb.predicates.index(PERSON)}))
    canvas = draw(explained(kb, "person(q)", {"person(X) :- on(X, Z1).": 0.5}), kb)
    boxes = {s.name: s.box for s in canvas.shapes if isinstance(s, Rect) and s.name}
    centre = {name: (x + width / 2, y + height / 2) for name, (x, y, width, height) in boxes.items()}
    # Rings are wider than they are high.
    away = {n: math.hypot(x - centre["q"][0], (y - centre["q"][1]) / 0.62) for n, (x, y) in centre.items()}
    assert away["in"] == pytest.approx(away["out"])
    assert away["far"] == pytest.approx(away["alone"])
    assert 0 < away["in"] < away["far"]


def test_of_a_large_graph_the_surroundings_are_drawn():
    chain = [(f"n{i}", "next", f"n{i + 1}") for i in range(40)]
    kb = KnowledgeBase.from_facts([*chain, ("n20", "person"), ("n0", "shirt")])
    classes = frozenset(kb.predicate_id(kb.predicate(name)) for name in ("person", "shirt"))
    kb = replace(kb, graph_of=np.zeros(kb.num_entities, np.int32), classes=classes)
    scene = scene_of(explained(kb, "person(n20)", {"person(X) :- shirt(Z1).": 0.5}), kb)
    assert {thing.name for thing in scene.things} == {"n0", "n18", "n19", "n20", "n21", "n22"}
    assert len(scene.things) <= MAX_OBJECTS


def test_an_object_without_a_box_stands_below_the_image():
    kb = boxed(kbs.street())
    boxes = kb.boxes.copy()
    boxes[kb.entities.id("a2")] = np.nan
    kb = replace(kb, boxes=boxes)
    canvas = draw(explained(kb, "person(a1)"), kb)
    drawn = {s.name: s.box for s in canvas.shapes if isinstance(s, Rect) and s.name}
    assert drawn["a2"][1] > 600
    assert drawn["a1"] == pytest.approx(PLACES["a1"])


def test_a_proof_is_a_graph_from_x_to_y():
    kb = kbs.family()
    rule = "uncle(X, Y) :- mother(Z1, X), mother(Z1, Z2), mother(Z2, Y)."
    canvas = draw(explained(kb, "uncle(tom, cleo)", {rule: 0.7}), kb)
    svg = as_svg(canvas)
    assert (boxes_of(svg, "query"), boxes_of(svg, "used")) == ({"tom", "cleo"}, {"ann", "bea"})
    left = {s.name: s.box[0] for s in canvas.shapes if isinstance(s, Rect) and s.name}
    assert sorted(left, key=left.__getitem__) == ["tom", "ann", "bea", "cleo"]
    assert [s.dashed for s in canvas.shapes if isinstance(s, Stroke) and s.kind == "link query"] == [True]
    assert covering(canvas) == []


def test_the_picture_in_words():
    kb = boxed(kbs.street())
    found = surroundings(scene_of(explained(kb, "person(a1)"), kb))
    assert [(n["object"], n["class"], n["place"], n["relations"], n["used"]) for n in found] == [
        ("a1", "person", "left", [], False),
        ("a2", "shirt", "left", ["X wearing it"], True),
        ("a3", "car", "middle", ["X inside it"], False),
        ("a4", "wheel", "bottom", [], False),
    ]
    assert place_in_words((0, 0, 95, 95), (100, 100)) == "all over"
    assert place_in_words((-50, -50, 10, 10), (100, 100)) == "top left"
    assert place_in_words((90, 90, 30, 30), (100, 100)) == "bottom right"
