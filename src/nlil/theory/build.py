"""Build the theories of a pool: sample the firings of its rules, choose rules, and measure on validation facts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..data.arrays import Doubles, Ids, Longs, Mask
from ..data.facts import Facts
from ..data.kb import KnowledgeBase
from ..errors import ConfigError
from ..evaluation.gate import Gate, affordable
from ..evaluation.members import MemberScorer
from ..evaluation.ranking import Ranker
from ..kernel.aggregation import Aggregation, ScoreSpace, kind_weights
from ..kernel.calibration import Calibration
from ..kernel.ruleset import RuleSet
from ..logic.formula import Or
from ..logic.rule import smoothed_confidence
from ..progress import Progress, Stop, Stopped, silent
from .authors import WRITERS, Surveyed
from .cover import CoverChoice, cover, plainness
from .firings import Hits, TargetSample, propose, survey, survey_members
from .theory import AUTHORS, SIZES, SizeScore, Theory, ValidationScores

CONSIDERED = 2_000
"""Rules per target to choose from: those with the largest product of support and confidence."""
ALL_FACTS = 50_000
"""Training facts that rules are tried on, over all targets."""
FACTS, MOST_FACTS = 500, 3_000
"""Least and most training facts per target, if it has them; the least is smaller on large bases (`affordable`)."""
OTHERS = 4
"""Rules of a unary target are tried on this many non-members for each member."""
MOST_WEIGHT = 10.0
"""Limit of the weight of a validation fact. Up to this limit, those of a target weigh as much as its training facts."""
LEAST_MEASURED = 200
"""Least number of validation facts for measuring."""
VALIDATION_FACTS = 2_000
"""Limit of the validation facts that are ranked at each size."""
AUTHOR_GATE = Gate(least_facts=50, most_facts=10_000, least_gain=0.0, standard_errors=2.0)
"""When an author other than the cover is chosen, for all targets or for one, on the facts that judge."""
TRIED = ("weights",)
"""Authors that are tried besides the cover if there are facts to judge them (`author="auto"`)."""


def make_theory(
    pool: RuleSet,
    kb: KnowledgeBase,
    size: int,
    valid: Facts | None = None,
    seed: int = 0,
    threads: int = 0,
    memory: int = 2**30,
    progress: Progress = silent,
    stop: Stop | None = None,
    author: str | Mapping[str, str] = "auto",
    judges: Judges | None = None,
    elsewhere: Facts | None = None,
    calibrate: Calibrate | None = None,
) -> Theory:
    """Build the theories of all targets of a pool.

    Validation facts help to choose rules, since the facts to predict may differ from the training facts. If there are
    many, they also judge: theories chosen with one half are measured on the other. `judges` are used only to measure.

    Args:
        pool: the rules to choose from, in the ids of `kb`.
        kb: the training facts.
        size: the number of rules per target.
        valid: validation facts.
        seed: samples facts if there are many.
        threads: CPU threads; 0: all cores.
        memory: bytes per block.
        progress: receives the number of finished targets.
        stop: targets that come after it get no theory.
        author: one of AUTHORS for every target; auto: the one that ranks the judging facts better by more than chance,
            else the cover; or an author by target (name/arity), with the cover for all others.
        judges: facts that the base does not have, used instead of half of the validation facts.
        elsewhere: facts of other splits, which do not compete in reported scores and are not used for choosing.
        calibrate: fits a calibration, given the rules of a theory and the facts that judge it.
    """
    if isinstance(author, str) and author not in ("auto", *AUTHORS):
        raise ConfigError(f"author: expected auto, {', '.join(AUTHORS)}, got {author!r}", "theory_author")
    work = _Work.of(pool, kb, size, Facts.empty() if valid is None else valid, judges, seed, threads, memory, stop)
    covers = work.covers(progress, stop)
    theory = work.theory([one.alike[0] for one in covers])
    if len(covers) < len(work.targets):
        return theory
    try:
        return _judged(work, covers, author, elsewhere, calibrate, progress)
    except Stopped:
        return theory


def _judged(
    work: _Work,
    both: list[Covers],
    author: str | Mapping[str, str],
    elsewhere: Facts | None,
    calibrate: Calibrate | None,
    progress: Progress,
) -> Theory:
    """Return the theories of the covers, or of authors with which the judging facts rank better.

    The arguments are those of `make_theory`.
    """
    kb, measure = work.kb, work.measure()
    covers, aggregation = [one.alike for one in both], work.plain
    if measure is not None and work.pool.aggregation.weighing:
        weighed = [one.weighed for one in both]
        halves = [work.theory([pair[1] for pair in pairs]) for pairs in (covers, weighed)]
        as_pool = replace(work.pool.aggregation, by_frequency=True)
        if measure.is_better(replace(halves[1], aggregation=as_pool), halves[0]):
            covers, aggregation = weighed, as_pool
    everyone: dict[str, list[Pair]] = {"cover": covers}
    theory, half = (replace(work.theory([pair[i] for pair in covers]), aggregation=aggregation) for i in (0, 1))
    names = tried_authors(author, measure is not None)

    def told(theory: Theory, half: Theory) -> Theory:
        """Return the theory with its validation scores, measured on `half`, chosen without the judging facts."""
        if measure is None or work.judges is None:
            return theory
        meaning = None if calibrate is None else calibrate(half.rules(work.pool), work.judges)
        return replace(theory, scores=measure.scores(half, elsewhere), calibration=meaning)

    if not names:
        return told(theory, half)
    everyone |= work.others(names, covers, aggregation, progress)
    wanted = dict(author) if isinstance(author, Mapping) else {}
    if author == "auto" and measure is not None:
        by_author = {name: work.theory([pair[1] for pair in pairs]) for name, pairs in everyone.items()}
        wanted = measure.better({n: replace(t, aggregation=aggregation) for n, t in by_author.items()})
    by_target = [
        author if author in AUTHORS else wanted.get(str(kb.predicates[target]), "cover") for target in work.targets
    ]
    theory, half = (
        replace(
            work.theory([everyone[name][t][i] for t, name in enumerate(by_target)], by_target),
            aggregation=aggregation,
        )
        for i in (0, 1)
    )
    return told(theory, half)


def tried_authors(author: str | Mapping[str, str], is_judged: bool) -> tuple[str, ...]:
    """Return the authors to try besides the cover, in the order of AUTHORS.

    `author` is the setting; `is_judged` says whether there are facts to judge by.
    """
    if author == "auto":
        return TRIED if is_judged else ()
    names = {author} if isinstance(author, str) else set(author.values())
    return tuple(name for name in AUTHORS[1:] if name in names)


Pair = tuple[CoverChoice, CoverChoice]
"""The choice for a target, and the choice made without the judging facts."""


class Covers(NamedTuple):
    """The greedy covers of a target: with equal weights of kinds (`alike`), and with those of the pool (`weighed`).

    The second has no rules of kinds whose weight is 0: these would explain facts without changing a rank.
    """

    alike: Pair
    weighed: Pair


class Judges(NamedTuple):
    """Facts to judge theories on.

    facts: facts that are not in the base and are not used for choosing.
    known: facts that do not compete with an answer, in addition to those of the base.
    kb: the base.
    """

    facts: Facts
    known: Facts
    kb: KnowledgeBase


Calibrate = Callable[[RuleSet, Judges], Calibration | None]
"""Fits a calibration for rules, on facts that were not used to choose them."""


@dataclass(frozen=True, eq=False)
class _Work:
    """The values that the authors of one pool share.

    ranker: a ranker with the considered rules; `rows` are their rows in the pool.
    is_judge: which validation facts judge; they are not used for the second of each pair of choices.
    """

    pool: RuleSet
    kb: KnowledgeBase
    size: int
    valid: Facts
    is_judge: Mask
    judges: Judges | None
    seed: int
    ranker: Ranker
    rows: Longs
    targets: list[int]

    @classmethod
    def of(
        cls,
        pool: RuleSet,
        kb: KnowledgeBase,
        size: int,
        valid: Facts,
        judges: Judges | None,
        seed: int,
        threads: int,
        memory: int,
        stop: Stop | None,
    ) -> _Work:
        rows = considered(pool, kb.num_predicates)
        some = replace(pool.take(rows).compact(), aggregation=Aggregation("noisy-or", 0), exclusions=())
        targets = [int(t) for t in np.unique(some.head)]
        is_judge = np.random.default_rng((seed, 9)).permutation(len(valid)) % 2 == 0
        is_judge &= np.count_nonzero(np.isin(valid.predicate, targets)) >= LEAST_MEASURED and judges is None
        if judges is None and is_judge.any():
            judges = Judges(valid[is_judge], valid, kb)
        ranker = Ranker(some, kb.crisp, threads, memory, stop=stop)
        return cls(pool, kb, size, valid, is_judge, judges, seed, ranker, rows, targets)

    def measure(self) -> _Measure | None:
        """Return the judging facts, or None."""
        if self.judges is None:
            return None
        facts, ranker = self.judges.facts, self.ranker
        facts = facts[~facts.is_unary & np.isin(facts.predicate, self.targets)]
        budget = ranker.pool.threads, ranker.memory, ranker.stop
        return _Measure(self.pool, self.kb, facts, self.judges.known, self.seed, *budget) if len(facts) else None

    def sample(self, target: int) -> tuple[TargetSample, Mask]:
        """Return the facts that rules of a binary target are tried on, and which of them judge."""
        random, most = np.random.default_rng((self.seed, 8, target)), self._most_facts
        tried = self.kb.crisp.facts.of(target).drawn(most, random)
        rows = np.sort(random.permutation(np.flatnonzero(self.valid.predicate == target))[:most])
        weight = min(MOST_WEIGHT, len(tried) / max(len(rows), 1))
        judges = np.concatenate((np.zeros(len(tried), bool), self.is_judge[rows]))
        return TargetSample(target, tried, self.valid[rows], weight), judges

    @property
    def _most_facts(self) -> int:
        least = affordable(FACTS, self.kb.num_entities)
        return min(max(least, ALL_FACTS // max(len(self.targets), 1)), MOST_FACTS)

    def covers(self, progress: Progress, stop: Stop | None) -> list[Covers]:
        """Return the covers of each target."""
        ranker, size = self.ranker, self.size

        def one(space: ScoreSpace, target: int) -> Covers:
            plain = plainness(ranker.rules_of(target))
            if self.kb.predicates[target].arity == 1:
                random = np.random.default_rng((self.seed, 8, target))
                rules = ranker.rules_of(target)
                hits = _of_class(rules, ranker.kb, target, self._most_facts, random, ranker.memory)
                chosen = cover(hits, plain, SIZES[-1], size)
                return Covers((chosen, chosen), (chosen, chosen))
            sample, judges = self.sample(target)

            def pair(hits: Hits) -> Pair:
                chosen = cover(hits, plain, SIZES[-1], size)
                if not judges.any():
                    return chosen, chosen
                return chosen, cover(hits._replace(weight=np.where(judges, 0.0, hits.weight)), plain, SIZES[-1], 0)

            hits = survey(ranker, sample, space)
            counts = counting(self.pool.aggregation, ranker.kinds_of(target))
            alike = pair(hits)
            return Covers(alike, alike if counts.all() else pair(hits.only(counts)))

        return ranker.pool.map(one, self.targets, "choose rules", progress, stop)

    def others(
        self, names: Sequence[str], covers: list[Pair], aggregation: Aggregation, progress: Progress
    ) -> dict[str, list[Pair]]:
        """Return the choices of each further author, made from the proposals of the covers' rules."""
        most = self.size if tuple(names) == ("weights",) else SIZES[-1]
        few = []
        for pair in covers:
            wanted = [choice.rule[:most] for choice in pair]
            if "formulas" in names:
                wanted += [choice.strongest for choice in pair]
            few.append(np.unique(np.concatenate(wanted)).astype(np.int64))
        local = np.concatenate([self.ranker.rows_of(t)[some] for t, some in zip(self.targets, few)])
        kept = replace(self.ranker.rules.take(np.sort(local)).compact(), aggregation=aggregation)
        ranker = Ranker(kept, self.kb.crisp, self.ranker.pool.threads, self.ranker.memory, stop=self.ranker.stop)

        def one(space: ScoreSpace, t: int) -> dict[str, Pair]:
            target, pair = self.targets[t], covers[t]
            if self.kb.predicates[target].arity == 1:
                return dict.fromkeys(names, pair)
            sample, judges = self.sample(target)
            # The judging facts do not even count as correct candidates, like facts of any other split.
            half = sample._replace(valid=sample.valid[~judges[len(sample.tried) :]])
            surveyed = [
                Surveyed(ranker, target, few[t], propose(ranker, some, space), aggregation, self.size, self.seed)
                for some in ((sample, half) if judges.any() else (sample,))
            ]
            found = {}
            for name in names:
                drafts = [WRITERS[name](some, choice) for some, choice in zip(surveyed, pair)]
                found[name] = drafts[0], drafts[-1]
            return found

        stage = f"choose rules: {', '.join(names)}"
        drafts = ranker.pool.map(one, range(len(self.targets)), stage, progress, ranker.stop)
        ranker.check_time()
        return {name: [found[name] for found in drafts] for name in names}

    @property
    def plain(self) -> Aggregation:
        """The aggregation of the pool with equal weights of kinds, and ties broken by frequency."""
        kind = self.pool.aggregation
        return Aggregation(kind.kind, kind.top, unit=kind.unit, by_frequency=True)

    def theory(self, choices: Sequence[CoverChoice], authors: Sequence[str] | None = None) -> Theory:
        """Return the choices of all targets as one theory, with the plain aggregation."""
        names = [str(self.kb.predicates[t]) for t in self.targets]
        own = [scored for choice in choices for scored in choice.own]
        weight = np.concatenate([np.zeros(0), *(choice.weight for choice in choices)])
        return Theory(
            **_columns(self.ranker, self.rows, self.targets, choices, len(self.pool)),
            weight=None if np.isnan(weight).all() else weight,
            size=self.size,
            aggregation=self.plain,
            authors=dict(zip(names, authors or ["cover"] * len(choices))),
            own=RuleSet.of(self.kb, own) if own else None,
        )


