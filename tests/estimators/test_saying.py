"""What a fit says of itself: the first line, where warnings point, what is refused."""

from __future__ import annotations

import inspect
import re
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import primaldual
from primaldual import LogisticRegression, Problem, Ridge, load, solve

RNG = np.random.default_rng(0)
X = RNG.standard_normal((80, 5))
Y = np.sign(X[:, 0] + RNG.standard_normal(80))
FIRST_LINE = r"(primal|dual) side, [\w ()]+: [\d.]+ passes, [\d.e-]+ s, certified gap [\d.e-]+ of"


@pytest.mark.parametrize("method", ["auto", "quartz", "nsync", "dual_cd"])
def test_the_first_line_of_a_result_says_all(method):
    result = solve(Problem(X, Y, lam=0.1), method, seed=0)
    first = str(result).splitlines()[0]
    assert re.match(FIRST_LINE, first), first
    assert result.side in first and method in first
    assert f"{result.certificate.relative_gap:.2e}" in first
    shown = repr(result)
    assert "\n" not in shown and len(shown) < 200
    for name in ("side", "method", "passes", "seconds", "relative_gap", "CONVERGED"):
        assert name in shown


@pytest.mark.parametrize("y", [Y, np.arange(80) % 3], ids=["two classes", "three classes"])
def test_the_box_of_an_estimator_begins_with_the_fit(y, tmp_path):
    model = LogisticRegression().fit(X, y)
    first = model._repr_html_().splitlines()[0]
    assert re.search(FIRST_LINE.replace("[\\w ()]", "[\\w ,]"), first), first
    assert model.side_ in first and f"{model.dual_gap_:.2e}" in first
    assert "<p>" not in LogisticRegression()._repr_html_().splitlines()[0]
    model.save(tmp_path / "model")
    assert f"{model.dual_gap_:.2e}" in load(tmp_path / "model")._repr_html_().splitlines()[0]


def pointed_at(call):
    """The file and line that the ConvergenceWarning of a call names."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    (found,) = {(w.filename, w.lineno) for w in caught if w.category is ConvergenceWarning}
    return found


def fit():
    return LogisticRegression(tol=0.0, max_iter=1).fit(X, Y)


def fit_regression():
    return primaldual.HuberRegressor(tol=0.0, max_iter=1).fit(X, Y)


def fit_in_a_pipeline():
    return make_pipeline(StandardScaler(), LogisticRegression(tol=0.0, max_iter=1)).fit(X, Y)


def fit_on_folds():
    return cross_val_score(LogisticRegression(tol=0.0, max_iter=1), X, Y, cv=2)


@pytest.mark.parametrize("call", [fit, fit_regression, fit_in_a_pipeline, fit_on_folds])
def test_a_convergence_warning_points_to_the_line_of_the_user(call):
    file, line = pointed_at(call)
    assert (file, line) == (__file__, inspect.getsourcelines(call)[1] + 1)


class LikeDask:
    """What makes a collection one of Dask's."""

    __dask_graph__ = None
    shape, ndim = (80, 5), 2

    def __array__(self, *arguments, **options):
        raise AssertionError("it was loaded")


def test_a_dask_array_is_refused_where_it_would_be_loaded():
    with pytest.raises(TypeError, match=r"in memory here.*LikeDask.*compute\(\)"):
        Problem(LikeDask(), Y)
    with pytest.raises(TypeError, match="in memory here"):
        primaldual.RidgeCV().fit(LikeDask(), Y)


def test_the_documentation_of_n_jobs_says_what_none_means():
    assert "all cores" in LogisticRegression.__doc__.split("n_jobs : ")[1][:200]
    assert "all cores" in Ridge.__doc__.split("n_jobs : ")[1][:200]
