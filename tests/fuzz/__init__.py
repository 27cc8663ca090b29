"""Fuzzing: mutated inputs for every reader, parser, run folder and page of the viewer (docs/limits.md).

    make fuzz INPUTS=50000                          many inputs, resumable
    PYTHONPATH=src:tests python -m fuzz --replay DIR  one input again, with its traceback

An input is a mapping from file names to bytes. Input n of a seed is always the same: `subjects.input_of(seed, n)`.
"""
