"""What the counting search is asked for."""

from __future__ import annotations

from dataclasses import dataclass

from ..progress import Stop


@dataclass(frozen=True)
class CountOptions:
    max_length: int = 3
    tried_length: int = 0
    min_support: int = 2
    min_confidence: float = 0.01
    constants: bool = True
    typed: bool = True
    samples: int = 1_000
    candidates: int = 200
    max_paths: float = 7e9
    seed: int = 0
    threads: int = 1
    device: str = "cpu"
    memory: int = 2**30
    stop: Stop | None = None
    chain_length: int = 2  # set by the search: how far chains are grown
