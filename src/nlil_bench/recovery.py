"""nlil bench recovery: is the planted rule found again? One base for each construct of the rule language and each seed.

A rule is judged on the clean base: does it say what the planted rule says? Wrong labels and wrong facts are there to
learn from, not to be learned.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

from nlil.errors import UnknownName
from nlil.progress import Progress, silent

from .registry import Bench, Request
from .results import (
    Entries,
    Entry,
    Job,
    device_word,
    entry_key,
    machine,
    machine_text,
    markdown,
    measured,
    option_words,
    share_text,
    source_text,
)

if TYPE_CHECKING:
    from nlil.config import LearnerConfig
    from nlil.data.kb import KnowledgeBase
    from nlil.datasets.planted import Planted
    from nlil.logic.rule import Rule, RuleStats

SEEDS = (20, 21, 22, 23, 24)
"""Settings were chosen on the bases of seeds 0 to 14, so figures come from others."""
LEAST_FORMULAS = 4
"""Formulas of a level where the construct does not say how many."""


@dataclass(frozen=True)
class Noise:
    """What is wrong with the base, and the least precision and recall that the rule found there must reach."""

    text: str
    least: float
    label_noise: float = 0.0
    fact_noise: float = 0.0
    soft: bool = False


NOISES: Mapping[str, Noise] = {
    "none": Noise("none", 0.99),
    "labels": Noise("10 % of the labels wrong", 0.9, label_noise=0.1),
    "facts": Noise("20 % of the facts replaced", 0.99, fact_noise=0.2),
    "soft": Noise("weights: true .5 to 1, as many false 0 to .5", 0.99, soft=True),
}
NOT_QUICK = ("constant", "two-levels", "long")
"""Take longest; with --quick they are measured only if --data names them."""
FACT_CONSTRUCTS = ("chain",)
"""Where the facts themselves are spoilt: every construct would say the same."""


def cases(quick: bool, names: Sequence[str] | None = None) -> list[tuple[str, str]]:
    """(construct, noise), in the order of the table; `names`: only of these constructs."""
    from nlil.datasets.planted import CONSTRUCTS

    chosen = [construct for construct in CONSTRUCTS if names is None or construct in names]
    if quick:
        return [(construct, "none") for construct in chosen if names is not None or construct not in NOT_QUICK]
    spoilt_facts = [construct for construct in FACT_CONSTRUCTS if construct in chosen]
    return [
        *((construct, noise) for noise in ("none", "labels") for construct in chosen),
        *((construct, noise) for noise in ("facts", "soft") for construct in spoilt_facts),
    ]


def job(
    construct: str, noise: str, seeds: Sequence[int], settings: Sequence[str], options: Mapping[str, Any], quick: bool
) -> dict[str, Any]:
    """What the measuring process is told; one process takes all seeds of a row."""
    return {
        "bench": "recovery",
        "data": f"planted:{construct}",
        "construct": construct,
        "noise": noise,
        "seeds": list(seeds),
        "settings": list(settings),
        "options": dict(options),
        "quick": quick,
    }


def measure(job: Job, progress: Progress) -> dict[str, Any]:
    """All seeds of one construct under one noise."""
    from nlil.data.dataset import make_dataset
    from nlil.data.facts import Splits
    from nlil.datasets.planted import planted
    from nlil.kernel.device import resolve_device

    construct, noise = job["construct"], job["noise"]
    tried = [recover(construct, noise, seed, job["settings"], job["options"], progress) for seed in job["seeds"]]
    first = planted(construct, job["seeds"][0])
    config = learner_config(first, job["seeds"][0], job["settings"], job["options"])
    clean = make_dataset(job["data"], first.kb, Splits(first.kb.facts), (first.target,), (first.rule,))
    return {
        "construct": construct,
        "noise": noise,
        "planted": str(first.rule),
        "least": NOISES[noise].least,
        "passed": sum(entry["passed"] for entry in tried),
        "seeds": tried,
        "checksum": clean.checksum,
        "seed": job["seeds"][0],
        "seconds": {"learn": sum(entry["seconds"] for entry in tried)},
        "config": config.to_dict(),
        "machine": machine(resolve_device(config.device)),
    }


def recover(
    construct: str,
    noise: str,
    seed: int,
    settings: Sequence[str] = (),
    options: Mapping[str, Any] | None = None,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Learn from the spoilt base of one seed and judge the one rule found on the clean one."""
    from nlil.datasets.planted import planted
    from nlil.learning.learner import Learner

    clean = planted(construct, seed)
    config = learner_config(clean, seed, settings, options or {})
    given = spoilt(construct, seed, NOISES[noise])
    begin = time.perf_counter()
    learned = Learner(config).fit(given, [clean.target], progress=progress)
    seconds = time.perf_counter() - begin
    rule = next((scored.rule for scored in learned.rules), None)
    stats = None if rule is None else judged(clean, rule)
    precision = stats.support / max(stats.body_size, 1) if stats else 0.0
    recall = stats.support / max(stats.head_size, 1) if stats else 0.0
    return {
        "seed": seed,
        "rule": None if rule is None else str(rule),
        "precision": precision,
        "recall": recall,
        "passed": min(precision, recall) >= NOISES[noise].least,
        "seconds": seconds,
    }


