"""The paper's figures and table come out as they should, quickly and to the digits."""

from __future__ import annotations

import ast
import csv
import os
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="the extra 'plots' is not installed")
pytest.importorskip("jinja2", reason="the extra 'plots' is not installed")

from primaldual import Problem, advise, structure_cost
from primaldual.datasets import extremal_binary, normalize_average
from primaldual.experiments import (
    ITEMS,
    Claim,
    Item,
    fig1_ratio_bound,
    fig2_general,
    fig3_binary,
    prediction,
    reproduce,
    rules,
    table1_datasets,
    training_error,
)
from primaldual.experiments.page import Section, render
from primaldual.experiments.record import number
from primaldual.experiments.runner import verdict

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("PRIMALDUAL_DATA") or ROOT.parent / "shared" / "data")
needs_data = pytest.mark.skipif(
    not DATA.is_dir(),
    reason="real data: set PRIMALDUAL_DATA to a folder with leu.svm.xz and news20-rebuilt.svm.xz",
)


@pytest.fixture
def real_data(monkeypatch):
    monkeypatch.setenv("PRIMALDUAL_DATA", str(DATA))


# --- Figure 1 -------------------------------------------------------------------------------------

PEAKS = [
    # d, largest R, number of nonzeros there, last number of nonzeros with R > 1
    (1000, 250.437578, 1999, 999_998),
    (2000, 125.234455, 3998, None),
    (10_000, 25.049398, 19_990, 990_680),
    (100_000, 2.504996, 199_900, 888_319),
    (200_000, 1.252500, 399_800, None),
    (250_499, 1.000004, 500_249, 501_248),
    (250_500, 1.000000, 500_250, 0),
    (500_000, 0.501000, 999_500, 0),
]


@pytest.mark.parametrize(("d", "largest", "at", "last"), PEAKS)
def test_figure_1_has_its_peaks_to_the_digits(d, largest, at, last):
    row = fig1_ratio_bound.peak(d)
    assert f"{row['largest R']:.6f}" == f"{largest:.6f}"
    assert row["at nonzeros"] == at
    if last is not None:
        assert (row["last nonzeros with R > 1"] or 0) == last


def test_figure_1_ends_in_n_over_d_when_all_places_are_filled():
    d, nnz, bound = fig1_ratio_bound.grid(12)
    assert np.array_equal(nnz[:, -1], 1000 * d[:, -1])
    assert np.allclose(bound[:, -1], 1000 / d[:, -1])


def test_the_bound_as_printed_is_never_below_one():
    d, nnz, bound = fig1_ratio_bound.grid(25)
    assert fig1_ratio_bound.printed_bound(nnz, d).min() >= 1
    assert bound.min() < 1


# --- Figures 2 and 3 ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("d", "n", "primal", "dual", "ratio"),
    [
        (1000, 1000, 834_794.917, 8.26521445e8, 0.00101967),
        (100, 100_000, 8.347115853e9, 8.264470331e11, 0.01010048),
    ],
)
def test_the_matrices_of_figure_2_have_the_costs_of_the_theory(d, n, primal, dual, ratio):
    problem = fig2_general.worst_for_the_dual(d, n)
    assert structure_cost(problem.features) == pytest.approx(primal, rel=1e-8)
    assert structure_cost(problem.examples) == pytest.approx(dual, rel=1e-8)
    assert advise(problem).ratio == pytest.approx(ratio, rel=1e-5)


@pytest.mark.parametrize(
    ("n", "density", "ratio"),
    [
        (100, 0.02, 0.1228), (100, 0.1, 0.2260), (100, 1.0, 1.0),
        (1000, 0.02, 0.4477), (1000, 0.1, 1.0872), (1000, 1.0, 2.8),
        (10_000, 0.02, 3.6725), (10_000, 0.1, 9.7223), (10_000, 1.0, 20.8),
    ],
)  # fmt: skip
def test_the_matrices_of_figure_3_have_the_ratios_of_the_theory(n, density, ratio):
    problem = fig3_binary.worst_for_the_dual(n, density)
    assert advise(problem).ratio == pytest.approx(ratio, abs=6e-5)


@pytest.mark.parametrize(("n", "ratio"), [(100, 1.0), (1000, 2.8), (10_000, 20.8)])
def test_one_percent_of_figure_3_leaves_nothing_to_arrange(n, ratio):
    X = normalize_average(extremal_binary(100, n, n, "dual_worst"))
    problem = Problem(X, np.resize([1.0, -1.0], n), lam=1 / n)
    assert advise(problem).ratio == pytest.approx(ratio)


