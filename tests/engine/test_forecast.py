"""What is expected of each side before a solve."""

from __future__ import annotations

import math

import pytest
from engine_data import chain, tall

from primaldual import Problem, advise
from primaldual.engine import choose, forecast
from primaldual.engine.forecast import expected, slowness


def test_the_passes_of_the_primal_follow_the_spectrum():
    apart, alike = (
        expected(Problem(*chain(20_000, 40, along), loss="squared", lam=1e-6), 1e-6, "primal")
        for along in (0.0, 0.999)  # one feature is nearly the next
    )
    assert apart.seconds <= alike.seconds


def test_forecasts_are_moved_to_this_machine_and_kept_without_it(monkeypatch):
    problem = Problem(*tall(300, 60), loss="logistic", lam=1e-3)
    before = advise(problem)
    seconds = before.verdict.seconds
    monkeypatch.setattr(forecast, "slowness", lambda: 3.0 * slowness())
    after = advise(problem)
    assert after.verdict.seconds == pytest.approx(3 * seconds)
    assert after.verdict.method == before.verdict.method
    assert after == before and after.__reduce__() == before.__reduce__()


def test_the_machine_is_timed_once():
    assert slowness() == slowness() > 0


@pytest.mark.parametrize("loss", ["logistic", "squared", "hinge"])
def test_a_side_is_expected_to_start_with_the_method_that_is_chosen_for_it(loss):
    problem = Problem(*tall(300, 60), loss=loss, lam=1e-3)
    for side in ("primal", "dual"):
        found = expected(problem, 1e-6, side)
        if side == "primal" and loss == "hinge":
            assert found.method == "none" and found.passes == found.seconds == math.inf
        else:
            assert found.method == choose(problem, 1e-6, side).method
            assert found.passes > 0 and found.seconds > 0
