"""The report on a program: figures on test examples, and why there is no program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..logic.text import atom_text
from .task import Program, Task, holds

SHOWN_EXAMPLES = 5


def scores(task: Task, program: Program) -> dict[str, float | None] | None:
    """Return accuracy, precision and recall of the program on the test examples; None if there are none.

    Without negative test examples there is only recall.
    """
    positives, negatives = task.test_positives, task.test_negatives
    if not len(positives) and not len(negatives):
        return None
    right = int(holds(task, program.clauses, positives).sum())
    wrong = int(holds(task, program.clauses, negatives).sum())
    total = len(positives) + len(negatives)
    known = len(negatives) > 0
    return {
        "accuracy": (right + len(negatives) - wrong) / total if known else None,
        "precision": right / (right + wrong) if known and right + wrong else None,
        "recall": right / len(positives) if len(positives) else None,
    }


def document(task: Task, program: Program, seconds: float) -> dict[str, Any]:
    """Return the program as plain values for JSON; `seconds` is how long it took."""
    tested = scores(task, program)
    return {
        "target": str(task.target),
        "clauses": program.texts(task),
        "adds": list(program.adds),
        "size": program.size,
        "solved": program.is_solved,
        "smallest": program.is_least,
        "positives": len(task.positives),
        "negatives": len(task.negatives),
        "closed_world": task.closed_world,
        "missed": [example_text(task, row) for row in program.missed],
        "wrong": [example_text(task, row) for row in program.wrong],
        "test_accuracy": None if tested is None else tested["accuracy"],
        "test_precision": None if tested is None else tested["precision"],
        "test_recall": None if tested is None else tested["recall"],
        "num_tried": program.num_tried,
        "notes": [*task.notes, *program.notes],
        "seconds": seconds,
    }


def example_text(task: Task, row: Sequence[int]) -> str:
    """Return an example, the entities of `row`, as Prolog."""
    return f"{atom_text(task.target.name)}({', '.join(task.base.names[i] for i in row)})"


def shortfall(task: Task, program: Program) -> list[str]:
    """Return what the program does not cover, and which limit to raise; nothing if it solves the task."""
    if program.is_solved:
        return []
    lines = []
    for rows, what in ((program.missed, "positive examples are not derived"), (program.wrong, "negative examples are")):
        if rows:
            some = ", ".join(example_text(task, row) for row in rows[:SHOWN_EXAMPLES])
            lines.append(f"{len(rows)} {what}: {some}{', ...' if len(rows) > SHOWN_EXAMPLES else ''}")
    return [*lines, _advice(task)]


def _advice(task: Task) -> str:
    """Return which limit of the bias to raise."""
    bias = task.bias
    bounds = [f"max_vars={bias.max_vars}", f"max_body={bias.max_body}", f"max_clauses={bias.max_clauses}"]
    closed = [
        word
        for word, is_open in (("enable_recursion", bias.recursion), ("enable_pi", bias.invention is not False))
        if not is_open
    ]
    allow = f", or allow {' and '.join(closed)}" if closed else ""
    return f"no program within {', '.join(bounds)} fits all examples; raise one of them{allow}, or expect noise"
