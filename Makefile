# The two commands of the README. Everything is set up on the first run; later runs reuse .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
FOLDERS := $(patsubst %/py.typed,%,$(wildcard */py.typed))

.PHONY: demo test lint types unit examples docs soak bench clean
.DEFAULT_GOAL := demo

demo: $(VENV)/.for-demo
	$(BIN)/hodograph demo --out demo_out

test: lint types unit examples docs
	@echo "all checks passed"

lint: $(VENV)/.for-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.for-dev
	@mkdir -p $(VENV)/types && ln -sfn ../.. $(VENV)/types/hodograph
	MYPYPATH=$(VENV)/types $(BIN)/mypy $(foreach f,$(FOLDERS),-p hodograph.$(f))

# Kernels are compiled once beforehand, else every test process would do it for itself.
unit: $(VENV)/.for-dev
	$(BIN)/hodograph warmup
	$(BIN)/pytest -n 2 --cov --cov-report=term

examples: $(VENV)/.for-dev
	$(BIN)/python -m examples

docs: export NO_MKDOCS_2_WARNING=1
docs: $(VENV)/.for-dev
	$(BIN)/mkdocs build --strict --quiet

# The long matrices that `make test` runs reduced: every kill, every cut, ten minutes of fuzzing.
soak: $(VENV)/.for-dev
	HODOGRAPH_SOAK=1 $(BIN)/pytest -n 2 --timeout=3600 tests

bench: $(VENV)/.for-dev
	$(BIN)/python -m benchmarks

# The demo needs the plot and MDF extras; the development tools come on top. A stamp file = no reinstall.
$(VENV)/bin/python:
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'hodograph needs Python 3.11 or newer')"
	$(PYTHON) -m venv $(VENV)

$(VENV)/.for-demo: pyproject.toml setup.py | $(VENV)/bin/python
	@echo "installing hodograph and what the demo needs (once) ..."
	$(BIN)/python -m pip install --disable-pip-version-check --quiet -e '.[all]'
	@touch $@

$(VENV)/.for-dev: pyproject.toml setup.py | $(VENV)/bin/python
	@echo "installing hodograph and the development tools (once) ..."
	$(BIN)/python -m pip install --disable-pip-version-check --quiet -e '.[dev]'
	@touch $@ $(VENV)/.for-demo

clean:
	rm -rf build dist *.egg-info site demo_out .mypy_cache .ruff_cache .pytest_cache
