"""Read data files: LIBSVM text, CSV, Parquet, NPZ, NPY and Matrix Market.

:func:`read` returns a :class:`Table`. A file that cannot be read raises :class:`FileError`, whose
text begins with the file's name and, where it is known, the line.
"""

from __future__ import annotations

from .reading import FORMATS, read
from .table import FileError, FileWarning, Limits, Table

__all__ = ["FORMATS", "FileError", "FileWarning", "Limits", "Table", "read"]
