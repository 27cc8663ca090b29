"""What the neural search takes and gives: NeuralOptions and Found. Imports no torch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..kernel.ruleset import RuleSet
from ..logic.rule import ScoredRule
from ..progress import Stop


@dataclass(frozen=True)
class NeuralOptions:
    """The settings of the search; `learning.LearnerConfig` has the same names with help texts."""

    # the space of rules
    steps: int = 2  # T
    heads: int = 2  # H
    instances: int = 1
    levels: int = 1  # L
    formulas: int = 4  # C
    constants: int = 8  # entities that statements may name, the most frequent around the target
    vocabulary: int = 40  # predicates of a target's bodies, the most frequent around its facts
    domain: int = 0  # the paper's vocabulary: this many most frequent predicates of the head's root domain; 0: off
    recursive: bool = True  # the target itself may occur in bodies
    # queries
    positives: int = 200
    negatives: float = 2.0  # for each positive
    negative_sampling: str = "near"  # uniform (the paper), near: reached from x, or of the target's own range
    batch: int = 256
    step_edges: int = 1024
    meet_edges: int = 2048
    # training
    generator: str = "free"
    dim: int = 32
    layers: int = 3
    attention_heads: int = 4
    squash: str = "clamp"  # clamp, sigmoid (the paper)
    restarts: int = 16
    epochs: int = 200
    rate: float = 0.0005
    score_rate: float = 0.05
    temperature: float = 0.2  # at the end; 1 at the start
    entropy: float = 0.02
    patience: int = 40
    # extraction
    beam: int = 10
    samples: int = 0
    candidates: int = 500  # rules of a target that are counted exactly
    refine: bool = True  # change parts of the best rules after training, by exact counts
    min_support: int = 2
    min_confidence: float = 0.01
    # everything else
    seed: int = 0
    threads: int = 0
    device: str = "cpu"
    memory: int = 2**30
    stop: Stop | None = None

    @property
    def widths(self) -> tuple[int, ...]:
        return (self.formulas,) * self.levels


@dataclass
class Found:
    """The result of the search."""

    rules: RuleSet  # with statistics
    best: dict[int, ScoredRule] = field(default_factory=dict)  # the preferred single rule of each target
    history: list[dict[str, Any]] = field(default_factory=list)  # of training, by target and epoch
    attentions: dict[str, np.ndarray] = field(default_factory=dict)  # of the best restart of each target
