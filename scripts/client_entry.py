"""What the standalone client runs."""

import os
import sys

from openagent.__main__ import main

# The bootloader puts its own libraries first; programs started from here must not meet them.
if "LD_LIBRARY_PATH_ORIG" in os.environ:
    os.environ["LD_LIBRARY_PATH"] = os.environ.pop("LD_LIBRARY_PATH_ORIG")
else:
    os.environ.pop("LD_LIBRARY_PATH", None)

try:
    sys.exit(main())
except ModuleNotFoundError as missing:
    if not (missing.name or "").startswith("openagent."):
        raise
    print(
        "openagent: This is the one-file client: what runs a daemon or speaks for one (serve, acp, rpc, mcp serve) is "
        "in the installed package. Get it with `uv tool install openagent`.",
        file=sys.stderr,
    )
    sys.exit(1)
