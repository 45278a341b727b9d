"""The advice: one verdict, two witnesses, and what the theory says."""

from __future__ import annotations

import copy
import math
import os
import pickle
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import random_matrix, random_problem, reference_problem

from primaldual import METHODS, SAMPLINGS, Problem, advise, datasets, solve, structure_cost
from primaldual.complexity import importance_complexity
from primaldual.engine import choose
from primaldual.experiments.prediction import LOSSES, generated, prepared, problem_of
from primaldual.multinomial import Multinomial

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
    theory = advice.theory
    assert theory.side == ("primal" if theory.primal.total <= theory.dual.total else "dual")
    assert (advice.d, advice.n) == (d, n)
    if problem.matrix.nnz:
        assert advice.ratio == pytest.approx(advice.primal.total / advice.dual.total)
    assert one_sentence(theory.reason) and one_sentence(advice.reason)


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_every_sampling_can_be_asked_for(sampling):
    advice = advise(reference_problem("logistic"), sampling)
    assert advice.sampling == sampling
    assert advice.primal.total > 0 and advice.dual.total > 0


def test_the_reason_names_what_decides():
    wide = Problem(
        np.random.default_rng(0).standard_normal((5, 60)), np.arange(5.0), "squared", 0.1
    )
    assert advise(wide).theory.side == "primal"
    assert "features with about 5 nonzeros each, against 60 per" in advise(wide).theory.reason
    tall = Problem(
        np.random.default_rng(0).standard_normal((60, 5)), np.arange(60.0), "squared", 0.1
    )
    assert advise(tall).theory.side == "dual"
    assert "examples with about 5 nonzeros each, against 60 per" in advise(tall).theory.reason


def test_the_reason_says_so_where_the_shape_would_have_decided_otherwise():
    X = np.zeros((30, 50))  # more features than examples, but one feature has all the weight
    X[:, 0] = 10.0
    X[0, 1:] = 0.1
    theory = advise(Problem(X, np.arange(30.0), "squared", 0.1)).theory
    assert theory.side == "dual"
    assert theory.reason.startswith("although d ≥ n, ")
    assert "the heaviest 1 % of features carry 100% of it" in theory.reason
    assert one_sentence(theory.reason)


def test_a_tie_goes_to_the_primal_and_is_called_a_close_call():
    advice = advise(Problem(np.eye(8), np.arange(8.0), "squared", 1e-3))
    assert advice.primal.total == advice.dual.total
    assert advice.theory.side == "primal" and advice.ratio == 1.0
    assert "hardly matters" in advice.theory.reason
    assert "a close call" in str(advice)


def test_a_large_lam_makes_the_choice_unimportant():
    problem = random_problem(1, n=20, d=4, lam=1e6)
    assert advise(problem).theory.reason.startswith("λ is so large")


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


def test_the_text_has_the_verdict_then_the_witnesses_then_the_theory():
    problem = reference_problem("squared")
    advice = advise(problem)
    said, evidence, *tables = str(advice).split("\n")
    assert said == str(advice.verdict)
    assert evidence == advice.verdict.evidence
    head, primal, dual, title, columns, *theory = tables
    assert head.split() == ["method", "passes", "per", "pass", "together"]
    assert primal.split()[:2] == ["primal", advice.sides["primal"].method]
    assert dual.split()[:2] == ["dual", advice.sides["dual"].method]
    marked = [row.split()[0] for row in (primal, dual) if row.endswith("← solve")]
    assert marked == [advice.verdict.side]
    assert title == "In theory, what the paper's bound says of the paper's two methods:"
    assert columns.split() == ["coordinates", "iterations", "K", "cost", "W", "total", "T"]
    assert theory[0].split() == ["primal", "4", "114", "3.69", "421"]
    assert theory[1].split()[:5] == ["dual", "6", "116", "2.42", "281"]
    assert theory[1].endswith("← 1.5× less work")
    assert theory[2] == f"dual: {advice.theory.reason}"
    assert theory[3:] == ([advice.overruled] if advice.verdict.side != "dual" else [])


def test_large_numbers_are_grouped_in_the_table():
    X = random_matrix(0, 1200, 3, 1.0)
    lines = str(advise(Problem(X, X[:, 0], "squared", 0.1))).split("\n")
    dual = next(line for line in lines if line.startswith("dual") and "less work" in line)
    assert dual.split()[1:3] == ["1", "200"]


