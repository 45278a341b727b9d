"""What a unit of work costs on a common machine: the numbers by which methods are priced.

The same everywhere, so that the same seed gives the same bits everywhere. Ratios matter, and only
roughly: the observed contraction corrects a wrong first choice. ``python -m benchmarks.calibrate``
measures every field on the machine it runs on; with ``--write`` it puts the numbers in here.
"""

from __future__ import annotations

from typing import NamedTuple


class Machine(NamedTuple):
    """Nanoseconds per unit of work, unless the comment names another unit.

    "Near" means that what is looked up fits in the caches of ``costs``, "far" that it does not.
    """

    # An epoch of dual coordinate descent, its rows in random order.
    visit_sparse: float  # per nonzero, w near
    visit_sparse_far: float  # per nonzero, w far
    visit_dense: float  # per entry, rows near
    visit_dense_far: float  # per entry, rows far
    row_far: float  # per sparse row, rows far
    example: float  # per example, where the one-dimensional problem takes exponentials
    example_closed: float  # per example, where it has a closed form
    example_near: float  # the same, sparse rows and all else near
    # A round of primal coordinate descent: a quadratic model and three passes.
    round_sparse: float  # in visits of a nonzero, per nonzero
    round_dense: float  # in visits of an entry, per entry
    example_of_model: float  # per example
    # A product with X and one with its transpose, from one reading.
    product_sparse: float  # per nonzero, vector near
    product_sparse_far: float  # per nonzero, vector far
    product_dense: float  # per entry, rows near
    product_dense_far: float  # per entry, rows far
    product_example: float  # per example of dense data
    product_example_sparse: float  # per example of sparse data
    product_call: float  # per call
    # Matrices that are made and factored.
    scattered: float  # per multiply-add into a Hessian of sparse rows
    flop: float  # per multiply-add in BLAS
    scaled: float  # per entry of dense rows that are weighted for a Hessian
    entry: float  # per entry of a matrix that is made, scaled and copied before it is factored
    cholesky: float  # per multiply-add in the factorisation of a large matrix, its making included
    gram_call: float  # per Gram matrix
    # Newton steps.
    step: float  # per step
    compiled_step: float  # per step, where one call makes all of them
    example_of_step: float  # per example in a step of truncated Newton
    # The smallest eigenvalue of a matrix, by LAPACK.
    eigen_call: float  # per call
    eigen_entry: float  # per entry
    eigen_cube: float  # per cube of the size
    # The softmax loss, whose data is multiplied with a column per class.
    columns_sparse: float  # a product with X and one with its transpose, per nonzero and class
    columns_dense: float  # the same per entry and class
    columns_class: float  # the Hessian between the two, per example and class
    columns_call: float  # per step of conjugate gradients
    softmax_class: float  # a point on a line search, per example and class
    softmax_step: float  # per truncated Newton step
    softmax_pair: float  # per example and pair of classes in a small Hessian
    outer: float  # per multiply-add in a small Hessian
    # Copies.
    copy: float  # per nonzero of a transposed copy


MACHINE = Machine(
    visit_sparse=1.6,
    visit_sparse_far=2.6,
    visit_dense=0.45,
    visit_dense_far=0.8,
    row_far=100.0,
    example=70.0,
    example_closed=30.0,
    example_near=12.0,
    round_sparse=3.5,
    round_dense=8.0,
    example_of_model=25.0,
    product_sparse=1.0,
    product_sparse_far=1.8,
    product_dense=0.22,
    product_dense_far=0.42,
    product_example=3.0,
    product_example_sparse=6.0,
    product_call=2000.0,
    scattered=0.8,
    flop=0.05,
    scaled=0.8,
    entry=6.0,
    cholesky=0.032,
    gram_call=200000.0,
    step=70000.0,
    compiled_step=5000.0,
    example_of_step=18.0,
    eigen_call=250000.0,
    eigen_entry=3.0,
    eigen_cube=0.07,
    columns_sparse=0.45,
    columns_dense=0.15,
    columns_class=1.0,
    columns_call=25000.0,
    softmax_class=6.0,
    softmax_step=100000.0,
    softmax_pair=20.0,
    outer=0.25,
    copy=10.0,
)
