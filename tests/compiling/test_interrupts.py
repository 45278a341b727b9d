"""Ctrl-C while kernels are compiled: it stops soon, it is never lost, and the next fit works."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

import bounded
import pytest

from primaldual._numba import interrupts

# Fits with an empty cache; a thread sends interrupts at random moments of the first compilations.
SCRIPT = """
import os, random, signal, sys, threading, time, warnings
import numpy as np
from scipy import sparse
from primaldual import LogisticRegression

warnings.simplefilter("ignore")
signal.signal(signal.SIGINT, signal.default_int_handler)
X = sparse.random(200, 50, 0.1, random_state=0, format="csr")
y = np.sign(np.random.default_rng(0).standard_normal(200))
moments, sent = random.Random(int(sys.argv[1])), []

def interrupt(delay):
    time.sleep(delay)
    sent.append(time.process_time())
    os.kill(os.getpid(), signal.SIGINT)

# Seconds of the longest compilation of a kernel, with those that it needs.
from primaldual._numba import interrupts
enter, leave, began, longest = interrupts._waiting.enter, interrupts._waiting.leave, [0.0], [0.0]

def entering():
    if interrupts._waiting.depth == 0:
        began[0] = time.process_time()
    enter()

def leaving():
    if interrupts._waiting.depth == 1:
        longest[0] = max(longest[0], time.process_time() - began[0])
    leave()

interrupts._waiting.enter, interrupts._waiting.leave = entering, leaving
seen, waits = 0, []
for _ in range(int(sys.argv[2])):
    thread = threading.Thread(target=interrupt, args=(moments.uniform(0.0, 1.2),))
    try:
        thread.start()
        while True:
            model = LogisticRegression(tol=1e-9).fit(X, y)
            if "nterrupted" in model.stop_reason_:
                raise KeyboardInterrupt
    except KeyboardInterrupt:
        seen += 1
        waits.append(time.process_time() - sent[-1])
    thread.join()
model = LogisticRegression(tol=1e-9).fit(X, y)
print(seen, model.dual_gap_ <= 1e-9, max(waits), longest[0])
"""


@pytest.mark.timeout(900)  # a whole engine is compiled: 20 s of an idle processor
def test_interrupts_at_random_moments_stop_soon_and_break_nothing(tmp_path):
    env = {**os.environ, "PRIMALDUAL_CACHE": str(tmp_path), "OPENBLAS_NUM_THREADS": "1"}
    done = bounded.run([sys.executable, "-c", SCRIPT, "1", "6"], env=env, timeout=800)
    assert done.returncode == 0, done.stderr
    seen, is_good, waited, longest = done.stdout.split()
    assert seen == "6", "each interrupt was seen"
    assert is_good == "True"
    # In seconds of that process, whatever the speed of the machine: one kernel's compilation.
    assert float(waited) < 1.0 + 2.0 * float(longest)


@pytest.fixture
def handler():
    """Interrupts are recorded, and raise as usual."""
    got = []

    def handle(number, frame):
        got.append(number)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, handle)
    yield got
    assert signal.getsignal(signal.SIGINT) is handle, "the handler was put back"
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_waits_for_the_end_of_the_block(handler):
    done = []
    with pytest.raises(KeyboardInterrupt), interrupts.put_off():
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)
        done.append("all of it")
    assert done == ["all of it"] and handler == [signal.SIGINT]


def test_an_interrupt_comes_out_of_the_innermost_block(handler):
    done = []
    with pytest.raises(KeyboardInterrupt), interrupts.put_off():
        with interrupts.put_off():
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)
        done.append("never")
    assert not done


def test_an_error_in_the_block_does_not_swallow_the_interrupt(handler):
    with pytest.raises(KeyboardInterrupt), interrupts.put_off():
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)
        raise ZeroDivisionError


def test_other_threads_leave_the_handler_alone(handler):
    def work():
        with interrupts.put_off():
            pass

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def test_an_ignored_interrupt_stays_ignored():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interrupts.put_off():
            os.kill(os.getpid(), signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
