"""Where tensors live: auto, cpu or cuda."""

from __future__ import annotations

from ..errors import ConfigError


def resolve_device(name: str) -> str:
    """`auto` takes a GPU where there is one; asking for one that is not there is an error."""
    import torch

    if name not in ("auto", "cpu", "cuda"):
        raise ConfigError(f"device: expected auto, cpu or cuda, got {name!r}", "device")
    found = torch.cuda.is_available()
    if name == "cuda" and not found:
        raise ConfigError("device: cuda was asked for, but torch finds no GPU here; use --device cpu or auto", "device")
    return "cuda" if found and name != "cpu" else "cpu"
