# The one list of commands; CI runs the same ones. `make help` shows it.
#
# Nothing but Python 3.11 or newer, make and a package registry is needed. Everything is installed into
# .venv: from the hashed locks in requirements/ on Linux with Python 3.11, else from the floors in pyproject.toml.

PYTHON ?= python3
PYTEST_WORKERS ?= 3
PYTEST_ARGS ?=

# Tests that need a server, a browser or another toolchain carry the marker `outside`, those that need more minutes
# than `make test` has `thorough`. `make test` leaves both out; `make test-outside` runs them, and CI runs all.
OUTSIDE := outside or thorough

# Tests start hundreds of processes: what the first compiles is kept for the others, whatever the shell says.
KEEPING := env -u PYTHONDONTWRITEBYTECODE

VENV  := .venv
TOOLS := .venv-tools
BIN   := $(VENV)/bin
LOCKS := requirements/run.lock requirements/dev.lock requirements/build.lock requirements/bench.lock requirements/tools.lock

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help demo test test-outside lint lint-python lint-imports lint-proto types check proto proto-check fmt \
	bench soak fuzz crash tournaments ladder zoo docs helm clients web lock hooks install wheel clean distclean

# $(call missing,what): say plainly what is not there, and fail.
missing = { echo "make $@: not there yet: $(1)" >&2; exit 1; }

help: ## this list
	@awk -F ':.*## ' '/^##: / { print "\n" substr($$0, 5) } \
		/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

##: the two commands of a fresh machine

demo: $(VENV)/.run ## install, then show the game: no question asked, ends by itself
	@$(BIN)/ronda demo </dev/null

test: $(VENV)/.dev ## install, then run the tests that need nothing but Python (about five minutes on two cores)
	@$(KEEPING) $(BIN)/python -m pytest -n $(PYTEST_WORKERS) --dist loadgroup -m "not ($(OUTSIDE))" $(PYTEST_ARGS) </dev/null

##: checks

test-outside: $(VENV)/.dev ## run the tests that need more than Python, or more minutes
	@$(KEEPING) $(BIN)/python -m pytest -m "$(OUTSIDE)" $(PYTEST_ARGS) </dev/null

lint: lint-python lint-imports lint-proto ## ruff, ruff format --check, lint-imports, buf lint, format and breaking

lint-python: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

lint-imports: $(VENV)/.dev
	$(BIN)/lint-imports

lint-proto: $(VENV)/.dev
	$(BIN)/buf lint proto
	$(BIN)/buf format --diff --exit-code proto
	$(BIN)/buf breaking proto --against proto/released/ronda-v1.binpb

types: $(VENV)/.dev ## mypy --strict over every package
	$(BIN)/mypy

proto-check: $(VENV)/.dev ## fail if proto/gen is not what proto/ generates
	@fresh=$$(mktemp -d) && trap 'rm -rf "$$fresh"' EXIT && $(BIN)/python proto/generate.py "$$fresh" && \
	if diff -r -x __pycache__ proto/gen "$$fresh"; then echo "proto/gen is fresh"; \
	else echo "proto/gen is stale: run 'make proto' and commit it" >&2; exit 1; fi

check: lint types proto-check test ## everything above, tests last

##: work

install: $(VENV)/.dev ## install for development, and nothing else

fmt: $(VENV)/.dev ## format Python and proto, and mend what ruff can mend
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .
	$(BIN)/buf format --write proto

proto: $(VENV)/.dev ## regenerate proto/gen from proto/ronda
	$(BIN)/python proto/generate.py

