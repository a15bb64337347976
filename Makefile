# One virtual environment, a handful of verbs. `make demo` and `make test` install on first use and need no network
# afterwards.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help install demo test check matrix bench clean

help:
	@echo "make install   create .venv with everything the tests use (PYTHON=python3.12 chooses the interpreter)"
	@echo "make demo      see an agent's memory at work: offline, no key, under a minute"
	@echo "make test      run the tests (ARGS='-k retriever' is handed to pytest)"
	@echo "make check     format, lint, types, import ladder, then the tests"
	@echo "make matrix    run the tests again with the core alone, with LangChain alone, with LlamaIndex alone"
	@echo "make bench     print speed; with DATA=folder also quality on the folder's JSONL files"
	@echo "make clean     remove .venv, caches and build output"

install: $(STAMP)
	@:

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit("prism-memory needs Python 3.11 or newer and $(PYTHON) is %d.%d; choose another one: make PYTHON=python3.12" % v[:2] if v < (3, 11) else 0)'
	@test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
		echo "$(PYTHON) cannot create virtual environments; on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	@echo "Installing into $(VENV) (a few minutes the first time)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

demo: $(STAMP)
	@$(BIN)/prism demo

test: $(STAMP)
	@$(BIN)/python -m pytest -q $(ARGS)

check: $(STAMP)
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/python -m pytest -q $(ARGS)

# What is not installed must not be needed: an environment of its own for every combination of hosts.
matrix: matrix-core matrix-langchain matrix-llamaindex
matrix-core: EXTRAS = test
matrix-core: TESTS = tests/core
matrix-langchain: EXTRAS = test-langchain
matrix-langchain: TESTS = tests/langchain -m 'not slow'
matrix-llamaindex: EXTRAS = test-llamaindex
matrix-llamaindex: TESTS = tests/llamaindex -m 'not slow'
matrix-%:
	@echo "== $* alone"
	@test -x $(VENV)-$*/bin/pip || $(PYTHON) -m venv $(VENV)-$*
	@$(VENV)-$*/bin/python -m pip install --quiet --disable-pip-version-check -e '.[$(EXTRAS)]'
	@$(VENV)-$*/bin/python -m pytest -q tests/test_extras.py $(TESTS)

# A file with tool calls holds agent runs, one with questions holds evidence-QA stores.
bench: $(STAMP)
	@for script in benchmarks/*.py; do \
		test -f "$$script" || continue; \
		echo "== $$script"; $(BIN)/python "$$script" || exit 1; \
	done
	@test -n "$(DATA)" || echo "Quality: make bench DATA=folder"
	@for file in $(if $(DATA),$(DATA)/*.jsonl); do \
		if grep -q '"tool_calls"' "$$file"; then command=traces; \
		elif grep -q '"questions"' "$$file"; then command=qa; \
		else continue; fi; \
		echo "== prism eval $$command $$file"; $(BIN)/prism eval $$command "$$file" || exit 1; \
	done

clean:
	@rm -rf $(VENV) $(VENV)-* build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
