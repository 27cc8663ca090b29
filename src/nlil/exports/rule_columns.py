"""Turns a stream of rules into columns, with ids for names as they occur.

Large files repeat their heads, their bodies, and above all the patterns of their bodies, so each text is read once and
each pattern is parsed once: `brother(X, Z1), parent(Z1, Y)` and `son(X, Z1), wife(Z1, Y)` are one pattern with
different names. The parser decides what a pattern means; this file does not know the grammar.

`step` is a step along a predicate, `place` the line of the file that a rule begins on.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from ..data.vocabulary import Vocabulary
from ..errors import RuleError
from ..kernel.bodies import BodyBuilder
from ..kernel.ruleset import NO_ENTITY, RuleSet
from ..logic.formula import Constant, Statement, anchor_key, statements
from ..logic.parse import clause_rule
from ..logic.predicate import Predicate, Step
from ..logic.rule import Head, Rule
from ..logic.syntax import Clause, Disjunction, TrueMark, read_program
from ..logic.tokens import Fault


class GrowingNames:
    """Assigns the next id to each new name."""

    def __init__(self) -> None:
        self.predicates: dict[tuple[str, int], int] = {}
        self.entities: dict[str, int] = {}

    def predicate_id(self, name: str, arity: int) -> int:
        """Return the id of a predicate by `name` and `arity`; a new predicate gets a new id."""
        return self.predicates.setdefault((name, arity), len(self.predicates))

    def entity_id(self, name: str) -> int:
        """Return the id of an entity; a new entity gets a new id."""
        return self.entities.setdefault(name, len(self.entities))

    def code(self, step: Step) -> int:
        """Return the code of a step."""
        return 2 * self.predicate_id(step.predicate.name, step.predicate.arity) + step.inverse

    @property
    def num_codes(self) -> int:
        """The number of step codes so far."""
        return 2 * len(self.predicates)


class SlotNames:
    """The names s0, s1, ... (`size` of them) that stand for any name in a pattern, each with its number.

    Other names raise KeyError.
    """

    def __init__(self, size: int) -> None:
        self.slot = {slot_name(number): number for number in range(size)}

    def entity_id(self, name: str) -> int:
        """Return the slot number of an entity."""
        return self.slot[name]

    def code(self, step: Step) -> int:
        """Return the code of a step along a slot."""
        return 2 * self.slot[step.predicate.name] + step.inverse

    @property
    def num_codes(self) -> int:
        """The number of step codes."""
        return 2 * len(self.slot)


def slot_name(number: int) -> str:
    """Return the name of slot `number`."""
    return f"s{number}"


Pattern = tuple[BodyBuilder, tuple[int, ...]]
"""A builder with one body whose names are slots, and the arity of each slot, 0 for an entity."""


def pattern_of(rule: Rule, size: int) -> Pattern | None:
    """Return the pattern of a rule whose body has the names s0, s1, ... (`size` of them).

    Returns None if the actual names affect how such a body is stored.
    """
    found = list(statements(rule.body))
    entities = {anchor for s in found for anchor in (s.start, s.end) if isinstance(anchor, Constant)}
    if len(entities) > 1 or not all(map(_reads_alike, found)):
        return None
    slots = SlotNames(size)
    builder = BodyBuilder(slots)
    try:
        builder.add(rule)
    except KeyError:
        return None
    arity = {slots.slot[p.name]: p.arity for p in rule.predicates}
    return builder, tuple(arity.get(slot, 0) for slot in range(size))


def _reads_alike(statement: Statement) -> bool:
    """Return whether the stored direction and filter order of a statement do not depend on names (see `Statement`)."""
    start, end = anchor_key(statement.start), anchor_key(statement.end)
    return start != end and all(len(filters) < 2 for filters in statement.filters)


class RuleColumns:
    """Collects rules one after another and returns them by column."""

    def __init__(self) -> None:
        self.names = GrowingNames()
        self.builder = BodyBuilder(self.names)
        self.heads: dict[tuple[int, int, int], int] = {}
        self.rows: list[tuple[int, int, int]] = []
        """(head number, body number, place) of each rule; the place is a line or a count."""

    def head(self, head: Head) -> int:
        """Return the number of a head."""
        constants = [(a.name, place) for place, a in enumerate(head.arguments, 1) if isinstance(a, Constant)]
        name, place = constants[0] if constants else ("", 0)
        entity = self.names.entity_id(name) if place else NO_ENTITY
        key = self.names.predicate_id(head.predicate.name, head.predicate.arity), entity, place
        return self.heads.setdefault(key, len(self.heads))

    def body(self, pattern: Pattern, names: Sequence[str]) -> int:
        """Return the number of the body with these `names` in the slots of `pattern`."""
        of_names = self.names
        slots, arities = pattern
        ids = [
            of_names.predicate_id(name, arity) if arity else of_names.entity_id(name)
            for name, arity in zip(names, arities)
        ]
        lines = [
            self.builder.line(
                ids[start] if start >= 0 else start,
                ids[end] if end >= 0 else end,
                distinct,
                tuple([2 * ids[step >> 1] + (step & 1) for step in steps]),
            )
            for start, end, distinct, steps in slots.lines
        ]
        (program,) = slots.programs
        return self.builder.program(tuple([lines[op] if op >= 0 else op for op in program]))

    def add(self, rule: Rule, place: int) -> None:
        """Add a parsed rule."""
        self.rows.append((self.head(rule.head), self.builder.add(rule), place))

    def rules(self) -> RuleSet:
        """Return all rules in order, in ids of their own names, without statistics."""
        head, body, _ = np.array(self.rows, np.int64).reshape(-1, 3).T
        predicate, entity, fixed = np.array([*self.heads], np.int64).reshape(-1, 3)[head].T
        nothing = np.zeros(len(head), np.int64)
        return RuleSet(
            tuple(Predicate(name, 1 if arity == 1 else 2) for name, arity in self.names.predicates),
            Vocabulary(self.names.entities),
            self.builder.bodies(),
            predicate.astype(np.int32),
            entity.astype(np.int32),
            fixed.astype(np.int8),
            body.astype(np.int32),
            *(nothing,) * 4,
        )


_HEAD = re.compile(r"(?:[^%'\":]|'[^'\\\n]*')*\)")
_QUOTED = r"'(?:[^'\\\n]|'')*+'"
_NUMBER = r"[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?!\w)"
_BODY = re.compile(rf"(?:[^%'\":.\\\d]|\\[+=]|{_QUOTED}|\d++(?:\.\d++)?+)*+")
_NAME = re.compile(rf"({_QUOTED}|(?<![\w\\])(?!true\b)(?:[a-z]\w*|{_NUMBER}))")
"""A name in such a body; names in other alphabets stay part of the pattern."""


class RuleTexts:
    """Reads rules that occupy one line, `head :- body.`, without comments or escapes, into columns."""

    def __init__(self, columns: RuleColumns) -> None:
        self.columns = columns
        self.heads: dict[str, tuple[int, str]] = {}
        self.bodies: dict[tuple[str, str], int] = {}
        self.patterns: dict[tuple[str, ...], Pattern | None] = {}

    def add(self, text: str, place: int) -> bool:
        """Add the rule of `text`; return False if it is anything else or invalid, which only the parser can explain."""
        head_text, _, body_text = text.partition(" :- ")
        known = self.heads.get(head_text)
        body = None if known is None else self.bodies.get((known[1], body_text))
        if known is None or body is None:
            try:
                known = known or self._head(head_text)
                body = self._body(known[1], body_text)
            except (Fault, RuleError, ValueError):
                return False
            self.heads[head_text], self.bodies[known[1], body_text] = known, body
        self.columns.rows.append((known[0], body, place))
        return True

    def _head(self, text: str) -> tuple[int, str]:
        """Return the number of a head, and the text of a head with the same variables and the name p."""
        if _HEAD.fullmatch(text) is None:
            raise ValueError
        clause = _only_clause(f"{text}.")
        if clause.body != _nothing(clause):
            raise ValueError
        # A variable `_` has a space in its name, so nothing in the body can refer to it.
        arguments = ("_" if " " in name else name or "c" for name in clause.names)
        return self.columns.head(clause.head), f"p({', '.join(arguments)})"

    def _body(self, head: str, text: str) -> int:
        text = text.rstrip()
        if not text.endswith(".") or _BODY.fullmatch(text, endpos=len(text) - 1) is None:
            raise ValueError
        between = _NAME.split(text)
        names = between[1::2]
        key = (head, *between[::2])
        if key not in self.patterns:
            between[1::2] = map(slot_name, range(len(names)))
            try:
                rule = clause_rule(_only_clause(f"{head} :- {''.join(between)}"))
                self.patterns[key] = pattern_of(rule, len(names))
            except (Fault, RuleError, ValueError):
                self.patterns[key] = None
        pattern = self.patterns[key]
        if pattern is None:
            return self.columns.builder.add(clause_rule(_only_clause(f"{head} :- {text}")))
        return self.columns.body(pattern, [n[1:-1].replace("''", "'") if n[0] == "'" else n for n in names])


def _only_clause(text: str) -> Clause:
    match read_program(text):
        case [Clause() as clause]:
            return clause
    raise ValueError


def _nothing(clause: Clause) -> Disjunction:
    """Return the body of a clause without one."""
    return ((TrueMark(clause.offset),),)
