"""How far a fit goes: the functions it passes through, and how often it reads X."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import primaldual
from primaldual import LogisticRegression, Ridge
from primaldual.datasets import zipf_text

SOURCE = str(Path(primaldual.__file__).parent)
# Parts of functions that have a code object of their own.
PARTS = ("<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>", "<lambda>")
# What a fit on sparse text passes through today; lower it when a fit gets shorter.
MOST_FUNCTIONS = 246


def functions_of(call):
    """The names of all functions of the package that a call passes through, and how often."""
    seen = {}

    def note(frame, event, argument):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(SOURCE) and code.co_name not in PARTS:
            name = f"{code.co_filename.removeprefix(SOURCE)}:{code.co_qualname}"
            seen[name] = seen.get(name, 0) + 1

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return seen


@pytest.fixture(scope="module")
def text():
    X = zipf_text(2000, 5000, 40.0, seed=0)
    y = (X @ np.random.default_rng(0).standard_normal(X.shape[1]) > 0).astype(int)
    LogisticRegression().fit(X, y)  # compiled
    return X, y


def test_a_fit_passes_through_few_functions(text):
    seen = functions_of(lambda: LogisticRegression().fit(*text))
    assert len(seen) <= MOST_FUNCTIONS, sorted(seen)


@pytest.mark.parametrize("stored", [np.asarray, np.asfortranarray, sparse.csr_array])
def test_values_are_looked_at_once_in_a_fit(stored, monkeypatch):
    """By the problem; scikit-learn leaves it to it."""
    X = np.random.default_rng(0).standard_normal((60, 4))
    checked = []
    from sklearn.utils import validation

    look = validation._assert_all_finite

    def counted(values, *arguments, **options):
        checked.append(np.shape(values))
        return look(values, *arguments, **options)

    monkeypatch.setattr(validation, "_assert_all_finite", counted)
    for kind in (LogisticRegression, Ridge):
        kind().fit(stored(X), (X[:, 0] > 0).astype(float))
    assert X.shape not in checked and (X.size,) not in checked
    X[3, 2] = np.nan
    with pytest.raises(ValueError, match="X must be finite, got NaN in 1 entries"):
        LogisticRegression().fit(stored(X), X[:, 0] > 0)


def test_advice_and_history_are_made_when_they_are_asked_for(text):
    model = LogisticRegression().fit(*text)
    assert not {"advice_", "history_"} & set(vars(model))
    advice, history = model.advice_, model.history_
    assert model.advice_ is advice and model.history_ is history
    unasked = pickle.loads(pickle.dumps(LogisticRegression().fit(*text)))
    assert unasked.advice_ == advice
    np.testing.assert_array_equal(unasked.history_["relative_gap"], history["relative_gap"])
    assert not hasattr(clone(model), "advice_") and not hasattr(clone(model), "history_")


def test_a_second_fit_replaces_what_the_first_one_left(text):
    X, y = text
    model = LogisticRegression().fit(X, y)
    first = model.advice_, model.history_
    model.set_params(C=100.0).fit(X[:1000], y[:1000])
    assert model.advice_.n == 1000
    assert model.advice_ != first[0] and model.history_ is not first[1]
