"""What the solver, its methods and the advice ask of a problem, whatever its loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from .._types import FloatArray
from ..data.matrix import Matrix

if TYPE_CHECKING:
    from .certificate import Certificate
    from .coordinates import Coordinates


class LinearProblem(Protocol):
    """A linear model with its data, its λ and a certificate; w may be a vector or a matrix."""

    matrix: Matrix
    n: int  # examples
    d: int  # features
    lam: float
    fit_intercept: bool
    is_weighted: bool
    sample_weight: FloatArray  # c_j, of mean 1

    @property
    def shapes(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The shapes of w and α."""

    @property
    def beta(self) -> float:
        """β, the smoothness of the loss."""

    @property
    def is_smooth(self) -> bool:
        """Whether φ' has no jumps; β may be infinite all the same."""

    @property
    def features(self) -> Coordinates:
        """The coordinates of the primal problem."""

    @property
    def examples(self) -> Coordinates:
        """The coordinates of the dual problem."""

    @property
    def primal_at_zero(self) -> float:
        """P(0), the unit of the relative gap."""

    def relative(self, gap: float) -> float:
        """A gap divided by P(0)."""

    def margins(self, w: FloatArray) -> FloatArray:
        """X w."""

    def best_intercept(self, scores: FloatArray, start: Any = None) -> Any:
        """The intercept, or one per class, that minimises the loss at these scores."""

    def rebalanced(self, alpha: FloatArray) -> FloatArray:
        """α made feasible for a free intercept; α itself where it is."""

    @property
    def slope_range(self) -> float:
        """The length of the interval of all slopes of a loss with kinks."""

    def certify(
        self, w: Any = None, alpha: Any = None, intercept: Any = None, tol: float = ...
    ) -> Certificate:
        """P, D and their gap from scratch, for a proof of the relative gap ``tol``."""
