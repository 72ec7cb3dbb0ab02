"""The list of trusted folders, and what it takes for one to stay trusted."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from openagent.config.load import load
from openagent.config.trust import MAX_FILES, TrustList
from openagent.protocol.errors import OpenAgentError

from .places import Place


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    (folder / ".openagent" / "hooks").mkdir(parents=True)
    (folder / ".openagent" / "config.toml").write_text('mode = "full"\n')
    (folder / ".openagent" / "hooks" / "run").write_text("true\n")
    return folder


@pytest.fixture
def trust(tmp_path: Path) -> TrustList:
    return TrustList(tmp_path / "data")


def _rewrite(folder: Path) -> None:
    (folder / ".openagent" / "config.toml").write_text('mode = "edit"\n')


def _executable(folder: Path) -> None:
    (folder / ".openagent" / "hooks" / "run").chmod(0o755)


def _rename(folder: Path) -> None:
    (folder / ".openagent" / "hooks" / "run").rename(folder / ".openagent" / "hooks" / "ran")


def _add_servers(folder: Path) -> None:
    (folder / "mcpServers.json").write_text("{}")


def _link_folder(folder: Path) -> None:
    (folder / ".openagent" / "more").symlink_to(folder)


def _move_between_files(folder: Path) -> None:
    """The same bytes in the same order, parted differently."""
    (folder / ".openagent" / "config.toml").write_text('mode = "full"')
    (folder / ".openagent" / "hooks" / "run").write_text("\ntrue\n")


@pytest.mark.parametrize(
    "change",
    [_rewrite, _executable, _rename, _add_servers, _link_folder, _move_between_files],
    ids=lambda f: f.__name__,
)
def test_whatever_changes_among_the_governed_files_ends_the_trust(
    trust: TrustList, folder: Path, change: Callable[[Path], None]
) -> None:
    assert not trust.trusts(folder)
    trust.add(folder)
    assert trust.trusts(folder)
    (folder / "main.py").write_text("print(1)")
    assert trust.trusts(folder)
    change(folder)
    assert not trust.trusts(folder)


def test_a_linked_file_is_judged_by_what_it_says(trust: TrustList, folder: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.toml"
    elsewhere.write_text("x = 1")
    (folder / ".mcp.json").symlink_to(elsewhere)
    trust.add(folder)
    elsewhere.write_text("x = 2")
    assert not trust.trusts(folder)


def test_another_name_for_the_same_folder_is_the_same_folder(trust: TrustList, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(folder)
    trust.add(tmp_path / "link")
    assert trust.trusts(folder)
    assert not trust.trusts(tmp_path)


def test_what_cannot_be_watched_is_not_trusted(trust: TrustList, folder: Path) -> None:
    pipe = folder / ".openagent" / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OpenAgentError, match="no ordinary file"):
        trust.add(folder)
    pipe.unlink()
    for number in range(MAX_FILES):
        (folder / ".openagent" / f"{number}").touch()
    with pytest.raises(OpenAgentError, match="more than"):
        trust.add(folder)
    with pytest.raises(OpenAgentError, match="is not a folder"):
        trust.add(folder / "missing")


def test_a_damaged_list_trusts_nobody(trust: TrustList, folder: Path, tmp_path: Path) -> None:
    trust.add(folder)
    (tmp_path / "data" / "trusted.json").write_text("[{")
    assert not trust.trusts(folder)
    with pytest.raises(OpenAgentError, match="list of trusted folders cannot be read"):
        trust.add(folder)


@pytest.mark.parametrize(
    ("user", "project", "expected"),
    [
        ("", 'mode = "plan"', ("plan", 200, None)),
        ("", 'mode = "edits"', ("edits", 200, None)),
        ('jail.kind = "host"', 'mode = "edits"', ("ask", 200, None)),
        ('mode = "full"', 'mode = "edits"', ("edits", 200, None)),
        ('mode = "plan"', 'mode = "ask"', ("plan", 200, None)),
        ("", "limits = { max_steps = 10, turn_timeout = 5.0 }", ("auto", 10, 5.0)),
        ("limits.turn_timeout = 5.0", "limits = { max_steps = 1000, turn_timeout = 6.0 }", ("auto", 200, 5.0)),
    ],
)
def test_without_trust_a_project_can_only_be_stricter(
    place: Place, user: str, project: str, expected: tuple[str, int, float | None]
) -> None:
    place.user(user)
    place.in_project(project)
    settings = load(place.env, place.project).settings
    assert (settings.usual_mode, settings.limits.max_steps, settings.limits.turn_timeout) == expected


def test_without_trust_a_project_cannot_bring_back_a_tool(place: Place) -> None:
    place.user('tools.disabled = ["shell"]')
    place.in_project('tools.disabled = ["git"]')
    assert load(place.env, place.project).settings.tools.disabled == ["shell", "git"]
    assert place.load().settings.tools.disabled == ["shell", "git"]


def test_without_trust_secrets_are_not_put_into_a_strangers_values(place: Place) -> None:
    place.env["ANTHROPIC_API_KEY"] = "sk-very-secret-key"
    place.in_project(
        'context.collector = "${ANTHROPIC_API_KEY}"\nproviders.x.base_url = "http://e/${ANTHROPIC_API_KEY}"'
    )
    loaded = load(place.env, place.project)
    assert "very-secret" not in repr(loaded)
    assert loaded.settings.providers == {}
