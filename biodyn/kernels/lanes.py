"""SIMD over eight frames: `Lanes`, a vector of doubles that numba code uses like a float.

A kernel written for scalars computes `WIDTH` frames at once if its numbers are Lanes. The operators + - * / and unary minus are
defined for Lanes, and for Lanes and floats. Lanes exist in registers only: they are loaded from and stored to flat float64
arrays ("lane memory") in which the values of one quantity for WIDTH frames are adjacent.

`copy_from_frames` and `copy_to_frames` copy between arrays (T, n), with one row per frame, and lane memory, in blocks of
WIDTH frames by a multiple of WIDTH columns that are transposed in registers; copying single numbers would take longer
than the arithmetic of some kernels. Numbers that do not fill a block are copied individually.
"""

from __future__ import annotations

import math
import operator
from typing import Any, Final, NamedTuple

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, overload, register_model

from biodyn.conventions import FloatArray
from biodyn.kernels.jit import INLINE_OPTIONS, inline, part

#: Number of frames computed together: one AVX-512 register, else two AVX2 or four NEON registers, which hides latency.
WIDTH: Final = 8
#: Number of columns that are stored frame by frame: a frame is not aligned, so that adjacent vectors share a cache line.
_STORED_COLUMNS: Final = 4 * WIDTH


class LanesType(types.Type):
    """Numba type of a vector of WIDTH doubles."""

    def __init__(self) -> None:
        super().__init__(name=f"Lanes{WIDTH}")


lanes = LanesType()
#: The corresponding LLVM type.
VECTOR: Final = ir.VectorType(ir.DoubleType(), WIDTH)
_BITS = ir.VectorType(ir.IntType(64), WIDTH)
_FLAGS = ("contract",)
_intrinsic: Any = intrinsic  # untyped, because mypy would require the typing context as an argument of the caller
_literal_intrinsic: Any = intrinsic(prefer_literal=True)


@register_model(LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, VECTOR)


def _broadcast(builder, value):
    undefined = ir.Constant(VECTOR, ir.Undefined)
    first = builder.insert_element(undefined, value, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), [0] * WIDTH))


def _register_binary_operator(function, instruction):
    def infer_types(self, args, kws):
        if len(args) == 2 and lanes in args and all(a == lanes or a == types.float64 for a in args):
            return signature(lanes, *args)
        return None

    infer_global(function)(type("LanesOperator", (AbstractTemplate,), {"key": function, "generic": infer_types}))

    def lower_operator(context, builder, sig, args):
        a, b = (x if t == lanes else _broadcast(builder, x) for x, t in zip(args, sig.args, strict=True))
        return getattr(builder, instruction)(a, b, flags=_FLAGS)

    for signature_ in ((lanes, lanes), (lanes, types.float64), (types.float64, lanes)):
        lower_builtin(function, *signature_)(lower_operator)


for _function, _instruction in (
    (operator.add, "fadd"),
    (operator.sub, "fsub"),
    (operator.mul, "fmul"),
    (operator.truediv, "fdiv"),
):
    _register_binary_operator(_function, _instruction)


@infer_global(operator.neg)
class _LanesNegation(AbstractTemplate):
    key = operator.neg

    def generic(self, args, kws):
        return signature(lanes, lanes) if args == (lanes,) else None


@lower_builtin(operator.neg, lanes)
def _negate(context, builder, sig, args):
    return builder.fsub(ir.Constant(VECTOR, [-0.0] * WIDTH), args[0])


def _lane_pointer(context, builder, array_type, array, offset):
    data = cgutils.create_struct_proxy(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [offset]), VECTOR.as_pointer())


@_intrinsic
def load(typingctx, memory, offset):
    """load(memory, offset) -> Lanes: WIDTH consecutive doubles of a flat float64 array."""
    sig = lanes(memory, types.intp)

    def codegen(context, builder, signature_, args):
        return builder.load(_lane_pointer(context, builder, signature_.args[0], *args), align=8)

    return sig, codegen


@_intrinsic
def store(typingctx, memory, offset, value):
    """store(memory, offset, value): store Lanes in WIDTH consecutive doubles of a flat float64 array."""
    sig = types.void(memory, types.intp, lanes)

    def codegen(context, builder, signature_, args):
        builder.store(args[2], _lane_pointer(context, builder, signature_.args[0], *args[:2]), align=8)
        return context.get_dummy_value()

    return sig, codegen


@_intrinsic
def load_number(typingctx, memory, offset):
    """load_number(memory, offset) -> float: one number of a flat float64 array; a negative offset is not supported."""
    sig = types.float64(memory, types.intp)

    def codegen(context, builder, signature_, args):
        data = cgutils.create_struct_proxy(signature_.args[0])(context, builder, args[0]).data
        return builder.load(builder.gep(data, [args[1]]))

    return sig, codegen


