#!/usr/bin/env bash
# First contact: a daemon in the background, the guided task to its end, and what to do next.
set -euo pipefail
cd "$(dirname "$0")/.."
openagent=.venv/bin/openagent
mkdir -p build

# The web interface is built beside all the rest, which does not wait for it: its packages come from another place, and
# the daemon shows it from the moment it is there.
web_patience=90
NPM_PATIENCE=$web_patience scripts/web.sh build >build/web-run.log 2>&1 &
web_build=$!

scripts/setup.sh runtime

"$openagent" status >/dev/null 2>&1 || "$openagent" serve --daemon

# No model is set up: the offline model at least chats. Its absence stops nobody.
if "$openagent" status --json | grep -q '"model": ""'; then
    fetch=y
    echo "No key is set. An offline model can be installed (127 MB). It chats; it cannot use tools."
    if [ -t 0 ] && [ -t 1 ]; then
        read -r -p "Download it now? [Y/n] " fetch
    fi
    case "$fetch" in
    [nN]*) echo "Not installed; \`$openagent models pull smollm2\` installs it." ;;
    *) "$openagent" models pull smollm2 || echo "Going on without it; \`$openagent models pull smollm2\` tries again." ;;
    esac
fi
tour=0
"$openagent" demo || tour=$?

if kill -0 "$web_build" 2>/dev/null; then
    echo "The web interface is still being built, for $web_patience seconds at most."
fi
if ! wait "$web_build"; then
    echo
    echo "The web interface is not there, and everything else is:"
    sed 's/^/  /' build/web-run.log
    echo "  \`make web\` tries again; the daemon that runs now will show it."
elif grep -q "not built" build/web-run.log; then
    sed 's/^/\n/' build/web-run.log
fi
if [ ! -e src/openagent/web_dist/index.html ]; then
    web="make web                          for the web interface; then \`$openagent web\` opens it"
elif web=$("$openagent" web --no-open 2>/dev/null); then
    web="$web
                                       the web interface; the address works once, \`openagent web\` gives another"
else
    web="$openagent web                    for the web interface"
fi
cat <<TEXT

The daemon goes on running. From here:
  $openagent sessions list          what it has done; the guided task is the newest
  $web
  $openagent                        the terminal interface
  $openagent attach SESSION         follow a session live
  $openagent run "your question"    ask a model: the one whose key is set, such as ANTHROPIC_API_KEY, or the offline one
  $openagent auth add anthropic     store a key, encrypted
  make stop                            end the daemon
TEXT

if [ "$tour" != 0 ]; then exit "$tour"; fi

# In a terminal, go on with the terminal interface; elsewhere the words above are all.
if [ -t 0 ] && [ -t 1 ]; then
    read -r -p "Enter opens the terminal interface, Ctrl-C stays here. "
    exec "$openagent" tui
fi
