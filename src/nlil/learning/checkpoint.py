"""Checkpoint: unfinished work in a folder, so that a killed run can continue.

    RUN/checkpoint/fingerprint.json     what the work depends on; only the same work continues it
    RUN/checkpoint/*.safetensors        one file per key: arrays, and JSON values in its metadata
    RUN/checkpoint/.lock                held by the working process; contains its process id and host

A group of targets that is trained has a file, and so has a stage of counting that takes long (`CountedStages`).
A file is written under another name and renamed: after a kill at any moment a key has its old or its new content.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..data.files import replacing
from ..data.locks import FileLocked, locked
from ..errors import RunError
from .folder import MALFORMED, read_arrays, read_json, versions, write_arrays, write_json

if TYPE_CHECKING:
    import numpy as np

    from ..config import LearnerConfig
    from ..logic.predicate import Predicate
    from ..progress import Stop

FOLDER = "checkpoint"
FINGERPRINT = "fingerprint.json"
LOCK = ".lock"
METADATA = "nlil"
BUDGETS = ("time_limit", "device", "threads", "memory")
"""Settings that change the time and memory of learning, never its result."""
LEAST_SECONDS = 10.0
"""A stage of counting that takes less is not stored: counting it again costs little more than reading it."""
SHOWN_DIFFERENCES = 3
SHOWN_CHARACTERS = 40


def fingerprint(config: LearnerConfig, checksum: str | None, targets: Iterable[Predicate]) -> dict[str, Any]:
    """Return everything that the result of learning depends on, as JSON values.

    `checksum` is that of the data, or None.
    """
    found = versions(("nlil", "torch"))
    return {
        "settings": settings_that_matter(config),
        "data": {"checksum": checksum},
        "targets": {"targets": [str(p) for p in targets]},
        "versions": {package: found.get(package) for package in ("nlil", "torch")},
    }


def settings_that_matter(config: LearnerConfig) -> dict[str, Any]:
    """Return the settings that change what is learned; budgets of time and memory do not."""
    return {key: value for key, value in config.to_dict().items() if key not in BUDGETS}


def is_unfinished(run: Path) -> bool:
    """Return whether `run` is a run folder without a result, with a checkpoint written by nlil.

    The checkpoint of a run that was killed before its first write is empty.
    """
    folder = run / FOLDER
    if (run / "run.json").exists() or not folder.is_dir():
        return False
    return (folder / FINGERPRINT).is_file() or all(file.name.startswith(".") for file in folder.iterdir())


@dataclass(frozen=True)
class Checkpoint:
    """The results of unfinished work so far, by key, in a `folder`.

    `fingerprint` consists of JSON values. A checkpoint with another fingerprint is neither read nor written.
    """

    folder: Path
    fingerprint: Mapping[str, Any]

    def begin(self) -> None:
        """Make the folder, or check that the existing one belongs to the same work."""
        self._make()
        for file in self.folder.glob(".*"):
            if file.name != LOCK:  # incomplete, from a killed process
                file.unlink(missing_ok=True)

    def check(self) -> None:
        """Raise RunError if the stored work is not this work, and say how it differs."""
        file = self.folder / FINGERPRINT
        if not file.exists() and self.is_empty:
            return
        try:
            stored = dict(read_json(file))
        except (OSError, *MALFORMED) as error:
            raise _damaged(file, error) from error
        now = json.loads(json.dumps(dict(self.fingerprint)))  # as it would be read back
        if stored != now:
            raise RunError(
                f"the unfinished run was started with other {_difference(stored, now)}; use --force to start over",
                self.folder.parent,
            )

    def load(self, key: str) -> tuple[dict[str, np.ndarray], dict[str, Any]] | None:
        """Return what was last saved under `key`, bit for bit; None if nothing was."""
        self.check()
        file = self._file(key)
        if not file.is_file():
            return None
        try:
            arrays, metadata = read_arrays(file)
            about = json.loads(metadata[METADATA])
            if about["key"] != key or about["digest"] != _digest(arrays, about["values"]):
                raise ValueError("checksum mismatch")
            return arrays, about["values"]
        except MALFORMED as error:
            raise _damaged(file, error) from error

    def save(self, key: str, arrays: Mapping[str, np.ndarray], values: Mapping[str, Any]) -> None:
        """Save `arrays`, by name, and `values` under `key`, replacing its content.

        `values` are JSON values; tuples are read back as lists.
        """
        self._make()
        plain = json.loads(json.dumps(dict(values)))
        about = {"key": key, "values": plain, "digest": _digest(arrays, plain)}
        with replacing(self._file(key)) as temporary:
            write_arrays(temporary, arrays, {METADATA: json.dumps(about)})

    @property
    def is_empty(self) -> bool:
        """Return whether nothing has been saved yet."""
        return not any(self.folder.glob("*.safetensors"))

    def start_over(self) -> None:
        """Remove everything stored, whatever work it belongs to, except the lock."""
        _forget(self.folder)
        (self.folder / FINGERPRINT).unlink(missing_ok=True)

    def clear(self) -> None:
        """Remove the checkpoint, and the folder if it is then empty."""
        clear_folder(self.folder)

    def _make(self) -> None:
        self.check()
        self.folder.mkdir(parents=True, exist_ok=True)
        if not (self.folder / FINGERPRINT).exists():
            with replacing(self.folder / FINGERPRINT) as temporary:
                write_json(temporary, self.fingerprint)

    def _file(self, key: str) -> Path:
        """Return a readable file name of limited length; the digest distinguishes keys."""
        readable = "".join(c if c.isascii() and c.isalnum() else "-" for c in key)[:SHOWN_CHARACTERS]
        return self.folder / f"{readable.strip('-')}.{hashlib.sha256(key.encode()).hexdigest()[:16]}.safetensors"


@dataclass(frozen=True)
class CountedStages:
    """Keeps long stages of counting in a checkpoint: `search.options.Stages`.

    Stages that are stopped are not kept, nor are those under a time limit, which decides how far they go.

    Args:
        store: The checkpoint.
        about: What the result depends on and the fingerprint does not contain: the facts, the lengths, the memory.
        stop: When to stop early.
    """

    store: Checkpoint
    about: str
    stop: Stop

    def __call__(self, name: str, count: Callable[[], Mapping[str, np.ndarray]]) -> Mapping[str, np.ndarray]:
        """Return the result of the stage `name`: what is stored, or what `count` returns."""
        key = f"count {self.about} {name}"
        if self.stop.is_timed:
            return count()
        if (saved := self.store.load(key)) is not None:
            return saved[0]
        begun = time.monotonic()
        found = count()
        if time.monotonic() - begun >= LEAST_SECONDS and not self.stop.is_late:
            self.store.save(key, found, {})
        return found


def clear_folder(folder: Path) -> None:
    """Remove the checkpoint in `folder`.

    The fingerprint is removed last, so that a kill leaves a smaller but valid checkpoint.
    """
    if not folder.is_dir():
        return
    _forget(folder)
    shutil.rmtree(folder)


def _forget(folder: Path) -> None:
    for file in folder.glob("*.safetensors"):
        file.unlink(missing_ok=True)


@contextmanager
def claimed(run: Path) -> Iterator[None]:
    """Reserve the run for this process inside the block; raise RunError if another process is working there.

    Folders that were made for the lock are removed with it if they are still empty.
    """
    made = [folder for folder in (run / FOLDER, run) if not folder.exists()]
    try:
        with locked(run / FOLDER / LOCK):
            yield
    except FileLocked as error:
        raise RunError(
            f"{error} is learning here; wait until it ends, stop it, or choose another folder", run
        ) from error
    finally:
        for folder in made:
            with suppress(OSError):  # not empty: it contains work
                folder.rmdir()


def _digest(arrays: Mapping[str, np.ndarray], values: Any) -> str:
    """Return a checksum: safetensors detects a truncated file, but not a changed bit."""
    import numpy as np

    found = hashlib.sha256(json.dumps(values, sort_keys=True).encode())
    for name in sorted(arrays):
        array = np.asarray(arrays[name])
        found.update(f"{name} {array.dtype} {array.shape}".encode())
        found.update(array.tobytes())
    return found.hexdigest()


def _damaged(file: Path, error: Exception) -> RunError:
    return RunError(f"the checkpoint of the unfinished run is damaged ({error}); use --force to start over", file)


def _difference(stored: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Return the first part that differs, and how: `settings (seed: 0, now 1)`."""
    part = next(key for key in {**now, **stored} if stored.get(key) != now.get(key))
    old, new = stored.get(part), now.get(part)
    if not isinstance(old, dict) or not isinstance(new, dict):
        old, new = {part: old}, {part: new}
    lines = list(_changes(old, new))
    more = f" and {len(lines) - SHOWN_DIFFERENCES} more" if len(lines) > SHOWN_DIFFERENCES else ""
    return f"{part} ({', '.join(lines[:SHOWN_DIFFERENCES])}{more})"


def _changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    for key in {**new, **old}:
        before, after = old.get(key), new.get(key)
        if before == after:
            continue
        if isinstance(before, list) and isinstance(after, list):  # name only the items that differ
            gone, added = [b for b in before if b not in after], [a for a in after if a not in before]
            words = [f"no longer {_short(gone)}"] * bool(gone) + [f"also {_short(added)}"] * bool(added)
            yield f"{key}: {' but '.join(words) or 'another order'}"
        else:
            yield f"{key}: {_short(before)}, now {_short(after)}"


def _short(value: Any) -> str:
    text = " ".join(map(str, value)) if isinstance(value, list) else str(value)
    if not text:
        return "none"
    return text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 3] + "..."
