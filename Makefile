# The two commands a newcomer needs: `make demo` and `make test`. Each makes its own .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test fuzz chaos coverage test-lowest docs linkcheck dist wheel-test audit lint types format clean

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $@

demo: $(VENV)/.installed
	$(BIN)/python examples/demo.py

# The matrices of the tests are small: BLAS threads would only wait for each other, on a busy machine for most of the time.
test fuzz chaos coverage test-lowest: export OPENBLAS_NUM_THREADS = 1

test: $(VENV)/.installed
	$(BIN)/python -m pytest

fuzz: $(VENV)/.installed
	FLGP_FUZZ_CASES=10000 $(BIN)/python -m pytest tests/fuzz tests/test_files.py tests/test_interrupts.py tests/experiments/test_ledger.py

# Workers killed, restarted, frozen and out of memory, schedulers lost: on real processes, at random moments.
chaos: $(VENV)/.installed
	FLGP_CHAOS_ROUNDS=10 $(BIN)/python -m pytest tests/dask

# Branch coverage of the core, from the points to the estimators; less than 95 % fails.
CORE := rows geometry kernels priors likelihoods terms inference process estimators
comma := ,
empty :=
space := $(empty) $(empty)
coverage: $(VENV)/.installed
	$(BIN)/python -m pytest --cov=flgp --cov-branch --cov-report= tests --ignore=tests/neuro --ignore=tests/experiments \
		--ignore=tests/report --ignore=tests/cli
	$(BIN)/coverage report --skip-covered --show-missing --fail-under=95 \
		--include="$(subst $(space),$(comma),$(foreach part,$(CORE),src/flgp/$(part).py src/flgp/$(part)/*))"

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

# Wheel and sdist, built twice and compared byte by byte; then the wheel alone in a new environment.
dist: $(VENV)/.release
	$(BIN)/python .ci/dist.py
	$(BIN)/python .ci/sbom.py > dist/flgp.cdx.json

wheel-test: dist
	rm -rf .venv-wheel
	$(PYTHON) -m venv .venv-wheel
	.venv-wheel/bin/python -m pip install --quiet dist/*.whl
	cd .venv-wheel && ./bin/python ../.ci/readme.py ../README.md

$(VENV)/.release: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet "build>=1.2"
	touch $@

# Licences and known vulnerabilities; says so, and does not fail, where no advisory service can be asked.
audit: $(VENV)/.installed
	-$(BIN)/python -m pip install --quiet "pip-audit>=2.7"
	$(BIN)/python .ci/audit.py

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed
	$(BIN)/mypy

format: $(VENV)/.installed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) $(LOWEST) .venv-wheel dist .coverage docs/_build docs/auto_examples docs/sg_execution_times.rst .pytest_cache .mypy_cache .ruff_cache
