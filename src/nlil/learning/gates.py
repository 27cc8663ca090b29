"""The constants of decisions on validation facts: a change is kept only if it raises their score by more than chance.

There are five decisions: longer chains, conjunctions, rules trained on badly ranked facts, weights of kinds, and roles
in the rules of classes. All use the same gate (`evaluation.gate`) with their own constants. Gains are differences of
1 / rank, one per query or fact; for roles those of log-likelihood, one per object.
"""

from __future__ import annotations

from ..evaluation.gate import Gate

LENGTHS = Gate(least_facts=200, most_facts=2_000, least_gain=0.0, standard_errors=1.0, most_time=0.4)
"""Chains longer than `max_length`."""
CONJUNCTIONS = Gate(least_facts=50, most_facts=300, least_gain=1e-9, standard_errors=2.0, most_time=0.75)
"""Conjunctions; facts are those of one target. Many rules are tried on few facts: two standard errors."""
RESIDUALS = Gate(least_facts=20, most_facts=300, least_gain=1e-9, standard_errors=2.0)
"""Rules that training finds for facts that counted rules rank badly; facts are those of one target."""
WEIGHING = Gate(least_facts=200, most_facts=5_000, least_gain=0.0002, standard_errors=0.0)
"""The weights of kinds. Half of the facts chooses them, the other half must gain at least a little: sixteen parameters
rarely overfit, and on small dense graphs a gate of one standard error missed gains of .02 to .06 on test facts."""
ROLES = Gate(least_facts=200, most_facts=20_000, least_gain=0.05, standard_errors=2.0)
"""`is_subject` and `is_object` in the rules of classes; facts are objects. One body for each class gains .05 to .2 from
them where five or thirty gain too (parts of HICO-DET), and at most .04 where they do not (VRD, generated graphs)."""