@pytest.mark.parametrize("eps", [0.5, 1e-3, 1e-12])
def test_predicted_passes_are_the_total_times_the_logarithm_over_the_nonzeros(eps):
    advice = advise(reference_problem("logistic"))
    assert advice.primal.passes(eps) == pytest.approx(115.6666666667 / 14 * math.log(1 / eps))
    assert advice.dual.passes(eps) == pytest.approx(80.6666666667 / 14 * math.log(1 / eps))


QUICK = [*generated()][:6]


@pytest.mark.parametrize("item", QUICK, ids=lambda item: item.name)
def test_the_quick_study_is_named_alike_in_text_numbers_page_and_log(item):
    """And so are its matrices with the softmax loss."""
    ready = prepared(item, "raw")
    problems = [problem_of(ready, loss, k) for loss in LOSSES[:2] for k in (0.1, 10.0)]
    three = np.digitize(np.arange(problems[0].n) % 7, [2, 5])
    problems.append(Multinomial(ready.X, three, 1.0 / problems[0].n))
    for number, problem in enumerate(problems):
        advice = advise(problem)
        side, method = advice.verdict.side, advice.verdict.method
        assert str(advice).startswith(f"{side}, by {method}: ")
        told = advice.numbers()
        assert (told["verdict"]["side"], told["verdict"]["method"]) == (side, method)
        assert told["sides"][side]["method"] == method
        assert solve(problem, max_passes=1, seed=0).trace.notes[0].startswith(f"{method}: ")
        if number == 0:  # a drawing takes a while
            assert f"{side}, by {method}" in unescape(advice._repr_html_())


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
    assert advice.theory.side == "primal"


def test_a9a_is_a_case_for_the_dual(load):
    X, y = load("a9a")
    advice = advise(table_problem(datasets.normalize_average(X), y))
    assert advice.theory.side == "dual"
    assert advice.ratio == pytest.approx(525, abs=0.5)


# --- the verdict ----------------------------------------------------------------------------------


SHAPES = [(60, 5), (300, 40), (40, 300), (3000, 20), (30, 3000)]


@pytest.mark.parametrize("loss", ["logistic", "squared", "squared_hinge", "hinge"])
@pytest.mark.parametrize(("n", "d"), SHAPES)
def test_text_numbers_page_and_log_name_the_same_side_and_method(n, d, loss):
    problem = random_problem(0, n=n, d=d, loss=loss, lam=1 / n)
    advice = advise(problem)
    verdict, numbers = advice.verdict, advice.numbers()
    choice, log = choose(problem), solve(problem, seed=0).trace.notes[0]
    assert (verdict.side, verdict.method) == (choice.side, choice.method)
    assert log.split(":")[0] == verdict.method
    stated = numbers["verdict"]
    assert (stated["side"], stated["method"]) == (choice.side, choice.method)
    assert str(advice).startswith(f"{choice.side}, by {choice.method}: ")
    page = advice._repr_html_()
    assert page is None or f"{choice.side}, by {choice.method}: " in page
    assert (advice.side, advice.reason) == (verdict.side, verdict.evidence)


@pytest.mark.parametrize("loss", ["logistic", "squared"])
@pytest.mark.parametrize(("n", "d"), SHAPES)
def test_passes_times_their_price_are_the_seconds_of_each_side(n, d, loss):
    advice = advise(random_problem(0, n=n, d=d, loss=loss, lam=1 / n))
    for name, side in advice.sides.items():
        assert side.side == name == METHODS[side.method].side
        assert side.passes * side.price == pytest.approx(side.seconds)
        assert 0 < side.seconds < math.inf
    verdict = advice.verdict
    low, high = verdict.interval
    assert 0 < low <= verdict.seconds <= high
    assert verdict.seconds == advice.sides[verdict.side].seconds
    assert verdict.passes == advice.sides[verdict.side].passes
    assert 0.5 <= verdict.confidence <= 1


def test_a_loss_with_kinks_has_no_method_on_the_primal():
    advice = advise(random_problem(0, n=50, d=5, loss="hinge", lam=0.1))
    assert advice.sides["primal"].method == "none"
    assert advice.sides["primal"].seconds == math.inf
    assert advice.verdict.side == "dual" and advice.verdict.confidence == 1.0
    assert advice.numbers()["sides"]["primal"]["seconds"] is None


