"""Losses of a user's own whose functions contradict each other: refused, or proved by value."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from exact_gaps import exact_times
from scipy import sparse

import primaldual
from primaldual import Problem, solve
from primaldual.losses import LOSSES, Logistic
from primaldual.losses.numerical import loss_conjugate


class Good:
    """Huber's loss, written by hand."""

    smoothness = 1.0

    def value(self, z, y):
        r = abs(z - y)
        return 0.5 * r * r if r <= 1.0 else r - 0.5

    def derivative(self, z, y):
        return max(-1.0, min(1.0, z - y))

    def second_derivative(self, z, y):
        return 1.0 if abs(z - y) < 1.0 else 0.0


class GoodLogistic:
    smoothness = 0.25
    classification = True

    def value(self, z, y):
        return max(0.0, -y * z) + math.log1p(math.exp(-abs(z)))

    def derivative(self, z, y):
        return -y / (1.0 + math.exp(y * z)) if y * z < 700.0 else 0.0

    def second_derivative(self, z, y):
        e = math.exp(-abs(z))
        return e / (1.0 + e) ** 2


class WrongSign(Good):
    def derivative(self, z, y):
        return -max(-1.0, min(1.0, z - y))


class WrongScale(Good):
    def derivative(self, z, y):
        return 2.0 * max(-1.0, min(1.0, z - y))


class WrongBranch(Good):
    def derivative(self, z, y):
        return max(-1.0, min(0.5, z - y))


class SmoothnessTooSmall(Good):
    smoothness = 0.3


class WrongSecond(Good):
    def second_derivative(self, z, y):
        return 3.0 if abs(z - y) < 1.0 else 0.0


class Kink(Good):
    def value(self, z, y):
        return abs(z - y - 0.123)

    def derivative(self, z, y):
        return 1.0 if z - y > 0.123 else -1.0

    def second_derivative(self, z, y):
        return 0.0


class Tukey(Good):
    def value(self, z, y):
        r = (z - y) / 4.685
        return 3.658 * (1.0 - (1.0 - r * r) ** 3) if abs(r) < 1.0 else 3.658

    def derivative(self, z, y):
        r = (z - y) / 4.685
        return (z - y) * (1.0 - r * r) ** 2 if abs(r) < 1.0 else 0.0

    def second_derivative(self, z, y):
        r = (z - y) / 4.685
        return (1.0 - r * r) * (1.0 - 5.0 * r * r) if abs(r) < 1.0 else 0.0


class NanInPlaces(Good):
    def value(self, z, y):
        return math.nan if 2.0 < z - y < 5.0 else abs(z - y)


class WrongConjugate(Good):
    def conjugate(self, a, y):
        return 0.25 * a * a - a * y


WRONG = {
    WrongSign: "the slope of value between them",
    WrongScale: "the slope of value between them",
    WrongBranch: "the slope of value between them",
    SmoothnessTooSmall: r"smoothness is 0\.3, but derivative changes",
    WrongSecond: r"second_derivative at .* is 3, but derivative changes",
    Kink: "smoothness is 1, but derivative changes",
    Tukey: "not convex",
    NanInPlaces: "have to be finite",
    WrongConjugate: "conjugate",
}


@pytest.mark.parametrize(("kind", "words"), WRONG.items(), ids=lambda x: getattr(x, "__name__", ""))
def test_a_loss_that_contradicts_itself_is_refused_with_the_point(kind, words):
    X = np.random.default_rng(0).standard_normal((20, 3))
    Problem(X, X[:, 0], Good(), 0.1)  # a sound loss with the same fields does not vouch for it
    with pytest.raises(ValueError, match=words) as caught:
        Problem(X, X[:, 0], kind(), 0.1)
    assert "z=" in str(caught.value) and kind.__name__ in str(caught.value)
    with pytest.raises(ValueError, match=words):
        primaldual.losses.check(kind(), X[:, 0])


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_sound_losses_pass_whatever_the_scale_of_y(scale):
    primaldual.losses.check(Good(), scale * np.linspace(-3, 3, 50))
    primaldual.losses.check(GoodLogistic())
    assert primaldual.losses.check("huber") is None