def test_a_race_starts_at_zero_and_ends_near_the_optimum():
    problem = fig3_binary.worst_for_the_dual(100, 0.1)
    outcome = training_error.race(problem, 200, seeds=(0, 1))
    assert outcome.optimum_gap <= 1e-13
    for side in ("primal", "dual"):
        assert len(outcome.curves[side]) == 2
        for curve in outcome.curves[side]:
            assert curve.passes[0] == 0
            assert curve.error[0] == pytest.approx(outcome.first_error)
            assert curve.error[-1] <= training_error.END * outcome.first_error
        # An order of magnitude: single runs of an independent program needed 9.5 and 35.
        assert outcome.passes_to(side, 1e-4) == pytest.approx(
            {"primal": 9.5, "dual": 35}[side], rel=0.5
        )
    assert outcome.passes_to("primal", 2.0) == 0
    assert outcome.passes_to("primal", 1e-30) == np.inf


# --- Table 1 --------------------------------------------------------------------------------------


@needs_data
def test_table_1_has_the_numbers_of_leukemia(real_data):
    (row,) = table1_datasets.run(quick=True).tables["table1"]
    assert (row["d"], row["n"], row["nnz"]) == (7129, 38, 270_902)
    assert f"{row['C_P raw']:.2e}" == "1.04e+07"
    assert f"{row['C_D raw']:.2e}" == "1.96e+09"
    assert f"{row['T_P/T_D scaled, β = 1']:.2f}" == "0.49"
    assert f"{row['T_P/T_D scaled, β = 1/4']:.2f}" == "0.79"


@needs_data
@pytest.mark.slow
def test_table_1_has_the_numbers_of_the_news(real_data):
    item = table1_datasets.run()
    row = item.tables["table1"][0]
    assert "rebuild" in row["data"]
    assert (row["d"], row["n"], row["nnz"]) == (1_350_641, 19_953, 9_093_488)
    assert f"{row['T_P/T_D scaled, β = 1']:.2f}" == "1.96"
    assert f"{row['T_P/T_D scaled, β = 1/4']:.2f}" == "1.38"
    assert item.agrees


def test_without_data_the_real_items_say_what_is_missing(monkeypatch, tmp_path):
    monkeypatch.setenv("PRIMALDUAL_DATA", str(tmp_path))
    monkeypatch.setattr(table1_datasets, "leukemia", missing)
    item = table1_datasets.run(quick=True)
    assert item.agrees is None and "leu is not here" in item.claims[1].measured


def missing():
    raise FileNotFoundError("leu is not here")


# --- the prediction study -------------------------------------------------------------------------


def row(primal, dual, *, ratio=0.5, arrived=(True, True), auto=1.0):
    """A row of the study in which the sides took so many seconds."""
    line = {
        "data": "toy", "n": 10, "d": 5, "loss": "logistic", "T_P/T_D": ratio, "T_D/nnz": 9.0,
        "c_P T_P/(c_D T_D)": ratio, "theory": "primal", "verdict": "dual",
        "advise seconds": 0.5, "auto": "dual_cd+newton",
        "auto seconds": auto, "auto arrived": True,
        "advised seconds": 2 * auto, "advised arrived": True,
    }  # fmt: skip
    for side, seconds, there in (("primal", primal, arrived[0]), ("dual", dual, arrived[1])):
        for kind in ("", "paper "):
            line |= {f"{side} {kind}seconds": seconds, f"{side} {kind}passes": seconds}
            line[f"{side} {kind}arrived"] = there
    return line


def test_regret_is_the_cost_of_the_choice_over_the_better_one():
    rows = [row(1, 2), row(8, 2), row(1, 1)]
    by_rule = {line["rule"]: line for line in rules.scores(rows)}
    paper = by_rule["smaller T (the paper)"]  # chooses the primal three times
    assert paper["right, seconds"] == pytest.approx(2 / 3)
    assert paper["mean regret, seconds"] == pytest.approx(4 ** (1 / 3))
    assert paper["max, seconds"] == 4
    assert by_rule["auto, the side it starts on"]["max, seconds"] == 2
    assert by_rule["the same and its own cost"]["max, seconds"] == 2.5
    assert by_rule["auto, as it ran"]["mean regret, seconds"] == pytest.approx((1 / 2) ** (1 / 3))
    assert by_rule[rules.FOLLOWED]["max, seconds"] == 2
    assert by_rule["dual if n < d (scikit-learn)"]["right, passes"] == pytest.approx(2 / 3)
    assert by_rule["dual if n ≥ d (Snap ML)"]["right, passes"] == pytest.approx(2 / 3)


def test_a_side_that_did_not_arrive_is_never_the_right_choice():
    rows = [row(1, 2, arrived=(False, True)), row(1, 2, arrived=(False, False))]
    assert rules.decided(rows) == rows[:1]
    assert rules.regrets(rows, lambda row: "primal", "seconds") == [rules.PATIENCE]
    assert rules.regrets(rows, lambda row: "dual", "paper passes") == [1]


