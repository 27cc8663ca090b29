"""Many rules by column, and how they are stored. May import: logic, data."""

from .exclusion import Exclusion
from .ruleset import RuleSet

__all__ = ["Exclusion", "RuleSet"]