def test_one_sentence_says_why_the_theory_is_overruled():
    problem = random_problem(0, n=60, d=5, loss="logistic", lam=0.1)
    advice = advise(problem)
    assert advice.theory.side == "dual" and advice.verdict.method == "newton"
    assert advice.overruled in str(advice) and one_sentence(advice.overruled)
    assert "factored" in advice.overruled
    wide = advise(random_problem(0, n=40, d=300, loss="squared", lam=1e-3))
    assert (wide.overruled == "") == (wide.theory.side == wide.verdict.side)


def test_a_looser_gap_should_not_take_longer():
    problem = random_problem(0, n=400, d=3000, loss="logistic", lam=1e-5)
    loose, tight = (advise(problem, tol=tol).verdict for tol in (1e-2, 1e-8))
    assert loose.seconds <= tight.seconds


@pytest.mark.parametrize("scale", [1e200, 1e-200, 0.0])
@pytest.mark.parametrize("shape", [(60, 5), (5, 60)])
def test_there_is_a_verdict_for_numbers_of_any_size(shape, scale):
    X = scale * np.random.default_rng(0).standard_normal(shape)
    y = np.where(np.arange(shape[0]) % 2, 1.0, -1.0)
    with np.errstate(over="ignore"):
        advice = advise(Problem(X, y, loss="squared", lam=1e-3))
        assert advice.verdict.method in METHODS
        assert advice.verdict.seconds > 0


def test_advice_on_other_data_is_refused():
    problem = random_problem(0, n=60, d=5, loss="logistic", lam=0.1)
    with pytest.raises(ValueError, match="advice is on 60 examples of 5 features"):
        solve(random_problem(0, n=61, d=5, loss="logistic", lam=0.1), advise(problem))


def test_advice_without_its_data_can_be_followed():
    problem = random_problem(0, n=60, d=5, loss="logistic", lam=0.1)
    kept = advise(problem).without_data()
    assert kept.problem is None
    assert solve(problem, kept, seed=0).trace.methods[0] == kept.verdict.method


@pytest.mark.parametrize(("n", "d"), [(60, 5), (300, 40), (40, 300)])
def test_solve_follows_the_advice_as_it_would_itself(n, d):
    problem = random_problem(0, n=n, d=d, loss="logistic", lam=0.01)
    advice = advise(problem)
    advised, by_itself = solve(problem, advice, seed=0), solve(problem, seed=0)
    assert advised.converged and advised.method == "auto"
    assert advised.trace.methods[0] == by_itself.trace.methods[0]
    assert np.array_equal(advised.w, by_itself.w) and np.array_equal(advised.alpha, by_itself.alpha)
    assert "as advised" in advised.trace.notes[0]


def test_following_an_advice_does_not_ask_for_the_theory():
    problem = random_problem(0, n=60, d=5, loss="logistic", lam=0.1)
    advice = advise(problem)
    solve(problem, advice)
    assert "verdict" in vars(advice) and "theory" not in vars(advice)


def test_copies_of_an_advice_are_equal_and_leave_the_data_behind():
    problem = random_problem(0, n=60, d=5, loss="logistic", lam=0.1)
    advice = advise(problem, "uniform", methods=["nsync", "quartz"])
    for copied in (pickle.loads(pickle.dumps(advice)), copy.deepcopy(advice)):
        assert copied == advice and copied.ranking and str(copied.primal) == str(advice.primal)
        assert copied.problem is None and copied.verdict == advice.verdict
    assert advice != advise(problem) and advice != "advice"
    assert repr(advice).startswith("Advice(")


def test_threads_make_shared_work_cheaper_and_leave_the_choice_of_a_fit_alone():
    X = np.random.default_rng(0).standard_normal((20_000, 60))
    problem = Problem(X, np.sign(X[:, 0]), lam=1e-4)
    alone, shared = advise(problem), advise(problem, threads=8)
    assert shared.threads == 8
    assert shared.sides["primal"].seconds < alone.sides["primal"].seconds
    assert alone == advise(problem, threads=1)
    result = solve(problem, shared, threads=2)
    assert result.converged


def test_a_bad_number_of_threads_is_refused():
    with pytest.raises(ValueError, match="threads must be a positive number of threads"):
        advise(Problem(np.eye(2), [1, -1]), threads=0)
