"""How a setting is declared, and the settings of counting and of the data, which other options have too.

One line declares a setting: name, type, default, help text, allowed values. `--set key=value`, TOML files and keyword
arguments all use it, and the help page is generated from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, NamedTuple, Self

from .errors import ConfigError, closest

NUM_CLASSES = 150
"""The default targets of scene graphs are this many of the most frequent classes (as in the paper)."""


class Allowed(NamedTuple):
    """The allowed values of a setting: `text` describes them in messages, `holds` tests a value."""

    text: str
    holds: Callable[[Any], bool]


def at_least(least: int) -> Allowed:
    """Allow numbers >= `least`."""
    return Allowed(f"{least} or more", lambda value: value >= least)


def more_than(least: int) -> Allowed:
    """Allow numbers > `least`."""
    return Allowed(f"more than {least}", lambda value: value > least)


def between(least: int, most: int) -> Allowed:
    """Allow numbers from `least` to `most`, both included."""
    return Allowed(f"{least} to {most}", lambda value: least <= value <= most)


def one_of(*names: str) -> Allowed:
    """Allow only these `names`, two or more."""
    return Allowed(f"{', '.join(names[:-1])} or {names[-1]}", lambda value: value in names)


def setting(default: Any, help: str, allowed: Allowed | None = None, read: Callable[[Any], Any] | None = None) -> Any:
    """Return a field of a `Settings` class.

    Args:
        default: the default value; given values are converted to its type.
        help: one line for the help page.
        allowed: the allowed values; by default all of its type, and numbers >= 0.
        read: converts a word to a value, if the type is not enough.
    """
    if allowed is None and type(default) in (int, float):
        allowed = at_least(0)
    read = read or _READERS[type(default)]
    return field(default=default, metadata={"help": help, "allowed": allowed, "read": read})


def _truth(value: Any) -> bool:
    words = {"on": True, "true": True, "yes": True, "1": True, "off": False, "false": False, "no": False, "0": False}
    return words[str(value).lower()]


def _truth_or_word(value: Any) -> str:
    """Return "on" or "off" for a truth value, else the word itself."""
    try:
        return word(_truth(value))
    except KeyError:
        return str(value)


def _names(value: Any) -> tuple[str, ...]:
    items = value.split(",") if isinstance(value, str) else value
    return tuple(str(item).strip() for item in items if str(item).strip())


_READERS: Mapping[type, Callable[[Any], Any]] = {bool: _truth, int: int, float: float, tuple: _names, str: str}


@dataclass(frozen=True)
class Settings:
    """The base of frozen dataclasses with settings: checks their values, and reads them from words.

    Fields that `setting` did not make can only be given as keyword arguments.
    """

    def __post_init__(self) -> None:
        for f in fields(self):
            if (allowed := f.metadata.get("allowed")) is not None:
                self._check(f.name, allowed.holds(getattr(self, f.name)), allowed.text)

    def _check(self, key: str, holds: bool, expected: str) -> None:
        if not holds:
            raise ConfigError(f"{key}: expected {expected}, got {getattr(self, key)!r}", key)

    def with_values(self, values: Mapping[str, Any], where: str = "settings") -> Self:
        """Return the settings overridden by `values`.

        `where`, the source of the values, begins the message of a ConfigError.
        """
        known = {f.name: f for f in fields(self) if "read" in f.metadata}
        clean: dict[str, Any] = {}
        for key, value in values.items():
            if key not in known:
                near = closest(key, known)
                hint = f"; did you mean {near[0]!r}?" if near else f"; known: {', '.join(known)}"
                raise ConfigError(f"{where}: unknown key {key!r}{hint}", key)
            try:
                clean[key] = known[key].metadata["read"](value)
            except (ValueError, KeyError, TypeError):
                kind = type(known[key].default)
                expected = "on or off" if kind is bool else kind.__name__
                raise ConfigError(f"{where}: {key}: expected {expected}, got {value!r}", key) from None
        return replace(self, **clean)

    def with_settings(self, settings: Iterable[str]) -> Self:
        """Return the settings overridden by `settings`, `key=value` words of the command line."""
        values: dict[str, str] = {}
        for setting in settings:
            key, separator, value = setting.partition("=")
            if not separator:
                raise ConfigError(f"--set {setting}: expected key=value, got no '='")
            values[key.strip()] = value.strip()
        return self.with_values(values, "--set")

    def to_dict(self) -> dict[str, Any]:
        """Return all settings as plain values for JSON."""
        return {key: list(v) if isinstance(v, tuple) else v for key, v in asdict(self).items()}


def word(value: Any) -> str:
    """Return a default, `value`, in the syntax of --set."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return ",".join(value) if isinstance(value, tuple) else str(value)


@dataclass(frozen=True)
class CountSettings(Settings):
    """The settings of counting; `search.options.CountOptions` has them too."""

    max_length: int = setting(3, "maximum number of body atoms of a counted chain", between(1, 8))
    tried_length: int = setting(
        5,
        "also try chains up to this length; kept if they raise the score on 200 or more validation facts; 0: off",
        between(0, 8),
    )
    min_support: int = setting(2, "minimum number of facts that a rule explains", at_least(1))
    min_confidence: float = setting(
        -1.0,
        "minimum confidence (not smoothed) of a rule other than a prior; -1: .002, or .01 on a large base",
        Allowed("0 to 1, or -1", lambda v: 0 <= v <= 1 or v == -1),
    )
    constants: bool = setting(True, "rules with constants: anchored, half-anchored, priors")
    typed: bool = setting(True, "chains with a unary filter, if it raises the confidence")
    samples: int = setting(1_000, "facts sampled per target to propose chains longer than 2")
    candidates: int = setting(200, "longer chains counted exactly per target")
    max_paths: float = setting(
        7e9,
        "skip chains of a length with more paths than this in the graph, unless they are few for its size (up to "
        "16 for each pair of entities, up to max_length steps); 0: no limit",
    )


@dataclass(frozen=True)
class DataSettings(Settings):
    """The settings of the data, applied before anything is learned; `data.dataset.DataOptions` has them too."""

    geometry: bool = setting(True, "make predicates from the boxes of a scene graph: large(X), left_of(X, Y)")
    roles: str = setting(
        "off",
        "whether bodies of class rules may use is_subject(X) and is_object(X), made from the relations of a graph: on, "
        "off, auto (if they improve the prediction of held-out objects)",
        one_of("auto", "on", "off"),
        read=_truth_or_word,
    )
    drop: tuple[str, ...] = setting((), "relations of the data to leave out")
    merge: str = setting("", "file or folder of name merges, one per line: car: car,cars")
    min_count: int = setting(
        0, "leave out predicates with fewer training facts; objects of such a class stay; 0: keep all"
    )
    num_classes: int = setting(
        NUM_CLASSES, "default targets of a scene graph: this many of its most frequent classes", at_least(1)
    )
    cuts: int = setting(10, "quantile bins per numeric attribute", at_least(2))
    columns: str = setting(
        "",
        "columns of a table by name or place: subject=source,predicate=type,object=target; also weight, split, label",
    )
    encoding: str = setting("utf-8", "encoding of text files")
