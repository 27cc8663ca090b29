"""The parts of a formula that can be left out, each with what is left."""

from __future__ import annotations

from collections.abc import Iterator

from .formula import ANY, And, Formula, Not, Or, Statement


def removals(formula: Formula, atoms: bool = False) -> Iterator[tuple[Formula, Formula]]:
    """Yield every argument of a connective in `formula`, and the formula without it.

    With `atoms`, also the atoms of statements that can be left out: a unary predicate of a variable, and the first or
    last relation if nothing else names the variable that it leads to.
    """
    match formula:
        case Statement(start, steps, end) if atoms and len(steps) > 1:
            for i, step in enumerate(steps):
                is_loose = (i == 0 and start == ANY) or (i == len(steps) - 1 and end == ANY)
                if step.is_filter or is_loose:
                    yield Statement(ANY, (step,), ANY), Statement(start, steps[:i] + steps[i + 1 :], end)
        case Not(argument):
            for part, inner in removals(argument, atoms):
                yield part, Not(inner)
        case And(arguments) | Or(arguments):
            for i, argument in enumerate(arguments):
                rest = arguments[:i] + arguments[i + 1 :]
                yield argument, rest[0] if len(rest) == 1 else type(formula)(*rest)
                for part, inner in removals(argument, atoms):
                    yield part, type(formula)(*arguments[:i], inner, *arguments[i + 1 :])
