"""Compiled kernels on disk: only from folders that are safe, and never in the way of a fit."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import pickle
import random
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import bounded
import numpy as np
import pytest
from mounts import python_with_mounts

from primaldual._numba import announce, disk, folders
from primaldual.kernels import kernel

STRANGER = 12345  # a user other than the one who runs the tests


def fresh():
    """A kernel that was not used in this process."""

    @kernel
    def twice(x):
        return 2.0 * x

    return twice


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An empty cache that is used from now on."""
    folder = tmp_path / "kernels"
    monkeypatch.setenv("PRIMALDUAL_CACHE", str(folder))
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(folders, "_warned", [])
    forget()
    yield folder
    forget()


def forget():
    """As in another process."""
    folders._places.cache_clear()
    disk._is_safe.cache_clear()
    disk._made.cache_clear()


def filled(place):
    """The one file of the kernel, compiled and kept."""
    assert fresh()(3.0) == 6.0
    (file,) = place.rglob("*.nbc")
    return file


def is_loaded():
    """Whether the kernel gives the right number, and whether it came from a file."""
    twice = fresh()
    assert twice(4.0) == 8.0
    return sum(twice.stats.cache_hits.values()) == 1


def evil(witness):
    """A file with a digest that fits, which creates another file when it is unpickled."""

    class Evil:
        def __reduce__(self):
            return Path.touch, (witness,)

    content = pickle.dumps(Evil())
    return disk._FORMAT + hashlib.sha256(content).digest() + content


def test_a_kernel_is_compiled_once_and_then_loaded(place):
    file = filled(place)
    assert is_loaded()
    for folder in (place, file.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert sorted(place.rglob("*")) == [file.parent, file], "no lock and no part is left"


def test_code_that_was_exchanged_while_a_process_runs_is_not_kept_as_the_new_code(monkeypatch):
    """As in an upgrade: the old code is in memory, the new one in the file."""
    from primaldual._numba import cache
    from primaldual.losses.sums import sum_values

    function = getattr(sum_values, "py_func", sum_values)
    assert cache.folder_name(function).startswith("losses.sums-")
    cache._stamp.cache_clear()
    monkeypatch.setattr(cache, "BEGAN", 0.0)
    assert cache.folder_name(function) is None
    monkeypatch.undo()
    assert cache.folder_name(function).startswith("losses.sums-")


# --- other users ----------------------------------------------------------------------------------


def test_the_file_of_a_forger_would_run_code(place, tmp_path):
    """What the next tests forge is dangerous: in a safe folder it runs."""
    witness = tmp_path / "ran"
    file = filled(place)
    file.write_bytes(evil(witness))
    assert not is_loaded() and witness.exists()


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="needs root to chown")
@pytest.mark.parametrize("what", ["the root", "the folder", "the file"])
def test_what_another_user_owns_is_not_loaded(what, place, tmp_path):
    witness = tmp_path / "ran"
    file = filled(place)
    file.write_bytes(evil(witness))
    os.chown({"the root": place, "the folder": file.parent, "the file": file}[what], STRANGER, 0)
    forget()
    if what == "the file":
        assert fresh()(4.0) == 8.0
    else:
        with pytest.warns(RuntimeWarning, match=r"belongs to another user.*PRIMALDUAL_CACHE"):
            assert fresh()(4.0) == 8.0
    assert not witness.exists()


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o1777], ids=oct)
@pytest.mark.parametrize("what", ["the root", "the folder"])
def test_where_others_can_write_is_not_loaded(what, mode, place, tmp_path):
    witness = tmp_path / "ran"
    file = filled(place)
    file.write_bytes(evil(witness))
    (place if what == "the root" else file.parent).chmod(mode)
    forget()
    with pytest.warns(RuntimeWarning, match=r"others can write.*PRIMALDUAL_CACHE"):
        assert fresh()(4.0) == 8.0
    assert not witness.exists()


