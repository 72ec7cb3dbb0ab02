#!/usr/bin/env bash
# The web interface: `web.sh build` puts it where the daemon and the wheel find it, and does nothing when that is done
# already; `check` looks at its style and types, `format` mends the style, `test` runs its tests,
# those in a browser too; `bench` measures.
set -euo pipefail
cd "$(dirname "$0")/.."

purpose=${1:-build}
built=src/openagent/web_dist
log=$PWD/build/web.log
patience=${NPM_PATIENCE:-300}
mkdir -p build

say() { printf 'web: %s\n' "$*"; }

fail() {
    printf 'web: %s\n' "$@" >&2
    exit 1
}

node_is_new_enough() {
    command -v node >/dev/null && command -v npm >/dev/null &&
        node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)'
}

if ! node_is_new_enough; then
    if [ "$purpose" = build ]; then
        say "Node 20.19 or newer with npm is not here, so the web interface is not built. The daemon and the terminal work" \
            "without it; install Node and run \`make web\` to add it."
        exit 0
    fi
    fail "Node 20.19 or newer with npm is needed to $purpose the web interface." "Install it from your system's packages."
fi

# Runs a stage with its output in the log; when it fails, shows the end of it.
stage() {
    "$@" >>"$log" 2>&1 && return
    tail -n 30 "$log" >&2
    fail "this did not work: $*" "The whole output is in $log."
}

# Packages for building alone, or for working on it as well. The lock file names every platform's variant of each package,
# without which npm 11 refuses it; an `npm install` against a registry that lacks some of them drops those entries.
install_packages() {
    local stamp=web/node_modules/.stamp wanted
    wanted="$1 $(sha256sum <web/package-lock.json)"
    if [ -f "$stamp" ] && { [ "$(cat "$stamp")" = "$wanted" ] || [ "$(cat "$stamp")" = "all ${wanted#* }" ]; }; then
        return
    fi
    # Building takes nothing away from who works on it.
    if [ -d web/node_modules/vitest ]; then set -- all; wanted="all ${wanted#* }"; fi
    say "installing its packages"
    local options=(--ignore-scripts --no-progress --fetch-timeout=30000 --fetch-retries=2 --fetch-retry-maxtimeout=10000)
    if [ "$1" != all ]; then options+=(--omit=dev); fi
    # By itself npm tries for many minutes, without a word, to reach a registry that does not answer.
    if ! timeout --kill-after=5 "$patience" npm --prefix web ci "${options[@]}" >>"$log" 2>&1; then
        tail -n 5 "$log" >&2
        fail "npm could not install the packages within $patience seconds; is its registry reachable?" \
            "The whole output is in $log."
    fi
    printf '%s\n' "$wanted" >"$stamp"
}

fingerprint() {
    find web -path web/node_modules -prune -o -type f -not -path 'web/e2e/*' -print0 | sort -z | xargs -0 sha256sum | sha256sum
}

build() {
    local wanted
    wanted=$(fingerprint)
    if [ -f "$built/.stamp" ] && [ "$(cat "$built/.stamp")" = "$wanted" ]; then return; fi
    install_packages build
    say "building"
    stage npm --prefix web run build
    printf '%s\n' "$wanted" >"$built/.stamp"
}

# Like scripts/tests.sh: a file that fails is run once more, alone, and said.
browser_tests() {
    local results=$PWD/build/browser_tests.json failed
    local told=(--reporter=default --reporter=json --outputFile.json="$results")
    rm -f "$results"
    npm --silent --prefix web run e2e -- "${told[@]}" && return
    failed=$(node -e 'for (const file of require(process.argv[1]).testResults) if (file.status === "failed") console.log(file.name)' "$results")
    if [ -z "$failed" ] || [ "$(wc -l <<<"$failed")" -gt 2 ]; then exit 1; fi
    say "once more, alone: $failed"
    # shellcheck disable=SC2086 # one file a word; their names hold no spaces
    npm --silent --prefix web run e2e -- --maxWorkers=1 $failed
    say "FAILED ONCE, passed alone. To be mended, each is a defect of the test or a race of the program: $failed"
}

if command -v flock >/dev/null; then
    exec 8>build/web.lock
    flock --nonblock 8 || { say "waiting for another build to end"; flock 8; }
fi
: >"$log"
case $purpose in
    build) build ;;
    check)
        install_packages all
        npm --silent --prefix web run lint
        npm --silent --prefix web run types
        ;;
    format)
        install_packages all
        npm --silent --prefix web run format
        ;;
    test)
        install_packages all
        build
        exec 8>&-
        npm --silent --prefix web test
        if ! command -v "${CHROMIUM:=/usr/bin/chromium}" >/dev/null; then
            fail "the browser tests need Chromium, and there is none at $CHROMIUM." \
                "On Debian and Ubuntu: sudo apt-get install chromium; elsewhere name it: CHROMIUM=/path/to/chromium"
        fi
        export CHROMIUM
        browser_tests
        ;;
    bench)
        install_packages all
        build
        exec 8>&-
        npm --silent --prefix web run bench
        ;;
    *) fail "there is nothing called $purpose here: build, check, format, test or bench." ;;
esac
