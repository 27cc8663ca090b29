"""nlil bench scene: R@1 and R@5 of object classes (the paper's Table 3), for nlil and the baselines for classes.

nlil is measured as `nlil learn DATA --set preset=scene`: with geometry where objects have boxes, with labels and
relations only (geometry=off), and each with five bodies for a class; the model `neural` is one trained formula for each
class (search=neural), and search=both lets trained conjunctions compete. bench fewshot measures the same with a share
of the graphs. An entry keeps rules of frequent classes (the paper's Tables 4 and 5).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from nlil.errors import DataError
from nlil.progress import Progress

from .cells import NOT_MEASURED, machine_text, markdown, measured, share_text, source_text
from .methods import OURS, BaselineMethod, Method, OurMethod, measure_method
from .published import TABLE_3
from .registry import Bench, Request
from .results import Entries, Entry, Job, device_word, job_key, seed_of

if TYPE_CHECKING:
    from nlil.config import LearnerConfig
    from nlil.data.dataset import DataOptions, Dataset
    from nlil.data.facts import Facts
    from nlil.kernel.ruleset import RuleSet
    from nlil.logic.rule import ScoredRule

DATA = ("vrd", "hico-det", "scenes:2000")
QUICK_DATA = ("street",)
PRESET = "scene"
LABELS_ONLY = "geometry=off"

TRAINED = "neural"
"""Ours as well: trained formulas alone."""
OUR_SETTINGS: Mapping[str, tuple[str, ...]] = {OURS: (), TRAINED: ("search=neural",)}
"""The models of nlil, with their settings."""

Settings = tuple[str, ...]
ROWS: Mapping[str, tuple[Settings, ...]] = {
    OURS: (
        (LABELS_ONLY,),
        (),
        (LABELS_ONLY, "top_rules=5"),
        ("top_rules=5",),
        ("top_rules=5", "search=both"),
    ),
    TRAINED: ((LABELS_ONLY,), ()),
    "freq": ((), ("prior=on",)),
    "logistic": (("bare=off", "context=off", LABELS_ONLY), (LABELS_ONLY,), ()),
    "mlp": ((), ("patterns=0", "context=off")),
}
"""Model -> the settings of its rows, where the user gives none."""
NEEDS_BOXES = frozenset({("mlp", ("patterns=0", "context=off"))})
"""Rows that would have no input without boxes."""
QUICK_SETTINGS: Mapping[str, Settings] = {
    TRAINED: ("restarts=2", "epochs=5"),
    "logistic": ("iterations=20",),
    "mlp": ("epochs=3",),
}
"""To see that it works; given settings come after these."""


# measuring ------------------------------------------------------------------------------------------------


def rows(data: str, model: str | None, given: Settings) -> list[tuple[str, Settings]]:
    """(model, settings) of what is measured: every row of every model, or of one, or the one that was given.

    A generated set has no boxes, so a row that differs from another by geometry alone is left out there.
    """
    from nlil.datasets import builtin_names

    if given:
        return [(model or OURS, said(given) if model in (None, *OUR_SETTINGS) else given)]
    chosen = [(name, settings) for name in ([model] if model else ROWS) for settings in ROWS[name]]
    if data.partition(":")[0] not in builtin_names():
        return chosen
    plain = [
        (name, tuple(word for word in settings if word != LABELS_ONLY))
        for name, settings in chosen
        if (name, settings) not in NEEDS_BOXES
    ]
    return list(dict.fromkeys(plain))


def said(given: Settings) -> Settings:
    """The words without those that change nothing, so that a row is called default if it ran as default."""
    kept = given
    for word in given:
        others = tuple(other for other in kept if other != word)
        kept = others if our_config(others) == our_config(kept) else kept
    return kept


def model_job(
    request: Request, data: str, model: str, settings: Sequence[str], share: float = 1.0, bench: str = "scene"
) -> Job:
    """What the measuring process is told.

    Args:
        request: The options that the user gave.
        data: Name of scene graphs.
        model: Ours, or a baseline for classes.
        settings: `key=value` words for the model.
        share: The share of the training graphs to learn from.
        bench: Whose figures these are, scene or fewshot.
    """
    note = " ".join([*settings, *([f"{100 * share:g} % of the graphs"] if share < 1 else [])])
    about = {"note": note} if note else {}
    return request.job(bench, data, model=model, settings=list(settings), share=share, **about)


def measure(job: Job, progress: Progress) -> dict[str, Any]:
    """One model on one set, or on a share of its training graphs."""
    settings = [*(QUICK_SETTINGS.get(job["model"], ()) if job["quick"] else ()), *job["settings"]]
    method: Method
    if job["model"] in OUR_SETTINGS:
        config = our_config((*OUR_SETTINGS[job["model"]], *settings))
        method = OurMethod(config.with_values(job["options"], "options"))
    else:
        method = BaselineMethod(job["model"], settings, job["options"])
    dataset, entry = measure_method(method, lambda options: _loaded(job, options), "test", progress)
    if isinstance(method, OurMethod):
        entry |= sizes(method.learned.rules)
        entry |= planted_found(method.learned.rules, dataset) if dataset.planted else {}
        entry[RULES] = rules_to_show(method.learned.rules)
    return {
        "model": job["model"],
        "settings": list(job["settings"]),
        "share": job["share"],
        "num_graphs": len(np.unique(_graphs(dataset))),
        "num_classes": sum(dataset.kb.predicate_id(p) in dataset.kb.classes for p in dataset.targets),
        **entry,
    }


def _loaded(job: Job, options: DataOptions) -> Dataset:
    from nlil.datasets import load_dataset

    dataset = load_dataset(job["data"], seed=seed_of(job), options=options)
    if not dataset.is_scene:
        raise DataError(
            f"{job['data']}: expected scene graphs, whose objects have classes, got other facts; bench kb is for them"
        )
    return fewer_graphs(dataset, job["share"], seed_of(job))


def fewer_graphs(dataset: Dataset, share: float, seed: int) -> Dataset:
    """The set with this share of its training graphs, one or more; a smaller share is part of a larger one.

    The target classes stay those of the whole set, whether or not the few graphs show them.
    """
    if share >= 1:
        return dataset
    graphs = np.unique(_graphs(dataset))
    kept = np.random.default_rng(seed).permutation(graphs)[: max(1, round(share * len(graphs)))]
    graph_of = dataset.kb.graph_of
    assert graph_of is not None

    def some(facts: Facts) -> Facts:
        return facts[np.isin(graph_of[facts.subject], kept)]

    splits = dataset.splits
    context = {split: some(facts) if split == "train" else facts for split, facts in splits.context.items()}
    return replace(
        dataset,
        kb=replace(dataset.kb, facts=some(dataset.kb.facts)),
        splits=replace(splits, train=some(splits.train), context=context),
    )


def _graphs(dataset: Dataset) -> np.ndarray:
    """The graph of every training fact."""
    assert dataset.kb.graph_of is not None
    return dataset.kb.graph_of[dataset.kb.facts.subject]


def sizes(rules: RuleSet) -> dict[str, int]:
    """How large a rule set is: every disjunct of a body counts as a body, a prior is one, without atoms."""
    return {"num_bodies": int(rules.num_disjuncts.sum()), "num_atoms": int(rules.lengths.sum())}


def planted_found(rules: RuleSet, dataset: Dataset) -> dict[str, int]:
    """How many planted rules are among those learned, and of how many classes all of them are."""
    from nlil.logic.simplify import canonical

    learned = {canonical(scored.rule) for scored in rules}
    found = {rule: canonical(rule) in learned for rule in dataset.planted}
    missed = {rule.target for rule, is_found in found.items() if not is_found}
    targets = {rule.target for rule in found}
    return {
        "num_planted": len(found),
        "num_planted_found": sum(found.values()),
        "num_planted_classes": len(targets),
        "num_planted_classes_found": len(targets - missed),
    }


def our_config(settings: Sequence[str]) -> LearnerConfig:
    """The settings over those of the preset for scene graphs."""
    from nlil.config import LearnerConfig

    named = any(word.partition("=")[0].strip() == "preset" for word in settings)
    return LearnerConfig().with_settings((*(() if named else (f"preset={PRESET}",)), *settings))


def key(entry: Entry, job: Job) -> str:
    """What tells entries apart: data, device, model, share of the graphs, and every option or setting given."""
    model = f"model={entry['model']}" * (entry["model"] != OURS)
    share = f"share={job['share']:g}" * (job["share"] != 1)
    return job_key(entry, job, entry["data"], device_word(entry), model, share)


def jobs(request: Request, data: str) -> list[Job]:
    """Every row of the set."""
    chosen = rows(data, request.model, request.settings)
    return [model_job(request, data, model, settings) for model, settings in chosen]


def check(request: Request) -> None:
    """Check the settings of nlil or of a baseline."""
    if request.model is None or request.model in OUR_SETTINGS:
        request.session.configure(our_config((*OUR_SETTINGS[request.model or OURS], *request.settings)))
    else:
        request.check_baseline()


# the table ------------------------------------------------------------------------------------------------

NAMES = {
    OURS: "**nlil**",
    TRAINED: "**nlil**, trained formulas",
    "freq": "Freq, our code",
    "logistic": "logistic regression",
    "mlp": "MLP",
}
"""Models as a row names them, in the order of rows."""
PROTOCOL = (
    "R@k: the share of test objects whose class is among the first k, with all labels of the object hidden and those "
    "of its neighbours given; for all objects, then for those with and those without an annotated relation. Classes "
    "with equal scores share their mean rank. Bodies: the mean number per class; each disjunct and the prior count "
    "as one. Atoms: of all rules together. Time: learning and evaluation. The published figures are for Visual "
    "Genome, which has other images and classes."
)


def scene_table(entries: Entries) -> str:
    """nlil first for each data set, then the baselines; the paper's Table 3 last."""
    shown = measured(entries)
    lines: list[Sequence[str]] = []
    for data in (*DATA, *sorted({entry["data"] for entry in shown.values()} - set(DATA))):
        keys = [key for key in shown if shown[key]["data"] == data]
        lines += [_line(shown[key]) for key in sorted(keys, key=lambda key: (*_place(shown[key]), key))]
    lines += [
        ("Visual Genome", f"{method}, published", "", share_text(first), share_text(fifth), *[""] * 9)
        for method, first, fifth in (TABLE_3 if lines else ())
    ]
    recalls = [f"R@{k}{objects}" for objects in ("", ", related", ", unrelated") for k in (1, 5)]
    head = ("data", "model", "settings", *recalls, "bodies", "atoms", "time", "peak memory", "device")
    planted = list(dict.fromkeys(_planted(shown[key]) for key in sorted(shown) if shown[key].get("num_planted")))
    source = source_text("nlil bench scene --data DATA --model MODEL --set KEY=VALUE", shown)
    return markdown(head, lines, range(3, 13), PROTOCOL, *planted, source)


