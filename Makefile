# Everything runs in .venv. It needs Python 3.10 or newer with pip and venv, and nothing else.

PYTHON ?= python3
WORKERS ?= 2

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
UNFINISHED := $(VENV)/.unfinished
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c requirements/constraints.txt

.DEFAULT_GOAL := help
.PHONY: help setup quickstart test lint type docs bench clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

setup: $(READY) ## make .venv and install the library with its tools into it

# A set-up that was interrupted leaves the mark UNFINISHED, and the next `make` starts it anew.
$(READY): pyproject.toml requirements/constraints.txt
	@if [ -e $(UNFINISHED) ] || { [ -e $(VENV) ] && ! $(BIN)/python -c '' 2>/dev/null; }; then rm -rf $(VENV); fi
	@[ -x $(BIN)/python ] || command -v $(PYTHON) >/dev/null || { \
	  echo "make: $(PYTHON) is not there; Python 3.10 or newer is needed: make PYTHON=python3.12 ..."; exit 1; }
	@[ -x $(BIN)/python ] || $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
	  echo "make: $(PYTHON) is too old ($$($(PYTHON) --version 2>&1)); Python 3.10 or newer is needed:" \
	    "make PYTHON=python3.12 ..."; exit 1; }
	@echo "setting up $(VENV) (some minutes the first time)"
	@mkdir -p $(VENV) && touch $(UNFINISHED)
	@[ -x $(BIN)/python ] || $(PYTHON) -m venv $(VENV) || { \
	  echo "make: $(PYTHON) cannot make a virtual environment; on Debian or Ubuntu: apt install python3-venv"; exit 1; }
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(BIN)/python -m ensurepip --upgrade
	@# torch first and alone: with the pinned version in place nothing later asks for another build of it.
	$(PIP) torch
	$(PIP) -e '.[dev]'
	@rm -f $(UNFINISHED)
	@touch $@

quickstart: $(READY) ## train, evaluate and draw: the first result, in runs/quickstart
	$(BIN)/python examples/quickstart.py --out runs/quickstart

test: lint type ## everything that continuous integration checks
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS)

lint: $(READY) ## ruff: rules and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

type: $(READY) ## mypy, strict
	$(BIN)/mypy

docs: $(READY) ## the documentation as a site that needs no server, in site/; any warning fails
	$(BIN)/python -m mkdocs build --strict -f docs/.site/mkdocs.yml

bench: $(READY) ## measure acting and training; figures in runs/bench.json
	@mkdir -p runs
	$(BIN)/rate bench --json runs/bench.json

clean: ## remove .venv, caches and build products; runs/ and data/ stay
	rm -rf $(VENV) build dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis src/*.egg-info
	find src tests examples -name __pycache__ -type d -prune -exec rm -rf {} +
