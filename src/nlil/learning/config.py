"""LearnerConfig: every choice a user can make about learning, with its default and its meaning.

The comment beside a field is its help text. `--set key=value`, a TOML file and keyword arguments all
end here; an unknown key is an error that names the closest known one.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError, closest

if TYPE_CHECKING:
    from ..data.options import DataOptions

PRESETS: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    # The paper to the letter, plus what no rule of it can be written without; docs/paper.md lists the differences.
    "paper": {
        "search": "neural",
        "generator": "transformer",
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
        "refine": False,
        "weigh": False,
        "restarts": 8,
        "epochs": 100,
        "patience": 20,
    },
    # The paper's sizes for scene graphs (T = 3, L = 2, C = 4); classes are weighed together, at most 30 rules for one.
    "scene": {"joint": True, "top_rules": 30, "steps": 3, "levels": 2, "formulas": 4},
}


@dataclass(frozen=True)
class LearnerConfig:
    seed: int = 0  # all randomness comes from here
    search: str = "both"  # how rules are found: count, neural, both
    preset: str = "default"  # a named set of values, applied before all others
    max_length: int = 3  # most body atoms of a chain found by counting
    tried_length: int = 5  # longer chains up to this are kept if 200 or more validation facts rise by them; 0: none
    min_support: int = 2  # facts a rule must explain
    min_confidence: float = -1.0  # least standard confidence of a rule but a prior; -1: .002, on a large base .01
    body: tuple[str, ...] = ()  # predicates allowed in bodies; empty: all
    not_body: tuple[str, ...] = ()  # predicates not allowed in bodies
    constants: bool = True  # rules with constants: anchored, half-anchored, priors
    typed: bool = True  # variants of chains with a unary filter, where they raise confidence
    conjunctions: int = 10  # conjunctions of statements tried for a target, kept where validation facts gain; 0: none
    exclusions: bool = True  # what never holds together with a target rules candidates out; not with search=neural
    top_rules: int = 0  # rules kept for each target, best first (with joint: for each class on average); 0: all
    joint: bool = False  # rules of object classes are chosen and weighed together; not with search=neural
    samples: int = 1_000  # facts of each target from which chains longer than 2 are grown
    candidates: int = 200  # longer chains counted exactly for each target
    max_paths: float = 7e9  # chains of a length are left out when the graph has more paths of it; 0: no bound
    neural_targets: int = 4  # with search=both, targets that counting leaves unexplained and training takes on; 0: all
    neural_facts: int = 3_000  # with search=both, facts of the largest base that is trained on; 0: any
    steps: int = 2  # T, the most operators of a path
    heads: int = 2  # H, operator sequences that paths choose from; 1 in the paper
    instances: int = 1  # statements of each predicate
    levels: int = 1  # L, levels of products over statements; 0: a rule is one statement or its negation
    formulas: int = 4  # C, formulas of each level
    vocabulary: int = 40  # predicates of a trained target's bodies, the most frequent around its facts
    domain: int = 0  # vocabulary of so many predicates of the head's root domain (the paper: 20); 0: by frequency
    neural_constants: int = 8  # entities that trained statements may name; 0: none
    recursive: bool = True  # trained rules may use their own target in the body
    priors: bool = True  # with search=neural, also the rules p(X, c) :- true
    positives: int = 200  # facts of each target that are trained on
    negatives: float = 2.0  # tuples that are no facts, for each of them
    negative_sampling: str = "near"  # near: reached from x, or of the target's own range; uniform: any (the paper)
    batch: int = 256  # queries of one step of training
    step_edges: int = 1024  # edges that one step from a query may take; a step that needs more is left out
    meet_edges: int = 2048  # edges that the statements of a query may use, nearest first
    generator: str = "free"  # what makes the attentions: transformer (the paper), free (scores that are parameters)
    dim: int = 32  # d of the Transformer
    layers: int = 3  # of each Transformer network
    attention_heads: int = 4  # of each layer but the last, which has one
    squash: str = "clamp"  # from a count of paths to a truth value: clamp, sigmoid (the paper)
    restarts: int = 16  # generators of each target; the best rules of all are kept
    epochs: int = 200  # of training, at most
    rate: float = 0.0005  # learning rate of a Transformer
    score_rate: float = 0.05  # learning rate of free scores
    temperature: float = 0.2  # of the attentions at the end of training; 1 at its start
    entropy: float = 0.02  # weight of the attentions' entropy in the loss at the end of training
    patience: int = 40  # epochs without a better validation loss, then training ends
    beam: int = 10  # most probable rules read from each generator; 1: only the largest choices
    extract_samples: int = 0  # rules drawn at random from each generator
    neural_candidates: int = 500  # rules of a trained target that are counted exactly
    refine: bool = True  # after training, parts of the best rules are exchanged or added while exact F1 rises
    aggregation: str = "noisy-or"  # how rules that fire become a score: noisy-or, max
    aggregation_top: int = 5  # strongest rules that count in noisy-or; 0: all
    weigh: bool = True  # after counting, how much each kind of rule counts is fitted on validation facts (200 or more)
    geometry: bool = True  # boxes of a scene graph become predicates: large(X), left_of(X, Y)
    drop: tuple[str, ...] = ()  # relations of the data that are left out
    merge: str = ""  # file or folder of name merges, a line each: car: car,cars
    min_count: int = 0  # predicates with fewer training facts are left out; objects of such a class stay; 0: none is
    num_classes: int = 150  # targets of a scene graph unless named: its most frequent classes
    cuts: int = 10  # quantile bins that a number of an object is cut into
    time_limit: float = 0.0  # seconds of search, then the run is marked partial; 0: none
    device: str = "auto"  # auto, cpu, cuda
    threads: int = 0  # CPU threads; 0: all cores
    memory: int = 4 * 2**30  # bytes that block sizes are chosen for

    def __post_init__(self) -> None:
        self._check("search", self.search in ("count", "neural", "both"), "count, neural or both")
        self._check("generator", self.generator in ("transformer", "free"), "transformer or free")
        self._check("squash", self.squash in ("clamp", "sigmoid"), "clamp or sigmoid")
        self._check("negative_sampling", self.negative_sampling in ("near", "uniform"), "near or uniform")
        self._check("temperature", 0 < self.temperature <= 1, "above 0, at most 1")
        self._check("dim", self.dim % max(1, self.attention_heads) == 0, "a multiple of attention_heads")
        for key in (
            "steps",
            "heads",
            "instances",
            "formulas",
            "vocabulary",
            "positives",
            "batch",
            "dim",
            "layers",
            "attention_heads",
            "restarts",
            "epochs",
            "beam",
            "neural_candidates",
            "step_edges",
            "meet_edges",
            "num_classes",
        ):
            self._check(key, getattr(self, key) >= 1, "1 or more")
        for key in ("rate", "score_rate"):
            self._check(key, getattr(self, key) > 0, "more than 0")
        self._check("preset", self.preset in PRESETS, ", ".join(PRESETS))
        self._check("max_length", 1 <= self.max_length <= 8, "1 to 8")
        self._check("tried_length", self.tried_length <= 8, "0 to 8")
        self._check("min_support", self.min_support >= 1, "1 or more")
        self._check("min_confidence", 0 <= self.min_confidence <= 1 or self.min_confidence == -1, "0 to 1, or -1")
        self._check("aggregation", self.aggregation in ("noisy-or", "max"), "noisy-or or max")
        self._check("device", self.device in ("auto", "cpu", "cuda"), "auto, cpu or cuda")
        for key in (
            "top_rules",
            "aggregation_top",
            "time_limit",
            "threads",
            "seed",
            "samples",
            "candidates",
            "conjunctions",
            "max_paths",
            "neural_targets",
            "neural_facts",
            "neural_constants",
            "domain",
            "levels",
            "negatives",
            "entropy",
            "patience",
            "extract_samples",
            "min_count",
        ):
            self._check(key, getattr(self, key) >= 0, "0 or more")
        self._check("cuts", self.cuts >= 2, "2 or more")
        self._check("memory", self.memory >= 64 * 2**20, "at least 64MiB")

    def data_options(self) -> DataOptions:
        """The choices that are about the facts: what `load_dataset` takes."""
        from ..data.options import KEYS, DataOptions  # late: a help page must not wait for Arrow

        return DataOptions(**{key: getattr(self, key) for key in KEYS})

    def _check(self, key: str, holds: bool, expected: str) -> None:
        if not holds:
            raise ConfigError(f"{key}: expected {expected}, got {getattr(self, key)!r}", key)

    def with_values(self, values: Mapping[str, Any], where: str = "settings") -> LearnerConfig:
        """These values over the present ones; a preset among them is applied first."""
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
            clean[key] = _convert(key, value, getattr(type(self)(), key), where)
        return replace(self, **clean)

    def with_settings(self, settings: Iterable[str]) -> LearnerConfig:
        """`key=value` words from the command line."""
        values: dict[str, str] = {}
        for setting in settings:
            key, separator, value = setting.partition("=")
            if not separator:
                raise ConfigError(f"--set {setting}: expected key=value, got no '='")
            values[key.strip()] = value.strip()
        return self.with_values(values, "--set")

    @classmethod
    def from_toml(cls, path: Path) -> LearnerConfig:
        try:
            values = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ConfigError(f"{path}: not a readable TOML file ({error})") from error
        return cls().with_values(values, str(path))

    def to_dict(self) -> dict[str, Any]:
        return {key: list(v) if isinstance(v, tuple) else v for key, v in asdict(self).items()}


def _convert(key: str, value: Any, default: Any, where: str) -> Any:
    """A word or a TOML value as the type of the field's default."""
    try:
        match default:
            case bool():
                if isinstance(value, bool):
                    return value
                return {
                    "on": True,
                    "true": True,
                    "yes": True,
                    "1": True,
                    "off": False,
                    "false": False,
                    "no": False,
                    "0": False,
                }[str(value).lower()]
            case int() if key == "memory":
                return parse_size(str(value))
            case int():
                return int(value)
            case float() if key == "time_limit":
                return parse_seconds(str(value))
            case float():
                return float(value)
            case tuple():
                items = value.split(",") if isinstance(value, str) else value
                return tuple(str(item).strip() for item in items if str(item).strip())
            case _:
                return str(value)
    except (ValueError, KeyError, TypeError):
        raise ConfigError(f"{where}: {key}: expected {type(default).__name__}, got {value!r}", key) from None


def parse_size(text: str) -> int:
    """Bytes: 2GiB, 512MB, 4g, 1000000.

    >>> parse_size("2GiB")
    2147483648
    """
    units = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 2**10, "mi": 2**20, "gi": 2**30}
    plain = text.strip().lower().removesuffix("b")
    digits = plain.rstrip("kmgi")
    try:
        return int(float(digits) * units[plain[len(digits) :]])
    except (ValueError, KeyError, OverflowError):
        raise ConfigError(f"memory: expected a size such as 2GiB or 512MB, got {text!r}", "memory") from None


def parse_seconds(text: str) -> float:
    """Seconds: 60, 60s, 5min, 1h."""
    units = {"": 1, "s": 1, "m": 60, "min": 60, "h": 3600}
    plain = text.strip().lower()
    digits = plain.rstrip("smhin")
    try:
        return float(digits) * units[plain[len(digits) :]]
    except (ValueError, KeyError):
        raise ConfigError(f"time limit: expected seconds such as 60s or 5min, got {text!r}", "time_limit") from None
