# Everything a newcomer types. `make demo ARGS="--key uno --key poker"` passes options on.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:

VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
JARS := $(VENV)/.jars
CLASSES := $(VENV)/.classes
CHECKSUMS := lake_assets/runtime/artifacts/checksums.txt
IN_VENV := VIRTUAL_ENV="$(CURDIR)/$(VENV)" UV_COMPILE_BYTECODE=1
UV := $(IN_VENV) $(BIN)/uv
ARGS ?=
# Processes that run tests side by side: tests wait for a quarter of their time. Each has a Spark of
# its own, and what its tests start takes up to 5 GB.
WORKERS ?= $(shell $(BIN)/python -c 'import os; \
	memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // (5 << 30); \
	print(max(2, min(os.cpu_count() + 1, memory)))')
# A process that crashes ends the run: xdist (3.8) replaces it, and then waits for ever at the end.
PYTEST = pytest --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder \
	--max-worker-restart 0

# The Python to use, as `requires-python` and the pins of the docs say; `make setup PYTHON=python3.12`
# chooses another.
FITS := import sys; sys.exit(not (3, 11, 5) <= sys.version_info < (3, 13))
PYTHON ?= $(shell for p in python3 python3.12 python3.11; do \
	$$p -c '$(FITS)' 2>/dev/null && { echo $$p; break; }; done)

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: setup
setup: $(CLASSES) ## Install everything, Java if it is missing; then Spark starts in half the time

.PHONY: demo
demo: $(JARS) ## Kafka to gold tables with seven games, seen in the Dagster UI; Ctrl-C ends it
	@exec $(BIN)/lake-assets demo $(ARGS)

.PHONY: demo-once
demo-once: $(JARS) ## The same once, without a UI: produce, stream, refresh, check, print, end
	@exec $(BIN)/lake-assets demo --once $(ARGS)

# Many processes import the same modules: compiled once, whatever the shell asks for.
test coverage test-bench test-long test-fast: export PYTHONDONTWRITEBYTECODE :=

.PHONY: test
test: setup ## Run the suite of each push, with real Kafka, registry, Spark and Dagster
	$(BIN)/python -m $(PYTEST) -m "not (bench or long)" $(ARGS)

# Apart from `test`: measuring makes pure Python take half as long again.
.PHONY: coverage
coverage: setup ## Run the long tests, too, and say which lines and branches none reaches
	$(BIN)/python -m $(PYTEST) -m "not bench" --cov --cov-report term-missing:skip-covered \
		$(if $(ARGS),--cov-fail-under 0) $(ARGS)

.PHONY: test-bench
test-bench: setup ## Run the benchmark's own long tests: each peer and section, on a few events
	$(BIN)/python -m $(PYTEST) -m bench $(ARGS)

.PHONY: test-long
test-long: setup ## Run what takes minutes a test: a Spark cluster, kills at every step, the other S3
	$(BIN)/python -m $(PYTEST) -m long $(ARGS)

.PHONY: test-fast
test-fast: $(JARS) ## Run the tests that start no Java: no Spark, no Kafka, no registry
	$(BIN)/python -m $(PYTEST) -m "not (bench or long or java or spark or kafka or slow)" $(ARGS)

# Dagster's own packages laid over the environment: the newest that `pyproject.toml` lets in, or the
# one that is named. Its libraries are of the lock; that their numbers differ is only a warning.
DAGSTER ?= >=1.13.27,<1.14
OVERLAY := $(CURDIR)/$(VENV)/dagster

.PHONY: test-dagster
test-dagster: $(INSTALLED) ## Test what leans on Dagster with the newest, or DAGSTER===1.13.28
	@rm -rf "$(OVERLAY)"
	VIRTUAL_ENV="$(CURDIR)/$(VENV)" $(BIN)/uv pip install --quiet --no-deps --target "$(OVERLAY)" \
		$(foreach one,dagster dagster-shared dagster-pipes dagster-graphql,"$(one)$(DAGSTER)")
	PYTHONPATH="$(OVERLAY)" $(BIN)/python -c 'import dagster; print("dagster", dagster.__version__)'
	PYTHONPATH="$(OVERLAY)" $(BIN)/python -m pytest -W "ignore:Found version mismatch:UserWarning" \
		-m "not (bench or long or java or spark or kafka or slow)" \
		$(or $(ARGS),lake_assets_tests/defs/internals lake_assets_tests/test_definitions.py)

.PHONY: check
check: $(INSTALLED) ## Lint, format check, types, who may import whom, advisories about the lock
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python .ci/audit.py

.PHONY: bench
bench: setup ## The pipeline beside its peers: a table, bench.json and a chart in docs/
	@exec $(BIN)/python -m benchmarks --output bench.json --chart docs/images/bench.png $(ARGS)

.PHONY: faults
faults: setup ## Half an hour of kills, pauses and full disks under load, then a count of each event
	@exec $(BIN)/python -m faults --output faults.json --chart faults.png $(ARGS)

.PHONY: docs
docs: $(INSTALLED) ## The documentation as a site, in site/; needs no network
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

.PHONY: lock
lock: $(INSTALLED) ## Pin all dependencies anew in requirements.lock
	$(UV) pip compile --no-emit-index-url --no-emit-find-links --generate-hashes --group dev \
		--group bench --group docs pyproject.toml -o requirements.lock

.PHONY: clean
clean: ## Remove the virtual environment and caches; the lake and its services' data stay
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	rm -rf .coverage .coverage.* build dist site
	find benchmarks docs_pages faults lake_assets lake_assets_tests -name __pycache__ -type d -prune -exec rm -rf {} +

# pip installs only uv, at the lock's version and hashes; uv installs the rest.
$(INSTALLED): requirements.lock pyproject.toml
	@$(or $(PYTHON),false) -c '$(FITS)' 2>/dev/null || { echo "Python 3.11.5 or later, or 3.12, is needed and was" \
		"not found. Install one, or name it: make setup PYTHON=/path/to/python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "$(PYTHON) cannot make virtual" \
		"environments. On Debian or Ubuntu: apt install python3-venv" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@awk '/^uv==/ {on = 1; print; next} on && /^[^ ]/ {exit} on' requirements.lock > $(VENV)/uv.txt
	$(BIN)/python -m pip install --quiet --require-hashes -r $(VENV)/uv.txt
	@$(IN_VENV) $(BIN)/python .ci/install.py $(BIN)/uv pip sync --require-hashes requirements.lock
	@$(IN_VENV) $(BIN)/python .ci/install.py $(BIN)/uv pip install --no-deps --no-build-isolation -e .
	@touch $@

$(JARS): $(CHECKSUMS) $(INSTALLED)
	@$(BIN)/lake-assets setup --no-class-archive
	@touch $@

# Not before a first demo, which it would hold up for a minute or two.
$(CLASSES): $(JARS)
	@$(BIN)/lake-assets setup
	@touch $@