@_intrinsic
def _prefetch_for_writing(typingctx, array, offset):
    """Request the cache line of one number of a C-ordered array, without waiting for it."""
    sig = types.void(array, types.intp)

    def codegen(context, builder, signature_, args):
        address, option = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [address, option, option, option])
        prefetch = builder.module.declare_intrinsic("llvm.prefetch", (address,), kind)
        data = cgutils.create_struct_proxy(signature_.args[0])(context, builder, args[0]).data
        at = builder.bitcast(builder.gep(data, [args[1]]), address)
        builder.call(prefetch, [at, option(1), option(3), option(1)])  # for writing, into the first cache, data
        return context.get_dummy_value()

    return sig, codegen


@_intrinsic
def broadcast(typingctx, value):
    """broadcast(x) -> Lanes with x in every lane."""
    return lanes(types.float64), lambda context, builder, signature_, args: _broadcast(builder, args[0])


@_intrinsic
def _select_by_quadrant(typingctx, shifted, sine, cosine):
    # the low bits of the mantissa of `shifted` contain the quadrant
    def codegen(context, builder, signature_, args):
        def constant(value):
            return ir.Constant(_BITS, [value] * WIDTH)

        bits = builder.bitcast(args[0], _BITS)
        odd = builder.icmp_signed("!=", builder.and_(bits, constant(1)), constant(0))
        results = []
        for turn, one, other in ((bits, 1, 2), (builder.add(bits, constant(1)), 2, 1)):
            value = builder.bitcast(builder.select(odd, args[other], args[one]), _BITS)
            sign = builder.shl(builder.and_(turn, constant(2)), constant(62))
            results.append(builder.bitcast(builder.xor(value, sign), VECTOR))
        return context.make_tuple(builder, signature_.return_type, results)

    return types.UniTuple(lanes, 2)(lanes, lanes, lanes), codegen


_TO_QUADRANTS = 0.6366197723675814  # 2 / pi
_SHIFT = 6755399441055744.0  # 1.5 * 2**52: adding it rounds to an integer
# pi / 2 in three parts, the first two with 33 significant bits so that quadrant * part is exact (Cody & Waite 1980)
_PART_1 = 1.57079632673412561417
_PART_2 = 6.07710050630396597660e-11
_PART_3 = 2.02226624879595063154e-21


@inline
def lanes_sine_cosine(angle):
    """Return (sin, cos) of Lanes, to about one unit in the last place for |angle| < 1e6 rad."""
    shifted = angle * _TO_QUADRANTS + _SHIFT
    quadrant = shifted - _SHIFT
    r = ((angle - quadrant * _PART_1) - quadrant * _PART_2) - quadrant * _PART_3
    z = r * r
    # Taylor's coefficients adjusted for [-pi/4, pi/4] (minimax, error < 2**-58; Muller 2016, Elementary Functions)
    s = 1.58969099521155010221e-10 * z - 2.50507602534068634195e-08
    s = s * z + 2.75573137070700676789e-06
    s = s * z - 1.98412698298579493134e-04
    s = s * z + 8.33333333332248946124e-03
    s = s * z - 1.66666666666666324348e-01
    c = -1.13596475577881948265e-11 * z + 2.08757232129817482790e-09
    c = c * z - 2.75573143513906633035e-07
    c = c * z + 2.48015872894767294178e-05
    c = c * z - 1.38888888888741095749e-03
    c = c * z + 4.16666666666666019037e-02
    return _select_by_quadrant(shifted, r + r * z * s, (1.0 - 0.5 * z) + z * z * c)


@inline
def load3(memory, field):
    """Return the 3-vector of Lanes in fields field .. field + 2 of lane memory (a field is WIDTH doubles)."""
    at = field * WIDTH
    return (load(memory, at), load(memory, at + WIDTH), load(memory, at + 2 * WIDTH))


@inline
def store3(memory, field, a):
    """Store a 3-vector of Lanes in the fields field .. field + 2."""
    at = field * WIDTH
    store(memory, at, a[0])
    store(memory, at + WIDTH, a[1])
    store(memory, at + 2 * WIDTH, a[2])


@inline
def load6(memory, field):
    """Return the symmetric matrix of Lanes in fields field .. field + 5."""
    a, b = load3(memory, field), load3(memory, field + 3)
    return (a[0], a[1], a[2], b[0], b[1], b[2])


@inline
def store6(memory, field, S):
    """Store a symmetric matrix of Lanes in the fields field .. field + 5."""
    store3(memory, field, (S[0], S[1], S[2]))
    store3(memory, field + 3, (S[3], S[4], S[5]))


