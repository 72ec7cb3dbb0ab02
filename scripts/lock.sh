#!/usr/bin/env bash
# Writes requirements/*.txt anew from pyproject.toml: `make lock`, and `make lock UPGRADE=1` for newer versions.
# The files hold names and versions only, never where they came from.
set -euo pipefail
cd "$(dirname "$0")/.."
export CUSTOM_COMPILE_COMMAND="make lock"

compile() {
    .venv/bin/pip-compile --quiet --strip-extras --no-header --no-annotate --no-emit-index-url --no-emit-trusted-host \
        --no-emit-find-links --no-emit-options ${UPGRADE:+--upgrade} "$@"
}


.venv/bin/python -m pip install --quiet "pip-tools>=7.5"

# What `pip install --no-build-isolation --editable .` needs.
compile --build-deps-for editable --only-build-deps --output-file requirements/build.txt pyproject.toml
compile --output-file requirements/runtime.txt pyproject.toml

development=$(mktemp --suffix .in)
trap 'rm -f "$development"' EXIT
.venv/bin/python - >"$development" <<'PYTHON'
import tomllib
from pathlib import Path

print("-c", Path("requirements/runtime.txt").resolve())
print("\n".join(tomllib.loads(Path("pyproject.toml").read_text())["dependency-groups"]["dev"]))
PYTHON
compile --output-file requirements/dev.txt "$development"
