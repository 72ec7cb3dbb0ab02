# `make run` to use it, `make test` to check it. Both work on a fresh clone.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
BIN := .venv/bin
export PYTHON

.PHONY: help setup runtime run stop demo web test test-lowest test-newest check format bench lock docs dist

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 13

setup: ## make .venv with everything for working on OpenAgent
	@scripts/setup.sh dev

runtime:
	@scripts/setup.sh runtime

web: ## build the web interface, when its sources changed
	@scripts/web.sh build

run: ## start the daemon, show the guided task, say how to go on
	@scripts/run.sh

stop: ## end the daemon
	@if [ -x $(BIN)/openagent ]; then $(BIN)/openagent stop; else echo "Nothing is set up here, so nothing runs."; fi

demo: runtime ## a scripted model repairs a bug with real tools
	@$(BIN)/openagent demo

test: setup ## every check and every test
	@BIN=$(BIN) scripts/check.sh --without-web
	@scripts/test_servers.sh
	@echo "test: pytest"
	@BIN=$(BIN) scripts/tests.sh
	@echo "test: web"
	@scripts/web.sh check
	@scripts/web.sh test

test-lowest: setup ## policy, tui, cli and rest with the lowest versions of dependencies that are let in
	@scripts/test_bounds.sh lowest

test-newest: setup ## the same with the newest
	@scripts/test_bounds.sh newest

check: setup ## lint, format, types, import contracts, generated documents
	@BIN=$(BIN) scripts/check.sh

format: setup ## rewrite the code in the house's style
	@$(BIN)/ruff check --quiet --fix .
	@$(BIN)/ruff format --quiet .
	@scripts/web.sh format

docs: setup ## rewrite the generated parts of docs/
	@$(BIN)/python scripts/configuration_reference.py --write
	@$(BIN)/python scripts/web_types.py --write
	@$(BIN)/python scripts/words.py --write
	@$(BIN)/python scripts/api_reference.py --write
	@$(BIN)/python scripts/command_reference.py --write
	@$(BIN)/python scripts/turn_picture.py --write
	@$(BIN)/python scripts/rooms.py --write
	@$(BIN)/python scripts/log_messages.py --write

bench: setup ## measure, and compare with the bounds
	@$(BIN)/python -m benchmarks

dist: setup ## wheel, sdist and the client as one file, in dist/
	@scripts/dist.sh

lock: setup ## choose versions of dependencies anew (UPGRADE=1: the newest)
	@scripts/lock.sh
