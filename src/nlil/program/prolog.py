"""Background clauses with lists, arithmetic or cut: SWI-Prolog evaluates them over the terms that the examples reach.

Every predicate of the bias is called with inputs from the terms so far, starting with those of the examples. Its
answers are facts; terms in answers that are not larger than the inputs are new terms for the next round. Directives of
the file are not run, and goals that could touch files or the system are refused (library(sandbox)).
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice, product
from pathlib import Path
from threading import Timer
from typing import IO

from ..errors import DataError, LimitError
from ..logic.terms import EMPTY, LIST, Compound, Name, Source, Term, is_ground, is_number, read_term
from ..logic.tokens import Fault
from .bias import Bias
from .clause import Symbol
from .source import GroundAtom

SECONDS = 60.0
"""Time limit of SWI-Prolog."""
MAX_TERMS, MAX_CALLS, MAX_ROUNDS = 2_000, 100_000, 30
"""Bounds of the terms that are reached, of the calls, and of the rounds."""
DRIVER = """
:- use_module(library(sandbox)).
:- initialization(main, main).
main :- catch(serve, _, true).
serve :- read_batch(Goals), forall(member(G, Goals), answer(G)), write('END.'), nl, flush_output, serve.
read_batch(Goals) :-
    read_term(user_input, T, []),
    ( T == end_of_file -> halt ; T == end_of_batch -> Goals = [] ; Goals = [T | Rest], read_batch(Rest) ).
answer(G) :-
    catch(( safe_goal(G),
            call_with_inference_limit(forall(limit(1000, G), show(G)), 200000, _) ), E, complain(E)).
show(G) :- ( ground(G) -> write_term(G, [quoted(true), ignore_ops(true)]), write('.'), nl ; true ).
complain(error(permission_error(A, B, C), _)) :- !,
    write_term('$refused'(A, B, C), [quoted(true), ignore_ops(true)]), write('.'), nl.
