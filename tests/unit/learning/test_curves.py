"""The picture of the history: drawn without a display, whatever was measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nlil.errors import MissingExtra
from nlil.learning.curves import mean, plot_history, points


def record(target: str, epoch: int, **values: Any) -> dict[str, Any]:
    return {
        "target": target,
        "epoch": epoch,
        "loss": 1 / (1 + epoch),
        "valid_loss": 1.0,
        "valid_f1": 0.5,
        "entropy": 2.0,
        **values,
    }


def test_points_by_target() -> None:
    history = [
        record("p/2", 1),
        record("q/1", 0),
        record("p/2", 0, loss=None),
        record("p/2", 2, loss=float("nan")),
        {"stage": "chains"},
    ]
    assert points(history, "loss") == {"p/2": [(1.0, 0.5)], "q/1": [(0.0, 1.0)]}
    assert points(history, "valid_f1")["p/2"] == [(0.0, 0.5), (1.0, 0.5), (2.0, 0.5)]


def test_a_target_that_stopped_early_still_counts() -> None:
    assert mean({"p": [(0, 1.0), (1, 0.5), (2, 0.0)], "q": [(0, 3.0), (1, 1.5)]}) == [(0, 2.0), (1, 1.0), (2, 0.75)]


@pytest.mark.parametrize(
    "history",
    [
        [record(f"p{t}/2", epoch) for t in range(3) for epoch in range(5)],
        [record("p/2", 0)],
        [{"target": "p/2", "epoch": 0, "loss": 0.5}, {"stage": "chains"}],
    ],
)
def test_a_picture(history: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.delenv("DISPLAY", raising=False)
    path = plot_history(history, tmp_path / "curves.png")
    assert path.read_bytes().startswith(b"\x89PNG")
    assert [file.name for file in tmp_path.iterdir()] == ["curves.png"]


def test_without_matplotlib_the_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match="matplotlib"):
        plot_history([record("p/2", 0)], tmp_path / "curves.png")
    assert not any(tmp_path.iterdir())
