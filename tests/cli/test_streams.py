"""Streams and files as the shell gives them: closed, full, endless; live lines on a terminal."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import stat
import sys
import time
from pathlib import Path

import bounded
import numpy as np
import pytest
from commands import COMMAND, ENVIRONMENT, execute, good
from sklearn.datasets import dump_svmlight_file

from primaldual import datasets, files, load
from primaldual.cli import live
from primaldual.files import FileError, memory

TOOLS = Path(__file__).parents[1] / "tools"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("streams")
    X = datasets.zipf_text(d=300, n=200, seed=0)
    dump_svmlight_file(X, datasets.labels(X, seed=1), str(place / "text.svm"), zero_based=False)
    return place


def shell(line, cwd):
    """Run a line of the shell in which ``primaldual`` is the command."""
    script = f'primaldual() {{ "{COMMAND}" "$@"; }}; {line}'
    return bounded.run(["sh", "-c", script], cwd=cwd, env=ENVIRONMENT)


@pytest.mark.parametrize(
    ("streams", "code"),
    [(">&- 2>&- <&-", 0), ("> /dev/full", 2), ("| true", 0)],
)
def test_a_model_is_written_whatever_becomes_of_the_streams(folder, tmp_path, streams, code):
    model = tmp_path / "m"
    done = shell(f"primaldual fit text.svm -o {model} {streams}", folder)
    assert done.returncode == code
    assert load(model).dual_gap_ <= 1e-6
    assert "Traceback" not in done.stderr
    if code:
        assert "standard output: No space left on device, but all work was done." in done.stderr


def test_closed_streams_are_named_where_they_are_needed(run, folder):
    done = shell("primaldual advise - <&-", folder)
    assert done.returncode == 2 and "standard input is closed; give a file" in done.stderr
    good(run("fit", "text.svm", "-o", "m.model", cwd=folder))
    done = shell("primaldual predict m.model text.svm >&-", folder)
    assert done.returncode == 2 and "standard output is closed: name a file with -o" in done.stderr


@pytest.mark.skipif(not Path("/dev/urandom").exists(), reason="no such device")
def test_an_endless_source_is_refused(run, folder, tmp_path):
    for name in ("/dev/urandom", "/dev/zero"):
        done = run("advise", name, cwd=tmp_path)
        assert done.returncode == 2
        assert f"{name}: is a device, which has no end." in done.stderr
    done = shell("primaldual advise - < /dev/zero", folder)
    assert done.returncode == 2 and "is a device" in done.stderr


def test_a_pipe_without_an_end_stops_at_half_of_the_memory(monkeypatch, tmp_path):
    monkeypatch.setattr("primaldual.files.sources.available", lambda: 6e6)
    place = tmp_path / "pipe.csv"
    os.mkfifo(place)
    with (
        bounded.started([sys.executable, "-c", ENDLESS, str(place)]),
        pytest.raises(FileError, match="gives more than 3 MB, half of the memory there is"),
    ):
        files.read(place)


ENDLESS = """
import sys
with open(sys.argv[1], "wb") as stream:
    stream.write(b"a,y\\n")
    try:
        while True:
            stream.write(b"1,2\\n" * 10_000)
    except BrokenPipeError:
        sys.stderr.close()
