"""Every loss in LOSSES keeps the promises of its class; a user's own loss keeps them too."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
from dataclasses import dataclass
from types import SimpleNamespace
from typing import NamedTuple

import mpmath
import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import erfcx, log_ndtr

from primaldual import losses
from primaldual._numba.compile import kernel
from primaldual.losses import LOSSES as ALL_LOSSES
from primaldual.losses import (
    Huber,
    LogCosh,
    Logistic,
    Probit,
    SmoothedEpsilonInsensitive,
    SmoothedHinge,
    Squared,
    SquaredEpsilonInsensitive,
    loss_conjugate,
    loss_dual_step,
    loss_nearest_dual,
    loss_quick_gap,
    loss_quick_step,
    loss_slopes,
    sums,
)
from primaldual.losses.custom import as_loss, loss_name
from primaldual.losses.gaps import SERIES
from primaldual.losses.numerical import has_conjugate_slopes, search_conjugate, search_dual_step
from primaldual.losses.probit import hazard, inverse_hazard, scaled_erfc
from primaldual.losses.sums import (
    derivatives,
    second_derivatives,
    sum_conjugates,
    sum_fenchel_gaps,
    sum_values,
    sum_values_and_gaps,
)
from primaldual.losses.vector_math import exp_below_zero, log1p_of_part
from primaldual.methods.engine.second_order import set_slopes

# Losses of a mean exp(z) have targets of one sign and no β: ``test_log_link`` has their promises.
LOSSES = {name: kind for name, kind in ALL_LOSSES.items() if kind().targets == "any"}

PARAMETERS = {
    "pinball": {"quantile": 0.3},
    "smoothed_pinball": {"quantile": 0.3, "smoothing": 0.4},
    "smoothed_hinge": {"smoothing": 0.3},
    "huber": {"delta": 0.7},
    "squared_epsilon_insensitive": {"epsilon": 0.2},
    "smoothed_epsilon_insensitive": {"epsilon": 0.2, "smoothing": 0.3},
    "epsilon_insensitive": {"epsilon": 0.2},
}
CASES = {name: as_loss(cls(**PARAMETERS.get(name, {}))) for name, cls in LOSSES.items()}

# φ, φ', φ'', φ*(-a) and a + Δ at z = .4, κ = 2; y = -1, a = -.25 or y = .9, a = .1.
REFERENCE = {
    "squared": (0.125, -0.5, 1.0, -0.085, 0.2333333333),
    "logistic": (0.9130152524, 0.5986876601, 0.2402607457, -0.5623351446, -0.4833374483),
    "squared_hinge": (0.98, 1.4, 1.0, -0.21875, -0.6333333333),
    "smoothed_hinge": (1.25, 1.0, 0.0, -0.240625, -0.8260869565),
    "hinge": (1.4, 1.0, 0.0, -0.25, -0.95),
    "huber": (0.125, -0.5, 1.0, -0.085, 0.2333333333),
    "squared_epsilon_insensitive": (0.045, -0.3, 1.0, -0.065, 0.1666666667),
    "smoothed_epsilon_insensitive": (0.15, -1.0, 0.0, -0.0685, 0.2173913043),
    "epsilon_insensitive": (0.3, -1.0, 0.0, -0.07, 0.25),
    "log_cosh": (0.1201145070, -0.4621171573, 0.7864477330, -0.0849916332, 0.2319011386),
    "modified_huber": (1.96, 2.8, 2.0, -0.234375, -0.76),
    "probit": (1.0654340492, 1.0687561717, 0.7147372859, -0.4207899268, -0.6080918341),
}

# What is known of closed domains of y a (classification) or a (regression).
KNOWN_DOMAINS = {
    "squared": (-math.inf, math.inf),
    "logistic": (0.0, 1.0),
    "squared_hinge": (0.0, math.inf),
    "smoothed_hinge": (0.0, 1.0),
    "huber": (-0.7, 0.7),
    "squared_epsilon_insensitive": (-math.inf, math.inf),
    "smoothed_epsilon_insensitive": (-1.0, 1.0),
    "log_cosh": (-1.0, 1.0),
    "modified_huber": (0.0, 4.0),
    "probit": (0.0, math.inf),
    "hinge": (0.0, 1.0),
    "epsilon_insensitive": (-1.0, 1.0),
    "smoothed_pinball": (0.3 - 1.0, 0.3),
    "pinball": (0.3 - 1.0, 0.3),
}

# What is known of where φ'' or, for a loss with kinks, φ' jumps, as margins or residuals.
KNOWN_KINKS = {
    "squared_hinge": [1.0],
    "smoothed_hinge": [0.7, 1.0],
    "huber": [-0.7, 0.7],
    "squared_epsilon_insensitive": [-0.2, 0.2],
    "smoothed_epsilon_insensitive": [-0.5, -0.2, 0.2, 0.5],
    "modified_huber": [-1.0, 1.0],
    "hinge": [1.0],
    "epsilon_insensitive": [-0.2, 0.2],
    "smoothed_pinball": [-0.12, 0.28],
    "pinball": [0.0],
}


def labels(name):
    return (-1.0, 1.0) if LOSSES[name].classification else (-1.3, 0.0, 0.9)


def sign(name, y):
    """What turns a dual variable into the one whose domain is in DOMAINS."""
    return y if LOSSES[name].classification else 1.0


def found_domain(name):
    """Where ``nearest_dual`` puts what is far away, which belongs to an unbounded domain."""
    loss, far = CASES[name], 1e9
    low, high = (loss.nearest_dual(end, 1.0) for end in (-far, far))
    return -math.inf if low == -far else low, math.inf if high == far else high


def found_kinks(name):
    """Where φ'', or φ' if it is not smooth, jumps by more than a part of its range."""
    loss = CASES[name]
    smooth = loss.smoothness < math.inf
    function = loss.second_derivative if smooth else loss.derivative
    y = 1.0 if loss.classification else 0.0
    enough = 0.05 * (loss.smoothness if smooth else 1.0)
    kinks = []
    for low, high in itertools.pairwise(np.linspace(-8, 8, 4001) + 1.2345e-4):
        while abs(function(high, y) - function(low, y)) > enough and high - low > 1e-13:
            middle = 0.5 * (low + high)
            lower = abs(function(middle, y) - function(low, y))
            low, high = (low, middle) if lower > enough else (middle, high)
        if high - low <= 1e-13:
            kinks.append(float(high))
    return kinks


