"""Words that the English templates know; every other word is read by its ending and its place."""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


PREPOSITIONS = words("""
    about above across after against along alongside among around at away before behind below beneath beside between
    beyond by during for from in inside into near nearby of off on onto opposite out outside over past through to
    toward towards under underneath up upon with within without than as
""")

BASE_VERBS = words("""
    adjust affect analyze assemble attach avoid bless block blow board border break bring brush buy carry catch cause
    chase check clean come contain control cook cover create cross cut direct drag dribble drink drive dry eat employ
    enter examine exit face fall feed fill flip flush fly follow found get give grind groom grow hang harvest have hear
    help herd hit hold hop hose hug hunt include inspect install interact join jump keep kick kill kiss know lasso
    launch lay lead lean learn lick lie lift light like live load look lose love make march meet milk move observe open
    operate overlap own pack paint park pay peel perform pet pick place play point pour precede prevent produce protect
    pull pump push put race read reach release repair rest ride row run sail say scratch see sell serve set shake shear
    show sign sip sit skate ski sleep slide smell speak spin stab stand stick stir stop straddle study support swing
    tag take talk teach text throw tie toast touch train travel treat turn type use visit walk want wash watch wave
    wear wield work write zip
""")

THIRD_PERSON_PATH_VERBS = words("contains adjoins borders includes owns produces plays speaks influences")
"""Only these are verbs in names like /location/location/contains, where other words in -s are plurals."""

IRREGULAR_PARTICIPLES = words(
    "born built drawn driven eaten found given held hung known laid led made put ridden seen "
    "sold spoken taken thrown worn written won cut set split"
)

KIN = words("""
    aunt brother child cousin daughter father granddaughter grandchild grandfather grandmother grandparent grandson
    husband mother nephew niece parent partner sibling sister son spouse uncle wife friend neighbour neighbor ancestor
    descendant boss colleague teacher student
""")

ONLY_ONE = words("father mother husband wife capital spouse")
"""Of these there is one: the mother of Y, but an aunt of Y."""

SPECIAL = {
    "isa": "is a",
    "is a": "is a",
    "instance of": "is an instance of",
    "part of": "is part of",
    "of": "belongs to",
    "married": "is married to",
    "also see": "refers also to",
    "issue in": "is an issue in",
    "succ": "is followed by",
    "no interaction": "has no interaction with",
    "similar": "is similar to",
    "has": "has",
    "equal": "equals",
    "member of": "is a member of",
    "kind of": "is a kind of",
    "same": "is the same as",
    "park next": "parks next to",
    "outside of": "is outside of",
    "left of": "is to the left of",
    "right of": "is to the right of",
    "attach to": "is attached to",
    "verb group": "is in the same verb group as",
    "with": "is with",
}
"""Predicates that no ending tells apart."""

ADJECTIVES = words("""
    abstract adult alive american angry asian bald bare beautiful beige big black blank blond blonde blue bright broken
    brown calm cheap chrome clean clear closed cloudy cold colorful colourful cooked crisp dark dead dense dirty dry
    dusty empty even fake fat female flat fluffy foggy fresh full furry glass gold golden gray grassy green grey hairy
    happy hard heavy high hot huge human illuminated large leafless leafy light little long loose lush male maroon
    mature metal metallic modern narrow new odd off old open orange overcast pale parked patterned pink plaid plain
    plastic poor prime purple ragged rainy raw red rich ripe rocky rough round rusty sad sandy shallow sharp shiny short
    silver skinny sleeveless slim small smart smooth snowy soft square steep stone straight striped sunny tall tan tasty
    teal thick thin tiny toasted uneven unripe violet wet white wide wild wireless wood wooden yellow young
""")
"""`orange`, `glass` and `stone` are read as nouns where nothing else says what the thing is."""

NOUNS_IN_DISGUISE = words("""
    building ceiling railing clothing ring king wing painting string earring awning bed seaweed spring thing lighting
    evening morning wedding swing shed sled weed seed reed drawing parking icing topping frosting dressing bedding
    flooring siding paneling crossing
""")
"""Nouns that end like a participle."""

WITHOUT_ARTICLE = words("""
    air armor art bread broccoli butter cardboard cash cheese chicken clothing concrete corn dirt equipment fabric food
    fruit fur furniture garbage grass gravel hair ice icing jewelry juice lace lettuce light liquid luggage meat metal
    milk money mud paint paper people plastic rice rope salad sand sauce sky smoke snow soap soil soup sunlight toilet
    traffic trash vegetation water weather wheat wine wood wool writing foam fog
""")
"""Stuff and plurals that have no s: X is grass."""

SINGULAR_IN_S = words(
    "bus gas lens canvas cactus octopus virus campus glass grass dress mattress compass boss class "
    "cross process business series species news focus bonus atlas iris tennis basis"
)

SOUNDS_LIKE_A_CONSONANT = ("uni", "use", "user", "euro", "one", "once", "ut", "u-")
SOUNDS_LIKE_A_VOWEL = ("hour", "honest", "honour", "honor", "heir")


def article(noun: str) -> str:
    """
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
    """a person, an apple, pants, grass."""
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
