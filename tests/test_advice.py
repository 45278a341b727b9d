"""The advice: the side with the smaller T, the reason, and the table."""

from __future__ import annotations

import copy
import math
import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import random_matrix, random_problem, reference_problem

from primaldual import METHODS, SAMPLINGS, Problem, advise, datasets, solve, structure_cost
from primaldual.complexity import importance_complexity
from primaldual.engine.forecast import likely_side

modestly = settings(max_examples=30, deadline=None, derandomize=True)


def one_sentence(text):
    return text.endswith(".") and ". " not in text and "\n" not in text


@modestly
@given(seed=st.integers(0, 10**6))
def test_the_side_with_the_smaller_total_wins(seed):
    rng = np.random.default_rng(seed)
    n, d = rng.integers(2, 15, size=2)
    problem = random_problem(seed, n=n, d=d, loss="squared", lam=10 ** rng.uniform(-4, 0))
    advice = advise(problem)
    assert advice.primal.total == pytest.approx(importance_complexity(problem.features).total)
    assert advice.dual.total == pytest.approx(importance_complexity(problem.examples).total)
    assert advice.side == ("primal" if advice.primal.total <= advice.dual.total else "dual")
    assert (advice.d, advice.n) == (d, n)
    if problem.matrix.nnz:
        assert advice.ratio == pytest.approx(advice.primal.total / advice.dual.total)
    assert one_sentence(advice.reason)


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_every_sampling_can_be_asked_for(sampling):
    advice = advise(reference_problem("logistic"), sampling)
    assert advice.sampling == sampling
    assert advice.primal.total > 0 and advice.dual.total > 0


def test_the_reason_names_what_decides():
    wide = Problem(
        np.random.default_rng(0).standard_normal((5, 60)), np.arange(5.0), "squared", 0.1
    )
    assert advise(wide).side == "primal"
    assert "features with about 5 nonzeros each, against 60 per example" in advise(wide).reason
    tall = Problem(
        np.random.default_rng(0).standard_normal((60, 5)), np.arange(60.0), "squared", 0.1
    )
    assert advise(tall).side == "dual"
    assert "examples with about 5 nonzeros each, against 60 per feature" in advise(tall).reason


def test_the_reason_says_so_where_the_shape_would_have_decided_otherwise():
    X = np.zeros((30, 50))  # more features than examples, but one feature has all the weight
    X[:, 0] = 10.0
    X[0, 1:] = 0.1
    advice = advise(Problem(X, np.arange(30.0), "squared", 0.1))
    assert advice.side == "dual"
    assert advice.reason.startswith("although d ≥ n, ")
    assert "the heaviest 1 % of features carry 100% of it" in advice.reason
    assert one_sentence(advice.reason)


def test_a_tie_goes_to_the_primal_and_is_called_a_close_call():
    advice = advise(Problem(np.eye(8), np.arange(8.0), "squared", 1e-3))
    assert advice.primal.total == advice.dual.total
    assert advice.side == "primal" and advice.ratio == 1.0
    assert "hardly matters" in advice.reason
    assert "a close call" in str(advice)


def test_a_large_lam_makes_the_choice_unimportant():
    problem = random_problem(1, n=20, d=4, lam=1e6)
    assert advise(problem).reason.startswith("λ is so large")


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("shape", [(3, 4), (90, 80)])
def test_data_of_zeros_is_no_reason_to_fail(shape, sampling):
    problem = Problem(np.zeros(shape), np.arange(float(shape[0])), "squared", 0.1)
    advice = advise(problem, sampling)
    assert advice.primal.total == advice.dual.total == 0.0
    assert advice.ratio == 1.0
    assert advice.primal.passes(0.1) == 0.0
    assert "hardly matters" in str(advice)


def test_a_single_entry_is_no_reason_to_fail():
    advice = advise(Problem(np.array([[2.0]]), [1.0], "squared", 0.1))
    assert advice.primal.total == advice.dual.total


def test_the_table_shows_both_sides_and_the_reason():
    advice = advise(reference_problem("squared"))
    head, primal, dual, reason, practice = str(advice).split("\n")
    assert head.split() == ["coordinates", "iterations", "K", "cost", "W", "total", "T"]
    assert primal.split() == ["primal", "4", "114", "3.69", "421"]
    assert dual.split()[:5] == ["dual", "6", "116", "2.42", "281"]
    assert dual.endswith("← 1.5× less work")
    assert reason == f"dual: {advice.reason}"
    assert practice == f"in practice {advice.practice}"


def test_large_numbers_are_grouped_in_the_table():
    X = random_matrix(0, 1200, 3, 1.0)
    _, _, dual, *_ = str(advise(Problem(X, X[:, 0], "squared", 0.1))).split("\n")
    assert dual.split()[1:3] == ["1", "200"]


@pytest.mark.parametrize("eps", [0.5, 1e-3, 1e-12])
def test_predicted_passes_are_the_total_times_the_logarithm_over_the_nonzeros(eps):
    advice = advise(reference_problem("logistic"))
    assert advice.primal.passes(eps) == pytest.approx(115.6666666667 / 14 * math.log(1 / eps))
    assert advice.dual.passes(eps) == pytest.approx(80.6666666667 / 14 * math.log(1 / eps))


