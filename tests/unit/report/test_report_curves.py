"""Charts and bars as SVG."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from nlil.report.charts import BOTTOM, HEIGHT, from_zero, history_charts, size_chart
from nlil.report.page import FOLDER, environment
from nlil.theory.theory import SIZES, SizeScore

SVG = "{http://www.w3.org/2000/svg}"
RECORDS = [
    {"target": target, "epoch": epoch, "loss": loss, "valid_loss": None, "entropy": float("nan")}
    for target, losses in {"<b>p": (4.0, 2.0, 1.0), "q": (2.0, 1.0)}.items()
    for epoch, loss in enumerate(losses)
]


def drawn_lines(svg: str) -> list[list[tuple[float, float]]]:
    """The points of the lines, the mean last."""
    lines = [e.get("points", "") for e in ElementTree.fromstring(svg).iter(f"{SVG}polyline")]
    return [[(float(x), float(y)) for x, y in (point.split(",") for point in line.split())] for line in lines]


def test_one_panel_for_what_was_measured() -> None:
    (svg,) = history_charts(RECORDS)
    assert "<title>loss by epoch, mean of 2 targets</title>" in svg
    assert "<b>" not in svg
    *faint, mean = drawn_lines(svg)
    assert [len(line) for line in faint] == [3, 2]
    assert [x for x, _ in mean] == sorted(x for x, _ in mean)
    assert [y for _, y in mean] == sorted(y for _, y in mean)  # the loss falls, and y counts downwards


def test_nothing_trained_nothing_drawn() -> None:
    assert history_charts(()) == []


def test_one_epoch_can_be_seen() -> None:
    (svg,) = history_charts([{"target": "p", "epoch": 0, "loss": 0.0}])
    assert "<circle " in svg  # a line of one point has no length


def test_a_size_stands_where_its_score_says_and_all_rules_are_a_line_across() -> None:
    curve = [SizeScore(size, size / 400) for size in SIZES]
    svg = size_chart(curve, 0.75, "all <b> rules", 20)
    assert "<b>" not in svg
    (line,) = drawn_lines(svg)
    zero, scale = HEIGHT - BOTTOM, line[-1][1] - (HEIGHT - BOTTOM)
    assert [(y - zero) / scale * 0.5 for _, y in line] == pytest.approx([one.mrr for one in curve], abs=0.002)
    level = re.search(r'd="M46 ([0-9.]+)H350" stroke="#1b2230"', svg)
    assert level is not None
    assert (float(level[1]) - zero) / scale * 0.5 == pytest.approx(0.75, abs=0.002)
    assert [e.get("r") for e in ElementTree.fromstring(svg).iter(f"{SVG}circle")] == ["3", "3", "5", "3", "3", "3"]


@pytest.mark.parametrize(("highest", "last"), [(0.968, "1"), (0.36, ".4"), (7.0, "8"), (1.0, "1"), (0.0012, ".0012")])
def test_axes_end_at_round_numbers(highest: float, last: str) -> None:
    axis = from_zero(highest, "")
    assert axis.high >= highest
    assert axis.ticks[0] == (0.0, "0")
    assert 4 <= len(axis.ticks) <= 8
    if highest > 0.01:
        assert axis.ticks[-1][1] == last


def bar(*arguments: object) -> str:
    source = Path(FOLDER / "page.html").read_text(encoding="utf-8").partition("<!DOCTYPE")[0]
    return str(environment().from_string(source).module.bar(*arguments))  # type: ignore[attr-defined]


def test_bars_stay_in_their_frame() -> None:
    assert '<rect class="part" width="25.00"' in bar(0.25, (0.125, 0.5))
    assert 'd="M12.50 5H50.00M12.50 1.5V8.5M50.00 1.5V8.5"' in bar(0.25, (0.125, 0.5))
    assert '<rect class="part" width="100.00"' in bar(7.0)
    assert '<rect class="part" width="0.00"' in bar(-1)
    assert "interval" not in bar(0.5)
