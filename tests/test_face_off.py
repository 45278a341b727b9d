"""faceoff: several methods on one problem, to the same certified gap."""

from __future__ import annotations

import numpy as np
import pytest
from oracles import random_problem

from primaldual import Problem, advise, datasets, faceoff, solve
from primaldual.methods import METHODS


def worst_case(side: str) -> Problem:
    X = datasets.normalize_average(datasets.worst_case(60, 60, side))
    return Problem(X, datasets.random_labels(60, seed=0), loss="logistic", lam=1 / 60)


@pytest.mark.parametrize(("loser", "winner"), [("dual", "primal"), ("primal", "dual")])
def test_worst_case_of_one_side_is_won_by_the_other(loser, winner):
    outcome = faceoff(worst_case(loser), tol=1e-6, max_passes=500)
    assert outcome.winner == winner
    assert outcome.advice.theory.side == winner
    assert outcome.predicted
    assert outcome.fastest == {"primal": "nsync", "dual": "quartz"}[winner]


def test_every_method_runs_once_per_seed():
    problem = random_problem(seed=0)
    outcome = faceoff(problem, seeds=(3, 4, 5), tol=1e-5)
    assert list(outcome.results) == ["nsync", "quartz"]
    for name, runs in outcome.results.items():
        assert len(runs) == 3
        assert all(run.method == name and run.converged for run in runs)
        assert len({run.w.tobytes() for run in runs}) == 3
        assert outcome.passes(name) == np.mean([run.passes for run in runs])
        assert outcome.seconds(name) == np.mean([run.seconds for run in runs])


def test_run_of_a_face_off_is_the_solve_of_that_name_and_seed():
    problem = random_problem(seed=0)
    outcome = faceoff(problem, seeds=(7,), tol=1e-5)
    for name in ("nsync", "quartz"):
        alone = solve(problem, name, tol=1e-5, seed=7)
        assert outcome.results[name][0].w.tobytes() == alone.w.tobytes()


def test_table_has_one_line_per_method_and_marks_the_fastest():
    outcome = faceoff(worst_case("dual"), tol=1e-3, max_passes=2000)
    head, *lines = str(outcome).splitlines()
    assert head.split() == ["side", "predicted", "passes", "seconds", "gap"]
    assert [line.split()[:2] for line in lines] == [["nsync", "primal"], ["quartz", "dual"]]
    assert lines[0].endswith("← fewest passes")
    assert "←" not in lines[1]


def test_side_that_does_not_arrive_loses_and_counts_as_infinite():
    outcome = faceoff(worst_case("primal"), tol=1e-6, max_passes=20)
    assert not outcome.results["nsync"][0].converged
    assert outcome.passes("nsync") == np.inf
    assert outcome.seconds("nsync") == np.inf
    assert outcome.winner == "dual"


def test_smaller_gap_wins_where_no_method_converges():
    outcome = faceoff(random_problem(seed=0), tol=0, max_passes=3)
    gaps = {name: runs[0].certificate.relative_gap for name, runs in outcome.results.items()}
    assert outcome.fastest == min(gaps, key=gaps.get)


def test_table_can_be_printed_for_every_tol_that_solve_accepts():
    for tol in (0, 1.0, 5.0):
        outcome = faceoff(random_problem(seed=0), tol=tol, max_passes=3)
        assert len(str(outcome).splitlines()) == 3


def test_the_engine_can_take_part_and_leaves_the_verdict_to_the_sides():
    outcome = faceoff(random_problem(seed=0), ["nsync", "quartz", "auto"], tol=1e-5)
    assert outcome.rivals == ["nsync", "quartz"]
    assert outcome.winner == outcome.side_of(outcome.fastest_of(["nsync", "quartz"]))
    ended = outcome.results["auto"][0].trace.methods[-1]
    assert outcome.side_of("auto") == METHODS[ended].side
    assert np.isinf(outcome.predictions["auto"].total)
    assert faceoff(random_problem(seed=0), ["auto"]).rivals == ["auto"]


def test_no_contender_that_did_not_converge_is_marked():
    assert "fewest passes" not in str(faceoff(random_problem(seed=0), max_passes=1, tol=1e-12))


def test_callback_is_told_who_is_running():
    seen = []
    outcome = faceoff(
        random_problem(seed=0),
        tol=1e-4,
        callback=lambda name, progress: seen.append((name, progress)),
    )
    for name, runs in outcome.results.items():
        assert [progress for who, progress in seen if who == name] == runs[0].trace.entries


def test_callback_can_stop_one_contender():
    outcome = faceoff(
        random_problem(seed=0), tol=1e-8, callback=lambda name, progress: name == "nsync"
    )
    assert outcome.results["nsync"][0].passes == 0
    assert outcome.results["quartz"][0].converged


def test_advice_is_that_of_the_problem():
    problem = random_problem(seed=0)
    assert faceoff(problem, tol=1e-2).advice == advise(problem)


def test_one_sampling_may_be_asked_for_on_both_sides():
    outcome = faceoff(random_problem(seed=0), sampling="uniform", tol=1e-4)
    assert all(runs[0].converged for runs in outcome.results.values())


def test_predicted_passes_are_those_of_the_sampling_in_use():
    """Uniform sampling has a larger bound than importance sampling on uneven data."""
    problem = worst_case("dual")
    outcome = faceoff(problem, sampling="uniform", tol=1e-2, max_passes=300)
    predicted = float(str(outcome).splitlines()[1].split()[2])
    bound = advise(problem, "uniform").primal.passes(1e-2)
    assert predicted == pytest.approx(bound, rel=1e-2)


@pytest.mark.parametrize("methods", [["no such"], ["nsync", "no such"], []])
def test_unknown_names_are_refused_with_the_known_ones(methods):
    with pytest.raises(ValueError, match=r"methods must be names among .*quartz.*got \["):
        faceoff(random_problem(seed=0), methods=methods)


def test_at_least_one_seed_is_needed():
    with pytest.raises(ValueError, match="seeds must hold at least one seed"):
        faceoff(random_problem(seed=0), seeds=())
