"""The seal of a saved solve: it shows changes by anyone who does not have the data.

A checksum finds damage, but whoever changes a file can compute a new one. The seal is a hash with
a key, and the key is made of the data that the solve is given: the whole digests of the matrix,
the targets and the weights. A file shows only 64 bits of each. Without the data no one can make a
seal that fits, and the run that goes on has the data, on whatever machine it runs.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any


def seal(
    secret: str, number: int, parts: dict[str, str], is_finished: bool, tree: Any, arrays: Iterable
) -> str:
    """The seal of the solve of that number, as hexadecimal digits."""
    key = hashlib.sha256(f"{number} {json.dumps(parts)} {secret}".encode()).digest()
    found = hashlib.blake2b(json.dumps([is_finished, tree]).encode(), key=key, digest_size=32)
    for array in arrays:
        found.update(f"|{array.nbytes}|".encode())
        found.update(array.data)
    return found.hexdigest()
