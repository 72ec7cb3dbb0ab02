"""A machine's files and environment, as far as configuration looks at them."""

from pathlib import Path

from openagent.config import Config, ConfigError, load


class Place:
    """A home directory with a git repository `project` in it."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.project = self.home / "project"
        self.user_file = self.home / ".config" / "openagent" / "config.toml"
        self.project_file = self.project / ".openagent" / "config.toml"
        self.env = {"HOME": str(self.home)}
        (self.project / ".git").mkdir(parents=True)

    def user(self, text: str) -> None:
        _write(self.user_file, text)

    def in_project(self, text: str) -> None:
        _write(self.project_file, text)

    def load(self, cwd: Path | None = None) -> Config:
        """With the project trusted."""
        return load(self.env, cwd or self.project, trusted=lambda _folder: True)

    def problems(self) -> list[str]:
        try:
            self.load()
        except ConfigError as error:
            return [str(problem).removeprefix(f"{self.home}/") for problem in error.problems]
        return []


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
