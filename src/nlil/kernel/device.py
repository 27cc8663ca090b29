"""Where tensors live: auto, cpu or cuda."""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version

from ..errors import ConfigError


def resolve_device(name: str) -> str:
    """Return cpu or cuda for the `name` auto, cpu or cuda.

    `auto` takes a GPU if there is one; `cuda` without a GPU raises ConfigError.
    """
    if name not in ("auto", "cpu", "cuda"):
        raise ConfigError(f"device: expected auto, cpu or cuda, got {name!r}", "device")
    found = name != "cpu" and _has_gpu()
    if name == "cuda" and not found:
        raise ConfigError("device: cuda was requested, but torch finds no GPU here; use --device cpu or auto", "device")
    return "cuda" if found else "cpu"


def _has_gpu() -> bool:
    """Return whether torch finds a GPU. Importing torch takes seconds, so skip it if the build has no GPU support."""
    with suppress(PackageNotFoundError):  # torch may be a source tree
        if "torch" not in sys.modules and version("torch").endswith("+cpu"):
            return False
    import torch

    return torch.cuda.is_available()
