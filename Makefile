# Everything that a person or a machine does with this repository; `make` alone explains.
ifeq ($(filter oneshell,$(.FEATURES)),)
$(error GNU make 3.82 or newer is needed, this is $(MAKE_VERSION); on a Mac: brew install make, then use gmake)
endif

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.ONESHELL:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

VENV := .venv
BIN := $(VENV)/bin
STAMPS := .make
READY := $(STAMPS)/python
JARS := $(STAMPS)/jars
CODE := trinitylake_spark tests tools benchmarks examples
JAVA_SOURCES := $(shell find jars -path jars/target -prune -o -type f -print 2>/dev/null)
MVN := mvn --quiet --batch-mode -Dstyle.color=never --file jars/pom.xml
ARGS ?=

.PHONY: help
help: ## Show this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  \033[36m%-14s\033[0m %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# --- build ---------------------------------------------------------------------------------------

.PHONY: setup
setup: $(READY) $(JARS) ## Create .venv and build the jars (the other targets do it when needed)

$(READY): pyproject.toml constraints.txt
	@mkdir -p $(STAMPS)
	python=$$(tools/prerequisites.sh)
	echo "Creating $(VENV) (once; a few minutes on a slow line)"
	[ -x $(BIN)/python ] || "$$python" -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $@

.PHONY: jars
jars: $(JARS) ## Build the bridge and stage Delta's jars into the package

$(JARS): $(JAVA_SOURCES)
	@mkdir -p $(STAMPS)
	tools/prerequisites.sh >/dev/null
	echo "Building the jars"
	$(MVN) package -DskipTests
	rm -rf build/_jars && mkdir -p build/_jars
	cp jars/target/stage/*.jar build/_jars/
	rm -rf trinitylake_spark/_jars && mv build/_jars trinitylake_spark/_jars
	touch $@

.PHONY: proto
proto: $(READY) ## Generate the protobuf classes from definitions.proto
	@$(BIN)/python -m grpc_tools.protoc --proto_path=. --python_out=. --pyi_out=. \
	    trinitylake_spark/format/definitions.proto

.PHONY: wheel
wheel: $(READY) $(JARS) ## Build dist/*.whl, which carries all jars
	@rm -rf build/lib build/bdist*
	$(BIN)/python -m build --wheel --no-isolation --outdir dist .

# --- check ---------------------------------------------------------------------------------------

.PHONY: lint
lint: $(READY) $(JARS) ## Style, types, layers, sizes; Python and Java
	@code=$$(ls -d $(CODE) 2>/dev/null)
	$(BIN)/ruff check $$code
	$(BIN)/ruff format --check $$code
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/python tools/sizes.py
	$(MVN) verify -DskipTests

.PHONY: format
format: $(READY) ## Let ruff format and repair what it can
	@code=$$(ls -d $(CODE) 2>/dev/null)
	$(BIN)/ruff format $$code
	$(BIN)/ruff check --fix $$code

.PHONY: test
test: $(READY) $(JARS) ## All tests, storage servers too that start in seconds (ARGS="-k name" to choose)
	@$(MVN) test
	$(BIN)/pytest -m "not stores and not long" $(ARGS)

.PHONY: test-fast
test-fast: $(READY) ## The tests that need neither Spark nor servers
	@$(BIN)/pytest -m "not spark and not servers and not stores and not slow" $(ARGS)

.PHONY: test-stores
test-stores: $(READY) ## All storage servers, all rounds; it installs and starts the servers
	@TRINITYLAKE_STORES=full $(BIN)/pytest -m "servers or stores" $(ARGS)

.PHONY: test-kill
test-kill: $(READY) $(JARS) ## Kill -9 the Spark driver 50 times in mid-transaction
	@TRINITYLAKE_KILLS=$${TRINITYLAKE_KILLS:-50} $(BIN)/pytest -m kill $(ARGS)

.PHONY: test-long
test-long: $(READY) $(JARS) ## The longest tests through Spark: all forms and types, 1,000 random programs
	@TRINITYLAKE_PROGRAMS=$${TRINITYLAKE_PROGRAMS:-1000} $(BIN)/pytest -m long $(ARGS)

# --- see it --------------------------------------------------------------------------------------

.PHONY: demo
demo: $(READY) $(JARS) ## The main job on real data: five tables, three transactions, rollback
	@$(BIN)/python -m examples.flights $(ARGS)

.PHONY: notebook
notebook: $(READY) $(JARS) ## Execute the notebook and keep its output in build/
	@mkdir -p build
	$(BIN)/jupyter-execute notebooks/flights.ipynb --output=../build/flights

.PHONY: bench
bench: $(READY) $(JARS) ## Statements side by side with plain Delta tables
	@$(BIN)/python -m benchmarks.statements $(ARGS)

.PHONY: bench-core
bench-core: $(STAMPS)/bench ## Commits, listings and a million tables without Spark, beside other catalogs
	@$(BIN)/python -m benchmarks.storage $(ARGS)
	$(BIN)/python -m benchmarks.tree $(ARGS)

.PHONY: bench-writers
bench-writers: $(STAMPS)/bench ## 1 to 64 writers at once: commits a second, fairness; beside Icechunk (ten minutes)
	@$(BIN)/python -m benchmarks.concurrency $(ARGS)

$(STAMPS)/bench: $(READY)
	@$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[bench]'
	touch $@

.PHONY: clean
clean: ## Remove what was built, keep .venv
	@rm -rf build dist *.egg-info jars/target trinitylake_spark/_jars $(JARS) \
	    .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis spark-warehouse

.PHONY: clean-all
clean-all: clean ## Remove .venv too
	@rm -rf $(VENV) $(STAMPS)
