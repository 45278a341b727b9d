"""Checkpoints: killed at any moment and run again, a run ends in the bits of an unbroken one."""

from __future__ import annotations

import errno
import os
import sys
import threading
import time
from dataclasses import dataclass

import bounded
import numpy as np
import pytest
from scipy import sparse

from primaldual import METHODS, LogisticRegression, Problem, container, datasets, path, solve
from primaldual.checkpoints import CheckpointError, CheckpointWarning, checkpointing, current
from primaldual.container import ContainerError
from primaldual.engine import Auto
from primaldual.estimators import LogisticRegressionCV, Ridge
from primaldual.methods import Method
from primaldual.methods.engine.dual_cd import DualCD
from primaldual.methods.nsync import NSync
from primaldual.multinomial import Multinomial, solve_multinomial
from primaldual.result import Status


class Killed(BaseException):
    """The end of a run, right after a save."""


@pytest.fixture
def place(tmp_path):
    return tmp_path / "run.checkpoint"


@pytest.fixture
def quick_disk(monkeypatch):
    """Saves that need not last through a loss of power."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)


def until_done(run, place, kills, monkeypatch):
    """run() inside a checkpoint, killed after so many saves each time; its last result."""
    write = container.write
    for saves in kills:
        left = [saves]

        def write_and_die(*arguments, left=left):
            write(*arguments)
            left[0] -= 1
            if not left[0]:
                raise Killed

        monkeypatch.setattr(container, "write", write_and_die)
        try:
            with checkpointing(place, every=0.0):
                return run()
        except Killed:
            assert place.exists()
    monkeypatch.setattr(container, "write", write)
    with checkpointing(place, every=1000.0) as checkpoint:
        assert checkpoint.resumed
        return run()


def small_problem(change=0.0, **options):
    X = sparse.random(60, 25, 0.2, random_state=1, format="csr")
    X.data[3] += change
    y = np.sign(np.random.default_rng(0).standard_normal(60))
    return Problem(**{"X": X, "y": y, "lam": 0.02, **options})


def bits(result):
    """All of a result but the seconds."""
    entries = [entry._replace(seconds=0.0) for entry in result.trace.entries]
    proof = result.certificate
    numbers = [result.w.tobytes(), result.alpha.tobytes(), np.asarray(result.intercept).tobytes()]
    values = (proof.primal, proof.dual, proof.gap, result.status, result.method)
    return numbers, values, entries, result.trace.notes


# --- every method ---------------------------------------------------------------------------------


WITH_INTERCEPT = ["auto", *(name for name in METHODS if METHODS[name].free_intercept)]
CASES = [(name, False) for name in ("auto", *METHODS)] + [(name, True) for name in WITH_INTERCEPT]


@pytest.mark.parametrize(("name", "fit_intercept"), CASES)
def test_every_method_goes_on_to_the_same_bits(name, fit_intercept, place, monkeypatch, quick_disk):
    monkeypatch.setattr("primaldual.solver.drawn.CHUNK", 300)  # so that draws are cut into pieces

    def run():
        problem = small_problem(fit_intercept=fit_intercept)
        return solve(problem, name, tol=1e-9, max_passes=8, seed=3)

    alone = run()
    assert bits(until_done(run, place, [1, 2, 4, 1], monkeypatch)) == bits(alone)
    assert not place.exists()


@pytest.mark.parametrize("density", [0.05, 0.5], ids=["sparse", "made dense"])
def test_the_engine_goes_on_after_a_change_of_methods(density, place, monkeypatch, quick_disk):
    rng = np.random.default_rng(0)
    X = sparse.random(500, 300, density, random_state=1, format="csr")
    y = np.sign(X @ rng.standard_normal(300) + 0.1 * rng.standard_normal(500))
    X = X @ sparse.diags(np.logspace(-2, 2, 300))  # in units that make descent slow

    def run():
        problem = Problem(X, y, lam=1e-7, fit_intercept=True)
        return solve(problem, Auto(1e-10, first="dual_cd"), tol=1e-10, seed=0)

    alone = run()
    assert len(alone.trace.notes) > 1, "the method has not changed"
    for kills in ([3, 3, 3], [5, 1, 1, 1]):
        assert bits(until_done(run, place, kills, monkeypatch)) == bits(alone)


def test_checks_come_at_the_same_rounds_after_every_kill(place, monkeypatch, quick_disk):
    # One epoch a round, and many rounds: what a check has taught is used long after it.
    X = datasets.zipf_text(800, 300, 40, seed=0)
    y = datasets.labels(X, noise=0.2, seed=1)

    def run():
        problem = Problem(X, y, loss="squared_hinge", lam=1e-5)
        return solve(problem, DualCD(1e-7, most_epochs=1), tol=1e-7, seed=0)

    alone = run()
    assert len(alone.trace) > 2
    for kills in ([2] * 40, [17, 1, 1, 3, 9, 1, 4]):
        resumed = until_done(run, place, kills, monkeypatch)
        assert bits(resumed) == bits(alone)
        assert (resumed.trace.passes == alone.trace.passes).all()


def test_a_start_and_a_callback_are_part_of_the_run(place, monkeypatch, quick_disk):
    seen = []

    def run():
        start = (np.full(25, 0.1), None)
        return solve(
            small_problem(), "dual_cd", tol=1e-12, seed=0, start=start, callback=seen.append
        )

    alone = run()
    expected, seen[:] = list(seen), []
    assert bits(until_done(run, place, [1, 1, 1], monkeypatch)) == bits(alone)
    assert [entry.primal for entry in seen] == [entry.primal for entry in expected], (
        "a check that was saved is not shown again"
    )


# --- fits with several solves ---------------------------------------------------------------------


def classes(count, n=300, d=40):
    rng = np.random.default_rng(1)
    X = sparse.random(n, d, 0.3, random_state=2, format="csr")
    return X, np.argmax(X @ rng.standard_normal((d, count)) + rng.gumbel(size=(n, count)), axis=1)


def one_against_rest():
    model = LogisticRegression(multi_class="ovr", tol=1e-9, side="dual", random_state=0)
    return model.fit(*classes(3))


def multinomial():
    return LogisticRegression(tol=1e-9, side="dual").fit(*classes(3))


def multinomial_newton():
    return LogisticRegression(tol=1e-9).fit(*classes(3))


def several_targets():
    X, labels = classes(3)
    return Ridge(tol=1e-9, side="dual").fit(X, np.eye(3)[labels])


def cross_validation():
    return LogisticRegressionCV(Cs=[0.1, 1.0, 10.0], cv=3, tol=1e-6).fit(*classes(2))


FITS = [one_against_rest, multinomial, multinomial_newton, several_targets, cross_validation]


@pytest.mark.parametrize("fit", FITS, ids=lambda fit: fit.__name__)
def test_fits_go_on_to_the_same_bits(fit, place, monkeypatch, quick_disk):
    alone = fit()
    model = until_done(fit, place, [1, 3, 2, 7], monkeypatch)
    assert model.coef_.tobytes() == alone.coef_.tobytes()
    assert model.intercept_.tobytes() == alone.intercept_.tobytes()
    assert model.dual_gap_ == alone.dual_gap_
    assert np.array_equal(model.n_iter_, alone.n_iter_)
    assert np.array_equal(model.history_["passes"], alone.history_["passes"])


def test_a_path_goes_on_with_a_generator_that_is_shared(place, monkeypatch, quick_disk):
    X, y = classes(2, 400, 100)
    after = []

    def run():
        rng = np.random.default_rng(7)
        results = path(X, y, [1e-1, 1e-2, 1e-3, 1e-4], tol=1e-7, seed=rng)
        after.append(rng.random())
        return results

    alone = run()
    results = until_done(run, place, [2] * 30, monkeypatch)
    assert [bits(result) for result in results] == [bits(result) for result in alone]
    assert after[0] == after[-1]


def test_solves_that_share_a_seed_sequence_go_on(place, monkeypatch, quick_disk):
    """The second one spawns its generator after the first, also if the first is only read."""

    def run():
        seed = np.random.SeedSequence(3)
        return [solve(small_problem(), "l_svrg", tol=1e-3, max_passes=9, seed=seed) for _ in "ab"]

    alone = run()
    assert bits(alone[0]) != bits(alone[1])
    results = until_done(run, place, [20, 5, 5], monkeypatch)
    assert [bits(result) for result in results] == [bits(result) for result in alone]


def test_solves_that_share_their_data_go_on(place, monkeypatch, quick_disk):
    """The first one builds a layout of the data, which changes no sum of the second."""
    X = np.random.default_rng(0).standard_normal((70, 30))

    def run():
        problem = Problem(X, X[:, 0], "squared", lam=0.1)
        return [solve(problem, name, max_passes=9, seed=0) for name in ("nsync", "quartz")]

    alone = run()
    second = solve(Problem(X, X[:, 0], "squared", lam=0.1), "quartz", max_passes=9, seed=0)
    assert bits(second) == bits(alone[1])
    results = until_done(run, place, [12, 1, 1], monkeypatch)
    assert [bits(result) for result in results] == [bits(result) for result in alone]


def test_a_multinomial_problem_is_left_as_it_was(place, monkeypatch, quick_disk):
    X, y = classes(3)

    def run():
        problem = Multinomial(X, y, lam=1e-3, fit_intercept=True)
        found = []
        for side in ("dual", "primal"):
            result = solve_multinomial(problem, side, tol=1e-9, seed=0)
            found.append((bits(result), problem.near.tobytes()))
        return found

    alone = run()
    assert {near for _, near in alone} == {bytes(24)}
    assert until_done(run, place, [2] * 40, monkeypatch) == alone


def test_what_is_finished_is_not_solved_again(place, monkeypatch, quick_disk):
    def run():
        return [solve(small_problem(lam=lam), "dual_cd", seed=0) for lam in (0.1, 0.01)]

    alone = run()
    monkeypatch.setattr(container, "write", _failing_from(container.write, 4))
    with pytest.raises(Killed), checkpointing(place, every=0.0):
        run()
    monkeypatch.undo()
    started = []
    start = METHODS["dual_cd"].start
    monkeypatch.setattr(
        METHODS["dual_cd"], "start", lambda *args, **keys: started.append(1) or start(*args, **keys)
    )
    with checkpointing(place):
        again = run()
    assert not started, "one is finished, the other is under way"
    assert [bits(result) for result in again] == [bits(result) for result in alone]
    assert again[0].w.flags.writeable and again[0].problem.n == 60


def _failing_from(write, number):
    """Write, and end the run with the write of that number."""
    count = iter(range(1, 1000))

    def write_and_die(*arguments):
        write(*arguments)
        if next(count) == number:
            raise Killed

    return write_and_die


# --- killed for good ------------------------------------------------------------------------------

SCRIPT = """
import math, os, random, signal, time
import numpy as np
from scipy import sparse
from primaldual import LogisticRegression
from primaldual.checkpoints import checkpointing

