"""Compiling: the project's Numba decorators, the disk cache, the compiler's stopwatch."""
