"""Every file that is written is complete, or the old one is still there; errors name it."""

from __future__ import annotations

import ast
import errno
import os
import stat
import sys
from pathlib import Path

import numpy as np
import pytest
from mounts import python_with_mounts

import primaldual
from primaldual.writing import remove_leftovers, replacing, write_text

SOURCE = Path(primaldual.__file__).parent


def full(*arguments):
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.fixture
def old(tmp_path):
    path = tmp_path / "report.html"
    path.write_text("old")
    return path


def only(path):
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_a_new_file_takes_the_place_of_the_old_one(old):
    write_text(old, "new\n")
    assert old.read_bytes() == b"new\n"
    only(old)


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_full_disk_leaves_the_old_file_and_names_it(step, old, monkeypatch):
    monkeypatch.setattr(os, step, full)
    with pytest.raises(OSError, match="No space left") as caught:
        write_text(old, "new")
    assert caught.value.errno == errno.ENOSPC and caught.value.filename == str(old)
    assert old.read_text() == "old"
    only(old)


def test_an_error_in_the_block_leaves_the_old_file(old):
    with pytest.raises(ZeroDivisionError), replacing(old) as file:
        file.write("half")
        raise ZeroDivisionError
    assert old.read_text() == "old"
    only(old)


def test_a_missing_folder_is_named(tmp_path):
    path = tmp_path / "none" / "report.html"
    with pytest.raises(FileNotFoundError) as caught:
        write_text(path, "new")
    assert caught.value.filename == str(path)


def test_permissions_and_links_are_kept(old):
    old.chmod(0o640)
    link = old.with_name("link.html")
    link.symlink_to(old)
    write_text(link, "new")
    assert link.is_symlink() and old.read_text() == "new"
    assert stat.S_IMODE(old.stat().st_mode) == 0o640


def test_a_device_is_written_to_and_a_folder_is_refused(tmp_path):
    write_text("/dev/null", "away")
    assert not Path("/dev/null").is_file()
    with pytest.raises(OSError, match="expected a regular file"):
        write_text(tmp_path, "new")


def test_leftovers_of_killed_writes_are_removed(old):
    old.with_name(".report.html.0a1b2c3d.tmp").write_text("half")
    remove_leftovers(old)
    only(old)


# The helper itself, the cache of kernels and downloads, which replace files themselves, a file in a
# temporary folder, and buckets, which are work in progress with the length of each in a manifest.
OWN = {
    *("writing.py", "_numba/disk.py", "datasets/downloads.py", "cli/care.py"),
    "shards/buckets.py",
}


def writes(tree):
    """The lines that write to a file by its name."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        text = ast.unparse(node)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ast.unparse(node.func)
        is_open = name == "open" and any(f"'{mode}" in text for mode in ("w", "a", "x"))
        to_file = name == "savefig" and ast.unparse(node.args[0]) not in ("file", "text")
        if name in ("write_bytes", "tofile", "dump") or is_open or to_file:
            yield node.lineno
        if isinstance(node.func, ast.Attribute) and name == "write_text":
            yield node.lineno


def test_no_other_code_of_the_package_writes_files():
    found = {
        f"{name}:{line}"
        for path in SOURCE.rglob("*.py")
        if (name := path.relative_to(SOURCE).as_posix()) not in OWN
        for line in writes(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert not found


PREDICT = """
import sys
from pathlib import Path
from primaldual.cli import main
Path({folder!r}, "out.csv").write_text("old predictions")
Path({folder!r}, "rest").write_bytes(bytes(36_000))
sys.argv = ["primaldual", "predict", {model!r}, {data!r}, "-o", {folder!r} + "/out.csv"]
try:
    main()
finally:
    print(Path({folder!r}, "out.csv").read_text(), len(list(Path({folder!r}).iterdir())))
"""


def test_predictions_on_a_full_disk_leave_the_old_ones(tmp_path):
    X = np.random.default_rng(0).standard_normal((20_000, 2))
    model, data, folder = tmp_path / "model", tmp_path / "data.npy", tmp_path / "small"
    primaldual.LogisticRegression().fit(X[:50], X[:50, 0] > 0).save(model)
    np.save(data, X)
    folder.mkdir()
    script = PREDICT.format(folder=str(folder), model=str(model), data=str(data))
    done = python_with_mounts(script, f"mount -t tmpfs -o size=64k none {folder}")
    assert done.returncode == 2
    assert f"{folder}/out.csv: No space left" in done.stderr, done.stderr
    assert done.stdout == "old predictions 2\n"


def test_python_m_primaldual_is_the_command_line():
    import subprocess

    done = subprocess.run(
        [sys.executable, "-m", "primaldual", "--version"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout == f"primaldual {primaldual.__version__}\n"
