"""Fit: configuration, the learner, run folders. May import every room before it."""
