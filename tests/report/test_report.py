"""The report: truthful words, the same numbers everywhere, safe HTML, plots in a notebook."""

from __future__ import annotations

import dataclasses
import json
import math
import re
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="the extra 'plots' is not installed")
pytest.importorskip("jinja2", reason="the extra 'plots' is not installed")

from oracles import random_problem

from primaldual import LOSSES, METHODS, FaceOff, Problem, Status, advise, datasets, faceoff, solve
from primaldual.report import numbers, page
from primaldual.report.drawing import DUAL, INK, PRIMAL, THIRD, look, new_figure, svg
from primaldual.report.facts import coefficient_error, predicted_passes, verdict, worst
from primaldual.report.figures import work_figure
from primaldual.wording import level, number, power_of_ten, times

HOSTILE = "<img src=http://x.invalid/ onerror=alert(1)>\"'"


def worst_case(loser: str, n: int = 60) -> Problem:
    X = datasets.normalize_average(datasets.worst_case(n, n, loser))
    return Problem(X, datasets.random_labels(n, seed=0), loss="logistic", lam=1 / n)


def made_up(outcome: FaceOff, **changes: dict[str, float]) -> FaceOff:
    """The outcome with other passes or seconds of some contenders: ``nsync={"passes": 3}``."""
    results = dict(outcome.results)
    for name, change in changes.items():
        run = results[name][0]
        status = change.pop("status", run.status)
        trace = dataclasses.replace(run.trace, entries=[run.trace.entries[-1]._replace(**change)])
        results[name] = [dataclasses.replace(run, trace=trace, status=status)]
    return dataclasses.replace(outcome, results=results)


@pytest.fixture(scope="module")
def outcome() -> FaceOff:
    """Primal wins, as predicted."""
    return faceoff(worst_case("dual"), tol=1e-6, max_passes=500)


@pytest.fixture(scope="module")
def text(outcome) -> str:
    return page(outcome, title="worst case", command="primaldual faceoff --html report.html")


