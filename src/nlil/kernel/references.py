"""Named tuples as arguments of compiled functions: passed by reference.

numba passes a named tuple by value: every array of every field becomes seven arguments, several hundred for a graph
with a plan and scratch space. Translating such calls takes a third of the compile time. Here a named tuple is a
`Reference`: a pointer to a structure that the caller owns. A named tuple made by compiled code becomes one when it is
passed on.

The structure is written once, before the call, and never by the callee: its pointer is marked `noalias`, so that
fields are not loaded again inside loops. A compiled function can neither return a named tuple nor keep it.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.datamodel import PrimitiveModel
from numba.core.datamodel.registry import register_default
from numba.core.imputils import impl_ret_borrowed, lower_cast, lower_getattr_generic
from numba.core.pythonapi import NativeValue, unbox
from numba.core.types import BaseNamedTuple, BaseTuple, Integer, int64, uint64, unliteral
from numba.core.typing.templates import AttributeTemplate, infer_getattr


class Reference(types.Type):
    """The numba type of a reference to a named tuple.

    Args:
        tuple_type: the type of the named tuple; named tuples among its fields are references too.
    """

    def __init__(self, tuple_type: BaseNamedTuple) -> None:
        self.instance_class = tuple_type.instance_class
        self.fields = tuple_type.fields
        self.types = tuple(tuple_type.types)
        super().__init__(f"{tuple_type.instance_class.__qualname__}({', '.join(map(str, self.types))}; {self.fields})")


def widened(kind: Any) -> Any:
    """Return the type that stands for `kind` as an argument: one for all integers, references for named tuples."""
    kind = unliteral(kind)
    if isinstance(kind, Integer):
        return kind if kind == uint64 else int64
    if isinstance(kind, BaseNamedTuple):
        return Reference(BaseTuple.from_types(tuple(map(widened, kind.types)), kind.instance_class))
    return kind


# Layout: nested named tuples lie inside the structure of the outer one ------------------------------------------------


@register_default(Reference)
class _ReferenceModel(PrimitiveModel):
    def __init__(self, manager: Any, kind: Reference) -> None:
        super().__init__(manager, kind, _structure(manager, kind).as_pointer())


def _structure(manager: Any, kind: Reference) -> Any:
    fields = (
        _structure(manager, one) if isinstance(one, Reference) else manager[one].get_value_type() for one in kind.types
    )
    return ir.LiteralStructType(list(fields))


@infer_getattr
class _Fields(AttributeTemplate):
    key = Reference

    def generic_resolve(self, kind: Reference, name: str) -> Any:
        return kind.types[kind.fields.index(name)] if name in kind.fields else None


@lower_getattr_generic(Reference)
def _field(context: Any, builder: Any, kind: Reference, pointer: Any, name: str) -> Any:
    index = kind.fields.index(name)
    field = cgutils.gep_inbounds(builder, pointer, 0, index)
    if isinstance(kind.types[index], Reference):
        return field
    return impl_ret_borrowed(context, builder, kind.types[index], builder.load(field))


# Values become references when they are passed ------------------------------------------------------------------------


@lower_cast(BaseNamedTuple, Reference)
def _refer(context: Any, builder: Any, given: BaseNamedTuple, wanted: Reference, value: Any) -> Any:
    pointer = cgutils.alloca_once(builder, context.get_value_type(wanted).pointee)
    for i, (old, new) in enumerate(zip(given.types, wanted.types)):
        item = context.cast(builder, builder.extract_value(value, i), old, new)
        if isinstance(new, Reference):
            item = builder.load(item)
        builder.store(item, cgutils.gep_inbounds(builder, pointer, 0, i))
    return pointer


@unbox(Reference)
def _unbox(kind: Reference, value: Any, c: Any) -> NativeValue:
    pointer = cgutils.alloca_once(c.builder, c.context.get_value_type(kind).pointee)
    failed = cgutils.alloca_once_value(c.builder, cgutils.false_bit)
    _unbox_fields(kind, value, c, pointer, failed)
    return NativeValue(pointer, is_error=c.builder.load(failed))


def _unbox_fields(kind: Reference, value: Any, c: Any, pointer: Any, failed: Any) -> None:
    """Fill the structure at `pointer` with the fields of the named tuple `value`; set `failed` if one does not fit."""
    for i, one in enumerate(kind.types):
        item, field = c.pyapi.tuple_getitem(value, i), cgutils.gep_inbounds(c.builder, pointer, 0, i)
        if isinstance(one, Reference):
            _unbox_fields(one, item, c, field, failed)
            continue
        if isinstance(one, types.Array):
            is_error = _unbox_array(item, c, field)
        else:
            native = c.unbox(one, item)
            c.builder.store(native.value, field)
            is_error = native.is_error
        with c.builder.if_then(is_error, likely=False):
            c.builder.store(cgutils.true_bit, failed)


def _unbox_array(value: Any, c: Any, field: Any) -> Any:
    """Describe the array `value` at `field`; return whether it failed.

    The caller holds the array until the function returns, so that it is not counted as referenced once more.
    """
    function_type = ir.FunctionType(ir.IntType(32), [c.pyapi.pyobj, c.pyapi.voidptr])
    describe = cgutils.get_or_insert_function(c.builder.module, function_type, "numba_adapt_ndarray")
    code = c.builder.call(describe, (value, c.builder.bitcast(field, c.pyapi.voidptr)))
    return cgutils.is_not_null(c.builder, code)


def mark_references(module: Any) -> None:
    """Tell LLVM that functions defined in the `module` do not change what references point to."""
    for function in module.functions:
        if function.is_declaration:
            continue
        for argument in function.args:
            pointee = getattr(argument.type, "pointee", None)
            if argument.name.startswith("arg.") and isinstance(pointee, ir.LiteralStructType):
                argument.add_attribute("noalias")
