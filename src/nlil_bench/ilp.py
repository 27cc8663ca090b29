"""nlil bench ilp: small ILP tasks. Solved: the program is right about every tuple of a larger world, not used for
learning.

A task is written as a folder and read like a user's. Programs are checked independently: their text is evaluated by
brute force (`ilp_check.py`), or by SWI-Prolog for lists. Popper is measured too where --peer names its folder; its
programs are checked in the same way, with the same limit of CPU seconds.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from nlil.errors import UnknownName
from nlil.logic.terms import is_number
from nlil.logic.text import atom_text
from nlil.progress import Progress

from .cells import machine_text, markdown, measured, source_text
from .ilp_check import derived
from .ilp_lists import LISTS, is_right, write_folder
from .ilp_peer import COMPLETE, LATE, LIMIT, PEER, Answer, Popper, bias_text, more_facts
from .ilp_tasks import CLASSIC, INVENTED, NOISE_SCALE, NOISY, OTHERS, World, drawn, with_noise
from .methods import OURS
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


Learn = Callable[[str, Path], Answer]
"""Learns the task of that name, written in a folder."""


def jobs(request: Request, data: str) -> Sequence[Job]:
    """nlil, then the peer, which learns one predicate at a time and so cannot learn from stories."""
    found = request.job("ilp", data, model=OURS)
    if request.peer is None or data == STORIES:
        return [found]
    return [found, request.job("ilp", data, model=PEER, peer=str(request.peer.absolute()))]


def check(request: Request) -> None:
    """Complain about --peer before anything runs."""
    request.check_settings()
    if request.peer is not None:
        Popper(request.peer).check()


def measure(job: Job, progress: Progress) -> dict[str, Any]:
    """Every seed of one task."""
    task = job["data"]
    learn = ours if job["model"] == OURS else peers(Popper(Path(job["peer"])))
    tried = [solved(task, seed, learn) for seed in (SEEDS[:1] if job["quick"] else SEEDS)]
    return {
        "task": task,
        "model": job["model"],
        "group": group_of(task),
        "solved": sum(one["solved"] for one in tried),
        "seeds": tried,
        "seconds": max(one["seconds"] for one in tried),
        "limit": LIMIT,
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


def ours(task: str, folder: Path) -> Answer:
    """Learn as `nlil program` does: CPU seconds from reading the folder on."""
    from nlil.program.induce import induce
    from nlil.program.reading import read_folder

    begin = time.process_time()
    read = read_folder(folder)
    if task in INVENTED:
        read = replace(read, bias=replace(read.bias, invention=True))
    program = induce(read)
    return Answer(program.texts(read), time.process_time() - begin, COMPLETE)


def peers(popper: Popper) -> Learn:
    """Return what learns with `popper`: it adds to the folder of a task what the peer needs."""

    def learn(task: str, folder: Path) -> Answer:
        if not (folder / "bias.pl").is_file():
            complete(task, folder)
        return popper.learn(folder, noisy="-noise-" in task)

    return learn


def complete(task: str, folder: Path) -> None:
    """Add to the `folder` of a task what the peer needs: facts instead of entities in clauses, and a bias file."""
    from nlil.program.reading import read_folder

    base = read_folder(folder).base
    facts = [(s.name, *(base.names[i] for i in row)) for s, r in base.relations.items() for row in r.rows.tolist()]
    with (folder / "bk.pl").open("a", encoding="utf-8") as out:
        out.write("".join(f"{_text(*fact)}.\n" for fact in more_facts(task, facts)))
    (folder / "bias.pl").write_text(bias_text(task, read_folder(folder)), encoding="utf-8")


def solved(task: str, seed: int, learn: Learn = ours) -> dict[str, Any]:
    """Learn one `task` of one `seed`, and check the program."""
    if task == STORIES:
        return _stories(seed)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / task
        is_solution = _list_task(task, seed, folder) if task.startswith("list-") else _world_task(task, seed, folder)
        answer = learn(task, folder)
    right = is_solution(answer.clauses) and (task not in INVENTED or any("inv1" in text for text in answer.clauses))
    return {
        "seed": seed,
        "solved": right and answer.seconds <= LIMIT + 1,
        "clauses": answer.clauses,
        "end": answer.end,
        "seconds": answer.seconds,
    }


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
    large = replace(large, facts=(*large.facts, *more_facts(name, large.facts)))
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


NOTES = (
    f"Solved seeds, and CPU seconds of the slowest one; both programs have {LIMIT} CPU seconds and one thread. "
    "Out of time: the best program that was printed until then is judged."
)


def key(entry: Entry, job: Job) -> str:
    """The peer's name unless nlil was measured, the task, options and settings."""
    return job_key(entry, job, "" if entry["model"] == OURS else entry["model"], entry["data"])


def table(entries: Entries) -> str:
    """A row for each task: seeds solved by nlil and by the peer, CPU seconds, and the first program of nlil."""
    kept = measured(entries)
    by_task: dict[str, dict[str, Entry]] = {}
    for entry in sorted(kept.values(), key=lambda entry: NAMES.index(entry["task"])):
        by_task.setdefault(entry["task"], {})[entry.get("model", OURS)] = entry
    rows = [_row(models) for models in by_task.values()]
    if not rows:
        return markdown((), ())
    where = machine_text(next(iter(kept.values()))["machine"])
    source = source_text("nlil bench ilp --peer FOLDER", kept)
    head = ("group", "task", "**nlil**", "s", "Popper", "s", f"program of nlil, seed {SEEDS[0]}")
    return markdown(head, rows, (2, 3, 4, 5), f"{NOTES} {source} {where[0].upper()}{where[1:]}.")


def _row(models: Mapping[str, Entry]) -> tuple[str, ...]:
    one = next(iter(models.values()))
    shown = _shown(models[OURS]["seeds"][0]["clauses"]) if OURS in models else ""
    cells = [cell for model in (OURS, PEER) for cell in _figures(models.get(model))]
    return (one["group"], one["task"], *cells, shown)


def _figures(entry: Entry | None) -> tuple[str, str]:
    """How many seeds are solved, and the slowest one's CPU seconds."""
    if entry is None:
        return "", ""
    ends = [seed.get("end", COMPLETE) for seed in entry["seeds"]]
    counts = {LATE: ends.count(LATE), "failed": sum(end not in (COMPLETE, LATE) for end in ends)}
    bad = ", ".join(f"{count} {end}" for end, count in counts.items() if count)
    return f"{entry['solved']} of {len(entry['seeds'])}{f' ({bad})' if bad else ''}", f"{entry['seconds']:.1f}"


def _shown(clauses: Sequence[str]) -> str:
    more = len(clauses) - SHOWN_CLAUSES
    lines = [f"`{clause}`" for clause in clauses[:SHOWN_CLAUSES]]
    return "<br>".join([*lines, f"and {more} more"] if more > 0 else lines)


BENCH = Bench(
    measure,
    {"ilp": table},
    NAMES,
    ("grandparent", "even"),
    frozenset({"data", "peer"}),
    names=names,
    jobs=jobs,
    key=key,
    check=check,
)
