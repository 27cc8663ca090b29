"""Learning curves and bars as SVG."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from nlil.learning.curves import history_svg
from nlil.report.page import FOLDER, templates

SVG = "{http://www.w3.org/2000/svg}"
RECORDS = [
    {"target": target, "epoch": epoch, "loss": loss, "valid_loss": None, "entropy": float("nan")}
    for target, losses in {"<b>p": (4.0, 2.0, 1.0), "q": (2.0, 1.0)}.items()
    for epoch, loss in enumerate(losses)
]


def drawn_lines(svg: str) -> list[list[tuple[float, float]]]:
    """The points of the lines inside the axes, the mean last."""
    axes = next(e for e in ElementTree.fromstring(svg).iter(f"{SVG}g") if e.get("id") == "axes_1")
    own = [e for e in axes if (e.get("id") or "").startswith("line2d")]
    paths = [next(e.iter(f"{SVG}path")).get("d", "").replace("M", "").replace("L", "").split() for e in own]
    return [[(float(x), float(y)) for x, y in zip(path[::2], path[1::2])] for path in paths]


def test_one_panel_for_what_was_measured() -> None:
    svg = history_svg(RECORDS)
    assert svg is not None
    assert svg.count("<svg") == 1
    assert "<title>loss by epoch, mean of 2 targets</title>" in svg
    assert "<b>" not in svg
    *faint, mean = drawn_lines(svg)
    assert [len(line) for line in faint] == [3, 2]
    assert [x for x, _ in mean] == sorted(x for x, _ in mean)
    assert [y for _, y in mean] == sorted(y for _, y in mean)  # the loss falls, and y counts downwards
    assert svg == history_svg(RECORDS)


def test_nothing_trained_nothing_drawn() -> None:
    assert history_svg(()) is None


def test_one_epoch_can_be_seen() -> None:
    svg = history_svg([{"target": "p", "epoch": 0, "loss": 0.0}])
    assert svg is not None
    assert "<use " in svg  # a marker: a line of one point has no length


def bar(*arguments: object) -> str:
    source = Path(FOLDER / "page.html").read_text(encoding="utf-8").partition("<!DOCTYPE")[0]
    return str(templates(FOLDER).from_string(source).module.bar(*arguments))  # type: ignore[attr-defined]


def test_bars_stay_in_their_frame() -> None:
    assert '<rect class="part" width="25.00"' in bar(0.25, (0.125, 0.5))
    assert 'd="M12.50 5H50.00M12.50 1.5V8.5M50.00 1.5V8.5"' in bar(0.25, (0.125, 0.5))
    assert '<rect class="part" width="100.00"' in bar(7.0)
    assert '<rect class="part" width="0.00"' in bar(-1)
    assert "interval" not in bar(0.5)
