# Two commands set everything up: `make demo` and `make test`. Each makes its own environment.
# The tests start hundreds of processes; without bytecode each would compile the package again.
unexport PYTHONDONTWRITEBYTECODE
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CORE := $(VENV)/.core
DEV := $(VENV)/.dev
BENCH := $(VENV)/.bench
TRAIN := $(VENV)/.train
DOCS := $(VENV)/.docs
# Tests without a server, a browser, a killed process or training.
QUICK := not slow and not postgres and not browser
# Processes that share the tests, one more than cores: tests also wait, for disks, servers and pages.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print(min(4, (os.cpu_count() or 1) + 1))')
BY_FILE := --dist loadfile --no-loadscope-reorder
# Both at once, the lint's output only where it has something to say. In a new clone one process compiles the tests first;
# else each of those that share them would compile all of them.
define beside_lint
@$(MAKE) --no-print-directory lint >$(VENV)/lint.log 2>&1 & lint=$$!; \
test -d tests/__pycache__ || $(BIN)/python -m pytest --collect-only -q >/dev/null; \
$(BIN)/python -m pytest $(BY_FILE) $(1); tests=$$?; \
wait $$lint || { cat $(VENV)/lint.log; exit 1; }; \
exit $$tests
endef

PACKAGES := -c 'import sysconfig; print(sysconfig.get_path("purelib"))'
FRAMEWORKS := $(VENV)/frameworks/.ready
CREWAI := $(VENV)/crewai/.ready
FRAMEWORK_EXTRAS := anthropic,autogen,google-adk,langgraph,pydantic-ai
FRAMEWORK_TESTS := $(addprefix tests/adapters/test_,$(addsuffix .py,anthropic autogen google_adk hermes langgraph pydantic_ai suites))
ENCRYPTION := $(VENV)/encryption/.ready
# Tests of stores and faces that pass over an encrypted file too, with the key in the environment.
KEYED_TESTS := tests/stores/test_conformance.py tests/hooks/test_resident.py tests/mcp/test_stdio.py tests/test_typescript.py
KEYED := TestSqlite and not OwnIndex and (delet or forg or queue or repair or update or export) or stored_once or begins_with_a_block or holds_the_protocol or typescript
ADAPTER_EXAMPLES := 'tests/test_docs.py::test_python_blocks_run_and_print_what_they_promise[docs/adapters.md]'
# Frameworks warn of their own imports.
SUITE_OPTIONS := -W ignore::DeprecationWarning -W ignore::ImportWarning
AWAITED := -o asyncio_mode=auto -o asyncio_default_fixture_loop_scope=function

EXTRAS ?=
# Which everyday lives are raced: those that only report, those one chooses by, or all.
LIVES ?= report

.PHONY: audit docs sbom demo race check test environments test-adapters test-encryption test-training browser typescript lint format release types clean

demo: $(CORE)
	@$(BIN)/fivefold demo

# All recipes on the everyday lives: table on the screen, and with every answer and the plots in out/race.
race: $(BENCH)
	@$(BIN)/fivefold bench everyday --lives $(LIVES) --out out/race

# What one runs while working.
check: $(DEV)
	$(call beside_lint,-n 2 -p no:schemathesis --hypothesis-profile=quick -m '$(QUICK)')

test: $(DEV) browser typescript
	$(call beside_lint,-n $(WORKERS))

# Each framework's own suite, or its own classes, over its adapter; and the examples of docs/adapters.md. Types are checked
# meanwhile, since lint has no types of these frameworks.
test-adapters: $(FRAMEWORKS) $(CREWAI)
	@$(<D)/bin/python -m mypy --cache-dir $(<D)/mypy src/fivefold/adapters >$(VENV)/types.log 2>&1 & types=$$!; \
	$(<D)/bin/python -m pytest $(SUITE_OPTIONS) $(AWAITED) $(FRAMEWORK_TESTS) $(ADAPTER_EXAMPLES) && \
	$(CREWAI:.ready=)bin/python -m pytest $(SUITE_OPTIONS) tests/adapters/test_crewai.py $(ADAPTER_EXAMPLES); tests=$$?; \
	wait $$types || { cat $(VENV)/types.log; exit 1; }; \
	exit $$tests

# With SQLite3 Multiple Ciphers in place of SQLite: encrypted stores, and the laws of every store over an encrypted file.
test-encryption: $(ENCRYPTION)
	$(<D)/bin/python -m pytest -n 2 tests/stores/test_encryption.py
	FIVEFOLD_STORE_KEY=tests $(<D)/bin/python -m pytest -n 2 $(KEYED_TESTS) -k '$(KEYED)'

# One thread for each of two processes: the matrices are too small to share.
test-training: $(TRAIN)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 $(BY_FILE) tests/training

# The last three are scripts that import each other by bare names, folder by folder.
lint: $(DEV)
	$(BIN)/ruff check src bench tests training
	$(BIN)/ruff format --check src bench tests training
	$(BIN)/lint-imports --no-logo --no-cache
	$(BIN)/mypy
	MYPYPATH=training/embedder $(BIN)/mypy training/embedder
	MYPYPATH=training/cross_encoder:training/embedder $(BIN)/mypy training/cross_encoder
	MYPYPATH=training/embedder $(BIN)/mypy training/reader

