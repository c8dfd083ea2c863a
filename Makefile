# Every target sets up what it needs in ./.venv; a machine with python3 >= 3.11 and pip is enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
BENCH_READY := $(VENV)/.bench-ready
RAY_READY := $(VENV)/.ray-ready
# A second environment, with the oldest version of every dependency that pyproject.toml allows.
OLDEST := .venv-oldest
# A third one, with what builds the documentation site.
DOCS := .venv-docs
# PyTorch, for the tests of fleets on a GPU and of some competitors: large, so `make test TORCH=` leaves it out and them too.
TORCH ?= $(VENV)/.torch-ready
# Tests that run by default; the others have targets of their own.
DEFAULT := not slow and not faults and not fuzz and not soak
# The paper's data sets, where this checkout has them beside it; absent, the tests that need them are skipped.
export IEGP_DATA ?= $(wildcard $(abspath ../shared/data))
# BLAS threads only slow down the small products of an expert; we parallelise over experts instead.
export OPENBLAS_NUM_THREADS ?= 1
export IEGP_SOAK_ROWS ?= 1e7

.PHONY: run reproduce test compiled test-slow test-faults test-plain test-bounds test-fuzz test-soak test-ray test-oldest dist docs docs-links spelling bench bench-accuracy bench-baselines bench-batch bench-changes bench-forecast bench-labels bench-latent bench-stream bench-numerics bench-own bench-peers bench-ray bench-river bench-scale bench-speed lint format metrics clean

$(READY): pyproject.toml paper/pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable ".[plot,river]" --editable ./paper --group dev
	touch $@

$(VENV)/.torch-ready: $(READY)
	$(BIN)/python -m pip install --quiet --group torch
	touch $@

$(OLDEST)/.ready: pyproject.toml tools/oldest.py
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	$(PYTHON) tools/oldest.py > $(OLDEST)/constraints.txt
	$(OLDEST)/bin/python -m pip install --quiet --editable ".[plot,river]" --group test --constraint $(OLDEST)/constraints.txt
	touch $@

