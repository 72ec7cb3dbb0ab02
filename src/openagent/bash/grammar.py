"""The grammar that commands are read with. Another version of it may read one differently, so there is no other."""

from importlib.metadata import PackageNotFoundError, version

VERSION = "0.25.1"
"""As pyproject.toml and requirements/runtime.txt pin it."""
_PACKAGE = "tree-sitter-bash"
REPAIR = f"Install it where OpenAgent is installed: `pip install {_PACKAGE}=={VERSION}`."


def grammar_problem() -> str:
    """Why commands cannot be read as they should be; empty: they can."""
    try:
        found = version(_PACKAGE)
    except PackageNotFoundError:
        found = "(of an unknown version)"
    return "" if found == VERSION else f"{_PACKAGE} {found} is installed, and commands are read with {VERSION} only."
