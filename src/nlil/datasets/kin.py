"""`kin:n`: random genealogies of n people. `R(a, b)` reads "a is the R of b".

Unary male, female; binary father, mother, son, daughter, husband, wife, brother, sister, grandfather,
grandmother, grandson, granddaughter, uncle, aunt, nephew, niece (blood relatives). All of them are first
written out completely. People marry once, children are born to couples, founders have no parents.

The split is by person. For every held-out person all binary facts that begin with them (father(anna, _),
aunt(anna, _), ...) go to valid or test; what others are to them stays. No two held-out people are related,
so each held-out fact can still be seen from the other side: uncle(tom, eva) from niece(eva, tom).

A rule whose body begins with a forward step from X then says nothing about held-out people, and so

    planted rules are exact (confidence 1.0) on the training facts as well as on the complete ones.

Planted, each with X, Z1, Y different; `a b` abbreviates a(X, Z1), b(Z1, Y):

    grandfather: father father | father mother        grandmother:   mother father | mother mother
    grandson:    son son | son daughter               granddaughter: daughter son | daughter daughter
    uncle:       brother father | brother mother      aunt:          sister father | sister mother
    nephew:      son brother | son sister             niece:         daughter brother | daughter sister
    brother:     son father | son mother              sister:        daughter father | daughter mother
    father:      husband mother                       mother:        wife father
    son:         brother son | brother daughter       daughter:      sister son | sister daughter
    husband(X, Y) :- father(X, Z1), mother(Y, Z1).    wife(X, Y) :- mother(X, Z1), father(Y, Z1).
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

from ..data.builder import FactCollector
from ..data.dataset import Dataset, make_dataset
from ..data.facts import Splits
from ..logic.formula import Statement, X, Y
from ..logic.predicate import Predicate, Step
from ..logic.rule import Head, Rule

HELD_OUT = 0.1
"""Share of the people held out for each of valid and test, if enough unrelated ones are found."""

MEN = (
    "adam", "ben", "carl", "david", "emil", "felix", "george", "henry", "ivan", "jack", "karl",
    "leo", "max", "noah", "oscar", "paul", "robert", "simon", "tom", "victor",
)  # fmt: skip
WOMEN = (
    "alice", "bella", "clara", "diana", "emma", "flora", "grace", "hanna", "irene", "julia", "kate",
    "laura", "mary", "nora", "olga", "paula", "rosa", "sophie", "tessa", "vera",
)  # fmt: skip

CHAINS = {
    "grandfather": ("father father", "father mother"),
    "grandmother": ("mother father", "mother mother"),
    "grandson": ("son son", "son daughter"),
    "granddaughter": ("daughter son", "daughter daughter"),
    "uncle": ("brother father", "brother mother"),
    "aunt": ("sister father", "sister mother"),
    "nephew": ("son brother", "son sister"),
    "niece": ("daughter brother", "daughter sister"),
    "brother": ("son father", "son mother"),
    "sister": ("daughter father", "daughter mother"),
    "father": ("husband mother",),
    "mother": ("wife father",),
    "son": ("brother son", "brother daughter"),
    "daughter": ("sister son", "sister daughter"),
    "husband": ("father mother^",),
    "wife": ("mother father^",),
}
"""Head -> bodies `a b`, meaning a(X, Z1), b(Z1, Y); `b^` follows b backwards."""


@dataclass(eq=False)
class _Person:
    name: str
    is_male: bool
    parents: tuple[_Person, ...] = ()
    spouse: _Person | None = None
    children: list[_Person] = field(default_factory=list)

    @property
    def siblings(self) -> list[_Person]:
        return [p for p in self.parents[0].children if p is not self] if self.parents else []


def make_kin(size: int, seed: int = 0) -> Dataset:
    """Make complete genealogies of `size` people, then split them by person."""
    random = Random(seed)
    people = _people(size, random)
    facts = [(p.name, *fact) for p in people for fact in _facts_of(p)]
    split_of = _held_out(people, facts, random)
    collector = FactCollector()
    collector.add_rows((person.name, "male" if person.is_male else "female", None, 1.0) for person in people)
    for split in ("train", "valid", "test"):
        chosen = (fact for fact in facts if split_of.get(fact[0], "train") == split)
        collector.add_rows(((*fact, 1.0) for fact in chosen), split)
    got = collector.finish()
    kb = got.knowledge_base()
    splits = Splits(kb.facts, got.of("valid"), got.of("test"))
    return make_dataset(f"kin:{size}", kb, splits, planted=planted_kin())


def planted_kin() -> tuple[Rule, ...]:
    """Return the rules that hold in every generated genealogy."""
    return tuple(
        Rule(Head.of(Predicate(head, 2)), Statement(X, tuple(map(_step, body.split())), Y), distinct=True)
        for head, bodies in CHAINS.items()
        for body in bodies
    )


def _step(text: str) -> Step:
    return Step(Predicate(text.removesuffix("^"), 2), text.endswith("^"))


def _people(size: int, random: Random) -> list[_Person]:
    """Make families of four generations until there are `size` people."""
    people: list[_Person] = []
    used: Counter[str] = Counter()

    def born(is_male: bool, parents: tuple[_Person, ...] = ()) -> _Person:
        first = random.choice(MEN if is_male else WOMEN)
        used[first] += 1
        person = _Person(f"{first}{used[first]}", is_male, parents)
        people.append(person)
        return person

    while len(people) < size:
        families = deque([(born(random.random() < 0.5), 0)])
        while families and len(people) < size:
            person, generation = families.popleft()
            if generation and random.random() < 0.2:
                continue  # stays single
            spouse = born(not person.is_male)
            person.spouse, spouse.spouse = spouse, person
            for _ in range(random.randint(2, 4) if generation < 3 else 0):
                if len(people) == size:
                    break
                child = born(random.random() < 0.5, (person, spouse))
                person.children.append(child)
                spouse.children.append(child)
                families.append((child, generation + 1))
    return people


def _facts_of(p: _Person) -> Iterator[tuple[str, str]]:
    """Yield (relation, object) for everyone that p is related to."""

    def gendered(male: str, female: str) -> str:
        return male if p.is_male else female

    relatives: list[tuple[str, list[_Person]]] = [
        (gendered("father", "mother"), p.children),
        (gendered("husband", "wife"), [p.spouse] if p.spouse else []),
        (gendered("son", "daughter"), list(p.parents)),
        (gendered("brother", "sister"), p.siblings),
        (gendered("uncle", "aunt"), [c for s in p.siblings for c in s.children]),
        (gendered("nephew", "niece"), [s for parent in p.parents for s in parent.siblings]),
        (gendered("grandfather", "grandmother"), [g for c in p.children for g in c.children]),
        (gendered("grandson", "granddaughter"), [g for parent in p.parents for g in parent.parents]),
    ]
    for relation, others in relatives:
        yield from ((relation, other.name) for other in others)


def _held_out(people: list[_Person], facts: list[tuple[str, str, str]], random: Random) -> dict[str, str]:
    """Assign unrelated people to valid and test."""
    related: dict[str, set[str]] = {p.name: set() for p in people}
    for subject, _, object in facts:
        related[subject].add(object)
    chosen: dict[str, str] = {}
    wanted = 2 * max(1, round(HELD_OUT * len(people)))
    for person in random.sample(people, len(people)):
        if len(chosen) < wanted and related[person.name] and related[person.name].isdisjoint(chosen):
            chosen[person.name] = ("test", "valid")[len(chosen) % 2]
    return chosen
