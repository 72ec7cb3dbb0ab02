"""Puts one very long session into a store: `long_session.py WORKSPACE COUNT`, with the environment of its daemon."""

import asyncio
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import cast

from benchmarks.long_session import fill
from benchmarks.stage import Stage

workspace, count = sys.argv[1:]
stage = cast(Stage, SimpleNamespace(env=dict(os.environ), workspace=Path(workspace)))
sys.stdout.write(asyncio.run(fill(stage, int(count))))