def test_a_link_in_the_place_of_a_file_is_not_followed(place, tmp_path):
    witness = tmp_path / "ran"
    file = filled(place)
    file.unlink()
    (tmp_path / "other").write_bytes(evil(witness))
    file.symlink_to(tmp_path / "other")
    assert not is_loaded() and not witness.exists()


def test_a_parent_whose_contents_everyone_can_exchange_is_not_trusted(tmp_path):
    (tmp_path / "open" / "kernels").mkdir(parents=True, mode=0o700)
    (tmp_path / "open").chmod(0o777)
    assert "everyone" in folders.why_unsafe(*[tmp_path / "open" / "kernels"] * 2)
    (tmp_path / "open").chmod(0o1777)
    assert not folders.why_unsafe(*[tmp_path / "open" / "kernels"] * 2)


# --- damage ---------------------------------------------------------------------------------------


def flipped(content, rng):
    at = rng.randrange(len(content))
    return content[:at] + bytes([content[at] ^ 1 << rng.randrange(8)]) + content[at + 1 :]


DAMAGE = {
    "empty": lambda content, rng: b"",
    "cut in the first line": lambda content, rng: content[:7],
    "cut in the digest": lambda content, rng: content[:30],
    "cut in the middle": lambda content, rng: content[: len(content) // 2],
    "without its last byte": lambda content, rng: content[:-1],
    "longer": lambda content, rng: content + b"\0",
    "random bytes": lambda content, rng: rng.randbytes(len(content)),
    "zeros": lambda content, rng: bytes(len(content)),
    "another pickle": lambda content, rng: pickle.dumps({"a": 1}),
    "a good frame around no kernel": lambda content, rng: (
        disk._FORMAT + hashlib.sha256(b"no").digest() + b"no"
    ),
    **{f"bit flip {number}": flipped for number in range(5)},
}


@pytest.mark.parametrize("how", DAMAGE)
def test_damaged_files_are_compiled_again_and_replaced(how, place):
    file = filled(place)
    good = file.read_bytes()
    file.write_bytes(DAMAGE[how](good, random.Random(how)))
    assert not is_loaded()
    assert is_loaded(), "the file was replaced"


def test_a_folder_in_the_place_of_a_file_does_no_harm(place):
    file = filled(place)
    file.unlink()
    file.mkdir()
    assert not is_loaded()


# --- disks ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.EIO])
def test_a_disk_that_takes_nothing_never_fails_a_fit(number, place, monkeypatch):
    def full(*arguments):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(disk.os, "replace", full)
    assert not is_loaded()
    assert not [path for path in place.rglob("*") if path.is_file()], "no half of a file is left"


FIT = textwrap.dedent("""
    import sys
    import numpy as np
    import primaldual
    from primaldual._numba import folders
    from primaldual.kernels import kernel
    @kernel
    def twice(x):
        return 2.0 * x
    X = np.random.default_rng(0).standard_normal((20, 2))
    assert twice(2.0) == 4.0
    problem = primaldual.Problem(X, np.sign(X[:, 0]), lam=0.1)
    assert problem.certify(w=np.zeros(2)).primal > 0.6
    print(folders.places().write, len(folders.places().read))
""")


def environment(place, **more):
    return {**os.environ, "PRIMALDUAL_CACHE": str(place), **more}


def test_a_full_file_system_never_fails_a_fit(tmp_path):
    (tmp_path / "kernels").mkdir(mode=0o700)
    mount = f"mount -t tmpfs -o size=32k,mode=700 none {tmp_path}/kernels"
    done = python_with_mounts(FIT, mount, env=environment(tmp_path / "kernels"))
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


def test_a_baked_cache_on_a_read_only_file_system_is_read(tmp_path):
    """Baked by root into an image, used by someone else without a place of their own."""
    kernels = tmp_path / "kernels"
    python = [sys.executable, "-W", "error", "-c", FIT]
    bounded.run(python, env=environment(kernels), check=True)
    count = len(list(kernels.rglob("*.nbc")))
    assert count > 3
    mounts = (
        f"mount --bind -o ro {kernels} {kernels}",
        f"mkdir -p {tmp_path}/tmp && mount -t tmpfs -o mode=1777 none {tmp_path}/tmp",
    )
    script = (
        "import logging; logging.basicConfig(level=10, format='%(name)s %(message)s');"
        "logging.getLogger('numba').setLevel(40)\n" + FIT
    )
    env = environment(kernels, TMPDIR=f"{tmp_path}/tmp")
    done = python_with_mounts(script, *mounts, env=env)
    assert done.returncode == 0, done.stderr
    assert "compiling _sums" not in done.stderr, "what is baked is not compiled"
    assert done.stdout.split() == [f"{tmp_path}/tmp/primaldual-{os.getuid()}", "2"]


def test_without_a_place_there_is_one_warning_and_a_fit(tmp_path):
    nowhere = tmp_path / "file"
    nowhere.write_text("not a folder")
    env = environment(nowhere / "kernels", TMPDIR=str(tmp_path))
    script = f"import tempfile; tempfile.tempdir = {str(nowhere / 'tmp')!r}\n" + FIT
    done = bounded.run([sys.executable, "-c", script], env=env)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("RuntimeWarning") == 1
    assert "PRIMALDUAL_CACHE" in done.stderr
    assert done.stdout.split()[0] == "None"


def test_a_temporary_folder_that_someone_else_made_is_not_used(tmp_path, monkeypatch):
    monkeypatch.setattr(folders.tempfile, "gettempdir", lambda: str(tmp_path))
    folder = tmp_path / f"primaldual-{os.getuid()}"
    assert folders._temporary() == folder
    folder.chmod(0o777)
    assert folders._temporary() is None


# --- kernels without a file -----------------------------------------------------------------------

AT_THE_PROMPT = """
from primaldual.kernels import kernel
@kernel
def thrice(x):
    return 3.0 * x

print(thrice(2.0))
"""


def test_kernels_work_with_python_c_and_at_the_prompt(tmp_path):
    env = environment(tmp_path / "kernels")
    python = [sys.executable, "-W", "error"]
    script = bounded.run([*python, "-c", AT_THE_PROMPT], env=env)
    prompt = bounded.run([*python, "-"], input=AT_THE_PROMPT, env=env)
    for done in (script, prompt):
        assert done.returncode == 0, done.stderr
        assert (done.stdout, done.stderr) == ("6.0\n", "")


def test_kernels_work_in_a_notebook(place):
    """Its cells are compiled under names of files that do not exist."""
    cell = compile(AT_THE_PROMPT, "/tmp/ipykernel_1234/5678.py", "exec")
    names: dict[str, object] = {"__name__": "__main__", "print": lambda value: None}
    exec(cell, names)
    assert names["thrice"](np.float64(2.0)) == 6.0  # type: ignore[operator]
    assert not list(place.rglob("*.nbc"))


# --- announcements --------------------------------------------------------------------------------


def test_compiling_is_announced_once_and_loading_is_silent(place, caplog, monkeypatch):
    monkeypatch.setattr(announce, "_said", [])
    with caplog.at_level("INFO", logger="primaldual"):
        filled(place)
        (record,) = [record for record in caplog.records if record.name == "primaldual"]
        assert "compiling" in record.getMessage() and str(place) in record.getMessage()
        caplog.clear()
        monkeypatch.setattr(announce, "_said", [])
        assert is_loaded()
        assert not [record for record in caplog.records if record.name == "primaldual"]


def test_the_command_line_says_on_stderr_that_it_compiles(tmp_path):
    data = tmp_path / "data.svm"
    data.write_text("1 1:0.5\n-1 2:1\n" * 20)
    command = [sys.executable, "-m", "primaldual", "advise", str(data), "--lam", "0.1"]
    env = environment(tmp_path / "kernels")
    first, second = (bounded.run(command, env=env) for _ in range(2))
    assert first.returncode == second.returncode == 0, first.stderr
    assert [line.split()[:2] for line in first.stderr.splitlines()] == [["Compiling", "kernels"]]
    assert second.stderr == "" and first.stdout != ""


# --- several processes ----------------------------------------------------------------------------

TOGETHER = """
import logging, sys, time
logging.getLogger("primaldual").addHandler(logging.StreamHandler(sys.stdout))
logging.getLogger("primaldual").setLevel(logging.DEBUG)
import numpy as np
from primaldual.kernels import kernel

@kernel
def inner(x):
    return np.sort(x)[0] + x.sum()

@kernel
def outer(x):
    return inner(x) + x.mean() + np.median(x)

@kernel
def other(x):
    return np.linalg.norm(x) + x.std()

while time.time() < float(sys.argv[1]):
    time.sleep(0.001)
assert outer(np.ones(3)) == 6.0 and other(np.zeros(3)) == 0.0
"""


def test_processes_that_start_together_compile_each_kernel_once(tmp_path):
    import time

    script = tmp_path / "together.py"
    script.write_text(TOGETHER)
    command = [sys.executable, str(script), str(time.time() + 4)]
    env = environment(tmp_path / "kernels")
    options = {"env": env, "stdout": subprocess.PIPE, "text": True}
    with contextlib.ExitStack() as stack:
        running = [stack.enter_context(bounded.started(command, **options)) for _ in range(3)]
        said = [process.communicate(timeout=80)[0].splitlines() for process in running]
        assert [process.returncode for process in running] == [0, 0, 0]
    compiled = sorted(line for lines in said for line in lines if not line.endswith("kernels"))
    names = [line.split()[1] for line in compiled if len(line.split()) == 2]
    assert sorted(names) == ["inner", "other", "outer"]
    assert not list((tmp_path / "kernels").rglob("*.lock"))


def test_a_lock_of_a_process_that_died_holds_up_no_one(place):
    file = filled(place)
    file.unlink()
    file.with_name(f"{file.name}.lock").touch()  # as a killed process leaves it
    assert not is_loaded()
    assert is_loaded()


def test_a_lock_that_is_never_given_back_is_waited_for_only_so_long(place, monkeypatch):
    from primaldual._numba import locks

    if locks.fcntl is None:
        pytest.skip("this system has no locks on files")
    monkeypatch.setattr(locks, "LONGEST_WAIT", 0.1)
    file = filled(place)
    file.unlink()
    holder = locks.Lock(file.with_name(f"{file.name}.lock"))
    assert not holder.take()
    assert not is_loaded()
    holder.release()


# --- predictions ----------------------------------------------------------------------------------

PREDICT = """
import sys
import numpy as np
from scipy import sparse
from numba.core import event
import primaldual

class Never(event.Listener):
    def on_start(self, happened):
        print("compiled", happened.data["dispatcher"].py_func.__qualname__)
    def on_end(self, happened):
        pass

event.register("numba:compile", Never())
for name in sys.argv[1:]:
    model = primaldual.load(name)
    X = np.random.default_rng(0).standard_normal((30, 4))
    for data in (X, X.astype(np.float32), sparse.csr_array(X), sparse.csc_matrix(X)):
        labels = model.predict(data)
        model.score(data, labels)
        for further in ("decision_function", "predict_proba", "predict_log_proba"):
            getattr(model, further, len)(data) if hasattr(model, further) else None
"""


def test_predicting_with_a_loaded_model_compiles_nothing(tmp_path):
    from primaldual import LinearSVC, LogisticRegression, Ridge

    X = np.random.default_rng(0).standard_normal((30, 4))
    models = {
        "two": LogisticRegression().fit(X, X[:, 0] > 0),
        "three": LogisticRegression().fit(X, np.arange(30) % 3),
        "ridge": Ridge().fit(X, X[:, 1]),
        "svm": LinearSVC().fit(X, X[:, 0] > 0),
    }
    for name, model in models.items():
        model.save(tmp_path / name)
    names = [str(tmp_path / name) for name in models]
    env = environment(tmp_path / "kernels")
    done = bounded.run([sys.executable, "-c", PREDICT, *names], env=env)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert not list((tmp_path / "kernels").rglob("*.nbc"))
