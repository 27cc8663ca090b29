"""Machine code of `compiled` functions, made by numba, and its cache on disk.

By default, numba optimizes and emits every function by itself, then links its code into each caller and optimizes it
again: a function eight calls below the entry point is optimized eight times, each time with an unused Python wrapper.
Here a function called by compiled code is a *part*, which is typed and translated once. Only the *entry* that Python
calls is optimized, together with all of its parts. The first `nlil demo` takes a third of the time (2026-11-16, commit
ae6ad95).

`signature` are always the numba types of a function's arguments, `target` numba's description of this machine.
"""

from __future__ import annotations

import gc
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from hashlib import sha256
from math import inf
from pathlib import Path
from typing import Any, ClassVar

import llvmlite
import numba
from numba.cloudpickle import loads
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, CompileResult, Flags
from numba.core.errors import NumbaError
from numba.core.registry import CPUDispatcher
from numba.core.serialize import dumps
from numba.core.targetconfig import ConfigStack
from numba.core.types import BaseNamedTuple, Dispatcher, Function
from numba.core.typing.context import Context

from ..data.locks import locked
from ..errors import CacheWarning
from . import references
from .code_files import digest, file_stem, folders, is_safe, make_folder
from .compiled import Compiled
from .references import mark_references, widened

OPTIONS = {"nopython": True, "nogil": True, "boundscheck": None}
ALLOCATING = frozenset(("append", "arange", "argsort", "copy", "empty", "full", "ones", "sort", "unique", "zeros"))
"""A part that names none of these allocates no arrays and is compiled without reference counting."""
UNUSED_PASSES = frozenset(
    (
        "WithLifting",
        "InlineClosureLikes",
        "RewriteDynamicRaises",
        "MakeFunctionToJitFunction",
        "InlineInlinables",
        "FindLiterallyCalls",
        "LiteralUnroll",
        "LiteralPropagationSubPipelinePass",
        "InlineOverloads",
        "DumpParforDiagnostics",
    )
)
"""Passes of numba for `with`, closures, dynamic messages of errors, `literally`, heterogeneous tuples and `prange`."""
NO_CACHE = (
    "compiled code cannot be cached, so every command compiles it again; "
    "name a folder that can be written with the environment variable NUMBA_CACHE_DIR"
)


class QuickFlags(Flags):
    """numba's options of one function. They are part of most lookup keys while a function is typed, and comparing
    them one by one would take a tenth of the compile time."""

    __slots__ = ()
    defaults: ClassVar = {name: option.default for name, option in Flags.options.items()}

    def values(self) -> dict[str, Any]:
        """Return all flags with their values."""
        return {**self.defaults, **self._values}


class _Typing(Context):
    """numba's typing of calls, which remembers those of builtin functions: most of them occur in every loop."""

    def __init__(self, original: Context) -> None:
        self.__dict__.update(original.__dict__)
        self.known: dict[Any, tuple[Any, Any]] = {}

    def resolve_function_type(self, function: Any, arguments: Any, keywords: Any) -> Any:
        """Return the signature of `function` for these types of `arguments` and `keywords`."""
        called = self._lookup_global(function) or function
        if keywords or type(called) is not Function:
            return super().resolve_function_type(function, arguments, keywords)
        key = called, tuple(arguments), ConfigStack().top().nrt
        if key not in self.known:
            found = super().resolve_function_type(function, arguments, keywords)
            if found is None:
                return None
            self.known[key] = found, called.get_impl_key(found)
        found, implementation = self.known[key]
        called._impl_keys[found.args] = implementation
        return found


@cache
def _typing(original: Context) -> _Typing:
    return _Typing(original)


@cache
def _target(original: Any) -> Any:
    """Return numba's description of this machine with a memory of sizes: numba asks LLVM for that of each variable."""
    target = original.subtarget()
    target.get_abi_sizeof = cache(target.get_abi_sizeof)
    return target


