# odanon: every target sets up what it needs. `make help` lists them.
SHELL := /bin/bash
.DEFAULT_GOAL := help

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
KERNELS := $(shell find plugins -path '*kernels*.py')
QUIETLY := deploy/setup/quiet.sh
PROGRAMS := deploy/setup/postgis.sh && deploy/setup/java.sh && deploy/setup/chromium.sh && deploy/setup/nginx.sh $(VENV)/nginx

unexport PYTHONDONTWRITEBYTECODE  # tests start many processes, and each would compile all modules again
export ODANON_ROOT ?= $(CURDIR)/odanon_data
export ODANON_PRODUCTS ?= $(CURDIR)/pipelines
export DAGSTER_HOME ?= $(ODANON_ROOT)/dagster

.PHONY: help install demo up docs test kernels lint bench results stress schema rooms pictures lock clean

help: ## Show this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /\1\t/' | awk -F'\t' '{printf "  make %-8s %s\n", $$1, $$2}'

install: $(STAMP) ## Create .venv with the locked versions

$(STAMP): $(VENV)/.packages $(KERNELS)
	@find plugins -name '*.nb[ic]' -delete  # a compiled kernel keeps the others that it calls as they were
	@touch $@

$(VENV)/.packages: pyproject.toml requirements.lock deploy/setup/environment.sh
	@deploy/setup/environment.sh $(VENV) $(PYTHON)
	@touch $@

demo: $(STAMP) $(DAGSTER_HOME)/dagster.yaml ## Simulate a city and publish three days of it on the embedded store
	@$(BIN)/odanon run demo --from 2026-03-02 --to 2026-03-04 --resume

up: demo ## Dagster UI on 127.0.0.1:3000 with the demo days in it (PORT=... for another port)
	@echo "The UI opens on http://127.0.0.1:$${PORT:-3000}/asset-groups ; stop it with Ctrl-C."
	@$(BIN)/dagster dev -m odanon_assets.definitions -h 127.0.0.1 -p $${PORT:-3000}

docs: $(STAMP) ## Build the documentation site into site/, from the pages and from the code
	@$(BIN)/python docs/build site

test: ## Lint, types and all tests, real PostGIS and browser included
	@$(MAKE) --no-print-directory -j2 lint kernels
	@$(PROGRAMS)
	@$(BIN)/python -m pytest $(if $(ODANON_TEST_DSN),,--numprocesses 3 --dist loadfile --no-loadscope-reorder) --durations 15

kernels: $(VENV)/.kernels
	@:

$(VENV)/.kernels: $(STAMP)
	@$(QUIETLY) "The kernels cannot be compiled, or an algorithm does not keep to its promise." $(BIN)/python deploy/setup/kernels.py
	@touch $@

lint: $(STAMP) ## Ruff, mypy and import-linter, oxlint and oxfmt for JavaScript; silent when nothing is wrong
	@$(QUIETLY) "ruff check: correct the above; '$(BIN)/ruff check --fix .' does what it can." $(BIN)/ruff check .
	@$(QUIETLY) "ruff format: run '$(BIN)/ruff format .'." $(BIN)/ruff format --check .
	@$(QUIETLY) "mypy: correct the types above." $(BIN)/mypy
	@$(QUIETLY) "import-linter: docs/architecture.md says who may import whom." $(BIN)/lint-imports
	@$(QUIETLY) "oxlint: correct the above; '$(BIN)/oxlint --fix plugins odanon_assets' does what it can." $(BIN)/oxlint plugins odanon_assets
	@$(QUIETLY) "oxfmt: run '$(BIN)/oxfmt \"{plugins,odanon_assets,docs}/**/*.js\"'." $(BIN)/oxfmt --check '{plugins,odanon_assets,docs}/**/*.js'

bench: $(VENV)/.bench ## Benchmarks, minutes long; ONLY="atg simulate" picks some
	@$(BIN)/python tests/bench $(ONLY)

$(VENV)/.bench: $(STAMP)
	@echo "Installing what the benchmarks need ..."
	@deploy/setup/pip.sh $(VENV) -c requirements.lock -e '.[bench]'
	@touch $@

results: $(STAMP) ## Write docs/results.md: our figures beside the papers', on stand-ins and real data
	@$(BIN)/python tests/bench/results

stress: $(STAMP) ## The tests at full size (property cases, kills, races), the image, a real Airflow, QGIS and R included
	@$(PROGRAMS) && deploy/setup/buildah.sh && deploy/setup/qgis.sh && deploy/setup/r.sh
	@ODANON_STRESS=1 $(BIN)/python -m pytest

schema: $(STAMP) ## Write what the code declares: the JSON Schema of product files, docs/figures.md
	@$(BIN)/odanon schema --out pipelines/product.schema.json
	@$(BIN)/python -c 'from odanon.report.figures import figures_page; print(figures_page(), end="")' > docs/figures.md

rooms: $(STAMP) ## Draw who imports whom into docs/rooms (needs graphviz)
	@docs/draw-rooms.sh $(BIN) docs/rooms

pictures: $(STAMP) ## Draw the pictures of the documentation into docs/pictures
	@$(BIN)/python docs/build/draw.py docs/pictures

lock: $(STAMP) ## Resolve the locked versions again
	@deploy/setup/pip.sh $(VENV) uv
	@$(BIN)/uv pip compile -q --upgrade --universal --python-version 3.11 --all-extras --no-header --no-annotate pyproject.toml -o requirements.lock

clean: ## Remove the environment and all data made here
	rm -rf $(VENV) odanon_data site .mypy_cache .ruff_cache .hypothesis

$(DAGSTER_HOME)/dagster.yaml: dagster.yaml
	@mkdir -p $(@D) && ln -sf $(CURDIR)/dagster.yaml $@
