"""What a rule is. Pure Python: no torch, no numpy, no files.

predicate, formula, rule: the values.   simplify: equal rules as equal values.
text, parse, query: rules and questions as text; parse_rule(rule_text(rule)) == rule.
"""

from .formula import (
    ANY,
    TRUE,
    Anchor,
    And,
    Anything,
    Constant,
    Formula,
    Line,
    Not,
    Or,
    Path,
    Statement,
    Truth,
    Variable,
    X,
    Y,
    length,
    statements,
)
from .parse import parse_program, parse_rule
from .predicate import Fact, Predicate, Step
from .query import Query, parse_fact, parse_query
from .rule import SMOOTHING, Head, Rule, RuleStats, ScoredRule
from .simplify import FALSE, canonical, formula_key, simplify, simplify_formula
from .text import atom_text, fact_text, formula_text, readable_text, rule_text

__all__ = [
    "ANY",
    "FALSE",
    "SMOOTHING",
    "TRUE",
    "Anchor",
    "And",
    "Anything",
    "Constant",
    "Fact",
    "Formula",
    "Head",
    "Line",
    "Not",
    "Or",
    "Path",
    "Predicate",
    "Query",
    "Rule",
    "RuleStats",
    "ScoredRule",
    "Statement",
    "Step",
    "Truth",
    "Variable",
    "X",
    "Y",
    "atom_text",
    "canonical",
    "fact_text",
    "formula_key",
    "formula_text",
    "length",
    "parse_fact",
    "parse_program",
    "parse_query",
    "parse_rule",
    "readable_text",
    "rule_text",
    "simplify",
    "simplify_formula",
    "statements",
]
