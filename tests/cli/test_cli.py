"""The primaldual command, through a real process: answers, pipes, exit codes, Ctrl-C, kill -9."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import bounded
import numpy as np
import pytest
import typer
from commands import COMMAND, ENVIRONMENT, execute, good
from sklearn.datasets import dump_svmlight_file, load_diabetes

import primaldual
from primaldual import cli, datasets, files, models
from primaldual.cli.terminal import INTERRUPTED, NOT_REACHED, WRONG

COMMANDS = (
    *("advise", "faceoff", "fit", "shard", "predict", "score", "info", "path"),
    *("warmup", "doctor", "reproduce"),
)


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Small files: text with two classes, flowers with names, a regression."""
    place = tmp_path_factory.mktemp("cli")
    X = datasets.zipf_text(d=80, n=60, seed=0)
    dump_svmlight_file(X, datasets.labels(X, seed=1), str(place / "text.svm"), zero_based=False)
    rng = np.random.default_rng(0)
    lines = ["colour,width [cm],kind"]
    for number in range(90):
        kind = ("rose", "lily", "tulip, red")[number % 3]
        width = number % 3 + 0.3 * rng.standard_normal()
        lines.append(f'{("red", "white")[number % 2]},{width!r},"{kind}"')
    (place / "flowers.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    X, y = load_diabetes(return_X_y=True)
    dump_svmlight_file(X, y, str(place / "diabetes.svm"), zero_based=False)
    return place


@pytest.fixture(scope="session")
def text(folder):
    return folder / "text.svm"


@pytest.fixture(scope="session")
def model(folder, text):
    """A model of the text, and what fit answered."""
    answer = good(execute("fit", text, "-o", folder / "text.model", "--seed", "1"))
    return folder / "text.model", answer


# --- help -----------------------------------------------------------------------------------------


def test_help_names_the_commands_and_the_exit_codes():
    done = execute("--help")
    assert done.returncode == 0
    assert done.stderr == ""
    for word in (*COMMANDS, "130 interrupted"):
        assert word in done.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(run, command):
    done = run(command, "--help")
    assert done.returncode == 0
    assert "Usage: primaldual " + command in done.stdout
    assert "Exit codes" in done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="asks the system for the time used")
def test_help_answers_at_once():
    """In 0.4 s; on a busy machine, where everything takes longer, in five imports of Typer."""
    bare = min(processor_time(sys.executable, "-c", "import typer") for _ in range(3))
    help = min(processor_time(COMMAND, "fit", "--help") for _ in range(3))
    assert help < max(0.4, 5 * bare)


@pytest.mark.parametrize("arguments", [("--help",), ("faceoff", "--help")], ids=" ".join)
def test_help_loads_nothing_heavy(arguments):
    """Neither what computes nor what Typer has for parsing and colours."""
    script = (
        "import atexit, sys\n"
        "heavy = ('numpy', 'scipy', 'numba', 'sklearn', 'pydantic', 'rich')\n"
        "atexit.register(lambda: print([name for name in heavy if name in sys.modules]))\n"
        f"sys.argv = ['primaldual', *{arguments!r}]\n"
        "from primaldual.cli import main\n"
        "main()\n"
    )
    done = bounded.run([sys.executable, "-c", script], env=ENVIRONMENT)
    lines = done.stdout.splitlines()
    assert lines[0].startswith("Usage: primaldual")
    assert lines[-1] == "[]"


