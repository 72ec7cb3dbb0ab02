"""A backup into a home: a process of its own, which `openagent backup restore` starts, for clients hold no store.

What is wanted is read from stdin, and how it went is printed, both as JSON.
"""

import os
import sys

import msgspec

from openagent.backups.restoring import Wanted, restore
from openagent.protocol.errors import OpenAgentError


def main(_arguments: list[str]) -> int:
    wanted = msgspec.json.decode(sys.stdin.buffer.read(), type=Wanted)
    try:
        answer = {"restored": restore(wanted, os.environ)}
    except OpenAgentError as problem:
        answer = {"error": problem.info}
    sys.stdout.write(msgspec.json.encode(answer).decode() + "\n")
    return 1 if "error" in answer else 0