"""


def test_replacing_a_model_keeps_its_permissions(run, folder, tmp_path):
    good(run("fit", "text.svm", "-o", tmp_path / "m", cwd=folder))
    (tmp_path / "m").chmod(0o600)
    good(run("fit", "text.svm", "-o", tmp_path / "m", cwd=folder))
    assert stat.S_IMODE((tmp_path / "m").stat().st_mode) == 0o600


def test_quiet_says_nothing_but_errors(run, folder, tmp_path):
    done = run("fit", "text.svm", "-o", tmp_path / "m", "--quiet", cwd=folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    done = run("fit", "none.svm", "-o", tmp_path / "m", "-q", cwd=folder)
    assert done.returncode == 2 and "none.svm: cannot be opened" in done.stderr


def test_a_resumed_run_says_that_it_resumed(run, folder, tmp_path):
    hard = ("fit", folder / "text.svm", "-o", "m", "--loss", "squared_hinge", "--C", "1e6")
    hard += ("--tol", "1e-30", "--side", "dual", "--checkpoint", "c", "--checkpoint-every", "0")
    for seconds in ("0.02", "0.2", "2"):  # until there was time for a first round
        first = run(*hard, "--max-time", seconds, cwd=tmp_path)
        assert first.returncode == 3
        if (tmp_path / "c").exists():
            break
    assert "Give the same command again" in first.stderr
    again = run(*hard, "--max-time", "0.04", "--json", cwd=tmp_path)
    assert "Going on from the checkpoint c." in again.stderr
    assert json.loads(again.stdout)["resumed"]


def test_a_known_data_set_is_taken_by_its_name(folder, tmp_path):
    place = tmp_path / "data"
    place.mkdir()
    (place / "a9a.svm").write_bytes((folder / "text.svm").read_bytes())
    environment = {**ENVIRONMENT, "PRIMALDUAL_DATA": str(place), "PRIMALDUAL_OFFLINE": "1"}
    for name, code in (("a9a", 0), ("a1a", 2)):
        done = bounded.run([COMMAND, "advise", name], env=environment, cwd=tmp_path)
        assert done.returncode == code
        if name == "a9a":
            assert "using the data set of that name" in done.stderr
        if name == "a1a":
            assert "PRIMALDUAL_OFFLINE forbids downloads" in done.stderr


# --- memory ---------------------------------------------------------------------------------------


def test_large_files_say_what_they_take_and_whether_it_fits(monkeypatch, capsys, tmp_path):
    from primaldual.cli import data, groups, terminal

    file = tmp_path / "d.csv"
    file.write_text("a,y\n" + "1,2\n3,4\n" * 50)
    terminal.begin(quiet=False)
    data.read(str(file), groups.Reading())
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(data, "LARGE", 1000.0)
    data.read(str(file), groups.Reading())
    assert re.search(r"\(404 bytes\) takes about 2\.42 kB of memory; .* are free: it fits\.",
                     capsys.readouterr().err)  # fmt: skip
    monkeypatch.setattr(memory, "available", lambda: 2000.0)
    data.read(str(file), groups.Reading())
    assert "2 kB are free: it may not fit. Leave out columns" in capsys.readouterr().err


def test_too_little_memory_is_a_message_and_not_the_end_of_the_process(tmp_path):
    pytest.importorskip("polars")
    rows = "".join(f"{k},{k % 7},{k % 2}\n" for k in range(200_000))
    (tmp_path / "d.csv").write_text("a,b,y\n" + rows)
    done = shell("ulimit -v 1000000; primaldual advise d.csv", tmp_path)
    assert done.returncode == 2
    assert re.search(r"d\.csv: not enough memory: reading it takes about [\d.]+ MB", done.stderr)
    assert "are free. Leave out columns" in done.stderr


def test_running_out_while_reading_names_the_file(monkeypatch, tmp_path):
    from primaldual.cli import data, groups

    def exhausted(*arguments, **options):
        raise MemoryError

    (tmp_path / "d.svm").write_text("1 1:2\n")
    monkeypatch.setattr(files, "read", exhausted)
    with pytest.raises(ValueError, match=r"d\.svm: not enough memory: reading it takes about"):
        data.read(str(tmp_path / "d.svm"), groups.Reading())


def test_reading_a_csv_takes_at_most_three_times_polars(tmp_path):
    """In processor time; with a margin, as other processes share the caches."""
    polars = pytest.importorskip("polars")
    rng = np.random.default_rng(0)
    n = 60_000
    columns = {f"f{k}": np.round(rng.standard_normal(n), 6) for k in range(20)}
    columns["city"] = rng.choice([f"City{k}" for k in range(1945)], n)
    polars.DataFrame({**columns, "y": rng.integers(0, 2, n)}).write_csv(tmp_path / "d.csv")
    files.read(tmp_path / "d.csv")
    ratios = []
    for _ in range(7):
        began = time.process_time()
        polars.read_csv(tmp_path / "d.csv")
        middle = time.process_time()
        files.read(tmp_path / "d.csv")
        ratios.append((time.process_time() - middle) / (middle - began))
    assert min(ratios) <= 3.5, ratios


# --- live -----------------------------------------------------------------------------------------


def watched(*arguments, seconds=120.0, interrupt_at=None):
    """What a command shows on a terminal of 100 columns, and its exit code."""
    ours, theirs = pty.openpty()
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), theirs)
    env = {**ENVIRONMENT, "TERM": "xterm", "COLUMNS": "100", "LINES": "30"}
    shown, deadline = b"", time.monotonic() + seconds
    with bounded.started([COMMAND, *map(str, arguments)], env=env, **streams) as child:
        os.close(theirs)
        while time.monotonic() < deadline:
            ready, _, _ = select.select([ours], [], [], 0.2)
            if not ready:
                continue
            try:
                piece = os.read(ours, 65536)
            except OSError:  # how Linux tells that no one holds the other end
                break
            if not piece:
                break
            shown += piece
            if interrupt_at is not None and re.search(interrupt_at, shown):
                child.send_signal(signal.SIGINT)
                interrupt_at = None
        else:
            bounded.end(child)
        code = child.wait(timeout=60)
    os.close(ours)
    return shown.decode("utf-8", "replace"), code


def test_the_clock_ticks_and_ctrl_c_is_heard_on_a_terminal(folder, tmp_path):
    X = datasets.zipf_text(d=4000, n=4000, seed=0)
    file = tmp_path / "hard.svm"
    dump_svmlight_file(X, datasets.labels(X, seed=1), str(file), zero_based=False)
    options = ("--methods", "sgd,nsync", "--tol", "1e-14", "--max-time", "2.5")
    shown, code = watched("faceoff", file, *options)
    assert code == 0
    assert "reading" in shown and "waiting" in shown and "stopped" in shown
    times = [float(found) for found in re.findall(r"passes +([\d.]+) s", shown)]
    assert len({round(value, 1) for value in times}) >= 5
    left = [float(found) for found in re.findall(r"ETA ([\d.]+) s", shown)]
    assert left and max(left) <= 2.5
    model = tmp_path / "m"
    shown, code = watched(
        "fit", file, "-o", model, "--loss", "squared_hinge", "--C", "1e7", "--tol", "1e-15",
        "--side", "dual", "--max-passes", "1000000", interrupt_at=rb"gap \d",
    )  # fmt: skip
    assert code == 130 and "Interrupted" in shown
    assert load(model).n_iter_ >= 1


def test_nothing_moves_where_no_terminal_is(folder):
    done = execute("fit", folder / "text.svm", "-o", folder / "plain.model")
    assert done.stderr == "" and "\x1b" not in done.stdout


def test_newton_is_expected_to_double_its_digits():
    gaps = [1e-1, 1e-2, 1e-4]
    assert live.newton_steps(gaps, 1e-8) == 1
    assert live.newton_steps(gaps, 1e-15) == 2
    seen = [(float(k), gap, float(k)) for k, gap in enumerate(gaps)]
    assert live.time_left(seen, 1e-8, 1000, newton=True) == pytest.approx(1.0)
    assert live.time_left(seen, 1e-8, 1000) > 1.5
    assert live.newton_steps([1.0, 1.0], 1e-8) == np.inf


def test_the_line_of_a_track_goes_on_between_checks():
    track = live.Track("newton", "running", "newton", 1e-3, 1.0, 2.0, 10.0, at=100.0)
    assert track.text(100.0).endswith("ETA 10 s")
    assert track.text(104.0).endswith("ETA 6 s") and " 6 s" in track.text(104.0)
    assert "1 pass " in track.text(100.0)
    track.state = "done"
    assert track.text(200.0).endswith("done")