@pytest.mark.parametrize("name", [n for n, kind in LOSSES.items() if kind().smoothness < math.inf])
def test_the_losses_of_the_library_pass_their_own_check(name):
    kind = LOSSES[name]

    class Own:
        classification = kind.classification

        def __init__(self):
            self.smoothness = kind().smoothness
            self.value, self.derivative = kind().value, kind().derivative
            self.second_derivative = kind().second_derivative

    from primaldual.losses.soundness import _faults

    for y in (-1.0, 1.0) if kind.classification else (-3.0, 0.0, 0.5, 40.0):
        assert list(_faults(Own(), y)) == []


class HiddenFault(Good):
    """A derivative that is wrong in a small range."""

    def derivative(self, z, y):
        r = z - y
        return 0.41 if 0.42 < r < 0.68 else max(-1.0, min(1.0, r))


class HiddenFlat(Good):
    """A derivative that is 0 too early: a search that trusts it calls every z there the best."""

    def derivative(self, z, y):
        r = z - y
        return 0.2 if 0.2 < r < 0.39 else max(-1.0, min(1.0, r))


@pytest.mark.parametrize("kind", [HiddenFault, HiddenFlat])
def test_what_is_not_found_out_proves_no_more_than_value_does(kind, monkeypatch):
    monkeypatch.setattr("primaldual.problem.problem.check", lambda loss, y: None)
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((15, 3)), 0.6 * rng.standard_normal(15)
    problem = Problem(X, y, kind(), 0.01)
    result = solve(problem, "newton", tol=1e-9, max_passes=200, seed=0)
    truth = solve(Problem(X, y, "huber", 0.01), tol=1e-12)
    assert result.certificate.dual <= truth.certificate.primal + 1e-12
    # The same in exact arithmetic, by Huber's true conjugate.
    proof = result.certificate
    with mp.workdps(40):
        exact = _huber_gap(X, y, 0.01, proof)
    assert exact <= 1.01 * proof.gap + 1e-16


def _huber_gap(X, y, lam, proof):
    z = exact_times(sparse.csr_array(X), proof.w)
    sums = exact_times(sparse.csr_array(X.T), proof.alpha)
    total, n = mp.mpf(0), len(y)
    for j in range(n):
        r, a = z[j] - mp.mpf(float(y[j])), mp.mpf(float(proof.alpha[j]))
        if abs(a) > 1:
            return mp.inf
        total += (r**2 / 2 if abs(r) <= 1 else abs(r) - mp.mpf("0.5")) + a**2 / 2 + a * r
    apart = sum((mp.mpf(float(w)) - s / (lam * n)) ** 2 for w, s in zip(proof.w, sums, strict=True))
    return total / n + mp.mpf(lam) / 2 * apart


def test_a_conjugate_by_search_is_an_upper_bound_and_close():
    good, logistic = primaldual.losses.custom.as_loss(Good()), Logistic()
    own = primaldual.losses.custom.as_loss(GoodLogistic())
    for y in (-2.0, 0.0, 1e-5, 30.0):
        for a in (-0.999, -0.3, 0.0, 1e-9, 0.5, 1.0 - 1e-12):
            true = 0.5 * a * a - a * y
            assert (
                0.0
                <= loss_conjugate(good, a, y) - true + 1e-15 * (1 + abs(y))
                <= 1e-13 * (1 + abs(y))
            )
    for b in (1e-9, 0.01, 0.5, 0.99):
        true = logistic.conjugate(b, 1.0)
        assert -1e-15 <= loss_conjugate(own, b, 1.0) - true <= 1e-13
    assert loss_conjugate(good, 1.5, 0.0) == math.inf


def test_a_loss_that_does_not_compile_shows_the_line_of_the_user():
    X = np.random.default_rng(0).standard_normal((10, 2))

    class Own(Good):
        def value(self, z, y):
            r = abs(z - y)
            return 0.5 * r * r if r <= 1.0 else helper_of_mine(r)

    problem = Problem(X, X[:, 0], Own(), 0.1)
    for call in (lambda: solve(problem, "quartz"), lambda: problem.certify(np.zeros(2))):
        with pytest.raises(TypeError) as caught:
            call()
        text = str(caught.value)
        assert "test_soundness.py:" in text and "helper_of_mine(r)" in text
        assert len(text) < 600 and "\n" not in text


def helper_of_mine(r):
    return r - 0.5