def _planted(entry: Entry) -> str:
    settings = " ".join(entry["settings"]) or "default"
    rules, classes = ((entry[f"num_planted{what}_found"], entry[f"num_planted{what}"]) for what in ("", "_classes"))
    return (
        f"{entry['data']}, {settings}: {rules[0]:,} of {rules[1]:,} planted rules are among those learned; for "
        f"{classes[0]:,} of {classes[1]:,} classes, all of them are."
    )


def _place(entry: Entry) -> tuple[int, int]:
    """The order of rows: as bench scene measures them, rows with other settings behind."""
    usual = ROWS[entry["model"]]
    settings = tuple(entry["settings"])
    return list(NAMES).index(entry["model"]), usual.index(settings) if settings in usual else len(usual)


def _line(entry: Entry) -> Sequence[str]:
    names = [f"r@{k}{objects}" for objects in ("", "_related", "_unrelated") for k in (1, 5)]
    is_ours = entry["model"] in OUR_SETTINGS
    return (
        entry["data"],
        NAMES[entry["model"]],
        " ".join(entry["settings"]) or "default",
        *(share_text(entry["metrics"].get(name)) for name in names),
        f"{entry.get('num_bodies', entry['num_rules']) / max(entry['num_classes'], 1):.1f}" if is_ours else "",
        f"{entry['num_atoms']:,}" if "num_atoms" in entry else "",
        f"{entry['seconds']['learn'] + entry['seconds']['evaluate']:.0f} s",
        f"{entry['peak_memory_mb'] / 1000:.1f} GB",
        machine_text(entry["machine"]),
    )


