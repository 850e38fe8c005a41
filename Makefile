# The commands of daily work. `make demo` and `make test` are all a newcomer needs: Rust, Python 3.11 and make suffice,
# root is not needed, and cargo and pip use the registries that the machine is set up for.

PYTHON ?= python3
CARGO  ?= cargo
VENV   := .venv
PIP    := $(VENV)/bin/python -m pip --disable-pip-version-check
STAMP  := $(VENV)/.slackwater
BUILT   = $(or $(CARGO_TARGET_DIR),target)/debug

.DEFAULT_GOAL := help
.PHONY: help page test-page gallery demo test test-rust test-python python bench fuzz mutants steady soak lint lint-rust lint-python lint-english vale docs site deny package dist wheel release container check fmt clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## Build the command, compare 32 systems in 15 scenarios, open the page
	$(CARGO) run --release -p slackwater-cli -- arena --quick --open

test: test-rust test-python test-page ## Run every test

test-rust: ## Run the Rust tests (dev profile, opt-level 1), two programs at a time
	PROPTEST_RNG_SEED=$${PROPTEST_RNG_SEED:-20261126} CARGO="$(CARGO)" $(PYTHON) benches/tests.py

test-python: python ## Run the tests of the Python package
	$(VENV)/bin/python -m pytest python/tests

# A stamp instead of the folder: a venv whose installation was interrupted is set up again.
$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "error: $(PYTHON) is older than 3.11; name another with 'make PYTHON=...'" >&2; exit 2; }
	@$(PYTHON) -m venv $(VENV) || $(PYTHON) -m virtualenv --quiet $(VENV) \
	  || { echo "error: $(PYTHON) cannot make a virtual environment; on Debian install python3-venv" >&2; exit 2; }
	$(PIP) install --quiet --upgrade 'pip>=25.1'
	$(PIP) install --quiet --group dev
	@touch $@

# The module is a crate of the workspace, so it takes the dependencies that the tests have compiled. `maturin develop` would build
# all of them once more, by settings of its own.
python: $(STAMP) ## Build the Python package into .venv
ifeq ($(shell uname),Linux)
	$(CARGO) build --quiet -p slackwater-py --lib
	cp -f $(BUILT)/lib_slackwater.so python/slackwater/_slackwater.abi3.so
	@$(VENV)/bin/python packaging/develop.py
else
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(VENV)/bin/maturin develop --quiet
endif

page: ## Build the scripts of all pages from web/ (needs Node)
	cd web && npm ci --no-audit --no-fund --silent && npm run --silent build

test-page: ## Test all pages in headless Chromium (skips where Node or chromium is missing)
	@if ! command -v npm >/dev/null; then echo "test-page skipped: no Node (npm)"; \
	elif ! command -v chromium >/dev/null; then echo "test-page skipped: no chromium"; \
	else $(CARGO) test --quiet --workspace --test command --no-run && cd web && npm ci --no-audit --no-fund --silent && npm run --silent test; fi

gallery: ## Draw the figures of docs/gallery.md again by its commands (needs Node and chromium; a debug build takes some minutes)
	$(CARGO) build --quiet -p slackwater-cli
	cd web && npm ci --no-audit --no-fund --silent && npm run --silent gallery

bench: ## Print CPU seconds per simulated second and instruction counts beside the goals
	$(CARGO) run --profile dist -p slackwater-cli -- bench
	$(PYTHON) benches/instructions.py --binary $(or $(CARGO_TARGET_DIR),target)/dist/slackwater

FUZZ_SECONDS ?= 200
fuzz: ## Fuzz each target by libFuzzer for FUZZ_SECONDS (200: an hour in all; needs a C++ compiler)
	fuzz/run $(FUZZ_SECONDS)

MUTANTS ?= queue control edge ran transport
MUTANTS_SHARD ?= 0/1
mutants: ## Change the code of MUTANTS (crates) in small ways, and count which changes no test sees (hours; MUTANTS_SHARD=0/40 for a part)
	@for crate in $(MUTANTS); do .ci/mutants $$crate $(MUTANTS_SHARD) || exit 1; done

steady: ## Each test program in 20 copies at once: what fails by load alone (an hour; STEADY="cli/emulate" for one)
	$(PYTHON) benches/steady.py $(STEADY)

