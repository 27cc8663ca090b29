"""Other people's methods, to be measured beside ours: one interface, one evaluation code. Start at interface.py."""

from .interface import NAMES, Baseline, make_baseline

__all__ = ["NAMES", "Baseline", "make_baseline"]
