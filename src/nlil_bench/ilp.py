"""nlil bench ilp: small ILP tasks. Solved: the program is right about every tuple of a larger world, not used for
learning.

A task is written as a folder and read like a user's. Programs are checked independently: their text is evaluated by
brute force (`ilp_check.py`), or by SWI-Prolog for lists.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nlil.errors import UnknownName
from nlil.logic.terms import is_number
from nlil.logic.text import atom_text
from nlil.progress import Progress

from .cells import machine_text, markdown, measured, source_text
from .ilp_check import derived
from .ilp_lists import LISTS, is_right, write_folder
from .ilp_tasks import CLASSIC, INVENTED, NOISE_SCALE, NOISY, OTHERS, World, drawn, with_noise
from .registry import Bench, Request
from .results import Entries, Entry, Job, job_key, machine

SEEDS = (10, 11, 12, 13, 14)
"""The search was developed on seeds 0 to 4."""
NOISES = (10, 20)
"""Percent of the labels that are wrong."""
STORIES, LEAST_ACCURACY = "stories", 0.95
"""Relations composed over stories; solved if the answer is right for so many of the longest ones."""
NAMES = (
    *CLASSIC,
    *OTHERS,
    *(f"list-{name}" for name in LISTS),
    *(f"{n}-noise-{p}" for n in NOISY for p in NOISES),
    STORIES,
)
SHOWN_CLAUSES = 4
"""Clauses of a program in the table."""
GROUPS = {"classic": CLASSIC, "trains, scenes, invention": OTHERS}


def names(request: Request) -> Sequence[str]:
    """The tasks: those of --data, or all."""
    for name in request.names or ():
        if name not in NAMES:
            raise UnknownName("task", name, NAMES)
    return NAMES if request.names is None else [name for name in NAMES if name in request.names]


def measure(job: Job, progress: Progress) -> dict[str, Any]:
    """Every seed of one task."""
    task = job["data"]
    tried = [solved(task, seed) for seed in (SEEDS[:1] if job["quick"] else SEEDS)]
    return {
        "task": task,
        "group": group_of(task),
        "solved": sum(one["solved"] for one in tried),
        "seeds": tried,
        "seconds": max(one["seconds"] for one in tried),
        "seed": SEEDS[0],
        "machine": machine("cpu"),
    }


def group_of(task: str) -> str:
    """The group of tasks that a `task` is counted in."""
    if task.startswith("list-"):
        return "lists"
    if task == STORIES:
        return "composition"
    if "-noise-" in task:
        return f"{task.rpartition('-')[2]} % wrong labels"
    return next(group for group, tasks in GROUPS.items() if task in tasks)


def solved(task: str, seed: int) -> dict[str, Any]:
    """Learn one `task` of one `seed` and check the program: CPU seconds from reading the folder on."""
    from nlil.program.induce import induce
    from nlil.program.reading import read_folder

    if task == STORIES:
        return _stories(seed)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / task
        check = _list_task(task, seed, folder) if task.startswith("list-") else _world_task(task, seed, folder)
        begin = time.process_time()
        read = read_folder(folder)
        if task in INVENTED:
            from dataclasses import replace

            read = replace(read, bias=replace(read.bias, invention=True))
        program = induce(read)
        seconds = time.process_time() - begin
    texts = program.texts(read)
    right = check(texts) and (task not in INVENTED or any("inv1" in text for text in texts))
    return {"seed": seed, "solved": right, "clauses": texts, "fits": program.is_solved, "seconds": seconds}


def _stories(seed: int) -> dict[str, Any]:
    """Learn from short stories and answer long ones; `accuracy` by number of relations."""
    from nlil.program.clause import clause_text

    from .ilp_stories import TESTED, measured_stories

    begin = time.process_time()
    clauses, shares = measured_stories(seed)
    right = shares[str(TESTED[-1])] >= LEAST_ACCURACY
    texts = [clause_text(clause, ()) for clause in clauses]
    seconds = time.process_time() - begin
    return {"seed": seed, "solved": right, "clauses": texts, "accuracy": shares, "seconds": seconds}


def _list_task(task: str, seed: int, folder: Path) -> Any:
    true, false = write_folder(task.removeprefix("list-"), seed, folder)
    return lambda texts: is_right(texts, true, false)


def _world_task(task: str, seed: int, folder: Path) -> Any:
    """Write the folder of a task; return what checks a program on a larger world."""
    name, _, percent = task.partition("-noise-")
    make, rng = {**CLASSIC, **OTHERS}[name], random.Random(f"{task} {seed}")
    small = make(rng, NOISE_SCALE if percent else 1)
    while not small.true or not small.false:  # no node has a red neighbour
        small = make(rng, NOISE_SCALE if percent else 1)
    examples = drawn(small, rng)
    if percent:
        examples = with_noise(*examples, int(percent) / 100, rng)
    write_task(small, *examples, folder)
    large = make(random.Random(f"{task} larger {seed}"), 2)
    return lambda texts: right_on(texts, large)


def right_on(texts: Sequence[str], world: World) -> bool:
    """Return whether the clauses `texts` derive the true tuples of a `world` and none of the false ones."""
    found = {fact[1:] for fact in derived(texts, world.facts) if fact[0] == "target"}
    return found.issuperset(world.true) and found.isdisjoint(world.false)


def write_task(
    world: World, positives: Sequence[tuple[str, ...]], negatives: Sequence[tuple[str, ...]], folder: Path
) -> None:
    """Write bk.pl and exs.pl into a `folder`: the facts of a `world`, examples `positives` and `negatives`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "bk.pl").write_text("".join(f"{_text(*fact)}.\n" for fact in world.facts), encoding="utf-8")
    lines = [f"pos({_text('target', *row)}).\n" for row in positives]
    lines += [f"neg({_text('target', *row)}).\n" for row in negatives]
    (folder / "exs.pl").write_text("".join(lines), encoding="utf-8")


def _text(name: str, *args: str) -> str:
    return f"{name}({', '.join(a if is_number(a) else atom_text(a) for a in args)})"


def key(entry: Entry, job: Job) -> str:
    """The task, options and settings."""
    return job_key(entry, job, entry["data"])


def table(entries: Entries) -> str:
    """A row for each task: seeds solved, and the program of the first one."""
    kept = measured(entries)
    ordered = sorted(kept.values(), key=lambda entry: NAMES.index(entry["task"]))
    rows = [
        (
            entry["group"],
            entry["task"],
            f"{entry['solved']} of {len(entry['seeds'])}",
            f"{entry['seconds']:.1f}",
            _shown(entry["seeds"][0]["clauses"]),
        )
        for entry in ordered
    ]
    if not rows:
        return markdown((), ())
    where = machine_text(ordered[0]["machine"])
    source = f"{source_text('nlil bench ilp', kept)} CPU seconds of the slowest seed, {where}."
    return markdown(("group", "task", "solved", "s", f"program of seed {SEEDS[0]}"), rows, (2, 3), source)


def _shown(clauses: Sequence[str]) -> str:
    more = len(clauses) - SHOWN_CLAUSES
    lines = [f"`{clause}`" for clause in clauses[:SHOWN_CLAUSES]]
    return "<br>".join([*lines, f"and {more} more"] if more > 0 else lines)


BENCH = Bench(measure, {"ilp": table}, NAMES, ("grandparent", "even"), frozenset({"data"}), names=names, key=key)
