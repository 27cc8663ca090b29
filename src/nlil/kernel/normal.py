"""Bodies with negations pushed to the statements, and as alternatives of plain conjunctions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..logic.formula import And, Anything, Formula, Line, Not, Or, Statement, statements


@dataclass(frozen=True)
class Leaf:
    """A statement as it occurs in the body, with the names of its nodes."""

    statement: Statement
    names: tuple[str, ...]
    negated: bool


@dataclass(frozen=True)
class All:
    """Every part holds; `All(())` is true."""

    parts: tuple[Tree, ...]


@dataclass(frozen=True)
class Some:
    """Some part holds; `Some(())` is false."""

    parts: tuple[Tree, ...]


Tree = Leaf | All | Some


def normal_form(body: Formula) -> Tree:
    """Negations at the leaves by De Morgan; statements keep their order and get the names of the text."""
    return _push(body, node_names(body), False)


def _push(formula: Formula, names: Iterator[tuple[str, ...]], negated: bool) -> Tree:
    match formula:
        case Statement():
            return Leaf(formula, next(names), negated)
        case Not(argument):
            return _push(argument, names, not negated)
        case And(arguments) | Or(arguments):
            parts = tuple(_push(a, names, negated) for a in arguments)
            return All(parts) if isinstance(formula, And) != negated else Some(parts)
        case _:
            return Some(()) if negated else All(())


def alternatives(tree: Tree) -> list[tuple[Leaf, ...]]:
    """Disjunctive form: the body holds if all leaves of one alternative do."""
    match tree:
        case Leaf():
            return [(tree,)]
        case Some(parts):
            return [conjunction for part in parts for conjunction in alternatives(part)]
        case All(parts):
            result: list[tuple[Leaf, ...]] = [()]
            for part in parts:
                result = [before + after for before in result for after in alternatives(part)]
            return result


def leaves(tree: Tree) -> Iterator[Leaf]:
    """Every statement, left to right."""
    match tree:
        case Leaf():
            yield tree
        case All(parts) | Some(parts):
            for part in parts:
                yield from leaves(part)


def node_names(body: Formula) -> Iterator[tuple[str, ...]]:
    """For each statement, left to right, the names of its nodes: Z1, Z2, ... in the order of the text."""
    count = 0
    for statement in statements(body):
        line = statement.line
        names: dict[int, str] = {}
        for node in _printing_order(line):
            anchor = line.anchors[node]
            if node in names:
                continue
            count += isinstance(anchor, Anything)
            names[node] = f"Z{count}" if isinstance(anchor, Anything) else anchor.name
        yield tuple(names[node] for node in range(len(line.anchors)))


def _printing_order(line: Line) -> Iterator[int]:
    """Nodes as the atoms mention them: p(Z1, Z2) read backwards names its far end first."""
    for node, filters in enumerate(line.filters):
        if filters or line.equal is not None:
            yield node
        if node < len(line.moves):
            yield from (node + 1, node) if line.moves[node].inverse else (node, node + 1)
