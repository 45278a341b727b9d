"""Around the work: ``doctor``, and ``reproduce`` for the paper."""

from __future__ import annotations

import os
import platform
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from .groups import Answer
from .live import working
from .terminal import say, say_json

_LIBRARIES = ("primaldual", "numpy", "scipy", "numba", "scikit-learn", "typer", "rich")
_EXTRAS = ("polars", "matplotlib", "jinja2")


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
