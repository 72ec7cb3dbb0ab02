"""Files that run later outside the sandbox are known by their names."""

import os
import tomllib
from pathlib import Path

import pytest

import openagent.policy
from openagent.plugins.runs_outside import runs_outside

MARKED = {
    "git hook": ".git/hooks/pre-commit sub/.githooks/x .husky/pre-commit lefthook.yml .pre-commit-config.yaml",
    "git settings": ".git/config vendor/.git .gitmodules .gitconfig",
    "editor": ".vscode/tasks.json .vscode/settings.json .vscode/launch.json a/.idea/workspace.xml x.code-workspace",
    "direnv or environment": ".envrc deep/down/.envrc .tool-versions flake.nix",
    "make or build": "Makefile a/makefile justfile .justfile Taskfile.yml build.gradle.kts CMakeLists.txt x.config.ts",
    "package manager": "package.json web/package.json .npmrc pyproject.toml setup.py",
    "tests": "tests/conftest.py tox.ini",
    "CI": ".github/workflows/ci.yml .gitlab-ci.yml .circleci/config.yml Jenkinsfile",
    "container": "Dockerfile Dockerfile.dev compose.yaml docker-compose.override.yml",
    "dev container": ".devcontainer/devcontainer.json .devcontainer.json",
    "shell or login": ".bashrc .profile .zshrc .config/fish/config.fish",
    "coding agent": ".openagent/config.toml .mcp.json .claude/settings.json",
}


@pytest.mark.parametrize(("reason", "paths"), MARKED.items())
def test_what_runs_outside_is_marked_with_what_runs_it(reason: str, paths: str) -> None:
    for path in paths.split():
        assert runs_outside(path) == reason, path
        assert runs_outside(path.upper()) == reason, "file systems may not tell them apart"


@pytest.mark.parametrize(
    "path",
    [
        "src/app.py",
        "README.md",
        "docs/Makefile.md",
        "src/hooks/useThing.ts",
        "a.git/config",
        "tests/test_a.py",
        ".gitignore",
        "",
    ],
)
def test_other_files_are_not_marked(path: str) -> None:
    assert runs_outside(path) == ""


def test_every_place_that_policy_protects_is_marked() -> None:
    places = tomllib.loads((Path(openagent.policy.__file__).parent / "places.toml").read_text())
    for kind in ("protected", "startup"):
        for place in places[kind].split():
            path = place.replace("*", "x").replace("y*ml", "yml")
            path = path.replace(".pre-commit-config.yxml", ".pre-commit-config.yml")
            path = os.path.join(path, "file") if path.endswith("/") else path
            assert runs_outside(path), path