class _Compiler(Compiler):
    """numba's compiler with fewer passes and a memory of calls."""

    def __init__(self, typing: Any, target: Any, library: Any, arguments: Any, result: Any, flags: Any, names: Any):
        super().__init__(_typing(typing), _target(target), library, arguments, result, QuickFlags(flags), names)

    def define_pipelines(self) -> list[Any]:
        """Return numba's passes without those for what `compiled` functions do not use."""
        (passes,) = super().define_pipelines()
        passes.passes = [one for one in passes.passes if one[0].__name__ not in UNUSED_PASSES]
        passes._ENFORCING = False  # passes compute anew what they need; numba also does so after each of them
        return [passes]


# Parts --------------------------------------------------------------------------------------------------------------


class _Library(JITCodeLibrary):
    """Code that is optimized once, as a whole, in the library of an entry."""

    _linking_libraries: list[Any]

    def add_ir_module(self, module: Any) -> None:
        mark_references(module)
        super().add_ir_module(module)

    def add_llvm_module(self, module: Any) -> None:
        self._final_module.link_in(module)

    def finalize(self) -> None:
        """Link what is called, directly or not; each library once."""
        libraries = dict.fromkeys(self._linking_libraries)
        waiting = list(libraries)
        while waiting:
            new = [one for one in waiting.pop()._linking_libraries if one not in libraries]
            libraries.update(dict.fromkeys(new))
            waiting += new
        self._linking_libraries = list(libraries)
        super().finalize()

    def _optimize_final_module(self) -> None:
        # numba runs cheap passes before these, for the sake of reference counts, of which this code has few.
        passes, builder = self._codegen._module_pass_manager()
        passes.run(self._final_module, builder)


class _PartLibrary(_Library):
    """Code that is linked into entries and never emitted by itself."""

    def finalize(self) -> None:
        """Leave the code as it is."""
        self._raise_if_finalized()
        self._finalized = True


class _PartCompiler(_Compiler):
    def __init__(self, typing: Any, target: Any, library: Any, arguments: Any, result: Any, flags: Any, names: Any):
        flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        library = _PartLibrary(target.codegen(), "part")
        super().__init__(typing, target, library, arguments, result, flags, names)

    def compile_extra(self, function: Any) -> Any:
        done = super().compile_extra(function)
        # Callers look up the code by its entry point. A part has none, so use a unique builtin.
        done = done._replace(entry_point=[].append)
        self.state.targetctx.insert_user_function(done.entry_point, done.fndesc, [done.library])
        return done


class Part(CPUDispatcher):
    """One function, with a variant for each combination of argument types."""

    @property
    def type(self) -> Any:
        """The type of the function for numba."""
        return Dispatcher(self)

    def get_call_template(self, arguments: Any, keywords: Any) -> Any:
        """Widen the types of `arguments`, so that one variant serves all integers; there are no `keywords`."""
        return super().get_call_template(tuple(map(widened, arguments)), keywords)

    def compile(self, signature: Any) -> Any:
        """Compile for `signature`, without reference counting unless the function allocates arrays."""
        try:
            return super().compile(signature)
        except NumbaError:
            if self.targetoptions["_nrt"]:
                raise
        self.targetoptions["_nrt"] = True  # it allocates arrays in a way that its names do not show
        self._compiler._failed_cache.clear()
        return super().compile(signature)

    def add_overload(self, done: Any) -> None:
        """Store the compiled variant `done` under its types, without anything about reference counts."""
        self.overloads[tuple(done.signature.args)] = done


def make_part(function: Compiled) -> Part:
    """Return `function` as compiled functions call it: inlined into their code."""
    options = {**OPTIONS, "_nrt": _allocates(function)}
    return Part(function.function, targetoptions=options, pipeline_class=_PartCompiler)


def _allocates(function: Compiled) -> bool:
    """Return whether the function, or one that it calls, may allocate arrays."""
    names = function.function.__code__.co_names
    called = (function.function.__globals__.get(name) for name in names)
    return not ALLOCATING.isdisjoint(names) or any(_allocates(other) for other in called if isinstance(other, Compiled))


# Entries ------------------------------------------------------------------------------------------------------------


class _EntryCompiler(_Compiler):
    def __init__(self, typing: Any, target: Any, library: Any, arguments: Any, result: Any, flags: Any, names: Any):
        flags.no_cfunc_wrapper = True
        library = _Library(target.codegen(), "entry")
        library.enable_object_caching()
        super().__init__(typing, target, library, arguments, result, flags, names)

    def compile_extra(self, function: Any) -> Any:
        done = super().compile_extra(function)
        for environment in done._find_referenced_environments():  # those of the parts
            done.codegen.set_env(environment.env_name, environment)
        return done


