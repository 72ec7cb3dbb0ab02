"""A commit in the person's name, of chosen paths alone."""

from openagent.protocol.errors import OpenAgentError
from openagent.workbench.repository.running import Git


async def committed(git: Git, paths: list[str], message: str) -> str:
    """These paths as they are, and nothing else of what is staged."""
    await git.done("The files could not be staged", "add", "--all", "--", *paths)
    ran = await git.run("commit", "--quiet", "--only", "--cleanup=strip", "--file=-", "--", *paths, stdin=message)
    if ran.code:
        await git.run("reset", "--quiet", "--", *paths)
        if "tell me who you are" in ran.err.lower() or "empty ident" in ran.err.lower():
            raise OpenAgentError(
                "conflict",
                "git does not know who you are, so that nothing was committed.",
                hint='Run `git config --global user.name "…"` and `git config --global user.email "…"` once.',
            )
        raise OpenAgentError("conflict", f"Nothing was committed: {ran.said or 'git said nothing.'}")
    return await git.asked("rev-parse", "--short", "HEAD")
