"""How good, and what follows: ranks, metrics, predictions. May import: rules, engine and the rooms before."""

from ..kernel.aggregation import Ranks
from .calibration import Calibration, calibration_figures, fit_calibration
from .candidates import Candidates, scored_candidates
from .metrics import Metrics
from .prediction import Answer, Predictor, predict
from .protocol import evaluate
from .ranking import Ranker

__all__ = [
    "Answer",
    "Calibration",
    "Candidates",
    "Metrics",
    "Predictor",
    "Ranker",
    "Ranks",
    "calibration_figures",
    "evaluate",
    "fit_calibration",
    "predict",
    "scored_candidates",
]