$(DOCS)/.ready: pyproject.toml
	$(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	$(DOCS)/bin/python -m pip install --quiet --editable ".[plot,river]" --group docs
	touch $@

# PyTorch first, of the version that the tests have: the competitors alone would take the newest, with gigabytes for GPUs.
$(BENCH_READY): $(VENV)/.torch-ready
	$(BIN)/python -m pip install --quiet --editable "./paper[competitors]" --group bench
	touch $@

$(RAY_READY): $(READY)
	$(BIN)/python -m pip install --quiet --editable ".[ray]"
	touch $@

run: $(READY)  ## `iegp demo`: bike rentals and a robot arm through the default model; reports in runs/demo/
	$(BIN)/python -m iegp demo

# For instance: make reproduce OPTIONS="nmse time --runs 11"
reproduce: $(BENCH_READY)  ## the paper's tables and figures: docs/results.md, paper/results/; with OPTIONS=--quick minutes, and in results/ only
	$(BIN)/iegp-paper $(or $(OPTIONS),--publish .)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/check_docstrings.py

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Linting and compiling share the cores; what is compiled by then, no worker of the tests compiles again.
test: $(READY) $(TORCH)  ## lint, types, layers, docstrings, then the default tests
	$(MAKE) --jobs=2 lint compiled
	$(BIN)/pytest -n auto -m "$(DEFAULT)"

compiled: $(READY)  ## what the tests share is compiled, once
	$(BIN)/python tests/compiled/fill_cache.py

test-slow: $(READY)  ## long streams and accuracy on the paper's data
	$(BIN)/pytest -m slow

test-faults: $(READY)  ## every call that changes a file made to fail, one at a time; what is left goes on to the same bytes
	$(BIN)/pytest -n auto -m faults

# Rows take far longer: of tests marked plain_cases(n) only n cases run.
test-plain: $(READY)  ## the core's tests with compilation off
	NUMBA_DISABLE_JIT=1 $(BIN)/pytest -m "$(DEFAULT)" tests/core

# Code with bounds checks is other code, and Numba keeps one version of a function only: a cache of its own.
test-bounds: $(READY)  ## the default tests with every index of compiled code checked
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(abspath $(VENV)/bounds-checked) $(BIN)/pytest -n auto -m "$(DEFAULT)"

test-fuzz: $(READY)  ## a hundred thousand altered files of every kind, all of them with right checksums
	$(BIN)/pytest -n auto -m fuzz

# Rows of the long streams: make test-soak IEGP_SOAK_ROWS=1e5
test-soak: $(READY)  ## ten million rows at extreme settings, thousands of classes and columns; hours
	$(BIN)/pytest -m soak

# Every package that we depend on is called here. Old ones call newer ones by deprecated names; that is not our concern.
# Numba keeps the code of one of its versions only: a cache of its own.
test-oldest: $(OLDEST)/.ready  ## what touches dependencies, with the oldest of them that are allowed
	NUMBA_CACHE_DIR=$(abspath $(OLDEST)/compiled) $(OLDEST)/bin/pytest -n auto -W ignore::DeprecationWarning -m "$(DEFAULT)" tests/readers tests/datasets tests/storage tests/plots tests/core/latent tests/history/test_history.py \
	  tests/contracts/test_imports.py tests/contracts/test_processes.py tests/contracts/test_frames.py tests/adapters/test_river_checks.py tests/cli/test_commands.py tests/resume/test_save_load.py tests/report/test_report.py

test-ray: $(RAY_READY)  ## everything on Ray, faults included, on a cluster of several nodes here
	NUMBA_CACHE_DIR=$(abspath $(VENV)/compiled) $(BIN)/pytest tests/history/test_ray_history.py tests/fleet/test_ray_fleet.py tests/fleet/test_sharded_without_ray.py

bench: bench-speed bench-stream bench-scale bench-accuracy bench-batch bench-peers bench-baselines bench-changes bench-forecast bench-labels bench-latent bench-river bench-numerics bench-own  ## all benchmark tables

bench-speed: $(READY)
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/river_row.py
	$(BIN)/python benchmarks/first_call.py

bench-stream: $(READY)
	$(BIN)/python benchmarks/stream.py
	$(BIN)/python benchmarks/stream_keys.py

bench-scale: $(READY)
	$(BIN)/python benchmarks/outgrowing.py

bench-ray: $(RAY_READY)
	NUMBA_CACHE_DIR=$(abspath $(VENV)/compiled) $(BIN)/python benchmarks/fleet_ray.py

bench-accuracy: $(READY)
	$(BIN)/python benchmarks/accuracy.py

bench-batch: $(BENCH_READY)  ## many later rows in one call, beside a random forest and LightGBM; rows that are sorted
	$(BIN)/python benchmarks/batch.py
	$(BIN)/python benchmarks/sorted_rows.py

bench-peers: $(BENCH_READY)  ## the default beside last label, LightGBM and River's regressors
	$(BIN)/python benchmarks/peers.py

bench-baselines: $(BENCH_READY)  ## the paper's competitors
	$(BIN)/python paper/benchmarks/baselines.py
	$(BIN)/python paper/benchmarks/baselines.py --data banana

bench-forecast: $(BENCH_READY)  ## forecasts beside statsforecast and LightGBM
	$(BIN)/python benchmarks/forecast.py

bench-labels: $(BENCH_READY)
	$(BIN)/python benchmarks/labels.py

bench-changes: $(BENCH_READY)  ## how soon changes are noticed, and coverage of intervals that keep their level
	$(BIN)/python benchmarks/changes.py --calibrate
	$(BIN)/python benchmarks/changes.py --arm
	$(BIN)/python benchmarks/changes.py
	$(BIN)/python benchmarks/conformal.py

bench-latent: $(READY)
	$(BIN)/python benchmarks/latent.py

bench-river: $(READY)
	$(BIN)/python benchmarks/river_models.py

bench-numerics: $(READY)
	$(BIN)/python benchmarks/numerical_forms.py

dist: $(READY)  ## wheel and sdist in dist/; the wheel is installed into an empty environment and tried
	rm -rf dist build
	$(BIN)/python -m pip install --quiet --group dist
	$(BIN)/python -m build --outdir dist .
	$(PYTHON) -m venv build/clean
	build/clean/bin/python -m pip install --quiet dist/*.whl
	cd build && clean/bin/iegp --version && clean/bin/iegp demo --rows 2000 --out demo
	cd build && clean/bin/python -W error -c "import iegp; print(iegp.__file__, len(iegp.datasets.list_datasets()), iegp.IEGPRegressor())"

docs: $(DOCS)/.ready spelling  ## the documentation site in build/docs/html: examples are run, a warning is an error
	rm -rf docs/reference/generated  # pages of names that are gone
	$(DOCS)/bin/sphinx-build -W --keep-going -d build/docs/doctrees docs build/docs/html

docs-links: $(DOCS)/.ready  ## links of the site to the outside are tried; examples are not run
	$(DOCS)/bin/sphinx-build -b linkcheck -D plot_gallery=False -d build/docs/links-doctrees docs build/docs/links

spelling: $(DOCS)/.ready  ## common misspellings in pages, docstrings and messages
	$(DOCS)/bin/codespell

bench-own: $(READY)  ## code of our own beside the library that offers the same
	$(BIN)/python benchmarks/own_code.py

metrics: $(READY)  ## sizes of the code, for contributors to see; never fails
	$(BIN)/python tools/metrics.py

clean:
	rm -rf docs/gallery docs/reference/generated docs/sg_execution_times.rst
	rm -rf $(VENV) $(OLDEST) $(DOCS) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
