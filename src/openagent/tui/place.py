"""Where a session works: its folder's name and branch."""

import os
from pathlib import Path


def branch_of(folder: str) -> str:
    """Empty where there is no repository. A detached head is shown by its beginning."""
    git = Path(folder) / ".git"
    try:
        if git.is_file():  # a worktree: the file names where the repository's part of it is
            git = Path(folder, git.read_text().partition("gitdir:")[2].strip())
        head = (git / "HEAD").read_text().strip()
    except (OSError, UnicodeDecodeError):
        return ""
    return branch_in(head)


def branch_in(head: str) -> str:
    """Of a repository whose HEAD says this."""
    return head.partition("refs/heads/")[2].strip() or head[:8]


def from_home(folder: str) -> str:
    """As people write it: `~/code/project`."""
    home = os.path.expanduser("~")
    return "~" + folder.removeprefix(home) if folder == home or folder.startswith(home + "/") else folder


def place(folder: str) -> str:
    name = os.path.basename(folder) or folder
    branch = branch_of(folder)
    return f"{name} ({branch[:24]})" if branch else name
