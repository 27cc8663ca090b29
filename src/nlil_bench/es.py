"""nlil bench es: Even-and-successor. Solved: with all even facts removed, the rules derive exactly the even numbers.

nlil uses the paper's generator, a Transformer, and is judged twice: by the one rule that its attentions select, and
after exact counts have improved it (`select` and `refine`, which also join a base case to a recursive rule).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from nlil.errors import ConfigError
from nlil.progress import Progress

from .cells import machine_text, markdown, measured, share_text, source_text
from .methods import learn
from .published import EVEN
from .registry import Bench, Request
from .results import Entries, Entry, Job, device_word, job_key, machine, seed_of

if TYPE_CHECKING:
    from nlil.data.dataset import Dataset
    from nlil.logic.rule import Rule

SIZES = (10, 50, 1000, 100_000)
QUICK_SIZES = (10, 50)
FIRST, LARGEST = SIZES[0], SIZES[-1]
OURS: Mapping[str, Sequence[str]] = {
    "argmax": ("search=neural", "generator=transformer", "select=off", "refine=off", "beam=1", "priors=off"),
    "neural": ("search=neural", "generator=transformer"),
    "both": ("search=both",),
}
"""The variants of nlil that are measured, with their settings."""
METHODS = (*OURS, "neural-lp", "dilp")
"""Ours, Neural-LP on our engine, and our dILP."""
CONFIDENT = 0.95
"""As `nlil materialize` has it."""
NEURAL_LP_SIZES = SIZES[:3]
"""The paper's; and every query of a unary target starts from everywhere, so an epoch grows with the square."""
NEURAL_LP_STEPS = 3
"""What the recursion needs: the even numbers, then two successors."""
NEURAL_LP_UPDATES = 200
"""Batches that it is trained with; ten epochs, as in its paper, are ten batches here."""
NEURAL_LP_RULES = 5
"""Chains that are read off its attentions."""
DILP_SIZES = SIZES[:2]
"""The paper's; beyond, all ground atoms of an invented binary predicate are too many."""
DILP_UPDATES = 400
MOST_RULES = 20
"""Rules that a result file keeps as text."""


def sizes(request: Request) -> dict[str, Sequence[int]]:
    """The integers of each method that is requested."""
    every = QUICK_SIZES if request.quick else SIZES
    allowed = {"neural-lp": NEURAL_LP_SIZES, "dilp": DILP_SIZES[:1] if request.quick else DILP_SIZES}
    methods = [method for method in METHODS if request.model in (None, method)]
    return {method: [size for size in every if size in allowed.get(method, every)] for method in methods}


def names(request: Request) -> Sequence[str]:
    """The sets, smallest first."""
    known = [f"even:{size}" for size in sorted({size for some in sizes(request).values() for size in some})]
    chosen = [name for name in known if request.names is None or name in request.names]
    if not chosen:
        raise ConfigError(f"--data {','.join(request.names or ())}: expected some of {', '.join(known)}")
    return chosen


def jobs(request: Request, data: str) -> list[Job]:
    """Every method that can do this size. The rules from the smallest set are also tried on the largest."""
    size = int(data.removeprefix("even:"))
    transfer = (QUICK_SIZES[-1] if request.quick else LARGEST) if size == FIRST else None
    return [
        request.job("es", data, size=size, method=method, transfer=transfer)
        for method, some in sizes(request).items()
        if size in some
    ]


def measure(job: Job, progress: Progress) -> dict[str, Any]:
    """Learn in this process, then derive. Seconds count reading the facts and learning, not the judgement."""
    from nlil.datasets import load_dataset

    begin = time.perf_counter()
    dataset = load_dataset(job["data"])
    loaded = time.perf_counter()
    find = {"neural-lp": _neural_lp, "dilp": _dilp}.get(job["method"], _ours)
    rules, learn, about = find(dataset, job, progress)
    learnt = time.perf_counter()
    verdict = judged(dataset, rules)
    transfer = None
    if job["transfer"]:
        transfer = {"size": job["transfer"], **judged(load_dataset(f"even:{job['transfer']}"), rules)}
    return {
        "size": job["size"],
        "method": job["method"],
        "checksum": dataset.checksum,
        **verdict,
        "transfer": transfer,
        "num_rules": len(rules),
        "rules": [str(rule) for rule in rules[:MOST_RULES]],
        "seconds": {"load": loaded - begin, "learn": learn, "derive": time.perf_counter() - learnt},
        **about,
    }


def judged(dataset: Dataset, rules: Sequence[Rule]) -> dict[str, Any]:
    """What the rules derive on this base without its even facts; `why` they derive nothing where they contradict.

    `solved` does not count rules that name numbers, which could list the even ones: those without must do it too.
    """
    from nlil.errors import RuleError
    from nlil.kernel.fixpoint import fixpoint_stats

    target = dataset.targets[0]
    even = len(dataset.kb.facts.of(dataset.kb.predicate_id(target)))
    invented = sorted({rule.target for rule in rules}.difference(dataset.kb.predicates))
    kb = replace(dataset.kb, predicates=(*dataset.kb.predicates, *invented))
    try:
        stats = fixpoint_stats(kb, rules, target)
        plain = [rule for rule in rules if not rule.constants]
        general = stats if len(plain) == len(rules) else fixpoint_stats(kb, plain, target)
    except RuleError as error:
        return {"solved": False, "derived": 0, "correct": 0, "even": even, "why": str(error)}
    solved = all(s.support == s.body_size == s.head_size for s in (stats, general))
    return {"solved": solved, "derived": stats.body_size, "correct": stats.support, "even": even, "why": ""}


