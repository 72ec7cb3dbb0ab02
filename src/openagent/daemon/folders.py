"""What is wrong with a folder that was named, in words for whoever named it."""

import os

from openagent.protocol.errors import OpenAgentError


def gone(path: str, session: str) -> OpenAgentError:
    """For the folder of a session, which is no more: that of one brought from another machine, or of a project long
    deleted."""
    return OpenAgentError(
        "workspace_gone",
        f"The folder of this session is gone: {path}.",
        hint=f"`openagent sessions fork {session} --cwd DIR` goes on with it in another folder.",
    )


def no_folder(path: str) -> OpenAgentError:
    """For a path that is no absolute path of a folder on this machine."""
    if not os.path.isabs(path):
        return OpenAgentError("invalid_argument", f"{path!r} is not an absolute path.", hint="Give the whole path.")
    if os.path.exists(path):
        return OpenAgentError("invalid_argument", f"{path!r} is a file, not a folder.", hint="Name a folder.")
    return OpenAgentError("invalid_argument", f"There is no folder {path!r}.", hint="Make it first, or name another.")
