"""Shards: written once with shuffled rows, read as parts, the same fit as in memory."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import sparse

from primaldual import LogisticRegression, Problem, Ridge, datasets, shards, solve
from primaldual.parts import Block, InMemory, PartError
from primaldual.problem.on_parts import PartsProblem
from primaldual.shards import writing


@pytest.fixture(scope="module")
def data():
    X = datasets.random_matrix(20, 1000, 0.3, seed=0)
    return X, datasets.labels(X, noise=0.2, seed=1)


def rows_of(opened):
    blocks = opened.map(lambda block: block)
    dense = [b.X.toarray() if sparse.issparse(b.X) else np.asarray(b.X) for b in blocks]
    return np.concatenate(dense), np.concatenate([b.y for b in blocks])


def write_text(path, X, y, first=1):
    lines = []
    for j in range(X.shape[0]):
        row = X[[j]]
        entries = (
            f"{i + first}:{v!r}" for i, v in zip(row.indices, row.data.tolist(), strict=True)
        )
        lines.append(f"{y[j]:+g} {' '.join(entries)}\n")
    path.write_text("".join(lines), encoding="utf-8")


def small_pieces(monkeypatch):
    from primaldual.files import svmlight
    from primaldual.shards import sources

    monkeypatch.setattr(sources, "PIECE", 500)
    monkeypatch.setattr(svmlight, "CHUNK", 8192)


def as_set(X, y):
    return sorted(map(tuple, np.column_stack([np.asarray(X), y]).tolist()))


def test_all_rows_are_there_once_and_shuffled(data, tmp_path):
    X, y = data
    shards.write((X, y), tmp_path / "s", count=10)
    opened = shards.open(tmp_path / "s")
    found, labels = rows_of(opened)
    assert (opened.n, opened.d, opened.nnz) == (1000, 20, X.nnz)
    assert as_set(found, labels) == as_set(X.toarray(), y)
    assert not np.array_equal(labels, y)


@pytest.mark.parametrize("first", [0, 1])
def test_libsvm_text_is_read_in_pieces(data, tmp_path, monkeypatch, first):
    X, y = data
    small_pieces(monkeypatch)
    write_text(tmp_path / "a.svm", X[:600], y[:600], first)
    write_text(tmp_path / "b.svm", X[600:], y[600:], first)
    shards.write([tmp_path / "a.svm", tmp_path / "b.svm"], tmp_path / "s", count=7)
    found, labels = rows_of(shards.open(tmp_path / "s"))
    assert as_set(found, labels) == as_set(X.toarray(), y)


def test_dense_data_weights_and_texts_as_labels_are_kept(tmp_path):
    rng = np.random.default_rng(0)
    X, weights = rng.standard_normal((300, 4)).astype(np.float32), rng.exponential(size=300)
    y = np.where(X[:, 0] > 0, "ja", "nein")
    shards.write((X, y, weights), tmp_path / "s", count=3)
    opened = shards.open(tmp_path / "s")
    blocks = opened.map(lambda block: block)
    assert blocks[0].X.dtype == np.float32
    assert sum(b.sample_weight.sum() for b in blocks) == pytest.approx(weights.sum())
    ours = LogisticRegression(tol=1e-9).fit(opened, None)
    theirs = LogisticRegression(tol=1e-9).fit(X, y, weights)
    assert ours.classes_.tolist() == ["ja", "nein"]
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-3)


def test_a_fit_from_shards_is_that_of_memory_in_few_passes(data, tmp_path):
    X, y = data
    shards.write((X, y), tmp_path / "s", count=16)
    result = solve(PartsProblem(shards.open(tmp_path / "s"), lam=1e-3), tol=1e-9)
    theirs = solve(Problem(X, y, lam=1e-3), tol=1e-11)
    assert result.converged and result.rounds <= 12 and result.bytes_moved == 0
    assert abs(result.certificate.primal - theirs.certificate.primal) <= 1e-9


def test_a_fit_with_many_features_reads_the_disk_few_times(tmp_path):
    X = datasets.zipf_text(4000, 2000, 30, seed=0)
    y = datasets.labels(X, noise=0.1, seed=1)
    shards.write((X, y), tmp_path / "s")
    for loss in ("logistic", "hinge"):
        theirs = solve(Problem(X, y, loss, lam=5e-4, fit_intercept=True), tol=1e-7)
        opened = shards.open(tmp_path / "s")
        result = solve(PartsProblem(opened, loss, 5e-4, fit_intercept=True), tol=1e-5, seed=0)
        assert result.converged and result.trace.methods[-1] == "regrouped_dual_cd"
        assert abs(result.certificate.primal - theirs.certificate.primal) <= 2e-5
        assert result.side == "dual" and (loss == "hinge" or result.rounds <= 9)


def test_a_fit_with_many_features_goes_on_from_a_checkpoint(tmp_path):
    from primaldual.checkpoints import checkpointing

    X = datasets.zipf_text(4000, 600, 30, seed=0)
    shards.write((X, datasets.labels(X, noise=0.1, seed=1)), tmp_path / "s", count=16)

    def problem():
        return PartsProblem(shards.open(tmp_path / "s"), "hinge", 2e-3, fit_intercept=True)

    expected = solve(problem(), seed=0, tol=1e-4, callback=lambda progress: None)

    class Killed(BaseException):
        pass

    def kill(progress):
        if progress.iterations >= 3:
            raise Killed

    with pytest.raises(Killed), checkpointing(tmp_path / "run", every=0.0):
        solve(problem(), seed=0, tol=1e-4, callback=kill)
    with checkpointing(tmp_path / "run", every=0.0) as checkpoint:
        result = solve(problem(), seed=0, tol=1e-4, callback=lambda progress: None)
    assert checkpoint.resumed and np.array_equal(result.w, expected.w)


def test_the_same_parts_give_the_bits_of_memory(data, tmp_path):
    X, y = data
    shards.write((X, y), tmp_path / "s", count=16)
    opened = shards.open(tmp_path / "s")
    blocks = [Block(b.X.copy(), b.y.copy()) for b in opened.map(lambda block: block)]
    ours = solve(PartsProblem(opened, lam=1e-3, fit_intercept=True))
    theirs = solve(PartsProblem(InMemory(blocks), lam=1e-3, fit_intercept=True))
    assert np.array_equal(ours.w, theirs.w) and ours.intercept == theirs.intercept


def test_the_same_seed_writes_the_same_shards(data, tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        shards.write(data, tmp_path / name, count=4, seed=seed)
    marks = []
    for name in "abc":
        manifest = json.loads((tmp_path / name / "shards.json").read_text())
        marks.append([entry["checksum"] for entry in manifest["shards"]])
    assert marks[0] == marks[1] != marks[2]


def test_writing_goes_on_after_a_kill_and_ends_in_the_same_shards(data, tmp_path, monkeypatch):
    X, y = data
    small_pieces(monkeypatch)
    write_text(tmp_path / "a.svm", X, y)
    shards.write(tmp_path / "a.svm", tmp_path / "whole", count=5)

    class Killed(BaseException):
        pass

    for moment in (3, 8):
        folder = tmp_path / f"killed{moment}"
        calls = []

        def killing(path, content, calls=calls, moment=moment, save=writing.write_json):
            calls.append(path)
            if len(calls) == moment:
                raise Killed
            save(path, content)

        with monkeypatch.context() as patch:
            patch.setattr(writing, "write_json", killing)
            with pytest.raises(Killed):
                shards.write(tmp_path / "a.svm", folder, count=5)
        with pytest.raises(FileNotFoundError, match="give the same command again"):
            shards.open(folder)
        shards.write(tmp_path / "a.svm", folder, count=5)
        for entry, other in zip(
            shards.open(folder).manifest["shards"],
            shards.open(tmp_path / "whole").manifest["shards"],
            strict=True,
        ):
            assert entry == other
        assert not (folder / "buckets").exists()


def test_other_settings_do_not_go_on_with_unfinished_shards(data, tmp_path, monkeypatch):
    def killing(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(writing, "_finish", killing)
        with pytest.raises(KeyboardInterrupt):
            shards.write(data, tmp_path / "s", count=4)
    with pytest.raises(ValueError, match="unfinished shards of another count"):
        shards.write(data, tmp_path / "s", count=5)


def test_a_memory_limit_makes_smaller_parts_and_one_too_small_is_refused(data, tmp_path):
    shards.write(data, tmp_path / "s", count=32)
    sizes = [entry["bytes"] for entry in shards.open(tmp_path / "s").manifest["shards"]]
    assert shards.open(tmp_path / "s").count == 8
    opened = shards.open(tmp_path / "s", memory=5 * 2.1 * max(sizes))
    assert opened.count >= 16
    with pytest.raises(ValueError, match="memory must be at least"):
        shards.open(tmp_path / "s", memory=max(sizes))


def test_a_changed_shard_is_an_error_that_names_it(data, tmp_path):
    shards.write(data, tmp_path / "s", count=4)
    path = tmp_path / "s" / "shard-00002" / "data.npy"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(PartError, match=r"shard 2 .*checksum has changed"):
        PartsProblem(shards.open(tmp_path / "s"))


def test_a_shard_changed_between_two_rounds_is_an_error(data, tmp_path):
    shards.write(data, tmp_path / "s", count=4)
    problem = PartsProblem(shards.open(tmp_path / "s"), lam=1e-3)
    path = tmp_path / "s" / "shard-00001" / "y.npy"
    content = bytearray(path.read_bytes())
    content[-1] ^= 0x40
    path.write_bytes(content)
    with pytest.raises(PartError, match=r"shard 1 .*checksum has changed"):
        solve(problem)


def test_a_missing_shard_is_an_error_that_names_it(data, tmp_path):
    shards.write(data, tmp_path / "s", count=4)
    (tmp_path / "s" / "shard-00003" / "y.npy").unlink()
    with pytest.raises(PartError, match=r"shard 3|shards 3"):
        PartsProblem(shards.open(tmp_path / "s"))


def test_finished_shards_are_not_overwritten(data, tmp_path):
    shards.write(data, tmp_path / "s", count=4)
    with pytest.raises(FileExistsError, match="holds shards already"):
        shards.write(data, tmp_path / "s", count=4)


def test_regressors_take_shards(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    y = X @ [1.0, 2.0, 3.0] + 7.0
    shards.write((X, y), tmp_path / "s", count=4)
    np.testing.assert_allclose(
        Ridge(tol=1e-12).fit(shards.open(tmp_path / "s"), None).coef_,
        Ridge(tol=1e-12).fit(X, y).coef_, atol=1e-5,
    )  # fmt: skip
