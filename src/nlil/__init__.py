"""Learn first-order rules from facts, complete and check the facts with them, and explain every answer.

Public names only, each imported when it is first used: `import nlil` loads neither torch nor Arrow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

__all__ = [
    "Answer",
    "DataOptions",
    "Dataset",
    "Evaluator",
    "Explanation",
    "Fact",
    "Facts",
    "Fidelity",
    "KnowledgeBase",
    "Learned",
    "Learner",
    "LearnerConfig",
    "Metrics",
    "Model",
    "NewFacts",
    "NlilError",
    "Predicate",
    "Rule",
    "RuleClassifier",
    "RuleSet",
    "RuleStats",
    "ScoredRule",
    "Splits",
    "check",
    "complete",
    "contrast",
    "evaluate",
    "explain",
    "imitate",
    "learn",
    "load",
    "load_dataset",
    "load_run",
    "materialize",
    "necessary_facts",
    "open_model",
    "parse_rule",
    "predict",
    "read_rules",
    "rule_card",
    "rule_stats",
    "split",
    "what_if",
    "why_not",
    "with_numbers",
]

if TYPE_CHECKING:
    from .config import LearnerConfig
    from .data.dataset import DataOptions, Dataset
    from .data.facts import Facts, Splits
    from .data.kb import KnowledgeBase
    from .data.numbers import with_numbers
    from .datasets import load, load_dataset
    from .datasets.splitting import split
    from .errors import NlilError
    from .evaluation.completion import NewFacts, complete
    from .evaluation.fidelity import Fidelity
    from .evaluation.metrics import Metrics
    from .evaluation.prediction import Answer, predict
    from .evaluation.protocol import evaluate
    from .explanation.contrast import contrast
    from .explanation.disputes import check
    from .explanation.rule_card import rule_card
    from .explanation.what_if import necessary_facts, what_if
    from .explanation.why import Explanation, explain
    from .explanation.why_not import why_not
    from .exports.rule_files import read_rules
    from .kernel.evaluator import Evaluator
    from .kernel.materialize import materialize
    from .kernel.ruleset import RuleSet
    from .kernel.statistics import rule_stats
    from .learning.estimator import RuleClassifier
    from .learning.imitation import imitate
    from .learning.learner import Learner
    from .learning.model import Model, learn, open_model
    from .learning.run import Learned, load_run
    from .logic.parse import parse_rule
    from .logic.predicate import Fact, Predicate
    from .logic.rule import Rule, RuleStats, ScoredRule

_HOME = {
    "data.dataset": ("DataOptions", "Dataset"),
    "data.facts": ("Facts", "Splits"),
    "data.kb": ("KnowledgeBase",),
    "data.numbers": ("with_numbers",),
    "datasets": ("load", "load_dataset"),
    "datasets.splitting": ("split",),
    "errors": ("NlilError",),
    "evaluation.completion": ("NewFacts", "complete"),
    "evaluation.fidelity": ("Fidelity",),
    "evaluation.metrics": ("Metrics",),
    "evaluation.prediction": ("Answer", "predict"),
    "evaluation.protocol": ("evaluate",),
    "explanation.contrast": ("contrast",),
    "explanation.disputes": ("check",),
    "explanation.rule_card": ("rule_card",),
    "explanation.what_if": ("necessary_facts", "what_if"),
    "explanation.why": ("Explanation", "explain"),
    "explanation.why_not": ("why_not",),
    "exports.rule_files": ("read_rules",),
    "kernel.evaluator": ("Evaluator",),
    "kernel.materialize": ("materialize",),
    "kernel.ruleset": ("RuleSet",),
    "kernel.statistics": ("rule_stats",),
    "config": ("LearnerConfig",),
    "learning.estimator": ("RuleClassifier",),
    "learning.imitation": ("imitate",),
    "learning.learner": ("Learner",),
    "learning.model": ("Model", "learn", "open_model"),
    "learning.run": ("Learned", "load_run"),
    "logic.parse": ("parse_rule",),
    "logic.predicate": ("Fact", "Predicate"),
    "logic.rule": ("Rule", "RuleStats", "ScoredRule"),
}


def __getattr__(name: str) -> Any:
    """Import a public name on first use (PEP 562)."""
    from importlib import import_module

    for home, names in _HOME.items():
        if name in names:
            value = getattr(import_module(f".{home}", __name__), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
