"""English: a rule as a sentence, for reading; `logic/english.py` says how."""

from __future__ import annotations

from ..logic.english import rule_sentence
from .language import Language

__all__ = ["LANGUAGE", "rule_sentence"]

LANGUAGE = Language(lambda rule, options: rule_sentence(rule, options.labels))