# --- real data ------------------------------------------------------------------------------------


@pytest.fixture
def load(monkeypatch):
    """``datasets.load`` with a folder to read from, or the test is skipped."""
    if not os.environ.get("PRIMALDUAL_DATA"):
        folder = Path(__file__).resolve().parents[2] / "shared" / "data"
        if not folder.is_dir():
            pytest.skip("needs real data: set PRIMALDUAL_DATA to a folder with LIBSVM files")
        monkeypatch.setenv("PRIMALDUAL_DATA", str(folder))

    def load_or_skip(name):
        try:
            return datasets.load(name)
        except FileNotFoundError as error:
            pytest.skip(str(error))

    return load_or_skip


def table_problem(X, y):
    """β = 1 and λn = 1, the setting of Table 1."""
    return Problem(X, y, loss="squared", lam=1 / len(y))


def test_leukemia_has_the_costs_of_table_1(load):
    X, y = load("leu")
    raw = table_problem(X, y)
    assert structure_cost(raw.features) == pytest.approx(1.04e7, rel=5e-3)
    assert structure_cost(raw.examples) == pytest.approx(1.96e9, rel=5e-3)
    advice = advise(table_problem(datasets.normalize_average(X), y))
    assert advice.ratio == pytest.approx(0.486, abs=5e-4)
    assert advice.side == "primal"


def test_a9a_is_a_case_for_the_dual(load):
    X, y = load("a9a")
    advice = advise(table_problem(datasets.normalize_average(X), y))
    assert advice.side == "dual"
    assert advice.ratio == pytest.approx(525, abs=0.5)


@pytest.mark.parametrize(
    ("n", "d", "lam", "side", "share"),
    [
        (40, 200, 1e-3, "dual", 0.99),  # wide
        (400, 20, 1.0, "dual", 0.97),  # the dual's bound is a few passes
        (2000, 20, 1e-6, "primal", 0.97),  # it is thousands, and the features are independent
        (60, 20, 1e-6, "primal", 0.87),  # the same, but so few examples are not looked at
    ],
)
def test_practice_knows_shape_bound_and_spectrum(n, d, lam, side, share):
    practice = advise(random_problem(0, n=n, d=d, loss="squared", lam=lam)).practice
    assert practice.side == side
    assert practice.confidence == share, "as counted in the study, docs/choose.md"
    assert practice.method in METHODS
    assert str(practice).startswith(f"{side} (confidence ")
    assert all(practice.evidence)


def test_practice_is_least_sure_where_the_sides_should_cost_the_same():
    lams = np.geomspace(1e-8, 1e-2, 20)
    problems = [random_problem(0, n=20_000, d=20, loss="squared", lam=lam) for lam in lams]
    factors = [likely_side(problem).factor for problem in problems]
    near, far = (problems[find(factors)] for find in (np.argmin, np.argmax))
    assert advise(near).practice.confidence < advise(far).practice.confidence


def test_practice_names_the_direct_method_that_solve_would_take():
    problem = random_problem(0, n=60, d=5, loss="logistic", lam=0.1)
    practice = advise(problem).practice
    assert practice.method == "newton"
    assert any("solve starts with newton" in reason for reason in practice.evidence)


def test_advice_on_other_data_or_without_its_data_is_refused():
    problem = random_problem(0, n=60, d=5, loss="logistic", lam=0.1)
    with pytest.raises(ValueError, match="advice is on 60 examples of 5 features"):
        solve(random_problem(0, n=61, d=5, loss="logistic", lam=0.1), advise(problem))
    with pytest.raises(ValueError, match="without its data"):
        solve(problem, advise(problem).without_data())


@pytest.mark.parametrize(("n", "d"), [(60, 5), (300, 40), (40, 300)])
def test_solve_follows_the_advice_as_it_would_itself(n, d):
    problem = random_problem(0, n=n, d=d, loss="logistic", lam=0.01)
    advice = advise(problem)
    advised, by_itself = solve(problem, advice, seed=0), solve(problem, seed=0)
    assert advised.converged and advised.method == "auto"
    assert advised.trace.methods[0] == by_itself.trace.methods[0]
    assert np.array_equal(advised.w, by_itself.w) and np.array_equal(advised.alpha, by_itself.alpha)
    assert "as advised" in advised.trace.notes[0]


def test_following_an_advice_does_not_ask_for_bounds():
    problem = random_problem(0, n=60, d=5, loss="logistic", lam=0.1)
    advice = advise(problem)
    solve(problem, advice)
    assert "practice" in vars(advice) and "bounds" not in vars(advice)


def test_copies_of_an_advice_are_equal_and_leave_the_data_behind():
    problem = random_problem(0, n=60, d=5, loss="logistic", lam=0.1)
    advice = advise(problem, "uniform", methods=["nsync", "quartz"])
    for copied in (pickle.loads(pickle.dumps(advice)), copy.deepcopy(advice)):
        assert copied == advice and copied.ranking and str(copied.primal) == str(advice.primal)
        assert copied.problem is None and copied.practice is None
    assert advice != advise(problem) and advice != "advice"
    assert repr(advice).startswith("Advice(Bounds(primal=Complexity(iterations=")
