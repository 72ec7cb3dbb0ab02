#!/usr/bin/env bash
# Writes requirements/*.txt anew from pyproject.toml: `make lock`, and `make lock UPGRADE=1` for newer versions.
# The files hold names, versions and hashes, never where they came from.
set -euo pipefail
cd "$(dirname "$0")/.."
# One file for every Python that pyproject.toml admits: what only some of them need stands there with its condition.
compile() {
    .venv/bin/uv pip compile --quiet --universal --python-version 3.11 --no-header --no-annotate ${UPGRADE:+--upgrade} "$@"
}

# Files that are installed together name each package once: takes from the first what the second has.
without() {
    local kept
    kept=$(awk -F '==' 'NR == FNR { named[$1]; next } !($1 in named)' "$2" "$1")
    printf '%s\n' "$kept" >"$1"
}

# What `pip install --no-build-isolation --editable .` needs: the build system, and what hatchling asks for besides.
printf 'hatchling\neditables\n' | compile --output-file requirements/build.txt -
# What looks for known holes and lists what is inside, in continuous integration alone.
printf 'cyclonedx-bom>=7,<8\npip-audit\n' | compile --output-file requirements/audit.txt -
compile --output-file requirements/runtime.txt pyproject.toml
compile --group dev --constraint requirements/runtime.txt --output-file requirements/dev.txt pyproject.toml
# What the image of deploy/ has beside the runtime: what the tests ran with, for Debian 13's own Python.
.venv/bin/uv pip compile --quiet --no-header --no-annotate --python-version 3.13.5 --python-platform x86_64-manylinux_2_40 \
    ${UPGRADE:+--upgrade} --extra team --extra graphql --extra socketio \
    --constraint requirements/runtime.txt --constraint requirements/dev.txt --output-file requirements/team.txt pyproject.toml
for file in team dev; do without requirements/$file.txt requirements/runtime.txt; done

.venv/bin/python scripts/pins.py
