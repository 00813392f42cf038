# `make demo` and `make test` set up everything they need in .venv; `make help` lists the rest.
PYTHON ?= python3
PEERS_PYTHON ?= python3.11
BIN := .venv/bin

.PHONY: demo test bench-quick crashes lint format peers lock clean help

demo: .venv/ready ## three hospitals, three servers, the result next to scikit-learn's
	$(BIN)/python examples/demo.py

test: .venv/ready ## all tests; a part of them: make test PYTEST_ARGS="tests/data -q"
	$(BIN)/python -m pytest $(PYTEST_ARGS)

# The whole takes an evening: python -m benchmarks paper.
bench-quick: .venv/ready ## a few minutes of the paper's evaluation
	rm -rf build/bench-paper
	$(BIN)/python -m benchmarks paper --quick --out build/bench-paper

crashes: .venv/ready ## nodes killed hundreds of times, at random moments; KILLS=300
	$(BIN)/python -m tests.node.crash_campaign --kills $(or $(KILLS),300)

lint: .venv/ready ## style, layout and types: ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: .venv/ready ## mend style and layout
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.venv/ready: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "ppaurora needs Python 3.11 or newer; name one with: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

peers: .venv-peers/ready ## other systems to compare with, for: python -m benchmarks peers

.venv-peers/ready: requirements-peers.lock
	@$(PEERS_PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11) and "the peers need Python 3.11; name it with: make PEERS_PYTHON=... peers")'
	$(PEERS_PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-peers.lock
	@touch $@

# For every supported Python, from pyproject.toml.
lock: ## write requirements.lock and that of the peers anew; needs uv
	uv pip compile --quiet --universal --generate-hashes --python-version 3.11 --extra dev --group bench \
		--no-emit-package ppaurora --no-header pyproject.toml -o requirements.lock
	uv pip compile --quiet --generate-hashes --python-version 3.11 --group peers --no-header -o requirements-peers.lock

clean: ## remove environments, builds and caches
	rm -rf .venv .venv-peers build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
