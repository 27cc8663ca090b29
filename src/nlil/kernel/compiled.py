"""`@compiled`: a Python function that is compiled to machine code when it is first called.

Importing numba takes half a second, so neither the decorator nor the module that uses it imports it: a process that
calls no compiled function does not pay for it. For the same reason, `SmallWork` runs small work in plain Python.
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


_entry_lock = threading.Lock()
SMALL_STEPS = 50_000
"""Steps (visited edges, for example) that plain Python can do in the time that numba takes to load."""


class Compiled:
    """A compiled `function`. Called from Python, it runs as machine code; other compiled functions inline it."""

    def __init__(self, function: FunctionType) -> None:
        update_wrapper(self, function)
        self.function = function
        self._entry: Entry | None = None

    def __call__(self, *arguments: Any) -> Any:
        if _interpreted.depth:
            return self.function(*arguments)
        plain = [int(value) if isinstance(value, np.integer) else value for value in arguments]  # a single integer type
        return (self._entry or self.entry)(*plain)

    def __reduce__(self) -> str:
        """Pickle as a name: another process uses its own function of this name."""
        return self.function.__qualname__

    @property
    def is_ready(self) -> bool:
        """Whether it has run as machine code in this process."""
        return self._entry is not None

    @property
    def entry(self) -> Entry:
        """The function as Python code calls it."""
        from .machine_code import make_entry

        with _entry_lock:  # concurrent threads share one entry
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
        """The type that numba asks of every object that a compiled function refers to."""
        return self.part.type

    @cached_property
    def stamp(self) -> str:
        """A hash of the code of this function and of everything it refers to, in any file.

        The machine code depends only on this and on the argument types; if it changes, the function is recompiled.
        """
        return sha256(repr([_code(self.function.__code__), *_globals_used(self.function)]).encode()).hexdigest()


class Shared(Compiled):
    """The result of `shared`."""

    def __call__(self, *arguments: Any) -> Any:
        return self.function(*arguments)


def shared(function: Callable[..., Any]) -> Any:
    """Share `function` between compiled functions and Python.

    Called from Python, it runs as plain Python, so that it accepts arrays and tensors as well as numbers.
    """
    assert isinstance(function, FunctionType)
    return Shared(function)


def compiled(function: Callable[..., Any]) -> Any:
    """Compile `function` at its first call to machine code that releases the interpreter lock; cached on disk.

    It takes only positional arguments: numbers, arrays, and named tuples of them.
    """
    assert isinstance(function, FunctionType)
    return Compiled(function)


class _Interpreted(threading.local):
    depth = 0


_interpreted = _Interpreted()
if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
    _Interpreted.depth = 1  # to step through the loops with a debugger


@contextmanager
def interpreted(small: bool = True) -> Iterator[None]:
    """Run compiled functions as plain Python inside this block, in this thread, if the work is `small`.

    Results are the same.
    """
    _interpreted.depth += small
    try:
        yield
    finally:
        _interpreted.depth -= small


class SmallWork:
    """Runs work in plain Python up to `limit` steps in total, and as machine code from then on.

    Args:
        function: the compiled function that does the work. If numba is loaded, and the machine code is loaded or on
            disk, no work is small. None: skip this check.
    """

    limit = SMALL_STEPS

    def __init__(self, function: Compiled | None = None) -> None:
        self.left: float = self.limit
        self.function = function

    @property
    def is_left(self) -> bool:
        """Whether work still runs in plain Python."""
        if self.left >= 0 and self.function is not None and "numba" in sys.modules:
            from .code_files import is_kept

            self.left = -1 if self.function.is_ready or is_kept(self.function) else self.left
            self.function = None
        return self.left >= 0

    def expect(self, steps: float) -> None:
        """Announce at least so many `steps`: too many for plain Python run as machine code from the first one on."""
        if steps > self.left:
            self.left = -1

    def of(self, steps: float) -> AbstractContextManager[None]:
        """Return the context of one piece of work that takes about this number of `steps`."""
        self.left -= steps
        return interpreted(self.is_left)


def _code(code: CodeType) -> list[object]:
    """Return what a function does, without its location and docstring."""
    constants = [_code(value) if isinstance(value, CodeType) else repr(value) for value in code.co_consts]
    if code.co_consts and isinstance(code.co_consts[0], str):
        constants = constants[1:]  # the docstring
    return [code.co_code, constants, code.co_names, code.co_varnames]


def _globals_used(function: FunctionType) -> list[str]:
    """Return the defaults and the values of the global names that a function refers to, as text."""
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