complain(_).
"""


def size_of(term: Term) -> int:
    """Return the number of symbols of a ground term."""
    return 1 + sum(map(size_of, term.args)) if isinstance(term, Compound) else 1


def evaluated_by_prolog(
    sources: Sequence[Source], clause: Source, examples: Iterable[GroundAtom], bias: Bias, target: Symbol
) -> tuple[list[GroundAtom], str]:
    """Return the facts of the predicates of the bias over the terms that the examples reach, and a note on the bounds.

    Args:
        sources: All clauses of the background.
        clause: The first one that is not Datalog, for errors.
        examples: Atoms of the target.
        bias: Its `body` names the predicates; `directions` say which arguments are inputs, `types` which terms fit.
        target: The predicate to learn.
    """
    command = shutil.which("swipl")
    if command is None:
        raise clause.error("a fact or a clause of Datalog, because SWI-Prolog (swipl) is not installed")
    defined = {s for source in sources if (s := _defined(source)) is not None}
    symbols = [s for s in (bias.body or sorted(defined)) if s != target]
    with tempfile.TemporaryDirectory() as folder, _Prolog(command, sources, Path(folder)) as prolog:
        ground = _Ground(prolog, symbols, bias, {source.term for source in sources if is_ground(source.term)})
        ground.begin(examples, target)
        facts = ground.run()
    note = f"SWI-Prolog found {len(facts):,} background facts over {ground.num_terms:,} terms that the examples reach"
    return facts, note + (f"; {'; '.join(ground.cuts)}" if ground.cuts else "")


def _defined(source: Source) -> Symbol | None:
    term = source.term
    if isinstance(term, Compound) and term.functor == ":-":
        if len(term.args) == 1:
            return None
        term = term.args[0]
    return Symbol(term.functor, len(term.args)) if isinstance(term, Compound) else None


class _Prolog:
    """A running SWI-Prolog with the background loaded."""

    def __init__(self, command: str, sources: Sequence[Source], folder: Path) -> None:
        path = folder / "driver.pl"
        grouped: dict[object, list[str]] = {}
        for source in sources:
            if (symbol := _defined(source)) is not None:
                grouped.setdefault(symbol, []).append(f"{source.text}.\n")
        path.write_text(DRIVER + "".join(line for lines in grouped.values() for line in lines), encoding="utf-8")
        self._errors = (folder / "errors").open("w+", encoding="utf-8")
        self._child = subprocess.Popen(
            [command, "-q", "-f", "none", str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            encoding="utf-8",
        )
        self._timer = Timer(SECONDS, self._child.kill)
        self._where = sources[0].path

    def __enter__(self) -> _Prolog:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        self._child.kill()
        for pipe in self._pipes:
            with suppress(OSError):  # unsent input is discarded
                pipe.close()
        self._child.wait()
        self._errors.close()

    def answers(self, goals: Sequence[str]) -> Iterator[Term]:
        """Yield every ground answer to the goals."""
        to, out = self._pipes
        try:
            to.write("".join(f"{goal}.\n" for goal in goals) + "end_of_batch.\n")
            to.flush()
            for line in out:
                if line == "END.\n":
                    return
                yield self._read(line)
        except BrokenPipeError:
            pass
        raise self._lost()

    @property
    def _pipes(self) -> tuple[IO[str], IO[str]]:
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        return self._child.stdin, self._child.stdout

    def _read(self, line: str) -> Term:
        try:
            term = read_term(line.rstrip().removesuffix("."))
        except Fault as fault:
            raise DataError(f"SWI-Prolog answered {line.strip()!r}: {fault.message}", self._where) from fault
        if isinstance(term, Compound) and term.functor == "$refused":
            raise DataError(f"background clauses may not touch files or the system: {term.args[2]}", self._where)
        return term

    def _lost(self) -> Exception:
        if self._child.wait() < 0:
            return LimitError(f"{self._where}: SWI-Prolog took more than {SECONDS:.0f} s for the background clauses")
        self._errors.seek(0)
        reason = " ".join(self._errors.read().split()) or "it ended early"
        return DataError(f"SWI-Prolog could not evaluate the background clauses: {reason[:300]}", self._where)


class _Ground:
    """The terms reached so far, by type, and the facts about them."""

    def __init__(self, prolog: _Prolog, symbols: Sequence[Symbol], bias: Bias, given: set[Term]) -> None:
        self._prolog, self._symbols, self._bias, self._given = prolog, symbols, bias, given
        self._terms: dict[str, dict[str, Term]] = {}
        self._facts: dict[tuple[Symbol, tuple[str, ...]], tuple[Term, ...]] = {}
        self._asked: set[str] = set()
        self._low = self._high = 0.0
        self.cuts: list[str] = []

    @property
    def num_terms(self) -> int:
        return sum(map(len, self._terms.values()))

    def _types(self, symbol: Symbol) -> tuple[str, ...]:
        return self._bias.types.get(symbol, ("",) * symbol.arity)

    def begin(self, examples: Iterable[GroundAtom], target: Symbol) -> None:
        """Add the terms of the examples and the tails of their lists; numbers range from one below to one above."""
        for symbol, args in examples:
            if symbol == target:
                for kind, text in zip(self._types(target), args):
                    self._add(kind, read_term(text))
        found = [number for terms in self._terms.values() for term in terms.values() for number in _numbers(term)]
        self._low, self._high = min(found, default=0.0) - 1, max(found, default=0.0) + 1

    def _add(self, kind: str, term: Term) -> None:
        self._terms.setdefault(kind, {})[str(term)] = term
        while isinstance(term, Compound) and term.functor == LIST:
            term = term.args[1]
            self._terms[kind][str(term)] = term

    def run(self) -> list[GroundAtom]:
        """Call every predicate with all terms, until there are no new terms or a limit is reached."""
        for _ in range(MAX_ROUNDS):
            goals = [goal for symbol in self._symbols for goal in self._goals(symbol)]
            if not goals:
                break
            if len(self._asked) + len(goals) > MAX_CALLS:
                self.cuts.append(f"no more than {MAX_CALLS:,} calls")
                goals = goals[: max(0, MAX_CALLS - len(self._asked))]
            self._asked.update(goals)
            for answer in self._prolog.answers(goals):
                self._learn(answer)
            if self.num_terms > MAX_TERMS:
                self.cuts.append(f"no more than {MAX_TERMS:,} terms")
                break
            if len(self._asked) >= MAX_CALLS:
                break
        return [fact for fact, terms in self._facts.items() if self._is_known(fact[0], terms)]

    def _is_known(self, symbol: Symbol, terms: Sequence[Term]) -> bool:
        return all(str(term) in self._terms.get(kind, {}) for kind, term in zip(self._types(symbol), terms))

    def _goals(self, symbol: Symbol) -> Iterator[str]:
        """Yield calls that have not been made yet: inputs are terms of the right types, other arguments are free."""
        inputs = self._bias.directions.get(symbol)
        places = range(symbol.arity)
        any_one = [tuple(i == j for j in places) for i in (-1, *places)]
        for pattern in any_one if inputs is None else [inputs]:
            kinds = [kind for kind, is_input in zip(self._types(symbol), pattern) if is_input]
            for values in islice(product(*(self._terms.get(kind, {}) for kind in kinds)), MAX_CALLS):
                given = iter(values)
                args = [next(given) if is_input else f"V{i}" for i, is_input in enumerate(pattern)]
                goal = f"{Name(symbol.name)}({', '.join(args)})"
                if goal not in self._asked:
                    yield goal

    def _learn(self, answer: Term) -> None:
        if not isinstance(answer, Compound) or not is_ground(answer):
            return
        symbol = Symbol(answer.functor, len(answer.args))
        self._facts[symbol, tuple(map(str, answer.args))] = answer.args
        inputs = self._bias.directions.get(symbol, (False,) * symbol.arity)
        largest = max((size_of(a) for a, is_input in zip(answer.args, inputs) if is_input), default=0)
        largest = largest or max(map(size_of, answer.args))
        for kind, term in zip(self._types(symbol), answer.args):
            if answer in self._given or (size_of(term) <= largest and self._is_in_range(term)):
                self._terms.setdefault(kind, {}).setdefault(str(term), term)

    def _is_in_range(self, term: Term) -> bool:
        return not (isinstance(term, Name) and is_number(term.text)) or self._low <= float(term.text) <= self._high


def _numbers(term: Term) -> Iterator[float]:
    if isinstance(term, Compound):
        for arg in term.args:
            yield from _numbers(arg)
    elif isinstance(term, Name) and is_number(term.text):
        yield float(term.text)


MAX_ITEMS = 500
"""Items of a list: the names of all its tails take as many characters as the square of its length."""


def list_facts(atoms: Iterable[GroundAtom], defined: Mapping[Symbol, object]) -> list[GroundAtom]:
    """Return head/2, tail/2 and empty/1 of every list in `atoms` and its tails, unless they are `defined`."""
    found: dict[GroundAtom, None] = {}
    for _, args in atoms:
        for text in args:
            if text.startswith("["):
                for symbol, values in _constructors(read_term(text)):
                    if symbol not in defined:
                        found[symbol, values] = None
    return list(found)


def _constructors(term: Term) -> Iterator[GroundAtom]:
    items: list[Term] = []
    rest = term
    while isinstance(rest, Compound) and rest.functor == LIST:
        items.append(rest.args[0])
        rest = rest.args[1]
    if len(items) > MAX_ITEMS:
        raise DataError(
            f"expected lists of at most {MAX_ITEMS:,} items, since every tail of a list is an entity; got one of "
            f"{len(items):,}"
        )
    end = "" if rest == Name(EMPTY) else f"|{rest}"
    words = [str(item) for item in items]
    tails = [f"[{', '.join(words[i:])}{end}]" for i in range(len(items))]  # as `str` writes them, but in one pass
    for item, word, tail, following in zip(items, words, tails, [*tails[1:], str(rest)]):
        yield Symbol("head", 2), (tail, word)
        yield Symbol("tail", 2), (tail, following)
        yield from _constructors(item)
    if rest == Name(EMPTY):
        yield Symbol("empty", 1), (EMPTY,)
