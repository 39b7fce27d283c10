# Two commands set everything up: `make demo` and `make test`. Each makes its own environment.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CORE := $(VENV)/.core
DEV := $(VENV)/.dev

.PHONY: demo test lint format clean

demo: $(CORE)
	@$(BIN)/fivefold demo

test: $(DEV) lint
	$(BIN)/python -m pytest

lint: $(DEV)
	$(BIN)/ruff check src tests
	$(BIN)/ruff format --check src tests
	$(BIN)/mypy

format: $(DEV)
	$(BIN)/ruff check --fix src tests
	$(BIN)/ruff format src tests

$(CORE): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "fivefold needs Python 3.11 or newer; name one with: make PYTHON=python3.12 demo"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing fivefold into $(VENV) (once)…"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(DEV): $(CORE)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
