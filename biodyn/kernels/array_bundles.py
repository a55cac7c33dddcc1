"""NamedTuples of arrays that kernels take as one pointer (bundles).

Numba passes a NamedTuple as seven or more numbers for each of its arrays. A function that takes a tree with its 21 arrays
then has about 170 arguments, and all are copied when one array is read. This accounted for most of the generated code and
of the compilation time. A bundle is a list of addresses and lengths in memory, and unused fields have no cost.
"""

from __future__ import annotations

import hashlib
import struct
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from llvmlite import ir
from numba import typeof, types
from numba.core import cgutils
from numba.core.imputils import lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.extending import NativeValue, models, register_model, typeof_impl, unbox

_Bundle = TypeVar("_Bundle")
_WORD = ir.IntType(64)


class BundleType(types.Type):
    """Numba type of a bundle with arrays of these names, dtypes and dimensions."""

    def __init__(self, title: str, names: tuple[str, ...], arrays: tuple[types.Array, ...]) -> None:
        self.names, self.arrays = names, arrays
        # short, because it becomes part of the name of every function with such an argument
        digest = hashlib.sha256(repr([names, arrays]).encode()).hexdigest()[:8]
        super().__init__(name=f"{title}{digest}")

    def locate_array(self, name: str) -> tuple[types.Array, int]:
        """Return the type of an array and the index of its first word; the words are its address, then its shape."""
        k = self.names.index(name)
        return self.arrays[k], sum(1 + array.ndim for array in self.arrays[:k])


@register_model(BundleType)
class _BundleModel(models.PrimitiveModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, _WORD.as_pointer())


@infer_getattr
class _Fields(AttributeTemplate):
    key = BundleType

    def generic_resolve(self, typ, attr):  # type: ignore[override]
        return typ.locate_array(attr)[0] if attr in typ.names else None


@lower_getattr_generic(BundleType)
def _lower_field_access(context, builder, bundle, pointer, name):
    array_type, first = bundle.locate_array(name)
    # the words do not change while a kernel runs, so that they are not read again after numbers have been stored
    constant = builder.module.add_metadata([])

    def load_word(k, kind):
        value = builder.load(builder.bitcast(builder.gep(pointer, [_WORD(first + k)]), kind.as_pointer()))
        value.set_metadata("invariant.load", constant)
        return value

    array = cgutils.create_struct_proxy(array_type)(context, builder)
    shape = [load_word(1 + axis, _WORD) for axis in range(array_type.ndim)]
    size = context.get_abi_sizeof(context.get_data_type(array_type.dtype))
    strides: list[Any] = []
    step = _WORD(size)
    for length in reversed(shape):
        strides.insert(0, step)
        step = builder.mul(step, length)
    array.data = load_word(0, array.data.type)
    array.shape, array.strides = cgutils.pack_array(builder, shape, _WORD), cgutils.pack_array(builder, strides, _WORD)
    array.itemsize, array.nitems = _WORD(size), builder.udiv(step, _WORD(size))
    return array._getvalue()


@unbox(BundleType)
def _unbox_bundle(bundle, value, c):
    words = c.pyapi.object_getattr_string(value, "_words")
    with c.builder.if_then(cgutils.is_null(c.builder, words), likely=False):
        c.builder.ret(c.pyapi.get_null_object())
    pointer = c.builder.bitcast(c.pyapi.bytes_as_string(words), _WORD.as_pointer())
    return NativeValue(pointer, cleanup=lambda: c.pyapi.decref(words))


def _addresses_and_shapes(bundle: Any) -> bytes:
    """Return address and shape of each array of a bundle."""
    numbers: list[int] = []
    for array in bundle:
        numbers += (array.__array_interface__["data"][0], *array.shape)
    return struct.pack(f"{len(numbers)}q", *numbers)


def _bundle_type(bundle: Any) -> BundleType:
    """Return the numba type of a bundle; raise TypeError for a field that is not an aligned array in C order."""
    for name, array in zip(bundle._fields, bundle, strict=True):
        if not (isinstance(array, np.ndarray) and array.flags.c_contiguous and array.flags.aligned):
            raise TypeError(f"{name} of {type(bundle).__name__} must be an aligned array in C order.")
    arrays = tuple(types.Array(typeof(array).dtype, array.ndim, "C") for array in bundle)
    return BundleType(type(bundle).__name__, bundle._fields, arrays)


def register_bundle(named_tuple: type[_Bundle]) -> type[_Bundle]:
    """Return a class whose instances kernels take as one pointer; use as the decorator of a NamedTuple of arrays.

    The type and the words of an instance are cached on first use, because a tuple and the addresses of its arrays do not change.
    """
    members = {
        "__module__": named_tuple.__module__,
        "__qualname__": named_tuple.__qualname__,
        "__doc__": named_tuple.__doc__,
        "__reduce__": lambda self: (type(self), tuple(self)),  # a copy has other addresses
        "_kind": cached_property(_bundle_type),
        "_words": cached_property(_addresses_and_shapes),
    }
    extended: Any = type(named_tuple.__name__, (named_tuple,), members)
    typeof_impl.register(extended, lambda value, _: value._kind)
    kernel_ready: type[_Bundle] = extended
    return kernel_ready
