"""`@compiled`: a Python function whose loops run as machine code, made when it is first called.

Neither the decorator nor the module that uses it imports numba, which alone takes half a second: what never calls a
compiled function never pays for it. `SmallWork` runs the first small work in plain Python for the same reason.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property, update_wrapper
from hashlib import sha256
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .machine_code import Entry, Part


_making = threading.Lock()
SMALL_STEPS = 50_000
"""Steps (edges looked at, and the like) that plain Python takes in less time than numba takes to load."""


class Compiled:
    """A function as `compiled` makes it. Called from Python it runs as machine code; compiled functions that call it
    take its code into their own."""

    def __init__(self, function: FunctionType) -> None:
        update_wrapper(self, function)
        self.function = function
        self._entry: Entry | None = None

    def __call__(self, *arguments: Any) -> Any:
        if _interpreted.depth:
            return self.function(*arguments)
        plain = [int(value) if isinstance(value, np.integer) else value for value in arguments]  # one type of integers
        return (self._entry or self.entry)(*plain)

    def __reduce__(self) -> str:
        """In another process it is what has the same name there."""
        return self.function.__qualname__

    @property
    def is_ready(self) -> bool:
        """Whether it has run as machine code in this process."""
        return self._entry is not None

    @property
    def entry(self) -> Entry:
        """The function as Python code calls it."""
        from .machine_code import make_entry

        with _making:  # threads that come at once share one
            if self._entry is None:
                self._entry = make_entry(self)
        return self._entry

    @cached_property
    def part(self) -> Part:
        """The function as other compiled functions call it."""
        from .machine_code import make_part

        return make_part(self)

    @property
    def _numba_type_(self) -> Any:
        """What numba asks every object that a compiled function names."""
        return self.part.type

    @cached_property
    def stamp(self) -> str:
        """What the machine code depends on beside the types of the arguments: this function's own code and all that it
        names. Where it changes, in whatever file, the function is compiled again."""
        return sha256(repr([_code(self.function.__code__), *_named(self.function)]).encode()).hexdigest()


class Shared(Compiled):
    """A function as `shared` makes it."""

    def __call__(self, *arguments: Any) -> Any:
        return self.function(*arguments)


def shared(function: Callable[..., Any]) -> Any:
    """Let `function` be one definition for compiled functions and for Python.

    Called from Python it is plain Python, so that it takes arrays and tensors as well as numbers.
    """
    assert isinstance(function, FunctionType)
    return Shared(function)


def compiled(function: Callable[..., Any]) -> Any:
    """Compile `function` to machine code that releases the interpreter lock, when it is first called; the result is
    cached on disk. It takes positional arguments: numbers, arrays, and named tuples of them."""
    assert isinstance(function, FunctionType)
    return Compiled(function)


class _Interpreted(threading.local):
    depth = 0


_interpreted = _Interpreted()
if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
    _Interpreted.depth = 1  # to step through the loops with a debugger


@contextmanager
def interpreted(small: bool = True) -> Iterator[None]:
    """Where the work is `small`, compiled functions run as plain Python inside this block, in this thread.

    Results are the same.
    """
    _interpreted.depth += small
    try:
        yield
    finally:
        _interpreted.depth -= small


class SmallWork:
    """Runs work in plain Python until it has come to `limit` steps in all, and as machine code from there on.

    Args:
        function: the compiled function that does the work: where numba is loaded already and so is the machine code,
            or it is on disk, no work is small. None: that does not matter.
    """

    limit = SMALL_STEPS

    def __init__(self, function: Compiled | None = None) -> None:
        self.left: float = self.limit
        self.function = function

    @property
    def is_left(self) -> bool:
        """Whether work is done in plain Python still."""
        if self.left >= 0 and self.function is not None and "numba" in sys.modules:
            from .code_files import is_kept

            self.left = -1 if self.function.is_ready or is_kept(self.function) else self.left
            self.function = None
        return self.left >= 0

    def of(self, steps: float) -> AbstractContextManager[None]:
        """Return the block of one piece of work, which takes about so many steps."""
        self.left -= steps
        return interpreted(self.is_left)


def _code(code: CodeType) -> list[object]:
    """What a function does; not where it stands, nor how it is documented."""
    constants = [_code(value) if isinstance(value, CodeType) else repr(value) for value in code.co_consts]
    if code.co_consts and isinstance(code.co_consts[0], str):
        constants = constants[1:]  # the docstring
    return [code.co_code, constants, code.co_names, code.co_varnames]


def _named(function: FunctionType) -> list[str]:
    """What the names in a function stand for, as far as they stand for something outside it."""
    found = [repr(function.__defaults__)]
    for name in sorted(_names(function.__code__) & function.__globals__.keys()):
        value = function.__globals__[name]
        if isinstance(value, Compiled):
            text = value.stamp
        elif isinstance(value, ModuleType):
            text = value.__name__
        elif isinstance(value, type):
            text = f"{value.__module__}.{value.__qualname__}{getattr(value, '_fields', '')}"
        elif isinstance(value, np.ndarray):
            text = repr(value.tolist())
        else:
            text = repr(value)
        found.append(f"{name} = {text}")
    return found


def _names(code: CodeType) -> set[str]:
    inner = (_names(value) for value in code.co_consts if isinstance(value, CodeType))
    return set(code.co_names).union(*inner)