DOMAINS = {name: found_domain(name) for name in LOSSES}
KINKS = {name: found_kinks(name) for name in LOSSES}
SMOOTH = [name for name, loss in CASES.items() if loss.smoothness < math.inf]
KINKED = [name for name in LOSSES if name not in SMOOTH]

every_loss = pytest.mark.parametrize("name", LOSSES)
# Where the promise is about φ' as a function, which has jumps if the loss has kinks.
every_smooth_loss = pytest.mark.parametrize("name", SMOOTH)
every_loss_with_kinks = pytest.mark.parametrize("name", KINKED)


def finite_domain(name, width=3.0):
    low, high = DOMAINS[name]
    return max(low, -width), min(high, width)


def points(name, y, grid):
    """Predictions with the given margins or residuals."""
    return y * grid if LOSSES[name].classification else y + grid


def problems(name, seed, count):
    """Random (a, z, y, κ) with a in the domain."""
    rng = np.random.default_rng(seed)
    low, high = finite_domain(name)
    for _ in range(count):
        y = float(rng.choice(labels(name)))
        a = sign(name, y) * float(rng.uniform(low, high))
        yield a, float(3 * rng.normal()), y, float(10 ** rng.uniform(-3, 3))


@pytest.mark.parametrize("name", KNOWN_DOMAINS)
def test_domains_and_kinks_are_where_they_are_known_to_be(name):
    assert DOMAINS[name] == KNOWN_DOMAINS[name]
    np.testing.assert_allclose(KINKS[name], KNOWN_KINKS.get(name, []), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", REFERENCE)
def test_reference_values_to_ten_digits(name):
    loss = CASES[name]
    z, y, a = (0.4, -1.0, -0.25) if loss.classification else (0.4, 0.9, 0.1)
    found = (
        loss.value(z, y),
        loss.derivative(z, y),
        loss.second_derivative(z, y),
        loss.conjugate(a, y),
        a + loss.dual_step(a, z, y, 2.0),
    )
    np.testing.assert_allclose(found, REFERENCE[name], rtol=0, atol=6e-11)


@every_loss
def test_derivative_is_the_slope_of_the_value(name):
    loss = CASES[name]
    step = 1e-3
    for y in labels(name):
        for z in points(name, y, np.linspace(-6, 6, 97) + 0.0137):
            if near_kink(name, z, y, 3 * step):
                continue
            np.testing.assert_allclose(
                slope(lambda x, y=y: loss.value(x, y), z, step), loss.derivative(z, y), atol=1e-9
            )


@every_loss
def test_second_derivative_is_the_slope_of_the_derivative(name):
    loss = CASES[name]
    step = 1e-3
    for y in labels(name):
        for z in points(name, y, np.linspace(-6, 6, 97) + 0.0137):
            if near_kink(name, z, y, 3 * step):
                continue
            np.testing.assert_allclose(
                slope(lambda x, y=y: loss.derivative(x, y), z, step),
                loss.second_derivative(z, y),
                atol=1e-9,
            )


def slope(function, z, h):
    """Fourth-order central difference."""
    near, far = function(z + h) - function(z - h), function(z + 2 * h) - function(z - 2 * h)
    return (8 * near - far) / (12 * h)


def near_kink(name, z, y, distance):
    position = y * z if LOSSES[name].classification else z - y
    return any(abs(position - kink) <= distance for kink in KINKS[name])


@every_loss
def test_slopes_are_both_derivatives(name):
    loss = CASES[name]
    for z, y in itertools.product((-30.0, -2.0, -0.1, 0.0, 0.3, 5.0, 800.0), (-1.0, 1.0)):
        expected = loss.derivative(z, y), loss.second_derivative(z, y)
        assert loss_slopes(loss, z, y) == pytest.approx(expected, rel=1e-12, abs=1e-300)


@pytest.mark.parametrize("kappa", [1e-3, 0.5, 20.0, 1e4])
@every_loss
def test_quick_step_is_the_dual_step_within_a_few_percent(name, kappa):
    loss = CASES[name]
    for z, y, share in itertools.product((-8.0, -0.5, 0.2, 3.0), (-1.0, 1.0), (0.01, 0.4, 0.9)):
        a = loss_nearest_dual(loss, share * y, y)
        exact = loss_dual_step(loss, a, z, y, kappa)
        quick = loss_quick_step(loss, a, z, y, kappa, *loss_slopes(loss, z, y))
        assert quick == pytest.approx(exact, rel=0.06, abs=1e-12)
        assert loss_nearest_dual(loss, a + quick, y) == pytest.approx(a + quick, abs=1e-15)


@every_loss
def test_quick_gap_is_the_gap_within_a_tenth_or_a_quarter_farther_away(name):
    loss = CASES[name]
    for z, y, away in itertools.product((-6.0, -0.4, 0.3, 2.0), (-1.0, 1.0), (-1.0, 0.1, 1e-3)):
        first, second = loss_slopes(loss, z, y)
        a = loss_nearest_dual(loss, -first + away * max(second, 0.01), y)
        exact = loss.value(z, y) + loss_conjugate(loss, a, y) + a * z
        close = loss_quick_gap(loss, z, a, y, first, second)
        # The logistic loss has a formula of its own, which knows nothing of the ends.
        far = name == "logistic" and away < 0
        assert close == pytest.approx(exact, rel=0.25 if far else 0.12, abs=1e-9)


@every_loss
def test_value_is_convex(name):
    loss = CASES[name]
    grid = np.linspace(-5, 5, 31)
    for y in labels(name):
        for z in grid:
            assert 0.0 <= loss.second_derivative(z, y) <= loss.smoothness * (1 + 1e-14)
            for x in grid:
                linear = loss.value(z, y) + loss.derivative(z, y) * (x - z)
                assert loss.value(x, y) - linear >= -1e-13


@every_smooth_loss
def test_value_is_smooth(name):
    loss = CASES[name]
    grid = np.linspace(-5, 5, 31)
    for y in labels(name):
        for z, x in itertools.product(grid, grid):
            linear = loss.value(z, y) + loss.derivative(z, y) * (x - z)
            excess = loss.value(x, y) - linear
            assert excess <= 0.5 * loss.smoothness * (x - z) ** 2 + 1e-13


@every_loss_with_kinks
def test_kinks_are_where_the_derivative_jumps_by_one(name):
    loss = CASES[name]
    for y in labels(name):
        kinks = [float(kink[0]) for kink in loss.kinks(np.array([y]))]
        places = [y * z if loss.classification else z - y for z in kinks]
        assert sorted(places) == pytest.approx(KINKS[name])
        for z in kinks:
            jump = loss.derivative(z + 1e-9, y) - loss.derivative(z - 1e-9, y)
            assert jump == 1.0


@every_loss_with_kinks
@pytest.mark.parametrize("gamma", [0.3, 1e-6])
def test_a_smoothed_loss_has_a_square_added_to_its_conjugate(name, gamma):
    """Around any centre a°, by targets y + γ a°."""
    loss = CASES[name]
    smooth = as_loss(loss.smoothed(gamma))
    assert smooth.smoothness == pytest.approx(1 / gamma)
    low, high = DOMAINS[name]
    for y, b, centre in itertools.product(
        labels(name), np.linspace(low, high, 7), np.linspace(low, high, 5)
    ):
        a, around = sign(name, y) * b, sign(name, y) * centre
        expected = loss.conjugate(a, y) + 0.5 * gamma * (a - around) ** 2
        found = smooth.conjugate(a, y + gamma * around) + 0.5 * gamma * around**2
        assert found == pytest.approx(expected, abs=1e-12)
        # The functions of z belong to the same conjugate.
        for z in points(name, y, np.linspace(-3, 3, 25)):
            own = -smooth.derivative(z, y + gamma * around)
            value = smooth.value(z, y + gamma * around)
            gap = value + smooth.conjugate(own, y + gamma * around) + own * z
            assert abs(gap) <= 1e-13
            assert math.isfinite(loss.conjugate(own, y))


@every_loss_with_kinks
def test_dual_step_lands_on_minus_a_subgradient(name):
    """What the prox is where φ' jumps: φ(zeta) + φ*(-a⁺) + a⁺ zeta = 0."""
    loss = CASES[name]
    at_kink = 0
    for a, z, y, kappa in problems(name, seed=2, count=200):
        change = loss.dual_step(a, z, y, kappa)
        zeta = z + kappa * change
        gap = losses.loss_fenchel_gap(loss, zeta, a + change, y)
        assert abs(gap) <= 1e-14 * (1.0 + kappa + abs(z))
        at_kink += abs(sign(name, y) * (a + change)) not in (0.0, 1.0)
    assert at_kink > 20


@every_loss
def test_fenchel_young_is_an_equality_at_minus_the_derivative(name):
    loss = CASES[name]
    for y in labels(name):
        for z in points(name, y, np.linspace(-30, 30, 241)):
            a = -loss.derivative(z, y)
            gap = loss.value(z, y) + loss.conjugate(a, y) + a * z
            assert abs(gap) <= 1e-14 * (1.0 + abs(loss.value(z, y)) + abs(a * z))


@pytest.mark.parametrize("name", [n for n, loss in CASES.items() if has_conjugate_slopes(loss)])
def test_conjugate_slopes_are_the_conjugates_derivatives(name):
    """All losses but the probit, whose slopes would have to be searched for."""
    loss = CASES[name]
    low, high = finite_domain(name)
    step = 1e-4
    for y in labels(name):
        for b in np.linspace(low + 0.01, high - 0.01, 8):  # not 0, where some have a kink
            a = sign(name, y) * float(b)
            below, here, above = (loss.conjugate(a + k * step, y) for k in (-1, 0, 1))
            first, second = loss.conjugate_slopes(a, y)
            assert first == pytest.approx((above - below) / (2 * step), rel=1e-3, abs=1e-4)
            assert second == pytest.approx((above - 2 * here + below) / step**2, rel=1e-2, abs=1e-4)


@every_loss
def test_conjugate_is_the_supremum_of_its_definition(name):
    loss = CASES[name]
    low, high = finite_domain(name)
    grid = np.linspace(-40, 40, 801)
    for y in labels(name):
        for b in np.linspace(low + 1e-3, high - 1e-3, 9):
            a = sign(name, y) * float(b)
            start = min(grid, key=lambda z, a=a, y=y: a * z + loss.value(z, y))
            best = minimize_scalar(
                lambda z, a=a, y=y: a * z + loss.value(z, y),
                bounds=(start - 0.2, start + 0.2),
                method="bounded",
                options={"xatol": 1e-10},
            )
            # Where it is the value at a kink, a search comes only near it.
            kinks = [y * kink if loss.classification else y + kink for kink in KINKS[name]]
            least = min([best.fun, *(a * z + loss.value(z, y) for z in kinks)])
            np.testing.assert_allclose(loss.conjugate(a, y), -least, rtol=1e-12, atol=1e-12)


@every_loss
def test_conjugate_is_infinite_outside_the_domain_and_not_an_ulp_beyond(name):
    loss = CASES[name]
    for y in labels(name):
        s = sign(name, y)
        for edge, outward in zip(DOMAINS[name], (-1.0, 1.0), strict=True):
            if math.isinf(edge):
                assert math.isfinite(loss.conjugate(s * outward * 1e8, y))
                continue
            at_edge = loss.conjugate(s * edge, y)
            assert math.isfinite(at_edge)
            assert loss.conjugate(s * (edge + outward * 1e-3), y) == math.inf
            ulp_beyond = math.nextafter(edge, outward * math.inf)
            assert loss.conjugate(s * ulp_beyond, y) == at_edge


@every_loss
def test_nearest_dual_is_in_the_domain_and_leaves_it_alone(name):
    loss = CASES[name]
    low, high = DOMAINS[name]
    for y in labels(name):
        for b in np.linspace(-6, 6, 41):
            nearest = sign(name, y) * loss.nearest_dual(sign(name, y) * b, y)
            assert nearest == min(max(b, low), high)


@every_loss
def test_dual_step_maximises_the_one_dimensional_problem(name):
    loss = CASES[name]
    low, high = DOMAINS[name]
    for a, z, y, kappa in problems(name, seed=1, count=40):
        s = sign(name, y)
        low_y, high_y = max(low, -50.0), min(high, 50.0)

        def minus(b, a=a, z=z, y=y, kappa=kappa, s=s):
            change = s * b - a
            return loss.conjugate(s * b, y) + change * z + 0.5 * kappa * change * change

        best = minimize_scalar(
            minus, bounds=(low_y, high_y), method="bounded", options={"xatol": 1e-11}
        )
        moved = s * (a + loss.dual_step(a, z, y, kappa))
        assert low_y - 1e-14 <= moved <= high_y + 1e-14
        assert minus(moved) <= best.fun + 1e-11 * (1.0 + abs(best.fun))


@every_smooth_loss
def test_dual_step_is_the_prox_of_the_loss(name):
    loss = CASES[name]
    for a, z, y, kappa in problems(name, seed=2, count=100):
        change = loss.dual_step(a, z, y, kappa)
        slope_there = loss.derivative(z + kappa * change, y)
        scale = 1.0 + loss.smoothness * kappa * (1.0 + abs(a))
        assert abs(a + change + slope_there) <= 1e-14 * scale


@every_loss
def test_dual_step_of_a_zero_row_goes_to_minus_the_derivative(name):
    loss = CASES[name]
    steps = [loss.dual_step]
    if name in SMOOTH:
        steps.append(lambda *at: search_dual_step(loss, *at))
    for a, z, y, _ in problems(name, seed=3, count=30):
        for step in steps:
            moved = a + step(a, z, y, 0.0)
            np.testing.assert_allclose(moved, -loss.derivative(z, y), rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize(
    "name",
    [
        "squared_hinge",
        "smoothed_hinge",
        "modified_huber",
        "squared_epsilon_insensitive",
        "smoothed_epsilon_insensitive",
    ],
)
@pytest.mark.parametrize("kappa", [0.0, 1e-12, 0.3, 7.0, 1e12])
def test_a_dual_variable_that_becomes_zero_is_exactly_zero(name, kappa):
    loss = CASES[name]
    for y in labels(name):
        a = sign(name, y) * 0.1234567 / (1.0 + kappa)
        z = 3.7 * y if loss.classification else y + 0.5 * sum(PARAMETERS[name].values()) * 0.1
        assert a + loss.dual_step(a, z, y, kappa) == 0.0
        assert a + search_dual_step(loss, a, z, y, kappa) == pytest.approx(0.0, abs=1e-16)


@every_loss
@pytest.mark.parametrize("size", [40.0, 700.0, 1e4, 1e8])
def test_large_margins_and_residuals_are_harmless(name, size):
    loss = CASES[name]
    for y in labels(name):
        for z in points(name, y, np.array([-size, size])):
            value, a = loss.value(z, y), -loss.derivative(z, y)
            assert 0.0 <= value <= 0.6 * loss.smoothness * (size + 5.0) ** 2
            assert 0.0 <= loss.second_derivative(z, y) <= loss.smoothness
            assert loss.nearest_dual(a, y) == a
            gap = value + loss.conjugate(a, y) + a * z
            assert abs(gap) <= 1e-14 * (1.0 + value + abs(a * z))
            for kappa in (0.0, 1e-12, 1.0, 1e12):
                for start in (0.0, a):
                    assert math.isfinite(loss.dual_step(start, z, y, kappa))


@every_loss
@pytest.mark.parametrize("kappa", [0.0, 1e-12, 1e-3, 1.0, 1e6, 1e12])
def test_dual_steps_from_the_edge_stay_in_the_domain(name, kappa):
    loss = CASES[name]
    low, high = DOMAINS[name]
    edges = [b for b in (low, high) if math.isfinite(b)]
    inner = [b for b in (1e-300, 1e-16, 0.3, 1.0 - 1e-16, 1.0) if low <= b <= high]
    grid = np.array([-1e4, -30.0, -1.0, 0.0, 0.5, 30.0, 1e4])
    for y, b in itertools.product(labels(name), edges + inner):
        a = sign(name, y) * b
        for z in points(name, y, grid).tolist():
            if name in KINKED:
                change = loss.dual_step(a, z, y, kappa)
                zeta = z + kappa * change
                gap = losses.loss_fenchel_gap(loss, zeta, a + change, y)
                assert abs(gap) <= 1e-15 * (1.0 + 4 * abs(z) + 4 * abs(zeta) + kappa)
                continue
            for change in (
                loss.dual_step(a, z, y, kappa),
                search_dual_step(loss, a, z, y, kappa),
            ):
                assert math.isfinite(loss.conjugate(a + change, y))
                # zeta carries the rounding errors of z and, amplified by κ, of a.
                zeta = z + kappa * change
                noise = 1e-15 * (abs(a) + abs(change))
                noise += 1e-15 * loss.smoothness * (1.0 + abs(z) + abs(zeta) + kappa * abs(a))
                assert abs(a + change + loss.derivative(zeta, y)) <= noise


@pytest.mark.parametrize("b", [1e-300, 1e-100, 1e-14])
def test_logistic_dual_steps_keep_the_digits_of_a_tiny_dual_variable(b):
    # At κ = 0 the step lands on σ(-m), here far below rounding error of 1.
    margin = -math.log(b)
    moved = 2 * b + Logistic().dual_step(2 * b, margin, 1.0, 0.0)
    assert moved == pytest.approx(math.exp(-margin) / (1 + math.exp(-margin)), rel=1e-13)
    # At a large κ the variable hardly moves, and the step itself keeps its digits.
    kappa = 1e6
    change = Logistic().dual_step(2 * b, margin, 1.0, kappa)
    target = -Logistic().derivative(margin + kappa * change, 1.0)
    assert 2 * b + change == pytest.approx(target, rel=1e-12)


def test_probit_agrees_with_scipy():
    x = np.concatenate([np.linspace(0, 10, 401), np.logspace(1, 100, 100)])
    np.testing.assert_allclose([scaled_erfc(v) for v in x], erfcx(x), rtol=2e-15)
    m = np.concatenate([-np.logspace(4, -3, 200), np.linspace(-8, 8, 401), [20.0, 37.0]])
    values = [Probit().value(v, 1.0) for v in m]
    # -ln Φ has condition number m² on the right.
    np.testing.assert_allclose(values, -log_ndtr(m), rtol=3e-16 * 37.0**2)
    left = m < 3
    np.testing.assert_allclose(np.array(values)[left], -log_ndtr(m)[left], rtol=5e-15)
    slopes = np.exp(-0.5 * m * m - log_ndtr(m)) / math.sqrt(2 * math.pi)
    moderate = abs(m) < 30
    found = np.array([-Probit().derivative(v, 1.0) for v in m])
    np.testing.assert_allclose(found[moderate], slopes[moderate], rtol=1e-12)


def test_probit_curvature_far_left_is_nearly_one():
    # h(h+m) = 1 - 1/m² + 6/m⁴ - …, lost to cancellation if h + m is formed by addition.
    m = -1e3
    expected = 1.0 - 1.0 / m**2 + 6.0 / m**4
    assert Probit().second_derivative(m, 1.0) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize("b", [1e-300, 1e-20, 0.5, 0.7978845608, 3.0, 1e4, 1e12])
def test_probit_hazard_is_inverted_over_the_whole_range(b):
    assert hazard(inverse_hazard(b)) == pytest.approx(b, rel=1e-12)


def test_log_cosh_keeps_the_digits_of_small_residuals():
    for r in (1e-3, 1e-8, 1e-150):
        assert LogCosh().value(r, 0.0) == pytest.approx(r * r / 2 - r**2 * r**2 / 12, rel=1e-12)
        assert LogCosh().conjugate(r, 0.0) == pytest.approx(r * r / 2 + r**2 * r**2 / 12, rel=1e-12)


@every_smooth_loss
def test_the_searched_dual_step_agrees_with_the_closed_form(name):
    loss = CASES[name]
    for a, z, y, kappa in problems(name, seed=4, count=60):
        expected = loss.dual_step(a, z, y, kappa)
        assert search_dual_step(loss, a, z, y, kappa) == pytest.approx(expected, abs=2e-14)


@every_smooth_loss
@pytest.mark.parametrize("kappa", [0.0, 1e-12, 1e12])
def test_the_searched_dual_step_survives_extreme_curvatures(name, kappa):
    loss = CASES[name]
    for a, z, y, _ in problems(name, seed=5, count=20):
        for scale in (1.0, 1e4):
            expected = loss.dual_step(a, scale * z, y, kappa)
            found = search_dual_step(loss, a, scale * z, y, kappa)
            assert found == pytest.approx(expected, rel=1e-8, abs=1e-14 * (1 + abs(scale * z)))


@every_loss
def test_the_searched_conjugate_agrees_with_the_closed_form(name):
    loss = CASES[name]
    low, high = finite_domain(name)
    for y in labels(name):
        for b in np.linspace(low, high, 13):
            a = sign(name, y) * float(b)
            found, true = search_conjugate(loss, a, y), loss.conjugate(a, y)
            assert found >= true - 1e-12, "an upper bound"
            # At a kink, values near it leave a bound of its jump times their distance.
            enough = 1e-12 if loss.smoothness < math.inf else 1e-7
            assert found == pytest.approx(true, rel=enough, abs=enough)
        for edge, outward in zip(DOMAINS[name], (-1.0, 1.0), strict=True):
            if math.isfinite(edge):
                beyond = sign(name, y) * (edge + outward * 1e-3)
                assert search_conjugate(loss, beyond, y) == math.inf


def read_only(values):
    array = np.array(values, dtype=float)
    array.flags.writeable = False
    return array


@kernel
def dual_steps(loss, alpha, z, y, kappa, out):
    for j in range(out.shape[0]):
        a = loss_nearest_dual(loss, alpha[j], y[j])
        out[j] = loss_dual_step(loss, a, z[j], y[j], kappa[j])


@every_loss
def test_compiled_kernels_agree_with_plain_python(name):
    loss = CASES[name]
    rng = np.random.default_rng(6)
    n = 60
    y = read_only(rng.choice(labels(name), n))
    c = read_only(rng.uniform(0.5, 2.0, n))
    z = 10.0 * rng.normal(size=n)
    a = np.array([loss.nearest_dual(2.0 * rng.normal(), t) for t in y])
    kappa = 10.0 ** rng.uniform(-6, 6, n)
    rows = list(zip(z, a, y, c, kappa, strict=True))
    close = dict(rtol=1e-13, atol=1e-14)

    values = [w * loss.value(p, t) for p, _, t, w, _ in rows]
    np.testing.assert_allclose(sum_values(loss, z, y, c), math.fsum(values), **close)
    out = np.empty(n)
    derivatives(loss, z, y, c, out)
    np.testing.assert_allclose(out, [w * loss.derivative(p, t) for p, _, t, w, _ in rows], **close)
    second_derivatives(loss, z, y, c, out)
    curvatures = [w * loss.second_derivative(p, t) for p, _, t, w, _ in rows]
    np.testing.assert_allclose(out, curvatures, **close)
    conjugates = [w * loss.conjugate(d, t) for _, d, t, w, _ in rows]
    np.testing.assert_allclose(
        sum_conjugates(loss, a * c, y, c), math.fsum(conjugates), rtol=1e-12, atol=1e-13
    )
    gaps = [w * losses.loss_fenchel_gap(loss, p, d, t) for p, d, t, w, _ in rows]
    np.testing.assert_allclose(
        sum_fenchel_gaps(loss, z, a * c, y, c), math.fsum(gaps), rtol=1e-12, atol=1e-13
    )
    dual_steps(loss, a, z, y, kappa, out)
    changes = [loss.dual_step(d, p, t, k) for p, d, t, _, k in rows]
    np.testing.assert_allclose(out, changes, rtol=1e-10, atol=1e-14)

    optimal = np.array([-w * loss.derivative(p, t) for p, _, t, w, _ in rows])
    gap = sum_fenchel_gaps(loss, z, optimal, y, c)
    assert 0.0 <= gap <= 1e-15 * (n + 4 * math.fsum(values))


def test_gap_of_a_residual_keeps_its_digits_for_large_targets():
    y, c = read_only([1e8]), read_only([1.0])
    z = np.array([1e8 + 0.25])
    assert sum_fenchel_gaps(Squared(), z, np.array([-0.25]), y, c) == 0.0
    assert sum_fenchel_gaps(Squared(), z, np.array([-0.5]), y, c) == pytest.approx(0.03125)


@pytest.mark.parametrize("size", [1e-6, 1e-3, 0.03, 0.032, 0.3])
@pytest.mark.parametrize("m", [-9.0, -3.0, -0.1, 0.0, 0.5, 2.0, 9.0])
def test_the_logistic_gap_keeps_its_digits_near_the_optimum(m, size):
    """By far more digits than a sum of terms that cancel has, on both sides of the series' end."""
    loss, y = Logistic(), -1.0
    q = -loss.derivative(m, 1.0)
    for sign in (-1.0, 1.0):
        a = y * (q + sign * size * min(q, 1.0 - q))
        with mpmath.workdps(50):
            b, margin = mpmath.mpf(y * a), mpmath.mpf(m)
            value = mpmath.log(1 + mpmath.exp(-margin))
            entropy = b * mpmath.log(b) + (1 - b) * mpmath.log(1 - b)
            expected = float(value + entropy + b * margin)
        found_value, gap = loss.value_and_gap(y * m, a, y)
        assert found_value == pytest.approx(float(value), rel=1e-15)
        # b and q are rounded before they are subtracted.
        lost = 1e-15 / abs(y * a - q)
        cancelled = 4e-16 * float(value) / expected if size >= SERIES else 0.0
        assert gap == pytest.approx(expected, rel=1e-9 + 3 * lost + cancelled)


def test_the_exponential_for_loops_is_right_to_one_unit_in_the_last_place():
    rng = np.random.default_rng(0)
    x = -np.concatenate([[0.0, 1e-300], 40 * rng.random(5000), 10 ** rng.uniform(-12, 2.84, 5000)])
    found = np.empty_like(x)
    exponentials(x, found)
    expected = np.array([math.exp(value) for value in x])
    assert np.all(np.abs(found - expected) <= 2.3e-16 * expected)
    special = np.empty(3)
    exponentials(np.array([-800.0, -math.inf, math.nan]), special)
    assert special[0] == special[1] == 0.0 and math.isnan(special[2])
    assert exp_below_zero(-2.0) == math.exp(-2.0)  # outside kernels


def test_the_logarithm_for_loops_is_right_to_about_one_unit_in_the_last_place():
    rng = np.random.default_rng(0)
    x = np.concatenate([[0.0, 1.0, 1e-300], rng.random(5000), 10 ** rng.uniform(-20, 0, 5000)])
    found = np.empty_like(x)
    logarithms(x, found)
    expected = np.array([math.log1p(value) for value in x])
    assert np.all(np.abs(found - expected) <= 3.4e-16 * expected)
    assert log1p_of_part(0.5) == math.log1p(0.5)


@kernel
def exponentials(x, out):
    for k in range(x.size):
        out[k] = exp_below_zero(x[k])


@kernel
def logarithms(x, out):
    for k in range(x.size):
        out[k] = log1p_of_part(x[k])


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("size", [1e-6, 0.02, 0.5])
def test_sums_in_vector_registers_are_the_sums_of_single_terms(name, size):
    loss, rng = CASES[name], np.random.default_rng(0)
    n = 3 * sums.BLOCK + 5  # whole blocks and a part of one
    y = np.sign(rng.standard_normal(n)) if loss.classification else rng.standard_normal(n)
    z, c = 3 * rng.standard_normal(n), rng.random(n)
    c[::50] = 0.0
    alpha = np.empty(n)
    derivatives(loss, z, y, c, alpha)
    alpha *= -(1.0 - size * rng.random(n))
    terms = [(w, losses.loss_value_and_gap(loss, p, a / w, t))
             for p, a, t, w in zip(z, alpha, y, c, strict=True) if w > 0]  # fmt: skip
    values, gaps, _ = sum_values_and_gaps(loss, z, alpha, read_only(y), read_only(c))
    assert values == pytest.approx(math.fsum(w * value for w, (value, _) in terms), rel=1e-14)
    assert values == pytest.approx(sum_values(loss, z, read_only(y), read_only(c)), rel=1e-14)
    expected = math.fsum(w * max(gap, 0.0) for w, (_, gap) in terms)
    assert gaps == pytest.approx(expected, rel=1e-8, abs=1e-14 * values)


def test_slopes_in_loops_are_the_slopes():
    z, y = np.linspace(-750.0, 750.0, 3001), np.where(np.arange(3001) % 2, 1.0, -1.0)
    first, second = np.empty(3001), np.empty(3001)
    set_slopes(Logistic(), z, y, np.ones(3001), first, second)
    slopes = np.array([Logistic().slopes(*pair) for pair in zip(z, y, strict=True)])
    np.testing.assert_allclose(first, slopes[:, 0], rtol=5e-16, atol=1e-307)
    np.testing.assert_allclose(second, slopes[:, 1], rtol=1e-15, atol=1e-307)


def test_examples_of_weight_zero_need_a_zero_dual_variable():
    loss, y, c, z = Squared(), read_only([1.0, 2.0]), read_only([1.0, 0.0]), np.array([0.5, 7.0])
    assert sum_conjugates(loss, np.array([0.5, 0.0]), y, c) == loss.conjugate(0.5, 1.0)
    assert sum_conjugates(loss, np.array([0.5, 0.1]), y, c) == math.inf
    assert sum_fenchel_gaps(loss, z, np.array([0.5, 0.0]), y, c) == 0.0
    assert sum_fenchel_gaps(loss, z, np.array([0.5, 0.1]), y, c) == math.inf


def test_sums_are_infinite_outside_the_domain():
    y, c, z = read_only([1.0, 1.0]), read_only([1.0, 1.0]), np.zeros(2)
    assert sum_conjugates(Logistic(), np.array([0.5, 1.5]), y, c) == math.inf
    assert sum_fenchel_gaps(Logistic(), z, np.array([0.5, 1.5]), y, c) == math.inf


def test_sums_are_compensated():
    # Every term after the first is below half an ulp of it: a plain sum would not move.
    n = 10_000
    c = read_only([1.0] + [1e-17] * n)
    z, y = np.full(n + 1, math.sqrt(2.0)), read_only(np.zeros(n + 1))
    expected = math.fsum(w * Squared().value(z[0], 0.0) for w in c)
    # Inside one block the sum is plain, in as many lanes as the machine has: an ulp may be lost.
    assert abs(sum_values(Squared(), z, y, c) - expected) <= np.spacing(expected)
    assert expected - Squared().value(z[0], 0.0) > 100 * np.spacing(expected)


# --- a user's own loss ----------------------------------------------------------------------------


class PseudoHuber(NamedTuple):
    """φ = w² (sqrt(1 + (r/w)²) - 1), with only what is required."""

    width: float = 2.0
    smoothness = 1.0

    def value(self, z, y):
        ratio = (z - y) / self.width
        return self.width * self.width * (math.sqrt(1.0 + ratio * ratio) - 1.0)

    def derivative(self, z, y):
        ratio = (z - y) / self.width
        return (z - y) / math.sqrt(1.0 + ratio * ratio)

    def second_derivative(self, z, y):
        ratio = (z - y) / self.width
        return (1.0 + ratio * ratio) ** -1.5


class PlainPseudoHuber:
    """The same as a plain class, with its own argument names and a class attribute."""

    power = -1.5

    def __init__(self, width):
        self.width = width
        self.note = "not a number, not used"

    @property
    def smoothness(self):
        return 1.0

    def value(self, prediction, target):
        ratio = (prediction - target) / self.width
        return self.width * self.width * (math.sqrt(1.0 + ratio * ratio) - 1.0)

    def derivative(self, prediction, target):
        ratio = (prediction - target) / self.width
        return (prediction - target) / math.sqrt(1.0 + ratio * ratio)

    def second_derivative(self, prediction, target):
        ratio = (prediction - target) / self.width
        return (1.0 + ratio * ratio) ** self.power


@dataclass(frozen=True)
class DataPseudoHuber:
    """The same as a dataclass that borrows the functions."""

    width: float = 2.0
    smoothness: float = 1.0

    value = PseudoHuber.value
    derivative = PseudoHuber.derivative
    second_derivative = PseudoHuber.second_derivative


def two_value(z, y):
    return 4.0 * (math.sqrt(1.0 + 0.25 * (z - y) * (z - y)) - 1.0)


def two_derivative(z, y):
    return (z - y) / math.sqrt(1.0 + 0.25 * (z - y) * (z - y))


def two_second_derivative(z, y):
    return (1.0 + 0.25 * (z - y) * (z - y)) ** -1.5


SPACE = SimpleNamespace(
    value=two_value,
    derivative=two_derivative,
    second_derivative=two_second_derivative,
    smoothness=1.0,
)
OWN = {
    "named tuple": PseudoHuber(2.0),
    "class of a named tuple": PseudoHuber,
    "plain class": PlainPseudoHuber(2.0),
    "dataclass": DataPseudoHuber(),
    "namespace of functions": SPACE,
}


@pytest.mark.parametrize("own", OWN.values(), ids=OWN)
def test_own_loss_runs_compiled_with_conjugate_and_dual_step(own):
    loss = as_loss(own)
    y, c = read_only([0.3, -1.0, 2.0]), read_only([1.0, 2.0, 0.5])
    z = np.array([0.5, 3.0, -9.0])
    reference = PseudoHuber(2.0)
    assert not loss.classification
    assert loss.smoothness == 1.0

    expected = math.fsum(w * reference.value(p, t) for p, t, w in zip(z, y, c, strict=True))
    assert sum_values(loss, z, y, c) == pytest.approx(expected, rel=1e-15)
    slopes = np.empty(3)
    derivatives(loss, z, y, c, slopes)
    assert sum_fenchel_gaps(loss, z, -slopes, y, c) <= 1e-14

    # φ*(-a) = w² - w sqrt(w² - a²) - a y for |a| <= w.
    assert loss_conjugate(loss, 1.2, 0.3) == pytest.approx(4.0 - 2.0 * 1.6 - 1.2 * 0.3)
    assert loss_conjugate(loss, 2.001, 0.3) == math.inf
    change = loss_dual_step(loss, 0.2, 1.0, 0.3, 5.0)
    assert 0.2 + change == pytest.approx(-loss.derivative(1.0 + 5.0 * change, 0.3), rel=1e-14)
    assert loss_nearest_dual(loss, 7.0, 0.3) == 7.0


@pytest.mark.parametrize("own", OWN.values(), ids=OWN)
def test_own_loss_always_gets_the_same_class(own):
    loss = as_loss(own)
    assert type(as_loss(own)) is type(loss)
    assert as_loss(loss) is loss
    assert isinstance(loss, tuple)


def test_own_losses_with_other_parameters_share_a_class():
    assert type(as_loss(PlainPseudoHuber(3.0))) is type(as_loss(PlainPseudoHuber(2.0)))
    assert as_loss(PlainPseudoHuber(3.0)).width == 3.0


@pytest.mark.parametrize("own", OWN.values(), ids=OWN)
def test_own_loss_survives_pickle_and_copy(own):
    loss = as_loss(own)
    for twin in (pickle.loads(pickle.dumps(loss)), copy.deepcopy(loss)):
        assert type(twin) is type(loss)
        assert twin == loss


def test_own_methods_are_preferred_to_the_generic_ones():
    own = SimpleNamespace(
        **vars(SPACE),
        classification=True,
        conjugate=lambda a, y: 42.0,
        dual_step=lambda a, z, y, kappa: 43.0,
        nearest_dual=lambda a, y: 44.0,
    )
    loss = as_loss(own)
    assert loss.classification
    assert sum_conjugates(loss, np.ones(1), np.ones(1), np.ones(1)) == 42.0
    out = np.empty(1)
    dual_steps(loss, np.ones(1), np.ones(1), np.ones(1), np.ones(1), out)
    assert out[0] == loss_dual_step(loss, 1.0, 1.0, 1.0, 1.0) == 43.0
    assert loss_nearest_dual(loss, 1.0, 1.0) == 44.0


def test_own_loss_may_declare_classification():
    class Margin(PlainPseudoHuber):
        classification = True

    assert as_loss(Margin(1.0)).classification


# --- names, parameters and errors -----------------------------------------------------------------


def test_names_classes_and_instances_give_the_same_loss():
    for name, owner in LOSSES.items():
        assert type(as_loss(name)) is type(as_loss(owner)) is type(as_loss(owner())) is owner
        assert loss_name(as_loss(name)) == name
    assert loss_name(as_loss(PlainPseudoHuber(1.0))) == "PlainPseudoHuber"


def test_registry_order_is_the_documented_one():
    assert [name for name in LOSSES if name in REFERENCE] == list(REFERENCE)


def test_parameters_become_floats():
    loss = as_loss(Huber(delta=np.float32(2)))
    assert type(loss.delta) is float
    assert type(as_loss(SmoothedHinge(1)).smoothing) is float


@pytest.mark.parametrize("name", ["absolute", "l1"])
def test_the_absolute_loss_by_another_name_is_explained(name):
    with pytest.raises(ValueError, match=rf"got '{name}'. Use EpsilonInsensitive\(epsilon=0\)"):
        as_loss(name)
    assert as_loss("epsilon_insensitive").value(1.5, 2.0) == 0.5


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(
        ValueError, match=r"must be one of squared, logistic.*gamma, got 'loggistic'"
    ):
        as_loss("loggistic")


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (Huber(delta=0.0), "delta of 'huber' must be a positive finite number, got 0.0"),
        (Huber(delta=math.nan), "delta .* got nan"),
        (Huber(delta="1"), "delta .* got '1'"),
        (SmoothedHinge(-1.0), "smoothing of 'smoothed_hinge' must be a positive"),
        (SquaredEpsilonInsensitive(-0.1), "epsilon .* must be a nonnegative finite number"),
        (SmoothedEpsilonInsensitive(0.1, math.inf), "smoothing .* got inf"),
    ],
)
def test_parameters_out_of_range_are_named(loss, message):
    with pytest.raises(ValueError, match=message):
        as_loss(loss)


