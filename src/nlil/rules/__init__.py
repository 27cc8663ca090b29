"""Many rules by column, and how they are stored. May import: logic, data."""

from .ruleset import RuleSet

__all__ = ["RuleSet"]
