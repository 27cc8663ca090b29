"""What the counting search is asked for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CountOptions:
    max_length: int = 3
    min_support: int = 2
    min_confidence: float = 0.01
    constants: bool = True
    typed: bool = True
    samples: int = 200
    candidates: int = 200
    seed: int = 0
    threads: int = 1
    device: str = "cpu"
    memory: int = 2**30
    deadline: float | None = None
