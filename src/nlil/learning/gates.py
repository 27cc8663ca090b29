"""When validation facts decide: what learning tries is kept only if it raises their score by more than chance.

Four things are tried: longer chains, conjunctions, rules trained on badly ranked facts, and weights for kinds of rules.
Each passes the same gate (`evaluation.gate`), with its own numbers. Gains are differences of 1 / rank, one for each
query or fact.
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
"""How much each kind of rule counts. Half of the facts chooses, the other half must gain, by however little: sixteen
numbers seldom do harm, and on small dense graphs one standard error hid what brings .02 to .06 on test facts."""