Found = tuple[list["Rule"], float, dict[str, Any]]
"""Confident rules, the seconds it took to learn them, what else the entry should say."""


def _ours(dataset: Dataset, job: Job, progress: Progress) -> Found:
    """The rules of confidence .95 or more."""
    from nlil.config import LearnerConfig

    # The base case even(X) :- zero(X) explains one fact.
    config = LearnerConfig(min_support=1, constants=False).with_settings(job["settings"])
    config = config.with_settings(OURS[job["method"]]).with_values(job["options"], "options")
    learned, seconds = learn(config, dataset, progress)
    rules = [scored.rule for scored in learned.rules if scored.stats.confidence >= CONFIDENT]
    return rules, seconds, {"seed": config.seed, "config": config.to_dict(), "machine": machine(config.device)}


def _neural_lp(dataset: Dataset, job: Job, progress: Progress) -> Found:
    """Those of the chains it attends to most that hold; `soft_f1` is what its own scores reach on the facts."""
    from nlil.kernel.evaluator import Evaluator
    from nlil.kernel.statistics import rule_stats

    from .baselines.neural_lp import NeuralLP

    target = dataset.targets[0]
    facts = int((dataset.kb.facts.predicate == dataset.kb.predicate_id(target)).sum())
    batches = -(-facts // NeuralLP.batch)
    config = NeuralLP(steps=NEURAL_LP_STEPS, epochs=-(-NEURAL_LP_UPDATES // batches), seed=seed_of(job))
    begin = time.perf_counter()
    model = config.fit(dataset.kb, [target], progress)
    seconds = time.perf_counter() - begin
    evaluator = Evaluator(dataset.kb)
    chains = [soft.rule for soft in model.rules(NEURAL_LP_RULES)[target]]
    rules = [rule for rule in chains if rule_stats(evaluator, rule).confidence >= CONFIDENT]
    metrics = model.rank(dataset.kb, dataset.splits.train, split="train")
    about = {
        "config": {"steps": config.steps, "epochs": config.epochs, "rank": config.rank},
        "chains": [str(rule) for rule in chains],
        "soft_f1": metrics.values.get("f1"),
    }
    return rules, seconds, about


def _dilp(dataset: Dataset, job: Job, progress: Progress) -> Found:
    """The argmax program of its best start, the invented succ2 included, whatever it derives."""
    from nlil.logic.predicate import Predicate

    from .baselines.dilp import DILPSettings, learn_target
    from .baselines.dilp_program import Definition, Template

    succ2 = Definition(Predicate("succ2", 2), (Template(1),))
    given = {k: v for k, v in job["options"].items() if k in ("device", "memory")}
    settings = DILPSettings(invented=(succ2,), updates=DILP_UPDATES).with_values(given, "options")
    begin = time.perf_counter()
    model = learn_target(dataset, dataset.targets[0], settings, seed_of(job), progress)
    seconds = time.perf_counter() - begin
    about = {
        "config": asdict(settings),
        "loss": model.loss,
        "starts_solved": model.starts_solved,
        "verdict": model.verdict,
        "machine": machine(settings.device),
    }
    return list(model.rules), seconds, about


def key(entry: Entry, job: Job) -> str:
    """Data, method, device, options and settings."""
    return job_key(entry, job, entry["data"], entry["method"], device_word(entry))


# the table ------------------------------------------------------------------------------------------------

NAMES = {
    "argmax": "**nlil**, Transformer, argmax alone",
    "neural": "**nlil**, Transformer, select and refine",
    "both": "**nlil**, search=both",
    "neural-lp": "Neural-LP, our code",
    "dilp": "dILP, our code",
}
"""Methods as a row names them."""


def es_table(entries: Entries) -> str:
    """For each size, nlil, Neural-LP and dILP as measured, then the published figures."""
    shown = measured(entries)
    rows: list[Sequence[str]] = []
    for size in sorted({entry["size"] for entry in shown.values()}):
        keys = [key for key in shown if shown[key]["size"] == size]
        for key in sorted(keys, key=lambda key: (METHODS.index(shown[key]["method"]), key)):
            entry = shown[key]
            options = key.split(" ", 3)[3:]
            transfer = entry["transfer"]
            rows.append(
                (
                    f"{size:,}",
                    ", ".join([NAMES[entry["method"]], *options]),
                    _verdict(entry),
                    f"{entry['seconds']['load'] + entry['seconds']['learn']:.1f} s",
                    "" if transfer is None else f"{transfer['size']:,}: {_verdict(transfer)}",
                    machine_text(entry["machine"]),
                )
            )
        rows += [(f"{size:,}", f"{method}, published", "", time, "", "") for method, time in EVEN.get(size, ())]
    head = ("integers", "method", "solved", "time", "the same rules on more", "machine")
    return markdown(head, rows, (0, 3), source_text("nlil bench es", shown))


def _verdict(found: Mapping[str, Any]) -> str:
    if found["solved"]:
        return "yes"
    if found["why"]:
        return "no: a rule negates its own head"
    wrong = found["derived"] - found["correct"]
    soft = f"; soft F1 {share_text(found['soft_f1'])}" if found.get("soft_f1") is not None else ""
    return f"no: derives {found['correct']:,} of {found['even']:,}" + (f", {wrong:,} wrong" if wrong else "") + soft


BENCH = Bench(
    measure,
    {"es": es_table},
    options=frozenset({"data", "model", "set"}),
    models=METHODS,
    names=names,
    jobs=jobs,
    key=key,
)
