"""Rules as Prolog text. parse.py is the exact inverse: parse_rule(rule_text(rule)) == rule.

A statement prints its atoms along its line. If body variables do not hold the atoms together, the statement is put in
parentheses, so that the parser finds the same statement again.

A denial says that two binary predicates never hold for the same pair; its first atom is ruled out:

    :- father(X, Y), aunt(X, Y).     father(X, Y) is ruled out wherever aunt(X, Y) is a fact
    :- father(X, Y), father(Y, X).   father is asymmetric

`entity_label` and `predicate_label` map a name to the text that is written for it; the default is the name, quoted if
Prolog requires it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import combinations

from .formula import And, Anything, Constant, Formula, Not, Or, Statement, Truth, Variable
from .predicate import Fact, Predicate, Step
from .rule import Head, Rule

Label = Callable[[str], str]

_PLAIN = re.compile(r"[a-z][A-Za-z0-9_]*", re.ASCII)
_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\t": "\\t"}


def atom_text(name: str) -> str:
    """Return the name as a Prolog atom, quoted if necessary.

    >>> atom_text("car"), atom_text("/film/genre"), atom_text("true")
    ('car', "'/film/genre'", "'true'")
    """
    if _PLAIN.fullmatch(name) and name != "true":
        return name
    return "'" + "".join(map(_escaped, name)) + "'"


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    return character if character.isprintable() else f"\\x{ord(character):x}\\"


def rule_text(rule: Rule) -> str:
    """Write `rule` as canonical Prolog, head :- body.  `parse_rule` is its exact inverse."""
    return _Writer(atom_text, atom_text, rule.distinct).rule(rule)


def readable_text(rule: Rule, entity_label: Label | None = None, predicate_label: Label | None = None) -> str:
    """Write `rule` for people: with labels, and without the parentheses that only the parser needs."""
    return _Writer(entity_label or atom_text, predicate_label or atom_text, rule.distinct, exact=False).rule(rule)


def formula_text(
    formula: Formula, distinct: bool = False, entity_label: Label | None = None, predicate_label: Label | None = None
) -> str:
    """Write `formula`, a body without its head; variables are numbered from Z1.

    With `distinct`, inequalities are written as in a rule.
    """
    return _Writer(entity_label or atom_text, predicate_label or atom_text, distinct).disjunction(formula)


def fact_text(fact: Fact) -> str:
    """Write `fact` as Prolog, p(a, b), without a dot."""
    return f"{atom_text(fact.predicate.name)}({', '.join(map(atom_text, fact.arguments))})"


def denial_text(target: Predicate, step: Step) -> str:
    """Write the denial of `target` and `step` together.

    >>> denial_text(Predicate("father", 2), Step(Predicate("aunt", 2), inverse=True))
    ':- father(X, Y), aunt(Y, X).'
    """
    return f":- {atom_text(target.name)}(X, Y), {step_text(step)}."


def step_text(step: Step, label: Label = atom_text) -> str:
    """Write `step` from X to Y as an atom: aunt(X, Y), or aunt(Y, X) for the inverse.

    `label` maps the name of the predicate to its text.
    """
    return f"{label(step.predicate.name)}({'Y, X' if step.inverse else 'X, Y'})"


class _Writer:
    """Writes one rule, numbering its body variables in the order of the text."""

    def __init__(self, entity: Label, predicate: Label, distinct: bool, exact: bool = True) -> None:
        self._entity, self._predicate, self._distinct, self._exact = entity, predicate, distinct, exact
        self._num_variables = 0

    def rule(self, rule: Rule) -> str:
        return f"{self.head(rule.head)} :- {self.disjunction(rule.body)}."

    def head(self, head: Head) -> str:
        return self._atom(head.predicate, *[self._anchor(a) for a in head.arguments])

    def disjunction(self, formula: Formula) -> str:
        branches = formula.arguments if isinstance(formula, Or) else (formula,)
        return " ; ".join(map(self._conjunction, branches))

    def _conjunction(self, formula: Formula) -> str:
        """Write one conjunction, the scope in which an inequality between X and Y is written once."""
        written: set[frozenset[str]] = set()
        items = formula.arguments if isinstance(formula, And) else (formula,)
        return ", ".join(self._item(item, written) for item in items)

    def _item(self, formula: Formula, written: set[frozenset[str]]) -> str:
        match formula:
            case Truth():
                return "true"
            case Not(argument):
                return f"\\+ {self._negated(argument)}"
            case Statement():
                return self._statement(formula, written)
            case _:
                return f"({self.disjunction(formula)})"

    def _negated(self, formula: Formula) -> str:
        if isinstance(formula, Truth | Not):
            return self._item(formula, set())
        if isinstance(formula, Statement) and _num_atoms(formula) == 1 and not self._compares(formula):
            return self._statement(formula, set())
        return f"({self.disjunction(formula)})"

    def _compares(self, statement: Statement) -> bool:
        return self._distinct and statement.num_variables > 1

    def _statement(self, statement: Statement, written: set[frozenset[str]]) -> str:
        names: dict[int, str] = {}
        atoms = [self._atom(p, *[self._node(statement, node, names) for node in nodes]) for p, nodes in statement.atoms]
        if statement.equal is not None:
            atoms.append(f"{self._node(statement, 0, names)} = {self._anchor(statement.equal)}")
        text = ", ".join(atoms)
        if self._exact and not _holds_together(statement):
            text = f"({text})"
        return ", ".join([text, *self._inequalities(statement, names, written)])

    def _node(self, statement: Statement, node: int, names: dict[int, str]) -> str:
        if node not in names:
            names[node] = self._anchor(statement.anchors[node])
        return names[node]

    def _inequalities(self, statement: Statement, names: dict[int, str], written: set[frozenset[str]]) -> list[str]:
        """Return Z1 \\= X for every pair of variables of the statement, the later variable first."""
        if not self._distinct:
            return []
        variables = [name for node, name in names.items() if not isinstance(statement.anchors[node], Constant)]
        if isinstance(statement.equal, Variable):
            variables.append(statement.equal.name)
        result = []
        for later, earlier in ((b, a) for a, b in combinations(dict.fromkeys(variables), 2)):
            if frozenset((later, earlier)) not in written:
                written.add(frozenset((later, earlier)))
                result.append(f"{later} \\= {earlier}")
        return result

    def _anchor(self, anchor: Variable | Constant | Anything) -> str:
        match anchor:
            case Variable(name):
                return name
            case Constant(name):
                return self._entity(name)
            case Anything():
                self._num_variables += 1
                return f"Z{self._num_variables}"

    def _atom(self, predicate: Predicate, *arguments: str) -> str:
        return f"{self._predicate(predicate.name)}({', '.join(arguments)})"


def _num_atoms(statement: Statement) -> int:
    return len(list(statement.atoms)) + (statement.equal is not None)


def _holds_together(statement: Statement) -> bool:
    """Return whether the parser would group these atoms: a single atom, or every atom has a body variable."""
    if _num_atoms(statement) == 1:
        return True
    ends = (0, len(statement.moves))
    filtered = any(statement.filters[end] and not isinstance(statement.anchors[end], Anything) for end in ends)
    return not filtered
