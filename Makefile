# Shorthand for the commands in README.md; nothing here is needed to use the package.
VENV ?= .venv
# The first Python that is new enough; override with make PYTHON=/path/to/python.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	if $$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' 2>/dev/null; \
	then echo $$p; break; fi; done)
BIN := $(VENV)/bin

.PHONY: demo test lint docs clean

demo: $(VENV)/.installed
	$(BIN)/crag demo

test: $(VENV)/.installed-dev
	$(BIN)/python -m pytest

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports

# Rewrites the generated parts of README.md and of the handbook.
docs: $(VENV)/.installed-dev
	$(BIN)/python docs/generate.py

clean:
	rm -rf $(VENV)

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "crag-graph needs Python 3.11 to 3.14; none was found." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet -e .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet -e ".[dev]"
	@touch $@ $(VENV)/.installed
