"""The worked example of docs/explain-a-classifier.md: a perceptron that names objects, explained by rules.

    NLIL_DATA=folder-of-data-sets python docs/explain_classifier.py [--data vrd] [--out explained] [--rules 30]

Trains the perceptron on box geometry and context, writes what it says as OUT/scores.tsv, learns rules that imitate it
(as `nlil learn DATA --target-scores OUT/scores.tsv` does), saves them as OUT/run and prints the figures as Markdown.
Nothing is random but by --seed.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import softmax

import nlil
from nlil.learning.learner import Learned
from nlil_bench.baselines.class_baselines import ClassBaseline
from nlil_bench.baselines.interface import make_baseline

BEST = 10
"""Classes of an object that the table keeps: the rest of a perceptron's probability is dust."""
RULES = 5
LINES = 21
"""Of an explanation; `nlil explain OUT/run OBJECT` shows all."""


def write_scores(classifier: ClassBaseline, dataset: nlil.Dataset, path: Path) -> None:
    """entity, class, score: the BEST classes of every object of every split."""
    with path.open("w", encoding="utf-8") as stream:
        stream.write("entity\tclass\tscore\n")
        for split in ("train", "valid", "test"):
            if not len(dataset.splits[split]):
                continue
            task, logits = classifier.class_scores(split)
            names = [dataset.kb.predicates[c].name for c in task.classes]
            for entity, row in zip(dataset.kb.entities.names(task.objects), softmax(logits, axis=1)):
                for c in np.argsort(-row, kind="stable")[:BEST]:
                    stream.write(f"{entity}\t{names[c]}\t{row[c]:.6f}\n")


def explained(data: str, out: Path, seed: int, settings: dict[str, Any]) -> tuple[nlil.Dataset, Learned]:
    dataset = nlil.load_dataset(data, seed=seed)
    classifier = make_baseline("mlp", ["boxes=on", "patterns=1", "context=on"])
    assert isinstance(classifier, ClassBaseline)
    classifier.fit(dataset, seed)
    out.mkdir(parents=True, exist_ok=True)
    write_scores(classifier, dataset, out / "scores.tsv")
    learned = nlil.imitate(out / "scores.tsv", dataset, preset="scene", seed=seed, **settings)
    return dataset, learned


def figures(learned: Learned) -> list[str]:
    found = learned.fidelity
    assert found is not None
    per_class = len(learned.rules) / len(learned.targets)
    return [
        "| figure | value |", "|---|---|",
        f"| objects learned from, asked about | {found.num_trained:,}, {found.num_objects:,} ({found.held_out}) |",
        f"| agreement with the perceptron, R@1 | {found['r@1']:.3f} |",
        f"| its class among the first five of the rules, R@5 | {found['r@5']:.3f} |",
        f"| cross-entropy of its scores under the rules | {found['cross_entropy']:.3f} "
        f"(entropy of the scores themselves: {found['entropy']:.3f}) |",
        *(f"| accuracy of the {who} | {value:.3f} |" for who, value in found.accuracy.items()),
        f"| rules | {len(learned.rules):,} for {len(learned.targets)} classes, {per_class:.1f} for a class |",
    ]


def rules_of(learned: Learned, name: str) -> list[str]:
    """The strongest rules with a body: what they say for the class, as evidence, and how often the model agrees."""
    mine = [s for s in learned.rules.for_target(name).top(len(learned.rules)) if s.rule.length][:RULES]
    return [f"| rules for `{name}` | evidence | objects | of them called {name} |", "|---|---|---|---|",
            *(f"| `{s.rule}` | {-np.log1p(-s.weight):.2f} | {s.stats.body_size:,} | {s.stats.confidence:.2f} |"
              for s in mine)]


def disagreements(learned: Learned) -> list[str]:
    assert learned.fidelity is not None
    return ["| perceptron says | rules say | truth | objects |", "|---|---|---|---|",
            *(f"| {p['classifier']} | {p['rules']} | {p['truth'] or ''} | {p['count']} |"
              for p in learned.fidelity.pairs[:RULES])]


def one_object(dataset: nlil.Dataset, learned: Learned) -> list[str]:
    """Where the two are farthest apart, and why the rules say what they say."""
    assert learned.fidelity is not None
    if not learned.fidelity.objects:
        return ["They agree on every object."]
    worst = learned.fidelity.objects[0]
    base = dataset.kb.with_facts(dataset.kb.facts + dataset.splits.context.get("test", nlil.Facts.empty()))
    why = nlil.explain(learned.rules, base, f"{_quoted(worst['rules'])}({_quoted(worst['object'])})")
    return [f"`{worst['object']}`: the perceptron says {worst['classifier']} ({worst['classifier_score']:.2f}), the "
            f"rules {worst['rules']} ({worst['rules_score']:.2f}), the truth is {worst['truth']}.", "", "```",
            *str(why).splitlines()[:LINES], "  ...", "```"]


def _quoted(name: str) -> str:
    return name if name.isidentifier() and name[0].islower() else "'" + name.replace("'", "\\'") + "'"


def main(words: list[str] | None = None) -> list[str]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="vrd")
    parser.add_argument("--out", type=Path, default=Path("explained"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--classes", nargs="*", help="classes whose rules are shown; default: the two most frequent")
    parser.add_argument("--rules", type=int, default=30, help="rules of a class, on average")
    parser.add_argument("--threads", type=int, default=0)
    chosen = parser.parse_args(words)
    settings = {"top_rules": chosen.rules, "threads": chosen.threads}
    dataset, learned = explained(chosen.data, chosen.out, chosen.seed, settings)
    learned.save(chosen.out / "run", source=chosen.data, checksum=dataset.checksum, force=True)
    shown = chosen.classes or [p.name for p in learned.targets[:2]]
    lines = [*figures(learned), ""]
    for name in shown:
        lines += [*rules_of(learned, name), ""]
    return [*lines, *disagreements(learned), "", *one_object(dataset, learned)]


if __name__ == "__main__":
    print("\n".join(main()))  # noqa: T201
