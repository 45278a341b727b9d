"""Kernels that come with a wheel: used where they fit, and compiled where they do not."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

from primaldual._numba import shipped

pytestmark = pytest.mark.skipif(
    platform.machine().lower() not in ("x86_64", "amd64"), reason="shipped kernels are for x86-64"
)

SCRIPT = """
import sys
from pathlib import Path
from primaldual._numba import shipped
from primaldual._numba.compile import seconds_compiling
from primaldual.kernels import kernel

if len(sys.argv) > 1:
    shipped.FOLDER = Path(sys.argv[1])
if len(sys.argv) > 2:
    exec(sys.argv[2])

@kernel
def twice(x):
    return 2.0 * x

print(twice(3.0), seconds_compiling() > 0)
"""


@pytest.fixture(scope="module")
def carried(tmp_path_factory):
    """A script with a kernel, and the folder that a wheel would carry for it."""
    place = tmp_path_factory.mktemp("wheel")
    script = place / "script.py"
    script.write_text(SCRIPT)
    folder = place / "kernels"
    assert run(script, folder, **shipped.BUILDING) == "6.0 True"
    assert len(list(folder.rglob("*.nbc"))) == 1
    return script, folder


def run(script, cache, *arguments, **environment):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    done = subprocess.run(
        [sys.executable, str(script), *map(str, arguments)],
        env={**kept, "PRIMALDUAL_CACHE": str(cache), **environment},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def features():
    from llvmlite import binding

    return binding.get_host_cpu_features()


needs_processor = pytest.mark.skipif(
    not all(features().get(name, False) for name in shipped.NEEDED),
    reason="this processor is older than those that kernels are shipped for",
)


@needs_processor
def test_a_shipped_kernel_is_used_and_not_compiled(carried, tmp_path):
    script, folder = carried
    assert run(script, tmp_path / "empty", folder) == "6.0 False"
    assert not list((tmp_path / "empty").rglob("*.nbc")), "it stays where it came from"


@pytest.mark.parametrize(
    "condition",
    [
        "from llvmlite import binding; binding.get_host_cpu_features = lambda: {'avx2': False}",
        "import numba; numba.__version__ = '0.1'",
        "sys.version_info = (3, 99, 0)",
    ],
    ids=["an old processor", "another Numba", "another Python"],
)
def test_a_kernel_that_does_not_fit_is_compiled(carried, tmp_path, condition):
    script, folder = carried
    assert run(script, tmp_path / "empty", folder, condition) == "6.0 True"


def test_a_file_that_is_missing_or_damaged_is_compiled(carried, tmp_path):
    script, folder = carried
    assert run(script, tmp_path / "empty", tmp_path / "nothing") == "6.0 True"
    (file,) = folder.rglob("*.nbc")
    copy = tmp_path / "kernels" / file.relative_to(folder)
    copy.parent.mkdir(parents=True)
    copy.write_bytes(file.read_bytes()[:-9] + b"otherwise")
    assert run(script, tmp_path / "other", tmp_path / "kernels") == "6.0 True"
