"""LearnerConfig: all settings of learning, by topic, and the presets. `settings.py` says how a setting is declared."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from .errors import ConfigError
from .settings import Allowed, CountSettings, DataSettings, at_least, between, more_than, one_of, setting, word

if TYPE_CHECKING:
    from .data.dataset import DataOptions

Options = TypeVar("Options")
Number = TypeVar("Number", int, float)

PRESETS: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    # The paper as published, plus what it needs to produce rules at all; docs/paper.md lists the differences.
    "paper": {
        "search": "neural",
        "generator": "transformer",
        "residual": False,
        "deep_score": 0.0,
        "squash": "sigmoid",
        "heads": 1,
        "instances": 1,
        "levels": 0,
        "steps": 2,
        "negative_sampling": "uniform",
        "beam": 1,
        "neural_constants": 0,
        "priors": False,
        "conjunctions": 0,
        "exclusions": False,
        "select": False,
        "refine": False,
        "weigh": False,
        "batch": 256,
        "fresh": 5,
        "restarts": 8,
        "epochs": 100,
        "rate": 0.0005,
        "patience": 20,
    },
    # The paper's sizes for scene graphs (T = 3, L = 2, C = 4); classes are weighted jointly, at most 30 rules each.
    # Training formulas (search=neural, both) trains many classes at once, so each has fewer restarts and epochs.
    "scene": {
        "search": "count",
        "joint": True,
        "roles": "auto",
        "top_rules": 30,
        "steps": 3,
        "levels": 2,
        "formulas": 4,
        "neural_facts": 0,
        "restarts": 16,
        "epochs": 40,
        "fresh": 5,
        "score_rate": 0.2,
        "generator": "free",  # the Transformer finds equally good formulas, in twice the time
    },
}


def machine_memory(groups: Path = Path("/sys/fs/cgroup")) -> int:
    """Return the memory of the machine or of its container in bytes; `groups` is the folder of control groups."""
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")] if hasattr(os, "sysconf") else []
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        try:
            limits.append(int((groups / name).read_text(encoding="ascii")))
        except (OSError, ValueError):  # no such group, or "max"
            continue
    return min(limits, default=8 * 2**30)


def default_memory(available: int) -> int:
    """Return the default memory budget, given the bytes `available`: the same on most machines, and so are the rules.

    >>> default_memory(64 * 2**30) // 2**20, default_memory(2 * 2**30) // 2**20
    (4096, 1024)
    """
    return max(64 * 2**20, min(4 * 2**30, available // 2))


def parse_size(text: str | float) -> int:
    """Parse a number of bytes from `text`: 2GiB, 512MB, 4g, 1000000. Raises ConfigError for other text.

    >>> parse_size("2GiB")
    2147483648
    """
    units = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 2**10, "mi": 2**20, "gi": 2**30}
    plain = str(text).strip().lower().removesuffix("b")
    return _quantity(int, text, plain, units, "memory: expected a size such as 2GiB or 512MB", "memory")


def parse_seconds(text: str | float) -> float:
    """Parse a number of seconds from `text`: 60, 60s, 5min, 1h. Raises ConfigError for other text."""
    units = {"": 1, "s": 1, "m": 60, "min": 60, "h": 3600}
    plain = str(text).strip().lower()
    return _quantity(float, text, plain, units, "time limit: expected seconds such as 60s or 5min", "time_limit")


def _quantity(
    kind: type[Number], text: str | float, plain: str, units: Mapping[str, int], expected: str, key: str
) -> Number:
    """Parse a number with a unit; `plain` is the text in lower case, `expected` begins the error message."""
    digits = plain.rstrip("".join(units))
    try:
        return kind(float(digits) * units[plain[len(digits) :]])
    except (ValueError, KeyError, OverflowError):
        raise ConfigError(f"{expected}, got {str(text)!r}", key) from None


@dataclass(frozen=True)
class LearnerConfig(DataSettings, CountSettings):
    """All settings of learning; `to_dict` and `with_values` convert them to and from plain values."""

    seed: int = setting(0, "seed of all randomness")
    search: str = setting("both", "how to find rules: count, neural, both", one_of("count", "neural", "both"))
    task: str = setting(
        "auto",
        "what to learn: rules, program (the smallest logic program), auto (a program where negatives are given)",
        one_of("rules", "program", "auto"),
    )
    preset: str = setting("default", "a named set of values, applied before all other settings", one_of(*PRESETS))
    body: tuple[str, ...] = setting((), "predicates allowed in bodies; empty: all")
    not_body: tuple[str, ...] = setting((), "predicates not allowed in bodies")
    conjunctions: int = setting(
        10,
        "conjunctions tried per target; kept if they raise the score on validation facts; 0: none",
    )
    exclusions: bool = setting(
        True, "exclude candidates by relations that never hold together with a target; not with search=neural"
    )
    rules_per_target: int = setting(
        20, "maximum number of rules in a theory, the small set that does nearly the work of all rules; 0: no theories"
    )
    theory_author: str = setting(
        "auto",
        "how to choose the rules of a theory: cover (those that explain most), weights (the same, weighted jointly), "
        "formulas (trained conjunctions of them); auto: the best on validation facts",
        one_of("auto", "cover", "weights", "formulas"),
    )
    top_rules: int = setting(0, "rules kept per target, best first (with joint: per class on average); 0: all")
    joint: bool = setting(
        False, "choose and weight the rules of all object classes jointly; with search=neural: one trained formula each"
    )
    neural_targets: int = setting(
        4, "with search=both, maximum number of targets to train, those that counted rules explain worst; 0: all"
    )
    residuals: int = setting(
        0,
        "after counting, maximum number of targets to train on their badly ranked validation facts; the rules found "
        "are kept if they raise the score on other validation facts; 0: none",
    )
    neural_facts: int = setting(
        3_000,
        "with search=both, train only if the base has at most this many facts (unary targets outside scene "
        "graphs: ten times as many); "
        "0: always",
    )
    steps: int = setting(2, "T, maximum number of operators of a path", at_least(1))
    heads: int = setting(2, "H, operator sequences that paths choose from; 1 in the paper", at_least(1))
    instances: int = setting(1, "statements per predicate", at_least(1))
    levels: int = setting(1, "L, levels of products over statements; 0: a rule is one statement or its negation")
    formulas: int = setting(4, "C, formulas per level", at_least(1))
    vocabulary: int = setting(
        40, "predicates in the bodies of a trained target, the most frequent ones around its facts", at_least(1)
    )
    domain: int = setting(
        0, "take this many predicates from the domain of the head's name instead (the paper: 20); 0: by frequency"
    )
    neural_constants: int = setting(8, "entities that trained statements may use; 0: none")
    recursive: bool = setting(True, "trained rules may use their target in the body")
    priors: bool = setting(True, "with search=neural, add the rules p(X, c) :- true")
    positives: int = setting(200, "facts per target that are in training at a time", at_least(1))
    fresh: int = setting(1, "epochs after which the oldest batch of queries is replaced by a new sample; 0: never")
    negatives: float = setting(2.0, "negative tuples per fact")
    negative_sampling: str = setting(
        "near",
        "near: reached from x, or in the range of the target; uniform: any (the paper)",
        one_of("near", "uniform"),
    )
    batch: int = setting(64, "queries per training step", at_least(1))
    step_edges: int = setting(
        1024, "maximum number of edges of one step from a query; a step with more is skipped", at_least(1)
    )
    meet_edges: int = setting(
        2048, "maximum number of edges that the statements of a query use, nearest first", at_least(1)
    )
    generator: str = setting(
        "transformer",
        "source of the attentions: transformer (the paper), free (scores as parameters)",
        one_of("transformer", "free"),
    )
    residual: bool = setting(True, "add free scores to those of a Transformer; off: the Transformer alone (the paper)")
    deep_score: float = setting(
        4.0, "added to the output scores of the last level: learn a rule as a whole, not part by part; 0: the paper"
    )
    dim: int = setting(32, "d, the width of the Transformer", at_least(1))
    layers: int = setting(3, "layers of each Transformer network", at_least(1))
    attention_heads: int = setting(4, "attention heads of each layer except the last, which has one", at_least(1))
    squash: str = setting(
        "clamp", "how a count of paths becomes a truth value: clamp, sigmoid (the paper)", one_of("clamp", "sigmoid")
    )
    restarts: int = setting(48, "generators trained per target", at_least(1))
    epochs: int = setting(30, "maximum number of epochs of training", at_least(1))
    rate: float = setting(0.0002, "learning rate of a Transformer", more_than(0))
    score_rate: float = setting(0.1, "learning rate of free and residual scores", more_than(0))
    temperature: float = setting(
        0.2,
        "temperature of the attentions at the end of training; 1 at its start",
        Allowed("above 0, at most 1", lambda v: 0 < v <= 1),
    )
    entropy: float = setting(0.02, "weight of the entropy of the attentions in the loss at the end of training")
    patience: int = setting(20, "stop after this many epochs without a better validation loss")
    beam: int = setting(10, "most probable rules read from each generator; 1: only the largest choices", at_least(1))
    extract_samples: int = setting(0, "rules drawn at random from each generator")
    neural_candidates: int = setting(500, "rules counted exactly per trained target", at_least(1))
    select: bool = setting(
        True,
        "after training, choose among the rules of all restarts, remove parts and join others by exact F1; "
        "off: exactly the rule that the attentions of the best restart select",
    )
    refine: bool = setting(True, "after select, exchange or add parts of the best rules as long as the exact F1 rises")
    aggregation: str = setting(
        "noisy-or", "how rules that fire become a score: noisy-or, max", one_of("noisy-or", "max")
    )
    aggregation_top: int = setting(5, "number of strongest rules in noisy-or; 0: all", between(0, 1000))
    weigh: bool = setting(True, "fit the weights of the kinds of rules on 200 or more validation facts")
    hold_out: float = setting(
        0.1,
        "share of the training facts to hold out for validation if fewer than 200 validation facts are given; 0: none",
        Allowed("0 to .5", lambda v: 0 <= v <= 0.5),
    )
    time_limit: float = setting(
        0.0, "stop the search after this time and mark the run as partial; 0: no limit", read=parse_seconds
    )
    device: str = setting("auto", "auto, cpu, cuda", one_of("auto", "cpu", "cuda"))
    threads: int = setting(0, "CPU threads; 0: all cores")
    memory: int = setting(
        default_memory(machine_memory()),
        "memory budget in bytes; by default 4 GiB, or half of what the machine or its container has if that is less",
        Allowed("at least 64MiB", lambda v: v >= 64 * 2**20),
        read=parse_size,
    )

    def __post_init__(self) -> None:
        self._check("dim", self.dim % max(1, self.attention_heads) == 0, "a multiple of attention_heads")
        super().__post_init__()

    def data_options(self) -> DataOptions:
        """Return the settings of the data, for `load_dataset`."""
        from .data.dataset import DataOptions  # deferred, so that a help page does not load Arrow

        return self.options(DataOptions)

    def options(self, kind: type[Options], **others: Any) -> Options:
        """Make the options of another package.

        `kind` is a dataclass whose fields have the same names as settings; `others` are its other values.
        """
        names = [f.name for f in fields(kind) if hasattr(self, f.name)]  # type: ignore[arg-type]
        return kind(**{name: getattr(self, name) for name in names} | others)

    def with_values(self, values: Mapping[str, Any], where: str = "settings") -> Self:
        """Return the settings overridden by `values`; a preset among them is applied first.

        `where`, the source of the values, begins the message of a ConfigError.
        """
        preset = values.get("preset", "default")
        if preset not in PRESETS:
            raise ConfigError(f"{where}: preset: expected {', '.join(PRESETS)}, got {preset!r}", "preset")
        return super().with_values({**PRESETS[preset], **values}, where)

    @classmethod
    def from_toml(cls, path: Path) -> LearnerConfig:
        """Read settings from the TOML file `path`; others have their defaults. Raises ConfigError."""
        try:
            values = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
            raise ConfigError(f"{path}: not a readable TOML file ({error})") from error
        return cls().with_values(values, str(path))


TOPIC_STARTS = {
    "what to find": "seed",
    "counting": "max_length",
    "training": "neural_targets",
    "scores": "aggregation",
    "data": "geometry",
    "machine": "time_limit",
}
"""The first field of each topic; a topic ends where the next begins. Topics are listed in this order."""


def topics() -> dict[str, list[str]]:
    """Return the names of all settings by topic."""
    found: dict[str, list[str]] = {}
    starts = {name: topic for topic, name in TOPIC_STARTS.items()}
    topic = ""
    for f in fields(LearnerConfig):
        topic = starts.get(f.name, topic)
        found.setdefault(topic, []).append(f.name)
    return {topic: found[topic] for topic in TOPIC_STARTS}


def setting_about(name: str) -> dict[str, str]:
    """Return the default of the setting `name` in the syntax of --set, its help, and the allowed values."""
    one = next(f for f in fields(LearnerConfig) if f.name == name)
    allowed = one.metadata["allowed"]
    kind = {bool: "on or off", tuple: "names, separated by commas"}.get(type(one.default), type(one.default).__name__)
    return {"default": word(one.default), "help": one.metadata["help"], "allowed": allowed.text if allowed else kind}


def settings_help() -> str:
    """Return the help of all settings: key, default, text."""
    return "Settings:\n" + "\n".join(f"{f.name}={word(f.default)}: {f.metadata['help']}" for f in fields(LearnerConfig))
