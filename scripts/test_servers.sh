#!/usr/bin/env bash
# The MCP servers that others wrote and the tests use: from npm into tests/mcp_host/servers, and one from PyPI in an
# environment of its own, for it wants an HTTP library that must not come into ours. A second run does nothing, quickly.
# `make test` runs it before the tests, which then need no registry: in a test the home is empty, and with it whatever
# says where a machine's registries are.
set -euo pipefail
cd "$(dirname "$0")/.."
servers=tests/mcp_host/servers
log=$PWD/build/test-servers.log
mkdir -p build
unset PYTHONHOME PYTHONPATH

if command -v flock >/dev/null; then
    exec 9>build/test-servers.lock
    flock 9
fi

# Runs a command with its output in the log, a second time when it fails: registries hiccup.
stage() {
    timeout --kill-after=5 300 "$@" >>"$log" 2>&1 && return
    echo "test servers: once more: $*" | tee -a "$log"
    timeout --kill-after=5 300 "$@" >>"$log" 2>&1 && return
    tail -n 15 "$log" >&2
    echo "test servers: this did not work: $*. The whole output is in $log." >&2
    return 1
}

from_npm() {
    command -v npm >/dev/null || return 0 # their tests are skipped
    cmp -s $servers/package-lock.json $servers/node_modules/installed.json && return
    stage npm --prefix $servers ci --ignore-scripts --no-audit --no-fund || return 1
    cp $servers/package-lock.json $servers/node_modules/installed.json
}

from_pypi() {
    local environment=build/mcp-fetch
    # Its programs name the interpreter by its whole path: a copied or moved checkout needs a new one.
    if [ -f $environment/made.txt ]; then
        { echo "# in $PWD" && cat $servers/fetch.txt; } | cmp -s - $environment/made.txt && return
    fi
    rm -rf $environment
    stage .venv/bin/python -m venv --without-pip $environment || return 1
    stage .venv/bin/python -m pip --python $environment/bin/python install --disable-pip-version-check --no-input \
        --require-hashes --no-deps --requirement $servers/fetch.txt || return 1
    { echo "# in $PWD" && cat $servers/fetch.txt; } >$environment/made.txt
}

: >"$log"
from_npm && from_pypi
