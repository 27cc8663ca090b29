"""Why a fact scores what it scores, and which facts the rules dispute. May import: evaluation and the rooms before."""

from .disputes import Dispute, check
from .explanation import Explanation, Miss, Support
from .why import Explainer, explain

__all__ = ["Dispute", "Explainer", "Explanation", "Miss", "Support", "check", "explain"]
