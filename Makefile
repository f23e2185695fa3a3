# The two commands of the README: `make report` builds the demo, `make test` checks everything. Both set up what they need
# and reuse what is set up.

VENV := .venv
BIN := $(VENV)/bin

.PHONY: report test lint types layers unit examples lock clean

report: $(VENV)/.ready
	$(BIN)/rlreport build experiments.yaml -o out

test: $(VENV)/.ready lint types layers unit

lint: $(VENV)/.ready
	$(BIN)/ruff check rlreport tests benchmarks
	$(BIN)/ruff format --check rlreport tests benchmarks

types: $(VENV)/.ready
	$(BIN)/mypy

layers: $(VENV)/.ready
	$(BIN)/lint-imports --no-logo

unit: $(VENV)/.ready
	$(BIN)/pytest -n auto

# The demo's logs are committed; this writes them again, byte for byte.
examples: $(VENV)/.ready
	sh scripts/examples.sh $(BIN)/rlreport

# Renews the locked dependencies after a change in pyproject.toml.
lock: $(VENV)/.ready
	sh scripts/lock.sh $(BIN)

$(VENV)/.ready: requirements.lock pyproject.toml scripts/setup.sh
	sh scripts/setup.sh $(VENV)

clean:
	rm -rf $(VENV) out/* dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
