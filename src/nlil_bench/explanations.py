"""nlil bench explanations: how short explanations are, whether their reasons are independent, and whether they explain
the score.

A prediction is a test fact as the answer to p(s, ?) or p(?, o), drawn by the seed among those that some rule supports.

    lines        of the default text on a screen of 100 columns
    first alone  the answer keeps its rank with the rules of its first reason only, while other candidates keep all
    rules redundancy   among the facts of the reasons that are shown, the share that an earlier reason contains; and the
    same
                 for the rules of `--all`, each with its first grounding
    faithful     the rank of the answer falls when the facts of the reasons that are shown are removed from the data;
    for
                 comparison, as many random other facts about the two entities. Other candidates keep their scores.

Ranks are filtered and realistic.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nlil.logic.predicate import Fact
from nlil.progress import Progress

from .cells import machine_text, markdown, measured, share_text, source_text
from .methods import learn
from .registry import Bench
from .results import Entries, Job, seed_of

if TYPE_CHECKING:
    from nlil.data.arrays import Longs
    from nlil.data.dataset import Dataset
    from nlil.data.kb import KnowledgeBase
    from nlil.explanation.why import Explainer, Explanation, ScoredFact, Side

DATA = ("fb15k-237", "kin:600")
"""kin of 160 people, the built-in size, has too few test facts."""
QUICK_DATA = ("kin:100",)
COUNT, QUICK_COUNT = 500, 20
"""Predictions that are explained."""
WIDTH = 100
"""Columns of the screen on which lines are counted."""


def measure(job: Job, progress: Progress) -> dict[str, Any]:
    """Learn as `nlil learn` does, then explain test facts."""
    from nlil.config import LearnerConfig
    from nlil.datasets import load_dataset

    seed = seed_of(job)
    dataset = load_dataset(job["data"], seed=seed, may_download=False)
    learned, _ = learn(LearnerConfig(seed=seed), dataset, progress)
    study = Study(learned.rules, dataset, seed)
    count = QUICK_COUNT if job["quick"] else COUNT
    begin = time.perf_counter()
    judged = []
    for verdict in study.verdicts(count):
        judged.append(verdict)
        progress("explain", len(judged), count)
    seconds = time.perf_counter() - begin
    return {"checksum": dataset.checksum, "num_rules": len(learned.rules), **summary(judged), "seconds": seconds}


@dataclass(frozen=True)
class Verdict:
    """What was measured for one prediction; ranks are realistic."""

    lines: int
    num_rules: int
    num_reasons: int
    listed: int
    repeated: int
    listed_by_rules: int
    repeated_by_rules: int
    rank: float
    rank_of_first: float
    rank_without: float
    rank_without_random: float
    deleted: int
    deleted_random: int


class Study:
    """Explains test facts and takes their reasons away."""

    def __init__(self, rules: Any, dataset: Dataset, seed: int) -> None:
        from nlil.evaluation.ranking import Ranker
        from nlil.explanation.why import Explainer
        from nlil.kernel.binding import bind

        self.kb: KnowledgeBase = dataset.world
        bound = bind(rules, self.kb).rules
        self.explainer, self.ranker = Explainer(bound, self.kb), Ranker(bound, self.kb, 0)
        self.test, self.known = dataset.splits.test, dataset.splits.all()
        self.random = np.random.default_rng(seed)

    def verdicts(self, count: int) -> Iterator[Verdict]:
        """So many predictions, or as many as there are; those that no rule speaks for are passed over."""
        binary = np.flatnonzero(~self.test.is_unary)
        queries = [(int(row), direction) for row in binary for direction in (0, 1)]
        found = 0
        for place in self.random.permutation(len(queries)):
            verdict = self.verdict(*queries[place])
            if verdict is not None:
                yield verdict
                found += 1
            if found == count:
                return

    def verdict(self, row: int, direction: int) -> Verdict | None:
        """The verdict on a test fact as an answer; None where no rule speaks for it."""
        from nlil.explanation.brief import fitting, num_lines, told_families
        from nlil.explanation.why import SIDES

        ids = [int(column[row]) for column in (self.test.predicate, self.test.subject, self.test.object)]
        fact, side = self.kb.fact(*ids), SIDES[direction]
        found = self.explainer.scored(fact, side)
        if not found.shares.evidence:
            return None
        explanation = self.explainer.explain(fact, side=side)
        rivals = self.rivals(ids[0], direction, ids[1 + direction], ids[2 - direction])
        told = [reason for family in told_families(explanation) for reason in family]
        named = list(dict.fromkeys(one for reason in told for one in reason.facts))
        others = self.around(fact, named)
        drawn = [others[i] for i in self.random.permutation(len(others))[: len(named)]]
        ways = [support.groundings[0].facts for support in explanation.supports if support.groundings]
        return Verdict(
            num_lines(fitting(explanation, WIDTH), WIDTH),
            explanation.num_counted,
            len(explanation.reasons),
            *repeats(reason.facts for reason in told),
            *repeats(ways),
            rank(rivals, found.shares.evidence),
            rank(rivals, self.evidence_of_first(explanation, found)),
            rank(rivals, self.evidence_without(named, fact, side)),
            rank(rivals, self.evidence_without(drawn, fact, side)),
            len(named),
            len(drawn),
        )

    def rivals(self, target: int, direction: int, known_end: int, answer: int) -> Longs:
        """The evidence of all other candidates, without those that are known to be answers too."""
        evidence = self.ranker.evidence(target, direction, known_end, answer)
        facts = self.known.of(target)
        ends = (facts.subject, facts.object)
        keep = np.ones(len(evidence), bool)
        keep[ends[1 - direction][ends[direction] == known_end]] = False
        keep[answer] = False
        return evidence[keep]

    def evidence_of_first(self, explanation: Explanation, found: ScoredFact) -> int:
        """As if only the rules of the first reason fired."""
        if not explanation.reasons:
            return 0
        of_reason = {str(scored.rule) for scored in explanation.reasons[0].rules}
        order = found.shares.order.tolist()
        places = [p for p in order if str(self.explainer.rules.rule(int(found.fired.rows[p]))) in of_reason]
        return found.fired.take(np.array(sorted(places), np.int64)).shares(self.explainer.rules.aggregation).evidence

    def evidence_without(self, facts: Sequence[Fact], fact: Fact, side: Side) -> int:
        """Of the answer, on the data without these facts."""
        changed: Explainer = self.explainer.changed(without=facts) if facts else self.explainer
        return changed.scored(fact, side).shares.evidence

    def around(self, fact: Fact, named: Sequence[Fact]) -> list[Fact]:
        """The other facts about the two entities."""
        facts, ids = self.kb.facts, [self.kb.entities.id(name) for name in fact.arguments]
        rows = np.flatnonzero(np.isin(facts.subject, ids) | np.isin(facts.object, ids))
        columns = zip(*(column[rows].tolist() for column in (facts.predicate, facts.subject, facts.object)))
        taken = {*named, fact}
        return [found for found in (self.kb.fact(*row) for row in columns) if found not in taken]


def repeats(groups: Iterable[Sequence[Fact]]) -> tuple[int, int]:
    """(facts listed, those of them listed in a group before)."""
    seen: set[Fact] = set()
    listed = repeated = 0
    for facts in groups:
        listed += len(facts)
        repeated += sum(fact in seen for fact in facts)
        seen.update(facts)
    return listed, repeated


def rank(rivals: Longs, evidence: int) -> float:
    """The realistic rank of an answer of this evidence among the others."""
    from nlil.kernel.aggregation import compare, realistic_rank, tie_bounds

    low, high = tie_bounds(np.array(evidence))
    above, tied = compare(rivals, low, high)
    return float(realistic_rank(int(above.sum()), int(tied.sum()) + 1))


def summary(judged: Sequence[Verdict]) -> dict[str, Any]:
    """Medians, shares and mean reciprocal ranks over all predictions."""
    columns = {name: np.array([getattr(one, name) for one in judged], np.float64) for name in Verdict.__annotations__}

    def mean(values: np.ndarray) -> float | None:
        return float(values.mean()) if len(judged) else None

    def ratio(part: str, whole: str) -> float | None:
        return float(columns[part].sum() / max(columns[whole].sum(), 1.0)) if len(judged) else None

    return {
        "predictions": len(judged),
        "median_lines": float(np.median(columns["lines"])) if judged else None,
        "max_lines": int(columns["lines"].max(initial=0)),
        "mean_rules": mean(columns["num_rules"]),
        "mean_reasons": mean(columns["num_reasons"]),
        "first_alone": mean(columns["rank_of_first"] <= columns["rank"]),
        "redundancy": ratio("repeated", "listed"),
        "redundancy_of_rules": ratio("repeated_by_rules", "listed_by_rules"),
        "falls": mean(columns["rank_without"] > columns["rank"]),
        "falls_at_random": mean(columns["rank_without_random"] > columns["rank"]),
        "mrr": mean(1 / columns["rank"]),
        "mrr_of_first": mean(1 / columns["rank_of_first"]),
        "mrr_without": mean(1 / columns["rank_without"]),
        "mrr_without_random": mean(1 / columns["rank_without_random"]),
        "mean_deleted": mean(columns["deleted"]),
        "mean_deleted_random": mean(columns["deleted_random"]),
    }


def explanations_table(entries: Entries) -> str:
    """A row for each data set."""
    shown = measured(entries)
    rows = [
        (
            key,
            f"{entry['predictions']:,}",
            f"{entry['median_lines']:g} ({entry['max_lines']})",
            f"{entry['mean_rules']:.1f} / {entry['mean_reasons']:.1f}",
            share_text(entry["first_alone"]),
            f"{share_text(entry['redundancy'])} ({share_text(entry['redundancy_of_rules'])})",
            f"{share_text(entry['falls'])} ({share_text(entry['falls_at_random'])})",
            " / ".join(
                share_text(entry[name]) for name in ("mrr", "mrr_of_first", "mrr_without", "mrr_without_random")
            ),
            machine_text(entry["machine"]),
        )
        for key, entry in sorted(shown.items())
    ]
    head = (
        "data",
        "predictions",
        "lines: median (most)",
        "rules / reasons",
        "first reason keeps the rank",
        "redundancy (of the rules)",
        "rank falls without the facts named (as many at random)",
        "MRR: all / first reason / without the facts named / without as many at random",
        "machine",
    )
    return markdown(head, rows, range(1, 8), source_text("nlil bench explanations", shown))


BENCH = Bench(measure, {"explanations": explanations_table}, DATA, QUICK_DATA)
