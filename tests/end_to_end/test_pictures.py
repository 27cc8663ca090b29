"""nlil explain for scenes: an object without a predicate, what is near it, and the picture in its three formats."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from commandline import Nlil
from nlil.cli.main import run


def scene(number: int) -> dict[str, object]:
    """A person wears a shirt, at the top left of the image; a wheel of a car is at the bottom right."""

    def thing(name: str, x: int, y: int, *relations: tuple[str, str]) -> dict[str, object]:
        links = [{"name": relation, "object": f"{number}{other}"} for relation, other in relations]
        return {"name": name, "x": x, "y": y, "w": 100, "h": 100, "attributes": [], "relations": links}

    objects = {
        "p": thing("person", 20, 20, ("wearing", "s")),
        "s": thing("shirt", 30, 40),
        "c": thing("car", 800, 450),
        "w": thing("wheel", 850, 480, ("of", "c")),
    }
    return {"width": 1000, "height": 600, "objects": {f"{number}{key}": value for key, value in objects.items()}}


@pytest.fixture(scope="module")
def scene_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scenes")
    for split, numbers in {"train": range(12), "test": range(12, 14)}.items():
        text = json.dumps({f"image{i}": scene(i) for i in numbers})
        (folder / f"{split}_sceneGraphs.json").write_text(text)
    out = folder / "run"
    assert (
        run(["learn", str(folder), "--out", str(out), "--quiet", "--set", "search=count", "--set", "geometry=off"]) == 0
    )
    return out


def test_an_object_is_explained_by_its_most_probable_class(nlil_command: Nlil, scene_run: Path, tmp_path: Path) -> None:
    picture = tmp_path / "deep" / "picture.svg"
    outcome = nlil_command("explain", scene_run, "12p", "--out", picture, "--json").json
    assert outcome["fact"] == "person('12p')"
    assert outcome["object"]["true"] == ["person"]
    best, *others = outcome["object"]["candidates"]
    assert best == {"class": "person", "score": outcome["score"]}
    assert all(other["score"] <= best["score"] for other in others)
    assert outcome["picture"] == str(picture)
    assert [(n["object"], n["class"], n["place"]) for n in outcome["near"]][:2] == [
        ("12p", "person", "top left"),
        ("12s", "shirt", "top left"),
    ]
    root = ElementTree.parse(picture).getroot()
    assert root.get("width") == "1000"
    used = [e.get("data-name") for e in root.iter() if "box used" in (e.get("class") or "")]
    assert used == ["12s"]


def test_the_terminal_says_what_is_near(nlil_command: Nlil, scene_run: Path) -> None:
    out = nlil_command("explain", scene_run, "12p").out
    assert out.startswith("12p: most probably person (")
    assert "\n12p is a person, because " in out
    assert len(out.splitlines()) <= 12
    assert out == nlil_command("explain", scene_run, "'12p'").out
    out = nlil_command("explain", scene_run, "12p", "--all").out
    assert "in the data person" in out
    assert "near X = 12p in image12" in out
    assert "* 12s: shirt; top left; X wearing it" in out
    assert "12w: wheel; bottom right" in out
    asked = nlil_command("explain", scene_run, "shirt(12s)", "--all").out
    assert "* 12p: person; top left; it wearing X" in asked
    assert "most probably" not in asked


@pytest.mark.parametrize("ending", ["png", "html"])
def test_other_formats(ending: str, nlil_command: Nlil, scene_run: Path, tmp_path: Path) -> None:
    picture = tmp_path / f"picture.{ending}"
    out = nlil_command("explain", scene_run, "person(12p)", "--out", picture).out
    assert f"picture written to {picture}" in out.replace("\n", "")  # a long path is broken
    content = picture.read_bytes()
    if ending == "png":
        assert content.startswith(b"\x89PNG")
    else:
        assert b"<svg" in content
        assert b"nlil-explanation" in content
        assert b"http" not in content.replace(b"http://www.w3.org/2000/svg", b"")


def test_a_graph_without_boxes_and_a_plain_base(
    nlil_command: Nlil, street_run: Path, kin_run: Path, tmp_path: Path
) -> None:
    name = nlil_command("explain", street_run, "s40_0", "--out", tmp_path / "a.svg", "--json").json["arguments"]
    assert name == ["s40_0"]
    plain = nlil_command("explain", kin_run, "aunt(vera1, alice1)", "--out", tmp_path / "b.svg", "--json").json
    assert plain["near"] == []
    assert "object" not in plain
    for file in ("a.svg", "b.svg"):
        assert ElementTree.parse(tmp_path / file).getroot().tag.endswith("svg")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("99p",), "unknown object '99p'"),
        (("12p", "--out", "picture.gif"), "expected a name ending in .svg, .png, .html"),
        (("12p", "--image", "photo.png"), "--image needs --out"),
        (("12p", "--image", "nowhere.png", "--out", "OUT"), "nowhere.png: cannot be read"),
        (("12p", "--image", "TEXT", "--out", "OUT"), "expected a PNG or JPEG image"),
    ],
)
def test_refusals(words: tuple[str, ...], expected: str, nlil_command: Nlil, scene_run: Path, tmp_path: Path) -> None:
    text = tmp_path / "photo.png"
    text.write_text("no image")
    places = {"OUT": str(tmp_path / "out.svg"), "TEXT": str(text)}
    assert expected in nlil_command("explain", scene_run, *(places.get(w, w) for w in words), "--quiet").complaint
    assert not (tmp_path / "out.svg").exists()
