"""Hints to the memory: what will be read soon, so that a kernel need not wait for it.

In a random order of visits the processor cannot foresee the next row. A hint changes no number.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from .._numba.compile import COMMON

# Rows are prefetched AHEAD visits early; their row pointer and scalars 2·AHEAD visits early.
AHEAD = 4
# Nonzeros up to which data is in a near cache anyway, and beyond which it is in none.
CACHED, FAR = 100_000, 2_500_000
# Entries of a row that are prefetched: the processor foresees those behind them. It does not
# foresee what they look up: of a vector, this many entries are prefetched.
PREFETCHED, TARGETS = 128, 2048
# Entries of a vector that fit into a core's own cache: what a row looks up in a larger one is
# prefetched one visit early.
CACHED_VECTOR = 130_000
# Entries of a vector beyond which this pays even where rows are read in order.
FAR_VECTOR = 500_000
# Numbers of a quadratic model beyond which a long row prefetches them along the way.
FAR_MODEL = 200_000


def prefetch(array: Any, i: int) -> None:
    """Prefetch entry i of a contiguous array into all caches."""


def prefetch_far(array: Any, i: int) -> None:
    """The same into all but the first, which can wait for more entries at a time."""


def _hint(locality: int) -> Any:
    """The processor's own instruction: 3 asks into all caches, 2 into all but the first."""

    @intrinsic
    def prefetched(typing: Any, array: Any, i: Any) -> Any:

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
            byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
            kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
            hint = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
            place = builder.bitcast(builder.gep(data, [arguments[1]]), byte)
            # To be read, into which cache, data.
            builder.call(hint, [place, *(ir.Constant(number, v) for v in (0, locality, 1))])
            return context.get_dummy_value()

        return types.void(array, types.intp), generate

    return prefetched


_into_first, _into_second = _hint(3), _hint(2)
_for_kernels = partial(overload, jit_options={"forceinline": True, **COMMON}, strict=False)


@_for_kernels(prefetch)
def _prefetch(array: Any, i: Any) -> Any:
    def ask(array, i):  # type: ignore[no-untyped-def]
        _into_first(array, i)

    return ask


@_for_kernels(prefetch_far)
def _prefetch_far(array: Any, i: Any) -> Any:
    def ask(array, i):  # type: ignore[no-untyped-def]
        _into_second(array, i)

    return ask