def test_a_loss_that_lacks_something_is_told_what():
    partial = SimpleNamespace(value=two_value, derivative=two_derivative)
    with pytest.raises(TypeError, match=r"lacks second_derivative, smoothness\. Add them"):
        as_loss(partial)
    with pytest.raises(TypeError, match="got int, which lacks value"):
        as_loss(3)


@pytest.mark.parametrize("beta", [0.0, -1.0, math.inf, math.nan, "1"])
def test_smoothness_must_be_positive_and_finite(beta):
    with pytest.raises(ValueError, match="smoothness must be a positive finite number"):
        as_loss(SimpleNamespace(**{**vars(SPACE), "smoothness": beta}))


def test_a_class_that_needs_arguments_asks_for_an_instance():
    with pytest.raises(TypeError, match=r"Give PlainPseudoHuber\(...\) with its parameters"):
        as_loss(PlainPseudoHuber)


def test_what_numba_cannot_compile_is_refused():
    with pytest.raises(TypeError, match="value of the loss must be a plain function"):
        as_loss(SimpleNamespace(**{**vars(SPACE), "value": np.hypot}))

    class Private(PlainPseudoHuber):
        def __init__(self):
            self._scale = 1.0

        def value(self, z, y):
            return self._scale * (z - y)

    with pytest.raises(TypeError, match=r"uses self\._scale"):
        as_loss(Private())


