# Every target sets up what it needs: on a fresh machine `make demo` or `make test` is the first and only command.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test fuzz golden lint matrix peer-suites bench bench-tables docs clean

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[plot,cli]"
	touch $@

$(VENV)/.test: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --editable ".[bench]" --group test
	touch $@

$(VENV)/.lint: $(VENV)/.test
	$(BIN)/python -m pip install --quiet --group lint
	touch $@

$(VENV)/.matrix: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --group matrix
	touch $@

$(VENV)/.docs: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --editable ".[docs]"
	touch $@

demo: $(VENV)/.installed
	$(BIN)/ascd demo

# two processes with one thread each for linear algebra: more would only wait for each other; each begins with one half
# of the tests in their order, so that what a file compiles is compiled once
test: $(VENV)/.test
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal $(PYTEST)

# random problems against every certificate; N cases from SEED on JOBS processes, as long as one likes
N ?= 10000
SEED ?= 0
JOBS ?= 2
FUZZ ?= --report fuzz_report.md
fuzz: $(VENV)/.test
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m tests.fuzz --n $(N) --seed $(SEED) --jobs $(JOBS) $(FUZZ)

# the stored results that tests/test_golden.py compares with: written anew, and what changed is printed
golden: $(VENV)/.test
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python tests/golden_masters.py

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# a slice of the tests with the oldest and the newest versions allowed; see noxfile.py
matrix: $(VENV)/.matrix
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/nox $(NOX)

# scikit-learn's own tests against our estimators; see tests/peer_suites
peer-suites: $(VENV)/.test
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m tests.peer_suites $(PEERS)

bench: $(VENV)/.test
	$(BIN)/python benchmarks/engine.py
	$(BIN)/python benchmarks/solver.py $(BENCH)

# the tables of README and documentation, from benchmarks/results
bench-tables: $(VENV)/.installed
	$(BIN)/python docs/bench_tables.py

docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html
	$(BIN)/python docs/check_links.py docs/_build/html

clean:
	rm -rf fuzz_report.md $(VENV) docs/_build docs/gallery docs/generated docs/sg_execution_times.rst demo_output .pytest_cache .mypy_cache .ruff_cache .hypothesis .nox
