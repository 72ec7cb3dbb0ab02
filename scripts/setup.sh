#!/usr/bin/env bash
# Makes .venv and fills it with the locked dependencies: `setup.sh runtime` for using OpenAgent, `setup.sh dev` for
# working on it. Needs Python 3.11 to 3.14 with venv and pip, nothing else. A second run does nothing, quickly.
set -euo pipefail
cd "$(dirname "$0")/.."

unset PYTHONHOME PYTHONPATH
export PIP_USER=0

purpose=${1:-dev}
log=$PWD/build/setup.log
started=$SECONDS

say() { printf 'setup: %s\n' "$*"; }

fail() {
    printf 'setup: %s\n' "$@" >&2
    exit 1
}

fingerprint() {
    { printf '%s\n' "$PWD"; cat pyproject.toml requirements/{build,pip,runtime}.txt "$@"; } | sha256sum
}

stamp=.venv/.setup-$purpose
if [ "$purpose" = dev ]; then
    wanted=$(fingerprint requirements/dev.txt)
else
    wanted=$(fingerprint)
fi
is_current() { [ -x .venv/bin/openagent ] && [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ]; }
is_current && exit 0

mkdir -p build
if command -v flock >/dev/null; then
    exec 9>build/setup.lock
    flock --nonblock 9 || { say "waiting for another setup to end"; flock 9; }
    is_current && exit 0
fi
: >"$log"

python_is_supported() { "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' >/dev/null 2>&1; }

find_python() {
    local candidate
    for candidate in ${PYTHON:-} python3 python3.14 python3.13 python3.12 python3.11 /usr/bin/python3; do
        if python_is_supported "$candidate"; then
            command -v "$candidate"
            return
        fi
    done
    return 1
}

# Runs a stage with its output in the log; when it fails, shows the end of it.
stage() {
    "$@" >>"$log" 2>&1 && return
    tail -n 15 "$log" >&2
    fail "this did not work: $*" "The whole output is in $log."
}

install_packages() {
    local total count=0 line
    total=$(cat "$@" | grep -c '==')
    local files=()
    for line in "$@"; do files+=(--requirement "$line"); done
    say "installing $total packages"
    # The files name all there is to install. pip's own search would look at newer versions of what a package wants with
    # an extra, and an old pip refuses those for their missing hash.
    # pip names each package as it comes to it: that is the progress.
    if ! .venv/bin/python -m pip install --disable-pip-version-check --no-input --progress-bar off \
        --require-hashes --no-deps "${files[@]}" 2>&1 |
        tee -a "$log" | while read -r line; do
            case $line in
                Collecting*)
                    count=$((count + 1))
                    if [ $((count % 20)) -eq 0 ]; then say "$count found"; fi
                    ;;
                Installing*) say "unpacking" ;;
            esac
        done; then
        tail -n 15 "$log" >&2
        fail "the packages could not be installed; is the package index reachable?" "The whole output is in $log."
    fi
}

# Asks for system packages; their absence never stops a setup.
install_system_packages() {
    local missing=() pair
    for pair in "$@"; do command -v "${pair%%:*}" >/dev/null || missing+=("${pair##*:}"); done
    [ ${#missing[@]} -eq 0 ] && return
    if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
        say "installing ${missing[*]} with apt-get"
        export DEBIAN_FRONTEND=noninteractive
        if timeout 300 sh -c 'apt-get update -q && apt-get install -yq --no-install-recommends "$@"' \
            sh "${missing[@]}" </dev/null >>"$log" 2>&1; then
            return
        fi
        say "that did not work (see $log); going on without"
    else
        say "not installed: ${missing[*]}. To add them: sudo apt-get install ${missing[*]}"
    fi
}

if [ ! -x .venv/bin/python ] || ! python_is_supported .venv/bin/python; then
    python=$(find_python) || fail "OpenAgent needs Python 3.11 to 3.14, and there is none on PATH (python3 is \
$(python3 --version 2>&1 || true))." "Install one, or name it: make setup PYTHON=/path/to/python3.14"
    if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
        install_system_packages no-such-command:python3-venv
        "$python" -c 'import ensurepip, venv' 2>/dev/null ||
            fail "$python has no venv module." "On Debian and Ubuntu: sudo apt-get install python3-venv"
    fi
    say "making .venv with $("$python" --version)"
    stage "$python" -m venv --clear .venv
fi

system_packages=(bwrap:bubblewrap rg:ripgrep git:git)
packages=(requirements/build.txt requirements/runtime.txt)
if [ "$purpose" = dev ]; then
    packages+=(requirements/dev.txt)
    system_packages+=(curl:curl tmux:tmux dockerd:docker.io chromium:chromium redis-server:redis-server)
fi
install_packages "${packages[@]}"
# The `openagent` script that an old pip writes imports `re`: 10 ms on every call.
stage .venv/bin/python -m pip install --disable-pip-version-check --require-hashes --requirement requirements/pip.txt
stage .venv/bin/python -m pip install --disable-pip-version-check --no-build-isolation --no-deps --editable .
stage .venv/bin/python -m pip check
# The first start would else compile every module, and where nothing may be written (PYTHONDONTWRITEBYTECODE) each one.
stage .venv/bin/python -m compileall -q -j 0 src/openagent
install_system_packages "${system_packages[@]}"

printf '%s\n' "$wanted" >"$stamp"
say "done in $((SECONDS - started)) s"