def processor_time(*command):
    """Seconds that a command computes, whatever else runs beside it."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=ENVIRONMENT)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0
    return used.ru_utime + used.ru_stime


def test_no_arguments_show_the_help():
    done = execute()
    assert done.returncode in (0, 2)  # Click changed its mind about this code
    assert "faceoff" in done.stdout + done.stderr


def test_the_version_is_told():
    assert good(execute("--version")) == f"primaldual {primaldual.__version__}\n"


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("primaldual f", {"faceoff", "fit"}),
        ("primaldual fit x --side ", {"auto", "primal", "dual"}),
        ("primaldual fit x --loss squared_h", {"squared_hinge"}),
    ],
)
def test_the_shell_completes_commands_and_values(words, found):
    environment = {
        **ENVIRONMENT,
        "_PRIMALDUAL_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(words.count(" ")),
    }
    done = bounded.run([COMMAND], env=environment)
    assert set(done.stdout.split()) == found


def test_the_page_names_every_command_option_and_code():
    page = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
    for command in COMMANDS:
        assert f"**`{command}" in page
    group = typer.main.get_command(cli.app)
    options = {option for one in group.commands.values() for p in one.params for option in p.opts}
    known_elsewhere = {"--quick", "--out", "--output"}  # of reproduce, and the long name of -o
    for option in {name for name in options if name.startswith("--")} - known_elsewhere:
        assert re.search(rf"{option}\b", page), option
    for code in (0, 1, WRONG, NOT_REACHED, INTERRUPTED):
        assert f"| {code} |" in page
        assert re.search(rf"\b{code} \w", cli._CODES)


# --- advise and faceoff ---------------------------------------------------------------------------


def test_advise_shows_the_data_and_both_sides(text):
    answer = good(execute("advise", text, "--C", "10"))
    assert "60 examples, 80 features" in answer
    assert "nonzeros per feature" in answer and "nonzeros per example" in answer
    assert "█" in answer
    assert re.search(r"^primal +80 ", answer, re.M) and re.search(r"^dual +60 ", answer, re.M)
    assert re.search(r"^ +method +passes +per pass +together$", answer, re.M)
    assert re.search(r"^(primal|dual), by \w+: about ", answer, re.M)
    assert "\x1b" not in answer


def test_advise_tells_the_same_as_the_library_in_json(run, text):
    told = json.loads(good(run("advise", text, "--lam", "0.01", "--no-intercept", "--json")))
    table = files.read(text)
    problem = primaldual.Problem(table.X, table.y, lam=0.01)
    advice = primaldual.advise(problem)
    assert told["verdict"]["side"] == advice.side
    assert told["verdict"]["method"] == advice.verdict.method
    assert (told["examples"], told["features"]) == table.X.shape
    assert told["nonzeros"] == table.X.nnz
    for side in ("primal", "dual"):
        costs = getattr(advice, side)
        assert told["theory"][side]["iterations"] == costs.iterations
        assert told["theory"][side]["cost"] == costs.cost
        assert told["theory"][side]["total"] == costs.total
        assert told["sides"][side]["seconds"] > 0


def test_faceoff_gives_a_verdict_on_every_embedded_problem():
    done = execute("faceoff", "--tol", "1e-2")
    assert done.returncode == 0, done.stderr
    said = [line for line in done.stderr.splitlines() if not line.startswith("Compiling kernels")]
    assert not said
    lines = done.stdout.splitlines()
    titles = (
        "The paper's worst case for the dual method",
        "The paper's worst case for the primal method",
        "Breast cancer",
    )
    for title in titles:
        assert sum(title in line for line in lines) == 1
    assert lines[0].startswith("Three small problems")
    assert re.search(r"^Shown: theory named the winner on [0-3] of 3 problems", lines[-3])
    assert len(lines) <= 40
    assert sum("← fewest passes" in line for line in lines) == len(titles)


def test_faceoff_writes_a_page_and_the_numbers_on_it(run, text, tmp_path):
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    page = tmp_path / "page.html"
    answer = good(run(
        "faceoff", text, "--tol", "1e-3", "--methods", "nsync,quartz,dual_cd",
        "--html", page, "--json",
    ))  # fmt: skip
    told = json.loads(answer)
    assert set(told["contenders"]) == {"nsync", "quartz", "dual_cd"}
    assert all(one["relative_gap"] <= 1e-3 for one in told["contenders"].values())
    content = page.read_text(encoding="utf-8")
    assert told["verdict"]["headline"] in content
    assert f"primaldual faceoff {text}" in content


def test_faceoff_says_so_when_no_method_converges(run, text):
    assert "No method converged" in good(run("faceoff", text, "--max-passes", "0"))


# --- fit, predict, score, info --------------------------------------------------------------------


def test_fit_prints_its_certificate_and_writes_the_model(model, text):
    path, answer = model
    assert "60 examples, 80 features" in answer
    assert re.search(r"certificate: objective \S+, no model is below \S+; relative gap", answer)
    table = files.read(text)
    fitted = primaldual.load(path)
    assert fitted.dual_gap_ <= 1e-6
    by_hand = primaldual.LogisticRegression(random_state=1).fit(table.X, table.y)
    np.testing.assert_allclose(fitted.coef_, by_hand.coef_, atol=1e-3)
    assert fitted.classes_.tolist() == [-1, 1]


def test_predict_gives_one_label_a_line(run, model, text):
    path, _ = model
    table = files.read(text)
    expected = primaldual.load(path).predict(table.X)
    assert good(run("predict", path, text)) == "".join(f"{label}\n" for label in expected)


@pytest.mark.parametrize("scale", ["none", "std"])
def test_certified_labels_are_those_of_the_optimum(run, text, tmp_path, scale):
    rough, fine = tmp_path / "rough", tmp_path / "fine"
    for path, tol in ((rough, "0.3"), (fine, "1e-12")):
        good(run("fit", text, "-o", path, "--tol", tol, "--scale", scale, "--side", "dual"))
    true = good(run("predict", fine, text)).split()
    found = good(run("predict", rough, text, "--certified")).split()
    assert set(found) <= {"-1", "1", "undecided"}
    assert all(label in (exact, "undecided") for label, exact in zip(found, true, strict=True))


def test_predict_reads_a_pipe_and_writes_a_file(run, model, text, tmp_path):
    path, _ = model
    options = ("-o", tmp_path / "labels", "--proba")
    answer = good(run("predict", path, "-", *options, stdin=text))
    assert answer == ""
    head, first, *_ = (tmp_path / "labels").read_text(encoding="utf-8").splitlines()
    assert head == "label,-1,1"
    label, *shares = map(float, first.split(","))
    assert sum(shares) == pytest.approx(1)
    assert label == (1 if shares[1] > 0.5 else -1)


@pytest.mark.skipif(sys.platform == "win32", reason="pipes end differently there")
def test_a_reader_that_has_enough_ends_the_command_quietly(model, text):
    path, _ = model
    data = b"1 1:1\n" * 40_000  # more labels than a pipe holds
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with bounded.started([COMMAND, "predict", path, "-"], env=ENVIRONMENT, **pipes) as child:
        child.stdin.write(data)
        child.stdin.close()
        assert child.stdout.readline().strip() in (b"1", b"-1")
        child.stdout.close()
        assert child.stderr.read() == b""
        assert child.wait(timeout=100) == -signal.SIGPIPE


def test_score_compares_with_the_labels(model, text):
    path, _ = model
    told = json.loads(good(execute("score", path, text, "--json")))
    table = files.read(text)
    assert told["examples"] == 60
    assert told["accuracy"] == primaldual.load(path).score(table.X, table.y)
    assert 0 < told["log_loss"] < np.log(2)


def test_info_tells_what_is_in_the_file(run, model, text):
    path, _ = model
    answer = good(execute("info", path))
    assert "LogisticRegression, 80 features" in answer
    assert "random_state=1" in answer and str(text) in answer
    told = json.loads(good(run("info", path, "--json")))
    fitted = primaldual.load(path)
    assert told["relative_gap"] == fitted.dual_gap_
    assert told["classes"] == [-1, 1]
    largest = int(np.argmax(np.abs(fitted.coef_)))
    assert told["largest"][0] == {  # LIBSVM counts from 1
        "feature": largest + 1,
        "output": 0,
        "value": float(fitted.coef_[0, largest]),
        "scaled_value": None,
        "towards": -1 if fitted.coef_[0, largest] < 0 else 1,
        "away": False,
    }


def test_texts_as_labels_and_as_features_go_all_the_way(run, folder, tmp_path):
    pytest.importorskip("polars")
    flowers, place = folder / "flowers.csv", tmp_path / "flowers.model"
    told = json.loads(good(run("fit", flowers, "-o", place, "--json")))
    assert told["estimator"] == "LogisticRegression" and told["training_score"] > 0.8
    assert primaldual.load(place).classes_.tolist() == ["lily", "rose", "tulip, red"]
    assert "width [cm]" in models.header(place)["feature_names"]
    without_labels = tmp_path / "new.csv"
    without_labels.write_text("width [cm],colour\n0.1,red\n2.1,white\n", encoding="utf-8")
    assert good(run("predict", place, without_labels)) == 'rose\n"tulip, red"\n'
    done = run("score", place, without_labels)
    assert done.returncode == 2
    assert "no labels" in done.stderr


def test_numbers_as_labels_make_a_regression(run, folder, tmp_path):
    data, place = folder / "diabetes.svm", tmp_path / "model"
    answer = good(run("fit", data, "-o", place, "--task", "regression", "--alpha", "0.1"))
    assert "Ridge" in answer and "R²" in answer
    told = json.loads(good(run("score", place, data, "--json")))
    assert told["r2"] == pytest.approx(0.5126, abs=1e-3)
    assert told["examples"] == 442 and told["mean_guess_error"] > told["root_mean_squared_error"]


def test_path_goes_from_the_largest_to_the_smallest_lambda(text):
    answer = good(execute("path", text, "--lams", "1,0.1,0.01", "--test", text, "--json"))
    rows = json.loads(answer)["path"]
    assert [row["lam"] for row in rows] == [1, 0.1, 0.01]
    norms = [row["norm"] for row in rows]
    assert norms == sorted(norms)
    for row in rows:
        assert row["relative_gap"] <= 1e-6
        assert row["side"] in ("primal", "dual")
        assert row["test_score"] == row["training_score"]


# --- care -----------------------------------------------------------------------------------------


def test_doctor_finds_everything_well():
    told = json.loads(good(execute("doctor", "--json")))
    assert told["self_test"]["passed"]
    assert told["versions"]["primaldual"] == primaldual.__version__
    assert Path(told["cache"]["place"]).is_absolute()
    assert told["threads"]["usable"] >= 1


@pytest.mark.timeout(900)  # on an empty cache it compiles for a minute, on an idle machine
def test_warmup_leaves_nothing_to_compile(run):
    answer = good(execute("warmup", "--loss", "squared", timeout=800))
    assert "Ready for squared" in answer
    again = good(run("warmup", "--loss", "squared"))
    assert "0 s of compiling" in again


# --- exit codes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ("no-such-command",),
        ("faceoff", "--no-such-option"),
        ("faceoff", "--tol", "small"),
        ("faceoff", "--tol", "0"),
        ("faceoff", "--tol", "2"),
        ("faceoff", "--max-passes", "-1"),
        ("faceoff", "--seed", "-1"),
        ("fit", "text.svm"),
        ("fit", "text.svm", "-o", "m", "--C", "0"),
        ("fit", "text.svm", "-o", "m", "--lam", "1", "--C", "1"),
        ("fit", "text.svm", "-o", "m", "--loss", "absolute"),
    ],
    ids=" ".join,
)
def test_wrong_usage_exits_with_2_and_a_message_instead_of_a_traceback(run, arguments, folder):
    done = run(*arguments, cwd=folder)
    assert "Traceback" not in done.stderr
    assert "Usage" in done.stderr or "Error" in done.stderr
    assert done.returncode == 2
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("fit", "none.svm", "-o", "m"), "none.svm"),
        (("fit", "bad.svm", "-o", "m"), "bad.svm:2:"),
        (("fit", "one.svm", "-o", "m"), "at least two classes"),
        (("fit", "text.svm", "-o", "none/m"), "does not exist"),
        (("fit", "text.svm", "-o", "m", "--loss", "huber", "--task", "classification"), "huber"),
        (("fit", "text.svm", "-o", "m", "--alpha", "1"), "takes --C or --lam, not --alpha"),
        (("info", "text.svm"), "not a file written by primaldual"),
        (("info", "cut.model"), "damaged"),
        (("fit", "labels.svm", "-o", "m"), "labels.svm: the file has no features"),
        (("fit", "text.svm", "-o", "text.svm"), "would destroy"),
        (("fit", "text.svm", "-o", "m", "--checkpoint", "m"), "would destroy"),
        (("fit", "text.svm", "-o", "m", "--checkpoint", "./text.svm"), "would destroy"),
        (("predict", "text.model", "text.svm", "-o", "text.model"), "would destroy"),
        (("faceoff", "text.svm", "--html", "text.svm"), "would destroy"),
        (("advise", "text.svm", "--max-features", "9"), "raise --max-features."),
        (("advise", "text.svm", "--max-line", "9"), "raise --max-line."),
        (
            ("advise", "gap.csv"),
            "'width' 1 (50%); the first is in row 2. --impute mean puts the mean of its column",
        ),
        (("predict", "text.model", "flowers.csv"), "trained on a matrix without names"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_files_that_cannot_be_used_exit_with_2_and_the_reason(
    run, arguments, words, folder, text, model
):
    (folder / "bad.svm").write_text("1 1:1\n1 2:x\n", encoding="utf-8")
    (folder / "one.svm").write_text("1 1:1\n1 2:1\n", encoding="utf-8")
    (folder / "labels.svm").write_text("1\n1\n-1\n", encoding="utf-8")
    (folder / "gap.csv").write_text("width,kind\n1,a\n,b\n", encoding="utf-8")
    (folder / "cut.model").write_bytes(model[0].read_bytes()[:-40])
    kept = text.read_bytes(), model[0].read_bytes()
    done = run(*arguments, cwd=folder)
    assert kept == (text.read_bytes(), model[0].read_bytes())
    assert done.returncode == 2
    assert words in re.sub(r"[\s│]+", " ", done.stderr)
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert not (folder / "m").exists()


def test_a_gap_above_tol_exits_with_3_and_the_model_is_written(run, text, tmp_path):
    done = run("fit", text, "-o", tmp_path / "model", "--max-passes", "1", "--side", "dual",
               "--C", "1e4", "--tol", "1e-9")  # fmt: skip
    assert done.returncode == 3
    assert "--max-passes was reached first" in done.stdout
    assert primaldual.load(tmp_path / "model").dual_gap_ > 1e-9


# --- a long run: on a terminal, interrupted, killed -----------------------------------------------


@pytest.fixture(scope="session")
def long_run(folder):
    """The start of a command that trains for some seconds."""
    X = datasets.zipf_text(d=20_000, n=4_000, seed=0).tocsr()
    parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr}
    place = folder / "long.npz"
    np.savez(place, **parts, format=b"csr", shape=X.shape, y=datasets.labels(X, seed=1))
    return ["fit", str(place), "--C", "1e4", "--side", "dual", "--tol", "1e-12"]


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal and SIGINT")
def test_ctrl_c_keeps_the_best_model_and_exits_with_130(long_run, tmp_path):
    import pty

    place = tmp_path / "model"
    arguments = [*long_run, "--tol", "1e-15", "--max-passes", "1000000", "-o", str(place)]
    ours, theirs = pty.openpty()
    options = {"stdout": subprocess.PIPE, "stderr": theirs, "encoding": "utf-8"}
    shown = Screen(ours)
    try:
        with bounded.started(
            [COMMAND, *arguments], env={**ENVIRONMENT, "TERM": "xterm"}, **options
        ) as child:
            os.close(theirs)
            shown.wait_for(r"gap \d\.\de[-+]\d\d +\d+ passes +\S+ s +ETA")
            child.send_signal(signal.SIGINT)
            answer, _ = child.communicate(timeout=100)
    finally:
        shown.close()
    assert child.returncode == 130, shown.text
    assert "the best iterate so far was kept" in answer
    assert f"Model written to {place}" in answer
    assert "Interrupted: the model written is the best one so far." in shown.text
    assert 0 < primaldual.load(place).dual_gap_ < 1


class Screen:
    """What a program writes to a pseudo-terminal."""

    def __init__(self, handle):
        self.handle = handle
        self.text = ""
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        with contextlib.suppress(OSError):  # the other end was closed
            while part := os.read(self.handle, 4096):
                self.text += part.decode("utf-8", "replace")

    def wait_for(self, pattern, seconds=100):
        end = time.monotonic() + seconds
        while not re.search(pattern, self.text):
            assert time.monotonic() < end and self.reader.is_alive(), self.text
            time.sleep(0.005)

    def close(self):
        self.reader.join(timeout=10)
        os.close(self.handle)


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_ten_kills_and_a_resume_end_in_the_same_file(long_run, server, tmp_path):
    uninterrupted, place = tmp_path / "uninterrupted", tmp_path / "killed"
    checkpoint = tmp_path / "checkpoint"
    good(execute(*long_run, "-o", uninterrupted))
    command = [*long_run, "-o", place, "--checkpoint", checkpoint, "--checkpoint-every", "0.02"]
    rng = np.random.default_rng(0)
    kills = resumed = 0
    while kills < 10:
        before = stamp(checkpoint)
        number = server.start(*command)
        end = time.monotonic() + 60
        while stamp(checkpoint) == before and not place.exists():
            assert time.monotonic() < end, "neither a checkpoint nor a model"
            time.sleep(0.002)
        time.sleep(rng.uniform(0, 0.2))
        server.kill(number)
        if server.wait(number) == -signal.SIGKILL:
            kills += 1
            resumed += before is not None
        if place.exists():  # it came to its end in time; the next one begins anew
            assert place.read_bytes() == uninterrupted.read_bytes()
            place.unlink()
            checkpoint.unlink(missing_ok=True)
    assert resumed > 0
    good(server.run(*command))
    assert place.read_bytes() == uninterrupted.read_bytes()
    assert sorted(tmp_path.iterdir()) == [place, uninterrupted], "nothing is left over"


def stamp(path):
    """Changes whenever a new file takes the name; None without a file."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_mtime_ns


def test_a_run_with_a_checkpoint_removes_half_a_model_that_a_kill_has_left(run, text, tmp_path):
    place, other = tmp_path / "model", tmp_path / ".other.0a1b2c3d.tmp"
    half = tmp_path / ".model.0a1b2c3d.tmp"
    for path in (half, other):
        path.write_bytes(b"half")
    good(run("fit", text, "-o", place, "--checkpoint", tmp_path / "checkpoint"))
    assert sorted(tmp_path.iterdir()) == sorted([place, other])