browser:
	@command -v chromium >/dev/null || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null && \
	  { echo "Installing Chromium, in which the page is tested (once)…"; apt-get update -qq && \
	    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null; }; } || \
	  { echo "The page is tested in Chromium; install it, as with: sudo apt-get install chromium"; exit 1; }

# What the client in TypeScript is built and tested with; without npm its tests are skipped.
NODE := clients/typescript/node_modules/.package-lock.json
typescript: $(if $(shell command -v npm),$(NODE))

$(NODE): clients/typescript/package-lock.json
	@cd clients/typescript && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

# Fails for a known weakness, and for a package that could not be looked up.
audit: $(DEV)
	@test -x $(VENV)/audit/bin/pip-audit || { $(PYTHON) -m venv $(VENV)/audit && \
	  $(VENV)/audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit; }
	@$(BIN)/python -m pip freeze --exclude-editable >$(VENV)/packages.txt
	$(VENV)/audit/bin/pip-audit --strict --disable-pip --no-deps -r $(VENV)/packages.txt

# The pages with search and a reference made from docstrings, in out/site.
docs: $(DOCS)
	@$(BIN)/python docs/make_site.py
	@$(BIN)/zensical build

# Builds both packages, checks them, installs them into a new environment, and prints what to upload; uploads nothing.
release:
	@rm -rf out/release $(VENV)/release && mkdir -p out/release
	@$(PYTHON) -m venv $(VENV)/release && $(VENV)/release/bin/python -m pip install --quiet --disable-pip-version-check build twine
	@for source in . bench; do $(VENV)/release/bin/python -m build --outdir out/release $$source >$(VENV)/release/build.log || \
	  { cat $(VENV)/release/build.log; exit 1; }; done
	@$(VENV)/release/bin/twine check --strict out/release/*
	@$(PYTHON) -m venv $(VENV)/release/installed
	@$(VENV)/release/installed/bin/python -m pip install --quiet --disable-pip-version-check out/release/*.whl
	@cd $(VENV)/release && installed/bin/fivefold --version && installed/bin/fivefold demo >/dev/null && installed/bin/fivefold bench --help >/dev/null
	@echo "Built, checked and installed; nothing was signed or uploaded. To upload: twine upload out/release/*"
	@cd out/release && sha256sum *

# How much of the package a type checker knows without inferring it.
types: $(DEV)
	@test -x $(VENV)/types/bin/pyright || { $(PYTHON) -m venv $(VENV)/types && \
	  $(VENV)/types/bin/python -m pip install --quiet --disable-pip-version-check pyright; }
	@VIRTUAL_ENV=$(CURDIR)/$(VENV) PATH=$(CURDIR)/$(BIN):$$PATH $(VENV)/types/bin/pyright --verifytypes fivefold --ignoreexternal \
	  >$(VENV)/types/report; grep "completeness score" $(VENV)/types/report

sbom: $(DEV)
	@$(BIN)/python docs/make_sbom.py $(EXTRAS)

format: $(DEV)
	$(BIN)/ruff check --fix src bench tests training
	$(BIN)/ruff format src bench tests training

$(CORE): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "fivefold needs Python 3.11 or newer; name one with: make PYTHON=python3.12 demo"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing fivefold into $(VENV) (once)…"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[mcp,serve]'
	@touch $@

$(BENCH): $(CORE) bench/pyproject.toml
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e . -e ./bench
	@touch $@

# What the tests import is compiled when they do; that is a small part of what they bring along.
$(DEV): $(BENCH)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -e '.[dev]' -e ./bench
	@touch $@

# An environment that sees the packages of $(VENV) and adds others: small, and without what `make test` does not need.
define new_environment
@$(PYTHON) -m venv $(@D)
@echo "import site; site.addsitedir('$$($(BIN)/python $(PACKAGES))')" >$$($(@D)/bin/python $(PACKAGES))/below.pth
@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile --no-warn-conflicts $(1)
endef

# All that the tests after `make test` need, but for PyTorch, which would be there for `make test` too.
environments: $(FRAMEWORKS) $(CREWAI) $(ENCRYPTION)

# Half a minute and 110 MB. Model clients, servers and databases of the frameworks are left out: nothing here reaches a network.
$(FRAMEWORKS): $(DEV)
	$(call new_environment,-e '.[$(FRAMEWORK_EXTRAS)]' cryptography langchain-tests langmem)
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile --no-deps 'hermes-agent==0.19.*'
	@touch $@

# CrewAI wants older versions of pydantic, openai and mcp than the others, and 835 MB of which its memory uses little:
# it is installed without what it requires, then with what it imports, which is a quarter of that.
$(CREWAI): $(DEV)
	$(call new_environment,--no-deps 'crewai==1.*' crewai-core crewai-cli)
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile --no-warn-conflicts \
	  aiofiles appdirs chromadb json-repair json5 jsonref portalocker pydantic-settings tomli
	@touch $@

$(ENCRYPTION): $(DEV)
	$(call new_environment,apsw-sqlite3mc keyring)
	@touch $@

$(TRAIN): $(DEV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -e '.[train]' 'torch==2.13.0'
	@touch $@

$(DOCS): $(CORE)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	@touch $@

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
