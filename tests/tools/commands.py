"""The installed primaldual command, run to its end."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import bounded

COMMAND = Path(sys.executable).with_name("primaldual")
ENVIRONMENT = {
    # Colours and unbuffered streams are not what most users have.
    **{
        name: value
        for name, value in os.environ.items()
        if name not in ("FORCE_COLOR", "PYTHONUNBUFFERED")
    },
    "NO_COLOR": "1",
    "COLUMNS": "120",
    "PYTHONIOENCODING": "utf-8",
    "OPENBLAS_NUM_THREADS": "1",
}


def execute(*arguments, **options):
    """Run the installed command to its end."""
    options = {"env": ENVIRONMENT, "encoding": "utf-8", **options}
    return bounded.run([COMMAND, *map(str, arguments)], **options)


def good(done):
    """What a command answered that must end well."""
    assert done.returncode == 0, done.stderr
    return done.stdout
