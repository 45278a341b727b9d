"""The site is whole: it builds without a warning, its links lead somewhere, it asks for nothing."""

from __future__ import annotations

import html.parser
import importlib
import importlib.util
import inspect
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from browser import Browser, needs_chromium

from test_public_paths import PATHS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
NEEDED = ("sphinx", "myst_parser", "numpydoc", "sphinx_design", "sphinx_copybutton")
MISSING = [name for name in NEEDED if importlib.util.find_spec(name) is None]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")

# One page of each kind. The gallery is built by ``make docs``.
PAGES = (
    "index.html",
    "start/coming_from.html",
    "guide/certificate.html",
    "reference/api/primaldual.LogisticRegression.html",
    "reference/commands.html",
    "benchmarks.html",
)


def generator() -> Any:
    spec = importlib.util.spec_from_file_location("reference", DOCS / "generate_reference.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["reference"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site without its gallery, made as ``make docs`` makes it; or the one that is named."""
    if os.environ.get("PRIMALDUAL_SITE"):
        return Path(os.environ["PRIMALDUAL_SITE"]).resolve()
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-n", "-b", "html",
         "-d", str(folder / "trees"), str(DOCS), str(folder / "html")],
        env={**os.environ, "PRIMALDUAL_DOCS_GALLERY": "0"},
        capture_output=True, text=True, timeout=280, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return folder / "html"


class Reader(html.parser.HTMLParser):
    """What a page links to, what it loads, and which anchors it has."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attributes}
        self.anchors |= {found[key] for key in ("id", "name") if key in found}
        if "src" in found or tag == "link":
            self.loaded.append(found.get("src") or found.get("href", ""))
        if tag == "a" and "href" in found:
            self.links.append(found["href"])


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Reader]:
    found = {}
    for place in sorted(site.rglob("*.html")):
        if place.parent.name == "_static":
            continue  # a template of the theme
        found[place] = Reader()
        found[place].feed(place.read_text(encoding="utf-8"))
    return found


def test_links_and_anchors_lead_somewhere(pages, site):
    wrong = []
    for place, page in pages.items():
        for link in page.links:
            if link.startswith(("https://", "mailto:")):
                continue
            path, _, anchor = unquote(link).partition("#")
            target = (place.parent / path).resolve() if path else place
            is_lost = anchor and target in pages and anchor not in pages[target].anchors
            if not target.exists() or is_lost:
                wrong.append((place.relative_to(site), link))
    assert wrong == [], wrong


def test_nothing_is_loaded_from_elsewhere(pages, site):
    loaded = {(place, address) for place, page in pages.items() for address in page.loaded}
    assert loaded
    for place, address in loaded:
        assert not address.startswith(("http:", "https:", "//")), (place, address)
        if not address.startswith("data:"):
            target = place.parent / unquote(address.split("?")[0].split("#")[0])
            assert target.exists(), (place, address)
    for sheet in site.rglob("*.css"):
        text = sheet.read_text(encoding="utf-8")
        assert not re.search(r"""(url\(|@import)\s*["']?\s*(https?:)?//""", text), sheet


def test_every_public_name_has_a_page(site):
    shown = {name.thing for here in generator().names().values() for name in here
             if inspect.isclass(name.thing) or inspect.isroutine(name.thing)}  # fmt: skip
    for module, names in PATHS.items():
        if module in ("primaldual.cli", "primaldual.methods.base"):
            continue  # the commands have a page of their own; the other is in ``kernels``
        for name in names:
            thing = getattr(importlib.import_module(module), name)
            if inspect.isclass(thing) or inspect.isroutine(thing):
                assert thing in shown, (module, name)
    api = site / "reference" / "api"
    for here in generator().names().values():
        for name in here:
            assert (api / f"{name.path}.html").exists(), name.path


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    it = Browser(tmp_path_factory.mktemp("profile"))
    try:
        it.start()
        yield it
    finally:
        it.close()


@needs_chromium
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("page", PAGES)
def test_pages_show_in_a_browser(browser, site, page, width):
    """Nothing complains, asks for anything elsewhere, sticks out, or is blank."""
    browser.resize(width)
    browser.open(site / page)
    assert browser.faults() == []
    assert all(address.startswith(("file:", "data:")) for address in browser.requests())
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    assert browser.evaluate("document.querySelector('article').innerText.length") > 300


@needs_chromium
def test_the_converter_converts(browser, site):
    """C = 2 of LogisticRegression with 500 examples is λ = 1/1000, and half of it for LinearSVC."""
    browser.open(site / "start" / "coming_from.html")
    browser.evaluate(
        "for (const [name, value] of [['value', '2'], ['n', '500']]) {"
        " const field = document.getElementById('cv-' + name); field.value = value;"
        " field.dispatchEvent(new Event('input')); }"
    )
    shown = {name: float(browser.evaluate(f"document.getElementById('cv-{name}').value"))
             for name in ("lam", "C", "C2", "alpha", "snap")}  # fmt: skip
    assert shown == {"lam": 0.001, "C": 2.0, "C2": 1.0, "alpha": 0.5, "snap": 0.5}


@needs_chromium
def test_the_filters_of_the_benchmarks_filter(browser, site):
    """The rows that are left, and the numbers above them, are those that were asked for."""
    browser.open(site / "benchmarks.html")
    visible = (
        "[...document.querySelectorAll('article table')].find(t => t.tHead &&"
        " t.tHead.textContent.includes('best peer at 1e-6')).tBodies[0].rows"
    )
    shown = f"[...{visible}].filter(r => !r.hidden).map(r => [...r.cells].map(c => c.innerText))"
    everything = browser.evaluate(shown)
    browser.evaluate(
        "for (const [name, value] of [['loss', 'logistic'], ['target', '0'], ['which', 'behind']])"
        " { const field = document.getElementById('bench-' + name); field.value = value;"
        " field.dispatchEvent(new Event('input')); }"
    )
    left = browser.evaluate(shown)
    expected = [row for row in everything if row[1] == "logistic" and row[2][0].isdigit()
                and float(row[2]) > 1]  # fmt: skip
    assert 0 < len(left) < len(everything)
    assert left == expected
    told = browser.evaluate("document.getElementById('bench-summary').innerText")
    assert told.startswith(f"{len(left)} of {len(everything)} tasks; at 1e-3")
    assert told.endswith(f"behind on {len(left)} of {len(left)}.")
