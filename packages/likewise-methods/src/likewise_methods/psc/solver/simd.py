"""Vector registers as values that numba kernels compute with.

Loops over all words dominate the time of ``homotopy``, and compilers left alone make passes through
memory where registers would do.  A value is 64 bytes, 16 float32 or 8 float64, and each function
below is one machine instruction or a few (two with registers of 32 bytes).  Arrays must be
C-contiguous; indices are not checked and may not be negative.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model
from numpy.typing import NDArray

BYTES = 64
_FLAGS = ("contract", "reassoc", "nsz", "nnan")
_SCALARS = {
    types.float32: ir.FloatType(),
    types.float64: ir.DoubleType(),
    types.int32: ir.IntType(32),
}


class Lanes(types.Type):  # type: ignore[misc]
    """The numba type of these values: float32, float64, or int32 (to load and compare)."""

    def __init__(self, scalar: Any) -> None:
        super().__init__(name=f"lanes({scalar})")
        self.scalar = scalar
        self.count = BYTES * 8 // scalar.bitwidth


@register_model(Lanes)
class _Model(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        scalar = _SCALARS[fe_type.scalar]
        super().__init__(dmm, fe_type, ir.VectorType(scalar, fe_type.count))


def _pointer(context: Any, builder: Any, kind: Any, value: Any, where: Any) -> Any:
    array = context.make_array(kind)(context, builder, value)
    places = cgutils.unpack_tuple(builder, where)
    return cgutils.get_item_pointer(context, builder, kind, array, places, wraparound=False)


def _number(at: int) -> Any:
    return ir.Constant(ir.IntType(32), at)


def _broadcast(builder: Any, value: Any, count: int) -> Any:
    kind = ir.VectorType(value.type, count)
    one = builder.insert_element(ir.Constant(kind, ir.Undefined), value, _number(0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), count), [0] * count)
    return builder.shuffle_vector(one, ir.Constant(kind, ir.Undefined), zeros)


def _call_intrinsic(builder: Any, name: str, result: Any, values: Any, **more: Any) -> Any:
    """Call an LLVM intrinsic, its name completed by the type of the last value."""
    kind = values[-1].type
    suffix = f"v{kind.count}{'f32' if kind.element == ir.FloatType() else 'f64'}"
    shape = ir.FunctionType(result, [value.type for value in values])
    made = cgutils.get_or_insert_function(builder.module, shape, f"llvm.{name}.{suffix}")
    return builder.call(made, values, **more)


def _whole(kind: Any) -> Any:
    """Return the integer type of the same size."""
    width = 32 if kind.element == ir.FloatType() else 64
    return ir.VectorType(ir.IntType(width), kind.count)


def _as_places(where: Any) -> Any:
    return types.UniTuple(types.intp, len(where))


@intrinsic
def peek(typing, array, where):  # type: ignore[no-untyped-def]
    """Return the entry of an array at a tuple of indices."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        kind = signature.args[0]
        return context.unpack_value(builder, kind.dtype, _pointer(context, builder, kind, *args))

    return array.dtype(array, _as_places(where)), code


