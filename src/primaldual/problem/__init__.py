"""The problem: data, loss and λ; its primal and dual values; the two sides of the data.

    min_w P(w) = (1/n) Σ_j c_j φ(⟨x_j, w⟩ + b; y_j) + (λ/2) ‖w‖²                            (1)
    max_α D(α) = −(1/(2λn²)) ‖Σ_j α_j x_j‖² − (1/n) Σ_j c_j φ*(−α_j/c_j)                    (3)

The data is held as scikit-learn holds it, one example x_j per row of X: the transpose of the
paper's d × n matrix. The weights c_j have mean 1. The intercept b is 0 unless asked for; it is
never penalised, and gives the dual the constraint Σ_j α_j = 0.
"""

from __future__ import annotations

from .certificate import Certificate
from .coordinates import Coordinates
from .problem import Problem

__all__ = ["Certificate", "Coordinates", "Problem"]
