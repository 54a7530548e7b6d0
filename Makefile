# The commands of the project.  `make lab` and `make test` work in a fresh clone with Python 3.11+ and its venv module.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
# A clone compiles the thread pool with the system's C compiler, else with ziglang from the extra `export`.
EXTRAS := lab,test$(shell command -v cc >/dev/null 2>&1 || echo ,export)
# Two workers; the tests of one module stay on one of them (tests/conftest.py tells the exceptions).
WORKERS ?= 2
PYTEST := $(BIN)/python -m pytest
PARALLEL := -n $(WORKERS) --dist loadscope
NATIVE := $(wildcard workbench/runtime/native/*.c workbench/runtime/native/*.h)
# Whole folders of the core, and of every other stage what is quick.
SMOKE_FOLDERS := core arith target te tir relay schedule
SMOKE_FILES := test_tiny test_architecture test_lint frontend/onnx/test_errors frontend/onnx/test_tensors \
    frontend/onnx/test_guards lower/test_arguments lower/test_branches arith/test_scope_forms analysis/test_dependence \
    codegen/test_statements codegen/test_text codegen/test_fast_functions runtime/test_calls \
    driver/test_history driver/test_text views/test_schema ui/test_protocol ui/test_screens \
    teach/test_checks
SMOKE_LEFT_OUT := core/test_child core/test_whole_file core/test_text relay/test_expr_functor relay/transforms/test_passes \
    schedule/test_rules schedule/test_no_iterations relay/transforms/test_simplify_values arith/test_narrow \
    tir/test_empty_reductions
SMOKE := $(SMOKE_FOLDERS:%=tests/%) $(SMOKE_FILES:%=tests/%.py) $(SMOKE_LEFT_OUT:%=--ignore=tests/%.py)

.PHONY: lab test smoke nightly bench conformance lint frontend wheel clean install

install: $(STAMP)

$(STAMP): pyproject.toml hatch_build.py $(NATIVE)
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing the workbench into $(VENV) (once)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$(EXTRAS)]'
	@touch $(STAMP)

lab: $(STAMP)  ## open JupyterLab on the course; LABFLAGS=--no-browser only serves it
	$(BIN)/workbench lab $(LABFLAGS)

test: $(STAMP)  ## every test, the linter, browser and notebooks included
	$(PYTEST) $(PARALLEL)

smoke: $(STAMP)  ## the core and a part of every stage, under a minute
	$(PYTEST) $(PARALLEL) -m "not browser and not notebook and not slow and not nightly" $(SMOKE)

nightly: $(STAMP)  ## long property tests, fuzzing, soak: one table; a night that was cut goes on
	WORKBENCH_HYPOTHESIS=nightly $(PYTEST) $(PARALLEL) -m "nightly or not nightly" --night --timeout 1800

bench: $(STAMP)  ## speed against peers, in the same run, as ratios
	$(BIN)/python -m benchmarks

conformance: $(STAMP)  ## operators and models against their references
	$(PYTEST) $(PARALLEL) -m "nightly or not nightly" tests/conformance

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/pyright --pythonpath $(BIN)/python

frontend:  ## rebuild the front end (needs Node 20+); the result is committed
	cd extensions/widgets && npm ci --silent --no-audit --no-fund && npm run --silent check && npm run --silent build
	cd extensions/jupyterlab && npm ci --silent --no-audit --no-fund --ignore-scripts && npm run --silent build

wheel: $(STAMP)
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

clean:
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .hypothesis extensions/widgets/node_modules
	rm -f workbench/runtime/native/*.so workbench/runtime/native/*.dylib workbench/runtime/native/*.o
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
