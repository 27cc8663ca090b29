"""Rules and facts in English: `X is a person if X is wearing a shirt.`

The conclusion comes first. A body variable that is mentioned only once gets no name: it is "a shirt", or "something".
`distinct` is not mentioned. `phrases.py` turns the name of a predicate into words.

`labels` replace names; None keeps the names.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from .formula import Anchor, And, Anything, Constant, Formula, Not, Or, Statement, Truth, Variable
from .formula import statements as statements_of
from .labels import Labels
from .phrases import (
    KIN,
    Quality,
    Reading,
    Saying,
    binary_reading,
    clause,
    relative,
    unary_reading,
    with_article,
)
from .predicate import Fact, Predicate
from .query import Query
from .rule import Rule


def rule_sentence(rule: Rule, labels: Labels | None = None) -> str:
    """Return `rule` as one sentence.

    An unanchored set is one of "the image" for unary heads, which describe objects of scenes, and of "the data"
    otherwise.
    """
    where = "the image" if rule.target.arity == 1 else "the data"
    speaker = _Speaker(labels or Labels(), where, _num_named(rule.body))
    conclusion = speaker.head(rule)
    if isinstance(rule.body, Truth):
        sentence = f"most often {conclusion}"
    else:
        sentence = f"{conclusion} if {speaker.formula(rule.body)}"
    return f"{sentence[:1].upper()}{sentence[1:]}."


def fact_clause(fact: Fact, labels: Labels | None = None) -> str:
    """Return `fact` as a clause, without a full stop.

    >>> fact_clause(Fact(Predicate("capital_of", 2), ("Bern", "Switzerland")))
    'Bern is the capital of Switzerland'
    """
    return facts_clause([fact], fact.arguments, labels)


def facts_clause(facts: Sequence[Fact], about: Collection[str] = (), labels: Labels | None = None) -> str:
    """Return `facts` as one clause. Entities not in `about` are introduced by their class: "the shirt s1"."""
    speaker = _Speaker(labels or Labels(), "", 0)
    related = {name for fact in facts if len(fact.arguments) == 2 for name in fact.arguments}
    nouns: dict[str, str] = {}
    clauses: list[Fact] = []
    for fact in facts:
        name = fact.arguments[0]
        is_noun = len(fact.arguments) == 1 and speaker.unary(fact.predicate).kind == "noun"
        if is_noun and name in related and name not in about and name not in nouns:
            nouns[name] = f"the {speaker.unary(fact.predicate).text} "
        else:
            clauses.append(fact)
    said = []
    for fact in clauses:
        names = [nouns.get(name, "") + speaker.name(Constant(name)) for name in fact.arguments]
        if len(names) == 1 and {*fact.arguments}.isdisjoint({*about} | related):
            said.append(f"there is {speaker.thing((fact.predicate,), '')} ({names[0]})")
        else:
            said.append(speaker.said(fact.predicate, names))
    return _joined(said, "and")


def query_clause(query: Query, labels: Labels | None = None) -> str:
    """Return `query` as a clause, with "something" or "somebody" in place of the answer.

    >>> query_clause(Query("lives_in", ("ann", None)))
    'ann lives in something'
    """
    speaker = _Speaker(labels or Labels(), "", 0)
    reading = speaker.binary(query.target) if len(query.arguments) == 2 else None
    is_person = isinstance(reading, Saying) and KIN.intersection(reading.phrase.split())
    answer = "somebody" if is_person else "something"
    names = [answer if name is None else speaker.name(Constant(name)) for name in query.arguments]
    return speaker.said(query.target, names)


def statement_clause(
    statement: Statement, labels: Labels | None = None, is_denied: bool = False, place: str = ""
) -> str:
    """Return `statement` as a clause; with `is_denied`, its negation.

    `place` is the word for the scope of an unanchored set; "" means "the data".

    >>> from .parse import parse_rule
    >>> statement_clause(parse_rule("person(X) :- wears(X, Z1), shirt(Z1).").body, is_denied=True)
    'X wears no shirt'
    """
    speaker = _Speaker(labels or Labels(), place or "the data", _num_named(statement))
    return speaker.formula(Not(statement) if is_denied else statement)


def _num_named(body: Formula) -> int:
    """Count the body variables that need a name."""
    return sum(len(s.anchors) - 2 for s in statements_of(body) if _names_variables(s))


def _names_variables(statement: Statement) -> bool:
    """Return whether the line joins two head variables; then the nodes between them need names."""
    return (
        len(statement.moves) > 1
        and isinstance(statement.anchors[0], Variable)
        and isinstance(statement.anchors[-1], Variable)
    )


class _Speaker:
    """Puts one rule into words; named variables are Z, or Z1, Z2, ... if there are several."""

    def __init__(self, labels: Labels, place: str, num_named: int) -> None:
        self._labels, self._place, self._num_named = labels, place, num_named
        self._count = 0

    # names ----------------------------------------------------------------------------------------

    def name(self, anchor: Anchor) -> str:
        match anchor:
            case Variable(name):
                return name
            case Constant(name):
                return self._labels.entities.get(name, name)
            case _:
                return "something"

    def binary(self, predicate: Predicate) -> Reading:
        return binary_reading(predicate.name, self._labels.predicates.get(predicate.name))

    def unary(self, predicate: Predicate) -> Quality:
        return unary_reading(predicate.name, self._labels.predicates.get(predicate.name))

    def _fresh(self) -> str:
        self._count += 1
        return "Z" if self._num_named == 1 else f"Z{self._count}"

    # formulas -------------------------------------------------------------------------------------

    def head(self, rule: Rule) -> str:
        return self.said(rule.target, [self.name(a) for a in rule.head.arguments])

    def said(self, predicate: Predicate, names: Sequence[str], negated: bool = False) -> str:
        """Return one clause: the predicate applied to these names."""
        if len(names) == 1:
            return self._quality(predicate, names[0], negated)
        return clause(self.binary(predicate), names[0], names[1], negated)

    def formula(self, formula: Formula) -> str:
        match formula:
            case And(arguments):
                parts = [part for a in arguments for part in self._conjunct(a)]
                return _joined(parts, "and")
            case Or(arguments):
                parts = [self.formula(a) for a in arguments]
                plain = len(parts) == 2 and not any(" and " in part for part in parts)
                return " or ".join(parts) if plain else "either " + ", or ".join(parts)
            case Statement():
                return _joined(self._statement(formula), "and")
            case Not(argument):
                return self._negated(argument)
            case _:
                return "always"

    def _conjunct(self, formula: Formula) -> list[str]:
        match formula:
            case Statement():
                return self._statement(formula)
            case Or():
                text = self.formula(formula)
                return [text if text.startswith("either ") else f"either {text}"]
            case _:
                return [self.formula(formula)]

    def _negated(self, formula: Formula) -> str:
        match formula:
            case Truth():
                return "never"
            case Not(argument):
                return self.formula(argument)
            case Statement():
                return self._denied(formula)
            case _:
                return f"it is not true that {self.formula(formula)}"

    # statements -----------------------------------------------------------------------------------

    def _statement(self, statement: Statement) -> list[str]:
        """Return the clauses of a statement that holds."""
        first, last = statement.anchors[0], statement.anchors[-1]
        if isinstance(first, Anything):
            return [self._found(statement, "")]
        clauses = [self._quality(p, self.name(first)) for p in statement.filters[0]]
        if statement.equal is not None:
            clauses.append(f"{self.name(first)} is {self.name(statement.equal)}")
        if _names_variables(statement):
            clauses += self._walk(statement)
        elif statement.moves:
            clauses.append(self._first_move(statement, ""))
        if len(statement.moves) and not isinstance(last, Anything):
            clauses += [self._quality(p, self.name(last)) for p in statement.filters[-1]]
        return clauses

    def _denied(self, statement: Statement) -> str:
        """Return the negation of a statement: "nothing", "no shirt", or its only clause with "not"."""
        first, last = statement.anchors[0], statement.anchors[-1]
        if isinstance(first, Anything):
            return self._found(statement, "no")
        named = [
            f for node, f in enumerate(statement.filters) if f and not isinstance(statement.anchors[node], Anything)
        ]
        if not statement.moves and statement.equal is None and len(statement.filters[0]) == 1:
            return self._quality(statement.filters[0][0], self.name(first), negated=True)
        if not statement.moves and statement.equal is not None and not named:
            return f"{self.name(first)} is not {self.name(statement.equal)}"
        if named:
            return f"it is not true that {_joined(self._statement(statement), 'and')}"
        if _names_variables(statement):
            before = self._count
            clauses = self._walk(statement)
            names = [f"Z{i + 1}" if self._num_named > 1 else "Z" for i in range(before, self._count)]
            return f"there is no {_joined(names, 'and')} such that {_joined(clauses, 'and')}"
        if len(statement.moves) == 1 and not isinstance(last, Anything):
            move = statement.moves[0]
            subject, object = (last, first) if move.inverse else (first, last)
            return clause(self.binary(move.predicate), self.name(subject), self.name(object), negated=True)
        return self._first_move(statement, "no")

    def _found(self, statement: Statement, quantifier: str) -> str:
        """Return the clause of an unanchored line: the image has a person that is wearing a shirt."""
        if not statement.moves:
            return f"{self._place} has {self.thing(statement.filters[0], quantifier)}"
        thing = self._chain(statement, 0, quantifier)
        return f"{self._place} has {thing}"

    def _first_move(self, statement: Statement, quantifier: str) -> str:
        """Return the clause of a line from a named anchor; its other nodes are described, not named."""
        move, here = statement.moves[0], self.name(statement.anchors[0])
        there = self._chain(statement, 1, quantifier)
        reading = self.binary(move.predicate)
        return clause(reading, there, here) if move.inverse else clause(reading, here, there)

    def _chain(self, statement: Statement, node: int, quantifier: str) -> str:
        """Return a node as a noun phrase with everything that follows: a bicycle that a person is riding."""
        anchor = statement.anchors[node]
        thing = self.thing(statement.filters[node], quantifier) if isinstance(anchor, Anything) else self.name(anchor)
        if node == len(statement.moves):
            return thing
        move = statement.moves[node]
        other = self._chain(statement, node + 1, "")
        return f"{thing} {relative(self.binary(move.predicate), other, not move.inverse)}"

    def _walk(self, statement: Statement) -> list[str]:
        """Return one clause per step from one head variable to the other; the nodes between them have names."""
        clauses = []
        here = self.name(statement.anchors[0])
        for node, move in enumerate(statement.moves, start=1):
            qualities: list[str] = []
            if isinstance(statement.anchors[node], Anything):
                introduced = there = self._fresh()
                if any(self.unary(p).kind == "noun" for p in statement.filters[node]):
                    introduced = f"{self.thing(statement.filters[node], '')} {there}"
                else:
                    qualities = [self._quality(p, there) for p in statement.filters[node]]
            else:
                introduced = there = self.name(statement.anchors[node])
            subject, object = (introduced, here) if move.inverse else (here, introduced)
            clauses += [clause(self.binary(move.predicate), subject, object), *qualities]
            here = there
        return clauses

    # unary ----------------------------------------------------------------------------------------

    def _quality(self, predicate: Predicate, subject: str, negated: bool = False) -> str:
        no = " not" if negated else ""
        kind, text = self.unary(predicate)
        if kind == "verb":
            return f"it is not true that {subject} {text}" if negated else f"{subject} {text}"
        return f"{subject} is{no} {with_article(text) if kind == 'noun' else text}"

    def thing(self, filters: tuple[Predicate, ...], quantifier: str) -> str:
        """Return a noun phrase: a red shirt, something red, no shirt, a person that takes over 12 % of the image."""
        qualities = [self.unary(predicate) for predicate in filters]
        nouns = [q.text for q in qualities if q.kind == "noun"]
        plain = [q.text for q in qualities if q.kind == "adjective" and not q.text.startswith("at ")]
        added = [q.text for q in qualities if q.kind == "verb"]
        added += [f"is {q.text}" for q in qualities if q.kind == "adjective" and q.text.startswith("at ")]
        added += [f"is also {with_article(noun)}" for noun in nouns[1:]]
        if nouns:
            noun = " ".join([*plain, nouns[0]])
            thing = f"no {noun}" if quantifier else with_article(noun)
        else:
            thing = " ".join(["nothing" if quantifier else "something", *plain])
        return f"{thing} that {_joined(added, 'and')}" if added else thing


def _joined(parts: list[str], word: str) -> str:
    """Join `parts`: a, b and c. A comma separates parts that contain `word` themselves."""
    comma = "," if any(f" {word} " in part for part in parts) else ""
    return f"{', '.join(parts[:-1])}{comma} {word} {parts[-1]}" if len(parts) > 1 else "".join(parts)
