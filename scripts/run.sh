#!/usr/bin/env bash
# First contact: a daemon in the background, the guided task to its end, and what to do next.
set -euo pipefail
cd "$(dirname "$0")/.."
openagent=.venv/bin/openagent

"$openagent" status >/dev/null 2>&1 || "$openagent" serve --daemon
"$openagent" demo

cat <<TEXT

The daemon goes on running. From here:
  $openagent sessions list          what it has done; the guided task is the newest
  $openagent attach SESSION         follow a session live
  $openagent run "your question"    ask a model, once a key such as ANTHROPIC_API_KEY or OPENAI_API_KEY is set
  make stop                            end the daemon

Not there yet: the web UI, the terminal UI (make run will open it in a terminal), and the offline model.
TEXT
