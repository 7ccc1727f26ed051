"""All blocks of an index as one table of addresses, so that one kernel call searches them all.

Passing a block's arrays to a kernel takes longer than searching a small block, since each array is
unpacked at every call.  A kernel creates the arrays from the table instead.  A table keeps its
blocks alive, so that their buffers do not move, and has checked each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from likewise_methods.index.blocks import Block
from likewise_methods.index.layout import Array, Views
from likewise_methods.kernels import inside_kernels, kernel

_ARRAYS = Views._fields[: Views._fields.index("width")]
_A = {name: i for i, name in enumerate(_ARRAYS)}
_N = len(_ARRAYS)
# After the addresses of the arrays above, in this order.
(
    _PICTURES, _GROUPS, _BUCKETS, _WORDS, _COLUMNS, _DROPPED, _CODES, _HALF, _ROWS, _WIDTH, _SHIFT,
    _GROUP_SHIFT, _ZERO, _DEAD, _CHECKED, LIVING,
) = range(_N, _N + 16)  # fmt: skip
_IDS, _ROW_ENDS, _ROW_SUMS, _BUCKETS_AT = _A["ids"], _A["row_ends"], _A["row_sums"], _A["buckets"]
_LOW8, _LOW16, _LENGTHS, _SCALE = _A["low8"], _A["low16"], _A["lengths"], _A["scale"]
_COLUMN_WORDS, _COLUMN_SCALE = _A["column_words"], _A["column_scale"]
_DROPPED_AT, _CODES_AT, _COLUMNS_AT = _A["dropped"], _A["codes"], _A["columns"]
_ROWS_AT, _ROW_VALUES, _STEPS = _A["rows"], _A["row_values"], _A["steps"]


class Table(NamedTuple):
    """Blocks, smallest first, and their addresses and sizes for kernels."""

    of: tuple[Block, ...]  # the tuple of blocks that this table was made from
    blocks: tuple[Block, ...]
    numbers: Array  # int64 (blocks, LIVING + 1): addresses of arrays, then sizes
    norms: Array  # float64 (blocks, 2): of lists, of columns
    living: int


def make_table(of: tuple[Block, ...]) -> Table:
    """Return the table of these blocks, after checking each."""
    blocks = tuple(sorted(of, key=lambda block: block.living))
    numbers = np.array([_describe(block) for block in blocks], np.int64).reshape(-1, LIVING + 1)
    norms = [(block.sizes.list_norm, block.sizes.column_norm) for block in blocks]
    living = sum(block.living for block in blocks)
    return Table(of, blocks, numbers, np.array(norms, np.float64).reshape(-1, 2), living)


def _describe(block: Block) -> Sequence[int]:
    v = block.views()
    s = block.sizes
    addresses = [getattr(v, name).ctypes.data for name in _ARRAYS]
    sizes = (
        s.pictures, len(v.row_sums), len(v.buckets), s.words, s.columns, s.dropped, s.codes, s.half,
        len(v.rows), s.width, s.shift, v.group_shift, s.zero,
    )  # fmt: skip
    return [
        *addresses,
        *sizes,
        block.dead.ctypes.data,
        block.checked.ctypes.data,
        block.living,
    ]


@inside_kernels
def _pointer() -> Any:
    """``_pointer(address)``: convert a number to a pointer for ``carray``."""
    from numba import types
    from numba.extending import intrinsic

    @intrinsic  # type: ignore[untyped-decorator, unused-ignore]
    def pointer(typing_context: Any, address: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], context.get_value_type(types.voidptr))

        return types.voidptr(types.int64), emit

    return pointer


@inside_kernels
def _carray() -> Any:
    """``carray`` of numba: an array at a pointer."""
    from numba import carray

    return carray


@kernel(inline="always")
def _at(row, which, n, kind):  # type: ignore[no-untyped-def]
    return _carray(_pointer(row[which]), (n,), kind)


@kernel
def views_at(row, norms):  # type: ignore[no-untyped-def]
    """Return the arrays of a block from its row of the table."""
    n, words, columns = row[_PICTURES], row[_WORDS], row[_COLUMNS]
    narrow = row[_SHIFT] <= 8
    return Views(
        _at(row, _IDS, n, np.int64),
        _at(row, _ROW_ENDS, n + 1, np.int64),
        _at(row, _ROW_SUMS, row[_GROUPS], np.uint64),
        _carray(_pointer(row[_BUCKETS_AT]), (row[_BUCKETS], 2), np.uint32),
        _at(row, _LOW8, words if narrow else 0, np.uint8),
        _at(row, _LOW16, 0 if narrow else words, np.uint16),
        _at(row, _LENGTHS, words, np.uint16),
        _at(row, _SCALE, words, np.uint8),
        _at(row, _COLUMN_WORDS, columns, np.uint32),
        _at(row, _COLUMN_SCALE, columns, np.uint8),
        _at(row, _DROPPED_AT, row[_DROPPED], np.uint32),
        _at(row, _CODES_AT, row[_CODES], np.uint16),
        _carray(_pointer(row[_COLUMNS_AT]), (columns, row[_HALF]), np.uint8),
        _at(row, _ROWS_AT, row[_ROWS], np.uint32),
        _at(row, _ROW_VALUES, row[_ROWS], np.float32),
        _at(row, _STEPS, 256, np.float64),
        row[_WIDTH],
        row[_SHIFT],
        row[_GROUP_SHIFT],
        row[_ZERO],
        norms[0],
        norms[1],
    )


@kernel
def marks_at(row):  # type: ignore[no-untyped-def]
    """Return the flags of dead pictures and of checked row groups of a block."""
    dead = _at(row, _DEAD, row[_PICTURES], np.uint8)
    return dead, _at(row, _CHECKED, row[_GROUPS], np.uint8)
