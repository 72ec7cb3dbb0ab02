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
        "openagent: This is the client alone; a daemon runs from the installed package. Get it with "
        "`pip install openagent`, or name a daemon that runs elsewhere with --connect.",
        file=sys.stderr,
    )
    sys.exit(1)
