"""Model: rules together with the facts they were learned from, with methods to use them.

model = nlil.learn(frame, targets=["treats"])
model.predict("treats(aspirin, ?)"), model.complete(100), model.explain("treats(aspirin, pain)")
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..config import LearnerConfig
from ..datasets.anything import as_dataset
from ..datasets.load import lasting_source
from ..logic.predicate import Fact, Predicate
from ..logic.query import Query
from ..progress import Progress, silent
from .learner import Learner
from .opening import Applied, Targets, open_run, target_names
from .run import Learned, save_run

if TYPE_CHECKING:
    from ..evaluation.prediction import Answers, ScoredFacts
    from ..explanation.why import Explanation
    from ..kernel.calibration import Calibration
    from ..kernel.ruleset import RuleSet


@dataclass(frozen=True)
class Model(Applied):
    """The result of `nlil.learn`: `rules` over a `dataset`, the settings `config`, and everything `learned`.

    `source` is the name or path of the data, None if it was in memory.
    """

    learned: Learned
    source: str | None = None

    def __repr__(self) -> str:
        estimate = self.learned.estimate
        figures = dict(estimate.figures) if estimate is not None else {}
        shown = ", ".join(f"{name} {value:.3f}" for name, value in list(figures.items())[:2])
        quality = f"; expected on new facts: {shown}" if shown else ""
        return (
            f"<Model: {len(self.rules):,} rules for {len(self.learned.targets):,} targets, "
            f"{len(self.dataset.kb.facts):,} facts{quality}>"
        )

    @property
    def calibration(self) -> Calibration | None:
        """The map from scores to probabilities that was fitted to all rules, or None."""
        return self.learned.rules.calibration

    @property
    def theory(self) -> RuleSet:
        """The few rules per target that do nearly the work of all. Raises ConfigError if none were chosen."""
        return self.learned.with_theory().rules

    def predict(self, query: Any, top: int = 10) -> Any:
        """Return the best answers to a query such as "uncle(alice, ?)".

        Args:
            query: One query, which gives Answers; or several, which give a DataFrame with the columns query, rank,
                entity, label, probability, score and known. Several queries are a list, a column, or a DataFrame of
                facts in which one end is missing, empty or `?`.
            top: The number of answers to each query.
        """
        if isinstance(query, str | Query):
            return self._answers(query, top)
        from ..data.tables import frame_queries
        from ..errors import require

        require("pandas", "graph", "a table of answers")
        import pandas

        several = frame_queries(query, self.config.columns) if hasattr(query, "itertuples") else query
        rows = [
            {"query": str(one), "rank": rank, **answer.to_dict()}
            for one in several
            for rank, answer in enumerate(self._answers(one, top), start=1)
        ]
        names = ("query", "rank", "entity", "label", "probability", "score", "known")
        return pandas.DataFrame(rows, columns=list(names))

    def _answers(self, query: str | Query, top: int) -> Answers:
        return self.predictor.predict(query, top)

    def score(self, facts: Any) -> Any:
        """Return the probability of facts, each as if it were not known.

        Args:
            facts: A DataFrame, which is returned with the columns probability, score and known; or a list of tuples
                (subject, predicate, object), which gives ScoredFacts.
        """
        from ..data.builder import fact_row, row_batches
        from ..data.tables import frame_batches

        if not hasattr(facts, "itertuples"):
            return self._scored(row_batches(map(fact_row, facts)))
        scored = self._scored(frame_batches(facts, self.config.columns))
        return facts.assign(probability=scored.probability, score=scored.score, known=scored.known)

    def _scored(self, batches: Iterable[Any]) -> ScoredFacts:
        from ..evaluation.prediction import ScoredFacts

        return ScoredFacts.join(self.predictor.score_batches(batches))

    def explain(self, fact: str | Fact, **options: Any) -> Explanation:
        """Explain the score of a `fact` such as "uncle(alice, bob)"; `options` as in `nlil.explain`."""
        from ..explanation.why import explain

        return explain(self.rules, self.base, fact, calibration=self.calibration, **options)

    def save(self, path: str | Path, force: bool = False) -> Path:
        """Write a run folder at `path`, for `open_model` and the command line; `force` replaces one that exists."""
        return save_run(self.learned, path, self.source, self.dataset.checksum, force)


def learn(
    data: Any,
    targets: Targets = None,
    *,
    config: LearnerConfig | None = None,
    progress: Progress = silent,
    **settings: Any,
) -> Model:
    """Learn rules from facts and return them with the facts, ready to query.

    Args:
        data: A name or a path; a pandas or Arrow table; a NetworkX graph; a PyKEEN TriplesFactory; a Data or
            HeteroData of PyTorch Geometric; an array or a list of tuples (subject, predicate, object); a KnowledgeBase,
            alone or in a pair with its Splits; a Dataset.
        targets: Predicates to learn rules for; default: as in `nlil learn`.
        config: Settings; default: those of the command line.
        progress: Receives reports of progress.
        settings: Settings by name, over those of `config`, such as max_length=2 or columns="subject=1,object=2".
    """
    config = (config or LearnerConfig()).with_values(settings)
    dataset = as_dataset(data, config.seed, config.data_options())
    named = target_names(targets)
    chosen = list(dataset.targets) if named is None else [_predicate(dataset.kb, name) for name in named]
    learned = Learner(config).fit(dataset.kb, chosen, dataset.splits, progress)
    source = lasting_source(str(data)) if isinstance(data, str | Path) else None
    return Model(learned.rules, dataset, config, learned, source)


def open_model(path: str | Path, data: Any = None) -> Model:
    """Return the model of a run folder.

    Args:
        path: The folder that `Model.save` or `nlil learn` has written.
        data: Other facts, as in `nlil.learn`; default: those that the run was learned from, if they have a name.
    """
    if data is None or isinstance(data, str | Path):
        opened = open_run(path, None if data is None else str(data))
        return Model(opened.rules, opened.dataset, opened.config, opened.active, opened.info.source)
    from ..kernel.binding import bind
    from .run import load_run

    learned = load_run(path)
    dataset = as_dataset(data, learned.config.seed, learned.config.data_options())
    here = learned.bound_to(bind(learned.rules, dataset.kb))
    return Model(here.rules, dataset, learned.config, here)


def _predicate(kb: Any, name: str | Predicate) -> Predicate:
    found: Predicate = kb.predicate(name) if isinstance(name, str) else name
    return found
