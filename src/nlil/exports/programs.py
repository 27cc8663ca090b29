"""One door to all languages: a rule, a program of many rules, the facts to run it on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError, ExportError, RuleError
from ..kernel.strata import strata
from ..logic.rule import Rule, ScoredRule
from . import anyburl, cypher, datalog, latex, prolog, sparql, sql
from .alternatives import Denials

if TYPE_CHECKING:
    from ..data.kb import KnowledgeBase
    from ..explanation.labels import Labels

EXECUTABLE = ("prolog", "datalog", "sparql", "sql", "cypher")
LANGUAGES = (*EXECUTABLE, "anyburl", "latex", "english")
ANSWERS_ONLY = ("sparql", "sql", "cypher")
"""Languages whose queries answer from the given facts alone; in the others heads are relations like any other."""
_MODULES: dict[str, Any] = {"prolog": prolog, "datalog": datalog, "sparql": sparql, "sql": sql, "cypher": cypher}


def rule_text(rule: Rule, language: str, number: int = 1, graphs: bool = False, exclusions: Denials = ()) -> str:
    """The rule in an executable language.

    number      keeps helper relations of several rules apart (Datalog)
    graphs      the facts are many graphs, each a world of its own
    exclusions  (target, step) pairs that rule answers out (SPARQL, SQL, Cypher)
    """
    match language:
        case "prolog":
            return prolog.rule_clause(rule, number, graphs)
        case "datalog" if tuple(exclusions):
            raise ExportError(
                "exclusions look at given facts only, but a relation here also holds what is derived; "
                "leave the exclusions out",
                datalog.LANGUAGE,
            )
        case "datalog":
            return datalog.rule_clauses(rule, number, graphs)
        case "sparql" | "sql" | "cypher":
            text: str = _MODULES[language].rule_query(rule, number, graphs, exclusions)
            return text
    raise ConfigError(f"{language}: expected one of {', '.join(EXECUTABLE)}", "format")


def facts(kb: KnowledgeBase, language: str) -> Iterator[str]:
    """What a program in this language runs on, piece by piece: entities with their graphs, facts of weight >= .5."""
    if language not in _MODULES:
        raise ConfigError(f"{language}: has no facts, expected one of {', '.join(EXECUTABLE)}", "format")
    pieces: Iterator[str] = _MODULES[language].facts(kb)
    return pieces


def program(
    rules: Iterable[ScoredRule],
    language: str,
    graphs: bool = False,
    exclusions: Denials = (),
    labels: Labels | None = None,
    refuse: Callable[[ExportError], None] | None = None,
) -> Iterator[str]:
    """All rules, piece by piece. `refuse` is told of each that the language cannot say; without it that is an error."""
    denials = tuple(exclusions)
    if language == "datalog":
        rules = list(rules)
        _check_stratified([scored.rule for scored in rules])
    # An environment without a line does not compile: where there are no rules there is none.
    separator = begin = latex.BEGIN if language == "latex" else ""
    for number, scored in enumerate(rules, start=1):
        try:
            text = _entry(scored, language, number, graphs, denials, labels)
        except ExportError as error:
            if refuse is None:
                raise
            refuse(error)
            continue
        yield separator + text
        separator = " \\\\\n" if language == "latex" else "\n" if language in ANSWERS_ONLY else ""
    if language == "latex" and separator != begin:
        yield "\n" + latex.END


def _entry(
    scored: ScoredRule, language: str, number: int, graphs: bool, exclusions: Denials, labels: Labels | None
) -> str:
    rule = scored.rule
    match language:
        case "anyburl":
            return anyburl.rule_line(rule, scored.stats) + "\n"
        case "latex":
            return latex.rule_line(rule, labels.entities if labels else None)
        case "english":
            from . import english

            return english.rule_sentence(rule, labels) + "\n"
        case "prolog":
            return prolog.rule_clause(rule) + "\n"
    comment = _MODULES[language].COMMENT
    stats = f"weight {scored.weight:.4g}, support {scored.stats.support:,} of {scored.stats.body_size:,}"
    return f"{comment}{rule}  {stats}\n{rule_text(rule, language, number, graphs, exclusions)}\n"


def _check_stratified(rules: Sequence[Rule]) -> None:
    """Negation in a circle gives clingo several answer sets, or none: then there is no one set of answers."""
    try:
        strata(rules)
    except RuleError as error:
        raise ExportError(str(error), datalog.LANGUAGE) from error
