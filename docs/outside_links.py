"""Links of the Markdown pages to files of the repository, turned into pages of the site.

The pages are also read in a checkout, where ``../src/primaldual/methods/nsync.py`` leads to the
file. On the site the same link leads to the highlighted source, or to a page that shows the file.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

# Files outside ``docs`` that have a page of their own.
PAGES = {
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CITATION.cff": "project/cite.md",
    "LICENSE": "project/cite.md",
    "README.md": "index.md",
    "benchmarks/README.md": "project/benchmark_method.md",
    "src/primaldual/kernels.py": "reference/kernels.rst",
}
_LINK = re.compile(r"(?<!!)\[([^\]\n]+)\]\((?!https?:|#|/)([^)#\s]+)(#[^)\s]*)?\)")


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("source-read", rewrite)
    app.connect("include-read", rewrite_included)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def rewrite(app: Any, name: str, source: list[str]) -> None:
    """Rewrite the links of a page as it is read."""
    page = Path(app.env.doc2path(name))
    if page.suffix == ".md":
        source[0] = rewritten(source[0], page, Path(app.srcdir), name)


def rewrite_included(app: Any, path: Path, name: str, source: list[str]) -> None:
    """The same for a file outside ``docs`` that a page includes."""
    if path.suffix == ".md":
        source[0] = rewritten(source[0], Path(app.srcdir, path).resolve(), Path(app.srcdir), name)


def rewritten(text: str, page: Path, docs: Path, name: str) -> str:
    """The text of a file, shown on the page of that name, with links that lead somewhere there."""
    root = docs.parent

    def new(match: re.Match[str]) -> str:
        shown, anchor = match[1], match[3] or ""
        target = (page.parent / match[2]).resolve()
        if not target.is_relative_to(root):
            return match[0]
        inside = target.relative_to(root).as_posix()
        if inside in PAGES:
            return f"[{shown}](/{PAGES[inside]}{anchor})"
        if inside.startswith("src/primaldual/") and target.suffix == ".py":
            module = inside.removeprefix("src/").removesuffix(".py")
            return f'<a href="{"../" * name.count("/")}_modules/{module}.html">{shown}</a>'
        if target.is_relative_to(docs) and not page.is_relative_to(docs):
            return f"[{shown}](/{target.relative_to(docs).as_posix()}{anchor})"
        return match[0]

    return _LINK.sub(new, text)