@inline
def load9(memory, field):
    """Return the matrix of Lanes in fields field .. field + 8."""
    a, b, c = load3(memory, field), load3(memory, field + 3), load3(memory, field + 6)
    return (a[0], a[1], a[2], b[0], b[1], b[2], c[0], c[1], c[2])


@inline
def store9(memory, field, R):
    """Store a matrix of Lanes in the fields field .. field + 8."""
    store3(memory, field, (R[0], R[1], R[2]))
    store3(memory, field + 3, (R[3], R[4], R[5]))
    store3(memory, field + 6, (R[6], R[7], R[8]))


@inline
def broadcast3(a):
    """Return a float vector as a vector of Lanes."""
    return (broadcast(a[0]), broadcast(a[1]), broadcast(a[2]))


class LaneMemory(NamedTuple):
    """Lane memory as a distinct type. `load_value` reads Lanes from it, and floats from a float array."""

    data: FloatArray


class AnglesWithSines(NamedTuple):
    """Angles (floats) with their sines and cosines, which are computed in advance, eight at a time."""

    data: FloatArray
    sine: FloatArray
    cosine: FloatArray


def load_value(memory, j):
    """Return number j of LaneMemory (as Lanes) or of a float array (as a float). For kernels only."""
    raise NotImplementedError("load_value() exists inside compiled kernels only")


def broadcast_like(memory, x):
    """Return x as the type of number that `load_value` reads from memory. For kernels only."""
    raise NotImplementedError("broadcast_like() exists inside compiled kernels only")


def sine_cosine(memory, j):
    """Return (sin, cos) of number j of memory. For kernels only."""
    raise NotImplementedError("sine_cosine() exists inside compiled kernels only")


def _holds_lanes(memory):
    return getattr(memory, "instance_class", None) is LaneMemory


@overload(load_value, jit_options=INLINE_OPTIONS)
def _overload_load_value(memory, j):
    if isinstance(memory, types.Array):
        return lambda memory, j: memory[j]
    if _holds_lanes(memory):
        return lambda memory, j: load(memory.data, j * WIDTH)
    return lambda memory, j: memory.data[j]


@overload(broadcast_like, jit_options=INLINE_OPTIONS)
def _overload_broadcast_like(memory, x):
    if _holds_lanes(memory):
        return lambda memory, x: broadcast(x)
    return lambda memory, x: x


@overload(sine_cosine, jit_options=INLINE_OPTIONS)
def _overload_sine_cosine(memory, j):
    if isinstance(memory, types.Array):
        return lambda memory, j: (math.sin(memory[j]), math.cos(memory[j]))
    if _holds_lanes(memory):
        return lambda memory, j: lanes_sine_cosine(load(memory.data, j * WIDTH))
    return lambda memory, j: (memory.sine[j], memory.cosine[j])


@inline
def fill_sines_cosines(memory):
    """Fill the sines and cosines of `AnglesWithSines`, whose arrays consist of whole blocks of WIDTH."""
    for at in range(0, memory.data.shape[0], WIDTH):
        s, c = lanes_sine_cosine(load(memory.data, at))
        store(memory.sine, at, s)
        store(memory.cosine, at, c)


@inline
def load_value3(memory, j):
    """Return numbers j .. j + 2 as a vector."""
    return (load_value(memory, j), load_value(memory, j + 1), load_value(memory, j + 2))


@inline
def broadcast_like3(memory, a):
    """Return a float vector as a vector of the type of number in memory."""
    return (broadcast_like(memory, a[0]), broadcast_like(memory, a[1]), broadcast_like(memory, a[2]))


@inline
def broadcast_like9(memory, R):
    """Return a float matrix as a matrix of the type of number in memory."""
    a, b = broadcast_like3(memory, (R[0], R[1], R[2])), broadcast_like3(memory, (R[3], R[4], R[5]))
    c = broadcast_like3(memory, (R[6], R[7], R[8]))
    return (a[0], a[1], a[2], b[0], b[1], b[2], c[0], c[1], c[2])


# indices of the numbers of two vectors of eight (8 to 15 for the second vector) that form a new vector
_FIRST_OF_PAIRS, _SECOND_OF_PAIRS = (0, 8, 2, 10, 4, 12, 6, 14), (1, 9, 3, 11, 5, 13, 7, 15)
_EVEN_PIECES, _ODD_PIECES = (0, 1, 4, 5, 8, 9, 12, 13), (2, 3, 6, 7, 10, 11, 14, 15)