def counting(aggregation: Aggregation, kinds: Longs) -> Mask:
    """Return whether rules count in a score, by direction of query.

    Args:
        aggregation: what weighs the kinds.
        kinds: (2, rules): the kind of each rule.
    """
    if not aggregation.weighing:
        return np.ones(kinds.shape, bool)
    _, weight, _ = kind_weights(aggregation)
    return np.asarray(np.append(weight[:, 0] > 0, True)[kinds])


def considered(pool: RuleSet, num_predicates: int) -> Longs:
    """Return the rows of the rules to choose from, ascending, for predicate ids below `num_predicates`.

    Priors are left out: frequency breaks ties.
    """
    worth = pool.support * np.asarray(smoothed_confidence(pool.support, pool.body_size), np.float64)
    worth[pool.is_prior] = 0.0
    order = np.argsort(pool.head, kind="stable")
    ends = np.searchsorted(pool.head[order], np.arange(num_predicates + 1))
    parts = [np.zeros(0, np.int64)]
    for low, high in pairwise(ends.tolist()):
        candidates = order[low:high]
        candidates = candidates[worth[candidates] > 0]
        best = np.lexsort((candidates, -worth[candidates]))[:CONSIDERED]
        parts.append(candidates[best])
    return np.sort(np.concatenate(parts))


