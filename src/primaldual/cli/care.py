"""Around the work: ``warmup``, ``doctor``, and ``reproduce`` for the paper."""

from __future__ import annotations

import os
import platform
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from .groups import Answer
from .live import working
from .options import Loss
from .terminal import duration, say, say_json

_LIBRARIES = ("primaldual", "numpy", "scipy", "numba", "scikit-learn", "typer", "rich")
_EXTRAS = ("polars", "matplotlib", "jinja2")
_WARMED = (Loss.logistic, Loss.squared, Loss.squared_hinge)


def warmup(
    answer: Answer,
    loss: Annotated[
        list[Loss] | None,
        typer.Option("--loss", help="Only these losses; can be repeated."),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="All losses; takes some minutes.")
    ] = False,
) -> None:
    """Compile the kernels ahead, so that the first fit is as quick as the others."""
    losses = list(Loss) if everything else loss or list(_WARMED)
    with working("starting the compiler") as say_now:
        from .._numba.compile import seconds_compiling
        from .._numba.folders import places

        before, began = seconds_compiling(), time.perf_counter()
        _compile_reader()
        for one in losses:
            say_now(f"compiling for {one.value}")
            _compile_for(one.value)
        if Loss.logistic in losses:
            say_now("compiling for several classes")
            _compile_for_classes()
    compiled = seconds_compiling() - before
    if answer.as_json:
        facts = {"losses": [one.value for one in losses], "seconds_compiling": compiled}
        say_json({**facts, "seconds": time.perf_counter() - began, "cache": str(places().write)})
        return
    say(
        f"Ready for {', '.join(one.value for one in losses)}: {duration(compiled)} of compiling "
        f"in {duration(time.perf_counter() - began)}."
    )
    place = places().write
    say(f"Kernels are kept in {place}" if place else "Kernels are not kept: there is no cache.")


def _compile_reader() -> None:
    """Read a file of LIBSVM text."""
    import tempfile

    from .. import files

    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "tiny.svm"
        place.write_text("1 1:0.5\n-1 2:1\n")
        files.read(place)


def _compile_for(loss: str) -> None:
    """Run the engine's methods and the paper's on tiny data, dense and sparse."""
    from ..advice import advise
    from ..methods import ENGINE, METHODS
    from ..problem import Problem
    from ..solver import solve

    matrices, y = _tiny()
    for data in matrices:
        for intercept in (False, True):
            problem = Problem(data, y, loss, lam=0.1, fit_intercept=intercept)
            advise(problem)
            for name in ("auto", *ENGINE, "nsync", "quartz"):
                kind = METHODS.get(name)
                if kind is not None and kind.smooth_only and not problem.is_smooth:
                    continue
                solve(problem, name, tol=1e-12, max_passes=3, seed=0, callback=lambda check: None)


def _compile_for_classes() -> None:
    import numpy as np

    from ..estimators import LogisticRegression

    matrices, y = _tiny()
    labels = np.arange(len(y)) % 3
    for data in matrices:
        for side in ("primal", "dual"):
            LogisticRegression(side=side, tol=1e-3).fit(data, labels)


def _tiny() -> Any:
    """A dense and a sparse matrix, and labels."""
    import numpy as np
    from scipy import sparse

    rng = np.random.default_rng(0)
    dense = rng.standard_normal((40, 4))
    thin = sparse.random_array((40, 60), density=0.05, format="csr", rng=rng)
    return (dense, thin), np.where(dense[:, 0] > 0, 1.0, -1.0)


def doctor(answer: Answer) -> None:
    """Show versions, threads and the place of the cache, and try the library for some seconds."""
    with working("looking around"):
        facts = {
            "versions": _versions(),
            "threads": _threads(),
            "cache": _cache(),
            "self_test": _self_test(),
        }
    well = facts["self_test"]["passed"]
    if answer.as_json:
        say_json(facts)
    else:
        for name, entries in facts.items():
            say(name.replace("_", "-"), bold=True)
            for key, value in entries.items():
                shown = f"{value:.2g}" if isinstance(value, float) else value
                say(f"  {key.replace('_', ' ') + ':':30}{shown}")
    if not well:
        raise typer.Exit(1)


def _versions() -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version

    found = {"python": platform.python_version(), "system": platform.platform()}
    for name in (*_LIBRARIES, *_EXTRAS):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed (optional)"
    return found


def _threads() -> dict[str, Any]:
    import numpy  # noqa: F401  (its BLAS is then loaded and can be asked)
    from threadpoolctl import threadpool_info  # type: ignore[import-untyped,unused-ignore]

    affinity = getattr(os, "sched_getaffinity", None)
    libraries = {
        f"{pool['internal_api']} {pool.get('version') or ''}".strip(): pool["num_threads"]
        for pool in threadpool_info()
    }
    usable = len(affinity(0)) if affinity else os.cpu_count()
    return {"processors": os.cpu_count(), "usable": usable, **libraries}


def _cache() -> dict[str, Any]:
    from .._numba.folders import places

    used = places()
    files = [file for folder in used.read for file in folder.rglob("*.nbc")]
    facts = {
        "place": str(used.write) if used.write else "none: kernels are compiled in every process",
        "writable": used.write is not None,
        "kernels": len(files),
        "megabytes": round(sum(file.stat().st_size for file in files) / 1e6, 1),
    }
    if used.why:
        facts["read_from"] = ", ".join(map(str, used.read)) or "nowhere"
        facts["why_not_the_usual_place"] = used.why
    return facts


def _self_test() -> dict[str, Any]:
    """Both sides must agree as far as their certificates say, and a model survive its file."""
    import math
    import tempfile

    import numpy as np

    from .. import datasets
    from .._numba.compile import seconds_compiling
    from ..estimators import LogisticRegression
    from ..models import load

    before, began = seconds_compiling(), time.perf_counter()
    X = datasets.zipf_text(d=3_000, n=1_000, seed=0)
    y = datasets.labels(X, seed=1)
    tol = 1e-8
    primal, dual = (LogisticRegression(side=side, tol=tol).fit(X, y) for side in ("primal", "dual"))
    # P is λ-strongly convex in w, with λ = 1/n here and P(0) = log 2: ‖w − w*‖ ≤ √(2 gap/λ).
    radii = [math.sqrt(2 * one.dual_gap_ * math.log(2) * len(y)) for one in (primal, dual)]
    apart = float(np.linalg.norm(primal.coef_ - dual.coef_))
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "model"
        dual.save(place)
        same = bool(np.array_equal(load(place).coef_, dual.coef_))
    compiling = seconds_compiling() - before
    return {
        "passed": max(primal.dual_gap_, dual.dual_gap_) <= tol and apart <= sum(radii) and same,
        "primal_gap": primal.dual_gap_,
        "dual_gap": dual.dual_gap_,
        "coefficients_apart": apart,
        "apart_at_most_by_the_gaps": sum(radii),
        "model_file_comes_back_equal": same,
        "seconds": round(time.perf_counter() - began - compiling, 2),
        "seconds_compiling": round(compiling, 2),
    }


def reproduce(
    items: Annotated[
        list[str] | None,
        typer.Argument(help="all, fig1, fig2, fig3, table1 or prediction."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Smaller data, fewer passes.")] = False,
    out: Annotated[str, typer.Option("-o", "--out", help="Folder to write to.")] = "reproduction",
) -> None:
    """Regenerate the paper's figures and table, and test its claim on more data."""
    from ..experiments import reproduce as run

    run(items or ["all"], quick=quick, out=out, progress=say)
    say(f"Open {out}/index.html")
