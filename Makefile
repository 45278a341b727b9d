# Every target sets up what it needs: a virtual environment in .venv, from pyproject.toml.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin

# Options for the benchmark, for example BENCH="--quick".
BENCH ?=

# What is run for coverage: tests that take a few minutes without compiled kernels, which are then up
# to a thousand times slower.
COVERED = tests/smoke tests/cli/test_cli_parts.py tests/estimators/test_parameters.py \
  tests/solver/test_bad_input.py tests/test_binary.py tests/test_complexity.py \
  tests/test_container.py tests/test_models.py

.PHONY: demo test coverage lint bench docs wheel browser clean

demo: $(VENV)/.base
	$(BIN)/primaldual faceoff

# One BLAS thread a worker: two workers already use two cores.
test: lint
	OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist loadscope

# The fraction of the lines that these tests reach, those of kernels included. The tests are judged by
# ``test``: without compiled kernels some that speak of these fail, which is of no interest here.
coverage: $(VENV)/.dev
	-NUMBA_DISABLE_JIT=1 OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -q --no-header --tb=no -r N \
	  -W ignore::RuntimeWarning --cov=primaldual --cov-report=term $(COVERED)

# mypy fails where it cannot write its cache: on a read-only file system it keeps none.
MYPY_CACHE = $(shell test -w . || echo --cache-dir=/dev/null)

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy $(MYPY_CACHE)
	$(BIN)/codespell

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks $(BENCH)

# The site, in docs/_build/html, with every example of the gallery run: no network is used.
docs: $(VENV)/.docs
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m sphinx -q -W -n -j 2 -b html docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

# Two wheels in dist: a plain one, and one for this platform that carries compiled kernels.
wheel: $(VENV)/.base
	$(BIN)/python packaging/build_wheel.py

# Chromium for the test of the report page. Where it cannot be had, that test is skipped.
browser:
	@command -v chromium || command -v chromium-browser || command -v google-chrome || \
	  (timeout 300 apt-get update -qq && timeout 600 apt-get install -qq -y chromium) || \
	  echo "No Chromium: the report is not tested in a browser."

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.base: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev,docs]'
	touch $@ $(VENV)/.base

$(VENV)/.docs: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[all,docs]'
	touch $@ $(VENV)/.base

$(VENV)/.bench: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev,bench]'
	touch $@ $(VENV)/.base

clean:
	rm -rf $(VENV) docs/_build docs/gallery .mypy_cache .ruff_cache .pytest_cache .hypothesis
