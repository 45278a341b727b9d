"""What changing a constant costs can be measured."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from primaldual.methods.engine import primal_cd

ROOT = Path(__file__).parents[2]


@pytest.fixture
def constants(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(ROOT), *sys.path])
    from benchmarks import constants

    return constants


def test_every_constant_is_there_and_other_values_are_tried(constants):
    for constant in constants.CONSTANTS:
        now = getattr(constant.module, constant.name)
        assert now not in constant.others and len(constant.others) == 2


def test_another_value_counts_while_it_is_tried_and_no_longer(constants):
    inner = next(one for one in constants.CONSTANTS if one.name == "INNER_EPOCHS")
    problem = next(constants.problems())
    assert constants.ratios(inner, primal_cd.INNER_EPOCHS, [problem], 1) == [1.0]
    assert constants.ratios(inner, 5, [problem], 1) != [1.0]
    assert primal_cd.INNER_EPOCHS == 2
