"""exp(x) for x ≤ 0 and log(1 + x) for 0 ≤ x ≤ 1, of which a loop evaluates several at a time.

A call of the C library's functions keeps a loop out of the vector registers. Here is arithmetic
alone: 1 to 2 ns for a number in a loop over many, instead of 4 to 10, right to about one unit in
the last place. One at a time they are slower than the library's.

Whether a loop gets there is for the compiler to decide, and not easy to foresee: a factor 0.5 more
was once enough to keep it out. Measure after a change.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic, overload

from .._numba.compile import COMMON

_LOG2_E = 1.4426950408889634
# ln 2 in two parts: whole multiples of the first are exact.
_LN2_HIGH, _LN2_LOW = 0.693147180369123816490, 1.90821492927058770002e-10
# A number of this size has no room for a fraction: added to another one, it rounds that, and leaves
# the nearest integer in the last bits.
_ROUNDING = 1.5 * 2.0**52
# Below this the result is 0: the next numbers would have a smaller exponent than there is.
_LEAST = -708.0
_C = tuple(1.0 / math.factorial(k) for k in range(14))  # of exp
_A = tuple(2.0 / (2 * k + 1) for k in range(16))  # of log


def exp_below_zero(x: float) -> float:
    """exp(x) for x ≤ 0, or 0 where that is less than 3e-308."""
    return math.exp(x)


def log1p_of_part(x: float) -> float:
    """log(1 + x) for 0 ≤ x ≤ 1."""
    return math.log1p(x)


@intrinsic
def _as_integer(typing: Any, x: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.int64(types.float64), generate


@intrinsic
def _as_float(typing: Any, bits: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), generate


# Products and sums are contracted, which saves time and rounding errors.
_for_loops = partial(
    overload,
    jit_options={"forceinline": True, "fastmath": {"contract"}, **COMMON},
    strict=False,
)


@_for_loops(exp_below_zero)
def _exp_below_zero(x: Any) -> Any:
    def exp(x):  # type: ignore[no-untyped-def]
        # exp(x) = 2^k exp(r) with |r| ≤ (ln 2)/2, exp(r) by its Taylor polynomial.
        shifted = x * _LOG2_E + _ROUNDING
        k = shifted - _ROUNDING
        r = (x - k * _LN2_HIGH) - k * _LN2_LOW
        r2 = r * r
        r4 = r2 * r2
        low = (_C[2] + _C[3] * r) + r2 * (_C[4] + _C[5] * r)
        middle = (_C[6] + _C[7] * r) + r2 * (_C[8] + _C[9] * r)
        high = (_C[10] + _C[11] * r) + r2 * (_C[12] + _C[13] * r)
        fraction = (1.0 + r) + r2 * (low + r4 * (middle + r4 * high))
        # k in the last bits of ``shifted`` becomes an exponent.
        whole = _as_float(_as_integer(fraction) + (_as_integer(shifted) << np.int64(52)))
        return 0.0 if x < _LEAST else whole

    return exp


@_for_loops(log1p_of_part)
def _log1p_of_part(x: Any) -> Any:
    def log1p(x):  # type: ignore[no-untyped-def]
        # 2 (s + s³/3 + s⁵/5 + …) with s = x/(2 + x) ≤ 1/3, where 2 s is x - s x.
        s = x / (2.0 + x)
        t = s * s
        t2 = t * t
        t4 = t2 * t2
        one = _A[1] + t * (_A[2] + _A[3] * t)
        two = (_A[4] + _A[5] * t) + t2 * (_A[6] + _A[7] * t)
        three = (_A[8] + _A[9] * t) + t2 * (_A[10] + _A[11] * t)
        four = (_A[12] + _A[13] * t) + t2 * (_A[14] + _A[15] * t)
        rest = t * (one + t * (t2 * (two + t4 * (three + t4 * four))))
        return x - s * (x - rest)

    return log1p
