"""Rules and exclusions from a file: Prolog text (.pl, .txt, ...), JSON as written by `nlil rules --format json`, or
files of AnyBURL and AMIE, recognised by their first lines.

Files written by people are read completely or refused. Files of other systems have millions of lines; rules that nlil
cannot express, or with names that the data does not have, are left out and counted.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data.vocabulary import Vocabulary
from ..errors import DataError, NlilError, RuleSyntaxError, in_file
from ..logic.parse import parse_program, parse_rule
from ..logic.predicate import Predicate, Step
from ..logic.rule import Rule
from ..progress import Progress, silent
from .foreign import FORMATS, RuleFormat
from .rule_columns import RuleColumns, RuleTexts

if TYPE_CHECKING:
    from ..data.arrays import Longs
    from ..data.dataset import Dataset
    from ..data.kb import KnowledgeBase
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
    """Read the rules and exclusions of a file, and count their statistics on the training facts to weight them.

    Args:
        path: a file of Prolog text, JSON as `nlil rules --format json` writes it, or output of AnyBURL or AMIE.
        dataset: the data to count on.
        aggregation: how rules become a score; noisy-or by default.
        memory: the memory budget in bytes.
        progress: called with the number of rules counted.
    """
    return RuleFile.read(path).known_to(dataset).counted(dataset, aggregation, memory, progress)


@dataclass(frozen=True, eq=False)
class RuleFile:
    """The content of a rule file.

    Attributes:
        path: The file.
        rules: The rules, in ids of their own names.
        numbers: The line of each rule; in JSON its number.
        denials: The exclusions, each with its place for messages.
        is_foreign: Whether another system wrote it.
        left_out: Unusable rules of another system: the reason and the line of each.
    """

    path: Path
    rules: RuleSet
    numbers: Longs
    denials: list[tuple[tuple[Predicate, Step], str]]
    is_foreign: bool = False
    left_out: tuple[tuple[str, int], ...] = ()

    @classmethod
    def read(cls, path: str | Path) -> RuleFile:
        """Read a rule file. Raises DataError if it is invalid."""
        path = Path(path)
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise DataError("expected UTF-8 text", path) from error
        return _reader(text, path)(text, path)._checked()

    def _checked(self) -> RuleFile:
        """Raise DataError unless there is a rule."""
        if not len(self.rules) and self.left_out:
            raise DataError(f"expected rules that nlil can apply, got none: {self.left_out_sentence()}", self.path)
        if not len(self.rules):
            raise DataError("no rules, expected lines such as p(X, Y) :- q(X, Z1), r(Z1, Y).", self.path)
        return self

    def place(self, row: int) -> str:
        """Return the place of the rule of a `row`, for messages."""
        number = int(self.numbers[row])
        return f"{self.path}: rule {number}" if _is_json(self.path) else f"{self.path}:{number}"

    @property
    def num_left_out(self) -> dict[str, int]:
        """The number of unusable rules by reason, the most frequent first."""
        return dict(Counter(reason for reason, _ in self.left_out).most_common())

    def left_out_sentence(self) -> str:
        """Return a sentence: 12 of 3,400 rules are left out: 10 with no variable in the head (first at a.txt:17)."""
        first = dict(reversed(self.left_out))
        counts = self.num_left_out.items()
        parts = [f"{count:,} {reason} (first at {self.path}:{first[reason]})" for reason, count in counts]
        verb = "is" if len(self.left_out) == 1 else "are"
        total = len(self.rules) + len(self.left_out)
        return f"{len(self.left_out):,} of {total:,} rules {verb} left out: {'; '.join(parts)}"

    def known_to(self, dataset: Dataset) -> RuleFile:
        """Return the file without rules of another system that use names unknown to `dataset`.

        Files written by people stay as they are.
        """
        from ..kernel.binding import bind

        if not self.is_foreign:
            return self
        bound, name = bind(self.rules, dataset.kb), dataset.name
        lost = [
            *((f"with a predicate that {name} does not have", line) for line in self.numbers[bound.unknown_predicates]),
            *((f"with an entity that {name} does not have", line) for line in self.numbers[bound.unknown_constants]),
        ]
        numbers = np.delete(self.numbers, np.concatenate((bound.unknown_predicates, bound.unknown_constants)))
        return replace(self, rules=bound.rules, numbers=numbers, left_out=(*self.left_out, *lost))._checked()

    def counted(
        self,
        dataset: Dataset,
        aggregation: Aggregation | None = None,
        memory: int = 2**30,
        progress: Progress = silent,
        threads: int = 0,
    ) -> RuleSet:
        """Return the distinct rules and the exclusions, with statistics of the training facts of `dataset`.

        `aggregation`, `memory`, `progress` and `threads` are as in `read_rules`.
        """
        from ..kernel.aggregation import DEFAULT
        from ..kernel.binding import bind
        from ..kernel.counting import count_statistics

        kb, negatives = dataset.kb, dataset.splits.negatives.get("train")
        bound = bind(self.rules if self.is_foreign else _with_names_of(kb, self.rules), kb)
        unknown = np.concatenate((bound.unknown_predicates, bound.unknown_constants))
        if len(unknown):
            row = int(unknown.min())
            _refuse_unknown(self.rules.rule(row), self.place(row), dataset)
        each_once = replace(
            bound.rules.unique(),
            aggregation=aggregation or DEFAULT,
            exclusions=self._exclusions(dataset),
            entity_labels=kb.entity_labels,
            predicate_labels=kb.predicate_labels,
        )
        return count_statistics(each_once, kb, negatives, threads, memory, progress)

    def _exclusions(self, dataset: Dataset) -> tuple[Exclusion, ...]:
        from ..search.exclusions import count_exclusions

        kb, named = dataset.kb, []
        for (target, step), place in self.denials:
            try:
                pair = kb.named_predicate(target), Step(kb.named_predicate(step.predicate), step.inverse)
            except NlilError as error:
                raise NlilError(f"{place}: {error}") from error
            named.append(pair)
        return count_exclusions(kb, named)


def _with_names_of(kb: KnowledgeBase, rules: RuleSet) -> RuleSet:
    """Return the `rules` with the names of `kb` in place of short names and labels; unknown names stay."""
    found = kb.entity_ids(rules.entities)
    entities = [kb.entities.name(id) if id >= 0 else name for id, name in zip(found.tolist(), rules.entities)]
    return replace(rules, predicates=tuple(_named(kb, p) for p in rules.predicates), entities=Vocabulary(entities))


def _named(kb: KnowledgeBase, predicate: Predicate) -> Predicate:
    found = kb.predicates_named(predicate)
    return found[0] if len(found) == 1 else predicate


def _refuse_unknown(rule: Rule, place: str, dataset: Dataset) -> None:
    """Raise NlilError for the first name of the rule that the data does not have."""
    try:
        for predicate in (rule.target, *sorted(rule.predicates)):
            dataset.kb.named_predicate(predicate)
        for constant in sorted(rule.constants):
            dataset.kb.entity_id(constant)
    except NlilError as error:
        raise NlilError(f"{place}: {error}") from error


def _is_json(path: Path) -> bool:
    return path.suffix.lower() == ".json"


def _reader(text: str, path: Path) -> Callable[[str, Path], RuleFile]:
    """Return the reader: JSON by the file name, another system by a line that only it writes, otherwise Prolog."""
    if _is_json(path):
        return _from_json
    for line in text.split("\n"):
        for system in FORMATS.values():
            if system.is_line(line):
                return partial(_from_another_system, system)
        if ":-" in line:
            break
    return _from_prolog


def _rule_file(columns: RuleColumns, path: Path, denials: list[tuple[tuple[Predicate, Step], str]]) -> RuleFile:
    with in_file(path):  # an escape such as '\\ud800' is half a surrogate pair
        rules = columns.rules()
    return RuleFile(path, rules, np.array([number for *_, number in columns.rows], np.int64), denials)


def _from_another_system(system: RuleFormat, text: str, path: Path) -> RuleFile:
    columns, left_out = system.read(text, path)
    return replace(_rule_file(columns, path, []), is_foreign=True, left_out=tuple(left_out))


def _from_prolog(text: str, path: Path) -> RuleFile:
    """Read line by line if every line is a rule; otherwise parse the whole program, which gives good messages."""
    return _from_lines(text, path) or _from_program(text, path)


def _from_lines(text: str, path: Path) -> RuleFile | None:
    if "/*" in text:  # a line may be part of a comment
        return None
    columns, denials = RuleColumns(), []
    rules = RuleTexts(columns)
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip() or line.startswith("%") or rules.add(line, number):
            continue
        if "%" in line or not line.rstrip().endswith("."):  # the rule may continue on the next line
            return None
        try:
            parsed, found = parse_program(line)
        except RuleSyntaxError:
            return None
        for rule, _ in parsed:
            columns.add(rule, number)
        denials += [(denial, f"{path}:{number}") for denial, _ in found]
    return _rule_file(columns, path, denials)


def _from_program(text: str, path: Path) -> RuleFile:
    try:
        rules, denials = parse_program(text)
    except RuleSyntaxError as error:
        raise DataError(str(error), path) from error
    columns = RuleColumns()
    for rule, line in rules:
        columns.add(rule, line)
    return _rule_file(columns, path, [(denial, f"{path}:{line}") for denial, line in denials])


def _from_json(text: str, path: Path) -> RuleFile:
    """Read {"rules": [...], "exclusions": [...]} or a list of rules; an item is a string or an object with one."""
    try:
        document: Any = json.loads(text)
        is_object = isinstance(document, dict)
        rules = _texts(document["rules"] if is_object else document, "rule")
        exclusions = _texts(document.get("exclusions", []) if is_object else [], "exclusion")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise DataError(f"expected a JSON list of rules, or an object with a list `rules` ({error})", path) from error
    columns, denied = RuleColumns(), []
    texts = RuleTexts(columns)
    for number, item in enumerate(rules, start=1):
        try:
            if "\n" in item or "/*" in item or not texts.add(item, number):
                columns.add(parse_rule(item), number)
        except RuleSyntaxError as error:
            raise DataError(f"rule {number}: {error}", path) from error
    for number, item in enumerate(exclusions, start=1):
        try:
            more, denials = parse_program(item)
        except RuleSyntaxError as error:
            raise DataError(f"exclusion {number}: {error}", path) from error
        if more or len(denials) != 1:
            raise DataError(f"exclusion {number}: expected one denial such as :- p(X, Y), q(X, Y). got {item!r}", path)
        denied.append((denials[0][0], f"{path}: exclusion {number}"))
    return _rule_file(columns, path, denied)


def _texts(items: Any, what: str) -> list[str]:
    """Return the text of each item: the item itself, or its value under the key `what`."""
    if not isinstance(items, list):
        raise TypeError(f"got {type(items).__name__}")
    texts = [item if isinstance(item, str) else item[what] for item in items]
    for number, item in enumerate(texts, start=1):
        if not isinstance(item, str):
            raise TypeError(f"{what} {number} is not text: {item!r}")
    return texts
