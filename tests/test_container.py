"""Containers: what was written comes back, and nothing else is accepted."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import stat
import struct
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from primaldual import container
from primaldual.container import ContainerError

ARRAYS = {
    "matrix": np.arange(6.0).reshape(2, 3),
    "fortran": np.asfortranarray(np.arange(6).reshape(2, 3)),
    "strided": np.arange(10.0)[::3],
    "scalar": np.array(-0.0),
    "empty": np.zeros((0, 5), dtype=np.float32),
    "flags": np.array([True, False]),
    "small": np.array([-1, 2], dtype=np.int8),
    "odd": np.array([np.nan, np.inf, -np.inf, 5e-324]),
    "swapped": np.arange(3, dtype=">f8"),
}
HEADER = {"text": "βλ\udc80", "whole": 2**200, "real": 0.1, "none": None, "list": [1, [2]]}


@pytest.fixture
def written(tmp_path):
    path = tmp_path / "file"
    container.write(path, HEADER, ARRAYS)
    return path


def forged(text, data=b"", version=container.VERSION, length=None):
    """A file with any content and a correct checksum."""
    start = container._START.pack(
        container._MAGIC, version, len(text) if length is None else length
    )
    body = start + text + data
    return body + hashlib.sha256(body).digest()


def described(**entry):
    return json.dumps({"header": {}, "arrays": [entry]}).encode()


# --- there and back -------------------------------------------------------------------------------


def test_header_and_arrays_come_back(written):
    header, arrays = container.read(written)
    assert header == HEADER
    assert list(arrays) == list(ARRAYS)
    for name, array in ARRAYS.items():
        back = arrays[name]
        assert back.shape == array.shape
        assert back.dtype == array.dtype.newbyteorder("=")
        assert back.tobytes() == array.astype(back.dtype).tobytes()
        assert back.flags.c_contiguous and back.flags.writeable


@settings(max_examples=50, deadline=None)
@given(st.floats(allow_nan=False), st.integers(0, 2**64 - 1))
def test_numbers_in_the_header_come_back_bit_for_bit(tmp_path_factory, real, whole):
    path = tmp_path_factory.mktemp("numbers") / "file"
    container.write(path, {"real": real, "whole": whole}, {})
    header, _ = container.read(path)
    assert struct.pack("<d", header["real"]) == struct.pack("<d", real)
    assert header["whole"] == whole


def test_the_same_content_gives_the_same_bytes(tmp_path):
    container.write(tmp_path / "a", HEADER, ARRAYS)
    container.write(tmp_path / "b", HEADER, ARRAYS)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("bad", [np.array(["a"]), np.array([1j]), np.array([None])], ids=str)
def test_other_arrays_are_refused_before_anything_is_written(tmp_path, bad):
    with pytest.raises(TypeError, match=r"array 'x' must be of one of the dtypes .*, got"):
        container.write(tmp_path / "file", {}, {"x": bad})
    assert list(tmp_path.iterdir()) == []


# --- writing is all or nothing --------------------------------------------------------------------


def test_a_failed_write_leaves_the_old_file_and_no_other(written, monkeypatch):
    before = written.read_bytes()

    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=f"No space left on device: '{re.escape(str(written))}'"):
        container.write(written, {"new": True}, {})
    assert written.read_bytes() == before
    assert list(written.parent.iterdir()) == [written]


def test_a_link_stays_a_link(written):
    link = written.with_name("link")
    link.symlink_to(written)
    container.write(link, {"new": True}, {})
    assert link.is_symlink()
    assert container.read(written)[0] == {"new": True}


def test_only_regular_files_are_replaced_or_read(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="regular file"):
        container.write(pipe, {}, {})
    with pytest.raises(ContainerError, match="regular file"):
        container.read(pipe)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    with pytest.raises(ContainerError, match="regular file"):
        container.read(tmp_path)


def test_a_missing_file_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        container.read(tmp_path / "none")
    with pytest.raises(FileNotFoundError):
        container.write(tmp_path / "none" / "file", {}, {})


# --- reading believes nothing ---------------------------------------------------------------------


def test_every_changed_byte_is_noticed(written):
    content = written.read_bytes()
    for at in range(len(content)):
        changed = bytearray(content)
        changed[at] ^= 1 << (at % 8)
        written.write_bytes(changed)
        with pytest.raises(ContainerError):
            container.read(written)


def test_every_cut_and_every_addition_is_noticed(written):
    content = written.read_bytes()
    for length in range(len(content)):
        written.write_bytes(content[:length])
        with pytest.raises(ContainerError):
            container.read(written)
    written.write_bytes(content + b"\0")
    with pytest.raises(ContainerError, match="damaged"):
        container.read(written)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "not a file written by primaldual"),
        (b"1 1:2.0\n" * 9, "not a file written by primaldual"),
        (b"\x80\x04\x95" + b"pickle" * 9, "not a file written by primaldual"),
        (forged(b"{}", version=2), "layout version 2, this primaldual reads version 1"),
        (forged(b"{}", length=2**63), "ends within the header"),
        (forged(b"{}"), "header cannot be read"),
        (forged(b"\xff\xff"), "header cannot be read"),
        (forged(b"[" * 100_000), "header cannot be read"),
        (forged(b'{"header": 1' + b"0" * 5000 + b"}"), "header cannot be read"),
        (forged(b'{"header": [], "arrays": []}'), "header cannot be read"),
        (forged(described(name="x", dtype="|O", shape=[1])), "header cannot be read"),
        (forged(described(name="x", dtype="<f8", shape=[2**40])), "bytes should follow"),
        (forged(described(name="x", dtype="<f8", shape=[2**60])), "cannot be"),
        (forged(described(name="x", dtype="<f8", shape=[0, 2**60])), "cannot be"),
        (forged(described(name="x", dtype="<f8", shape=[0, 2**47, 2**47])), "cannot be"),
        (forged(described(name="x", dtype="<f8", shape=[1] * 99)), "cannot be"),
        (forged(described(name="x", dtype="<f8", shape=[-1])), "cannot be"),
        (forged(described(name="x", dtype="<f8", shape=[True]), b"\0" * 8), "cannot be"),
        (forged(described(name="x", dtype="<f8", shape=1)), "cannot be"),
        (forged(described(name=1, dtype="<f8", shape=[0])), "cannot be"),
        (forged(described(name="x", dtype="|b1", shape=[1]), b"\2"), "booleans"),
    ],
    ids=range(21),
)
def test_forged_files_are_refused_with_the_reason(tmp_path, content, words):
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(ContainerError, match=words) as caught:
        container.read(path)
    assert str(caught.value).startswith(f"{path}: ")


def test_a_name_may_not_come_twice(tmp_path):
    entry = {"name": "x", "dtype": "<f8", "shape": [0]}
    text = json.dumps({"header": {}, "arrays": [entry, entry]}).encode()
    (tmp_path / "file").write_bytes(forged(text))
    with pytest.raises(ContainerError, match="header cannot be read"):
        container.read(tmp_path / "file")


def test_a_small_file_never_makes_the_reader_allocate_much(tmp_path):
    """Under a limit on memory: the claimed size must be refused, not tried."""
    path = tmp_path / "file"
    path.write_bytes(forged(described(name="x", dtype="<f8", shape=[2**37])))
    script = (
        "import resource, sys\n"
        "from primaldual import container\n"
        "limit = 4 << 30\n"
        "resource.setrlimit(resource.RLIMIT_AS, (limit, limit))\n"
        "try:\n"
        "    container.read(sys.argv[1])\n"
        "except container.ContainerError:\n"
        "    sys.exit(7)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(path)], timeout=60)
    assert done.returncode == 7


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_with_a_correct_checksum_are_read_or_refused(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("any") / "file"
    path.write_bytes(forged(text))
    with pytest.raises(ContainerError):
        container.read(path)