def _transpose_rows(builder: Any, rows: list[Any]) -> list[Any]:
    """Return the columns of an 8 x 8 matrix from its rows, by interleaving pairs of rows and then exchanging pairs of
    numbers."""

    def shuffle_pair(a: Any, b: Any, chosen: tuple[int, ...]) -> Any:
        return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), chosen))

    columns: list[Any] = [None] * WIDTH
    for parity, chosen in enumerate((_FIRST_OF_PAIRS, _SECOND_OF_PAIRS)):
        # piece c of pairs[r] is rows 2 r and 2 r + 1 of column 2 c + parity
        pairs = [shuffle_pair(rows[r], rows[r + 1], chosen) for r in range(0, WIDTH, 2)]
        for odd, pieces in enumerate((_EVEN_PIECES, _ODD_PIECES)):
            upper, lower = shuffle_pair(pairs[0], pairs[1], pieces), shuffle_pair(pairs[2], pairs[3], pieces)
            columns[2 * odd + parity] = shuffle_pair(upper, lower, _EVEN_PIECES)
            columns[2 * odd + parity + 4] = shuffle_pair(upper, lower, _ODD_PIECES)
    return columns


@_literal_intrinsic
def _transpose_blocks(typingctx, source, at, step, target, to, leap, count):
    """Copy `count` rows of WIDTH numbers of a C-ordered `source` to the columns of WIDTH rows of a C-ordered `target`.

    Row r of the source starts at the flat index at + r step, row c of the target at to + c leap. count: a constant multiple of
    WIDTH.
    """
    if not all(isinstance(array, types.Array) and array.layout == "C" for array in (source, target)):
        return None
    sig = types.void(source, types.intp, types.intp, target, types.intp, types.intp, count)

    def codegen(context, builder, signature_, args):
        def pointer(k, row, column=0):
            data = cgutils.create_struct_proxy(signature_.args[k])(context, builder, args[k]).data
            where = builder.add(args[k + 1], builder.mul(args[k + 2], ir.Constant(args[k + 2].type, row)))
            where = builder.add(where, ir.Constant(where.type, column))
            return builder.bitcast(builder.gep(data, [where]), VECTOR.as_pointer())

        rows = [builder.load(pointer(0, r), align=8) for r in range(count.literal_value)]
        blocks = [_transpose_rows(builder, rows[r : r + WIDTH]) for r in range(0, len(rows), WIDTH)]
        for c in range(WIDTH):
            for b, columns in enumerate(blocks):
                builder.store(columns[c], pointer(3, c, b * WIDTH), align=8)
        return context.get_dummy_value()

    return sig, codegen


@inline
def _has_whole_blocks(frames, first):
    """Return whether `frames` (T, n) has whole blocks of WIDTH columns in rows first .. first + WIDTH - 1."""
    return first + WIDTH <= frames.shape[0] and frames.shape[1] >= WIDTH


@part
def copy_from_frames(memory, frames, first):
    """Copy rows first .. first + WIDTH - 1 of `frames` (T, n) to lane memory; beyond the end the last row is repeated."""
    last, n = frames.shape[0] - 1, frames.shape[1]
    if _has_whole_blocks(frames, first):
        for j in range(0, n, WIDTH):
            at = min(j, n - WIDTH)  # the last block may overlap the one before
            _transpose_blocks(frames, first * n + at, n, memory, at * WIDTH, WIDTH, WIDTH)
    else:
        for k in range(n * WIDTH):  # one loop: of two, the compiler would repeat the inner one WIDTH times
            memory[k] = frames[min(first + k % WIDTH, last), k // WIDTH]


@inline
def prefetch_frames(frames, first):
    """Load rows first .. first + WIDTH - 1 of `frames` into the first cache, if they fit, during the arithmetic before
    `copy_to_frames`."""
    n = frames.shape[1]
    for at in range(first * n, min(first + WIDTH, frames.shape[0]) * n, WIDTH):
        _prefetch_for_writing(frames, at)


@part
def copy_to_frames(memory, frames, first):
    """Copy lane memory to rows first .. first + WIDTH - 1 of `frames` (T, n), up to its last row."""
    n = frames.shape[1]
    if _has_whole_blocks(frames, first):
        rest = n - n % _STORED_COLUMNS
        for j in range(0, rest, _STORED_COLUMNS):
            _transpose_blocks(memory, j * WIDTH, WIDTH, frames, first * n + j, n, _STORED_COLUMNS)
        for j in range(rest, n, WIDTH):
            at = min(j, n - WIDTH)
            _transpose_blocks(memory, at * WIDTH, WIDTH, frames, first * n + at, n, WIDTH)
    else:
        for lane in range(min(WIDTH, frames.shape[0] - first)):
            for j in range(n):
                frames[first + lane, j] = memory[j * WIDTH + lane]
