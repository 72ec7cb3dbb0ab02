#!/usr/bin/env bash
# Builds what is given to people into dist/: wheel, sdist, and the client as one file that needs no Python.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'dist: %s\n' "$*"; }

rm -rf dist
mkdir -p build
log=$PWD/build/dist.log
: >"$log"

stage() {
    say "$1"
    shift
    "$@" >>"$log" 2>&1 && return
    tail -n 15 "$log" >&2
    printf 'dist: this did not work: %s\nThe whole output is in %s.\n' "$*" "$log" >&2
    exit 1
}

stage "tools" .venv/bin/python -m pip install --disable-pip-version-check --require-hashes --requirement requirements/dist.txt
stage "web app" scripts/web.sh
stage "wheel and sdist" .venv/bin/python -m build --no-isolation --wheel --sdist --outdir dist .
stage "standalone client" .venv/bin/python -m PyInstaller --noconfirm --log-level WARN \
    --distpath dist --workpath build/client scripts/client.spec
stage "trying the client" env OPENAGENT_CLIENT="$PWD/dist/openagent" .venv/bin/python -m pytest -q tests/cli/test_one_file_client.py
ls -sh1 dist
