"""A sample of ``python -m tests.adversary``."""

from __future__ import annotations

from adversary import drawn, judged


# Kernels for many losses and methods are compiled: a few fits of the first ones.
def test_a_sample_of_adversarial_fits_has_no_fault():
    for number in range(15):
        fit = drawn(number, largest=60)
        fault, about = judged(fit)
        assert not fault, f"{fit.what}: {about}"
