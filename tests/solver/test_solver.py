"""solve: the one loop around every method, its limits, its trace and its certificate."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import time

import bounded
import numpy as np
import pytest
from oracles import random_problem, reference_problem, scipy_optimum

from primaldual import LOSSES, METHODS, Problem, Progress, Status, advise, solve
from primaldual.engine.auto import Auto
from primaldual.methods import NSync, Quartz
from primaldual.methods.literature.averaged_quartz import AveragedQuartz
from primaldual.samplings import Draws, TauNice, Uniform
from primaldual.solver import Start

PAPER = ("nsync", "quartz")  # the loop is tested with these; test_contract.py has them all


class Always:
    """Draws one coordinate again and again."""

    def __init__(self, coordinate: int, size: int) -> None:
        self.coordinate, self.size = coordinate, size

    def probabilities(self):
        return np.full(self.size, 1 / self.size)

    def eso(self, side):
        return side.squared_norms

    def draw(self, rng, steps):
        return Draws(np.arange(steps + 1), np.full(steps, self.coordinate))


class Reckless:
    """Moves all coordinates at once with the steps of one at a time: no ESO, so it diverges."""

    def __init__(self, size: int) -> None:
        self.size = size

    def probabilities(self):
        return np.ones(self.size)

    def eso(self, side):
        return side.squared_norms

    def draw(self, rng, steps):
        return Draws(np.arange(steps + 1) * self.size, np.tile(np.arange(self.size), steps))


def stop_after(calls: int):
    """A callback that returns True at its call number ``calls``."""
    seen: list[Progress] = []

    def callback(progress):
        seen.append(progress)
        return len(seen) >= calls

    return callback, seen


# --------------------------------------------------------------------------------------------
# Primal and dual are one thing


@pytest.mark.parametrize("as_sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("loss", LOSSES)
def test_both_sides_and_scipy_find_the_same_optimum(loss, as_sparse):
    """Every loss, with and without weights and intercept; tol = 0 asks for all the digits."""
    for sample_weight in (None, 1.0 + np.arange(12) % 4):
        for fit_intercept in (False, True):
            problem = random_problem(
                seed=3,
                loss=loss,
                lam=0.3,
                as_sparse=as_sparse,
                sample_weight=sample_weight,
                fit_intercept=fit_intercept,
            )
            w, intercept, value = scipy_optimum(problem)
            # A loss with corners has steps on the dual only: two ways there.
            methods = PAPER if problem.is_smooth else ("ssnal", "dual_cd")
            if problem.is_smooth and problem.beta == np.inf:
                methods = ("newton", "dual_cd")
            primal, dual = (
                solve(problem, method, tol=0, max_passes=2000, seed=0) for method in methods
            )
            # A gap of rounding size, 1e-17, leaves √(2e-17/λ) = 8e-9 in w.
            np.testing.assert_allclose(primal.w, dual.w, atol=1e-8)
            for result in (primal, dual):
                np.testing.assert_allclose(result.w, w, atol=1e-6)
                assert result.intercept == pytest.approx(intercept, abs=1e-6)
                assert result.certificate.primal == pytest.approx(value, abs=1e-10)
                # At a corner the gap is of first order in the rounding error of the margins.
                assert result.certificate.gap <= (1e-15 if problem.is_smooth else 1e-14)


# --------------------------------------------------------------------------------------------
# Why a solve stops


def test_converged_means_that_the_certified_gap_meets_tol():
    problem = random_problem(seed=1)
    for tol in (1e-2, 1e-5, 1e-9):
        result = solve(problem, tol=tol, seed=0)
        assert result.status is Status.CONVERGED
        assert result.converged
        assert result.certificate.relative_gap <= tol


def test_max_passes_stops_a_solve_that_is_not_done():
    for method in PAPER:
        result = solve(random_problem(seed=1), method, tol=0, max_passes=7, seed=0)
        assert result.status is Status.MAX_PASSES
        assert not result.converged
        assert 7 <= result.passes <= 8


@pytest.mark.parametrize("method", [*PAPER, "auto"])
def test_no_pass_at_all_certifies_the_starting_point(method):
    problem = random_problem(seed=1)
    result = solve(problem, method, max_passes=0)
    assert result.status is Status.MAX_PASSES
    assert len(result.trace) == 1
    assert result.passes == 0
    np.testing.assert_array_equal(result.w, 0.0)
    assert result.certificate.primal == pytest.approx(problem.primal_at_zero)


def test_max_time_stops_a_solve_that_is_not_done():
    began = time.perf_counter()
    result = solve(random_problem(seed=1), "nsync", tol=0, max_passes=1e12, max_time=0.2)
    assert result.status is Status.MAX_TIME
    assert time.perf_counter() - began < 5


def test_callback_stops_the_solve_by_returning_true():
    callback, seen = stop_after(3)
    result = solve(random_problem(seed=1), "quartz", tol=0, seed=0, callback=callback)
    assert result.status is Status.STOPPED
    assert len(seen) == 3
    assert result.trace.entries == seen
    assert [progress.passes for progress in seen] == sorted(p.passes for p in seen)


def test_callback_that_returns_something_else_does_not_stop_it():
    result = solve(random_problem(seed=1), tol=1e-6, seed=0, callback=lambda progress: "go on")
    assert result.converged


def test_reaching_tol_counts_as_converged_even_if_the_callback_stops_there():
    result = solve(random_problem(seed=1), tol=1e-3, callback=lambda p: p.relative_gap <= 1e-3)
    assert result.status is Status.CONVERGED


def test_divergence_is_reported_with_the_last_good_iterate():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 8)) + 3.0
    problem = Problem(X, rng.standard_normal(30), loss="squared", lam=1e-3)
    for method, size in (("nsync", 8), ("quartz", 30)):
        with np.errstate(all="ignore"):
            result = solve(problem, method, Reckless(size), tol=1e-8, max_passes=10_000)
        assert result.status is Status.NOT_FINITE
        assert np.isfinite(result.w).all()
        assert np.isfinite(result.certificate.primal)
        assert result.certificate.primal <= problem.primal_at_zero


def test_divergence_raises_no_warning():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 8)) + 3.0
    problem = Problem(X, rng.standard_normal(30), loss="squared", lam=1e-3)
    for method, size in (("nsync", 8), ("quartz", 30)):
        result = solve(problem, method, Reckless(size), tol=1e-8, max_passes=10_000)
        assert result.status is Status.NOT_FINITE


def test_status_is_a_sentence():
    for status in Status:
        assert status.value.endswith(".")
    result = solve(random_problem(seed=1), max_passes=2, tol=0)
    assert str(result).splitlines()[1].startswith("max_passes was reached first")


# --------------------------------------------------------------------------------------------
# Interrupts


@pytest.mark.parametrize("method", [*PAPER, "auto"])
def test_keyboard_interrupt_in_the_callback_keeps_the_best_iterate(method):
    problem = random_problem(seed=1)
    calls = []

    def callback(progress):
        calls.append(progress)
        if len(calls) == 4:
            raise KeyboardInterrupt

    result = solve(problem, method, tol=0, max_passes=1000, seed=0, callback=callback)
    assert result.status is Status.INTERRUPTED
    assert result.certificate.relative_gap <= min(p.relative_gap for p in calls) + 1e-15
    assert result.certificate.primal < problem.primal_at_zero


def test_keyboard_interrupt_is_not_raised_again_by_the_same_callback():
    """A callback that raises from some point on, for example when a window was closed."""

    def callback(progress):
        if progress.passes >= 3:
            raise KeyboardInterrupt

    try:
        result = solve(random_problem(seed=1), "quartz", tol=0, seed=0, callback=callback)
    except KeyboardInterrupt:  # would end the whole test session
        pytest.fail("solve let KeyboardInterrupt through")
    assert result.status is Status.INTERRUPTED


def test_other_errors_in_the_callback_are_raised():
    def callback(progress):
        raise RuntimeError("from the callback")

    with pytest.raises(RuntimeError, match="from the callback"):
        solve(random_problem(seed=1), callback=callback)


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT to another process")
def test_ctrl_c_in_the_middle_of_a_long_solve_returns_within_a_second():
    script = textwrap.dedent(
        """
        import signal
        import time
        import numpy as np
        from scipy import sparse
        from primaldual import Problem, solve

        def handle(number, frame):
            global sent
            sent = time.process_time()
            raise KeyboardInterrupt

        signal.signal(signal.SIGINT, handle)
        n, width = 100_000, 200                       # 2e7 nonzeros
        rng = np.random.default_rng(0)
        indices = rng.integers(1, 100, (n, width), dtype=np.int32).cumsum(axis=1, dtype=np.int32)
        values = rng.random(n * width)
        starts = np.arange(n + 1, dtype=np.int32) * width
        X = sparse.csr_array((values, indices.ravel(), starts), shape=(n, 20_000))
        y = np.where(rng.random(n) < 0.5, 1.0, -1.0)

        def callback(progress):
            if progress.passes > 0:
                print("running", flush=True)

        problem = Problem(X, y, lam=1e-6)
        result = solve(problem, "quartz", tol=0, max_passes=1e9, max_time=60, callback=callback)
        print("returned", time.process_time() - sent, flush=True)
        print(result.status.name, result.certificate.primal <= np.log(2) + 1e-12, flush=True)
        """
    )
    with bounded.started(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout.readline() == "running\n"
        time.sleep(0.1)  # into the middle of the next pass
        child.send_signal(signal.SIGINT)
        while (line := child.stdout.readline()) == "running\n":
            pass
        words = line.split()
        assert words[0] == "returned"
        # In time of that process: how long it waits for a busy machine is no matter of ours.
        assert float(words[1]) < 1.0
        assert child.stdout.readline() == "INTERRUPTED True\n"
        assert child.wait(timeout=100) == 0


# --------------------------------------------------------------------------------------------
# The certificate and the trace


@pytest.mark.parametrize("method", PAPER)
@pytest.mark.parametrize("fit_intercept", [False, True], ids=["through zero", "intercept"])
def test_certificate_can_be_recomputed_from_w_and_alpha_alone(method, fit_intercept):
    problem = random_problem(seed=2, fit_intercept=fit_intercept)
    for tol in (1e-1, 1e-4, 1e-8):
        result = solve(problem, method, tol=tol, max_passes=10_000, seed=0)
        again = problem.certify(result.w, result.alpha)
        assert again.primal == pytest.approx(result.certificate.primal, abs=1e-14)
        assert again.dual == pytest.approx(result.certificate.dual, abs=1e-14)
        assert again.gap == pytest.approx(result.certificate.gap, abs=1e-14)
        assert again.intercept == pytest.approx(result.intercept, abs=1e-12)
        assert problem.primal(result.w) == pytest.approx(again.primal, abs=1e-14)
        assert problem.dual(result.alpha) == pytest.approx(again.dual, abs=1e-9)
        assert again.relative_gap == again.gap / problem.primal_at_zero


@pytest.mark.parametrize("method", PAPER)
def test_trace_goes_forward(method):
    result = solve(random_problem(seed=2), method, tol=1e-9, max_passes=10_000, seed=0)
    trace = result.trace
    assert len(trace) >= 3
    assert trace.passes[0] == 0
    assert trace.seconds[0] >= 0
    assert (np.diff(trace.passes) > 0).all()
    assert (np.diff(trace.seconds) > 0).all()
    assert (np.diff(trace.dual) >= 0).all()
    assert (np.diff(trace.relative_gap) <= 1e-16).all()
    assert (trace.primal >= trace.dual - 1e-15).all()
    assert set(trace.methods) == {method}
    assert result.passes == trace.passes[-1]
    assert result.seconds == trace.seconds[-1]


def test_trace_brackets_the_optimum():
    problem = random_problem(seed=2)
    optimum = scipy_optimum(problem)[2]
    for method in PAPER:
        trace = solve(problem, method, tol=1e-9, max_passes=10_000, seed=0).trace
        assert (trace.primal >= optimum - 1e-14).all()
        assert (trace.dual <= optimum + 1e-14).all()


def test_pass_is_as_many_visited_nonzeros_as_the_data_has():
    """Feature 0 holds 3 of the 4 nonzeros; a step on it is three quarters of a pass."""
    X = np.array([[1.0, 0], [2, 0], [3, 4]])
    problem = Problem(X, [1.0, 2, 3], loss="squared", lam=0.1)
    for coordinate, share in ((0, 3 / 4), (1, 1 / 4)):
        trace = solve(problem, "nsync", Always(coordinate, 2), tol=0, max_passes=2.9, seed=0).trace
        # W = 2 by the stated probabilities, so the steps of one pass are 4/2.
        assert trace.passes[1] == 2 * share
        np.testing.assert_allclose(np.mod(trace.passes, share), 0.0)


def test_dual_pass_counts_the_nonzeros_of_examples():
    X = np.array([[1.0, 0, 0], [2, 0, 5], [3, 4, 1]])
    problem = Problem(X, [1.0, 2, 3], loss="squared", lam=0.1)
    trace = solve(problem, "quartz", Always(2, 3), tol=0, max_passes=1.4, seed=0).trace
    assert trace.passes[1] == 3 * 3 / 6
    doubled = solve(problem, AveragedQuartz(), Always(2, 3), tol=0, max_passes=1.4, seed=0)
    assert doubled.trace.passes[1] == 2 * trace.passes[1]


def test_tol_is_relative_to_the_objective_at_zero():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20, 6)), rng.standard_normal(20)
    small = solve(Problem(X, y, loss="squared", lam=0.05), "nsync", tol=1e-7, seed=0)
    large = solve(Problem(X, 1024 * y, loss="squared", lam=0.05), "nsync", tol=1e-7, seed=0)
    assert small.passes == large.passes
    np.testing.assert_allclose(large.w, 1024 * small.w, rtol=1e-12)
    assert large.certificate.gap == pytest.approx(1024**2 * small.certificate.gap, rel=1e-9)
    assert large.certificate.relative_gap == pytest.approx(small.certificate.relative_gap, rel=1e-9)
    assert small.certificate.gap <= 1e-7 * 0.5 * np.mean(y**2)


# --------------------------------------------------------------------------------------------
# What can be asked for


def test_start_from_a_result_continues_it():
    problem = random_problem(seed=4)
    for method in PAPER:
        rough = solve(problem, method, tol=1e-3, seed=0)
        fine = solve(problem, method, tol=1e-9, seed=1, start=rough)
        assert fine.trace.relative_gap[0] <= 1e-3
        assert fine.converged
        cold = solve(problem, method, tol=1e-9, seed=1)
        assert fine.passes < cold.passes


def test_start_serves_the_other_side_too():
    problem = random_problem(seed=4)
    primal = solve(problem, "nsync", tol=1e-8, seed=0)
    dual = solve(problem, "quartz", tol=1e-6, seed=0, start=primal)
    assert dual.converged
    assert dual.passes == 0
    back = solve(problem, "nsync", tol=1e-5, seed=0, start=(None, dual.alpha))
    assert back.passes == 0


def test_method_may_be_a_name_a_class_or_an_object():
    problem = random_problem(seed=4)
    for name, kind in (("nsync", NSync), ("quartz", Quartz)):
        runs = [
            solve(problem, method, tol=0, max_passes=3, seed=0) for method in (name, kind, kind())
        ]
        assert {run.method for run in runs} == {name}
        assert len({run.w.tobytes() for run in runs}) == 1


@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_auto_solves_tall_wide_and_square_problems(loss):
    for n, d in ((40, 4), (4, 40), (15, 15)):
        problem = random_problem(seed=4, n=n, d=d, loss=loss)
        result = solve(problem, tol=1e-9, seed=0)
        assert result.converged, result
        assert result.method == "auto"
        assert set(result.trace.methods) <= set(METHODS)
        assert result.certificate.primal == pytest.approx(scipy_optimum(problem)[2], abs=1e-8)


def test_auto_takes_all_the_digits_there_are():
    """With tol = 0 it goes on until the gap is exactly zero or the passes are used up."""
    for loss in ("logistic", "squared"):
        result = solve(random_problem(seed=4, loss=loss), tol=0, max_passes=2000, seed=0)
        assert result.certificate.relative_gap <= 1e-14


SMALL_ONES = {
    "newton": lambda: random_problem(1, 60, 5, loss="logistic", lam=0.01),
    "newton_cg": lambda: random_problem(1, 300, 250, loss="squared_hinge", lam=0.1, density=0.02),
    "newton_cg with an intercept": lambda: random_problem(
        1, 300, 250, loss="logistic", lam=0.1, density=0.02, fit_intercept=True
    ),
}


@pytest.mark.parametrize("which", SMALL_ONES)
def test_one_round_of_a_small_problem_is_enough(which):
    problem = SMALL_ONES[which]()
    result = solve(problem, tol=1e-6, seed=0)
    assert result.converged and result.trace.methods == [which.split()[0]]
    assert result.problem is problem and 0 < result.seconds < 10
    watched = solve(problem, tol=1e-6, seed=0, callback=lambda progress: None)
    np.testing.assert_array_equal(watched.w, result.w)


def test_the_loop_goes_on_where_one_round_proves_nothing():
    problem = SMALL_ONES["newton_cg"]()
    result = solve(problem, tol=0.0, max_passes=200, seed=0)
    assert result.status in (Status.MAX_PASSES, Status.STALLED)
    assert len(result.trace.notes) > 1, "other methods had their turn"
    assert solve(problem, tol=1e-6, max_passes=0).status is Status.MAX_PASSES
    seen = []
    assert solve(problem, tol=1e-6, callback=seen.append).converged and seen


@pytest.mark.parametrize("which", SMALL_ONES)
def test_ctrl_c_in_the_one_round_keeps_what_there_is(which, monkeypatch):
    problem = SMALL_ONES[which]()
    kind = METHODS[which.split()[0]]

    def interrupt(*given):
        raise KeyboardInterrupt

    monkeypatch.setattr(kind, "advance", interrupt)
    try:
        result = solve(problem, tol=1e-6)
    except KeyboardInterrupt:  # would end the whole test session
        pytest.fail("solve let KeyboardInterrupt through")
    assert result.status is Status.INTERRUPTED and np.isfinite(result.certificate.gap)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_a_round_that_overflows_raises_no_warning(scale, loss):
    X = scale * np.random.default_rng(0).standard_normal((60, 5))
    result = solve(Problem(X, np.where(X[:, 0] > 0, 1.0, -1.0), loss, lam=1e-7), tol=1e-6)
    assert result.converged == (result.certificate.relative_gap <= 1e-6)


def test_a_wrong_seed_is_refused_also_where_none_is_needed():
    with pytest.raises((TypeError, ValueError)):
        solve(SMALL_ONES["newton"](), seed="no seed")
    with pytest.raises((TypeError, ValueError)):
        solve(SMALL_ONES["newton"](), seed=-1)


def test_an_object_that_chose_once_chooses_again_for_the_next_problem():
    chooser = Auto(1e-6)
    assert solve(SMALL_ONES["newton"](), chooser, tol=1e-6).trace.methods[-1] == "newton"
    result = solve(SMALL_ONES["newton_cg"](), chooser, tol=1e-6)
    assert result.converged and result.trace.methods[-1] == "newton_cg"


# --------------------------------------------------------------------------------------------
# Sides and iterations


@pytest.mark.parametrize("side", ["primal", "dual"])
@pytest.mark.parametrize("shape", [(60, 5), (10, 40), (300, 250)], ids=str)
def test_side_keeps_the_engine_to_methods_of_that_side(side, shape):
    problem = random_problem(1, *shape, loss="logistic", lam=0.01)
    result = solve(problem, tol=1e-8, seed=0, side=side)
    assert result.converged and result.method == "auto"
    assert {METHODS[name].side for name in result.trace.methods} == {side}


def test_side_is_refused_where_it_cannot_be_kept():
    problem = random_problem(seed=1)
    with pytest.raises(ValueError, match=r"side must be one of auto, primal, dual, got 'both'"):
        solve(problem, side="both")
    with pytest.raises(ValueError, match=r"side='primal' needs method='auto', got 'quartz'"):
        solve(problem, "quartz", side="primal")
    with pytest.raises(ValueError, match=r"side must be 'auto' or 'dual'"):
        solve(random_problem(seed=1, loss="hinge"), side="primal")


@pytest.mark.parametrize("method", [*PAPER, "dual_cd", "primal_cd", "newton_cg", "gram_newton"])
def test_max_iter_stops_a_solve_that_is_not_done(method):
    problem = random_problem(3, 80, 60, lam=1e-4)
    result = solve(problem, method, tol=0, max_passes=1e6, max_iter=2, seed=0)
    assert result.status is Status.MAX_ITER and not result.converged
    assert "max_iter" in str(result)
    # A round is finished: three passes on the primal, up to twelve epochs on small data.
    assert 2 <= result.iterations <= 12
    assert result.trace.iterations[-1] == result.iterations


def test_no_iteration_at_all_certifies_the_starting_point():
    result = solve(random_problem(seed=1), max_iter=0)
    assert result.status is Status.MAX_ITER
    assert len(result.trace) == 1 and result.iterations == 0
    np.testing.assert_array_equal(result.w, 0.0)


def test_a_pass_of_descent_and_a_step_of_newton_are_iterations():
    problem = random_problem(3, 80, 60, lam=1e-2)
    for method in ("quartz", "dual_cd"):
        result = solve(problem, method, tol=1e-8, seed=0)
        assert result.iterations == pytest.approx(result.passes)
    steps: list[Progress] = []
    result = solve(problem, "gram_newton", tol=1e-8, seed=0, callback=steps.append)
    assert [step.iterations for step in steps] == list(range(1, len(steps) + 1))
    assert result.iterations == len(steps)


# --------------------------------------------------------------------------------------------
# Guesses


def test_a_guess_is_not_certified_before_the_first_step():
    problem = random_problem(seed=4)
    near = solve(problem, tol=1e-3, seed=0)
    for start in (Start(near.w, near.alpha, True), Start(near.w, None, True)):
        result = solve(problem, "dual_cd", tol=1e-9, seed=0, start=start)
        assert result.converged and result.trace.passes[0] > 0


def test_a_result_is_never_worse_than_the_guess_it_started_from():
    problem = random_problem(seed=4)
    good = solve(problem, tol=1e-12, seed=0)
    for method in ("dual_cd", "primal_cd"):
        guess = Start(good.w, np.zeros(problem.n), True)
        result = solve(problem, method, tol=0, max_iter=1, seed=0, start=guess)
        assert result.certificate.primal <= good.certificate.primal


def test_advice_comes_with_the_result():
    problem = random_problem(seed=4)
    assert solve(problem, "nsync", seed=0).advice == advise(problem)


def test_sampling_may_be_a_name_or_an_object():
    problem = random_problem(seed=4)
    by_name = solve(problem, "nsync", "uniform", tol=0, max_passes=3, seed=0)
    by_object = solve(problem, "nsync", Uniform(5), tol=0, max_passes=3, seed=0)
    assert by_name.w.tobytes() == by_object.w.tobytes()
    assert solve(problem, "quartz", TauNice(12, 3), tol=1e-6, seed=0).converged


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"method": "no such"}, ValueError, r"method must be one of auto, .*quartz.*'no such'"),
        ({"method": 3}, TypeError, "method must be a name or an object"),
        (
            {"method": "nsync", "sampling": "greedy"},
            ValueError,
            r"sampling must be one of uniform, .*'greedy'",
        ),
        (
            {"method": "nsync", "sampling": Uniform},
            TypeError,
            "sampling must be a name or an object",
        ),
        ({"method": "nsync", "sampling": Uniform(9)}, ValueError, "9 coordinates"),
        ({"tol": -1.0}, ValueError, "tol must be a nonnegative number"),
        ({"tol": float("nan")}, ValueError, "tol must be a nonnegative number"),
        ({"tol": None}, ValueError, "tol must be a nonnegative number"),
        ({"max_passes": -1}, ValueError, "max_passes must be a nonnegative number"),
        ({"max_time": -1}, ValueError, "max_time must be a nonnegative number"),
        ({"max_iter": -1}, ValueError, "max_iter must be a nonnegative number"),
        ({"max_iter": "many"}, ValueError, "max_iter must be a nonnegative number"),
        ({"start": 5}, TypeError, r"start must be a Result or a pair \(w, alpha\)"),
        ({"start": (np.zeros(3), None)}, ValueError, "w must hold 5 finite numbers"),
        ({"start": (None, np.full(12, np.nan))}, ValueError, "alpha must hold 12 finite"),
    ],
)
def test_wrong_arguments_are_refused_with_what_was_expected(options, error, message):
    with pytest.raises(error, match=message):
        solve(random_problem(seed=1), **options)


def test_method_of_ones_own_needs_no_more_than_the_protocol():
    """Half an NSync: it keeps every other step."""

    class Lazy(NSync):
        def advance(self, state, draws):
            half = draws.coordinates[: len(draws.coordinates) // 2]
            return super().advance(state, Draws(np.arange(len(half) + 1), half))

    result = solve(reference_problem("logistic"), Lazy(), tol=1e-6, seed=0)
    assert result.converged
    assert result.method == "Lazy"


def test_the_trace_tells_which_method_auto_took_and_why():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 5))
    result = solve(Problem(X, np.sign(X[:, 0]), lam=0.1), seed=0)
    assert result.trace.notes[0].startswith(f"{result.trace.methods[0]}: ")
    assert solve(Problem(X, np.sign(X[:, 0]), lam=0.1), "quartz", seed=0).trace.notes == []