@intrinsic
def load(typing, array, where):  # type: ignore[no-untyped-def]
    """Load entries of an array, from a tuple of indices on."""
    made = Lanes(array.dtype)

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        kind = signature.args[0]
        at = _pointer(context, builder, kind, *args)
        vector = context.get_value_type(made)
        at = builder.bitcast(at, vector.as_pointer())
        return builder.load(at, align=kind.dtype.bitwidth // 8, typ=vector)

    return made(array, _as_places(where)), code


@intrinsic
def store(typing, array, where, value):  # type: ignore[no-untyped-def]
    """Store entries of an array, from a tuple of indices on."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        kind = signature.args[0]
        at = _pointer(context, builder, kind, args[0], args[1])
        at = builder.bitcast(at, args[2].type.as_pointer())
        builder.store(args[2], at, align=kind.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, _as_places(where), value), code


@intrinsic
def broadcast(typing, array, number):  # type: ignore[no-untyped-def]
    """Return a number in every lane, in the type of an array."""
    made = Lanes(array.dtype)

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        value = context.cast(builder, args[1], signature.args[1], made.scalar)
        return _broadcast(builder, value, made.count)

    return made(array, number), code


@intrinsic
def count_up(typing, array, start):  # type: ignore[no-untyped-def]
    """Return start, start + 1, ... in the type of an array."""
    made = Lanes(array.dtype)

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        value = context.cast(builder, args[1], signature.args[1], made.scalar)
        kind = context.get_value_type(made)
        steps = ir.Constant(kind, [float(lane) for lane in range(made.count)])
        return builder.fadd(_broadcast(builder, value, made.count), steps)

    return made(array, start), code


@intrinsic
def labels(typing, array, start):  # type: ignore[no-untyped-def]
    """Return start, start + 1, ... as integers in the bits of an array's type, for ``label``."""
    made = Lanes(array.dtype)

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        kind = _whole(context.get_value_type(made))
        value = context.cast(builder, args[1], signature.args[1], types.int64)
        value = value if kind.element.width == 64 else builder.trunc(value, kind.element)
        steps = ir.Constant(kind, list(range(made.count)))
        return builder.bitcast(
            builder.add(_broadcast(builder, value, made.count), steps),
            context.get_value_type(made),
        )

    return made(array, start), code


@intrinsic
def label(typing, a, bits, words):  # type: ignore[no-untyped-def]
    """Replace the last bits of a by ``words`` of ``labels`` (a word's number takes ``bits``).

    The largest of such numbers carries its word; it is off by the share 2^(bits - 23) in float32,
    2^(bits - 52) in float64.
    """

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        kind = _whole(args[0].type)
        own, number = (builder.bitcast(x, kind) for x in (args[0], args[2]))
        count = args[1] if kind.element.width == 64 else builder.trunc(args[1], kind.element)
        keep = builder.shl(ir.Constant(kind.element, -1), count)
        made = builder.or_(builder.and_(own, _broadcast(builder, keep, kind.count)), number)
        return builder.bitcast(made, args[0].type)

    return a(a, types.int64, a), code


@intrinsic
def word_of(typing, number, bits):  # type: ignore[no-untyped-def]
    """Return the word that ``label`` put into a number."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        kind = ir.IntType(signature.args[0].bitwidth)
        own = builder.bitcast(args[0], kind)
        count = args[1] if kind.width == 64 else builder.trunc(args[1], kind)
        keep = builder.shl(ir.Constant(kind, -1), count)
        word = builder.and_(own, builder.not_(keep))
        return word if kind.width == 64 else builder.zext(word, ir.IntType(64))

    return types.int64(number, types.int64), code


@intrinsic
def plus(typing, a, b, c):  # type: ignore[no-untyped-def]
    """Return a + b c."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return _call_intrinsic(builder, "fmuladd", args[0].type, [args[1], args[2], args[0]])

    return a(a, a, a), code


@intrinsic
def minus(typing, a, b, c):  # type: ignore[no-untyped-def]
    """Return a - b c."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return _call_intrinsic(
            builder, "fmuladd", args[0].type, [builder.fneg(args[1]), args[2], args[0]]
        )

    return a(a, a, a), code


@intrinsic
def times(typing, a, b):  # type: ignore[no-untyped-def]
    """Return a b."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return builder.fmul(*args)

    return a(a, a), code


@intrinsic
def ratio(typing, a, b):  # type: ignore[no-untyped-def]
    """Return a / b."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return builder.fdiv(*args)

    return a(a, a), code


@intrinsic
def if_less(typing, a, b, x, y):  # type: ignore[no-untyped-def]
    """Return x where a < b, y elsewhere."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return builder.select(builder.fcmp_ordered("<", args[0], args[1]), args[2], args[3])

    return a(a, a, a, a), code


def _reduction(name: str, before: tuple[float, ...] = ()) -> Any:
    def typed(typing, a):  # type: ignore[no-untyped-def]
        def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
            scalar = args[0].type.element
            values = [ir.Constant(scalar, x) for x in before] + [args[0]]
            return _call_intrinsic(
                builder, f"vector.reduce.{name}", scalar, values, fastmath=_FLAGS
            )

        return a.scalar(a), code

    return typed


@intrinsic
def total(typing, a):  # type: ignore[no-untyped-def]
    """Return the sum of all lanes."""
    return _reduction("fadd", (-0.0,))(typing, a)


@intrinsic
def least(typing, a):  # type: ignore[no-untyped-def]
    """Return the smallest lane."""
    return _reduction("fmin")(typing, a)


@intrinsic
def most(typing, a):  # type: ignore[no-untyped-def]
    """Return the largest lane."""
    return _reduction("fmax")(typing, a)


@intrinsic
def lane_at(typing, a, number, b):  # type: ignore[no-untyped-def]
    """Return the lane of b at the first lane of a that equals ``number``."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        kind = args[0].type
        same = builder.fcmp_ordered("==", args[0], _broadcast(builder, args[1], kind.count))
        bits = builder.bitcast(same, ir.IntType(kind.count))
        lane = builder.cttz(bits, ir.Constant(ir.IntType(1), 1))
        return builder.extract_element(args[2], builder.zext(lane, ir.IntType(32)))

    return a.scalar(a, a.scalar, a), code


@intrinsic
def if_same(typing, a, b, x, y):  # type: ignore[no-untyped-def]
    """Return x where a = b, y elsewhere."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return builder.select(builder.fcmp_ordered("==", args[0], args[1]), args[2], args[3])

    return a(a, a, a, a), code


@intrinsic
def lowest(typing, bits):  # type: ignore[no-untyped-def]
    """Return the place of the lowest set bit."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), code


@intrinsic
def below(typing, a, number):  # type: ignore[no-untyped-def]
    """Return one bit per lane of integers: whether it is below a number."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        count = args[0].type.count
        less = builder.icmp_signed("<", args[0], _broadcast(builder, args[1], count))
        return builder.zext(builder.bitcast(less, ir.IntType(count)), ir.IntType(64))

    return types.int64(a, a.scalar), code


@intrinsic
def n_bits(typing, bits):  # type: ignore[no-untyped-def]
    """Return how many bits are set."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return builder.ctpop(args[0])

    return types.int64(types.int64), code


@intrinsic
def lanes(typing, array):  # type: ignore[no-untyped-def]
    """Return how many numbers of an array a register holds, known to the compiler."""
    count = BYTES * 8 // array.dtype.bitwidth

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return ir.Constant(ir.IntType(64), count)

    return types.int64(array), code


def pad_width(k: int) -> int:
    """Return the number of words padded for four registers at a time."""
    return (k + 63) & ~63


def pad_support(n: int) -> int:
    """Return the size of a support padded to a register of word numbers."""
    return (n + 15) & ~15


def zeros(shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """Return zeros aligned to a cache line, so that no register spans two lines."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.zeros(size + BYTES, np.uint8)
    start = -memory.ctypes.data % BYTES
    made: NDArray[Any] = memory[start : start + size].view(dtype).reshape(shape)
    return made
