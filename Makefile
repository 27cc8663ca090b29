# make demo | quick | test | test-all | test-lowest | docs | fuzz | bench | clean.  The environment is .venv; it is made
# once, and again only when pyproject.toml or constraints.txt change.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

LOWEST := .venv-lowest

.PHONY: help demo quick test test-all test-lowest lint types unit docs fuzz bench constraints lock locked clean
.DEFAULT_GOAL := help

help:
	@echo "make demo         learn, evaluate and explain on a built-in data set"
	@echo "make quick        ruff, mypy, and the tests of single modules that need no learning"
	@echo "make test         ruff, mypy, pytest"
	@echo "make test-all     make test, and the slow tests"
	@echo "make fuzz         INPUTS mutated inputs to every reader, parser, run folder and page; continues where it was stopped"
	@echo "make locked       install the exact packages of requirements.lock, checked by hash, into .venv-locked; not editable"
	@echo "make test-lowest  the tests with the lowest versions that pyproject.toml allows (torch stays as it is)"
	@echo "make docs         the documentation site, in build/site; a broken link or a missing docstring is an error"
	@echo "make bench        the paper's tables with our figures beside them; writes benchmarks/results"
	@echo "make clean        remove the environment and every cache"

demo: $(READY)
	@$(BIN)/nlil demo

quick: lint types
	$(BIN)/pytest -n 2 tests/test_architecture.py tests/unit/logic tests/unit/data tests/unit/kernel \
		--ignore tests/unit/kernel/test_compiled.py --ignore tests/unit/data/test_real_data.py

test: lint types unit

test-all: lint types
	$(BIN)/pytest -n 2 -rs -m "slow or not slow"

test-lowest: $(LOWEST)/.ready
	$(LOWEST)/bin/pytest -n 2 -rs

docs: $(READY)
	$(BIN)/pytest tests/test_docs.py tests/test_docstrings.py
	PATH=$(CURDIR)/$(BIN):$$PATH NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

lint: $(READY)
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check --quiet src tests benchmarks

types: $(READY)
	$(BIN)/mypy

unit: $(READY)
	$(BIN)/pytest -n 2 -rs

INPUTS ?= 50000
SEED   ?= 0
fuzz: $(READY)
	PYTHONPATH=src:tests $(BIN)/python -m fuzz --inputs $(INPUTS) --seed $(SEED)

bench: $(READY)
	$(BIN)/nlil bench stats
	$(BIN)/nlil bench scale
	$(BIN)/nlil bench kb
	$(BIN)/nlil bench recovery
	$(BIN)/nlil bench es
	$(BIN)/nlil bench length
	$(BIN)/nlil bench scene
	$(BIN)/nlil bench fewshot
	$(BIN)/nlil bench speed
	$(BIN)/nlil bench viewer
	$(BIN)/nlil bench start
	$(BIN)/nlil bench tables

constraints: $(READY)
	@{ sed -n '/^#/p' constraints.txt; $(BIN)/pip freeze --exclude-editable | sed 's/^\(torch==[^+]*\)+.*/\1/'; } > constraints.new
	@mv constraints.new constraints.txt && touch $(READY)

LOCKED := .venv-locked
LOCK_LINE := "{0[name]}=={0[version]} --hash=sha256:{1}".format(i["metadata"], i["download_info"]["archive_info"]["hashes"]["sha256"])
lock: $(READY)
	@grep -v '^#\|^torch==' constraints.txt > lock.in
	@$(BIN)/pip install --quiet --dry-run --ignore-installed --no-deps --report lock.json setuptools -r lock.in
	@{ sed -n '/^#/p' requirements.lock; $(BIN)/python -c 'import json; found = json.load(open("lock.json"))["install"]; print(*sorted(($(LOCK_LINE) for i in found), key=str.lower), sep="\n")'; } > lock.new
	@mv lock.new requirements.lock && rm lock.in lock.json

locked:
	@test -x $(LOCKED)/bin/python || $(PYTHON) -m venv $(LOCKED)
	$(LOCKED)/bin/pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements.lock
	$(LOCKED)/bin/pip install --quiet --disable-pip-version-check -c constraints.txt "$$(grep '^torch==' constraints.txt)"
	$(LOCKED)/bin/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation .
	@$(LOCKED)/bin/nlil --version

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; old = sys.version_info < (3, 11); sys.exit(old and "nlil needs Python 3.11 or newer and $(PYTHON) is %d.%d; name a newer one with: make PYTHON=python3.11" % sys.version_info[:2])'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV) (once)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

$(LOWEST)/.ready: pyproject.toml constraints.txt tests/lowest.py
	@test -x $(LOWEST)/bin/python || $(PYTHON) -m venv $(LOWEST)
	@$(LOWEST)/bin/python tests/lowest.py > $(LOWEST)/constraints.txt
	@$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check -c $(LOWEST)/constraints.txt -e '.[dev]'
	@touch $@

clean:
	rm -rf $(VENV) $(LOCKED) $(LOWEST) .mypy_cache .ruff_cache .pytest_cache .hypothesis .fuzz build src/*.egg-info
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
