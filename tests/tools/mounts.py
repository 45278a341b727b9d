"""Commands in a mount namespace of their own: read-only and full file systems for tests."""

from __future__ import annotations

import functools
import shlex
import shutil
import sys

import bounded
import pytest


@functools.cache
def why_not():
    """Why file systems cannot be mounted here; "" if they can."""
    if shutil.which("unshare") is None:
        return "there is no unshare command"
    probe = "mount -t tmpfs -o size=64k none /mnt"
    done = bounded.run(["unshare", "-m", "sh", "-c", probe], timeout=30)
    return "" if done.returncode == 0 else f"mounting is not allowed here: {done.stderr.strip()}"


def python_with_mounts(script, *mounts, env=None, user=None):
    """Run a Python script after some mount commands, which nothing outside sees."""
    if why_not():
        pytest.skip(why_not())
    command = shlex.join([sys.executable, "-c", script])
    if user is not None:
        command = f"setpriv --reuid={user} --regid={user} --clear-groups {command}"
    steps = " && ".join([*mounts, command])
    return bounded.run(["unshare", "-m", "sh", "-c", steps], env=env)