class Page(HTMLParser):
    """The page's structure, with a check that tags close."""

    EMPTY = {"meta", "br", "img", "link"}

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open, self.tags, self.words, self.told = [], [], [], {}
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.tags.append((tag, attributes))
        if tag not in self.EMPTY:
            self.open.append(tag)
        if "data-key" in attributes:
            self.told[attributes["data-key"]] = attributes["value"]

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    def named(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


def entry(facts, key):
    for part in key.split("."):
        facts = facts[int(part) if part.isdigit() else part]
    return facts


# --- the verdict ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("loser", "winner"), [("dual", "primal"), ("primal", "dual")])
def test_the_winner_comes_first_with_its_factor(loser, winner):
    outcome = faceoff(worst_case(loser), tol=1e-6, max_passes=5000)
    assert all(runs[0].converged for runs in outcome.results.values())
    said = verdict(outcome)
    passes = outcome.passes("nsync") / outcome.passes("quartz")
    factor = max(passes, 1 / passes)
    assert said.headline == f"{winner.capitalize()}, {times(factor)} less work"
    assert said.winner == winner and said.prediction == "held"
    assert said.passes.value == passes and said.passes.relation == "="
    assert outcome.advice.theory.reason in said.sentences[-1]
    assert said.sentences[-1].endswith("The prediction held.")


def test_a_failed_prediction_is_called_so(outcome):
    changed = made_up(
        outcome,
        nsync={"passes": 40.0, "status": Status.CONVERGED},
        quartz={"passes": 20.0, "status": Status.CONVERGED},
    )
    said = verdict(changed)
    assert changed.advice.theory.side == "primal"
    assert said.headline == "Dual, 2.0× less work"
    assert said.prediction == "failed"
    assert "Theory names the primal" in said.sentences[-1]
    assert "The prediction failed: T bounds the work from above" in said.sentences[-1]


def test_a_side_that_did_not_arrive_gives_only_a_bound():
    outcome = faceoff(worst_case("primal"), tol=1e-6, max_passes=20)
    nsync, quartz = (outcome.results[name][0] for name in ("nsync", "quartz"))
    assert quartz.converged and not nsync.converged
    said = verdict(outcome)
    assert said.headline == f"Dual, more than {times(nsync.passes / quartz.passes)} less work"
    assert said.passes.relation == ">"
    assert "nsync (primal) did not: its gap was" in said.sentences[0]
    assert Status.MAX_PASSES.value in said.sentences[0]


def test_a_bound_that_shows_nothing_is_not_told():
    outcome = faceoff(worst_case("primal"), tol=1e-6, max_passes=20)
    changed = made_up(outcome, nsync={"passes": 0.5, "status": Status.MAX_TIME})
    said = verdict(changed)
    assert said.headline == "Dual: the primal side did not arrive"
    assert said.passes.value is None and said.passes.relation is None
    assert numbers(changed)["verdict"]["passes_ratio"] is None


def test_no_method_converged():
    outcome = faceoff(worst_case("dual"), tol=1e-9, max_passes=1)
    said = verdict(outcome)
    assert said.headline == "No method converged"
    assert said.winner is None and said.prediction == "undecided"
    assert said.passes.value is None
    assert f"{outcome.fastest} (" in said.sentences[0] and "came closest" in said.sentences[0]
    assert said.sentences[-1].endswith("These runs do not decide whether that is so.")


def test_the_engine_alone_may_converge_and_a_fit_takes_it():
    outcome = faceoff(worst_case("dual"), ["nsync", "quartz", "auto"], tol=1e-9, max_passes=40)
    assert not outcome.results["quartz"][0].converged
    said = verdict(outcome)
    arrived = outcome.results["auto"][0].converged
    assert said.headline == ("Only the engine converged" if arrived else "No method converged")
    assert said.sentences[-1].startswith("A fit takes the engine, here ")
    assert numbers(outcome)["contenders"]["auto"]["predicted_passes"] is None


def test_the_axis_of_the_bars_ends_with_the_longest_bar():
    """A bound of 1e13 passes beside a few that were made."""
    X = 1e6 * np.random.default_rng(0).standard_normal((30, 4))
    problem = Problem(X, np.sign(X[:, 0]), loss="logistic", lam=1e-6)
    outcome = faceoff(problem, ["nsync", "quartz"], tol=1e-6, max_passes=5)
    longest = max(predicted_passes(outcome, name) for name in outcome.results)
    assert longest > 1e9
    axes = work_figure(outcome).axes[0]
    assert max(axes.get_xticks()) <= longest


def test_contenders_of_one_side_do_not_decide_between_the_sides():
    outcome = faceoff(worst_case("dual"), ["nsync", "primal_cd"], tol=1e-6, max_passes=500)
    said = verdict(outcome)
    assert said.headline.startswith(f"{outcome.fastest}: ")
    assert said.winner is None and said.prediction == "undecided"
    assert "the fewest of 2 contenders" in said.sentences[0]
    assert "the two sides were not compared" in said.sentences[0]


def test_the_prediction_is_judged_by_the_two_methods_it_is_about(outcome):
    """A third contender may win for the other side without making the prediction wrong."""
    third = faceoff(worst_case("dual"), ["nsync", "quartz", "dual_cd"], tol=1e-6, max_passes=500)
    changed = made_up(
        third,
        nsync={"passes": 20.0, "status": Status.CONVERGED},
        quartz={"passes": 40.0, "status": Status.CONVERGED},
        dual_cd={"passes": 10.0, "status": Status.CONVERGED},
    )
    said = verdict(changed)
    assert said.headline == "Dual, 2.0× less work" and said.winner == "dual"
    assert said.prediction == "held"
    assert "between nsync and quartz" in said.sentences[-1]


def test_a_close_call_and_a_tie_are_called_so(outcome):
    def headline(primal, dual):
        arrived = {"status": Status.CONVERGED}
        return verdict(
            made_up(
                outcome, nsync={"passes": primal, **arrived}, quartz={"passes": dual, **arrived}
            )
        ).headline

    assert headline(10.0, 10.5) == "A close call: primal by a hair"
    assert headline(10.0, 10.0) == "A tie"
    assert headline(0.0, 0.0) == "Both sides are there at the start"
    assert headline(0.0, 3.0) == "Primal: there at the start"


def test_the_clock_is_heard_when_it_disagrees(outcome):
    def sentences(primal, dual):
        arrived = {"status": Status.CONVERGED}
        changed = made_up(
            outcome,
            nsync={"passes": 5.0, "seconds": primal, **arrived},
            quartz={"passes": 10.0, "seconds": dual, **arrived},
        )
        return verdict(changed).sentences

    assert "quartz (dual) was 3.0× faster" in sentences(3.0, 1.0)[1]
    assert not any("By the clock" in sentence for sentence in sentences(1.0, 3.0))


# --- the numbers ----------------------------------------------------------------------------------


def test_numbers_are_those_of_the_outcome(outcome):
    facts = numbers(outcome)
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts
    for name, runs in outcome.results.items():
        told, proof = facts["contenders"][name], runs[0].certificate
        assert told["passes"] == runs[0].passes and told["seconds"] == runs[0].seconds
        assert (told["primal"], told["dual"], told["gap"]) == (proof.primal, proof.dual, proof.gap)
        assert told["predicted_passes"] == outcome.predictions[name].passes(outcome.tol)
        assert told["arrived"] == runs[0].converged and told["side"] == METHODS[name].side
    assert facts["problem"]["nonzeros"] == 2 * 60 - 1
    assert facts["advice"] == outcome.advice.numbers()
    assert facts["settings"]["seeds"] == [0]
    w = outcome.results[outcome.fastest][0].w
    top = facts["coefficients"]["largest"]
    assert [row["value"] for row in top] == [w[row["feature"]] for row in top]
    assert sorted(np.abs(w))[-len(top) :][::-1] == [abs(row["value"]) for row in top]


def test_of_several_seeds_the_worst_certificate_is_told():
    outcome = faceoff(random_problem(seed=0), tol=1e-5, seeds=(0, 1, 2))
    for name, runs in outcome.results.items():
        gaps = [run.certificate.relative_gap for run in runs]
        assert numbers(outcome)["contenders"][name]["relative_gap"] == max(gaps)
        assert worst(runs).certificate.relative_gap == max(gaps)


@pytest.mark.parametrize("tol", [0.0, 5.0])
def test_every_tol_has_finite_numbers_and_a_page(tol):
    outcome = faceoff(random_problem(seed=0), tol=tol, max_passes=3)
    json.dumps(numbers(outcome), allow_nan=False)
    Page(page(outcome))


def test_the_certificate_bounds_every_coefficient():
    """√(2 gap/λ), against the solution to fifteen digits, with and without an intercept."""
    for intercept in (False, True):
        problem = random_problem(seed=3, n=40, d=6, lam=0.05, fit_intercept=intercept)
        best = solve(problem, "newton", tol=1e-15)
        rough = solve(problem, "primal_cd", tol=1e-2, seed=0)
        distance = np.linalg.norm(rough.w - best.w)
        assert 0 < distance <= coefficient_error(rough)


# --- the page -------------------------------------------------------------------------------------


def test_the_page_tells_the_numbers(outcome, text):
    facts = numbers(outcome)
    told = Page(text).told
    assert {"verdict.winner", "tol", "advice.theory.ratio", "problem.nonzeros"} <= set(told)
    assert {f"contenders.nsync.{key}" for key in ("passes", "seconds", "gap", "primal")} <= set(
        told
    )
    for key, value in told.items():
        expected = entry(facts, key)
        if isinstance(expected, float | int):
            assert float(value) == expected, key
        else:
            assert value == (expected or ""), key


def test_the_page_has_its_parts(outcome, text):
    parsed = Page(text)
    words = " ".join(" ".join(parsed.words).split())
    said = verdict(outcome)
    assert words.index(said.headline) < words.index("The data")
    for sentence in said.sentences:
        assert " ".join(sentence.split()) in words.replace("\N{NON-BREAKING HYPHEN}", "-")
    assert "primaldual faceoff --html report.html" in words
    assert "primaldual 0" in words and "numpy 2" in words
    assert len(parsed.named("svg")) == 5 + len(numbers(outcome)["coefficients"]["largest"])


def test_the_page_is_accessible(text):
    parsed = Page(text)
    levels = [int(tag[1]) for tag, _ in parsed.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1 and levels.count(1) == 1 and max(np.diff(levels)) <= 1
    for attributes in parsed.named("svg"):
        assert attributes.get("aria-label") or attributes.get("aria-hidden") == "true"
    assert all(attributes.get("scope") in ("col", "row") for attributes in parsed.named("th"))
    assert parsed.named("html")[0]["lang"] == "en"
    ids = [attributes["id"] for _, attributes in parsed.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    pointed = re.findall(r'(?:url\(#|href="#|aria-labelledby=")([\w.-]+)', text)
    assert set(pointed) <= set(ids)


def test_the_page_needs_nothing_and_runs_nothing(text):
    parsed = Page(text)
    tags = {tag for tag, _ in parsed.tags}
    assert not tags & {"script", "iframe", "object", "embed", "img", "form", "a", "base"}
    for tag, attributes in parsed.tags:
        assert "style" not in attributes, "the policy would refuse it"
        assert not any(name.startswith("on") for name in attributes)
        for name in ("src", "href"):
            assert attributes.get(name, "#").startswith(("#", "data:")), (tag, attributes)
    policy = next(a["content"] for a in parsed.named("meta") if "http-equiv" in a)
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy and "http" not in policy


def test_what_comes_from_data_is_escaped(outcome):
    names = [f"{HOSTILE}{k}" for k in range(outcome.problem.d)]
    text = page(outcome, feature_names=names, title=HOSTILE, command=f"faceoff {HOSTILE}")
    parsed = Page(text)
    assert "img" not in {tag for tag, _ in parsed.tags}
    assert HOSTILE in parsed.words and f"faceoff {HOSTILE}" in parsed.words
    assert any(word.startswith(HOSTILE) and word != HOSTILE for word in parsed.words)


def test_a_name_for_every_feature_is_asked_for(outcome):
    with pytest.raises(ValueError, match="one name for each of the 60 features, got 2"):
        page(outcome, feature_names=["a", "b"])


def test_very_long_names_are_cut(outcome):
    words = Page(page(outcome, feature_names=["x" * 5000] * outcome.problem.d)).words
    assert max(len(word) for word in words if word.startswith("xx")) == 120


def test_without_a_command_the_call_is_told(outcome):
    words = "".join(Page(page(outcome)).words)
    call = re.search(r"outcome = (faceoff\(.*\))", words)[1]
    again = eval(call, {"faceoff": faceoff, "problem": outcome.problem})
    for name in outcome.results:
        assert again.results[name][0].w.tobytes() == outcome.results[name][0].w.tobytes()
    made = re.search(r"problem = (Problem\(.*\))", words)[1]
    problem = eval(made, {"Problem": Problem, "X": np.eye(2), "y": [1, -1]})
    assert problem.lam == outcome.problem.lam
    assert type(problem.loss) is type(outcome.problem.loss)


@pytest.mark.parametrize("loss", ["huber", "squared"])
def test_the_call_names_the_loss_with_its_parameters(loss):
    outcome = faceoff(random_problem(seed=0, loss=LOSSES[loss]()), tol=1e-3, max_passes=5)
    made = re.search(r"problem = (Problem\(.*\))", "".join(Page(page(outcome)).words))[1]
    scope = {"Problem": Problem, "X": np.eye(2), "y": [1, -1]}
    scope |= {kind.__name__: kind for kind in LOSSES.values()}
    again = eval(made, scope).loss
    assert type(again) is type(outcome.problem.loss) and again == outcome.problem.loss


@pytest.mark.parametrize(
    "problem",
    [
        Problem(np.zeros((4, 3)), [1, -1, 1, -1], lam=0.1),
        Problem(np.ones((2, 1)), [1, -1], lam=0.1),
        random_problem(seed=0, fit_intercept=True, loss="squared"),
    ],
    ids=["nothing", "one feature", "intercept"],
)
def test_odd_data_has_a_page(problem):
    outcome = faceoff(problem, ["newton", "dual_cd"], tol=1e-6, max_passes=20)
    Page(page(outcome))
    json.dumps(numbers(outcome), allow_nan=False)


def test_many_contenders_have_a_page():
    names = [name for name in METHODS if name not in ("hydra", "hydra2", "cocoa")]
    outcome = faceoff(random_problem(seed=0), names, tol=1e-3, max_passes=3)
    told = Page(page(outcome)).told
    assert all(f"contenders.{name}.passes" in told for name in names)


# --- drawings -------------------------------------------------------------------------------------


def test_a_drawing_takes_the_colour_of_the_text_and_has_ids_of_its_own():
    def drawing(label):
        with look():
            figure = new_figure(3, 2)
            axes = figure.subplots()
            axes.plot([0, 1], [0, 1], color=PRIMAL, marker="o")
            axes.fill_between([0, 1], [1, 1], hatch="//", facecolor="none", edgecolor=DUAL)
        return svg(figure, label)

    one, other = drawing("one & only"), drawing("other")
    assert INK not in one and "currentColor" in one and PRIMAL in one
    assert "style" not in one and "metadata" not in one and "<!--" not in one
    assert 'aria-label="one &amp; only"' in one
    ids = [set(re.findall(r'\bid="([^"]+)"', text)) for text in (one, other)]
    assert ids[0] and not ids[0] & ids[1]
    assert set(re.findall(r"url\(#([^)]+)\)|href=\"#([^\"]+)\"", one)) <= {
        pair for name in ids[0] for pair in ((name, ""), ("", name))
    }
    assert drawing("other") == other, "the same figure gives the same text"


def test_advice_result_and_faceoff_show_themselves_in_a_notebook():
    problem = random_problem(seed=0, as_sparse=True)
    advice, result, outcome = advise(problem), solve(problem, seed=0), faceoff(problem)
    known = [
        (advice, str(advice.verdict), advice.theory.reason, 3, 2),
        (result, result.status.value, f"{result.certificate.primal:.10g}", 2, 1),
        (outcome, numbers(outcome)["verdict"]["headline"], "nsync", 2, 1),
    ]
    for thing, first, second, panels, tables in known:
        shown = Page(thing._repr_html_())
        assert first in "".join(shown.words) and second in "".join(shown.words)
        assert len(shown.named("svg")) == 1
        assert len(shown.named("table")) == tables
        figure = thing.plot()
        assert len(figure.axes) == panels
        assert figure._repr_html_().startswith("<svg")
    bare = advice.without_data()
    assert bare == advice and len(bare.plot().axes) == 1


def test_curves_begin_before_any_pass_at_a_gap_of_at_most_one():
    outcome = faceoff(random_problem(seed=0))
    for thing in (outcome, outcome.results["quartz"][0]):
        for curve in thing.plot().axes[0].lines[: len(outcome.results)]:
            assert curve.get_xdata()[0] == 0 and 0 < curve.get_ydata()[0] <= 1 + 1e-9


def test_the_curve_has_the_colour_of_the_side():
    class Own(METHODS["quartz"]):
        """A method that is not in the registry."""

    problem = random_problem(seed=0)
    colours = {"nsync": PRIMAL, "quartz": DUAL, Own(): THIRD}
    for method, colour in colours.items():
        curves = solve(problem, method, seed=0).plot().axes[0].lines
        assert [curve.get_color() for curve in curves] == [colour]


def test_without_matplotlib_the_text_is_shown_and_the_extra_named():
    script = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import importlib.util as u; real = u.find_spec\n"
        "u.find_spec = lambda name: None if name in ('matplotlib', 'jinja2') else real(name)\n"
        "import numpy as np\n"
        "from primaldual import Problem, advise, faceoff, solve\n"
        "from primaldual.report import numbers, page\n"
        "problem = Problem(np.eye(3), [1, -1, 1], lam=0.1)\n"
        "outcome = faceoff(problem)\n"
        "for thing in (advise(problem), solve(problem), outcome):\n"
        "    assert '<table>' in thing._repr_html_() and '<svg' not in thing._repr_html_()\n"
        "numbers(outcome)\n"
        "for call in (advise(problem).plot, lambda: page(outcome)):\n"
        "    try:\n"
        "        call()\n"
        "    except ModuleNotFoundError as error:\n"
        "        assert \"pip install '.[all]'\" in str(error)\n"
        "    else:\n"
        "        raise SystemExit('no error')\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)


# --- numbers for people ---------------------------------------------------------------------------


def test_numbers_for_people():
    assert [level(x) for x in (1e-6, 2.5e-7, 0.001, 1e-10)] == ["1e-6", "2.5e-7", "0.001", "1e-10"]
    assert [times(x) for x in (2.04, 99.94, 350.2)] == ["2.0×", "99.9×", "350×"]
    assert [power_of_ten(k) for k in (-3, 0, 2, 4, 12)] == ["10⁻³", "1", "100", "10⁴", "10¹²"]
    assert number(math.nan) == "–"  # noqa: RUF001
