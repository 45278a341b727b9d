"""Checkpoints are data: forged files end in a clear error and reach no code."""

from __future__ import annotations

import os
import sys

import bounded
import forge_checkpoints as forge
import numpy as np
import pytest
from forge_checkpoints import RUNS, left_behind

from primaldual import checkpoints, container
from primaldual.checkpoints import CheckpointError, checkpointing
from primaldual.checkpoints.names import Names
from primaldual.checkpoints.streams import Stream, require_usable

CODE = ("os:system", "builtins:eval", "primaldual.checkpoints:os.popen", "primaldual.solver:no")


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda handle: None)
    return tmp_path / "run.checkpoint"


@pytest.fixture
def with_data(monkeypatch):
    """Forgeries by someone who has the data and can make a seal that fits."""
    monkeypatch.setattr(checkpoints.hmac, "compare_digest", lambda there, here: True)


def part(header, name):
    """A part of the last solve in the file, and the list that holds it."""
    names, values = header["solves"][-1]["tree"]["dict"]
    return values, names.index(name)


def change(place, how, name="drawn"):
    """A checkpoint whose content is changed, with a checksum that fits; the run it is from."""
    run, saves = RUNS[name]
    header, arrays = left_behind(run, saves, place)
    how(header, arrays)
    container.write(place, header, arrays)
    return run


def refuse(place, run, message):
    with pytest.raises(CheckpointError, match=message), checkpointing(place):
        run()
    assert place.exists()


def test_a_change_by_someone_without_the_data_is_refused(place):
    def nudge(header, arrays):
        array = arrays["0.0"]
        array[len(array) // 2] ^= 1  # one bit of the state

    refuse(place, change(place, nudge), "changed after it was saved")


@pytest.mark.parametrize("name", CODE)
@pytest.mark.parametrize(
    "node",
    [
        lambda name: {"object": name, "fields": {}, "id": 10**6},
        lambda name: {"name": name},
        lambda name: {"tuple": [1], "of": name, "id": 10**6},
        lambda name: {"enum": name, "member": "a"},
    ],
    ids=["object", "name", "tuple", "enum"],
)
def test_a_file_cannot_name_what_is_not_in_the_table(name, node, place, with_data):
    def name_code(header, arrays):
        values, at = part(header, "state")
        values[at] = node(name)

    refuse(place, change(place, name_code), f"{name} is not known.*Delete the file")


def test_no_attribute_of_the_data_can_be_asked_for(place, with_data):
    def ask(header, arrays):
        values, at = part(header, "state")
        values[at] = {"given": "problem.y.tofile"}

    refuse(place, change(place, ask), "'problem.y.tofile' is not known")


def test_a_state_with_other_fields_is_refused(place, with_data):
    def remove(header, arrays):
        values, at = part(header, "state")
        del values[at]["fields"]["w"]

    refuse(place, change(place, remove), "other code.*other fields.*Delete the file")


def test_a_state_that_does_not_fit_together_is_refused(place, with_data):
    def stretch(header, arrays):
        values, at = part(header, "state")
        values[at]["fields"]["w"]["array"]["shape"] = [10**6]

    refuse(place, change(place, stretch), "do not fit together")


def test_a_method_cannot_be_given_other_code(place, with_data):
    def shadow(header, arrays):
        values, at = part(header, "method")
        values[at]["fields"]["advance"] = {"name": "primaldual.methods.nsync:State"}

    refuse(place, change(place, shadow), "advance of .* is code, not data")


def test_the_problem_cannot_be_exchanged(place, with_data):
    def exchange(header, arrays):
        values, at = part(header, "problem")
        names, inside = values[at]["dict"]
        inside[names.index("attributes")] = {"id": 10**6, "dict": [["lam"], [1e9]]}

    refuse(place, change(place, exchange), "lam is not a solve's to change")


def test_a_certificate_in_a_file_is_computed_again(place, with_data):
    """A finished solve whose gap is written smaller than it is."""

    def claim(header, arrays):
        names, values = header["solves"][0]["tree"]["dict"]
        proof = values[names.index("result")]["fields"]["certificate"]
        proof["tuple"][:4] = [0.1, 0.1, 0.0, 0.0]

    refuse(place, change(place, claim, "two"), "certificate does not hold")


@pytest.mark.parametrize("name", ["certificate", "status", "trace", "w"])
def test_a_result_with_something_else_in_its_place_is_refused(name, place, with_data):
    def exchange(header, arrays):
        names, values = header["solves"][0]["tree"]["dict"]
        values[names.index("result")]["fields"][name] = {"tuple": [1.0, 2.0], "id": 10**6}

    refuse(place, change(place, exchange, "two"), "do not fit")


def test_generators_that_would_take_forever_are_refused():
    stream = checkpoints.stream_of(np.random.default_rng(0))
    require_usable(stream)
    for change in ({"pool_size": 10**12}, {"children": 10**15}, {"kind": "os"}):
        with pytest.raises(ValueError, match="generator is described wrongly"):
            require_usable(stream._replace(**change))
    with pytest.raises(ValueError, match="generator is described wrongly"):
        require_usable(tuple(stream))
    assert Names().called("primaldual.checkpoints.streams:Stream") is Stream


def test_control_characters_of_a_file_do_not_reach_the_terminal(place):
    def paint(header, arrays):
        header["solves"][0]["parts"]["lam"] = "\x1b[2J"

    run = change(place, paint)
    with pytest.raises(CheckpointError) as caught, checkpointing(place):
        run()
    assert "\x1b" not in str(caught.value) and r"\x1b[2J" in str(caught.value)


@pytest.mark.parametrize(
    "solves", [None, {}, [1], [{"parts": {}}], [{"parts": 1, "is_finished": 2}]], ids=str
)
def test_a_list_of_solves_that_is_none_is_refused(solves, place):
    def replace(header, arrays):
        header["solves"] = solves

    change(place, replace)
    with pytest.raises(CheckpointError, match="does not list its solves"), checkpointing(place):
        raise AssertionError("the block must not begin")


def test_no_class_that_acts_when_it_is_deleted_can_be_named():
    for kind in Names().table.values():
        assert not hasattr(kind, "__del__")
        assert kind.__module__.startswith("primaldual.")


def test_a_sample_of_forged_files_is_refused_or_equal():
    """In a process of its own, which watches for forbidden events; the whole is a script."""
    env = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = bounded.run([sys.executable, forge.__file__, "150"], env=env)
    assert done.returncode == 0, done.stderr
    counts = dict.fromkeys(("refused", "equal", "true"), 0)
    for line in done.stdout.splitlines():
        counts[line.split()[1]] += int(line.split()[2])
    assert sum(counts.values()) == 150 and counts["refused"] > 75