# rules of frequent classes --------------------------------------------------------------------------------

RULES = "rules_shown"
"""Where an entry keeps them."""
FREQUENT_CLASSES, RULES_OF_CLASS = 10, 4
"""Most frequent classes, and the strongest rules of each."""
OFTEN_WRONG_RULES, OFTEN_WRONG_SUPPORT, OFTEN_WRONG_CONFIDENCE = 10, 30, (0.05, 0.5)
"""Rules that are often wrong: how many, their least support, bounds of their confidence."""
INEQUALITY = re.compile(r", \w+ \\= \w+")


def rules_to_show(rules: RuleSet) -> dict[str, list[dict[str, Any]]]:
    """`frequent`: the strongest rules of the most frequent targets; `low`: the strongest that are often wrong."""
    from nlil.logic.formula import Not

    strongest = (rules.for_target(target).top(RULES_OF_CLASS) for target in rules.targets[:FREQUENT_CLASSES])
    low, high = OFTEN_WRONG_CONFIDENCE
    wrong = [
        s
        for s in rules
        if s.stats.support >= OFTEN_WRONG_SUPPORT
        and low < s.stats.confidence < high
        and s.rule.length
        and not isinstance(s.rule.body, Not)
    ]
    best: dict[str, ScoredRule] = {}
    for scored in sorted(wrong, key=lambda s: (-s.weight, str(s.rule))):
        best.setdefault(scored.rule.target.name, scored)
    return {
        "frequent": [_values(scored) for top in strongest for scored in top],
        "low": [_values(scored) for scored in list(best.values())[:OFTEN_WRONG_RULES]],
    }


