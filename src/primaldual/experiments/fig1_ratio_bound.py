"""Figure 1: the largest C_P / C_D of a binary matrix, by its size and number of nonzeros."""

from __future__ import annotations

from typing import Any

import numpy as np

from primaldual.binary import max_cost, min_cost, ratio_bound

from .drawing import look, new_figure
from .record import Claim, Item, Row, grouped, number

N = 1000  # examples, as in the paper

# Numbers of features at which the largest bound over all numbers of nonzeros is tabulated.
CHECKPOINTS = (1000, 2000, 10_000, 100_000, 200_000, 250_499, 250_500, 500_000)
QUICK_CHECKPOINTS = (1000, 250_499, 250_500)


def run(quick: bool = False) -> Item:
    """The heat map of R(α, d, n) for n = 1000, and its exact peaks."""
    d, nnz, bound = grid(60 if quick else 240)
    peaks = [peak(size) for size in (QUICK_CHECKPOINTS if quick else CHECKPOINTS)]
    threshold = (N + 1) ** 2 // 4
    above = [row for row in peaks if row["d"] >= threshold]
    below = [row for row in peaks if row["d"] < threshold]
    printed = printed_bound(nnz, d)
    proven = bound[nnz >= N * N + 3 * N]
    claims = [
        Claim(
            "For large enough d all the values R(α, d, n) are below 1.",
            f"R ≤ 1 for every α once d ≥ {grouped(threshold)}; one feature fewer and the peak is "
            f"{below[-1]['largest R']:.6f}.",
            all(row["largest R"] <= 1 for row in above)
            and all(row["largest R"] > 1 for row in below),
        ),
        Claim(
            "If d ≥ n and the matrix has at least n² + 3n nonzeros, then R ≤ 1 (Theorem 5).",
            f"The largest R on that part of the map is {number(proven.max(), 4)}.",
            bool(proven.max() <= 1),
        ),
    ]
    erratum = (
        "R is printed with its arguments in the wrong order, U(α, d, n)/L(α, n). That is the "
        "largest C_D over the smallest C_D, never below 1 "
        f"(here {number(float(printed.min()))} to {number(float(printed.max()))}), so neither the "
        "figure nor Theorem 5 could hold for it. With U(α, n, d)/L(α, n), the largest C_P over the "
        "smallest C_D, both do."
    )
    rows = [
        {"d": int(a), "nnz": int(b), "R": float(c)}
        for a, b, c in zip(d.ravel(), nnz.ravel(), bound.ravel(), strict=True)
    ]
    return Item(
        name="fig1",
        title="Figure 1: how much worse the primal can be on binary data",
        claims=claims,
        errata=[erratum],
        note=(
            "n = 1000 examples; every point is the largest C_P/C_D over all matrices with entries "
            "in {−1, 0, 1}, that many features and that many nonzeros. Outside the "
            "solid line, where it is blue, the primal side is no worse whatever the pattern."
        ),
        figures={"fig1": draw(d, nnz, bound, peaks)},
        captions={"fig1": "log₁₀ R over d and the number of nonzeros; the line is R = 1."},
        tables={"fig1": rows, "fig1_peaks": peaks},
        shown=("fig1_peaks",),
    )


def grid(points: int) -> tuple[Any, Any, Any]:
    """d, the number of nonzeros and R on a grid even in the logarithms of the first two."""
    sizes = np.unique(np.rint(np.geomspace(N, N * N, points)).astype(np.int64))
    d = np.repeat(sizes[:, None], points, axis=1)
    share = np.linspace(0, 1, points)[None, :]
    nnz = np.rint(d ** (1 - share) * (d * float(N)) ** share).astype(np.int64)
    nnz = np.clip(nnz, np.maximum(d, N), d * N)
    return d, nnz, ratio_bound(nnz, d, np.full_like(d, N))


def peak(d: int) -> Row:
    """The largest R over all numbers of nonzeros, where it is, and the last place with R > 1.

    Up to n² + 3n nonzeros all are tried. Beyond, R ≤ 1 by Theorem 5, and only the kinks of R
    are: whole features filled, with d + k (n − 1) nonzeros.
    """
    last = min(N * d, N * N + 3 * N)
    near = np.arange(max(d, N), last + 1, dtype=np.int64)
    kinks = d + np.arange(d + 1, dtype=np.int64) * (N - 1)
    nnz = np.union1d(near, kinks[(kinks >= max(d, N)) & (kinks <= N * d)])
    bound = np.asarray(ratio_bound(nnz, np.full_like(nnz, d), np.full_like(nnz, N)))
    top = int(bound.argmax())
    over = np.flatnonzero(bound > 1)
    return {
        "d": d,
        "largest R": float(bound[top]),
        "at nonzeros": int(nnz[top]),
        "last nonzeros with R > 1": int(nnz[over[-1]]) if over.size else None,
    }


def printed_bound(nnz: Any, d: Any) -> Any:
    """R as the paper prints it: U(α, d, n) / L(α, n)."""
    n = np.full_like(d, N)
    return max_cost(nnz, d, n) / min_cost(nnz, n)


def draw(d: Any, nnz: Any, bound: Any, peaks: list[Row]) -> Any:
    """The heat map, with the line R = 1, the ridge and the region of Theorem 5."""
    from matplotlib.colors import TwoSlopeNorm

    with look():
        figure = new_figure(6.2, 4.2)
        axes = figure.subplots()
        value = np.log10(bound)
        mesh = axes.pcolormesh(
            d, nnz, value, shading="gouraud", cmap="RdBu_r", rasterized=True,
            norm=TwoSlopeNorm(0.0, vmin=value.min(), vmax=value.max()),
        )  # fmt: skip
        axes.contour(d, nnz, value, levels=[0.0], colors="black", linewidths=1.3)
        axes.text(2.7e5, 3.7e5, "R = 1", fontsize=8, color="black")
        axes.plot(
            [row["d"] for row in peaks], [row["at nonzeros"] for row in peaks],
            "k.--", markersize=4, linewidth=0.8,
        )  # fmt: skip
        axes.axhline(N * N + 3 * N, color="black", linewidth=0.8, linestyle=":")
        # On the map, so black also where the page is dark.
        axes.text(1.2e4, 1.15 * (N * N + 3 * N), "n² + 3n (Theorem 5)", fontsize=8, color="black")
        axes.text(6e3, 1.1e5, "largest R for each d", fontsize=8, color="black")
        axes.set(xscale="log", yscale="log", xlabel="features d", ylabel="nonzeros α")
        axes.set_title(f"R(α, d, n) = largest C_P / C_D of a binary matrix, n = {N}")
        bar: Any = figure.colorbar(mesh, ax=axes, label="log₁₀ R   (red: the primal can be worse)")
        bar.outline.set_visible(False)
    return figure
