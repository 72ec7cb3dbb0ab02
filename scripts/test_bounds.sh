#!/usr/bin/env bash
# Tests with other versions than the pinned ones: `test_bounds.sh lowest` takes the lowest that pyproject.toml admits,
# `newest` the newest. What follows is for pytest, in place of the four rooms that meet most libraries.
# These versions are nobody's pins, so they have no hashes: nothing that is given to people is built with them.
set -euo pipefail
cd "$(dirname "$0")/.."

which=${1:-}
case $which in
    lowest) resolution=lowest-direct ;;
    newest) resolution=highest ;;
    *) echo "usage: test_bounds.sh lowest|newest [PYTEST ARGUMENTS...]" >&2 && exit 2 ;;
esac
shift
[ $# -gt 0 ] || set -- tests/policy tests/tui tests/cli tests/rest
environment=build/bounds/$which
python=$environment/bin/python
install() { .venv/bin/uv pip install --quiet --python $python "$@"; }

say() { printf 'bounds: %s\n' "$*"; }

mkdir -p build/bounds
extras=()
for extra in grammars graphql index keyring otel postgres s3 socketio team tokenizer; do extras+=(--extra $extra); done
.venv/bin/uv pip compile --quiet --python .venv/bin/python --resolution $resolution --upgrade --no-header --no-annotate \
    "${extras[@]}" --group dev --output-file $environment.txt pyproject.toml
say "$(grep -c == $environment.txt) packages, the $which, on $(.venv/bin/python --version): $environment.txt"
.venv/bin/uv venv --quiet --clear --python .venv/bin/python $environment
install --requirement requirements/build.txt
install --no-deps --no-build-isolation --editable .
install --requirement $environment.txt

$python -m pytest -q -n "${WORKERS:-2}" --dist loadgroup -p no:cacheprovider "$@"
if [ $which = newest ]; then exit; fi

say "a grammar of another version than commands are read with"
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
install tree-sitter-bash==0.25.0
if said=$(OPENAGENT_HOME=$home timeout 30 $python -m openagent serve --ipc-socket "$home/socket" 2>&1) ||
    ! grep -F "tree-sitter-bash 0.25.0 is installed, and commands are read with" <<<"$said"; then
    say "it was not refused at start: $said"
    exit 1
fi
