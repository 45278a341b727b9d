"""Readers agree with other readers, bit by bit, and replay what they did."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import os
import subprocess
import sys
import time
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fuzz_readers import READERS, fuzz
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import io as scipy_io
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from primaldual import files
from primaldual.files import FileError, FileWarning, Limits, columns, read, svmlight
from primaldual.files.sources import Source

polars = pytest.importorskip("polars", reason="CSV and Parquet need polars, in the extra io")


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def same_bits(a: Any, b: Any) -> bool:
    return np.asarray(a, dtype=float).tobytes() == np.asarray(b, dtype=float).tobytes()


# ---- LIBSVM text


@pytest.mark.parametrize("zero_based", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_rows_are_those_of_scikit_learn(seed: int, zero_based: bool, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    X = sparse.random_array((200, 50), density=0.1, rng=rng, format="csr")
    X.data = rng.standard_normal(X.nnz) * 10.0 ** rng.integers(-20, 20, X.nnz)
    y = rng.standard_normal(200)
    path = tmp_path / "data.svm"
    dump_svmlight_file(X, y, str(path), zero_based=zero_based)
    theirs, labels = load_svmlight_file(str(path))
    table = read(path)
    assert isinstance(table.X, sparse.csr_array)
    assert table.X.indices.dtype == table.X.indptr.dtype == np.int32
    assert table.X.shape == theirs.shape
    assert np.array_equal(table.X.indptr, theirs.indptr)
    assert np.array_equal(table.X.indices, theirs.indices)
    assert same_bits(table.X.data, theirs.data)
    assert same_bits(table.y, labels)
    assert table.X.has_canonical_format


def read_numbers(folder: Path, tokens: list[str]) -> Any:
    return read(write(folder, "numbers.svm", "\n".join(tokens))).y


def test_random_numbers_are_rounded_as_python_does(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 0x7FE0000000000000, 50_000).view(np.float64)
    digits = rng.integers(0, 18, len(bits))
    tokens = [repr(float(x)) for x in rng.standard_normal(50_000)]
    tokens += [f"{x:.{k}e}" for x, k in zip(bits.tolist(), digits.tolist(), strict=True)]
    integers, powers = rng.integers(1, 2**62, 50_000), rng.integers(-340, 290, 50_000)
    tokens += [f"-{m}e{p}" for m, p in zip(integers.tolist(), powers.tolist(), strict=True)]
    assert same_bits(read_numbers(tmp_path, tokens), [float(token) for token in tokens])


def test_numbers_halfway_between_two_are_rounded_to_even(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    odd = (rng.integers(2**53, 2**54, 20_000) | 1).tolist()
    shifts = rng.integers(0, 9, 20_000).tolist()
    tokens = [str(m << k) for m, k in zip(odd, shifts, strict=True)]
    tokens += [str(Decimal(m) / 2**k) for m, k in zip(odd, shifts, strict=True)]
    tokens += [str(m / 2**20) for m in odd]
    assert same_bits(read_numbers(tmp_path, tokens), [float(token) for token in tokens])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("numbers")


@settings(max_examples=50, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(0, 25))
def test_any_number_in_any_length_is_rounded_as_python_does(
    folder: Path, x: float, digits: int
) -> None:
    tokens = [repr(x), f"{x:.{digits}e}", f"{x:.{digits}g}"]
    tokens = [token for token in tokens if np.isfinite(float(token))]
    assert same_bits(read_numbers(folder, tokens), [float(token) for token in tokens])


@pytest.mark.parametrize("size", [8, 31, 64])
def test_pieces_do_not_show(size: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    lines = [f"{k % 3} " + " ".join(f"{j}:{j / 7}" for j in range(1, k % 9)) for k in range(60)]
    path = write(tmp_path, "data.svm", "\ufeff# top\n\n" + "\n".join(lines))
    whole = read(path)
    monkeypatch.setattr(svmlight, "CHUNK", size)
    pieces = read(path)
    assert same_bits(whole.X.toarray(), pieces.X.toarray())
    assert same_bits(whole.y, pieces.y)
    path = write(tmp_path, "bad.svm", "\n".join(["#", "", *lines, "1 2:1 1:1 1:1", *lines]))
    with pytest.raises(FileError, match=rf"bad\.svm:{len(lines) + 3}: index 1 stands twice"):
        read(path)
    path = write(tmp_path, "bad.svm", "\n".join(["#", "", *lines, "1 2:1e999", *lines]))
    with pytest.raises(FileError, match=rf"bad\.svm:{len(lines) + 3}: '1e999' is too large"):
        read(path)


def test_a_line_may_be_longer_than_a_piece(tmp_path: Path) -> None:
    values = np.arange(1, 200_001) / 3
    line = "1 " + " ".join(f"{j}:{value!r}" for j, value in enumerate(values.tolist(), 1))
    table = read(write(tmp_path, "data.svm", f"{line}\n-1 1:5\n{line}"))
    assert len(line) > 3 * svmlight.CHUNK
    assert table.X.shape == (3, 200_000)
    assert same_bits(table.X[[2]].toarray()[0], values)


def test_limits_can_be_raised(tmp_path: Path) -> None:
    path = write(tmp_path, "data.svm", f"1 {2**31 + 7}:1\n")
    with pytest.raises(FileError, match="raise Limits"):
        read(path)
    table = read(path, limits=Limits(features=2**40))
    assert table.X.shape == (1, 2**31 + 7)
    assert table.X.indices.dtype == np.int64
    with pytest.raises(ValueError, match=r"Limits\.ratio must be positive, got 0"):
        Limits(ratio=0)


def test_progress_counts_the_bytes_of_the_file(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    content = "".join(f"1 1:{x}\n" for x in rng.standard_normal(100_000).tolist()).encode()
    for path in (
        write(tmp_path, "data.svm", content),
        write(tmp_path, "data.svm.gz", gzip.compress(content, 1)),
    ):
        seen: list[tuple[int, int | None]] = []
        read(path, progress=lambda done, total, seen=seen: seen.append((done, total)))
        done = [pair[0] for pair in seen]
        assert done == sorted(done)
        assert done[-1] == path.stat().st_size == seen[0][1]
        assert len(set(done)) > 2


def test_many_rows_of_numbers_and_words_become_features(tmp_path: Path) -> None:
    """More rows than are encoded at a time, with zeros and missing words."""
    pytest.importorskip("polars")
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 3, 9000), rng.choice(["x", "y", "", "z"], 9000)
    rows = "".join(
        f"{left},{right},{k % 2}\n" for k, (left, right) in enumerate(zip(a, b, strict=True))
    )
    table = read(write(tmp_path, "d.csv", "a,b,y\n" + rows), impute="zero")
    assert table.feature_names == ["a", "b=x", "b=y", "b=z"]
    expected = np.column_stack([a, b == "x", b == "y", b == "z"])
    np.testing.assert_array_equal(table.X.toarray(), expected)
    assert table.X.nnz == np.count_nonzero(expected) and table.X.has_canonical_format


def piped(content: bytes, code: str) -> str:
    run = subprocess.run(
        [sys.executable, "-c", code], input=content, capture_output=True, check=True
    )
    return run.stdout.decode()


def test_standard_input() -> None:
    code = (
        "from primaldual.files import read; totals = set()\n"
        "table = read('-', progress=lambda done, total: totals.add(total))\n"
        "print(table.X.shape, table.y, table.source, totals)"
    )
    assert piped(gzip.compress(b"1 1:2\n-1 3:1\n"), code) == "(2, 3) [ 1. -1.] <stdin> {None}\n"


def test_standard_input_of_another_format() -> None:
    code = "from primaldual.files import read; print(read('-').feature_names)"
    assert piped(b"age,city,y\n1,Graz,0\n2,Linz,1\n", code) == "['age', 'city=Graz', 'city=Linz']\n"


def test_an_error_on_standard_input_names_it() -> None:
    code = "from primaldual import files\ntry: files.read('-')\nexcept ValueError as e: print(e)"
    assert piped(b"1 1:2\nx\n", code).startswith("<stdin>:2: expected a number as label, got 'x'")


@pytest.mark.parametrize("name", ["missing.svm", "", "with\0null"])
def test_a_file_that_cannot_be_opened(name: str, tmp_path: Path) -> None:
    with pytest.raises(FileError, match="cannot be opened: "):
        read(f"{tmp_path}/{name}")


def test_no_numba_is_loaded_where_none_is_needed() -> None:
    code = "import sys, primaldual.files; assert not {'numba', 'polars'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


# ---- archives


def test_zstd(tmp_path: Path) -> None:
    zstd: Any = pytest.importorskip(
        "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd",
        reason="zstd needs backports.zstd, in the extra io, before Python 3.14",
    )
    packed = zstd.compress(b"1 1:2\n-1 3:1\n" * 1000)
    table = read(write(tmp_path, "data.svm.zst", packed + packed))
    assert table.X.shape == (4000, 3)
    with pytest.raises(FileError, match=r"\.zst:2001: the archive is damaged or cut short"):
        read(write(tmp_path, "cut.svm.zst", packed + packed[:-3]))
    with pytest.raises(FileError, match="the archive is damaged"):
        read(write(tmp_path, "bad.svm.zst", packed[:6] + b"\xff" * 30))


def test_zstd_says_what_it_needs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("compression", "compression.zstd", "backports", "backports.zstd"):
        monkeypatch.setitem(sys.modules, name, None)
    path = write(tmp_path, "data.svm.zst", b"\x28\xb5\x2f\xfd....")
    with pytest.raises(ModuleNotFoundError, match=r"pip install '\.\[all\]'"):
        read(path)


# ---- CSV and Parquet

TRAIN = "age,city,member,y\n20,Graz,true,no\n40,Linz,false,yes\n60,Graz,true,no\n"


def test_columns_become_named_features(tmp_path: Path) -> None:
    table = read(write(tmp_path, "train.csv", TRAIN))
    assert isinstance(table.X, sparse.csr_array)
    assert table.feature_names == ["age", "city=Graz", "city=Linz", "member"]
    assert table.X.toarray().tolist() == [[20, 1, 0, 1], [40, 0, 1, 0], [60, 1, 0, 1]]
    assert table.y is not None and table.y.tolist() == ["no", "yes", "no"]
    assert repr(table).endswith("3 × 4 csr_array, 2 different labels>")


def test_numbers_alone_become_a_plain_array(tmp_path: Path) -> None:
    table = read(write(tmp_path, "d.csv", "a,b,y\n1,2,3\n4,5,6\n"), target="b")
    assert isinstance(table.X, np.ndarray)
    assert table.X.tolist() == [[1, 3], [4, 6]]
    assert table.feature_names == ["a", "y"]
    assert read(write(tmp_path, "d.csv", "a,b,y\n1,2,3\n"), target=0).feature_names == ["b", "y"]


def test_quotes_in_names_of_columns_are_single_ones(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", '"a ""b"", c","say ""hi"""\n1,7\n2,8\n3,7\n')
    table = read(path)
    assert table.feature_names == ['a "b", c']
    assert table.schema["target"] == 'say "hi"'
    again = read(path, schema=table.schema)
    assert same_bits(again.X, table.X) and same_bits(again.y, table.y)
    words = read(write(tmp_path, "b.csv", '"a ""b""",y\nu,1\nv,2\n'))
    numbers = write(tmp_path, "c.csv", '"a ""b""",y\n1,1\n2,2\n')
    with pytest.warns(FileWarning):  # read as words, which the model does not know
        read(numbers, schema=words.schema)


