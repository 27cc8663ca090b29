"""Verdicts of people on the rules of a run: accepted or rejected, with a note, stored in its folder as feedback.json.

A rejected rule is left out of every answer of the run: predictions, explanations, figures, derived facts, disputes.
Rules are identified by their text, so a verdict does not depend on the order of the rules. It is kept when the run is
replaced and the same rule is learned again from the same data.

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
    """The `verdict` on a rule (one of VERDICTS), a `note`, and the time (`at`: UTC, as ISO 8601)."""

    verdict: str
    note: str = ""
    at: str = ""


Feedback = Mapping[str, Verdict]
"""Text of a rule -> the verdict on it."""
NONE: Feedback = MappingProxyType({})


def load_feedback(run: str | Path) -> Feedback:
    """Return the verdicts of a run folder, in the order in which they were given."""
    path = Path(run)
    if not (path / FEEDBACK).is_file():
        return NONE
    try:
        listed = read_json(path / FEEDBACK)["verdicts"]
        found = {str(v["rule"]): Verdict(str(v["verdict"]), str(v["note"]), str(v["at"])) for v in listed}
    except MALFORMED as error:
        raise RunError(
            f"{FEEDBACK} does not contain verdicts ({error}); restore it or remove it together with its line "
            "in checksums.json",
            path,
        ) from error
    for text, verdict in found.items():
        if verdict.verdict not in VERDICTS:
            raise RunError(f"{FEEDBACK}: expected {' or '.join(VERDICTS)} for {text}, got {verdict.verdict!r}", path)
    return found


def save_verdict(run: str | Path, rule: str, verdict: Verdict | None) -> Feedback:
    """Store the `verdict` on a rule, replacing an earlier one; None removes it. Returns all verdicts."""
    path = Path(run)
    if verdict is not None:
        check_verdict(verdict)
    try:
        with changing(path) as new:  # holds the lock, so that two viewers of a run do not overwrite each other
            found = dict(load_feedback(path))
            found.pop(rule, None)
            if verdict is not None:
                found[rule] = verdict
            write_feedback(new, found)
            seal(new, path)
    except OSError as error:
        raise RunError(f"the verdict was not saved ({error.strerror}); make the folder writable", path) from error
    return found


def write_feedback(folder: Path, feedback: Feedback) -> None:
    """Write all verdicts of `feedback` into a `folder`."""
    write_json(folder / FEEDBACK, {"verdicts": [{"rule": text, **asdict(v)} for text, v in feedback.items()]})


def verdicts_that_stay(run: Path, rules: RuleSet, source: str | None) -> Feedback:
    """Return the verdicts of a run that is replaced by `rules`, as far as they still apply.

    A verdict applies if the rule is among `rules` and both runs learned from the same `source`.
    """
    try:
        if not (run / FEEDBACK).is_file() or read_json(run / "run.json")["source"] != source:
            return NONE
        before = load_feedback(run)
    except (RunError, OSError, *MALFORMED):  # a damaged run can be replaced too
        return NONE
    return {text: verdict for text, verdict in before.items() if len(rules.rows_of_text(text))}


def check_verdict(verdict: Verdict) -> None:
    """Raise ConfigError if `verdict` is not one of VERDICTS, or its note is too long."""
    if verdict.verdict not in VERDICTS:
        raise ConfigError(f"verdict: expected {' or '.join(VERDICTS)}, got {verdict.verdict!r}", "verdict")
    if len(verdict.note) > LONGEST_NOTE:
        raise ConfigError(f"note: expected at most {LONGEST_NOTE:,} characters, got {len(verdict.note):,}", "note")


def without_rejected(rules: RuleSet, feedback: Feedback) -> RuleSet:
    """Return the rules without the rejected ones."""
    kept = rows_not_rejected(rules, feedback)
    return rules.take(kept) if len(kept) < len(rules) else rules


def rows_not_rejected(rules: RuleSet, feedback: Feedback) -> Longs:
    """Return the rows of the rules that were not rejected; verdicts on rules that the set does not have are ignored."""
    rejected = [rules.rows_of_text(text) for text, v in feedback.items() if v.verdict == REJECTED]
    return np.delete(np.arange(len(rules)), np.concatenate([np.zeros(0, np.int64), *rejected]))


def rejected_note(total: int, kept: int) -> tuple[str, ...]:
    """Return a note that only `kept` of `total` rules are used, since others were rejected; () if all are."""
    if kept == total:
        return ()
    return (f"{total - kept:,} of {total:,} rules are left out: they were rejected in the viewer",)


def verdict_document(feedback: Feedback, rule: str) -> dict[str, Any] | None:
    """Return the verdict on the rule for JSON, or None."""
    verdict = feedback.get(rule)
    return None if verdict is None else asdict(verdict)
