#!/usr/bin/env bash
# All Python tests, side by side. The few that fail are run once more, alone and in order: what fails again is a defect of the
# program, what passes is a test that leans on luck. Its name is printed last, where nobody can miss it.
# docs/decisions/0050 says why.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${BIN:-.venv/bin}/python
failed_before=build/failed_once.txt
few=5
mkdir -p build

rm -f .pytest_cache/v/cache/lastfailed
status=0
"$python" -m pytest -n 3 --dist loadgroup -q || status=$?
# 1 is pytest's word for "tests failed"; anything else (interrupted, nothing collected, a crash) is no matter of luck.
if [ "$status" != 1 ]; then exit "$status"; fi
"$python" -c 'import json; print(*json.load(open(".pytest_cache/v/cache/lastfailed")), sep="\n")' >"$failed_before"
if [ "$(wc -l <"$failed_before")" -gt $few ]; then exit 1; fi

echo "test: once more, alone: $(wc -l <"$failed_before") failed"
"$python" -m pytest --last-failed -q --basetemp="$(mktemp -d)/again"
printf 'test: FAILED ONCE, passed alone. To be mended, each is a defect of the test or a race of the program:\n'
cat "$failed_before"