def test_the_study_measures_both_sides_to_the_same_gap():
    item = next(prediction.generated())
    (line,) = prediction.study(iter([item]), (1.0,), ("squared",), ("rows",), max_time=5.0)
    problem = prediction.problem_of(prediction.prepared(item, "rows"), "squared", 1.0)
    assert np.allclose(problem.examples.squared_norms, 1)
    assert line["T_P/T_D"] == pytest.approx(advise(problem).ratio)
    assert line["primal arrived"] and line["dual arrived"] and line["auto arrived"]
    assert min(line[f"{who} seconds"] for who in ("primal", "dual", "auto", "advise")) > 0


# --- everything at once ---------------------------------------------------------------------------


class Page(HTMLParser):
    """Checks that tags close, and keeps what the page links to."""

    EMPTY = {"meta", "br", "img", "link"}

    def __init__(self):
        super().__init__()
        self.open, self.links, self.tags = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in self.EMPTY:
            self.open.append(tag)
        if tag == "a":
            self.links.append(dict(attrs).get("href"))

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@needs_data
def test_a_quick_run_writes_everything(tmp_path, real_data):
    told = []
    items = reproduce(quick=True, out=tmp_path, progress=told.append)
    assert [item.name for item in items] == list(ITEMS)
    assert len(told) == 2 * len(items) + 1
    assert "quick run" in told[-1] and "is expected" in told[-1]
    judged = {claim.paper: claim.agrees for item in items for claim in item.claims}
    assert all(judged[said] is None for said in judged if said.startswith("news: "))
    for item in items:
        assert item.claims and any(claim.agrees is not None for claim in item.claims)
        for name in item.figures:
            assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
            assert "<svg" in (tmp_path / f"{name}.svg").read_text(encoding="utf-8")
        for name, rows in item.tables.items():
            with (tmp_path / f"{name}.csv").open(encoding="utf-8", newline="") as file:
                assert len(list(csv.DictReader(file))) == len(rows) > 0
    by_name = {item.name: item for item in items}
    assert by_name["fig1"].agrees and by_name["fig2_general"].agrees and by_name["table1"].agrees
    assert by_name["fig3"].claims[0].agrees

    page = Page()
    page.feed((tmp_path / "index.html").read_text(encoding="utf-8"))
    assert not page.open
    assert page.tags.count("svg") == sum(len(item.figures) for item in items)
    assert "script" not in page.tags and "link" not in page.tags
    for link in page.links:
        assert link.startswith(("#", "https://arxiv.org/")) or (tmp_path / link).is_file()


def test_some_items_can_be_chosen_by_the_beginning_of_their_names(tmp_path):
    (item,) = reproduce(["fig1"], quick=True, out=tmp_path / "new" / "folder")
    assert item.name == "fig1"
    assert (tmp_path / "new" / "folder" / "index.html").is_file()
    for wrong in (["figure1"], [""]):
        with pytest.raises(ValueError, match="items must be among all, fig1, fig2_general"):
            reproduce(wrong, out=tmp_path)


def test_the_page_escapes_what_it_is_given():
    claim = Claim("<script>alert(1)</script>", "a & b", None)
    item = Item("x", "<b>title</b>", [claim], tables={"x": [{"<i>": "<u>"}]}, shown=("x",))
    text = render([Section(item, {}, 1.0)], quick=False)
    for tag in ("<script>", "<i>", "<u>", "<b>title"):
        assert tag not in text
    assert "a &amp; b" in text and "not judged" in text


def test_the_verdict_counts_claims():
    def item(*agrees):
        return Item("x", "x", [Claim("", "", agree) for agree in agrees])

    assert verdict(item(True, True)) == "agrees"
    assert verdict(item(True, False, None)) == "1 of 2 of its claims held here, 1 not judged"
    assert verdict(item(None)) == "not judged"
    assert item(True, None).agrees is True and item(None).agrees is None


def test_a_missing_extra_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr("primaldual.report.drawing.find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install '\.\[all\]'"):
        reproduce(["fig1"], quick=True, out=tmp_path)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"), (0.49, "0.49"), (27.43, "27.4"), (0.00102, "0.00102"), (1999.0, "1 999"),
        (1.96e9, "1.96e9"), (float("inf"), "∞"), (1e-7, "1.00e-7"), (0.0123, "0.0123"),
    ],
)  # fmt: skip
def test_numbers_are_short(value, text):
    assert number(value).replace("\N{NARROW NO-BREAK SPACE}", " ") == text


PUBLIC = {
    "primaldual",
    "primaldual.binary",
    "primaldual.datasets",
    "primaldual.methods",
    "primaldual.report.drawing",
    "primaldual.report.template",
    "primaldual.wording",
    "primaldual.writing",
}


def test_experiments_use_public_names_only():
    folder = Path(fig2_general.__file__).parent
    for path in folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("primaldual"):
                parts = [*(node.module or "").split("."), *(alias.name for alias in node.names)]
                assert not any(part.startswith("_") for part in parts), path
                assert node.module in PUBLIC, path
            if isinstance(node, ast.ImportFrom):
                assert node.level <= 1, path
