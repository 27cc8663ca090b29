"""Popper as a peer of nlil bench ilp: a task becomes a folder, the peer's output a program.

A peer is a folder with Popper's `popper.py` and a Python with what it needs in `venv`; it is not part of nlil. It reads
the examples and the background that nlil reads. A bias file is written where the task has none: every predicate of the
background, the types that nlil infers from argument positions, the bounds of nlil's own default bias, and what Popper
has to be told: whether a task needs recursion, an invented predicate, or has wrong labels.
"""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from nlil.program.bias import Bias
from nlil.program.task import Task

from .ilp_tasks import INVENTED, RECURSIVE, Fact
from .peer import expect_files, tail

PEER = "popper"
LIMIT = 20
"""CPU seconds for one task, of one seed, for nlil and for the peer."""
PATIENCE = 30
"""A peer that waits rather than computes is stopped after so many times the limit."""
MAX_CLAUSES = 3
"""Clauses of a recursive program of the peer: the tasks need three at most, and its search grows with the bound."""
CYCLIC, SMALL_BOUNDS = "cyclic", (4, 3)
"""Another task that needs an invented predicate; variables and literals of a clause where the peer invents: with the
usual bounds it does not come beyond the first size."""
COMPLETE, LATE = "complete", "out of time"
SOLUTION, HYPOTHESIS = "SOLUTION", "New best hypothesis"
"""What precedes a program in the peer's output."""
CONSTANTS = {"zendo-contact": "colour", "zendo-size": "size"}
"""Tasks whose programs need entities in clauses -> the predicate that has them as its last argument.

The peer has no entities in clauses, so it gets a unary predicate for each of them, and `geq` for numbers.
"""


class Answer(NamedTuple):
    """The `clauses` of a program as Prolog, the CPU `seconds`, and the `end`: COMPLETE, LATE, or what went wrong."""

    clauses: list[str]
    seconds: float
    end: str


@dataclass(frozen=True)
class Popper:
    """The program in one `folder`."""

    folder: Path

    @property
    def program(self) -> Path:
        """Popper itself."""
        return self.folder / "popper.py"

    @property
    def python(self) -> Path:
        """The Python that runs it."""
        return self.folder / "venv" / "bin" / "python"

    def check(self) -> None:
        """Raise NlilError if a file is missing."""
        expect_files(self.folder, (self.program, self.python), "popper.py and venv/bin/python with what Popper needs")

    def learn(self, task: Path, noisy: bool = False, limit: int = LIMIT) -> Answer:
        """Learn the `task`, a folder; `limit` are CPU seconds.

        What Popper prints before the limit counts: its best program so far, as when its own limit is reached.
        """
        log = task.parent / "peer.log"
        command = [str(self.python), str(self.program), str(task), "--timeout", str(limit * PATIENCE)]
        limited = ["sh", "-c", 'ulimit -t "$0"; exec "$@"', str(limit), *command, *(["--noisy"] if noisy else [])]
        one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        before = _children_seconds()
        with log.open("w", encoding="utf-8") as out:
            try:
                done = subprocess.run(
                    limited,
                    stdout=out,
                    stderr=subprocess.STDOUT,
                    env={**os.environ, **one_thread, "PYTHONUNBUFFERED": "1"},
                    timeout=limit * PATIENCE,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                done = None
        seconds = _children_seconds() - before
        end = COMPLETE
        if done is None or done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
            end = LATE
        elif done.returncode:
            end = f"failed, {tail(log)}"
        return Answer(clauses_of(log.read_text(encoding="utf-8", errors="replace")), seconds, end)


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def clauses_of(output: str) -> list[str]:
    """Return the clauses of the last program in the output of Popper.

    >>> clauses_of("1.2s ** SOLUTION **\\n1.2s Precision:1.00\\n1.2s p(V0,V1):- e(V0,V2),e(V2,V1).\\n1.2s ****")
    ['p(V0,V1):- e(V0,V2),e(V2,V1).']
    >>> clauses_of("NO SOLUTION")
    []
    """
    found: list[str] = []
    for line in output.splitlines():
        if SOLUTION in line or HYPOTHESIS in line:
            found = []
        elif ":-" in line and line.rstrip().endswith("."):
            found.append(re.sub(r"^[\d.]+s ", "", line.strip()))  # each line begins with the time
    return found


def more_facts(name: str, facts: Iterable[Fact]) -> list[Fact]:
    """Return the facts that replace entities in clauses for the task `name` with these `facts`."""
    base = name.partition("-noise-")[0]
    if base not in CONSTANTS:
        return []
    values = sorted({fact[-1] for fact in facts if fact[0] == CONSTANTS[base]})
    numbers = [value for value in values if value.isdecimal()]
    order = [("geq", a, b) for a in numbers for b in numbers if int(a) >= int(b)]
    return [*((f"is_{value}", value) for value in values), *order]


def bias_text(name: str, task: Task) -> str:
    """Return the bias file for a `task`, the one that nlil reads and that the bench calls `name`."""
    base = name.partition("-noise-")[0]
    invents = base in (*INVENTED, CYCLIC)
    most = SMALL_BOUNDS if invents else (Bias().max_vars, Bias().max_body)
    lines = [f"max_vars({most[0]}).", f"max_body({most[1]})."]
    if base in RECURSIVE or invents:
        lines.append(f"max_clauses({MAX_CLAUSES}).")
    lines += ["enable_recursion."] if base in RECURSIVE else []
    lines += ["enable_pi."] if invents else []
    for kind, symbols in (("head_pred", (task.target,)), ("body_pred", task.symbols)):
        for symbol in symbols:
            lines.append(f"{kind}({symbol.name},{symbol.arity}).")
            types = "".join(f"t{number}," for number in task.base.types[symbol])
            lines.append(f"type({symbol.name},({types if symbol.arity == 1 else types[:-1]})).")
    return "".join(f"{line}\n" for line in dict.fromkeys(lines))