def test_a_schema_is_replayed_whatever_the_order_of_the_columns(tmp_path: Path) -> None:
    schema = json.loads(json.dumps(read(write(tmp_path, "train.csv", TRAIN)).schema))
    path = write(tmp_path, "new.csv", "more,member,city,age\nx,false,Linz,7\nx,true,Graz,8\n")
    table = read(path, schema=schema)
    assert table.X.toarray().tolist() == [[7, 0, 1, 0], [8, 1, 0, 1]]
    assert table.feature_names == ["age", "city=Graz", "city=Linz", "member"]
    assert table.y is None
    assert table.schema == schema


def test_an_empty_target_column_is_none(tmp_path: Path) -> None:
    schema = read(write(tmp_path, "train.csv", TRAIN)).schema
    assert (
        read(write(tmp_path, "new.csv", "age,city,member,y\n7,Linz,1,\n"), schema=schema).y is None
    )


def test_unknown_categories_are_zeros_and_counted(tmp_path: Path) -> None:
    schema = read(write(tmp_path, "train.csv", TRAIN)).schema
    path = write(tmp_path, "new.csv", "age,city,member,y\n7,Wien,1,no\n8,5,0,maybe\n9,Graz,0,yes\n")
    with pytest.warns(FileWarning, match="taken as zero: 2 in 'city'"):
        table = read(path, schema=schema)
    assert table.X.toarray().tolist() == [[7, 0, 0, 1], [8, 0, 0, 0], [9, 1, 0, 0]]
    assert table.y is not None and table.y.tolist() == ["no", "maybe", "yes"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("age,member\n1,0\n", "has no column 'city', which the model was trained on"),
        (
            "age,city,member\n,Graz,0\n",
            r"'age' 1 \(100%\); the first is in row 1. The model was trained on data without",
        ),
        ("age,city,member\n1,,0\n", r"1 column has missing values: 'city' 1"),
        ("age,city,member\nold,Graz,0\n", "column 'age' holds words, and numbers are expected"),
        ("age,city,member\n1,Graz,0\nx,Graz,0\n2,Graz,0\n", "'age', row 2: 'x' is not a number"),
    ],
)
def test_a_schema_that_does_not_fit_is_refused(content: str, message: str, tmp_path: Path) -> None:
    schema = read(write(tmp_path, "train.csv", TRAIN)).schema
    with pytest.raises(FileError, match=message):
        read(write(tmp_path, "new.csv", content), schema=schema)


