"""The losses φ(z; y): values, derivatives, conjugates, and the one-dimensional dual problem.

A loss is a named tuple of its parameters with scalar methods that use ``math`` only, so that the
same method runs in plain Python and inside compiled kernels. Throughout, z is the prediction, y
the label or target, a the dual variable of one example, and

- ``value``, ``derivative``, ``second_derivative`` are φ, φ' and φ'' (almost everywhere) at (z; y),
- ``conjugate`` is φ*(-a) = sup_z {-a z - φ(z; y)}, +inf outside its domain,
- ``dual_step`` is the change Δ that maximises -φ*(-(a + Δ)) - z Δ - (κ/2) Δ²,
- ``conjugate_slopes`` are the two derivatives of φ*(-a) by a, inside its domain,
- ``nearest_dual`` is the point of the closed domain of φ*(-·) nearest to a,
- ``smoothness`` is β, a Lipschitz constant of φ'; infinite for a loss with kinks, which also has
  ``kinks``, the z where φ' jumps, and ``smoothed``, itself with its kinks rounded,
- the traits that ``@loss`` declares are listed in ``traits.Loss``.

Kernels call the free functions ``loss_value(loss, z, y)``, ``loss_derivative`` and so on. A loss
that has only the three functions of z, and β, gets numerical versions of the others.

With m = y z the margin, b = y a and r = z - y the residual, every φ of the classification losses
is a function of m and every φ of the regression losses a function of r.
"""

from __future__ import annotations

from .gaps import loss_fenchel_gap, loss_quick_gap, loss_value_and_gap
from .hinge import Hinge, ModifiedHuber, SmoothedHinge, SquaredHinge
from .huber import Huber, LogCosh
from .insensitive import (
    EpsilonInsensitive,
    SmoothedEpsilonInsensitive,
    SquaredEpsilonInsensitive,
)
from .log_link import Gamma, Poisson
from .logistic import Logistic
from .numerical import (
    has_conjugate_slopes,
    loss_conjugate,
    loss_conjugate_slopes,
    loss_dual_step,
    loss_nearest_dual,
    loss_quick_step,
)
from .operations import (
    loss_derivative,
    loss_local_smoothness,
    loss_loop_slopes,
    loss_loop_value,
    loss_second_derivative,
    loss_slopes,
    loss_value,
)
from .pinball import Pinball, SmoothedPinball
from .probit import Probit
from .squared import Squared
from .traits import Loss, loss

LOSSES: dict[str, type] = {
    "squared": Squared,
    "logistic": Logistic,
    "squared_hinge": SquaredHinge,
    "smoothed_hinge": SmoothedHinge,
    "hinge": Hinge,
    "huber": Huber,
    "squared_epsilon_insensitive": SquaredEpsilonInsensitive,
    "smoothed_epsilon_insensitive": SmoothedEpsilonInsensitive,
    "epsilon_insensitive": EpsilonInsensitive,
    "log_cosh": LogCosh,
    "modified_huber": ModifiedHuber,
    "probit": Probit,
    "smoothed_pinball": SmoothedPinball,
    "pinball": Pinball,
    "poisson": Poisson,
    "gamma": Gamma,
}

__all__ = [
    "LOSSES",
    "EpsilonInsensitive",
    "Gamma",
    "Hinge",
    "Huber",
    "LogCosh",
    "Logistic",
    "Loss",
    "ModifiedHuber",
    "Pinball",
    "Poisson",
    "Probit",
    "SmoothedEpsilonInsensitive",
    "SmoothedHinge",
    "SmoothedPinball",
    "Squared",
    "SquaredEpsilonInsensitive",
    "SquaredHinge",
    "check",
    "has_conjugate_slopes",
    "loss",
    "loss_conjugate",
    "loss_conjugate_slopes",
    "loss_derivative",
    "loss_dual_step",
    "loss_fenchel_gap",
    "loss_local_smoothness",
    "loss_loop_slopes",
    "loss_loop_value",
    "loss_nearest_dual",
    "loss_quick_gap",
    "loss_quick_step",
    "loss_second_derivative",
    "loss_slopes",
    "loss_value",
    "loss_value_and_gap",
]

# Below the registry, which it needs.
from .soundness import check  # noqa: E402
