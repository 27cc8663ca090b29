"""Where installations made before `nlil_bench.command` look for the command."""

from ..command import bench

__all__ = ["bench"]
