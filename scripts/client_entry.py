"""What the standalone client runs."""

import contextlib
import os
import sys

from openagent.__main__ import main
from openagent.client.launch import DaemonDidNotStart, daemon_program

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
    # What runs a daemon or speaks for one is the installed package's: it is handed on where there is one.
    with contextlib.suppress(DaemonDidNotStart):
        program = daemon_program()[0]
        os.execv(program, [program, *sys.argv[1:]])  # noqa: S606
    print(
        "openagent: This is the one-file client: what runs a daemon or speaks for one (serve, acp, rpc, mcp serve) is "
        "in the installed package. Get it with `uv tool install openagent`.",
        file=sys.stderr,
    )
    sys.exit(1)
