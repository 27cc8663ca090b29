"""Runs that many tests read: learned once, never written to."""

from __future__ import annotations

from pathlib import Path

import pytest

from nlil.cli.main import run


def learned(factory: pytest.TempPathFactory, data: str, *options: str) -> Path:
    folder = factory.mktemp("runs") / data.partition(":")[0]
    assert run(["learn", data, "--out", str(folder), "--quiet", *options]) == 0
    return folder


@pytest.fixture(scope="session")
def kin_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return learned(tmp_path_factory, "kin")


@pytest.fixture(scope="session")
def plain_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Few rules, all found exhaustively, by weight: what golden files show does not move when choices are tuned."""
    settings = (
        "max_length=2",
        "constants=off",
        "typed=off",
        "min_support=2",
        "min_confidence=.01",
        "aggregation=noisy-or",
        "aggregation_top=5",
        "rules_per_target=0",
    )
    return learned(tmp_path_factory, "kin", *[word for setting in settings for word in ("--set", setting)])


@pytest.fixture(scope="session")
def even_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return learned(tmp_path_factory, "even:10", "--set", "min_support=1", "--set", "rules_per_target=0")


@pytest.fixture(scope="session")
def street_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return learned(tmp_path_factory, "street:40")