@pytest.mark.parametrize(("impute", "fill"), [("mean", 4.0), ("median", 2.0), ("zero", 0.0)])
def test_gaps_are_filled_as_in_the_training_data(impute: str, fill: float, tmp_path: Path) -> None:
    content = "a,b,c,y\n1,5,u,0\n?,6,v,1\n9,7,,0\n2,8,u,1\n"
    table = read(write(tmp_path, "train.csv", content), impute=impute)
    assert table.X.toarray().tolist() == [
        [1, 5, 1, 0],
        [fill, 6, 0, 1],
        [9, 7, 0, 0],
        [2, 8, 1, 0],
    ]
    again = read(write(tmp_path, "new.csv", "a,b,c\n,,\n100,1,v\n"), schema=table.schema)
    b = {"mean": 6.5, "median": 6.5, "zero": 0.0}[impute]
    assert again.X.toarray().tolist() == [[fill, b, 0, 0], [100, 1, 0, 1]]


def test_a_column_without_values_has_no_mean(tmp_path: Path) -> None:
    path = write(tmp_path, "d.csv", "a,y\n,0\n,1\n")
    with pytest.raises(FileError, match="column 'a' has no values to take a mean of"):
        read(path, impute="mean")
    assert read(path, impute="zero").X.tolist() == [[0.0], [0.0]]


