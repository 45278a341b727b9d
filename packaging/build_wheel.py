"""Build wheels: a plain one, and one for this platform that carries compiled kernels.

``make wheel`` runs this in a virtual environment that has the package. The plain wheel, for every
platform, compiles on first use. The other is for this system, this minor version of Python and this
version of Numba; the kernels in it are compiled by Numba alone, no other compiler is needed. Where
it is installed with another Numba, or on an older processor, it compiles as the plain one does.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import os
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

from primaldual._numba.shipped import BUILDING

ROOT = Path(__file__).parents[1]


def main() -> None:
    """Write both wheels to a folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    parser.add_argument("--loss", action="append", help="as for primaldual warmup; can be repeated")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    plain = plain_wheel(options.out)
    with tempfile.TemporaryDirectory() as folder:
        kernels = Path(folder) / "kernels"
        compile_kernels(kernels, options.loss or [])
        print(with_kernels(plain, kernels))


def plain_wheel(out: Path) -> Path:
    """Build the wheel of the package."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(out)]
    subprocess.run([*command, "--disable-pip-version-check", str(ROOT)], check=True)
    return max(out.glob("primaldual-*-py3-none-any.whl"), key=lambda path: path.stat().st_mtime)


def compile_kernels(folder: Path, losses: list[str]) -> None:
    """Fill an empty cache by ``primaldual warmup``, for a common processor."""
    folder.mkdir(mode=0o700, parents=True)
    named = [word for loss in losses for word in ("--loss", loss)]
    subprocess.run(
        [sys.executable, "-m", "primaldual", "warmup", *named],
        env={**os.environ, **BUILDING, "PRIMALDUAL_CACHE": str(folder)},
        check=True,
    )


def tag() -> str:
    """The tag of wheels for this Python on this system."""
    python = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    system = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return f"{python}-{python}-{system}"


def with_kernels(plain: Path, kernels: Path) -> Path:
    """The plain wheel with a cache of kernels in it, under the tag of this platform."""
    place = plain.with_name(plain.name.replace("py3-none-any", tag()))
    with zipfile.ZipFile(plain) as old, zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as new:
        files = {name: old.read(name) for name in old.namelist()}
        info = next(name for name in files if name.endswith(".dist-info/WHEEL"))
        text = files[info].decode().replace("Tag: py3-none-any", f"Tag: {tag()}")
        files[info] = text.replace("Root-Is-Purelib: true", "Root-Is-Purelib: false").encode()
        for file in sorted(kernels.rglob("*.nbc")):
            files[f"primaldual/_kernels/{file.relative_to(kernels).as_posix()}"] = file.read_bytes()
        record = info.replace("WHEEL", "RECORD")
        files.pop(record)
        for name, content in files.items():
            new.writestr(name, content)
        new.writestr(record, _record(files, record))
    return place


def _record(files: dict[str, bytes], own: str) -> str:
    """The list of a wheel's files with their digests."""
    lines = []
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(content)}")
    return "\n".join([*lines, f"{own},,", ""])


if __name__ == "__main__":
    main()
