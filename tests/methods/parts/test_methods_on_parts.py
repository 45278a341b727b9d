"""Methods on data in parts reach the optimum of the same data in memory, in few rounds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from primaldual import Problem, advise, datasets, solve
from primaldual.estimators import path
from primaldual.methods.parts import ON_PARTS
from primaldual.multinomial import Multinomial, solve_multinomial
from primaldual.parts import Block, InMemory, PartError, PartsWarning, cut
from primaldual.problem.on_parts import PartsProblem
from primaldual.problem.one_part import fact_of, part_of
from primaldual.problem.recipe import Dual
from primaldual.problem.softmax_on_parts import PartsMultinomial
from primaldual.result import Status


def census(n=2000, d=30, seed=0):
    X = datasets.random_matrix(d, n, 0.2, seed=seed)
    return X, datasets.labels(X, noise=0.2, seed=seed + 1)


def text(n=3000, d=4000):
    X = datasets.zipf_text(d, n, 30, seed=0)
    return X, datasets.labels(X, noise=0.1, seed=1)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "squared", "huber", "probit"])
def test_newton_on_parts_agrees_with_memory_to_the_gap(loss, fit_intercept):
    X, y = census()
    lam = 1.0 / X.shape[0]
    ours = solve(PartsProblem(cut(X, y, 4), loss, lam, fit_intercept), tol=1e-9)
    theirs = solve(Problem(X, y, loss, lam, fit_intercept=fit_intercept), tol=1e-11)
    assert ours.converged and ours.trace.methods[-1] == "parts_newton"
    unit = theirs.problem.primal_at_zero
    assert abs(ours.certificate.primal - theirs.certificate.primal) <= 1.1e-9 * unit
    assert ours.certificate.dual <= theirs.certificate.primal * (1 + 1e-12)
    apart = np.linalg.norm(ours.w - theirs.w) ** 2
    assert 0.5 * lam * apart <= 2.2e-9 * unit


@pytest.mark.parametrize("method", ["averaged_newton", "parts_newton_cg", "auto"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_methods_for_many_features_agree_with_memory(method, fit_intercept):
    X, y = text()
    lam = 1.0 / X.shape[0]
    ours = solve(PartsProblem(cut(X, y, 4), "logistic", lam, fit_intercept), method, tol=1e-6)
    theirs = solve(Problem(X, y, "logistic", lam, fit_intercept=fit_intercept), tol=1e-9)
    assert ours.converged
    assert abs(ours.certificate.primal - theirs.certificate.primal) <= 1.1e-6 * np.log(2)


def test_averaged_directions_need_few_rounds_on_text():
    X, y = text()
    result = solve(PartsProblem(cut(X, y, 4), "logistic", 1.0 / X.shape[0]), tol=1e-6)
    assert result.converged and result.trace.methods[-1] == "averaged_newton"
    assert result.rounds <= 18


def test_newton_needs_few_rounds_whatever_the_number_of_parts():
    X, y = census()
    for count in (1, 4, 16):
        result = solve(PartsProblem(cut(X, y, count), "logistic", 1.0 / X.shape[0]), tol=1e-6)
        assert result.converged and result.rounds <= 9


def test_conjugate_gradients_take_over_where_parts_do_not_resemble_each_other():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((600, 3200)) < 0.01, rng.lognormal(0, 1, (600, 3200)), 0.0)
    y = np.sign(X @ rng.standard_normal(3200) + rng.standard_normal(600))
    result = solve(PartsProblem(cut(X, y, 30), "logistic", 0.01 / 600), tol=1e-6)
    assert result.converged
    assert result.trace.methods[-1] == "parts_newton_cg"
    assert "do not resemble" in result.trace.notes[-1]


def test_weights_are_those_of_all_parts_together():
    X, y = census()
    weights = np.random.default_rng(0).exponential(size=len(y))
    weights[:300] = 0.0
    lam = 1e-3
    ours = solve(PartsProblem(cut(X, y, 3, weights), lam=lam, fit_intercept=True), tol=1e-10)
    theirs = solve(Problem(X, y, lam=lam, sample_weight=weights, fit_intercept=True), tol=1e-10)
    assert ours.converged
    assert np.allclose(ours.w, theirs.w, atol=1e-4)
    assert abs(ours.certificate.primal - theirs.certificate.primal) <= 2e-10


def classes(sparse, n=600, d=12, k=4):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    y = (X @ rng.standard_normal((d, k)) + rng.gumbel(size=(n, k))).argmax(axis=1)
    weights = rng.exponential(size=n)
    weights[:20] = 0.0
    return (csr_array(np.where(np.abs(X) > 0.7, X, 0.0)) if sparse else X), y, weights


@pytest.mark.parametrize("method", ["auto", "averaged_newton", "parts_newton_cg"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_softmax_on_parts_agrees_with_memory_to_the_gap(method, fit_intercept):
    X, y, weights = classes(method != "auto")
    lam, tol = 1.0 / len(y), 1e-9
    ours = PartsMultinomial(cut(X, y, 3, weights), lam, fit_intercept)
    theirs = solve_multinomial(Multinomial(X, y, lam, weights, fit_intercept), tol=1e-11)
    result = solve(ours, method, tol=tol)
    assert result.converged and result.w.shape == theirs.w.shape
    assert method != "auto" or (result.rounds <= 10 and "softmax" in result.trace.methods[-1])
    unit = np.log(4)
    assert abs(result.certificate.primal - theirs.certificate.primal) <= 1.1 * tol * unit
    assert result.certificate.dual <= theirs.certificate.primal * (1 + 1e-12)
    assert np.abs(result.w - theirs.w).max() < 1e-3
    assert np.abs(result.intercept - theirs.intercept).max() < 1e-3
    assert abs(np.sum(result.intercept)) < 1e-12


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_a_softmax_certificate_on_parts_is_that_of_memory(fit_intercept):
    X, y, weights = classes(True)
    w = 0.3 * np.random.default_rng(1).standard_normal((4, X.shape[1]))
    ours = PartsMultinomial(cut(X, y, 5, weights), 0.01, fit_intercept).certify(w)
    theirs = Multinomial(X, y, 0.01, weights, fit_intercept).certify(w)
    assert ours.primal == pytest.approx(theirs.primal, rel=1e-12)
    assert ours.gap == pytest.approx(theirs.gap, rel=1e-9)


def test_a_softmax_step_out_of_the_domain_is_brought_back():
    X, y, weights = classes(False)
    problem = PartsMultinomial(cut(X, y, 2, weights), 0.01)
    w = np.zeros((4, X.shape[1]))
    step = 30.0 * np.random.default_rng(1).standard_normal(w.shape)
    found = problem.certify(w, Dual(w, np.zeros(4), step))
    best = solve(problem, tol=1e-9).certificate
    assert np.isfinite(found.gap) and found.dual <= best.primal


def test_labels_of_one_class_in_a_part_are_no_error():
    X, y = census()
    order = np.argsort(y)
    result = solve(PartsProblem(cut(X[order], y[order], 4), lam=1e-3), tol=1e-6)
    assert result.converged


def test_an_empty_part_changes_no_bit():
    X, y = census(400)
    blocks = [Block(X[:200], y[:200]), Block(X[200:], y[200:])]
    empty = Block(X[:0], y[:0])
    first = solve(PartsProblem(InMemory(blocks), lam=1e-3))
    second = solve(PartsProblem(InMemory([*blocks, empty]), lam=1e-3))
    assert np.array_equal(first.w, second.w)


def test_a_large_part_is_named():
    X, y = census(20_000, 30)
    blocks = [Block(X[:19_000], y[:19_000])] + [
        Block(X[k : k + 100], y[k : k + 100]) for k in range(19_000, 19_500, 100)
    ]
    with pytest.warns(PartsWarning, match=r"part 0 \(memory\) has .* times the mean"):
        PartsProblem(InMemory(blocks), lam=1e-3)


def test_parts_of_different_width_are_refused_by_number():
    with pytest.raises(ValueError, match=r"part 1 \(memory\) has 3"):
        PartsProblem(InMemory([Block(np.eye(2), [1, -1]), Block(np.eye(3), [1, -1, 1])]))


def test_a_part_that_differs_when_it_is_loaded_again_is_an_error():
    X, y = census(100)
    fact = fact_of(Block(X, y), True)
    problem = PartsProblem(cut(X, y, 1), lam=1e-3)
    changed = X.copy()
    changed.data[0] += 1e-9
    with pytest.raises(PartError, match="checksum has changed"):
        part_of(Block(changed, y), fact, problem.spec)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("loss", ["hinge", "epsilon_insensitive"])
def test_losses_with_kinks_on_parts_agree_with_memory(loss, fit_intercept):
    X, y = census(600, 10)
    blocks = cut(X, y, 3).parts
    parts = InMemory([blocks[0], Block(X[:0], y[:0]), *blocks[1:]])
    lam = 1.0 / X.shape[0]
    ours = solve(PartsProblem(parts, loss, lam, fit_intercept), tol=1e-6)
    theirs = solve(Problem(X, y, loss, lam, fit_intercept=fit_intercept), tol=1e-8)
    assert ours.converged and ours.trace.methods[-1] == "parts_ssnal"
    unit = theirs.problem.primal_at_zero
    assert abs(ours.certificate.primal - theirs.certificate.primal) <= 1.1e-6 * unit
    assert ours.certificate.dual <= theirs.certificate.primal * (1 + 1e-9)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_losses_with_kinks_reach_the_tolerance_with_many_features(fit_intercept):
    X, y = text(800, 3500)
    lam = 1.0 / X.shape[0]
    ours = solve(PartsProblem(cut(X, y, 2), "hinge", lam, fit_intercept), tol=1e-4)
    theirs = solve(Problem(X, y, "hinge", lam, fit_intercept=fit_intercept), tol=1e-6)
    assert ours.converged
    assert abs(ours.certificate.primal - theirs.certificate.primal) <= 1.1e-4


def test_a_fit_with_kinks_that_is_stopped_is_no_worse_than_zero():
    X, y = census(600, 10)
    problem = PartsProblem(cut(X, y + 5.0, 3), "epsilon_insensitive", 1e-3, True)
    result = solve(problem, max_iter=0)
    memory = Problem(X, y + 5.0, "epsilon_insensitive", 1e-3, fit_intercept=True)
    at_zero = memory.certify(np.zeros(10)).primal
    assert result.certificate.primal == pytest.approx(at_zero, rel=1e-3)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("loss", ["logistic", "hinge"])
@pytest.mark.parametrize("storage", ["sparse", "dense"])
def test_blocks_dealt_anew_agree_with_memory(storage, loss, fit_intercept):
    X, y = census(1200, 12)
    X = X if storage == "sparse" else X.toarray()
    blocks = cut(X, y, 16).parts
    parts = InMemory([blocks[0], Block(X[:0], y[:0]), *blocks[1:]])
    lam = 20.0 / X.shape[0]
    problem = PartsProblem(parts, loss, lam, fit_intercept)
    ours = solve(problem, "regrouped_dual_cd", tol=1e-6, seed=0)
    theirs = solve(Problem(X, y, loss, lam, fit_intercept=fit_intercept), tol=1e-8)
    assert ours.converged
    assert abs(ours.certificate.primal - theirs.certificate.primal) <= 1.1e-6
    again = solve(problem, "regrouped_dual_cd", tol=1e-6, seed=0)
    assert np.array_equal(again.w, ours.w) and again.rounds == ours.rounds


def test_blocks_dealt_anew_need_few_passes_on_text_and_go_on_from_a_start():
    X, y = text()
    problem = PartsProblem(cut(X, y, 32), lam=1.0 / X.shape[0], fit_intercept=True)
    first = solve(problem, "regrouped_dual_cd", tol=1e-6, seed=0)
    assert first.converged and first.rounds <= 9
    problem.near = np.array(first.intercept)
    second = solve(problem, "regrouped_dual_cd", tol=1e-6, seed=0, start=(first.w, None))
    assert second.converged and second.passes < first.passes


def test_a_loss_with_kinks_and_no_rounded_form_is_refused():
    class Absolute:
        classification, smoothness, quadratic, strictly_convex = False, np.inf, False, False

    X, y = census(100)
    with pytest.raises((TypeError, ValueError)):
        PartsProblem(cut(X, y, 2), Absolute())


def test_a_certificate_on_parts_is_that_of_memory():
    X, y = census(500)
    w = 0.1 * np.random.default_rng(1).standard_normal(X.shape[1])
    for fit_intercept in (False, True):
        ours = PartsProblem(cut(X, y, 5), lam=0.01, fit_intercept=fit_intercept).certify(w)
        theirs = Problem(X, y, lam=0.01, fit_intercept=fit_intercept).certify(w)
        assert ours.primal == pytest.approx(theirs.primal, rel=1e-12)
        assert ours.gap == pytest.approx(theirs.gap, rel=1e-9)


def test_the_gap_without_intercept_is_the_square_of_the_gradient():
    X, y = census(500)
    problem = PartsProblem(cut(X, y, 5), lam=0.01)
    w = 0.1 * np.random.default_rng(1).standard_normal(X.shape[1])
    memory = Problem(X, y, lam=0.01)
    gradient = 0.01 * (w - memory.primal_point(memory.dual_point(memory.margins(w))))
    assert problem.certify(w, Dual(w, 0.0)).gap == pytest.approx(gradient @ gradient / 0.02)


def test_a_warm_start_saves_rounds_and_a_path_keeps_its_parts():
    X, y = census()
    problem = PartsProblem(cut(X, y, 4), lam=1e-3)
    first = solve(problem, tol=1e-8)
    near = problem.related(0.9e-3)
    cold, warm = solve(near, tol=1e-6), solve(near, tol=1e-6, start=(first.w, None))
    assert warm.converged and warm.rounds < cold.rounds


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_a_path_on_parts_is_that_of_memory_in_fewer_rounds(fit_intercept):
    X, y = census()
    lams = np.geomspace(1e-2, 1e-4, 5)
    ours = path(cut(X, y, 3), None, lams, fit_intercept=fit_intercept)
    theirs = path(X, y, lams, fit_intercept=fit_intercept)
    for one, other in zip(ours, theirs, strict=True):
        assert one.converged
        assert abs(one.certificate.primal - other.certificate.primal) <= 2e-6 * np.log(2)
    problem = PartsProblem(cut(X, y, 3), lam=lams[-1], fit_intercept=fit_intercept)
    assert ours[-1].rounds < solve(problem).rounds


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
@pytest.mark.parametrize("make", [census, text])
def test_advice_on_parts_names_the_method_that_runs(make, loss):
    X, y = make()
    problem = PartsProblem(cut(X, y, 4), loss, 1.0 / X.shape[0])
    advice = advise(problem)
    result = solve(problem, advice, max_iter=1)
    assert result.trace.methods[0] == advice.method and result.side == advice.side
    assert advice.bytes_moved == 0 and 0 < advice.seconds < 1e4
    assert advice.rounds <= advise(problem, tol=1e-9).rounds


def test_ctrl_c_keeps_the_best_iterate():
    X, y = text()
    problem = PartsProblem(cut(X, y, 4), lam=1.0 / X.shape[0])
    seen = []

    def interrupt(progress):
        seen.append(progress)
        if len(seen) == 3:
            raise KeyboardInterrupt

    result = solve(problem, tol=1e-9, callback=interrupt)
    assert result.status is Status.INTERRUPTED
    assert result.certificate.primal < problem.primal_at_zero


@pytest.mark.parametrize("name", ON_PARTS)
def test_a_method_has_its_pseudo_code(name):
    assert "Algorithm" in (ON_PARTS[name].__doc__ or "")


def test_the_dual_side_and_methods_of_memory_are_refused():
    X, y = census(100)
    problem = PartsProblem(cut(X, y, 2))
    with pytest.raises(ValueError, match="side must be"):
        solve(problem, side="dual")
    with pytest.raises(ValueError, match="method must be 'auto' for a PartsProblem"):
        solve(problem, "quartz")


def two_classes(X, y):
    return PartsProblem(cut(X, y, 4), lam=1.0 / X.shape[0], fit_intercept=True)


def with_kinks(X, y):
    return PartsProblem(cut(X, y, 4), "hinge", lam=1.0 / X.shape[0], fit_intercept=True)


def several_classes(X, y):
    return PartsMultinomial(cut(X, y, 4), lam=1.0 / X.shape[0], fit_intercept=True)


@pytest.mark.parametrize(
    "data, make",
    [
        (census, two_classes),
        (census, with_kinks),
        (text, two_classes),
        (classes, several_classes),
    ],
)
def test_a_fit_on_parts_goes_on_from_a_checkpoint_to_the_same_bits(data, make, tmp_path):
    from primaldual.checkpoints import checkpointing

    X, y = data(False)[:2] if data is classes else data()
    expected = solve(make(X, y), seed=0, callback=lambda progress: None)

    class Killed(BaseException):
        pass

    seen = []

    def kill(progress):
        seen.append(progress)
        if len(seen) == 2:
            raise Killed

    def quiet(progress):
        return None

    with pytest.raises(Killed), checkpointing(tmp_path / "run", every=0.0):
        solve(make(X, y), seed=0, callback=kill)
    with checkpointing(tmp_path / "run", every=0.0) as checkpoint:
        result = solve(make(X, y), seed=0, callback=quiet)
    assert checkpoint.resumed
    assert np.array_equal(result.w, expected.w)
    assert np.array_equal(result.intercept, expected.intercept)


def test_a_checkpoint_of_other_parts_is_refused(tmp_path):
    from primaldual.checkpoints import CheckpointError, checkpointing

    X, y = census()
    with pytest.raises(KeyError), checkpointing(tmp_path / "run", every=0.0):
        solve(PartsProblem(cut(X, y, 4), lam=1e-3), seed=0)
        raise KeyError
    with pytest.raises(CheckpointError, match="the data was"), checkpointing(tmp_path / "run"):
        solve(PartsProblem(cut(X, y, 5), lam=1e-3), seed=0)
