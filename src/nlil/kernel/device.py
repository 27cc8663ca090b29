"""Where tensors live: auto, cpu or cuda."""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version

from ..errors import ConfigError


def resolve_device(name: str) -> str:
    """Return cpu or cuda for the `name` auto, cpu or cuda.

    `auto` takes a GPU where there is one; asking for one that is not there is a ConfigError.
    """
    if name not in ("auto", "cpu", "cuda"):
        raise ConfigError(f"device: expected auto, cpu or cuda, got {name!r}", "device")
    found = name != "cpu" and _has_gpu()
    if name == "cuda" and not found:
        raise ConfigError("device: cuda was requested, but torch finds no GPU here; use --device cpu or auto", "device")
    return "cuda" if found else "cpu"


def _has_gpu() -> bool:
    """To import torch takes seconds; a build without GPU support need not try."""
    with suppress(PackageNotFoundError):  # torch may be a folder of sources
        if "torch" not in sys.modules and version("torch").endswith("+cpu"):
            return False
    import torch

    return torch.cuda.is_available()
