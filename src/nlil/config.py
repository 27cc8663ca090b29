"""LearnerConfig: every choice a user can make about learning.

One line declares a setting: name, type, default, help text, what values it allows, and by the function that makes it
its topic. `--set key=value`, a TOML file and keyword arguments all end here; the help page is made from it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from .errors import ConfigError, closest

if TYPE_CHECKING:
    from .data.dataset import DataOptions

Options = TypeVar("Options")
Number = TypeVar("Number", int, float)

PRESETS: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    # The paper to the letter, plus what no rule of it can be written without; docs/paper.md lists the differences.
    "paper": {
        "search": "neural",
        "generator": "transformer",
        "residual": False,
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
        "restarts": 8,
        "epochs": 100,
        "rate": 0.0005,
        "patience": 20,
    },
    # The paper's sizes for scene graphs (T = 3, L = 2, C = 4); classes are weighed together, at most 30 rules for one.
    "scene": {"joint": True, "top_rules": 30, "steps": 3, "levels": 2, "formulas": 4},
}


def parse_size(text: str | float) -> int:
    """Read a number of bytes from `text`: 2GiB, 512MB, 4g, 1000000. Raises ConfigError if it is no size.

    >>> parse_size("2GiB")
    2147483648
    """
    units = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 2**10, "mi": 2**20, "gi": 2**30}
    plain = str(text).strip().lower().removesuffix("b")
    return _quantity(int, text, plain, units, "memory: expected a size such as 2GiB or 512MB", "memory")


def parse_seconds(text: str | float) -> float:
    """Read a number of seconds from `text`: 60, 60s, 5min, 1h. Raises ConfigError if it is no time."""
    units = {"": 1, "s": 1, "m": 60, "min": 60, "h": 3600}
    plain = str(text).strip().lower()
    return _quantity(float, text, plain, units, "time limit: expected seconds such as 60s or 5min", "time_limit")


def _quantity(
    kind: type[Number], text: str | float, plain: str, units: Mapping[str, int], expected: str, key: str
) -> Number:
    """A number with a unit, where `plain` is the text in lower case; refused with what was `expected`."""
    digits = plain.rstrip("".join(units))
    try:
        return kind(float(digits) * units[plain[len(digits) :]])
    except (ValueError, KeyError, OverflowError):
        raise ConfigError(f"{expected}, got {str(text)!r}", key) from None


class Allowed(NamedTuple):
    """Which values a setting takes: `text` says it in messages, `holds` tests a value."""

    text: str
    holds: Callable[[Any], bool]


def at_least(least: int) -> Allowed:
    """Allow numbers from `least` on."""
    return Allowed(f"{least} or more", lambda value: value >= least)


def more_than(least: int) -> Allowed:
    """Allow numbers above `least`, itself excluded."""
    return Allowed(f"more than {least}", lambda value: value > least)


def between(least: int, most: int) -> Allowed:
    """Allow numbers from `least` to `most`, both included."""
    return Allowed(f"{least} to {most}", lambda value: least <= value <= most)


def one_of(*names: str) -> Allowed:
    """Allow these `names` and no others; two or more of them."""
    return Allowed(f"{', '.join(names[:-1])} or {names[-1]}", lambda value: value in names)


def setting(
    topic: str, default: Any, help: str, allowed: Allowed | None = None, read: Callable[[Any], Any] | None = None
) -> Any:
    """Return a field of LearnerConfig.

    Args:
        topic: what it is about.
        default: its value where nothing is said; values are converted to its type.
        help: one line for the help page.
        allowed: which values it takes; default: all of its type, numbers from 0 on.
        read: from a word to a value, where the type does not say how.
    """
    if allowed is None and type(default) in (int, float):
        allowed = at_least(0)
    read = read or _READERS[type(default)]
    return field(default=default, metadata={"topic": topic, "help": help, "allowed": allowed, "read": read})


def _truth(value: Any) -> bool:
    words = {"on": True, "true": True, "yes": True, "1": True, "off": False, "false": False, "no": False, "0": False}
    return words[str(value).lower()]


def _names(value: Any) -> tuple[str, ...]:
    items = value.split(",") if isinstance(value, str) else value
    return tuple(str(item).strip() for item in items if str(item).strip())


_READERS: Mapping[type, Callable[[Any], Any]] = {bool: _truth, int: int, float: float, tuple: _names, str: str}

general = partial(setting, "general")
rules = partial(setting, "rules")
training = partial(setting, "training")
scoring = partial(setting, "scoring")
data = partial(setting, "data")


@dataclass(frozen=True)
class LearnerConfig:
    """All settings; `to_dict` and `with_values` give and take them as plain values."""

    seed: int = general(0, "all randomness comes from here")
    search: str = rules("both", "how rules are found: count, neural, both", one_of("count", "neural", "both"))
    preset: str = general("default", "a named set of values, applied before all others", one_of(*PRESETS))
    max_length: int = rules(3, "most body atoms of a chain found by counting", between(1, 8))
    tried_length: int = rules(
        5,
        "longer chains up to this are kept if they raise the score on validation facts (200 or more); 0: none",
        between(0, 8),
    )
    min_support: int = rules(2, "facts a rule must explain", at_least(1))
    min_confidence: float = rules(
        -1.0,
        "least standard confidence of a rule but a prior; -1: .002, on a large base .01",
        Allowed("0 to 1, or -1", lambda v: 0 <= v <= 1 or v == -1),
    )
    body: tuple[str, ...] = rules((), "predicates allowed in bodies; empty: all")
    not_body: tuple[str, ...] = rules((), "predicates not allowed in bodies")
    constants: bool = rules(True, "rules with constants: anchored, half-anchored, priors")
    typed: bool = rules(True, "variants of chains with a unary filter, where they raise confidence")
    conjunctions: int = rules(
        10,
        "conjunctions of statements tried for a target, kept where they raise the score on validation facts; 0: none",
    )
    exclusions: bool = rules(
        True, "what never holds together with a target rules candidates out; not with search=neural"
    )
    rules_per_target: int = rules(
        20, "rules of each target in its theory, the few that say what all say; 0: no theories"
    )
    theory_author: str = rules(
        "auto",
        "who chooses the rules of a theory: cover (the rules that explain most), weights (the same, weighed together), "
        "formulas (trained conjunctions of them); auto: whoever validation facts are better with",
        one_of("auto", "cover", "weights", "formulas"),
    )
    top_rules: int = rules(0, "rules kept for each target, best first (with joint: for each class on average); 0: all")
    joint: bool = rules(False, "rules of object classes are chosen and weighed together; not with search=neural")
    samples: int = rules(1_000, "facts of each target from which chains longer than 2 are grown")
    candidates: int = rules(200, "longer chains counted exactly for each target")
    max_paths: float = rules(7e9, "chains of a length are left out when the graph has more paths of it; 0: no bound")
    neural_targets: int = training(
        4, "with search=both, targets that counting leaves unexplained and training takes on; 0: all"
    )
    residuals: int = training(
        0,
        "after counting, targets whose badly ranked validation facts are trained on; what is found is kept if it "
        "raises the score on other validation facts; 0: none",
    )
    neural_facts: int = training(3_000, "with search=both, facts of the largest base that is trained on; 0: any")
    steps: int = training(2, "T, the most operators of a path", at_least(1))
    heads: int = training(2, "H, operator sequences that paths choose from; 1 in the paper", at_least(1))
    instances: int = training(1, "statements of each predicate", at_least(1))
    levels: int = training(1, "L, levels of products over statements; 0: a rule is one statement or its negation")
    formulas: int = training(4, "C, formulas of each level", at_least(1))
    vocabulary: int = training(
        40, "predicates of a trained target's bodies, the most frequent around its facts", at_least(1)
    )
    domain: int = training(
        0, "vocabulary of so many predicates of the head's root domain (the paper: 20); 0: by frequency"
    )
    neural_constants: int = training(8, "entities that trained statements may name; 0: none")
    recursive: bool = training(True, "trained rules may use their own target in the body")
    priors: bool = training(True, "with search=neural, also the rules p(X, c) :- true")
    positives: int = training(200, "facts of each target that are trained on at a time", at_least(1))
    fresh: int = training(
        5, "epochs after which the oldest batch of queries gives way to a new one, from all facts; 0: never"
    )
    negatives: float = training(2.0, "tuples that are no facts, for each of them")
    negative_sampling: str = training(
        "near",
        "near: reached from x, or of the target's own range; uniform: any (the paper)",
        one_of("near", "uniform"),
    )
    batch: int = training(256, "queries of one step of training", at_least(1))
    step_edges: int = training(
        1024, "edges that one step from a query may take; a step that needs more is left out", at_least(1)
    )
    meet_edges: int = training(2048, "edges that the statements of a query may use, nearest first", at_least(1))
    generator: str = training(
        "free",
        "what makes the attentions: transformer (the paper), free (scores that are parameters)",
        one_of("transformer", "free"),
    )
    residual: bool = training(
        True, "free scores are added to those of a Transformer, 0 at the start; off: the Transformer alone (the paper)"
    )
    dim: int = training(32, "d of the Transformer", at_least(1))
    layers: int = training(3, "of each Transformer network", at_least(1))
    attention_heads: int = training(4, "of each layer but the last, which has one", at_least(1))
    squash: str = training(
        "clamp", "from a count of paths to a truth value: clamp, sigmoid (the paper)", one_of("clamp", "sigmoid")
    )
    restarts: int = training(48, "generators of each target", at_least(1))
    epochs: int = training(70, "of training, at most", at_least(1))
    rate: float = training(0.0002, "learning rate of a Transformer", more_than(0))
    score_rate: float = training(0.05, "learning rate of free scores, also of residual ones", more_than(0))
    temperature: float = training(
        0.2,
        "of the attentions at the end of training; 1 at its start",
        Allowed("above 0, at most 1", lambda v: 0 < v <= 1),
    )
    entropy: float = training(0.02, "weight of the attentions' entropy in the loss at the end of training")
    patience: int = training(40, "epochs without a better validation loss, then training ends")
    beam: int = training(10, "most probable rules read from each generator; 1: only the largest choices", at_least(1))
    extract_samples: int = training(0, "rules drawn at random from each generator")
    neural_candidates: int = training(500, "rules of a trained target that are counted exactly", at_least(1))
    select: bool = training(
        True,
        "after training, exact F1 chooses among what all restarts read, leaves out parts and joins others; "
        "off: what the attentions of the restart with the least validation loss say, unchanged",
    )
    refine: bool = training(
        True, "after select, parts of the best rules are exchanged or added while exact F1 rises; not without select"
    )
    aggregation: str = scoring(
        "noisy-or", "how rules that fire become a score: noisy-or, max", one_of("noisy-or", "max")
    )
    aggregation_top: int = scoring(5, "strongest rules that count in noisy-or; 0: all")
    weigh: bool = scoring(
        True, "after counting, how much each kind of rule counts is fitted on validation facts (200 or more)"
    )
    hold_out: float = scoring(
        0.1,
        "share of the training facts held out in turn to choose by, where fewer than 200 validation facts are given; "
        "0: none",
        Allowed("0 to .5", lambda v: 0 <= v <= 0.5),
    )
    geometry: bool = data(True, "boxes of a scene graph become predicates: large(X), left_of(X, Y)")
    drop: tuple[str, ...] = data((), "relations of the data that are left out")
    merge: str = data("", "file or folder of name merges, a line each: car: car,cars")
    min_count: int = data(
        0, "predicates with fewer training facts are left out; objects of such a class stay; 0: none is"
    )
    num_classes: int = data(150, "targets of a scene graph unless named: its most frequent classes", at_least(1))
    cuts: int = data(10, "quantile bins that a number of an object is cut into", at_least(2))
    time_limit: float = general(0.0, "seconds of search, then the run is marked partial; 0: none", read=parse_seconds)
    device: str = general("auto", "auto, cpu, cuda", one_of("auto", "cpu", "cuda"))
    threads: int = general(0, "CPU threads; 0: all cores")
    memory: int = general(
        4 * 2**30,
        "bytes that block sizes are chosen for",
        Allowed("at least 64MiB", lambda v: v >= 64 * 2**20),
        read=parse_size,
    )

    def __post_init__(self) -> None:
        self._check("dim", self.dim % max(1, self.attention_heads) == 0, "a multiple of attention_heads")
        for f in fields(self):
            if (allowed := f.metadata["allowed"]) is not None:
                self._check(f.name, allowed.holds(getattr(self, f.name)), allowed.text)

    def data_options(self) -> DataOptions:
        """Return the choices that are about the facts: what `load_dataset` takes."""
        from .data.dataset import DataOptions  # late: a help page must not wait for Arrow

        return self.options(DataOptions)

    def options(self, kind: type[Options], **others: Any) -> Options:
        """Fill the options of another room.

        `kind` is a dataclass whose fields have the same names here; `others` are the values of the rest.
        """
        names = [f.name for f in fields(kind) if hasattr(self, f.name)]  # type: ignore[arg-type]
        return kind(**{name: getattr(self, name) for name in names} | others)

    def _check(self, key: str, holds: bool, expected: str) -> None:
        if not holds:
            raise ConfigError(f"{key}: expected {expected}, got {getattr(self, key)!r}", key)

    def with_values(self, values: Mapping[str, Any], where: str = "settings") -> LearnerConfig:
        """Return the settings with `values` over the present ones; a preset among them is applied first.

        `where` begins the sentence of a ConfigError: the file or the option that the values came from.
        """
        preset = values.get("preset", "default")
        if preset not in PRESETS:
            raise ConfigError(f"{where}: preset: expected {', '.join(PRESETS)}, got {preset!r}", "preset")
        known = {f.name: f for f in fields(self)}
        clean: dict[str, Any] = dict(PRESETS[preset])
        for key, value in values.items():
            if key not in known:
                near = closest(key, known)
                hint = f"; did you mean {near[0]!r}?" if near else f"; known: {', '.join(known)}"
                raise ConfigError(f"{where}: unknown key {key!r}{hint}", key)
            try:
                clean[key] = known[key].metadata["read"](value)
            except (ValueError, KeyError, TypeError):
                kind = type(known[key].default).__name__
                raise ConfigError(f"{where}: {key}: expected {kind}, got {value!r}", key) from None
        return replace(self, **clean)

    def with_settings(self, settings: Iterable[str]) -> LearnerConfig:
        """Return the settings changed by `settings`, the `key=value` words of the command line."""
        values: dict[str, str] = {}
        for setting in settings:
            key, separator, value = setting.partition("=")
            if not separator:
                raise ConfigError(f"--set {setting}: expected key=value, got no '='")
            values[key.strip()] = value.strip()
        return self.with_values(values, "--set")

    @classmethod
    def from_toml(cls, path: Path) -> LearnerConfig:
        """Read settings from the TOML file at `path`, over the defaults. Raises ConfigError."""
        try:
            values = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ConfigError(f"{path}: not a readable TOML file ({error})") from error
        return cls().with_values(values, str(path))

    def to_dict(self) -> dict[str, Any]:
        """Return all settings as values that JSON can write: tuples as lists."""
        return {key: list(v) if isinstance(v, tuple) else v for key, v in asdict(self).items()}


def settings_help() -> str:
    """Return the settings that --set and --config know: key, default, help text."""

    def word(value: Any) -> str:
        """A default as --set would take it."""
        if isinstance(value, bool):
            return "on" if value else "off"
        return ",".join(value) if isinstance(value, tuple) else str(value)

    return "Settings:\n" + "\n".join(f"{f.name}={word(f.default)}: {f.metadata['help']}" for f in fields(LearnerConfig))
