"""Writes docs/example.ipynb: the cells below, run in order, with what they show. `python docs/make_notebook.py`.

It needs no notebook software: a cell is run with `exec`, what it prints and the value of its last line are kept.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).with_name("example.ipynb")

CELLS = (
    "# Rules from a family tree and from street scenes\n\n"
    "Everything here uses built-in data. Run it again with `python docs/make_notebook.py`.",
    ">import nlil\n\nkb, splits = nlil.load('kin')\nkb.num_entities, len(kb.facts)",
    "## Learn\n\nEvery rule is counted exactly. A rule set shows its best rules.",
    ">config = nlil.LearnerConfig(search='count', max_length=2, constants=False)\n"
    "learned = nlil.Learner(config).fit(kb, targets=['uncle', 'aunt'])\n"
    "rules = learned.rules\nrules.for_target('uncle')",
    "The same in English:",
    ">from nlil.logic.english import rule_sentence\n\n"
    "for scored in rules.for_target('uncle').top(5):\n    print(rule_sentence(scored.rule))",
    "## What a rule is based on\n\nExamples, counterexamples, and an interval for its confidence.",
    ">nlil.rule_card(rules, kb, 'aunt(X, Y) :- brother(Z1, X), father(Z1, Y).', examples=2)",
    "## How good they are\n\nMeasured on the facts of the test split, which were not used for learning.",
    ">metrics = nlil.evaluate(rules, kb, splits.test, splits=splits)\nmetrics",
    "## Query",
    ">nlil.predict(rules, kb, 'aunt(vera1, ?)', top=5)",
    "## Why",
    ">nlil.explain(rules, kb, 'aunt(vera1, alice1)', top=2, misses=1)",
    "Which facts the score depends on, and the score without the first of them:",
    ">needed = nlil.necessary_facts(rules, kb, 'aunt(vera1, alice1)', limit=3)\nneeded",
    ">nlil.what_if(rules, kb, 'aunt(vera1, alice1)', without=[needed.facts[0].fact])",
    "## Why not\n\nSingle facts that would make a strong rule fire.",
    ">nlil.why_not(rules, kb, 'uncle(emil1, vera1)', top=2, facts=2)",
    "## Scenes\n\nThe class of the object is hidden; the classes of its neighbours are not.",
    ">scenes, _ = nlil.load('street:30')\n"
    "config = nlil.LearnerConfig(search='count', max_length=2)\n"
    "seen = nlil.Learner(config).fit(scenes, targets=['person', 'wheel']).rules\n"
    "for scored in seen.for_target('wheel').top(4):\n    print(rule_sentence(scored.rule))",
    ">nlil.explain(seen, scenes, 'wheel(s1_3)', top=2, misses=1)",
)
"""A cell that begins with `>` is code, every other one text."""


def run_cell(source: str, names: dict[str, Any]) -> list[dict[str, Any]]:
    """Run the code among `names`; what it printed and its last value, as a notebook keeps them."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    value = None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": lines(printed.getvalue())})
    if value is not None:
        outputs.append({"data": shown(value), "execution_count": 1, "metadata": {}, "output_type": "execute_result"})
    return outputs


def shown(value: Any) -> dict[str, list[str]]:
    """As HTML where the value can, else as text."""
    page = getattr(value, "_repr_html_", None)
    return {"text/plain": lines(repr(value))} if page is None else {"text/html": lines(page())}


def lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def notebook() -> dict[str, Any]:
    cells: list[dict[str, Any]] = []
    names: dict[str, Any] = {"__name__": "__main__"}
    for place, text in enumerate(CELLS):
        source = lines(text.removeprefix(">"))
        cell: dict[str, Any] = {"id": f"cell-{place}", "metadata": {}, "source": source, "cell_type": "markdown"}
        if text.startswith(">"):
            outputs = run_cell("".join(source), names)
            count = 1 + sum(c["cell_type"] == "code" for c in cells)
            for output in outputs:
                if "execution_count" in output:
                    output["execution_count"] = count
            cell |= {"cell_type": "code", "execution_count": count, "outputs": outputs}
        cells.append(cell)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}}, "nbformat": 4,
            "nbformat_minor": 5}


if __name__ == "__main__":
    NOTEBOOK.write_text(json.dumps(notebook(), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
