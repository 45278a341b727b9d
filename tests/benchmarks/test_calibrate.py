"""The costs by which the engine chooses can be measured."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from primaldual.engine import machine

ROOT = Path(__file__).parents[2]


@pytest.fixture
def calibrate(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(ROOT), *sys.path])
    from benchmarks import calibrate

    return calibrate


def test_every_number_of_the_machine_has_a_measurement(calibrate):
    names = [name for _, fields in calibrate.GROUPS for name in fields]
    assert sorted(names) == sorted(machine.Machine._fields)


def test_measured_numbers_are_positive_and_written_where_the_engine_reads_them(calibrate, tmp_path):
    found = calibrate.spectra({})
    assert set(found) == {"eigen_call", "eigen_entry", "eigen_cube"}
    assert all(value > 0 for value in found.values())
    place = tmp_path / "machine.py"
    shutil.copy(machine.__file__, place)
    calibrate.write(found, place)
    written = {}
    exec(place.read_text(), written)
    for name, value in machine.MACHINE._asdict().items():
        expected = calibrate.rounded(found[name]) if name in found else value
        assert getattr(written["MACHINE"], name) == expected
    with pytest.raises(ValueError, match="has no number"):
        calibrate.write({"unknown": 1.0}, place)


def test_other_costs_change_the_choice(calibrate):
    task = calibrate.Task("wide", *wide(), "squared", 1.0)
    cheap_blas = machine.MACHINE._replace(flop=1e-9, step=1.0, entry=1e-9, gram_call=1.0)
    dear_blas = machine.MACHINE._replace(flop=10.0)
    assert calibrate.started_with(task, cheap_blas) == "gram_newton"
    assert calibrate.started_with(task, dear_blas) == "dual_cd"


def wide():
    import numpy as np

    X = np.random.default_rng(0).standard_normal((100, 5000))
    return X, np.sign(X[:, 0])


def test_products_are_timed_as_compiled_code_makes_them(calibrate):
    p = calibrate.problem(2000, 500, 5)
    assert calibrate.product(p) < 300 * p.matrix.nnz  # nanoseconds; interpreted, ten times that