def _values(scored: ScoredRule) -> dict[str, Any]:
    return {
        "class": scored.rule.target.name,
        "rule": str(scored.rule),
        "weight": scored.weight,
        "confidence": scored.stats.confidence,
        "support": scored.stats.support,
    }


def scene_rules_table(entries: Entries) -> str:
    """For each entry that keeps rules: those of frequent classes, then those that are often wrong."""
    parts = []
    for _, entry in sorted(measured(entries).items()):
        if not entry.get(RULES) or entry["settings"]:
            continue
        parts += [
            f"**{entry['data']}**, the {RULES_OF_CLASS} strongest rules of the {FREQUENT_CLASSES} most frequent "
            "classes; all variables of a statement differ:",
            _rules_table(entry[RULES]["frequent"]),
            f"**{entry['data']}**, rules that carry weight though they are right less than half the time:",
            _rules_table(entry[RULES]["low"]),
        ]
    return "\n\n".join(parts) if parts else NOT_MEASURED


def _rules_table(rules: list[Mapping[str, Any]]) -> str:
    lines = [
        (
            f"`{INEQUALITY.sub('', rule['rule']).rstrip('.')}`",
            f"{rule['weight']:.3f}",
            f"{rule['confidence']:.2f}",
            f"{rule['support']:,}",
        )
        for rule in rules
    ]
    return markdown(("rule", "weight", "confidence", "support"), lines, right=range(1, 4))


BENCH = Bench(
    measure,
    {"scene": scene_table, "scene-rules": scene_rules_table},
    DATA,
    QUICK_DATA,
    frozenset({"data", "model", "set"}),
    models=tuple(ROWS),
    jobs=jobs,
    key=key,
    check=check,
)
