"""Install the newest wheel of a folder in a clean environment, and time a first fit.

    python packaging/try_wheel.py dist

The home is empty. Says how many seconds were compiled, by the library's own stopwatch, and how much
processor time the first fit and everything together took. ``--plain`` takes the plain wheel.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

FIRST_FIT = """
import json, time
began = time.process_time()
from primaldual import Problem, advise, solve
from primaldual.datasets import labels, zipf_text
X = zipf_text(d=20_000, n=2_000, seed=0)
y = labels(X, seed=1)
imported = time.process_time()
problem = Problem(X, y, loss="logistic", lam=1 / len(y))
advice = str(advise(problem))
result = solve(problem, seed=0)
done = time.process_time()
from primaldual._numba.compile import seconds_compiling
print(json.dumps({"gap": result.certificate.relative_gap, "compiling": seconds_compiling(),
                  "first_fit": done - imported, "together": done}))
"""


def main() -> None:
    """Install, run, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--plain", action="store_true")
    options = parser.parse_args()
    wheels = sorted(options.folder.glob("primaldual-*.whl"), key=lambda path: path.stat().st_mtime)
    own = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    carrying = [path for path in wheels if own in path.name]
    plain = [path for path in wheels if "py3-none-any" in path.name]
    wheel = (plain if options.plain or not carrying else carrying)[-1]
    with tempfile.TemporaryDirectory() as place:
        python = installed(wheel, Path(place) / "venv")
        found = first_fit(python, Path(place) / "home")
    print(wheel.name, json.dumps(found))
    assert found["gap"] <= 1e-6
    if wheel in carrying:
        assert found["compiling"] == 0, "the wheel lacks kernels of the first fit"


def installed(wheel: Path, place: Path) -> Path:
    """Python of a new environment with the wheel and what it needs."""
    venv.create(place, with_pip=True)
    python = place / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    subprocess.run([python, "-m", "pip", "install", "--quiet", str(wheel)], check=True)
    return python


def first_fit(python: Path, home: Path) -> dict[str, float]:
    """The README's first example, with nothing cached."""
    home.mkdir()
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("PRIMALDUAL", "NUMBA", "XDG"))}  # fmt: skip
    done = subprocess.run(
        [python, "-c", FIRST_FIT], env={**kept, "HOME": str(home), "USERPROFILE": str(home)},
        capture_output=True, text=True, check=True, cwd=home,
    )  # fmt: skip
    found: dict[str, float] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    main()