def _of_class(
    rules: RuleSet, kb: KnowledgeBase, target: int, most: int, random: np.random.Generator, memory: int
) -> Hits:
    """Return the hits of the rules of a unary target among members and non-members."""
    members = kb.facts.of(target).subject
    others = np.setdiff1d(np.arange(kb.num_entities, dtype=np.int32), members)
    few, none = (random.permutation(some)[:most] for some, most in ((members, most), (others, OTHERS * most)))
    share = (len(others) / max(len(none), 1)) * (len(few) / max(len(members), 1))
    scorer = MemberScorer(rules, kb, np.array([target], np.int32), 1, memory)
    return survey_members(scorer, np.sort(few).astype(np.int32), np.sort(none), share)


def _columns(
    ranker: Ranker, rows: Longs, targets: list[int], choices: Sequence[CoverChoice], pool_size: int
) -> dict[str, Any]:
    """Return the columns of a Theory, target by target."""
    none = np.zeros(0, np.int64)
    names = ("rows", "place", "explained", "backs_up", "tried", "family_row", "family")
    parts: list[dict[str, np.ndarray]] = [dict.fromkeys(names, none) | {"gain": np.zeros(0)}]
    count, num_own = 0, 0
    for target, choice in zip(targets, choices):
        of_target, size = rows[ranker.rows_of(target)], len(choice.rule)
        own_bodies = [len(s.rule.body.arguments) if isinstance(s.rule.body, Or) else 1 for s in choice.own]
        bodies = np.append(ranker.rules_of(target).num_disjuncts, own_bodies).astype(np.int64)
        with_own = np.concatenate((of_target, pool_size + num_own + np.arange(len(choice.own))))
        related = np.setdiff1d(np.flatnonzero(choice.family >= 0), choice.rule)
        parts.append(
            {
                "rows": with_own[choice.rule],
                "place": np.cumsum(bodies[choice.rule]) - 1,
                "gain": choice.gain,
                "explained": choice.explained,
                "backs_up": choice.backs_up,
                "tried": np.full(size, choice.num_facts),
                "family_row": of_target[related],
                "family": choice.family[related] + count,
            }
        )
        count += size
        num_own += len(choice.own)
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


