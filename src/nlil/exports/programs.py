"""The entry point for all languages: one rule, a program of many rules, or the facts to run it on.

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
"""The names of modules in this package, imported on first use."""


def language(name: str, among: Iterable[str] = LANGUAGES) -> Language:
    """Return the language of this name, which must be `among` these."""
    if name not in among:
        raise ConfigError(f"{name}: expected one of {', '.join(among)}", "format")
    found: Language = import_module(f".{name}", __package__).LANGUAGE
    return found


def rule_text(rule: Rule, name: str, number: int = 1, graphs: bool = False, exclusions: Denials = ()) -> str:
    """Return one rule in an executable language.

    Args:
        rule: The rule.
        name: One of EXECUTABLE.
        number: Distinguishes the helper relations of several rules (Datalog).
        graphs: Whether the facts consist of many separate graphs.
        exclusions: (target, step) pairs that rule out answers (SPARQL, SQL, Cypher).
    """
    from .language import Options

    return language(name, EXECUTABLE).rule(rule, Options(number, graphs, tuple(exclusions)))


def facts(kb: KnowledgeBase, name: str) -> Iterator[str]:
    """Yield the facts that a program in the language `name` runs on.

    These are the entities with their graphs, and the facts of weight >= .5.
    """
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
    """Yield a program of many rules, piece by piece.

    Args:
        rules: The rules, in this order.
        name: One of LANGUAGES.
        graphs: Whether the facts consist of many separate graphs.
        exclusions: (target, step) pairs that rule out answers (SPARQL, SQL, Cypher).
        labels: Readable labels in place of names (LaTeX, English).
        refuse: Called with the error of each rule that the language cannot express; without it the error is raised.
    """
    from .language import Options

    spoken = language(name)
    options = Options(1, graphs, tuple(exclusions), labels)
    if spoken.check is not None:
        rules = list(rules)
        spoken.check([scored.rule for scored in rules])
    # A LaTeX environment without lines does not compile, so without rules there is none.
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
