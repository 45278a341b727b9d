"""The report in a real browser: nothing is logged, nothing is asked for, the numbers are right."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from select import select
from typing import Any

import numpy as np
import pytest

from primaldual import Problem, datasets, faceoff
from primaldual.experiments.page import Section, render
from primaldual.experiments.record import Item
from primaldual.report import numbers, page, path_page

pytest.importorskip("matplotlib", reason="the extra 'plots' is not installed")
pytest.importorskip("jinja2", reason="the extra 'plots' is not installed")

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHROMIUM = next((path for name in NAMES if (path := shutil.which(name))), None)
pytestmark = pytest.mark.skipif(
    CHROMIUM is None or sys.platform == "win32",
    reason="no Chromium: install it, for example by apt-get install chromium",
)

HOSTILE = "<img src=http://x.invalid/ onerror=alert(1)>\"'"
# Descriptors 3 and 4 are where Chromium listens and answers.
REWIRE = (
    "import os, sys\n"
    "listen, answer = os.dup(int(sys.argv[1])), os.dup(int(sys.argv[2]))\n"
    "os.dup2(listen, 3), os.dup2(answer, 4)\n"
    "os.set_inheritable(3, True), os.set_inheritable(4, True)\n"
    "os.execv(sys.argv[3], sys.argv[3:])\n"
)
PATIENCE = 60.0  # seconds for one answer: the machine may be busy


class Browser:
    """Headless Chromium, spoken to through a pipe (--remote-debugging-pipe)."""

    def __init__(self, profile: Path) -> None:
        listen, self.out = os.pipe()
        self.inn, answer = os.pipe()
        options = [
            "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--no-first-run", "--disable-extensions", "--disable-background-networking",
            "--remote-debugging-pipe", f"--user-data-dir={profile}",
        ]  # fmt: skip
        self.process = subprocess.Popen(
            [sys.executable, "-c", REWIRE, str(listen), str(answer), str(CHROMIUM), *options],
            pass_fds=(listen, answer),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(listen)
        os.close(answer)
        self.rest, self.count = b"", 0
        self.events: list[dict[str, Any]] = []
        self.session: str | None = None

    def start(self) -> None:
        """A page of its own to look at, with all its news."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for part in ("Page", "Network", "Log", "Runtime"):
            self.call(f"{part}.enable")

    def close(self) -> None:
        self.session = None
        try:
            self.call("Browser.close")
            self.process.wait(PATIENCE)
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self.out)
        os.close(self.inn)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        self.count += 1
        message = {"id": self.count, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self.count:
                assert "error" not in answer, answer
                return answer["result"]

    def _next(self) -> dict[str, Any]:
        """The next message; those that answer nothing are kept as events."""
        until = time.monotonic() + PATIENCE
        while b"\0" not in self.rest:
            ready, _, _ = select([self.inn], [], [], max(0.0, until - time.monotonic()))
            chunk = os.read(self.inn, 1 << 16) if ready else b""
            if not chunk:
                raise OSError("Chromium does not answer.")
            self.rest += chunk
        text, _, self.rest = self.rest.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        if "method" in message:
            self.events.append(message)
        return message

    def open(self, path: Path) -> None:
        """Show a page, and forget what happened on the one before."""
        self.events.clear()
        self.call("Page.navigate", url=path.as_uri())
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self._next()

    def evaluate(self, expression: str) -> Any:
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"][
            "value"
        ]

    def of(self, method: str) -> list[dict[str, Any]]:
        return [event["params"] for event in self.events if event["method"] == method]

    def requests(self) -> list[str]:
        """Every address the page asked for."""
        return [event["request"]["url"] for event in self.of("Network.requestWillBeSent")]

    def complaints(self) -> list[str]:
        """Errors and warnings, console messages, and dialogues."""
        logged = [event["entry"]["text"] for event in self.of("Log.entryAdded")]
        thrown = [str(event) for event in self.of("Runtime.exceptionThrown")]
        said = [str(event["args"]) for event in self.of("Runtime.consoleAPICalled")]
        asked = [event["message"] for event in self.of("Page.javascriptDialogOpening")]
        return logged + thrown + said + asked

    def resize(self, width: int, dark: bool = False) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=844, deviceScaleFactor=1,
            mobile=width < 600,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    it = Browser(tmp_path_factory.mktemp("profile"))
    try:
        it.start()
        yield it
    finally:
        it.close()


@pytest.fixture(scope="module")
def outcome():
    """A real race, three contenders and two seeds."""
    X = datasets.zipf_text(d=400, n=150, seed=0)
    problem = Problem(X, datasets.labels(X, seed=1), loss="logistic", lam=1 / 150)
    return faceoff(problem, ["nsync", "quartz", "dual_cd"], tol=1e-5, seeds=(0, 1))


@pytest.fixture(scope="module")
def report(outcome, tmp_path_factory) -> Path:
    names = [f"{HOSTILE}{'-long-name' * (k % 9)}{k}" for k in range(outcome.problem.d)]
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(
        page(outcome, feature_names=names, title=HOSTILE, command=HOSTILE), encoding="utf-8"
    )
    return path


