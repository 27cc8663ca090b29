"""A rule as a tree of plain values, without loss, for programs that do not read Prolog.

    {"head": {"predicate": "uncle", "arguments": [anchor, anchor]}, "body": {"and": [...]}, "distinct": true}

A body is {"path": {"from": anchor, "steps": [...], "to": anchor}}, {"not": body}, {"and": [body, ...]},
{"or": [body, ...]} or {"true": true}. An anchor is {"variable": "X"}, {"constant": name} or {"any": true}; a step is
{"predicate": name, "arity": 1 or 2, "inverse": true or false}. docs/rule-schema.json is the schema of all this.
"""

from __future__ import annotations

from typing import Any

from ..logic.formula import Anchor, And, Constant, Formula, Not, Or, Statement, Variable
from ..logic.rule import Rule

Tree = dict[str, Any]


def rule_tree(rule: Rule) -> Tree:
    """Return the rule as dicts and lists, for JSON."""
    head = {"predicate": rule.target.name, "arguments": [_anchor(a) for a in rule.head.arguments]}
    return {"head": head, "body": _body(rule.body), "distinct": rule.distinct}


def _anchor(anchor: Anchor) -> Tree:
    match anchor:
        case Variable(name):
            return {"variable": name}
        case Constant(name):
            return {"constant": name}
        case _:
            return {"any": True}


def _body(formula: Formula) -> Tree:
    match formula:
        case Statement(start, steps, end):
            names = [{"predicate": s.predicate.name, "arity": s.predicate.arity, "inverse": s.inverse} for s in steps]
            return {"path": {"from": _anchor(start), "steps": names, "to": _anchor(end)}}
        case Not(argument):
            return {"not": _body(argument)}
        case And(arguments):
            return {"and": [_body(a) for a in arguments]}
        case Or(arguments):
            return {"or": [_body(a) for a in arguments]}
        case _:
            return {"true": True}
