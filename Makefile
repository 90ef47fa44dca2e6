# The two commands a newcomer needs: `make demo` and `make test`. Each makes its own .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-rest fuzz chaos coverage test-lowest docs linkcheck dist wheel-test audit lint types format clean \
	lock install-locked summary

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $@

# What continuous integration installs: exactly the files whose hashes requirements.lock holds, on any Python that is
# supported. `make lock` brings the lock up to date; where packages come from is pip's and uv's own configuration.
install-locked: requirements.lock
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	touch $(VENV)/.installed $(VENV)/.docs $(VENV)/.release

lock:
	$(PYTHON) -m venv .venv-lock
	.venv-lock/bin/python -m pip install --quiet "uv>=0.8"
	.venv-lock/bin/uv pip compile pyproject.toml --extra dev --extra docs --extra release --universal \
		--python-version 3.11 --generate-hashes --upgrade --no-header --no-annotate --quiet -o requirements.lock

demo: $(VENV)/.installed
	$(BIN)/python examples/demo.py

# The matrices of the tests are small: BLAS threads would only wait for each other, on a busy machine for most of the time.
test test-rest fuzz chaos coverage test-lowest: export OPENBLAS_NUM_THREADS = 1

# Test processes: one for each core.
WORKERS ?= logical
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

test: $(VENV)/.installed
	$(PYTEST)

fuzz: $(VENV)/.installed
	FLGP_FUZZ_CASES=10000 $(PYTEST) tests/fuzz tests/test_files.py tests/test_interrupts.py tests/experiments/test_ledger.py

# Workers killed, restarted, frozen and out of memory, schedulers lost: on real processes, at random moments.
chaos: $(VENV)/.installed
	FLGP_CHAOS_ROUNDS=10 $(BIN)/python -m pytest tests/dask

# The core, from the points to the estimators, by its own tests: less than 95 % of its branches covered fails.
# pyproject.toml names the packages. `coverage` and `test-rest` together are `test`, with one run of each test.
CORE_TESTS := tests/rows tests/geometry tests/likelihoods tests/terms tests/inference tests/process tests/estimators \
	tests/baselines tests/test_io.py tests/test_priors.py
coverage: $(VENV)/.installed
	$(PYTEST) --cov --cov-report= $(CORE_TESTS)
	$(BIN)/coverage report --skip-covered --show-missing --fail-under=95

# All other tests, without coverage: an interrupt inside its own lock would never let that go.
test-rest: $(VENV)/.installed
	$(PYTEST) $(addprefix --ignore=,$(CORE_TESTS))

# The lowest versions of numpy, scipy and scikit-learn that pyproject.toml allows, on the oldest Python.
OLDEST ?= python3.11
LOWEST := .venv-lowest
$(LOWEST)/.installed: pyproject.toml .ci/lowest.py
	$(OLDEST) -m venv $(LOWEST)
	$(LOWEST)/bin/python .ci/lowest.py > $(LOWEST)/lowest.txt
	$(LOWEST)/bin/python -m pip install --quiet -r $(LOWEST)/lowest.txt "pytest>=8.2" "hypothesis>=6.100" --editable .
	touch $@

test-lowest: $(LOWEST)/.installed
	# Without scikit-learn's own checks: those of its old versions are not for today's pytest.
	$(LOWEST)/bin/python -m pytest --ignore=tests/estimators/test_scikit_learn.py \
		tests/rows tests/geometry tests/likelihoods tests/terms tests/inference tests/process tests/estimators \
		tests/test_io.py tests/test_metrics.py tests/test_model_selection.py

$(VENV)/.docs: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --editable ".[docs]"
	touch $@

# The site, with its examples run; a warning is an error. `linkcheck` needs the network.
docs: $(VENV)/.docs
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html

linkcheck: $(VENV)/.docs
	$(BIN)/sphinx-build -D plot_gallery=0 -b linkcheck docs docs/_build/linkcheck

# results/summary.json from the rows of results/, and the figures of README and pages from it.
summary: $(VENV)/.installed
	$(BIN)/python -m flgp.experiments.summary

# Wheel and sdist, built twice and compared byte by byte; then the wheel alone in a new environment.
dist: $(VENV)/.release
	$(BIN)/python .ci/dist.py
	$(BIN)/python .ci/sbom.py > dist/flgp.cdx.json

# The wheel with nothing but what it asks for runs the README; with its extras the command line, the pages, the examples.
wheel-test: dist
	rm -rf .venv-wheel
	$(PYTHON) -m venv .venv-wheel
	.venv-wheel/bin/python -m pip install --quiet dist/*.whl
	cd .venv-wheel && ./bin/python ../.ci/readme.py ../README.md
	.venv-wheel/bin/python -m pip install --quiet "$$(ls dist/*.whl)[plot,cli,mcmc,dask]" pytest h5py zarr fastapi httpx polars
	.venv-wheel/bin/python .ci/wheel.py

$(VENV)/.release: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --editable ".[release]"
	touch $@

# Licences and known vulnerabilities; says so, and does not fail, where no advisory service can be asked.
audit: $(VENV)/.release
	$(BIN)/python .ci/audit.py

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# The sources; then a user's script that calls the public surface, as strictly as mypy can.
types: $(VENV)/.installed
	$(BIN)/mypy
	$(BIN)/mypy --strict --follow-imports=silent tests/typing/user.py

format: $(VENV)/.installed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) $(LOWEST) .venv-wheel .venv-lock dist .coverage docs/_build docs/auto_examples docs/sg_execution_times.rst .pytest_cache .mypy_cache .ruff_cache