def test_words_that_look_like_numbers_stay_words(tmp_path: Path) -> None:
    schema = read(write(tmp_path, "d.csv", "code,y\nA1,1\n007,2\n7,3\nB2,4\n")).schema
    assert schema["columns"][0]["levels"] == ["007", "7", "A1", "B2"]
    table = read(write(tmp_path, "new.csv", "code\n007\n7\n"), schema=schema)
    assert table.X.toarray().tolist() == [[1, 0, 0, 0], [0, 1, 0, 0]]


def test_too_many_categories_are_refused(tmp_path: Path) -> None:
    rows = "".join(f"id{k},1\n" for k in range(30))
    with pytest.raises(FileError, match="become 30 features, more than 20"):
        read(write(tmp_path, "d.csv", "id,y\n" + rows), limits=Limits(features=20))


@pytest.mark.parametrize("first", [" 4", ""])
def test_blanks_around_numbers_do_not_make_words_of_them(first: str, tmp_path: Path) -> None:
    path = write(tmp_path, "d.csv", f"a,b,y\n{first},5, 1\n 2, 6 , 0\n 3,7, 1\n")
    table = read(path, impute="zero")
    assert table.feature_names == ["a", "b"]
    np.testing.assert_array_equal(_dense(table.X), [[float(first or 0), 5], [2, 6], [3, 7]])
    np.testing.assert_array_equal(table.y, [1, 0, 1])


