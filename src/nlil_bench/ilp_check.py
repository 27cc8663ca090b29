"""An independent check of programs: their Prolog text, evaluated by brute force.

It shares the reader of terms with nlil and nothing else: no tables, no joins, no fixpoint.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from nlil.logic.terms import Compound, Name, Term, Variable, conjuncts, read_clauses

from .ilp_tasks import Fact

Values = Mapping[str, str]


def derived(clauses: Iterable[str], facts: Iterable[Fact]) -> set[Fact]:
    """Return all facts: `clauses` as Prolog, `facts` as (predicate, arguments). Negation must be stratified."""
    known = {*facts}
    parsed = [next(iter(read_clauses(text))).term for text in clauses]
    heads = {_name(_parts(term)[0]) for term in parsed}
    index: dict[str, set[Fact]] = {}
    for fact in known:
        index.setdefault(fact[0], set()).add(fact)
    for level in _levels(parsed, heads):
        changed = True
        while changed:
            changed = False
            for term in level:
                head, body = _parts(term)
                for values in list(_solutions(body, {}, index)):
                    fact = _fact(head, values)
                    if fact not in known:
                        known.add(fact)
                        index.setdefault(fact[0], set()).add(fact)
                        changed = True
    return known


def _levels(clauses: list[Term], heads: set[str]) -> Iterator[list[Term]]:
    """Yield the clauses by stratum."""
    level = dict.fromkeys(heads, 0)
    for _ in range(len(heads) + 1):
        for term in clauses:
            head, body = _parts(term)
            for item in body:
                negated = isinstance(item, Compound) and item.functor == "\\+"
                used = _name(item.args[0] if negated and isinstance(item, Compound) else item)
                if used in level:
                    level[_name(head)] = max(level[_name(head)], level[used] + negated)
    for number in sorted({*level.values()}):
        yield [term for term in clauses if level[_name(_parts(term)[0])] == number]


def _parts(term: Term) -> tuple[Term, list[Term]]:
    if isinstance(term, Compound) and term.functor == ":-":
        return term.args[0], conjuncts(term.args[1])
    return term, []


def _name(term: Term) -> str:
    return term.functor if isinstance(term, Compound) else str(term)


def _value(term: Term, values: Values) -> str | None:
    if isinstance(term, Variable):
        return values.get(term.name)
    return term.text if isinstance(term, Name) else str(term)


def _fact(head: Term, values: Values) -> Fact:
    args = head.args if isinstance(head, Compound) else ()
    return (_name(head), *(_value(a, values) or "" for a in args))


def _solutions(body: list[Term], values: Values, index: Mapping[str, set[Fact]]) -> Iterator[Values]:
    if not body:
        yield values
        return
    item, rest = body[0], body[1:]
    assert isinstance(item, Compound)
    if item.functor == "\\+":
        if not any(_matches(item.args[0], values, index)):
            yield from _solutions(rest, values, index)
    elif item.functor in ("=", "\\=", "<", "=<", ">=", ">"):
        left, right = (_value(a, values) for a in item.args)
        assert left is not None
        assert right is not None
        if _compare(item.functor, left, right):
            yield from _solutions(rest, values, index)
    else:
        for found in _matches(item, values, index):
            yield from _solutions(rest, found, index)


def _matches(atom: Term, values: Values, index: Mapping[str, set[Fact]]) -> Iterator[Values]:
    assert isinstance(atom, Compound)
    for fact in list(index.get(atom.functor, ())):
        if len(fact) != len(atom.args) + 1:
            continue
        found = dict(values)
        if all(_unified(term, value, found) for term, value in zip(atom.args, fact[1:])):
            yield found


def _unified(term: Term, value: str, values: dict[str, str]) -> bool:
    if isinstance(term, Variable):
        return values.setdefault(term.name, value) == value
    return _value(term, values) == value


def _compare(name: str, left: str, right: str) -> bool:
    if name in ("=", "\\="):
        return (left == right) == (name == "=")
    a, b = float(left), float(right)
    return {"<": a < b, "=<": a <= b, ">=": a >= b, ">": a > b}[name]
