"""Rules and facts in English, for reading: `X is a person if X is wearing a shirt.`

The conclusion comes first. A body variable that leads on to nothing else has no name: it is a shirt, or something.
That variables take different entities (`distinct`) goes without saying.

The name of a predicate (wearing, capitalOf, has_part, _hypernym, /film/film/genre, size_over_12pct) is read by the
words of words.toml, and every other word by its ending and its place. A binary predicate becomes one of three clauses:

    Saying    X is wearing Y, X is the capital of Y, X contains Y
    Property  the genre of the film X is Y
    Holding   X has Y as a part

`labels` are always the words to say in place of names; None: the names themselves.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple

from .formula import Anchor, And, Anything, Constant, Formula, Line, Not, Or, Statement, Truth, Variable
from .formula import statements as statements_of
from .labels import Labels
from .predicate import Fact, Predicate
from .query import Query
from .rule import Rule

WORDS: Mapping[str, Any] = tomllib.loads(files(__package__).joinpath("words.toml").read_text(encoding="utf-8"))


def words(name: str) -> frozenset[str]:
    """The words of this name in words.toml."""
    return frozenset(WORDS[name].split())


PREPOSITIONS, BASE_VERBS, KIN = words("prepositions"), words("base_verbs"), words("kin")
THIRD_PERSON_PATH_VERBS, IRREGULAR_PARTICIPLES = words("third_person_path_verbs"), words("irregular_participles")
ONLY_ONE, ADJECTIVES, NOUNS_IN_DISGUISE = words("only_one"), words("adjectives"), words("nouns_in_disguise")
WITHOUT_ARTICLE, SINGULAR_IN_S = words("without_article"), words("singular_in_s")
SOUNDS_LIKE_A_CONSONANT = tuple(words("sounds_like_a_consonant"))
SOUNDS_LIKE_A_VOWEL = tuple(words("sounds_like_a_vowel"))
SPECIAL: Mapping[str, str] = WORDS["special"]


def article(noun: str) -> str:
    """Return the indefinite article of `noun`.

    >>> article("uncle"), article("union"), article("hour"), article("dog")
    ('an', 'a', 'an', 'a')
    """
    word = noun.lower()
    if word.startswith(SOUNDS_LIKE_A_VOWEL):
        return "an"
    vowel = word[:1] in tuple("aeiou") and not word.startswith(SOUNDS_LIKE_A_CONSONANT)
    return "an" if vowel else "a"


def is_plural(noun: str) -> bool:
    """By its last word.

    >>> [is_plural(noun) for noun in ("pants", "bus", "dress", "eye glasses", "person", "glass")]
    [True, False, False, True, False, False]
    """
    last = noun.lower().rpartition(" ")[2]
    return last in ("people", "skis", "taxis") or (
        last.endswith("s") and not last.endswith(("ss", "us", "is")) and last not in SINGULAR_IN_S and len(last) > 2
    )


def with_article(noun: str) -> str:
    """Return `noun` with its article, where it takes one: a person, an apple, pants, grass."""
    last = noun.lower().rpartition(" ")[2]
    return noun if is_plural(noun) or last in WITHOUT_ARTICLE else f"{article(noun)} {noun}"


def third_person(verb: str) -> str:
    """
    >>> [third_person(verb) for verb in ("ride", "carry", "watch", "have", "play")]
    ['rides', 'carries', 'watches', 'has', 'plays']
    """
    if verb == "have":
        return "has"
    if verb.endswith("y") and verb[-2:-1] not in tuple("aeiou"):
        return verb[:-1] + "ies"
    return verb + ("es" if verb.endswith(("s", "sh", "ch", "x", "z", "o")) else "s")


# predicates ---------------------------------------------------------------------------------------------

BOX = "box_"
"""Before the name of a relation of boxes where the data has one of that name itself."""


@dataclass(frozen=True)
class Saying:
    """subject `phrase` object."""

    phrase: str


@dataclass(frozen=True)
class Property:
    """the `noun` of the `owner` subject is object; with `said`: the nominees of the award X are nominated for Y."""

    noun: str
    owner: str = ""
    said: str = ""

    @property
    def verb(self) -> str:
        """What stands between the noun and its value, in singular or plural."""
        several = is_plural(self.noun.partition(" of ")[0])
        if self.said:
            return self.said if not self.said.startswith("is ") or not several else f"are {self.said[3:]}"
        return "include" if several else "is"


@dataclass(frozen=True)
class Holding:
    """subject has object as a `noun`."""

    noun: str


Reading = Saying | Property | Holding


class Quality(NamedTuple):
    """What a unary predicate says: X is a person (noun), X is red (adjective), X takes half of the image (verb).

    `kind` is one of the three, `text` the words after "is a", after "is", or after the subject.
    """

    kind: Literal["noun", "adjective", "verb"]
    text: str


def words_of(name: str) -> str:
    """The name as plain words.

    >>> words_of("capitalOf"), words_of("_has_part"), words_of("hasURLOfPage"), words_of("http://x.org/a#birthPlace")
    ('capital of', 'has part', 'has URL of page', 'birth place')
    """
    if "://" in name:
        name = re.split(r"[#/]", name.rstrip("#/"))[-1]
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name)
    parts = re.split(r"[\s_]+", name.strip("_ "))
    return " ".join(part if len(part) > 1 and part.isupper() else part.lower() for part in parts) or name


# binary -------------------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def binary_reading(name: str, label: str | None = None) -> Reading:
    """The clause of a binary predicate; a label is read instead of the name, unless the name is a path of types."""
    if name.startswith("/") and name.count("/") > 1:
        return _path_reading(name)
    text = words_of(label or name.removeprefix(BOX))
    said = _phrase(text)
    if said is not None:
        return said
    first, _, rest = text.partition(" ")
    if first == "has" and rest:
        return Holding(rest)
    last = text.rpartition(" ")[2]
    if last in KIN and not name.startswith("_"):
        return Saying(f"is {'the' if last in ONLY_ONE else article(text)} {text} of")
    return Property(text)


def _phrase(text: str, is_path: bool = False) -> Saying | None:
    """A predicate that is a verb or a preposition; None: it is a noun."""
    if text in SPECIAL:
        return Saying(SPECIAL[text])
    first, *rest = text.split(" ")
    last = rest[-1] if rest else first
    if first == "is" and rest:
        return Saying(text)
    if first in PREPOSITIONS and (not rest or last in PREPOSITIONS):
        return Saying(f"is {text}")
    if rest and last not in PREPOSITIONS and (is_path or first not in BASE_VERBS):
        return None
    if is_participle(first) or (first.endswith("ing") and first not in NOUNS_IN_DISGUISE):
        if not rest and not first.endswith("ing"):
            return None
        return Saying(f"{'was' if first == 'born' else 'is'} {text}")
    if first in BASE_VERBS and not is_path:
        return Saying(" ".join((third_person(first), *rest)))
    if first in THIRD_PERSON_PATH_VERBS or (is_plural(first) and not is_path):
        return Saying(text)
    if rest and last == "of":
        noun = text.removesuffix(" of")
        return Saying(f"is {'the' if noun in ONLY_ONE or is_path else article(noun)} {noun} of")
    return Saying(f"is {text}") if rest and last in PREPOSITIONS else None


def is_participle(word: str) -> bool:
    """Whether the word is a past participle, by its ending or as an exception."""
    return word in IRREGULAR_PARTICIPLES or (word.endswith("ed") and len(word) > 4 and word not in NOUNS_IN_DISGUISE)


def _path_reading(name: str) -> Reading:
    """/film/film/genre: the last part is what is said, the part before it the type of the subject.

    /a/b/c./d/e/f goes through something in between: the f of the c of the b X.
    """
    parts = [[_tidy(word) for word in part.strip("/").split("/")] for part in name.split("./")]
    owner = parts[0][-2] if len(parts[0]) > 1 else ""
    nouns = [part[-1] for part in reversed(parts)]
    if len(nouns) == 1 or nouns[0] == nouns[-1]:
        said = _phrase(nouns[0], is_path=True)
        if said is not None:
            return said
        return Property(nouns[0], "" if owner == nouns[0] else owner)
    said = _phrase(nouns[0], is_path=True)
    if said is not None:
        return Property(" of the ".join(nouns[1:]), owner, said.phrase)
    return Property(" of the ".join(nouns), owner)


def _tidy(word: str) -> str:
    """release_date_s: the ending that Freebase gives names of several values."""
    return words_of(word.removesuffix("_s"))


def clause(reading: Reading, subject: str, object: str, negated: bool = False) -> str:
    """Return one clause: the `reading` of a binary predicate with the words for its `subject` and `object`.

    `negated` is for two arguments that are both named; "no shirt" and "nothing" negate by themselves.
    """
    match reading:
        case Saying(phrase):
            text = f"{subject} {phrase} {object}"
            if negated and phrase.startswith(("is ", "was ")):
                return f"{subject} {phrase.split()[0]} not {phrase.partition(' ')[2]} {object}"
        case Holding(noun):
            text = f"{subject} has {object} as {with_article(noun)}"
        case Property(noun, owner):
            if object in ("something", "nothing") and not reading.said:
                return f"{subject} has {with_article(noun) if object == 'something' else f'no {noun}'}"
            whose = f"the {owner} {subject}" if owner and _is_bare(subject) else subject
            if subject in ("something", "nothing") and not reading.said:
                return f"{object} is the {noun} of {subject}"
            if negated and reading.verb == "is":
                return f"the {noun} of {whose} is not {object}"
            text = f"the {noun} of {whose} {reading.verb} {object}"
    return f"it is not true that {text}" if negated else text


def relative(reading: Reading, other: str, is_subject: bool) -> str:
    """Return the clause of `reading` as an addition to a noun: that is riding a bicycle.

    The noun is its subject if `is_subject`, else its object; `other` are the words for the other one.
    """
    match reading:
        case Saying(phrase):
            return f"that {phrase} {other}" if is_subject else f"that {other} {phrase}"
        case Holding(noun):
            as_noun = f"as {with_article(noun)}"
            return f"that has {other} {as_noun}" if is_subject else f"that {other} has {as_noun}"
        case Property(noun):
            if not is_subject:
                owned = f"the {noun} of {other}"
                return f"that {owned} {reading.verb}" if reading.said else f"that is {owned}"
            if other == "something" and not reading.said:
                return f"that has {with_article(noun)}"
            return f"whose {noun} {reading.verb} {other}"


def _is_bare(noun_phrase: str) -> bool:
    """A variable or a name, which may be told what it is."""
    return not noun_phrase.startswith(("a ", "an ", "no ", "some", "nothing")) and " that " not in noun_phrase


# unary --------------------------------------------------------------------------------------------------

_NUMBER = re.compile(
    r"(?P<what>.+?)_(?:(?P<how>over|up_to)_(?P<cut>-?[\d.]+)|(?P<low>-?[\d.]+)_to_(?P<high>-?[\d.]+))"
    r"(?P<unit>pct)?"
)
_OF_BOXES = {
    "size": "takes {} of the image",
    "width": "takes {} of the width of the image",
    "height": "takes {} of the height of the image",
    "middle_x": "has its middle {} from the left",
    "middle_y": "has its middle {} from the top",
    "top": "has its upper edge {} from the top",
    "bottom": "has its lower edge {} from the top",
}


@lru_cache(maxsize=4096)
def unary_reading(name: str, label: str | None = None) -> Quality:
    """Return what the unary predicate `name` says of an entity; a `label` is read in place of the name."""
    number = _NUMBER.fullmatch(name.removeprefix(BOX))
    if number is not None and label is None:
        return Quality("verb", _number(number))
    text = words_of(label or name)
    if text.startswith("at ") and text.count(" ") == 1:
        return Quality("adjective", text.replace("at ", "at the "))
    if text.startswith("is "):
        return Quality("adjective", text.removeprefix("is "))
    last = text.rpartition(" ")[2]
    looks_so = last.endswith("ing") or is_participle(last) or last.endswith(("ful", "less", "ous", "able", "ible"))
    if last in ADJECTIVES or (looks_so and last not in NOUNS_IN_DISGUISE):
        return Quality("adjective", text)
    return Quality("noun", text)


def _number(found: re.Match[str]) -> str:
    unit = " %" if found["unit"] else ""
    if found["what"] == "aspect":
        times = _range(found, "times")
        return f"is {times} as wide as it is high"
    if found["unit"] and found["what"] in _OF_BOXES:
        return _OF_BOXES[found["what"]].format(_range(found, "%"))
    what = words_of(found["what"])
    if found["how"] is None:
        return f"has {article(what)} {what} of {found['low']} to {found['high']}{unit}"
    amount = "over" if found["how"] == "over" else "of at most"
    return f"has {article(what)} {what} {amount} {found['cut']}{unit}"


def _range(found: re.Match[str], unit: str) -> str:
    if found["how"] is None:
        return f"{found['low']} to {found['high']} {unit}"
    return f"{'more than' if found['how'] == 'over' else 'at most'} {found['cut']} {unit}"


# sentences ----------------------------------------------------------------------------------------------


def rule_sentence(rule: Rule, labels: Labels | None = None, place: str | None = None) -> str:
    """Return `rule` as one sentence.

    `place` is where an unanchored set is looked for; None: the image for unary heads, which are about objects of
    scenes, else the data.
    """
    where = place or ("the image" if rule.target.arity == 1 else "the data")
    speaker = _Speaker(labels or Labels(), where, _num_named(rule.body))
    conclusion = speaker.head(rule)
    if isinstance(rule.body, Truth):
        sentence = f"most often {conclusion}"
    else:
        sentence = f"{conclusion} if {speaker.formula(rule.body)}"
    return f"{sentence[:1].upper()}{sentence[1:]}."


def fact_clause(fact: Fact, labels: Labels | None = None) -> str:
    """Return what `fact` says, without a full stop.

    >>> fact_clause(Fact(Predicate("capital_of", 2), ("Bern", "Switzerland")))
    'Bern is the capital of Switzerland'
    """
    return facts_clause([fact], fact.arguments, labels)


def facts_clause(facts: Sequence[Fact], about: Collection[str] = (), labels: Labels | None = None) -> str:
    """Return what `facts` say together. Entities that are not in `about` are introduced by what they are."""
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


def query_clause(query: Query, labels: Labels | None = None, quantifier: str = "something") -> str:
    """Return what `query` asks for, with `quantifier` (something or nothing) in its open place.

    >>> query_clause(Query("lives_in", ("ann", None)), quantifier="nothing")
    'ann lives in nothing'
    """
    speaker = _Speaker(labels or Labels(), "", 0)
    reading = speaker.binary(query.target) if len(query.arguments) == 2 else None
    if isinstance(reading, Saying) and KIN.intersection(reading.phrase.split()):
        quantifier = {"something": "somebody", "nothing": "nobody"}[quantifier]
    names = [quantifier if name is None else speaker.name(Constant(name)) for name in query.arguments]
    is_negated = quantifier in ("nothing", "nobody") and None not in query.arguments
    return speaker.said(query.target, names, is_negated)


def statement_clause(
    statement: Statement, labels: Labels | None = None, is_denied: bool = False, place: str = ""
) -> str:
    """Return what `statement` says, or with `is_denied` that it does not hold.

    `place` is where an unanchored set is looked for; "": the data.

    >>> from .parse import parse_rule
    >>> statement_clause(parse_rule("person(X) :- wears(X, Z1), shirt(Z1).").body, is_denied=True)
    'X wears no shirt'
    """
    speaker = _Speaker(labels or Labels(), place or "the data", _num_named(statement))
    return speaker.formula(Not(statement) if is_denied else statement)


def _num_named(body: Formula) -> int:
    """Body variables that get a name."""
    return sum(len(s.line.anchors) - 2 for s in statements_of(body) if _names_variables(s.line))


def _names_variables(line: Line) -> bool:
    """A line from one head variable to another comes back to what was said: it needs names on the way."""
    return len(line.moves) > 1 and isinstance(line.anchors[0], Variable) and isinstance(line.anchors[-1], Variable)


class _Speaker:
    """Says one rule; named variables are Z, or Z1, Z2, ... where there are several."""

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
        """One clause: what the predicate says of these names."""
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
                return _joined(self._statement(formula.line), "and")
            case Not(argument):
                return self._negated(argument)
            case _:
                return "always"

    def _conjunct(self, formula: Formula) -> list[str]:
        match formula:
            case Statement():
                return self._statement(formula.line)
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
                return self._denied(formula.line)
            case _:
                return f"it is not true that {self.formula(formula)}"

    # statements -----------------------------------------------------------------------------------

    def _statement(self, line: Line) -> list[str]:
        """The clauses of a statement that holds."""
        first, last = line.anchors[0], line.anchors[-1]
        if isinstance(first, Anything):
            return [self._found(line, "")]
        clauses = [self._quality(p, self.name(first)) for p in line.filters[0]]
        if line.equal is not None:
            clauses.append(f"{self.name(first)} is {self.name(line.equal)}")
        if _names_variables(line):
            clauses += self._walk(line)
        elif line.moves:
            clauses.append(self._first_move(line, ""))
        if len(line.moves) and not isinstance(last, Anything):
            clauses += [self._quality(p, self.name(last)) for p in line.filters[-1]]
        return clauses

    def _denied(self, line: Line) -> str:
        """A statement that does not hold: nothing, no shirt, or what its only clause says is not so."""
        first, last = line.anchors[0], line.anchors[-1]
        if isinstance(first, Anything):
            return self._found(line, "no")
        named = [f for node, f in enumerate(line.filters) if f and not isinstance(line.anchors[node], Anything)]
        if not line.moves and line.equal is None and len(line.filters[0]) == 1:
            return self._quality(line.filters[0][0], self.name(first), negated=True)
        if not line.moves and line.equal is not None and not named:
            return f"{self.name(first)} is not {self.name(line.equal)}"
        if named:
            return f"it is not true that {_joined(self._statement(line), 'and')}"
        if _names_variables(line):
            before = self._count
            clauses = self._walk(line)
            names = [f"Z{i + 1}" if self._num_named > 1 else "Z" for i in range(before, self._count)]
            return f"there is no {_joined(names, 'and')} such that {_joined(clauses, 'and')}"
        if len(line.moves) == 1 and not isinstance(last, Anything):
            move = line.moves[0]
            subject, object = (last, first) if move.inverse else (first, last)
            return clause(self.binary(move.predicate), self.name(subject), self.name(object), negated=True)
        return self._first_move(line, "no")

    def _found(self, line: Line, quantifier: str) -> str:
        """An unanchored line: the image has a person that is wearing a shirt."""
        if not line.moves:
            return f"{self._place} has {self.thing(line.filters[0], quantifier)}"
        thing = self._chain(line, 0, quantifier)
        return f"{self._place} has {thing}"

    def _first_move(self, line: Line, quantifier: str) -> str:
        """From a named anchor along the line; what it leads to is described, not named."""
        move, here = line.moves[0], self.name(line.anchors[0])
        there = self._chain(line, 1, quantifier)
        reading = self.binary(move.predicate)
        return clause(reading, there, here) if move.inverse else clause(reading, here, there)

    def _chain(self, line: Line, node: int, quantifier: str) -> str:
        """The node as a noun phrase with all that follows it: a bicycle that a person is riding."""
        anchor = line.anchors[node]
        thing = self.thing(line.filters[node], quantifier) if isinstance(anchor, Anything) else self.name(anchor)
        if node == len(line.moves):
            return thing
        move = line.moves[node]
        other = self._chain(line, node + 1, "")
        return f"{thing} {relative(self.binary(move.predicate), other, not move.inverse)}"

    def _walk(self, line: Line) -> list[str]:
        """Clause after clause from one head variable to the other, with names for what lies between."""
        clauses = []
        here = self.name(line.anchors[0])
        for node, move in enumerate(line.moves, start=1):
            qualities: list[str] = []
            if isinstance(line.anchors[node], Anything):
                introduced = there = self._fresh()
                if any(self.unary(p).kind == "noun" for p in line.filters[node]):
                    introduced = f"{self.thing(line.filters[node], '')} {there}"
                else:
                    qualities = [self._quality(p, there) for p in line.filters[node]]
            else:
                introduced = there = self.name(line.anchors[node])
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
        """a red shirt, something red, a person that takes more than 12 % of the image; with `no` none of it."""
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
    """a, b and c; a comma keeps apart what has an `and` of its own."""
    comma = "," if any(f" {word} " in part for part in parts) else ""
    return f"{', '.join(parts[:-1])}{comma} {word} {parts[-1]}" if len(parts) > 1 else "".join(parts)
