"""Evaluation of rules: the facts as a graph, bodies, hidden facts, drivers, and aggregation into scores."""
