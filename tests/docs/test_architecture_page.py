"""docs/architecture.md: the picture and the walk are those of the code."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import primaldual
from primaldual import LogisticRegression, datasets

DOCS = Path(__file__).parents[2] / "docs"
SOURCE = Path(primaldual.__file__).parent


def generator():
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate_architecture.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_picture_is_up_to_date():
    module = generator()
    assert module.PICTURE.read_text(encoding="utf-8") == module.picture()


def stops():
    """The functions that the page names, in its order."""
    text = (DOCS / "architecture.md").read_text(encoding="utf-8")
    return re.findall(r"^\d+\. `([\w.]+)`", text, re.MULTILINE)


def walked():
    """The functions that a fit on text passes, by their first call."""
    X = datasets.zipf_text(2000, 1000, 40, seed=0)
    y = datasets.labels(X, seed=1)
    found: list[str] = []

    def listen(frame, event, argument):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(SOURCE)):
            place = Path(code.co_filename).relative_to(SOURCE).with_suffix("").as_posix()
            module = place.removesuffix("/__init__").replace("/", ".")
            found.append(f"{module}.{code.co_qualname}")

    model = LogisticRegression()
    sys.setprofile(listen)
    try:
        model.fit(X, y)
    finally:
        sys.setprofile(None)
    return list(dict.fromkeys(found))


def test_the_walk_has_few_stops_and_a_fit_passes_them_in_this_order():
    named, passed = stops(), walked()
    assert 10 <= len(named) <= 25
    assert [name for name in named if name not in passed] == []
    places = [passed.index(name) for name in named]
    assert places == sorted(places)