class _Measure(NamedTuple):
    """The facts that judge theories of a pool; a random sample if there are many."""

    pool: RuleSet
    kb: KnowledgeBase
    facts: Facts
    known: Facts
    seed: int
    threads: int
    memory: int
    stop: Stop | None

    def drawn(self, most: int) -> _Measure:
        """Return the same with at most `most` facts, fewer on a large base."""
        most = affordable(most, self.kb.num_entities)
        return self._replace(facts=self.facts.drawn(most, np.random.default_rng((self.seed, 9))))

    def reciprocal(self, rules: RuleSet) -> Doubles:
        """Return for each fact the mean 1 / rank over both directions."""
        ranks = Ranker(rules, self.kb, self.threads, self.memory, stop=self.stop).rank(self.facts, self.known)
        total = np.bincount(ranks.fact, 1.0 / ranks.realistic, len(self.facts))
        return np.asarray(total / 2)

    def mean(self, theory: Theory) -> float:
        return float(self.reciprocal(theory.rules(self.pool)).mean())

    def is_better(self, theory: Theory, other: Theory) -> bool:
        """Return whether `theory` ranks better than `other`."""
        few = self.drawn(VALIDATION_FACTS)
        return few.mean(theory) > few.mean(other)

    def better(self, theories: Mapping[str, Theory]) -> dict[str, str]:
        """Return by target (name/arity) the author whose theory is better than the cover by more than chance.

        An author that is better over all targets is taken for all of them, except those whose facts show otherwise.
        """
        judge = self.drawn(AUTHOR_GATE.most_facts)
        scores = {name: judge.reciprocal(theory.rules(self.pool)) for name, theory in theories.items()}
        return chosen_authors(scores, judge.facts.predicate, [str(p) for p in self.pool.predicates])

    def scores(self, theory: Theory, elsewhere: Facts | None) -> dict[str, ValidationScores]:
        """Return by target the scores of the pool and of a theory of each size; facts `elsewhere` do not compete."""
        known = self.known if elsewhere is None else self.known + elsewhere
        return self.drawn(VALIDATION_FACTS)._replace(known=known)._scores(theory)

    def _scores(self, theory: Theory) -> dict[str, ValidationScores]:
        targets, of_fact = np.unique(self.facts.predicate, return_inverse=True)
        count = np.bincount(of_fact)

        def by_target(values: Doubles) -> Doubles:
            return np.asarray(np.bincount(of_fact, values) / count)

        pool = by_target(self.reciprocal(self.pool))
        sizes = [by_target(self.reciprocal(theory.rules(self.pool, size))) for size in SIZES]
        found = {}
        for i, target in enumerate(targets.tolist()):
            levels = tuple(SizeScore(size, float(values[i])) for size, values in zip(SIZES, sizes))
            found[str(self.pool.predicates[target])] = ValidationScores(int(count[i]), float(pool[i]), levels)
        return found


def chosen_authors(scores: Mapping[str, Doubles], target: Ids, names: Sequence[str]) -> dict[str, str]:
    """Return the author of each target: one that passes `AUTHOR_GATE` against the overall author, else the latter.

    The overall author is the one that passes the gate against the cover over all targets, else the cover.

    Args:
        scores: by author, the cover included: 1 / rank of every fact.
        target: the target of every fact.
        names: the names of the targets.
    """

    def best(rows: Mask, beside: str) -> str:
        gains = {name: (score - scores[beside])[rows] for name, score in scores.items()}
        clear = [name for name, gain in gains.items() if AUTHOR_GATE.passes(gain)]
        return max(clear, key=lambda name: gains[name].mean(), default=beside)

    everywhere = best(np.ones(len(target), bool), "cover")
    found = dict.fromkeys(names, everywhere)
    for t in np.unique(target).tolist():
        rows = target == t
        if np.count_nonzero(rows) >= AUTHOR_GATE.least_facts:
            found[names[t]] = best(rows, everywhere)
    return found
