"""How the name of a predicate reads in English: `capitalOf` becomes "X is the capital of Y".

Names such as wearing, capitalOf, has_part, _hypernym, /film/film/genre or size_over_12pct are split into words.
words.toml lists the words that need special treatment; all others are classified by their ending and their position. A
binary predicate becomes one of three clauses:

    Saying    X is wearing Y, X is the capital of Y, X contains Y
    Property  the genre of the film X is Y
    Holding   X has Y as a part
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple

WORDS: Mapping[str, Any] = tomllib.loads(files(__package__).joinpath("words.toml").read_text(encoding="utf-8"))


def words(name: str) -> frozenset[str]:
    """Return the words listed under `name` in words.toml."""
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
    """Return whether the last word of `noun` is a plural.

    >>> [is_plural(noun) for noun in ("pants", "bus", "dress", "eye glasses", "person", "glass")]
    [True, False, False, True, False, False]
    """
    last = noun.lower().rpartition(" ")[2]
    return last in ("people", "skis", "taxis") or (
        last.endswith("s") and not last.endswith(("ss", "us", "is")) and last not in SINGULAR_IN_S and len(last) > 2
    )


def with_article(noun: str) -> str:
    """Return `noun` with its article, if it takes one: a person, an apple, pants, grass."""
    last = noun.lower().rpartition(" ")[2]
    return noun if is_plural(noun) or last in WITHOUT_ARTICLE else f"{article(noun)} {noun}"


def third_person(verb: str) -> str:
    """Return the third person singular of `verb`.

    >>> [third_person(verb) for verb in ("ride", "carry", "watch", "have", "play")]
    ['rides', 'carries', 'watches', 'has', 'plays']
    """
    if verb == "have":
        return "has"
    if verb.endswith("y") and verb[-2:-1] not in tuple("aeiou"):
        return verb[:-1] + "ies"
    return verb + ("es" if verb.endswith(("s", "sh", "ch", "x", "z", "o")) else "s")


THIRD_PERSONS = frozenset(map(third_person, BASE_VERBS))

# predicates of two arguments ------------------------------------------------------------------------------

BOX = "box_"
"""Prefix of a geometry predicate whose name the data already uses."""


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
        """The verb between the noun and its value, singular or plural."""
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
    """A unary predicate in words: X is a person (noun), X is red (adjective), X takes half of the image (verb).

    `kind` is one of the three; `text` follows "is a", "is", or the subject.
    """

    kind: Literal["noun", "adjective", "verb"]
    text: str


def words_of(name: str) -> str:
    """Split `name` into plain words.

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
    """Return the clause of the binary predicate `name`.

    A `label` is read instead of the name, unless the name is a path of types.
    """
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
    """Return the phrase of a predicate that is a verb or a preposition; None for a noun."""
    if text in SPECIAL:
        return Saying(SPECIAL[text])
    first, *rest = text.split(" ")
    last = rest[-1] if rest else first
    if first == "is" and rest:
        return Saying(text)
    if first in PREPOSITIONS and (not rest or last in PREPOSITIONS or not is_path):
        return Saying(f"is {text}")
    if rest and rest[0] in PREPOSITIONS and not is_path:
        if rest[0] == "of" and first in BASE_VERBS:  # place of birth, cause of death, use of
            return Saying(f"is {article(first)} {text}") if len(rest) == 1 else None
        if first in THIRD_PERSONS:
            return Saying(text)
        if is_participle(first):
            return Saying(f"{'was' if first == 'born' else 'is'} {text}")
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
    """Return whether the word is a past participle, regular or irregular."""
    return word in IRREGULAR_PARTICIPLES or (word.endswith("ed") and len(word) > 4 and word not in NOUNS_IN_DISGUISE)


def _path_reading(name: str) -> Reading:
    """Read /film/film/genre: the last part is the property, the part before it the type of the subject.

    /a/b/c./d/e/f goes through an intermediate node: the f of the c of the b X.
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
    """Remove the ending that Freebase gives to names with several values: release_date_s."""
    return words_of(word.removesuffix("_s"))


def clause(reading: Reading, subject: str, object: str, negated: bool = False) -> str:
    """Return one clause: the `reading` of a binary predicate applied to the words for its `subject` and `object`.

    `negated` is for two named arguments; "no shirt" and "nothing" are already negative.
    """
    match reading:
        case Saying(phrase):
            phrase = _before(phrase, object)
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


def _before(phrase: str, object: str) -> str:
    """Return the phrase that the object follows: X is a thing, but X is something."""
    return phrase.removesuffix(" a") if object in ("something", "nothing") else phrase


def relative(reading: Reading, other: str, is_subject: bool) -> str:
    """Return the clause of `reading` as a relative clause: "that is riding a bicycle".

    The noun is the subject if `is_subject`, else the object; `other` stands for the other argument.
    """
    match reading:
        case Saying(phrase):
            return f"that {_before(phrase, other)} {other}" if is_subject else f"that {other} {phrase}"
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
    """Return whether the phrase is a plain variable or name, which may be preceded by its type."""
    return not noun_phrase.startswith(("a ", "an ", "no ", "some", "nothing")) and " that " not in noun_phrase


# predicates of one argument -------------------------------------------------------------------------------

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
    """Return the unary predicate `name` in words; a `label` is read instead of the name."""
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