rng = np.random.default_rng(0)
X = sparse.random(2000, 500, 0.02, random_state=1, format="csr")
scores = X @ rng.standard_normal((500, 3)) + 0.1 * rng.gumbel(size=(2000, 3))

def fit(labels):
    wait = lambda progress: time.sleep(0.02)
    model = LogisticRegression(C=3.0, tol=1e-9, side="dual", callback=wait)
    model.fit(X, labels)
    return np.concatenate([model.coef_.ravel(), model.intercept_, np.ravel(model.n_iter_)])

def both(out):
    np.save(out, np.concatenate([fit(scores[:, 0] > 0), fit(scores.argmax(axis=1))]))

def checkpointed():
    with checkpointing("run.checkpoint", every=0.0):
        both("resumed.npy")

def stamp():
    found = os.stat("run.checkpoint") if os.path.exists("run.checkpoint") else None
    return found and (found.st_ino, found.st_mtime_ns)

def killed(run, saves=math.inf, delay=0.0):
    '''Whether run() in a process of its own was killed, some moments after so many saves.'''
    process, seen, last = os.fork(), 0, stamp()
    if process == 0:
        run()
        os._exit(0)
    while os.waitpid(process, os.WNOHANG) == (0, 0):
        time.sleep(0.001)
        if stamp() not in (last, None):
            seen, last = seen + 1, stamp()
        if seen >= saves:
            time.sleep(delay)
            os.kill(process, signal.SIGKILL)
            return os.WIFSIGNALED(os.waitpid(process, 0)[1])
    return False

