"""Draw how the layers import each other: ``python docs/generate_architecture.py``.

The picture is made from the import statements, so it cannot differ from the code. A layer is a
folder of ``src/primaldual`` or a file beside the folders. A line leads from a layer down to one
that it imports; lines that follow from others are left out.
"""

from __future__ import annotations

import ast
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "primaldual"
PICTURE = Path(__file__).with_name("figures") / "architecture.svg"

# What a layer is for, in the picture. Files that only hold types or a decorator are left out.
LABELS = {
    "cli": "command line",
    "experiments": "the paper's figures",
    "models": "model files",
    "estimators": "scikit-learn's names",
    "report": "pages, tables, curves",
    "face_off": "race of methods",
    "solver": "door, loop, stopping",
    "checkpoints": "resume after a kill",
    "advice": "primal or dual?",
    "theory": "the paper's bound",
    "engine": "costs, rules, choice",
    "methods": "one algorithm per file",
    "kernels": "door for extenders",
    "complexity": "K, W, T of a side",
    "samplings": "draws and ESO",
    "problem": "P, D, certificate",
    "data": "sparse or dense rows",
    "losses": "φ, φ', φ*, dual step",
    "result": "plain records",
    "datasets": "generated and real",
    "files": "LIBSVM, CSV, Parquet",
    "binary": "binary matrices",
    "shards": "data on disk",
    "parts": "sums over parts",
    "container": "checked file frames",
    "_numba": "compile and cache",
}
WIDTH, HEIGHT, GAP_X, GAP_Y, MARGIN = 150, 44, 60, 24, 20  # pixels


def layer(path: Path) -> str:
    """The folder of a file, or the file's own name."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    """The layers that a file imports anywhere, type checks left out."""
    package = path.relative_to(SOURCE).parts[:-1]
    found = set()
    waiting: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        waiting.extend(ast.iter_child_nodes(node))
        if not isinstance(node, ast.ImportFrom):
            continue
        if node.level:
            parts = [*package[: len(package) + 1 - node.level], *(node.module or "").split(".")]
        else:
            parts = (node.module or "").split(".")
            if parts[0] != "primaldual":
                continue
            parts = parts[1:]
        parts = [part for part in parts if part]
        found |= {parts[0]} if parts else {alias.name for alias in node.names}
    return found


def imports() -> dict[str, set[str]]:
    """For every layer of the picture, the layers of the picture that it imports."""
    found: dict[str, set[str]] = {name: set() for name in LABELS}
    for path in sorted(SOURCE.rglob("*.py")):
        if layer(path) in found:
            found[layer(path)] |= imported(path) & set(LABELS) - {layer(path)}
    # These show or save themselves with the help of a layer above, loaded when asked for.
    found["advice"].discard("report")
    found["result"].discard("report")
    found["face_off"].discard("report")
    found["estimators"].discard("models")
    return found


def levels(graph: dict[str, set[str]]) -> dict[str, int]:
    """The height of every layer: one above the highest that it imports."""
    heights: dict[str, int] = {}

    def height(name: str) -> int:
        if name not in heights:
            heights[name] = 1 + max((height(other) for other in graph[name]), default=-1)
        return heights[name]

    for name in graph:
        height(name)
    return heights


def reduced(graph: dict[str, set[str]]) -> list[tuple[str, str]]:
    """The imports that do not follow from others."""
    below: dict[str, set[str]] = {}

    def reach(name: str) -> set[str]:
        if name not in below:
            below[name] = set().union(*(reach(other) | {other} for other in graph[name]), set())
        return below[name]

    return [
        (name, other)
        for name, others in graph.items()
        for other in sorted(others)
        if not any(other in reach(between) for between in others - {other})
    ]


def picture() -> str:
    """The picture as SVG."""
    graph = imports()
    heights = levels(graph)
    rows = [
        [name for name in LABELS if heights[name] == height]
        for height in range(max(heights.values()), -1, -1)
    ]
    widest = max(len(row) for row in rows)
    width = 2 * MARGIN + widest * WIDTH + (widest - 1) * GAP_X
    total = 2 * MARGIN + len(rows) * HEIGHT + (len(rows) - 1) * GAP_Y
    places = {}
    for k, row in enumerate(rows):
        left = (width - len(row) * WIDTH - (len(row) - 1) * GAP_X) / 2
        for m, name in enumerate(row):
            places[name] = (left + m * (WIDTH + GAP_X), MARGIN + k * (HEIGHT + GAP_Y))
    lines = [_line(places[name], places[other]) for name, other in reduced(graph)]
    boxes = [_box(name, *places[name]) for name in LABELS]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {total}" '
        f'width="{width}" height="{total}" font-family="sans-serif">'
        f'<rect width="{width}" height="{total}" fill="white"/>'
    )
    return "\n".join([head, *lines, *boxes, "</svg>", ""])


def _line(upper: tuple[float, float], lower: tuple[float, float]) -> str:
    x, y = upper[0] + WIDTH / 2, upper[1] + HEIGHT
    u, v = lower[0] + WIDTH / 2, lower[1]
    bow = (v - y) / 2
    return (
        f'<path d="M{x:g},{y:g} C{x:g},{y + bow:g} {u:g},{v - bow:g} {u:g},{v:g}" '
        'fill="none" stroke="#9aa5b1" stroke-width="1.3"/>'
    )


def _box(name: str, x: float, y: float) -> str:
    is_folder = (SOURCE / name).is_dir()
    title = f"{name}/" if is_folder else f"{name}.py"
    middle = x + WIDTH / 2
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{WIDTH}" height="{HEIGHT}" rx="6" '
        f'fill="{"#e8f0fb" if is_folder else "#f6f6f4"}" stroke="#5b6b7d"/>'
        f'<text x="{middle:g}" y="{y + 19:g}" text-anchor="middle" font-size="14" '
        f'font-weight="bold" fill="#1d2733">{title}</text>'
        f'<text x="{middle:g}" y="{y + 36:g}" text-anchor="middle" font-size="11.5" '
        f'fill="#46525f">{LABELS[name]}</text>'
    )


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
