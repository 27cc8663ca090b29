"""Rules and exclusions from a file: Prolog text (.pl, .txt, ...), JSON as `nlil rules --format json` writes it, or
what AnyBURL and AMIE write, known by its first lines.

What people write is taken whole or refused. Files of other systems have millions of lines that nobody edits: rules that
cannot be ours, or that the data has no names for, are left out and counted.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import DataError, NlilError, RuleSyntaxError
from ..logic.parse import parse_program, parse_rule
from ..logic.predicate import Predicate, Step
from ..logic.rule import Rule, RuleStats, ScoredRule
from ..progress import Progress, silent
from .foreign import FORMATS, Found

if TYPE_CHECKING:
    from ..data.dataset import Dataset
    from ..kernel.aggregation import Aggregation
    from ..kernel.exclusion import Exclusion
    from ..kernel.ruleset import RuleSet


def read_rules(
    path: str | Path,
    dataset: Dataset,
    aggregation: Aggregation | None = None,
    memory: int = 2**30,
    progress: Progress = silent,
) -> RuleSet:
    """The rules and exclusions of a file with statistics of the training facts, so that they have weights.

    Args:
        path: a file in one of the formats above.
        dataset: what the statistics are counted on.
        aggregation: how the rules become a score; default: noisy-or.
        memory: bytes that block sizes are chosen for.
        progress: told how many rules are counted.
    """
    return RuleFile.read(path).known_to(dataset).counted(dataset, aggregation, memory, progress)


@dataclass(frozen=True)
class RuleFile:
    """What a file says; each rule and exclusion with the place where it stands, for messages.

    rules: the rules.
    denials: what never holds with what.
    is_foreign: another system wrote it.
    left_out: rules of another system that are not taken: why, and where each stands.
    """

    path: Path
    rules: list[tuple[Rule, str]]
    denials: list[tuple[tuple[Predicate, Step], str]]
    is_foreign: bool = False
    left_out: tuple[tuple[str, str], ...] = ()

    @classmethod
    def read(cls, path: str | Path) -> RuleFile:
        path = Path(path)
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise DataError("expected UTF-8 text", path) from error
        return _reader(text, path)(text, path)._checked()

    def _checked(self) -> RuleFile:
        """With at least one rule."""
        if not self.rules and self.left_out:
            raise DataError(f"expected rules that nlil can apply, got none: {self.left_out_sentence()}", self.path)
        if not self.rules:
            raise DataError("no rules, expected lines such as p(X, Y) :- q(X, Z1), r(Z1, Y).", self.path)
        return self

    @property
    def num_left_out(self) -> dict[str, int]:
        """By reason, the most frequent first."""
        return dict(Counter(reason for reason, _ in self.left_out).most_common())

    def left_out_sentence(self) -> str:
        """12 of 3,400 rules are left out: 10 with no variable in the head (first at rules.txt:17); 2 with ..."""
        first = dict(reversed(self.left_out))
        parts = [f"{count:,} {reason} (first at {first[reason]})" for reason, count in self.num_left_out.items()]
        verb = "is" if len(self.left_out) == 1 else "are"
        total = len(self.rules) + len(self.left_out)
        return f"{len(self.left_out):,} of {total:,} rules {verb} left out: {'; '.join(parts)}"

    def known_to(self, dataset: Dataset) -> RuleFile:
        """Without rules of another system about names that the data does not have; what people write is kept."""
        if not self.is_foreign:
            return self
        predicates, entities, name = set(dataset.kb.predicates), dataset.kb.entities, dataset.name
        rules, left_out = [], list(self.left_out)
        for rule, place in self.rules:
            if not predicates.issuperset({rule.target, *rule.predicates}):
                left_out.append((f"with a predicate that {name} does not have", place))
            elif not all(constant in entities for constant in rule.constants):
                left_out.append((f"with an entity that {name} does not have", place))
            else:
                rules.append((rule, place))
        return replace(self, rules=rules, left_out=tuple(left_out))._checked()

    def counted(
        self,
        dataset: Dataset,
        aggregation: Aggregation | None = None,
        memory: int = 2**30,
        progress: Progress = silent,
        threads: int = 0,
    ) -> RuleSet:
        """The rules and exclusions with statistics of the training facts; each once. Arguments as in `read_rules`."""
        from ..kernel.counting import count_statistics
        from ..kernel.ruleset import RuleSet

        if not self.is_foreign:  # rules of other systems were chosen by their names
            for rule, place in self.rules:
                _check_names(rule, place, dataset)
        nothing = RuleStats(0, 0, 0)
        each_once = [ScoredRule(rule, nothing, 0.0) for rule in dict.fromkeys(rule for rule, _ in self.rules)]
        rules, negatives = RuleSet.of(dataset.kb, each_once, aggregation), dataset.splits.negatives.get("train")
        rules = count_statistics(rules, dataset.kb, negatives, threads, memory, progress)
        # Weights: the smoothed confidence, unrounded, as in a run.
        return replace(rules, weight=None, exclusions=self._exclusions(dataset))

    def _exclusions(self, dataset: Dataset) -> tuple[Exclusion, ...]:
        from ..search.exclusions import count_exclusions

        for (target, step), place in self.denials:
            try:
                dataset.kb.predicate_id(target)
                dataset.kb.predicate_id(step.predicate)
            except NlilError as error:
                raise NlilError(f"{place}: {error}") from error
        return count_exclusions(dataset.kb, [denial for denial, _ in self.denials])


def _check_names(rule: Rule, place: str, dataset: Dataset) -> None:
    """Refuse a rule that names what the data does not have."""
    try:
        for predicate in (rule.target, *rule.predicates):
            dataset.kb.predicate_id(predicate)
        for constant in rule.constants:
            dataset.kb.entities.id(constant)
    except NlilError as error:
        raise NlilError(f"{place}: {error}") from error


def _reader(text: str, path: Path) -> Callable[[str, Path], RuleFile]:
    """JSON by the name; another system by a line that only it writes; else Prolog."""
    if path.suffix.lower() == ".json":
        return _from_json
    for line in text.split("\n"):
        for pattern, read in FORMATS.values():
            if pattern.fullmatch(line):
                return lambda text, path: _from_another_system(read(text, path), path)
        if ":-" in line:
            break
    return _from_prolog


def _from_another_system(found: Found, path: Path) -> RuleFile:
    rules, left_out = [], []
    for rule, line in found:
        if isinstance(rule, Rule):
            rules.append((rule, f"{path}:{line}"))
        else:
            left_out.append((rule.reason, f"{path}:{line}"))
    return RuleFile(path, rules, [], True, tuple(left_out))


def _from_prolog(text: str, path: Path) -> RuleFile:
    try:
        rules, denials = parse_program(text)
    except RuleSyntaxError as error:
        raise DataError(str(error), path) from error
    placed = [(rule, f"{path}:{line}") for rule, line in rules]
    return RuleFile(path, placed, [(denial, f"{path}:{line}") for denial, line in denials])


def _from_json(text: str, path: Path) -> RuleFile:
    """{"rules": [...], "exclusions": [...]} or a list of rules; an item is a text or an object with it."""
    try:
        document: Any = json.loads(text)
        is_object = isinstance(document, dict)
        rules = _texts(document["rules"] if is_object else document, "rule")
        exclusions = _texts(document.get("exclusions", []) if is_object else [], "exclusion")
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"expected a JSON list of rules, or an object with a list `rules` ({error})", path) from error
    found = RuleFile(path, [], [])
    for number, item in enumerate(rules, start=1):
        try:
            found.rules.append((parse_rule(item), f"{path}: rule {number}"))
        except RuleSyntaxError as error:
            raise DataError(f"rule {number}: {error}", path) from error
    for number, item in enumerate(exclusions, start=1):
        try:
            more, denials = parse_program(item)
        except RuleSyntaxError as error:
            raise DataError(f"exclusion {number}: {error}", path) from error
        if more or len(denials) != 1:
            raise DataError(f"exclusion {number}: expected one denial such as :- p(X, Y), q(X, Y). got {item!r}", path)
        found.denials.append((denials[0][0], f"{path}: exclusion {number}"))
    return found


def _texts(items: Any, what: str) -> list[str]:
    """The text of each item: the item itself, or what it has under the name `what`."""
    if not isinstance(items, list):
        raise TypeError(f"got {type(items).__name__}")
    texts = [item if isinstance(item, str) else item[what] for item in items]
    for number, item in enumerate(texts, start=1):
        if not isinstance(item, str):
            raise TypeError(f"{what} {number} is no text: {item!r}")
    return texts
