# One stamp file per environment: a target is rebuilt only when pyproject.toml changes.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.dev-installed

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-slow lint format docs bench clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable ".[dev]"
	@touch $@

setup: $(STAMP)  ## create .venv with everything needed to develop

demo: $(STAMP)  ## fit and explain a model on a bundled real data set
	$(BIN)/python examples/demo.py

test: $(STAMP)  ## run the test suite (two workers, a few minutes)
	OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -n 2 -m "not slow and not peer and not gpu"

test-slow: $(STAMP)  ## run the long statistical and large-scale checks
	$(BIN)/pytest -m "slow"

lint: $(STAMP)  ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(STAMP)  ## rewrite the sources in the house format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(STAMP)  ## build the documentation (docs/_build/html)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable ".[docs]"
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html

bench: $(STAMP)  ## compare with the peers, in their own environment
	$(PYTHON) benchmarks/run.py

clean:  ## remove everything that can be rebuilt
	rm -rf $(VENV) .bench-venv docs/_build docs/auto_examples docs/api/generated .pytest_cache .mypy_cache .ruff_cache .hypothesis
