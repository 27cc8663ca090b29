"""A rule as a tree of plain values, for programs that do not read Prolog; `rule_of_tree` is the exact inverse.

    {"head": {"predicate": "uncle", "arguments": [anchor, anchor]}, "body": {"and": [...]}, "distinct": true}

A body is {"path": {"from": anchor, "steps": [...], "to": anchor}}, {"not": body}, {"and": [body, ...]},
{"or": [body, ...]} or {"true": true}. An anchor is {"variable": "X"}, {"constant": name} or {"any": true}; a step is
{"predicate": name, "arity": 1 or 2, "inverse": true or false}. docs/rule-schema.json says the same as a schema.
"""

from __future__ import annotations

from typing import Any

from ..errors import RuleError
from ..logic.formula import ANY, TRUE, Anchor, And, Constant, Formula, Not, Or, Statement, Variable
from ..logic.predicate import Predicate, Step
from ..logic.rule import Head, Rule

Tree = dict[str, Any]


def rule_tree(rule: Rule) -> Tree:
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


def rule_of_tree(tree: Tree) -> Rule:
    try:
        arguments = tuple(_anchor_of(a) for a in tree["head"]["arguments"])
        predicate = Predicate(tree["head"]["predicate"], len(arguments))  # type: ignore[arg-type]
        return Rule(Head(predicate, arguments), _formula(tree["body"]), tree["distinct"])  # type: ignore[arg-type]
    except (KeyError, TypeError, ValueError) as error:
        raise RuleError(f"expected the tree of a rule with head, body and distinct, got {tree!r} ({error})") from error


def _anchor_of(tree: Tree) -> Anchor:
    match tree:
        case {"variable": str(name)}:
            return Variable(name)
        case {"constant": str(name)}:
            return Constant(name)
        case {"any": True}:
            return ANY
    raise ValueError(f"{tree!r} is no variable, constant or any")


def _formula(tree: Tree) -> Formula:
    match tree:
        case {"path": {"from": start, "steps": [*steps], "to": end}}:
            walked = [Step(Predicate(s["predicate"], s["arity"]), s["inverse"]) for s in steps]
            return Statement(_anchor_of(start), tuple(walked), _anchor_of(end))
        case {"not": argument}:
            return Not(_formula(argument))
        case {"and": [*arguments]}:
            return And(*map(_formula, arguments))
        case {"or": [*arguments]}:
            return Or(*map(_formula, arguments))
        case {"true": True}:
            return TRUE
    raise ValueError(f"{tree!r} is no body")
