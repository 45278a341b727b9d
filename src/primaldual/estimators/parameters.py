"""The parameters every estimator has, documented once."""

from __future__ import annotations

from typing import Any

# Inserted into the docstrings below "Parameters".
SHARED = """tol : float, default=1e-6
        The certified relative duality gap at which to stop: the objective is then above its
        minimum by at most ``tol`` times its value at zero coefficients. Small problems are
        solved more accurately, since it costs nothing.
    max_iter : int or None
        Passes over the data at most; a Newton step counts as one. None: no limit.
    side : {"auto", "primal", "dual"}, default="auto"
        Where to solve: on the coefficients, on the examples, or on what should be cheaper.
    max_time : float, optional
        Seconds after which to stop.
    callback : callable, optional
        Called with a ``Progress`` after every check; the fit stops when it returns True.
    fit_intercept : bool, default=True
        Whether to fit an intercept. It is never penalised."""

ATTRIBUTES = """dual_coef_ : array
        The dual variables, scaled so that ``coef_`` is ``dual_coef_ @ X`` up to the gap.
    dual_gap_ : float
        The certified relative duality gap, the largest one if several problems were solved.
    side_ : str
        The side on which the fit finished.
    advice_ : Advice
        What the theory says about the two sides of this problem; without the data.
    stop_reason_ : str
        Why the fit stopped.
    history_ : dict of arrays
        One entry per check: output, iteration (as ``max_iter`` counts), passes (nonzeros visited
        in units of those of X), seconds, primal, dual, relative_gap, method.
    n_iter_ : int
        Passes made, Newton steps counted as one.
    n_features_in_ : int
        Features of the data in ``fit``.
    feature_names_in_ : array of shape (n_features,)
        Their names; only if the data had any."""


def documented(owner: Any) -> Any:
    """Fill the shared parameters and attributes into a class's docstring."""
    if owner.__doc__:
        owner.__doc__ = owner.__doc__.replace("{shared}", SHARED).replace(
            "{attributes}", ATTRIBUTES
        )
    return owner
