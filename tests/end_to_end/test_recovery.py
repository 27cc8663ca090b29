"""The neural search finds planted rules again: one seed of every construct, and some with wrong labels or facts."""

from __future__ import annotations

import pytest

from nlil.datasets.planted import CONSTRUCTS
from nlil_bench.recovery import recover

OPTIONS = {"device": "cpu", "threads": 1}
SPOILT = [("chain", "labels"), ("conjunction", "labels"), ("negation", "labels"), ("chain", "facts"), ("chain", "soft")]
"""Searching on among wrong labels takes long; `nlil bench recovery` tries every construct with them."""


@pytest.mark.parametrize("construct", CONSTRUCTS)
def test_found_without_noise(construct: str) -> None:
    found = recover(construct, "none", 0, options=OPTIONS)
    assert found["passed"], found


@pytest.mark.parametrize(("construct", "noise"), SPOILT)
def test_found_in_spoilt_data(construct: str, noise: str) -> None:
    found = recover(construct, noise, 0, options=OPTIONS)
    assert found["passed"], found
