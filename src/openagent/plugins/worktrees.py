"""Git work trees: a folder whose repository lies elsewhere, and is shared with others."""

from pathlib import Path


def common_directory(dot_git: Path) -> Path | None:
    """A worktree's shared repository, when that repository itself says that this worktree is its own.

    The file in the workspace alone proves nothing: a jailed command could have written it to have any folder let in.
    """
    own = named_by(dot_git)
    if own is None:
        return None
    try:
        claimed = Path((own / "gitdir").read_text().strip())
        common = (own / (own / "commondir").read_text().strip()).resolve()
    except (OSError, UnicodeDecodeError):
        return None
    return common if claimed == dot_git and own.parent == common / "worktrees" else None


def named_by(dot_git: Path) -> Path | None:
    """Where a `.git` file leads."""
    try:
        return (dot_git.parent / dot_git.read_text().removeprefix("gitdir:").strip()).resolve()
    except (OSError, UnicodeDecodeError, ValueError):
        return None
