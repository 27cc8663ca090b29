"""Settings: each is declared once, and help, conversion and messages follow from the declaration."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from nlil.config import PRESETS, LearnerConfig, default_memory, machine_memory, settings_help
from nlil.errors import ConfigError


def test_every_setting_has_help() -> None:
    lines = settings_help().splitlines()[1:]
    assert [line.partition("=")[0] for line in lines] == list(LearnerConfig().to_dict())
    for field, line in zip(fields(LearnerConfig), lines):
        assert line.endswith(f": {field.metadata['help']}")
    assert "constants=on: rules with constants" in settings_help()


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("seed", -1, "seed: expected 0 or more, got -1"),
        ("steps", 0, "steps: expected 1 or more, got 0"),
        ("cuts", 1, "cuts: expected 2 or more, got 1"),
        ("rate", 0.0, "rate: expected more than 0, got 0.0"),
        ("max_length", 9, "max_length: expected 1 to 8, got 9"),
        ("tried_length", -1, "tried_length: expected 0 to 8, got -1"),
        ("search", "x", "search: expected count, neural or both, got 'x'"),
        ("squash", "x", "squash: expected clamp or sigmoid, got 'x'"),
        ("min_confidence", -0.5, "min_confidence: expected 0 to 1, or -1, got -0.5"),
        ("memory", 1, "memory: expected at least 64MiB, got 1"),
        ("attention_heads", 5, "dim: expected a multiple of attention_heads, got 32"),
    ],
)
def test_values_outside_the_range_are_named(key: str, value: Any, expected: str) -> None:
    with pytest.raises(ConfigError) as caught:
        LearnerConfig(**{key: value})
    assert str(caught.value) == expected


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("typed=off", False),
        ("typed=Yes", True),
        ("max_length=2", 2),
        ("rate=1e-3", 0.001),
        ("body=p, q,", ("p", "q")),
        ("memory=2GiB", 2**31),
        ("time_limit=5min", 300.0),
        ("generator=free", "free"),
    ],
)
def test_words_become_values_of_the_type(word: str, expected: Any) -> None:
    assert getattr(LearnerConfig().with_settings([word]), word.partition("=")[0]) == expected


def test_words_of_another_type_are_refused() -> None:
    with pytest.raises(ConfigError, match="--set: typed: expected on or off, got 'maybe'"):
        LearnerConfig().with_settings(["typed=maybe"])
    with pytest.raises(ConfigError, match="unknown key 'sed'; did you mean 'seed'"):
        LearnerConfig().with_settings(["sed=1"])


def test_a_preset_comes_before_other_values(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text('preset = "paper"\nsteps = 3\ntime_limit = 5\n')
    config = LearnerConfig.from_toml(file)
    assert (config.steps, config.time_limit, config.heads) == (3, 5.0, PRESETS["paper"]["heads"])
    assert LearnerConfig().with_values(config.to_dict()) == config


def test_a_container_bounds_the_memory(tmp_path: Path) -> None:
    whole = machine_memory(tmp_path)
    (tmp_path / "memory.max").write_text("max\n")
    assert machine_memory(tmp_path) == whole
    (tmp_path / "memory.max").write_text(f"{2**29}\n")
    assert machine_memory(tmp_path) == 2**29
    assert default_memory(2**29) == 2**28
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "memory.limit_in_bytes").write_text(f"{2**28}\n")
    assert machine_memory(tmp_path) == 2**28
    assert default_memory(1) == 2**26, "what a budget is at least"
