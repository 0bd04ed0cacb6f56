# Every target sets up what it needs: on a fresh machine `make demo` or `make test` is the first and only command.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-array-api test-gpu skipped fuzz golden lint matrix next peer-suites bench bench-tables docs clean dist wheel-test benchopt

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[plot,cli]"
	touch $@

$(VENV)/.test: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --editable ".[bench,dask]" --group test
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
# of the tests in their order, so that what a file compiles is compiled once; Python keeps its bytecode also where the
# surroundings forbid it, for the hundred processes that tests start
test: $(VENV)/.test
	PYTHONDONTWRITEBYTECODE= OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal $(PYTEST)

# data on a GPU: CuPy must be installed (the extra of this name), and torch for half of the tests; they say why they are
# skipped where they are.  Small problems run uncompiled, so that minutes of compiling are not spent on them
test-gpu: $(VENV)/.test
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest tests/gpu $(PYTEST)

# scikit-learn's checks with arrays of another namespace: SciPy reads its switch when it is imported
test-array-api: $(VENV)/.test
	SCIPY_ARRAY_API=1 OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 -k array_api $(PYTEST) tests/test_estimator_checks.py

# what no run of the tests has run, and why, from pytest's reports
skipped: $(VENV)/.test
	$(BIN)/python .ci/skipped.py $(REPORTS)

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

# the same slice with the newest pre-releases of NumPy, SciPy and scikit-learn, where there are any for this Python
next: $(VENV)/.matrix
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/nox -s next

# scikit-learn's own tests against our estimators; see tests/peer_suites.py
peer-suites: $(VENV)/.test
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m tests.peer_suites $(PEERS)

bench: $(VENV)/.test
	$(BIN)/python benchmarks/engine.py
	$(BIN)/python benchmarks/solver.py $(BENCH)

# the tables of README and documentation, from benchmarks/results
bench-tables: $(VENV)/.installed
	$(BIN)/python docs/bench_tables.py

$(VENV)/.release: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --group release
	touch $@

# source archive and wheel in dist/, as an index would take them
dist: $(VENV)/.release
	rm -rf dist
	$(BIN)/python -m build --outdir dist
	$(BIN)/python -m twine check --strict dist/*

# the wheel in an empty environment, away from the sources: the demo, then the tests (PYTEST="tests/test_package.py": some)
WHEEL := .wheel-test
wheel-test: dist
	rm -rf $(WHEEL)
	$(PYTHON) -m venv $(WHEEL)/venv
	$(WHEEL)/venv/bin/python -m pip install --quiet --upgrade pip
	$(WHEEL)/venv/bin/python -m pip install --quiet "$$(ls dist/*.whl)[plot,cli,bench,dask]" --group test
	cd $(WHEEL) && venv/bin/ascd demo
	git ls-files --cached --others --exclude-standard | grep -v '^src/' | tar -c -T - | tar -x -C $(WHEEL)
	cd $(WHEEL) && OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 venv/bin/python -m pytest -n 2 --dist worksteal $(or $(PYTEST),tests)

# benchopt's own command on benchmarks/benchopt
BENCHOPT ?= -n 100 --timeout 30
$(VENV)/.benchopt: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --group benchopt
	touch $@

benchopt: $(VENV)/.benchopt
	$(BIN)/benchopt run benchmarks/benchopt --no-display $(BENCHOPT)

docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html
	$(BIN)/python docs/check_links.py docs/_build/html

clean:
	rm -rf dist $(WHEEL) fuzz_report.md $(VENV) docs/_build docs/gallery docs/generated docs/sg_execution_times.rst demo_output .pytest_cache .mypy_cache .ruff_cache .hypothesis .nox
