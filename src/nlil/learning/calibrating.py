"""The calibration of a run: fitted on the validation facts of what it was learned from, kept in its folder as JSON.

Without validation facts there is none. Rules are counted on all training facts, also on those that training held out
for itself, so no fact is left that the rules have not seen; a map fitted on seen facts would promise too much.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import RunError
from ..progress import Progress, silent
from .folder import read_json
from .run import CALIBRATION, add_json

if TYPE_CHECKING:
    from ..data import Dataset
    from ..evaluation import Calibration
    from ..kernel.ruleset import RuleSet


def calibrate(
    rules: RuleSet, dataset: Dataset, seed: int, threads: int = 0, memory: int = 2**30, progress: Progress = silent
) -> Calibration | None:
    """The map of these rules on the validation facts of `dataset`; None where these are missing or too few."""
    from ..evaluation import fit_calibration, scored_candidates

    if not len(dataset.splits.valid):
        return None
    candidates = scored_candidates(
        rules, dataset.kb, dataset.splits, "valid", seed=seed, threads=threads, memory=memory, progress=progress
    )
    calibration = fit_calibration(candidates)
    return calibration if calibration.maps else None


def measured_calibration(
    rules: RuleSet,
    dataset: Dataset,
    split: str = "test",
    seed: int = 0,
    threads: int = 0,
    memory: int = 2**30,
    progress: Progress = silent,
) -> dict[str, float | int]:
    """brier_before, brier_after, ece_before, ece_after and what they count, on the valid or test facts.

    The map is fitted on validation facts; on these themselves each half is measured by the map of the other.
    """
    from ..evaluation import calibration_figures, scored_candidates

    found = calibrate(rules, dataset, seed, threads, memory, progress)
    candidates = scored_candidates(
        rules, dataset.kb, dataset.splits, split, seed=seed, threads=threads, memory=memory, progress=progress
    )
    return calibration_figures(candidates, found, is_own_sample=split == "valid")


def save_calibration(path: str | Path, calibration: Calibration) -> None:
    """Keep it in the folder of a finished run, under its checksum."""
    add_json(Path(path), CALIBRATION, calibration.to_dict())


def load_calibration(path: str | Path) -> Calibration | None:
    """The calibration of a run folder whose checksums were verified; None where it has none."""
    from ..evaluation import Calibration

    file = Path(path) / CALIBRATION
    if not file.is_file():
        return None
    try:
        return Calibration.from_dict(read_json(file))
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise RunError(f"{CALIBRATION} does not describe a calibration ({error}); learn again", path) from error
