"""The old name of `nlil.kernel.compiled`, until nobody uses it."""

from .compiled import compiled

__all__ = ["compiled"]
