"""What users hold: Dask arrays and frames, lists of delayed blocks, and parts; all become parts."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
from scipy import sparse

from .base import Block, Parts


def is_collection(X: Any) -> bool:
    """Whether X is data in parts: ``Parts``, a Dask collection, or a list of delayed blocks."""
    if isinstance(X, list | tuple):
        return len(X) > 0 and all(_is_dask(block) for block in X)
    return isinstance(X, Parts) or _is_dask(X)


def as_parts(X: Any, y: Any = None, sample_weight: Any = None) -> Parts:
    """Parts of ``Block`` from what a user passes to ``fit``.

    Parameters
    ----------
    X : Parts, Dask array or frame, or list of delayed blocks
        Blocks are used as they are: sparse ones stay sparse, none are put together.
    y, sample_weight : Dask array or series, list of delayed blocks, or array
        In blocks as X has them, or an array in memory where the lengths of X's blocks are known.
        ``Parts`` hold their own.
    """
    if isinstance(X, Parts):
        if y is not None or sample_weight is not None:
            raise ValueError("y and sample_weight must be None: these parts hold their own.")
        return X
    if y is None:
        raise ValueError("y must be given beside X, in as many blocks as X has.")
    from .on_dask import OnDask, task

    blocks = delayed_blocks(X)
    lengths = _lengths(X)
    labels = _beside(y, "y", len(blocks), lengths)
    weights = [None] * len(blocks)
    if sample_weight is not None:
        weights = _beside(sample_weight, "sample_weight", len(blocks), lengths)
    made = [task(block_of)(*each) for each in zip(blocks, labels, weights, strict=True)]
    return OnDask(made, [f"block {k} of {len(blocks)}" for k in range(len(blocks))])


def by_block(method: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """A method of a fitted model that also takes Dask collections, and answers with one."""

    @wraps(method)
    def answer(model: Any, X: Any) -> Any:
        if not is_collection(X) or isinstance(X, Parts):
            return method(model, X)
        import dask.array
        from dask.delayed import delayed

        like = method(model, np.zeros((1, model.n_features_in_)))
        shared, lengths = delayed(model), _lengths(X)
        run = delayed(_answer)
        blocks = delayed_blocks(X)
        results = [run(method.__name__, shared, block) for block in blocks]
        if isinstance(X, list | tuple):
            return results
        sizes = [np.nan] * len(blocks) if lengths is None else lengths
        arrays = [
            dask.array.from_delayed(result, (size, *like.shape[1:]), dtype=like.dtype)
            for result, size in zip(results, sizes, strict=True)
        ]
        return dask.array.concatenate(arrays, allow_unknown_chunksizes=True)

    return answer


def _answer(name: str, model: Any, block: Any) -> Any:
    """One method of a model on one block."""
    return getattr(model, name)(matrix_of(block))


def delayed_blocks(X: Any) -> list[Any]:
    """The blocks of rows of a collection, each delayed."""
    if isinstance(X, list | tuple):
        return list(X)
    if hasattr(X, "chunks"):
        if X.ndim == 2 and len(X.chunks[1]) > 1:
            X = X.rechunk({1: -1})
        return list(X.to_delayed(optimize_graph=True).ravel())
    return list(X.to_delayed())


def block_of(X: Any, y: Any, sample_weight: Any) -> Block:
    """One part from one block of each collection."""
    weights = None if sample_weight is None else np.asarray(sample_weight).ravel()
    return Block(matrix_of(X), np.asarray(y), weights)


def matrix_of(X: Any) -> Any:
    """The numbers of a block; a frame with categories becomes sparse, one column per category."""
    if sparse.issparse(X):
        return X
    if not hasattr(X, "dtypes") or not hasattr(X, "columns"):
        return np.asarray(X)
    kinds = [str(kind) for kind in X.dtypes]
    wrong = [name for name, kind in zip(X.columns, kinds, strict=True) if kind in TEXTS]
    if wrong:
        raise ValueError(
            f"column {wrong[0]!r} holds texts. Make it a category first: "
            "frame.categorize(columns=[…]) gives every part the same categories."
        )
    if "category" not in kinds:
        return X.to_numpy(dtype=np.float64)
    columns = [_column(X[name]) for name in X.columns]
    return sparse.hstack(columns, format="csr")


# The dtypes of columns that hold texts, in the names of pandas.
TEXTS = ("object", "string", "str")


def _column(series: Any) -> Any:
    """A column of numbers, or one column of zeros and ones per category; missing ones are zeros."""
    if str(series.dtype) != "category":
        return sparse.csr_array(series.to_numpy(dtype=np.float64)[:, None])
    codes = series.cat.codes.to_numpy()
    there = np.flatnonzero(codes >= 0)
    shape = (len(codes), len(series.cat.categories))
    return sparse.csr_array((np.ones(len(there)), (there, codes[there])), shape=shape)


def _lengths(X: Any) -> list[int] | None:
    """The rows of the blocks, where they are known."""
    chunks = getattr(X, "chunks", None)
    if chunks is None or any(np.isnan(size) for size in chunks[0]):
        return None
    return [int(size) for size in chunks[0]]


def _beside(values: Any, name: str, count: int, lengths: list[int] | None) -> list[Any]:
    """Labels or weights in the blocks of X."""
    if isinstance(values, list | tuple) and values and all(_is_dask(each) for each in values):
        blocks = list(values)
    elif _is_dask(values):
        if lengths is not None and hasattr(values, "chunks") and _lengths(values) != lengths:
            values = values.rechunk({0: tuple(lengths)})
        blocks = delayed_blocks(values)
    elif lengths is not None:
        array = np.asarray(values)
        if len(array) != sum(lengths):
            raise ValueError(f"{name} must have {sum(lengths)} entries, got {len(array)}.")
        blocks = np.split(array, np.cumsum(lengths)[:-1])
    else:
        raise ValueError(
            f"{name} must come in {count} blocks like X, whose lengths are not known, got "
            f"{type(values).__name__}."
        )
    if len(blocks) != count:
        raise ValueError(f"{name} must come in {count} blocks like X, got {len(blocks)}.")
    return blocks


def _is_dask(value: Any) -> bool:
    """Whether a value is one of Dask's collections or delayed objects."""
    return not isinstance(value, type) and hasattr(value, "__dask_graph__")
