"""nlil bench recovery: is the planted rule recovered? One base for each construct of the rule language and each seed.

A rule is judged on the clean base: does it derive what the planted rule derives? Wrong labels and wrong facts are used
for learning only.

Three stages are judged, to show what each contributes. `argmax` is the rule that the attentions of the best
restart select; the best restart is the one whose rule has the least loss on the queries, whatever its counts are.
`select` lets exact counts choose among the rules of all restarts, remove parts and join others. `refine` then continues
the search by exact counts alone. There are three generators: the paper's Transformer, free scores, and an untrained
Transformer. What the last one achieves is not due to training: a construct counts as learned if the argmax of a trained
generator is the planted rule for more seeds than that of the untrained one.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from nlil.errors import UnknownName
from nlil.progress import Progress, silent

from .cells import machine_text, markdown, measured, share_text, source_text
from .registry import Bench, Request
from .results import Entries, Entry, Job, device_word, job_key, machine

if TYPE_CHECKING:
    from nlil.config import LearnerConfig
    from nlil.data.kb import KnowledgeBase
    from nlil.datasets.planted import Planted
    from nlil.logic.rule import Rule, RuleStats

SEEDS = (20, 21, 22, 23, 24)
"""Settings were chosen on the bases of seeds 0 to 14, so figures come from others."""
LEAST_FORMULAS = 4
"""Formulas of a level where the construct does not say how many."""
GENERATORS: Mapping[str, Sequence[str]] = {
    "transformer": ("generator=transformer",),
    "free": ("generator=free",),
    "untrained": ("generator=transformer", "rate=1e-12", "score_rate=1e-12", "epochs=1"),
}
"""What makes the attentions, by the settings that say so."""
STAGES: Mapping[str, Mapping[str, Any]] = {
    "argmax": {"select": False, "refine": False, "beam": 1},
    "select": {"select": True, "refine": False},
    "refine": {"select": True, "refine": True},
}
"""What is done with the attentions after training; each stage includes the ones before."""


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
"""The construct whose facts are changed; the other constructs would show the same."""


def cases(quick: bool, names: Sequence[str] | None = None) -> list[tuple[str, str]]:
    """(construct, noise), in the order of the table; `names`: only of these constructs.

    Rules of many levels (`long-8`, ...) take long, and are tried only if they are named.
    """
    from nlil.datasets.planted import CONSTRUCTS, CONSTRUCTS_BY_NAME

    chosen = (
        list(CONSTRUCTS) if names is None else [construct for construct in CONSTRUCTS_BY_NAME if construct in names]
    )
    if quick:
        return [(construct, "none") for construct in chosen if names is not None or construct not in NOT_QUICK]
    spoilt_facts = [construct for construct in FACT_CONSTRUCTS if construct in chosen]
    return [
        *((construct, noise) for noise in ("none", "labels") for construct in chosen),
        *((construct, noise) for noise in ("facts", "soft") for construct in spoilt_facts),
    ]


def measure(job: Job, progress: Progress) -> dict[str, Any]:
    """All seeds of one construct under one noise, with one generator."""
    from nlil.data.dataset import make_dataset
    from nlil.data.facts import Splits
    from nlil.datasets.planted import planted

    construct, noise, generator = job["construct"], job["noise"], job["model"]
    tried = [
        recover(construct, noise, seed, generator, job["settings"], job["options"], progress) for seed in job["seeds"]
    ]
    first = planted(construct, job["seeds"][0])
    config = learner_config(first, job["seeds"][0], generator, job["settings"], job["options"])
    clean = make_dataset(job["data"], first.kb, Splits(first.kb.facts), (first.target,), (first.rule,))
    return {
        "construct": construct,
        "noise": noise,
        "model": generator,
        "planted": str(first.rule),
        "least": NOISES[noise].least,
        "passed": {stage: sum(entry[stage]["passed"] for entry in tried) for stage in STAGES},
        "seeds": tried,
        "checksum": clean.checksum,
        "seed": job["seeds"][0],
        "seconds": {part: sum(entry["seconds"][part] for entry in tried) for part in ("train", "select", "refine")},
        "config": config.to_dict(),
        "machine": machine(config.device),
    }


def recover(
    construct: str,
    noise: str,
    seed: int,
    generator: str = "transformer",
    settings: Sequence[str] = (),
    options: Mapping[str, Any] | None = None,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Learn from the spoilt base of one seed and judge the one rule of each stage on the clean one.

    One training serves all stages. Its seconds include reading the rules of all restarts, which `argmax` does without.
    """
    import numpy as np

    from nlil.datasets.planted import planted
    from nlil.learning.neural import train
    from nlil.learning.preference import preferred

    clean = planted(construct, seed)
    config = learner_config(clean, seed, generator, settings, options or {})
    given = spoilt(construct, seed, NOISES[noise])
    targets = np.array([given.predicate_id(clean.target)], np.int32)
    begin = time.process_time()
    training = train(given, targets, config, progress=progress)
    seconds = {"train": time.process_time() - begin}
    found: dict[str, Any] = {"seed": seed, "seconds": seconds}
    for stage, values in STAGES.items():
        begin = time.process_time()
        rules = preferred(training.rules(config.with_values(values), progress), targets, 1, first_explains=True)
        seconds[stage] = time.process_time() - begin
        found[stage] = _verdict(clean, next((scored.rule for scored in rules), None), NOISES[noise].least)
    return found


