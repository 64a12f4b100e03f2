# watchdog: everything that is done with this repository. `make check` is what CI runs.

PREFIX ?= $(HOME)/.local
DESTDIR ?=
TARGET := $(shell rustc -vV | sed -n 's,^host: ,,p')
RELEASE := target/$(TARGET)/release/watchdog
DEBUG := target/$(TARGET)/debug/watchdog

.PHONY: help build demo test lint check e2e test-system faults bench fuzz soak install uninstall clean

help: ## List the targets
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/make \1\t\2/p' Makefile | expand -t 20

build: ## Build the static release binary
	cargo build --release --locked

demo: ## See a stall noticed, nudged, escalated and recovered, on a built-in example (under 30 s)
	@cargo build --quiet --locked
	@tests/demo $(DEBUG)

test: ## Run all tests that need nothing but Rust (most of them wait for processes: more threads than cores)
	cargo test --locked -- --test-threads=6

lint: ## Check formatting and lints
	cargo fmt --check
	cargo clippy --locked --all-targets --all-features -- -D warnings

check: lint test ## Lint and test

test-system: ## Run the tests that need strace, systemd, a full disk (root)
	tests/system/run

faults: ## Fail every file-system call of every command once (strace; ten minutes and more)
	tests/faults/run

e2e: ## Drive a real client offline (installs it from npm into a cache; 77 = it could not be installed)
	tests/e2e/run

fuzz: ## Fuzz every parser and the ledger's fold for an hour (CI: tests/fuzz 300)
	tests/fuzz $(or $(FUZZ_SECONDS),3600)

soak: ## One daemon, 50 sessions, ten minutes of work, stalls and crashes (SOAK_SECONDS, SOAK_SEED)
	cargo test --locked --features soak --test soak

bench: build ## Measure hooks, bridge and daemon as ratios, side by side
	cargo bench --locked --bench fold
	WATCHDOG=$(abspath $(RELEASE)) cargo bench --locked --profile dev --bench processes

install: build ## Install binary, unit, man page and completions (PREFIX, DESTDIR)
	install -D -m 755 $(RELEASE) "$(DESTDIR)$(PREFIX)/bin/watchdog"
	install -d "$(DESTDIR)$(PREFIX)/share/systemd/user" "$(DESTDIR)$(PREFIX)/share/man/man1" \
	    "$(DESTDIR)$(PREFIX)/share/bash-completion/completions" "$(DESTDIR)$(PREFIX)/share/zsh/site-functions" \
	    "$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d"
	sed 's|%h/.local/bin|$(PREFIX)/bin|' systemd/watchdog@.service >"$(DESTDIR)$(PREFIX)/share/systemd/user/watchdog@.service"
	$(RELEASE) generate man >"$(DESTDIR)$(PREFIX)/share/man/man1/watchdog.1"
	$(RELEASE) generate bash >"$(DESTDIR)$(PREFIX)/share/bash-completion/completions/watchdog"
	$(RELEASE) generate zsh >"$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_watchdog"
	$(RELEASE) generate fish >"$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/watchdog.fish"
	@echo 'Installed. Next, in a project: watchdog install'

uninstall: ## Remove what "make install" installed
	rm -f "$(DESTDIR)$(PREFIX)/bin/watchdog" "$(DESTDIR)$(PREFIX)/share/systemd/user/watchdog@.service" \
	    "$(DESTDIR)$(PREFIX)/share/man/man1/watchdog.1" \
	    "$(DESTDIR)$(PREFIX)/share/bash-completion/completions/watchdog" \
	    "$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_watchdog" \
	    "$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/watchdog.fish"

clean: ## Remove what was built
	cargo clean
