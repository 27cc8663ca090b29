"""Denials: two binary predicates that never hold of the same pair, as Prolog text and back.

    :- father(X, Y), aunt(X, Y).     father(X, Y) is ruled out wherever aunt(X, Y) is a fact
    :- father(X, Y), father(Y, X).   father is asymmetric

The first atom is what is ruled out, the second the fact that rules it out.
"""

from __future__ import annotations

from .predicate import Predicate, Step
from .syntax import Atom, Denial
from .text import Label, atom_text
from .tokens import Fault


def denial_text(target: Predicate, step: Step, label: Label = atom_text) -> str:
    """
    >>> denial_text(Predicate("father", 2), Step(Predicate("aunt", 2), inverse=True))
    ':- father(X, Y), aunt(Y, X).'
    """
    return f":- {label(target.name)}(X, Y), {step_text(step, label)}."


def step_text(step: Step, label: Label = atom_text) -> str:
    """What a step from X to Y needs: aunt(X, Y), or aunt(Y, X) for the inverse."""
    return f"{label(step.predicate.name)}({'Y, X' if step.inverse else 'X, Y'})"


def denied(denial: Denial) -> tuple[Predicate, Step]:
    """The predicate that is ruled out, and the step whose facts rule it out; variables may have any names."""
    match denial.body:
        case ((Atom(target, terms), Atom(other, others)),) if len({*terms}) == len(terms) == len(others) == 2:
            step = Step(other, others == terms[::-1])
            known = all(term.is_variable for term in terms) and others in (terms, terms[::-1])
            if known and step != Step(target):
                return target, step
    raise Fault(
        "a denial names two binary predicates of the same two variables, as in :- p(X, Y), q(X, Y)", denial.offset
    )
