# `make demo` and `make test` set up everything they need in .venv.
PYTHON ?= python3
PEERS_PYTHON ?= python3.11
BIN := .venv/bin

.PHONY: demo test bench-quick crashes lint format peers lock clean

demo: .venv/ready
	$(BIN)/python examples/demo.py

test: .venv/ready
	$(BIN)/python -m pytest $(PYTEST_ARGS)

# A few minutes of the paper's evaluation; the whole takes an evening: python -m benchmarks paper.
bench-quick: .venv/ready
	rm -rf build/bench-paper
	$(BIN)/python -m benchmarks paper --quick --out build/bench-paper

# Nodes killed hundreds of times, at random moments.
crashes: .venv/ready
	$(BIN)/python -m tests.node.crash_campaign --kills $(or $(KILLS),300)

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: .venv/ready
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.venv/ready: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "ppaurora needs Python 3.11 or newer; name one with: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

# Other systems to compare with: python -m benchmarks peers.
peers: .venv-peers/ready

.venv-peers/ready: requirements-peers.lock
	@$(PEERS_PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11) and "the peers need Python 3.11; name it with: make PEERS_PYTHON=... peers")'
	$(PEERS_PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-peers.lock
	@touch $@

# Needs uv; rewrites requirements.lock from pyproject.toml for every supported Python, and that of the peers.
lock:
	uv pip compile --quiet --universal --generate-hashes --python-version 3.11 --extra dev --group bench \
		--no-emit-package ppaurora --no-header pyproject.toml -o requirements.lock
	uv pip compile --quiet --generate-hashes --python-version 3.11 --group peers --no-header -o requirements-peers.lock

clean:
	rm -rf .venv .venv-peers build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