SOAK_SECONDS ?= 3600
soak: ## Memory under load, kills and restarts, of an emulator and then of a user plane function, for SOAK_SECONDS each (needs root)
	$(CARGO) build --release -p slackwater-cli
	$(PYTHON) benches/soak.py --binary $(or $(CARGO_TARGET_DIR),target)/release/slackwater --seconds $(SOAK_SECONDS)
	$(PYTHON) benches/soak_upf.py --binary $(or $(CARGO_TARGET_DIR),target)/release/slackwater --seconds $(SOAK_SECONDS)

.PHONY: laws
laws: ## Property tests with a new seed in each round, for LAWS_SECONDS (600)
	.ci/laws

.PHONY: loom
loom: ## All orders in which threads can reach what a connection and its host share (loom)
	RUSTFLAGS="--cfg slackwater_loom" CARGO_TARGET_DIR=$(or $(CARGO_TARGET_DIR),target)/loom \
	  $(CARGO) test --quiet -p slackwater-quinn --lib -- control::model

lint: lint-rust lint-python lint-english ## Formatting, clippy, ruff, mypy, the documentation's English

lint-rust: ## rustfmt and clippy
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings

lint-python: python ## ruff and mypy
	$(VENV)/bin/ruff check python benches docs/img docs/site docs/style
	$(VENV)/bin/ruff format --check python benches docs/img docs/site docs/style
	$(VENV)/bin/mypy

VALE_VERSION = v3.22.0
VALE = $(or $(shell command -v vale),$(wildcard $(CI_TOOLS)/bin/vale),$(wildcard $(CURDIR)/target/ci-tools/bin/vale))
lint-english: ## Sentences and words of all pages (needs vale: `make vale`)
	@if test -n "$(VALE)"; then $(PYTHON) docs/style/check.py --vale "$(VALE)"; \
	else echo "lint-english skipped: no vale ('make vale' builds it with Go)"; fi

vale: ## Build the linter of English into target/ci-tools (needs Go and a C compiler)
	GOBIN=$(or $(CI_TOOLS),$(CURDIR)/target/ci-tools)/bin go install github.com/vale-cli/vale/v3/cmd/vale@$(VALE_VERSION)

# A fresh environment: what the navigation lists stands in conf.py, and pages that were read before would not be read again for it.
site: $(STAMP) ## Build the documentation as a site, warnings and dead links are errors
	$(PIP) install --quiet --group site
	$(VENV)/bin/sphinx-build --fresh-env --quiet --fail-on-warning --keep-going --jobs auto -c docs/site -d target/site.cache . target/site
	@echo target/site/index.html

deny: ## Licences, bans and sources of all dependencies (needs cargo-deny)
	$(CARGO) deny --all-features check licenses bans sources

docs: ## Build the API documentation, warnings are errors
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps

# What cargo unpacked and built of our packages the last time: it would take that again, for they have the same version.
PACKED = $(or $(CARGO_HOME),$(HOME)/.cargo)/registry/src/-*/slackwater-*

# Each crate is packed, and built from what was packed and from its neighbours' packages. The Python half goes to PyPI.
package: ## Pack every crate as a registry would take it, and build it from that
	@rm -rf $(PACKED)
	@for made in $$(grep -ls registry/src/- $(BUILT)/deps/slackwater_*.d); do \
	  hash=$${made##*-}; rm -rf $(BUILT)/.fingerprint/slackwater-*-$${hash%.d}; done
	$(CARGO) package --workspace --exclude slackwater-py --allow-dirty

# The binary is static where musl-gcc is there; what was made is unpacked and run.
dist: ## Build the packages of a release into dist/: binary, manual pages, completions, Debian package
	packaging/dist
	packaging/check

wheel: $(STAMP) ## Build the sdist and from it the wheel into dist/wheels, and run what a fresh environment installs
	packaging/wheel $(WHEEL)

release: $(STAMP) ## Build binary, packages, wheel and container, run each, and hold their versions to one another
	packaging/dist
	packaging/check
	packaging/wheel
	packaging/versions --all

container: ## Build the container of `slackwater upf` and run what is in it (docker, podman or buildah; BASE=, RUST=, BINARY= as its file says)
	BASE="$(BASE)" RUST="$(RUST)" BINARY="$(BINARY)" PROFILE="$(PROFILE)" packaging/container/check

check: lint docs deny test ## Everything that CI runs

fmt: $(STAMP) ## Format Rust and Python
	$(CARGO) fmt --all
	$(VENV)/bin/ruff format python benches docs/img docs/site docs/style
	$(VENV)/bin/ruff check --fix python benches docs/img docs/site docs/style

clean: ## Remove what make made
	$(CARGO) clean
	rm -rf $(VENV)
