"""nlil bench curve, as a user runs it."""

from __future__ import annotations

from pathlib import Path

from commandline import Nlil


def test_quick_works_without_a_peer(nlil_command: Nlil, tmp_path: Path) -> None:
    found = nlil_command("bench", "curve", "--quick", "--seconds", "30,60", "--out", tmp_path, "--json").json
    first, second = found["entries"].values()
    assert [(e["data"], e["model"], e["limit"], e["quick"]) for e in (first, second)] == [
        ("kin", "nlil", 30, True),
        ("kin", "nlil", 60, True),
    ]
    assert first["metrics"]["mrr"] > 0.9
    assert not first["partial"]
    assert second["measured_at"] == 30  # learning had ended: it is not run again
    assert second["seconds"] == first["seconds"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["curve.json", "curve_quick.png"]


def test_what_is_wrong_is_told(nlil_command: Nlil, tmp_path: Path) -> None:
    assert "--seconds 10,x: expected whole seconds" in nlil_command("bench", "curve", "--seconds", "10,x").complaint
    assert "found no AnyBURL.jar" in nlil_command("bench", "curve", "--quick", "--peer", tmp_path).complaint
    assert "it is for bench curve" in nlil_command("bench", "stats", "--seconds", "10").complaint
