"""Theories: a few rules for each predicate that together say what the many say."""
