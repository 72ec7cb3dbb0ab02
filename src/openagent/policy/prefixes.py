"""How many of a command's first words say what it does, so that a person can allow them with anything after.

`npm test` does, `npm` does not say enough, and no words of `bash -c`, `xargs` or `python x.py` do: what those run
stands in what follows.
"""

import re

from openagent.policy.names import names

_WORD = re.compile(r"[A-Za-z0-9][\w.:@+/-]*")
"""What a subcommand or a script's name looks like: no option, no glob, nothing unknown."""

_PROGRAM = re.compile(r"[A-Za-z0-9][\w.+-]*")
"""Found on the PATH: a program that is named by where it lies may be any."""

_ONE_WORD = names(
    "pytest ruff black isort mypy pyright flake8 pylint tox nox pre-commit coverage "
    "eslint prettier biome tsc jest vitest mocha webpack rollup vite esbuild "
    "ctest ninja cmake rustfmt gofmt goimports golangci-lint clang-format shellcheck rubocop rspec phpunit"
)
"""Their name says what they do."""

_TWO_WORDS = {
    "git": names(
        "add commit push pull fetch clone checkout switch restore merge stash tag branch reset revert cherry-pick "
        "mv rm clean init remote worktree gc"
    ),
    "npm": names("test install ci i add uninstall update publish pack link audit outdated version start build"),
    "pnpm": names("test install i add remove update publish pack build start lint"),
    "yarn": names("test install add remove upgrade publish pack build start lint"),
    "bun": names("test install add remove update build publish"),
    "pip": names("install uninstall download wheel"),
    "pip3": names("install uninstall download wheel"),
    "uv": names("add remove sync lock build publish venv"),
    "poetry": names("add remove install update lock build publish"),
    "cargo": names("build test check run clippy fmt add remove update install publish doc bench clean"),
    "go": names("build test vet mod get fmt install generate clean"),
    "docker": names("build pull push images ps logs stop start rm rmi tag inspect"),
    "podman": names("build pull push images ps logs stop start rm rmi tag inspect"),
    "kubectl": names("get describe logs apply delete rollout scale"),
    "helm": names("install upgrade uninstall list template lint"),
    "terraform": names("init plan apply validate fmt destroy"),
    "gh": names("pr issue repo release workflow run"),
    "gradle": names("build test check assemble clean"),
    "mvn": names("test package install verify compile clean"),
    "dotnet": names("build test restore publish add pack"),
    "mix": names("test compile format deps.get"),
    "bundle": names("install update"),
    "composer": names("install update require remove"),
    "apt": names("install update remove"),
    "apt-get": names("install update remove"),
    "brew": names("install update upgrade uninstall"),
}
"""Programs by what their first argument may be."""

_NAMED_AFTER = {
    ("npm", "run"), ("pnpm", "run"), ("yarn", "run"), ("bun", "run"), ("docker", "compose"), ("podman", "compose"),
    ("uv", "pip"), ("composer", "run-script"),
}  # fmt: skip
"""Where a third word says which: a script, a subcommand."""
_NO_THIRD = names("run exec")
"""`docker compose run` runs what stands after it."""

_TARGETS = names("make just task rake")
"""Where the first argument names what is made."""


def is_program(word: str) -> bool:
    return bool(_PROGRAM.fullmatch(word))


def prefix_of(argv: tuple[str, ...]) -> tuple[str, ...]:
    """The words that say what a command does; empty where none do surely."""
    program, second, third = (*argv, "", "", "")[:3]
    if not _PROGRAM.fullmatch(program):
        return ()
    if program in _ONE_WORD:
        return (program,)
    if not _WORD.fullmatch(second):
        return ()
    if (program, second) in _NAMED_AFTER:
        return (program, second, third) if _WORD.fullmatch(third) and third not in _NO_THIRD else ()
    if second in _TWO_WORDS.get(program, ()) or program in _TARGETS:
        return (program, second)
    return ()
