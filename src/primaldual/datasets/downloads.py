"""Fetch a file once and keep it: bounded, checked, and never half there.

What is checked: that as many bytes came as the server announced, and on later use that the file
still has the SHA-256 it had when it came. Nothing here knows what it *should* have been.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

CHUNK = 1 << 18
TIMEOUT = 30.0


def fetch(
    url: str,
    path: Path,
    *,
    max_bytes: int,
    progress: Callable[[int, int | None], object] | None = None,
) -> None:
    """Download a file, and note its SHA-256 in a file beside it.

    Parameters
    ----------
    url
        An ``http`` or ``https`` address.
    path
        Where to put it; it appears there only when it is complete.
    max_bytes
        The largest size accepted.
    progress
        Called with the bytes so far and in total (``None`` if the server does not say).

    Raises
    ------
    OSError
        If the address cannot be reached, or less came than was announced.
    ValueError
        If the file is larger than ``max_bytes``, or the address is of another kind.
    """
    if not url.lower().startswith(("http://", "https://")):
        raise ValueError(f"expected an http or https address, got {url!r}.")
    path.parent.mkdir(parents=True, exist_ok=True)
    request = urllib.request.Request(url, headers={"User-Agent": "primaldual"})
    with contextlib.ExitStack() as stack:
        answer = stack.enter_context(urllib.request.urlopen(request, timeout=TIMEOUT))
        announced = answer.headers.get("Content-Length")
        total = int(announced) if announced and announced.isdigit() else None
        _require_size(url, total or 0, max_bytes)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
        stack.callback(Path(name).unlink, missing_ok=True)
        with open(handle, "wb") as file:
            digest, done = _copy(url, answer, file, total, max_bytes, progress)
        if total is not None and done != total:
            raise OSError(f"{url} was cut short: {done:,} of {total:,} bytes came.")
        _checksum_file(path).write_text(f"{digest}  {path.name}\n", encoding="utf-8")
        os.replace(name, path)


def verify(path: Path) -> None:
    """Refuse a file that is not what was downloaded; one without a noted checksum passes.

    Parameters
    ----------
    path
        A file; its checksum is in the file of the same name with ``.sha256`` added.

    Raises
    ------
    ValueError
        If the checksums differ.
    """
    noted = _checksum_file(path)
    if not noted.is_file():
        return
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    expected = noted.read_text(encoding="utf-8").split(" ")[0]
    if found != expected:
        raise ValueError(
            f"{path} has changed since it was downloaded: SHA-256 {found}, expected {expected}. "
            f"Delete it and {noted.name} to download it again."
        )


def _copy(
    url: str,
    answer: Any,
    file: Any,
    total: int | None,
    max_bytes: int,
    progress: Callable[[int, int | None], object] | None,
) -> tuple[str, int]:
    """The checksum and the number of bytes copied."""
    digest, done = hashlib.sha256(), 0
    while piece := answer.read(CHUNK):
        done += len(piece)
        _require_size(url, done, max_bytes)
        digest.update(piece)
        file.write(piece)
        if progress is not None:
            progress(done, total)
    return digest.hexdigest(), done


def _require_size(url: str, size: int, max_bytes: int) -> None:
    if size > max_bytes:
        raise ValueError(
            f"{url} has {size:,} bytes or more, beyond the limit of {max_bytes:,}. If it is right, "
            "raise max_bytes."
        )


def _checksum_file(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")
