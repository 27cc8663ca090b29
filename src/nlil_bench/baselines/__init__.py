"""Other methods to compare with: one interface, the same evaluation code. Start at interface.py."""

from .interface import NAMES, Baseline, make_baseline

__all__ = ["NAMES", "Baseline", "make_baseline"]
