"""Why a fact scores what it scores, what it lacks, what a rule rests on, and which facts the rules dispute.

May import: evaluation and the rooms before.
"""

from .disputes import Dispute, check
from .rule_card import Instance, RuleCard, RuleCards, rule_card
from .what_if import NecessaryFacts, WhatIf, necessary_facts, what_if
from .why import Explainer, Explanation, Miss, Support, explain
from .why_not import WhyNot, why_not

__all__ = [
    "Dispute",
    "Explainer",
    "Explanation",
    "Instance",
    "Miss",
    "NecessaryFacts",
    "RuleCard",
    "RuleCards",
    "Support",
    "WhatIf",
    "WhyNot",
    "check",
    "explain",
    "necessary_facts",
    "rule_card",
    "what_if",
    "why_not",
]
