"""Every file of the table is read as it should be, or refused by name, line and token."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from malformed import CASES, SOME, Bad, Case, Good
from scipy import sparse

from primaldual.files import FileError, read


def dense(X: Any) -> Any:
    return X.toarray() if sparse.issparse(X) else X


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.what)
def test_a_file_is_read_or_refused_by_name_and_line(case: Case, tmp_path: Path) -> None:
    path = tmp_path / case.name
    path.write_bytes(case.content)
    options: dict[str, Any] = dict(case.options)
    if isinstance(case.expected, Good):
        table = read(path, **options)
        assert np.array_equal(dense(table.X), np.array(case.expected.X).reshape(table.X.shape))
        assert table.X.shape[0] == len(case.expected.X)
        assert table.y is None if case.expected.y is None else list(table.y) == case.expected.y
        assert table.source == str(path)
    else:
        with pytest.raises(FileError) as caught:
            read(path, **options)
        text = str(caught.value)
        line = {None: "", SOME: r":\d+"}.get(case.expected.line, f":{case.expected.line}")
        assert re.match(rf"{re.escape(str(path))}{line}: \S", text)
        assert case.expected.message in text
        assert text.endswith((".", "…"))


def test_the_table_is_long_and_its_refusals_name_lines() -> None:
    refused = [case for case in CASES if isinstance(case.expected, Bad)]
    assert len(refused) >= 60
    assert sum(case.expected.line is not None for case in refused) >= 40  # type: ignore[union-attr]
    assert len(CASES) == len({(case.what, case.name) for case in CASES})
