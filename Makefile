# What can be made here. Everything is incremental: a second `make` with nothing changed does nothing.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
RESULTS := results/demo
# What a change of calls for another wheel. Words are no part of it: README.md and the READMEs of studies are packed, but
# nothing reads them from an installed package.
SOURCES := Cargo.toml Cargo.lock pyproject.toml \
	$(shell find crates/*/src crates/*/Cargo.toml crates/*/build.rs python presets profiles scenarios studies lessons -type f \
		\( -name '*.rs' -o -name '*.toml' -o -name '*.py' -o -name '*.pyi' -o -name '*.csv' -o -name '*.tcl' -o -name '*.json' -o -name 'lesson.md' \) \
		-not -path '*/__pycache__/*' -not -name tests.rs -not -path '*/tests/*' 2>/dev/null) \
	$(shell find python/lasthop.data -type f)

# What every report carries inside, and the page of `lasthop serve`; see web/.
VIEWER := python/lasthop/report/viewer.js

.PHONY: help setup packages viewer demo test tests-built test-fast mutants same-bytes soak fuzz fuzz-again bench counts \
	live-bench serve-bench record format lint wasm examples wheels try-wheel check-targets deny lock gallery long site clean
.DEFAULT_GOAL := help

help:
	@echo "make demo    set everything up, run a paper's baseline table, draw it, and try one transfer between real kernels"
	@echo "make test    set everything up and run all tests"
	@echo "make test-fast   the tests that take no long time: without real time, notebooks and the longest suites"
	@echo "make mutants which of 500 changes of tcp, link and sim do their tests catch? (ARGUMENTS='--sample 30 --only cubic')"
	@echo "make same-bytes  hold the optimised build against the one with assertions: the same bytes of 250 scenarios"
	@echo "make soak    a million connections over bad pipes, every stream byte for byte (COUNT=n for n of them)"
	@echo "make fuzz    fuzz every target for 20 s (SECONDS=n; RUNS=n for n executions each; TARGETS='endpoint pair')"
	@echo "make bench   measure speed and memory; a table here, figures in target/bench.json"
	@echo "make counts  count the simulator's instructions for each segment (CASES=\"one fifty\"); see benches/README.md"
	@echo "make live-bench  measure how precise and fast live runs are (LOADED=1: also with a busy process); idle machines only"
	@echo "make serve-bench  measure lasthop serve: first page, player, views, zoom, a large capture, watched live runs"
	@echo "make long    memory and descriptors over a day of virtual time, 10,000 live transfers, a study whose workers die"
	@echo "make record  renew what tests compare with: window curves, schemas and reference pages"
	@echo "make gallery  make the pictures of docs/gallery.md by their lines"
	@echo "make format  format all sources, Rust and Python"
	@echo "make lint    formatting, lints and types, Rust and Python"
	@echo "make wasm    build a static page that runs scenarios in the browser (WebAssembly), in target/browser"
	@echo "make examples  build and run the programs of examples/, each outside the workspace"
	@echo "make wheels  build the wheels of Linux as a release has them, in target/release-wheels (WHEELS='TARGET…'); see docs/release.md"
	@echo "make try-wheel   try a wheel in a new environment: sizes, times, the tutorial (WHEEL=file)"
	@echo "make check-targets  check the wheel's crates for macOS and Windows"
	@echo "make deny    check licences and sources of the crates with cargo-deny, and their advisories where the network allows"
	@echo "make setup   only what the others need: $(BIN)/lasthop and the packages of Debian that it can use"
	@echo "make viewer  build the pages of lasthop report and lasthop serve (TypeScript, in web/)"
	@echo "make lock    pin the newest Python packages that pyproject.toml allows in requirements.lock"
	@echo "make site    build the documentation as pages for a browser, in target/site"
	@echo "make clean   remove what was made, results apart"

setup: packages .venv/.optimised

viewer: $(VIEWER)
web/node_modules/.package-lock.json: web/package-lock.json
	@command -v npm >/dev/null || { echo "The pages of \`lasthop report\` and \`serve\` are built with Node.js 20 or newer; please install it."; exit 1; }
	cd web && npm ci --silent --no-audit --no-fund
	@touch $@
$(VIEWER): web/node_modules/.package-lock.json web/build.mjs web/bundle.mjs $(wildcard web/*.html web/*.svg web/src/* web/src/laboratory/*)
	cd web && node build.mjs

# Programs from Debian: installed where we may, named where we may not. Looked at once per checkout.
packages: .venv/.debian
.venv/.debian: .ci/debian-packages
	@PYTHON="$(PYTHON)" .ci/debian-packages
	@mkdir -p .venv && touch $@

.venv/.packages: requirements.lock .ci/debian-packages | .venv/.debian
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "lasthop needs Python 3.11 or newer; say which with make PYTHON=…"; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements.lock
	@touch $@

# Builds the wheel by the profile $(1) and installs it.
define install
@rm -f target/wheels/lasthop-*.whl
$(BIN)/maturin build --profile $(1) --locked --quiet --interpreter $(BIN)/python --out target/wheels
$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall target/wheels/lasthop-*.whl
endef

# One wheel is installed at a time. Tests take what is there when it is of these sources, and the one that is quick to
# build otherwise; everything else takes the optimised one.
.venv/.lasthop: .venv/.packages $(SOURCES) $(VIEWER)
	@rm -f .venv/.optimised
	$(call install,wheel-dev)
	@touch $@
.venv/.optimised: .venv/.packages $(SOURCES) $(VIEWER)
	$(call install,release)
	@touch .venv/.lasthop $@

demo: setup
	$(BIN)/lasthop study sarolahti2000 --only 14 --figures --out $(RESULTS)/table14
	$(BIN)/lasthop run quickstart --out $(RESULTS)/quickstart
	$(BIN)/lasthop plot $(RESULTS)/quickstart time-sequence
	$(BIN)/lasthop plot $(RESULTS)/quickstart cwnd
	$(BIN)/lasthop plot $(RESULTS)/quickstart queue
	$(BIN)/lasthop report $(RESULTS)/quickstart
	@echo
	@echo "The same scenario in real time, between two kernels:"
	@$(BIN)/lasthop live quickstart --out $(RESULTS)/live || echo "This machine does not allow it (above is why); all the rest works."
	@echo
	@echo "Look at:"
	@echo "  $(RESULTS)/table14     published and measured values: study.json, study.parquet, and pictures"
	@echo "  $(RESULTS)/quickstart  one run: run.json, tables, captures for Wireshark, pictures, and report.html for a browser"
	@echo "Then: $(BIN)/lasthop --help"

# Live tests run one at a time: they measure in real time and share the kernel's tables.
test: packages .venv/.lasthop
	cargo test --workspace --locked --quiet -- --include-ignored
	$(BIN)/python -m pytest --quiet -m "not live" --numprocesses auto
	$(BIN)/python -m pytest --quiet -m live
	cd web && npm test --silent

# What `make test` runs of Rust, only built.
tests-built:
	cargo test --workspace --locked --quiet --no-run

# Without the crate `live`, Python's live tests, the notebooks, and the tests that cargo ignores by themselves: queues
# shared by flows of every modern profile, 12,000 connections byte for byte.
test-fast: .venv/.lasthop
	cargo test --workspace --exclude lasthop-live --locked --quiet
	$(BIN)/python -m pytest --quiet -m "not live and not slow" --numprocesses auto

# A few minutes to build, and some seconds for each mutant; a second run continues where the first ended.
mutants:
	$(PYTHON) scripts/mutants/sample.py $(ARGUMENTS)

# The build with assertions gives the same bytes as the optimised build, which users have.
same-bytes: setup
	cargo build --workspace --lib --tests --locked --quiet
	$(BIN)/python scripts/checks/same_bytes.py target/debug/lib_native.so

# All processors; says how far it is. With the checks of the development profile, not in release.
COUNT ?= 1000000
soak:
	cargo build --package lasthop-testkit --example soak --locked --quiet
	@begun=$$(date +%s); target/debug/examples/soak $(COUNT); status=$$?; \
		echo "$$(( $$(date +%s) - begun )) s"; exit $$status

# For SECONDS each, or for RUNS executions each. See fuzz/README.md.
TARGETS ?= endpoint pair scenario packet quic capture flow framing netlink control
SECONDS ?= $(if $(RUNS),0,20)
fuzz:
	@fuzz/run $(SECONDS) $(or $(RUNS),-1) $(TARGETS)

# One input of one target once more: make fuzz-again TARGET=endpoint INPUT=file
fuzz-again:
	cargo run --package lasthop-fuzz --example replay --locked --quiet -- $(TARGET) $(INPUT)

bench: setup
	$(BIN)/python benches/report.py

# The Rust examples have a lock file and a target of their own, as a reader's program has.
EXAMPLES := quinn smoltcp
examples:
	for name in $(EXAMPLES); do \
		cargo run --release --manifest-path examples/rust-$$name/Cargo.toml --target-dir target/examples -- \
			examples/path.toml $(RESULTS)/example-$$name || exit 1; \
	done
	cargo run --release --manifest-path examples/rust-congestion/Cargo.toml --target-dir target/examples -- \
		examples/rust-congestion/download.toml $(RESULTS)/example-congestion
	cargo test --locked --package lasthop-capi --test example

# By callgrind, so that other work does not change it. Needs valgrind. COUNTED is the profile that the bench is built with.
COUNTED ?= bench
counts:
	cargo bench --locked --quiet --package lasthop-sim --bench segment --profile $(COUNTED) -- counts $(CASES)

# By iperf3 and ping, and by ourselves. It takes some minutes and is no part of `make test`.
live-bench: setup
	$(BIN)/python benches/live.py $(if $(LOADED),--loaded)

# How fast the page of lasthop serve shows runs and captures, and whether clients that watch a live run make it less
# precise.
serve-bench: setup
	$(BIN)/python benches/serve_page.py
	$(BIN)/python benches/serve_view.py
	$(BIN)/python benches/serve_zoom.py
	$(BIN)/python benches/serve_capture.py
	$(BIN)/python benches/serve_live.py

# What is recorded from the code and checked by tests: window curves, schemas, reference pages, the page of Python, the
# completions of shells.
COMPLETIONS := python/lasthop.data/data/share
record: .venv/.lasthop
	cargo run --quiet --locked --package lasthop-testkit --example record
	cargo run --quiet --locked --package lasthop-scenario --example write_schemas
	LASTHOP_RECORD=1 cargo test --quiet --locked --package lasthop-capi --test header
	PYTHONPATH=tests $(BIN)/python -m documents.python_page
	_LASTHOP_COMPLETE=bash_source $(BIN)/lasthop > $(COMPLETIONS)/bash-completion/completions/lasthop
	_LASTHOP_COMPLETE=zsh_source $(BIN)/lasthop > $(COMPLETIONS)/zsh/site-functions/_lasthop
	_LASTHOP_COMPLETE=fish_source $(BIN)/lasthop > $(COMPLETIONS)/fish/vendor_completions.d/lasthop.fish
	PYTHONPATH=tests $(BIN)/python -m documents.surface

# The pictures of docs/gallery.md, each by the lines next to it.
gallery: .venv/.lasthop
	PYTHONPATH=tests $(BIN)/python -m documents.gallery

# Every file by its name: cargo fmt does not see the modules that the registries' macros declare.
format: .venv/.packages
	git ls-files '*.rs' | xargs rustfmt --edition 2024
	$(BIN)/ruff format --quiet .

lint: .venv/.packages web/node_modules/.package-lock.json
	git ls-files '*.rs' | xargs rustfmt --edition 2024 --check
	cargo clippy --workspace --all-targets --locked --quiet -- --deny warnings
	cargo clippy --package lasthop-fuzz --features libfuzzer --bins --locked --quiet -- --deny warnings
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy
	$(BIN)/python scripts/checks/line_lengths.py
	$(BIN)/zizmor --quiet --offline .github/workflows
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml
	cd web && npm run --silent check

# The page for servers of files, with the core for browsers; tests/test_wasm.py runs both. WASM_PROFILE=release optimises
# across crates. Without the target of rustup this is reported, and the rest continues.
WASM := wasm32-unknown-unknown
WASM_PROFILE := wheel-dev
wasm: .venv/.lasthop
	@if rustup target add $(WASM) 2>/dev/null; then \
		cargo build --locked --quiet --target $(WASM) --profile $(WASM_PROFILE) --package lasthop-wasm && \
		$(BIN)/python scripts/browser/static_page.py target/$(WASM)/$(WASM_PROFILE)/lasthop_wasm.wasm target/browser && \
		(cd web && node static.mjs ../target/browser) && \
		echo "target/browser/index.html, for any server of files"; \
	else echo "NOT BUILT: the target $(WASM) cannot be installed here (rustup target add $(WASM))"; fi

# The wheels of Linux, with Zig as the linker; several minutes each. WHEELS is a list of targets of rustc, all by default.
wheels: .venv/.release $(VIEWER)
	$(BIN)/python scripts/release/wheels.py $(WHEELS)
try-wheel: .venv/.packages
	$(BIN)/python scripts/release/try_wheel.py $(WHEEL)
.venv/.release: scripts/release/requirements.lock | .venv/.packages
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement scripts/release/requirements.lock
	@touch $@

# The crates of the wheel for the systems of which no wheel can be linked here. What is not checked is said. Zig compiles
# what is in C; nothing is linked, so that for Windows one set of headers serves both names.
CHECKED := x86_64-pc-windows-msvc x86_64-pc-windows-gnu aarch64-apple-darwin x86_64-apple-darwin
ZIG = $(abspath $(BIN))/python -m ziglang
check-targets: export CC_x86_64_pc_windows_msvc = $(ZIG) cc -target x86_64-windows-gnu
check-targets: export AR_x86_64_pc_windows_msvc = $(ZIG) lib
check-targets: export CC_x86_64_pc_windows_gnu = $(ZIG) cc -target x86_64-windows-gnu
check-targets: export CC_aarch64_apple_darwin = $(ZIG) cc -target aarch64-macos
check-targets: export CC_x86_64_apple_darwin = $(ZIG) cc -target x86_64-macos
check-targets: .venv/.release
	@for target in $(CHECKED); do \
		if rustup target add $$target 2>/dev/null; then \
			cargo check --locked --quiet --target $$target --package lasthop-python || exit 1; echo "checked: $$target"; \
		else echo "NOT CHECKED: $$target cannot be installed here (rustup target add $$target)"; fi; \
	done

deny:
	@command -v cargo-deny >/dev/null || { echo "cargo-deny is not installed: cargo install cargo-deny --locked"; exit 1; }
	cargo deny --locked check licenses bans sources
	@cargo deny --locked check advisories || echo "NOT CHECKED, or with findings: the advisories (their database comes from the network)"

lock: .venv/.packages
	$(BIN)/python -m pip install --quiet uv
	{ echo "# Every Python package that lasthop runs on and is developed with, pinned. Made from pyproject.toml by \`make lock\`."; \
	  $(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --group dev --no-emit-index-url --no-header pyproject.toml; \
	} > requirements.lock.new && mv requirements.lock.new requirements.lock
	{ echo "# What builds the documentation site, pinned. Made from pyproject.toml by \`make lock\`."; \
	  $(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --group site --constraint requirements.lock \
	    --no-emit-index-url --no-header pyproject.toml; \
	} > docs/site/requirements.lock.new && mv docs/site/requirements.lock.new docs/site/requirements.lock
	{ echo "# What builds and examines the wheels of a release, pinned. Made from pyproject.toml by \`make lock\`."; \
	  $(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --group release --constraint requirements.lock \
	    --no-emit-index-url --no-header pyproject.toml; \
	} > scripts/release/requirements.lock.new && mv scripts/release/requirements.lock.new scripts/release/requirements.lock

# Memory and descriptors over time: a day of virtual time, transfers in real time (root), and a study whose workers die
# (needs `distributed`). Hours in all; HOURS, TRANSFERS and RUNS make them shorter. See benches/README.md.
HOURS ?= 24
TRANSFERS ?= 10000
long: setup
	$(BIN)/python benches/long/virtual_day.py --hours $(HOURS)
	$(BIN)/python benches/long/live_row.py --transfers $(TRANSFERS)
	$(BIN)/python benches/long/killed_workers.py --runs $(or $(RUNS),1000000)

# The documentation site, in target/site. A link to what is not there is an error.
site: .venv/.lasthop .venv/.site
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going --builder html --conf-dir docs/site . target/site
	@echo "target/site/index.html"
.venv/.site: docs/site/requirements.lock | .venv/.packages
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement docs/site/requirements.lock
	@touch $@

clean:
	rm -rf target docs/site/generated .venv web/node_modules python/lasthop/report/viewer.* python/lasthop/serve/page