def _dense(X: Any) -> Any:
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


def test_parquet_is_read_as_csv_is(tmp_path: Path) -> None:
    frame = polars.read_csv(io.StringIO(TRAIN))
    frame = frame.with_columns(
        polars.col("city").cast(polars.Categorical), polars.col("age").cast(float)
    )
    frame.write_parquet(tmp_path / "train.parquet")
    table = read(tmp_path / "train.parquet")
    other = read(write(tmp_path, "train.csv", TRAIN))
    assert table.X.toarray().tolist() == other.X.toarray().tolist()
    assert table.schema == other.schema
    assert table.y is not None and other.y is not None
    assert table.y.tolist() == other.y.tolist()


def test_every_type_of_column_is_read_or_refused_by_name(tmp_path: Path) -> None:
    day = date(2020, 1, 2)
    kinds = {
        "decimal": [Decimal("1.50"), Decimal("2.25")],
        "small": polars.Series([1, 2], dtype=polars.UInt8),
        "enum": polars.Series(["u", "v"], dtype=polars.Enum(["u", "v"])),
        "truth": [True, False],
        "y": [0.0, 1.0],
    }
    path = tmp_path / "d.parquet"
    polars.DataFrame(kinds).write_parquet(path)
    table = read(path)
    assert table.feature_names == ["decimal", "small", "enum=u", "enum=v", "truth"]
    assert table.X.toarray().tolist() == [[1.5, 1, 1, 0, 1], [2.25, 2, 0, 1, 0]]
    others = {"day": day, "list": [1], "struct": {"a": 1}, "bytes": b"a", "span": day - day}
    frame = polars.DataFrame({name: [value] for name, value in others.items()} | {"y": [1]})
    source = Source(write(tmp_path, "x.parquet", b""), Limits())
    for name in others:
        with source, pytest.raises(FileError, match=f"column '{name}' holds .*neither numbers nor"):
            columns.make_schema(source, frame.select(name, "y"), "y", "number", None)


def test_a_damaged_parquet_is_refused(tmp_path: Path) -> None:
    stream = io.BytesIO()
    polars.DataFrame({"a": [1.0], "y": [2.0]}).write_parquet(stream)
    for content in (stream.getvalue()[:-6], b"PAR1", b"PAR1" + bytes(50) + b"PAR1"):
        with pytest.raises(FileError, match=r"d\.parquet: cannot be read: "):
            read(write(tmp_path, "d.parquet", content))


def test_polars_is_asked_for_where_it_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    path = write(tmp_path, "d.csv", "a,y\n1,2\n")
    with pytest.raises(ModuleNotFoundError, match=r"needs polars: pip install '\.\[all\]'"):
        read(path)


