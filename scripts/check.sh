#!/usr/bin/env bash
# Lint, format, types, import contracts, generated documents. Pyright, which takes longest and one processor, runs beside
# the rest.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=${BIN:-.venv/bin}
mkdir -p build

"$bin/pyright" --warnings >build/pyright.log 2>&1 &
pyright=$!
trap 'kill $pyright 2>/dev/null || true' EXIT

echo "check: ruff"
"$bin/ruff" check --quiet .
"$bin/ruff" format --quiet --check . || { echo "Some files are not formatted: run make format."; exit 1; }
echo "check: import contracts"
found=$("$bin/lint-imports" --no-logo) || { echo "$found"; exit 1; }
echo "check: declared dependencies"
found=$("$bin/deptry" --no-ansi src 2>&1) || { echo "$found"; exit 1; }
echo "check: pins"
"$bin/python" scripts/pins.py --check
echo "check: documents"
"$bin/python" scripts/configuration_reference.py --check
"$bin/python" scripts/web_types.py --check
"$bin/python" scripts/words.py --check
"$bin/python" scripts/api_reference.py --check
"$bin/python" scripts/command_reference.py --check
"$bin/python" scripts/turn_picture.py --check
"$bin/python" scripts/rooms.py --check
"$bin/python" scripts/log_messages.py --check
"$bin/python" scripts/price_list.py --check
# `make test` comes to the web last: what npm cannot fetch keeps nothing else from being checked.
if [ "${1:-}" != --without-web ]; then
    echo "check: web"
    scripts/web.sh check
fi
echo "check: pyright"
wait $pyright || { cat build/pyright.log; exit 1; }
tail -n 1 build/pyright.log
