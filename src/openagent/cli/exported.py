"""What `openagent sessions export` writes and `import` reads."""

import msgspec

from openagent.protocol.errors import OpenAgentError
from openagent.protocol.messages import Message
from openagent.protocol.sessions import EndedTurn, SessionInfo

VERSION = 1
"""Of the file that `sessions export` writes. It grows when an older program could no longer read it."""


class Exported(msgspec.Struct):
    session: SessionInfo
    messages: list[Message]
    turns: list[EndedTurn] = []
    rewound: list[tuple[int, int]] = []


def not_ours(name: str, why: str = "") -> OpenAgentError:
    hint = "`openagent sessions export SESSION` writes one, as JSON."
    return OpenAgentError("invalid_argument", f"{name} is no export of a session{why}.", hint=hint)