def test_the_watch_sees_requests_and_complaints(browser, tmp_path):
    """A page that does what the report must not do is caught doing it."""
    bad = tmp_path / "bad.html"
    bad.write_text(
        "<!doctype html><img src=http://x.invalid/a.png><script>console.error('no')</script>"
    )
    browser.open(bad)
    assert "http://x.invalid/a.png" in browser.requests()
    assert any("no" in complaint for complaint in browser.complaints())
    refused = tmp_path / "refused.html"
    refused.write_text(
        "<!doctype html><meta http-equiv=Content-Security-Policy content=\"default-src 'none'\">"
        '<p style="color: red">red</p>'
    )
    browser.open(refused)
    assert any("Content Security Policy" in complaint for complaint in browser.complaints())


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_asked_for_and_nothing_complains(browser, report, width, dark):
    browser.resize(width, dark)
    browser.open(report)
    assert browser.requests() == [report.as_uri()]
    assert browser.complaints() == []


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_sticks_out(browser, report, width):
    """The page is as wide as the screen, and no table has to be pushed aside."""
    browser.resize(width)
    browser.open(report)
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    wide = browser.evaluate(
        "[...document.querySelectorAll('.scroll, figure')]"
        ".filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.innerText)"
    )
    assert wide == []


@pytest.mark.parametrize("width", [390, 1280])
def test_tables_of_the_other_pages_fit(browser, tmp_path, width):
    """A path with all its scores, and a table of the reproduction with thirteen columns."""
    row = {"lam": 1e-3, "side": "primal", "passes": 1200, "relative_gap": 1.234e-16, "norm": 1.234}
    scores = {"training_score": 0.8, "cv_score": 0.7, "cv_deviation": 0.1, "test_score": 0.6}
    rows = [{**row, **scores, "lam": 10.0**-k} for k in range(7)]
    along = tmp_path / "path.html"
    along.write_text(path_page(rows, 2, "cv_score", "cross-validated R²", HOSTILE), "utf-8")
    columns = {f"mean regret, paper passes {k}": 1234.5678 for k in range(12)}
    item = Item("x", "x", [], tables={"x": [{"rule": "dual if n < d", **columns}]}, shown=("x",))
    again = tmp_path / "again.html"
    again.write_text(render([Section(item, {}, 1.0)], True, "quick"), "utf-8")
    browser.resize(width)
    for place in (along, again):
        browser.open(place)
        assert browser.evaluate("document.documentElement.scrollWidth") <= width
        wide = browser.evaluate(
            "[...document.querySelectorAll('.scroll')]"
            ".filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.innerText)"
        )
        assert wide == []
        assert browser.evaluate("document.querySelectorAll('.scroll td').length") > 5


def test_the_numbers_in_the_page_are_those_of_the_json(browser, report, outcome):
    browser.open(report)
    told = browser.evaluate(
        "[...document.querySelectorAll('[data-key]')].map(e => [e.dataset.key, e.value])"
    )
    facts = json.loads(json.dumps(numbers(outcome), allow_nan=False))
    assert len(told) > 40
    for key, value in told:
        expected = facts
        for part in key.split("."):
            expected = expected[int(part) if part.isdigit() else part]
        if isinstance(expected, float | int):
            assert float(value) == expected, key
        else:
            assert value == (expected or ""), key


def test_names_are_text(browser, report):
    browser.open(report)
    assert browser.evaluate("document.images.length") == 0
    assert browser.evaluate("document.querySelector('h1').textContent") == HOSTILE
    assert browser.evaluate(
        "document.querySelector('.names th[scope=row]').textContent"
    ).startswith(HOSTILE)


def luminance(colour: str) -> float:
    """WCAG's relative luminance of "rgb(r, g, b)"."""
    parts = np.array([float(part) for part in colour[4:-1].split(",")]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_everything_can_be_read(browser, report, dark):
    """Contrast with the page of at least 4.5 for text, 3 for lines and bars (WCAG AA)."""
    browser.resize(1280, dark)
    browser.open(report)
    paper = luminance(browser.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert (paper < 0.05) is dark

    def contrast(colour):
        pair = sorted((luminance(colour), paper))
        return (pair[1] + 0.05) / (pair[0] + 0.05)

    texts = browser.evaluate(
        "[...new Set([...document.querySelectorAll('p, td, th, dt, dd, small, figcaption')]"
        ".map(e => getComputedStyle(e).color))]"
    )
    letters = browser.evaluate(
        "[...new Set([...document.querySelectorAll('figure svg text')]"
        ".map(e => getComputedStyle(e).fill))]"
    )
    lines = browser.evaluate(
        "[...new Set([...document.querySelectorAll('figure svg path')]"
        ".map(e => getComputedStyle(e).stroke))].filter(s => s.startsWith('rgb('))"
    )
    assert texts and letters and len(lines) >= 3
    assert min(contrast(colour) for colour in texts + letters) >= 4.5
    assert min(contrast(colour) for colour in lines) >= 3


def test_it_prints_on_white(browser, report):
    """Also from a dark screen."""
    browser.resize(1280, dark=True)
    browser.open(report)
    browser.call("Emulation.setEmulatedMedia", media="print")
    assert browser.evaluate("getComputedStyle(document.body).color") == "rgb(27, 31, 36)"
    browser.call("Emulation.setEmulatedMedia", media="")
    printed = browser.call("Page.printToPDF")["data"]
    assert base64.b64decode(printed).startswith(b"%PDF")
