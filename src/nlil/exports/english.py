"""English: a rule as a sentence, written by `logic/english.py`."""

from __future__ import annotations

from ..logic.english import rule_sentence
from .language import Language

__all__ = ["LANGUAGE", "rule_sentence"]

LANGUAGE = Language(lambda rule, options: rule_sentence(rule, options.labels))
