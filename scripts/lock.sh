#!/usr/bin/env bash
# Writes requirements/*.txt anew from pyproject.toml: `make lock`, and `make lock UPGRADE=1` for newer versions.
# The files hold names, versions and hashes, never where they came from.
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
# What the image of deploy/ has beside that.
compile --extra team --extra graphql --extra socketio --constraint requirements/runtime.txt \
    --output-file requirements/team.txt pyproject.toml

development=$(mktemp --suffix .in)
chosen=$(mktemp --suffix .txt)
trap 'rm -f "$development" "$chosen"' EXIT
.venv/bin/python - "$chosen" >"$development" <<'PYTHON'
import sys
import tomllib
from pathlib import Path

for line in Path("requirements/runtime.txt").read_text().splitlines():
    if "==" in line:
        print(line.partition(" ")[0], file=open(sys.argv[1], "a"))
print("-c", sys.argv[1])
print("\n".join(tomllib.loads(Path("pyproject.toml").read_text())["dependency-groups"]["dev"]))
PYTHON
compile --output-file requirements/dev.txt "$development"

.venv/bin/python scripts/pins.py