# ---- matrices


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.bool_])
def test_matrices_are_read_as_they_were_saved(dtype: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    dense = rng.integers(0, 2, (20, 6)).astype(dtype)
    kept = dtype if dtype in (np.float32, np.float64) else np.float64
    np.save(tmp_path / "d.npy", dense)
    np.savez(tmp_path / "d.npz", X=dense, y=np.arange(20))
    for layout in ("csr", "csc", "coo"):
        sparse.save_npz(tmp_path / f"{layout}.npz", sparse.coo_array(dense).asformat(layout))
    scipy_io.mmwrite(tmp_path / "sparse.mtx", sparse.coo_array(dense.astype(float)))
    scipy_io.mmwrite(tmp_path / "dense.mtx", dense.astype(float))
    for path in sorted(tmp_path.iterdir()):
        table = read(path)
        X = table.X.toarray() if sparse.issparse(table.X) else table.X
        assert np.array_equal(X, dense)
        assert X.dtype == (np.float64 if path.suffix == ".mtx" else kept)
        assert (table.y is None) == (path.name != "d.npz")
        if sparse.issparse(table.X):
            assert table.X.indices.dtype == np.int32 and table.X.has_canonical_format


@pytest.mark.parametrize("symmetry", ["general", "symmetric", "skew-symmetric"])
@pytest.mark.parametrize("layout", [np.array, sparse.coo_array])
def test_matrix_market_is_read_as_scipy_does(layout: Any, symmetry: str, tmp_path: Path) -> None:
    a = np.random.default_rng(0).standard_normal((7, 7)) * 10.0 ** np.arange(-150, 165, 45)
    X = {"general": a, "symmetric": a + a.T, "skew-symmetric": a - a.T}[symmetry]
    path = tmp_path / "d.mtx"
    scipy_io.mmwrite(path, layout(X), symmetry=symmetry, precision=17)
    theirs, ours = scipy_io.mmread(path), read(path).X
    if sparse.issparse(ours):
        theirs, ours = theirs.toarray(), ours.toarray()
    assert same_bits(ours, theirs)


def test_labels_in_a_column_or_a_file_of_their_own(tmp_path: Path) -> None:
    X = np.array([[1.0, 2.0, 5.0], [3.0, 4.0, 6.0]])
    np.save(tmp_path / "X.npy", X)
    scipy_io.mmwrite(tmp_path / "X.mtx", sparse.coo_array(X))
    np.save(tmp_path / "y.npy", [5, 6])
    np.save(tmp_path / "words.npy", ["a", "b"])
    scipy_io.mmwrite(tmp_path / "y.mtx", np.array([[5.0], [6.0]]))
    write(tmp_path, "y.txt", "5\n6\n")
    for name in ("X.npy", "X.mtx"):
        for column in (2, "2", "-1"):
            table = read(tmp_path / name, target=column)
            assert table.X.shape == (2, 2) and table.y is not None and table.y.tolist() == [5, 6]
        for labels in ("y.npy", "y.mtx", "y.txt"):
            table = read(tmp_path / name, target=str(tmp_path / labels))
            assert table.X.shape == (2, 3) and table.y is not None and table.y.tolist() == [5, 6]
    words = read(tmp_path / "X.npy", target=str(tmp_path / "words.npy")).y
    assert words is not None and words.tolist() == ["a", "b"]
    with pytest.raises(FileError, match="has 3 columns, and none with number 3"):
        read(tmp_path / "X.npy", target=3)
    with pytest.raises(FileError, match="2 rows, but there are 3 labels"):
        read(tmp_path / "X.npy", target=str(write(tmp_path, "three.txt", "1\n2\n3\n")))
    with pytest.raises(FileError, match="expected one number a line"):
        read(tmp_path / "X.npy", target=str(write(tmp_path, "bad.txt", "1 1:2\n")))
    with pytest.raises(FileError, match="labels are read from NPY, MTX, or text"):
        read(tmp_path / "X.npy", target=str(write(tmp_path, "y.csv", "y\n1\n2\n")))


# ---- replaying files without names


def test_indices_of_the_training_data_are_kept(tmp_path: Path) -> None:
    schema = read(write(tmp_path, "train.svm", "1 0:1 2:1\n")).schema
    assert schema == {"kind": "indices", "n_features": 3, "zero_based": True}
    table = read(write(tmp_path, "test.svm", "1 1:5\n"), schema=schema)
    assert table.X.toarray().tolist() == [[0, 5, 0]]
    with pytest.warns(FileWarning, match="2 entries of features that the training data did not"):
        table = read(write(tmp_path, "wide.svm", "1 1:5 3:1\n1 99999999999:3\n"), schema=schema)
    assert table.X.toarray().tolist() == [[0, 5, 0], [0, 0, 0]]
    one_based = read(write(tmp_path, "train.svm", "1 1:1 3:1\n")).schema
    with pytest.raises(FileError, match=r"test\.svm:1: index 0 in a file whose first feature has"):
        read(write(tmp_path, "test.svm", "1 0:5\n"), schema=one_based)


def test_a_model_of_columns_needs_columns_and_one_of_indices_none(tmp_path: Path) -> None:
    columns = read(write(tmp_path, "train.csv", TRAIN))
    indices = read(write(tmp_path, "train.svm", "1 1:1 3:1\n"))
    with pytest.raises(FileError, match="has no named columns, which the model was trained on"):
        read(indices.source, schema=columns.schema)
    with pytest.raises(FileError, match="trained on a matrix without names"):
        read(columns.source, schema=indices.schema)
    np.save(tmp_path / "two.npy", np.ones((1, 2)))
    with pytest.raises(FileError, match=r"two\.npy: has 2 features; expected 3"):
        read(tmp_path / "two.npy", schema=indices.schema)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"format": "xls"}, "format must be one of svmlight, csv, parquet"),
        ({"impute": "mode"}, "impute must be one of 'mean', 'median', 'zero' or None, got 'mode'"),
        ({"impute": "mean"}, "impute is for the named columns of CSV and Parquet files"),
        ({"impute": "mean", "schema": {"kind": "columns"}}, "impute is part of the schema"),
        ({"target": "y"}, "a LIBSVM line begins with its label"),
        ({"n_features": 0}, "n_features must be positive, got 0"),
    ],
)
def test_options_that_would_be_ignored_are_refused(
    options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    path = write(tmp_path, "data.svm", "1 1:2\n")
    with pytest.raises(ValueError, match=message):
        read(path, **options)


def test_the_format_is_told_by_the_content(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.eye(2))
    np.savez(tmp_path / "a.npz", X=np.eye(2))
    polars.DataFrame({"a": [1], "y": [2]}).write_parquet(tmp_path / "a.parquet")
    write(tmp_path, "a.svm", "# a, b\n1 qid:1 1:2\n")
    write(tmp_path, "a.csv", "# a\tb\n1\t2\n")
    scipy_io.mmwrite(tmp_path / "a.mtx", np.eye(2))
    for path in sorted(tmp_path.iterdir()):
        copy = write(tmp_path, "unnamed", path.read_bytes())
        assert read(copy).X.shape == read(path).X.shape
        copy.unlink()
    assert {path.suffix for path in tmp_path.iterdir()} == {
        endings[0] for endings in files.FORMATS.values()
    }


# ---- speed, memory and damage


@pytest.fixture(scope="module")
def news(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first 64 MB of the rebuild of news20.binary, unpacked."""
    beside = Path(__file__).resolve().parents[3] / "shared" / "data"
    packed = Path(os.environ.get("PRIMALDUAL_DATA") or beside) / "news20-rebuilt.svm.xz"
    if not packed.is_file():
        pytest.skip("needs news20-rebuilt.svm.xz in the folder PRIMALDUAL_DATA")
    path = tmp_path_factory.mktemp("news") / "news20.svm"
    with lzma.open(packed) as archive:
        path.write_bytes(archive.read(1 << 26).rpartition(b"\n")[0])
    return path


def test_reading_news_is_not_slower_than_scikit_learn(news: Path, tmp_path: Path) -> None:
    part = write(tmp_path, "part.svm", news.read_bytes()[: 1 << 22].rpartition(b"\n")[0])
    seconds: dict[Any, list[float]] = {read: [], load_svmlight_file: []}
    read(part)  # compiles
    for reader in [read, load_svmlight_file] * 2:
        before = time.process_time()
        reader(str(part))
        seconds[reader].append(time.process_time() - before)
    assert min(seconds[read]) <= min(seconds[load_svmlight_file])


MEMORY = """
import re, sys
from pathlib import Path
from primaldual.files import read

def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])

read(sys.argv[1])  # compiles
Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
before = peak()
X = read(sys.argv[2]).X
size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
print((peak() - before) * 1024 / size)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
def test_memory_stays_below_two_and_a_half_matrices(news: Path, tmp_path: Path) -> None:
    small = write(tmp_path, "small.svm", "1 1:2\n")
    command = [sys.executable, "-c", MEMORY, str(small), str(news)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert 1 < float(run.stdout) < 2.5


@pytest.mark.parametrize("reader", READERS)
def test_damaged_files_raise_nothing_but_file_error(reader: str, tmp_path: Path) -> None:
    runs = 8 if reader == "parquet" else 100  # each Parquet file is read in a process of its own
    assert fuzz(reader, tmp_path, seed=0, seconds=60, runs=runs).runs >= runs
