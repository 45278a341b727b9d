"""Objectives whose losses are averaged: ``alpha`` is then λ itself."""

from __future__ import annotations

from typing import Any

from . import unpenalised


class MeanLoss:
    """(1/S) Σ s_j φ_j + (alpha/2) ‖w‖², S = Σ s_j; before ``LinearModel`` among the bases."""

    def _lam(self, value: float, total: float, X: Any, loss_scale: float = 1.0) -> float:
        """λ, next to nothing without regularisation."""
        return unpenalised.tiny_lam(X) if value == 0.0 else value