class Entry(CPUDispatcher):
    """A function that Python calls."""

    def typeof_pyval(self, value: Any) -> Any:
        """Return the type of the argument `value`: that of a reference for a named tuple."""
        kind = super().typeof_pyval(value)
        return widened(kind) if isinstance(kind, BaseNamedTuple) else kind

    def compile(self, signature: Any) -> Any:
        """Compile for `signature`; other processes that need the same code wait meanwhile."""
        with self._cache.alone(signature, self.targetctx), _no_garbage_collection():
            return super().compile(signature)


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Disable garbage collection: numba makes many long-lived objects, and scanning them takes a tenth of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def make_entry(function: Compiled) -> Entry:
    """Return `function` as Python calls it; its machine code is cached on disk."""
    entry = Entry(function.function, targetoptions=dict(OPTIONS), pipeline_class=_EntryCompiler)
    entry._cache = DiskCache(function)
    return entry


# The cache ----------------------------------------------------------------------------------------------------------


class DiskCache:
    """The machine code of one function, one file for each combination of types.

    The name of a file covers everything that its content depends on, and the file begins with a checksum of the rest.
    Code of other versions of nlil is never read, and truncated or damaged files are ignored.
    """

    def __init__(self, function: Compiled) -> None:
        self.function = function

    @property
    def cache_path(self) -> str:
        """The folder that is searched first."""
        return str(next(folders(self.function), ""))

    @contextmanager
    def alone(self, signature: Any, target: Any) -> Iterator[None]:
        """Let one of several processes compile the code; the others wait here, then read it."""
        name = self._name(signature, target.codegen())
        with ExitStack() as stack:
            for folder in folders(self.function):
                with suppress(OSError):
                    if not (folder / name).is_file():
                        make_folder(folder)
                        stack.enter_context(locked(folder / f"{name}.lock", inf))
                    break
            yield

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Return the cached code for `signature`, or None if it has to be compiled."""
        target.refresh()
        for folder in folders(self.function):
            with suppress(OSError):
                if not is_safe(folder):
                    continue
                content = (folder / self._name(signature, target.codegen())).read_bytes()
                if sha256(content[32:]).digest() == content[:32]:
                    return CompileResult._rebuild(target, *loads(content[32:]))
        return None

    def save_overload(self, signature: Any, done: Any) -> None:
        """Write the compiled variant `done` to the first writable folder, and remove code of other versions.

        Where there is none, the code serves this process only, and a CacheWarning says so.
        """
        if done.library.has_dynamic_globals or done.lifted:
            return
        content = dumps(done._reduce())
        name = self._name(signature, done.codegen)
        for folder in folders(self.function):
            with suppress(OSError):
                make_folder(folder)
                _replace(folder / name, sha256(content).digest() + content)
                self._remove_others(folder, name)
                return
        warnings.warn(NO_CACHE, CacheWarning, stacklevel=2)

    def _name(self, signature: Any, codegen: Any) -> str:
        machine = digest(sys.implementation.cache_tag, _version(), *codegen.magic_tuple())[:16]
        variant = digest(*map(str, signature))[:16]
        return f"{file_stem(self.function)}-{machine}-{variant}.machine"

    def _remove_others(self, folder: Path, name: str) -> None:
        own, *made_of, _ = name.rsplit("-", 3)
        for path in folder.glob(f"{own}-*.machine"):
            if path.name.rsplit("-", 3)[1:3] != made_of:
                path.unlink(missing_ok=True)

    def flush(self) -> None:
        """Do nothing; numba calls this before it recompiles all variants."""


def _replace(path: Path, content: bytes) -> None:
    """Write the file atomically."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with open(handle, "wb") as file:
            file.write(content)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


@cache
def _version() -> str:
    """Return the versions and options that the code depends on."""
    compiler = digest(*(Path(file).read_bytes() for file in (__file__, references.__file__)))
    return repr((numba.__version__, llvmlite.__version__, numba.config.OPT, numba.config.BOUNDSCHECK, compiler))
