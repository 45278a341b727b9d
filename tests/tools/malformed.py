"""Files a reader may meet: what each must become, or where and why it must be refused.

A case is a file name, its bytes, and what is expected: the rows and labels of a readable file, or
the line (``None`` where it is not known) and a part of the message.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
from dataclasses import dataclass
from typing import Any

import numpy as np

from primaldual.files import Limits

# Any line.
SOME = -1

PLAIN = b"+1 1:0.5 3:2\n-1 2:1\n"
ROWS = [[0.5, 0.0, 2.0], [0.0, 1.0, 0.0]]
LABELS = [1.0, -1.0]


@dataclass(frozen=True)
class Good:
    """A file that is read."""

    X: list[list[float]]
    y: list[Any] | None


@dataclass(frozen=True)
class Bad:
    """A file that is refused."""

    line: int | None
    message: str


@dataclass(frozen=True)
class Case:
    """A file and what becomes of it."""

    what: str
    name: str
    content: bytes
    expected: Good | Bad
    options: tuple[tuple[str, Any], ...] = ()


def svm(what: str, content: bytes, expected: Good | Bad, **options: Any) -> Case:
    """A case in LIBSVM's format."""
    return Case(what, "data.svm", content, expected, tuple(options.items()))


def npy(array: Any) -> bytes:
    """The bytes of an NPY file."""
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def npz(**arrays: Any) -> bytes:
    """The bytes of an NPZ file."""
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)
    return stream.getvalue()