killed(lambda: both("alone.npy"))
moments = random.Random(5)
count = 0
while count < 3 and killed(checkpointed, moments.randint(1, 4), moments.uniform(0.0, 0.03)):
    count += 1
if count == 3:
    killed(checkpointed)
print(count)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_killed_with_sigkill_at_random_moments(tmp_path):
    """A binary and a multinomial fit in one block, in processes that are really killed."""
    script = tmp_path / "fit.py"
    script.write_text(SCRIPT, encoding="utf-8")
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = bounded.run([sys.executable, str(script)], cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == 3, "it was killed after saves"
    assert sorted(os.listdir(tmp_path)) == ["alone.npy", "fit.py", "resumed.npy"]
    alone, resumed = (np.load(tmp_path / f"{name}.npy") for name in ("alone", "resumed"))
    assert resumed.tobytes() == alone.tobytes()


# --- refusals -------------------------------------------------------------------------------------


def leave_checkpoint(place, monkeypatch, **settings):
    """A run that ends after its second save."""
    with monkeypatch.context() as patch:
        patch.setattr(container, "write", _failing_from(container.write, 2))
        with pytest.raises(Killed), checkpointing(place, every=0.0):
            solve(small_problem(), "quartz", **{"tol": 1e-9, "seed": 0, **settings})


DIFFERENT = {
    "lam": {"problem": small_problem(lam=0.03)},
    "the data": {"problem": small_problem(change=1e-9)},
    "the targets": {"problem": small_problem(y=[1, -1] * 30)},
    "the sample weights": {"problem": small_problem(sample_weight=np.arange(1, 61))},
    "the loss": {"problem": small_problem(loss="smoothed_hinge")},
    "fit_intercept": {"problem": small_problem(fit_intercept=True)},
    "the method": {"method": "nsync"},
    "the sampling": {"sampling": "uniform"},
    "the seed": {"seed": 1},
    "the start": {"start": (None, np.zeros(60))},
    "tol": {"tol": 1e-8},
    "max_passes": {"max_passes": 7},
    "callback": {"callback": lambda progress: None},
}


@pytest.mark.parametrize("what", DIFFERENT)
def test_another_run_is_refused_and_told_what_differs(what, place, monkeypatch, quick_disk):
    leave_checkpoint(place, monkeypatch)
    before = place.read_bytes()
    settings = {"problem": small_problem(), "method": "quartz", "tol": 1e-9, "seed": 0}
    with (
        pytest.raises(CheckpointError, match=f"[ ,;]{what} was .*, now is .*[Dd]elete the file"),
        checkpointing(place),
    ):
        solve(**{**settings, **DIFFERENT[what]})
    assert place.read_bytes() == before, "the checkpoint is still there"


def test_another_version_is_refused(place, monkeypatch, quick_disk):
    leave_checkpoint(place, monkeypatch)
    monkeypatch.setattr("importlib.metadata.version", lambda name: "99.0")
    with pytest.raises(CheckpointError, match=r"version .* now is 99\.0"), checkpointing(place):
        solve(small_problem(), "quartz", tol=1e-9, seed=0)


def test_an_altered_file_is_refused(place, monkeypatch, quick_disk):
    leave_checkpoint(place, monkeypatch)
    stored = bytearray(place.read_bytes())
    stored[len(stored) // 2] ^= 1
    place.write_bytes(stored)
    with pytest.raises(ContainerError, match="damaged"), checkpointing(place):
        raise AssertionError("the block must not begin")


@pytest.mark.parametrize(
    ("header", "message"),
    [({"kind": "model"}, "not a checkpoint"), ({"kind": "checkpoint", "format": 3}, "format 3")],
)
def test_a_file_of_another_kind_is_refused(header, message, place):
    container.write(place, header, {})
    with pytest.raises(CheckpointError, match=message), checkpointing(place):
        raise AssertionError("the block must not begin")


def test_the_problems_of_a_fit_are_solved_in_order_whatever_n_jobs_is(place):
    model = LogisticRegression(multi_class="ovr", n_jobs=2, tol=1e-9)
    threads, before = [], threading.active_count()
    with checkpointing(place):
        model.set_params(callback=lambda progress: threads.append(threading.current_thread()))
        model.fit(*classes(3))
    assert set(threads) == {threading.current_thread()}
    assert threading.active_count() == before


def test_threads_of_ones_own_are_refused(place):
    found = []

    def fit():
        try:
            LogisticRegression(tol=1e-9).fit(*classes(2))
        except RuntimeError as error:
            found.append(str(error))

    with checkpointing(place):
        thread = threading.Thread(target=fit)
        thread.start()
        thread.join(30)
    assert "one after the other" in found[0]


def test_threads_that_were_there_before_are_left_alone(place):
    go, found = threading.Event(), []
    thread = threading.Thread(target=lambda: go.wait(30) and found.append(current()))
    thread.start()
    with checkpointing(place):
        go.set()
        thread.join(30)
        assert current() is not None
    assert found == [None]


def test_blocks_cannot_be_nested(place):
    with checkpointing(place):
        with pytest.raises(RuntimeError, match="cannot be nested"), checkpointing(place):
            pass
        assert current() is not None
    assert current() is None


@pytest.mark.parametrize("every", [-1.0, float("nan"), "often"])
def test_every_is_a_number_of_seconds(every, place):
    with pytest.raises(ValueError, match="every must be"), checkpointing(place, every):
        pass


# --- what cannot be saved -------------------------------------------------------------------------


@dataclass
class OpenState:
    problem: Problem
    w: np.ndarray
    handle: object  # something that no file can hold


class WithHandle:
    """A method whose state cannot be saved."""

    side, free_intercept, samplings = "primal", False, ()

    def start(self, problem, sampling, w=None, alpha=None, rng=None):
        return OpenState(problem, np.zeros(problem.d), threading.Lock())

    def advance(self, state, draws):
        return 1.0

    def iterate(self, state):
        return state.w, None


class OneByOne(NSync):
    """A method of a user's own, with a memory of its own."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def advance(self, state, draws):
        self.calls.append(draws.steps)
        return super().advance(state, draws)


def test_the_field_that_cannot_be_saved_is_named(place):
    """At once, and not when the first save is due."""
    with pytest.raises(TypeError, match=r"state\.handle.*lock"), checkpointing(place):
        solve(small_problem(), WithHandle(), max_passes=3)


def test_a_method_of_ones_own_goes_on(place, monkeypatch, quick_disk):
    methods: list[Method] = []

    def run():
        methods.append(OneByOne())
        return solve(small_problem(), methods[-1], tol=1e-9, max_passes=8, seed=0)

    alone = run()
    assert bits(until_done(run, place, [3, 2], monkeypatch)) == bits(alone)
    assert methods[0].calls == methods[-1].calls


def test_a_full_disk_is_a_warning_and_the_run_goes_on(place, monkeypatch):
    alone = solve(small_problem(), "quartz", tol=1e-9, seed=0)

    def full(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(container, "write", full)
    with (
        pytest.warns(CheckpointWarning, match=r"run\.checkpoint could not .*No space left"),
        checkpointing(place, every=0.0),
    ):
        result = solve(small_problem(), "quartz", tol=1e-9, seed=0)
    assert bits(result) == bits(alone)


def test_a_folder_that_is_missing_or_read_only_is_found_out_at_once(tmp_path, monkeypatch):
    missing = tmp_path / "there" / "file"
    with pytest.raises(FileNotFoundError, match=r"there.*does not exist"), checkpointing(missing):
        raise AssertionError("the block must not begin")
    monkeypatch.setattr(os, "access", lambda folder, mode: False)
    with pytest.raises(PermissionError, match="read-only"), checkpointing(tmp_path / "file"):
        raise AssertionError("the block must not begin")


# --- when the file stays --------------------------------------------------------------------------


def test_nothing_is_saved_before_its_time(place):
    with checkpointing(place, every=1000.0) as checkpoint:
        solve(small_problem(), "quartz", seed=0)
    assert checkpoint.saves == 0 and not checkpoint.resumed


def test_an_error_in_the_block_keeps_what_was_finished(place):
    with pytest.raises(ZeroDivisionError), checkpointing(place, every=1000.0):
        first = solve(small_problem(), "quartz", seed=0)
        raise ZeroDivisionError
    with checkpointing(place) as checkpoint:
        again = solve(small_problem(), "quartz", seed=0)
    assert checkpoint.resumed and bits(again) == bits(first)
    assert again.seconds == first.seconds, "it was read, not computed"
    assert not place.exists()


def test_ctrl_c_keeps_the_file_and_the_next_run_goes_on(place, quick_disk):
    def run(at):
        count = iter(range(1000))

        def interrupt(progress):
            if next(count) == at:
                raise KeyboardInterrupt

        return solve(small_problem(), "quartz", tol=1e-9, seed=0, callback=interrupt)

    alone = run(None)
    with checkpointing(place, every=0.0) as checkpoint:
        assert run(5).status is Status.INTERRUPTED
    assert checkpoint.unfinished and place.exists()
    with checkpointing(place):
        assert bits(run(None)) == bits(alone)
    assert not place.exists()


def test_max_time_counts_the_time_before_and_more_of_it_goes_on(place):
    def run(max_time):
        wait = lambda progress: time.sleep(0.02)  # noqa: E731
        return solve(small_problem(), "quartz", tol=1e-9, seed=0, max_time=max_time, callback=wait)

    with checkpointing(place):
        first = run(0.1)
    assert first.status is Status.MAX_TIME and place.exists()
    with checkpointing(place):
        second = run(0.1)
    assert second.status is Status.MAX_TIME and len(second.trace) == len(first.trace) + 1
    with checkpointing(place):
        third = run(60.0)
    assert third.converged and third.trace.entries[: len(second.trace)] == second.trace.entries
    assert not place.exists()


def test_solves_that_were_not_asked_for_are_kept_with_a_warning(place, quick_disk):
    def run(count):
        return [solve(small_problem(), "quartz", seed=seed) for seed in range(count)]

    with pytest.raises(Killed), checkpointing(place):
        run(3)
        raise Killed
    message = "holds 3 solves, and this run asked for 2"
    with pytest.warns(CheckpointWarning, match=message), checkpointing(place):
        run(2)
    assert place.exists()


def test_a_solve_inside_a_callback_is_not_recorded(place, monkeypatch, quick_disk):
    def run():
        inner = lambda progress: solve(small_problem(), "newton") and None  # noqa: E731
        return solve(small_problem(), "quartz", tol=1e-9, seed=0, callback=inner)

    alone = run()
    assert bits(until_done(run, place, [2, 3], monkeypatch)) == bits(alone)


def test_leftovers_of_a_write_that_was_cut_off_are_removed(place):
    leftover = place.with_name(f".{place.name}.0a1b2c3d.tmp")
    other = place.with_name(".other.0a1b2c3d.tmp")
    for path_ in (leftover, other):
        path_.write_bytes(b"half")
    with checkpointing(place):
        assert not leftover.exists()
    assert other.exists()
