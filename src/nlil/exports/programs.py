"""One door to all languages: a rule, a program of many rules, the facts to run it on.

A new language is a module with a `LANGUAGE` (see `language.Language`), and its name here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING

from ..errors import ConfigError, ExportError

if TYPE_CHECKING:
    from ..data.kb import KnowledgeBase
    from ..logic.labels import Labels
    from ..logic.rule import Rule, ScoredRule
    from .language import Denials, Language

EXECUTABLE = ("prolog", "datalog", "sparql", "sql", "cypher")
LANGUAGES = (*EXECUTABLE, "anyburl", "latex", "english")
"""Names of modules beside this one; they are imported when they are used."""


def language(name: str, among: Iterable[str] = LANGUAGES) -> Language:
    """Return how rules are written in the language of this name, which must be one `among` these."""
    if name not in among:
        raise ConfigError(f"{name}: expected one of {', '.join(among)}", "format")
    found: Language = import_module(f".{name}", __package__).LANGUAGE
    return found


def rule_text(rule: Rule, name: str, number: int = 1, graphs: bool = False, exclusions: Denials = ()) -> str:
    """Return the rule in an executable language.

    Args:
        rule: What is written.
        name: One of EXECUTABLE.
        number: Keeps helper relations of several rules apart (Datalog).
        graphs: The facts are many graphs, each a world of its own.
        exclusions: (target, step) pairs that rule answers out (SPARQL, SQL, Cypher).
    """
    from .language import Options

    return language(name, EXECUTABLE).rule(rule, Options(number, graphs, tuple(exclusions)))


def facts(kb: KnowledgeBase, name: str) -> Iterator[str]:
    """Yield what a program in the language `name` runs on: entities with their graphs, facts of weight >= .5."""
    pieces = language(name).facts
    if pieces is None:
        raise ConfigError(f"{name}: has no facts, expected one of {', '.join(EXECUTABLE)}", "format")
    return pieces(kb)


def program(
    rules: Iterable[ScoredRule],
    name: str,
    graphs: bool = False,
    exclusions: Denials = (),
    labels: Labels | None = None,
    refuse: Callable[[ExportError], None] | None = None,
) -> Iterator[str]:
    """Yield all rules, piece by piece.

    Args:
        rules: What is written, in this order.
        name: One of LANGUAGES.
        graphs: The facts are many graphs, each a world of its own.
        exclusions: (target, step) pairs that rule answers out (SPARQL, SQL, Cypher).
        labels: For people in place of names (LaTeX, English).
        refuse: Is told of each rule that the language cannot say; without it that is an error.
    """
    from .language import Options

    spoken = language(name)
    options = Options(1, graphs, tuple(exclusions), labels)
    if spoken.check is not None:
        rules = list(rules)
        spoken.check([scored.rule for scored in rules])
    # An environment without a line does not compile in LaTeX: where there are no rules there is none.
    before = spoken.begin
    for number, scored in enumerate(rules, start=1):
        try:
            text = spoken.rule(scored.rule, replace(options, number=number, stats=scored.stats))
        except ExportError as error:
            if refuse is None:
                raise
            refuse(error)
            continue
        yield before + _comment(scored, spoken.comment) + text + spoken.after
        before = spoken.between
    if spoken.end and before != spoken.begin:
        yield spoken.end


def _comment(scored: ScoredRule, mark: str) -> str:
    stats = f"weight {scored.weight:.4g}, support {scored.stats.support:,} of {scored.stats.body_size:,}"
    return f"{mark}{scored.rule}  {stats}\n" if mark else ""