def learner_config(base: Planted, seed: int, settings: Sequence[str], options: Mapping[str, Any]) -> LearnerConfig:
    """The neural search with room for the construct, and the one rule it prefers; then what the user gave."""
    from nlil.config import LearnerConfig

    needs = base.settings
    config = LearnerConfig(
        search="neural",
        seed=seed,
        steps=needs["steps"],
        heads=max(2, needs["heads"]),
        levels=len(needs["levels"]),
        formulas=max(needs["levels"], default=LEAST_FORMULAS),
        constants=needs["constants"],
        min_support=1,
        top_rules=1,
        priors=False,
    )
    given = {name: value for name, value in options.items() if name != "seed"}  # the row's own seeds count
    return config.with_settings(settings).with_values(given, "options")


def judged(clean: Planted, rule: Rule) -> RuleStats | None:
    """Counts on the clean base; of a rule that uses its own head what it derives from nothing. None: it has no sense.

    Seen one step at a time, a rule without a base case looks perfect.
    """
    from nlil.errors import RuleError
    from nlil.kernel.evaluator import Evaluator
    from nlil.kernel.fixpoint import fixpoint_stats, is_recursive
    from nlil.kernel.statistics import rule_stats

    if not is_recursive([rule], clean.target):
        return rule_stats(Evaluator(clean.kb), rule)
    try:
        return fixpoint_stats(clean.kb, [rule], clean.target, clean.clean)
    except RuleError:  # it negates itself
        return None


def spoilt(construct: str, seed: int, noise: Noise) -> KnowledgeBase:
    """The base to learn from."""
    from nlil.datasets.planted import planted

    base = planted(construct, seed, noise.label_noise, noise.fact_noise)
    return softened(base, seed) if noise.soft else base.kb


def softened(base: Planted, seed: int) -> KnowledgeBase:
    """Every body fact with a weight of .5 to 1, and beside it a random one of its predicate with 0 to .5."""
    import numpy as np

    from nlil.data.facts import NO_OBJECT, Facts

    random = np.random.default_rng((seed, 3))
    is_label = base.kb.facts.predicate == base.kb.predicate_id(base.target)
    labels, body = base.kb.facts[is_label], base.kb.facts[~is_label]
    size, entities = len(body), base.kb.num_entities
    true = Facts(body.predicate, body.subject, body.object, random.uniform(0.5, 1, size).astype(np.float32))
    subject = random.integers(0, entities, size).astype(np.int32)
    object = np.where(body.object == NO_OBJECT, NO_OBJECT, random.integers(0, entities, size)).astype(np.int32)
    below_half = random.uniform(0, 0.499, size).astype(np.float32)
    # Where a random fact happens to be true, `unique` keeps the heavier one.
    return base.kb.with_facts((labels + true + Facts(body.predicate, subject, object, below_half)).unique())


def key(entry: Entry, job: Job) -> str:
    """Construct, noise, device, options and settings."""
    # The number of threads changes nothing, so a figure is not kept twice for it.
    options = option_words(job, leave_out=("device", "threads"))
    return entry_key(entry, entry["construct"], entry["noise"], device_word(entry), *options, *job["settings"])


def entries(request: Request, construct: str) -> Iterator[dict[str, Entry]]:
    """Every noise that the construct is tried with."""
    options = {name: value for name, value in request.options.items() if name != "seed"}
    seeds = SEEDS[:1] if request.quick else SEEDS
    if request.session.seed is not None:
        seeds = (request.session.seed,)
        options["seed"] = request.session.seed  # so that the entry of one seed does not replace that of all
    jobs = [
        job(construct, noise, seeds, request.settings, options, request.quick)
        for _, noise in cases(request.quick, [construct])
    ]
    yield from request.measure_each(jobs, key)


def names(request: Request) -> Sequence[str]:
    """The constructs."""
    from nlil.datasets.planted import CONSTRUCTS

    for name in request.names or ():
        if name not in CONSTRUCTS:
            raise UnknownName("construct", name, CONSTRUCTS, f"the constructs are {', '.join(CONSTRUCTS)}")
    return list(dict.fromkeys(construct for construct, _ in cases(request.quick, request.names)))


def check(request: Request) -> None:
    """Tell a wrong construct or setting before anything runs."""
    from nlil.config import LearnerConfig

    names(request)
    request.session.configure(LearnerConfig().with_settings(request.settings))


def recovery_table(entries: Entries) -> str:
    """By noise, then by construct; time is that of one seed."""
    from nlil.datasets.planted import CONSTRUCTS

    order = {name: position for position, name in enumerate((*NOISES, *CONSTRUCTS))}
    shown = measured(entries)
    rows = []
    for key in sorted(shown, key=lambda key: (order[shown[key]["noise"]], order[shown[key]["construct"]], key)):
        entry, seeds = shown[key], shown[key]["seeds"]
        options = key.split(" ", 3)[3:]
        rows.append(
            (
                ", ".join([entry["construct"], *options]),
                NOISES[entry["noise"]].text,
                share_text(entry["least"]),
                f"{entry['passed']} of {len(seeds)}",
                *(share_text(fmean(s[name] for s in seeds)) for name in ("precision", "recall")),
                f"{fmean(s['seconds'] for s in seeds):.1f} s",
                machine_text(entry["machine"]),
            )
        )
    head = ("construct", "noise", "to pass", "seeds passed", "precision", "recall", "time", "machine")
    table = markdown(head, rows, right=range(2, 7))
    return f"{table}\n\n{source_text('nlil bench recovery', shown)}" if rows else table


BENCH = Bench(
    measure, entries, {"recovery": recovery_table}, options=frozenset({"data", "set"}), names=names, check=check
)