def _verdict(clean: Planted, rule: Rule | None, least: float) -> dict[str, Any]:
    stats = None if rule is None else judged(clean, rule)
    precision = stats.support / max(stats.body_size, 1) if stats else 0.0
    recall = stats.support / max(stats.head_size, 1) if stats else 0.0
    return {
        "rule": None if rule is None else str(rule),
        "precision": precision,
        "recall": recall,
        "passed": min(precision, recall) >= least,
    }


def learner_config(
    base: Planted, seed: int, generator: str, settings: Sequence[str], options: Mapping[str, Any]
) -> LearnerConfig:
    """The neural search with room for the construct, and any rule that explains a fact; then what the user gave, and
    the generator."""
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
        min_confidence=0.0,
        priors=False,
    )
    given = {name: value for name, value in options.items() if name != "seed"}  # the row's own seeds count
    config = config.with_settings(settings).with_values(given, "options")
    return config.with_settings(GENERATORS[generator])


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
    """Construct, noise, generator, device, options and settings."""
    return job_key(entry, job, entry["construct"], entry["noise"], entry["model"], device_word(entry))


def jobs(request: Request, construct: str) -> list[Job]:
    """Every noise that the construct is tried with, by every generator; one process takes all seeds."""
    seeds = SEEDS[:1] if request.quick else SEEDS
    if request.session.seed is not None:
        seeds = (request.session.seed,)
    data, about = f"planted:{construct}", {"construct": construct, "seeds": seeds}
    return [
        request.job("recovery", data, noise=noise, model=generator, **about)
        for _, noise in cases(request.quick, [construct])
        for generator in GENERATORS
        if request.model in (None, generator)
    ]


def names(request: Request) -> Sequence[str]:
    """The constructs."""
    from nlil.datasets.planted import CONSTRUCTS_BY_NAME as KNOWN

    for name in request.names or ():
        if name not in KNOWN:
            raise UnknownName("construct", name, tuple(KNOWN), f"the constructs are {', '.join(KNOWN)}")
    return list(dict.fromkeys(construct for construct, _ in cases(request.quick, request.names)))


def recovery_table(entries: Entries) -> str:
    """By noise, then by construct; each cell has all generators, CPU time is that of the median seed."""
    from nlil.datasets.planted import CONSTRUCTS_BY_NAME

    order = {name: position for position, name in enumerate((*NOISES, *CONSTRUCTS_BY_NAME))}
    shown = measured(entries)
    together: dict[tuple[str, str, str], dict[str, Entry]] = {}
    for key, entry in shown.items():
        words = " ".join(key.split(" ", 4)[4:])
        together.setdefault((entry["noise"], entry["construct"], words), {})[entry["model"]] = entry
    rows = []
    for noise, construct, words in sorted(together, key=lambda row: (order[row[0]], order[row[1]], row[2])):
        by_generator = together[noise, construct, words]
        first = next(iter(by_generator.values()))
        rows.append(
            (
                f"{construct}, {words}" if words else construct,
                NOISES[noise].text,
                share_text(first["least"]),
                *(_cell({g: str(entry["passed"][stage]) for g, entry in by_generator.items()}) for stage in STAGES),
                f"{len(first['seeds'])}",
                _learned(by_generator),
                _cell({g: f"{_median_seconds(e, 'train'):.1f}" for g, e in by_generator.items()}),
                f"{_median_seconds(first, 'select', 'refine'):.1f} s",
                machine_text(first["machine"]),
            )
        )
    stages = ("argmax", "+ select", "+ refine")
    head = ("construct", "noise", "to pass", *stages, "of", "learned by", "training, CPU s", "counting, CPU", "machine")
    return markdown(head, rows, range(2, 10), LEGEND, source_text("nlil bench recovery", shown))


LEGEND = (
    "Cells are Transformer / free scores / untrained Transformer; the counts are seeds for which the rule was found. "
    "Learned by: the generators that find the argmax rule for more seeds than without training."
)


def _median_seconds(entry: Entry, *parts: str) -> float:
    """CPU seconds that `parts` of the work take for the median seed; for the first one, code may have been compiled."""
    return median(sum(seed["seconds"][part] for part in parts) for seed in entry["seeds"])


def _cell(words: Mapping[str, str]) -> str:
    """One word for each generator; a dash where it was not measured."""
    return " / ".join(words.get(generator, "–") for generator in GENERATORS)


def _learned(by_generator: Mapping[str, Entry]) -> str:
    """Which trained generators find the rule at argmax for more seeds than the untrained one."""
    if "untrained" not in by_generator:
        return ""
    chance = by_generator["untrained"]["passed"]["argmax"]
    names = {"transformer": "Transformer", "free": "free scores"}
    return (
        ", ".join(n for g, n in names.items() if g in by_generator and by_generator[g]["passed"]["argmax"] > chance)
        or "neither"
    )


BENCH = Bench(
    measure,
    {"recovery": recovery_table},
    options=frozenset({"data", "model", "set"}),
    models=tuple(GENERATORS),
    names=names,
    jobs=jobs,
    key=key,
)
