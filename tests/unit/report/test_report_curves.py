"""Learning curves and bars as SVG."""

from __future__ import annotations

from xml.etree import ElementTree

from nlil.report.svg import HEIGHT, WIDTH, bar, curves

RECORDS = [
    {"target": target, "epoch": epoch, "loss": loss, "valid_loss": None, "entropy": float("nan")}
    for target, losses in {"<b>p": (4.0, 2.0, 1.0), "q": (2.0, 1.0)}.items()
    for epoch, loss in enumerate(losses)
]


def lines(svg: str, kind: str) -> list[list[tuple[float, float]]]:
    found = [e for e in ElementTree.fromstring(svg).iter("polyline") if kind in (e.get("class") or "").split()]
    return [[(float(x), float(y)) for x, y in (pair.split(",") for pair in e.get("points", "").split())] for e in found]


def test_one_panel_for_what_was_measured() -> None:
    svg = curves(RECORDS)
    assert svg is not None
    assert svg.count("<svg") == 1
    assert "loss by epoch, mean of 2 targets" in svg
    assert "<b>" not in svg
    (mean,) = lines(svg, "mean")
    assert [x for x, _ in mean] == sorted(x for x, _ in mean)
    assert [y for _, y in mean] == sorted(y for _, y in mean)  # the loss falls, and y counts downwards
    assert all(0 < x < WIDTH and 0 < y < HEIGHT for line in (mean, *lines(svg, "faint")) for x, y in line)
    assert len(lines(svg, "faint")) == 2


def test_nothing_trained_nothing_drawn() -> None:
    assert curves(()) is None


def test_one_epoch_is_a_dot() -> None:
    svg = curves([{"target": "p", "epoch": 0, "loss": 0.0}])
    assert svg is not None
    assert "dot mean" in svg


def test_bars_stay_in_their_frame() -> None:
    parts = {e.get("class"): e for e in ElementTree.fromstring(bar(0.25, (0.125, 0.5))).iter("rect")}
    assert parts["part"].get("width") == "25"
    assert 'x1="12.5" x2="50"' in bar(0.25, (0.125, 0.5))
    assert ElementTree.fromstring(bar(7.0)).findall("rect")[1].get("width") == "100"
    assert "interval" not in bar(0.5)
