# `make run` shows the comparison, `make test` runs the quick tests, `make test-all` every test but Ray's, which is
# large: `make test-ray`. Each installs what it needs into .venv first.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

# `agents/` and `baselines/` are installed inside `prema_gym` (setup.py). Tools that read imports from files need
# the tree as it is installed.
INSTALLED := build/as-installed
AS_INSTALLED = rm -rf $(INSTALLED) && mkdir -p $(INSTALLED) \
	&& cp -Rp prema_gym prema_gym_command.py benchmarks docs examples tests train.py pyproject.toml $(INSTALLED) \
	&& cp -Rp agents baselines $(INSTALLED)/prema_gym

.PHONY: run install test test-all test-ray test-browser check site format scalesim bench clean

run: .venv/.core
	$(BIN)/prema-gym evaluate

install: .venv/.all

test: .venv/.all
	$(BIN)/pytest -n 2 -m "not heavy"

test-all: .venv/.all
	$(BIN)/pytest -n 2

# A Ray cluster of two machines on this one's loopback.
test-ray: .venv/.all
	$(PIP) --editable ".[ray]"
	$(BIN)/pytest tests/distribution/test_ray.py

# The pages in a headless browser. On Debian: apt-get update && apt-get install chromium
test-browser: .venv/.all
	@command -v chromium > /dev/null || { echo "Chromium is missing: apt-get update && apt-get install chromium"; exit 1; }
	$(BIN)/pytest -m browser

check: .venv/.all
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(AS_INSTALLED)
	cd $(INSTALLED) && $(CURDIR)/$(BIN)/mypy --cache-dir $(CURDIR)/.mypy_cache
	cd $(INSTALLED) && $(CURDIR)/$(BIN)/lint-imports --cache-dir $(CURDIR)/.import_linter_cache

# The pages as a site, in build/site; a broken link is an error. Pages of Python come from the docstrings.
site: .venv/.all
	$(AS_INSTALLED)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

format: .venv/.all
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# What SCALE-Sim prints, which a test compares our cycles with. It fails with NumPy 2.4, and so has its own environment.
scalesim: .venv/.all
	test -x build/scalesim/bin/python || $(PYTHON) -m venv build/scalesim
	build/scalesim/bin/python -m pip install --quiet --disable-pip-version-check scalesim==3.0.0 numpy==2.2.6
	$(BIN)/python -m tests.hardware.scalesim

bench: .venv/.all
	$(BIN)/python -m benchmarks

clean:
	rm -rf .venv build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Where this folder was installed as a copy before (`pip install .`), pip leaves the compiled code that Numba cached
# there, and Python would take that folder for the package.
CLEAR := rm -rf $(foreach package,prema_gym baselines agents,.venv/lib/python*/site-packages/$(package))

# What the commands need: a few small packages.
.venv/.core: pyproject.toml setup.py constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) --editable .
	$(CLEAR)
	touch $@

# What training, plotting and the tests need as well.
.venv/.all: .venv/.core
	$(PIP) --editable ".[all]"
	$(CLEAR)
	touch $@
