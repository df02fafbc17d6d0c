# One stamp file per environment: a target is rebuilt only when pyproject.toml changes.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.dev-installed

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-slow test-browser test-versions test-portable lint format docs docs-links site bench release-check clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable ".[dev]"
	@touch $@

setup: $(STAMP)  ## create .venv with everything needed to develop

demo: $(STAMP)  ## fit, explain and report on a model of a real table
	$(BIN)/mercer demo

test: $(STAMP)  ## run the test suite (two workers, a few minutes)
	OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -n 2 -m "not slow and not peer and not gpu and not browser"

test-slow: $(STAMP)  ## run the long statistical and large-scale checks
	$(BIN)/pytest -m "slow"

test-browser: $(STAMP)  ## test reports and other pages in Chromium, if the system has it
	OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -m "browser"

# Compiled code is cached per environment: that of other versions and processors must not be mixed.
QUICK := -m "not slow and not peer and not gpu and not browser"

.venv-lowest/.installed: pyproject.toml tests/lowest.txt
	python3.11 -m venv .venv-lowest
	.venv-lowest/bin/pip install --quiet --disable-pip-version-check -c tests/lowest.txt \
		--editable ".[plot,table]" pytest pytest-xdist hypothesis
	@touch $@

.venv-newest/.installed: pyproject.toml
	$(PYTHON) -m venv .venv-newest
	.venv-newest/bin/pip install --quiet --disable-pip-version-check --upgrade \
		--editable ".[plot,table]" pytest pytest-xdist hypothesis
	@touch $@

test-versions: .venv-lowest/.installed .venv-newest/.installed  ## run the suite with the lowest and the newest dependencies
	for which in lowest newest; do \
		OPENBLAS_NUM_THREADS=1 NUMBA_CACHE_DIR=$(CURDIR)/.venv-$$which/numba \
			.venv-$$which/bin/pytest -n 2 $(QUICK) || exit 1; \
	done

# Settings that stand for other processors: "name|variables". Rounding differs between all of them.
# (NumPy has two sets of names for its vector instructions, and leaves out those it does not know.)
AVX512 := X86_V4 AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR
AVX2   := X86_V3 FMA3 AVX2 $(AVX512)
PROCESSORS := \
	"haswell|OPENBLAS_CORETYPE=Haswell NPY_DISABLE_CPU_FEATURES='$(AVX512)' NUMBA_CPU_NAME=haswell" \
	"sandybridge|OPENBLAS_CORETYPE=Sandybridge NPY_DISABLE_CPU_FEATURES='$(AVX2)' NUMBA_CPU_NAME=sandybridge" \
	"generic|OPENBLAS_CORETYPE=Nehalem NPY_DISABLE_CPU_FEATURES='$(AVX2)' NUMBA_CPU_NAME=generic"
PORTABLE ?= tests

test-portable: $(STAMP)  ## run the suite with the rounding of other processors (PORTABLE=tests/stats runs a part)
	for setting in $(PROCESSORS); do \
		name=$${setting%%|*}; echo "== $$name"; \
		( eval "export $${setting#*|}"; export OPENBLAS_NUM_THREADS=1 NUMBA_CACHE_DIR=$(CURDIR)/$(VENV)/numba-$$name; \
		  $(BIN)/pytest -n 2 $(QUICK) $(PORTABLE) ) || exit 1; \
	done

lint: $(STAMP)  ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(STAMP)  ## format the sources
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(STAMP)  ## build the documentation (docs/_build/html)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable ".[docs]"
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html

docs-links:  ## check links, anchors and images of the built documentation
	$(BIN)/python scripts/check_links.py docs/_build/html

# URL is where a web server shows the folder SITE: make site SITE=/srv/mercer URL=https://host/mercer
site: export MERCER_DOCS_URL = $(URL)
site: docs docs-links  ## add the documentation of this version to those of other versions
	$(BIN)/python scripts/docs_site.py $(SITE) $(URL)

bench: $(STAMP)  ## compare with the peers, in their own environment
	$(PYTHON) benchmarks/run.py

release-check: $(STAMP)  ## build, then install and use in a bare environment of every Python version found
	$(BIN)/python scripts/release_check.py

clean:  ## remove everything that can be rebuilt
	rm -rf $(VENV) .venv-lowest .venv-newest .bench-venv docs/_build docs/auto_examples docs/api/generated .pytest_cache .mypy_cache .ruff_cache .hypothesis