wheel: $(VENV)/.dev ## build dist/*.tar.gz, and from that dist/*.whl
	rm -rf dist
	$(BIN)/hatchling build --target sdist
	$(BIN)/python -m pip wheel --quiet --no-deps --no-index --no-build-isolation --wheel-dir dist dist/*.tar.gz

##: long runs

# Nothing is installed for a run that is not there.
bench: $(if $(wildcard benchmarks/__main__.py),$(VENV)/.bench) ## every row of the benchmark table, on two cores in a few minutes
	@test -f benchmarks/__main__.py || $(call missing,benchmarks/__main__.py (run as 'python -m benchmarks'))
	@$(BIN)/python -m benchmarks $(BENCH_ARGS)

soak fuzz crash tournaments ladder zoo: $(if $(wildcard tests/long/*.py),$(VENV)/.dev)
	@test -f tests/long/$@.py || $(call missing,tests/long/$@.py (run as 'python -m tests.long.$@'))
	@$(BIN)/python -m tests.long.$@ $(LONG_ARGS)

soak: # an hour of full load: memory, tasks and descriptors stay flat; not in the list until it is there
fuzz: ## a million malformed and hostile inputs, a million hands against the second referee
crash: ## a thousand kill -9: nothing acknowledged is lost or doubled
tournaments: ## a thousand kill -9 in a hundred tournaments (LONG_ARGS="--dask --tournaments 20 --kills 5": on Dask)
ladder: ## a million one-hand games on a ladder, killed meanwhile (LONG_ARGS="--sandbox --games 20000": sandboxed)
zoo: ## two hundred matches with a hostile bot each: no harm to any other; how often sleepers are late at full load

##: other trees

docs: # build the documentation; not in the list until it is there
	@$(call missing,a documentation build; docs/ is read as it is)

helm: # lint and render the chart; not in the list until it is there
	@$(call missing,the chart deploy/helm/ronda)

clients: ## build and test the client in another language, clients/node (needs Node 18.3 or newer and npm)
	@command -v npm >/dev/null || { echo "make $@: needs Node 18.3 or newer, and npm" >&2; exit 1; }
	cd clients/node && npm ci --no-audit --no-fund && npm run check && npm test

web: # build and test the page; not in the list until it is there
	@$(call missing,clients/web)

##: upkeep

PIP_COMPILE := CUSTOM_COMPILE_COMMAND="make lock" $(TOOLS)/bin/pip-compile --quiet --strip-extras --allow-unsafe \
	--generate-hashes --no-emit-index-url --no-emit-trusted-host --no-emit-find-links --no-emit-options $(if $(UPGRADE),--upgrade)

# The locks are made for Linux with Python 3.11. The others follow dev.lock, so one .venv can hold them all.
lock: $(TOOLS)/.stamp ## write requirements/*.lock again, keeping what still fits (UPGRADE=1: take the newest)
	$(PIP_COMPILE) --extra dev -o requirements/dev.lock pyproject.toml requirements/build.in
	$(PIP_COMPILE) -c requirements/dev.lock -o requirements/run.lock pyproject.toml
	$(PIP_COMPILE) -c requirements/dev.lock -o requirements/build.lock requirements/build.in
	$(PIP_COMPILE) -c requirements/dev.lock --extra bench -o requirements/bench.lock pyproject.toml
	$(PIP_COMPILE) -o requirements/tools.lock requirements/tools.in
	@if grep -nE '://|^ *-(i|f|-[a-z-]+url|-find-links|-trusted-host)' $(LOCKS); then \
		echo "a lock names where packages come from: see above" >&2; exit 1; fi

hooks: $(TOOLS)/.stamp ## run the quick checks before each commit (pre-commit)
	$(TOOLS)/bin/pre-commit install --hook-type pre-commit --hook-type pre-push

clean: ## remove caches and what was built
	rm -rf dist build clients/node/dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name node_modules -prune -o -path './.venv*' -prune -o -name __pycache__ -type d -exec rm -rf {} +

distclean: clean ## remove the virtual environments and node_modules as well
	rm -rf $(VENV) $(TOOLS) clients/node/node_modules

# How .venv is made ---------------------------------------------------------------------------------------
#
# .venv/.run and .venv/.dev are stamps: while neither pyproject.toml nor a lock changes, nothing is installed again.
# A virtual environment holds absolute paths: one that was copied here with the tree would run the other tree. So
# .venv/.home says where it was made, and the environment is made anew when that is not here or its Python is gone.

ifneq ($(shell test -x $(BIN)/python && cat $(VENV)/.home),$(CURDIR))
$(VENV)/.home: anew
endif
.PHONY: anew
anew:

# $(call make_venv,folder): with the first Python that is new enough; with no other than PYTHON when that was given.
PYTHONS := $(PYTHON) $(if $(filter file,$(origin PYTHON)),python3.11 python3.12 python3.13 python3.14)
define make_venv
	@found=; for python in $(PYTHONS); do \
		if "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then found=$$python; break; fi; \
	done; \
	if [ -z "$$found" ]; then \
		echo "ronda needs Python 3.11 or newer; $(PYTHON) is $$("$(PYTHON)" --version 2>&1 | head -n 1)." >&2; \
		echo "Install one, or name it: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)" >&2; exit 1; fi; \
	"$$found" -m venv --clear $(1) || { \
		rm -rf $(1); echo "$$found cannot make a virtual environment (Debian: install python3-venv)." >&2; exit 1; }
endef

# $(call pinned,python): true where the locks hold.
pinned = $(1) -c 'import platform, sys; sys.exit((sys.platform, sys.version_info[:2], platform.python_implementation()) != ("linux", (3, 11), "CPython"))'

# $(call install,locks,extra): pinned packages by hash, then the tree itself, editable. Its dependencies must then
# be there already (--no-index), which proves that the locks fit pyproject.toml.
define install
	@if $(call pinned,$(BIN)/python); then \
		echo "installing $(1)"; \
		$(BIN)/python -m pip install --quiet --require-hashes $(foreach lock,$(1),-r requirements/$(lock).lock) && \
		{ env -u PIP_FIND_LINKS $(BIN)/python -m pip install --quiet --no-index --no-build-isolation -e '.$(2)' || { \
			echo "where a requirement was not found, the lock does not fit pyproject.toml: run 'make lock'" >&2; exit 1; }; }; \
	else \
		echo "no lock for this Python or platform: installing from the floors in pyproject.toml"; \
		$(BIN)/python -m pip install --quiet -e '.$(2)' 'hatchling>=1.27'; \
	fi
endef

$(VENV)/.home:
	$(call make_venv,$(VENV))
	@echo "$(CURDIR)" >$@

$(VENV)/.dev: pyproject.toml requirements/dev.lock $(VENV)/.home
	$(call install,dev,[dev])
	@touch $@ $(VENV)/.run

$(VENV)/.run: pyproject.toml requirements/run.lock requirements/build.lock $(VENV)/.home
	$(call install,run build,)
	@touch $@

$(VENV)/.bench: requirements/bench.lock $(VENV)/.dev
	$(call install,dev bench,[dev$(comma)bench])
	@touch $@

comma := ,

$(TOOLS)/.stamp: requirements/tools.lock
	$(call make_venv,$(TOOLS))
	@$(TOOLS)/bin/python -m pip install --quiet --require-hashes -r requirements/tools.lock
	@touch $@
