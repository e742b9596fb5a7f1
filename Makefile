# Everything below sets itself up: it needs Python 3.11+, make and a package index, nothing else.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
STAMP = $(VENV)/.installed

KILLS ?= 300
N ?= 100000

.PHONY: demo test docs fuzz torture determinism lint clean

demo: $(STAMP)
	$(BIN)/topicloom demo

# The last lines have the processor time: user + sys.
test: $(STAMP)
	@bash -c 'time $(BIN)/python -m pytest -n 2 --dist worksteal'

# The site, in docs/_build/html. Tutorials are run; a warning is an error. Building needs no network.
docs: $(VENV)/.docs-installed
	$(BIN)/python -m sphinx -b html -W --keep-going -q docs docs/_build/html
	@echo "The site is in docs/_build/html/index.html."

# Kills of fits, resumes and saves of every model, KILLS of them.
torture: $(STAMP)
	$(BIN)/python -m tests.torture --kills $(KILLS)

# Every model, sampler and method in many environments: ends with an error if a bit differs. Takes some ten minutes.
determinism: $(STAMP)
	$(BIN)/python -m tests.determinism

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Damaged inputs, N of them over all formats; a failure is listed with the options that run its case again.
fuzz: $(STAMP)
	$(BIN)/python -m tests.fuzz --cases $(N)

$(STAMP): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("topicloom needs Python 3.11 or later, found " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[test,plot]'
	touch $(STAMP)

$(VENV)/.docs-installed: $(STAMP) pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[test,plot,docs]'
	touch $@

clean:
	rm -rf $(VENV) docs/_build docs/api/generated .mypy_cache .ruff_cache .pytest_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
