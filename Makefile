# Every target sets up what it needs: a virtual environment in .venv, from pyproject.toml.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin

# Options for the benchmark, for example BENCH="--quick".
BENCH ?=

.PHONY: demo test lint bench browser clean

demo: $(VENV)/.base
	$(BIN)/primaldual faceoff

# One BLAS thread a worker: two workers already use two cores.
test: lint
	OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist loadscope

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/codespell

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks $(BENCH)

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
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@ $(VENV)/.base

$(VENV)/.bench: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev,bench]'
	touch $@ $(VENV)/.base

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
