"""What a look at the data tells: whether features overlap, how well conditioned a side is."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh, eigh_tridiagonal

from .._numba.compile import kernel
from .._types import FloatArray
from ..data.matrix import Matrix
from ..data.rows import hessian_product
from ..methods.engine.second_order import hessian_work
from ..problem import Problem
from .costs import Costs

# Features hardly overlap where the sum of their squared cosines, per feature, is at most this: on
# the benchmark's data above it primal coordinate descent takes more than twice the rounds.
LITTLE_OVERLAP = 0.5
# The data is looked at in a sample of this many examples per feature, and at least this many: then
# the overlap is that of all examples within a factor 2.
SAMPLE_PER_FEATURE, LEAST_SAMPLE = 4, 1000
# The curvature of a loss that is not quadratic, as a fraction of β: a median at the optimum.
TYPICAL_CURVATURE = 0.4
# Up to this many coordinates LAPACK finds the smallest eigenvalue; with more, this many steps of
# Lanczos, which cost about as much at that size.
DENSE_SPECTRUM, LANCZOS_STEPS = 500, 60
# No eigenvalue is taken for smaller, nor looked for where the diagonal is larger than this: its
# square overflows.
TINIEST, HUGE = 1e-15, 1e300


def has_data(problem: Problem) -> bool:
    """Whether there is something to look at: what is left of a fitted model's problem has none."""
    return isinstance(problem.matrix, Matrix)


def sample_size(problem: Problem) -> int:
    """The examples that are enough to see how the features overlap."""
    return max(SAMPLE_PER_FEATURE * problem.d, LEAST_SAMPLE)


def sampled(problem: Problem) -> Problem:
    """The problem on some of the examples, where there are many per feature."""
    step = problem.n // sample_size(problem)
    return problem.take(np.arange(0, problem.n, step)) if step > 1 else problem


def is_crowded(problem: Problem) -> bool:
    """Whether features with this many nonzeros overlap, if they were filled at random."""
    return (problem.matrix.nnz / problem.n) ** 2 / problem.d > LITTLE_OVERLAP


def overlap_cost(costs: Costs) -> float:
    """What ``overlaps_little`` takes, in nanoseconds."""
    return 2 * costs.product * min(sample_size(costs.problem) / costs.n, 1.0)


def overlaps_little(problem: Problem) -> bool:
    """Whether the features hardly overlap, by a sample of the examples."""
    return feature_overlap(sampled(problem)) <= LITTLE_OVERLAP


def feature_overlap(problem: Problem) -> float:
    """About Σ_k cos²(X_:i, X_:k) over the features k ≠ i, for an average feature i.

    With S the scaled matrix of inner products, 1 on its diagonal, ‖S g‖² has the mean ‖S‖_F² for
    random signs g. One draw may cancel features that are alike; equal signs do not, where the
    entries of X have one sign. The larger of the two counts.
    """
    scale = problem.matrix.squared_norms("feature")
    np.divide(1.0, np.sqrt(scale), out=scale, where=scale > 0)
    return float(_overlap(problem.matrix.by_example, scale, problem.n))


@kernel
def _overlap(examples, scale, n):  # type: ignore[no-untyped-def]
    used, largest = 0, 0.0
    signed, image = np.empty(scale.size), np.empty(scale.size)
    ones, dots = np.ones(n), np.empty(n)
    for random in (True, False):
        state, used = np.uint64(88172645463325252), 0
        for i in range(scale.size):
            # Marsaglia's xorshift64: the highest bit is the sign.
            state ^= state << np.uint64(13)
            state ^= state >> np.uint64(7)
            state ^= state << np.uint64(17)
            signed[i] = -scale[i] if random and state >> np.uint64(63) else scale[i]
            used += scale[i] > 0.0
        image[:] = 0.0
        hessian_product(examples, ones, signed, 0.0, dots, image)
        square = 0.0
        for i in range(scale.size):
            square += (scale[i] * image[i]) ** 2
        largest = max(largest, square / max(used, 1) - 1.0)
    return largest


def spectrum_cost(costs: Costs) -> float:
    """What ``smallest_eigenvalue`` takes, by feature with n ≥ d and by example otherwise."""
    problem = costs.problem
    if problem.n >= problem.d:
        size, part, work = problem.d, sample_size(problem) / problem.n, hessian_work(problem)
    else:
        size, part, work = problem.n, 1.0, float(problem.n) ** 2 * problem.d / 2
    part = min(part, 1.0)
    if size > DENSE_SPECTRUM:
        return LANCZOS_STEPS * part * costs.product
    return costs.eigenvalue(size, part * work)


def smallest_eigenvalue(problem: Problem, by: str, most: int = DENSE_SPECTRUM) -> float:
    """Of h Xᵀ Diag(c) X + λn I, or of its twin by example, scaled to unit diagonal.

    h is a typical φ''. The former is taken from a sample of the examples. With more than ``most``
    coordinates some steps of Lanczos find the eigenvalue, or a larger number.
    """
    some = sampled(problem) if by == "feature" else problem
    scale = problem.n / some.n * problem.curvature
    if not problem.loss.quadratic:
        scale *= TYPICAL_CURVATURE
    lam_n = problem.lam * problem.n
    side = some.features if by == "feature" else some.examples
    diagonal = scale * side.squared_norms + lam_n
    if not diagonal.max() < HUGE:
        return TINIEST  # nothing is known
    roots = 1.0 / np.sqrt(diagonal)
    if side.size <= most:
        if by == "feature":
            gram = some.matrix.gram_of_features(some.sample_weight)
        else:
            gram = some.matrix.gram_of_examples()
        gram *= scale * np.outer(roots, roots)
        gram[np.diag_indices(side.size)] = 1.0
        found = eigh(gram, lower=True, eigvals_only=True, subset_by_index=[0, 0])[0]
    else:
        found = _lanczos(some, scale, lam_n, roots)
    return float(max(found, lam_n / float(diagonal.max()), TINIEST))


def _lanczos(problem: Problem, scale: float, lam_n: float, roots: FloatArray) -> float:
    """The smallest Ritz value after some steps from a random vector."""
    before, v = np.zeros(problem.d), np.random.default_rng(0).standard_normal(problem.d)
    v /= np.linalg.norm(v)
    along: list[float] = []
    beside: list[float] = []
    for _ in range(min(LANCZOS_STEPS, problem.d)):
        z = problem.matrix.times(roots * v)
        u = roots * (scale * problem.matrix.transposed_times(problem.sample_weight * z))
        u += lam_n * roots**2 * v
        along.append(float(u @ v))
        u -= along[-1] * v + (beside[-1] * before if beside else 0.0)
        beside.append(float(np.linalg.norm(u)))
        if beside[-1] <= 1e-10:
            break
        before, v = v, u / beside[-1]
    return float(eigh_tridiagonal(along, beside[: len(along) - 1], eigvals_only=True)[0])
