# `make demo` and `make test` set up everything they need in .venv; `make help` lists the rest.
PYTHON ?= python3
PEERS_PYTHON ?= python3.11
BIN := .venv/bin
# Hundreds of processes are started here; with modules compiled once, each starts in half of the time.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test test-long bench-quick crashes campaign defects screenshots lint format docs peers ray lock sbom licences \
	audit dist clean help

demo: .venv/ready ## three hospitals, three servers, the result next to scikit-learn's
	$(BIN)/python examples/demo.py

# Files side by side, one worker for each core; tests with nodes start many processes, so four at most.
# In the order of tests/conftest.py: rooms that share nodes stay together.
PYTEST_ARGS ?= --numprocesses=auto --maxprocesses=4 --dist=loadfile --no-loadscope-reorder
PYTEST := $(BIN)/python -m pytest --durations=10
test: .venv/ready ## all tests but the long ones; a part of them: make test PYTEST_ARGS="tests/data -q"
	$(PYTEST) -m "not long" $(PYTEST_ARGS)

test-long: .venv/ready ## the long ones: packages installed, campaigns, attacks
	$(PYTEST) -m long $(PYTEST_ARGS)

# The whole takes an evening: python -m benchmarks paper.
bench-quick: .venv/ready ## a few minutes of the paper's evaluation
	rm -rf build/bench-paper
	$(BIN)/python -m benchmarks paper --quick --out build/bench-paper

crashes: .venv/ready ## nodes killed hundreds of times, at random moments; KILLS=300
	$(BIN)/python -m tests.node.crash_campaign --kills $(or $(KILLS),300)

# ONLY="shares=80 kits=100" chooses kinds and trials; the whole takes some hours, with 1,000 kills.
campaign: .venv/ready ## what disks, clocks, crowds and kills do to nodes; figures in build/campaign
	$(BIN)/python -m tests.campaign $(foreach kind,$(ONLY),--only $(kind))

# ONLY="floor-off-by-one lax-der" chooses some; JOBS=4 tries so many at a time.
defects: .venv/ready ## deliberate defects put into copies of the tree: would a test notice?
	$(BIN)/python -m tests.defects --jobs $(or $(JOBS),1) $(ONLY)

# In a Chromium of the system's. Every page, to look at: python -m tools.screenshots --all build/screenshots
screenshots: .venv/ready ## the pictures in docs/images, from the app itself with made-up data
	$(BIN)/python -m tools.screenshots

# Types also as Windows has them, of what owners and coordinators run there.
lint: .venv/ready ## style, layout and types: ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --config-file tools/windows.ini

format: .venv/ready ## fix style and layout
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.venv/ready: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "ppaurora needs Python 3.11 or newer; name one with: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

# Its makers tell of their next product at every build; nothing else is silenced.
docs: .venv/ready ## the documentation as pages that need no network: build/site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict
	@echo "open build/site/index.html"

ray: .venv/ready ## Ray beside the rest, for tests and benchmarks with it, which are skipped otherwise
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-ray.lock

peers: .venv-peers/ready ## other systems to compare with, for: python -m benchmarks peers

.venv-peers/ready: requirements-peers.lock
	@$(PEERS_PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11) and "the peers need Python 3.11; name it with: make PEERS_PYTHON=... peers")'
	$(PEERS_PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-peers.lock
	@touch $@

# For every supported Python, from pyproject.toml. What nodes and owners install is a part of what was tested.
COMPILE := uv pip compile --quiet --generate-hashes --python-version 3.11 --no-header
lock: ## write all lock files anew; needs uv
	$(COMPILE) --universal --no-emit-package ppaurora --extra dev --group bench --group docs \
		pyproject.toml -o requirements.lock
	$(COMPILE) --universal --no-emit-package ppaurora --extra node --group build --constraints requirements.lock \
		pyproject.toml -o requirements-node.lock
	$(COMPILE) --universal --no-emit-package ppaurora --group build --constraints requirements.lock \
		pyproject.toml -o requirements-owner.lock
	$(COMPILE) --universal --no-emit-package ppaurora --extra node --extra ray --group build \
		--constraints requirements.lock pyproject.toml -o requirements-ray.lock
	$(COMPILE) --universal --no-emit-package ppaurora --extra app --group build --constraints requirements.lock \
		pyproject.toml -o requirements-app.lock
	$(COMPILE) --group peers -o requirements-peers.lock

# Where developers work, everything is installed: what they have beside a node's packages is locked as well.
SBOM := $(BIN)/python -m tools.supply sbom --beside requirements.lock --beside requirements-ray.lock
sbom: .venv/ready ## what a node and an owner install, as CycloneDX: build/sbom-node.json, ...
	@mkdir -p build
	$(SBOM) requirements-node.lock --out build/sbom-node.json
	$(SBOM) requirements-owner.lock --out build/sbom-owner.json
	$(SBOM) requirements-app.lock --out build/sbom-app.json

licences: .venv/ready ## are the licences of what a node or an owner installs allowed? tools/supply/licences.toml
	$(BIN)/python -m tools.supply licences requirements-node.lock requirements-owner.lock requirements-app.lock

audit: .venv/ready ## known vulnerabilities of everything locked; asks osv.dev
	$(BIN)/python -m tools.supply audit requirements-node.lock requirements-owner.lock requirements-app.lock requirements.lock

# The date in both archives is a constant, so that the same sources make the same bytes on every machine.
dist: .venv/ready ## wheel and source archive, with their SHA-256: dist/
	rm -rf dist
	SOURCE_DATE_EPOCH=1580601600 $(BIN)/python -m hatchling build -d dist
	cd dist && sha256sum *.tar.gz *.whl | tee SHA256SUMS

clean: ## remove environments, builds and caches
	rm -rf .venv .venv-peers build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
