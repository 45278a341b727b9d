"""Storage: every layout gives the same numbers, and the caller's arrays are left alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import random_matrix
from scipy import sparse

from primaldual import Problem, advise, solve
from primaldual._numba.compile import kernel
from primaldual.data import checks
from primaldual.data.checks import BROKEN, CANONICAL, NOT_CANONICAL, finite_nonzeros, inspect
from primaldual.data.gram import ALONG, FEW_ROWS
from primaldual.data.matrix import Matrix
from primaldual.data.pieces import row_ranges
from primaldual.data.prefetch import FAR, FAR_MODEL, FAR_VECTOR
from primaldual.data.rows import (
    DenseRows,
    EvenRows,
    SparseRows,
    UnitRows,
    hessian_product,
    model_add,
    model_slope,
    row_add,
    row_add_back,
    row_add_model,
    row_dot,
    row_slope,
)
from primaldual.losses import Logistic

N, D = 7, 5


@pytest.fixture
def X():
    """A small matrix with an empty row and an empty column."""
    X = random_matrix(3, N, D, density=0.6)
    X[2] = 0.0
    X[:, 1] = 0.0
    return X


def with_index_type(X, dtype):
    X = sparse.csr_array(X)
    X.indices, X.indptr = X.indices.astype(dtype), X.indptr.astype(dtype)
    return X


LAYOUTS = {
    "C order": np.ascontiguousarray,
    "Fortran order": np.asfortranarray,
    "strided": lambda X: np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2],
    "CSR": sparse.csr_array,
    "CSC": sparse.csc_array,
    "COO": sparse.coo_array,
    "CSR matrix": sparse.csr_matrix,
    "CSR with int64 indices": lambda X: with_index_type(X, np.int64),
}


@kernel
def compiled_primitives(rows, loss, vector, y, c, scale, dots, sums, slopes):
    for i in range(dots.size):
        dots[i] = row_dot(rows, i, vector)
        slopes[i] = row_slope(rows, i, loss, vector, y, c)
        row_add(rows, i, scale[i], sums)


def plain_primitives(rows, loss, vector, y, c, scale, dots, sums, slopes):
    for i in range(dots.size):
        dots[i] = row_dot(rows, i, vector)
        slopes[i] = row_slope(rows, i, loss, vector, y, c)
        row_add(rows, i, scale[i], sums)


# --- primitives -----------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["example", "feature"])
@pytest.mark.parametrize("layout", ["C order", "CSR", "CSR with int64 indices"])
@pytest.mark.parametrize("run", [plain_primitives, compiled_primitives])
def test_primitives_equal_their_formulas(X, run, layout, by):
    matrix = Matrix(LAYOUTS[layout](X))
    rows = matrix.by_example if by == "example" else matrix.by_feature
    A = X if by == "example" else X.T
    rng = np.random.default_rng(0)
    vector, c = rng.standard_normal(A.shape[1]), rng.random(A.shape[1])
    y, scale = np.sign(rng.standard_normal(A.shape[1])), rng.standard_normal(A.shape[0])
    dots, sums, slopes = np.empty(len(A)), np.zeros(A.shape[1]), np.empty(len(A))
    run(rows, Logistic(), vector, y, c, scale, dots, sums, slopes)
    np.testing.assert_allclose(dots, A @ vector, atol=1e-14)
    np.testing.assert_allclose(sums, scale @ A, atol=1e-14)
    derivatives = [c[j] * Logistic().derivative(vector[j], y[j]) for j in range(A.shape[1])]
    np.testing.assert_allclose(slopes, A @ derivatives, atol=1e-14)


@pytest.mark.parametrize("layout", ["C order", "CSR"])
def test_plain_primitives_accumulate_float32_data_in_float64(X, layout):
    single = X.astype(np.float32)
    rows = Matrix(LAYOUTS[layout](single)).by_example
    vector, out = np.linspace(-1, 1, D), np.zeros(D)
    exact = single.astype(np.float64)
    assert row_dot(rows, 0, vector) == pytest.approx(exact[0] @ vector, abs=1e-14)
    row_add(rows, 0, 1 / 3, out)
    np.testing.assert_allclose(out, exact[0] / 3, rtol=1e-14)


# --- values that are alike ------------------------------------------------------------------------


def unit(X):
    """Ones where there is something."""
    return np.where(X == 0, 0.0, 1.0)


def even(X):
    """The same, each row scaled to length 1."""
    X = unit(X)
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1.0)


ALIKE = {UnitRows: unit, EvenRows: even}


@pytest.fixture
def few_are_many(monkeypatch):
    """Values are looked at also where there are few."""
    monkeypatch.setattr(checks, "MANY_VALUES", 0)


@pytest.mark.parametrize("kind", ALIKE)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_values_that_are_alike_are_seen(few_are_many, X, kind, dtype):
    A = ALIKE[kind](X).astype(dtype)
    matrix = Matrix(sparse.csr_array(A))
    assert type(matrix.stored) is type(matrix.take(np.array([4, 0, 2])).stored) is kind
    across = UnitRows if kind is UnitRows else SparseRows  # a feature meets rows of other lengths
    assert type(matrix.by_feature) is type(Matrix(sparse.csc_array(A)).stored) is across
    assert type(matrix.sparse_rows("example")) is kind
    # Values that are stored behind the last row are not looked at.
    longer = sparse.csr_array(A)
    longer.indices = np.append(longer.indices, longer.indices[:1])
    longer.data = np.append(longer.data, dtype(7.0))
    assert type(Matrix(longer).stored) is kind


@pytest.mark.parametrize("place", [(0, 0), (3, 2), (6, 4)])
def test_one_other_value_is_seen(few_are_many, place):
    A = np.ones((N, D))
    A[1, 0] = A[4, 1] = 0.0
    A[place] = 2.0
    assert type(Matrix(sparse.csr_array(A)).stored) is SparseRows
    A[place[0]] = np.where(A[place[0]] != 0, 2.0, 0.0)
    assert type(Matrix(sparse.csr_array(A)).stored) is EvenRows


def test_duplicates_are_summed_before_values_are_compared(few_are_many):
    rows, columns = np.array([0, 0, 1, 1]), np.array([0, 0, 1, 2])
    halves = sparse.coo_array((np.array([0.5, 0.5, 1.0, 1.0]), (rows, columns)), shape=(2, 3))
    assert type(Matrix(halves).stored) is UnitRows
    ones = sparse.coo_array((np.ones(4), (rows, columns)), shape=(2, 3))
    assert type(Matrix(ones).stored) is EvenRows
    explicit = sparse.csr_array(
        (np.array([1.0, 0.0, 1.0]), np.array([0, 1, 2]), np.array([0, 2, 3])), shape=(2, 3)
    )
    assert type(Matrix(explicit).stored) is UnitRows


def test_a_few_values_are_read_whatever_they_are():
    ones = np.arange(checks.MANY_VALUES) % 2 == 0
    assert type(Matrix(sparse.csr_array(ones.reshape(100, -1))).stored) is SparseRows
    ones = np.arange(3 * checks.MANY_VALUES) % 2 == 0
    assert type(Matrix(sparse.csr_array(ones.reshape(100, -1))).stored) is UnitRows


@kernel
def compiled_steps(rows, model, scale, out):
    for i in range(out.shape[0]):
        out[i] = model_slope(rows, i, model)
        model_add(rows, i, scale[i], model)


@pytest.mark.parametrize("kind", ALIKE)
def test_values_that_are_alike_are_multiplied_as_others(few_are_many, X, kind):
    A, rng = ALIKE[kind](X), np.random.default_rng(1)
    matrix = Matrix(sparse.csr_array(A))
    rows, same = matrix.by_example, SparseRows(*matrix.by_example)
    vector, c = rng.standard_normal(D), rng.random(D)
    y, scale = np.sign(rng.standard_normal(D)), rng.standard_normal(N)
    found = []
    for one in (rows, same):
        dots, sums, slopes = np.empty(N), np.zeros(D), np.empty(N)
        compiled_primitives(one, Logistic(), vector, y, c, scale, dots, sums, slopes)
        plain = np.empty(N), np.zeros(D), np.empty(N)
        plain_primitives(one, Logistic(), vector, y, c, scale, *plain)
        np.testing.assert_allclose(np.concatenate(plain), np.concatenate([dots, sums, slopes]))
        back, slope, curvature = np.zeros(D), np.zeros(D), np.ones(D)
        added_back(one, scale, back)
        bent, moved = np.zeros(D), np.empty(N)
        compiled_model(one, scale, np.abs(scale), vector, 0.5, slope, curvature, moved, bent)
        model = np.column_stack([vector, c])
        steps = np.empty((N, 2))
        compiled_steps(one, model, scale, steps)
        found.append([dots, sums, slopes, back, slope, curvature, bent, moved, model, steps])
    for got, expected in zip(*found, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(found[0][0], A @ vector, atol=1e-14)
    np.testing.assert_allclose(found[0][1], scale @ A, atol=1e-14)
    margins, sums = matrix.products(vector, scale)
    np.testing.assert_allclose(margins, A @ vector, atol=1e-14)
    np.testing.assert_allclose(sums, scale @ A, atol=1e-14)
    lower = np.tril(A.T @ np.diag(np.abs(scale)) @ A)
    np.testing.assert_allclose(np.tril(matrix.gram_of_features(np.abs(scale))), lower, atol=1e-14)


@pytest.mark.parametrize("kind", ALIKE)
@pytest.mark.parametrize("method", ["dual_cd", "primal_cd", "newton_cg"])
def test_a_solution_does_not_depend_on_how_values_are_read(few_are_many, kind, method):
    A = ALIKE[kind](random_matrix(5, 60, 20, density=0.15))
    y = np.where(np.arange(60) % 3 == 0, -1.0, 1.0)
    result = solve(Problem(sparse.csr_array(A), y, lam=0.01), method, tol=1e-12, seed=0)
    assert type(result.problem.matrix.stored) is kind and result.converged
    proof = Problem(A, y, lam=0.01).certify(result.w, result.alpha)
    assert proof.relative_gap <= 2e-12


# --- products and norms ---------------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_gives_the_same_products_counts_and_norms(X, layout):
    matrix = Matrix(LAYOUTS[layout](X))
    rng = np.random.default_rng(1)
    w, alpha = rng.standard_normal(D), rng.standard_normal(N)
    weights = {"example": rng.random(D), "feature": rng.random(N)}
    assert matrix.shape == (N, D)
    assert matrix.nnz == np.count_nonzero(X)
    for _ in range(2):  # before and after both layouts exist
        np.testing.assert_allclose(matrix.times(w), X @ w, atol=1e-14)
        np.testing.assert_allclose(matrix.transposed_times(alpha), X.T @ alpha, atol=1e-14)
        for by, A in (("example", X), ("feature", X.T)):
            np.testing.assert_array_equal(matrix.counts(by), np.count_nonzero(A, axis=1))
            np.testing.assert_allclose(matrix.squared_norms(by), (A * A).sum(axis=1), rtol=1e-14)
            np.testing.assert_allclose(
                matrix.squared_norms(by, weights[by]), (A * A) @ weights[by], rtol=1e-14
            )
            stored = matrix.sparse_rows(by)
            entries = (stored.values, stored.indices, stored.indptr)
            np.testing.assert_array_equal(sparse.csr_array(entries, shape=A.shape).toarray(), A)
        assert matrix.by_example is not None and matrix.by_feature is not None


@pytest.mark.parametrize("layout", ["C order", "Fortran order", "CSR", "CSC"])
def test_float32_data_is_kept_and_multiplied_in_float64(layout):
    X = random_matrix(5, 40, 30).astype(np.float32)
    matrix = Matrix(LAYOUTS[layout](X))
    exact = X.astype(np.float64)
    w, alpha = np.linspace(-1, 2, 30), np.linspace(1, -3, 40)
    assert matrix.dtype == np.float32
    np.testing.assert_allclose(matrix.times(w), exact @ w, rtol=0, atol=1e-12)
    np.testing.assert_allclose(matrix.transposed_times(alpha), exact.T @ alpha, rtol=0, atol=1e-12)
    norms = (exact * exact).sum(axis=0)
    np.testing.assert_allclose(matrix.squared_norms("feature"), norms, rtol=1e-12)


def test_products_of_tall_data_are_the_same_block_by_block(monkeypatch):
    X = random_matrix(6, 50, 3).astype(np.float32)
    monkeypatch.setattr("primaldual.data.pieces.blocks.__defaults__", (12,))
    matrix = Matrix(X)
    np.testing.assert_allclose(matrix.times(np.ones(3)), X.astype(float).sum(axis=1), rtol=1e-14)
    np.testing.assert_allclose(
        matrix.transposed_times(np.ones(50)), X.astype(float).sum(axis=0), rtol=1e-13
    )
    np.testing.assert_array_equal(matrix.counts("feature"), np.count_nonzero(X, axis=0))


@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray, sparse.csr_array])
def test_gram_matrices_are_the_same_in_tiles(monkeypatch, layout):
    monkeypatch.setattr("primaldual.data.gram.GRAM_DEPTH", 3)
    monkeypatch.setattr("primaldual.data.gram.GRAM_TILE", 5)
    rng = np.random.default_rng(0)
    X, h = rng.standard_normal((40, 17)), rng.random(40) * (rng.random(40) < 0.8)
    matrix = Matrix(layout(X))
    of_features, of_examples = matrix.gram_of_features(h), matrix.gram_of_examples()
    np.testing.assert_allclose(np.tril(of_features), np.tril(X.T @ (h[:, None] * X)), atol=1e-12)
    np.testing.assert_allclose(np.tril(of_examples), np.tril(X @ X.T), atol=1e-12)


@kernel
def added_back(rows, scales, out):
    for i in range(scales.size):
        row_add_back(rows, i, scales[i], out)


def test_a_row_that_is_added_from_its_end_is_added_whole(X):
    scales, expected = np.arange(1.0, N + 1), np.arange(1.0, N + 1) @ X
    for data in (X, sparse.csr_array(X)):
        rows = Matrix(data).by_example
        for add in (added_back, added_back.py_func):  # compiled, and as it reads
            out = np.zeros(D)
            add(rows, scales, out)
            np.testing.assert_allclose(out, expected, atol=1e-12)


def test_products_are_the_same_whichever_layouts_are_there():
    X = sparse.csr_array(random_matrix(5, 90, 4, density=0.5))
    for data in (X, X.tocsc(), X.toarray()):
        matrix, w, alpha = Matrix(data), np.arange(4.0), np.arange(90.0)
        assert matrix.by_feature and matrix.by_example
        np.testing.assert_allclose(matrix.times(w), X @ w, atol=1e-12)
        np.testing.assert_allclose(matrix.transposed_times(alpha), X.T @ alpha, atol=1e-10)


@pytest.mark.parametrize("n", [1, 5, FEW_ROWS, FEW_ROWS + 1])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_gram_matrices_of_few_and_of_many_dense_examples_are_right(n, dtype):
    X = np.random.default_rng(n).standard_normal((n, ALONG + 7)).astype(dtype)
    exact = X.astype(np.float64)
    gram = Matrix(X).gram_of_examples()
    assert gram.shape == (n, n)
    np.testing.assert_allclose(np.tril(gram), np.tril(exact @ exact.T), atol=1e-10)


def test_rows_are_split_by_the_work_they_are():
    before = np.array([0, 4, 5, 5, 30, 31, 32])
    assert list(row_ranges(before, 6)) == [(0, 3), (3, 4), (4, 6)]
    assert list(row_ranges(before, 100)) == [(0, 6)]


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64, bool, np.float16, np.longdouble])
def test_other_real_types_become_floats(dtype):
    X = np.array([[1, 0], [0, 1], [1, 1]]).astype(dtype)
    for data in (X, sparse.csr_array(X) if dtype != np.float16 else X):
        matrix = Matrix(data)
        assert matrix.dtype in (np.float64, np.float32)
        np.testing.assert_array_equal(matrix.times(np.array([1.0, 2.0])), [1.0, 2.0, 3.0])


def test_big_endian_data_is_read_right(X):
    np.testing.assert_allclose(Matrix(X.astype(">f8")).times(np.ones(D)), X.sum(axis=1))


# --- no copies, no changes ------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_dense_data_is_not_copied(X, dtype):
    by_rows, by_columns = X.astype(dtype), np.asfortranarray(X.astype(dtype))
    assert np.shares_memory(Matrix(by_rows).by_example.values, by_rows)
    assert np.shares_memory(Matrix(by_columns).by_feature.values, by_columns)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("layout", ["CSR", "CSC", "CSR with int64 indices"])
def test_canonical_sparse_data_is_not_copied(X, layout, dtype):
    data = LAYOUTS[layout](X.astype(dtype))
    matrix = Matrix(data)
    rows = matrix.by_feature if layout == "CSC" else matrix.by_example
    assert np.shares_memory(rows.values, data.data)
    assert np.shares_memory(rows.indices, data.indices)
    if layout == "CSR with int64 indices":
        assert np.shares_memory(rows.indptr, data.indptr)


def test_the_library_cannot_write_into_the_callers_data(X):
    for data in (X, sparse.csr_array(X)):
        for rows in (Matrix(data).by_example, Matrix(data).by_feature):
            assert not rows.values.flags.writeable
    assert X.flags.writeable


@pytest.mark.parametrize("layout", ["C order", "Fortran order", "CSR", "CSC"])
def test_read_only_data_is_accepted(X, layout):
    data = LAYOUTS[layout](X)
    arrays = (data.data, data.indices, data.indptr) if sparse.issparse(data) else (data,)
    for array in arrays:
        array.flags.writeable = False
    matrix = Matrix(data)
    np.testing.assert_allclose(matrix.times(np.ones(D)), X.sum(axis=1))
    assert matrix.by_example is not None and matrix.by_feature is not None


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_memory_mapped_data_is_read_in_place(X, tmp_path, dtype):
    stored = np.memmap(tmp_path / "data.bin", dtype=dtype, mode="w+", shape=X.shape)
    stored[:] = X
    stored.flush()
    mapped = np.memmap(tmp_path / "data.bin", dtype=dtype, mode="r", shape=X.shape)
    matrix = Matrix(mapped)
    assert np.shares_memory(matrix.by_example.values, mapped)
    np.testing.assert_allclose(matrix.times(np.ones(D)), mapped.astype(float).sum(axis=1))


def untidy(kind):
    """[[1, 0, 3], [0, 0, 0], [4, 0, -2]], unsorted, with a duplicate, a zero and a cancellation."""
    values = np.array([2.0, 1.0, 1.0, 0.0, 5.0, -5.0, -2.0, 4.0])
    minor = np.array([2, 0, 2, 1, 1, 1, 2, 0])
    return kind((values, minor, np.array([0, 4, 6, 8])), shape=(3, 3))


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_array])
def test_untidy_sparse_data_is_tidied_in_a_copy(kind):
    data = untidy(kind)
    before = data.data.copy(), data.indices.copy(), data.indptr.copy()
    tidy = np.array([[1.0, 0, 3], [0, 0, 0], [4, 0, -2]])
    tidy = tidy if kind is sparse.csr_array else tidy.T
    matrix = Matrix(data)
    assert matrix.nnz == 4
    np.testing.assert_array_equal(matrix.counts("example"), np.count_nonzero(tidy, axis=1))
    np.testing.assert_array_equal(matrix.counts("feature"), np.count_nonzero(tidy, axis=0))
    np.testing.assert_array_equal(matrix.times(np.eye(3)[2]), tidy[:, 2])
    np.testing.assert_allclose(matrix.squared_norms("example"), (tidy**2).sum(axis=1))
    for now, then in zip((data.data, data.indices, data.indptr), before, strict=True):
        np.testing.assert_array_equal(now, then)


def test_coo_data_with_duplicates_is_summed_and_left_alone():
    data = sparse.coo_array(([1.0, 2.0, 3.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    np.testing.assert_array_equal(Matrix(data).times(np.array([1.0, 10.0])), [30.0, 3.0])
    assert data.nnz == 3
    np.testing.assert_array_equal(data.data, [1.0, 2.0, 3.0])


def test_stored_entries_beyond_the_last_row_are_ignored(X):
    data = sparse.csr_array(X)
    stored = data.nnz
    data.data = np.append(data.data, [np.nan, 1.0])
    data.indices = np.append(data.indices, [0, 0]).astype(data.indices.dtype)
    matrix = Matrix(data)
    assert matrix.nnz == stored
    np.testing.assert_allclose(matrix.times(np.ones(D)), X.sum(axis=1), atol=1e-14)
    np.testing.assert_array_equal(matrix.counts("feature"), np.count_nonzero(X, axis=0))


# --- the second layout ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("layout", "other"), [("CSR", "by_feature"), ("CSC", "by_example"), ("C order", "by_feature")]
)
def test_the_second_layout_is_not_built_for_advice_or_a_certificate(X, layout, other):
    problem = Problem(LAYOUTS[layout](X), np.arange(N), loss="squared", lam=0.1)
    advise(problem)
    problem.certify(np.ones(D))
    assert other not in problem.matrix.__dict__


def test_the_second_layout_is_built_once(X):
    matrix = Matrix(sparse.csr_array(X))
    assert matrix.by_feature is matrix.by_feature
    assert isinstance(matrix.by_feature, SparseRows)
    assert isinstance(Matrix(X).by_feature, DenseRows)


# --- broken structure -----------------------------------------------------------------------------


def set_index(X):
    X.indices[0] = D


def set_negative_index(X):
    X.indices[0] = -1


def set_decreasing_pointers(X):
    X.indptr[1] = X.indptr[2] + 1


def set_pointers_past_the_end(X):
    X.indptr[-1] += 5


def set_first_pointer(X):
    X.indptr[0] = 1


def set_too_few_pointers(X):
    X.indptr = X.indptr[:-1]


def set_too_few_indices(X):
    X.indices = X.indices[:-2]


@pytest.mark.parametrize(
    "corrupt",
    [
        set_index,
        set_negative_index,
        set_decreasing_pointers,
        set_pointers_past_the_end,
        set_first_pointer,
        set_too_few_pointers,
        set_too_few_indices,
    ],
)
def test_corrupted_sparse_structure_is_refused(corrupt):
    data = sparse.csr_array(random_matrix(0, N, D, density=1.0))
    corrupt(data)
    with pytest.raises(ValueError, match="X is not a valid sparse matrix"):
        Matrix(data)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_nonzeros_are_counted_by_their_bits(dtype):
    tiny = np.finfo(dtype).smallest_subnormal
    values = np.array([0.0, -0.0, 1.0, -2.0, tiny, -tiny, np.finfo(dtype).max], dtype=dtype)
    assert finite_nonzeros(values) == 5
    for bad in (np.nan, -np.nan, np.inf, -np.inf):
        assert finite_nonzeros(np.append(values, dtype(bad))) == -1
    assert finite_nonzeros(np.empty(0, dtype=dtype)) == 0


@settings(deadline=None)  # the first call compiles
@given(
    st.lists(st.lists(st.integers(-1, 4), max_size=4), min_size=1, max_size=6),
    st.sampled_from([np.int32, np.int64]),
)
def test_structure_is_judged_as_row_by_row(columns, dtype):
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in columns])]).astype(np.int64)
    indices = np.array([column for row in columns for column in row], dtype=dtype)
    rows = SparseRows(indptr, indices, np.ones(len(indices)))
    if any(not 0 <= column < 4 for row in columns for column in row):
        expected = BROKEN
    elif all(list(row) == sorted(set(row)) for row in columns):
        expected = CANONICAL
    else:
        expected = NOT_CANONICAL
    assert inspect(rows, len(columns), 4)[0] == expected


def test_dense_squares_and_counts_are_those_of_numpy():
    rng = np.random.default_rng(0)
    for dtype in (np.float64, np.float32):
        for order in "CF":
            X = np.asarray(rng.standard_normal((30, 70)).astype(dtype), order=order)
            X[np.abs(X) < 0.5] = 0.0
            matrix, squares = Matrix(X), X.astype(np.float64) ** 2
            examples, features = rng.random(30), rng.random(70)
            for by, weights, wanted in (
                ("example", None, squares.sum(axis=1)),
                ("feature", None, squares.sum(axis=0)),
                ("example", features, squares @ features),
                ("feature", examples, examples @ squares),
            ):
                np.testing.assert_allclose(matrix.squared_norms(by, weights), wanted, rtol=1e-12)
            assert (matrix.counts("example") == (X != 0).sum(axis=1)).all()
            assert (matrix.counts("feature") == (X != 0).sum(axis=0)).all()
            assert matrix.nnz == np.count_nonzero(X)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_both_products_are_the_two_products(X, layout):
    rng = np.random.default_rng(0)
    w, alpha = rng.standard_normal(D), rng.standard_normal(N)
    alpha[3] = 0.0
    margins, sums = Matrix(LAYOUTS[layout](X)).products(w, alpha)
    np.testing.assert_allclose(margins, X @ w, atol=1e-14)
    np.testing.assert_allclose(sums, X.T @ alpha, atol=1e-14)


@kernel
def compiled_model(rows, first, second, vector, shift, slope, curvature, dots, out):
    for i in range(first.size):
        row_add_model(rows, i, first[i], second[i], slope, curvature)
    return hessian_product(rows, second, vector, shift, dots, out)


@pytest.mark.parametrize("as_compiled", [True, False])
@pytest.mark.parametrize("layout", ["C order", "CSR"])
@pytest.mark.parametrize("flat", [(), (0,), (4,), (0, 1, 2, 3, 5)])
def test_products_with_a_hessian_leave_out_flat_rows_only(X, layout, flat, as_compiled):
    """Dense rows are taken four at a time: the flat ones may fall anywhere."""
    rng = np.random.default_rng(1)
    first, second, vector = rng.standard_normal(N), rng.random(N), rng.standard_normal(D)
    second[list(flat)] = 0.0
    rows = Matrix(LAYOUTS[layout](X)).by_example
    slope, curvature, out, dots = np.zeros(D), np.zeros(D), np.zeros(D), np.full(N, np.nan)
    run = compiled_model if as_compiled else compiled_model.py_func
    energy = run(rows, first, second, vector, 0.5, slope, curvature, dots, out)
    moved = X @ vector + 0.5
    np.testing.assert_allclose(slope, X.T @ first, atol=1e-14)
    np.testing.assert_allclose(curvature, (X * X).T @ second, atol=1e-14)
    np.testing.assert_allclose(out, X.T @ (second * moved), atol=1e-14)
    np.testing.assert_allclose(dots[second > 0], moved[second > 0], atol=1e-14)
    assert energy == pytest.approx(second @ moved**2)


# --- data beyond the caches, where the memory is asked ahead of time ------------------------------


@kernel
def model_slopes(rows, model, out):
    for i in range(len(out)):
        out[i] = model_slope(rows, i, model)[0]


def far_data(n, d, per_row):
    """Rows of equal length in random columns; the last row and the last column are in use."""
    rng = np.random.default_rng(0)
    indices = rng.integers(0, d, n * per_row, dtype=np.int32)
    indices[-1] = d - 1
    indptr = np.arange(n + 1) * per_row
    X = sparse.csr_array((rng.standard_normal(n * per_row), indices, indptr), shape=(n, d))
    X.sum_duplicates()
    return X, rng.standard_normal(d), rng.standard_normal(n)


def test_products_with_far_vectors_are_those_of_scipy():
    X, w, alpha = far_data(2000, FAR_VECTOR + 1, 200)
    matrix = Matrix(X)
    z, v = matrix.products(w, alpha)
    for ours in (matrix.times(w), z):
        assert np.allclose(ours, X @ w, rtol=1e-12, atol=1e-12)
    for ours in (matrix.transposed_times(alpha), v):
        assert np.allclose(ours, X.T @ alpha, rtol=1e-12, atol=1e-12)


def test_long_columns_of_a_far_model_are_summed_whole():
    X, _, first = far_data(FAR_MODEL // 2 + 1, 7, 4)
    model = np.stack([first, np.ones_like(first)], axis=1)
    out = np.empty(7)
    model_slopes(Matrix(X).by_feature, model, out)
    assert np.allclose(out, X.T @ first, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("method", ["dual_cd", "primal_cd"])
def test_descent_on_far_data_comes_to_its_gap(method):
    X, w, _ = far_data(FAR // 20, 1000, 21)
    assert X.nnz > FAR
    problem = Problem(X, np.where(X @ w > 0, 1.0, -1.0), lam=0.1)
    assert solve(problem, method, tol=1e-4, seed=0, max_passes=60).converged