def zipped(name: str, content: bytes) -> bytes:
    """A zip archive with one member."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return stream.getvalue()


def csr_parts(**changes: Any) -> dict[str, Any]:
    """What ``scipy.sparse.save_npz`` stores of [[1, 0], [0, 2]]."""
    parts = {
        "format": np.array(b"csr"),
        "shape": np.array([2, 2]),
        "data": np.array([1.0, 2.0]),
        "indices": np.array([0, 1]),
        "indptr": np.array([0, 1, 2]),
    }
    return {**parts, **changes}


XZ = lzma.compress(PLAIN * 2000)
MTX = b"%%MatrixMarket matrix coordinate real general\n"
# A text of one letter that no alphabet has.
IMPOSSIBLE = np.array([0x7FFFFFFF], dtype=np.uint32).view("U1")
ONE = Good([[2.0]], [1.0])

LIBSVM_CASES = [
    # ---- read as they should be
    svm("plain", PLAIN, Good(ROWS, LABELS)),
    svm("no newline at the end", PLAIN[:-1], Good(ROWS, LABELS)),
    svm("Windows line ends", PLAIN.replace(b"\n", b"\r\n"), Good(ROWS, LABELS)),
    svm("byte order mark", b"\xef\xbb\xbf" + PLAIN, Good(ROWS, LABELS)),
    svm("tabs and many blanks", b"\t +1  1:0.5\t\t3:2  \n-1 2:1 \n", Good(ROWS, LABELS)),
    svm("blank lines", b"\n\n+1 1:0.5 3:2\n \n-1 2:1\n\n", Good(ROWS, LABELS)),
    svm("comments", b"# top\n+1 1:0.5 3:2 # here\n-1 2:1#there\n", Good(ROWS, LABELS)),
    svm("query numbers", b"+1 qid:7 1:0.5 3:2\n-1 qid:8 2:1\n", Good(ROWS, LABELS)),
    svm("indices from zero", b"+1 0:0.5 2:2\n-1 1:1\n", Good(ROWS, LABELS)),
    svm("unsorted indices", b"+1 3:2 1:0.5\n-1 2:1\n", Good(ROWS, LABELS)),
    svm("a row without entries", b"1\n-1 1:2\n", Good([[0.0], [2.0]], LABELS)),
    svm("labels only", b"1\n-1\n", Good([[], []], LABELS)),
    svm("an explicit zero", b"1 1:0 2:1\n", Good([[0.0, 1.0]], [1.0])),
    svm("many digits", b"1 1:0.30000000000000004441\n", Good([[0.30000000000000004]], [1.0])),
    svm(
        "more digits than bits",
        b"1 1:22222222222222222222.5\n",
        Good([[2.2222222222222222e19]], [1.0]),
    ),
    svm("a subnormal number", b"1 1:4.9406564584124654e-324\n", Good([[5e-324]], [1.0])),
    svm("a number below all", b"1 1:1e-999\n", Good([[0.0]], [1.0])),
    svm("forms of numbers", b"1. 1:.5 2:+1E2 3:-0.\n", Good([[0.5, 100.0, -0.0]], [1.0])),
    svm("leading zeros", b"01 0001:002\n", ONE),
    svm("fewer features than said", b"1 1:2\n", Good([[2.0, 0.0]], [1.0]), n_features=2),
    Case("no ending", "data", PLAIN, Good(ROWS, LABELS)),
    Case("packed without saying so", "data.svm", gzip.compress(PLAIN), Good(ROWS, LABELS)),
    Case("gzip", "data.svm.gz", gzip.compress(PLAIN), Good(ROWS, LABELS)),
    Case("bzip2", "data.svm.bz2", bz2.compress(PLAIN), Good(ROWS, LABELS)),
    Case("xz", "data.libsvm.xz", lzma.compress(PLAIN), Good(ROWS, LABELS)),
    Case(
        "two gzip members",
        "data.txt.gz",
        gzip.compress(PLAIN[:13]) + gzip.compress(PLAIN[13:]),
        Good(ROWS, LABELS),
    ),
    # ---- refused
    svm("empty", b"", Bad(1, "has no examples")),
    svm("only blanks", b"\n \n\r\n", Bad(1, "has no examples")),
    svm("only comments", b"# 1 1:2\n", Bad(1, "has no examples")),
    svm("a word as label", b"1 1:2\ncat 1:3\n", Bad(2, "expected a number as label, got 'cat'")),
    svm("no label", b"1:2 2:3\n", Bad(1, "the label is missing: the line begins with '1:2'")),
    svm("no label on a later line", PLAIN + b"  2:3\n", Bad(3, "the label is missing")),
    svm("several labels", b"1 1:2\n1,3 1:2\n", Bad(2, "several labels in one line, '1,3'")),
    svm("label nan", b"nan 1:2\n", Bad(1, "label 'nan' is not a finite number")),
    svm("label -inf", b"1 1:1\n\n-inf 1:2\n", Bad(3, "label '-inf' is not a finite number")),
    svm("a huge label", b"1 1:1\n1e400 1:2\n", Bad(2, "'1e400' is too large")),
    svm("value nan", b"1 1:NaN\n", Bad(1, "the value in '1:NaN' is not a finite number")),
    svm("value inf", b"1 1:2\n1 1:+Inf\n", Bad(2, "'1:+Inf' is not a finite number")),
    svm("a huge value", b"1 1:2\n\n1 2:1 3:1e999\n", Bad(3, "'1e999' is too large")),
    svm("a bad value", b"1 1:2x\n", Bad(1, "the value in '1:2x' is not a number")),
    svm("hexadecimal", b"1 1:0x10\n", Bad(1, "'1:0x10' is not a number")),
    svm("underscores", b"1 1:1_000\n", Bad(1, "'1:1_000' is not a number")),
    svm("an exponent without digits", b"1 1:1e\n", Bad(1, "'1:1e' is not a number")),
    svm("a comma for the point", b"1 1:0,5\n", Bad(1, "'1:0,5' is not a number")),
    svm("three parts", b"1 1:2:3\n", Bad(1, "'1:2:3' is not a number")),
    svm("no value", b"1 1:\n", Bad(1, "the value is missing in '1:'")),
    svm("a blank after the colon", b"1 1: 2\n", Bad(1, "the value is missing in '1:'")),
    svm("no colon", b"1 1:2 abc\n", Bad(1, "expected index:value, got 'abc'")),
    svm("no index", b"1 :2\n", Bad(1, "expected index:value, got ':2'")),
    svm("a broken index", b"1 1.5:2\n", Bad(1, "expected index:value, got '1.5:2'")),
    svm("a negative index", b"1 1:2\n1 -1:2\n", Bad(2, "negative index in '-1:2'")),
    svm("a huge index", b"1 1:2\n1 999999999:2\n", Bad(2, "index 999999999 is beyond the limit")),
    svm("index 2^64", b"1 18446744073709551617:2\n", Bad(1, "beyond the limit of 268,435,456")),
    svm("a very long index", b"1 " + b"9" * 500 + b":2\n", Bad(1, "beyond the limit")),
    svm("a raised limit", b"1 9:2\n", Bad(1, "limit of 8 "), limits=Limits(features=8)),
    svm("beyond n_features", b"1 1:1\n1 5:2\n", Bad(2, "beyond the last of 3"), n_features=3),
    svm(
        "beyond n_features, from zero",
        b"1 3:1\n1 0:2\n",
        Bad(1, "index 3 is beyond the last of 3"),
        n_features=3,
    ),
    svm("a repeated index", b"1 1:2\n1 2:1 2:1\n", Bad(2, "index 2 stands twice")),
    svm("a repeated index, unsorted", b"1 2:2 1:1 2:1\n", Bad(1, "index 2 stands twice")),
    svm("a bad query", b"1 qid:a 1:2\n", Bad(1, "expected qid:NUMBER, got 'qid:a'")),
    svm("a late query", b"1 1:2 qid:3\n", Bad(1, "'qid:3' must stand right after the label")),
    svm("old Mac line ends", b"1 1:2\r-1 1:3\r", Bad(1, "expected index:value, got '-1'")),
    svm("UTF-16", "1 1:2\n".encode("utf-16"), Bad(1, "is UTF-16 text")),
    svm("binary", b"\x89PNG\r\n\x1a\n\x00\x00", Bad(1, "expected a number as label, got '")),
    svm("null bytes", b"1 1:2\n\x00\x00\x00", Bad(2, r"expected a number as label, got '\x00")),
    svm("cut in an entry", b"1 1:2\n1 1:3 2", Bad(2, "expected index:value, got '2'")),
    svm("a long line", b"1 1:2\n1 " + b" " * 2**21, Bad(2, "longer"), limits=Limits(line=2**20)),
    svm("a line too long by one", b"1 1:25\n", Bad(1, "longer"), limits=Limits(line=5)),
    svm("a line just short enough", b"\xef\xbb\xbf1 1:2\n", ONE, limits=Limits(line=5)),
    Case("words and commas", "data", b"a,b\nc,d\n\xff,1\n", Bad(None, "cannot be read")),
    Case("an HTML page", "data.svm", b"<!DOCTYPE html>\n<p>404", Bad(1, "got '<!DOCTYPE'")),
    Case("a truncated gzip", "d.svm.gz", gzip.compress(PLAIN)[:-9], Bad(3, "cut short")),
    Case("a damaged gzip", "d.gz", gzip.compress(PLAIN)[:12] + b"!" * 20, Bad(None, "damaged")),
    Case("a truncated bzip2", "d.svm.bz2", bz2.compress(PLAIN)[:-4], Bad(3, "cut short")),
    Case("a damaged bzip2", "d.bz2", b"BZh91AY&SY" + b"?" * 40, Bad(None, "damaged")),
    Case("a truncated xz", "d.svm.xz", XZ[:-4], Bad(4001, "cut short")),
    Case("a damaged xz", "d.svm.xz", XZ[:40] + b"?" * 40 + XZ[80:], Bad(None, "damaged")),
    Case("an xz that is none", "d.svm.xz", PLAIN, Bad(None, "is named .xz, but begins with")),
    Case("an empty gzip", "d.svm.gz", b"", Bad(None, "is named .gz, but begins with b''")),
    Case("an archive of nothing", "d.svm.gz", gzip.compress(b""), Bad(1, "has no examples")),
    Case(
        "a bomb",
        "d.svm.gz",
        gzip.compress(b"1 1:2\n" * 12_000_000),
        Bad(SOME, "unpacks to more than 100 times"),
        (("limits", Limits(ratio=100)),),
    ),
]

CSV_CASES = [
    Case("a CSV", "d.csv", b"a,b,y\n1,2,0\n3,4,1\n", Good([[1.0, 2.0], [3.0, 4.0]], [0.0, 1.0])),
    Case("semicolons", "d.csv", b"a;y\n1.5;0\n", Good([[1.5]], [0.0])),
    Case("tabs", "d.tsv", b"a\ty\r\n1.5\t0\r\n", Good([[1.5]], [0.0])),
    Case("no names", "d.csv", b"1,0\n2,1\n", Good([[1.0], [2.0]], [0.0, 1.0])),
    Case("a mark first", "d.csv", b"\xef\xbb\xbfa,y\n1,0\n", Good([[1.0]], [0.0])),
    Case("by content", "d.data", b"a,y\n1,yes\n2,no\n", Good([[1.0], [2.0]], ["yes", "no"])),
    Case(
        "words",
        "d.csv",
        b'c,y\nred,1\n"b,lue",0\nred,1\n',
        Good([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]], [1.0, 0.0, 1.0]),
    ),
    Case("truth values", "d.csv", b"a,y\ntrue,1\nfalse,2\n", Good([[1.0], [0.0]], [1.0, 2.0])),
    Case(
        "a target by name",
        "d.csv",
        b"y,a\n5,1\n6,2\n",
        Good([[1.0], [2.0]], [5.0, 6.0]),
        (("target", "y"),),
    ),
    Case("no such target", "d.csv", b"a,b\n1,2\n", Bad(None, "no column 'c'"), (("target", "c"),)),
    Case("an empty CSV", "d.csv", b"", Bad(None, "cannot be read")),
    Case("names only", "d.csv", b"a,b\n", Bad(None, "has no rows")),
    Case("a gap", "d.csv", b"a,y\n1,0\n,1\n", Bad(None, "'a' 1 (50%); the first is in row 2")),
    Case("NA", "d.csv", b"a,y\nNA,0\n1,1\n", Bad(None, "'a' 1 (50%); the first is in row 1")),
    Case(
        "a gap in words",
        "d.csv",
        b"a,y\nx,0\n,1\n",
        Bad(None, 'impute="zero" counts a missing word'),
    ),
    Case(
        "no label", "d.csv", b"a,y\n1,0\n2,\n", Bad(None, "1 row has no label, the first is row 2")
    ),
    Case("infinity", "d.csv", b"a,y\n1,0\ninf,1\n", Bad(None, "column 'a', row 2: inf is not fin")),
    Case(
        "a slip", "d.csv", b"a,y\n1,0\n2,1\nx3,1\n", Bad(None, "row 3: 'x3' is not a number, but")
    ),
    Case(
        "a long row", "d.csv", b"a,y\n1,0\n1,2,3\n", Bad(None, "cannot be read: found more fields")
    ),
    Case("Latin letters", "d.csv", b"a,y\n\xe9,0\n", Bad(None, "cannot be read")),
    Case("one column", "d.csv", b"y\n1\n", Bad(None, "has no column but the target")),
]

MATRIX_CASES = [
    Case("an NPY", "d.npy", npy(np.eye(2)), Good([[1.0, 0.0], [0.0, 1.0]], None)),
    Case("whole numbers", "d.npy", npy(np.array([[1, 2]])), Good([[1.0, 2.0]], None)),
    Case("columns first", "d.npy", npy(np.array([[1.0, 2.0]], order="F")), Good([[1, 2]], None)),
    Case("by content", "d", npy(np.array([[3.0]])), Good([[3.0]], None)),
    Case(
        "a target column",
        "d.npy",
        npy(np.array([[1.0, 2.0, 5.0]])),
        Good([[1.0, 2.0]], [5.0]),
        (("target", "-1"),),
    ),
    Case("a vector", "d.npy", npy(np.ones(3)), Bad(None, "has shape (3,)")),
    Case("NaN", "d.npy", npy(np.array([[0.0, np.nan]])), Bad(None, "row 0, column 1")),
    Case("complex", "d.npy", npy(np.array([[1j]])), Bad(None, "holds complex128")),
    Case("objects", "d.npy", npy(np.array([[None]])), Bad(None, "holds Python objects")),
    Case("a cut NPY", "d.npy", npy(np.eye(3))[:-5], Bad(None, "has shape (3, 3) and type float64")),
    Case(
        "a boast",
        "d.npy",
        npy(np.eye(3)).replace(b"(3, 3), ", b"(9**9,),"),
        Bad(None, "damaged"),
    ),
    Case(
        "a huge shape",
        "d.npy",
        npy(np.eye(3)).replace(b"(3, 3), }    ", b"(99999, 3), }"),
        Bad(None, "but 72 bytes follow"),
    ),
    Case("a later version", "d.npy", b"\x93NUMPY\x09\x00rest", Bad(None, "has version (9, 0)")),
    Case("no NPY", "d.npy", b"1 1:2\n", Bad(None, "damaged or not what its name says")),
    Case("an NPZ", "d.npz", npz(X=np.eye(1), y=[2]), Good([[1.0]], [2.0])),
    Case("words in an NPZ", "d.npz", npz(X=np.eye(1), y=["a"]), Good([[1.0]], ["a"])),
    Case("a sparse NPZ", "d.npz", npz(**csr_parts()), Good([[1.0, 0.0], [0.0, 2.0]], None)),
    Case("CSC", "d.npz", npz(**csr_parts(format=b"csc")), Good([[1.0, 0.0], [0.0, 2.0]], None)),
    Case("no letters", "d.npz", npz(X=np.eye(1), y=IMPOSSIBLE), Bad(None, "damaged")),
    Case("other names", "d.npz", npz(a=np.eye(1)), Bad(None, "holds 'a'; expected X and y")),
    Case(
        "short labels", "d.npz", npz(X=np.eye(2), y=[1]), Bad(None, "2 rows, but there are 1 lab")
    ),
    Case("a far index", "d.npz", npz(**csr_parts(indices=[0, 7])), Bad(None, "between 0 and 1")),
    Case(
        "a negative index",
        "d.npz",
        npz(**csr_parts(indices=[0, -1])),
        Bad(None, "indices must lie"),
    ),
    Case(
        "falling starts", "d.npz", npz(**csr_parts(indptr=[0, 9, 2])), Bad(None, "indptr must lie")
    ),
    Case(
        "a huge matrix", "d.npz", npz(**csr_parts(shape=[2, 2**60])), Bad(None, "has shape (2, 1")
    ),
    Case("a diagonal", "d.npz", npz(**csr_parts(format=b"dia")), Bad(None, "of kind 'dia'")),
    Case("a cut NPZ", "d.npz", npz(X=np.eye(2))[:-30], Bad(None, "damaged")),
    Case("no NPZ", "d.npz", b"PK\x03\x04nothing", Bad(None, "damaged")),
    Case(
        "a zip bomb",
        "d.npz",
        zipped("X.npy", npy(np.zeros((10**4, 10**3)))),
        Bad(None, "unpacks to more than 250 times"),
    ),
    Case("an MTX", "d.mtx", MTX + b"% c\n1 2 1\n1 2 3.5\n", Good([[0.0, 3.5]], None)),
    Case("packed", "d.mtx.gz", gzip.compress(MTX + b"1 1 1\n1 1 2\n"), Good([[2.0]], None)),
    Case(
        "dense",
        "d.mtx",
        MTX.replace(b"coordinate", b"array") + b"2 1\n1.5\n2\n",
        Good([[1.5], [2.0]], None),
    ),
    Case(
        "a symmetric MTX",
        "d.mtx",
        MTX.replace(b"general", b"symmetric") + b"2 2 2\n1 1 1\n2 1 5\n",
        Good([[1.0, 5.0], [5.0, 0.0]], None),
    ),
    Case(
        "a skew MTX",
        "d.mtx",
        MTX.replace(b"coordinate real general", b"array real skew-symmetric") + b"2 2\n3\n",
        Good([[0.0, -3.0], [3.0, 0.0]], None),
    ),
    Case(
        "a pattern",
        "d.mtx",
        MTX.replace(b"real", b"pattern") + b"1 2 1\n\n1 2",
        Good([[0.0, 1.0]], None),
    ),
    Case("more entries", "d.mtx", MTX + b"1 1 1\n1 1 2\n1 1 3\n", Bad(4, "but more follow")),
    Case("an entry less", "d.mtx", MTX + b"1 1 2\n1 1 123456789\n", Bad(4, "but 1 follow")),
    Case("a broken place", "d.mtx", MTX + b"1 1 1\n1.5 1 1\n", Bad(3, "row 1.5, column 1 is not")),
    Case("a huge number", "d.mtx", MTX + b"1 1 1\n1 1 1e999\n", Bad(3, "too large")),
    Case("NaN in an MTX", "d.mtx", MTX + b"1 1 1\n1 1 nan\n", Bad(3, "got '1 1 nan'")),
    Case("letters at the end", "d.mtx", MTX + b"1 1 1\n1 1 2\xf2", Bad(3, "got '1 1 2")),
    Case("no first line", "d.mtx", b"1 1 1\n1 1 2\n", Bad(1, "expected a first line %%MatrixM")),
    Case("no sizes", "d.mtx", MTX + b"%\n", Bad(2, "expected rows, columns and entries, got")),
    Case("bad sizes", "d.mtx", MTX + b"1 1\n", Bad(2, "expected rows, columns and entries")),
    Case("huge sizes", "d.mtx", MTX + b"9999999999 1 1\n1 1 1\n", Bad(2, "beyond the limit")),
    Case("few entries", "d.mtx", MTX + b"9 9 99\n1 1 1\n", Bad(2, "but only 6 bytes follow")),
    Case(
        "a far entry",
        "d.mtx",
        MTX + b"1 1 1\n9 9 1\n",
        Bad(3, "row 9, column 9 is not in"),
    ),
    Case(
        "complex",
        "d.mtx",
        MTX.replace(b"real", b"complex"),
        Bad(1, "is coordinate complex gen"),
    ),
    Case(
        "a bad entry",
        "d.mtx",
        MTX + b"1 1 1\n1 1 x\n",
        Bad(3, "numbers a line, got '1 1 x'"),
    ),
]

CASES = LIBSVM_CASES + CSV_CASES + MATRIX_CASES