# --- traits ---------------------------------------------------------------------------------------


@every_loss
def test_the_traits_are_those_of_the_functions(name):
    loss = CASES[name]
    at = np.concatenate([np.linspace(-4, 4, 33), [-20.0, 20.0]])
    for y in labels(name):
        second = np.array([loss.second_derivative(z, y) for z in at])
        assert loss.strictly_convex == bool((second > 0).all())
        assert loss.quadratic == bool((second == second[0]).all() and second[0] > 0)
    # From one label to the other: every loss has these two.
    moved = [loss.value(z + 2.0, 1.0) - loss.value(z, -1.0) for z in at]
    assert loss.shift_invariant == bool(np.abs(moved).max() < 1e-12)


def test_a_loss_of_a_user_has_all_traits():
    class Doubled:
        smoothness = 2.0
        quadratic = strictly_convex = True

        def value(self, z, y):
            return (z - y) ** 2

        def derivative(self, z, y):
            return 2 * (z - y)

        def second_derivative(self, z, y):
            return 2.0

    loss = as_loss(Doubled())
    assert loss.quadratic and loss.strictly_convex
    assert not loss.classification and not loss.shift_invariant
    other = as_loss(type("Undeclared", (Doubled,), {"quadratic": False})())
    assert not other.quadratic and other.strictly_convex
