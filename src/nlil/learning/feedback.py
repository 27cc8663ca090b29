"""What people think of the rules of a run: accepted or rejected, with a note, kept in its folder as feedback.json.

A rejected rule is left out wherever the run answers: predictions, explanations, figures, derived facts, disputes.
Rules are named by their text, so that a verdict holds whatever the order of the rules, and stays with a rule that is
learned again from the same data when the run is replaced.

`run` is the folder of a run, `rule` the text of a rule, `feedback` the verdicts by that text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from ..data.arrays import Longs
from ..errors import ConfigError, RunError
from ..kernel.ruleset import RuleSet
from .changing import changing
from .folder import MALFORMED, read_json, write_json
from .run import FEEDBACK, seal

ACCEPTED, REJECTED = "accepted", "rejected"
VERDICTS = (ACCEPTED, REJECTED)
LONGEST_NOTE = 2000


@dataclass(frozen=True)
class Verdict:
    """What was said of a rule (`verdict`, one of VERDICTS), why (`note`), and when (`at`: UTC, as ISO 8601)."""

    verdict: str
    note: str = ""
    at: str = ""


Feedback = Mapping[str, Verdict]
"""Text of a rule -> what was said of it."""
NONE: Feedback = MappingProxyType({})


def load_feedback(run: str | Path) -> Feedback:
    """Return the verdicts of a run folder, in the order in which they were given; none where nobody has judged."""
    path = Path(run)
    if not (path / FEEDBACK).is_file():
        return NONE
    try:
        listed = read_json(path / FEEDBACK)["verdicts"]
        found = {str(v["rule"]): Verdict(str(v["verdict"]), str(v["note"]), str(v["at"])) for v in listed}
    except MALFORMED as error:
        raise RunError(
            f"{FEEDBACK} does not hold verdicts ({error}); restore it or remove it together with its line "
            "in checksums.json",
            path,
        ) from error
    for text, verdict in found.items():
        if verdict.verdict not in VERDICTS:
            raise RunError(f"{FEEDBACK}: expected {' or '.join(VERDICTS)} for {text}, got {verdict.verdict!r}", path)
    return found


def save_verdict(run: str | Path, rule: str, verdict: Verdict | None) -> Feedback:
    """Keep the `verdict` on a rule in place of what was said before; None takes it back.

    Returns all verdicts after that.
    """
    path = Path(run)
    if verdict is not None:
        check_verdict(verdict)
    try:
        with changing(path) as new:  # the lock: another viewer of the same run must not lose what this one writes
            found = dict(load_feedback(path))
            found.pop(rule, None)
            if verdict is not None:
                found[rule] = verdict
            write_feedback(new, found)
            seal(new, path)
    except OSError as error:
        raise RunError(f"the verdict was not kept ({error.strerror}); make the folder writable", path) from error
    return found


def write_feedback(folder: Path, feedback: Feedback) -> None:
    """Write all verdicts of `feedback` into a `folder` of files to come."""
    write_json(folder / FEEDBACK, {"verdicts": [{"rule": text, **asdict(v)} for text, v in feedback.items()]})


def verdicts_that_stay(run: Path, rules: RuleSet, source: str | None) -> Feedback:
    """Of a run that gives way to `rules`: verdicts on rules that are there again, if `source` is what it learned from.

    What people have said is work; but of other data, or of a rule that is gone, it says nothing.
    """
    try:
        if not (run / FEEDBACK).is_file() or read_json(run / "run.json")["source"] != source:
            return NONE
        before = load_feedback(run)
    except (RunError, OSError, *MALFORMED):  # a damaged run is what people replace
        return NONE
    return {text: verdict for text, verdict in before.items() if len(rules.rows_of_text(text))}


def check_verdict(verdict: Verdict) -> None:
    """Refuse a `verdict` of another word, or with a note that is too long: ConfigError."""
    if verdict.verdict not in VERDICTS:
        raise ConfigError(f"verdict: expected {' or '.join(VERDICTS)}, got {verdict.verdict!r}", "verdict")
    if len(verdict.note) > LONGEST_NOTE:
        raise ConfigError(f"note: expected at most {LONGEST_NOTE:,} characters, got {len(verdict.note):,}", "note")


def without_rejected(rules: RuleSet, feedback: Feedback) -> RuleSet:
    """Return the rules that answers may rest on."""
    kept = rows_not_rejected(rules, feedback)
    return rules.take(kept) if len(kept) < len(rules) else rules


def rows_not_rejected(rules: RuleSet, feedback: Feedback) -> Longs:
    """Return the rows that answers may rest on. A rejected rule that the set cannot name is in none of its rows."""
    rejected = [rules.rows_of_text(text) for text, v in feedback.items() if v.verdict == REJECTED]
    return np.delete(np.arange(len(rules)), np.concatenate([np.zeros(0, np.int64), *rejected]))


def rejected_note(total: int, kept: int) -> tuple[str, ...]:
    """Say, in at most one sentence, that of `total` rules only `kept` are used: people have rejected the others."""
    if kept == total:
        return ()
    return (f"{total - kept:,} of {total:,} rules are left out: they were rejected in the viewer",)


def verdict_document(feedback: Feedback, rule: str) -> dict[str, Any] | None:
    """Return for JSON what was said of the rule; None where nothing was."""
    verdict = feedback.get(rule)
    return None if verdict is None else asdict(verdict)
