"""The report in a real browser: nothing is logged, nothing is asked for, the numbers are right."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from browser import Browser, needs_chromium

from primaldual import Problem, datasets, faceoff
from primaldual.experiments.page import Section, render
from primaldual.experiments.record import Item
from primaldual.report import numbers, page, path_page

pytest.importorskip("matplotlib", reason="the extra 'plots' is not installed")
pytest.importorskip("jinja2", reason="the extra 'plots' is not installed")

pytestmark = needs_chromium

HOSTILE = "<img src=http://x.invalid/ onerror=alert(1)>\"'"


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
