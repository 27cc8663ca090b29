"""How good, and what follows: ranks, metrics, predictions. May import: rules, engine and the rooms before."""

from .metrics import Metrics
from .prediction import Answer, Predictor, predict
from .protocol import evaluate
from .ranking import Ranker, Ranks

__all__ = ["Answer", "Metrics", "Predictor", "Ranker", "Ranks", "evaluate", "predict"]
