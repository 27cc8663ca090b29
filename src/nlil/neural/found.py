"""What the neural search returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..kernel.ruleset import RuleSet
from ..logic.rule import ScoredRule


@dataclass
class Found:
    """Rules with statistics, how training went, and the attentions of the best restart of each target.

    `best` is the preferred single rule of each target.
    """

    rules: RuleSet
    best: dict[int, ScoredRule] = field(default_factory=dict)
    history: list[dict[str, Any]] = field(default_factory=list)
    attentions: dict[str, np.ndarray] = field(default_factory=dict)
